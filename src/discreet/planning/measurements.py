"""Which aggregates share totals: a count beside a mean of the same rows is not paid for twice.

Claim
    `gather` returns blocks and columns such that every aggregate of the query is a function of the totals of its
    column's blocks.
Requires
    Checked aggregates.
Relies on
    The forms of `plan.Form`.
Proof
    A pair holds (sum u, sum 1-u[, NULLs]) of the same rows, whose components add up to their number; a triple holds the
    three Bernstein polynomials of degree 2 of u, which add up to 1 in each row and whose forms (0, 1/2, 1) and (0, 0,
    1) are u and u². So counts, sums and means are linear forms, or ratios of them, in either; variances in a triple. A
    product holds the sums of b_i(u) c_j(v) over the rows that have both, b and c the Bernstein polynomials of u and v,
    which add up to 1 in each row: all moments of u and v up to their degrees are linear forms of it. A line over
    several predictors is a function of its twins (`planning.signed_products`), which are of the rows that have all of
    its columns.
Rounding
    Floating-point coefficients touch noisy totals only: post-processing.
Source
    Bernstein basis for private moments: DPSQL+ (2026) with Gaussian noise; here with Laplace noise, at an L1
    sensitivity of exactly one row.
Mutant
    nulls-are-rows: a count of values that are not NULL includes the NULLs; killed by
    test_counts_of_values_leave_nulls_out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any

from discreet.errors import InvalidQuery
from discreet.language.checked_expressions import Kind, Value
from discreet.planning.aggregates import Aggregate, Statistic
from discreet.planning.plan import Block, Column, Form, Query
from discreet.planning.signed_products import twins

Identity = tuple[Any, Any]
"""The rows and the value of a moment: their operations, compared structurally."""


def gather(query: Query) -> tuple[tuple[Block, ...], tuple[Column, ...]]:
    """The blocks that answer a query, and which of them each column is computed from."""
    linear = tuple(a for a in query.aggregates if not a.statistic.ranked)
    aggregates = [_plain(a, linear) for a in linear]
    if query.public_size is not None and any(_counts_rows(a) and a.where is None for a in aggregates):
        raise InvalidQuery(
            "Expected a question whose answer is not public, "
            f"got the count of a table declared with rows={query.public_size}.\n"
            "Hint: leave the count out: it is the number that was declared."
        )
    blocks: dict[Identity, Block] = {}
    for a in aggregates:
        if a.statistic is Statistic.DISTINCT:
            blocks[_identity(a)] = Block(form=Form.DISTINCT, value=a.value, listed=a.listed, where=a.where)
        elif _has_twins(a):
            blocks |= _twins(a)
        elif a.value is not None:
            blocks[_identity(a)] = _products(a, aggregates) if a.others else _moments(a, aggregates, query)
    uses: list[list[Identity]] = []
    for a in aggregates:
        if _has_twins(a):
            uses.append(list(_twins(a)))
            continue
        shared = _shared(a, blocks)
        for identity in shared:
            blocks[identity] = replace(blocks[identity], nulls=_nullable(*blocks[identity].values))
        if a.value is None and not shared:
            blocks.setdefault(
                _identity(a), Block(form=Form.UNITS if a.statistic is Statistic.UNITS else Form.COUNT, where=a.where)
            )
        uses.append(shared or [_identity(a)])
    order = list(blocks)
    columns = [
        Column(aggregate=a, blocks=tuple(map(order.index, use))) for a, use in zip(aggregates, uses, strict=True)
    ]
    return tuple(blocks.values()), tuple(columns)


MOMENT_FORMS = (Form.PAIR, Form.TRIPLE, Form.PRODUCT)
MOST_POOLED = 16
"""A count is taken from at most so many components: the law of their noise together is computed up to there."""


def _shared(a: Aggregate, blocks: dict[Identity, Block]) -> list[Identity]:
    """The blocks whose components add up to the rows that an aggregate counts, those of few components first."""
    if not _counts_rows(a):
        return []
    found = {
        i: replace(block, nulls=True).components
        for i, block in blocks.items()
        if i[0] == _rows(a) and block.form in MOMENT_FORMS
    }
    chosen: list[Identity] = []
    for identity in sorted(found, key=lambda i: found[i]):
        if sum(found[i] for i in (*chosen, identity)) <= MOST_POOLED:
            chosen.append(identity)
    return chosen


def _rows(a: Aggregate) -> Any:
    return None if a.where is None else a.where.expr.op()


def _identity(a: Aggregate) -> Identity:
    ops = tuple(value.expr.op() for value in a.values)
    if a.statistic is Statistic.DISTINCT:
        return (_rows(a), (a.statistic, *ops))
    return (_rows(a), a.statistic if not ops else ops[0] if len(ops) == 1 else ops)


def _counts_rows(a: Aggregate) -> bool:
    return a.statistic is Statistic.COUNT and a.value is None


def _nullable(*values: Value) -> bool:
    return any(value.nullable for value in values)


def _plain(a: Aggregate, aggregates: tuple[Aggregate, ...]) -> Aggregate:
    """A count of values as a count of the rows that have one, unless a moment of the same values stands beside it."""
    if a.statistic is not Statistic.COUNT or a.value is None:
        return a
    if not a.value.nullable:
        return replace(a, value=None)
    if any(b.statistic is not Statistic.COUNT and _identity(b) == _identity(a) for b in aggregates):
        return a
    held = a.value.expr.notnull()
    where = held if a.where is None else a.where.expr & held
    nullable = a.where is not None and a.where.nullable
    text = f"NotNull({a.value.text})" if a.where is None else f"And({a.where.text}, NotNull({a.value.text}))"
    return replace(a, value=None, where=Value(where, Kind.BOOLEAN, None, nullable=nullable, text=text))


def _moments(a: Aggregate, aggregates: list[Aggregate], query: Query) -> Block:
    """The block of all moments of one value over the same rows."""
    same = [b for b in aggregates if _identity(b) == _identity(a)]
    beside = [b for b in aggregates if _counts_rows(b) and _rows(b) == _rows(a)]
    fixed = query.public_size is not None and a.where is None and not _nullable(*a.values)
    if max(b.statistic.degree for b in same) > 1:
        form = Form.TRIPLE
    elif fixed or (all(b.statistic is Statistic.SUM for b in same) and not beside):
        form = Form.SUM
    else:
        form = Form.PAIR
    return Block(form=form, value=a.value, where=a.where, fixed=fixed)


def _products(a: Aggregate, aggregates: list[Aggregate]) -> Block:
    """The block of all products of the same columns over the same rows."""
    degrees = [b.degrees for b in aggregates if b.others and _identity(b) == _identity(a)]
    return Block(
        form=Form.PRODUCT,
        value=a.value,
        others=a.others,
        degrees=tuple(max(column) for column in zip(*degrees, strict=True)),
        where=a.where,
    )


MOST_MULTIPLIED = 2
"""Predictors of a line up to which products of Bernstein polynomials are as good as twins, or better, with as many rows
as most tables have: with three, a row's steps would be divided among four columns, and 54 totals be noisy."""


