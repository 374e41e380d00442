"""Everything of a release that can be known before it is made, without a look at a row."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.query.plan import Plan


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dp.Question:
    """A question whose engine must not be reached."""
    monkeypatch.setattr("discreet.engines.duckdb.DuckDB.totals", lambda *_: pytest.fail("a row was read"))
    table = pa.table({"person": [1, 1, 2], "plan": ["a", "b", "a"], "visits": [1.0, 2.0, 60.0]})
    people = dp.protect(
        table, unit="person", bounds={"visits": (0, 50)}, keys={"plan": ["a", "b", "c"]}, budget=dp.Budget(epsilon=1)
    )
    grouped = people.group_by("plan", max_groups=2, max_rows=5)
    return grouped.agg(people=_.person.nunique(), visits=_.visits.mean(), var=_.visits.var(), total=_.visits.sum())


def spent(asked: dp.Question) -> Fraction:
    """What its budget has spent."""
    source: Any = asked._source
    epsilon: Fraction = source.budget.spent.epsilon
    return epsilon


def test_it_says_who_is_protected_and_what_it_costs(asked: dp.Question) -> None:
    told = asked.explain(epsilon=0.5)
    assert told["unit"] == ["person"]
    assert told["neighbors"] == "add-remove"
    assert told["limits"] == {"max_groups": 2, "max_rows": 5}
    assert told["charge"] == {"epsilon": "0.5", "delta": "0"}
    assert "__discreet_scan" in told["sql"]
    assert spent(asked) == 0


def test_each_mechanism_is_shown(asked: dp.Question) -> None:
    totals = asked.explain(epsilon=0.5)["totals"]
    assert sum(float(block["share"]) for block in totals) == pytest.approx(1, abs=2e-3)
    for block in totals:
        assert block["mechanism"] == "discrete Laplace"
        assert float(block["scale"]) * float(block["epsilon"]) == pytest.approx(block["sensitivity"], rel=1e-4)


def test_errors_are_numbers_or_functions_of_n(asked: dp.Question) -> None:
    errors = {column["name"]: column["plus_minus"] for column in asked.explain(epsilon=0.5)["columns"]}
    assert float(errors["people"]) > 0
    assert float(errors["total"]) > 0
    assert errors["visits"].endswith("/n")
    assert errors["var"].endswith("/n")


def test_assumed_rows_give_figures(asked: dp.Question) -> None:
    told = {c["name"]: c["plus_minus"] for c in asked.explain(epsilon=0.5, assume={"rows": 100_000})["columns"]}
    general = {c["name"]: c["plus_minus"] for c in asked.explain(epsilon=0.5)["columns"]}
    assert float(told["visits"]) == pytest.approx(float(general["visits"].removesuffix("/n")) / 100_000, rel=0.05)


@pytest.mark.parametrize("assume", [{}, {"rows": 0}, {"rows": 1.5}, {"row": 5}, {"rows": True}, 7], ids=str)
def test_assumptions_that_mean_nothing_are_refused(asked: dp.Question, assume: Any) -> None:
    with pytest.raises(dp.InvalidParameter, match="assume"):
        asked.explain(epsilon=0.5, assume=assume)


def test_it_reads_well_in_a_terminal_and_a_notebook(asked: dp.Question) -> None:
    told = asked.explain(epsilon=0.5)
    for word in ("person", "add-remove", "max_groups=2", "visits", "/n", "2**48", "noise only"):
        assert word in repr(told)
        assert word in told._repr_html_()
    assert len(told) == len(list(told))


@pytest.mark.parametrize("target", [5, 25, 400.5])
def test_within_finds_the_cheapest_epsilon(monkeypatch: pytest.MonkeyPatch, asked: dp.Question, target: float) -> None:
    """Four digits: the epsilon that is found reaches the target, and one less in the last digit does not."""

    def exact(_engine: object, plan: Plan, *_rest: object) -> list[Any]:
        return [np.zeros((3, block.block.components), dtype=np.int64) for block in plan.blocks]

    monkeypatch.setattr("discreet.engines.duckdb.DuckDB.totals", exact)
    monkeypatch.setattr(asked._source, "budget", dp.Budget(epsilon=1000))
    answer = asked.release(within={"people": target}, confidence=0.9)
    found = spent(asked)
    assert answer.receipt["charge"]["epsilon"] == f"{float(found):g}"

    def error(epsilon: object) -> float:
        columns = asked.explain(epsilon=epsilon, confidence=0.9)["columns"]
        return float(next(c["plus_minus"] for c in columns if c["name"] == "people"))

    assert error(found) <= target * 1.001
    assert error(found * 999 / 1000) > target * 0.999


@pytest.mark.parametrize(
    ("within", "message"),
    [
        ({"visits": 1}, "depends on the private number of rows"),
        ({}, "a wanted error"),
        ({"other": 1}, "columns of the answer"),
        ({"people": 0}, "above 0"),
        ({"people": 1e-9}, "some epsilon reaches"),
        (25, "a wanted error"),
    ],
    ids=str,
)
def test_wanted_errors_that_cannot_be_promised_are_refused(asked: dp.Question, within: Any, message: str) -> None:
    with pytest.raises((dp.InvalidParameter, dp.InvalidQuery), match=message):
        asked.release(within=within)


def test_epsilon_and_within_exclude_each_other(asked: dp.Question) -> None:
    with pytest.raises(dp.InvalidParameter, match="epsilon or within"):
        asked.release(epsilon=1, within={"people": 5})
