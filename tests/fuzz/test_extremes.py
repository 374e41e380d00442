"""Amounts at the ends of what is taken, and beyond: a figure on the safe side of its neighbors, or a refusal."""

from __future__ import annotations

import inspect
import itertools
import math
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet import series, workloads
from discreet.accounting import calibration, conversions, theorems
from discreet.accounting import event_losses as losses
from discreet.accounting.privacy_loss import Loss
from discreet.errors import InvalidParameter
from discreet.mechanisms.joint_exponential import JointExponential
from discreet.privacy.definitions import Guarantee
from discreet.selection.top_k import TopK

TEN = Fraction(10)
AMOUNTS = [TEN**-400, TEN**-101, TEN**-100, TEN**-20, Fraction(1), Fraction(800), TEN**13, TEN**100, TEN**400]
DELTAS = [TEN**-400, Fraction("5e-324"), Fraction(1, 10**6), Fraction(1, 2), 1 - TEN**-20]
PLACES = [-(TEN**400), Fraction(-1), Fraction(0), TEN**-100, Fraction(700), TEN**100, TEN**400]
MISSES = [TEN**-78, TEN**-50, Fraction(1, 20)]
ALL_MISSES = [TEN**-78, *(TEN**-k for k in (50, 20, 17, 15)), Fraction(1, 20), *(1 - TEN**-k for k in (6, 20, 50))]
CANDIDATES = [Fraction(1), Fraction(2), Fraction(1000)]
NORMS: dict[str, Callable[[Fraction], dp.KNorm]] = {
    "box": lambda e: dp.KNorm.box([1, 2], epsilon=e),
    "cross-polytope": lambda e: dp.KNorm.cross_polytope([1, 2], epsilon=e),
    "polytope": lambda e: dp.KNorm.of_contributions([(1, 0), (0, 1), (1, 1)], epsilon=e),
}
STREAM = series.NoisyStream(series.StreamStrategy.best(series.StepWindows.of(3, (1,))), rho=1)
STREAM.publish([4, 0, 2])
BINS, RECORDS = workloads.OrderedQueries.prefixes(2), np.array([[0, 1], [1, 2]])
CELLS = BINS.strategy().release([5, 0], rho=1)
LAPLACE_CELLS = workloads.laplace_strategy(BINS, starts=1).release([5, 0], epsilon=1)
MARGINAL = workloads.Marginals({"sex": 2, "age": 3}, ways=1).total().release(RECORDS, rho=1)["age"]
PRODUCTS = workloads.ProductQueries({"sex": 2, "age": 3}, ways=1).strategy().release(RECORDS, rho=1)
LEVELS = workloads.LevelNoise.of(workloads.Hierarchy.of([0, 0]), epsilon=1).release([5, 0])
WIDTHS: dict[str, Callable[[Fraction], Any]] = {
    "half width of a stream": lambda c: STREAM.half_widths(1, confidence=c)[0],
    "half width of all of a stream": lambda c: STREAM.half_widths(1, confidence=c, simultaneous=True)[0],
    "half width of cells": lambda c: CELLS.half_width(0, 2, confidence=c),
    "half width of cells, Laplace": lambda c: LAPLACE_CELLS.half_width(0, 2, confidence=c),
    "half width of a marginal": MARGINAL.half_width,
    "half width of products": lambda c: PRODUCTS.half_width("age", np.ones(3), confidence=c),
    "half width of levels": lambda c: LEVELS.half_widths(1, confidence=c)[0],
}
LONGEST = 1.0
"""Seconds of a processor."""

Amounts = Sequence[Fraction]
Case = tuple[Callable[..., object], list[Amounts], list[int]]

