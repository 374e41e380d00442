"""Aggregates as the analyst writes them: checked, and with bounds wherever they need some."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Any

import ibis
import ibis.expr.operations as ops
import ibis.expr.types as ir

from discreet.errors import InvalidParameter, InvalidQuery, expected
from discreet.exact.amounts import fraction
from discreet.language.allow_list import Tables, checked, column
from discreet.language.arithmetic import name_of
from discreet.language.checked_expressions import Kind, Value, cast, integer, told_apart
from discreet.language.column_lineage import source_columns
from discreet.planning.aggregates import AT_LEAST, COUNT, DISTINCT, UNITS, WRITTEN, Aggregate
from discreet.privacy.declaration import Key
from discreet.selection.quantiles import PLACES
from discreet.sensitivity.intervals import Interval

MOST_LISTED = 10_000
"""Values that a statement can name."""
MOST_SHARES = 999
EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """What is publicly known beside the columns' kinds and bounds."""

    unit: tuple[str, ...]
    """The columns that still hold the privacy unit."""
    auto: frozenset[str] = frozenset()
    """Those whose bounds a release chooses."""
    keys: Mapping[ops.Node, tuple[Key, ...]] = field(default_factory=dict)
    """The public values of columns, by what these are computed from."""


def aggregates(name: str, bound: ir.Value, tables: Tables, known: Known) -> list[Aggregate]:
    """The checked forms of what one name asks for: several where a list of quantiles is asked for."""
    op = bound.op()
    while isinstance(op, ops.Alias):
        op = op.arg
    statistic = WRITTEN.get(type(op))  # there are approximate ones below the exact
    where = condition_of(op, tables)
    if statistic is None or not statistic.ranked:
        return [_aggregate(name, op, where, tables, known)]
    value, moment = ranked(checked(op.arg.to_expr(), tables), op, tables)
    asked = Aggregate(name=name, statistic=statistic, value=value, where=where, moment=moment)
    if isinstance(op, ops.Min | ops.Max):
        return [asked]
    if isinstance(op, ops.Median):
        return [replace(asked, share=Fraction(1, 2))]
    stated = op.quantile.value if isinstance(op.quantile, ops.Literal) else None
    if isinstance(op, ops.Quantile):
        return [replace(asked, share=share(stated))]
    if not isinstance(stated, tuple | list) or not 1 <= len(stated) <= MOST_SHARES:
        cure = "write .quantile([0.1, 0.5, 0.9])."
        raise InvalidParameter(expected(f"1 to {MOST_SHARES} quantiles", "quantile", stated, cure))
    shares = [share(one) for one in stated]
    if len(set(shares)) < len(shares):
        raise InvalidParameter(expected("different quantiles", "quantile", list(stated), "name each one once."))
    return [
        replace(asked, name=f"{name}_{written}", share=one)
        for one, written in zip(shares, map(str, stated), strict=True)
    ]


def _aggregate(name: str, op: Any, where: Value | None, tables: Tables, known: Known) -> Aggregate:
    statistic = WRITTEN.get(type(op))
    if isinstance(op, ops.CountStar):
        if op.arg not in tables:
            raise InvalidQuery(
                "Expected a count of this table's rows, got one of another table.\n"
                "Hint: write _.count(where=...), or .filter(...) before .agg(...)."
            )
        return Aggregate(name=name, statistic=COUNT, where=where)
    if type(op) is ops.CountDistinct:
        return replace(_distinct(name, op, tables, known), where=where)
    if statistic is None:
        cure = f"end each column of .agg(...) with one of them, as in {name}=_.column.mean(); "
        cure += "calculate with the released answers."
        if isinstance(op, ops.Mode):
            cure = most_common(op.arg.name)
        raise InvalidQuery(
            f"Expected count, nunique, sum, mean, var, std, cov, corr, quantile, min or max, got {name_of(op)}.\n"
            f"Hint: {cure}"
        )
    values = []
    for part in (op.left, *getattr(op, "beside", ()), op.right) if statistic.degrees else (op.arg,):
        value = checked(part.to_expr(), tables)
        if not statistic.counts:
            check_bounded(value, part, tables, known.auto)
        values.append(replace(integer(value), text=value.text))
    return Aggregate(
        name=name,
        statistic=statistic,
        value=values[0],
        others=tuple(values[1:]),
        where=where,
        sample=statistic.sampled and op.how == "sample",
        place=getattr(op, "place", 0),
    )


def most_common(column: str) -> str:
    """What to ask for instead of a mode."""
    return f'write people.top("{column}", k=1, epsilon=0.5): the most common of its public values, without a count.'


def condition_of(op: ops.Node, tables: Tables) -> Value | None:
    """The checked condition of `where=`, if there is one."""
    condition = getattr(op, "where", None)
    if condition is None:
        return None
    value = checked(condition.to_expr(), tables)
    if value.kind is not Kind.BOOLEAN:
        raise InvalidQuery(f"Expected a condition as where=, got {value.kind.said}.\nHint: compare it with something.")
    return value


