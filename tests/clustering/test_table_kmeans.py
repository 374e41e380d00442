"""k-means of a protected table: one charge, one answer, and refusals before either."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.clustering.random_floats import RandomFloats
from discreet.errors import InvalidParameter, InvalidQuery
from discreet.testing import not_private, people
from discreet.testing.scripted_words import splitmix

MIDDLES = np.array([[2.0, 2.0], [8.0, 8.0], [2.0, 8.0]])
ROWS = MIDDLES[np.arange(6000) % 3] + 0.5 * RandomFloats(splitmix(1)).uniform(6000, 2)


def customers(*, epsilon: float = 10, **stated: Any) -> dp.PrivateTable:
    rows = pa.table({"x": ROWS[:, 0], "y": ROWS[:, 1], "who": np.arange(6000) // 4, "name": ["n"] * 6000})
    given: dict[str, Any] = {"unit": dp.ROW, "bounds": {"x": (0, 10), "y": (0, 10)}, "name": "customers"} | stated
    return not_private(dp.protect(rows, budget=dp.Budget(epsilon=epsilon), **given))


@pytest.mark.parametrize(("algorithm", "within"), [("best", 0.3), ("lloyd", 10)])
def test_one_charge_and_centers(algorithm: str, within: float) -> None:
    table = customers()
    found = table.kmeans(["x", "y"], n_clusters=3, epsilon=2, algorithm=algorithm, rounds=3)
    order = np.argsort(found.centers @ [1, 2])
    np.testing.assert_allclose(found.centers[order], MIDDLES[[0, 2, 1]] + 0.25, atol=within)
    [entry] = table.budget.entries()
    assert entry.guarantee.epsilon == 2
    assert entry.what == "3 centers of x, y (k-means)"
    assert sum(float(step["epsilon"]) for step in found.receipt["steps"]) == pytest.approx(2, rel=1e-4)
    json.dumps(found.receipt)


def test_the_same_again_is_free() -> None:
    table = customers()
    first, second = (dp.kmeans(table, ["x", "y"], n_clusters=3, epsilon=2) for _ in range(2))
    np.testing.assert_array_equal(first.centers, second.centers)
    assert table.budget.spent.epsilon == 2
    fresh = dp.kmeans(table, ["x", "y"], n_clusters=3, epsilon=2, fresh=True)
    assert not np.array_equal(first.centers, fresh.centers)
    assert table.budget.spent.epsilon == 4


def test_persons_with_many_rows_need_limits() -> None:
    table = customers(unit="who", epsilon=100)
    with pytest.raises(dp.InvalidQuery, match="max_groups and max_rows"):
        table.kmeans(["x", "y"], n_clusters=3, epsilon=50)
    assert table.budget.spent.epsilon == 0
    found = table.kmeans(["x", "y"], n_clusters=3, epsilon=50, max_groups=3, max_rows=4)
    assert found.receipt["limits"] == {"max_groups": 3, "max_rows": 4}
    assert np.abs(found.centers[:, None] - MIDDLES - 0.25).max(axis=2).min(axis=0).max() < 1


def test_steps_before_it_count() -> None:
    table = customers().filter(lambda t: t.x < 5).mutate(twice=lambda t: 2 * t.x)
    found = table.kmeans(["twice", "y"], n_clusters=2, epsilon=5)
    np.testing.assert_allclose(np.sort(found.centers[:, 1]), [2.25, 8.25], atol=0.3)
    np.testing.assert_allclose(found.centers[:, 0], 4.5, atol=0.5)


@pytest.mark.long
@pytest.mark.parametrize(
    ("columns", "changed", "why"),
    [
        ([], {}, "names of columns"),
        (["x", "x"], {}, "names of columns"),
        ([1], {}, "names of columns"),
        (["z"], {}, "a known column"),
        (["name"], {}, "columns of numbers"),
        (["who"], {}, "Expected bounds for 'who'"),
        (["x"], {"n_clusters": 0}, "n_clusters=0"),
        (["x"], {"n_clusters": 2.5}, "n_clusters=2.5"),
        (["x"], {"epsilon": 0}, "epsilon"),
        (["x"], {"epsilon": "1"}, "epsilon"),
        (["x"], {"algorithm": "mini-batch"}, "'best' or 'lloyd'"),
        (["x"], {"rounds": 0}, "rounds=0"),
        (["x", "y"], {"n_clusters": 500}, "Hint"),
        (["x"], {"max_rows": 2}, "no max_rows where each row is a unit"),
    ],
)
def test_refusals_cost_nothing(columns: Any, changed: dict[str, Any], why: str) -> None:
    table = customers()
    with pytest.raises(dp.DiscreetError, match=why):
        table.kmeans(columns, **{"n_clusters": 2, "epsilon": 1} | changed)
    assert table.budget.spent.epsilon == 0


def test_too_little_budget_is_refused() -> None:
    table = customers(epsilon=1)
    with pytest.raises(dp.BudgetExceeded):
        table.kmeans("x", n_clusters=2, epsilon=2)
    assert table.budget.spent.epsilon == 0


def test_arrays_have_an_estimator() -> None:
    with pytest.raises(dp.InvalidParameter, match=r"(?s)a protected table.*dp\.KMeans"):
        dp.kmeans(ROWS, ["x"], n_clusters=2, epsilon=1)  # type: ignore[arg-type]  # the refusal is the test


@pytest.mark.parametrize("held", [[], [1.0], [None], [math.nan], [math.inf, -math.inf]])
def test_hardly_any_rows_are_no_fault(held: list[float]) -> None:
    data = pa.table({"x": pa.array(held, pa.float64())})
    table = dp.protect(data, unit=dp.ROW, bounds={"x": (0, 10)}, budget=dp.Budget(epsilon=5), name="few")
    centers = table.kmeans(["x"], n_clusters=3, epsilon=5).centers
    assert centers.shape == (3, 1)
    assert ((centers >= 0) & (centers <= 10)).all()
    assert table.budget.spent.epsilon == 5


def test_the_answer_can_be_looked_at() -> None:
    found = customers().kmeans(["x", "y"], n_clusters=3, epsilon=2)
    assert found.to_pyarrow().column_names == ["x", "y", "cluster_size"]
    assert found.to_pandas().shape == (3, 3)
    assert sorted(found.predict(MIDDLES).tolist()) == [0, 1, 2]
    assert "epsilon 2, grid synopsis" in repr(found)
    assert len(found.plot().axes) == 1
    assert "3 of 3 clusters survive" in found.plot(ROWS).get_supxlabel()
    assert [found.plot(columns=(1,)).axes[0].get_xlabel(), found.plot().axes[0].get_ylabel()] == ["y", "y"]


def test_one_column_can_be_drawn() -> None:
    assert len(customers().kmeans("x", n_clusters=2, epsilon=2).plot().axes) == 1


def test_people_are_a_table_too() -> None:
    assert people().kmeans(["age", "visits"], n_clusters=2, epsilon=8).centers.shape == (2, 2)


def test_centers_at_a_rho_have_the_epsilon_that_it_pays_for() -> None:
    table = people()
    found = dp.kmeans(table, ["age", "visits"], n_clusters=2, rho=32)
    assert found.receipt["charge"] == {"rho": "32"}
    assert sum(Fraction(step["epsilon"]) for step in found.receipt["steps"]) == pytest.approx(8)
    assert repr(found).splitlines()[-1].startswith("rho 32, ")
    assert table.budget.entries()[-1].guarantee.epsilon == 8


@pytest.mark.long
@pytest.mark.parametrize("algorithm", ["best", "lloyd"])
@pytest.mark.parametrize("epsilon", [1e-8, 3.2e-9, 1e-9, 3.2e-10, 1e-10, 1e-12])
@pytest.mark.parametrize("clusters", [1, 3, 9])
def test_a_price_too_small_for_a_part_is_refused_before_it_costs(algorithm: str, epsilon: float, clusters: int) -> None:
    """Either all questions of all rounds have a price, or none is asked."""
    rows = pa.table({"person": range(90), "a": [0.5] * 90, "b": [5.0] * 90})
    budget = dp.Budget(rho=1)
    table = dp.protect(
        rows, unit="person", max_rows=2, max_groups=2, bounds={"a": (0, 1), "b": (0, 10)}, budget=budget, name="rows"
    )  # fmt: skip
    try:
        table.kmeans(["a", "b"], n_clusters=clusters, algorithm=algorithm, epsilon=epsilon)
    except (InvalidQuery, InvalidParameter):
        assert budget.spent.rho == 0
    else:
        assert budget.spent.rho is not None
        assert budget.spent.rho > 0
