"""`release_log` as its users meet it: same columns out, charged first, refused before anything is read."""

from __future__ import annotations

import datetime
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

import discreet as dp
from discreet.audit import replay
from discreet.errors import SourceWarning
from discreet.testing import not_private
from discreet.testing.neighbors import rows_of

SURE: dict[str, Any] = {"epsilon": 8, "delta": 1e-6}


def log(users: int = 120, kind: pa.DataType | None = None) -> pa.Table:
    """Everybody visits the first page 3 times, every second user the other."""
    who = [*range(users), *range(0, users, 2)]
    items = ["/home"] * users + ["/news"] * (users // 2)
    return pa.table({"who": pa.array(who).cast(kind or pa.int64()), "page": items, "hits": [3] * len(who)})


def budget(**stated: Any) -> dp.Budget:
    return dp.Budget(**({"epsilon": 100, "delta": 0.9} | stated))


def release(table: Any = None, **stated: Any) -> dp.LogRelease:
    facts = {"user": "who", "item": "page", "count": "hits", "budget": budget(), "max_items": 2, "max_count": 5}
    return dp.release_log(log() if table is None else table, **{**facts, **SURE, **stated})


def test_the_same_columns_come_out() -> None:
    released = release()
    rows = released.to_pyarrow()
    assert rows.schema.equals(log().schema)
    assert len(released) == rows.num_rows
    assert released.items["page"].to_pylist() == ["/home", "/news"]
    assert released.items["users"].to_pylist() == pytest.approx([120, 60], abs=15)
    sums = rows.group_by("page").aggregate([("hits", "sum"), ("who", "count")]).sort_by([("hits_sum", "descending")])
    assert sums["hits_sum"].to_pylist() == released.items["hits"].to_pylist()
    assert sums["who_count"].to_pylist() == released.items["users"].to_pylist()


def test_text_users_become_text() -> None:
    rows = release(log(kind=pa.string())).to_pyarrow()
    assert rows.schema.field("who").type == pa.string()
    assert rows["who"][0].as_py() == "user 1"


def test_without_counts_none_come_out() -> None:
    released = release(count=None, max_count=None)
    assert released.to_pyarrow().column_names == ["who", "page"]
    assert released.receipt["limits"] == {"max_items": 2, "max_count": 1}


def test_limits_that_nobody_states_are_ten_or_those_of_the_table() -> None:
    assert release(max_items=None, max_count=None).receipt["limits"] == {"max_items": 10, "max_count": 10}
    people = dp.protect(log(), unit="who", max_groups=3, max_rows=4, budget=budget(), name="log")
    released = dp.release_log(people, user="who", item="page", count="hits", **SURE)
    assert released.receipt["limits"] == {"max_items": 3, "max_count": 4}


def test_it_is_charged_and_a_repeat_is_free() -> None:
    people = dp.protect(log(), unit="who", budget=budget(), name="log")
    first = dp.release_log(people, user="who", item="page", **SURE)
    assert (people.budget.spent.epsilon, people.budget.spent.delta) == (Fraction(8), Fraction(1, 10**6))
    again = dp.release_log(people, user="who", item="page", **SURE)
    assert people.budget.spent.epsilon == 8
    assert again.items.equals(first.items)
    assert again.receipt == first.receipt
    dp.release_log(people, user="who", item="page", fresh=True, **SURE)
    assert people.budget.spent.epsilon == 16


def test_without_a_budget_the_call_is_the_whole_spend(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exactly its epsilon and delta, all of them spent; the receipt says so, and only then."""
    made: list[dp.Budget] = []

    def watched(table: Any, *, unit: str, budget: dp.Budget) -> dp.PrivateTable:
        made.append(budget)
        return dp.protect(table, unit=unit, budget=budget)

    monkeypatch.setattr("discreet.logs.release_log.protect", watched)
    stated: dict[str, Any] = {"user": "who", "item": "page", "count": "hits", "epsilon": 0.1, "delta": 0.3}
    released = dp.release_log(log(), **stated)
    assert (made[0].spent.epsilon, made[0].spent.delta) == (Fraction(1, 10), Fraction(3, 10))
    assert made[0].remaining.epsilon == 0
    assert released.receipt["budget"].startswith("made for this call, exactly its epsilon and delta, and spent by it")
    assert released.receipt["charge"] == {"epsilon": "0.1", "delta": "0.3"}
    assert "budget" not in dp.release_log(log(), budget=budget(), **stated).receipt
    people = dp.protect(log(), unit="who", budget=budget(), name="log")
    assert "budget" not in dp.release_log(people, **stated).receipt


def test_without_a_budget_every_call_is_a_further_release() -> None:
    """The deviation of the noise is above 100: seven draws are the same with a probability below 250 ** -6 = 4e-15."""
    table = pa.table({"who": list(range(9000)), "page": ["/home"] * 9000})
    facts: dict[str, Any] = {"user": "who", "item": "page", "epsilon": 0.1, "delta": 1e-6}
    drawn = {dp.release_log(table, **facts).items["users"][0].as_py() for _ in range(7)}
    assert len(drawn) > 1


def test_any_kind_of_table_is_released_in_one_call_and_a_file_not_twice_unwarned(tmp_path: Any) -> None:
    import ibis
    import polars as pl
    import pyarrow.parquet as pq

    pq.write_table(log(), file := tmp_path / "log.parquet")
    facts: dict[str, Any] = {"user": "who", "item": "page", "count": "hits", "max_items": 2, "max_count": 5, **SURE}
    inside = ibis.duckdb.connect().create_table("log", log())
    for table in (log(), log().to_pandas(), pl.from_arrow(log()), file, inside):
        released = dp.release_log(table, **facts)
        assert released.items["page"].to_pylist() == ["/home", "/news"]
        assert released.to_pyarrow().column_names == ["who", "page", "hits"]
    with pytest.warns(SourceWarning, match="what the first one paid for is not counted"):
        dp.release_log(file, **facts)


def test_a_ledger_keeps_it(tmp_path: Any) -> None:
    path = tmp_path / "spent.db"
    facts = {"epsilon": 10, "delta": 1e-3, "ledger": path}
    tables = [dp.protect(log(), unit="who", budget=dp.Budget(**facts), name="log") for _ in range(2)]
    first, second = (dp.release_log(table, user="who", item="page", **SURE) for table in tables)
    assert first.to_pyarrow().equals(second.to_pyarrow())
    assert tables[0].budget.spent.epsilon == 8


def test_different_mechanisms_are_different_releases() -> None:
    people = dp.protect(log(), unit="who", budget=budget(), name="log")
    for stated in ({"max_items": 2}, {"max_items": 3}, {"count": "hits"}, {"delta": 1e-5}):
        dp.release_log(people, user="who", item="page", **{**SURE, **stated})
    assert len(people.budget.entries()) == 4
    assert people.budget.entries()[0].what == "log of page by who (sound)"


def test_filters_hold() -> None:
    people = dp.protect(log(), unit="who", bounds={"hits": (0, 9)}, budget=budget(), name="log")
    none = dp.release_log(people.filter(lambda t: t.hits > 5), user="who", item="page", **SURE)
    assert len(none) == 0
    assert none.to_pyarrow().column_names == ["who", "page"]


@pytest.mark.parametrize(
    "items",
    [
        pa.array([1, 2] * 60),
        pa.array([True, False] * 60),
        pa.array([datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)] * 60),
        pa.array([datetime.datetime(2020, 1, 1)] * 120, pa.timestamp("us")),  # noqa: DTZ001 (naive on purpose)
    ],
)
@pytest.mark.parametrize("method", ["sound", "multinomial"])
def test_items_of_every_kind(items: pa.Array, method: str) -> None:
    table = pa.table({"who": list(range(120)), "page": items})
    facts: dict[str, Any] = {"user": "who", "item": "page", **SURE}
    if method == "multinomial":
        released: dp.LogRelease = dp.sample_own_log(table, **facts | {"delta": 0.5})
    else:
        released = dp.release_log(table, budget=budget(), max_items=1, **facts)
    assert len(released) > 0
    assert set(released.to_pyarrow()["page"].to_pylist()) <= set(items.to_pylist())


@pytest.mark.long
@pytest.mark.parametrize(
    "table",
    [
        pa.table(
            {"who": pa.array([], pa.int64()), "page": pa.array([], pa.string()), "hits": pa.array([], pa.int64())}
        ),
        pa.table({"who": [None, 1], "page": [None, "a"], "hits": pa.array([1, None], pa.int64())}),
        pa.table({"who": [1, 2], "page": ["a", "b"], "hits": [-5, 0]}),
        pa.table({"who": [1, 2], "page": ["a", "b"], "hits": [7, 1]}),
        pa.table({"who": [1.0, float("nan")], "page": ["a", "a"], "hits": [float("nan"), float("inf")]}),
    ],
    ids=["empty", "nulls", "negative", "alone", "not numbers"],
)
def test_poor_logs_give_empty_answers(table: pa.Table) -> None:
    """Of a plain table and of a protected one: the charge is the same as of any other log."""
    more: dict[str, Any] = {"epsilon": 1, "delta": 1e-9}
    sampled = dp.sample_own_log(table, user="who", item="page", count="hits", **more)
    assert (len(sampled), sampled.to_pyarrow().column_names) == (0, ["who", "page", "hits"])
    people = dp.protect(table, unit="who", budget=budget(), name="log")
    for log_of in (table, people):
        released = dp.release_log(log_of, user="who", item="page", count="hits", **more)
        assert len(released) == 0
        assert released.to_pyarrow().column_names == ["who", "page", "hits"]
        assert "0 rows" in repr(released)
    assert people.budget.spent.epsilon == 1


REFUSED: dict[str, dict[str, Any]] = {
    "what a log is released with": {"method": "hong"},
    "a number above 0": {"epsilon": 0},
    "a finite number": {"epsilon": float("nan")},
    "a delta between 0 and 1": {"delta": 0},
    "a delta between 0 and 1, got delta=1": {"delta": 1},
    "a number, got delta": {"delta": "small"},
    "a delta of at least 1e-50": {"delta": Fraction(1, 10**60)},
    "an epsilon of at most 1,024": {"epsilon": 2000},
    "a column of the log": {"item": "pge"},
    "a column of the log, got count": {"count": "hit"},
    "different columns": {"item": "hits"},
    "a whole number of 1 or more, got max_items=0": {"max_items": 0},
    "a whole number of 1 or more, got max_count=2.5": {"max_count": 2.5},
    "a max_items of at most 10,000": {"max_items": 10_001},
    "a max_count of at most 1,000,000": {"max_count": 10**7},
    "no max_count without counts": {"count": None},
    "what a log is released with, got objective": {"objective": "size"},
    "dp.sample_own_log": {"acknowledge": "counts-are-not-private"},
    "what a log is released with, got method='multinomial'": {"method": "multinomial"},
    "did you mean 'budget'": {"bugdet": 3},
    "a budget": {"budget": 3},
    "a known column, got user='whom'": {"user": "whom"},
    "the name of a column": {"user": 3},
    "items of whole numbers, text or dates": {"item": "share"},
    "a count of numbers": {"count": "page", "item": "hits"},
}


@pytest.mark.parametrize("what", REFUSED)
def test_refusals_come_before_anything_is_spent(what: str) -> None:
    own = budget()
    table = log().append_column("share", pa.array([0.5] * 180))
    with pytest.raises(dp.InvalidParameter, match=r"^Expected ") as refused:
        release(table, **{"budget": own, **REFUSED[what]})
    assert what in str(refused.value)
    assert "Hint: " in str(refused.value)
    assert own.spent.epsilon == 0


def test_no_protected_table_is_sampled() -> None:
    """The multinomial release is not private, so it is none: refused before and behind, and nothing is spent."""
    people = dp.protect(log(), unit="who", budget=budget(), name="log")
    for own in (people, people.filter(lambda t: t.hits > 1)):
        with pytest.raises(dp.InvalidParameter, match=r"a log of your own(?s:.*)dp.release_log"):
            dp.sample_own_log(own, user="who", item="page", epsilon=1, delta=0.5)
        stated: dict[str, Any] = {"method": "multinomial", "acknowledge": "counts-are-not-private"}
        with pytest.raises(dp.InvalidParameter, match=r"dp.sample_own_log takes a log of your own"):
            dp.release_log(own, user="who", item="page", **SURE, **stated)
    assert people.budget.spent == dp.Budget(epsilon=1, delta=0.9).spent


def test_units_have_to_be_the_users() -> None:
    for unit in ("page", dp.ROW, ["who", "page"]):
        people = dp.protect(log(), unit=unit, budget=budget(), name="log")
        with pytest.raises(dp.InvalidParameter, match="the protected unit"):
            dp.release_log(people, user="who", item="page", **SURE)
    people = dp.protect(log(), unit="who", budget=budget(), name="log")
    with pytest.raises(dp.InvalidParameter, match="no budget beside a protected table"):
        dp.release_log(people, user="who", item="page", budget=budget(), **SURE)


def test_what_does_not_fit_the_budget_is_refused() -> None:
    people = dp.protect(log(), unit="who", budget=dp.Budget(epsilon=9), name="log")
    with pytest.raises(dp.BudgetExceeded):
        dp.release_log(people, user="who", item="page", **SURE)
    assert people.budget.spent.epsilon == 0


def test_replace_one_costs_more_noise() -> None:
    sds = []
    replaced: dict[str, Any] = {"neighbors": "replace-one", "units": 120}
    for facts in ({}, replaced):
        people = dp.protect(log(), unit="who", budget=budget(), name="log", **facts)
        receipt = dp.release_log(people, user="who", item="page", max_items=2, **SURE).receipt
        sds.append(receipt["users_sd"])
        assert receipt["guarantee"].startswith("(8, 0.000001)")
    assert sds[1] > 1.9 * sds[0]


COLUMNS = (("who", pa.int64()), ("page", pa.string()), ("hits", pa.float64()))


@pytest.mark.long
@settings(max_examples=8)
@given(rows_of(COLUMNS, most=10))
def test_nothing_but_noise_tells_hostile_logs_apart(rows: Any) -> None:
    """Whatever the rows are, an answer of the same columns comes, and at this price it is empty."""
    stated: dict[str, Any] = {"epsilon": 1, "delta": 1e-9}
    sampled = dp.sample_own_log(rows.to_arrow(), user="who", item="page", count="hits", **stated)
    for released in (release(rows.to_arrow(), max_items=None, max_count=None, **stated), sampled):
        assert released.to_pyarrow().column_names == ["who", "page", "hits"]
        assert len(released) == 0


def test_neighbors_move_the_totals_as_the_screen_requires() -> None:
    """From rows to what is stored, K = 1: over logs of two other users and two pages, a user with any rows moves the
    exact totals to those of one of the neighbors whose laws `test_thresholds` enumerates.
    """
    for others in (("a", "ab"), ("b", "b")):
        rows = [(user, page) for user, pages in enumerate(others) for page in pages]
        for pages in ("a", "abb"):
            both = [rows, [*rows, *((9, page) for page in pages)]]
            tables = [pa.table({"who": [u for u, _ in log], "page": [p for _, p in log]}) for log in both]
            less, more = (exact(table) for table in tables)
            assert sum(more.values()) - sum(less.values()) == 1
            assert sum(abs(more.get(page, 0) - less.get(page, 0)) for page in "ab") == 1


def exact(table: pa.Table) -> dict[str, int]:
    """The users of each page that the engine finds, one page a user."""
    people = dp.protect(table, unit="who", budget=budget(), name="log")
    source: Any = people._source
    seen: list[pa.Table] = []
    look = source._engine.run_statement

    def watched(*args: Any) -> pa.Table:
        seen.append(look(*args))
        return seen[-1]

    source._engine.run_statement = watched
    dp.release_log(people, user="who", item="page", max_items=1, **SURE)
    return {row["item"]: row["users"] for row in seen[0].to_pylist()}


def test_scripted_noise_is_marked() -> None:
    people = not_private(dp.protect(log(), unit="who", budget=budget(), name="log"), seed=3)
    released = dp.release_log(people, user="who", item="page", **SURE)
    assert released.receipt["private"] is False
    assert "NOT PRIVATE" in repr(released)


def test_the_pages_of_a_real_log_come_out_in_order() -> None:
    chance = np.random.default_rng(4)
    pages = [f"/{i}" for i in range(30)]
    weights = 1 / np.arange(1, 31)
    rows = [
        (user, page)
        for user in range(2000)
        for page in chance.choice(pages, 3, replace=False, p=weights / weights.sum())
    ]
    table = pa.table({"who": [u for u, _ in rows], "page": [p for _, p in rows]})
    released = dp.release_log(table, user="who", item="page", max_items=3, epsilon=2, delta=1e-6, budget=budget())
    assert released.items["page"].to_pylist()[:2] == ["/0", "/1"]
    assert released.items.num_rows >= 20
    assert released.to_pyarrow()["who"].to_pylist()[-1] <= 2200


@pytest.mark.long
def test_record_and_replay_find_nothing_to_tell_neighbors_by() -> None:
    def released(rows: pa.Table) -> Any:
        answer = dp.release_log(
            rows, user="who", item="page", count="hits", epsilon=1, delta=1e-6, max_items=2, max_count=5
        )
        return answer.to_pandas(), repr(answer.items), answer.receipt["guarantee"]

    rows = [(1, "/a", 2), (1, "/b", 9), (1, "/c", 1), (2, "/a", 1), (3, "/only-mine", 3), (4, "/a", 2)]
    table = pa.table(dict(zip(("who", "page", "hits"), map(list, zip(*rows, strict=True)), strict=True)))
    report = replay(released, table, unit="who", epsilon=1, delta=1e-6)
    assert report.ok, str(report)


@pytest.mark.long
def test_record_and_replay_see_through_multinomial_sampling() -> None:
    def released(rows: pa.Table) -> Any:
        return len(dp.sample_own_log(rows, user="who", item="page", epsilon=1, delta=0.5))

    table = pa.table({"who": [1, 2, 3, 4, 5], "page": ["/a"] * 5})
    assert not replay(released, table, unit="who").ok


def test_a_log_at_a_rho() -> None:
    own = pa.table({"who": list(range(90)), "page": ["/home"] * 90})
    released = dp.release_log(own, user="who", item="page", rho=32, delta=1e-6, max_items=1)
    assert released.receipt["charge"] == {"rho": "32", "delta": "0.000001"}
    assert released.receipt["guarantee"].startswith("(32, 0.000001)-zero-concentrated differential privacy for ")
    assert released.items["page"].to_pylist() == ["/home"]
    table = dp.protect(own, unit="who", budget=dp.Budget(rho=40, delta=1e-6), name="log")
    dp.release_log(table, user="who", item="page", rho=32, delta=1e-6, max_items=1)
    assert (table.budget.spent.rho, table.budget.spent.delta) == (Fraction(32), Fraction(1, 10**6))
