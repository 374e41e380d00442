"""The table of the examples, and noise that a test can foresee: always marked, always paid for."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
import discreet.testing as room
from discreet.noise.entropy import is_private
from discreet.testing import not_private, people, visits


def ages(budget: dp.Budget | None = None) -> dp.PrivateTable:
    rows = pa.table({"age": [30, 40, 50]})
    budget = dp.Budget(epsilon=10) if budget is None else budget
    return dp.protect(rows, unit=dp.ROW, bounds={"age": (0, 110)}, budget=budget, name="ages")


def test_the_table_of_the_examples() -> None:
    table = people()
    assert table.columns == ("person", "plan", "age", "visits")
    assert table.budget.remaining.epsilon == 10
    assert repr(table).startswith("<private table 'people', protecting person: ")
    assert visits().num_rows == 300
    assert set(visits()["plan"].to_pylist()) == {"free", "25%", "50%"}
    assert 0 < visits()["age"].null_count < 50


def test_each_call_has_a_budget_of_its_own() -> None:
    first, second = people(), people()
    first.count().release(epsilon=10)
    assert second.budget.spent.epsilon == 0


def test_its_releases_are_marked_and_foreseen() -> None:
    answers = [people(seed).count().release(epsilon=1) for seed in (0, 0, 1)]
    assert [answer.receipt["private"] for answer in answers] == [False] * 3
    assert answers[0]["count"] == answers[1]["count"] != answers[2]["count"]


def test_the_noise_has_its_full_size() -> None:
    counts = {int(people(seed).count().release(epsilon=0.01)["count"][0]) for seed in range(5)}
    assert len(counts) == 5
    assert max(counts) - min(counts) > 20


def test_releases_in_turn_differ() -> None:
    table = not_private(ages(), seed=5)
    first, second = (table.agg(s=table.age.sum()).release(epsilon=1, fresh=True)["s"][0] for _ in range(2))
    again = not_private(ages(), seed=5)
    assert [again.agg(s=again.age.sum()).release(epsilon=1, fresh=True)["s"][0] for _ in range(2)] == [first, second]
    assert first != second


def test_the_budget_is_charged_all_the_same() -> None:
    budget = dp.Budget(epsilon=1)
    table = not_private(ages(budget))
    assert table.budget is budget
    table.count().release(epsilon=0.75)
    with pytest.raises(dp.BudgetExceeded):
        table.filter(table.age > 1).count().release(epsilon=0.75)


def test_any_step_may_be_made_foreseeable_and_the_original_stays_private() -> None:
    table = ages()
    step = table.filter(table.age > 35).mutate(old=table.age > 45)
    assert not_private(step).count().release(epsilon=1).receipt["private"] is False
    assert table.agg(n=table.age.count()).release(epsilon=1).receipt["private"] is True


@pytest.mark.parametrize("thing", [None, 5, "table", pa.table({"a": [1]})], ids=lambda thing: type(thing).__name__)
def test_what_is_no_protected_table_is_refused(thing: Any) -> None:
    with pytest.raises(dp.InvalidParameter, match="a protected table, got table="):
        not_private(thing)


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, True, "1", None])
def test_seeds_are_words(seed: Any) -> None:
    with pytest.raises(dp.InvalidParameter):
        not_private(ages(), seed=seed)


def test_every_name_of_the_room_is_there() -> None:
    for name in room.__all__:
        thing = getattr(room, name)
        assert callable(thing)
        assert name in (room.__doc__ or "")
        assert thing.__module__.startswith("discreet.testing.")
    assert set(room.__all__) <= set(dir(room))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = room.nothing


def test_the_room_is_light_until_it_is_used() -> None:
    program = "import discreet.testing, sys; print({'ibis', 'hypothesis', 'scipy', 'duckdb'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.long
def test_the_names_do_not_depend_on_what_was_imported_first() -> None:
    """A module and a function of one name would take each other's place."""
    program = "import {}; from discreet.testing import people, not_private, visits; print(people().columns)"
    for first in ("discreet.testing.example_tables", "discreet.testing", "discreet.testing.neighbors"):
        done = subprocess.run([sys.executable, "-c", program.format(first)], capture_output=True, text=True, check=True)
        assert "'person'" in done.stdout


def test_no_source_of_the_room_passes_for_private() -> None:
    source: Any = people()._source
    assert not is_private(source._words())
