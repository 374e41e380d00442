"""Conditions, NULL and choice: never an error, NULL only where it is said, never two kinds in one column."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import ibis
import pytest
from ibis import _

from discreet.errors import InvalidQuery
from discreet.language.checked_expressions import Kind

ALLOWED: dict[str, list[Any]] = {
    "Equals": [_.small == 3, _.any == 2**53 + 1, _.any == 0.5, _.name == "é", _.day == "2020-02-29", _.flag == _.other],
    "NotEquals": [_.small != _.tally, _.real != _.share, _.name != "", _.flag != True, _.share != 0.0],  # noqa: E712 - as an analyst writes it
    "Less": [_.share < 0.5, _.real < _.any, _.name < "b", _.day < datetime.date(2000, 1, 1), _.at < "2020-02-29 12:30"],
    "LessEqual": [_.small <= 3.5, _.large <= _.any, _.zoned <= datetime.datetime(2020, 2, 29, tzinfo=datetime.UTC)],
    "Greater": [_.share > -1, _.tiny > 0, _.name > _.word, _.lately > _.day, _.money > 0.01],
    "GreaterEqual": [_.small >= 0, _.single >= 0.1, _.at >= "0001-01-01"],
    "And": [(_.small > 0) & (_.share < 1), _.flag & True, _.flag & _.other & (_.name == "a")],
    "Or": [(_.small > 0) | _.flag, _.flag | False, _.flag | _.flag.isnull()],
    "Xor": [
        _.flag ^ _.other,
        (_.small > 0) ^ _.flag,
        (_.flag ^ _.other) & _.flag,
        (_.flag & _.other) ^ (_.flag | _.other),
    ],
    "Not": [~_.flag, ~(_.real > 0), ~_.name.isnull()],
    "IsNull": [_.small.isnull(), _.real.isnull(), _.name.isnull(), _.day.isnull(), _.flag.isnull(), _.small == None],  # noqa: E711 - as an analyst writes it
    "NotNull": [_.single.notnull(), (_.small / 3).notnull(), _.at.notnull()],
    "IdenticalTo": [_.small.identical_to(3), _.name.identical_to(_.word), _.share.identical_to(_.small)],
    "Between": [_.small.between(0, 3), _.share.between(0.1, _.signed), _.day.between("1990-01-01", "2020-02-29")],
    "InValues": [
        _.small.isin([0, 3]),
        _.name.isin(["a", "é"]),
        _.share.isin([0.0, 1]),
        _.small.notin([1]),
        _.flag.isin([True]),
    ],
    "Coalesce": [
        _.small.fill_null(0),
        ibis.coalesce(_.small, _.share, 1),
        _.name.fill_null(""),
        _.flag.fill_null(_.other.isnull()),
    ],
    "NullIf": [_.small.nullif(0), _.share.nullif(0.0), _.name.nullif(""), _.day.nullif(_.lately)],
    "IfElse": [
        ibis.ifelse(_.flag, _.small, 0),
        ibis.ifelse(_.small > 0, _.share, _.tally),
        ibis.ifelse(_.flag, "a", _.name),
        _.flag.ifelse(1, None),
        ibis.ifelse(_.flag, None, _.day),
        ibis.ifelse(_.flag, _.flag, _.small > 1),
    ],
    "SearchedCase": [
        ibis.cases((_.small > 3, 1), (_.flag, 2.5), else_=_.small),
        ibis.cases((_.small > 3, "x")),
        ibis.cases((_.flag, None), (_.other, _.at), else_=None),
        ibis.cases((_.flag, True), (_.other, _.word == "a")),
    ],
    "SimpleCase": [
        _.small.cases((1, "a"), (2, "b"), else_="c"),
        _.name.cases(("a", 1), ("é", 2)),
        _.flag.cases((True, 0.5), (False, 7), else_=0),
    ],
    "Cast": [
        _.flag.cast("int64"),
        _.flag.cast("float64"),
        _.small.cast("int8"),
        _.small.cast("float32"),
        _.tally.cast("uint8"),
        _.any.cast("float64"),
        _.any.cast("string"),
        _.at.cast("date"),
        _.zoned.cast("date"),
        _.day.cast("timestamp"),
        _.at.cast("timestamp"),
        _.share.cast("float64"),
        _.flag.cast("float16"),
    ],
}


@pytest.mark.parametrize("name", ALLOWED)
def test_allowed(hostile: Any, name: str) -> None:
    hostile.assert_kept(*ALLOWED[name])


def test_nulls_follow_sql(hostile: Any) -> None:
    small, flag = hostile.column(_.small), hostile.column(_.flag)
    assert hostile.column(_.small > 1) == [None if x is None else x > 1 for x in small]
    assert hostile.column(_.flag.isnull()) == [x is None for x in flag]
    both = [
        False if False in (x, y) else None if None in (x, y) else True
        for x, y in zip(flag, hostile.column(_.other), strict=True)
    ]
    assert hostile.column(_.flag & _.other) == both
    assert hostile.column(_.small.nullif(7)) == [None if x == 7 else x for x in small]
    assert hostile.column(ibis.ifelse(_.flag, 1, 2)) == [1 if x else 2 for x in flag]
    assert hostile.column(_.small.identical_to(_.small)) == [True] * len(small)


def test_nan_is_null_and_equal_to_nothing(hostile: Any) -> None:
    assert None in hostile.column(_.real)
    assert hostile.column(_.real.isnull()).count(True) == hostile.column(_.real).count(None)
    assert True not in hostile.column(_.real > 1.7976931348623157e308)


def test_never_null(hostile: Any) -> None:
    for written in (_.small.isnull(), _.small.fill_null(0), ibis.ifelse(_.flag, 1, 2), _.name.identical_to("a")):
        assert not hostile.check(written).nullable
    for written in (
        _.small > 0,
        _.small.nullif(1),
        ibis.cases((_.flag, 1)),
        _.flag.ifelse(1, None),
        _.small.fill_null(_.any),
    ):
        assert hostile.check(written).nullable


def test_choices_hold_every_branch(hostile: Any) -> None:
    assert str(hostile.check(ibis.ifelse(_.flag, _.small, 50)).interval.high) == "50"
    assert str(hostile.check(ibis.coalesce(_.small, -9)).interval.low) == "-9"
    mixed = hostile.check(ibis.cases((_.flag, 1), (_.other, 2.5), else_=_.small))
    assert mixed.kind is Kind.REAL


def test_text_beside_a_date_is_a_date(hostile: Any, refused: Callable[..., str]) -> None:
    assert True in hostile.column(_.day == "2020-02-29")
    assert True in hostile.column(_.at == "2020-02-29T12:30:59")
    assert hostile.column(_.zoned < "2020-02-29T12:30:59+00:00") == hostile.column(
        _.zoned < "2020-02-29T13:30:59+01:00"
    )
    assert "a date such as" in refused(InvalidQuery, hostile.check, _.day.isin(["2020-01-01", "today"]))
    assert "a date such as" in refused(InvalidQuery, hostile.check, _.day > "today")


REFUSED: dict[str, list[Any]] = {
    "values of one kind": [
        ibis.coalesce(_.day, _.at),
        _.day < _.at,
        _.small.isin([1, "a"]),
    ],
    "a list of constants": [_.small.isin([_.tally, 3])],
    "a result other than NULL": [ibis.cases((_.flag, None)), ibis.ifelse(_.flag, None, None)],
    "a number, text, a truth value or a date": [
        _.small.isin([1, None]),
        _.small.fill_null(None),
        _.small.isin([ibis.literal([1, 2])]),
        _.name.identical_to(None),
        _.small + ibis.null("int64"),
    ],
    "a cast that cannot fail": [
        _.name.cast("int64"),
        _.share.cast("int64"),
        _.share.cast("string"),
        _.any.cast("int32"),
        _.small.cast("uint8"),
        _.tally.cast("decimal(5, 2)"),
        _.name.cast("date"),
        _.day.cast("string"),
        _.small.cast("boolean"),
        _.at.cast("timestamp('Asia/Tokyo')"),
        _.at.cast("timestamp(0)"),
        _.share.cast("float32"),
        _.share.try_cast("float32"),
        _.any.cast("float32"),
        _.any.cast("float16"),
        _.name.try_cast("float32"),
        _.name.try_cast("timestamp(0)"),
    ],
}


@pytest.mark.parametrize("what", REFUSED)
def test_refusals(hostile: Any, refused: Callable[..., str], what: str) -> None:
    for written in REFUSED[what]:
        assert f"Expected {what}" in refused(InvalidQuery, hostile.check, written)


def test_one_or_the_other_of_anything(hostile: Any) -> None:
    """DuckDB takes `a IS NOT DISTINCT FROM b <> c IS NOT DISTINCT FROM d` for a chain."""
    same, null = _.flag.identical_to(_.other), _.flag.isnull()
    for one, other in ((same, same), (same, null), (null, same), (~same, _.small.between(0, 1))):
        first, second, found = (hostile.column(e) for e in (one, other, one ^ other))
        assert found == [None if None in (a, b) else a is not b for a, b in zip(first, second, strict=True)]
