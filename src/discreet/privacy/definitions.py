"""Who is protected, against which change of the table, and how far: frozen values without behavior."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import ClassVar

from discreet.errors import NoTruth
from discreet.exact.amounts import decimal_text

UNBOUNDED = Fraction(10**101)
"""The epsilon of what no epsilon describes, such as Gaussian noise at a rho: above that of every allowance."""


class Neighbors(Enum):
    """Which pairs of tables are neighbors.

    >>> Neighbors("replace-one")
    <Neighbors.REPLACE_ONE: 'replace-one'>
    """

    ADD_REMOVE = "add-remove"
    """One unit, with all its rows, is in one table and not in the other."""
    REPLACE_ONE = "replace-one"
    """Both tables hold the same, public number of units; the rows of one unit differ."""


class Row(Enum):
    """The privacy unit when each row is a person of its own."""

    ROW = "row"

    def __repr__(self) -> str:
        return "dp.ROW"


ROW = Row.ROW
"""Pass ``unit=dp.ROW`` where no two rows belong to the same person: nothing needs bounding."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Guarantee(NoTruth):
    """(epsilon, delta)-differential privacy, in exact fractions; where it is stated or counted, rho beside it.

    >>> Guarantee(epsilon=Fraction(1, 10)) + Guarantee(epsilon=Fraction(1, 5))
    Guarantee(epsilon=0.3)
    """

    _ask: ClassVar[str] = "ask for one amount: if budget.remaining.epsilon > 0."

    epsilon: Fraction
    """`UNBOUNDED` where only rho describes a release; 0 where a budget counts rho alone."""
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    """Of zero-concentrated differential privacy: another sum over the same releases, not a third condition."""

    def __eq__(self, other: object) -> bool:
        self._no_number(other)
        mine = (self.epsilon, self.delta, self.rho)
        return isinstance(other, Guarantee) and mine == (other.epsilon, other.delta, other.rho)

    def __hash__(self) -> int:
        return hash((self.epsilon, self.delta, self.rho))

    def __add__(self, other: Guarantee) -> Guarantee:
        rho = None if self.rho is None or other.rho is None else self.rho + other.rho
        return Guarantee(epsilon=self.epsilon + other.epsilon, delta=self.delta + other.delta, rho=rho)

    def __sub__(self, other: Guarantee) -> Guarantee:
        rho = None if self.rho is None or other.rho is None else self.rho - other.rho
        return Guarantee(epsilon=self.epsilon - other.epsilon, delta=self.delta - other.delta, rho=rho)

    @property
    def amounts(self) -> dict[str, str]:
        """What a receipt says was charged: rho where that was stated, epsilon and delta otherwise.

        >>> Guarantee(epsilon=Fraction(1)).amounts, Guarantee(epsilon=UNBOUNDED, rho=Fraction(1, 2)).amounts
        ({'epsilon': '1', 'delta': '0'}, {'rho': '0.5'})
        """
        if self.rho is None:
            return {"epsilon": decimal_text(self.epsilon), "delta": decimal_text(self.delta)}
        return {"rho": decimal_text(self.rho), **({"delta": decimal_text(self.delta)} if self.delta else {})}

    @property
    def promise(self) -> str:
        """The same in words.

        >>> Guarantee(epsilon=Fraction(1), delta=Fraction(1, 1000)).promise
        '(1, 0.001)-differential privacy'
        """
        amounts = [text for text in self.amounts.values() if text != "0"]
        stated = amounts[0] if len(amounts) == 1 else f"({', '.join(amounts)})"
        return f"{stated}-{'' if self.rho is None else 'zero-concentrated '}differential privacy"

    def __str__(self) -> str:
        by_rho = self.rho and not 0 < self.epsilon < UNBOUNDED
        shown = {} if by_rho else {"epsilon": self.epsilon}
        shown |= {"delta": self.delta} if self.delta else {}
        shown |= {} if self.rho is None else {"rho": self.rho}
        return ", ".join(f"{name}={decimal_text(amount)}" for name, amount in shown.items())

    def __repr__(self) -> str:
        return f"Guarantee({self})"
