"""First looks at the rows: histograms of units, and totals of keys, as Ibis expressions.

Claim
    In `histogram` each unit is counted in one bin at most. In `key_totals` a unit adds to at most `max_groups` keys, t
    of them, and to each the same whole number: 1, or with ``steps`` above 1 a number w <= steps / sqrt(t).
Requires
    A scanned table behind `language.barrier.barrier`; max_groups < 2**20 and steps <= 2**20 with weights.
Relies on
    `GROUP BY` and comparison of exact values; integer sums; IEEE doubles below 2**53; a function md5 of texts, which
    orders a unit's keys the same way whenever it is asked.
Proof
    *Histogram.* Its rows are made by one aggregation by the unit (or are the rows, where each is a unit), so there is
    one for each unit, and each is counted under one number. What that number is does not matter.
    *Totals.* The pairs (unit, keys) are distinct. A unit with at most max_groups of them keeps all, one with more those
    that come first in the order of md5 of the unit and the keys, ties by the keys themselves: a function of its own
    rows. With t pairs kept, w0 = floor(steps / sqrt(t)) in doubles may be one too large, and then w0^2 t > steps^2 in
    integers, and 1 is subtracted.
    Keys of which a part is NULL are no keys; their rows are left out.
Rounding
    Weights down.
Source
    Gopi et al., Differentially Private Set Union (ICML 2020): weights. A keyed order in place of the engine's random
    numbers, whose draws nobody can replay: research on engines that evaluate random() twice.
Mutant
    all-keys-of-a-unit: a unit with more keys than allowed adds to all of them; killed by
    test_a_unit_adds_to_few_keys.
    weight-of-one: a unit with many keys adds the weight of one key to each; killed by test_weights_have_norm_one.
    unit-in-every-bin: each row is counted where units should be; killed by test_each_unit_is_in_one_bin.
"""

from __future__ import annotations

from typing import Any

import ibis
import ibis.expr.types as ir

from discreet.engines.exact_arithmetic import at_most, clipped, double, integer
from discreet.language.barrier import UNIT, guarded, kind_of
from discreet.language.checked_expressions import Kind, cast
from discreet.planning.auto_bounds import COUNTS, HIGHEST, LOWEST
from discreet.planning.plan import Query
from discreet.planning.two_stage import Subject, Survey

GROUP = "__discreet_group_"
TOTAL = "decimal(38, 0)"
BIN, NUMBER = "bin", "number"


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]  # Ibis has no types here
def md5(text: str) -> str:  # type: ignore[empty-body]  # the engine has the function, Ibis its name
    """A hash of a text, as hexadecimal digits."""


def histogram(query: Query, survey: Survey) -> ir.Table:
    """How many units are in each bin that is not empty: columns ``bin`` and ``number``."""
    units = _largest(query, survey) if survey.subject is Subject.SIZE else _counted(query, survey.subject)
    return units.group_by(BIN).agg(units.count().cast(TOTAL).name(NUMBER))


def _units(table: ir.Table) -> list[str]:
    return [name for name in table.columns if name.startswith(UNIT)]


def _counted(query: Query, subject: Subject) -> ir.Table:
    """The bin of each unit, by the number of its groups or of its most rows in one."""
    relation = query.relation
    units = _units(relation)
    rows = relation.select(*units, **{f"{GROUP}{i}": expr for i, expr in enumerate(query.groups.values())})
    pairs = rows.group_by(rows.columns).agg(rows.count().name(NUMBER))
    number = pairs.count() if subject is Subject.GROUPS else pairs[NUMBER].max()
    found = pairs.group_by(units).agg(number.name(NUMBER))
    return found.select(_binned(cast(found[NUMBER], Kind.REAL), 0, COUNTS - 1).name(BIN))


