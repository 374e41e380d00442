"""Amounts of privacy as exact fractions: a float means the decimal that it prints."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from contextlib import AbstractContextManager
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal, localcontext
from fractions import Fraction
from typing import TypeGuard

from discreet.errors import InvalidParameter, expected

PLACES = 1000
"""No amount has more decimal digits than this before or after its point (a float has at most 324)."""

_LONGEST = 10**PLACES

LEAST, MOST = Fraction(1, 10**100), Fraction(10**100)
"""The rule of what amounts are taken: sensitivities, scales, epsilons and rhos within these, stated or derived. Their
squares, times any number of uses that is ever made, are floats, and noise or losses beyond them mean nothing."""

LEAST_FLOAT = 5e-324
"""The smallest above 0."""

WELL_INSIDE = 331
"""Fractions whose logarithm to base 2 is within this, or off by 1, are from `LEAST` to `MOST`."""
LEAST_DELTA = Fraction(str(LEAST_FLOAT))
"""No float tells a smaller one from 0."""

LEAST_MISS = Fraction(1, 10**50)
"""How near to 0 and to 1 a confidence may be."""


def fraction(name: str, value: object) -> Fraction:
    """`value` as an exact fraction; a float means its printed decimal (``0.1`` is 1/10).

    Accepts int, float, Decimal, Fraction and NumPy's numbers. Refuses bool, text, NaN, infinities and more than
    `PLACES` digits.

    >>> fraction("epsilon", 0.1)
    Fraction(1, 10)
    """
    if type(value) is Fraction:  # most of the time
        above, below = value.as_integer_ratio()
        if type(above) is type(below) is int and -_LONGEST <= above <= _LONGEST >= below:
            return value
    exact = Fraction(value) if type(value) is int else _converted(name, value)
    if max(abs(exact.numerator), exact.denominator) > _LONGEST:
        raise InvalidParameter(_too_long(name))
    return exact


def _converted(name: str, value: object) -> Fraction:
    cure = f"write {name} as a finite number, for example {name}=0.5."
    if isinstance(value, bool) or not isinstance(value, numbers.Number | Decimal) or _is_span(value):
        raise InvalidParameter(expected("a number", name, value, cure))
    if isinstance(value, numbers.Rational):
        # int(): NumPy's integers are Rational too, and inside of a Fraction they would wrap around.
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise InvalidParameter(expected("a finite number", name, value, cure))
        # Asked before the conversion, which would write out all digits of Decimal("1e999999999").
        if value and (abs(value.adjusted()) > PLACES or len(value.as_tuple().digits) > 2 * PLACES + 1):
            raise InvalidParameter(_too_long(name))
        return Fraction(value)
    if isinstance(value, float) and math.isfinite(value):
        return Fraction(float.__repr__(value))  # not its text, which may be the name of a constant
    if isinstance(value, numbers.Real) and hasattr(value, "dtype") and math.isfinite(value):
        return Fraction(str(value))
    raise InvalidParameter(expected("a finite number", name, value, cure))


def _is_span(value: object) -> bool:
    """Whether it is a span of time of NumPy's, whose class is one of its whole numbers."""
    return getattr(getattr(value, "dtype", None), "kind", "") == "m"


def is_whole(value: object) -> TypeGuard[int]:
    """Whether it is a whole number of Python or NumPy: no bool, and no span of time.

    >>> is_whole(3), is_whole(True), is_whole(3.0)
    (True, False, False)
    """
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and not _is_span(value)


def _too_long(name: str) -> str:
    # The value itself is not shown: Python refuses to print integers of more than 4300 digits.
    return expected(f"a number of at most {PLACES} digits", name, "a longer one", f"round {name} to fewer digits.")


def above_zero(name: str, value: object) -> Fraction:
    """`value` as an exact fraction above zero, of any magnitude: for what is only added up or compared."""
    amount = fraction(name, value)
    if amount.numerator <= 0:
        raise InvalidParameter(expected("a number above 0", name, value, f"write {name} as a positive number."))
    return amount


def positive(name: str, value: object) -> Fraction:
    """`value` as an exact fraction above zero, from `LEAST` to `MOST`.

    >>> positive("epsilon", 1e-9)
    Fraction(1, 1000000000)
    """
    return checked_amount(name, above_zero(name, value))


