"""Unbiased proportions from randomized reports.

Claim
    Let n people each send one report, independently; let a report support the sender's own category with probability
    p, and any other given category with probability q < p. If s reports support a category that a share f of the people
    have, `estimate` returns (s/n - q) / (p - q), which has the mean f and the variance (f p(1-p) + (1-f) q(1-q)) / (n
    (p-q)^2), which `variance` returns. `to_simplex` returns the nearest point, in Euclidean distance, whose entries are
    0 or more and add up to 1.
Requires
    0 <= q < p <= 1 as floats within an ulp of the true ones.
Relies on
    NumPy's sort.
Proof
    s is a sum of n independent coins, nf of probability p and n(1-f) of probability q, whatever the people are; so
    E s = n (f p + (1-f) q) and Var s = n (f p(1-p) + (1-f) q(1-q)), and the estimate is linear in s. *Simplex.* The
    nearest point is max(x - t, 0) for the t at which it adds up to 1 (the KKT conditions of a strictly convex
    problem); t is found among the prefixes of the sorted entries.
Rounding
    Floating point to nearest: what happens to reports is no longer a question of privacy.
Source
    Warner, Randomized Response (1965); Wang, Blocki, Li, Jha, Locally Differentially Private Protocols for Frequency
    Estimation (USENIX Security 2017), section 3: the form with p and q. Duchi, Shalev-Shwartz, Singer, Chandra (ICML
    2008), figure 1: the projection.
Mutant
    support-not-centered: the support of strangers is not subtracted; killed by test_the_estimate_is_unbiased.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import ArrayLike, NDArray

from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import at_least_one, decimal_text, is_whole
from discreet.exact.given_values import array_of
from discreet.noise.certified_comparison import real

Reals = NDArray[np.float64]
Codes = NDArray[np.int64]

FLOAT_PRECISION = 192
MOST_CATEGORIES = 2**53
"""So many are all told apart by floats."""


@dataclass(frozen=True, slots=True)
class Categories:
    """The possible values of one person, listed in public: labels, or the numbers 0..size-1.

    >>> Categories.of(["free", "25%", "95%"]).codes(["95%", "free"])
    array([2, 0])
    """

    size: int
    labels: tuple[Hashable, ...] | None = None
    ranks: dict[Hashable, int] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, categories: object) -> Categories:
        """The listed labels, or as many numbers as a whole number says.

        Raises:
            InvalidParameter: there are fewer than two, or one is listed twice.
        """
        cure = "list the possible values, or give their number: categories=2."
        if is_whole(categories):
            if categories < 2:
                raise InvalidParameter(expected("two categories or more", "categories", categories, cure))
            if categories > MOST_CATEGORIES:
                raise InvalidParameter(expected("at most 2**53 categories", "categories", categories, cure))
            return cls(int(categories))
        if isinstance(categories, str) or not isinstance(categories, Sequence | np.ndarray | range):
            raise InvalidParameter(expected("a list of categories", "categories", categories, cure))
        labels = tuple(value.item() if isinstance(value, np.generic) else value for value in categories)
        if not all(isinstance(label, Hashable) for label in labels):
            raise InvalidParameter(expected("categories that are values", "categories", labels, cure))
        ranks = {label: rank for rank, label in enumerate(labels)}
        if len(labels) < 2 or len(ranks) < len(labels):
            raise InvalidParameter(expected("two or more different categories", "categories", labels, cure))
        return cls(len(labels), labels, ranks)

    def codes(self, values: ArrayLike) -> Codes:
        """The place of each value in the list: int64, in the shape of `values`.

        Raises:
            InvalidParameter: a value is not listed. The message does not show it: it is private.
        """
        cure = "each person's value must be one of the listed categories; list one for all others."
        refusal = InvalidParameter(expected("values among the categories", "values", "others", cure))
        try:
            array = array_of("values", values)
            distinct, places = np.unique(array, return_inverse=True) if self.labels is not None else (array, array)
            ranks = [] if self.labels is None else [self.ranks.get(value, -1) for value in distinct.tolist()]
        except Exception:  # noqa: BLE001 (whatever a library says of values may quote them)
            array = None
        if array is None:
            raise refusal  # here, where no exception is being handled that it would carry along
        if self.labels is None:
            if array.dtype.kind not in "biu":
                raise refusal
            codes = np.array(array, dtype=np.int64)  # before it is checked: others may change what was given
            if codes.size and (int(codes.min()) < 0 or int(codes.max()) >= self.size):
                raise refusal
            return codes
        if -1 in ranks:
            raise refusal
        return np.array(ranks, dtype=np.int64)[places].reshape(array.shape)

    def named(self, codes: Codes) -> NDArray[Any]:
        """The labels at these places."""
        if self.labels is None:
            return codes
        table = np.asarray(self.labels)
        if table.ndim != 1 or table.tolist() != list(self.labels):  # labels of mixed types stay as they are
            table = np.empty(self.size, dtype=object)
            table[:] = self.labels
        named: NDArray[Any] = table[codes]
        return named


def honest_report_probability(epsilon: Fraction, others: int) -> arb:
    """A ball around e^epsilon / (e^epsilon + others), at the working precision: the chance of an honest report.

    >>> round(float(honest_report_probability(Fraction(1), 1)), 4)
    0.7311
    """
    return 1 / (1 + others * (-real(epsilon)).exp())


def nearest_float(ball: arb) -> float:
    """The middle of a ball as a float."""
    return float(ball.mid())


def certain_float(epsilon: Fraction, others: int) -> float:
    """`honest_report_probability` as a float, to within an ulp."""
    with ctx.workprec(FLOAT_PRECISION):
        return nearest_float(honest_report_probability(epsilon, others))


@dataclass(frozen=True, slots=True)
class Channel:
    """What a report supports: the sender's category with probability p, any other with probability q.

    >>> Channel(0.75, 0.25).estimate(np.array([60, 40]), people=100)
    array([0.7, 0.3])
    """

    p: float
    q: float

    def estimate(self, supports: ArrayLike, *, people: int) -> Reals:
        """The share of the people in each category, without bias; some may come out below 0 or above 1.

        Raises:
            InvalidParameter: there are no people.
        """
        n = at_least_one("people", people)
        estimated: Reals = (_reals("tally", supports) / n - self.q) / (self.p - self.q)
        return estimated

    def variance(self, share: ArrayLike = 0.0, *, people: int) -> Reals:
        """The exact variance of the estimate of a category that this share of the people have.

        >>> Channel(0.75, 0.25).variance(people=100)
        array(0.0075)
        """
        f, n = _reals("share", share), at_least_one("people", people)
        spread = f * self.p * (1 - self.p) + (1 - f) * self.q * (1 - self.q)
        return np.asarray(spread / (n * (self.p - self.q) ** 2))


def _reals(name: str, given: ArrayLike) -> Reals:
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InvalidParameter(expected("numbers", name, type(given).__name__, "give an array or a list of numbers."))


def to_simplex(shares: ArrayLike) -> Reals:
    """The nearest shares, in Euclidean distance, that are 0 or more and add up to 1; along the last axis.

    It costs no privacy. It adds a little bias (small shares are lifted) and lowers the error.

    >>> to_simplex([0.8, 0.4, -0.1])
    array([0.7, 0.3, 0. ])
    """
    x = np.asarray(shares, dtype=np.float64)
    ranked = -np.sort(-x, axis=-1)
    excess = (np.cumsum(ranked, axis=-1) - 1.0) / np.arange(1, x.shape[-1] + 1)
    last = np.sum(ranked > excess, axis=-1, keepdims=True) - 1
    nearest: Reals = np.maximum(x - np.take_along_axis(excess, last, axis=-1), 0.0)
    return nearest


def warn_if_useless(epsilon: Fraction, people: int, sd: float) -> None:
    """Warns where epsilon is below 1/people: not even one noisy count of all these people would say anything."""
    if epsilon * people < 1:
        text = f"epsilon={decimal_text(epsilon)} with {people} people is no useful information: "
        warnings.warn(f"{text}a share has a standard deviation of {sd:.3g}.", stacklevel=4)
