"""An answer in every form it can be taken, with ends that hold the truth as often as they say."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.testing import binomial_p, not_private, people

Answers = Callable[[], dp.Release]


@pytest.fixture
def answer() -> Any:
    table = people()
    keys = {"plan": ["50%", None, "free", "absent"]}
    return (
        table.group_by("plan", keys=keys).agg(n=table.person.nunique(), visits=table.visits.mean()).release(epsilon=2)
    )


def test_columns_keys_and_order_are_those_of_the_question(answer: dp.Release) -> None:
    table = answer.to_pyarrow()
    assert table.column_names == ["plan", "n", "n_low", "n_high", "visits", "visits_low", "visits_high"]
    assert table["plan"].to_pylist() == ["50%", None, "free", "absent"]
    assert [str(kind) for kind in table.schema.types] == ["string", *["int64"] * 3, *["double"] * 3]
    assert (answer.columns, answer.groups, len(answer)) == (("n", "visits"), ("plan",), 4)


def test_every_form_holds_the_same(answer: dp.Release, tmp_path: Path) -> None:
    table = answer.to_pyarrow()
    answer.to_parquet(tmp_path / "answer.parquet")
    assert pa.Table.from_pandas(answer.to_pandas(), schema=table.schema, preserve_index=False).equals(table)
    assert answer.to_polars().to_arrow().cast(table.schema).equals(table)
    assert pq.read_table(tmp_path / "answer.parquet").equals(table)
    assert json.loads(pq.read_metadata(tmp_path / "answer.parquet").metadata[b"discreet"]) == answer.receipt
    assert answer["n"].tolist() == table["n"].to_pylist()


def test_values_lie_between_their_ends(answer: dp.Release) -> None:
    for name in answer.columns:
        low, value, high = (np.array(answer.to_pyarrow()[f"{name}{end}"].to_pylist()) for end in ("_low", "", "_high"))
        told = [one is not None for one in value]
        assert np.all(low[told] <= value[told])
        assert np.all(value[told] <= high[told])
        assert np.all(np.isfinite([low, high]))


def test_a_higher_confidence_is_wider_and_free() -> None:
    table = people()
    answer = table.agg(m=table.visits.mean(), n=table.age.count()).release(epsilon=1, confidence=0.5)
    spent = table.budget.spent
    widths = []
    for confidence in (0.5, 0.9, 0.999):
        ends = answer.intervals(confidence)
        widths.append([ends[f"{name}_high"][0].as_py() - ends[f"{name}_low"][0].as_py() for name in ("m", "n")])
        assert ends["m"][0].as_py() == answer["m"][0]
    assert widths[0][0] < widths[1][0] < widths[2][0]
    assert widths[0][1] < widths[1][1] < widths[2][1]
    assert answer.intervals(0.5).equals(answer.to_pyarrow())
    assert table.budget.spent == spent


def test_simultaneous_ends_share_the_miss(answer: dp.Release) -> None:
    """Four groups and two columns: each of the eight at 1 - 0.05/8."""
    assert answer.intervals(0.95, simultaneous=True).equals(answer.intervals(1 - 0.05 / 8))


COUNTS = pa.table({"k": pa.array(np.repeat(np.arange(2000), 3)), "x": np.tile([0.0, 1.0, 2.0], 2000)})
MISSES = {0.5: 1000.0, 0.9: 200.0, 0.99: 20.0}


@pytest.mark.parametrize("confidence", MISSES)
@pytest.mark.parametrize("name", ["n", "s"])
def test_ends_hold_the_truth_as_often_as_they_say(confidence: float, name: str) -> None:
    """2,000 groups of three rows with foreseeable noise; p below 1e-9 would say that the rate of misses is too high.

    Counts are whole and so are their ends, which may cover more often, but not less.
    """
    table = dp.protect(COUNTS, unit=dp.ROW, bounds={"x": (0, 2)}, budget=dp.Budget(epsilon=9), name="counts")
    grouped = not_private(table, seed=7).group_by("k", keys={"k": range(2000)})
    answer = grouped.agg(n=lambda t: t.count(), s=lambda t: t.x.sum(where=t.x > 0)).release(
        epsilon=1, confidence=confidence
    )
    ends = answer.to_pyarrow()
    low, high = (np.array(ends[f"{name}{end}"]) for end in ("_low", "_high"))
    misses = int(np.sum((low > 3.0) | (high < 3.0)))
    assert misses <= MISSES[confidence] or binomial_p(misses, 2000, 1 - confidence) > 1e-9
    if name == "s":
        assert binomial_p(misses, 2000, 1 - confidence) > 1e-9


def test_a_wrong_confidence_would_be_seen() -> None:
    """The planted fault: ends of 80 % that say 90 %."""
    assert binomial_p(400, 2000, 0.1) < 1e-9


@pytest.mark.long
@pytest.mark.parametrize("confidence", [0, 1, -1, 2, math.nan, math.inf, "0.95", True])
def test_confidences_that_are_none_are_refused(answer: dp.Release, confidence: Any) -> None:
    with pytest.raises(dp.InvalidParameter):
        answer.intervals(confidence)
    with pytest.raises(dp.InvalidParameter):
        people().count().release(epsilon=1, confidence=confidence)


def test_an_unknown_column_is_refused_with_the_nearest(answer: dp.Release) -> None:
    with pytest.raises(dp.InvalidParameter, match="did you mean 'visits'"):
        answer["visit"]
    with pytest.raises(dp.InvalidParameter, match="a column of the answer"):
        answer.plot("nothing")


def test_without_polars_the_cure_is_named(answer: dp.Release, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(dp.InvalidParameter, match=r"pip install 'discreet\[polars\]'"):
        answer.to_polars()


def test_scalars_are_tables_of_one_row() -> None:
    answer = people().count().release(epsilon=1)
    assert (len(answer), answer.groups, answer.to_pyarrow().num_rows) == (1, (), 1)


def test_a_plot_shows_what_the_table_holds(answer: dp.Release, tmp_path: Path) -> None:
    figure = answer.plot(path=tmp_path / "answer.png")
    table = answer.to_pyarrow()
    assert [axis.get_title() for axis in figure.axes] == ["n", "visits"]
    axes: list[Any] = figure.axes
    for axis, name in zip(axes, ("n", "visits"), strict=True):
        points = axis.containers[0].lines[0].get_xdata()
        assert np.array_equal(np.asarray(points, float), np.array(table[name].to_pylist(), float), equal_nan=True)
        [bars] = axis.containers[0].lines[2]
        ends = np.array([segment[:, 0] for segment in bars.get_segments()])
        assert np.allclose(ends[:, 0], table[f"{name}_low"].to_pylist())
        assert np.allclose(ends[:, 1], table[f"{name}_high"].to_pylist())
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["50%", "NULL", "free", "absent"]
    assert "NOT PRIVATE" in figure.get_supxlabel()
    assert (tmp_path / "answer.png").stat().st_size > 1000


def test_a_plot_of_some_columns_with_the_truth(answer: dp.Release) -> None:
    figure = answer.plot("visits", truth={"visits": np.array([1.0, 2.0, 3.0, 4.0])})
    [axis] = figure.axes
    assert np.asarray(axis.lines[-1].get_xdata()).tolist() == [1.0, 2.0, 3.0, 4.0]


def test_means_stay_in_their_range_whatever_the_noise() -> None:
    table = people()
    answer = (
        table.group_by("plan")
        .agg(m=table.visits.mean(), v=table.visits.var(), s=table.visits.std())
        .release(epsilon=1e-3)
    )
    ends = answer.to_pyarrow()
    for name, most in (("m", 50), ("v", 1250), ("s", 36)):
        shown = (f"{name}{end}" for end in ("_low", "", "_high"))
        values = np.array([one for end in shown for one in ends[end].to_pylist() if one is not None])
        assert np.all((values >= 0) & (values <= most) & np.isfinite(values))
        assert not np.any(np.signbit(values))


def test_an_answer_says_all_that_it_cost() -> None:
    table = dp.protect(pa.table({"k": ["a"] * 99}), unit=dp.ROW, budget=dp.Budget(epsilon=3, delta=1e-5))
    shown = table.group_by("k", keys=dp.UNKNOWN).agg(n=table.k.count()).release(epsilon=2, delta=1e-6)
    assert repr(shown).endswith("intervals (noise only) · epsilon 2, delta 0.000001")
    assert repr(table.count().release(epsilon=1)).endswith("intervals (noise only) · epsilon 1")


def test_a_mean_of_which_nothing_is_known_is_a_dash() -> None:
    table = people()
    question = table.group_by("plan", keys={"plan": ["free", "absent"]}).agg(
        n=lambda t: t.count(), m=table.visits.mean(), s=table.visits.std(), r=table.visits.corr(table.age, how="pop")
    )
    answer = question.release(epsilon=10)
    assert answer.to_pyarrow()["m"].is_null().to_pylist() == [False, True]
    assert (answer.to_pandas()["m_low"][1], answer.to_pandas()["m_high"][1]) == (0.0, 50.0)
    assert np.isnan(answer["m"]).tolist() == np.isnan(answer["s"]).tolist() == [False, True]
    assert np.isnan(answer["r"][1])
    assert "—  [0.00, 50.0]" in repr(answer)
    assert ">— <span" in answer._repr_html_()
    assert answer.to_csv().splitlines()[2].split(",")[4] == ""
    assert [text.get_text() for axis in answer.plot("n", "m").axes for text in axis.texts] == ["—"]
    assert answer.having(lambda t: t.m > 0).to_pyarrow()["plan"].to_pylist() == ["free"]


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1, 3])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.9999])
def test_what_is_a_dash_follows_from_the_interval_alone(epsilon: float, confidence: float) -> None:
    table = people()
    question = table.group_by("plan", keys={"plan": ["free", "25%", "absent"]}).agg(
        m=table.visits.mean(), v=table.visits.var(), c=table.visits.cov(table.age), top=table.age.clip(0, 1).mean()
    )
    shown = question.release(epsilon=epsilon, confidence=confidence).to_pandas()
    for name, low, high in (("m", 0.0, 50.0), ("v", 0.0, 1250.0), ("c", -2750.0, 2750.0), ("top", 0.0, 1.0)):
        spans = (shown[f"{name}_low"] <= low) & (shown[f"{name}_high"] >= high)
        assert shown[name].isna().tolist() == spans.tolist()
