"""Which aggregates share totals: a count beside a mean of the same rows is not paid for twice.

Claim
    `gather` returns blocks and columns such that every aggregate of the query is a function of the totals of its
    column's blocks.
Requires
    Checked aggregates.
Relies on
    The forms of `planning.forms`.
Proof
    An aggregate's own block is of its rows and its values, of a form that is as rich as its own form or richer. Where
    the components of another block add up to the number of the same rows, NULLs among them, a count is taken from it.
Rounding
    None.
Source
    Discreet's own.
Mutant
    nulls-uncounted: a count of rows that is taken from a mean leaves out those whose value is NULL; killed by
    test_counts_of_values_leave_nulls_out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from discreet.errors import InvalidQuery
from discreet.language.checked_expressions import Kind, Value
from discreet.planning import forms
from discreet.planning.aggregates import Aggregate
from discreet.planning.forms import Block
from discreet.planning.plan import Column, Query
from discreet.planning.signed_products import product_pairs

Identity = tuple[Any, Any]
"""The rows and the value of a moment: their operations, compared structurally."""


def gather(query: Query) -> tuple[tuple[Block, ...], tuple[Column, ...]]:
    """The blocks that answer a query, and which of them each column is computed from."""
    linear = tuple(a for a in query.aggregates if not a.statistic.apart)
    aggregates = [_as_row_count(a, linear) for a in linear]
    if query.public_size is not None and any(_counts_rows(a) and a.where is None for a in aggregates):
        raise InvalidQuery(
            "Expected a question whose answer is not public, "
            f"got the count of a table declared with rows={query.public_size}.\n"
            "Hint: leave the count out: it is the number that was declared."
        )
    beside = _Beside.of(aggregates)
    blocks: dict[Identity, Block] = {}
    for a in aggregates:
        if a.statistic.form is forms.DISTINCT:
            blocks[_identity(a)] = Block(form=forms.DISTINCT, value=a.value, listed=a.listed, where=a.where)
        elif _has_signed_products(a):
            blocks |= _signed_products(a)
        elif a.value is not None:
            blocks[_identity(a)] = _products(a, beside) if a.others else _moments(a, beside, query)
    uses: list[list[Identity]] = []
    for a in aggregates:
        if _has_signed_products(a):
            uses.append(list(_signed_products(a)))
            continue
        shared = _shared(a, blocks)
        for identity in shared:
            blocks[identity] = replace(blocks[identity], nulls=_nullable(*blocks[identity].values))
        if a.value is None and not shared:
            blocks.setdefault(_identity(a), Block(form=a.statistic.form or forms.COUNT, where=a.where))
        uses.append(shared or [_identity(a)])
    order = list(blocks)
    columns = [
        Column(aggregate=a, blocks=tuple(map(order.index, use))) for a, use in zip(aggregates, uses, strict=True)
    ]
    return tuple(blocks.values()), tuple(columns)


def gather_apart(query: Query) -> tuple[tuple[Block, ...], tuple[Column, ...]]:
    """The same for counts of rows and sums alone, with one total for each."""
    blocks: dict[Identity, tuple[int, Block]] = {}
    columns = []
    for a in (_as_row_count(a, ()) for a in query.aggregates):
        form = forms.COUNT if a.value is None else forms.SUM
        block = Block(form=form, value=a.value, where=a.where)
        place, _ = blocks.setdefault(_identity(a), (len(blocks), block))
        columns.append(Column(aggregate=a, blocks=(place,)))
    return tuple(block for _, block in blocks.values()), tuple(columns)


MOST_POOLED = 16
"""A count is taken from at most so many components: the law of their noise together is computed up to there."""


def _shared(a: Aggregate, blocks: dict[Identity, Block]) -> list[Identity]:
    """The blocks whose components add up to the rows that an aggregate counts, those of few components first."""
    if not _counts_rows(a):
        return []
    components = {
        i: replace(block, nulls=True).components
        for i, block in blocks.items()
        if i[0] == _rows(a) and block.parts and not block.signed
    }
    chosen: list[Identity] = []
    for identity in sorted(components, key=lambda i: components[i]):
        if sum(components[i] for i in (*chosen, identity)) <= MOST_POOLED:
            chosen.append(identity)
    return chosen


def _rows(a: Aggregate) -> Any:
    return None if a.where is None else a.where.expr.op()


def _identity(a: Aggregate) -> Identity:
    ops = tuple(value.expr.op() for value in a.values)
    if a.statistic.form is forms.DISTINCT:
        return (_rows(a), (a.statistic, *ops))
    return (_rows(a), a.statistic if not ops else ops[0] if len(ops) == 1 else ops)


def _counts_rows(a: Aggregate) -> bool:
    return a.statistic.form is forms.COUNT and a.value is None


def _nullable(*values: Value) -> bool:
    return any(value.nullable for value in values)


def _as_row_count(a: Aggregate, aggregates: tuple[Aggregate, ...]) -> Aggregate:
    """A count of values as a count of the rows that have one, unless a moment of the same values stands beside it."""
    if a.statistic.form is not forms.COUNT or a.value is None:
        return a
    others = [b for b in aggregates if b.statistic.form is not forms.COUNT]
    if a.value.nullable and _identity(a) in map(_identity, others):
        return a
    return replace(a, value=None, where=_complete(a))


@dataclass(frozen=True)
class _Beside:
    """What stands beside an aggregate, found once for all of them: comparing each with each takes long for hundreds."""

    alike: Mapping[Identity, list[Aggregate]]
    counted: frozenset[Any]
    """Of which rows there is a count."""

    @classmethod
    def of(cls, aggregates: list[Aggregate]) -> _Beside:
        alike: dict[Identity, list[Aggregate]] = {}
        for a in aggregates:
            alike.setdefault(_identity(a), []).append(a)
        return cls(alike, frozenset(_rows(a) for a in aggregates if _counts_rows(a)))


def _moments(a: Aggregate, beside: _Beside, query: Query) -> Block:
    """The block of all moments of one value over the same rows."""
    same = {b.statistic.form for b in beside.alike[_identity(a)]}
    counted = _rows(a) in beside.counted
    if forms.TRIPLE in same:
        return Block(form=forms.TRIPLE, value=a.value, where=a.where)
    if query.public_size is not None and a.where is None and not _nullable(*a.values):
        return Block(form=forms.SUM_OF_ALL, value=a.value, size=query.public_size)
    form = forms.SUM if same == {forms.SUM} and not counted else forms.PAIR
    return Block(form=form, value=a.value, where=a.where)


def _products(a: Aggregate, beside: _Beside) -> Block:
    """The block of all products of the same columns over the same rows."""
    degrees = [b.degrees for b in beside.alike[_identity(a)] if b.others]
    return Block(
        form=forms.PRODUCT,
        value=a.value,
        others=a.others,
        degrees=tuple(max(column) for column in zip(*degrees, strict=True)),
        where=a.where,
    )


MOST_MULTIPLIED = 2
"""Predictors of a line up to which products of Bernstein polynomials are as good as signed products, or better, with as
many rows as most tables have: with three, a row's steps would be divided among four columns, and 54 totals be noisy.
"""


def _has_signed_products(a: Aggregate) -> bool:
    return a.statistic.form is forms.SIGNED_PRODUCTS and len(a.others) > MOST_MULTIPLIED


def _signed_products(a: Aggregate) -> dict[Identity, Block]:
    """The blocks of a line in the order of `planning.signed_products`, each with the columns that it needs, of the same
    rows.
    """
    complete = _complete(a)
    blocks: dict[Identity, Block] = {}
    for powers in product_pairs(len(a.others)):
        places = sorted({place for one in powers for place in one}) or [0]
        first, *others = (a.values[place] for place in places)
        own = tuple(tuple(places.index(place) for place in one) for one in powers)
        block = Block(form=forms.SIGNED_PRODUCTS, value=first, others=tuple(others), powers=own, where=complete)
        blocks[(_rows(a), (_identity(a)[1], powers))] = block
    return blocks


def _complete(a: Aggregate) -> Value | None:
    """The condition that a row counts and has all values."""
    wanted = [(v.expr.notnull(), f"{v.text}.notnull()") for v in a.values if v.nullable]
    if a.where is not None:
        wanted.insert(0, (a.where.expr, a.where.text))
    if not wanted:
        return None
    expr, text = reduce(lambda one, other: (one[0] & other[0], f"{one[1]} & {other[1]}"), wanted)
    return Value(expr, Kind.BOOLEAN, None, nullable=a.where is not None and a.where.nullable, text=text)
