"""Contribution bounding: of a unit with more than its limit, all is weighted down, or what comes first is kept.

Claim
    `weigh` gives amount * min(1, limit / number), rounded toward zero: where a unit has `number` amounts of at most a
    each, they sum to at most limit * a, as do their absolute values. `weigh_large` gives at most that, and less by less
    than 2. `keep` gives at most `limit` rows of each unit, numbered from 0 by `RANK`. What any of them gives of a unit
    is a function of its own rows.
Requires
    Of `weigh`: |amount| * limit <= 2**52, and number > 0. Of `weigh_large`: amount >= 0, amount * limit < 2**63,
    number > 0, and a result below 2**45 where number > limit. Of `keep`: a unit, or whatever rows are limited by, that
    is not NULL, and an `order`, where one is given, that each unit's own rows decide.
Relies on
    IEEE doubles below 2**52, where a / b rounded toward zero is exact for integers; window functions that number rows
    by a stated order; a hash that is a function of its text.
Proof
    *Weights.* With number <= limit the divisor is the limit, and amount * limit / limit is the amount. Otherwise each
    is at most a * limit / number, and there are `number` of them.
    *Large ones.* The double quotient of a = amount * limit and b = number errs by less than 1, as a < 2**63 and
    a / b < 2**45. Where the product of its floor with b, an exact integer, exceeds a, it is lowered by one: t <= a / b.
    *Rows kept.* They are numbered by the hash of the unit and the key, ties by the key: an order that compares two rows
    by themselves alone, and takes another turn for each unit. Rows with equal keys are the same row to it. Texts are
    made of the columns without a row that can raise: a unit is not behind the barrier, and may be a moment that no text
    is for, all of which share one, as do NULL and the empty text.
Rounding
    Toward zero.
Source
    Weighting in place of truncation: Proserpio, Goldberg and McSherry, "Calibrating data to sensitivity in private data
    analysis" (2014). A fixed order in place of the engine's random numbers, whose draws nobody can replay.
Mutant
    weights-not-floored: weights are rounded up; killed by test_a_unit_alone_contributes_no_more_than_it_may.
    one-row-more: a unit keeps one row more than it may; killed by
    test_one_unit_changes_no_more_rows_than_is_claimed.
    users-written-plainly: a unit is cast to text as it is; killed by test_users_at_the_ends_of_their_types.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

import ibis
import ibis.expr.types as ir

from discreet.language.checked_expressions import MOMENTS, Kind, cast
from discreet.language.exact_arithmetic import int64_constant, integer, times
from discreet.language.input_barrier import UNIT, guarded, kind_of

RANK = "__discreet_rank"
"""The place of a row among those of its unit."""
OTHER = "__discreet_of_"
SEPARATOR = "\x1f"


def units(table: ir.Table) -> list[str]:
    """The hidden columns of the unit."""
    return [name for name in table.columns if name.startswith(UNIT)]


def weigh(amount: ir.Value, limit: int, number: ir.Value, *, signed: bool = False) -> ir.Value:
    """One of `number` amounts of a unit, 64-bit integers, of which `limit` may count in full."""
    most = cast(ibis.greatest(number, int64_constant(limit)), Kind.REAL)
    scaled: Any = times(cast(amount, Kind.REAL), limit) / most
    return ibis.ifelse(amount < int64_constant(0), scaled.ceil(), scaled.floor()) if signed else scaled.floor()


def weigh_large(amount: ir.Value, limit: int, number: ir.Value) -> ir.Value:
    """The same of amounts of 0 or more with more bits than doubles are exact for; it may be less by less than 2."""
    product = amount * integer(limit)
    guess = cast((cast(product, Kind.REAL) / cast(number, Kind.REAL)).floor(), Kind.INTEGER)
    quotient = ibis.ifelse(guess * number > product, guess - integer(1), guess)
    return ibis.ifelse(number <= integer(limit), amount, quotient)


def attach(table: ir.Table, other: ir.Table, by: Sequence[str]) -> ir.Table:
    """Each row with what another table has of it, one row for each unit; by columns that are never NULL."""
    renamed = other.rename({f"{OTHER}{name}": name for name in by})
    joined = table.inner_join(renamed, [table[name] == renamed[f"{OTHER}{name}"] for name in by])
    return joined.select(*table.columns, *[name for name in other.columns if name not in by])


def keep(
    table: ir.Table, *, unit: Sequence[str], limit: int, key: Sequence[str] = (), order: Sequence[ir.Value] = ()
) -> ir.Table:
    """At most `limit` rows of each unit, each with its place among them, `RANK`: by `order`, or by a hash of `key`."""
    order = order or in_order(table, key, unit=unit)
    rank = ibis.row_number().over(group_by=[table[name] for name in unit], order_by=order)
    ranked = table.mutate(rank.name(RANK))
    return ranked.filter(ranked[RANK] < limit)


def in_order(table: ir.Table, key: Sequence[str], *, unit: Sequence[str] = ()) -> list[ir.Value]:
    """An order of rows by a hash of these columns, ties by the key: rows with equal keys are the same row to it."""
    text = reduce(add, (_text(table[name]) + SEPARATOR for name in (*unit, *key)))
    return [text.hash(), *(table[name] for name in key)]


def _text(column: ir.Value) -> Any:
    """A column as text, the same for the same value."""
    kind = kind_of(column.type())
    known: Any = guarded(column, kind, None) if kind in MOMENTS else column
    return known.cast("string").coalesce("")
