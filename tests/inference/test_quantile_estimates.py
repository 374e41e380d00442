"""Intervals of quantiles cover, whatever the rows; quantiles are as good as promised, in one engine query."""

from __future__ import annotations

import datetime
import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from ibis import _
from numpy.typing import NDArray

import discreet as dp
from discreet.inference import quantile_estimates
from discreet.inference.quantile_estimates import chernoff, interval, noise_quantiles, rank_estimates
from discreet.planning.plan import Plan
from discreet.planning.planner import price
from discreet.planning.quantile_measurements import MISS, PricedRanks
from discreet.selection.rank_exponential import PARTS, UNIT, Histogram
from discreet.testing.scripted_words import splitmix
from discreet.testing.statistics import binomial_p

FALSE_ALARM = 1e-6
ROWS = 1000


@dataclass(frozen=True)
class Asked:
    """Many tables as groups of one, with what was released of them."""

    answer: dp.Release
    values: NDArray[np.float64]


def released(values: NDArray[Any], high: int, epsilon: float = 1, **written: Any) -> Asked:
    """One table a group, each of them sorted, a row a unit."""
    groups, rows = values.shape
    data = pa.table({"g": np.repeat(np.arange(groups), rows), "x": values.ravel()})
    table = dp.protect(data, unit=dp.ROW, bounds={"x": (0, high)}, budget=dp.Budget(epsilon=100), name="many")
    asked = table.group_by("g", keys={"g": list(range(groups))}).agg(**written)
    return Asked(asked.release(epsilon=epsilon), np.sort(values, axis=1))


def ranks(asked: Asked, column: str, side: str = "left") -> NDArray[np.int64]:
    """How many rows of each table lie below its answer."""
    points = asked.answer.to_pyarrow()[column].to_numpy()
    return np.array([np.searchsorted(v, p, side=side) for v, p in zip(asked.values, points, strict=True)])  # type: ignore[call-overload]  # side is one of two


def incomes(groups: int, rows: int = ROWS) -> NDArray[np.float64]:
    return np.minimum(np.random.default_rng(4).lognormal(10, 1, (groups, rows)), 10**6)


GOALS = {1: (400, 1.05), 9: (150, 6.3), 99: (50, 12.0)}
"""For so many quantiles: how many tables, and the mean rank error wanted at 1,000 rows and epsilon 1."""


@pytest.mark.long
@pytest.mark.parametrize("many", GOALS)
def test_quantiles_are_as_good_as_promised(many: int) -> None:
    """The mean over all tables and quantiles, give or take four standard errors."""
    groups, goal = GOALS[many]
    shares = [i / (many + 1) for i in range(1, many + 1)]
    asked = released(incomes(groups), 10**6, q=lambda t: t.x.quantile(shares))
    errors = np.array([np.abs(ranks(asked, name) - float(name[2:]) * ROWS) for name in asked.answer.columns])
    by_table = errors.mean(axis=0)
    assert by_table.mean() - 4 * by_table.std() / groups**0.5 < goal
    assert by_table.mean() < 1.2 * goal


TABLES = {
    "incomes": (incomes(300), 10**6),
    "few ages": (np.random.default_rng(5).integers(0, 6, (300, ROWS)), 110),
    "one value": (np.full((300, 200), 7), 110),
    "two heaps": (np.where(np.random.default_rng(6).random((300, ROWS)) < 0.5, 0.0, 1.0), 1),
    "hardly any rows": (incomes(300, 3), 10**6),
}


