"""Aggregates that can share totals do, and take from them exactly what they mean."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.inference.estimate import estimates
from discreet.planning import measurements
from discreet.planning.forms import COUNT, PAIR, PRODUCT, SUM, SUM_OF_ALL, TRIPLE, Block, Form
from discreet.planning.plan import Plan
from discreet.planning.planner import price

TABLE = pa.table({"x": [1.0, 4.0, None, 9.0], "y": [2, -3, 5, None], "ok": [True, False, True, None]})


def people(**stated: Any) -> dp.PrivateTable:
    """Four rows, each a person."""
    bounds = {"x": (0, 10), "y": (-4, 6)}
    return dp.protect(TABLE, unit=dp.ROW, bounds=bounds, budget=dp.Budget(epsilon=1), **stated)


def plan(question: dp.Question) -> Plan:
    """The plan at epsilon 1."""
    return price(question._query, epsilon=1)


def exact(question: dp.Question) -> dict[str, float]:
    """What the columns say where no noise is added."""
    priced = plan(question)
    source: Any = question._source
    found = estimates(priced, source._engine.totals(priced), 0.95)
    return {name: float(estimate.values[0]) for name, estimate in found.items()}


def forms(question: dp.Question) -> list[Form]:
    """The forms of its blocks."""
    return [block.block.form for block in plan(question).blocks]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"n": _.count()}, [COUNT]),
        ({"s": _.x.sum()}, [SUM]),
        ({"n": _.count(), "s": _.x.sum()}, [PAIR]),
        ({"m": _.x.mean()}, [PAIR]),
        ({"n": _.count(), "s": _.x.sum(), "m": _.x.mean()}, [PAIR]),
        ({"v": _.x.var(), "d": _.x.std(), "m": _.x.mean(), "n": _.count()}, [TRIPLE]),
        ({"a": _.x.sum(), "b": _.y.sum()}, [SUM, SUM]),
        ({"a": _.x.cov(_.y), "b": _.x.corr(_.y), "n": _.count()}, [PRODUCT]),
        ({"a": _.x.cov(_.y), "b": _.y.cov(_.x)}, [PRODUCT, PRODUCT]),
        ({"a": _.x.cov(_.y), "b": _.x.cov(_.y, where=_.ok)}, [PRODUCT, PRODUCT]),
        ({"a": _.x.mean(), "b": _.y.mean(), "n": _.count()}, [PAIR, PAIR]),
        ({"a": _.x.mean(), "n": _.count(where=_.ok)}, [PAIR, COUNT]),
        ({"a": _.x.mean(where=_.ok), "n": _.count(where=_.ok)}, [PAIR]),
        ({"a": _.x.count()}, [COUNT]),
        ({"a": _.x.count(), "s": _.x.sum()}, [PAIR]),
    ],
)
def test_a_count_beside_a_moment_is_not_paid_twice(asked: dict[str, Any], expected: list[Form]) -> None:
    assert forms(people().agg(**asked)) == expected


def test_counts_of_values_leave_nulls_out() -> None:
    """Beside a mean as well as alone; a count of rows has them."""
    assert exact(people().agg(n=_.count(), held=_.x.count(), mean=_.x.mean())) == pytest.approx(
        {"n": 4, "held": 3, "mean": 14 / 3}
    )
    assert exact(people().agg(held=_.x.count(), yes=_.ok.count(where=_.x > 2))) == {"held": 3, "yes": 1}


def test_every_statistic_of_one_column_is_read_from_one_triple() -> None:
    y = np.array([2.0, -3.0, 5.0])
    question = people().agg(
        n=_.count(), held=_.y.count(), s=_.y.sum(), m=_.y.mean(), v=_.y.var(), p=_.y.var(how="pop"), d=_.y.std()
    )
    assert len(plan(question).blocks) == 1
    wanted = {"n": 4, "held": 3, "s": 4, "m": y.mean(), "v": y.var(ddof=1), "p": y.var(), "d": y.std(ddof=1)}
    assert exact(question) == pytest.approx(wanted, rel=1e-6)


def test_moments_of_two_columns_are_read_from_one_product() -> None:
    question = people().agg(
        n=_.count(), s=_.x.cov(_.y), p=_.x.cov(_.y, how="pop"), r=_.x.corr(_.y), t=(_.x > 2).corr(_.ok)
    )
    assert [block.block.degrees for block in plan(question).blocks] == [(2, 2), (2, 2)]
    x, y = np.array([1.0, 4.0]), np.array([2.0, -3.0])  # the rows that have both
    wanted = {"n": 4, "s": np.cov(x, y)[0, 1], "p": np.cov(x, y, ddof=0)[0, 1], "r": -1, "t": -1}
    assert exact(question) == pytest.approx(wanted, rel=1e-6)


def test_a_value_that_is_never_null_needs_no_component_for_nulls() -> None:
    filled = plan(people().agg(n=_.count(), m=_.x.fill_null(0).mean()))
    assert not filled.blocks[0].block.nulls
    assert plan(people().agg(n=_.count(), m=_.x.mean())).blocks[0].block.nulls


def test_a_count_of_what_is_never_null_is_a_count_of_rows() -> None:
    filled = people().agg(held=_.x.fill_null(0).count(), s=_.x.fill_null(0).sum(), n=_.count())
    assert forms(filled) == [PAIR]
    assert exact(filled) == {"held": 4, "s": 14, "n": 4}
    alone = people().agg(held=_.x.fill_null(0).count())
    assert plan(alone).blocks[0].block.where is None
    fixed = people(neighbors="replace-one", rows=4)
    with pytest.raises(dp.InvalidQuery, match="not public"):
        plan(fixed.agg(held=_.x.fill_null(0).count(), s=_.x.fill_null(0).sum()))


def test_the_total_variance_of_count_sum_and_squares_is_at_most_10_5() -> None:
    """At epsilon 1, one row a unit, values in [0, 1]: sums of 1, u and u² from the triple (an even split has 54)."""
    block = Block(form=TRIPLE)
    counts, sums = block.without_nulls((1, 1, 1)), block.without_nulls(TRIPLE.total(Fraction(0), Fraction(1)))
    squares = (1.0, 0.0, 0.0)  # the first component is the sum of u²
    variances = [2 * sum(c * c for c in form) for form in (counts, sums, squares)]
    assert variances == [6.0, 2.5, 2.0]
    assert sum(variances) <= 10.5


def test_a_public_size_turns_a_mean_into_one_sum() -> None:
    fixed = people(neighbors="replace-one", rows=4)
    assert forms(fixed.agg(m=_.x.fill_null(0).mean())) == [SUM_OF_ALL]
    assert exact(fixed.agg(m=_.x.fill_null(0).mean(), s=_.x.fill_null(0).sum())) == pytest.approx({"m": 3.5, "s": 14})
    assert plan(fixed.agg(m=_.x.fill_null(0).mean())).blocks[0].block.size == 4


def test_no_size_is_public_after_a_filter_or_with_nulls() -> None:
    fixed = people(neighbors="replace-one", rows=4)
    assert forms(fixed.filter(_.y > -10).agg(m=_.x.fill_null(0).mean())) == [PAIR]
    assert forms(fixed.agg(m=_.x.mean())) == [PAIR]
    assert forms(fixed.agg(m=_.x.fill_null(0).mean(where=_.ok))) == [PAIR]
    with pytest.raises(dp.InvalidQuery, match="not public"):
        plan(fixed.agg(n=_.count()))


def test_many_means_and_a_count_stay_within_what_intervals_can_use() -> None:
    columns = {f"c{i}": np.arange(4.0) for i in range(9)}
    table = dp.protect(
        pa.table(columns), unit=dp.ROW, bounds=dict.fromkeys(columns, (0, 5)), budget=dp.Budget(epsilon=1)
    )
    question = table.agg(n=_.count(), **{f"m{i}": _[f"c{i}"].mean() for i in range(9)})
    assert exact(question)["n"] == 4
    assert len(plan(question).columns[0].blocks) == 5  # of three components each


def test_hundreds_of_columns_are_not_compared_with_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    table = people()
    asked = table.agg(**{f"s{i}": (_.x + i).sum() for i in range(60)}, n=_.count())
    identities, own = [0], measurements._identity

    def counted(a: Any) -> Any:
        identities[0] += 1
        return own(a)

    monkeypatch.setattr(measurements, "_identity", counted)
    assert len(measurements.gather(asked._query)[0]) == 60
    assert identities[0] < 60 * 10
