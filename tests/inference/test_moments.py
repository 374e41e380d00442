"""Means and variances from noisy components: every interval covers, no number is infinite, no wrong version passes."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

from discreet.errors import InvalidParameter
from discreet.inference import moments
from discreet.inference.moments import Interval
from discreet.noise.laplace_sum import Reals, quantile, tail
from discreet.testing.statistics import clopper_pearson

RUNS = 20_000
"""Of each coverage test. At a confidence of 0.95 a coverage below 0.935 is seen with near certainty."""
FALSE_ALARM = 1e-9

ROWS = [0, 5, 50, 1000]
MEANS = [0.02, 0.5, 0.98]
CONFIDENCES = [0.5, 0.95]
SCALE = 1.0
"""One row of one unit at epsilon 1: a pair and a triple have an L1 sensitivity of one row."""


def group(rows: int, about: float) -> Reals:
    """Values in [0, 1] whose mean is near `about`."""
    return np.random.default_rng().beta(4 * about, 4 * (1 - about), rows)


def pair_of(u: ArrayLike) -> tuple[float, float]:
    values = np.asarray(u, dtype=np.float64)
    return float(values.sum()), float((1 - values).sum())


def triple_of(u: ArrayLike) -> tuple[float, float, float]:
    values = np.asarray(u, dtype=np.float64)
    return float(((1 - values) ** 2).sum()), float((2 * values * (1 - values)).sum()), float((values**2).sum())


def noisy(components: tuple[float, ...], scale: float = SCALE) -> list[Reals]:
    """Many independent releases of each component."""
    return [x + np.random.default_rng().laplace(scale=scale, size=RUNS) for x in components]


def hits(interval: Interval, truth: float) -> int:
    return int(np.count_nonzero((interval[0] <= truth) & (truth <= interval[1])))


def covers(interval: Interval, truth: float, confidence: float) -> bool:
    """Whether so few misses are compatible with the confidence, at the stated false-alarm rate."""
    return clopper_pearson(hits(interval, truth), interval[0].size, confidence=1 - FALSE_ALARM)[1] >= confidence


@pytest.mark.cases
@pytest.mark.parametrize("confidence", CONFIDENCES)
@pytest.mark.parametrize("about", MEANS)
@pytest.mark.parametrize("rows", ROWS)
def test_mean_coverage(rows: int, about: float, confidence: float) -> None:
    """Also for no rows at all, where every mean is as true as another; and at 1,000 rows it is hardly above."""
    u = group(rows, about)
    truth = float(u.mean()) if rows else about
    interval = moments.mean_interval(*noisy(pair_of(u)), scale=SCALE, confidence=confidence)
    assert covers(interval, truth, confidence)
    if rows == 1000:
        assert hits(interval, truth) / RUNS <= confidence + 0.03


@pytest.mark.cases
@pytest.mark.parametrize("confidence", CONFIDENCES)
@pytest.mark.parametrize("about", MEANS)
@pytest.mark.parametrize("rows", ROWS)
def test_triple_mean_coverage(rows: int, about: float, confidence: float) -> None:
    u = group(rows, about)
    truth = float(u.mean()) if rows else about
    interval = moments.triple_mean_interval(noisy(triple_of(u)), scale=SCALE, confidence=confidence)
    assert covers(interval, truth, confidence)
    if rows == 1000:
        assert hits(interval, truth) / RUNS <= confidence + 0.03


@pytest.mark.long
@pytest.mark.cases
@pytest.mark.parametrize("confidence", CONFIDENCES)
@pytest.mark.parametrize(("rows", "about"), [(5, 0.02), (5, 0.5), (50, 0.5), (50, 0.98), (1000, 0.02), (1000, 0.5)])
def test_variance_coverage(rows: int, about: float, confidence: float) -> None:
    """And at 1,000 rows it is not much above: the share of the mean costs little."""
    u = group(rows, about)
    interval = moments.variance_interval(noisy(triple_of(u)), scale=SCALE, confidence=confidence)
    assert covers(interval, float(u.var()), confidence)
    if rows == 1000:
        assert hits(interval, float(u.var())) / RUNS <= confidence + 0.1 * (1 - confidence) + 0.03


@pytest.mark.long
@pytest.mark.cases
@pytest.mark.parametrize(("rows", "scale"), [(2, 0.02), (5, 0.02), (5, SCALE), (50, SCALE)])
def test_sample_variance_coverage(rows: int, scale: float) -> None:
    """With little noise too, where a factor n/(n-1) is seen."""
    u = np.linspace(0.1, 0.9, rows)
    components, truth = noisy(triple_of(u), scale), float(u.var(ddof=1))
    interval = moments.variance_interval(components, scale=scale, confidence=0.95, sample=True)
    assert covers(interval, truth, 0.95)
    if scale < 0.1 and rows == 5:
        plain = moments.variance_interval(components, scale=scale, confidence=0.95)
        assert not covers(plain, truth, 0.95)


def give_or_take(a: Reals, b: Reals, half: Callable[[Reals, Reals], Reals]) -> Interval:
    """A wrong interval: an estimate, give or take what follows from it and the noisy count."""
    middle = moments.mean(a, b)
    width = half(middle, np.maximum(a + b, 1.0))
    return middle - width, middle + width


WRONG: dict[str, Callable[[Reals, Reals], Interval]] = {  # all at a confidence of 0.999
    "delta": lambda a, b: give_or_take(a, b, lambda m, n: 3.29 * math.sqrt(2) * SCALE * np.hypot(1 - m, m) / n),
    "noise-of-one": lambda a, b: give_or_take(a, b, lambda m, n: quantile([1.0], 0.999) * np.maximum(m, 1 - m) / n),
    "root-2-lost": lambda a, b: moments.mean_interval(a, b, scale=0.7, confidence=0.999),
    "count-for-rest": lambda a, b: moments.mean_interval(a, a + b, scale=SCALE, confidence=0.999),
}


@pytest.mark.parametrize(
    ("wrong", "about"), [("delta", 0.98), ("noise-of-one", 0.5), ("root-2-lost", 0.5), ("count-for-rest", 0.5)]
)
def test_wrong_intervals_are_caught(wrong: str, about: float) -> None:
    """The delta method with the noisy count, the quantile of one variable, a lost factor, a wrong component."""
    u = group(1000, about)
    a, b = noisy(pair_of(u))
    assert not covers(WRONG[wrong](a, b), float(u.mean()), 0.999)
    assert covers(moments.mean_interval(a, b, scale=SCALE, confidence=0.999), float(u.mean()), 0.999)


def on_lattice(components: tuple[float, ...], steps: int, scale: float) -> list[Reals]:
    """Releases with discrete Laplace noise, a difference of two geometric variables, on multiples of 1/steps."""
    ends = np.random.default_rng().geometric(-np.expm1(-1 / (scale * steps)), (len(components), 2, RUNS))
    return [x + (here - there) / steps for x, (here, there) in zip(components, ends, strict=True)]


@pytest.mark.long
@pytest.mark.parametrize("steps", [1, 3])
def test_coarse_lattice_is_covered(steps: int) -> None:
    """Components that are multiples of a row, or of a third: `step` keeps the promise; without it, it is broken."""
    u = np.repeat([0.0, 1.0], 20)
    confidence = 1 - float(tail([1.0, 1.0], 1.99 / (0.5 * steps)))  # just below a multiple of the step
    asked: dict[str, Any] = {"scale": 0.5, "confidence": confidence}
    pair, triple = on_lattice(pair_of(u), steps, 0.5), on_lattice(triple_of(u), steps, 0.5)
    assert covers(moments.mean_interval(*pair, step=1 / steps, **asked), 0.5, confidence)
    assert covers(moments.triple_mean_interval(triple, step=1 / steps, **asked), 0.5, confidence)
    assert covers(moments.variance_interval(triple, step=1 / steps, **asked), 0.25, confidence)
    assert not covers(moments.mean_interval(*pair, **asked), 0.5, confidence)


def test_mean_interval_is_the_pivot() -> None:
    """Its ends are where |(1-m)A - mB| = b Q(1-m, m), to a millionth of its width, and not inside of them."""
    a, b = np.array([300.0, 3.0, 9.0, 0.5]), np.array([700.0, 8.0, 0.2, 0.1])
    grid = np.linspace(0.0, 1.0, 200_001)[:, None]
    reach = 0.8 * quantile(np.concatenate([1 - grid, grid], axis=-1), 0.9)[:, None]
    admitted = np.abs((1 - grid) * a - grid * b) <= reach
    low, high = moments.mean_interval(a, b, scale=0.8, confidence=0.9)
    for i in range(a.size):
        inside = grid[admitted[:, i], 0]
        assert inside[0] - 6e-6 < low[i] <= inside[0]
        assert inside[-1] <= high[i] < inside[-1] + 6e-6


@pytest.mark.long
def test_variance_interval_holds_the_region_and_little_more() -> None:
    """Brute force over 200 means x 4,000 variances: the hull of what both pivots admit, and at most 2 % more."""
    triple = (300.0, 350.0, 350.0)
    means = moments.triple_mean_interval(triple, scale=1.0, confidence=0.99)
    m, v = np.linspace(*means, 200)[:, None, None], np.linspace(0.0, 0.25, 4001)[None, :, None]
    coefficients = np.concatenate(np.broadcast_arrays(m**2 - v, -m * (1 - m) - v, (1 - m) ** 2 - v), axis=-1)
    admitted = (np.abs(coefficients @ triple) <= quantile(coefficients, 0.91)).any(axis=0)
    inside = v[0, admitted, 0]
    low, high = moments.variance_interval(triple, scale=1.0, confidence=0.9)
    assert low <= inside[0]
    assert inside[-1] <= high
    assert high - low <= 1.02 * (inside[-1] - inside[0]) + 2 * 0.25 / 4000


def test_cells_bound_what_they_hold() -> None:
    """For means and variances inside of a cell, no coefficient and no second moment is outside of its bounds."""
    rng = np.random.default_rng()
    ends = np.sort(rng.random((2, 500)), axis=0)
    triple = rng.random((3, 500)) * 100
    cells, sums = moments._Cells.between(*ends), moments._Group.of_triple(list(triple))
    highest, lowest = cells.moments(sums, triple[2])
    for share in (0.0, 0.1, 0.5, 0.8, 1.0):
        m, v = cells.first + share * (cells.last - cells.first), rng.random(cells.first.size) / 2
        about = np.stack([m**2, -m * (1 - m), (1 - m) ** 2], axis=-1)
        moment = np.moveaxis(about, -1, 0) * triple[:, None, :]
        assert (moment.sum(axis=0) <= highest + 1e-9).all()
        assert (moment.sum(axis=0) >= lowest - 1e-9).all()
        coefficients = np.abs(about.reshape(-1, 3) - v[:, None])
        assert (coefficients <= cells.largest(v, slice(None)) + 1e-12).all()


@pytest.mark.cases
@pytest.mark.parametrize("confidence", [0.95, 0.999])
@pytest.mark.parametrize("rows", [20, 1000])
@pytest.mark.parametrize("about", [0.0, 0.1, 0.5, 1.0])
def test_forecasts_are_kept(rows: int, about: float, confidence: float) -> None:
    """Whatever the mean, the estimate is as near as was said, even before it is held in its range."""
    u = np.repeat([0.0, 1.0], [rows - round(rows * about), round(rows * about)])
    (a, b), triple, truth = noisy(pair_of(u)), noisy(triple_of(u)), float(u.var())
    widths = [
        (a / (a + b) - u.mean(), moments.mean_half_width(rows, scale=SCALE, confidence=confidence)),
        (
            moments.triple_mean(triple) - u.mean(),
            moments.mean_half_width(rows, scale=SCALE, confidence=confidence, of_triple=True),
        ),
        (moments.variance(triple) - truth, moments.variance_half_width(rows, scale=SCALE, confidence=confidence)),
        (
            moments.variance(triple, sample=True) - truth * rows / (rows - 1),
            moments.variance_half_width(rows, scale=SCALE, confidence=confidence, sample=True),
        ),
    ]
    for off, promised in widths:
        assert covers((off - promised, off + promised), 0.0, confidence)


def test_forecasts_fall_to_the_first_order_and_stay_in_range() -> None:
    """b log(1/alpha)/n for many rows; at most the whole range for few, or none, or with noise above all measure."""
    rows = np.array([0.0, 1.0, 3.0, 1e3, 1e6])
    first_order = np.log(20.0) / rows[-1]
    for width, most in (
        (moments.mean_half_width(rows, scale=1.0, confidence=0.95), 1.0),
        (moments.variance_half_width(rows, scale=1.0, confidence=0.95), 0.25),
        (moments.variance_half_width(rows, scale=1.0, confidence=0.95, sample=True), 0.5),
    ):
        assert width[0] == width[1] == width[2] == most
        assert (np.diff(width[2:]) < 0).all()
        assert first_order < width[-1] < 1.05 * first_order
    assert moments.mean_half_width(1e3, scale=1.0, confidence=0.95, step=0.1) > moments.mean_half_width(
        1e3, scale=1.0, confidence=0.95
    )
    assert moments.mean_half_width(1e3, scale=1e300, confidence=0.95) == 1.0


def test_private_mean_is_as_sharp_as_promised() -> None:
    """n sd(mean)/(U-L) at epsilon 1, mid-range, n = 1000: at most 1.05; a sum and a count by halves have 3.1."""
    draws = 200_000
    noise = np.random.default_rng().laplace(size=(2, draws))
    spread = 1000 * float(moments.mean(500 + noise[0], 500 + noise[1]).std())
    assert spread <= 1.05
    assert spread == pytest.approx(math.sqrt(2) * SCALE * math.hypot(0.5, 0.5), rel=0.03)
    assert 1000 * float(((500 + 2 * noise[0]) / (1000 + 2 * noise[1])).std()) > 3.0


def test_total_variance_of_the_three_moments() -> None:
    """Exactly 10.5 at epsilon 1 for (count, sum, sum of squares), where three answers at a third each have 54."""
    rows = [[Fraction(c) for c in row.split()] for row in ("1 1 1", "0 1/2 1", "0 0 1")]
    for u in (Fraction(0), Fraction(1, 3), Fraction(1)):
        parts = ((1 - u) ** 2, 2 * u * (1 - u), u**2)
        assert sum(map(abs, parts)) == 1
        assert [sum(c * x for c, x in zip(row, parts, strict=True)) for row in rows] == [1, u, u**2]
    of_one = 2
    assert sum(of_one * c * c for row in rows for c in row) == Fraction(21, 2)
    assert 3 * of_one * 3**2 == 54


def test_estimates_are_exact_without_noise() -> None:
    u = np.array([0.1, 0.4, 0.4, 0.9])
    assert moments.mean(*pair_of(u)) == pytest.approx(u.mean())
    assert moments.triple_mean(triple_of(u)) == pytest.approx(u.mean())
    assert moments.variance(triple_of(u)) == pytest.approx(u.var())
    assert moments.variance(triple_of(u), sample=True) == pytest.approx(u.var(ddof=1))
    assert moments.std(triple_of(u)) == pytest.approx(u.std())


def test_std_is_the_root_of_the_variance() -> None:
    triple = [x[:100] for x in noisy((3.0, 5.0, 4.0))]
    for sample in (False, True):
        asked: dict[str, Any] = {"scale": SCALE, "confidence": 0.95, "sample": sample}
        roots, squares = moments.std_interval(triple, **asked), moments.variance_interval(triple, **asked)
        assert np.array_equal(roots, np.sqrt(squares))
        assert np.array_equal(moments.std(triple, sample=sample), np.sqrt(moments.variance(triple, sample=sample)))


EMPTY = [-5.0, -1.0, -1e-9, 0.0, 1e-9, 1.0, 5.0]


@pytest.mark.parametrize("step", [0.0, 2.0**-20])
def test_noise_alone_gives_finite_numbers_in_range(step: float) -> None:
    """Of all combinations of noisy zeros; and where the count is not positive, the interval is the whole range."""
    a, b = (x.ravel() for x in np.meshgrid(EMPTY, EMPTY))
    x0, x1, x2 = (x.ravel() for x in np.meshgrid(EMPTY, EMPTY, EMPTY))
    triple = (x0, x1, x2)
    asked: dict[str, Any] = {"scale": 1.0, "step": step, "confidence": 0.95}
    for value, (low, high), most, count in (
        (moments.mean(a, b), moments.mean_interval(a, b, **asked), 1.0, a + b),
        (moments.triple_mean(triple), moments.triple_mean_interval(triple, **asked), 1.0, x0 + x1 + x2),
        (moments.variance(triple), moments.variance_interval(triple, **asked), 0.25, x0 + x1 + x2),
        (moments.std(triple), moments.std_interval(triple, **asked), 0.5, x0 + x1 + x2),
        (
            moments.variance(triple, sample=True),
            moments.variance_interval(triple, sample=True, **asked),
            0.5,
            x0 + x1 + x2 - 1,
        ),
    ):
        assert (low >= 0).all()
        assert (low <= value).all()
        assert (value <= high).all()
        assert (high <= most).all()
        assert (high - low)[count <= 0] == pytest.approx(most)


def test_groups_where_nothing_varies() -> None:
    """All values at an end: an interval that begins there, of about the noise's width, also if a sum comes out low."""
    for rest in (-3.5, -0.5, 0.0, 0.5):
        low, high = moments.mean_interval(1000.0, rest, scale=1.0, confidence=0.95)
        assert high == 1.0
        assert 0.996 < low < 1.0
        low, high = moments.variance_interval((rest, 0.0, 1000.0), scale=1.0, confidence=0.95)
        assert low == 0.0
        assert 0.0 < high < 0.01
        low, high = moments.variance_interval((rest, 1000.0, rest), scale=1.0, confidence=0.95)
        assert low == 0.0
        assert 0.0 < high < 0.01


