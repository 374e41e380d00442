"""The line where a fault came about is named, and no other: in one program after another, written as users would."""

from __future__ import annotations

import inspect
import itertools
import time
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

import discreet as dp
from discreet.audit import Finding, replay
from discreet.audit.data_flow import content, count

VISITS = pd.DataFrame(
    {
        "patient": [1, 1, 2, 3, 4, 5],
        "ward": ["north", "south", "north", "south", "west", "north"],
        "minutes": [10.0, 20.0, 30.0, 40.0, 500.0, 5.0],
    }
)
Job = Callable[[pd.DataFrame], Any]
LAPLACE = dp.Laplace(sensitivity=1, epsilon=1)
STATED: dict[str, Any] = {"unit": "patient", "max_groups": 1, "max_rows": 2}


def once(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.dropna().drop_duplicates("patient")


def found(job: Job, kind: str, rows: pd.DataFrame = VISITS) -> Finding:
    [one] = [one for one in replay(job, rows, unit="patient").findings if one.is_violation and one.kind == kind]
    return one


def line_of(job: Job, mark: str) -> int:
    lines, start = inspect.getsourcelines(job)
    return next((start + i for i, line in enumerate(lines) if mark in line), 0)


# -- which calls, and for how many values ---------------------------------------------------------------------


def keys_then_counts(rows: pd.DataFrame) -> Any:
    kept = once(rows)
    wards = set(kept["ward"])  # HERE
    ordered = sorted(wards)
    return LAPLACE.release([int((kept["ward"] == ward).sum()) for ward in ordered])  # SEEN


def grown_one_by_one(rows: pd.DataFrame) -> Any:
    longest, counts = 0.0, []
    for minutes in rows["minutes"]:
        longest = max(longest, minutes)
    for ward in once(rows)["ward"].unique():  # HERE
        here = rows[rows["ward"] == ward]
        counts.append(len(here))
    return LAPLACE.release(counts)  # SEEN


def grouped_by_hand(rows: pd.DataFrame) -> Any:
    groups: dict[str, list[float]] = {}
    for ward, minutes in zip(once(rows)["ward"], once(rows)["minutes"], strict=True):
        groups.setdefault(ward, []).append(minutes)  # HERE
    return [LAPLACE.release(len(groups[ward])) for ward in sorted(groups)]  # SEEN


def a_call_for_each(rows: pd.DataFrame) -> Any:
    total = 0
    for ward in sorted(once(rows)["ward"].unique()):  # HERE
        people = int((rows["ward"] == ward).sum())
        total += LAPLACE.release(people)  # SEEN
    return total


def an_early_return(rows: pd.DataFrame) -> Any:
    total = 0.0
    for minutes in once(rows)["minutes"]:
        if minutes < 0:  # HERE
            return None
        total += min(minutes, 1)
    return LAPLACE.release(total)  # SEEN


def few(people: int) -> bool:
    return people < 5


def an_innocent_branch_before(rows: pd.DataFrame) -> Any:
    kept = rows
    if rows["minutes"].isna().any():
        kept = rows.dropna()
    people = len(once(kept))
    if few(people):  # HERE
        return "too few"
    return LAPLACE.release(people)  # SEEN


def all_in_one_line(rows: pd.DataFrame) -> Any:
    return LAPLACE.release([int((rows["ward"] == ward).sum()) for ward in rows["ward"].dropna().unique()])  # HERE


def cells_of_two(rows: pd.DataFrame) -> Any:
    kept = once(rows)
    cells = list(itertools.product(kept["ward"].unique(), [False, True]))  # HERE
    long = kept["minutes"] > 25
    return LAPLACE.release([int(((kept["ward"] == ward) & (long == one)).sum()) for ward, one in cells])  # SEEN


CALLS = [
    keys_then_counts, grown_one_by_one, grouped_by_hand, a_call_for_each, an_early_return, an_innocent_branch_before,
    all_in_one_line, cells_of_two,
]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("job", CALLS, ids=lambda job: job.__name__)
def test_what_decides_about_calls_is_named(job: Job) -> None:
    finding = found(job, "control flow")
    assert (finding.place.line, finding.seen.line) == (line_of(job, "# HERE"), line_of(job, "# SEEN"))


def test_a_table_as_long_as_its_groups_is_not_named() -> None:
    """Three patients in three wards, then four in four. Other neighbors tell them apart."""

    def job(rows: pd.DataFrame) -> Any:
        kept = once(rows)
        patients = kept["patient"].tolist()
        wards = sorted(set(kept["ward"]))  # HERE
        assert patients
        return LAPLACE.release([int((kept["ward"] == ward).sum()) for ward in wards])

    finding = found(job, "control flow", VISITS[VISITS["patient"].isin([1, 3, 4])])
    assert finding.place.line == line_of(job, "# HERE")
    assert "`wards` has" in finding.message


# -- what discreet is given -----------------------------------------------------------------------------------


def keys_of_rows(rows: pd.DataFrame) -> Any:
    """A name that changes from run to run is no fault."""
    wards = sorted(rows["ward"].dropna().unique())  # HERE
    name = f"visits at {time.perf_counter_ns()}"
    people = dp.protect(rows.dropna(), budget=dp.Budget(epsilon=1), name=name, **STATED)
    asked = people.group_by("ward", keys={"ward": wards})
    return asked.agg(n=lambda t: t.count()).release(epsilon=1)  # SEEN


@pytest.mark.long
def test_what_discreet_is_given_is_named() -> None:
    finding = found(keys_of_rows, "control flow")
    assert finding.place.line == line_of(keys_of_rows, "# HERE")
    assert finding.seen.line == line_of(keys_of_rows, "# SEEN")
    assert "`wards`, given to group_by in line" in finding.message


def bounds_of_rows(rows: pd.DataFrame) -> Any:
    longest = rows["minutes"].clip(1, 10**6).max()  # HERE
    bounds = {"minutes": (0, float(longest))}
    people = dp.protect(rows.dropna(), budget=dp.Budget(epsilon=1), bounds=bounds, **STATED)
    return people.agg(m=lambda t: t.minutes.sum()).release(epsilon=1)  # SEEN


def sensitivity_of_rows(rows: pd.DataFrame) -> Any:
    longest = once(rows)["minutes"].clip(1, 10**6).max()  # HERE
    total = float(once(rows)["minutes"].clip(0, longest).sum())
    mechanism = dp.Laplace(sensitivity=float(longest), epsilon=1)
    return mechanism.release(total)  # SEEN


@pytest.mark.long
@pytest.mark.cases
@pytest.mark.parametrize("job", [bounds_of_rows, sensitivity_of_rows], ids=lambda job: job.__name__)
def test_where_a_parameter_comes_from_is_named(job: Job) -> None:
    finding = found(job, "parameter")
    assert (finding.place.line, finding.seen.line) == (line_of(job, "# HERE"), line_of(job, "# SEEN"))
    assert "`longest`" in finding.message
    assert "500" in finding.message


def test_entries_are_counted_alike_in_all_kinds_of_lists() -> None:
    series = VISITS["ward"]
    assert {count(one) for one in (series, series.to_numpy(), list(series), tuple(series), pd.Index(series))} == {6}
    assert count(VISITS) is count("north") is count(3) is None
    assert count(VISITS.groupby("ward")) == 3
    assert content(series) == content(list(series)) == content(series.to_numpy())
    assert content({"b", "a"}) == content({"a", "b"})
