"""How many of a column's public values occur in each group, each counted by the unit that weighs most for it.

Claim
    `occurring` gives for each group that has some an integer that is the number of listed values in it, in steps, where
    every unit has at most `max_rows` of them there and at most `max_groups` groups. Adding or removing a unit moves the
    integers of all groups together by at most max_groups * L * steps, L the smaller of max_rows and the number of
    values; that of one group by at most L * steps; replacing moves one group alone by no more than that either.
Requires
    A scanned table behind `language.barrier.barrier`.
Relies on
    Integer maxima and sums; IEEE doubles below 2**52, where floor(a / b) of integers is exact.
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
    Weighting as in `engines.contribution_bounding`; a maximum in place of a sum, since a value counts once.
Mutant
    values-unweighted: the weight of a unit with many values is rounded up; killed by test_a_unit_weighs_what_it_may.
"""

from __future__ import annotations

import ibis.expr.types as ir

from discreet.engines.exact_arithmetic import TOTAL, double, floored, integer
from discreet.language.barrier import UNIT
from discreet.language.checked_expressions import Kind, cast
from discreet.language.literals import constant
from discreet.planning.group_keys import POSITION
from discreet.planning.plan import Plan

GROUP = "__discreet_group_"
KEY = "__discreet_key_"
VALUE, ROWS, GROUPS, WEIGHT = "v", "m", "g", "w"


def occurring(plan: Plan, i: int, keys: ir.Table | None) -> ir.Table:
    """One row for each group with listed values (one row in all, without `keys`): ``b<i>_0``, and the group's place."""
    block = plan.blocks[i]
    pairs, by = _pairs(plan, i, keys)
    if plan.query.by_row:
        found = pairs.distinct().mutate(w=integer(block.steps))
    else:
        found = _weighed(plan, i, pairs, by).group_by([*by, VALUE]).agg(w=lambda t: t[WEIGHT].max())
    return found.aggregate([found[WEIGHT].sum().cast(TOTAL).name(f"b{i}_0")], by=by)


def _pairs(plan: Plan, i: int, keys: ir.Table | None) -> tuple[ir.Table, list[str]]:
    """The rows with a listed value: unit, group and value; and what groups are told apart by."""
    block, relation = plan.blocks[i].block, plan.query.relation
    if block.value is None:
        raise TypeError(block)
    relation = relation if block.where is None else relation.filter(block.where.expr)
    units = [name for name in relation.columns if name.startswith(UNIT)]
    groups = {f"{GROUP}{name}": expr for name, expr in plan.query.groups.items()}
    rows = relation.select(*units, **groups, **{VALUE: block.value.expr})
    rows = rows.filter(rows[VALUE].isin([constant(key).expr for key in block.listed]))
    if keys is None:
        return rows, []
    same = [keys[f"{KEY}{name}"].identical_to(rows[f"{GROUP}{name}"]) for name in plan.query.groups]
    return rows.inner_join(keys, same).select(*units, VALUE, POSITION), [POSITION]


def _weighed(plan: Plan, i: int, pairs: ir.Table, by: list[str]) -> ir.Table:
    """Each value of each unit in each group, once, with its weight."""
    block, groups = plan.blocks[i], plan.limits.max_groups
    units = [name for name in pairs.columns if name.startswith(UNIT)]
    values = min(plan.limits.max_rows, len(block.block.listed))
    pairs = pairs.distinct()
    held = pairs.group_by([*units, *by]).agg(m=pairs.count())
    weight = _scaled(integer(block.steps), values, held["m"])
    held = held.mutate(w=weight)
    if by and plan.weighs_groups:
        number = held.group_by(units).agg(g=held.count())
        held = _joined(held, number, units, GROUPS)
        held = held.mutate(w=_scaled(held[WEIGHT], groups, held[GROUPS]))
    return _joined(pairs, held, [*units, *by], WEIGHT)


def _scaled(weight: ir.Value, most: int, number: ir.Value) -> ir.Value:
    """A weight, scaled down where there are more than so many."""
    part = cast(weight, Kind.REAL) * double(most) / cast(number, Kind.REAL)
    return (number <= integer(most)).ifelse(weight, floored(part, weight))


def _joined(table: ir.Table, other: ir.Table, on: list[str], column: str) -> ir.Table:
    """The table with one more column, which `other` has for each of its rows."""
    renamed = other.select(*on, column).rename({f"of_{k}": name for k, name in enumerate(on)})
    joined = table.inner_join(renamed, [table[name] == renamed[f"of_{k}"] for k, name in enumerate(on)])
    return joined.select(*(table[name] for name in table.columns), renamed[column])
