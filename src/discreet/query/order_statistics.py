"""Quantiles, medians, minima and maxima, as the analyst asks for them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Any

import ibis
import ibis.expr.operations as ops
import ibis.expr.types as ir

from discreet.errors import InvalidParameter, InvalidQuery, expected
from discreet.exact.amounts import fraction
from discreet.language.arithmetic import name_of
from discreet.language.check import Tables, checked
from discreet.language.checked_expressions import Kind, Value, cast, integer
from discreet.planning.aggregates import Aggregate, Known, Statistic, aggregate, check_bounded, condition_of
from discreet.selection.quantiles import PLACES
from discreet.sensitivity.intervals import Interval

MOST_SHARES = 999
EPOCH = date(1970, 1, 1)
ORDERED = (ops.Median, ops.Quantile, ops.MultiQuantile, ops.Min, ops.Max)


def aggregates(name: str, bound: ir.Value, tables: Tables, known: Known) -> list[Aggregate]:
    """The checked forms of what one name asks for: several where a list of quantiles is asked for."""
    op = bound.op()
    while isinstance(op, ops.Alias):
        op = op.arg
    if type(op) not in ORDERED:  # there are approximate ones below them
        return [aggregate(name, bound, tables, known)]
    where = condition_of(op, tables)
    value = ranked(checked(op.arg.to_expr(), tables), op, tables)
    asked = Aggregate(name=name, statistic=Statistic.QUANTILE, value=value.value, where=where, moment=value.moment)
    if isinstance(op, ops.Min | ops.Max):
        return [replace(asked, statistic=Statistic.MIN if isinstance(op, ops.Min) else Statistic.MAX)]
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


def share(stated: object) -> Fraction:
    """A share of the rows strictly between 0 and 1, to a millionth."""
    cure = "write .quantile(0.9); for the ends there are .min() and .max()."
    if not isinstance(stated, int | float) or isinstance(stated, bool):
        raise InvalidParameter(expected("a share of the rows", "quantile", stated, cure))
    exact = Fraction(round(fraction("quantile", stated) * PLACES), PLACES)
    if not 0 < exact < 1:
        raise InvalidParameter(expected("a share strictly between 0 and 1", "quantile", stated, cure))
    return exact


class Ranked:
    """A value as a number that can be ranked, and what it was before."""

    __slots__ = ("moment", "value")

    def __init__(self, value: Value, moment: Kind | None) -> None:
        self.value, self.moment = value, moment


def ranked(value: Value, op: ops.Node, tables: Tables) -> Ranked:
    """A number, or a date or time as a number of days or seconds since 1970."""
    if value.kind not in (Kind.DATE, Kind.TIMESTAMP):
        check_bounded(value, op.arg, tables)
        return Ranked(replace(integer(value), text=value.text), None)
    if value.span is None:
        raise InvalidQuery(
            f"Expected a {value.kind.value} with public bounds, got {name_of(op)} of one without.\n"
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
        return Ranked(day, Kind.DATE)
    low, high = (int(_second(end).timestamp()) for end in value.span)
    whole: Any = value.expr.truncate("s")  # an engine rounds the parts of a second that are left in its own way
    seconds = cast(whole.epoch_seconds(), Kind.REAL)
    interval = Interval(Fraction(low), Fraction(max(high, low + 1)))
    return Ranked(Value(seconds, Kind.REAL, interval, value.nullable, narrow=interval, text=value.text), Kind.TIMESTAMP)


def _day(end: object) -> date:
    return end.date() if isinstance(end, datetime) else end if isinstance(end, date) else EPOCH


def _second(end: object) -> datetime:
    if isinstance(end, datetime):
        return end.replace(tzinfo=UTC)
    return datetime.combine(_day(end), datetime.min.time(), tzinfo=UTC)