def test_a_mirrored_group_has_a_mirrored_answer() -> None:
    rng = np.random.default_rng()
    x0, x1, x2 = rng.normal(20.0, 10.0, (3, 1000))
    asked: dict[str, Any] = {"scale": 1.0, "confidence": 0.95}
    for (low, high), (other_low, other_high) in (
        (moments.mean_interval(x0, x2, **asked), moments.mean_interval(x2, x0, **asked)),
        (moments.triple_mean_interval((x0, x1, x2), **asked), moments.triple_mean_interval((x2, x1, x0), **asked)),
    ):
        assert low == pytest.approx(1 - other_high, abs=1e-6)
        assert high == pytest.approx(1 - other_low, abs=1e-6)
    one, other = moments.variance_interval((x0, x1, x2), **asked), moments.variance_interval((x2, x1, x0), **asked)
    assert np.stack(one) == pytest.approx(np.stack(other), abs=1e-5)


def test_shapes() -> None:
    """Scalars, no groups, and groups far from one another in size, each as if alone."""
    x = np.array([1e12, 40.0, 3.0])
    for ask in (moments.triple_mean_interval, moments.variance_interval):
        low, high = ask((x, x, x / 2), scale=1.0, confidence=0.9)
        for i, one in enumerate(x):
            alone = ask((one, one, one / 2), scale=1.0, confidence=0.9)
            assert (low[i], high[i]) == (pytest.approx(alone[0], rel=1e-6), pytest.approx(alone[1], rel=1e-6))
        none = np.zeros(0)
        assert ask((none, none, none), scale=1.0, confidence=0.9)[0].shape == (0,)
    assert high[0] - low[0] == pytest.approx(9e-13, rel=0.1)


