"""The closed language as a whole: ways in, ways around it, and that what it lets in keeps its claims."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

import ibis
import ibis.expr.operations as ops
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ibis import _

from discreet.errors import InvalidQuery
from discreet.query.language.check import DEEPEST, LARGEST_EXPRESSION, RULES, bind, checked, measured, refusal
from discreet.query.language.values import Kind, Measure, Value
from discreet.query.scan import barrier

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
    "a sine": _.share.sin(),
    "pi": _.share * ibis.pi,
    "a sign": _.share.sign(),
    "an array": lambda t: ibis.array([t.small, 1]).length(),
    "a struct": lambda t: ibis.struct({"a": t.small}) == ibis.struct({"a": 1}),
    "bits": _.small & 3,
    "a try-cast": _.name.try_cast("int64"),
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
    "a sine": "docs/language.md",
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
    "an unknown method": (_.small.flor(), "got 'flor'"),
    "several": (["small", "flag"], "a constant of type tuple"),
    "a table": (lambda t: t, "Expected an Ibis expression, got a Table"),
    "all of it": (_, "Expected an Ibis expression, got a Table"),
    "a method": (_.count, "_['count']"),
    "a method of a lambda": (lambda t: t.count, "Expected an expression that Ibis accepts"),
    "an object": (object(), "Expected an Ibis expression"),
    "kinds that do not mix": (_.small + _.name, "Expected an expression that Ibis accepts"),
    "a lambda that fails": (lambda t: t.small + int("x"), "Expected an expression that Ibis accepts"),
    "a lambda without a table": (lambda: 1, "Expected an expression that Ibis accepts"),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_expressions_are_refused(hostile: Any, refused: Refused, what: str) -> None:
    written, said = WRONG[what]
    assert said in refused(InvalidQuery, hostile.check, written)


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
        assert f"at most {DEEPEST} operations inside" in refused(InvalidQuery, hostile.check, chain(step, length))


def test_deferred_expressions_too_deep_for_ibis_are_refused(hostile: Any, refused: Refused) -> None:
    deep = _.share
    for _step in range(2_000):
        deep = deep + 1.0
    assert f"at most {DEEPEST} operations inside" in refused(InvalidQuery, hostile.check, deep)


def test_the_deepest_runs_even_far_down_the_stack(hostile: Any) -> None:
    def below(frames: int) -> None:
        if frames:
            below(frames - 1)
        else:
            hostile.assert_kept(chain(lambda e, _i: e + 1.0, DEEPEST - 1))
            hostile.assert_kept(chain(lambda e, i: ibis.ifelse(e > i, 0.5, 0.25), DEEPEST // 2 - 1))

    assert sys.getrecursionlimit() >= 1000
    below(300)


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


def occurrences(statement: str) -> int:
    return len(re.findall(r'"t\d+"\."(small|share|name|flag|day)"', statement))


@pytest.mark.parametrize("operation", RULES, ids=lambda operation: operation.__name__)
def test_statements_repeat_no_more_than_is_measured(hostile: Any, operation: type[ops.Node]) -> None:
    """What an operation's SQL writes out more than once would double with every level of nesting."""
    written = EXAMPLES[operation.__name__]
    value = hostile.check(written)
    statement = str(ibis.to_sql(hostile.scanned.table.select(v=value.expr), dialect="duckdb"))
    leaves = {field: Measure(0, 1000) for field in value.expr.op().find(ops.Field, filter=ops.Value)}
    assert 1 <= occurrences(statement) <= measured(value.expr.op(), leaves).size // 1000


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


# -- what is let in --

