"""Makes noisy parts and noisy totals add up, by least squares, with the error bars that result.

Claim
    `consistent(...)` returns values that add up on every level, and of all unbiased linear estimates the one with the
    least variance for every node at once; `deviations` are their standard deviations and `deviation` that of any
    weighted sum of the parts, covariances included.
Requires
    Independent errors of mean zero with the stated variances. Nothing else of their law.
Relies on
    Doubles.
Proof
    *Up.* From the measurements in its subtree alone, the best estimate z of a node's true value combines its own
    measurement y, of variance w, and the sum Z of its children's z, of variance S, weighted by precision (they are
    independent); its variance is s = w S / (w + S). *Down.* Given the best estimate t of the node, of variance V, the
    children's are z_c + (s_c / S)(t - Z): for normal errors the mean of the children given all measurements, since
    those outside of the subtree tell of them through their sum alone; their variance is s_c - s_c**2 / S + (s_c / S)**2
    V. For normal errors and a flat prior this is least squares, which by Gauss and Markov is best for any errors of
    these variances. *Weighted sums.* The covariance of the parts is the inverse C of the normal equations' matrix; the
    estimate from measurements a_i v_i of the parts and 0 of all else is C a, so its scalar product with a is the
    variance of sum a_i x_i.
Rounding
    Floating point: post-processing, which costs nothing.
Source
    Hay, Rastogi, Miklau and Suciu, "Boosting the accuracy of differentially private histograms through consistency"
    (2010), for equal variances; Gauss and Markov.
Mutant
    equal-shares: a surplus is divided equally among parts of unequal variance; killed by test_it_is_least_squares.
    totals-tell-nothing: deviations are those of the parts alone; killed by test_it_is_least_squares.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import confidence_level
from discreet.exact.given_values import values as listed_values
from discreet.mechanisms.largest_error import Reals

Integers = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Consistent:
    """Values that add up, from the parts to the top, with their standard deviations: one array for each level.

    >>> found = consistent([[4, 6], [11]], [[0, 0]], variances=[8, 1])
    >>> found.values[0].round(2).tolist(), found.values[1].round(2).tolist(), found.deviations[1].round(2).tolist()
    ([4.47, 6.47], [10.94], [0.97])
    """

    values: tuple[Reals, ...]
    deviations: tuple[Reals, ...]
    _parents: tuple[Integers, ...]
    _variances: tuple[Reals, ...]

    def deviation(self, weights: ArrayLike) -> float:
        """The standard deviation of a weighted sum of the parts; `weights` has one number for each part.

        >>> found = consistent([[4, 6], [11]], [[0, 0]], variances=[8, 1])
        >>> round(found.deviation([1, -1]), 6), round(float(found.deviations[0][0]), 6)
        (4.0, 2.057983)
        """
        factors = _array("weights", weights, len(self.values[0]))
        nothing = [np.zeros_like(level) for level in self.values[1:]]
        solved, _ = _solved([factors * self._variances[0], *nothing], self._parents, self._variances)
        return math.sqrt(max(0.0, float(factors @ solved[0])))

    def intervals(self, confidence: float = 0.95, *, noise: str = "gaussian") -> tuple[tuple[Reals, Reals], ...]:
        """Lower and upper ends on each level, each for itself.

        Exact for Gaussian noise, which stays Gaussian. With `noise="laplace"` they are those of a Laplace law of the
        same deviation: its sums are nearer to the normal law, whose tails are lighter from 92 % on, so they are wide
        enough from there on.
        """
        if noise not in ("gaussian", "laplace"):
            cure = "write noise='gaussian' or noise='laplace'."
            raise InvalidParameter(expected("a law of noise", "noise", noise, cure))
        miss = 1 - confidence_level(confidence)
        if noise == "laplace":
            reach = -math.log(miss) / math.sqrt(2)
        else:
            from scipy.special import ndtri

            reach = -float(ndtri(float(miss / 2)))
        return tuple((v - reach * d, v + reach * d) for v, d in zip(self.values, self.deviations, strict=True))


def consistent(
    measured: Sequence[ArrayLike], parents: Sequence[ArrayLike], *, variances: Sequence[ArrayLike]
) -> Consistent:
    """Least-squares estimates of parts and totals from noisy measurements of both, on any number of levels.

    Args:
        measured: one array for each level, the parts first: counties, states, the nation.
        parents: for each level but the last, the index in the next one of what each of its nodes is a part of.
        variances: of the noise, one number or array for each level; 0 for totals that are known exactly, infinity for
            totals that were not measured. Those of the parts are above zero and finite.

    Raises:
        InvalidParameter: the levels do not fit together.

    >>> found = consistent([[10, 20, 33], [66]], [[0, 0, 0]], variances=[2, 2])
    >>> [level.tolist() for level in found.values]
    [[10.75, 20.75, 33.75], [65.25]]
    >>> found.deviations[1].round(3).tolist()
    [1.225]
    """
    for name, given in (("measured", measured), ("parents", parents), ("variances", variances)):
        listed_values(name, given, "list what belongs to each level.")
    if not len(measured) == len(variances) == len(parents) + 1:
        cure = "give one array of measurements and of variances for each level, and parents for all but the last."
        given = (len(measured), len(parents), len(variances))
        raise InvalidParameter(expected("levels that fit together", "levels", given, cure))
    levels = [_array("measured", level, np.size(level)) for level in measured]
    noise = [_variances(v, len(y), parts=i == 0) for i, (v, y) in enumerate(zip(variances, levels, strict=True))]
    links = [_links(p, len(levels[i]), len(levels[i + 1])) for i, p in enumerate(parents)]
    values, spread = _solved(levels, links, noise)
    deviations = tuple(np.sqrt(np.maximum(s, 0.0)) for s in spread)
    return Consistent(values=tuple(values), deviations=deviations, _parents=tuple(links), _variances=tuple(noise))


def _solved(
    levels: Sequence[Reals], parents: Sequence[Integers], noise: Sequence[Reals]
) -> tuple[list[Reals], list[Reals]]:
    """Estimates and their variances on each level."""
    best, left, sums, spreads = [levels[0]], [noise[0]], list[Reals](), list[Reals]()
    for own, variance, links in zip(levels[1:], noise[1:], parents, strict=True):
        total: Reals = np.bincount(links, weights=best[-1], minlength=len(own)).astype(np.float64)
        spread: Reals = np.bincount(links, weights=left[-1], minlength=len(own)).astype(np.float64)
        trust = np.where(np.isinf(variance), 0.0, spread / (np.where(np.isinf(variance), 0.0, variance) + spread))
        sums.append(total)
        spreads.append(spread)
        best.append(total + trust * np.where(np.isinf(variance), 0.0, own - total))
        left.append(spread * (1 - trust))
    values, variances = [best[-1]], [left[-1]]
    for i in reversed(range(len(parents))):
        links = parents[i]
        part = left[i] / spreads[i][links]
        values.append(best[i] + part * (values[-1] - sums[i])[links])
        variances.append(left[i] * (1 - part) + part**2 * variances[-1][links])
    return values[::-1], variances[::-1]


def _array(name: str, given: ArrayLike, size: int) -> Reals:
    try:
        array = np.asarray(given, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError, OverflowError):
        array = np.full(size, np.nan)
    if len(array) != size or not size or not np.isfinite(array).all():
        cure = f"give {size} finite numbers." if size else "give each level at least one number."
        raise InvalidParameter(expected("finite numbers", name, f"an array of {array.size}", cure))
    return array


def _variances(given: ArrayLike, size: int, *, parts: bool) -> Reals:
    array = np.broadcast_to(np.asarray(given, dtype=np.float64), (size,)) if np.size(given) in (1, size) else None
    if array is None or np.isnan(array).any() or (array < 0).any() or (parts and not (array > 0).all()):
        what = "variances of 0 or more, above 0 for the parts"
        raise InvalidParameter(expected(what, "variances", given, "give one for the level, or one for each value."))
    if parts and np.isinf(array).any():
        raise InvalidParameter(expected("parts that were measured", "variances", given, "leave the others out."))
    return array.astype(np.float64)


def _links(given: ArrayLike, size: int, above: int) -> Integers:
    array = np.asarray(given)
    whole = array.dtype.kind in "iu" and array.shape == (size,)
    if not whole or not np.array_equal(np.unique(array), np.arange(above)):
        cure = f"give each of the {size} the index (from 0) of one of the {above} above it; none of those may be empty."
        raise InvalidParameter(expected("the index of each one's whole", "parents", f"<shape {array.shape}>", cure))
    return array.astype(np.int64)