def _distinct(name: str, op: ops.CountDistinct, tables: Tables, known: Known) -> Aggregate:
    """A count of the unit, of the public values of a column, or, where nobody listed them, a bound from below."""
    of = column(op.arg, tables) if isinstance(op.arg, ops.Field) else None
    if isinstance(op.arg, ops.Field) and known.unit == (op.arg.name,):
        return Aggregate(name=name, statistic=UNITS)
    truths = (False, True) if of is not None and of.kind is Kind.BOOLEAN else ()
    listed = tuple(key for key in known.keys.get(of.expr.op(), truths) if key is not None) if of is not None else ()
    if of is not None and not listed and of.kind is not Kind.REAL:
        named = replace(told_apart(of, op.arg.name), text=op.arg.name)
        return Aggregate(name=name, statistic=AT_LEAST, value=named)
    if of is None or not listed:
        what = f"of the unit {known.unit[0]!r}" if len(known.unit) == 1 else "of a unit that is one column"
        raise InvalidQuery(
            f"Expected nunique() {what}, or of a column with public keys, got {name_of(op)}.\n"
            "Hint: list the values that there can be, dp.protect(keys={'column': [...]}), or use .cut(...): "
            "values read from the rows would reveal individuals. Of a column that compares exactly, such as "
            ".mutate(x=...) makes, nunique() finds how many there are at least."
        )
    if len(listed) > MOST_LISTED:
        raise InvalidQuery(
            f"Expected nunique() of a column with at most {MOST_LISTED:,} public keys, got {len(listed):,}.\n"
            "Hint: group by it, and count the groups that have enough rows."
        )
    value = replace(of, text=op.arg.name if isinstance(op.arg, ops.Field) else of.text)
    return Aggregate(name=name, statistic=DISTINCT, value=value, listed=listed)


def check_bounded(value: Value, of: ops.Node, tables: Tables, auto: frozenset[str] = frozenset()) -> None:
    """Refuses values that are not numbers, and those without bounds unless a release chooses them (`auto`)."""
    if value.interval is None and value.kind is not Kind.BOOLEAN:
        raise InvalidQuery(
            f"Expected numbers, got an aggregate of {name_of(of)}, {value.kind.said}.\n"
            "Hint: take .count() of it, or a number out of it."
        )
    if not value.unbounded:
        return
    fields = {f.name: tables[f.rel][f.name] for f in of.find(ops.Field, filter=ops.Value)}
    unbounded = {name: column.expr.op() for name, column in fields.items() if column.unbounded}
    chosen = {
        name for name, op in unbounded.items() if auto and source_columns(op.find(ops.Field, filter=ops.Value)) <= auto
    }
    names = sorted(unbounded.keys() - chosen)
    if not names:
        return
    raise InvalidQuery(
        f"Expected bounds for {', '.join(map(repr, names))}, got none.\n"
        f"Hint: state what is publicly known, dp.protect(bounds={{{names[0]!r}: (low, high)}}), "
        f"or write _.{names[0]}.clip(low, high). Bounds read from the rows would reveal individuals; "
        f"bounds={{{names[0]!r}: 'auto'}} chooses them privately, for a share of epsilon."
    )


def share(stated: object) -> Fraction:
    """A share of the rows strictly between 0 and 1, to a millionth."""
    cure = "write .quantile(0.9); for the ends there are .min() and .max()."
    if not isinstance(stated, int | float) or isinstance(stated, bool):
        raise InvalidParameter(expected("a share of the rows", "quantile", stated, cure))
    exact = Fraction(round(fraction("quantile", stated) * PLACES), PLACES)
    if not 0 < exact < 1:
        raise InvalidParameter(expected("a share strictly between 0 and 1", "quantile", stated, cure))
    return exact


def ranked(value: Value, op: ops.Node, tables: Tables) -> tuple[Value, Kind | None]:
    """A number, or a date or time as a number of days or seconds since 1970, and which of the two it is."""
    if value.kind not in (Kind.DATE, Kind.TIMESTAMP):
        check_bounded(value, op.arg, tables)
        return replace(integer(value), text=value.text), None
    if value.span is None:
        raise InvalidQuery(
            f"Expected {value.kind.said} with public bounds, got {name_of(op)} of one without.\n"
            "Hint: state them, dp.protect(bounds={'day': ('2000-01-01', '2029-12-31')}), and rank the column as it is."
        )
    if value.kind is Kind.DATE:
        low, high = ((_day(end) - EPOCH).days for end in value.span)
        days = value.expr.delta(ibis.date(EPOCH.isoformat()), unit="day")
        day = Value(
            cast(days, Kind.INTEGER),
            Kind.INTEGER,
            Interval(Fraction(low), Fraction(high), integer=True),
            value.nullable,
            narrow=Interval(Fraction(low), Fraction(high), integer=True),
            text=value.text,
        )
        return day, Kind.DATE
    low, high = (int(_second(end).timestamp()) for end in value.span)
    whole: Any = value.expr.truncate("s")  # an engine rounds the parts of a second that are left in its own way
    seconds = cast(whole.epoch_seconds(), Kind.REAL)
    interval = Interval(Fraction(low), Fraction(max(high, low + 1)))
    second = Value(seconds, Kind.REAL, interval, value.nullable, narrow=interval, text=value.text, span=value.span)
    return second, Kind.TIMESTAMP


def _day(end: object) -> date:
    return end.date() if isinstance(end, datetime) else end if isinstance(end, date) else EPOCH


def _second(end: object) -> datetime:
    if isinstance(end, datetime):
        return end.replace(tzinfo=UTC)
    return datetime.combine(_day(end), datetime.min.time(), tzinfo=UTC)
