"""Releases that leave something open: in which order they spend and look, and what comes out."""

from __future__ import annotations

import datetime
import json
from fractions import Fraction
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.answers.stored_answers import findings, plain
from discreet.curator.protected_table import Protected
from discreet.engines.duckdb import DuckDB
from discreet.errors import EngineError
from discreet.language.checked_expressions import Kind
from discreet.planning.open_question_plan import Findings
from discreet.planning.unspecified import UnknownKeys
from discreet.query.table import PrivateTable
from discreet.testing import not_private, splitmix
from discreet.testing.statistics import binomial_p


def visits(people: int = 300, seed: int = 1) -> pa.Table:
    """A few pages that many have seen, one page for each person alone, and amounts."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(people), 4)
    pages = [f"page {n}" for n in rng.integers(0, 5, 3 * people)]
    pages = [page for i in range(people) for page in (*pages[3 * i : 3 * i + 3], f"only {i}")]
    return pa.table({"person": person, "page": pages, "spent": rng.lognormal(3, 1, 4 * people)})


def protect(data: Any = None, **more: Any) -> PrivateTable:
    stated: dict[str, Any] = {"unit": "person", "budget": dp.Budget(epsilon=50, delta=1e-2), "name": "visits"}
    return dp.protect(visits() if data is None else data, **(stated | {"max_groups": 3, "max_rows": 2} | more))


def pages(table: PrivateTable) -> Any:
    return table.group_by("page", keys=dp.UNKNOWN).agg(n=_.count(), people=_.person.nunique())


def test_keys_that_many_have_are_shown_and_those_of_one_are_not() -> None:
    answer = pages(protect()).release(epsilon=3, delta=1e-6)
    assert answer.to_pyarrow()["page"].to_pylist() == [f"page {n}" for n in range(5)]
    assert answer["people"].tolist() == pytest.approx([145] * 5, abs=60)
    assert len(answer) == 5
    assert answer.receipt["charge"] == {"epsilon": "3", "delta": "0.000001"}
    assert answer.receipt["first looks"][0]["what"] == "keys of page"
    assert answer.plot().axes


def test_units_and_values_are_counted_once_under_keys_that_were_found() -> None:
    """Persons, those who meet a condition, and the listed values that they have."""
    person = np.arange(200)
    page, plan = np.where(person < 120, "home", "help"), np.where(person % 2, "a", "b")
    plan[page == "help"] = "c"
    rows = pa.table({"person": [*person, *person], "page": [*page, *page], "plan": [*plan, *plan]})
    table = protect(rows, max_groups=1, max_rows=1, keys={"plan": ["a", "b", "c", "d"]}, budget=dp.Budget(
        epsilon=10**4, delta=1e-2
    ))  # fmt: skip
    asked = table.group_by("page", keys=dp.UNKNOWN).agg(
        people=_.person.nunique(), some=_.person.nunique(where=_.plan == "a"), plans=_.plan.nunique()
    )
    answer = asked.release(epsilon=1000, delta=1e-3).to_pyarrow()
    assert [answer[name].to_pylist() for name in ("page", "people", "some", "plans")] == [
        ["help", "home"], [80, 120], [0, 60], [1, 2],
    ]  # fmt: skip


def test_keys_come_out_in_their_own_order() -> None:
    """Whatever the order of the rows, and whichever key was first."""
    data = visits()
    for order in (np.arange(1200), np.arange(1200)[::-1], np.random.default_rng(2).permutation(1200)):
        answer = pages(protect(data.take(order))).release(epsilon=20, delta=1e-3)
        found = answer.to_pyarrow()["page"].to_pylist()
        assert found == sorted(found)
        assert set(found) >= {f"page {n}" for n in range(5)}


@pytest.mark.long
@pytest.mark.parametrize(
    "stated",
    [{}, {"bounds": {"spent": "auto"}}, {"max_rows": "auto"}, {"bounds": {"spent": (0, 9)}, "max_rows": 1}],
    ids=["keys", "bounds too", "limits too", "bounded"],
)
def test_a_receipt_says_what_the_ledger_added_up(stated: dict[str, Any]) -> None:
    """Of all looks together, not of the last one alone."""
    table = protect(budget=dp.Budget(rho=5, delta=1e-2), **stated)
    asked = {"n": _.count()} | ({"s": _.spent.sum()} if "bounds" in stated else {})
    answer = table.group_by("page", keys=dp.UNKNOWN).agg(**asked).release(epsilon=2, delta=1e-6)
    found, spent = answer.receipt["concentrated"], table.budget.spent
    assert (Fraction(found["rho"]), Fraction(found["delta"])) == (spent.rho, spent.delta)
    assert spent.delta == Fraction(1, 10**6)


def test_a_budget_in_rho_pays_for_looks_in_rho() -> None:
    table = protect(budget=dp.Budget(rho=1, delta=1e-5), bounds={"spent": "auto"}, max_rows="auto")
    asked = table.group_by("page", keys=dp.UNKNOWN).agg(n=_.count(), s=_.spent.sum())
    assert table.budget.remaining_queries(asked, rho=0.5, delta=1e-6) == 2
    answer = asked.release(rho=0.5, delta=1e-6, report="clipped")
    assert (table.budget.spent.rho, table.budget.spent.delta) == (Fraction(1, 2), Fraction(1, 10**6))
    assert answer.receipt["charge"] == {"rho": "0.5", "delta": "0.000001"}
    assert answer.receipt["guarantee"].startswith("(0.5, 0.000001)-zero-concentrated differential privacy")
    assert asked.release(rho=0.5, delta=1e-6, report="clipped").to_pyarrow().equals(answer.to_pyarrow())
    assert len(table.budget.entries()) == 1


@pytest.mark.long
def test_a_repeat_is_free_and_the_same_to_the_byte() -> None:
    table = protect(bounds={"spent": "auto"}, max_rows="auto")
    asked = table.group_by("page", keys=dp.UNKNOWN).agg(s=_.spent.sum())
    first = asked.release(epsilon=1, delta=1e-6)
    spent = table.budget.spent
    again = table.group_by("page", keys=dp.UNKNOWN).agg(s=_.spent.sum()).release(epsilon=1, delta=1e-6)
    assert again.to_pyarrow().equals(first.to_pyarrow())
    assert again.receipt == first.receipt
    assert table.budget.spent == spent
    assert (spent.epsilon, spent.delta) == (Fraction(1), Fraction(1, 10**6))
    for other in ({"delta": 1e-7}, {"epsilon": 2}, {"fresh": True}):
        asked.release(**({"epsilon": 1, "delta": 1e-6} | other))
    assert len(table.budget.entries()) == 4


def lone(table: PrivateTable) -> Any:
    """Persons by the last page that each has seen."""
    return table.per_unit(page=_.page.max()).group_by("page", keys=dp.UNKNOWN).agg(people=_.count())


def test_counts_that_found_their_keys_are_the_answer() -> None:
    """Each beside its own key, whatever the order of the rows; and the same again for nothing."""
    data = pa.table({"person": np.arange(1500), "page": [f"page {int(i**0.5) % 5}" for i in range(1500)]})
    exact = dict(sorted((value["values"], value["counts"]) for value in data["page"].value_counts().to_pylist()))
    rng = np.random.default_rng(4)
    for order in (np.arange(1500), rng.permutation(1500)):
        table = protect(data.take(order), max_groups=1)
        answer = lone(table).release(epsilon=20, delta=1e-6)
        assert answer.to_pyarrow()["page"].to_pylist() == list(exact)
        assert answer["people"].tolist() == pytest.approx(list(exact.values()), abs=2)
    assert lone(table).release(epsilon=20, delta=1e-6).to_pyarrow().equals(answer.to_pyarrow())
    assert table.budget.spent.epsilon == 20
    fresh = lone(table).release(epsilon=20, delta=1e-6, fresh=True)
    assert len(fresh) == 5
    assert (table.budget.spent.epsilon, table.budget.spent.delta) == (Fraction(40), Fraction(2, 10**6))
    [look] = answer.receipt["first looks"]
    assert (look["mechanism"], look["epsilon"], look["delta"]) == ("noisy counts of 2 or more", "0", "0.000001")
    assert "given that it is shown" in answer.receipt["intervals"]
    assert answer.receipt["concentrated"]["delta"] == "0.000001"
    assert lone(protect(data.slice(0, 0))).release(epsilon=1, delta=1e-6).to_pyarrow().num_rows == 0


def test_sql_asks_the_same() -> None:
    """By name and by number, and after the noise; what was answered before is free."""
    table = dp.protect(visits(), unit=dp.ROW, budget=dp.Budget(epsilon=9, delta=1e-2), name="visits")
    first = table.group_by("page", keys=dp.UNKNOWN).agg(n=_.count()).release(epsilon=3, delta=1e-6)
    text = "SELECT page, COUNT(*) AS n FROM visits GROUP BY 1"
    again = dp.sql(text, keys=dp.UNKNOWN, visits=table).release(epsilon=3, delta=1e-6)
    most = dp.sql(f"{text} ORDER BY n DESC LIMIT 1", keys=dp.UNKNOWN, visits=table)
    assert again.to_pyarrow().equals(first.to_pyarrow())
    assert most.release(epsilon=3, delta=1e-6)["n"].tolist() == [max(first["n"].tolist())]
    assert first.receipt["first looks"][0]["threshold"] == 6
    assert table.budget.spent.epsilon == 3


def test_intervals_of_found_counts_go_through_steps() -> None:
    """Of a count near the threshold, and of what is calculated from it, the ends are far; farther for all at once."""
    data = pa.table({"person": np.arange(6000), "page": [f"{i // 20}" for i in range(6000)]})
    answer = lone(not_private(protect(data, max_groups=1), seed=1)).release(epsilon=1, delta=1e-6)
    steps = answer.mutate(less=_.people * -2 + 7, root=_.people.sqrt())
    shown = steps.to_pandas()
    near = shown["people"] <= 18
    assert 10 < near.sum() < len(shown) - 10
    assert (shown["people_low"][near] == 1).all()
    assert (shown["people_low"][~near] >= 15).all()
    assert (shown["less_high"] == -2 * shown["people_low"] + 7).all()
    assert (shown["less_low"] == -2 * shown["people_high"] + 7).all()
    assert shown["root_low"].to_numpy() == pytest.approx(np.sqrt(shown["people_low"]))
    missed = ((shown["people_low"] > 20) | (shown["people_high"] < 20)).sum()
    assert binomial_p(int(missed), len(shown), 0.05) > 1e-6 or missed < 0.05 * len(shown)
    together = answer.intervals(0.95, simultaneous=True).to_pandas()
    assert ((together["people_low"] <= 20) & (together["people_high"] >= 20)).all()


def test_nothing_to_show_is_an_answer() -> None:
    data = visits().filter(pa.array([i % 4 == 3 for i in range(1200)]))
    for rows in (data, data.slice(0, 0)):
        table = protect(rows)
        answer = pages(table).release(epsilon=1, delta=1e-9)
        assert len(answer) == 0
        assert answer.to_pyarrow().num_rows == 0
        assert answer.to_pyarrow().schema.names[0] == "page"
        assert "page" in repr(answer)
        assert "page" in answer._repr_html_()
        assert answer.intervals(0.9, simultaneous=True).num_rows == 0
        assert answer["n"].size == answer.to_pandas().shape[0] == 0
        assert answer.plot().axes
        assert pages(table).release(epsilon=1, delta=1e-9).to_pyarrow().num_rows == 0


class Watched(DuckDB):
    """An engine that notes what was spent at each look, and fails at one of them."""

    def __init__(self, budget: dp.Budget, fails_at: int) -> None:
        super().__init__(visits(), None)
        self.budget, self.fails_at, self.spent = budget, fails_at, list[Fraction]()

    def look(self) -> None:
        self.spent.append(self.budget.spent.epsilon)
        if len(self.spent) == self.fails_at:
            raise EngineError("failed")

    def run_statement(self, *arguments: Any) -> pa.Table:
        self.look()
        return super().run_statement(*arguments)

    def totals(self, *arguments: Any) -> Any:
        self.look()
        return super().totals(*arguments)


@pytest.mark.parametrize("fails_at", [0, 1, 3])
def test_all_is_charged_before_the_first_look(fails_at: int) -> None:
    plain_table = protect(bounds={"spent": "auto"})
    source: Any = plain_table._source
    engine = Watched(plain_table.budget, fails_at)
    table = PrivateTable.of(Protected(engine, source.declaration, plain_table.budget))
    asked = table.group_by("page", keys=dp.UNKNOWN).agg(s=_.spent.sum())
    if fails_at:
        with pytest.raises(EngineError):
            asked.release(epsilon=1, delta=1e-6)
    else:
        asked.release(epsilon=1, delta=1e-6)
    assert engine.spent == [Fraction(1)] * (fails_at or 3)
    assert table.budget.spent.epsilon == 1


@pytest.mark.parametrize("fails_at", [0, 1])
def test_a_lone_count_is_charged_before_its_one_look(fails_at: int) -> None:
    plain_table = protect()
    source: Any = plain_table._source
    engine = Watched(plain_table.budget, fails_at)
    asked = lone(PrivateTable.of(Protected(engine, source.declaration, plain_table.budget)))
    if fails_at:
        with pytest.raises(EngineError):
            asked.release(epsilon=1, delta=1e-6)
    else:
        asked.release(epsilon=1, delta=1e-6)
    assert engine.spent == [Fraction(1)]
    assert plain_table.budget.spent.epsilon == 1


def test_what_the_budget_has_not_is_refused_unread() -> None:
    table = protect(budget=dp.Budget(epsilon=10, delta=1e-9))
    with pytest.raises(dp.BudgetExceeded):
        pages(table).release(epsilon=1, delta=1e-6)
    assert table.budget.spent.epsilon == 0
    with pytest.raises(dp.BudgetExceeded):
        pages(protect(budget=dp.Budget(epsilon=10))).release(epsilon=1, delta=1e-6)


def test_bounds_come_from_noisy_counts() -> None:
    """Four units are too few for any bin to count, beside noise of scale 20: whatever they have, bounds are (0, 1)."""
    for size in (1.0, 1e6):
        data = pa.table({"person": [1, 2, 3, 4], "spent": [size] * 4})
        answer = not_private(protect(data, bounds={"spent": "auto"}), seed=5).agg(s=_.spent.sum()).release(epsilon=0.5)
        assert answer.receipt["found"] == {"bounds": {"spent": ["0", "1"]}}


def test_bounds_and_limits_that_were_found_are_in_the_receipt() -> None:
    """With scripted noise: by chance, a limit may be far larger once in a hundred times."""
    table = protect(visits(2000), bounds={"spent": "auto"}, max_rows="auto", max_groups="auto")
    source: Any = table._source
    source._words = lambda: splitmix(1)
    answer = table.group_by("page", keys=dp.UNKNOWN).agg(m=_.spent.mean()).release(epsilon=4, delta=1e-6)
    found = answer.receipt["found"]
    assert found["max_groups"] in (2, 4)
    assert found["max_rows"] in (1, 2, 4)
    assert 32 <= float(found["bounds"]["spent"][1]) <= 512
    assert answer.receipt["limits"] == {"max_groups": found["max_groups"], "max_rows": found["max_rows"]}
    assert answer["m"].tolist() == pytest.approx([33] * 5, abs=8)


def test_reports_tell_of_clipping_and_weights() -> None:
    """Everybody has four rows, nearly everybody on two pages or more; nearly half have spent 60 once."""
    table = protect(visits(2000), bounds={"spent": (0, 60)}, max_rows=1, max_groups=1)
    asked = table.group_by("page", keys=dp.UNKNOWN).agg(s=_.spent.sum())
    answer = asked.release(epsilon=8, delta=1e-6, report=("clipped", "weighted"))
    assert answer.report == answer.receipt["report"]
    clipped = answer.report["clipped"]["spent"]
    assert clipped["high"]["share"] == pytest.approx(0.45, abs=0.06)
    assert clipped["low"]["share"] < 0.03
    assert answer.report["weighted"]["groups"]["share"] == pytest.approx(0.96, abs=0.04)
    assert table.budget.spent.epsilon == 8
    assert asked.release(epsilon=8, delta=1e-6, report=("weighted", "clipped")).report == answer.report
    assert table.budget.spent.epsilon == 8
    known = table.agg(s=_.spent.sum()).release(epsilon=4, report="clipped")
    assert known.report["clipped"]["spent"]["high"]["share"] == pytest.approx(0.45, abs=0.06)
    assert table.agg(s=_.spent.sum()).release(epsilon=4).report == {}


def test_values_whose_texts_are_the_same_have_a_report_each() -> None:
    """Lists of more than eight constants are cut: of everybody the first value is 60, and the other 0."""
    data = pa.table({"person": list(range(400)), "spent": [60.0] * 400})
    asked = [ibis.ifelse(_.spent.isin([*range(9), last]), _.spent, 0) for last in (60, 70)]
    table = protect(data, bounds={"spent": (0, 50)}, max_rows=1)
    first, second = (one.clip(0, 40) for one in asked)
    report = table.agg(a=first.sum(), b=second.sum()).release(epsilon=40, report="clipped").report["clipped"]
    assert len(report) == 2
    bounds = protect(data, bounds={"spent": "auto"}, max_rows=1).agg(a=asked[0].sum(), b=asked[1].sum())
    found = bounds.release(epsilon=40).receipt["found"]["bounds"]
    first_high, second_high = (Fraction(high) for _low, high in found.values())
    assert first_high >= 64  # noise in an empty bin above it is taken for units once in some sixty releases
    assert second_high < 1


def test_noise_is_foreseeable_in_tests_and_said_to_be() -> None:
    first, second = (
        not_private(protect(bounds={"spent": "auto"}), seed=3)
        .group_by("page", keys=dp.UNKNOWN)
        .agg(s=_.spent.sum())
        .release(epsilon=1, delta=1e-6)
        for _i in range(2)
    )
    assert first.to_pyarrow().equals(second.to_pyarrow())
    assert first.receipt["private"] is False


def test_keys_of_every_kind_are_stored_with_the_answer() -> None:
    day, moment = datetime.date(2020, 2, 1), datetime.datetime(2020, 2, 1, 3, 4, 5, 6)  # noqa: DTZ001 (keys have no zone)
    columns = UnknownKeys(tuple("abcde"), (Kind.TEXT, Kind.INTEGER, Kind.BOOLEAN, Kind.DATE, Kind.TIMESTAMP))
    row = ("é\x00\U0010ffff", -(2**63), True, day, moment)
    found = Findings({"max_rows": 3}, ((Fraction(0), Fraction(1, 2**30)),), (row,))
    assert findings(json.loads(json.dumps(plain(found))), columns) == found
    assert findings(json.loads(json.dumps(plain(Findings()))), None) == Findings()


def test_keys_of_every_kind_are_found() -> None:
    size = 400
    day = datetime.date(2020, 2, 1)
    data = pa.table(
        {
            "person": range(size),
            "day": [day if i % 2 else None for i in range(size)],
            "at": pa.array([datetime.datetime(2020, 1, 1, i % 2) for i in range(size)], pa.timestamp("ns", "UTC")),  # noqa: DTZ001 (as above)
            "hot": [bool(i % 2) for i in range(size)],
            "number": pa.array([2**40 + i % 2 for i in range(size)], pa.uint64()),
        }
    )
    table = protect(data)
    answers: dict[str, list[Any]] = {
        "day": [day],
        "at": [datetime.datetime(2020, 1, 1, h) for h in (0, 1)],  # noqa: DTZ001 (keys have no zone)
        "hot": [False, True],
        "number": [2**40, 2**40 + 1],
    }
    for name, wanted in answers.items():
        answer = table.group_by(name, keys=dp.UNKNOWN, max_groups=1).agg(n=_.count()).release(epsilon=2, delta=1e-6)
        assert answer.to_pyarrow()[name].to_pylist() == wanted
        assert answer["n"].tolist() == pytest.approx([200] * len(wanted), abs=40)
