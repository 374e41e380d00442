"""The one tree of errors: what was expected, what was got, and the cure.

No message is ever made from a private row: only from the query, the schema, the parameters and the budget, which are
public.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction


class DiscreetError(Exception):
    """Anything that discreet refuses or fails to do."""


class InvalidQuery(DiscreetError):
    """The question is outside the language, or lacks a limit that its proof needs. Nothing was read or spent."""


class InvalidParameter(DiscreetError):
    """A stated value is not one that the call can use. Nothing was read and nothing spent."""


class BudgetExceeded(DiscreetError):
    """The charge does not fit in what remains of the allowance. Nothing was read and nothing spent."""


class LedgerError(DiscreetError):
    """The record of what was spent cannot be read, trusted or written, so nothing more is answered."""


class EngineError(DiscreetError):
    """The engine failed; the message says whether after a charge. The cause is in the curator's log, never in it."""


class SourceWarning(UserWarning):
    """Two tables under one name, or two budgets for one table: what is promised holds, but is seldom what is meant."""


def expected(what: str, name: str, value: object, cure: str) -> str:
    """The text of a refusal: ``Expected <what>, got <name>=<value>.`` and the cure."""
    got = _amount(value) if isinstance(value, Fraction) else repr(value)
    return f"Expected {what}, got {name}={got}.\nHint: {cure}"


def _amount(value: Fraction) -> str:
    """A fraction as people write it; to six digits where it is a long one."""
    if value.denominator == 1 and abs(value) < 10**15:
        return str(value)
    return f"{(Decimal(value.numerator) / Decimal(value.denominator)).normalize():.6g}"


def nearest(name: str, known: Iterable[str]) -> str:
    """A cure for a misspelt name: the nearest known one, or the list of all."""
    names = list(known)
    close = get_close_matches(name, names, n=1)
    return f"did you mean {close[0]!r}?" if close else f"the known names are {', '.join(map(repr, names))}."
