"""Race to the top: the largest of several truncated totals, each with noise and less what noise may have added.

Claim
    Let D_1, ..., D_J be whole numbers, and l_1 < ... < l_J `limits` of 1 or more, such that neighbors move each D_j by
    at most `units` * l_j. Then ``RaceToTheTop(...).release(totals)``, all J noisy totals n_1, ..., n_J, is
    epsilon-differentially private, and so is whatever is made of them. With probability c or more the largest
    n_j - margin(j, c) is no more than the largest D_j; and for each j, with probability c or more, it is no less than
    D_j - ``short(j, c)``.
Requires
    Totals that move so far. ``words``: independent uniform 64-bit words (`noise.entropy` owes it).
Relies on
    `Laplace` on integers; `DiscreteLaplace.quantile`.
Proof
    *Privacy.* The noise of D_j is discrete Laplace of the scale b_j = units l_j J / epsilon, independent of the others.
    Neighbors with the moves d_j have laws whose ratio is exp(sum of |d_j| / b_j) at most, which is exp(epsilon): of J
    terms none is above epsilon / J. Which one is largest is post-processing.
    *From above.* margin(j, c) is h with P(Z_j > h) <= (1 - c) / J, since P(|Z_j| <= h) >= 1 - 2 (1 - c) / J and the law
    is symmetric. With probability c none of the J is above its own: then n_j - h_j <= D_j for all j. Where 2 (1 - c)
    / J is 1 or more, h = 0: P(Z > 0) < 1/2.
    *From below.* The largest is no less than n_j - margin(j, c), and by symmetry n_j >= D_j - g with probability c, g
    being the margin of a single one. So short(j, c) = margin(j, c) + g: with b_j as above about units l_j J / epsilon
    (ln(J / 2 (1 - c)) + ln(1 / 2 (1 - c))).
    *Near the best.* Let D_j be the total of min(x, l_j) over the units' x >= 0. Then no D_j is above the total of all
    x. If the largest x is at most some l_j, that D_j is the total itself, and the answer is short of it by short(j, c)
    at most. With limits that grow by a factor r it is within r of the largest x, or of l_1: an error in proportion to
    the largest x that there is, which no private answer can better by more than logarithms for every table.
Rounding
    None.
Source
    Dong, Fang, Yi, Tao, Machanavajjhala, "R2T: Instance-optimal truncation for differentially private query evaluation
    with foreign keys" (SIGMOD 2022), sections 4 and 5: margins there are those of the continuous law, at base 2, with
    the same tail for all J on both sides.
Mutant
    race-at-full-price: each total has noise of all of epsilon; killed by test_the_law_of_neighbors_is_within_the_price.
    each-margin-alone: a margin forgets that there are J; killed by test_the_bound_holds_as_often_as_it_says.
    race-to-the-bottom: the smallest is taken; killed by test_the_largest_less_its_margin_wins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from numpy.typing import ArrayLike, NDArray

from discreet.exact.amounts import at_least_one, confidence_level, positive
from discreet.mechanisms.contribution_limit_selection import ascending, at_place, one_for_each
from discreet.mechanisms.laplace import Laplace
from discreet.noise.entropy import RandomWords, fresh_words
from discreet.noise.laplace import DiscreteLaplace
from discreet.privacy.events import Event, PureEvent


class Winner(NamedTuple):
    """Which limit won the race, and its noisy total less the margin."""

    place: int
    at_least: int


@dataclass(frozen=True, kw_only=True, init=False)
class RaceToTheTop:
    """Noisy totals under several limits, of which the largest, less its margin, is a bound from below.

    Args:
        limits: how far one unit moves each total; ascending whole numbers.
        epsilon: the price of all totals together.
        units: how many units come or go between neighbors.

    Raises:
        InvalidParameter: the limits are not ascending whole numbers from 1 on, or an amount is not above zero.

    >>> race = RaceToTheTop(limits=[1, 4, 16], epsilon=1)
    >>> race.counting(1).scale, race.margin(1, 0.95), race.short(1, 0.95)
    (Fraction(12, 1), 41, 69)
    >>> race.best([105, 160, 90], 0.95)
    Winner(place=1, at_least=119)
    """

    limits: tuple[int, ...]
    epsilon: Fraction
    units: int

    def __init__(self, *, limits: Sequence[int], epsilon: object, units: int = 1) -> None:
        object.__setattr__(self, "limits", ascending(limits, "[1, 4, 16]"))
        object.__setattr__(self, "epsilon", positive("epsilon", epsilon))
        object.__setattr__(self, "units", at_least_one("units", units))

    def counting(self, place: int) -> Laplace:
        """The noise of the total under the limit at this place."""
        return Laplace(sensitivity=self.units * at_place(self.limits, place), epsilon=self.epsilon / len(self.limits))

    def release(self, totals: ArrayLike, *, words: RandomWords | None = None) -> tuple[int, ...]:
        """All totals with noise: as private as the best of them, and good for a bound at any confidence.

        Args:
            totals: one for each limit, whole numbers.
            words: where chance comes from; the operating system, if you do not test.

        Raises:
            InvalidParameter: there is not one whole number for each limit.
        """
        source, exact = words or fresh_words(), self._whole(totals)
        return tuple(
            int(self.counting(place).add_noise(exact[place : place + 1], source)[0])
            for place in range(len(self.limits))
        )

    def best(self, noisy: Sequence[int], confidence: object = 0.95) -> Winner:
        """The largest noisy total less its margin, and the first place where it is: no more than the largest total."""
        raced = [int(one) - self.margin(place, confidence) for place, one in enumerate(self._whole(noisy))]
        top = max(raced)
        return Winner(raced.index(top), top)

    def margin(self, place: int, confidence: object = 0.95) -> int:
        """What this noisy total is too large by, at most, while none of the others is by more than its own margin."""
        return self._tail(place, (1 - confidence_level(confidence)) / len(self.limits))

    def short(self, place: int, confidence: object = 0.95) -> int:
        """By how much the bound is short of the total under this limit, at most, with this confidence."""
        return self.margin(place, confidence) + self._tail(place, 1 - confidence_level(confidence))

    def _tail(self, place: int, rare: Fraction) -> int:
        """The smallest h with P(Z > h) at most so rare; 0 where it is one half or more."""
        law = DiscreteLaplace.of_scale(self.counting(place).scale)
        return law.quantile(1 - 2 * rare) if 2 * rare < 1 else 0

    def _whole(self, totals: ArrayLike) -> NDArray[Any]:
        return one_for_each(self.limits, totals, "totals")

    @property
    def event(self) -> Event:
        """What a ledger records of a release."""
        return PureEvent(epsilon=self.epsilon)
