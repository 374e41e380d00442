"""Random questions that the language accepts, about the tables of `discreet.testing.neighbors`. Needs Hypothesis."""

from __future__ import annotations

import datetime
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import ibis
import pyarrow as pa
from hypothesis import strategies as st

from discreet.curator.public_data import public
from discreet.errors import InvalidQuery
from discreet.language.checked_expressions import Kind
from discreet.planning.aggregates import Slope
from discreet.query.question import Question
from discreet.query.table import PrivateTable
from discreet.testing.neighbors import LISTED, TEXTS

Expression = Any
"""An Ibis expression over the columns of a table."""

KEYS: dict[Kind, tuple[Any, ...]] = {
    Kind.TEXT: (None, "a", "b", "A", "", "é", "e\u0301", "a\x00b", "absent", "1"),
    Kind.INTEGER: (None, 0, 1, 2, 3, 5, -1, 100, 127, -128, 2**63 - 1, -(2**63), 12_345),
    Kind.BOOLEAN: (None, True, False),
    Kind.DATE: (None, datetime.date(1970, 1, 1), datetime.date(2020, 1, 1), datetime.date(9999, 12, 31)),
    Kind.TIMESTAMP: (
        None,
        datetime.datetime(1970, 1, 1),  # noqa: DTZ001 (naive means UTC in a key)
        datetime.datetime(2020, 1, 1, 1, tzinfo=datetime.UTC),
        datetime.datetime(1, 1, 1),  # noqa: DTZ001 (as above)
    ),
}
CONSTANTS = (-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 5.0, 1e300, -1e-3)
INTEGERS = (-1, 0, 1, 2, 5, 2**31, 2**53 + 1, 2**63 - 1, -(2**63))


UNARY: dict[str, Callable[[Expression], Expression]] = {
    "negative": operator.neg,
    "absolute": lambda x: x.abs(),
    "floor": lambda x: x.floor(),
    "ceiling": lambda x: x.ceil(),
    "round": lambda x: x.round(),
    "round to tenths": lambda x: x.clip(-100, 100).round(1),
    "round to tens": lambda x: x.clip(-100, 100).round(-1),
    "square root": lambda x: x.abs().sqrt(),
    "exponential": lambda x: x.clip(-20, 5).exp(),
    "logarithm": lambda x: x.abs().clip(0.125, 64).log2(),
    "square": lambda x: x.clip(-9, 9) ** 2,
    "cube": lambda x: x.clip(-9, 9) ** 3,
    "a twelfth": lambda x: x / 12,
    "tenfold": lambda x: x / -0.1,
    "halves": lambda x: x.clip(-100, 100) // 0.5,
    "thirds": lambda x: x.clip(-100, 100) // -3,
    "remainder": lambda x: x % 2,
    "real remainder": lambda x: x % 1.5,
    "filled": lambda x: x.fill_null(0),
    "filled with a half": lambda x: x.fill_null(2.5),
    "null if one": lambda x: x.nullif(1),
    "real": lambda x: x.cast("float64"),
    "sign": lambda x: x.sign(),
    "bucket": lambda x: x.bucket([-1, 0, 0.5, 5], include_over=True),
    "bucket closed on the right": lambda x: x.bucket(
        [0, 1, 3], closed="right", close_extreme=False, include_under=True
    ),
}
BINARY: dict[str, Callable[[Expression, Expression], Expression]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": lambda x, y: x.clip(-9, 9) * y.clip(-100, 100),
    "divide": lambda x, y: x / y.abs().clip(1, 7),
    "greatest": ibis.greatest,
    "least": ibis.least,
    "coalesce": ibis.coalesce,
}


