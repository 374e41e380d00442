"""How many of a column's public values occur in each group, each counted by the unit that weighs most for it.

Claim
    `distinct_totals` gives for each group that has some an integer that is the number of listed values in it, in steps,
    where every unit has at most `max_rows` of them there and at most `max_groups` groups. Adding or removing a unit
    moves the integers of all groups together by at most max_groups * L * steps, L the smaller of max_rows and the
    number of values; that of one group by at most L * steps; replacing moves one group alone by no more than that
    either.
Requires
    A scanned table behind `language.input_barrier.barrier`.
Relies on
    Integer maxima and sums; `planning.contribution_bounding` for the weights.
Proof
    A unit with m values in a group, and g such groups, has the weight w <= floor(steps min(1, L/m) min(1, K/g)) for
    each of its values there, a function of its own rows. A value counts with the largest weight of the units that have
    it. Adding a unit raises a maximum by at most the unit's weight, so a group's integer by at most m w <= L steps, and
    all of them by at most g L steps min(1, K/g) <= K L steps; removing is the reverse. A replacement is one of each:
    one group's integer lies, before and after, between that of the other units and L steps above it.
    Where each row is a unit it has one value, of weight 1.
Rounding
    Weights down.
Source
    Weighting as in `planning.contribution_bounding`; a maximum in place of a sum, since a value counts once.
Mutant
    values-unweighted: a unit counts with all of its values; killed by test_a_unit_weighs_what_it_may.
"""

from __future__ import annotations

import ibis.expr.types as ir

from discreet.engines.generated_columns import Columns
from discreet.language.exact_arithmetic import TOTAL, integer
from discreet.language.literals import constant
from discreet.planning.contribution_bounding import attach, units, weigh
from discreet.planning.group_keys import POSITION
from discreet.planning.plan import Plan

GROUP = "__discreet_group_"
KEY = "__discreet_key_"
VALUE, ROWS, GROUPS, WEIGHT = "value", "rows", "groups", "weight"


def distinct_totals(plan: Plan, i: int, keys: ir.Table | None) -> ir.Table:
    """One row for each group with listed values (one row in all, without `keys`): its total, and the group's place."""
    block = plan.blocks[i]
    pairs, by = _pairs(plan, i, keys)
    if plan.query.by_row:
        found = pairs.distinct().mutate(**{WEIGHT: integer(block.steps)})
    else:
        found = _weighed(plan, i, pairs, by).group_by([*by, VALUE]).agg(**{WEIGHT: lambda t: t[WEIGHT].max()})
    return found.aggregate([found[WEIGHT].sum().cast(TOTAL).name(Columns(i).total(0))], by=by)


def _pairs(plan: Plan, i: int, keys: ir.Table | None) -> tuple[ir.Table, list[str]]:
    """The rows with a listed value: unit, group and value; and what groups are told apart by."""
    block, relation = plan.blocks[i].block, plan.query.relation
    if block.value is None:
        raise TypeError(block)
    relation = relation if block.where is None else relation.filter(block.where.expr)
    unit = units(relation)
    groups = {f"{GROUP}{name}": expr for name, expr in plan.query.groups.items()}
    rows = relation.select(*unit, **groups, **{VALUE: block.value.expr})
    rows = rows.filter(rows[VALUE].isin([constant(key).expr for key in block.listed]))
    if keys is None:
        return rows, []
    same = [keys[f"{KEY}{name}"].identical_to(rows[f"{GROUP}{name}"]) for name in plan.query.groups]
    return rows.inner_join(keys, same).select(*unit, VALUE, POSITION), [POSITION]


def _weighed(plan: Plan, i: int, pairs: ir.Table, by: list[str]) -> ir.Table:
    """Each value of each unit in each group, once, with its weight."""
    block, unit = plan.blocks[i], units(pairs)
    values = min(plan.limits.max_rows, len(block.block.listed))
    pairs = pairs.distinct()
    held = pairs.group_by([*unit, *by]).agg(pairs.count().name(ROWS))
    held = held.select(*unit, *by, **{WEIGHT: weigh(integer(block.steps), values, held[ROWS])})
    if by and plan.weighs_groups:
        held = attach(held, held.group_by(unit).agg(held.count().name(GROUPS)), unit)
        held = held.select(*unit, *by, **{WEIGHT: weigh(held[WEIGHT], plan.limits.max_groups, held[GROUPS])})
    return attach(pairs, held, [*unit, *by])
