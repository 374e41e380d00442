"""The written rules once more, in plain Python with integers and fractions: slow, and made from the theory."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest

from discreet.planning import forms
from discreet.planning.column_lattice import ColumnLattice
from discreet.planning.plan import PricedBlock

Record = Mapping[str, Any]
"""A row behind the barrier: None for NULL."""

Total = list[list[int]]
"""The components of each group, in the order of the keys."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question as Python functions of one row. A condition may give None, SQL's unknown."""

    value: Callable[[Record], Any] | None = None
    """A number, or a tuple of them for an aggregate of several columns; None for NULL."""
    where: Callable[[Record], bool | None] = lambda _: True
    kept: Callable[[Record], bool | None] = lambda _: True
    key: Callable[[Record], Any] = lambda _: None
    keys: Sequence[Any] = (None,)
    unit: Callable[[Record], Any] | None = None
    """Who a row belongs to; no function where each row is a unit."""
    max_groups: int = 1
    max_rows: int = 1


def step_of(lattice: ColumnLattice, value: float) -> int:
    """The lattice's integer for a value, clipped."""
    if isinstance(value, int) and lattice.exact:
        q = value - int(lattice.origin)
    else:
        q = math.floor((float(value) - float(lattice.origin)) * 2.0**lattice.exponent + 0.5)
    return min(max(q, lattice.low), lattice.high)


def polynomials(u: float, steps: int, degree: int) -> list[int]:
    """The Bernstein polynomials of u in integers that sum to the steps."""
    top = min(math.floor(u**degree * steps + 0.5), steps)
    if degree == 1:
        return [steps - top, top]
    bottom = min(math.floor((1 - u) * (1 - u) * steps + 0.5), steps - top)
    return [bottom, steps - top - bottom, top]


def on_lattice(block: PricedBlock, value: Any) -> tuple[int, ...] | None:
    """The parts of one row, lattice units times `fine`; they are zero or more and sum to at most the steps."""
    if value is None:
        return None
    if block.block.form is forms.PRODUCT:
        lattices = (block.lattice, *block.others)
        shares = [step_of(lattice, v) / lattice.high for lattice, v in zip(lattices, value, strict=True)]
        factors = map(polynomials, shares, block.factors, block.block.degrees)
        return tuple(math.prod(chosen) for chosen in itertools.product(*factors))[:-1]
    if block.block.form is forms.SIGNED_PRODUCTS:
        return signed_products(block, value)
    q = step_of(block.lattice, value)
    if block.block.form is not forms.TRIPLE:
        return (q * block.lattice.fine,)
    bottom, _, top = polynomials(q / block.lattice.high, block.steps, 2)
    return top, bottom


def signed_products(block: PricedBlock, values: Sequence[float]) -> tuple[int, ...]:
    """The parts of signed products: products of the columns' integers from -H to H."""
    lattices, steps = (block.lattice, *block.others), block.factors[0]
    shares = [step_of(lattice, value) / lattice.high for lattice, value in zip(lattices, values, strict=True)]
    w = [min(math.floor(u * (2 * steps) + 0.5), 2 * steps) - steps for u in shares]
    parts = {
        one: 2 * w[one[0]] ** 2 - steps**2
        if len(one) != len(set(one))
        else math.prod(w[k] for k in one) * steps ** (2 - len(one))
        for one in block.block.powers
    }
    return tuple(parts.values())


def completed(block: PricedBlock, whole: int, parts: Sequence[int], absent: int) -> list[int]:
    """Parts, the NULLs where they are counted, and what is left of the whole; each takes what those before it left."""
    if block.block.signed:
        most = whole // block.block.components
        return [min(max(part, -most), most) for part in parts]
    entries, left = [], whole
    for part in [*parts, *([absent] if block.block.nulls else [])]:
        entries.append(min(max(part, 0), left))
        left -= entries[-1]
    return [*entries, left]


def toward_zero(amount: Fraction) -> int:
    return math.floor(amount) if amount >= 0 else math.ceil(amount)


def of_unit(block: PricedBlock, asked: Asked, rows: Sequence[Record]) -> list[int]:
    """What one unit's rows in one group count: at most `max_rows` of them, the others by weight."""
    counted = [row for row in rows if asked.where(row) is True]
    parts = [] if asked.value is None else [on_lattice(block, asked.value(row)) for row in counted]
    held = [part for part in parts if part is not None]
    number = len(counted) if asked.value is None or block.block.nulls else len(held)
    limit = 1 if block.block.form is forms.UNITS else asked.max_rows
    if asked.unit is None:
        limit = max(number, 1)
    weight = min(Fraction(1), Fraction(limit, max(number, 1)))
    sums = [toward_zero(weight * sum(column)) for column in zip(*held, strict=True)] or [0] * block.block.parts
    absent = math.floor(weight * (len(counted) - len(held)) * block.steps)
    return completed(block, min(number, limit) * block.steps, sums, absent)


def reference(block: PricedBlock, asked: Asked, rows: Sequence[Record]) -> Total:
    """The totals of a block by the rules."""
    listed = list(asked.keys)
    totals = [[0] * block.block.components for _ in listed]
    units: dict[Any, dict[int, list[Record]]] = {}
    for i, row in enumerate(rows):
        who = i if asked.unit is None else asked.unit(row)
        if who is not None and asked.kept(row) is True and asked.key(row) in listed:
            units.setdefault(who, {}).setdefault(listed.index(asked.key(row)), []).append(row)
    for groups in units.values():
        weight = min(Fraction(1), Fraction(asked.max_groups, len(groups)))
        for place, own in groups.items():
            entries = of_unit(block, asked, own)
            if weight < 1 and block.block.signed:
                entries = [toward_zero(entry * weight) for entry in entries]
            elif weight < 1:
                scaled = [math.floor(entry * weight) for entry in entries[:-1]]
                entries = [*scaled, math.floor(sum(entries) * weight) - sum(scaled)]
            totals[place] = [total + entry for total, entry in zip(totals[place], entries, strict=True)]
    if block.block.form is forms.SIGNED_PRODUCTS and block.block.components == 2:
        return [[one + other, one - other] for one, other in totals]
    return totals


@pytest.fixture(name="asked", scope="session")
def _asked() -> type[Asked]:
    return Asked


@pytest.fixture(name="reference", scope="session")
def _reference() -> Callable[[PricedBlock, Asked, Sequence[Record]], Total]:
    return reference
