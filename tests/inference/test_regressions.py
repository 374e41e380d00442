"""Lines from noisy components: every interval covers, and no wrong version passes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.inference.covariances import Interval
from discreet.inference.ratio_intervals import PivotNoise
from discreet.inference.regressions import RegressionLine, line, line_interval
from discreet.noise.weighted_sums import LAPLACE, NORMAL, WeightedSums
from discreet.planning.aggregates import Slope
from discreet.planning.bernstein_polynomials import Basis, Reals
from discreet.testing.statistics import clopper_pearson

RUNS = 1500
"""Of each coverage test. At a confidence of 0.9 a coverage below 0.83 (0.78 in a third of them) is surely seen."""
FALSE_ALARM = 1e-9
CONFIDENCE = 0.9
SLOPE, HEIGHT, AT_ZERO = (0.0, 1.0), (1.0, 0.0), (1.0, -0.5)
Values = tuple[Reals, Reals]


def even(rows: int) -> Values:
    chance = np.random.default_rng()
    u = chance.random(rows)
    return u, np.clip(0.9 - 0.6 * u + 0.1 * chance.random(rows), 0, 1)


def ends(rows: int) -> Values:
    """Values at the ends of their ranges: the line has the steepest slope, and nothing but noise is off."""
    u: Reals = np.arange(float(rows)) % 2.0
    return u, u


def low(rows: int) -> Values:
    chance = np.random.default_rng()
    u = chance.beta(0.5, 3, rows)
    return u, 0.5 * u + 0.2 * chance.random(rows)


def tenth(rows: int) -> Values:
    """Of ten rows one is at the upper end: the mean is far from the middle."""
    u: Reals = (np.arange(rows) % 10 == 3).astype(np.float64)
    return u, u


MADE = {"even": even, "ends": ends, "low": low, "tenth": tenth}


def components(values: Values) -> Reals:
    u, v = values
    squares = np.stack([(1 - u) ** 2, 2 * u * (1 - u), u**2], axis=-1)
    total: Reals = Basis((2, 1)).product(squares, np.stack([1 - v, v], axis=-1)).sum(axis=0)
    return total


def noisy(values: Values, *, law: WeightedSums = LAPLACE) -> Reals:
    chance = np.random.default_rng()
    draw = chance.laplace if law is LAPLACE else chance.normal
    return components(values) + draw(size=(RUNS, 6))


def pivot(scale: float = 1.0, law: WeightedSums = LAPLACE) -> PivotNoise:
    return PivotNoise.of(scale, 0.0, CONFIDENCE, law)


def truth_of(values: Values, form: tuple[float, float]) -> float:
    slope, height = np.polyfit(values[0] - 0.5, values[1], 1)
    return float(form[0] * height + form[1] * slope)


def hits(interval: Interval, truth: float) -> int:
    return int(np.count_nonzero((interval[0] <= truth) & (truth <= interval[1])))


def covers(interval: Interval, truth: float) -> bool:
    return clopper_pearson(hits(interval, truth), interval[0].size, confidence=1 - FALSE_ALARM)[1] >= CONFIDENCE


@pytest.mark.long
@pytest.mark.cases
@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("rows", [4, 100, 1000, 100_000])
@pytest.mark.parametrize("form", [SLOPE, HEIGHT, AT_ZERO])
def test_slope_coverage(made: str, rows: int, form: tuple[float, float]) -> None:
    """And in large groups it is not much above: what is unknown costs little there."""
    values = MADE[made](rows)
    truth, found = truth_of(values, form), noisy(values)
    interval = line_interval(RegressionLine.of(found, (2, 1)), form, pivot(), confidence=CONFIDENCE)
    assert covers(interval, truth)
    assert not np.isnan(interval).any()
    if rows == 100_000 and made in ("even", "ends"):
        assert hits(interval, truth) / RUNS <= CONFIDENCE + 0.06
        assert abs(float(line(RegressionLine.of(found, (2, 1)), form, scale=1.0).mean()) - truth) < 1e-3


def test_normal_noise_is_covered_too() -> None:
    values = ends(3000)
    found = noisy(values, law=NORMAL)
    interval = line_interval(RegressionLine.of(found, (2, 1)), SLOPE, pivot(law=NORMAL), confidence=CONFIDENCE)
    assert covers(interval, truth_of(values, SLOPE))
    assert hits(interval, truth_of(values, SLOPE)) / RUNS <= CONFIDENCE + 0.06


def test_a_line_around_the_middle_is_caught() -> None:
    """The planted version that forgets that the mean of u is noisy, too, and far from the middle."""
    values = tenth(100_000)
    truth = truth_of(values, SLOPE)
    found = np.concatenate([noisy(values) for _ in range(4)])  # 0.83 of them are held: seen for sure in so many
    own = RegressionLine.of(found, (2, 1))
    residual = own.at_crossed[1] - own.fitted(1.0) @ own.at_squares[1]
    alone = pivot().noise_quantile(np.linalg.inv(own.squares)[:, 1, 1, None] * residual, CONFIDENCE)
    middle = line(RegressionLine.of(found, (2, 1)), SLOPE, scale=1.0)
    assert not covers((middle - alone, middle + alone), truth)


def test_second_order_is_bounded() -> None:
    """With as few rows as have finite ends, they are far wider than the first order would have them."""
    values = even(300)
    parts = components(values)[None]
    [low_end], [high_end] = line_interval(RegressionLine.of(parts, (2, 1)), SLOPE, pivot(), confidence=CONFIDENCE)
    wide = high_end - low_end
    [low_end], [high_end] = line_interval(RegressionLine.of(100 * parts, (2, 1)), SLOPE, pivot(), confidence=CONFIDENCE)
    assert np.isfinite(wide)
    assert wide > 1.5 * 100 * (high_end - low_end)


def test_where_nothing_varies_nothing_is_refused() -> None:
    for parts in (np.zeros((1, 6)), components((np.full(500, 0.3), np.linspace(0, 1, 500)))[None]):
        low_end, high_end = line_interval(RegressionLine.of(parts, (2, 1)), SLOPE, pivot(), confidence=CONFIDENCE)
        assert (low_end[0], high_end[0]) == (-np.inf, np.inf)
        assert np.isfinite(line(RegressionLine.of(parts, (2, 1)), SLOPE, scale=1.0)).all()


def table(rows: int = 4000) -> pa.Table:
    chance = np.random.default_rng()
    x = chance.uniform(-20, 60, rows)
    y = np.clip(30 + 0.5 * x + chance.normal(0, 3, rows), 0, 80)
    missing = chance.random(rows) < 0.1
    return pa.table({"x": pa.array(x, mask=missing), "y": y, "g": chance.choice(["a", "b"], rows), "i": x.astype(int)})


def protected(data: pa.Table) -> Any:
    bounds = {"x": (-20, 60), "y": (0, 80), "i": (-20, 60)}
    return dp.protect(
        data, unit=dp.ROW, bounds=bounds, keys={"g": ["a", "b"]}, budget=dp.Budget(epsilon=10**7), name="lines"
    )


def test_lines_in_their_own_units() -> None:
    """As NumPy has them, whatever the bounds: the intercept is the height at x = 0, in the verbs and in SQL."""
    data = table()
    people = protected(data)
    frame = data.to_pandas()
    statement = "SELECT g, REGR_SLOPE(y, x) AS slope, REGR_INTERCEPT(y, x) AS intercept FROM t GROUP BY g"
    for answer in (
        people.group_by("g").regress("y", "x").release(epsilon=10**5),
        dp.sql(statement, t=people).release(epsilon=10**5),
    ):
        for place, group in enumerate(("a", "b")):
            own = frame[frame.g == group].dropna()
            assert [answer["slope"][place], answer["intercept"][place]] == pytest.approx(
                np.polyfit(own.x, own.y, 1).tolist(), rel=1e-3
            )
    kept = frame[frame.i > 0]
    found = people.regress(_.y, _.i, where=_.i > 0).release(epsilon=10**5)
    assert [found["slope"][0], found["intercept"][0]] == pytest.approx(np.polyfit(kept.i, kept.y, 1).tolist(), rel=1e-3)
    assert people.regress("y", "x").explain(epsilon=1)["columns"][0]["plus_minus"].endswith("/n")


def test_infinite_ends_are_shown() -> None:
    answer = protected(table(20)).regress("y", "x").release(epsilon=0.01)
    assert "inf" in repr(answer)
    assert answer.to_pyarrow()["slope_high"].to_pylist() == [np.inf]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answer.plot()


def test_too_many_predictors_are_refused() -> None:
    refused: list[Any] = [[(_.x + k).name(f"x{k}") for k in range(17)], [], {"x", "i"}]
    for stated in refused:
        with pytest.raises(dp.InvalidQuery, match="one predictor, or a list of up to 16"):
            protected(table(20)).regress("y", stated)
    with pytest.raises(dp.InvalidQuery, match="each predictor once"):
        protected(table(20)).regress("y", ["x", "x"])
    unbounded = dp.protect(table(20), unit=dp.ROW, budget=dp.Budget(epsilon=1), name="free")
    with pytest.raises(dp.InvalidQuery, match="Expected bounds for 'x'"):
        unbounded.regress("y", "x")


@pytest.mark.parametrize(("outcome", "predictors"), [("t", "x"), ("x", "t"), ("x", ["x", "day"])])
def test_lines_are_of_numbers(outcome: str, predictors: object) -> None:
    rows = pa.table({"x": [1.0], "t": ["a"], "day": pa.array([1], pa.date32())})
    people = dp.protect(rows, unit=dp.ROW, bounds={"x": (0, 1)}, budget=dp.Budget(epsilon=1), name="texts")
    with pytest.raises(dp.InvalidQuery, match="Expected numbers, got an aggregate of"):
        people.regress(outcome, predictors)


def plane(rows: int) -> tuple[Reals, ...]:
    """Two predictors that have much in common, and an outcome that falls with one of them and rises with the other."""
    chance = np.random.default_rng()
    u = chance.random(rows)
    w = np.clip(0.7 * u + 0.3 * chance.random(rows), 0, 1)
    return u, w, np.clip(0.3 - 0.2 * u + 0.6 * w + 0.1 * chance.random(rows), 0, 1)


def corners(rows: int) -> tuple[Reals, ...]:
    """All values at the ends of their ranges, the means far from the middle."""
    u, w = ((np.arange(rows) // k % 10 == 3).astype(np.float64) for k in (1, 10))
    return u, w, np.maximum(u, w)


def three(values: tuple[Reals, ...]) -> Reals:
    """The components of two predictors and an outcome."""
    squares = [np.stack([(1 - x) ** 2, 2 * x * (1 - x), x**2], axis=-1) for x in values[:2]]
    total: Reals = Basis((2, 2, 1)).product(*squares, np.stack([1 - values[2], values[2]], axis=-1)).sum(axis=0)
    return total


def fit_of(values: tuple[Reals, ...]) -> Reals:
    """What NumPy says: the height at the middle, and both slopes."""
    design = np.stack([np.ones(len(values[0])), values[0] - 0.5, values[1] - 0.5], axis=-1)
    return np.linalg.lstsq(design, values[2], rcond=None)[0].astype(np.float64)


SEVERAL = {"plane": plane, "corners": corners}
FORMS = [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, -0.5, -0.5)]


@pytest.mark.cases
@pytest.mark.parametrize("law", [LAPLACE, NORMAL], ids=["Laplace", "normal"])
@pytest.mark.parametrize("made", SEVERAL)
@pytest.mark.parametrize("rows", [30, 5000, 100_000])
def test_several_slopes_coverage(made: str, rows: int, law: WeightedSums) -> None:
    """And the estimate is near, the intervals are of use, in large groups."""
    values = SEVERAL[made](rows)
    chance = np.random.default_rng()
    draw, runs = (chance.laplace, RUNS // 3) if law is LAPLACE else (chance.normal, RUNS)  # a series for each quantile
    found, truth = three(values) + draw(size=(runs, 18)), fit_of(values)
    for form in FORMS[1::2] if law is LAPLACE else FORMS:
        low, high = line_interval(RegressionLine.of(found, (2, 2, 1)), form, pivot(law=law), confidence=CONFIDENCE)
        assert covers((low, high), float(truth @ form))
        assert not np.isnan([low, high]).any()
        if rows == 100_000:
            assert (high - low).max() < 0.1
            assert abs(float(line(RegressionLine.of(found, (2, 2, 1)), form, scale=1.0).mean()) - truth @ form) < 2e-3


def test_exact_totals_give_the_exact_line() -> None:
    values = plane(500)
    own = RegressionLine.of(three(values)[None], (2, 2, 1))
    design = np.stack([np.ones(500), values[0] - 0.5, values[1] - 0.5], axis=-1)
    assert own.squares[0] == pytest.approx(design.T @ design)
    assert own.crossed[0] == pytest.approx(design.T @ values[2])
    assert own.fitted(1e-9)[0] == pytest.approx(fit_of(values))


def test_slopes_without_each_other_are_caught() -> None:
    """The planted version that knows of the noise in one slope alone, as if the predictors had nothing in common."""
    values = plane(100_000)
    chance = np.random.default_rng()
    found = three(values) + chance.laplace(size=(RUNS, 18))
    own = RegressionLine.of(found, (2, 2, 1))
    fit = own.fitted(1.0)
    residual = own.at_crossed - np.einsum("nm,lmc->nlc", fit, own.at_squares)
    weights = 1.0 / own.squares[:, 1, 1]
    half = pivot().noise_quantile(weights[:, None] * residual[:, 1], CONFIDENCE)
    assert not covers((fit[:, 1] - half, fit[:, 1] + half), float(fit_of(values)[1]))


def test_groups_are_treated_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are at a time."""
    parts = three(plane(500)) + np.random.default_rng().laplace(size=(25, 18))
    own, form = RegressionLine.of(parts, (2, 2, 1)), (0.0, 1.0, 0.0)
    together = line_interval(own, form, pivot(), confidence=CONFIDENCE, rounding=1e-6)
    monkeypatch.setattr("discreet.inference.regressions.BLOCK", 10)
    for one, other in zip(
        together, line_interval(own, form, pivot(), confidence=CONFIDENCE, rounding=1e-6), strict=True
    ):
        assert one.shape == other.shape == (25,)
        assert one == pytest.approx(other)
    none = line_interval(RegressionLine.of(parts[:0], (2, 2, 1)), form, pivot(), confidence=CONFIDENCE)
    assert none[0].shape == (0,)


