"""Amounts in text, read in bounded time: nothing is worked out whose digits are not written.

Claim
    The time of each reader grows with the length of the text alone, and `written_amount` reads no text of more than
    `LONGEST_TEXT` characters.
Requires
    Nothing.
Relies on
    `Fraction` of a text, whose time is that of the digits that it stands for.
Proof
    A power of ten is the only part of a number that stands for more digits than it has: ``1e99999999`` for a hundred
    million. It has at most three digits here, and none beside a slash.
Rounding
    None: a text means what it says.
Source
    None.
Mutant
    any-power-of-ten: powers of ten of any length are read; killed by test_what_would_take_long_is_refused_at_once.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import fraction

MOST_DIGITS = 30
"""That count of a number, or of each part of a fraction; zeros at either end of them are no digits that count."""
LONGEST_TEXT = 61
"""Two numbers of `MOST_DIGITS` with a slash between them."""

_POWER = r"([eE][+-]?[0-9]{1,3})?"
_PLAIN = re.compile(rf"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+){_POWER}", re.ASCII)
_OVER = re.compile(rf"[+-]?[0-9]{{1,{MOST_DIGITS}}}/[0-9]{{1,{MOST_DIGITS}}}", re.ASCII)
_STORED = re.compile(rf"-?[0-9]+(\.[0-9]+)?{_POWER}|-?[0-9]+/[0-9]+", re.ASCII)


def is_amount(text: str) -> bool:
    """Whether a text is a number that `written_amount` reads: a decimal, perhaps with a power of ten, or a fraction.

    >>> [is_amount(text) for text in ("0.5", "1/3", "1e-6", "1e99999999", "0x1", "")]
    [True, True, True, False, False, False]
    """
    if len(text) > LONGEST_TEXT:
        return False
    if _OVER.fullmatch(text):
        return text.partition("/")[2].strip("0") != ""
    digits = re.sub(r"[eE].*|[^0-9]", "", text)
    return _PLAIN.fullmatch(text) is not None and len(digits.strip("0")) <= MOST_DIGITS


def written_amount(name: str, value: object, cure: str | None = None) -> Fraction:
    """An amount that is stated as a number or in text, exactly.

    Raises:
        InvalidParameter: it is none, or has more than `MOST_DIGITS` digits, or a power of ten of more than three.

    >>> written_amount("epsilon", "0.1"), written_amount("epsilon", "1/3"), written_amount("delta", 1e-6)
    (Fraction(1, 10), Fraction(1, 3), Fraction(1, 1000000))
    """
    if not isinstance(value, str):
        return fraction(name, value)
    if not is_amount(value):
        shown = value if len(value) <= LONGEST_TEXT else f"{value[:LONGEST_TEXT]}..."
        wanted = f"a number of at most {MOST_DIGITS} digits"
        raise InvalidParameter(expected(wanted, name, shown, cure or f"write {name} = 0.5, or {name} = 1/3."))
    return Fraction(value) if "/" in value else Fraction(Decimal(value))


def stored_amount(text: object) -> Fraction:
    """An amount as a record or an answer keeps it: a whole number, or text with all digits of one.

    Raises:
        ValueError: it is anything else.
        ZeroDivisionError: it is a fraction over 0.

    >>> stored_amount("1/3"), stored_amount("0.25")
    (Fraction(1, 3), Fraction(1, 4))
    """
    if type(text) is int:
        return Fraction(text)
    if not isinstance(text, str) or _STORED.fullmatch(text) is None:
        raise ValueError("no amount")
    return Fraction(text)
