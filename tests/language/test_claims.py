"""What the language lets in keeps its claims: one expression of each operation, and random ones, on every odd row."""

from __future__ import annotations

import re
from typing import Any

import ibis
import ibis.expr.operations as ops
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ibis import _

from discreet.errors import InvalidQuery
from discreet.language.allow_list import RULES, measured
from discreet.language.checked_expressions import Kind, Measure, Value

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
    "Sign": _.small.sign(),
    "Bucket": _.small.bucket([-1, 0, 2.5, 9], include_over=True),
    "TryCast": _.name.try_cast("int64"),
    "StrRight": _.name.right(2),
    "StringReplace": _.name.replace("a", "aaa"),
    "StringFind": _.name.find("a"),
    "LPad": _.name.lpad(5, "0"),
    "RPad": _.name.rpad(5, "é"),
    "ArrayIndex": _.name.split("a")[1],
    "Reverse": _.name.reverse(),
    "DateAdd": _.day + ibis.interval(days=4000),
    "DateSub": _.day - ibis.interval(months=1),
    "TimestampAdd": _.day.cast("timestamp") + ibis.interval(hours=30),
    "TimestampSub": _.day.cast("timestamp") - ibis.interval(years=9999),
    "DateDelta": _.day.delta(_.lately, unit="day"),
    "TimestampDelta": _.day.cast("timestamp").delta(_.zoned, unit="day"),
    "ExtractEpochSeconds": _.day.cast("timestamp").epoch_seconds(),
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
    "Date": _.day.cast("timestamp").date(),
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
        lambda e: e.round(2),
        lambda e: e.round(-1),
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


@pytest.mark.long
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