def numbers(draw: st.DrawFn, t: PrivateTable, depth: int = 2) -> Expression:
    """A bounded number: a column, or something computed of one."""
    shape = draw(st.sampled_from(("column", "unary", "binary", "choice"))) if depth else "column"
    if shape == "unary":
        return UNARY[draw(st.sampled_from(sorted(UNARY)))](numbers(draw, t, depth - 1))
    if shape == "binary":
        x, y = (numbers(draw, t, depth - 1) for _ in range(2))
        return BINARY[draw(st.sampled_from(sorted(BINARY)))](x, y)
    if shape == "choice":
        x, condition = numbers(draw, t, depth - 1), conditions(draw, t, depth - 1)
        return draw(st.sampled_from((ibis.ifelse(condition, x, 1), ibis.cases((condition, 2), (~condition, x)))))
    ends = sorted(draw(st.lists(st.sampled_from((-5, -1, 0, 1, 3, 10, 0.5)), min_size=2, max_size=2, unique=True)))
    clipped = [t[name].clip(*ends) for name in ("x", "v", "i")]
    whole = [t.day.year(), t.day.month(), t.at.hour(), t.at.day_of_week.index(), t.at.minute(), t.plan.length()]
    whole += [t.day.delta(t.at.date(), unit="day"), t.at.epoch_seconds().clip(-5, 10**6), t.plan.find("a")]
    clipped.append(t.plan.try_cast(draw(st.sampled_from(("int64", "float64")))).clip(-2, 3))
    return draw(st.sampled_from([*clipped, *clipped, t.x, t.i.clip(0, 3), t.b.cast("int64"), *whole]))


def conditions(draw: st.DrawFn, t: PrivateTable, depth: int = 1) -> Expression:
    """A condition on columns."""
    if depth and draw(st.booleans()):
        left, right = conditions(draw, t, depth - 1), conditions(draw, t, depth - 1)
        return draw(st.sampled_from((left & right, left | right, left ^ right, ~left)))
    number = draw(st.sampled_from((t.x, t.v, t.i, t.x - t.x, t.v.abs(), t.i.fill_null(0), t.x.nullif(0.0))))
    constant = draw(st.sampled_from(CONSTANTS))
    compared = (number > constant, number < constant, number == constant, number != constant, number >= t.x)
    listed = (number.isin([0, 1, 5]), number.notin([0.0, 2.0]), number.between(-1, 3), number.isnull())
    whole = draw(st.sampled_from(INTEGERS))
    exact = (t.i <= whole, t.i == whole, t.i.isin([0, whole]), t.i.notnull())
    word = draw(st.sampled_from(TEXTS[:-1]))
    text = (t.plan == word, t.plan.lower() < word, t.plan.startswith(word), t.plan.like("%a_"), t.plan.contains("a"))
    more = (t.plan.upper().endswith("A"), t.plan.strip() == "a", t.plan.substr(0, 1).isin(["a", "é"]))
    padded = (t.plan.lpad(3, "a").rpad(4, "é") == "aaaé", t.plan.split("a")[1].isnull(), t.plan.reverse() < word)
    joined = (t.plan + t.plan == "aa", (t.plan + "b").length() > 2, t.plan.ilike("A%"))
    days = (t.day < datetime.date(2020, 1, 1), t.day == "1970-01-01", t.day.year() >= 2000, t.day.isnull())
    times = (t.at > "2020-01-01", t.at.cast("date") == "1970-01-01", t.at.truncate("M") <= "2020-01-01", t.at.notnull())
    carried = (t.day + ibis.interval(months=draw(st.sampled_from((-119_988, -1, 1, 119_988)))) < "2020-01-31",)
    later = (*carried, t.at - ibis.interval(days=40) > "1970-01-01", t.plan.try_cast("date").notnull())
    truths = (t.b, ~t.b, t.b.isnull(), t.b == t.b.fill_null(t.plan == "a"), t.b.identical_to(t.x > 0))
    families = (compared, compared, listed, exact, text, more, padded, joined, days, times, later, truths)
    return draw(st.sampled_from(draw(st.sampled_from(families))))


NAMES = ("person", "plan", "v", "x", "i", "b", "day", "at")
"""The columns that every step leaves, so that the next one can ask about them."""


