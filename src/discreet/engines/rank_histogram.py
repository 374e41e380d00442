"""Compiles a block of ranks to one Ibis expression: the mass in each cell of its lattice, by group.

Claim
    `rank_histogram` gives one row for each group (by its place among the keys) and each cell in which there is mass, in
    no order. Without a unit, the mass of a cell is the number of its rows. With one, each unit's masses are integers of
    0 or more, which add up to at most max_groups * max_rows * steps over all groups and cells, whatever rows it has;
    the mass of a cell is the sum over the units.
Requires
    A scanned table behind `language.input_barrier.barrier`. max_groups * steps and max_rows * steps below 2**42.
Relies on
    Integer sums of 128 bits; 64-bit products below 2**63; `planning.contribution_bounding.weigh_large`.
Proof
    Let a unit have c rows in a cell (counted up to 2**20 of them) and m in the group, m at least the sum of the c's;
    k = max_rows. Its mass there is c steps if m <= k, and otherwise floor(c k steps / m), or less; so at most k steps
    in the group, since the c's add up to at most m. If it has mass in g > K groups (K = max_groups), each is replaced
    by floor(mass K / g) or less, so that they add up to at most K k steps.
    `weigh_large` may be asked for both: c k steps < 2**62, and neither quotient is above k steps < 2**42.
Rounding
    Down.
Source
    As `planning.contribution_bounding`.
Mutant
    rows-uncounted: a unit's rows beyond max_rows count in full; killed by test_a_unit_has_no_more_mass_than_it_may.
"""

from __future__ import annotations

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from discreet.engines.engine import integers
from discreet.engines.exact_totals import KEY, keys_table
from discreet.language.exact_arithmetic import TOTAL, at_most, clipped, integer
from discreet.planning.column_lattice import lattice_step
from discreet.planning.contribution_bounding import attach, units, weigh_large
from discreet.planning.group_keys import POSITION
from discreet.planning.plan import Plan
from discreet.planning.quantile_measurements import PricedRanks
from discreet.selection.rank_exponential import Histogram

GROUP = "__discreet_group_"
CELL = "__discreet_cell"
ROWS = "__discreet_rows"
ALL = "__discreet_all"
MASS = "__discreet_mass"
COLUMNS = (POSITION, CELL, MASS)
MOST_ROWS = 2**20
"""A unit's rows in one cell are counted up to here."""


def rank_histogram(plan: Plan, priced: PricedRanks) -> ir.Table:
    """Columns `POSITION` (0 where there are no groups), `CELL` and `MASS`, 128-bit decimals."""
    rows = _rows(plan, priced)
    unit, groups = units(rows), [name for name in rows.columns if name.startswith(GROUP)]
    found = rows.group_by([*unit, *groups, CELL]).agg(rows.count().name(ROWS))
    place: list[str] = []
    keys = keys_table(plan)
    if keys is not None:
        same = [keys[f"{KEY}{name[len(GROUP) :]}"].identical_to(found[name]) for name in groups]
        found = found.inner_join(keys, same).select(*unit, POSITION, CELL, ROWS)
        place = [POSITION]
    mass = found.rename({MASS: ROWS}) if plan.query.by_row else _weighted(plan, priced, found, unit, place)
    summed = mass.group_by([*place, CELL]).agg(mass[MASS].sum().name(MASS))
    held = summed.filter(summed[MASS] > 0)
    group = held[POSITION] if place else integer(0)
    return held.select(**{POSITION: group.cast(TOTAL), CELL: held[CELL].cast(TOTAL), MASS: held[MASS].cast(TOTAL)})


def read_rank_histogram(answer: pa.Table) -> Histogram:
    """An answer's rows in order."""
    group, cell, mass = (integers(answer[name]) for name in COLUMNS)
    order = np.lexsort((cell, group))
    return Histogram(group[order], cell[order], mass[order])


def _rows(plan: Plan, priced: PricedRanks) -> ir.Table:
    """The rows that count, with their cells."""
    relation, block, lattice = plan.query.relation, priced.block, priced.lattice
    columns: dict[str, ir.Value] = {name: relation[name] for name in units(relation)}
    columns |= {f"{GROUP}{name}": expr for name, expr in plan.query.groups.items()}
    columns[CELL] = lattice_step(block.value, lattice)
    if block.where is not None:
        columns[ALL] = block.where.expr
    rows = relation.select(**columns)
    kept = rows[CELL].notnull() if block.where is None else rows[CELL].notnull() & rows[ALL]
    rows = rows.filter(kept)
    others = [name for name in rows.columns if name not in (CELL, ALL)]
    return rows.select(*others, clipped(rows[CELL], integer(0), integer(lattice.high)).name(CELL))


def _weighted(plan: Plan, priced: PricedRanks, found: ir.Table, unit: list[str], place: list[str]) -> ir.Table:
    """The masses of each unit, within its limits."""
    limits = plan.limits
    by = [*unit, *place]
    many = attach(found, found.group_by(by).agg(found[ROWS].sum().cast("int64").name(ALL)), by)
    rows, all_ = at_most(many[ROWS], integer(MOST_ROWS)), many[ALL]
    full = rows * integer(priced.steps)
    inside = many.select(*by, CELL, weigh_large(full, limits.max_rows, all_).name(MASS))
    if not plan.weighs_groups:
        return inside
    groups = found.select(*by).distinct()
    wide = attach(inside, groups.group_by(unit).agg(groups.count().name(ALL)), unit)
    return wide.select(*place, CELL, weigh_large(wide[MASS], limits.max_groups, wide[ALL]).name(MASS))
