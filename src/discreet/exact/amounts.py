"""Amounts of privacy as exact fractions: a float means the decimal that it prints."""

from __future__ import annotations

import math
import numbers
from decimal import Decimal
from fractions import Fraction

from discreet.errors import InvalidParameter, expected


def fraction(name: str, value: object) -> Fraction:
    """`value` as an exact fraction; a float means its printed decimal (``0.1`` is 1/10).

    Accepts int, float, Decimal, Fraction and NumPy's numbers. Refuses bool, text, NaN and infinities.

    >>> fraction("epsilon", 0.1)
    Fraction(1, 10)
    """
    cure = f"write {name} as a finite number, for example {name}=0.5."
    if isinstance(value, bool) or not isinstance(value, numbers.Number | Decimal):
        raise InvalidParameter(expected("a number", name, value, cure))
    if isinstance(value, numbers.Rational):
        return Fraction(value.numerator, value.denominator)
    if not isinstance(value, numbers.Real | Decimal) or not math.isfinite(value):
        raise InvalidParameter(expected("a finite number", name, value, cure))
    return Fraction(str(value))


def positive(name: str, value: object) -> Fraction:
    """`value` as an exact fraction above zero."""
    amount = fraction(name, value)
    if amount <= 0:
        raise InvalidParameter(expected("a number above 0", name, value, f"write {name} as a positive number."))
    return amount


def decimal_text(amount: Fraction, digits: int = 6) -> str:
    """`amount` as a decimal: exact where it ends within 30 places, otherwise with `digits` significant ones.

    >>> decimal_text(Fraction(1, 10)), decimal_text(Fraction(1, 3))
    ('0.1', '0.333333')
    """
    denominator, twos, fives = amount.denominator, 0, 0
    while denominator % 2 == 0:
        denominator, twos = denominator // 2, twos + 1
    while denominator % 5 == 0:
        denominator, fives = denominator // 5, fives + 1
    places = max(twos, fives)
    if denominator == 1 and places <= 30:
        scaled = abs(amount.numerator) * 10**places // amount.denominator
        whole, rest = divmod(scaled, 10**places)
        sign = "-" if amount < 0 else ""
        return f"{sign}{whole}" + (f".{rest:0{places}d}" if places else "")
    return f"{float(amount):.{digits}g}"