EXAMPLES: dict[str, Any] = {
    "Add": _.small + _.share,
    "Subtract": _.small - _.share,
    "Multiply": _.small * _.share,
    "Divide": _.share / (_.small + 9),
    "FloorDivide": _.small // 3,
    "Modulus": _.small % 3,
    "Power": _.share**3,
    "Negate": -_.small,
    "Abs": _.small.abs(),
    "Floor": _.share.floor(),
    "Ceil": _.share.ceil(),
    "Round": _.share.round(),
    "Sqrt": _.share.sqrt(),
    "Log": (_.share + 1).log(2),
    "Ln": (_.share + 1).ln(),
    "Log2": (_.share + 1).log2(),
    "Log10": (_.share + 1).log10(),
    "Exp": _.share.exp(),
    "Clip": _.small.clip(0, 3),
    "Greatest": ibis.greatest(_.small, _.share),
    "Least": ibis.least(_.small, _.share),
    "Equals": _.small == 3,
    "NotEquals": _.small != 3,
    "Less": _.small < _.share,
    "LessEqual": _.small <= 3,
    "Greater": _.small > 3,
    "GreaterEqual": _.small >= 3,
    "And": (_.small > 0) & _.flag,
    "Or": (_.small > 0) | _.flag,
    "Xor": (_.small > 0) ^ _.flag,
    "IsNull": _.small.isnull(),
    "NotNull": _.small.notnull(),
    "IdenticalTo": _.small.identical_to(3),
    "Between": _.small.between(0, 3),
    "InValues": _.small.isin([1, 2]),
    "Not": ~_.flag,
    "Coalesce": _.small.fill_null(0),
    "NullIf": _.small.nullif(0),
    "IfElse": ibis.ifelse(_.flag, _.small, _.share),
    "SearchedCase": ibis.cases((_.flag, _.small), (_.small > 1, 7)),
    "SimpleCase": _.small.cases((1, 2), (2, 3), else_=4),
    "Cast": _.small.cast("float64"),
    "Lowercase": _.name.lower(),
    "Uppercase": _.name.upper(),
    "Strip": _.name.strip(),
    "LStrip": _.name.lstrip(),
    "RStrip": _.name.rstrip(),
    "StartsWith": _.name.startswith("a"),
    "EndsWith": _.name.endswith("a"),
    "StringSQLLike": _.name.like("a%"),
    "StringSQLILike": _.name.ilike("a%"),
    "StringLength": _.name.length(),
    "StringContains": _.name.contains("a"),
    "Substring": _.name.substr(1, 2),
    "StringConcat": _.name + "x",
    "DateTruncate": _.day.truncate("M"),
    "TimestampTruncate": _.day.cast("timestamp").truncate("M"),
    "ExtractYear": _.day.year(),
    "ExtractQuarter": _.day.quarter(),
    "ExtractMonth": _.day.month(),
    "ExtractDay": _.day.day(),
    "ExtractDayOfYear": _.day.day_of_year(),
    "ExtractWeekOfYear": _.day.week_of_year(),
    "DayOfWeekIndex": _.day.day_of_week.index(),
    "ExtractHour": _.day.cast("timestamp").hour(),
    "ExtractMinute": _.day.cast("timestamp").minute(),
    "ExtractSecond": _.day.cast("timestamp").second(),
}
"""One expression for each class of operation."""


def test_every_rule_has_an_example() -> None:
    assert set(EXAMPLES) == {operation.__name__ for operation in RULES}


def test_examples_keep_their_claims(hostile: Any) -> None:
    computed = hostile.assert_kept(*EXAMPLES.values())
    for name, one in zip(EXAMPLES, computed, strict=True):
        assert one.values.null_count < len(one.values), name


NUMBERS = ("small", "tally", "large", "any", "share", "signed", "wide", "tiny", "real", "single", "money")


