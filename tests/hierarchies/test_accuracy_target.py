"""The target of the census bureau as a test of released files: met by enough rho, missed by too little."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ibis import _

import discreet as dp
from discreet.errors import InvalidParameter
from discreet.hierarchies.accuracy_target import TargetReport, largest_group_target

PLACES, GROUPS = 60, ["a", "b", "c", "d"]
SIZES = np.array([[300 + 7 * place, 120 + place, 60, 20 + place % 30] for place in range(PLACES)])
EXACT = pa.table({
    "state": np.arange(PLACES).repeat(4) // 10, "county": np.arange(PLACES).repeat(4), "group": GROUPS * PLACES,
    "n": SIZES.reshape(-1),
})  # fmt: skip


def released(folder: Path, rho: float) -> TargetReport:
    """A release of the people behind the counts, read from its file."""
    place = folder / "people.parquet"
    pq.write_table(EXACT.drop_columns(["n"]).take(np.arange(EXACT.num_rows).repeat(EXACT["n"])), place)
    people = dp.protect(str(place), unit=dp.ROW, budget=dp.Budget(rho=100))
    keys = dp.public_keys(pa.table({"state": np.arange(PLACES) // 10, "county": np.arange(PLACES)}))
    question = people.hierarchy(["state", "county"], keys=keys, cells={"group": GROUPS}).agg(n=_.count())
    files = question.release(rho=rho, integers=True, to=folder / "counts")
    return largest_group_target(EXACT, pq.read_table(files["county"]), group="group")


def test_a_file_meets_the_target(tmp_path: Path) -> None:
    """At rho 1 noise is of a few people, of 500 and more: none of the counties is off by 5 points but once in a million
    such tests.
    """
    report = released(tmp_path, 1.0)
    assert report.places == PLACES
    assert report.ok


def test_too_much_noise_is_seen(tmp_path: Path) -> None:
    """At rho 0.0001 it is of a hundred people."""
    report = released(tmp_path, 0.0001)
    assert not report.ok
    assert report.share < 0.9


def test_exact_counts_meet_it_in_any_order() -> None:
    mixed = EXACT.take(np.random.default_rng(1).permutation(EXACT.num_rows))
    assert largest_group_target(EXACT, mixed, group="group") == TargetReport(places=60, met=60, wanted=0.95)
    assert largest_group_target(EXACT, EXACT, group="group", least=10**6).ok


@pytest.mark.parametrize("case", ["other places", "a group is missing", "no count", "no size"])
def test_tables_that_cannot_be_compared_are_refused(case: str) -> None:
    other = EXACT.set_column(1, "county", pa.array(np.arange(PLACES).repeat(4) + 1))
    few = EXACT.slice(1)
    made = {
        "other places": (EXACT, other, 500), "a group is missing": (few, few, 500),
        "no count": (EXACT, EXACT.drop_columns(["n"]), 500), "no size": (EXACT, EXACT, 0),
    }  # fmt: skip
    exact, found, least = made[case]
    with pytest.raises(InvalidParameter, match="\nHint: "):
        largest_group_target(exact, found, group="group", least=least)
