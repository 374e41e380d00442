"""What is refused over PostgreSQL's protocol, and the SQLSTATE that says so; docs/service/bi-tools.md lists them.

Programs read these five characters. Where PostgreSQL has one for the case it is used; those of differential privacy
have "DP" in the class that fits, so that a driver that knows only classes does the right thing: class 53 is a lack of
resources, 42 a statement that is wrong, 57 an intervention, 58 a failure of the system.

Claim
    No message tells what failed after a charge, and none is made from a row.
Requires
    Refusals of the library are made from the query, the schema, the parameters and the budget alone.
Relies on
    `errors`: the kinds of refusal.
Proof
    `refusal_of` passes the words of refusals on whose kinds are listed in `STATES`; everything else, failures of an
    engine and of a ledger included, becomes `ONE_TEXT`, whatever it says.
Rounding
    None.
Source
    ARCHITECTURE.md, rules 6 and 13.
Mutant
    failures-speak-over-postgresql: a failure is sent with its own words; killed by test_a_failure_has_one_text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from discreet.errors import (
    BudgetExceeded,
    DiscreetError,
    EngineError,
    InvalidParameter,
    InvalidQuery,
    LedgerError,
    nearest_name,
    printable,
)
from discreet.service.service_errors import Conflict, Forbidden, Late, NotSignedIn, OverLimit

BUDGET = "53DP1"
QUESTION = "42DP1"
ROWS = "42DP2"
LATE = "57DP1"
ENGINE = "58DP1"
PROTOCOL, PASSWORD, DATABASE, FORBIDDEN = "08P01", "28P01", "3D000", "42501"
SYNTAX, SETTING, UNKNOWN_SETTING, FIXED_SETTING = "42601", "22023", "42704", "55P02"
UNSUPPORTED, STATEMENT, PORTAL, CURSOR = "0A000", "26000", "34000", "34000"
FAILED_TRANSACTION, NO_TRANSACTION, SAVEPOINT, CANCELED = "25P02", "25P01", "3B001", "57014"
TOO_MANY, TOO_LONG, TOO_DEEP, IDLE, DOWN = "53300", "54000", "54001", "57P05", "57P01"
VALUE, DUPLICATE_STATEMENT, DUPLICATE_CURSOR, STATE = "22P02", "42P05", "42P03", "55000"

ONE_TEXT = "Expected an answer, got a failure after the charge."
"""What every failure says, whatever failed."""


class Refused(DiscreetError):
    """A statement is refused, with its SQLSTATE; `hint` says what to do instead, `routine` is for drivers."""

    def __init__(self, state: str, message: str, hint: str = "", severity: str = "ERROR", *, routine: str = "") -> None:
        super().__init__(message if not hint else f"{message}\nHint: {hint}")
        self.state, self.message, self.hint, self.severity, self.routine = state, message, hint, severity, routine

    @classmethod
    def setting(cls, name: str, value: str, what: str) -> Refused:
        """A setting whose value is not one that it can have."""
        return cls(SETTING, f"Expected {what}, got {name}={value!r}.", f"SET {name} = ... with such a value.")

    @classmethod
    def unknown_setting(cls, name: str, known: Sequence[str]) -> Refused:
        """A setting that is not known."""
        return cls(UNKNOWN_SETTING, f"Expected a known setting, got {name!r}.", nearest_name(name, known))

    @classmethod
    def fixed_setting(cls, name: str) -> Refused:
        """A setting that nobody changes."""
        return cls(FIXED_SETTING, f"Expected a setting that can be changed, got {name!r}.", "leave it as it is.")

    @classmethod
    def unsupported(cls, what: str = "") -> Refused:
        """A statement that is no question, and none about the catalog that can be answered: one text for all."""
        del what  # it is logged, not said
        return cls(
            UNSUPPORTED,
            "Expected a question about a declared table, or one about the catalog that can be answered here.",
            "ask for aggregates, SELECT key, COUNT(*), AVG(column) FROM table GROUP BY key; nothing is ever written.",
        )

    @property
    def fields(self) -> dict[str, str]:
        """As the protocol sends it."""
        said = fields(self.severity, self.state, self.message, self.hint)
        return {**said, "R": self.routine} if self.routine else said


def fields(severity: str, state: str, message: str, hint: str = "", detail: str = "") -> dict[str, str]:
    """The fields of an error or a notice; nothing in them can command a terminal, or end them early."""
    said = {"S": severity, "V": severity, "C": state, "M": _shown(message)}
    if detail:
        said["D"] = _shown(detail)
    if hint:
        said["H"] = _shown(hint)
    return said


def _shown(text: str) -> str:
    return "\n".join(printable(line) for line in text.split("\n"))


STATES: Mapping[type[DiscreetError], str] = {
    NotSignedIn: PASSWORD,
    Forbidden: FORBIDDEN,
    Late: LATE,
    OverLimit: TOO_MANY,
    Conflict: STATE,
    BudgetExceeded: BUDGET,
    InvalidQuery: QUESTION,
    InvalidParameter: SETTING,
    EngineError: ENGINE,
    LedgerError: ENGINE,
}


def refusal_of(problem: BaseException) -> Refused:
    """Any failure as a refusal: what the library says of itself in its words, anything else in one text.

    >>> refusal_of(ValueError("a row of mine")).state
    '58DP1'
    """
    if isinstance(problem, Refused):
        return problem
    for kind, state in STATES.items():
        if isinstance(problem, kind) and state != ENGINE:
            message, _, hint = str(problem).partition("\nHint: ")
            return Refused(state, message, hint)
    hint = "the same statement again costs nothing once it is answered; the curator's log has the cause."
    return Refused(ENGINE, ONE_TEXT, hint)
