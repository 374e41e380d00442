"""A receipt says all that was claimed, as JSON, and what it says follows from itself."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from importlib.metadata import PackageNotFoundError
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
import discreet.curator.receipt_facts as receipts
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
    assert found["question"].endswith("by plan where GreaterEqual(age, 18)")
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
