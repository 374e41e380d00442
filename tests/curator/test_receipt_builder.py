"""A receipt says all that was claimed, as JSON, and what it says follows from itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from importlib.metadata import PackageNotFoundError
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
import discreet.curator.receipt_builder as receipts
from discreet.curator import transaction
from discreet.engines.duckdb import DuckDB
from discreet.testing import people

COMPLETE = {
    *("release", "time", "private", "question", "guarantee", "source", "unit", "neighbors", "groups", "limits"),
    *("charge", "concentrated", "columns", "totals", "confidence", "intervals", "rounding", "row cap", "versions"),
}


def asked(epsilon: object = 1) -> dict[str, Any]:
    table = people()
    question = table.filter(table.age >= 18).group_by("plan").agg(
        persons=table.person.nunique(), visits=table.visits.mean(where=table.age < 65), spread=table.age.std()
    )  # fmt: skip
    found: dict[str, Any] = question.release(epsilon=epsilon).receipt
    return found


def test_a_receipt_is_complete() -> None:
    found = asked()
    assert set(found) == COMPLETE
    assert found["question"].endswith("by plan where age >= 18")
    assert found["unit"] == ["person"]
    assert found["limits"] == {"max_groups": 2, "max_rows": 5}
    assert found["guarantee"] == "1-differential privacy for add-remove neighbors"
    rho = sum(float(total["epsilon"]) ** 2 / 2 for total in found["totals"])
    assert float(found["concentrated"]["rho"]) == pytest.approx(rho, rel=1e-5)
    assert found["concentrated"]["delta"] == "0"
    assert [column["name"] for column in found["columns"]] == ["persons", "visits", "spread"]
    assert {total["mechanism"] for total in found["totals"]} == {"discrete Laplace"}
    assert set(found["versions"]) == {"python", "discreet", "ibis-framework", "duckdb", "numpy"}
    assert "sql" not in found  # the statement is in explain(); a receipt may leave the house


def test_a_receipt_is_plain_json() -> None:
    found = asked()
    assert json.loads(json.dumps(found, allow_nan=False)) == found


@pytest.mark.parametrize("epsilon", [1, 0.1, Fraction(1, 3)])
def test_the_charges_of_its_parts_add_up(epsilon: object) -> None:
    found = asked(epsilon)
    parts = [float(total["epsilon"]) for total in found["totals"]]
    assert sum(parts) == pytest.approx(float(found["charge"]["epsilon"]), rel=1e-5)
    assert sum(float(total["share"]) for total in found["totals"]) == pytest.approx(1)
    for total in found["totals"]:
        assert float(total["scale"]) == pytest.approx(total["sensitivity"] / float(total["epsilon"]), rel=1e-5)
        assert total["sensitivity"] % total["steps"] == 0
        assert total["sensitivity"] <= 2 * 5 * total["steps"]


def test_its_time_is_the_time_of_the_answer() -> None:
    before = datetime.now(UTC) - timedelta(seconds=1)
    found = datetime.fromisoformat(asked()["time"])
    assert before <= found <= datetime.now(UTC)


def test_a_copy_is_handed_out() -> None:
    answer = people().count().release(epsilon=1)
    answer.receipt["private"] = True
    answer.receipt["charge"]["epsilon"] = "0"
    assert answer.receipt["private"] is False
    assert answer.receipt["charge"]["epsilon"] == "1"


def test_replace_one_and_rows_are_named() -> None:
    table = dp.protect(
        pa.table({"age": [30, 40]}), unit=dp.ROW, neighbors="replace-one", rows=2, bounds={"age": (0, 100)},
        budget=dp.Budget(epsilon=1), name="ages", version="7",
    )  # fmt: skip
    found = table.agg(m=table.age.mean()).release(epsilon=0.5).receipt
    assert found["source"] == "ages@7"
    assert found["unit"] == "each row"
    assert found["limits"] == "none needed"
    assert found["guarantee"] == "0.5-differential privacy for replace-one neighbors"
    assert found["groups"] == "none"


def test_a_tree_that_was_never_installed_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    receipts._version.cache_clear()
    monkeypatch.setattr(receipts, "version", missing)
    assert asked()["versions"]["discreet"] == "unknown"
    receipts._version.cache_clear()


ASKED: dict[str, Callable[[dp.PrivateTable], Any]] = {
    "totals": lambda t: t.count().release(epsilon=1),
    "a batch": lambda t: dp.batch(old=t.filter(t.age > 40).count(), all=t.count()).release(epsilon=1),
    "a batch of ranges": lambda t: dp.batch(a=t.histogram("age", ranges=True), n=t.count()).release(epsilon=1),
    "rounds": lambda t: t.count().release(within={"count": 500}, up_to=0.5),
    "an unknown limit": lambda t: t.agg(m=t.visits.mean()).release(epsilon=1, report="clipped"),
    "a reading": lambda t: t.top("plan", k=1, keys=["free", "25%"], epsilon=1),
    "a choice": lambda t: t.choose([1, 2], score=lambda c: t.age == c, epsilon=1),
    "distinct values": lambda t: t.count_distinct("plan", epsilon=1),
    "a truncated total": lambda t: t.truncated_total("visits", epsilon=1),
    "clusters": lambda t: t.kmeans(["age", "visits"], n_clusters=2, epsilon=1, max_rows=5),
}


@pytest.mark.long
@pytest.mark.parametrize("ask", ASKED.values(), ids=list(ASKED))
def test_the_time_is_that_of_the_charge(ask: Callable[[dp.PrivateTable], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """When an answer was ready would tell how long its rows took."""
    times: list[str] = []
    reserve = dp.Budget.reserve

    class Clock:
        """A second passes each time that it is asked."""

        seconds = 0

        @classmethod
        def now(cls, zone: object) -> datetime:
            del zone
            cls.seconds += 1
            return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=cls.seconds)

    def reserved(budget: dp.Budget, charge: Any) -> Any:
        found = reserve(budget, charge)
        times.append((datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=Clock.seconds + 1)).isoformat())
        return found

    def slow(look: Callable[..., Any]) -> Callable[..., Any]:
        def looked(*arguments: Any, **named: Any) -> Any:
            Clock.seconds += 60
            return look(*arguments, **named)

        return looked

    for look in ("_run_plan", "_run_statement"):
        monkeypatch.setattr(DuckDB, look, slow(getattr(DuckDB, look)))
    monkeypatch.setattr(transaction, "datetime", Clock)
    monkeypatch.setattr(dp.Budget, "reserve", reserved)
    table = people()
    assert ask(table).receipt["time"] == times[0]
    assert "datetime" not in vars(receipts)
