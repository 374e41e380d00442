"""Signed products of columns, in integers: what the totals of lines over many predictors are made of.

Claim
    `crossed` gives for each row of a block of signed products one or two parts: integers in [-h, h], h = `steps` over
    the number of its components; NULL where the row does not count.
Requires
    The lattice integers of the values, whatever they are.
Relies on
    Integer arithmetic of the engine below 2**53; CASE for the clips.
Proof
    With H = `factors`, W is an integer that is clipped to [0, 2H], less H: in [-H, H], whatever arithmetic made it. So
    a product of two is in [-H², H²], as are W H, H² and 2 W² - H² of a W² in [0, H²]; and h = H². The condition, or a
    value, that is NULL makes a part NULL.
Rounding
    W to the nearest of 2H + 1 integers, after that of the lattice.
Source
    As `planning.signed_products`.
Mutant
    signed-product-unclipped: the integers are not clipped after the lattice; killed by
    test_every_signed_product_is_clipped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ibis
import ibis.expr.types as ir

from discreet.engines.generated_columns import Columns
from discreet.language.checked_expressions import Kind, Value, cast
from discreet.language.exact_arithmetic import at_most, clipped, double, integer, rounded_half_up
from discreet.planning.column_lattice import ColumnLattice, lattice_step
from discreet.planning.plan import PricedBlock


class SignedProducts:
    """The blocks of signed products of a plan, and the columns that they share: each is computed once."""

    def __init__(self, blocks: Mapping[int, PricedBlock]) -> None:
        self.blocks = blocks
        self._columns: dict[Any, tuple[str, Value, ColumnLattice, int]] = {}
        self._wheres: dict[Any, tuple[str, Value]] = {}
        for block in blocks.values():
            lattices = (block.lattice, *block.others)
            for place, (value, lattice) in enumerate(zip(block.block.values, lattices, strict=True)):
                name, steps = f"factor_{len(self._columns)}", block.factors[place]
                self._columns.setdefault(_key(block, place), (name, value, lattice, steps))
            if block.block.where is not None:
                name = f"condition_{len(self._wheres)}"
                self._wheres.setdefault(block.block.where.expr.op(), (name, block.block.where))

    def taken(self) -> dict[str, ir.Value]:
        """What is taken from the relation: lattice integers, and conditions."""
        found = {name: lattice_step(value, lattice) for name, value, lattice, _ in self._columns.values()}
        return found | {name: where.expr for name, where in self._wheres.values()}

    def crossed(self, rows: ir.Table) -> ir.Table:
        """The rows with the parts of each block, and its condition."""
        own = [*(column[0] for column in self._columns.values()), *(where[0] for where in self._wheres.values())]
        others = [name for name in rows.columns if name not in own]
        wheres = [name for name, _ in self._wheres.values()]
        shares = {
            name: cast(clipped(rows[name], integer(lattice.low), integer(lattice.high)), Kind.REAL)
            / double(lattice.high)
            for name, _, lattice, _ in self._columns.values()
        }
        rows = rows.select(*others, *wheres, **shares)
        signed = {
            name: at_most(rounded_half_up(rows[name] * double(2 * steps)), integer(2 * steps)) - integer(steps)
            for name, _, _, steps in self._columns.values()
        }
        rows = rows.select(*others, *wheres, **signed)
        return rows.select(*others, **self._parts(rows))

    def _parts(self, rows: ir.Table) -> dict[str, ir.Value]:
        result: dict[str, ir.Value] = {}
        for i, block in self.blocks.items():
            own, where = Columns(i), block.block.where
            if where is not None:
                result[own.counted] = rows[self._wheres[where.expr.op()][0]]
            factors = [rows[self._columns[_key(block, place)][0]] for place in range(len(block.block.values))]
            for j, powers in enumerate(block.block.powers):
                part = _product([factors[place] for place in powers], block.factors[0], square=len(set(powers)) == 1)
                result[own.part(j)] = (
                    part if where is None else ibis.ifelse(result[own.counted], part, ibis.null("int64"))
                )
        return result


def _key(block: PricedBlock, place: int) -> Any:
    lattice = (block.lattice, *block.others)[place]
    return block.block.values[place].expr.op(), lattice, block.factors[place]


def _product(factors: list[ir.Value], steps: int, *, square: bool) -> ir.Value:
    """1, w, a product of two, or 2 w² - 1, times the square of the steps."""
    if not factors:
        return integer(steps**2)
    if len(factors) == 1:
        return factors[0] * integer(steps)
    product = factors[0] * factors[1]
    return product * integer(2) - integer(steps**2) if square else product


def turned(parts: Sequence[ir.Value]) -> list[ir.Value]:
    """The totals of a block of signed products, from those of its parts: their sum and their difference."""
    return [parts[0] + parts[1], parts[0] - parts[1]] if len(parts) == 2 else list(parts)
