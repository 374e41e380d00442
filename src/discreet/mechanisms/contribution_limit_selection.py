"""One of several counts of the same rows, each under another limit on what a unit contributes, with noise.

Claim
    Let D_1, ..., D_J be whole numbers, and l_1 < ... < l_J `limits` of 1 or more. Let adding a unit raise each D_i by 0
    to `units` * l_i (with ``both_ways=True``: let neighbors move each by at most that, either way). Then
    ``CountsUnderLimits(...).release(counts)`` is epsilon-differentially private. With i the place that it returns and n
    the noisy count, n - margin(i, c) <= D_i with probability c or more, whatever i is.
Requires
    Counts that move so far. ``words``: independent uniform 64-bit words (`noise.entropy` owes it).
Relies on
    `PermuteAndFlip`, of scores that move either way; `Laplace` on integers; `DiscreteLaplace.quantile`.
Proof
    *Choice.* Let q_i = D_i - p l_i, p a public number, and s_i the least of (q_i - q_j) / w_ij over all j, itself among
    them. What a unit moves of q_i - q_j is a - b with a in [0, u l_i] and b in [0, u l_j], u the number of units:
    at most u max(l_i, l_j) in size, which is w_ij. Both ways it is at most u (l_i + l_j), which is w_ij then. So each
    quotient moves by at most 1, and so does the least of some. Permute-and-flip of scores of sensitivity 1 at
    epsilon / 2 is epsilon / 2-private. Where there is one limit, nothing is chosen.
    *Count.* Given i, D_i has sensitivity u l_i, and Laplace noise of what is left of epsilon. The two compose.
    *Margin.* The noise Z is drawn after the choice and is symmetric. P(|Z| <= h) >= 2c - 1 gives P(Z > h) <= 1 - c.
    For c <= 1/2, h = 0: P(Z > 0) < 1/2 <= 1 - c.
    *Near the best.* Let raising the limit beyond l_k change nothing: D_i = D_k for i > k, and D_i <= D_k for i < k. The
    best score is 0, that of the largest q. With probability (1 + c) / 2 the chosen i has a score of -h or more, h being
    the error of permute-and-flip: q_i >= q_k - h w_ik. So D_i >= D_k - p (l_k - l_i) - h w_ik for i < k; and for i > k,
    where D_i = D_k, it can only be one with p (l_i - l_k) <= h w_ik. The noise of any of these is -g_i or more with
    probability (1 + c) / 2, by symmetry. So n_i - margin(i, c) is short of D_k by ``short(k, c)`` at most with
    probability c, the largest of what is lost + g_i + margin(i, c) over all such i. All of it grows as l_k does, and
    with J only as log J does.
    *Penalty.* p affects no promise. At p_0 = log(10) / e, the margin of a limit of 1 at 95 % from e, half of epsilon,
    the best q_i would be the best bound, if scores had no noise. With noise a large limit, whose scores are flat, can
    come ahead of smaller ones that are better. So 2 log(20 J) / e is added, which did best in trials.
Rounding
    p to a double: any will do. Scores are exact fractions.
Source
    Raskhodnikova and Smith, "Efficient Lipschitz extensions for high-dimensional graph statistics" (2015): the
    generalized exponential mechanism, of scores with different sensitivities, with w_ij = u (l_i + l_j) throughout.
    Knop and Steinke, "Counting distinct elements under person-level differential privacy" (NeurIPS 2023).
Mutant
    smaller-limit-divides: quotients are of the smaller of two limits; killed by test_scores_move_by_one_at_most.
    scores-moved-one-way: the choice takes its scores for monotonic ones; killed by test_scores_move_both_ways.
    noise-of-limit-one: the noise of each count is that of the smallest limit; killed by
    test_laws_of_neighbors_are_within_the_price.
    margin-one-short: a margin is an integer smaller; killed by test_margins_are_the_smallest.
    larger-limits-forgotten: the bound for every table leaves out limits above the one that suffices; killed by
    test_the_bound_is_near_as_often_as_it_says.
    noise-within-64-bits: noisy totals are taken to have 64 bits; killed by test_noise_beyond_64_bits_races_too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import at_least_one, confidence_level, count, positive
from discreet.exact.given_values import values
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.selection_probabilities import exact_scores
from discreet.noise.entropy import RandomWords, fresh_words
from discreet.noise.laplace import DiscreteLaplace
from discreet.privacy.events import Event, PureEvent

HALF = Fraction(1, 2)


def ascending(limits: Sequence[int], example: str) -> tuple[int, ...]:
    """Limits, checked; with some others, for whoever has to write them anew."""
    cure = f"list them from the smallest on, as limits={example}."
    stated = tuple(at_least_one("limits", limit) for limit in values("limits", limits, cure))
    if not stated or list(stated) != sorted(set(stated)):
        raise InvalidParameter(expected("ascending limits", "limits", list(stated), cure))
    return stated


def at_place(limits: tuple[int, ...], place: object) -> int:
    """The limit at a place, from 0 on."""
    at = count("place", place)
    if at >= len(limits):
        raise InvalidParameter(expected(f"a place from 0 to {len(limits) - 1}", "place", place, "count limits from 0."))
    return limits[at]


def one_for_each(limits: tuple[int, ...], given: ArrayLike, name: str) -> NDArray[Any]:
    """Whole numbers, one for each limit; refused by their name, where they are not."""
    exact = exact_scores(given)
    is_wide = exact.dtype == object and all(one.denominator == 1 for one in exact)  # with noise beyond 64 bits
    if exact.shape != (len(limits),) or not (is_wide or exact.dtype.kind in "iu"):
        cure = "pass one whole number for each limit."
        raise InvalidParameter(expected(f"{len(limits)} {name}", name, exact.shape, cure))
    return exact if is_wide else exact.astype(np.int64)


class ChosenCount(NamedTuple):
    """Which limit was chosen, and its noisy count."""

    place: int
    noisy: int


@dataclass(frozen=True, kw_only=True, init=False)
class CountsUnderLimits:
    """Chooses a limit under which little is lost and the noise is small, and releases its count.

    Args:
        limits: how far one unit moves each count; ascending whole numbers.
        epsilon: the price of the choice and the count together.
        units: how many units come or go between neighbors.
        both_ways: whether one count may rise while another falls, as where a unit is replaced.

    Raises:
        InvalidParameter: the limits are not ascending whole numbers from 1 on, or an amount is not above zero.

    >>> mechanism = CountsUnderLimits(limits=[1, 2, 4], epsilon=1)
    >>> mechanism.counting(2).scale, mechanism.margin(2, 0.95)
    (Fraction(8, 1), 18)
    """

    limits: tuple[int, ...]
    epsilon: Fraction
    units: int
    both_ways: bool

    def __init__(self, *, limits: Sequence[int], epsilon: object, units: int = 1, both_ways: bool = False) -> None:
        object.__setattr__(self, "limits", ascending(limits, "[1, 2, 4]"))
        object.__setattr__(self, "epsilon", positive("epsilon", epsilon))
        object.__setattr__(self, "units", at_least_one("units", units))
        object.__setattr__(self, "both_ways", bool(both_ways))

    @property
    def choice(self) -> PermuteAndFlip | None:
        """What chooses the limit; None where there is one."""
        return PermuteAndFlip(sensitivity=1, epsilon=self.epsilon * HALF) if len(self.limits) > 1 else None

    def counting(self, place: int) -> Laplace:
        """The noise of the count under the limit at this place."""
        left = self.epsilon * (HALF if self.choice else 1)
        return Laplace(sensitivity=self.units * at_place(self.limits, place), epsilon=left)

    @property
    def penalty(self) -> Fraction:
        """What a count has to be larger by for each one that its limit is larger by."""
        half = float(self.epsilon * HALF) / self.units
        return Fraction((math.log(10) + 2 * math.log(20 * len(self.limits))) / half)

    def scores(self, counts: ArrayLike) -> NDArray[Any]:
        """By how much each limit beats the one that it beats least: exact fractions, none above 0, shape (J,)."""
        penalized = [
            Fraction(int(count)) - self.penalty * limit
            for count, limit in zip(self._whole(counts), self.limits, strict=True)
        ]
        rivals = list(zip(penalized, self.limits, strict=True))
        return exact_scores(
            [min((own - other) / self._apart(limit, beside) for other, beside in rivals) for own, limit in rivals]
        )

    def _apart(self, limit: int, beside: int) -> int:
        """How far a unit moves the difference of two counts."""
        return self.units * (limit + beside if self.both_ways else max(limit, beside))

    def release(self, counts: ArrayLike, *, words: RandomWords | None = None) -> ChosenCount:
        """The place of the chosen limit, and the noisy count under it.

        Args:
            counts: one for each limit, whole numbers.
            words: where chance comes from; the operating system, if you do not test.

        Raises:
            InvalidParameter: there is not one whole number for each limit.
        """
        source = words or fresh_words()
        whole = self._whole(counts)
        choice = self.choice
        place = 0 if choice is None else choice.release(self.scores(whole), words=source)
        return ChosenCount(place, int(self.counting(place).add_noise(whole[place : place + 1], source)[0]))

    def _whole(self, counts: ArrayLike) -> NDArray[Any]:
        return one_for_each(self.limits, counts, "counts")

    def margin(self, place: int, confidence: object = 0.95) -> int:
        """What a noisy count is too large by, at most, with this confidence; one-sided, and exact."""
        level = 2 * confidence_level(confidence) - 1
        return DiscreteLaplace.of_scale(self.counting(place).scale).quantile(level) if level > 0 else 0

    def short(self, place: int, confidence: object = 0.95) -> int:
        """By how much the bound is short of the count, at most, with this confidence, where the limit at this place is
        one beyond which nothing changes: whatever the other counts are.

        >>> CountsUnderLimits(limits=[1, 2, 4, 8], epsilon=1).short(2)
        144
        """
        level = confidence_level(confidence)
        half = (1 + level) * HALF
        error, own = self._choice_error(half), at_place(self.limits, place)
        most = 0
        for i, limit in enumerate(self.limits):
            apart, further = math.ceil(error * self._apart(limit, own)), math.ceil(self.penalty * abs(own - limit))
            if limit > own and further > apart:
                break
            lost = apart + further if limit < own else 0
            most = max(most, lost + self.margin(i, half) + self.margin(i, level))
        return most

    def _choice_error(self, confidence: object) -> float:
        """How far below 0 the chosen score is at most."""
        choice = self.choice
        return 0.0 if choice is None else choice.error(candidates=len(self.limits), confidence=confidence)

    @property
    def event(self) -> Event:
        """What a ledger records of a release."""
        return PureEvent(epsilon=self.epsilon)