@pytest.mark.cases
@pytest.mark.parametrize("name", TABLES)
def test_intervals_cover(name: str) -> None:
    """Of 300 tables, no fewer than the confidence says, at three confidences; false alarm 1e-6."""
    values, high = TABLES[name]
    asked = released(values, high, 4, q=lambda t: t.x.quantile([0.3, 0.5, 0.9]))
    for confidence, column in itertools.product((0.5, 0.8, 0.95), asked.answer.columns):
        frame, share = asked.answer.intervals(confidence), float(column[2:])
        low, high_ = (frame[f"{column}{end}"].to_numpy() for end in ("_low", "_high"))
        inside = (np.array([(v <= p).mean() for v, p in zip(asked.values, high_, strict=True)]) >= share) | (
            high_ >= high
        )
        inside &= np.array([(v < p).mean() for v, p in zip(asked.values, low, strict=True)]) <= share
        missed = int((~inside).sum())
        assert (
            missed <= values.shape[0] * (1 - confidence) or binomial_p(missed, values.shape[0], 1 - confidence) > 1e-6
        )


@pytest.mark.long
def test_an_interval_says_something() -> None:
    """With 20,000 rows the median is known to a few percent of rank."""
    asked = released(incomes(20, 20_000), 10**6, m=lambda t: t.x.median())
    assert np.median(ranks(asked, "m_high") - ranks(asked, "m_low")) < 3000


def priced(table: Any, shares: list[float], epsilon: object = 1) -> PricedRanks:
    question = table.agg(q=lambda t: t.age.quantile(shares))
    return price(question._query, epsilon=epsilon).ranks[0]


