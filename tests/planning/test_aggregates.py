"""What can be asked of a column, and that bounds nobody stated are missed wherever they hide."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import ibis
import pytest
from ibis import _

from discreet.errors import InvalidQuery
from discreet.planning.aggregates import Aggregate, Statistic, check_bounded
from discreet.query.table import PrivateTable

Protect = Callable[..., PrivateTable]
Refused = Callable[..., str]


def aggregate(table: PrivateTable, written: Any) -> Aggregate:
    (found,) = table.agg(x=written)._query.aggregates
    return found


@pytest.mark.parametrize(
    ("written", "statistic", "sample"),
    [
        (_.count(), Statistic.COUNT, False),
        (_.age.count(), Statistic.COUNT, False),
        (_.plan.count(), Statistic.COUNT, False),
        (_.person.nunique(), Statistic.UNITS, False),
        (_.plan.nunique(), Statistic.DISTINCT, False),
        (_.ok.nunique(), Statistic.DISTINCT, False),
        (_.age.sum(), Statistic.SUM, False),
        (_.ok.sum(), Statistic.SUM, False),
        (_.ok.mean(), Statistic.MEAN, False),
        ((_.age > 18).mean(), Statistic.MEAN, False),
        (_.age.mean(), Statistic.MEAN, False),
        (_.age.var(), Statistic.VARIANCE, True),
        (_.age.var(how="pop"), Statistic.VARIANCE, False),
        (_.age.std(), Statistic.STD, True),
        (_.age.std(how="pop"), Statistic.STD, False),
        (_.age.cov(_.spent), Statistic.COVARIANCE, True),
        (_.age.cov(_.spent, how="pop"), Statistic.COVARIANCE, False),
        (_.ok.corr(_.age), Statistic.CORRELATION, False),
        (_.age.mean().name("other"), Statistic.MEAN, False),
        (lambda t: t.age.mean(where=t.ok), Statistic.MEAN, False),
    ],
    ids=lambda part: "function" if isinstance(part, FunctionType) else str(part),
)
def test_statistics(protect_people: Protect, written: Any, statistic: Statistic, sample: bool) -> None:  # noqa: FBT001 - a parameter of the test
    found = aggregate(protect_people(), written)
    assert (found.name, found.statistic, found.sample) == ("x", statistic, sample)
    assert statistic.degree == {"sum": 1, "mean": 1, "variance": 2, "std": 2}.get(statistic.value, 0)
    assert statistic.degrees == {"covariance": (1, 1), "correlation": (2, 2)}.get(statistic.value, ())


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
        _.age.nunique(),
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