def _features(draw: st.DrawFn, t: PrivateTable, *keys: str) -> PrivateTable:
    """One row for each unit, or for each key, under the names that columns have."""
    where = conditions(draw, t) if draw(st.booleans()) else None
    x = draw(st.sampled_from((t.x.sum(where=where), t.x.mean(where=where), t.x.max(), t.x.count(where=where))))
    i = draw(st.sampled_from((t.i.min(where=where), t.i.nunique(), t.i.clip(-3, 3).sum(), t.plan.nunique(where=where))))
    extremes = {"plan": t.plan.max(where=where), "v": t.v.min(), "day": t.day.max(), "at": t.at.min()}
    made = {"x": x, "i": i, "b": draw(st.sampled_from((t.b.any(), t.b.all()))), **extremes}
    made = {name: value for name, value in made.items() if name not in keys}
    most = draw(st.sampled_from((1, 2, 3))) if keys and _unit(t) else None
    table = t.per_key(*keys, max_keys=most, **made) if keys else t.per_unit(**made)
    return table.mutate(x=lambda u: u.x.clip(-1, 9))


def _unit(t: PrivateTable) -> tuple[str, ...]:
    """The columns of the unit; none where each row is one, as where strangers met."""
    return t._source.declaration.unit  # noqa: SLF001 (what was declared has no public name)


def _on_units(draw: st.DrawFn, t: PrivateTable) -> PrivateTable:
    """A step that is about the rows of one unit; for tables whose rows are the units, another order of columns."""
    chosen = draw(st.permutations(NAMES))
    unit = _unit(t)
    if not unit:
        rows: dict[str, Callable[[], PrivateTable]] = {
            "select": lambda: t.select(*chosen),
            "union": lambda: t.union(t.filter(conditions(draw, t))),
            "partition": lambda: t.partition("plan", keys=LISTED)["a"],
            "unnest": lambda: _several(draw, t),
            "by keys": lambda: _features(draw, t, *draw(st.sampled_from((("plan",), ("plan", "b"), ("day",))))),
            "some": lambda: draw(st.sampled_from((t.take, t.skip)))(draw(st.sampled_from((1, 3, 9)))),
            "distinct": lambda: t.distinct(*chosen),
            "intersect": lambda: t.intersect(t.filter(conditions(draw, t))),
            "difference": lambda: t.difference(t.filter(conditions(draw, t))),
            "strangers": lambda: t.join(t.select("plan", "i").rename(j="i"), "plan", max_matches=_matches(draw)),
        }
        return rows[draw(st.sampled_from(sorted(rows)))]()
    verbs: dict[str, Callable[[], PrivateTable]] = {
        "distinct": lambda: t.distinct(*chosen),
        "features": lambda: _features(draw, t),
        "union": lambda: t.union(t.filter(conditions(draw, t)), raise_limits=draw(st.booleans())),
        "intersect": lambda: t.intersect(t.filter(conditions(draw, t))),
        "difference": lambda: t.difference(t.filter(conditions(draw, t))),
        "join": lambda: t.join(t.select("plan").rename(tier="plan"), how=draw(st.sampled_from(("inner", "left")))),
        "join on more": lambda: t.join(t.select("plan", "i").rename(j="i"), [*unit, "plan"]),
        "strangers": lambda: t.join(t.select("plan", "i").rename(j="i"), "plan", max_matches=_matches(draw)),
        "partition": lambda: t.partition("plan", keys=LISTED, max_parts=draw(st.sampled_from((1, 2, 3))))["a"],
        "semi join": lambda: t.join(t.filter(conditions(draw, t)), how=draw(st.sampled_from(("semi", "anti")))),
        "unnest": lambda: _several(draw, t),
        "by keys": lambda: _features(draw, t, *draw(st.sampled_from((("plan",), ("plan", "b"), ("day",))))),
    }
    verbs["some"] = lambda: draw(st.sampled_from((t.take, t.skip)))(draw(st.sampled_from((1, 3, 9))))
    return verbs[draw(st.sampled_from(sorted(verbs)))]()


def _matches(draw: st.DrawFn) -> Any:
    """How many rows of a key each side of a join keeps."""
    sides = st.sampled_from((1, 2, "unique"))
    return draw(sides) if draw(st.booleans()) else (draw(sides), draw(sides))


