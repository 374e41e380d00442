"""Pipelines with one bug each, as users would write them: each is found, at its line; sound ones pass."""

from __future__ import annotations

import inspect
import logging
import random
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import discreet as dp
from discreet.audit import Report, replay

VISITS = pd.DataFrame(
    {
        "patient": [1, 1, 2, 3, 4, 5],
        "ward": ["north", "south", "north", "south", "north", "north"],
        "minutes": [10.0, 20.0, 30.0, 40.0, 500.0, 5.0],
    }
)
WARDS = ["north", "south"]
Job = Callable[[pd.DataFrame], Any]

rng = np.random.default_rng()  # noqa: NPY002, RUF100 (the pipelines' own)


def audited(job: Job, **stated: Any) -> Report:
    facts: dict[str, Any] = {"unit": "patient", "epsilon": 1} | stated
    return replay(job, VISITS, **facts)


def once(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.dropna().drop_duplicates("patient")


# -- sound pipelines ------------------------------------------------------------------------------------------


def sound_by_hand(rows: pd.DataFrame) -> float:
    return float(once(rows)["minutes"].clip(0, 60).sum() + rng.laplace(scale=60))


def sound_by_ward(rows: pd.DataFrame) -> list[float]:
    counts = once(rows)["ward"].value_counts().reindex(WARDS).fillna(0)
    noisy = counts.to_numpy() + rng.laplace(0, 1, size=len(WARDS))
    return [round(max(0.0, x), 1) for x in noisy.tolist()]


def sound_elementwise(rows: pd.DataFrame) -> dict[str, float]:
    counts = once(rows)["ward"].value_counts()
    noise = rng.laplace(size=2)
    return {ward: int(counts.get(ward, 0)) + noise[i] for i, ward in enumerate(WARDS)}


def sound_mechanism(rows: pd.DataFrame) -> Any:
    total = dp.Laplace(sensitivity=60, epsilon=0.5).release(float(once(rows)["minutes"].clip(0, 60).sum()))
    people = dp.Laplace(sensitivity=1, epsilon=0.5).release(len(once(rows)))
    return total / max(people, 1)


def sound_question(rows: pd.DataFrame) -> Any:
    table = dp.protect(
        rows, unit="patient", bounds={"minutes": (0, 60)}, keys={"ward": WARDS}, max_groups=1, max_rows=1,
        budget=dp.Budget(epsilon=1),
    )  # fmt: skip
    return table.group_by("ward").agg(m=lambda t: t.minutes.mean()).release(epsilon=1)


def sound_choice(rows: pd.DataFrame) -> str:
    counts = once(rows)["ward"].value_counts()
    scores = np.array([counts.get(ward, 0) for ward in WARDS], dtype=float)
    weights = np.exp((scores - scores.max()) / 2)
    return str(rng.choice(WARDS, p=weights / weights.sum()))


def sound_shuffle(rows: pd.DataFrame) -> Any:
    order = rng.permutation(len(rows))
    kept = once(rows.iloc[order])
    return dp.Laplace(sensitivity=1, epsilon=1).release(len(kept))


SOUND = [
    sound_by_hand, sound_by_ward, sound_elementwise, sound_mechanism, sound_question, sound_choice, sound_shuffle,
]  # fmt: skip


@pytest.mark.long
@pytest.mark.cases
@pytest.mark.parametrize("job", SOUND, ids=lambda job: job.__name__)
def test_a_sound_pipeline_passes(job: Job) -> None:
    report = audited(job)
    assert report.ok, str(report)
    assert report.rows
    assert "private" not in str(report)


@pytest.mark.long
def test_neighbors_may_have_other_keys() -> None:
    def job(rows: pd.DataFrame) -> Any:
        budget = dp.Budget(epsilon=1, delta=0.4)
        table = dp.protect(rows, unit="patient", max_groups=1, max_rows=1, bounds={"minutes": (0, 60)}, budget=budget)
        asked = table.group_by("ward", keys=dp.UNKNOWN).agg(s=lambda t: t.minutes.sum())
        return asked.release(epsilon=1, delta=0.4).to_pandas()

    report = audited(job, delta=0.4)
    assert report.ok, str(report)
    assert "TableKeys" in str(report.rows)


def test_gaussian_noise_is_held_against_epsilon_and_delta() -> None:
    def job(rows: pd.DataFrame) -> float:
        return float(len(once(rows)) + rng.normal(scale=4.3))

    assert audited(job, delta=1e-6).ok
    assert not audited(job, epsilon=0.5, delta=1e-6).ok
    assert not audited(job).ok


# -- faults ---------------------------------------------------------------------------------------------------


def forgotten_clip(rows: pd.DataFrame) -> float:
    kept = once(rows)
    kept = kept.assign(clipped=kept["minutes"].clip(0, 60))
    return float(kept["minutes"].sum() + rng.laplace(scale=60))  # HERE


def wrong_sensitivity(rows: pd.DataFrame) -> Any:
    counted = once(rows)["minutes"].clip(0, 60).sum()
    return dp.Laplace(sensitivity=6, epsilon=1).release(float(counted))  # HERE


def many_rows(rows: pd.DataFrame) -> Any:
    return dp.Laplace(sensitivity=1, epsilon=1).release(len(rows.dropna()))  # HERE


def too_much(rows: pd.DataFrame) -> Any:
    first = dp.Laplace(sensitivity=1, epsilon=0.6).release(len(once(rows)))
    return first + dp.Laplace(sensitivity=1, epsilon=0.7).release(len(once(rows)))  # HERE


def keys_of_rows(rows: pd.DataFrame) -> Any:
    groups = once(rows).groupby("ward")  # HERE
    return {ward: len(group) + rng.laplace() for ward, group in groups}


def as_many_as_there_are(rows: pd.DataFrame) -> Any:
    counts = once(rows)["ward"].value_counts()  # HERE
    return counts + rng.laplace(size=len(counts))


def one_draw_for_all(rows: pd.DataFrame) -> Any:
    counts = once(rows)["ward"].value_counts().reindex(WARDS).fillna(0).to_numpy()
    return (counts + rng.laplace()).tolist()  # HERE


def used_twice(rows: pd.DataFrame) -> Any:
    noise = rng.laplace(scale=2)
    people = len(once(rows)) + noise
    return people, (rows["ward"] == "north").any() + noise  # HERE


def private_n(rows: pd.DataFrame) -> float:
    total = float(once(rows)["minutes"].clip(0, 60).sum() + rng.laplace(scale=60))
    people = len(once(rows))
    mean = total / max(people, 1)  # HERE
    return round(mean, 2)


def scale_of_rows(rows: pd.DataFrame) -> float:
    bound = once(rows)["minutes"].max()  # HERE
    return float(once(rows)["minutes"].sum() + rng.laplace(scale=bound))


def branch_on_rows(rows: pd.DataFrame) -> Any:
    people = len(once(rows))
    if people < 5:  # HERE
        return None
    return dp.Laplace(sensitivity=1, epsilon=1).release(people)


def error_on_rows(rows: pd.DataFrame) -> Any:
    if rows["minutes"].isna().any():
        raise ValueError("missing minutes")  # HERE
    return sound_by_hand(rows)


def logged(rows: pd.DataFrame) -> Any:
    logging.getLogger("job").debug("%d rows", len(rows))  # HERE
    return sound_by_hand(rows)


def printed(rows: pd.DataFrame) -> Any:
    print("dropped", int(rows["minutes"].isna().sum()))  # noqa: T201 (the fault)  # HERE
    return sound_by_hand(rows)


def warned(rows: pd.DataFrame) -> Any:
    if len(rows) > 6:
        warnings.warn("large table", stacklevel=1)  # HERE
    return sound_by_hand(rows)


def written(rows: pd.DataFrame) -> Any:
    Path("cache.txt").write_text(str(len(rows)), encoding="utf-8")
    return sound_by_hand(rows)


def type_of_rows(rows: pd.DataFrame) -> Any:
    noisy = float(once(rows)["minutes"].clip(0, 60).sum() + rng.laplace(scale=60))
    return {"noisy": noisy, "kind": str(rows["patient"].dtype), "wards": tuple(rows["ward"].unique())}


def seeded(rows: pd.DataFrame) -> float:
    mine = np.random.default_rng(7)
    return float(len(once(rows)) + mine.laplace())  # HERE


def old_seed(rows: pd.DataFrame) -> float:
    np.random.seed(7)  # noqa: NPY002 (the fault)
    return float(len(once(rows)) + np.random.laplace())  # noqa: NPY002 (the fault)  # HERE


def python_noise(rows: pd.DataFrame) -> float:
    return len(rows) + random.gauss(0, 100)  # HERE


def drawn_around(rows: pd.DataFrame) -> float:
    return float(rng.laplace(rows["minutes"].sum(), 60))  # HERE


def greedy_choice(rows: pd.DataFrame) -> str:
    counts = once(rows)["ward"].value_counts().reindex(WARDS).fillna(0).to_numpy()
    weights = np.exp(counts * 3)
    return str(rng.choice(WARDS, p=weights / weights.sum()))  # HERE


FAULTS: dict[Job, str] = {
    forgotten_clip: "claim", wrong_sensitivity: "sensitivity", many_rows: "sensitivity", too_much: "claim",
    keys_of_rows: "control flow", as_many_as_there_are: "control flow", one_draw_for_all: "claim",
    used_twice: "reuse", private_n: "surface", scale_of_rows: "parameter", branch_on_rows: "control flow",
    error_on_rows: "error", logged: "surface", printed: "surface", warned: "surface", written: "surface",
    type_of_rows: "surface", seeded: "seed", old_seed: "seed", python_noise: "claim", drawn_around: "claim",
    greedy_choice: "claim",
}  # fmt: skip


@pytest.mark.cases
@pytest.mark.parametrize("job", FAULTS, ids=lambda job: job.__name__)
def test_a_fault_is_found_at_its_line(job: Job) -> None:
    report = audited(job, epsilon=None if FAULTS[job] == "sensitivity" else 1)
    found = [one for one in report.findings if one.is_violation and one.kind == FAULTS[job]]
    assert found, str(report)
    lines, start = inspect.getsourcelines(job)
    marked = [start + i for i, line in enumerate(lines) if "# HERE" in line]
    if marked:
        assert [(Path(one.place.file).name, one.place.line) for one in found] == [(Path(__file__).name, marked[0])]
        assert found[0].place.text in str(report)


def test_what_changes_without_rows_is_said_and_left_out() -> None:
    def job(rows: pd.DataFrame) -> float:
        print(time.perf_counter_ns())  # noqa: T201 (differs from run to run)
        return sound_by_hand(rows)

    report = audited(job)
    assert report.ok
    assert report.blind[0].startswith("printed: not the same twice")


def test_other_calls_on_the_same_rows_cannot_be_audited() -> None:
    calls = iter(range(1000))

    def job(rows: pd.DataFrame) -> Any:
        for _ in range(next(calls)):
            dp.Laplace(sensitivity=1, epsilon=1).release(1)
        return len(rows)

    [finding] = audited(job).findings
    assert finding.kind == "unrepeatable"


def test_a_run_without_mechanisms_is_said_to_have_none() -> None:
    report = audited(lambda _: 3)
    assert report.ok
    assert "none that is known" in report.blind[0]


def test_a_swallowed_divergence_is_still_seen() -> None:
    def job(rows: pd.DataFrame) -> Any:
        try:
            return [dp.Laplace(sensitivity=1, epsilon=1).release(1) for _ in range(len(rows))]
        except Exception:  # noqa: BLE001 (as careless code does)
            return None

    assert "control flow" in {one.kind for one in audited(job).findings}


def test_replaced_units_are_neighbors_too() -> None:
    def job(rows: pd.DataFrame) -> float:
        kept = once(rows)["minutes"].clip(0, 60)
        return float(kept.sum() + rng.laplace(scale=60)) / 5

    def by_rows(rows: pd.DataFrame) -> Any:
        return dp.Laplace(sensitivity=60, epsilon=1).release(float(rows["minutes"].fillna(0).clip(0, 60).sum()))

    assert audited(job).ok
    assert not audited(by_rows, neighbors="add-remove").ok
    assert replay(by_rows, once(VISITS), unit=dp.ROW, epsilon=1, neighbors="replace-one").ok


def test_a_search_finds_what_the_patterns_miss() -> None:
    def job(rows: pd.DataFrame) -> Any:
        large = rows["minutes"].replace(np.inf, 0).fillna(0).clip(0, 10**7).sum()
        return dp.Laplace(sensitivity=2_000_000, epsilon=1).release(float(large))

    assert replay(job, VISITS[VISITS["minutes"] < 60], unit=dp.ROW).ok
    report = replay(job, VISITS[VISITS["minutes"] < 60], unit=dp.ROW, tries=40)
    assert {one.kind for one in report.findings} == {"sensitivity"}


def test_a_failing_pipeline_is_refused_with_its_line() -> None:
    def job(rows: pd.DataFrame) -> float:
        return 1 / 0

    with pytest.raises(dp.InvalidParameter, match=r"ZeroDivisionError.*\n.*test_replaying.py:\d+"):
        audited(job)


@pytest.mark.parametrize(
    "stated",
    [
        {"unit": None}, {"unit": "nobody"}, {"epsilon": 0}, {"epsilon": 1, "delta": 1}, {"neighbors": "close"},
    ],
    ids=str,
)  # fmt: skip
def test_refusals(stated: dict[str, Any]) -> None:
    with pytest.raises(dp.InvalidParameter):
        audited(sound_by_hand, **stated)


def test_every_kind_of_table(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    kinds = []

    def job(rows: Any) -> None:
        kinds.append(type(rows))

    path = tmp_path / "visits.csv"
    VISITS.to_csv(path, index=False)
    for data in (VISITS, pa.Table.from_pandas(VISITS), polars.from_pandas(VISITS), path, str(path)):
        replay(job, data, unit="patient")
        assert set(kinds) == {type(data)}
        kinds.clear()


def test_nothing_stays_watched() -> None:
    before = dp.Laplace.release, np.random.default_rng, random.gauss
    audited(sound_by_hand)
    assert (dp.Laplace.release, np.random.default_rng, random.gauss) == before
    assert type(rng) is np.random.Generator
