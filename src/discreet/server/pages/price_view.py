"""The price of a question as a page shows it: the error of each column, in words, as a number, and along all prices."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

from discreet.exact.amounts import decimal_text

POINTS = 9
"""Prices at which the curve of a column's error is computed."""

DEFAULT_SHARE = 10
"""At first the price is this part of what is left."""

_ERROR = re.compile(r"(?:about )?(?P<amount>[0-9][0-9.]*(?:e[+-]?[0-9]+)?)(?P<of>/n|[^,;]*)(?P<more>.*)", re.DOTALL)

WORDS = {
    "units": "number of units",
    "rows": "number of rows",
    "quantile": "quantile",
    "mean": "mean",
    "sum": "sum",
    "std": "standard deviation",
    "var": "variance",
}


@dataclass(frozen=True, kw_only=True)
class ExpectedError:
    """How far the value of one column may be off."""

    name: str
    statistic: str
    amount: float | None
    """As a number, to draw it; none where only words will do."""
    shown: str
    suffix: str = ""
    note: str = ""
    curve: Sequence[Mapping[str, float]] = ()

    @classmethod
    def read(cls, column: Mapping[str, Any], rows: int | None) -> ExpectedError:
        """The error that `explain` states in text; with a number of rows, what it comes to in a group of so many.

        >>> ExpectedError.read({"name": "m", "statistic": "mean", "plus_minus": "1.61e+04/n"}, rows=1000).shown
        '16.1'
        """
        text = str(column["plus_minus"])
        found = _ERROR.fullmatch(text)
        name, statistic = str(column["name"]), WORDS.get(str(column["statistic"]), str(column["statistic"]))
        if found is None:
            return cls(name=name, statistic=statistic, amount=None, shown=text)
        amount = float(found["amount"])
        if found["of"] == "/n":
            if rows:
                note = f"in a group of {rows:,} rows"
                return cls(
                    name=name, statistic=statistic, amount=amount / rows, shown=three_digits(amount / rows), note=note
                )
            note = "n: the rows of a group. Say above how many you expect, to see the error itself."
            return cls(
                name=name, statistic=statistic, amount=amount, shown=three_digits(amount), suffix=" / n", note=note
            )
        note = found["more"].lstrip(",; ")
        suffix = f" {found['of'].strip()}" if found["of"].strip() else ""
        return cls(name=name, statistic=statistic, amount=amount, shown=three_digits(amount), suffix=suffix, note=note)

    def along(self, points: Sequence[tuple[float, ExpectedError]]) -> ExpectedError:
        """The same with its errors at other prices."""
        curve = [{"epsilon": price, "amount": one.amount} for price, one in points if one.amount is not None]
        return ExpectedError(
            name=self.name,
            statistic=self.statistic,
            amount=self.amount,
            shown=self.shown,
            suffix=self.suffix,
            note=self.note,
            curve=curve,
        )


def three_digits(amount: float) -> str:
    """A number with three digits, as a person reads it.

    >>> three_digits(16134.2), three_digits(0.01234), three_digits(149.0), three_digits(3e9)
    ('16,100', '0.0123', '149', '3.00e+09')
    """
    if amount != 0 and not 1e-4 <= abs(amount) < 1e6:
        return f"{amount:.2e}"
    rounded = float(f"{amount:.3g}")
    digits = max(0, 2 - math.floor(math.log10(abs(rounded)))) if rounded else 0
    text = f"{rounded:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


@dataclass(frozen=True, kw_only=True)
class PriceView:
    """What a question costs, and what that buys."""

    columns: Sequence[ExpectedError]
    groups: str = ""
    confidence: str = "95 %"
    payable: bool = False
    epsilon: str = ""
    plan: str = ""
    """The plan that this is the price of, which goes along with what is paid."""
    asked: str = ""
    """The digest of the ask that it is the price of."""
    said: str = field(init=False)
    """The same in one sentence, for those who hear it."""

    def __post_init__(self) -> None:
        errors = "; ".join(f"{one.name} plus or minus {one.shown}{one.suffix}" for one in self.columns)
        more = "" if self.payable else " This is more than is left."
        object.__setattr__(self, "said", f"At epsilon {self.epsilon}: {errors}.{more}")


def prices(least: Fraction, most: Fraction, points: int = POINTS) -> list[Decimal]:
    """Prices between two, each the same multiple of the one before, in three digits.

    >>> [str(one) for one in prices(Fraction(1, 100), Fraction(1), 3)]
    ['0.01', '0.1', '1']
    """
    step = math.log(most / least) / (points - 1)
    exact = [float(least) * math.exp(step * place) for place in range(points)]
    inner = [Decimal(f"{price:.3g}") for price in exact[1:-1]]
    return [_floor(least), *inner, _floor(most)]


def span_of(left: Fraction | None) -> tuple[str, str]:
    """The ends of the slider: all that is left, at most 1, and a hundredth of that; more can be typed.

    >>> span_of(Fraction(10)), span_of(Fraction("0.3")), span_of(None)
    (('0.01', '1'), ('0.003', '0.3'), ('0.01', '1'))
    """
    most = Fraction(1) if left is None or left <= 0 else min(left, Fraction(1))
    return str(_floor(most / 100)), str(_floor(most))


def _floor(amount: Fraction) -> Decimal:
    """At most this amount, in three digits: what is offered has to fit."""
    context = Context(prec=3, rounding=ROUND_FLOOR)
    found = context.divide(Decimal(amount.numerator), Decimal(amount.denominator)).normalize()
    return Decimal(f"{found:f}")


def first_price(left: Fraction | None, stated: str) -> str:
    """The price that is offered at first: what the curator stated, if that is left, or a part of what is left."""
    if left is None or left <= 0 or Fraction(stated) <= left:
        return stated
    return decimal_text(Fraction(_floor(left / DEFAULT_SHARE)))
