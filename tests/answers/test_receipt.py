"""A receipt is what was stored, and its facts as values say the same."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.privacy.definitions import UNBOUNDED, Guarantee, Neighbors
from discreet.testing import people


def test_values_say_what_the_texts_say() -> None:
    receipt = people().group_by("plan").agg(n=_.count(), m=_.visits.mean()).release(epsilon=0.5).receipt
    assert receipt.charge == Guarantee(epsilon=Fraction(1, 2))
    assert (receipt.unit, receipt.neighbors) == (("person",), Neighbors.ADD_REMOVE)
    assert receipt.key == receipt["release"]
    assert receipt.question == receipt["question"]
    assert receipt.private is receipt["private"]
    assert receipt.time == datetime.fromisoformat(receipt["time"])
    assert receipt.time.tzinfo == UTC
    assert len(receipt.measurements) == len(receipt["totals"])
    for one, total in zip(receipt.measurements, receipt["totals"], strict=True):
        assert (one.statistic, one.of, one.mechanism) == (total["statistic"], total["of"], total["mechanism"])
        assert one.sensitivity == Fraction(total["sensitivity"])
        assert one.scale == pytest.approx(float(one.sensitivity / receipt.charge.epsilon) / one.share, rel=1e-4)
    assert sum(one.share for one in receipt.measurements) == pytest.approx(1)


def test_prices_in_rho_and_delta() -> None:
    table = dp.protect(
        pa.table({"age": [1.0, 2.0]}), unit=dp.ROW, bounds={"age": (0, 9)}, budget=dp.Budget(rho=9), name="ages"
    )  # fmt: skip
    receipt = table.agg(s=_.age.sum(), m=_.age.median()).release(rho=0.25).receipt
    assert receipt.charge == Guarantee(epsilon=UNBOUNDED, rho=Fraction(1, 4))
    assert (receipt.unit, receipt.cost) == ((), "rho 0.25")
    assert [one.mechanism.startswith("exponential") for one in receipt.measurements] == [False, True]
    assert receipt.measurements[1].scale == float(receipt["totals"][1]["scale"])
    noisy = people().count().release(epsilon=3, delta=1e-6).receipt
    assert noisy.charge.delta == Fraction(noisy["charge"]["delta"])


def receipts(folder: Path) -> dict[str, dp.Receipt]:
    """One of each kind of answer."""
    table = people()
    log = pa.table({"who": list(range(60)), "page": ["/home"] * 60})
    points = np.random.default_rng(1).normal(size=(200, 2))
    return {
        "release": table.count().release(epsilon=1).receipt,
        "steps": table.count().having(_["count"] > 0).release(epsilon=1).receipt,
        "file": table.group_by("plan").agg(n=_.count()).release(epsilon=1, to=folder / "a.parquet").receipt,
        "log": dp.release_log(log, user="who", item="page", epsilon=3, delta=1e-6).receipt,
        "top": table.top("plan", epsilon=2).receipt,
        "choice": table.choose([1, 2], score=lambda c: table.age == c, epsilon=1).receipt,
        "distinct": people().count_distinct("plan", epsilon=1).receipt,
        "truncated": people().truncated_total("visits", epsilon=1).receipt,
        "clusters": table.kmeans(["age", "visits"], n_clusters=2, epsilon=5).receipt,
        "estimator": dp.KMeans(n_clusters=2, epsilon=8, bounds=(-5, 5)).fit(points).receipt_,
        "sample": dp.sample_own_log(log, user="who", item="page", output_counts={"/home": 3}).receipt,
    }


@pytest.fixture(scope="module")
def each(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dp.Receipt]:
    return receipts(tmp_path_factory.mktemp("receipts"))


KINDS = ["release", "steps", "file", "log", "top", "choice", "distinct", "truncated", "clusters", "estimator", "sample"]


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_every_answer_has_one(kind: str, each: dict[str, dp.Receipt]) -> None:
    receipt = each[kind]
    assert isinstance(receipt, dp.Receipt)
    assert json.loads(json.dumps(receipt, allow_nan=False)) == receipt
    assert receipt.charge == Guarantee(
        epsilon=Fraction(receipt.get("charge", {}).get("epsilon", "0")), delta=receipt.charge.delta
    )
    lines = str(receipt).splitlines()
    assert len(lines) == len(receipt)
    assert all(name in line for name, line in zip(receipt, lines, strict=True))
    assert receipt._repr_html_().count("<tr>") == len(receipt)
    assert (receipt.time is None) is (kind == "sample")
    assert (receipt.warning == "") is receipt.private


def test_what_it_shows_is_text_alone() -> None:
    facts: dict[str, Any] = {"private": True, "question": "\x1b[2J<script>", "charge": {"epsilon": "1", "delta": "0"}}
    receipt = dp.Receipt.of(facts, processing=["limit 1"])
    assert "\x1b" not in str(receipt)
    assert "<script>" not in receipt._repr_html_()
    assert receipt["processing"] == ["limit 1"]
    assert receipt.cost == "epsilon 1"
