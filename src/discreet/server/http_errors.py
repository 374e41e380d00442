"""Refusals as responses: one table of kinds and codes, and one body for each text."""

from __future__ import annotations

import json

from starlette.responses import Response

from discreet.errors import (
    BudgetExceeded,
    DiscreetError,
    EngineError,
    InvalidParameter,
    InvalidQuery,
    LedgerError,
)
from discreet.service.service_errors import Conflict, Forbidden, Late, NotSignedIn, OverLimit

KINDS: tuple[tuple[type[DiscreetError], int, str], ...] = (
    (NotSignedIn, 401, "not_signed_in"),
    (Forbidden, 404, "not_found"),
    (Conflict, 409, "conflict"),
    (Late, 409, "not_ready"),
    (OverLimit, 429, "over_limit"),
    (BudgetExceeded, 402, "budget_exceeded"),
    (InvalidQuery, 422, "invalid_query"),
    (InvalidParameter, 422, "invalid_parameter"),
    (EngineError, 424, "engine_error"),
    (LedgerError, 503, "unavailable"),
    (DiscreetError, 422, "invalid"),
)
"""The code and the kind of each class of refusal; the first that fits holds. What is forbidden has the code of what
does not exist."""

UNAVAILABLE = (
    "Expected the service to answer, got a failure.\nHint: send the request again; a repeated key is one charge."
)


class BodyRefused(DiscreetError):
    """A body that is not read: its code and kind say why."""

    def __init__(self, code: int, kind: str, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.kind = kind


def refusal(problem: DiscreetError) -> Response:
    """The response for a refusal."""
    if isinstance(problem, BodyRefused):
        return told(problem.code, problem.kind, str(problem))
    code, kind = next((code, kind) for known, code, kind in KINDS if isinstance(problem, known))
    # What a ledger or a store says may name a place.
    return told(code, kind, UNAVAILABLE if isinstance(problem, LedgerError) else str(problem))


def told(code: int, kind: str, text: str) -> Response:
    """A response with an error: its kind, what was expected, and the hint."""
    message, _, hint = text.partition("\nHint: ")
    body = json.dumps({"error": kind, "message": message, "hint": hint}, ensure_ascii=False)
    headers = {"WWW-Authenticate": 'Bearer realm="discreet"'} if code == 401 else {}
    if code == 429:
        headers["Retry-After"] = "1"
    return Response(body, status_code=code, media_type="application/json", headers=headers)