def _several(draw: st.DrawFn, t: PrivateTable) -> PrivateTable:
    """Several rows of each: of listed numbers, of texts, or of the parts of a text."""
    raised = bool(_unit(t)) and draw(st.booleans())
    if draw(st.booleans()):
        parts = t.plan.split(draw(st.sampled_from(("a", "b", "\u0301", "aa"))))
        return t.unnest(plan=parts, max_items=draw(st.sampled_from((1, 2, 5))), raise_limits=raised)
    listed = [numbers(draw, t, 1) for _ in range(draw(st.sampled_from((1, 2, 3))))]
    if draw(st.booleans()):
        return t.unnest(x=[x.clip(-1, 9) for x in listed], raise_limits=raised)
    return t.unnest(i=listed, plan=[t.plan, ibis.literal("a"), ibis.null()][: len(listed)], raise_limits=raised)


@st.composite
def combined(draw: st.DrawFn, tables: Sequence[PrivateTable]) -> PrivateTable:
    """One table of several that have the columns of `neighbors.schemas`, some of them more than once, in any order.

    All verbs that take a second table are among the ways.
    """
    places = st.integers(0, len(tables) - 1)
    result = tables[draw(places)]
    try:
        for _ in range(draw(st.sampled_from((1, 1, 1, 2, 3)))):
            other = tables[draw(places)]
            if draw(st.booleans()):
                other = other.filter(conditions(draw, other))
            result = _beside(draw, result, other)
    except InvalidQuery:
        return draw(st.nothing())
    return result


HOW = ("inner", "left", "semi", "anti")


def _beside(draw: st.DrawFn, t: PrivateTable, other: PrivateTable) -> PrivateTable:
    unit, weights = _unit(t), public(pa.table({"plan": ["a", "b"], "weight": [1, 2]}))
    ways: dict[str, Callable[[], PrivateTable]] = {
        "union": lambda: t.select(*NAMES).union(other.select(*NAMES), raise_limits=bool(unit) and draw(st.booleans())),
        "public": lambda: t.join(weights, "plan", how=draw(st.sampled_from(HOW))).select(*NAMES).union(other),
    }
    ways |= {
        "intersect": lambda: t.select(*NAMES).intersect(other.select(*NAMES)),
        "difference": lambda: t.select(*NAMES).difference(other.select(*NAMES)),
        "strangers": lambda: t.join(other.select("plan", "i").rename(j="i"), "plan", max_matches=_matches(draw)),
    }
    if unit:
        tiers = other.select("plan").rename(tier="plan")
        ways |= {
            "join": lambda: t.select(*NAMES).join(tiers, how=draw(st.sampled_from(("inner", "left")))),
            "join on more": lambda: t.select(*NAMES).join(other.select("plan", "i").rename(j="i"), [*unit, "plan"]),
            "semi join": lambda: t.join(other, how=draw(st.sampled_from(("semi", "anti")))),
            "features": lambda: _features(draw, t).select(*NAMES).union(_features(draw, other).select(*NAMES)),
        }
    return ways[draw(st.sampled_from(("union", *sorted(ways))))]()


def _steps(draw: st.DrawFn, t: PrivateTable) -> PrivateTable:
    """Some filters, selections and new columns; what is filtered by may be written over an earlier step."""
    past = [t]
    edges = (("x", [0, 1, 5]), ("i", [-math.inf, 0, 2, math.inf]))
    verbs: dict[str, Callable[[PrivateTable, int], PrivateTable]] = {
        "filter": lambda t, _: t.filter(conditions(draw, draw(st.sampled_from((t, *past))))),
        "select": lambda t, _: t.select(*draw(st.permutations(NAMES))),
        "mutate": lambda t, i: t.mutate(**{f"y{i}": numbers(draw, t)}),
        "rewrite": lambda t, _: t.mutate(x=numbers(draw, t)),
        "cut": lambda t, i: t.cut(*draw(st.sampled_from(edges)), name=f"bin{i}"),
        "fill": lambda t, _: t.fill_null({"x": 1.5, "plan": "a"}),
        "on units": lambda t, _: _on_units(draw, t),
    }
    for i in range(draw(st.sampled_from((0, 0, 0, 1, 2)))):
        verb = draw(st.sampled_from(("filter", *verbs, "on units")))
        t = verbs[verb](t, i)
        past = [t] if verb == "on units" else [*past, t]
    return t


