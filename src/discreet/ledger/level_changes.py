"""What may happen to a level of a budget beside charges: opening, raising, freezing, closing; by whom, and why."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import InvalidParameter, LedgerError, expected
from discreet.ledger.privacy_filter import Allowance

OPEN, RAISE, FREEZE, UNFREEZE, CLOSE = KINDS = ("open", "raise", "freeze", "unfreeze", "close")

STANDING = {FREEZE: ("open", "frozen"), UNFREEZE: ("frozen", "open")}
"""How a level stands before and after a change."""


class RaisedMeanwhile(LedgerError):
    """Somebody else raised the level since it was looked at; nothing was changed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LevelChange:
    """An entry about a level; what the ledger adds is empty until it is written."""

    kind: str
    """``open``, ``raise``, ``freeze``, ``unfreeze`` or ``close``."""
    level: str
    """Its path; empty for the whole budget."""
    allowance: Allowance | None = None
    """What it may spend from now on, where it is opened or raised."""
    by: str = ""
    """Who did it."""
    why: str = ""
    number: int = 0
    """1 for the first change in the ledger."""
    time: str = ""
    """UTC, ISO 8601."""
    after: int = 0
    """The number of the last charge before it."""
    raised_from: Allowance | None = None
    """Of a raise by so much more: the allowance that it was added to. Where it is another one when the raise is
    written, the raise is refused.
    """

    def __post_init__(self) -> None:
        if (self.allowance is not None) != (self.kind in (OPEN, RAISE)):
            cure = "state one where a level is opened or raised, and nowhere else."
            raise InvalidParameter(expected("an allowance of this change", "allowance", str(self.allowance), cure))
        for name, text in (("by", self.by), ("why", self.why)):
            check_told(name, text)
            if self.kind != OPEN and not text.strip():
                cure = "say who did it and why, by='carol', why='approved by the board': both are kept for good."
                raise InvalidParameter(expected("some text", name, text, cure))


def check_told(name: str, text: object) -> None:
    """Refuses what is no text, or cannot be kept."""
    if not isinstance(text, str) or len(text) > 1000:
        raise InvalidParameter(expected("a text of up to 1,000 characters", name, text, f"write {name}='...'."))
    if not text.isprintable():
        cure = "write it in one line, without control characters."
        raise InvalidParameter(expected("a text in one line", name, text, cure))