def checked_amount(name: str, amount: Fraction) -> Fraction:
    """`amount`, which was stated or derived from what was stated; refused if not from `LEAST` to `MOST`."""
    above, below = amount.as_integer_ratio()
    size = above.bit_length() - below.bit_length()  # the logarithm, off by 1 at most
    if not (LEAST <= amount <= MOST if abs(size) >= WELL_INSIDE else above > 0):
        cure = f"choose other amounts, so that {name} is in range; outside, a release is useless or not private."
        raise InvalidParameter(expected("an amount from 1e-100 to 1e100", name, amount, cure))
    return amount


def one_stated(cure: str, **amounts: object) -> tuple[str, Fraction]:
    """The name and the value of the one amount above zero that was stated; the others are None.

    >>> one_stated("write within=0.01.", within=None, rms=2)
    ('rms', Fraction(2, 1))
    """
    stated = [name for name, amount in amounts.items() if amount is not None]
    if len(stated) != 1:
        wanted = f"one of {' and '.join(amounts)}"
        raise InvalidParameter(expected(wanted, ", ".join(amounts), tuple(amounts.values()), cure))
    return stated[0], positive(stated[0], amounts[stated[0]])


def count(name: str, value: object) -> int:
    """`value` as a count: a whole number, 0 or more.

    Raises:
        InvalidParameter: it is anything else.

    >>> count("n", 3)
    3
    """
    number = whole_number(name, value)
    if number < 0:
        raise InvalidParameter(expected("a whole number, 0 or more", name, value, f"write it as an int: {name}=3."))
    return number


def at_least_one(name: str, value: object, cure: str = "write 1 or more.") -> int:
    """`value` as a whole number from 1 to 10**100.

    Raises:
        InvalidParameter: it is anything else; `cure` says what to do if it is 0.

    >>> at_least_one("dimension", 3)
    3
    """
    number = count(name, value)
    if not number:
        raise InvalidParameter(expected("a whole number of 1 or more", name, value, cure))
    return int(checked_amount(name, Fraction(number)))


def whole_number(name: str, value: object) -> int:
    """`value` as an int: a whole number of Python or NumPy, and no bool.

    Raises:
        InvalidParameter: it is anything else.

    >>> whole_number("t", -3)
    -3
    """
    if not is_whole(value):
        raise InvalidParameter(expected("a whole number", name, value, f"write it as an int: {name}=3."))
    return int(value)


def proper_delta(delta: object, cure: str = "write delta as a small number such as 1e-8.") -> Fraction:
    """A delta above 0 and below 1, no smaller than the smallest float.

    >>> proper_delta(1e-6)
    Fraction(1, 1000000)
    """
    exact = fraction("delta", delta)
    if not 0 < exact < 1:
        raise InvalidParameter(expected("a delta between 0 and 1", "delta", delta, cure))
    return delta_or_zero(exact)


def delta_or_zero(delta: object) -> Fraction:
    """A delta from 0 to below 1: 0, or no smaller than the smallest float."""
    exact = fraction("delta", delta)
    if not exact.numerator:  # most of the time
        return exact
    if not 0 <= exact < 1:
        cure = "write delta as a small number such as 1e-8, or 0."
        raise InvalidParameter(expected("a delta from 0 to below 1", "delta", delta, cure))
    if exact < LEAST_DELTA:
        cure = "write delta as 1e-300 or more; floats below 5e-324 are 0."
        raise InvalidParameter(expected("a delta that is not 0 as a float", "delta", delta, cure))
    return exact


def confidence_level(confidence: object) -> Fraction:
    """A confidence strictly between 0 and 1, and no nearer to either than 1e-50, exactly.

    >>> confidence_level(0.95)
    Fraction(19, 20)
    """
    level = fraction("confidence", confidence)
    if not 0 < level < 1:
        cure = "write the confidence as a fraction of one, as confidence=0.95."
        raise InvalidParameter(expected("a confidence strictly between 0 and 1", "confidence", confidence, cure))
    for name, chance in (("confidence", level), ("1 - confidence", 1 - level)):
        if chance < LEAST_MISS:
            cure = "write a confidence such as 0.95."
            raise InvalidParameter(expected("a confidence no nearer to 0 or 1 than 1e-50", name, chance, cure))
    return level


