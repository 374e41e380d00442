"""No value that an answer can have makes a step after the noise fail, or what writes the answer: noise is added after
the charge.
"""

from __future__ import annotations

import datetime
import itertools
import json
import operator
from collections.abc import Callable, Mapping
from typing import Any

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ibis import _

import discreet as dp
from discreet.answers.run_post_processing import CELL, _connection, _run, ends_at, rehearse
from discreet.answers.table_exports import TableExports
from discreet.errors import InvalidQuery
from discreet.inference import interval_propagation
from discreet.inference.estimate import Estimate
from discreet.inference.interval_propagation import CalculatedInterval
from discreet.inference.post_processing import Processing
from discreet.pgwire.statement_results import encoded, result_of
from discreet.server.answer_formats import WRITERS
from discreet.service.asked_tables import answer_columns
from discreet.testing import people

ENDS = [float("inf"), float("-inf"), float("nan"), 1.7976931348623157e308, -1.7e308, 5e-324, -0.0, 0.0, 0.5, None]
WHOLE = [2**62, -(2**62), 2**63 - 1, 0, 1, -1, 7, None]
TEXTS = ["a", "7", "", "1e400", "2020-02-30", "ä\x00", None]
DAYS = [datetime.date(1, 1, 1), datetime.date(9999, 12, 31), datetime.date(2000, 2, 29), None]
MOMENTS = [datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999), None]  # noqa: DTZ001 (UTC)
FIRST, LAST, FIRST_MOMENT, LAST_MOMENT = DAYS[0], DAYS[1], MOMENTS[0], MOMENTS[1]
LAST_SECOND = datetime.datetime(9999, 12, 31, 23, 59, 59)  # noqa: DTZ001 (UTC)
SIZES = {"n": "int64", "x": "float64", "k": "string", "d": "date", "t": "timestamp(6)"}

LEAVES: list[Callable[[ir.Table], Any]] = [
    *(operator.itemgetter(name) for name in SIZES),
    *(lambda _, c=constant: ibis.literal(c) for constant in (0, -1, 2, 10**18, 1e300, -0.5, "x", "12", "infinity")),
]
METHODS = [
    "abs", "ceil", "floor", "sqrt", "exp", "ln", "log2", "log10", "sign", "round", "acos", "tan", "length", "upper",
    "strip", "reverse", "isnull", "notnull", "year", "month", "sum", "mean", "min", "max", "nunique", "cumsum",
    "rank", "lag", "std", "date", "time", "epoch_seconds", "as_timestamp", "collect",
]  # fmt: skip
TYPES = (
    *("int8", "int64", "uint64", "float32", "float64", "decimal(9, 2)", "string", "boolean", "binary", "json", "uuid"),
    *("date", "time", "timestamp", "timestamp(0)", "timestamp(3)", "timestamp(9)", "timestamp('UTC')"),
)
ONE: list[Callable[[Any], Any]] = [
    *(operator.methodcaller(name) for name in METHODS),
    *(operator.methodcaller("cast", to) for to in TYPES),
    operator.neg, operator.inv, operator.methodcaller("fill_null", 3), operator.methodcaller("nullif", 0),
    *(operator.methodcaller("as_timestamp", unit) for unit in ("s", "ms")), operator.methodcaller("truncate", "M"),
    *(lambda a, years=years: a + ibis.interval(years=years) for years in (9000, -9000, 10**5, 10**9)),
    lambda a: a - ibis.interval(days=10**6), lambda a: a + ibis.interval(seconds=10**12),
]  # fmt: skip
TWO: list[Callable[[Any, Any], Any]] = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.lt, operator.eq, operator.and_, ibis.greatest, ibis.coalesce, lambda a, b: ibis.ifelse(a > 0, a, b),
    lambda a, b: a.sum().over(ibis.window(group_by=b, order_by=a)), lambda a, b: a.sum(where=b),
    lambda a, b: a.std().over(ibis.window(order_by=b, preceding=3)), lambda a, b: a.lag(2, default=b).over(order_by=a),
    lambda a, b: a.sum().over(ibis.range_window(preceding=2**62, following=3, order_by=ibis.desc(b))),
    lambda a, b: a.max().over(ibis.range_window(preceding=0.5, following=0, order_by=b)),
    lambda a, b: a.nth(1).over(ibis.window(group_by=b, order_by=a)), lambda a, b: ibis.ntile(3).over(order_by=a - b),
    lambda a, b: a.round(b), lambda a, b: a.substr(b), lambda a, b: a.repeat(b), lambda a, b: a.concat(b),
    lambda a, b: a + b.as_interval("D"), lambda a, b: a - b.as_interval("s"), lambda a, b: a.delta(b, unit="day"),
    lambda a, b: a.split(b), lambda a, b: ibis.array([a, b]), lambda a, b: ibis.struct({"a": a, "b": b}),
]  # fmt: skip


