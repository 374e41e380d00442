"""Who is protected, against which change of the table, and how far: frozen values without behavior."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from discreet.exact.amounts import decimal_text


class Neighbors(Enum):
    """Which two tables must look alike."""

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
class Guarantee:
    """(epsilon, delta)-differential privacy, in exact fractions.

    >>> Guarantee(epsilon=Fraction(1, 10)) + Guarantee(epsilon=Fraction(1, 5))
    Guarantee(epsilon=0.3)
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def __add__(self, other: Guarantee) -> Guarantee:
        return Guarantee(epsilon=self.epsilon + other.epsilon, delta=self.delta + other.delta)

    def __sub__(self, other: Guarantee) -> Guarantee:
        return Guarantee(epsilon=self.epsilon - other.epsilon, delta=self.delta - other.delta)

    def __str__(self) -> str:
        text = f"epsilon={decimal_text(self.epsilon)}"
        return text if not self.delta else f"{text}, delta={decimal_text(self.delta)}"

    def __repr__(self) -> str:
        return f"Guarantee({self})"