def test_doubt_ends_the_search(by_row: Any) -> None:
    """A cut beyond one that is in doubt is not trusted, however certain it looks by itself."""
    found = priced(by_row(), [0.5], 10**4)
    cuts = np.array([[4096, 8192, 16384, 20480]], dtype=object)  # without the wanted one, between the rungs

    def ends(masses: list[float]) -> list[int]:
        low, high = interval(found, cuts, np.array([masses]), Fraction(1, 2), 0.95)
        return [int(low[0]) // 4096, int(high[0]) // 4096]

    assert ends([1000, 1000, 16000, 1000, 1000]) == [2, 4]
    assert ends([1000, 9000, 0, 9000, 1000]) == [1, 5]  # not the ends of the range
    assert ends([11000, -10000, 17000, 1000, 1000]) == [0, 4]
    assert ends([1000, 1000, 1000, 1000, 11000]) == [5, 110]


def test_the_rounding_of_sums_decides_nothing(by_row: Any) -> None:
    """Just 56 % of 7,000 rows lie below each cut, without noise or doubt: the quantile may be on either side."""
    few, share = priced(by_row(), [0.56]), Fraction(56, 100)
    cuts = np.arange(1, 5, dtype=object)[None, :] * PARTS
    assert (np.array([3920.0]) - float(share) * 7000.0 != 0).all()
    low, high = interval(few, cuts, np.array([[3920.0, 0.0, 0.0, 0.0, 3080.0]]), share, 0.5)
    assert (low[0], high[0] > cuts[0, -1]) == (0, True)


@pytest.mark.parametrize("confidence", [0.3, 0.5, 0.8, 0.95, 0.999])
def test_an_interval_of_many_quantiles_may_be_wrong_on_either_side(by_row: Any, confidence: float) -> None:
    """Of few, one side alone may be: it has all that is left of the confidence, the two sides of many a half each."""
    few = priced(by_row(), [0.5])
    noise = few.cuts.noise
    assert noise
    found = noise_quantiles(few, 0.5, confidence)
    words = splitmix(5)
    drawn = noise.add_noise(np.zeros((100_000, 5), dtype=np.int64), words).astype(np.float64) / UNIT
    for below, doubt in enumerate(found.tolist(), start=1):
        beyond = int((drawn[:, :below].sum(axis=1) / 2 - drawn[:, below:].sum(axis=1) / 2 > doubt).sum())
        assert beyond <= 100_000 * (1 - confidence) or binomial_p(beyond, 100_000, 1 - confidence) > FALSE_ALARM
        if confidence > 0.5:
            assert binomial_p(beyond, 100_000, 0.9 * (1 - confidence)) < (FALSE_ALARM if confidence < 0.99 else 1)
    many = priced(by_row(), [i / 20 for i in range(1, 20)])
    assert many.cuts.noise
    scale = float(many.cuts.noise.scale / UNIT)
    for below, doubt in enumerate(noise_quantiles(many, 0.5, confidence).tolist(), start=1):
        assert doubt >= chernoff(below, 20 - below, 0.5, (1 - confidence) / 2) * scale


def balanced(draws: int) -> tuple[Plan, Histogram]:
    """Tables of persons in which one row decides, 500 of them at the low end of the range and 501 at the other: all
    cuts are drawn between the two, and each is just below the median.
    """
    data = pa.table({"p": np.arange(1001) // 3, "x": np.where(np.arange(1001) < 500, 0.0, 1000.0)})
    table = dp.protect(
        data, unit="p", max_rows=3, bounds={"x": (0, 1000)}, budget=dp.Budget(epsilon=1), name="two heaps"
    )
    question: Any = table.agg(q=_.x.median())
    plan = price(question._query, epsilon=1)
    [ranks] = plan.ranks
    group, places = np.arange(draws), np.array([0, ranks.lattice.high])
    masses = np.array([500, 501]) * ranks.steps
    return plan, Histogram(np.repeat(group, 2), np.tile(places, draws), np.tile(masses, draws))


def test_no_smaller_doubt_would_do_for_every_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 4,000 tables that one row decides, 95 % of the intervals hold and no more: 200 miss, give or take 69 at one in
    a million. With the doubt for 90 % too many miss.
    """
    plan, masses = balanced(4000)
    [ranks] = plan.ranks
    found = ranks.cuts.made(masses, 4000, splitmix(9))

    def missed() -> int:
        high = np.asarray(rank_estimates(plan, plan.columns[0], found, 0.95)[2])
        return int((high < 1000).sum())

    assert 131 <= missed() <= 269
    doubt = quantile_estimates.noise_quantiles
    monkeypatch.setattr(quantile_estimates, "noise_quantiles", lambda one, share, _level: doubt(one, share, 0.9))
    assert binomial_p(missed(), 4000, 0.05) < FALSE_ALARM


def test_chernoff_is_above_the_tail() -> None:
    """Against 2 million sums of 20 Laplace variables; and hardly above twice the exponent it has to have."""
    words = splitmix(3)
    drawn = -np.log((words(40 * 50_000) >> np.uint64(11)).astype(np.float64) * 2.0**-53 + 2.0**-54).reshape(-1, 40)
    scales = np.where(np.arange(20) < 5, 0.7, 0.3)
    sums = ((drawn[:, :20] - drawn[:, 20:]) * scales).sum(axis=1)
    t = chernoff(5, 15, 0.3, 0.025)
    assert (sums > t).mean() < 0.025
    assert t < 1.5 * np.quantile(sums, 0.975)


def test_ends_of_the_range_are_within_it(by_row: Any) -> None:
    """With enough epsilon for so few rows; at any confidence."""
    answer = by_row().agg(lo=lambda t: t.spent.min(), hi=lambda t: t.age.max()).release(epsilon=1000)
    for frame in (answer.to_pyarrow(), answer.intervals(0.999)):
        [row] = frame.to_pylist()
        assert 0 == row["lo_low"] <= row["lo"] <= row["lo_high"] <= row["lo"] + 1e-4
        assert 0 <= row["hi"] == row["hi_low"] <= row["hi_high"] == 110


def test_an_end_that_is_not_certain_has_the_whole_range(by_row: Any) -> None:
    """A handful of rows at epsilon 1/10,000: hardly ever is one of them seen."""
    answer = by_row().agg(lo=lambda t: t.spent.min(), hi=lambda t: t.age.max()).release(epsilon=1e-4)
    [row] = answer.intervals(1 - 1e-9).to_pylist()
    assert (row["lo_low"], row["lo_high"], row["hi_low"], row["hi_high"]) == (0, 10, 0, 110)


def test_a_maximum_is_seldom_too_large() -> None:
    """300 tables of 1,000 rows: above their maximum at most as often as said, and near it."""
    asked = released(incomes(300), 10**6, 1, hi=lambda t: t.x.max(), lo=lambda t: t.x.min())
    beyond = int((ranks(asked, "hi") == ROWS).sum())
    assert beyond <= 15 or binomial_p(beyond, 300, MISS) > FALSE_ALARM
    assert np.median(ROWS - ranks(asked, "hi")) < 80
    assert np.median(ranks(asked, "lo")) < 80


@pytest.mark.parametrize("by_row", [True, False])
def test_ends_are_rows_where_epsilon_is_large(*, by_row: bool) -> None:
    """Of 300 tables, 3 had an end below or above all of their rows, however large epsilon was."""
    values = np.random.default_rng(7).integers(200, 800, (300, 20))
    data = pa.table({"g": np.repeat(np.arange(300), 20), "x": values.ravel(), "p": np.arange(values.size)})
    unit: dict[str, Any] = {"unit": dp.ROW} if by_row else {"unit": "p", "max_rows": 1, "max_groups": 1}
    table = dp.protect(data, **unit, bounds={"x": (0, 1000)}, budget=dp.Budget(epsilon=10**6), name="ends")
    asked = table.group_by("g", keys={"g": list(range(300))}).agg(lo=lambda t: t.x.min(), hi=lambda t: t.x.max())
    answer = asked.release(epsilon=1000).to_pyarrow()
    assert answer["lo"].to_pylist() == values.min(axis=1).tolist()
    assert answer["hi"].to_pylist() == values.max(axis=1).tolist()


def test_an_interval_seldom_ends_with_the_range() -> None:
    """Of 400 tables with noise that is small beside their rows: 31 intervals spanned half of them where nothing lay
    beyond the two rungs of a quantile; that 9 do now has a chance below 1e-6 if one in 400 does.
    """
    asked = released(incomes(400), 10**6, 10, q=lambda t: t.x.quantile(0.9))
    wide = ranks(asked, "q_high") - ranks(asked, "q_low") > ROWS / 2
    assert wide.sum() <= 8


def test_intervals_of_persons_are_not_far_wider_than_their_noise() -> None:
    """A person's rows are 3 of 9,000, and epsilon 2 hides them: intervals at a fiftieth of it spanned a quarter of all
    ranks, at a fifth they span less than a tenth. Each holds with 95 %; that 4 of 6 miss has a chance of 1 in 10,000.
    """
    persons, rows = 3000, 3
    values = (np.arange(persons * rows) * 7919) % 9001
    frame = pa.table({"person": np.repeat(np.arange(persons), rows), "x": values})
    budget = dp.Budget(epsilon=100)
    table = dp.protect(frame, unit="person", max_rows=rows, bounds={"x": (0, 9000)}, budget=budget, name="ranks")
    question = table.agg(top=lambda t: t.x.quantile(0.9))
    found = [question.release(epsilon=2, fresh=True).to_pandas().iloc[0] for _ in range(6)]
    ordered = np.sort(values)
    width = [np.searchsorted(ordered, one.top_high) - np.searchsorted(ordered, one.top_low) for one in found]
    assert np.median(width) / len(values) < 0.1
    true = np.quantile(values, 0.9, method="inverted_cdf")
    assert sum(one.top_low <= true <= one.top_high for one in found) > 2


MOMENT = datetime.datetime.fromisoformat
BOUNDS: dict[str, tuple[tuple[Any, Any], Any, pa.DataType]] = {
    "rounded down": ((0, 0.7), 0.7, pa.float64()),
    "far": ((0, 10**12), 1e12, pa.float64()),
    "near": ((-1e-9, 1e-9), 1e-9, pa.float64()),
    "rounded up": ((0, 1.1), 1.1, pa.float64()),
    "whole": ((0, 5_000_003), 5_000_003, pa.int64()),
    "all of 64 bits": ((0, 2**63 - 1), 2**63 - 1, pa.int64()),
    "both signs": ((-(2**63), 2**63 - 1), 2**63 - 1, pa.int64()),
    "the smallest": ((-(2**63), 0), 0, pa.int64()),
    "days": (("0001-01-01", "9999-12-31"), datetime.date(9999, 12, 31), pa.date32()),
    "moments": (("1900-01-01", "9999-12-31"), MOMENT("9999-12-31"), pa.timestamp("us")),
    "a moment": (("2026-01-01", MOMENT("2026-01-01T00:00:00.5")), MOMENT("2026-01-01T00:00:00.5"), pa.timestamp("us")),
}


@pytest.mark.long
@pytest.mark.parametrize("rows", [1, 400])
@pytest.mark.parametrize("case", BOUNDS)
def test_the_range_ends_with_the_stated_bounds(case: str, rows: int) -> None:
    """Not with the last point of the lattice, which lies a part of a step below or above them: in the year 10000."""
    bounds, last, kind = BOUNDS[case]
    data = pa.table({"x": pa.array([last] * rows, kind)})
    people = dp.protect(data, unit=dp.ROW, bounds={"x": bounds}, budget=dp.Budget(epsilon=100))
    asked = people.agg(m=_.x.max(), n=_.x.min(), q=_.x.median())
    [row] = asked.release(epsilon=3).to_pyarrow().to_pylist()
    first = pa.scalar(bounds[0]).cast(pa.string()).cast(kind).as_py()
    for name in "mnq":
        assert first <= row[f"{name}_low"] <= row[name] <= row[f"{name}_high"] <= last
    assert row["m_high"] == last


def test_an_interval_of_moments_reaches_to_the_end_of_a_second() -> None:
    at = MOMENT("2026-01-01T12:00:02.900")
    data = pa.table({"at": pa.array([at] * 10_000, pa.timestamp("us"))})

    def ends(last: datetime.datetime) -> dict[str, datetime.datetime]:
        bounds, budget = {"at": ("2026-01-01", last)}, dp.Budget(epsilon=1000)
        asked = dp.protect(data, unit=dp.ROW, bounds=bounds, budget=budget).agg(
            m=_.at.median(), n=_.at.min(), x=_.at.max()
        )
        # At 95 percent one run in 500 would miss.
        [row] = asked.release(epsilon=300, confidence=0.999999).to_pyarrow().to_pylist()
        return dict(row)

    row = ends(MOMENT("2026-01-02"))
    for name in "mnx":
        assert row[f"{name}_low"] <= at <= row[f"{name}_high"]
    assert row["m_high"] - row["m_low"] < datetime.timedelta(seconds=5)
    last = MOMENT("2026-01-01T12:00:02.950")
    row = ends(last)
    assert [row[f"{name}_high"] for name in "mnx"] == [last] * 3


@pytest.mark.long
@pytest.mark.parametrize("low", [2**62, -(2**62), 2**53 + 1, -(2**63)])
@pytest.mark.parametrize("width", [2**33, 2**40, 2**62])
def test_ranks_of_large_integers_are_held(low: int, width: int) -> None:
    """As doubles they were off by more than the steps of their range: by 256 at 2**62, where a step has 2 of 2**33."""
    high = min(low + width, 2**63 - 1)
    truth = low + (high - low) // 2 + 203
    data = pa.table({"x": pa.array([truth] * 1000, pa.int64())})
    people = dp.protect(data, unit=dp.ROW, bounds={"x": (low, high)}, budget=dp.Budget(epsilon=10**6))
    asked = people.agg(m=_.x.median(), first=_.x.min(), last=_.x.max(), a=_.x.mean())
    missed = 0
    for _i in range(5):
        [row] = asked.release(epsilon=1000, fresh=True).to_pyarrow().to_pylist()
        missed += sum(not row[f"{name}_low"] <= truth <= row[f"{name}_high"] for name in ("m", "first", "last"))
    assert missed <= 3
