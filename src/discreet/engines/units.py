"""The bounding of one unit: its rows in a group weighted to `max_rows`, its groups to `max_groups`, in integers.

Claim
    From the sums over one unit's rows in one group, `bounded` makes integer entries whose absolute values sum to at
    most min(rows, max_rows) * steps for each block, and `weighted` scales them such that over all groups they sum to at
    most max_groups * max_rows * steps.
Requires
    Nothing of the sums: whatever they are, the entries are clipped to what is left of the unit's total.
Relies on
    IEEE doubles below 2**52, where floor(a / b) of integers is exact (`lattice.bits_for` keeps products there).
Proof
    Let m be the unit's rows in the group, k = max_rows, t = min(m, k) * steps. Each part is rounded toward zero and
    clipped to [0, what the parts before it left of t] (a lone sum to [-t, t]): parts up to the j-th together have
    min(f_0 + ... + f_j, t), f >= 0. The complement is the rest of t. So the entries are >= 0 and sum to t <= k * steps.
    With g > K groups, t' = floor(t K / g) and parts floor(part K / g); sums of floors are at most the floor of the sum,
    so the complement t' less the parts is >= 0, and over the g groups the entries sum to at most g * (k steps K / g) =
    K k steps. A lone sum is rounded toward zero, so its absolute value is at most t K / g as well.
Rounding
    Toward zero.
Source
    Weighting in place of truncation: Proserpio, Goldberg and McSherry, "Calibrating data to sensitivity in private data
    analysis" (2014).
Mutant
    groups-unweighted: a unit in more than max_groups groups counts in all of them; killed by
    test_a_unit_in_many_groups_is_weighted.
"""

from __future__ import annotations

import itertools

import ibis
import ibis.expr.types as ir

from discreet.engines.integers import double, floored, integer, toward_zero
from discreet.query.language.values import Kind, cast
from discreet.query.plan import Form, Plan, PricedBlock

GROUPS = "__discreet_groups"
UNIT_KEY = "__discreet_of_"


def measures(plan: Plan, rows: ir.Table) -> list[ir.Value]:
    """What is summed over one unit's rows in one group: `n` rows that count, `h` of them with a value, `s` sums of
    parts.
    """
    found = []
    for i, block in enumerate(plan.blocks):
        counted = rows.count(where=rows[f"w{i}"]) if block.block.where is not None else rows.count()
        parts = block.block.parts
        held = rows[f"q{i}_0"].count() if parts else counted
        found.append((counted if block.block.nulls else held).name(f"n{i}"))
        if block.block.nulls:
            found.append(held.name(f"h{i}"))
        found += [rows[f"q{i}_{j}"].sum().name(f"s{i}_{j}") for j in range(parts)]
    return found


def bounded(plan: Plan, table: ir.Table, kept: list[str]) -> ir.Table:
    """The entries of each block, from the measures of a unit in a group."""
    columns: dict[str, ir.Value] = {name: table[name] for name in kept}
    for i, block in enumerate(plan.blocks):
        limit = 1 if block.block.form is Form.UNITS else plan.limits.max_rows
        whole, parts = _shares(table, i, block, limit)
        columns |= {f"t{i}": whole} | {f"f{i}_{j}": part for j, part in enumerate(parts)}
    return _completed(plan, table.select(**columns), kept)


def _shares(table: ir.Table, i: int, block: PricedBlock, limit: int) -> tuple[ir.Value, list[ir.Value]]:
    """What a unit counts in all, and each of its parts, scaled down to `limit` rows."""
    rows = table[f"n{i}"]
    few = rows <= integer(limit)
    whole = ibis.ifelse(few, rows, integer(limit)) * integer(block.steps)

    def share(total: ir.Value, weight: int) -> ir.Value:
        """`total * weight`, scaled down to `limit` rows."""
        size = cast(total.coalesce(0), Kind.REAL)
        scaled = size * double(weight * limit) / cast(ibis.greatest(rows, integer(1)), Kind.REAL)
        return ibis.ifelse(few, size * double(weight), scaled)

    parts = [share(table[f"s{i}_{j}"], block.lattice.fine) for j in range(block.block.parts)]
    if block.block.form is Form.SUM:
        return whole, [toward_zero(parts[0], -whole, whole)]
    if block.block.nulls:
        parts.append(share(rows - table[f"h{i}"], block.steps))
    return whole, [floored(part, whole) for part in parts]


def _completed(plan: Plan, table: ir.Table, kept: list[str]) -> ir.Table:
    """The entries from the parts ``f<i>_<j>``: each takes what those before it left of ``t<i>``, the last one the rest.

    What they leave together is written as a sum, since a chain of differences would double with every part.
    """
    columns: dict[str, ir.Value] = {name: table[name] for name in kept}
    for i, block in enumerate(plan.blocks):
        if block.block.form is Form.SUM:
            columns[f"b{i}_0"] = table[f"f{i}_0"]
            continue
        sums = list(itertools.accumulate(table[f"f{i}_{j}"] for j in range(block.block.components - 1)))
        upto = [*(ibis.least(so_far, table[f"t{i}"]) for so_far in sums), table[f"t{i}"]]
        columns |= {f"b{i}_{j}": end - upto[j - 1] if j else end for j, end in enumerate(upto)}
    return table.select(**columns)


def weighted(plan: Plan, table: ir.Table, units: list[str]) -> ir.Table:
    """The entries of a unit in more than `max_groups` groups, scaled down by max_groups over their number."""
    groups = table.group_by(units).agg(table.count().name(GROUPS))
    groups = groups.rename({f"{UNIT_KEY}{name}": name for name in units})
    joined = table.inner_join(groups, [table[name] == groups[f"{UNIT_KEY}{name}"] for name in units])
    number = joined[GROUPS]
    many = number > integer(plan.limits.max_groups)
    factor = cast(number, Kind.REAL)

    def scaled(entry: ir.Value) -> ir.Value:
        return cast(entry, Kind.REAL) * double(plan.limits.max_groups) / factor

    kept = [name for name in table.columns if name not in units and not name.startswith("b")]
    columns: dict[str, ir.Value] = {name: joined[name] for name in kept}
    for i, block in enumerate(plan.blocks):
        entries = [joined[f"b{i}_{j}"] for j in range(block.block.components)]
        if block.block.form is Form.SUM:
            size = entries[0].abs()
            columns[f"f{i}_0"] = ibis.ifelse(many, toward_zero(scaled(entries[0]), -size, size), entries[0])
            continue
        total = entries[0]
        for entry in entries[1:]:
            total = total + entry
        columns[f"t{i}"] = ibis.ifelse(many, floored(scaled(total), total), total)
        parts = {f"f{i}_{j}": floored(scaled(entry), entry) for j, entry in enumerate(entries[:-1])}
        columns |= {
            name: ibis.ifelse(many, part, entry) for (name, part), entry in zip(parts.items(), entries, strict=False)
        }
    return _completed(plan, joined.select(**columns), kept)