def test_what_rounding_adds_is_counted() -> None:
    parts, form = three(plane(100_000))[None], (0.0, 1.0, 0.0)
    [low_end], [high_end] = line_interval(RegressionLine.of(parts, (2, 2, 1)), form, pivot(), confidence=CONFIDENCE)
    wider = line_interval(RegressionLine.of(parts, (2, 2, 1)), form, pivot(), confidence=CONFIDENCE, rounding=1e-3)
    assert wider[1][0] - wider[0][0] > high_end - low_end + 1e-3


def test_equal_predictors_have_no_slopes_of_their_own() -> None:
    u, _, v = plane(5000)
    for form in FORMS[1:3]:
        low, high = line_interval(
            RegressionLine.of(three((u, u, v))[None], (2, 2, 1)), form, pivot(), confidence=CONFIDENCE
        )
        assert (low[0], high[0]) == (-np.inf, np.inf)
        assert np.isfinite(line(RegressionLine.of(three((u, u, v))[None], (2, 2, 1)), form, scale=1.0)).all()


def test_planes_in_their_own_units() -> None:
    """As NumPy has them in every group, whatever the bounds; rows without one of the values do not count."""
    data = table()
    frame = data.to_pandas()
    people = protected(data)
    question = people.group_by("g").regress("y", ["x", _.i.abs().name("size")])
    answer = question.release(epsilon=10**6)
    for place, group in enumerate(("a", "b")):
        own = frame[frame.g == group].dropna()
        design = np.stack([own.x, own.i.abs(), np.ones(len(own))], axis=-1)
        wanted = np.linalg.lstsq(design, own.y, rcond=None)[0].tolist()
        names = ("slope_x", "slope_size", "intercept")
        assert [answer[name][place] for name in names] == pytest.approx(wanted, rel=2e-3, abs=2e-3)
        ends = answer.to_pyarrow()
        for name, truth in zip(names, wanted, strict=True):
            assert ends[f"{name}_low"][place].as_py() <= truth <= ends[f"{name}_high"][place].as_py()
    [block] = question.plan(epsilon=1).blocks
    assert (block.block.degrees, block.block.components, block.sensitivity) == ((2, 2, 1), 18, block.steps)
    [told] = people.regress("y", ["x"]).explain(epsilon=1)["columns"][:1]
    assert told["name"] == "slope_x"
    assert told["plus_minus"] == people.regress("y", "x").explain(epsilon=1)["columns"][0]["plus_minus"]


