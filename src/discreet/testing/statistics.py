"""Tests whether a sample follows a distribution: p-values, and wrong samplers to test them with.

A p-value below the false-alarm rate (use 1e-9: a test that cries wolf is soon ignored) says no. A test that has never
said no proves nothing, so show each of yours the `planted` samplers: each makes a mistake that is easily made.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import count
from discreet.noise.entropy import RandomWords
from discreet.noise.laplace import DiscreteLaplace

Survival = Callable[[NDArray[np.int64]], NDArray[np.float64]]
"""A law on the integers: ``survival(k)`` is P(Z >= k), for an array of k; it never rises."""

Sampler = Callable[[int, RandomWords], NDArray[np.int64]]
"""``sampler(n, words)`` returns n draws, shape (n,)."""

FARTHEST = 1 << 62
LEAST_EXPECTED = 10.0
"""Cells that expect fewer draws than this are joined: below, the chi-square law is not a good description."""

JOINT_CELLS = 8


def laplace_survival(scale: float) -> Survival:
    """P(Z >= k) of the discrete Laplace law, P(Z = z) proportional to exp(-|z| / scale), in floats.

    >>> laplace_survival(2.0)(np.array([0, 1])).round(4)
    array([0.6225, 0.3775])
    """

    def survival(k: NDArray[np.int64]) -> NDArray[np.float64]:
        far = np.exp(-np.where(k >= 1, k, 1 - k) / scale) / (1 + np.exp(-1 / scale))
        at_least: NDArray[np.float64] = np.where(k >= 1, far, 1 - far)
        return at_least

    return survival


def geometric_survival(scale: float) -> Survival:
    """P(G >= k) = exp(-k / scale) for k = 0, 1, 2, ..., in floats.

    >>> geometric_survival(2.0)(np.array([0, 2])).round(4)
    array([1.    , 0.3679])
    """
    return lambda k: np.exp(-np.maximum(k, 0) / scale)


def chi_square_p(sample: ArrayLike, survival: Survival, *, cells: int = 100) -> float:
    """The p-value of a sample of integers against a law, by the chi-square test in cells of about equal probability.

    Args:
        sample: independent integers, any shape.
        survival: the law, as P(Z >= k).
        cells: how many cells to aim at. They are chosen from the law and the size of the sample alone.

    Raises:
        InvalidParameter: the sample is too small, or the law too narrow, for two cells that expect 10 draws each.

    Source: Pearson (1900). Reliable while each cell expects about ten draws, which is seen to.

    >>> from discreet.testing.scripted_words import splitmix
    >>> law = DiscreteLaplace.of_scale(Fraction(5))
    >>> drawn = law.sample(10_000, splitmix(1))
    >>> chi_square_p(drawn, laplace_survival(5.0)) > 1e-9, chi_square_p(drawn, laplace_survival(6.0)) > 1e-9
    (True, False)
    """
    values = _integers(sample)
    edges = _edges(survival, cells, values.size)
    counts = np.bincount(np.searchsorted(edges, values, side="right"), minlength=edges.size + 1)
    return _pearson(counts, _masses(survival, edges) * values.size)


def joint_p(first: ArrayLike, second: ArrayLike, survival: Survival) -> float:
    """The p-value of pairs of integers against two independent draws of one law: chi-square on a grid of cells.

    Raises:
        InvalidParameter: the two differ in size, or are too few.

    >>> from discreet.testing.scripted_words import splitmix
    >>> drawn = DiscreteLaplace.of_scale(Fraction(5)).sample(20_000, splitmix(1))
    >>> joint_p(drawn[::2], drawn[1::2], laplace_survival(5.0)) > 1e-9
    True
    >>> joint_p(drawn, drawn, laplace_survival(5.0)) > 1e-9
    False
    """
    x, y = _integers(first), _integers(second)
    if x.size != y.size:
        raise InvalidParameter(expected(f"pairs for {x.size} numbers", "second", y.size, "pass arrays of one size."))
    edges = _edges(survival, JOINT_CELLS, (LEAST_EXPECTED * x.size) ** 0.5)  # so that the product of two is enough
    masses = _masses(survival, edges)
    cell = np.searchsorted(edges, x, side="right") * masses.size + np.searchsorted(edges, y, side="right")
    return _pearson(np.bincount(cell, minlength=masses.size**2), np.outer(masses, masses).ravel() * x.size)


def vectors_p(vectors: ArrayLike, survival: Survival) -> float:
    """The p-value of vectors against independent draws of one law in all coordinates.

    It takes the smallest p-value of every coordinate by itself and of every two that are neighbors, times the number of
    those tests (Bonferroni), so it catches one coordinate that is wrong and one draw that was used twice.

    Args:
        vectors: shape (runs, coordinates), one row for each independent run.
        survival: the law of each coordinate, as P(Z >= k).

    Raises:
        InvalidParameter: the array is not two-dimensional, or has too few rows.

    >>> from discreet.testing.scripted_words import splitmix
    >>> drawn = DiscreteLaplace.of_scale(Fraction(5)).sample(30_000, splitmix(1)).reshape(-1, 3)
    >>> vectors_p(drawn, laplace_survival(5.0)) > 1e-9
    True
    """
    columns = np.asarray(vectors).T
    if columns.ndim != 2 or not columns.size:
        raise InvalidParameter(expected("shape (runs, coordinates)", "shape", columns.T.shape, "pass one row a run."))
    alone = [chi_square_p(column, survival) for column in columns]
    beside = [joint_p(x, y, survival) for x, y in pairwise(columns)]
    return min(1.0, min(alone + beside) * len(alone + beside))


def binomial_p(successes: int, trials: int, probability: float) -> float:
    """The two-sided p-value of a number of successes: twice the smaller tail, exactly.

    Below b exactly when `probability` is outside `clopper_pearson` at confidence 1-b.

    Raises:
        InvalidParameter: the numbers are no count of successes among trials, or no probability.

    >>> binomial_p(50, 100, 0.5), binomial_p(0, 100, 0.5) < 1e-9
    (1.0, True)
    """
    from scipy import special  # slow to import

    hits, runs = _hits(successes, trials)
    if not 0 <= probability <= 1:
        raise InvalidParameter(expected("a probability", "probability", probability, "give a number from 0 to 1."))
    at_most = 1.0 if hits == runs else float(special.betainc(runs - hits, hits + 1, 1 - probability))
    at_least = 1.0 if hits == 0 else float(special.betainc(hits, runs - hits + 1, probability))
    return min(1.0, 2 * min(at_most, at_least))


def clopper_pearson(successes: int, trials: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """An interval that holds the true probability with at least this confidence, whatever it is.

    Raises:
        InvalidParameter: the numbers are no count of successes among trials, or the confidence is not between 0 and 1.

    Source: Clopper and Pearson, The use of confidence or fiducial limits (Biometrika 1934).

    >>> low, high = clopper_pearson(50, 100)
    >>> round(low, 4), round(high, 4)
    (0.3983, 0.6017)
    """
    from scipy import special  # slow to import

    hits, runs = _hits(successes, trials)
    if not 0 < confidence < 1:
        cure = "write the confidence as a fraction of one, as confidence=0.95."
        raise InvalidParameter(expected("a confidence strictly between 0 and 1", "confidence", confidence, cure))
    each = (1 - confidence) / 2
    low = 0.0 if hits == 0 else float(special.betaincinv(hits, runs - hits + 1, each))
    high = 1.0 if hits == runs else float(1 - special.betaincinv(runs - hits, hits + 1, each))
    return low, high


def planted(scale: Fraction) -> dict[str, Sampler]:
    """Samplers of discrete Laplace noise that are wrong on purpose, by the name of their fault. Not private.

    Each returns int64 like the right one. The first four have a wrong law in each coordinate; the last two are wrong
    only between the coordinates of one vector, or in the last of them.

    >>> sorted(planted(Fraction(2)))  # doctest: +NORMALIZE_WHITESPACE
    ['last-left-at-zero', 'negative-zero-kept', 'never-negative', 'one-draw-for-all', 'rounded-continuous',
     'scale-2%-off']
    """
    law, wide = DiscreteLaplace.of_scale(scale), DiscreteLaplace.of_scale(scale * Fraction(51, 50))

    def negative_zero_kept(n: int, words: RandomWords) -> NDArray[np.int64]:
        negative = (words(n) & np.uint64(1)).astype(np.int64)
        found: NDArray[np.int64] = law.magnitude.sample(n, words) * (1 - 2 * negative)
        return found

    def rounded_continuous(n: int, words: RandomWords) -> NDArray[np.int64]:
        uniform = (words(n) >> np.uint64(11)).astype(np.float64) * 2.0**-53 - 0.5
        real = -float(scale) * np.sign(uniform) * np.log1p(-2 * np.abs(uniform))
        rounded: NDArray[np.int64] = np.rint(real).astype(np.int64)
        return rounded

    def last_left_at_zero(n: int, words: RandomWords) -> NDArray[np.int64]:
        drawn = law.sample(n, words)
        drawn[-1:] = 0
        return drawn

    return {
        "scale-2%-off": wide.sample,
        "rounded-continuous": rounded_continuous,
        "never-negative": lambda n, words: np.abs(law.sample(n, words)),
        "negative-zero-kept": negative_zero_kept,
        "one-draw-for-all": lambda n, words: np.repeat(law.sample(1, words), n),
        "last-left-at-zero": last_left_at_zero,
    }


def _integers(sample: ArrayLike) -> NDArray[np.int64]:
    values = np.asarray(sample).ravel()
    if values.dtype.kind not in "iu":
        raise InvalidParameter(expected("integers", "dtype", str(values.dtype), "test the noise before it is scaled."))
    return values.astype(np.int64)


def _hits(successes: int, trials: int) -> tuple[int, int]:
    hits, runs = count("successes", successes), count("trials", trials)
    if not 0 < runs >= hits:
        raise InvalidParameter(expected(f"0..{trials} successes", "successes", successes, "count successes of trials."))
    return hits, runs


def _edges(survival: Survival, cells: int, size: float) -> NDArray[np.int64]:
    """Where cells begin: at the law's quantiles, and so that a value with the mass of a cell stands alone."""
    targets = 1 - np.arange(1, cells) / cells
    low, high = np.full(cells - 1, -FARTHEST), np.full(cells - 1, FARTHEST)
    while np.any(high - 1 > low):  # survival(low) > target >= survival(high)
        middle = (low & high) + ((low ^ high) >> 1)  # the mean, without overflow
        falls = survival(middle) <= targets
        low, high = np.where(falls, low, middle), np.where(falls, middle, high)
    heavy = high[survival(high - 1) - survival(high) >= 1 / cells] - 1
    candidates = np.unique(np.concatenate([heavy, high]))
    kept, passed = list[int](), 1.0
    for edge, above in zip(candidates.tolist(), survival(candidates).tolist(), strict=True):
        if (passed - above) * size >= LEAST_EXPECTED and above * size >= LEAST_EXPECTED:
            kept, passed = [*kept, edge], above
    if not kept:
        cure = "draw more, or test a wider law."
        raise InvalidParameter(expected("a sample that fills two cells with 10 draws each", "size", size, cure))
    return np.array(kept, dtype=np.int64)


def _masses(survival: Survival, edges: NDArray[np.int64]) -> NDArray[np.float64]:
    return -np.diff(np.concatenate([[1.0], survival(edges), [0.0]]))


def _pearson(counts: NDArray[np.intp], wanted: NDArray[np.float64]) -> float:
    from scipy import special  # slow to import

    statistic = float(np.sum((counts - wanted) ** 2 / wanted))
    return float(special.gammaincc((counts.size - 1) / 2, statistic / 2))
