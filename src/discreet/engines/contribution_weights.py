"""Bounds what one unit contributes: weights its rows to `max_rows` and its groups to `max_groups`, in integers.

Claim
    From the sums over one unit's rows in one group, `bounded` makes integer entries whose absolute values sum to at
    most min(rows, max_rows) * steps for each block, and `weighted` scales them such that over all groups they sum to at
    most max_groups * max_rows * steps. `components` gives the sums of these entries over all units.
Requires
    Nothing of the sums: whatever they are, the entries are clipped to what is left of the unit's total.
Relies on
    IEEE doubles below 2**52, where floor(a / b) of integers is exact (`column_lattice.bits_for` keeps products there);
    `planning.contribution_bounding.weigh`, of the groups.
Proof
    Let n be the unit's rows in the group, k = max_rows, m = min(n, k), t = m * steps. Each part is clipped to [0, k *
    steps], rounded toward zero, and clipped to [0, what the parts before it left of t] (a lone sum to m times what one
    row can add at least and at most, 0 included; a signed product to [-t, t]): parts up to the j-th together have
    min(f_0 + ... + f_j, t), f >= 0. The complement is the rest of t. So the entries are >= 0 and sum to t <= k * steps.
    Of g > K groups, each part p becomes floor(p K / g) and t becomes floor(t K / g); all are exact, since p K <= t K <=
    K k steps <= 2**52. Sums of floors are at most the floor of the sum, so the complement is still >= 0, and over the g
    groups the entries sum to at most g * (k steps K / g) = K k steps. A lone sum is rounded toward zero, so its
    absolute value is at most t K / g as well, and it stays between the ends times K / g. Where g <= K, p K is divided
    by K, which gives p. Signed products are two lone sums, each within half of the steps, whose sum and difference are
    taken at the end: the absolute values of these sum to twice the larger of theirs, at most K k steps over all groups.
    With one mechanism for all totals, a sum then comes nearer to zero by `joint_plan.rounding_slack`, and stays within
    its bound. The complement is taken when all units are summed: the sum of the t's less the sums of the parts is the
    sum of each unit's own rest.
Rounding
    Toward zero.
Source
    As `planning.contribution_bounding`.
Mutant
    parts-beyond-the-whole: parts are not clipped to what is left of the unit's total; killed by
    test_whatever_the_sums_were_a_unit_stays_within_its_total.
    lone-sum-both-ways: a lone sum may be as low as it may be high; killed by
    test_whatever_the_sums_were_a_unit_stays_within_its_total.
    groups-unweighted: a unit in more than max_groups groups counts in all of them; killed by
    test_a_unit_in_many_groups_is_weighted.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import ibis
import ibis.expr.types as ir

from discreet.engines.generated_columns import Columns
from discreet.engines.relational_operations import joined, selected, sides
from discreet.engines.signed_product_columns import turned
from discreet.language.checked_expressions import Kind, cast
from discreet.language.exact_arithmetic import (
    TOTAL,
    clamped_between,
    floored,
    int64_constant,
    narrowest,
    times,
    toward_zero,
)
from discreet.planning import forms
from discreet.planning.contribution_bounding import OTHER, weigh
from discreet.planning.joint_plan import rounding_slack
from discreet.planning.plan import Plan, PricedBlock

EXACT = 2**52
"""Up to here doubles hold every integer, and the floor of a quotient of two is exact."""
GROUPS = "__discreet_groups"


def measures(plan: Plan, rows: ir.Table) -> list[ir.Value]:
    """What is summed over one unit's rows in one group: `rows` that count, those that are `held`, and the `sum` of
    each part.
    """
    result = []
    for i, block in enumerate(plan.blocks):
        own = Columns(i)
        counted = rows.count(where=rows[own.counted]) if block.block.where is not None else rows.count()
        parts = block.block.parts
        held = rows[own.part(0)].count() if parts else counted
        result.append((counted if block.block.nulls else held).name(own.rows))
        if block.block.nulls:
            result.append(held.name(own.held))
        result += [rows[own.part(j)].sum().name(own.sum(j)) for j in range(parts)]
    return result


def bounded(plan: Plan, table: ir.Table, kept: list[str]) -> ir.Table:
    """From the measures, for each block a unit's entries in a group, and `rows_kept` unless it is signed. That is a
    small number and takes as little room, since of a large table all pairs are kept for a second look.

    What several parts leave is written as a sum, since a chain of differences would double with every part. Shares are
    clipped to a constant first, so that nothing is written twice: what is below `most` stays what it is.
    """
    columns: dict[str, ir.Value] = {name: table[name] for name in kept}
    for i, block in enumerate(plan.blocks):
        limit = block.block.form.rows(block.block, plan.limits.max_rows)
        signed = block.block.signed
        steps = block.steps // block.block.components if signed else block.steps
        own = Columns(i)
        counted = ibis.least(table[own.rows], int64_constant(limit))
        low, high = (-steps, steps) if block.block.form.rotated or not signed else block.lattice.ends
        columns |= {own.rows_kept: counted.cast(narrowest(limit)), own.most: counted * int64_constant(high)}
        columns |= {own.least: counted * int64_constant(low)} if signed else {}
        for j, share in enumerate(_shares(table, i, block, limit)):
            columns[own.scaled(j)] = (toward_zero if signed else floored)(share, limit * steps)
    found = selected(table, columns)
    columns = {name: found[name] for name in kept}
    for i, block in enumerate(plan.blocks):
        own = Columns(i)
        whole = found[own.most]
        if block.block.signed:
            columns |= {
                own.entry(j): clamped_between(found[own.scaled(j)], found[own.least], whole)
                for j in range(block.block.parts)
            }
            continue
        columns[own.rows_kept] = found[own.rows_kept]
        sums = itertools.accumulate(found[own.scaled(j)] for j in range(_inner(block)))
        upto = [ibis.least(so_far, whole) for so_far in sums]
        columns |= {own.entry(j): end - upto[j - 1] if j else end for j, end in enumerate(upto)}
    return selected(found, columns)


def _inner(block: PricedBlock) -> int:
    """How many components are not the complement."""
    return block.block.parts + block.block.nulls


def _shares(table: ir.Table, i: int, block: PricedBlock, limit: int) -> list[ir.Value]:
    """The parts as doubles, scaled down to `limit` rows where there are more."""
    own = Columns(i)
    rows = table[own.rows]
    sizes = [(table[own.sum(j)], block.lattice.fine) for j in range(block.block.parts)]
    if block.block.nulls:
        sizes.append((rows - table[own.held], block.steps))
    few, many = rows <= int64_constant(limit), cast(ibis.greatest(rows, int64_constant(limit)), Kind.REAL)
    shares = []
    for total, weight in sizes:
        size = cast(total.coalesce(0), Kind.REAL)
        scaled = times(size, weight * limit) / many
        # Of few rows the product is at most limit**2 * steps: where that is exact, the quotient is what it was.
        exact = limit * limit * block.steps <= EXACT
        shares.append(scaled if exact else ibis.ifelse(few, times(size, weight), scaled))
    return shares


def entries(plan: Plan, table: ir.Table) -> dict[str, ir.Value]:
    """What one unit adds in a group, as 64-bit integers: for each block its entries, and what these and the
    complement, the `whole`, add up to.
    """
    result: dict[str, ir.Value] = {}
    for i, block in enumerate(plan.blocks):
        own = Columns(i)
        result |= {own.entry(j): table[own.entry(j)] for j in range(_inner(block))}
        if not block.block.signed:
            result[own.whole] = cast(table[own.rows_kept], Kind.INTEGER) * int64_constant(block.steps)
    return result


def weighted(plan: Plan, table: ir.Table, units: list[str], by: list[str]) -> ir.Table:
    """The entries of each unit in each group (by its place), scaled down by max_groups over the number of the unit's
    groups where these are more.
    """
    limit = plan.limits.max_groups
    groups = table.aggregate(table.count().name(GROUPS), by=[table[name].name(f"{OTHER}{name}") for name in units])
    mine, other = sides(table, groups)
    signed = {
        Columns(i).entry(j)
        for i, block in enumerate(plan.blocks)
        if block.block.signed
        for j in range(block.block.parts)
    }
    columns: dict[str, ir.Value] = {name: mine[name] for name in by}
    for name, entry in entries(plan, mine).items():
        columns[name] = weigh(entry, limit, other[GROUPS], signed=name in signed)
    for i, block in enumerate(plan.blocks):
        if block.block.form is forms.SUM and (less := rounding_slack(plan, block)):
            entry = columns[Columns(i).entry(0)]
            columns[Columns(i).entry(0)] = ibis.ifelse(other[GROUPS] > limit, _nearer(entry, less), entry)
    return joined(mine, other, [mine[name] == other[f"{OTHER}{name}"] for name in units], columns)


def _nearer(entry: ir.Value, less: int) -> ir.Value:
    """An integer that is nearer to zero by so much."""
    low, high = entry + int64_constant(less), entry - int64_constant(less)
    zero = int64_constant(0)
    return ibis.ifelse(entry < zero, ibis.least(low, zero), ibis.greatest(high, zero))


def components(plan: Plan, added: Mapping[str, ir.Value]) -> dict[str, ir.Value]:
    """Each block's components, from the entries: sums over all units, and what these leave of the wholes."""
    result: dict[str, ir.Value] = {}
    for i, block in enumerate(plan.blocks):
        own = Columns(i)
        parts = [added[own.entry(j)].sum().cast(TOTAL) for j in range(_inner(block))]
        parts = turned(parts) if block.block.form.rotated else parts
        result |= {own.total(j): part for j, part in enumerate(parts)}
        if not block.block.signed:
            rest = added[own.whole].sum().cast(TOTAL)
            for part in parts:
                rest = rest - part
            result[own.total(len(parts))] = rest
    return result