@st.composite
def expressions(draw: st.DrawFn, table: ir.Table, depth: int = 3) -> Any:
    """An expression of the answer's columns; one that Ibis itself refuses is drawn again."""
    arity = draw(st.integers(0, 2)) if depth else 0
    if not arity:
        return draw(st.sampled_from(LEAVES))(table)
    parts = [draw(expressions(table, depth - 1)) for _ in range(arity)]
    try:
        return draw(st.sampled_from(ONE if arity == 1 else TWO))(*parts)
    except Exception:  # noqa: BLE001 (Ibis has many classes for what has no meaning)
        return parts[0]


def hostile(rows: int) -> pa.Table:
    """An answer of the values at which calculations fail."""
    turned: dict[str, list[Any]] = {"n": WHOLE, "x": ENDS, "k": TEXTS, "d": DAYS, "t": MOMENTS}
    types = {"n": pa.int64(), "x": pa.float64(), "k": pa.string(), "d": pa.date32(), "t": pa.timestamp("us")}
    columns = {name: pa.array([own[i % len(own)] for i in range(rows)], types[name]) for name, own in turned.items()}
    return pa.table(columns).append_column(CELL, pa.array(range(rows), pa.int64()))


def dated() -> Any:
    """A table with dates as keys, one of them the last of the calendar."""
    days = DAYS[1:-1]
    rows = pa.table({"person": range(6), "day": days * 3})
    facts: Any = {"keys": {"day": days}, "max_rows": 1, "max_groups": 1, "budget": dp.Budget(epsilon=9), "name": "days"}
    return dp.protect(rows, unit="person", **facts)


def unfit(text: str) -> bool:
    """Too long a text to write down, which `repeat` may ask for: memory is the caller's own."""
    return "repeat" in text.lower()


class Written(TableExports):
    """An answer that has this table."""

    groups, columns = ("k", "d", "t"), ("n", "x")
    receipt: Mapping[str, Any] = {}

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def to_pyarrow(self) -> pa.Table:
        return self._table


class Ends(CalculatedInterval):
    """The ends of a calculation with columns that are known as they are."""

    def __init__(self, op: Any) -> None:
        object.__setattr__(self, "op", op)

    def at(self, _confidence: float) -> Any:
        known = {name: hostile(40)[name].cast(pa.float64(), safe=False).to_numpy() for name in ("n", "x")}
        with np.errstate(all="ignore"):
            return interval_propagation._ends(self.op, {name: Estimate(own, own, own) for name, own in known.items()})


def test_ends_of_what_doubles_do_not_hold() -> None:
    """Whole numbers that they have none of, and digits that none of them has."""
    asked = (
        people().agg(n=_.count()).mutate(a=_.n - (2**62 + 1), b=_.n * 10**16, c=_.n.round(-400), d=(_.n / 3).round(400))
    )
    [row] = asked.release(epsilon=9).to_pyarrow().to_pylist()
    assert [name for name in "abcd" if not row[f"{name}_low"] <= float(row[name]) <= row[f"{name}_high"]] == []


def write_in_all_forms(answer: Any) -> None:
    """Everything that an answer is written as, over HTTP, to a client of PostgreSQL, and in Python."""
    for _media, write in WRITERS.values():
        assert write(answer)
    assert answer.to_csv()
    table = answer.to_pyarrow()
    assert len(table.to_pylist()) == table.num_rows
    result = result_of(table)
    for code in (0, 1):
        rows = [*encoded(result.columns or (), result.rows, [code] * table.num_columns)]
        assert len(rows) == table.num_rows


@pytest.mark.long
@settings(max_examples=200)
@given(st.data())
def test_no_value_makes_a_step_fail(data: st.DataObject) -> None:
    table = ibis.table(SIZES, name="answer")
    value = data.draw(expressions(table))
    verb = data.draw(st.sampled_from(["mutate", "having", "order_by"]))
    start = Processing.of(SIZES, ("k", "d", "t"), ("n", "x"))
    ask = {"mutate": lambda v: start.mutated({"v": v}), "having": lambda v: start.filtered((v,))}
    bind = {table.op(): start.shape.op()}
    try:
        processing = ask.get(verb, lambda v: start.ordered((v,), desc=True))(value.op().replace(bind).to_expr())
        rehearse(processing)
    except InvalidQuery:
        return  # refused before anything is paid for
    if unfit(str(value)):
        return
    found = _run(_connection(), hostile(40), processing.steps[-1])
    assert found.num_rows <= 40
    assert verb == "having" or found.num_rows == 40
    for name, op in processing.steps[-1].carried.items():
        ends = ends_at(Ends(op), found[name], np.arange(40), 0.95)
        assert [end.shape for end in ends] == [(40,), (40,)]
    write_in_all_forms(Written(found))


