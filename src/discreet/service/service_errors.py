"""What the service refuses beside what the library does: fixed texts, which tell nothing of what is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from discreet.errors import (
    BudgetExceeded,
    DiscreetError,
    EngineError,
    InvalidParameter,
    InvalidQuery,
    LedgerError,
)

Found = TypeVar("Found")


class NotSignedIn(DiscreetError):
    """The token or the session is missing, unknown, expired or revoked: which of these is not said."""


class Forbidden(DiscreetError):
    """It is not there, or not for this principal: the two have the same bytes."""


class Conflict(DiscreetError):
    """The idempotency key stands for another ask of the same principal, or the state no longer allows the step."""


class Late(DiscreetError):
    """The answer is not there yet: its public moment lies ahead."""


class OverLimit(DiscreetError):
    """One principal asks too much at once; others are served."""


KINDS: Mapping[type[DiscreetError], str] = {
    NotSignedIn: "not_signed_in",
    Forbidden: "not_found",
    Conflict: "conflict",
    Late: "not_ready",
    OverLimit: "over_limit",
    BudgetExceeded: "budget_exceeded",
    InvalidQuery: "invalid_query",
    InvalidParameter: "invalid_parameter",
    EngineError: "engine_error",
    LedgerError: "unavailable",
    DiscreetError: "invalid",
}
"""The word for each class of error, for programs and for the record."""


def kind_of(problem: DiscreetError) -> type[DiscreetError]:
    """The first of `KINDS` that fits."""
    return next(known for known in KINDS if isinstance(problem, known))


NOT_SIGNED_IN = (
    "Expected a valid token, got none.\n"
    "Hint: send the header Authorization: Bearer <token>; ask for a new one if it expired."
)
FORBIDDEN = (
    "Expected something that exists and that you may use, got another name.\n"
    "Hint: GET /api/v1/me lists your data sets and roles; ask the curator to admit you."
)
NOT_YET = "Expected a release that is ready, got one that is not.\nHint: wait until its ready_at, and ask again."
OTHER_ASK = (
    "Expected the ask that this idempotency key was used for, got another one.\n"
    "Hint: a key stands for one ask for ever; choose a new key for a new ask."
)
OTHER_DECLARATION = (
    "Expected an answer under the declaration of now, got one under an earlier declaration.\n"
    "Hint: the data set was declared anew since, or its engine writes the question otherwise; send the ask again."
)
OTHER_PLAN = (
    "Expected the plan that was shown, got another one; nothing is charged.\n"
    "Hint: the data set was declared anew since, or the service is another version: connect again, look at the price "
    "and the error of now, and ask."
)
NOT_PUBLISHED = (
    "Expected a series with a published step, got one without.\n"
    "Hint: GET /api/v1/datasets/{name}/series has the next moment at which there may be one."
)
OTHER_SERIES = (
    "Expected a series that is declared as it was opened, got another declaration.\n"
    "Hint: its published numbers are kept; ask the curator to declare it as before, or under another name."
)
HELD_SERIES = (
    "Expected a series that goes on, got one that is held.\n"
    "Hint: what was published stays; the curator is told what is in the way."
)
LATE_SERIES = (
    "Expected a step at its moment, got none yet.\n"
    "Hint: it is tried again, and shown at a later moment, with all steps before it."
)
DECIDED = "Expected a request that is open, got one that is decided.\nHint: make a new request."
NO_LEVEL = (
    "Expected an allowance of their own, got none.\n"
    "Hint: PUT /api/v1/datasets/{name}/analysts/{who} with an allowance opens one."
)
OTHER_GROUP = (
    "Expected the group that they are in, got another one.\n"
    "Hint: what was charged to a group stays there; admit another name for another group."
)
NO_CHANGE = (
    "Expected a change that the ledger takes, got one that it refuses.\n"
    "Hint: what is closed stays closed, amounts are raised and never lowered, and no two names may look alike."
)
NO_HEAD = (
    "Expected a whole ledger that continues this head, got another one.\n"
    "Hint: it was damaged, put back or written anew; or the head is of another ledger."
)
TOO_MANY_JOBS = (
    "Expected fewer releases at once, got one more than is allowed.\nHint: wait until the earlier ones are ready."
)
TOO_FAST = "Expected fewer requests a minute, got one more than is allowed.\nHint: wait, and send fewer."
BEYOND_ALLOWANCE = (
    "Expected a charge within what remains of {level}, got more.\n"
    "Hint: ask for less, repeat an earlier release (its stored answer is free), or request more."
)

NOTHING_OF = (
    "Expected a charge without {amount}, of which {level} allows none, got one that needs it.\n"
    "Hint: state epsilon alone and list the keys, or request more, with {amount}."
)


def not_signed_in() -> NotSignedIn:
    """The one refusal of everybody who is not known."""
    return NotSignedIn(NOT_SIGNED_IN)


def forbidden() -> Forbidden:
    """The one refusal of what is not there and of what is not theirs."""
    return Forbidden(FORBIDDEN)


def there(found: Found | None) -> Found:
    """What was found; what was not does not exist for whoever asks."""
    if found is None:
        raise forbidden()
    return found
