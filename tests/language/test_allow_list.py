"""The closed language as a whole: ways in, ways around it, and that what it lets in keeps its claims."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import ibis
import ibis.expr.operations as ops
import numpy as np
import pyarrow as pa
import pytest
from ibis import _

from discreet.errors import InvalidQuery
from discreet.language.allow_list import DEEPEST, LARGEST_EXPRESSION, RULES, bind, checked, measured, operation_refusal
from discreet.language.checked_expressions import Kind, Measure
from discreet.language.column_names import check_name
from discreet.language.input_barrier import barrier

Refused = Callable[..., str]


# -- what is refused --


@ibis.udf.scalar.python  # type: ignore[untyped-decorator]  # Ibis has no types
def shout(name: str) -> str:
    return f"{name}!"


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]  # as above
def pg_sleep(seconds: float) -> float: ...  # type: ignore[empty-body]  # Ibis takes the signature alone


other = ibis.table({"small": "int64", "flag": "boolean"}, name="other")

OUTSIDE: dict[str, Any] = {
    "a window": _.small.sum().over(),
    "a lag": _.small.lag(),
    "a running sum": _.small.cumsum(),
    "a row number": lambda _t: ibis.row_number(),
    "a rank": _.small.rank(),
    "an aggregate": _.small.sum(),
    "an aggregate inside": _.small - _.small.mean(),
    "a maximum inside": _.small / (_.small.max() + 100),
    "a count inside": lambda t: t.small + t.count(),
    "any": _.flag & _.flag.any(),
    "a sub-query": lambda t: t.small + t.small.sum().as_scalar(),
    "a sub-query of a filter": lambda t: t.small + t.filter(t.flag).small.max().as_scalar(),
    "membership in a query": lambda t: t.small.isin(t.filter(t.flag).small),
    "random": _.small + ibis.random(),
    "now": lambda t: ibis.now() > t.at,
    "a random id": lambda t: ibis.uuid().cast("string") == t.name,
    "a function of one's own": lambda t: shout(t.name),
    "a function of the engine's": lambda t: pg_sleep(t.share),
    "a parameter": _.small + ibis.param("int64"),
    "isnan": _.share.isnan(),
    "isinf": _.share.isinf(),
    "a hash": _.small.hash(),
    "the type": _.small.typeof(),
    "pi": _.share * ibis.pi,
    "a sine": _.share.sin(),
    "an array": lambda t: ibis.array([t.small, 1]).length(),
    "a struct": lambda t: ibis.struct({"a": t.small}) == ibis.struct({"a": 1}),
    "bits": _.small & 3,
}


@pytest.mark.parametrize("what", OUTSIDE)
def test_what_is_outside_is_refused(hostile: Any, refused: Refused, what: str) -> None:
    assert "Expected operations on one row at a time" in refused(InvalidQuery, hostile.check, OUTSIDE[what])


CURES = {
    "a window": "Aggregate with .group_by(...)",
    "an aggregate inside": "belongs in .agg(...)",
    "a sub-query": "a sub-query looks at other rows",
    "random": "the noise is added by the release",
    "isnan": "NaN is read as NULL: use .isnull()",
    "isinf": "infinities are read as the nearest bound",
    "a function of one's own": "cannot be checked",
    "a sine": "discreet docs language",
}


@pytest.mark.parametrize("what", CURES)
def test_refusals_name_the_cure(hostile: Any, refused: Refused, what: str) -> None:
    assert CURES[what] in refused(InvalidQuery, hostile.check, OUTSIDE[what])


def test_every_operation_without_a_rule_is_refused() -> None:
    """The list is closed: whatever class Ibis has or gains is outside unless it has a rule."""
    classes = [getattr(ops, name) for name in dir(ops)]
    values = {c for c in classes if isinstance(c, type) and issubclass(c, ops.Value)}
    assert len(values - set(RULES)) > 200
    assert set(RULES) < values
    impure = {ops.RandomScalar, ops.RandomUUID, ops.TimestampNow, ops.DateNow, ops.ScalarUDF, ops.WindowFunction}
    assert not impure & set(RULES)
    assert not [c for c in RULES if issubclass(c, ops.Reduction | ops.Analytic | ops.Subquery | ops.ScalarUDF)]


FOREIGN: dict[str, Any] = {
    "a column": other.small > 1,
    "a column beside ours": lambda t: t.small + other.small,
    "a column of a query over ours": lambda t: t.filter(t.flag).small > 1,
    "a column of a join": lambda t: t.join(other, "small").small > 1,
    "a column of a view of ours": lambda t: t.view().small > 1,
    "a column under our name": ibis.table({"small": "int64"}, name="visible").small > 1,
}


@pytest.mark.parametrize("what", FOREIGN)
def test_fields_of_other_tables_are_refused(hostile: Any, refused: Refused, what: str) -> None:
    assert "Expected columns of this table" in refused(InvalidQuery, hostile.check, FOREIGN[what])


WRONG: dict[str, tuple[Any, str]] = {
    "and": (lambda t: (t.small > 1) and t.flag, "Expected & and |"),
    "or": (lambda t: t.flag or t.other, "Expected & and |"),
    "not": (lambda t: not t.flag, "Expected & and |"),
    "a chained comparison": (lambda t: 1 < t.small < 3, "Expected & and |"),
    "if": (lambda t: 1 if t.flag else 2, "Expected & and |"),
    "an unknown column": (_.smal > 1, "did you mean 'small'?"),
    "an unknown column of a lambda": (lambda t: t.smal > 1, "did you mean 'small'?"),
    "an unknown name": ("smal", "did you mean 'small'?"),
    "an unknown method": (_.small.flor(), "got .flor"),
    "several": (["small", "flag"], "Expected an Ibis expression, got ['small', 'flag']"),
    "a table": (lambda t: t, "Expected an Ibis expression, got a Table"),
    "all of it": (_, "Expected an Ibis expression, got a Table"),
    "a method": (_.count, "_['count']"),
    "a method of a lambda": (lambda t: t.count, "Expected an expression that Ibis accepts"),
    "an object": (object(), "Expected an Ibis expression"),
    "kinds that do not mix": (_.small + _.name, "Expected an expression that Ibis accepts"),
    "a lambda that fails": (lambda t: t.small + int("x"), "Expected an expression that Ibis accepts"),
    "a span of time for a number": (_.small == timedelta(days=1), "Hint: add it to a date"),
    "spans of time among numbers": (_.small.isin([timedelta(days=1)]), "Hint: add it to a date"),
    "a span of time for a missing number": (_.small.fill_null(timedelta(days=1)), "Hint: add it to a date"),
    "a lambda without a table": (lambda: 1, "Expected an expression that Ibis accepts"),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_expressions_are_refused(hostile: Any, refused: Refused, what: str) -> None:
    written, said = WRONG[what]
    assert said in refused(InvalidQuery, hostile.check, written)


FRAMES: dict[str, Any] = {
    "arrow": pa.table({"disease": ["hepatitis"]}),
    "pandas": pa.table({"disease": ["hepatitis"]}).to_pandas(),
    "numpy": np.array([["hepatitis"]]),
    "ibis": ibis.memtable(pa.table({"disease": ["hepatitis"]})),
}
ARGUMENTS: dict[str, Callable[[Any], Any]] = {
    "an option": lambda frame: _.name.isin([frame]),
    "a replacement": _.small.fill_null,
    "a type": _.small.cast,
    "an end": lambda frame: _.small.clip(frame, 3),
    "a condition": lambda frame: lambda t: t.small.sum(where=frame),
    "in a lambda": lambda frame: lambda t: t.name.isin([frame]),
}


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("argument", ARGUMENTS)
def test_what_ibis_says_of_a_frame_shows_none_of_its_rows(
    hostile: Any, refused: Refused, argument: str, frame: str
) -> None:
    """Ibis quotes the arguments that it refuses."""
    said = refused(InvalidQuery, hostile.check, ARGUMENTS[argument](FRAMES[frame]))
    assert "hepatitis" not in said


@pytest.mark.parametrize("frame", ["pandas", "numpy", "dict"])
def test_what_ibis_says_of_an_array_shows_none_of_its_values(hostile: Any, refused: Refused, frame: str) -> None:
    """A column is compared with all values of another one."""
    rows: Any = {"disease": {"x": "hepatitis"}} if frame == "dict" else FRAMES[frame]
    held = rows[0] if frame == "numpy" else rows["disease"]
    for written in (_.name == held, _.small < held, lambda t: t.name == ibis.literal(list(held))):
        said = refused(InvalidQuery, hostile.check, written)
        assert "are not comparable" in said
        assert "hepatitis" not in said
    assert "Literal(18):string are not comparable" in refused(InvalidQuery, hostile.check, _.small == "18")


@pytest.mark.parametrize("kind", ["series", "array", "arrow", "list"])
def test_an_array_is_no_expression_and_shows_none_of_its_values(hostile: Any, refused: Refused, kind: str) -> None:
    rows = pa.table({"disease": ["hepatitis"]})
    held = {"series": rows.to_pandas()["disease"], "array": np.array(["hepatitis"]), "arrow": rows["disease"]}
    said = refused(InvalidQuery, hostile.check, held.get(kind, [rows["disease"]]))
    assert "Expected an Ibis expression" in said
    assert "hepatitis" not in said


def test_an_argument_that_ibis_refuses_is_named(hostile: Any, refused: Refused) -> None:
    assert "lower='a' is not" in refused(InvalidQuery, hostile.check, _.small.clip("a", 3))
    assert "arg=small of type int64, name of type string is not" in refused(
        InvalidQuery, hostile.check, lambda t: ops.StringConcat((t.small, t.name)).to_expr()
    )


def test_an_error_of_ours_inside_a_lambda_stays_what_it_is(hostile: Any, refused: Refused) -> None:
    def written(t: Any) -> Any:
        raise InvalidQuery("Expected this, got that.\nHint: say it.")

    assert refused(InvalidQuery, hostile.check, written) == "Expected this, got that.\nHint: say it."


def test_a_column_may_be_named_by_a_string(hostile: Any) -> None:
    assert hostile.check("small").expr.op() == hostile.check(_.small).expr.op()
    assert hostile.check(lambda t: t["small"]).text == "small"
    assert hostile.check(_.small.name("other name")).kind is Kind.INTEGER


# -- size --


def chain(step: Callable[[Any, int], Any], length: int) -> Callable[[Any], Any]:
    def written(t: Any) -> Any:
        expression = t.share
        for i in range(length):
            expression = step(expression, i)
        return expression

    return written


@pytest.mark.parametrize("length", [DEEPEST + 1, 1_500])
def test_deep_expressions_are_refused(hostile: Any, refused: Refused, length: int) -> None:
    for step in (lambda e, _i: e + 1.0, lambda e, _i: -e, lambda e, _i: e * 0.5):
        assert f"at most {DEEPEST} nested operations" in refused(InvalidQuery, hostile.check, chain(step, length))


def test_deferred_expressions_too_deep_for_ibis_are_refused(hostile: Any, refused: Refused) -> None:
    deep = _.share
    for _step in range(2_000):
        deep = deep + 1.0
    assert f"at most {DEEPEST} nested operations" in refused(InvalidQuery, hostile.check, deep)


def test_the_deepest_runs_even_far_down_the_stack(hostile: Any) -> None:
    def below(frames: int) -> None:
        if frames:
            below(frames - 1)
        else:
            hostile.assert_kept(chain(lambda e, _i: e + 1.0, DEEPEST - 1))
            hostile.assert_kept(chain(lambda e, i: ibis.ifelse(e > i, 0.5, 0.25), DEEPEST // 2 - 1))

    assert sys.getrecursionlimit() >= 1000
    below(300)


@pytest.mark.long
def test_large_expressions_are_refused_at_once(hostile: Any, refused: Refused) -> None:
    """Doubled thirty times, an expression is a billion operations long, and so would its name be."""
    large = f"at most {LARGEST_EXPRESSION:,} operations"
    assert large in refused(InvalidQuery, hostile.check, chain(lambda e, _i: e * e, 60))
    assert large in refused(InvalidQuery, hostile.check, chain(lambda e, i: e.clip(0, 1 + i), 12))
    assert large in refused(InvalidQuery, hostile.check, _.small.isin(list(range(LARGEST_EXPRESSION))))
    assert large in refused(InvalidQuery, hostile.check, lambda t: repeated(t.name.substr(0, 3), 16))
    hostile.assert_kept(_.small.isin(list(range(2_000))), chain(lambda e, _i: e * e, 6))


def repeated(text: Any, times: int) -> Any:
    for _step in range(times):
        text = text.substr(0, 3)
    return text


def test_measures() -> None:
    t = ibis.table({"x": "float64", "s": "string"}, name="t")
    assert measured(t.x.op(), {}) == Measure(0, 1)
    assert measured(t.x.op(), {t.x.op(): Measure(7, 9)}) == Measure(7, 9)
    assert measured((t.x + t.x * 2).op(), {t.x.op(): Measure(7, 9)}) == Measure(9, 21)
    assert measured(t.s.substr(0, 3).op(), {}).size == 1 + 2 * 3


def test_narrow_intervals_show_what_rests_on_a_type(hostile: Any) -> None:
    for written in (
        _.any,
        _.any / 12,
        _.real / 2,
        _.any.clip(lower=0),
        ibis.ifelse(_.flag, _.any, 0),
        _.real.abs(),
    ):
        assert hostile.check(written).unbounded, str(written)
    for written in (_.small, _.any.clip(0, 9), _.any % 10, (_.real > 1).cast("int64"), _.name.length(), _.day.year()):
        assert not hostile.check(written).unbounded, str(written)
    for written in (_.name, _.flag, _.day, ibis.ifelse(_.any > 0, 1, 0), ibis.least(ibis.greatest(_.real, 0.0), 1.0)):
        assert not hostile.check(written).unbounded, str(written)


def test_refusal_of_an_operation_without_a_name() -> None:
    assert "got count()." in operation_refusal(ibis.table({"x": "int64"}, name="t").count().op())


def test_checked_takes_the_tables_it_is_given(hostile: Any) -> None:
    older = ibis.table({"small": "int64"}, name="older")
    columns = {"small": hostile.scanned.columns["small"]}
    assert checked(bind(older, _.small + 1), {older.op(): columns}).kind is Kind.INTEGER
    seen = barrier(hostile.raw, (), {})
    assert set(seen.columns) == set(hostile.scanned.columns)


class Unescaped(str):
    """A text in which no writer of SQL doubles a quote: all that it calls for that gives the text as it is."""

    __slots__ = ()

    def replace(self, *_: Any) -> Any:
        return self

    def translate(self, *_: Any) -> Any:
        return self

    def __str__(self) -> str:
        return self


WRITTEN: dict[str, Callable[[Any, Any], Any]] = {
    "equal": lambda t, text: t.word == text,
    "a constant": lambda t, text: t.word == ibis.literal(text),
    "of a type": lambda t, text: t.word == ibis.literal(text, type="string"),
    "listed": lambda t, text: t.word.isin([text, "b"]),
    "like": lambda t, text: t.word.like(text),
    "replaced": lambda t, text: t.word.replace("a", text) == "b",
    "replaced by": lambda t, text: t.word.replace(text, "a") == "b",
    "chosen": lambda t, text: ibis.ifelse(t.word == "a", text, "b") == "b",
    "filled": lambda t, text: t.word.fill_null(text) == "b",
    "deferred": lambda _t, text: _.word == text,
}


@pytest.mark.parametrize("what", WRITTEN)
def test_a_text_that_writes_itself_is_what_it_holds(hostile: Any, what: str) -> None:
    text = Unescaped("x' OR 'a'='a")
    written = WRITTEN[what](hostile.visible, text)
    plain = WRITTEN[what](hostile.visible, str.__str__(text))
    bound = bind(hostile.visible, written)
    assert all(type(op.value) is str for op in bound.op().find(ops.Literal) if isinstance(op.value, str))
    found = hostile.check(written).expr
    assert found.equals(hostile.check(plain).expr)
    assert all(type(op.value) is str for op in found.op().find(ops.Literal) if isinstance(op.value, str))


def test_a_name_that_writes_itself_is_that_of_its_column(hostile: Any) -> None:
    assert bind(hostile.visible, hostile.visible[Unescaped("word")]).op().name.__class__ is str
    with pytest.raises(InvalidQuery, match="plain text as a name"):
        check_name(Unescaped('a" , (SELECT 1) AS "b'), ())
