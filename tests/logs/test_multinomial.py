"""The multinomial release as a reading: real users, valid rows, and a receipt that says what is not promised."""

from __future__ import annotations

from fractions import Fraction

import ibis
import pyarrow as pa
import pytest

from discreet.logs.multinomial import ACKNOWLEDGED, MultinomialLog
from discreet.logs.programs import OBJECTIVES
from discreet.privacy.definitions import Guarantee
from discreet.testing import splitmix

THREE = pa.table(
    {
        "user": ["081", "081", "082", "082", "083", "083", "083", "081", "082"],
        "item": ["google", "book", "google", "car", "google", "car", "book", "pregnancy", "diabetes"],
        "count": pa.array([15, 3, 7, 2, 17, 5, 1, 2, 1], pa.int64()),
    }
)


def reading(
    objective: str = "size", *, epsilon: Fraction = Fraction(173247, 10**4), delta: Fraction = 1 - Fraction(1, 10**8)
) -> MultinomialLog:
    return MultinomialLog(
        what="a log",
        guarantee=Guarantee(epsilon=epsilon, delta=delta),
        unit="user",
        expression=ibis.table({"item": "string"}, name="never_read"),
        objective=objective,
        size=27 if objective == "support" else None,
        support=0.05,
    )


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_rows_are_those_of_real_users_with_shared_items(objective: str) -> None:
    shown = reading(objective).blurred(THREE, splitmix(1))
    held = set(zip(THREE["user"].to_pylist(), THREE["item"].to_pylist(), strict=True))
    given = list(zip(shown["user"].to_pylist(), shown["item"].to_pylist(), strict=True))
    assert given
    assert set(given) <= held
    assert len(set(given)) == len(given)
    assert {"pregnancy", "diabetes"}.isdisjoint(shown["item"].to_pylist())
    told = {key.decode(): value.decode() for key, value in shown.schema.metadata.items()}
    assert int(told["rows"]) == sum(shown["count"].to_pylist())
    assert float(told["largest_loss"]) <= 17.3247


def test_the_size_of_the_example_fits_at_its_price() -> None:
    """27 rows need epsilon 17.32; the program finds as many, and more where it may choose."""
    supported = reading("support").blurred(THREE, splitmix(1))
    assert sum(supported["count"].to_pylist()) == 27
    assert sum(reading("size").blurred(THREE, splitmix(1))["count"].to_pylist()) >= 27


def test_a_meaningful_delta_leaves_nothing() -> None:
    shown = reading(delta=Fraction(1, 10**6)).blurred(THREE, splitmix(1))
    assert shown.num_rows == 0
    assert shown.schema.metadata[b"program"] == b"optimal"


def test_an_empty_log_gives_an_empty_answer() -> None:
    for objective in OBJECTIVES:
        assert reading(objective).blurred(THREE.slice(0, 0), splitmix(1)).num_rows == 0


def test_the_receipt_says_what_is_not_covered() -> None:
    facts = reading().facts
    assert "probabilistic differential privacy of the sampling step for fixed counts" in facts["guarantee"]
    assert any("row counts" in line for line in facts["not_covered"])
    assert any("delta is 1" in line for line in facts["not_covered"])
    assert facts["acknowledged"] == ACKNOWLEDGED