def test_roots_and_logarithms_of_what_has_none_are_missing() -> None:
    """DuckDB's own answer is NaN, its largest number: `.clip(0, 2)` made 2 of the root of a noisy -1."""
    answer = people().agg(n=_.count()).release(epsilon=9)
    negative = {"root": (-_.n).sqrt(), "log": (-_.n).ln(), "none": _.n / (_.n - _.n), "angle": (_.n + 2).acos()}
    powers = {"half": (-_.n) ** 0.5, "by a column": (-_.n) ** (_.n / 3.5), "twice": ((-_.n) ** 0.5) ** 2}
    chosen = {"clipped": (-_.n).sqrt().clip(0, 2), "least": ibis.least((-_.n).ln(), 3.5)}
    chosen |= {"a power": ((-_.n) ** 0.5).clip(0, 2), "of a window": ibis.least(((-_.n) ** 0.5).sum(), 1.5)}
    found = answer.mutate(**negative, **powers, **chosen).to_pyarrow()
    assert [found[name].null_count for name in (*negative, *powers, *chosen)] == [1] * 10 + [0]
    assert found["of a window"].to_pylist() == [1.5]  # LEAST leaves out what is missing
    assert not len(answer.having((-_.n).sqrt() > 1)) + len(answer.having((-_.n) ** 0.5 > 1))
    whole = answer.mutate(a=(-_.n) ** 2, b=(-_.n) ** 3.0, c=(_.n * _.n) ** 0.5).to_pyarrow().to_pylist()[0]
    assert [whole[name] for name in "abc"] == pytest.approx([whole["n"] ** 2, -(whole["n"] ** 3), whole["n"]])


def test_what_stands_for_missing_rows_may_be_of_another_type() -> None:
    start = Processing.of(SIZES, ("k", "d", "t"), ("n", "x"))
    lags = {"a": _.n.lag(2, default=_.x), "b": _.n.lag(2, default=1e300), "c": _.t.lag(2, default=10**18)}
    found = _run(_connection(), hostile(10), start.mutated(lags).steps[-1])
    assert [found[name].to_pylist()[:2] for name in "abc"] == [[None, None]] * 3