def numbers(depth: int) -> st.SearchStrategy[Any]:
    """Deferred numbers, however wrong: what the language refuses is refused."""
    leaves = st.sampled_from([_[name] for name in NUMBERS])
    constants = st.sampled_from([0, 1, -1, 3, 0.5, -2.5, 1e-3, 1e300, 5e-324, 2**53 + 1, 2**62, 100])
    if not depth:
        return leaves
    x, y, when = numbers(depth - 1), numbers(depth - 1) | constants, conditions(depth - 1)
    ends = st.tuples(constants, constants).map(sorted)
    unary = [
        lambda e: e.abs(),
        lambda e: -e,
        lambda e: e.floor(),
        lambda e: e.ceil(),
        lambda e: e.round(),
        lambda e: e.sqrt(),
    ]
    unary += [
        lambda e: e.ln(),
        lambda e: e.log2(),
        lambda e: e.exp(),
        lambda e: e.cast("float64"),
        lambda e: e.cast("int64"),
    ]
    binary = [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / b, lambda a, b: a // b]
    binary += [lambda a, b: a % b, ibis.greatest, ibis.least]
    binary += [ibis.coalesce, lambda a, b: a.nullif(b)]
    return st.one_of(
        leaves,
        st.builds(lambda f, e: f(e), st.sampled_from(unary), x),
        st.builds(lambda f, a, b: f(a, b), st.sampled_from(binary), x, y),
        st.builds(lambda e, low_high: e.clip(*low_high), x, ends),
        st.builds(lambda e, n: e**n, x, st.integers(1, 16)),
        st.builds(ibis.ifelse, when, x, y),
        st.builds(lambda c, a, d, b: ibis.cases((c, a), (d, b)), when, x, conditions(0), y),
    )


def conditions(depth: int) -> st.SearchStrategy[Any]:
    """Deferred conditions."""
    x, y = numbers(min(depth, 1)), numbers(0) | st.sampled_from([0, 1, 0.1, -0.0, 2**53])
    compared = [
        lambda a, b: a < b,
        lambda a, b: a == b,
        lambda a, b: a != b,
        lambda a, b: a >= b,
        lambda a, b: a.identical_to(b),
    ]
    leaf = st.one_of(
        st.sampled_from([_.flag, _.name == "a", _.name.contains("b"), _.day > "2000-01-01", _.at.hour() < 3]),
        st.builds(lambda f, a, b: f(a, b), st.sampled_from(compared), x, y),
        st.builds(lambda e: e.isnull(), x),
        st.builds(lambda e: e.between(-1, 2.5), x),
        st.builds(lambda e: e.isin([0, 1, 7]), x),
    )
    if not depth:
        return leaf
    pair = st.tuples(conditions(depth - 1), conditions(depth - 1))
    joined = [lambda a, b: a & b, lambda a, b: a | b, lambda a, b: a ^ b, lambda a, _b: ~a]
    return leaf | st.builds(lambda f, ab: f(*ab), st.sampled_from(joined), pair)


@settings(max_examples=40)
@given(st.lists(st.one_of(numbers(2), numbers(3), conditions(2)), min_size=8, max_size=8))
def test_random_expressions_keep_their_claims(hostile: Any, written: list[Any]) -> None:
    """Each either is refused, or runs on every hostile row and keeps kind, interval and NULL."""
    values = []
    for one in written:
        try:
            values.append(hostile.check(one))
        except InvalidQuery as problem:
            assert str(problem).startswith("Expected ")  # noqa: PT017 - most are accepted, and both ways are tried
    for one in hostile.compute(values) if values else ():
        check_claims(one)


def check_claims(computed: Any) -> None:
    claimed, values = computed
    assert claimed.nullable or not values.null_count, claimed.text
    if claimed.interval is None:
        return
    found = values.combine_chunks().drop_null().to_numpy(zero_copy_only=False)
    assert np.isfinite(found).all(), claimed.text
    if found.size:
        ends = int if claimed.kind is Kind.INTEGER else float
        assert claimed.interval.low <= ends(found.min()), claimed.text
        assert ends(found.max()) <= claimed.interval.high, claimed.text


def test_a_rule_that_claims_too_little_is_seen(hostile: Any) -> None:
    """The test above sees an interval that is too small, a NULL that was denied, and an engine that raises."""
    sound = hostile.check(_.small + 1)
    narrow = Value(sound.expr, sound.kind, hostile.check(_.small).interval, nullable=True)
    for wrong in (narrow, Value(sound.expr, sound.kind, sound.interval, nullable=False)):
        with pytest.raises(AssertionError):
            check_claims(hostile.compute([wrong])[0])
    raising = Value(hostile.scanned.table["any"] + 1, Kind.INTEGER, None, nullable=True)
    with pytest.raises(Exception, match=r"[Oo]verflow"):
        hostile.compute([raising])


def test_refusal_of_an_operation_without_a_name() -> None:
    assert "CountStar" in refusal(ibis.table({"x": "int64"}, name="t").count().op())


def test_checked_takes_the_tables_it_is_given(hostile: Any) -> None:
    older = ibis.table({"small": "int64"}, name="older")
    columns = {"small": hostile.scanned.columns["small"]}
    assert checked(bind(older, _.small + 1), {older.op(): columns}).kind is Kind.INTEGER
    seen = barrier(hostile.raw, (), {})
    assert set(seen.columns) == set(hostile.scanned.columns)