def _aggregate(draw: st.DrawFn, t: PrivateTable) -> Expression:
    where = conditions(draw, t) if draw(st.sampled_from((False, False, True))) else None
    x = numbers(draw, t) if draw(st.booleans()) else draw(st.sampled_from((t.x, t.x.clip(0, 5), t.i.clip(-3, 3))))
    choices: dict[str, Callable[[], Expression]] = {
        "rows": lambda: t._visible.count(where=where),  # noqa: SLF001 (what lambdas and `_` are given)
        "values": lambda: x.count(where=where),
        "sum": lambda: x.sum(where=where),
        "mean": lambda: x.mean(where=where),
        "variance": lambda: x.var(where=where),
        "deviation": lambda: x.std(where=where, how="pop"),
        "truths": lambda: t.b.nunique(where=where),
        "slope": lambda: Slope(t.x, x, beside=(t.i.clip(-3, 3), t.b)[: draw(st.integers(0, 2))], where=where).to_expr(),
        "covariance": lambda: x.cov(draw(st.sampled_from((t.x, t.i.clip(-3, 3)))), where=where),
        "correlation": lambda: x.corr(t.x, where=where),
        "median": lambda: x.median(where=where),
        "quantile": lambda: x.quantile(draw(st.sampled_from((0.25, 0.9))), where=where),
        "end": lambda: draw(st.sampled_from((x.max(where=where), x.min(where=where)))),
        "median day": lambda: (t.day if draw(st.booleans()) else t.at).median(where=where),
    }
    if _unit(t) == ("person",):
        choices["persons"] = lambda: t.person.nunique(where=where)
    return choices[draw(st.sampled_from(sorted(choices)))]()


def _groups(draw: st.DrawFn, t: PrivateTable) -> dict[str, Any]:
    """Arguments of group_by: named expressions and their public keys, some absent from any table."""
    computed: dict[str, Expression] = {
        "whole": t.x.clip(-3, 3).floor(),
        "long": t.plan.length() > 1,
        "year": t.day.year(),
        "first": t.plan.substr(0, 1),
        "month": t.day.truncate("M"),
        "band": t.x.bucket([0, 1, 2, 5]),
    }
    named = {name: t[name] for name in ("plan", "i", "b", "day", "at")} | computed
    kinds = {"plan": Kind.TEXT, "b": Kind.BOOLEAN, "day": Kind.DATE, "at": Kind.TIMESTAMP, "first": Kind.TEXT}
    kinds["month"] = Kind.DATE
    often = ["plan", "plan", "b", *sorted(named)]
    chosen = draw(st.lists(st.sampled_from(often), min_size=1, max_size=2, unique=True))
    keys = {}
    for name in chosen:
        pool = KEYS[kinds.get(name, Kind.BOOLEAN if name == "long" else Kind.INTEGER)]
        others = st.lists(st.sampled_from((*pool[:3], *pool)), min_size=2, max_size=4, unique=True)
        keys[name] = draw(st.permutations(pool[:3]) | others)
    by_name = {name for name in chosen if name in t.columns}
    return {"names": sorted(by_name), "expressions": {n: named[n] for n in chosen if n not in by_name}, "keys": keys}


@st.composite
def questions(draw: st.DrawFn, table: PrivateTable) -> Question:
    """A question of up to three aggregates, with or without groups; what the language refuses is drawn again.

    Args:
        draw: given by Hypothesis.
        table: a protected table with the columns of `neighbors.schemas`, with bounds for x.
    """
    try:
        t = _steps(draw, table)
        asked = {f"a{i}": _aggregate(draw, t) for i in range(draw(st.integers(1, 3)))}
        if draw(st.sampled_from((True, False, False))):
            return t.agg(**asked)
        groups = _groups(draw, t)
        limits = {name: draw(st.sampled_from((1, 2, 1, 3, 5))) for name in ("max_groups", "max_rows") if _unit(t)}
        return t.group_by(*groups["names"], keys=groups["keys"], **limits, **groups["expressions"]).agg(**asked)
    except InvalidQuery:
        return draw(st.nothing())
