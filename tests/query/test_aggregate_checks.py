"""What can be asked of a column, and that bounds nobody stated are missed wherever they hide."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from fractions import Fraction
from types import FunctionType
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.errors import DiscreetError, InvalidParameter, InvalidQuery
from discreet.language.checked_expressions import Kind
from discreet.planning import aggregates
from discreet.planning.aggregates import MAX, MIN, QUANTILE, Aggregate, Statistic
from discreet.query.aggregate_checks import check_bounded
from discreet.query.table import PrivateTable

Protect = Callable[..., PrivateTable]
Refused = Callable[..., str]


def aggregate(table: PrivateTable, written: Any) -> Aggregate:
    (found,) = table.agg(x=written)._query.aggregates
    return found


@pytest.mark.parametrize(
    ("written", "statistic", "sample"),
    [
        (_.count(), aggregates.COUNT, False),
        (_.age.count(), aggregates.COUNT, False),
        (_.plan.count(), aggregates.COUNT, False),
        (_.person.nunique(), aggregates.UNITS, False),
        (_.plan.nunique(), aggregates.DISTINCT, False),
        (_.ok.nunique(), aggregates.DISTINCT, False),
        (_.age.sum(), aggregates.SUM, False),
        (_.ok.sum(), aggregates.SUM, False),
        (_.ok.mean(), aggregates.MEAN, False),
        ((_.age > 18).mean(), aggregates.MEAN, False),
        (_.age.mean(), aggregates.MEAN, False),
        (_.age.var(), aggregates.VARIANCE, True),
        (_.age.var(how="pop"), aggregates.VARIANCE, False),
        (_.age.std(), aggregates.STD, True),
        (_.age.std(how="pop"), aggregates.STD, False),
        (_.age.cov(_.spent), aggregates.COVARIANCE, True),
        (_.age.cov(_.spent, how="pop"), aggregates.COVARIANCE, False),
        (_.ok.corr(_.age), aggregates.CORRELATION, False),
        (_.age.mean().name("other"), aggregates.MEAN, False),
        (lambda t: t.age.mean(where=t.ok), aggregates.MEAN, False),
    ],
    ids=lambda part: (
        part.name if isinstance(part, Statistic) else "function" if isinstance(part, FunctionType) else str(part)
    ),
)
def test_statistics(protect_people: Protect, written: Any, statistic: Statistic, sample: bool) -> None:  # noqa: FBT001 - a parameter of the test
    found = aggregate(protect_people(), written)
    assert (found.name, found.statistic, found.sample) == ("x", statistic, sample)


REFUSED: dict[str, list[Any]] = {
    "count, nunique, sum, mean, var, std, cov, corr, quantile, min or max": [
        _.age.mode(),
        _.age.approx_median(),
        _.age.first(),
        _.ok.any(),
        _.plan.group_concat(),
        _.age.collect(),
        _.age.approx_nunique(),
        _.age.sum() / _.count(),
        _.age.mean() + 1,
        _.age,
        _.age > 1,
        5,
    ],
    "nunique() of the unit 'person', or of a column with public keys": [
        _.person.clip(0, 5).nunique(),
        _.plan.lower().nunique(),
    ],
    "operations on one row at a time": [
        lambda t: (t.age - t.age.mean()).sum(),
        lambda t: t.age.sum(where=t.age > t.age.mean()),
        lambda t: t.age.lag().sum(),
        lambda t: (t.age + ibis.random()).sum(),
    ],
    "a count of this table's rows": [
        lambda t: t.filter(t.age > 18).count(),
        lambda t: t.distinct().count(),
        lambda _t: ibis.table({"a": "int64"}, name="other").count(),
        lambda t: t.join(t.view(), "person").count(),
    ],
    "columns of this table": [
        lambda t: t.filter(t.age > 18).age.sum(),
        lambda _t: ibis.table({"person": "int64"}, name="other").person.nunique(),
        lambda _t: ibis.table({"age": "int64"}, name="other").age.sum(),
        lambda t: t.age.sum(where=t.view().age > 18),
    ],
}


@pytest.mark.long
@pytest.mark.parametrize("what", REFUSED)
def test_refusals(protect_people: Protect, refused: Refused, what: str) -> None:
    for written in REFUSED[what]:
        assert f"Expected {what}" in refused(InvalidQuery, protect_people().agg, x=written)


def test_text_and_dates_have_no_moments(protect_people: Protect, refused: Refused) -> None:
    """Ibis has no such methods; what comes another way is refused here."""
    table = protect_people()
    for written in (_.plan.sum(), _.day.mean(), lambda t: t.plan.lower().var()):
        assert "Expected a method that a column" in refused(InvalidQuery, table.agg, x=written)
    for name in ("plan", "day"):
        column = ibis.table({"age": "int64"}, name="t").age.op()
        assert "Expected numbers" in refused(InvalidQuery, check_bounded, table._columns[name], column, {})


@pytest.mark.parametrize(
    "written",
    [
        _.size.sum(),
        (_.size / 12).mean(),
        (_.size * 0.5).var(),
        _.size.clip(lower=0).sum(),
        _.size.clip(upper=9).mean(),
        ibis.ifelse(_.ok, _.size, 0).sum(),
        ibis.greatest(_.size, _.age).sum(),
        _.size.fill_null(0).mean(),
        _.size.nullif(3).std(),
        (_.size / 3 + _.age).sum(),
        _.age.cov(_.size),
        _.size.corr(_.age),
    ],
    ids=str,
)
def test_missing_bounds_are_named_wherever_they_hide(protect_people: Protect, refused: Refused, written: Any) -> None:
    said = refused(InvalidQuery, protect_people().agg, x=written)
    assert said.startswith("Expected bounds for 'size', got none.")
    assert "dp.protect(bounds={'size': (low, high)})" in said


def test_missing_bounds_are_found_behind_other_columns(protect_people: Protect, refused: Refused) -> None:
    table = protect_people().mutate(half=_.size / 2, quarter=_.age / 4)
    said = refused(InvalidQuery, table.agg, x=(_.half + _.quarter).sum(where=_.size > 1))
    assert "Expected bounds for 'half', got none" in said


@pytest.mark.parametrize(
    "written",
    [
        _.size.clip(0, 9).sum(),
        (_.size % 10).mean(),
        (_.size > 5).mean(),
        ibis.ifelse(_.size > 5, 1, 0).sum(),
        ibis.least(ibis.greatest(_.size, 0), 9).sum(),
        _.plan.length().clip(0, 20).sum(),
        _.day.year().mean(),
        _.size.count(),
        _.count(where=_.size > 3),
        _.age.sum(where=_.size > 3),
    ],
    ids=str,
)
def test_what_needs_no_bounds(protect_people: Protect, written: Any) -> None:
    aggregate(protect_people(), written)


# -- order ----------------------------------------------------------------------------------------------------


def asked(table: Any, **written: Any) -> list[Any]:
    return list(table.agg(**written)._query.aggregates)


def test_every_form_is_understood(unreadable: Any) -> None:
    table = unreadable()
    found = asked(
        table,
        a=lambda t: t.age.median(),
        b=lambda t: t.age.quantile(0.9, where=t.spent > 1),
        c=lambda t: t.age.min(),
        d=lambda t: t.spent.max(),
        e=lambda t: t.age.quantile([0.1, 0.25]),
        f=lambda t: (t.age > 3).max(),
    )
    assert [(a.name, a.statistic, a.share) for a in found] == [
        ("a", QUANTILE, Fraction(1, 2)),
        ("b", QUANTILE, Fraction(9, 10)),
        ("c", MIN, None),
        ("d", MAX, None),
        ("e_0.1", QUANTILE, Fraction(1, 10)),
        ("e_0.25", QUANTILE, Fraction(1, 4)),
        ("f", MAX, None),
    ]
    assert found[1].where is not None


def test_shares_are_rounded_to_a_millionth(unreadable: Any) -> None:
    [found] = asked(unreadable(), a=lambda t: t.age.quantile(1 / 3))
    assert found.share == Fraction(333333, 10**6)


WRONG = {
    "the minimum as a quantile": lambda t: t.age.quantile(0.0),
    "the maximum as a quantile": lambda t: t.age.quantile(1.0),
    "almost the maximum": lambda t: t.age.quantile(1 - 1e-9),
    "nothing": lambda t: t.age.quantile([]),
    "twice the same": lambda t: t.age.quantile([0.5, 0.5]),
    "text": lambda t: t.plan.max(),
    "a column without bounds": lambda t: (t.age + t.person).median(),
}


@pytest.mark.parametrize("written", WRONG.values(), ids=WRONG)
def test_what_has_no_answer_is_refused(unreadable: Any, written: Any) -> None:
    with pytest.raises(DiscreetError, match=r"(?s)^Expected.*\nHint: "):
        asked(unreadable(), a=written)


def test_the_ends_are_pointed_out(unreadable: Any, refused: Any) -> None:
    assert ".min() and .max()" in refused(InvalidParameter, asked, unreadable(), a=lambda t: t.age.quantile(1.0))


def test_names_of_several_quantiles_are_taken(unreadable: Any, refused: Any) -> None:
    table = unreadable()
    both = {"a": lambda t: t.age.quantile([0.5]), "a_0.5": lambda t: t.age.median()}
    assert "a name of its own" in refused(InvalidQuery, asked, table, **both)


def dates() -> Any:
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(i) for i in range(300)]
    rows = pa.table(
        {
            "day": days,
            "other": days,
            "at": [np.datetime64("2020-01-01", "us") + np.timedelta64(i % 24, "h") for i in range(300)],
        }
    )
    bounds = {"day": ("2019-01-01", "2021-12-31"), "at": ("2020-01-01", "2020-01-02")}
    return dp.protect(rows, unit=dp.ROW, bounds=bounds, budget=dp.Budget(epsilon=10**6), name="dates")


def test_dates_and_times_have_quantiles() -> None:
    table = dates()
    answer = table.agg(d=lambda t: t.day.median(), t=lambda t: t.at.quantile(0.75), hi=lambda t: t.day.max()).release(
        epsilon=3000
    )
    frame = answer.to_pyarrow().to_pylist()[0]
    assert abs(frame["d"] - datetime.date(2020, 5, 30)).days <= 2
    assert abs(frame["t"].hour * 60 + frame["t"].minute - 1050) <= 90
    assert frame["d_low"] <= frame["d"] <= frame["d_high"]
    assert abs(frame["hi"] - datetime.date(2020, 10, 26)).days <= 2
    assert {a.moment for a in asked(table, a=lambda t: t.day.median(), b=lambda t: t.at.min())} == {
        Kind.DATE,
        Kind.TIMESTAMP,
    }
    assert repr(answer)
    assert answer.plot()


def test_dates_without_bounds_are_refused(refused: Any) -> None:
    table = dates()
    assert "public bounds" in refused(InvalidQuery, asked, table, a=lambda t: t.other.median())
    renamed = table.mutate(day=lambda t: t.other)
    assert "public bounds" in refused(InvalidQuery, asked, renamed, a=lambda t: t.day.median())


def test_an_error_is_not_known_beforehand(unreadable: Any, refused: Any) -> None:
    question = unreadable().agg(m=lambda t: t.age.median())
    assert "quantile" in refused(InvalidQuery, question.release, within={"m": 3})


def test_what_is_found_first_goes_alone(unreadable: Any, refused: Any) -> None:
    table = unreadable(max_rows="auto")
    assert "stated keys and limits" in refused(InvalidQuery, table.agg, m=lambda t: t.age.median())
