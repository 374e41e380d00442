"""Answers of a series: coverage, bands for all times, frames, pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.errors import InvalidParameter
from discreet.series.noisy_stream import measured
from discreet.series.series_plan import horizon
from discreet.series.series_record import Point
from discreet.series.series_release import SeriesRelease
from discreet.testing.example_tables import not_private
from discreet.testing.scripted_words import splitmix
from series_fixtures import DAYS, ROWS, WARDS, asked, day, exact, protected


def answer_of(seed: int = 0, price: float = 1, **more: Any) -> SeriesRelease:
    table = not_private(protected(budget=dp.Budget(rho=10)), seed=seed)
    return asked(table, **more).release(through="2026-01-20", rho=price)


def held(runs: int, shrink: float = 1.0, **price: Any) -> tuple[int, int]:
    """In how many runs intervals of 90 % hold at the worst of the numbers, and all at once those of 90 % for all."""
    question = asked(protected())
    plan = question._plan({"epsilon": None, "delta": 0, "rho": None, **(price or {"rho": 0.01})})
    [truth] = exact(question, DAYS, strategy=plan.strategy)
    wanted = plan.answers(truth.reshape(DAYS, 2, 1) / plan.plan.blocks[0].steps)[:, 0]
    rows, words = np.array(measured(plan.strategy, truth)), splitmix(5)
    alone, together = np.zeros(len(wanted)), 0
    for _ in range(runs):
        noisy = plan.noises[0].add_noise(rows, words)
        answer = SeriesRelease(plan, [Point(0, "", private=False, noisy=[noisy])], {"private": False}, 0.9, DAYS)
        off = np.abs(answer["n"] - wanted)
        for simultaneous in (False, True):
            table = answer.intervals(0.9, simultaneous=simultaneous)
            inside = off <= shrink * (table["n_high"].to_numpy() - table["n_low"].to_numpy()) / 2
            together += int(inside.all()) if simultaneous else 0
            alone += 0 if simultaneous else inside
    return int(alone.min()), together


@pytest.mark.long
def test_intervals_hold() -> None:
    """Of 40 runs with 36 expected: 25 or fewer by chance in less than one of a million, at one number; shorter ones are
    caught.
    """
    alone, together = held(40)
    assert alone > 24
    assert together > 24
    assert held(20, shrink=0.4)[0] < 14
    alone, together = held(40, epsilon=0.2)
    assert alone > 24
    assert together > 24


def test_what_is_told_of_a_number_never_changes() -> None:
    table = not_private(protected())
    early = asked(table).release(through="2026-01-08", rho=1)
    late = asked(table).release(through="2026-01-20")
    for simultaneous in (False, True):
        first = early.intervals(0.9, simultaneous=simultaneous).to_pylist()
        assert late.intervals(0.9, simultaneous=simultaneous).to_pylist()[: len(first)] == first


def test_calculated_columns_share_the_doubt_of_all_numbers() -> None:
    answer = answer_of().mutate(twice=lambda t: 2 * t.n, root=lambda t: t.n.abs().sqrt(), less=lambda t: t.n - 1)
    each = 1 - 0.1 / (4 * horizon(answer._series))
    assert answer.intervals(0.9, simultaneous=True).equals(answer.intervals(each))


def test_a_frame_has_keys_steps_and_windows() -> None:
    answer = answer_of()
    frame = answer.to_pandas()
    assert frame.columns.tolist() == ["ward", "step", "window", "n", "n_low", "n_high"]
    assert set(frame.window) == {1, 7, "all"}
    assert len(frame) == len(answer) == 2 * (20 + 14 + 20)
    assert frame[frame.window == 7].step.min() == day(6)
    latest = answer.latest.to_pandas()
    assert set(latest.step) == {day(19)}
    assert len(latest) == 6
    assert answer.steps == 20


def test_windows_are_sums_of_their_steps() -> None:
    frame = answer_of().to_pandas()
    daily, weekly = (frame[(frame.window == name) & (frame.ward == "A")].n.to_numpy() for name in (1, 7))
    total = frame[(frame.window == "all") & (frame.ward == "A")].n.to_numpy()
    assert weekly == pytest.approx(np.convolve(daily, np.ones(7), "valid"))
    assert total == pytest.approx(np.cumsum(daily))


def test_sums_and_means_are_near_the_truth() -> None:
    series = protected(budget=dp.Budget(rho=10**6)).series(
        by="day", start="2026-01-01", until="2026-01-20", windows=(7, "week"), max_steps=DAYS
    )
    answer = series.agg(nights=lambda t: t.nights.sum(), mean=lambda t: t.nights.mean()).release(
        through="2026-01-20",
        rho=10**5,
        confidence=1 - 1e-9,  # how often intervals hold is asked of many draws, above
    )
    rows = [row for row in ROWS.to_pylist() if day(13) <= row["day"] <= day(19)]
    last = answer.latest.to_pandas()
    week = last[last.window == 7].iloc[0]
    exact_sum = sum(row["nights"] for row in rows)
    assert week.nights_low <= exact_sum <= week.nights_high
    assert week.nights == pytest.approx(exact_sum, abs=30)
    assert week["mean"] == pytest.approx(exact_sum / len(rows), abs=0.3)


def test_receipts_are_of_the_whole_series() -> None:
    receipt = answer_of().receipt
    assert receipt["guarantee"].endswith("for add-remove neighbors, over all 20 steps")
    assert receipt["series"]["every"] == "1 day"
    assert receipt.charge.rho == 1
    assert not receipt.private
    assert [one.mechanism for one in receipt.measurements] == ["rounded Gaussian"]
    assert asked(protected()).release(through="2026-01-20", rho=1).receipt.private


def test_pictures_show_what_was_published(tmp_path: Path) -> None:
    answer = answer_of()
    figure = answer.plot(path=tmp_path / "series.png", simultaneous=True)
    assert (tmp_path / "series.png").stat().st_size > 1000
    assert [axis.get_title(loc="left") for axis in figure.axes] == ["each day", "last 7 days", "so far"]
    lines = [np.asarray(line.get_ydata()) for line in figure.axes[1].lines]
    frame = answer.to_pandas()
    for ward, drawn in zip(WARDS, lines, strict=True):
        assert drawn.tolist() == frame[(frame.window == 7) & (frame.ward == ward)].n.tolist()
    one = answer.plot("n", window=7, truth={7: np.zeros(28)})
    assert len(one.axes[0].lines) == 4
    for wrong in ({"window": 8}, {"columns": ("m",)}):
        with pytest.raises(InvalidParameter):
            answer.plot(*wrong.pop("columns", ()), **wrong)  # type: ignore[misc]  # refused


def test_groups_whose_texts_agree_have_lines_of_their_own() -> None:
    series = protected().series(by="day", start="2026-01-01", until="2026-01-20", max_steps=4)
    grouped = series.group_by("ward", keys={"ward": [None, "None", "_A"]})
    axis = grouped.agg(n=lambda t: t.count()).release(through="2026-01-20", rho=1).plot().axes[0]
    assert [line.get_label() for line in axis.lines] == ["NULL", "None", " _A"]
    assert [len(line.get_xdata()) for line in axis.lines] == [20] * 3  # type: ignore[arg-type]  # an array
