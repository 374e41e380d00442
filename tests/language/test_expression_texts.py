"""Expressions are shown as they are written, in one line, however they are nested."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import ibis
import ibis.expr.operations as ops
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ibis import _

from discreet.errors import shown
from discreet.language.allow_list import RULES
from discreet.language.expression_texts import LONGEST, expression_text
from discreet.planning.aggregates import WRITTEN, Intercept, Slope
from discreet.query.expression_documents import AFTER_OPERATIONS
from discreet.query.unit_features import MAKERS

T = ibis.table(
    {
        "age": "int64",
        "plan": "string",
        "x": "float64",
        "b": "boolean",
        "day": "date",
        "at": "timestamp",
        "of it": "int64",
    },
    name="people",
)
NAMES: dict[str, Any] = {**{name: T[name] for name in T.columns}, "count": T.count, "_": T, "ibis": ibis}


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]  # Ibis has no types here
def soundex(text: str) -> str:  # type: ignore[empty-body]  # an engine would have it
    """A function of the caller's."""


def read(text: str) -> ibis.Value:
    """What Python makes of a text, where the columns are names."""
    return eval(text, {}, NAMES)  # noqa: S307 - written by these tests


AS_IT_IS = (
    "age > 50",
    "x.round()", "x.round(2)", "x.clip(0, 5)", "x.clip(upper=5)", "x.log(2)", "-x", "-(-x)", "(-x) ** 2", "-x ** 2",
    "age - (age - 1)", "age - 1 - age", "2 ** age", "age ** x ** 2", "x / 12 - (age + 1) * 2", "age * (age // 10 % 3)",
    "age // 10", "age.cast('float64')", "age.cast('float64') >= 1.5", "plan.try_cast('timestamp')", "age - -1",
    "~(age == 3) | plan.isnull()", "(age > 1) & (age < 9) & plan.notnull()", "(b & (age > 3)) | ~b", "b & (b | b)",
    "b ^ b ^ (b & b)", "(age > 3) == b", "(age > 3).isnull()", "(~b).isnull()", "(-age).abs()", "(age + 1).sqrt()",
    "age.between(18, 65)", "plan.isin(['a', 'b'])", "plan != \"it's\"", "plan.identical_to('a')", "plan + '!' + plan",
    "plan.concat('a', plan)", "'a' + plan", "plan.upper() == 'A'", "plan.like('a%')",
    "plan.split(',')[1]", "plan[0:2]", "plan[1:]", "plan.split(',')", "plan.find('a', 2)", "plan.lpad(5, '0')",
    "plan.rpad(5, '.')", "plan.re_search('a.b')",
    "x.fill_null(0)", "ibis.coalesce(x, age, 0)", "age.nullif(0)", "ibis.greatest(age, 18)", "ibis.least(age, 1, 2)",
    "ibis.ifelse(b, 1, 0)", "ibis.cases((age < 18, 'child'), (b, 'known'), else_='adult')", "ibis.cases((b, 1))",
    "plan.cases(('free', 0), ('25%', 25), else_=100)", "(age + 1).cases((2, 'b'))", "ibis.literal(50).sqrt() > x",
    "age > ibis.date('2020-01-31').year()", "day >= ibis.date('2020-01-31')", "day.day_of_week.index()",
    "at < ibis.timestamp('2020-01-31 12:30:00')", "day + ibis.interval(days=30)", "at - ibis.interval(hours=1)",
    "day.delta(at.date(), unit='day')", "day.truncate('M')", "day - day", "at.epoch_seconds()",
    "age.bucket([0, 18, 65])", "age.bucket([0, 18], closed='right', include_over=True)",
    "age.bucket([0], include_under=True, include_over=True)",
    "count()", "count(where=age > 3)", "(age > 3).mean()", "x.sum(where=age > 3)", "x.var()", "x.std(how='pop')",
    "x.cov(age, how='pop')", "x.corr(age)", "x.quantile([0.25, 0.5])", "x.median()", "plan.nunique()", "b.any()",
    "_['of it'] + 1 > age", "ibis.literal(1) + 2", "ibis.null()", "x.isnan()", "x.atan2(age)",
    "x.sum().over(group_by=[plan])", "(-0.0) ** age",
    "ibis.row_number().over(order_by=[x.desc(), age])", "x.lag(2)", "ibis.ntile(4)", "b & True",
)  # fmt: skip


@pytest.mark.parametrize("text", AS_IT_IS)
def test_expressions_are_shown_as_they_are_written(text: str) -> None:
    assert expression_text(read(text).op()) == text


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (T["of it"], "of it"),
        (T.age > ibis.literal(50).cast("int64"), "age > 50"),
        (T.plan.left(2), "plan.substr(0, 2)"),
        (ibis.coalesce(T.x, 0.5), "x.fill_null(0.5)"),
        (T.age.isin(range(10)), "age.isin([0, 1, 2, 3, 4, 5, 6, 7, ...])"),
        (T.x.name("other"), "x"),
        (soundex(T.plan), "soundex(plan)"),
        (T.age.isin(T.filter(T.age > 3).age), "in_subquery(a table, age)"),
        (ibis.memtable(pa.table({"age": [7391846]})).age.max().as_scalar(), "scalar_subquery(a table)"),
    ],
)
def test_what_python_says_otherwise_has_a_text(expression: ibis.Value, text: str) -> None:
    assert expression_text(expression.op()) == text


