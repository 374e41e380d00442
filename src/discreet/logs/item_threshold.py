"""Noise and threshold for unlisted items: the same noisy totals decide which items are shown, and are released.

Claim
    Let every user count once, with `steps` S, in at most K = `max_items` items, and with g = S/8 in the number of
    users.
    An item with users gets noise on its totals; it is shown, with them, if its noisy presence is at or above
    `threshold`; the number of users gets noise and is shown. For `ItemThreshold.of(...)` this is (epsilon, delta)-
    differentially private under add-remove, however the items are named and whoever has them.
Requires
    Items without users get no noise and are not shown. With ``max_count`` C above 1 an item has two totals, in which a
    user with count c (1..C) has S - h and h, h = 8 (c - 1), S = 8 (C - 1), and its presence is their sum; else it has
    one, in which each user has S = 8.
Relies on
    `RoundedNormal`: x + draw is the rounding of N(x, sigma^2). `DiscreteLaplace`: an exact law. Arb's enclosures.
Proof
    Let D have one user more than D', who is the only one in j of its items. Let p be at most the probability that such
    an item is not shown, so that none is with probability at least p^j, independently of all other noise; E: some is.
    Write what is left of D's and of D''s output as f and f'. As sets of outcomes go, the worst for D against D' is
    1 - p^j + p^j (f - e^(epsilon - j log p) f')+, for D' against D it is (f' - e^(epsilon + j log p) f)+: what D shows
    in E, D' never does, and D gives each other outcome p^j times as often as f. Both fall with p.
    *Normal.* f and f' are normal noise around totals at most sqrt(g^2 + (K - j) S^2) apart in L2 norm, as (S - h)^2 +
    h^2 <= S^2; (f - e^t f')+ is then the Gaussian profile at t, for every real t. `certified` adds this up for
    j = 0..K. One total: the item is hidden if N < threshold - S - 1/2. Two: each rounding adds at most 1/2, so it is
    hidden if N + N' < threshold - S - 1, a normal law of twice the variance.
    *Laplace.* Scale (K S + g)/epsilon, so f and f' are within a factor e^t of each other, t = epsilon ((K - j) S + g) /
    (K S + g) <= epsilon. The first worst is 1 - p^j, as f <= e^epsilon f'. The second: a set that f' gives x, D gives
    p^j e^-t x or more, and x - e^epsilon p^j e^-t x <= x (1 - p^j) <= 1 - p^j as well. Hence 1 - p^K <= delta
    suffices. P(Z >= t) = q^t/(1+q) for one total, t >= 1; for two, P(Z + Z' = z) = ((1-q)/(1+q))^2 q^z (z + a),
    a = (1+q^2)/(1-q^2), summed over z >= t.
    *Choice.* Both are priced, and the smaller threshold is taken: a choice by public facts.
Rounding
    delta up, in 256 bits; threshold and scale up.
Source
    Korolova, Kenthapadi, Mishra, Ntoulas (WWW 2009): noise and a threshold. Wilkins, Kifer, Zhang, Karrer, Exact
    Privacy Analysis of the Gaussian Sparse Histogram Mechanism (2022): the sum over j, here with totals that all share.
Mutant
    no-lone-items: only the noise is priced, not the items that one user has alone; killed by
    test_delta_is_that_of_enumeration.
    threshold-of-one-total: two totals are screened as one; killed by test_lone_items_with_two_totals_stay_hidden.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from discreet.accounting.gaussian_profile import mu_below
from discreet.errors import InvalidParameter, expected
from discreet.exact.bisection import least, least_whole
from discreet.noise.certified_comparison import real
from discreet.noise.entropy import RandomWords
from discreet.noise.gaussian import RoundedNormal
from discreet.noise.laplace import DiscreteLaplace

PRECISION = 256
NOISES = ("gaussian", "laplace")
LARGEST_EPSILON = 1 << 10
LEAST_DELTA = Fraction(1, 10**50)
"""The smallest delta: below it, 256 bits are not enough for a certificate."""

SHARE = 8
"""A user's contribution to an item, divided by that to the number of users."""

WIDER = np.geomspace(1.0, 3.0, 60)
"""Multiples of the least sigma that are tried: more noise lowers the cost of items of one user, up to a point."""

