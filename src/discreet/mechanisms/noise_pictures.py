"""Pictures of noise: its law, and the error of answers over epsilon or over their number.

Claim
    Each curve of `noise_figure` is P(Z = z) of the noise that the mechanism draws for an integer, and each of the
    others the exact quantile of the largest error, that is, `error(confidence=, dimension=)` of the mechanism named.
Requires
    Mechanisms of this room.
Relies on
    Their `probability` of an error and `error`.
Proof
    P(Z = z) = (P(|Z| >= |z|) - P(|Z| >= |z| + 1)) / 2 for z != 0, and 1 - P(|Z| >= 1) for 0, by symmetry.
Rounding
    Floating point, for the eye.
Source
    Dwork, Roth (2014); Balle, Wang (2018).
Mutant
    one-answer-only: the dimension does not reach the mechanism; killed by test_the_curves_are_the_errors.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.staircase import Staircase
from discreet.noise.discrete_gaussian import DiscreteGaussianLaw
from discreet.noise.gaussian import RoundedNormal
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.staircase import StaircaseLaw
from discreet.plots.lines import lines_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Additive: TypeAlias = Laplace | Gaussian | DiscreteGaussian | Staircase
Law: TypeAlias = DiscreteLaplace | RoundedNormal | DiscreteGaussianLaw | StaircaseLaw

EPSILONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
DIMENSIONS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
POINTS = 200
LARGEST = "largest error, 95 %"


def law_of(mechanism: Additive) -> Law:
    """The law of the noise that a mechanism adds to an integer.

    >>> law_of(Laplace(sensitivity=1, epsilon=1)).quantile(0.9)
    2
    """
    if isinstance(mechanism, Laplace):
        return DiscreteLaplace.of_scale(mechanism.scale)
    if isinstance(mechanism, Gaussian):
        return RoundedNormal.of_variance(mechanism.scale**2)
    if isinstance(mechanism, DiscreteGaussian):
        return DiscreteGaussianLaw.of_parameter(mechanism.sigma2)
    return mechanism.law(reals=False)


def noise_figure(*mechanisms: Additive, ax: object = None, path: str | os.PathLike[str] | None = None) -> Figure:
    """The probability of each error of an integer, one curve for each mechanism, at most seven. `ax` draws in axes of
    yours, `path` saves the figure.

    >>> noise_figure(Laplace(sensitivity=1, epsilon=1), Gaussian(sensitivity=1, rho=0.5)).axes[0].get_xlabel()
    'error'
    """
    laws = [law_of(mechanism) for mechanism in mechanisms]
    reach = max(law.quantile(0.99) for law in laws) + 1
    step = max(1, 2 * reach // POINTS)
    errors = range(-reach // step * step, reach + 1, step)
    curves = {repr(m): [_probability(law, z) for z in errors] for m, law in zip(mechanisms, laws, strict=True)}
    x_label, y_label = "error", "probability"
    return lines_figure(errors, curves, x_label=x_label, y_label=y_label, logarithmic=False, ax=ax, path=path)


def _probability(law: Law, z: int) -> float:
    t = abs(z)
    return (law.tail(t) - law.tail(t + 1)) / (2 if t else 1)


def noise_error_figure(
    *,
    sensitivity: object = 1,
    delta: object = 1e-6,
    dimension: int = 1,
    epsilons: Sequence[float] = EPSILONS,
    ax: object = None,
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """The largest error of `dimension` answers, with 95 % confidence, over epsilon: Laplace against Gaussian noise.

    One unit moves each answer by up to `sensitivity`, so the L1 norm by `dimension` times that, the L2 norm by its
    root. `ax` draws in axes of yours, `path` saves the figure.

    >>> noise_error_figure(epsilons=(0.5, 1)).axes[0].get_xlabel()
    'epsilon'
    """
    each = [_both(sensitivity, epsilon, delta, dimension) for epsilon in epsilons]
    caption = f"{dimension} answers that move by {sensitivity} each; Gaussian noise with delta {delta}"
    return lines_figure(epsilons, _curves(each), x_label="epsilon", y_label=LARGEST, caption=caption, ax=ax, path=path)


def dimension_figure(
    *,
    sensitivity: object = 1,
    epsilon: object = 1,
    delta: object = 1e-6,
    dimensions: Sequence[int] = DIMENSIONS,
    ax: object = None,
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """The same over the number of answers, at one epsilon for all: where Gaussian noise overtakes Laplace noise. `ax`
    draws in axes of yours, `path` saves the figure.

    >>> dimension_figure(dimensions=(1, 10)).axes[0].get_xlabel()
    'answers'
    """
    each = [_both(sensitivity, epsilon, delta, d) for d in dimensions]
    caption = f"epsilon {epsilon} for all answers, each moves by {sensitivity}; Gaussian noise with delta {delta}"
    return lines_figure(
        dimensions, _curves(each), x_label="answers", y_label=LARGEST, caption=caption, ax=ax, path=path
    )


def _both(sensitivity: object, epsilon: object, delta: object, dimension: int) -> tuple[float, float]:
    """95 % quantiles of the largest error of Laplace and of Gaussian noise."""
    one = Laplace(sensitivity=sensitivity, epsilon=1).sensitivity
    laplace = Laplace(sensitivity=one * dimension, epsilon=epsilon)
    gaussian = Gaussian(sensitivity=float(one) * dimension**0.5, epsilon=epsilon, delta=delta)
    return float(laplace.error(dimension=dimension)), float(gaussian.error(dimension=dimension))


def _curves(each: Sequence[tuple[float, float]]) -> dict[str, list[float]]:
    return {"Laplace": [e[0] for e in each], "Gaussian": [e[1] for e in each]}


def noise_table(
    *, dimensions: Sequence[int] = DIMENSIONS, epsilon: object = 1, delta: object = 1e-6
) -> list[tuple[int, float, float]]:
    """Rows of (answers, error of Laplace noise, error of Gaussian noise): what `dimension_figure` draws.

    >>> noise_table(dimensions=(1, 100))
    [(1, 3.0, 8.0), (100, 758.0, 147.0)]
    """
    return [(d, *_both(1, epsilon, delta, d)) for d in dimensions]
