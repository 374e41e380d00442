"""Compiles a plan to one Ibis expression that computes its exact integer totals.

Claim
    For each public key, in the stated order, `totals` gives for each block the integer components that
    `plan.PricedBlock` describes. The components of one row are integers whose absolute values sum to at most `steps`;
    where the unit is not the row, one unit's entries are those of `engines.contribution_weights`.
Requires
    A scanned table behind `language.input_barrier.barrier`; fewer rows than the public row cap.
Relies on
    Integer sums of 128 bits; `engines.contribution_weights` for the bounding of units; left joins on exact keys.
Proof
    A row's parts are integers clipped one after the other to [0, what is left of steps] (a lone sum to [low, high]),
    whatever arithmetic made them. The complement is steps times the number of rows with a value, less the sums of the
    parts: the sum of each row's own rest, which is >= 0. Sums of integers do not depend on order, threads or
    partitions. Two parts of signed products in [-h, h] have a sum and a difference whose absolute values sum to at most
    2h, the steps. The left join keeps each key once, whatever rows there are.
Rounding
    A row's value to the nearest step; then none.
Source
    Casacuberta, Shoemate, Vadhan and Wagaman, "Widespread underestimation of sensitivity" (2022): integers in place of
    float sums.
Mutant
    integers-unclipped: the integers are not clipped after the lattice; killed by
    test_integers_are_clipped_whatever_the_value.
    null-is-the-largest: a clip passes over NULL, and gives its end; killed by test_null_is_no_value_of_a_variance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce

import ibis
import ibis.expr.types as ir

from discreet.engines.bernstein_products import multiplied
from discreet.engines.contribution_weights import bounded, components, entries, measures, weighted
from discreet.engines.distinct_counts import distinct_totals
from discreet.engines.generated_columns import Columns
from discreet.engines.packed_sums import TOO_MANY_ROWS, packed, unpacked
from discreet.engines.relational_operations import joined, selected, sides
from discreet.engines.signed_product_columns import SignedProducts, turned
from discreet.language.checked_expressions import DTYPES, Kind, cast
from discreet.language.exact_arithmetic import (
    TOTAL,
    at_most,
    clipped,
    double,
    int64_constant,
    integer,
    narrowest,
    rounded_half_up,
)
from discreet.planning import forms
from discreet.planning.column_lattice import lattice_step
from discreet.planning.contribution_bounding import units
from discreet.planning.forms import Form
from discreet.planning.group_keys import POSITION
from discreet.planning.plan import Plan, PricedBlock

KEYS = "__discreet_keys"
"""Name of the table that stands for the public keys in a plan."""


def keys_table(plan: Plan) -> ir.Table | None:
    """The table of public keys, under names that no total has, by its place in the output."""
    keys = plan.query.listed_keys
    if keys is None:
        return None
    types = {name: DTYPES[kind] for name, kind in zip(keys.names, keys.kinds, strict=True)}
    return ibis.table({**types, POSITION: "int64"}, name=KEYS).rename({f"{KEY}{name}": name for name in types})


def totals(plan: Plan, *, packs: bool = False) -> ir.Table:
    """One row a group, in the order of the keys; its columns are the totals, NULL where a group has
    no rows. With groups, their places come last, by which the engine orders at the end. Where the sums of pairs are
    packed, a column more says whether those of a group cannot be read. Of groups that are not listed, those that have
    rows, in any order, with their keys as columns.
    """
    apart = [i for i, block in enumerate(plan.blocks) if block.block.form is forms.DISTINCT]
    if not apart:
        return _sum_totals(plan, packs=packs)
    keys = keys_table(plan)
    tables = [distinct_totals(plan, i, keys) for i in apart]
    rest = [i for i in range(len(plan.blocks)) if i not in apart]
    if rest:
        added = _sum_totals(replace(plan, blocks=tuple(plan.blocks[i] for i in rest)))
        places = [(k, i, j) for k, i in enumerate(rest) for j in range(plan.blocks[i].block.components)]
        names = {Columns(i).total(j): Columns(k).total(j) for k, i, j in places}
        tables.append(added.rename(names))
    if keys is None:
        return reduce(lambda one, other: one.cross_join(other), tables).select(*_total_names(plan))
    joined = keys.select(POSITION)
    for n, table in enumerate(tables):
        other = table.rename({f"{KEY}place_{n}": POSITION})
        joined = joined.left_join(other, joined[POSITION] == other[f"{KEY}place_{n}"]).drop(f"{KEY}place_{n}")
    return joined.select(*_total_names(plan), POSITION).order_by(POSITION)


def _sum_totals(plan: Plan, *, packs: bool = False) -> ir.Table:
    """The same of blocks that are sums over the rows."""
    rows = _rows(plan)
    keys = keys_table(plan)
    groups = [name for name in rows.columns if name.startswith(GROUP)]
    if plan.query.by_row:
        result = _summed(rows, groups, _row_totals(plan, rows))
        if keys is None:
            return result
        listed, result = sides(keys, result)
        return _in_key_order(plan, listed, result, _same_keys(plan, listed, result))
    unit = units(rows)
    by = groups if keys is None else [POSITION]
    if keys is not None:  # first, so that no key, which may be a long text, is carried to where units are told apart
        rows, listed = sides(rows, keys)
        kept = {name: rows[name] for name in rows.columns if name not in groups}
        place = listed[POSITION].cast(narrowest(plan.query.cells))  # of a large table each pair keeps one
        rows = joined(rows, listed, _same_keys(plan, listed, rows), {**kept, POSITION: place})
    pairs = rows.aggregate((packed if packs else measures)(plan, rows), by=[*unit, *by])
    if packs:
        pairs, by = unpacked(plan, pairs), [*by, TOO_MANY_ROWS]
    result = bounded(plan, pairs, [*unit, *by])
    added = entries(plan, result)
    if plan.weighs_groups:
        result = weighted(plan, result, unit, by)
        added = {name: result[name] for name in added}
    sums = [total.name(name) for name, total in components(plan, added).items()]
    if packs:
        sums.append(result[TOO_MANY_ROWS].any().name(TOO_MANY_ROWS))
    if keys is None:
        return result.aggregate(sums, by=groups)
    result = result.aggregate(sums, by=[result[POSITION].name(PLACE)])
    listed, result = sides(keys, result)
    return _in_key_order(plan, listed, result, [listed[POSITION] == result[PLACE]], [TOO_MANY_ROWS] if packs else [])


def _same_keys(plan: Plan, keys: ir.Table, other: ir.Table) -> list[ir.Value]:
    """That the groups of another table are those of the keys; NULL is one of them where it is listed."""
    return [keys[f"{KEY}{name}"].identical_to(other[f"{GROUP}{name}"]) for name in _key_names(plan)]


def _in_key_order(
    plan: Plan, keys: ir.Table, found: ir.Table, same: list[ir.Value], further: Sequence[str] = ()
) -> ir.Table:
    """The totals that were found, one row for each key whether it has some or not, in the order of the keys."""
    columns = {**{name: found[name] for name in (*_total_names(plan), *further)}, POSITION: keys[POSITION]}
    return joined(keys, found, same, columns, how="left").order_by(POSITION)


GROUP = "__discreet_group_"
KEY = "__discreet_key_"
PLACE = "__discreet_place"


def _key_names(plan: Plan) -> tuple[str, ...]:
    return plan.query.keys.names if plan.query.keys else ()


def _total_names(plan: Plan) -> list[str]:
    return [Columns(i).total(j) for i, block in enumerate(plan.blocks) for j in range(block.block.components)]


def _summed(table: ir.Table, by: Sequence[str | ir.Value], sums: dict[str, ir.Value]) -> ir.Table:
    return table.aggregate([total.cast(TOTAL).name(name) for name, total in sums.items()], by=list(by))


def _rows(plan: Plan) -> ir.Table:
    """The rows with the integers that each block needs of them: parts, and whether they count.

    Each stage is a projection of its own, so that no long expression is written out twice.
    """
    relation = plan.query.relation
    columns: dict[str, ir.Value] = {name: relation[name] for name in units(relation)}
    columns |= {f"{GROUP}{name}": expr for name, expr in plan.query.groups.items()}
    signed = SignedProducts(
        {i: block for i, block in enumerate(plan.blocks) if block.block.form is forms.SIGNED_PRODUCTS}
    )
    alone = {i: block for i, block in enumerate(plan.blocks) if i not in signed.blocks}
    valued = {i: block for i, block in alone.items() if block.block.value is not None}
    for i, block in alone.items():
        if block.block.where is not None:
            columns[Columns(i).counted] = block.block.where.expr
        for k, (value, lattice) in enumerate(zip(block.block.values, block.lattices, strict=False)):
            columns[Columns(i).value(k)] = lattice_step(value, lattice)
    columns |= signed.taken()
    if not columns:  # a plain count of all rows
        return relation
    rows = relation.select(**columns)
    others = [name for name in columns if name not in {Columns(i).value(0) for i in valued}]
    parts = {Columns(i).part(0): _clipped(rows, i, block) for i, block in valued.items()}
    rows = selected(rows, {name: rows[name] for name in others} | parts)
    for form, made in PARTS.items():
        own = {i: block for i, block in enumerate(plan.blocks) if block.block.form is form}
        rows = made(rows, own) if own else rows
    return rows


def squared(rows: ir.Table, triples: Mapping[int, PricedBlock]) -> ir.Table:
    """The rows with the parts of triples: u² and (1-u)², which together are at most the steps."""
    own, columns = {i: Columns(i) for i in triples}, {name: rows[name] for name in rows.columns}
    squares: dict[str, ir.Value] = {}
    for i, block in triples.items():
        share, steps = cast(rows[own[i].part(0)], Kind.REAL) / double(block.lattice.high), double(block.steps)
        rest = double(1.0) - share
        squares |= {
            own[i].high(0): rounded_half_up(share * share * steps),
            own[i].low(0): rounded_half_up(rest * rest * steps),
        }
    rows = selected(rows, columns | squares)
    high = {i: rows[own[i].high(0)] for i in triples}
    high = {i: at_most(high[i], int64_constant(block.steps)) for i, block in triples.items()}
    low = {i: at_most(rows[own[i].low(0)], int64_constant(block.steps) - high[i]) for i, block in triples.items()}
    parts = {own[i].part(j): part for i in triples for j, part in enumerate((high[i], low[i]))}
    return selected(rows, {name: rows[name] for name in columns} | parts)


PARTS: dict[Form, Callable[[ir.Table, Mapping[int, PricedBlock]], ir.Table]] = {
    forms.PRODUCT: multiplied,
    forms.SIGNED_PRODUCTS: lambda rows, blocks: SignedProducts(blocks).crossed(rows),
    forms.TRIPLE: squared,
}
"""How the parts of a form are made of lattice integers; of one that is not listed, these are its parts."""


def _clipped(rows: ir.Table, i: int, block: PricedBlock) -> ir.Value:
    """The integer clip, which holds whatever the value was; NULL where the row does not count."""
    own = Columns(i)
    part = clipped(rows[own.value(0)], int64_constant(block.lattice.low), int64_constant(block.lattice.high))
    return part if block.block.where is None else ibis.ifelse(rows[own.counted], part, ibis.null(part.type()))


def _row_totals(plan: Plan, rows: ir.Table) -> dict[str, ir.Value]:
    """The totals where each row is a unit: sums of the parts; counts give the complement."""
    sums: dict[str, ir.Value] = {}
    for i, block in enumerate(plan.blocks):
        own = Columns(i)
        counted = rows.count(where=rows[own.counted]) if block.block.where is not None else rows.count()
        parts = [rows[own.part(j)].sum() * integer(block.lattice.fine) for j in range(block.block.parts)]
        held = rows[own.part(0)].count() if parts else counted
        found = [*parts]
        if block.block.nulls:
            found.append(_as_total(counted - held) * integer(block.steps))
        if block.block.form.rotated:
            found = turned(parts)
        if not block.block.signed:
            found.append(_rest(_as_total(held) * integer(block.steps), parts))
        sums |= {own.total(j): entry for j, entry in enumerate(found)}
    return sums


def _as_total(count: ir.Value) -> ir.Value:
    return count.cast(TOTAL)


def _rest(whole: ir.Value, parts: Sequence[ir.Value]) -> ir.Value:
    for part in parts:
        whole = whole - part.coalesce(0)
    return whole