LOSSES: dict[str, Callable[[Fraction], Loss]] = {
    "laplace_loss": losses.laplace_loss,
    "gaussian_loss": losses.gaussian_loss,
    "pure_loss": losses.pure_loss,
    "bounded_range_loss": losses.bounded_range_loss,
    "randomized_response_loss": lambda e: losses.randomized_response_loss(e, 5),
    "staircase_loss": lambda e: losses.staircase_loss(1, e, 0),
    "approximate_loss": lambda e: losses.approximate_loss(e, Fraction(1, 1000)),
    "discrete_laplace_loss": lambda e: losses.discrete_laplace_loss(10**6, 10**6 / e),
    "discrete_gaussian_loss": lambda e: losses.discrete_gaussian_loss(1 / e, 1),
    "composed": lambda e: losses.composed([losses.laplace_loss(e), losses.gaussian_loss(1)]),
    "three": lambda e: 3 * losses.laplace_loss(e),
}
FIGURES: dict[str, tuple[Callable[[Loss, Fraction], float], Amounts, int]] = {
    "delta": (Loss.delta, PLACES, -1),
    "tail": (lambda one, t: one.tail(t), PLACES, -1),
    "epsilon": (Loss.epsilon, DELTAS, -1),
    "renyi": (lambda one, above: one.renyi(1 + above), [a for a in AMOUNTS if a > TEN**-20 or a < TEN**-100], 1),
    "rho": (lambda one, _: one.rho, [Fraction(1)], 0),
    "mean": (lambda one, _: one.mean, [Fraction(1)], 0),
}
FUNCTIONS: dict[str, Case] = {
    "zcdp_delta": (conversions.zcdp_delta, [AMOUNTS, AMOUNTS], [1, -1]),
    "zcdp_epsilon": (conversions.zcdp_epsilon, [AMOUNTS, DELTAS], [1, -1]),
    "zcdp_rho": (conversions.zcdp_rho, [AMOUNTS, DELTAS], [1, 1]),
    "renyi_epsilon": (lambda a, d, s: conversions.renyi_epsilon(1 + a, d, s), [AMOUNTS, AMOUNTS, DELTAS], [0, 1, -1]),
    "gdp_delta": (conversions.gdp_delta, [AMOUNTS, PLACES], [1, -1]),
    "gdp_epsilon": (conversions.gdp_epsilon, [AMOUNTS, DELTAS], [1, -1]),
    "advanced_composition": (lambda e, d: theorems.advanced_composition(e, 10, d), [AMOUNTS, DELTAS], [1, -1]),
    "group_privacy": (
        lambda e, d: theorems.group_privacy(Guarantee(epsilon=e, delta=d), 5).delta, [AMOUNTS, DELTAS], [1, 1]
    ),
    "gaussian_sigma": (calibration.gaussian_sigma, [AMOUNTS, AMOUNTS, DELTAS[:3]], [1, -1, -1]),
    "gaussian_variance": (calibration.gaussian_variance, [AMOUNTS, AMOUNTS], [1, -1]),
    "laplace_scale": (calibration.laplace_scale, [AMOUNTS, AMOUNTS], [1, -1]),
    "laplace_scale_for_rho": (calibration.laplace_scale_for_rho, [AMOUNTS, AMOUNTS], [1, -1]),
    "gaussian_sigma_for_error": (
        lambda w, m: calibration.gaussian_sigma_for_error(w, 1 - m), [AMOUNTS, MISSES], [1, 1]
    ),
    "laplace_scale_for_error": (
        lambda w, m: calibration.laplace_scale_for_error(w, 1 - m), [AMOUNTS, MISSES], [1, 1]
    ),
    "Laplace.error": (
        lambda e, m: dp.Laplace(sensitivity=1, epsilon=e).error(confidence=1 - m), [AMOUNTS, ALL_MISSES], [-1, -1]
    ),
    "Gaussian.error": (
        lambda r, m: dp.Gaussian(sensitivity=1, rho=r).error(confidence=1 - m), [AMOUNTS, ALL_MISSES], [-1, -1]
    ),
    "DiscreteGaussian.error": (
        lambda r, m: dp.DiscreteGaussian(sensitivity=1, rho=r).error(confidence=1 - m), [AMOUNTS, ALL_MISSES], [-1, -1]
    ),
    "Staircase.error": (
        lambda e, m: dp.Staircase(sensitivity=1, epsilon=e).error(confidence=1 - m), [AMOUNTS, ALL_MISSES], [-1, -1]
    ),
    **{
        f"{name} of {mechanism.__name__}": (
            lambda e, m, c, mechanism=mechanism, name=name: getattr(mechanism(sensitivity=1, epsilon=e), name)(
                candidates=int(c), confidence=1 - m
            ),
            [AMOUNTS, ALL_MISSES, CANDIDATES],
            [-1, -1, 1],
        )
        for mechanism in (dp.Exponential, dp.PermuteAndFlip, dp.NoisyMax)
        for name in ("error", "bound")
    },
    **{
        f"{name} of KNorm: {shape}": (
            lambda e, m, made=made, name=name: float(getattr(made(e), name)(confidence=1 - m).max()),
            [AMOUNTS, ALL_MISSES],
            [-1, -1],
        )
        for shape, made in NORMS.items()
        for name in ("error", "bound")
    },
    **{
        f"{name} of JointExponential, order={order}": (
            lambda e, m, c, order=order, name=name: getattr(
                JointExponential(k=2, sensitivity=1, epsilon=e, order=order), name
            )(candidates=max(2, int(c)), confidence=1 - m),
            [AMOUNTS, ALL_MISSES, CANDIDATES],
            [-1, -1, 1],
        )
        for order in (True, False)
        for name in ("error", "bound")
    },
    **{
        f"{name} of TopK, {method}": (
            lambda e, m, c, method=method, name=name: getattr(
                TopK(k=2, sensitivity=1, epsilon=e, method=method), name
            )(candidates=max(2, int(c)), confidence=1 - m),
            [AMOUNTS, ALL_MISSES, CANDIDATES],
            [-1, -1, 1],
        )
        for method in ("one-shot", "peeling")
        for name in ("lower_bound", "bound")
    },
    "NoisyMax.error, Laplace": (
        lambda e, m: dp.NoisyMax(sensitivity=1, epsilon=e, noise="laplace").error(candidates=30, confidence=1 - m),
        [AMOUNTS, ALL_MISSES], [-1, -1],
    ),
    "RandomizedResponse.bound": (
        lambda e, m: dp.RandomizedResponse(epsilon=e).bound(people=100, confidence=1 - m),
        [AMOUNTS, ALL_MISSES], [-1, -1],
    ),
    "RandomizedResponse.sample_size": (
        lambda e, w, m: dp.RandomizedResponse.sample_size(within=w, epsilon=e, confidence=1 - m),
        [AMOUNTS, AMOUNTS, ALL_MISSES], [-1, -1, -1],
    ),
    "SparseVector.bound": (
        lambda e, m: dp.SparseVector(sensitivity=1, epsilon=e, threshold=0).bound(answers=9, confidence=1 - m),
        [AMOUNTS, ALL_MISSES], [-1, -1],
    ),
    **{name: (lambda m, width=width: float(width(1 - m)), [ALL_MISSES], [-1]) for name, width in WIDTHS.items()},
    "Staircase.event": (lambda e: dp.Staircase(sensitivity=1, epsilon=e).event.gamma, [AMOUNTS], [0]),
    "Laplace.loss": (lambda s, b: dp.Laplace(sensitivity=s, scale=b).loss.delta(1), [AMOUNTS, AMOUNTS], [1, -1]),
}  # fmt: skip
SEARCHES = {"optimal_composition", "optimal_homogeneous_composition"}
"""Compositions searched at length, made of those that are looked at here."""
NOT_AMOUNTS = {"guarantee", "sequential_composition", "parallel_composition", "rounded_up"}
NOT_AMOUNTS |= {"loss_of", "finite_loss", "probabilities"}
UNCHECKED = {"delta_of", "epsilon_of"}