def short_up(amount: Fraction) -> Fraction:
    """`amount`, or the next number above it with `PLACES` decimal places where its denominator is longer.

    Sums of fractions with unrelated denominators grow without limit; this keeps a running total small, never too low,
    and exact for all sums of floats.
    """
    if amount.denominator <= _LONGEST:
        return amount
    return Fraction(-(-amount.numerator * _LONGEST // amount.denominator), _LONGEST)


def short_down(amount: Fraction) -> Fraction:
    """The same, never too high."""
    return -short_up(-amount)


def sum_up(a: Fraction, b: Fraction) -> Fraction:
    """``short_up(a + b)``, faster where the one denominator divides the other: `b` was added to `a` before.

    >>> sum_up(Fraction(1, 2), Fraction(1, 10))
    Fraction(3, 5)
    """
    bottom = b.denominator
    times, rest = divmod(bottom, a.denominator)
    if rest or bottom > _LONGEST:
        return short_up(a + b)
    return Fraction(a.numerator * times + b.numerator, bottom)


def sums(amounts: Iterable[Fraction]) -> tuple[Fraction, Fraction]:
    """Fractions on both sides of the sum: equal, and exact, where one denominator of `PLACES` digits fits all of them;
    otherwise with `PLACES` decimal places, less than one in the last for each amount apart.

    Added one by one, fractions of unrelated denominators grow with each step.

    >>> sums([Fraction(1, 2), Fraction(1, 3)])
    (Fraction(5, 6), Fraction(5, 6))
    """
    listed, bottom = list(amounts), 1
    for amount in listed:
        bottom = math.lcm(bottom, amount.denominator)
        if bottom > _LONGEST:
            bottom = _LONGEST
            break
    lower = sum(amount.numerator * bottom // amount.denominator for amount in listed)
    upper = -sum(-amount.numerator * bottom // amount.denominator for amount in listed)
    return Fraction(lower, bottom), Fraction(upper, bottom)


def decimal_text(amount: Fraction, digits: int = 6, *, rounding: str = ROUND_HALF_EVEN) -> str:
    """`amount` as a decimal: exact where it ends within 30 places, otherwise `digits` significant ones.

    `rounding` is one of the directions of `decimal`.

    >>> (
    ...     decimal_text(Fraction(1, 10)),
    ...     decimal_text(Fraction(2, 3)),
    ...     decimal_text(Fraction(2, 3), rounding="ROUND_FLOOR"),
    ... )
    ('0.1', '0.666667', '0.666666')
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
    # A context of its own: the caller's, or a float, would add a second rounding, and a float would overflow.
    context = Context(prec=digits, rounding=rounding, Emin=MIN_EMIN, Emax=MAX_EMAX)
    rounded = context.divide(Decimal(amount.numerator), Decimal(amount.denominator)).normalize(context)
    return f"{rounded:f}" if -5 < rounded.adjusted() < digits else f"{rounded:e}"


def exact_decimals() -> AbstractContextManager[Context]:
    """Has decimals keep `PLACES` digits and never raise, whatever the program around has set.

    sqlglot rounds each negative number in SQL that is not whole to the digits of the caller's context.

    >>> with localcontext(Context(prec=2)), exact_decimals():
    ...     abs(Decimal("-3.2512345"))
    Decimal('3.2512345')
    """
    return localcontext(Context(prec=PLACES, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[]))


ROOT_BITS = 64
"""To which `root_above` is good."""


def root_above(square: Fraction) -> Fraction:
    """The root of a number, or, where that is no fraction, a fraction above it by less than one part in 2**60.

    >>> root_above(Fraction(9, 4)), float(root_above(Fraction(2)))
    (Fraction(3, 2), 1.4142135623730951)
    """
    top, bottom = math.isqrt(square.numerator), math.isqrt(square.denominator)
    if top**2 == square.numerator and bottom**2 == square.denominator:
        return Fraction(top, bottom)
    shift = 2 * (ROOT_BITS + max(0, square.denominator.bit_length() - square.numerator.bit_length()))
    scaled = -(-(square.numerator << shift) // square.denominator)
    return Fraction(math.isqrt(scaled - 1) + 1, 1 << (shift // 2))


def root_below(square: Fraction) -> Fraction:
    """The root of a number above 0, or, where that is no fraction, a fraction below it by as little.

    >>> root_below(Fraction(9, 4)), root_below(Fraction(2)) ** 2 < 2
    (Fraction(3, 2), True)
    """
    return 1 / root_above(1 / square)
