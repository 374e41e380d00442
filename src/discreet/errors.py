"""The one tree of errors: what was expected, what was got, and the cure.

No message is ever made from a private row: only from the query, the schema, the parameters and the budget, which are
public.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, time, timedelta
from decimal import ROUND_HALF_EVEN, Context, Decimal
from difflib import get_close_matches
from enum import Enum
from fractions import Fraction
from numbers import Number
from pathlib import PurePath
from typing import Any, ClassVar, NoReturn

AS_WRITTEN = (str, bytes, Number, date, time, timedelta, Enum, PurePath, type(None))
"""What a refusal shows as its caller wrote it."""
MOST_SHOWN = 2000
"""Digits of a number in a refusal."""
WORDS = ("discreet", "sqlglot")
"""Packages whose objects show what was written, and no row."""
TEXTS: dict[type, Callable[[Any], str]] = {}
"""How a refusal shows objects of further classes, as the room says that knows them; their texts have no row either."""


class DiscreetError(Exception):
    """Anything that discreet refuses or fails to do."""

    def __str__(self) -> str:
        """Its lines, in which names of an analyst's or of a table cannot command the terminal that shows them."""
        return "\n".join(map(printable, super().__str__().split("\n")))


class InvalidQuery(DiscreetError):
    """The question is outside the language, or lacks a limit that its proof needs. Nothing was read or spent."""


class InvalidParameter(DiscreetError):
    """A stated value is not one that the call can use. Nothing was read and nothing spent."""


class UnknownName(InvalidQuery, AttributeError):
    """A name that an object does not have; an AttributeError too, so that hasattr() works."""


class MisfitCall(InvalidParameter, TypeError):
    """Arguments that a call does not take; a TypeError too, as of any call in Python."""


class BudgetExceeded(DiscreetError):
    """The charge does not fit in what remains of the allowance. Nothing was read and nothing spent."""


class LedgerError(DiscreetError):
    """The record of what was spent cannot be read, trusted or written, so nothing more is answered."""


class EngineError(DiscreetError):
    """The engine failed; the message says whether after a charge. The cause is in the curator's log, never in it."""


class NoTruth:
    """What is neither true nor false, and no number: `if`, `assert`, `and` and `== 3` of it are refused, with the cure.

    Python takes any object for true, so that a check would pass whatever it found.
    """

    __slots__ = ()
    _ask: ClassVar[str]
    """What to ask instead."""

    def __bool__(self) -> bool:
        raise InvalidQuery(_untold("a question that is true or false", f"the truth of a {type(self).__name__}", self))

    def __eq__(self, other: object) -> bool:
        self._no_number(other)
        return self is other

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __float__(self) -> float:
        raise InvalidQuery(_untold("a number", f"a {type(self).__name__}", self))

    def __int__(self) -> int:
        raise InvalidQuery(_untold("a number", f"a {type(self).__name__}", self))

    def __round__(self, digits: int | None = None) -> NoReturn:
        raise InvalidQuery(_untold("a number to round", f"a {type(self).__name__}", self))

    def __lt__(self, other: object) -> bool:
        raise InvalidQuery(_untold("a number to compare", f"a {type(self).__name__}", self))

    __le__ = __gt__ = __ge__ = __lt__

    def _no_number(self, other: object) -> None:
        """Refuses to be compared with a number, which it would never equal."""
        if isinstance(other, Number):
            raise InvalidQuery(_untold("a number to compare with", f"a {type(self).__name__}", self))


def _untold(what: str, got: str, thing: NoTruth) -> str:
    return f"Expected {what}, got {got}.\nHint: {thing._ask}"  # noqa: SLF001 (of the class above)


class SourceWarning(UserWarning):
    """Two tables under one name, or two budgets for one table: what is promised holds, but is seldom what is meant."""


class LeakWarning(UserWarning):
    """What was computed before, without noise, is not private, whatever follows it."""


def expected(what: str, name: str, value: object, cure: str) -> str:
    """The text of a refusal: ``Expected <what>, got <name>=<value>.`` and the cure."""
    return f"Expected {what}, got {name}={shown(value)}.\nHint: {cure}"


def shown(value: object) -> str:
    """What a refusal says of a value: itself if it was written in the call, its type if it may hold rows.

    A frame, an array or a table of a connection shows its rows when it is asked for its text; Ibis may even fetch them.

    >>> shown(["a", 1]), shown({"a": object()})
    ("['a', 1]", "{'a': <object>}")
    """
    if isinstance(value, Fraction | int | Decimal) and _digits(value) > MOST_SHOWN:
        return "a longer number"  # Python refuses to print some, and takes minutes for others
    if isinstance(value, Fraction):
        return _amount(value)
    if isinstance(value, list | tuple | set | frozenset):
        parts = [shown(part) for part in value]
        left, right = "[]" if isinstance(value, list) else "()" if isinstance(value, tuple) else "{}"
        comma = "," if isinstance(value, tuple) and len(parts) == 1 else ""
        return f"{left}{', '.join(parts)}{comma}{right}" if parts else repr(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{shown(key)}: {shown(part)}" for key, part in value.items()) + "}"
    text = next((TEXTS[kind] for kind in type(value).__mro__ if kind in TEXTS), None)
    if text is not None:
        return text(value)
    said = isinstance(value, (*AS_WRITTEN, type)) or type(value).__module__.startswith(WORDS)
    return repr(value) if said else f"<{type(value).__name__}>"


def _digits(value: Fraction | int | Decimal) -> int:
    """At least that count of what is shown: the digits of a decimal, otherwise a bound by bits."""
    if isinstance(value, Decimal):
        return len(value.as_tuple().digits)
    return max(value.numerator.bit_length(), value.denominator.bit_length()) // 3


SIX_DIGITS = Context(6, ROUND_HALF_EVEN)
"""That of the caller may hold fewer, or raise where digits are left out."""


def _amount(value: Fraction) -> str:
    """A fraction as people write it; to six digits where it is a long one."""
    if value.denominator == 1 and abs(value) < 10**15:
        return str(value)
    amount = SIX_DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))
    return f"{amount.normalize(SIX_DIGITS):.6g}"


def printable(text: str) -> str:
    r"""One line of text with every character escaped that a terminal or a page would obey or hide.

    These are control characters, ends of lines, marks that turn the direction of writing, and spaces but the usual one:
    all that Python does not call printable. Names of columns, keys and paths go through this wherever they are shown.

    >>> print(printable("\x1b[2Jpaid\u202e\n"), printable("Zoë"))
    \x1b[2Jpaid\u202e\n Zoë
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def nearest_name(name: object, known: Iterable[object]) -> str:
    """A cure for a misspelt name: the nearest known one, or the list of all."""
    name, names = name if isinstance(name, str) else shown(name), [str(one) for one in known]
    close = get_close_matches(name, names, n=1)
    if not names:
        return "there are none."
    return f"did you mean {close[0]!r}?" if close else f"the known names are {', '.join(map(repr, names))}."