def _largest(query: Query, survey: Survey) -> ir.Table:
    """The bin of each unit, by the value that is farthest from zero, on its side of zero."""
    relation, value = query.relation, survey.value
    if value is None:
        raise TypeError(survey)
    if survey.where is not None:
        relation = relation.filter(survey.where.expr)
    units = _units(relation)
    rows = relation.select(*units, v=cast(value.expr, Kind.REAL))
    rows = rows.filter(rows["v"].notnull())
    if not query.by_row:
        rows = rows.group_by(units).agg(high=rows["v"].max(), low=rows["v"].min())
        rows = rows.select(v=ibis.ifelse(rows["high"] >= -rows["low"], rows["high"], rows["low"]))
    size = rows["v"].abs()
    step = _binned(size, LOWEST, HIGHEST) - integer(LOWEST)
    return rows.select(ibis.ifelse(rows["v"] >= double(0), step, -step).name(BIN))


def _binned(size: ir.Value, low: int, high: int) -> ir.Value:
    """The exponent of the smallest power of two that is not below `size` (by more than a part in 10^12), kept to
    [low, high]: so far are all engines from their logarithms of powers of two.
    """
    inside = clipped(size, double(2.0**low), double(2.0**high))
    exponent: Any = cast((inside.log2() - double(2.0**-40)).ceil(), Kind.INTEGER)
    return clipped(exponent, integer(low), integer(high))


def key_totals(query: Query, *, max_groups: int, steps: int) -> ir.Table:
    """One row for each key that some unit has: the columns of the key, and ``number``, the sum of what units add."""
    relation = query.relation
    units, names = _units(relation), [f"{GROUP}{i}" for i in range(len(query.groups))]
    rows = relation.select(*units, **dict(zip(names, query.groups.values(), strict=True)))
    rows = rows.filter([rows[name].notnull() for name in names])
    if query.by_row:
        return rows.group_by(names).agg((rows.count() * integer(steps)).cast(TOTAL).name(NUMBER))
    pairs = rows.distinct()
    kept = _kept(pairs, units, names, max_groups)
    weight = _weight(kept["t"], steps) if steps > 1 else integer(1)
    kept = kept.select(*names, w=weight)
    return kept.group_by(names).agg(kept["w"].sum().cast(TOTAL).name(NUMBER))


def _kept(pairs: ir.Table, units: list[str], names: list[str], max_groups: int) -> ir.Table:
    """The pairs of which a unit has at most `max_groups`, and ``t``, their number for the unit."""
    counts = pairs.group_by(units).agg(t=pairs.count())
    counts = counts.rename({f"of_{i}": name for i, name in enumerate(units)})
    joined = pairs.inner_join(counts, [pairs[name] == counts[f"of_{i}"] for i, name in enumerate(units)])
    joined = joined.select(*units, *names, "t")
    few = joined.filter(joined["t"] <= integer(max_groups))
    many = joined.filter(joined["t"] > integer(max_groups))
    text: Any = ibis.literal("")
    for name in (*units, *names):
        text = text + text_of(many[name]) + ibis.literal("\x1f")
    many = many.mutate(place=md5(text))
    window = ibis.window(group_by=units, order_by=["place", *names])
    many = many.mutate(place=ibis.row_number().over(window))
    many = many.filter(many["place"] < integer(max_groups)).mutate(t=integer(max_groups))
    return few.union(many.select(*few.columns))


def text_of(column: Any) -> Any:
    """A column as text, the same for the same value; moments too far away to be written share one. None raises: where
    one is not behind the barrier, as a unit is not, a plain cast would raise.
    """
    kind = kind_of(column.type())
    if kind not in (Kind.DATE, Kind.TIMESTAMP):
        return column.cast("string")
    return guarded(column, kind, None).cast("string").coalesce(ibis.literal(""))


def _weight(keys: ir.Value, steps: int) -> ir.Value:
    """The largest whole number whose square, times `keys`, is at most the square of `steps`."""
    quotient: Any = double(steps) / cast(keys, Kind.REAL).sqrt()
    near: Any = at_most(cast(quotient.floor(), Kind.INTEGER), integer(steps))
    return near - ibis.ifelse(near * near * keys > integer(steps * steps), integer(1), integer(0))