def _has_twins(a: Aggregate) -> bool:
    return a.statistic.is_line and len(a.others) > MOST_MULTIPLIED


def _twins(a: Aggregate) -> dict[Identity, Block]:
    """The blocks of a line in the order of `planning.signed_products`, each with the columns that it needs, of the same
    rows.
    """
    held = _complete(a)
    found: dict[Identity, Block] = {}
    for powers in twins(len(a.others)):
        places = sorted({place for one in powers for place in one}) or [0]
        first, *others = (a.values[place] for place in places)
        own = tuple(tuple(places.index(place) for place in one) for one in powers)
        block = Block(form=Form.TWINS, value=first, others=tuple(others), powers=own, where=held)
        found[(_rows(a), (_identity(a)[1], powers))] = block
    return found


def _complete(a: Aggregate) -> Value | None:
    """The condition that a row counts and has all values."""
    wanted = [(v.expr.notnull(), f"NotNull({v.text})") for v in a.values if v.nullable]
    if a.where is not None:
        wanted.insert(0, (a.where.expr, a.where.text))
    if not wanted:
        return None
    expr, text = reduce(lambda one, other: (one[0] & other[0], f"And({one[1]}, {other[1]})"), wanted)
    return Value(expr, Kind.BOOLEAN, None, nullable=a.where is not None and a.where.nullable, text=text)


@dataclass(frozen=True, slots=True)
class Weights:
    """What each component of a block counts for a count, a count of values, and a sum."""

    rows: tuple[float, ...]
    values: tuple[float, ...]
    total: tuple[float, ...]


def weights(block: Block, low: Fraction, high: Fraction) -> Weights:
    """The linear forms of a block's components, in rows; `low` and `high` are the values at u = 0 and u = 1."""
    start, end, middle = float(low), float(high), float((low + high) / 2)
    nulls = (0.0,) if block.nulls else ()
    ones = (1.0,) if block.nulls else ()
    if block.form is Form.PAIR:
        return Weights((1.0, *ones, 1.0), (1.0, *nulls, 1.0), (end, *nulls, start))
    if block.form is Form.TRIPLE:
        return Weights((1.0, 1.0, *ones, 1.0), (1.0, 1.0, *nulls, 1.0), (end, start, *nulls, middle))
    if block.form is Form.PRODUCT:
        parts = (1.0,) * block.parts
        return Weights((*parts, *ones, 1.0), (*parts, *nulls, 1.0), ())
    return Weights((1.0,), (1.0,), (end,))
