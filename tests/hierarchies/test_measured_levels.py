"""Releases of all levels: charged first, noise on each, tables that add up, intervals that hold."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.engines.duckdb import DuckDB
from discreet.errors import BudgetExceeded, EngineError, InvalidParameter
from discreet.mechanisms.laplace import Laplace
from discreet.noise.entropy import RandomWords
from hierarchy_fixtures import LEVELS, ROWS, asked, exactly, protected, scripted

EXACT = exactly()


def test_tables_add_up() -> None:
    answer = asked(protected(), cells={"female": [True, False]}).release(epsilon=1, integers=True)
    county, state, total = (answer[name].to_pandas() for name in reversed(LEVELS))
    assert county.groupby(["state", "female"]).n.sum().sort_index().tolist() == (
        state.set_index(["state", "female"]).n.sort_index().tolist()
    )
    assert state.groupby("female").n.sum().tolist() == total.set_index("female").n.sort_index().tolist()
    real = asked(protected()).release(epsilon=1)
    assert real["county"]["n"].to_numpy().sum() == pytest.approx(real["total"]["n"][0].as_py())


def test_every_level_has_its_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each its own mechanism, on the exact sums of the leaves."""
    seen: list[tuple[Fraction, list[int]]] = []
    plain = Laplace.add_noise

    def add_noise(self: Laplace, totals: Any, words: RandomWords) -> Any:
        seen.append((self.epsilon, totals.reshape(-1).tolist()))
        return plain(self, totals, words)

    monkeypatch.setattr(Laplace, "add_noise", add_noise)
    asked(protected()).release(epsilon=1, shares=[1, 1, 2])
    assert seen == [
        (Fraction(1, 4), EXACT["total"]), (Fraction(1, 4), EXACT["state"]), (Fraction(1, 2), EXACT["county"])
    ]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("integers", [False, True])
@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": Fraction(1, 8)}, {"epsilon": 9}])
def test_intervals_hold(price: dict[str, Any], *, integers: bool) -> None:
    """Of 60 releases, each of 10 rows is in nearly all of its intervals of 90 %; of intervals that are moved, in few.

    Fewer than 41 of 60 hold by chance in one of a million.
    """
    budget = dp.Budget(rho=1000) if "rho" in price else dp.Budget(epsilon=10**4)
    question = asked(protected(budget=budget))
    inside = {name: np.zeros(len(EXACT[name])) for name in LEVELS}
    moved = {name: np.zeros(len(EXACT[name])) for name in LEVELS}
    for seed in range(60):
        answer = scripted(question, seed).release(**price, integers=integers, confidence=0.9, fresh=True)
        for name in LEVELS:
            low, high = (answer[name][f"n_{end}"].to_numpy() for end in ("low", "high"))
            for held, off in ((inside, 0.0), (moved, (high - low) * 0.55 + 1)):
                true = np.array(EXACT[name]) + off
                held[name] += (low <= true) & (true <= high)
    assert min(own.min() for own in inside.values()) >= 41
    assert max(own.max() for own in moved.values()) < 41


def test_sums_are_those_of_the_rows() -> None:
    table = protected()
    answer = (
        table.hierarchy(["female"], keys=dp.public_keys(ROWS.select(["female"]).group_by("female").aggregate([])))
        .agg(n=lambda t: t.count(), visits=lambda t: t.visits.sum())
        .release(epsilon=100)
    )
    assert answer["total"]["visits"][0].as_py() == pytest.approx(sum(ROWS["visits"].to_pylist()), abs=5)
    assert answer["total"]["n"][0].as_py() == pytest.approx(400, abs=2)


def test_the_same_again_is_free() -> None:
    table = protected()
    first = asked(table).release(epsilon=1)
    again = asked(table).release(epsilon=1)
    assert all(first[name].equals(again[name]) for name in LEVELS)
    assert table.budget.spent.epsilon == 1
    asked(table).release(epsilon=1, shares=[1, 2, 3])
    asked(table).release(epsilon=1, integers=True)
    assert table.budget.spent.epsilon == 3
    asked(table).release(epsilon=1, fresh=True)
    assert table.budget.spent.epsilon == 4


def test_the_charge_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    table = protected(budget=dp.Budget(epsilon=1))
    with pytest.raises(BudgetExceeded):
        asked(table).release(epsilon=2)
    assert table.budget.spent.epsilon == 0
    monkeypatch.setattr(DuckDB, "totals", lambda *_: 1 / 0)
    with pytest.raises(EngineError, match="the charge stays spent"):
        asked(table).release(epsilon=1)
    assert table.budget.spent.epsilon == 1


def test_a_release_says_what_it_is() -> None:
    answer = asked(protected()).release(epsilon=1)
    assert list(answer) == LEVELS
    assert len(answer) == 3
    assert repr(answer) == "<levels and their rows: total 1, state 3, county 6 · epsilon 1>"
    assert answer.to_pandas("state").shape == (3, 4)
    receipt = answer.receipt
    assert receipt["guarantee"] == "1-differential privacy for add-remove neighbors"
    assert receipt.charge.epsilon == 1
    assert receipt.private
    assert sum(one.share for one in receipt.measurements) == pytest.approx(1, abs=1e-3)
    assert receipt["groups"] == "1 total, 3 state, 6 county"
    with pytest.raises(InvalidParameter, match="a level of the path"):
        answer["town"]
    with pytest.raises(dp.InvalidQuery, match="for its length"):
        bool(answer)


def test_a_release_is_what_was_explained() -> None:
    question = asked(protected(budget=dp.Budget(rho=1)))
    told = question.explain(rho=0.1)
    answer = question.release(rho=0.1)
    for name in LEVELS:
        widths = (answer[name]["n_high"].to_numpy() - answer[name]["n_low"].to_numpy()) / 2
        assert widths.max() == pytest.approx(told.accuracy[f"n by {name}"].amount)
    assert told["charge"] == answer.receipt["charge"]
    assert "SELECT" in told["sql"]


def test_limits_that_are_to_be_found_are_refused() -> None:
    with pytest.raises(dp.InvalidQuery, match="limits and bounds that are stated"):
        asked(protected(unit="person", max_rows=1), max_groups="auto")


def test_at_a_large_epsilon_answers_are_exact() -> None:
    """Noise whose variance is no float above 0."""
    answer = asked(protected(budget=dp.Budget(epsilon=10**6))).release(epsilon=10**5, integers=True)
    assert {name: answer[name]["n"].to_pylist() for name in LEVELS} == EXACT


def test_each_block_has_its_own_totals() -> None:
    """Of two columns of units, by their limits; the receipt tells of both."""
    table = protected(unit="person", max_groups=2, max_rows=3, budget=dp.Budget(epsilon=10**6))
    groups = table.hierarchy(["female"], keys=dp.public_keys(ROWS.select(["female"]).group_by("female").aggregate([])))
    question = groups.agg(old=lambda t: t.count(where=t.visits > 4), v=lambda t: t.visits.sum())
    answer = question.release(epsilon=10**4, shares=[1, 1])
    assert len(answer.receipt.measurements) == 4
    total = answer["total"].to_pylist()[0]
    assert 0 < total["old"] < total["v"] < sum(ROWS["visits"].to_pylist()) + 1
    assert answer["female"]["v"].to_numpy().sum() == pytest.approx(total["v"], rel=1e-6)