NEARLY = 1.02
"""Thresholds within this factor of the smallest count as equal; then the smaller sigma decides."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ItemThreshold:
    """Noise and threshold for the totals of items that nobody listed; make one with `ItemThreshold.of`.

    >>> screen = ItemThreshold.of(epsilon=Fraction(1), delta=Fraction(1, 10**5), max_items=10)
    >>> screen.noise, round(screen.users_needed, 1), round(screen.users_sd, 1)
    ('gaussian', 58.2, 12.0)
    """

    max_items: int
    max_count: int
    noise: str
    scale: Fraction
    """sigma, or the scale of the discrete Laplace law, in steps."""
    threshold: int
    """The smallest noisy number of users that is shown, in steps."""

    @classmethod
    def of(
        cls, *, epsilon: Fraction, delta: Fraction, max_items: int, max_count: int = 1, noise: str | None = None
    ) -> ItemThreshold:
        """The screen with the smaller threshold, or the one with the stated noise.

        Raises:
            InvalidParameter: epsilon is too large, or delta too small, for the arithmetic here.
        """
        if epsilon > LARGEST_EPSILON:
            cure = "items chosen at so high a price hide nobody."
            raise InvalidParameter(expected(f"an epsilon of at most {LARGEST_EPSILON:,}", "epsilon", epsilon, cure))
        if delta < LEAST_DELTA:
            cure = "no computer tells it from 0; 1e-12 is below one over the number of people alive."
            raise InvalidParameter(expected(f"a delta of at least {float(LEAST_DELTA):g}", "delta", delta, cure))
        made = {"gaussian": _normal, "laplace": _laplace}
        found = [made[name](epsilon, delta, max_items, max_count) for name in NOISES if noise in (None, name)]
        return min(found, key=lambda screen: screen.threshold)

    @property
    def steps(self) -> int:
        """S: what one user counts in one item."""
        return SHARE * max(self.max_count - 1, 1)

    @property
    def parts(self) -> int:
        """How many totals an item has."""
        return 1 if self.max_count == 1 else 2

    @property
    def users_needed(self) -> float:
        """The number of users with which an item is shown with probability about one half."""
        return self.threshold / self.steps

    @property
    def users_sd(self) -> float:
        """The standard deviation of the noise on the users of one item."""
        one = float(self.scale) * (1.0 if self.noise == "gaussian" else math.sqrt(2.0))
        return one * math.sqrt(self.parts) / self.steps

    def within(self, confidence: float) -> float:
        """The largest error of an item's users with this confidence, not given that the item is shown."""
        from scipy.special import ndtri

        if self.noise == "gaussian" or self.parts == 2:
            # A sum of two Laplace draws has a longer tail than a normal: Chebyshev would be far too wide, so its own.
            if self.noise == "gaussian":
                return float(ndtri((1 + confidence) / 2)) * self.users_sd + 1 / self.steps
            return _two_sided(self.scale, confidence) / self.steps
        return DiscreteLaplace.of_scale(self.scale).quantile(confidence) / self.steps

    def add_noise(self, totals: NDArray[np.int64], words: RandomWords) -> NDArray[Any]:
        """The totals with independent noise, any shape."""
        law = RoundedNormal.of_variance(self.scale**2) if self.noise == "gaussian" else None
        drawn = (law or DiscreteLaplace.of_scale(self.scale)).sample(totals.size, words).reshape(totals.shape)
        return totals + drawn

    def delta(self, epsilon: Fraction) -> float:
        """A delta for which this screen is (epsilon, delta)-differentially private, rounded up (normal noise)."""
        with ctx.workprec(PRECISION):
            return math.nextafter(float(certified(self, epsilon).upper()), math.inf)