def test_the_error_is_foreseen() -> None:
    """Of values spread evenly that have nothing to do with each other: the figure of `explain` is that found."""
    rows, chance = 12_000, np.random.default_rng()
    data = pa.table(
        {name: chance.uniform(low, high, rows) for name, low, high in (("x", -20, 60), ("i", 5, 9), ("y", 0, 80))}
    )
    bounds = {"x": (-20, 60), "i": (5, 9), "y": (0, 80)}
    people = dp.protect(data, unit=dp.ROW, bounds=bounds, budget=dp.Budget(epsilon=9), name="even")
    question = people.regress("y", ["x", "i"])
    told, ends = question.explain(epsilon=1), question.release(epsilon=1).to_pyarrow().to_pylist()[0]
    for column in told["columns"]:
        half = (ends[f"{column['name']}_high"] - ends[f"{column['name']}_low"]) / 2
        assert half == pytest.approx(float(column["plus_minus"].removesuffix("/n")) / rows, rel=0.35)


def test_which_predictor_is_part_of_the_question() -> None:
    """Two slopes of one name over the same columns are two questions, with a charge and an answer each."""
    budget = dp.Budget(epsilon=10)
    bounds = {"x": (-20, 60), "y": (0, 80), "i": (-20, 60)}
    people = dp.protect(table(200), unit=dp.ROW, bounds=bounds, budget=budget, name="slopes")
    x, y, i = (people[name] for name in "xyi")
    for place, epsilon in ((0, 1), (1, 2), (1, 2)):
        people.agg(s=Slope(left=x, right=y, beside=(i,), place=place).to_expr()).release(epsilon=1)
        assert budget.spent.epsilon == epsilon