ASKED: dict[str, Callable[..., object]] = {
    "mean_interval": lambda **asked: moments.mean_interval(1.0, 1.0, **asked),
    "triple_mean_interval": lambda **asked: moments.triple_mean_interval((1.0, 1.0, 1.0), **asked),
    "variance_interval": lambda **asked: moments.variance_interval((1.0, 1.0, 1.0), **asked),
    "std_interval": lambda **asked: moments.std_interval((1.0, 1.0, 1.0), **asked),
    "mean_half_width": lambda **asked: moments.mean_half_width(10, **asked),
    "variance_half_width": lambda **asked: moments.variance_half_width(10, **asked),
}


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("confidence", [0.0, 1.0, -1.0, float("nan"), True, "0.9"])
def test_confidence_is_between_0_and_1(name: str, confidence: object) -> None:
    with pytest.raises(InvalidParameter, match="confidence"):
        ASKED[name](scale=1.0, confidence=confidence)


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("noise", [{"scale": 0.0}, {"scale": np.inf}, {"scale": np.nan}, {"scale": 1.0, "step": -1.0}])
def test_scale_and_step_are_sizes(name: str, noise: dict[str, float]) -> None:
    with pytest.raises(InvalidParameter, match="scale"):
        ASKED[name](**noise, confidence=0.9)