def certified(screen: ItemThreshold, epsilon: Fraction) -> arb:
    """A ball whose upper end is a valid delta of normal noise at epsilon, at the working precision."""
    sigma, root = real(screen.scale), arb(2).sqrt()
    steps = screen.steps
    room = arb(screen.threshold - steps) - arb(1) / 2 if screen.parts == 1 else arb(screen.threshold - steps - 1)
    spread = sigma * (root if screen.parts == 2 else 1)
    shown = (room / (spread * root)).erfc() / 2
    log_hidden = (1 - shown).log()
    largest = arb(0)
    for lone in range(screen.max_items + 1):
        moved = arb((steps // SHARE) ** 2 + (screen.max_items - lone) * steps * steps).sqrt() / sigma
        hidden = (lone * log_hidden).exp()
        forth = 1 - hidden + hidden * _profile(moved, real(epsilon) - lone * log_hidden)
        back = _profile(moved, real(epsilon) + lone * log_hidden)
        largest = largest.max(forth).max(back)
    return largest


def _profile(mu: arb, epsilon: arb) -> arb:
    """The Gaussian profile, for any real epsilon."""
    root = arb(2).sqrt()
    first = ((epsilon / mu - mu / 2) / root).erfc()
    return (first - epsilon.exp() * ((epsilon / mu + mu / 2) / root).erfc()) / 2


def _normal(epsilon: Fraction, delta: Fraction, max_items: int, max_count: int) -> ItemThreshold:
    """The smallest certified threshold, over sigmas from the least possible one on."""
    steps = SHARE * max(max_count - 1, 1)
    square = (steps // SHARE) ** 2 + max_items * steps * steps
    # With mu at delta there is nothing left for lone items.
    least = math.sqrt(square) / mu_below(epsilon, delta)
    parts = 1 if max_count == 1 else 2
    found = [
        (sigma, _threshold(sigma, (epsilon, delta), items=max_items, steps=steps, parts=parts))
        for sigma in least * WIDER[1:]
    ]
    best = min(threshold for _, threshold in found)
    sigma, threshold = next(pair for pair in found if pair[1] <= NEARLY * best)
    scale = Fraction(math.ceil(sigma * 2**20), 2**20)
    first = max(math.floor(threshold), 1)
    while True:
        screen = ItemThreshold(max_items=max_items, max_count=max_count, noise="gaussian", scale=scale, threshold=first)
        with ctx.workprec(PRECISION):
            if bool(certified(screen, epsilon).upper() <= real(delta)):
                return screen
        first += 1 + (first >> 9)


@np.errstate(under="ignore")  # as NumPy does by itself; the program around may not
def _threshold(sigma: float, price: tuple[Fraction, Fraction], *, items: int, steps: int, parts: int) -> float:
    """About the least threshold for which delta suffices, in floats: certified afterwards."""
    from scipy.special import log_ndtr

    lone = np.arange(items + 1)
    mu = np.sqrt((steps // SHARE) ** 2 + (items - lone) * steps * steps) / sigma
    (epsilon, delta), spread = map(float, price), sigma * math.sqrt(parts)
    rounding = 0.5 if parts == 1 else 1.0

    def profile(at: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.exp(log_ndtr(mu / 2 - at / mu)) - np.exp(at + log_ndtr(-mu / 2 - at / mu)))

    def suffices(threshold: float) -> bool:
        log_hidden = log_ndtr((threshold - steps - rounding) / spread)
        hidden = lone * log_hidden
        forth = -np.expm1(hidden) + np.exp(hidden) * profile(epsilon - hidden)
        return bool(max(forth.max(), profile(epsilon + hidden).max()) <= delta)

    high = steps + 40.0 * spread
    return least(suffices, float(steps), high, relative=1e-3 * spread / high) if suffices(high) else math.inf


def _laplace(epsilon: Fraction, delta: Fraction, max_items: int, max_count: int) -> ItemThreshold:
    """The smallest threshold that hides the items of one user with probability 1 - delta."""
    steps, parts = SHARE * max(max_count - 1, 1), 1 if max_count == 1 else 2
    scale = Fraction(max_items * steps + steps // SHARE) / epsilon
    with ctx.workprec(PRECISION):
        each = -(((1 - real(delta)).log() / max_items).expm1())

        def rare(excess: int) -> bool:
            return bool(_tail(scale, parts, excess).upper() <= each.lower())

        threshold = steps + least_whole(rare, 0, 1)
    return ItemThreshold(max_items=max_items, max_count=max_count, noise="laplace", scale=scale, threshold=threshold)


def _tail(scale: Fraction, parts: int, excess: int) -> arb:
    """P(noise >= excess) for excess >= 1: one discrete Laplace draw, or the sum of two."""
    q = (-1 / real(scale)).exp()
    power = (-excess / real(scale)).exp()
    if parts == 1:
        return power / (1 + q)
    a = (1 + q * q) / (1 - q * q)
    return ((1 - q) / (1 + q)) ** 2 * power * ((excess + a) / (1 - q) + q / (1 - q) ** 2)


def _two_sided(scale: Fraction, confidence: float) -> int:
    """The smallest t with P(|Z + Z'| > t) <= 1 - confidence."""
    t = 0
    with ctx.workprec(PRECISION):
        step = max(1, math.ceil(scale) // 16)
        while not bool(2 * _tail(scale, 2, t + 1) <= 1 - confidence):
            t += step
    return t
