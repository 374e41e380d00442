"""What first looks count in the rows: histograms of units and totals of keys, as Ibis expressions.

Claim
    In `unit_histogram` each unit is counted in one bin at most. In `key_totals` a unit adds to at most `max_groups`
    keys, t of them, and to each the same whole number: 1, or with ``steps`` above 1 a number w <= steps / sqrt(t). With
    ``max_rows`` above 1 it adds its rows to each instead, so many at most.
Requires
    A scanned table behind `language.input_barrier.barrier`; max_groups < 2**20 and steps <= 2**20 with weights.
Relies on
    `GROUP BY` and comparison of exact values; integer sums; IEEE doubles below 2**53;
    `planning.contribution_bounding.keep`.
Proof
    *Histogram.* Its rows are made by one aggregation by the unit (or are the rows, where each is a unit), so there is
    one for each unit, and each is counted under one number. What that number is does not matter.
    *Totals.* The pairs (unit, keys) are distinct; where rows are counted, each has its own, up to `max_rows`. A unit
    with at most max_groups of them keeps all, one with more those that come first. With t pairs kept, w0 = floor(steps
    / sqrt(t)) in doubles may be one too large, and then w0^2 t > steps^2 in integers, and 1 is subtracted.
    Keys of which a part is NULL are no keys; their rows are left out.
Rounding
    Weights down.
Source
    Gopi et al., Differentially Private Set Union (ICML 2020): weights.
Mutant
    all-keys-of-a-unit: a unit with more keys than allowed adds to all of them; killed by
    test_a_unit_adds_to_few_keys.
    all-rows-of-a-unit: a unit adds all of its rows to a key; killed by test_rows_of_a_unit_are_limited_in_each_key.
    weight-of-one: a unit with many keys adds the weight of one key to each; killed by test_weights_have_norm_one.
    unit-in-every-bin: each row is counted where units should be; killed by test_each_unit_is_in_one_bin.
"""

from __future__ import annotations

from typing import Any

import ibis
import ibis.expr.types as ir

from discreet.language.checked_expressions import Kind, cast
from discreet.language.exact_arithmetic import TOTAL, at_most, clipped, double, integer
from discreet.planning.auto_bounds import COUNTS, HIGHEST, LOWEST
from discreet.planning.contribution_bounding import attach, keep, units
from discreet.planning.open_question_plan import Subject, UnitHistogram
from discreet.planning.plan import Query

GROUP = "__discreet_group_"
BIN, NUMBER = "bin", "number"


def unit_histogram(query: Query, histogram: UnitHistogram) -> ir.Table:
    """How many units are in each bin that is not empty: columns ``bin`` and ``number``."""
    found = _largest(query, histogram) if histogram.subject is Subject.SIZE else _counted(query, histogram.subject)
    return found.group_by(BIN).agg(found.count().cast(TOTAL).name(NUMBER))


def _counted(query: Query, subject: Subject) -> ir.Table:
    """The bin of each unit, by the number of its groups or of its most rows in one."""
    relation = query.relation
    unit = units(relation)
    rows = relation.select(*unit, **{f"{GROUP}{i}": expr for i, expr in enumerate(query.groups.values())})
    pairs = rows.group_by(rows.columns).agg(rows.count().name(NUMBER))
    number = pairs.count() if subject is Subject.GROUPS else pairs[NUMBER].max()
    found = pairs.group_by(unit).agg(number.name(NUMBER))
    return found.select(_binned(cast(found[NUMBER], Kind.REAL), 0, COUNTS - 1).name(BIN))


def _largest(query: Query, histogram: UnitHistogram) -> ir.Table:
    """The bin of each unit, by the value that is farthest from zero, on its side of zero."""
    relation, value = query.relation, histogram.value
    if value is None:
        raise TypeError(histogram)
    if histogram.where is not None:
        relation = relation.filter(histogram.where.expr)
    unit = units(relation)
    rows = relation.select(*unit, value=cast(value.expr, Kind.REAL))
    rows = rows.filter(rows["value"].notnull())
    if not query.by_row:
        rows = rows.group_by(unit).agg(high=rows["value"].max(), low=rows["value"].min())
        rows = rows.select(value=ibis.ifelse(rows["high"] >= -rows["low"], rows["high"], rows["low"]))
    size = rows["value"].abs()
    step = _binned(size, LOWEST, HIGHEST) - integer(LOWEST)
    return rows.select(ibis.ifelse(rows["value"] >= double(0), step, -step).name(BIN))


def _binned(size: ir.Value, low: int, high: int) -> ir.Value:
    """The exponent of the smallest power of two that is not below `size` (by more than a part in 10^12), kept to
    [low, high]: so far are all engines from their logarithms of powers of two.
    """
    inside = clipped(size, double(2.0**low), double(2.0**high))
    exponent: Any = cast((inside.log2() - double(2.0**-40)).ceil(), Kind.INTEGER)
    return clipped(exponent, integer(low), integer(high))


def key_totals(query: Query, *, max_groups: int, steps: int, max_rows: int = 1) -> ir.Table:
    """One row for each key that some unit has: the columns of the key, and ``number``, the sum of what units add.

    Weights, with `steps` above 1, are of units: then `max_rows` is 1.
    """
    relation = query.relation
    unit, names = units(relation), [f"{GROUP}{i}" for i in range(len(query.groups))]
    rows = relation.select(*unit, **dict(zip(names, query.groups.values(), strict=True)))
    rows = rows.filter([rows[name].notnull() for name in names])
    if query.by_row:
        return rows.group_by(names).agg((rows.count() * integer(steps)).cast(TOTAL).name(NUMBER))
    own = ibis.least(rows.count(), integer(max_rows)).name(NUMBER)
    pairs = rows.distinct() if max_rows == 1 else rows.group_by(rows.columns).agg(own)
    kept = _kept(pairs, unit, names, max_groups)
    weight = _weight(kept["keys"], steps) if steps > 1 else integer(1) if max_rows == 1 else kept[NUMBER]
    kept = kept.select(*names, weight=weight)
    return kept.group_by(names).agg(kept["weight"].sum().cast(TOTAL).name(NUMBER))


def _kept(pairs: ir.Table, unit: list[str], names: list[str], max_groups: int) -> ir.Table:
    """The pairs of which a unit has at most `max_groups`, and ``keys``, their number for the unit."""
    counted = attach(pairs, pairs.group_by(unit).agg(keys=pairs.count()), unit)
    few = counted.filter(counted["keys"] <= integer(max_groups))
    many = keep(counted.filter(counted["keys"] > integer(max_groups)), unit=unit, key=names, limit=max_groups)
    return few.union(many.mutate(keys=integer(max_groups)).select(*few.columns))


def _weight(keys: ir.Value, steps: int) -> ir.Value:
    """The largest whole number whose square, times `keys`, is at most the square of `steps`."""
    quotient: Any = double(steps) / cast(keys, Kind.REAL).sqrt()
    near: Any = at_most(cast(quotient.floor(), Kind.INTEGER), integer(steps))
    return near - ibis.ifelse(near * near * keys > integer(steps * steps), integer(1), integer(0))