def test_what_cannot_be_calculated_is_missing() -> None:
    table = people()
    answer = table.group_by("plan").agg(n=_.count(), m=_.age.mean()).release(epsilon=5)
    found = answer.mutate(a=(_.m * 1e300).floor(), b=_.plan.cast("int64"), c=_.n // 0, d=_.plan.cast("int64").sum())
    assert [found.to_pyarrow()[name].null_count for name in "abcd"] == [3] * 4
    assert len(answer.having(_.plan.cast("int64") > 0)) == 0
    assert answer.order_by(_.plan.cast("int64"))["n"].tolist() == answer["n"].tolist()
    assert "a" in str(found)
    assert "<table" in found._repr_html_()


TRUTH: dict[str, tuple[int, Callable[..., Any], Callable[..., Any]]] = {
    "not": (1, operator.inv, lambda a: None if a is None else not a),
    "is null": (1, lambda a: a.isnull(), lambda a: a is None),
    "is not null": (1, lambda a: a.notnull(), lambda a: a is not None),
    "and": (2, operator.and_, lambda *v: False if False in v else None if None in v else True),
    "or": (2, operator.or_, lambda *v: True if True in v else None if None in v else False),
    "same": (2, lambda a, b: a.identical_to(b), lambda a, b: a is b),
    "equal": (2, operator.eq, lambda a, b: None if None in (a, b) else a == b),
    "less": (2, operator.lt, lambda a, b: None if None in (a, b) else a < b),
    "in": (2, lambda a, b: a.isin([b, True]), lambda a, b: None if a is None else a or (None if b is None else a == b)),
    "between": (2, lambda a, b: a.between(b, upper=True), lambda a, b: None if None in (a, b) else b <= a),
}
"""Operations of truth values: how many they take, in Ibis, and what they are."""


def test_conditions_in_each_other_are_what_they_say() -> None:
    """Each operation in each place of each other one, on every row of truth values and NULL: Ibis leaves out
    parentheses, so that `(~a).isnull()` became `NOT (a IS NULL)`.
    """
    rows = [dict(zip("abc", row, strict=True)) for row in itertools.product((True, False, None), repeat=3)]
    start = Processing.of(dict.fromkeys("abc", "boolean"), ("a", "b", "c"), ())
    made, wanted = {}, {}
    for outer, inner, place in itertools.product(TRUTH, TRUTH, (0, 1)):
        (count, *outside), (held, *inside) = TRUTH[outer], TRUTH[inner]

        if place < count:
            name = f"{inner} in place {place} of {outer}"
            [made[name], *wanted[name]] = (
                by(*(own(*(row[column] for column in "ab"[:held])) if i == place else row["c"] for i in range(count)))
                for by, own, those in zip(outside, inside, ([_], rows), strict=True)
                for row in those
            )
    table = pa.Table.from_pylist(rows).append_column(CELL, pa.array(range(27), pa.int64()))
    found = _run(_connection(), table, start.mutated(made).steps[-1])
    assert {name: found[name].to_pylist() for name in made} == wanted


REFUSED: dict[str, Callable[[Any], Any]] = {
    "another each time": lambda t: ibis.random() + t.n,
    "a name each time": lambda t: ibis.uuid().cast("string") + t.plan,
    "no parts": lambda t: ibis.ntile(0).over(order_by=t.n),
    "text without end": lambda t: t.plan.lpad(10**8, "x"),
    "a length that is noisy": lambda t: t.plan.rpad(t.n, "x"),
    "a text many times": lambda t: t.plan.repeat(10**9),
    "so many times that are noisy": lambda t: t.plan.repeat(t.n),
    "many times of many times": lambda t: t.plan.repeat(1000).repeat(1000),
    "replaced by more and more": lambda t: t.plan.replace("e", "e" * 100).replace("e", "e" * 100).length(),
    "replaced by a column": lambda t: t.plan.re_replace("e", t.plan).re_replace("e", t.plan) == "x",
    "all joined again": lambda t: sum([t.plan.lpad(1000, "x")] * 9, t.plan.lpad(1000, "x")),
    "rows before that are after": lambda t: t.n.sum().over(ibis.rows_window(preceding=-1, following=3, order_by=t.n)),
    "values behind that are before": lambda t: t.n.sum().over(
        ibis.range_window(preceding=5, following=-2, order_by=t.n)
    ),
    "as many rows as are counted": lambda t: t.n.sum().over(ibis.rows_window(preceding=t.n, following=0, order_by=t.n)),
    "spans of no time": lambda t: t.plan.cast("timestamp").bucket(ibis.interval(hours=0)),
    "no such rank": lambda t: (t.n - t.n.mean()).rank(),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_engine_refuses_costs_nothing(name: str) -> None:
    table = people()
    with pytest.raises(InvalidQuery):
        table.group_by("plan").agg(n=_.count()).mutate(v=REFUSED[name]).release(epsilon=1)
    assert table.budget.spent.epsilon == 0


def test_texts_grow_no_further_than_they_may() -> None:
    """In SQL as well, and over several steps: one statement of a few lines took all memory."""
    table, twice = people(), "REPLACE(" * 2 + "plan" + f", 'e', '{'e' * 100}')" * 2
    for text in (f"HAVING LENGTH({twice}) > 3", f"ORDER BY LENGTH({twice})"):
        with pytest.raises(InvalidQuery, match="times as long"):
            dp.sql(f"SELECT plan, COUNT(*) AS n FROM people GROUP BY plan {text}", people=table)  # noqa: S608 (ours)
    longer = table.group_by("plan").agg(n=_.count()).mutate(v=_.plan.repeat(1000))
    steps: list[Callable[[Any], object]] = [longer.having, longer.order_by, lambda how: longer.mutate(w=how)]
    for asked in steps:
        with pytest.raises(InvalidQuery, match="times as long"):
            asked(_.v.repeat(3).length() > 3)
    kept = longer.having(_.v.isin(["x" * 5000])).mutate(w=_.plan.replace("e", "ee") + " " + _.plan.lpad(1000, "x"))
    assert len(kept.release(epsilon=1)) == 0


def test_in_sql_too() -> None:
    table = people()
    text = "SELECT plan, FLOOR(AVG(age) * 1e300) AS a, COUNT(*) // 0 AS b FROM people GROUP BY plan"
    found = dp.sql(text, people=table).release(epsilon=1).to_pyarrow()
    assert found["a"].null_count == found["b"].null_count == 3


def test_spans_of_time_are_refused_as_columns() -> None:
    rows = pa.table({"person": [1, 2], "first": [0, 1], "last": [5, 7]})
    rows = rows.cast(pa.schema({"person": pa.int64(), "first": pa.timestamp("s"), "last": pa.timestamp("s")}))
    bounds = {"first": ("1970-01-01", "1971-01-01"), "last": ("1970-01-01", "1971-01-01")}
    table = dp.protect(rows, unit="person", max_rows=1, bounds=bounds, budget=dp.Budget(epsilon=9), name="visits")
    asked = table.agg(first=_.first.median(), last=_.last.median())
    with pytest.raises(InvalidQuery, match="a value that files and frames hold, got span='a span of time'"):
        asked.mutate(span=_.last - _.first)
    found = asked.mutate(seconds=_.last.epoch_seconds() - _.first.epoch_seconds()).order_by(_.last - _.first)
    assert len(found.release(epsilon=1)["seconds"]) == 1


FAR: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "later than all years": (lambda t: t.day + ibis.interval(years=9000), LAST),
    "before all years": (lambda t: t.day - ibis.interval(days=4 * 10**6), FIRST),
    "by a number": (lambda t: t.day + (t.n * 0 + 4 * 10**6).as_interval("D"), LAST),
    "a timestamp": (lambda t: t.day.cast("timestamp") + ibis.interval(years=9000), LAST_MOMENT),
    "of seconds": (lambda t: (t.day.cast("timestamp") + ibis.interval(years=9000)).cast("timestamp(0)"), LAST_SECOND),
    "in a zone": (lambda t: (t.day + ibis.interval(years=-10_000)).cast("timestamp('UTC')"), FIRST_MOMENT),
    "in a window": (lambda t: (t.day + ibis.interval(years=9000)).max().over(order_by=t.n), LAST),
    "in a choice": (lambda t: ibis.ifelse(t.n < 10**9, t.day + ibis.interval(years=9000), t.day), LAST),
    "infinity": (lambda t: ibis.ifelse(t.n.notnull(), "infinity", "").cast("date"), LAST),
    "without an end": (lambda t: t.day + ibis.interval(years=10**7), None),
}


def test_moments_after_the_noise_are_of_the_years_1_to_9999() -> None:
    """What leaves them is their first or last day or microsecond, or missing, where the engine has none of it."""
    table = dated()
    counts = table.group_by("day").agg(n=_.count())
    asked = counts.mutate(**{f"v{i}": step for i, (step, _moment) in enumerate(FAR.values())})
    announced = [one["type"] for one in answer_columns(asked)]
    part = counts.mutate(late=FAR["later than all years"][0], early=FAR["before all years"][0])
    again = dp.question(json.loads(json.dumps(part.document())), {"days": table})
    answer = asked.release(epsilon=1)
    write_in_all_forms(answer)
    write_in_all_forms(again.release(epsilon=1))
    found = answer.to_pyarrow()
    for i, (name, (_step, expected)) in enumerate(FAR.items()):
        assert set(found[f"v{i}"].to_pylist()) == {expected}, name
    assert [ibis.dtype(kind) for kind in found.schema.types] == [ibis.dtype(kind) for kind in announced]


def test_moments_in_sql_too() -> None:
    text = "SELECT day, MAX(day + INTERVAL 9000 YEAR) OVER () AS late, COUNT(*) AS n FROM days GROUP BY day"
    answer = dp.sql(text, days=dated()).release(epsilon=1)
    write_in_all_forms(answer)
    assert {*answer.to_pyarrow()["late"].to_pylist()} == {LAST_MOMENT}


UNHELD: dict[str, Callable[[Any], Any]] = {
    "parts of a text": lambda t: t.day.cast("string").split("-"),
    "a time of day": lambda t: t.day.cast("timestamp").time(),
    "bytes": lambda t: t.day.cast("string").cast("binary"),
    "a list": lambda t: ibis.array([t.n]),
    "a list of all": lambda t: t.n.collect(),
    "a struct": lambda t: ibis.struct({"n": t.n}),
    "a map": lambda t: ibis.map(["n"], ibis.array([t.n])),
    "JSON": lambda t: t.day.cast("string").cast("json"),
}


@pytest.mark.parametrize("name", UNHELD)
def test_columns_that_a_format_has_no_form_for_are_refused(name: str) -> None:
    table = dated()
    asked = table.group_by("day").agg(n=_.count())
    with pytest.raises(InvalidQuery, match="a value that files and frames hold, got v="):
        asked.mutate(v=UNHELD[name])
    assert table.budget.spent.epsilon == 0
    with pytest.raises(InvalidQuery, match="a value that files and frames hold, got v="):
        asked.release(epsilon=1).mutate(v=UNHELD[name])