def public(module: ModuleType) -> set[str]:
    found = inspect.getmembers(module, inspect.isfunction)
    return {name for name, one in found if not name.startswith("_") and one.__module__ == module.__name__}


def test_every_public_function_is_looked_at() -> None:
    names = set().union(*map(public, (losses, conversions, theorems, calibration)))
    assert names - set(LOSSES) - set(FUNCTIONS) == SEARCHES | NOT_AMOUNTS | UNCHECKED


def answers(call: Callable[..., object], axes: list[Amounts]) -> dict[tuple[int, ...], Any]:
    """All of them, by place; a refusal in the library's own words has none."""
    found = {}
    for place in itertools.product(*(range(len(axis)) for axis in axes)):
        start = time.process_time()
        try:
            value = call(*(axis[i] for axis, i in zip(axes, place, strict=True)))
        except InvalidParameter as refusal:
            assert "Hint: " in str(refusal)  # noqa: PT017 - only where one is raised
            continue
        assert time.process_time() - start < LONGEST, place
        assert isinstance(value, Fraction | float | int), place
        assert value == value and value >= 0, place  # noqa: PT018, PLR0124 - not a number is not itself
        found[place] = value
    return found


def assert_ordered(found: dict[tuple[int, ...], Any], axis: int, way: int) -> None:
    """What is known at neighboring places never goes the other way by more than rounding."""
    rows: dict[tuple[int, ...], list[tuple[int, Any]]] = {}
    for place, value in found.items():
        rows.setdefault(place[:axis] + place[axis + 1 :], []).append((place[axis], value))
    for place, row in rows.items():
        for (_, one), (_, other) in itertools.pairwise(sorted(row, key=lambda entry: entry[0])):
            less, more = (one, other) if way > 0 else (other, one)
            assert less <= more or (less - more) <= abs(less) * 1e-6, (axis, place, one, other)


@pytest.mark.long
@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize("name", LOSSES)
def test_losses_at_the_ends(name: str, figure: str) -> None:
    ask, axis, way = FIGURES[figure]
    found = answers(lambda amount, place: ask(LOSSES[name](amount), place), [AMOUNTS, axis])
    assert found
    if name == "discrete_gaussian_loss":  # of each table another tail is cut off
        found = {place: value if value > 1e-80 else 0 for place, value in found.items()}
    if figure not in ("mean", "tail"):
        assert_ordered(found, 0, 1)
    if way:
        assert_ordered(found, 1, way)


@pytest.mark.long
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_at_the_ends(name: str) -> None:
    call, axes, ways = FUNCTIONS[name]
    found = answers(call, axes)
    assert found
    for axis, way in enumerate(ways):
        if way:
            assert_ordered(found, axis, way)
    assert not any(isinstance(value, float) and math.isnan(value) for value in found.values())