def test_no_operation_is_shown_under_the_name_of_a_class() -> None:
    """Of the language, of aggregates, features and calculations with an answer: each is read back from its text."""
    shown = {type(op) for text in AS_IT_IS for op in read(text).op().find(ops.Node)}
    known = {*RULES, ops.StringSplit, *WRITTEN, *MAKERS, *AFTER_OPERATIONS.values()} - {Slope, Intercept}
    for operation in sorted(known - shown, key=lambda one: one.__name__):
        op = made(operation)
        text = expression_text(op)
        assert read(text).op() == op, text


CONSTANTS = (ibis.literal(0), ibis.interval(days=2))


def made(operation: type[ops.Node]) -> ops.Node:
    """An operation of columns, by the kinds that its arguments may have."""
    columns = (T.x, T.plan, T.b, T.day, T.at, T.age, ibis.literal("a"), ibis.literal(2))
    number = sum(name not in ("where", "how", "escape", "include_null", "order_by") for name in operation.__argnames__)
    for first in columns:
        for others in columns:
            for more in (
                (others.op(),) * (number - 1),
                ("D",)[: number - 1],
                *((one.op(),) * (number - 1) for one in CONSTANTS),
            ):
                try:
                    return operation(first.op(), *more) if number else operation()
                except Exception:  # noqa: BLE001, S112 - Ibis has many classes for arguments of another kind
                    continue
    raise AssertionError(operation)


LEAVES = {
    "number": ("age", "x", "0", "2.5", "-3"),
    "truth": ("b", "plan.isnull()", "True"),
    "text": ("plan", "'a'", '"it\'s"'),
}
GROWN = {
    "number": (
        *("{number} + {number}", "{number} - {number}", "{number} * {number}", "{number} / {number}", "-{number}"),
        *(
            "{number} // {number}",
            "{number} % {number}",
            "{number} ** {number}",
            "{number}.abs()",
            "{number}.clip(1, 9)",
        ),
        *("{number}.fill_null({number})", "ibis.ifelse({truth}, {number}, {number})", "{text}.length()"),
    ),
    "truth": (
        *("{truth} & {truth}", "{truth} | {truth}", "{truth} ^ {truth}", "~{truth}", "{truth} == {truth}"),
        *("{number} < {number}", "{number} >= {number}", "{text} != {text}", "{text}.like('a%')", "{number}.isnull()"),
        "{number}.between({number}, {number})",
    ),
    "text": ("{text} + {text}", "{text}.upper()", "{text}.substr(0, 2)", "ibis.cases(({truth}, {text}), else_={text})"),
}


@st.composite
def sources(draw: st.DrawFn, kind: str = "", deep: int = 4) -> str:
    """Python of an expression, with all the parentheses that it may need."""
    kind = kind or draw(st.sampled_from(("number", "truth", "text")))
    if not deep or draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from(LEAVES[kind]))
    template = draw(st.sampled_from(GROWN[kind]))
    return re.sub(r"\{(\w+)\}", lambda found: f"({draw(sources(found[1], deep - 1))})", template)


@given(sources())
def test_what_is_read_from_a_text_is_the_expression(source: str) -> None:
    try:
        written = read(source)
    except Exception:  # noqa: BLE001 - constants alone, of which Python says something else, or refuses it
        return
    if not isinstance(written, ibis.Value) or isinstance(written.op(), ops.Field | ops.Literal):
        return
    text = expression_text(written.op())
    if not text.endswith("..."):
        again = read(text)
        assert again.equals(written), (source, text)
        assert expression_text(again.op()) == text


@pytest.mark.parametrize(
    ("right", "wrong"), [("(age + 1) * 2", "age + 1 * 2"), ("~(b & b)", "~b & b"), ("(age > 3) == b", "age > 3 == b")]
)
def test_a_text_without_its_parentheses_is_another_expression(right: str, wrong: str) -> None:
    """The test above would find it."""
    try:
        again = read(wrong)
    except Exception:  # noqa: BLE001 - a chain of comparisons has no truth value
        return
    assert not again.equals(read(right))


def test_a_doubled_expression_has_a_short_text() -> None:
    doubled: Any = T.x
    for _time in range(60):
        doubled = doubled + doubled
    assert "..." in expression_text(doubled.op())
    assert len(expression_text(doubled.op())) <= LONGEST
    assert len(expression_text(T.plan.isin([str(i) for i in range(1000)]).op())) <= LONGEST


@pytest.mark.parametrize("held", ["partial", "method", "object", "frame"])
def test_what_was_written_with_a_frame_shows_none_of_its_rows(held: str) -> None:
    frame = pa.table({"disease": ["hepatitis"]}).to_pandas()

    class Holds:
        def __call__(self) -> None: ...

        def __repr__(self) -> str:
            return repr(frame)

    wrong = {"partial": partial(len, frame), "method": frame.head, "object": Holds(), "frame": frame}[held]
    assert "hepatitis" in repr(_[wrong])
    assert shown(_[wrong]) == shown(_.age.fill_null(wrong)) == "an expression"
    assert shown(_.age.fill_null(7) > 18) == "(_.age.fill_null(7) > 18)"
