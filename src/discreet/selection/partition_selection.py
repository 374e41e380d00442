"""Partition selection: one interface for several laws, and the choice between them.

Claim
    ``KeySelection(epsilon=e, delta=d, max_groups=k, ...).release(totals)`` is (e, d)-differentially private under
    add-remove, if the totals are sums of `weight(t)` over the units that have a key, t <= k being the number of a
    unit's keys. The places that it returns ascend: their order tells nothing of the counts.
Requires
    Units counted in at most `max_groups` keys, once in each.
Relies on
    `optimal_partition_selection` and `gaussian_partition_selection` for their laws.
Proof
    Each method is a law of those two files at the same (e, d, k). "auto" chooses by these three numbers alone.
    What two laws would both show is not combined.
Rounding
    That of the laws.
Source
    Desfontaines et al. (PETS 2022); Gopi et al. (ICML 2020); see the two files.
Mutant
    max-groups-forgotten: the law is that of one key a unit; killed by test_many_keys_of_one_unit_stay_hidden.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.accounting.event_losses import HasLoss
from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import at_least_one, count, fraction, positive, proper_delta
from discreet.guesses.misfit_calls import with_usage_hint
from discreet.mechanisms.selection_probabilities import exact_counts
from discreet.mechanisms.threshold import UNLISTED
from discreet.noise.entropy import RandomWords, fresh_words
from discreet.noise.laplace import CAP
from discreet.privacy.events import ApproximateEvent, Event
from discreet.selection.gaussian_partition_selection import STEPS, GaussianKeys
from discreet.selection.optimal_partition_selection import LEAST_DELTA, OptimalKeys

METHODS = ("optimal", "gaussian", "weighted")
MOST_GROUPS = 1 << 30
LARGEST_EPSILON = 1 << 10


@dataclass(frozen=True, kw_only=True)
class KeySelection(HasLoss):
    """Shows the keys that many people have, and hides those that few have.

    Args:
        epsilon: the price.
        delta: the probability, roughly, with which a key that one person alone has may be shown, over all of that
            person's keys.
        max_groups: how many keys one person may have at most; you must see to it before you count.
        method: "optimal" shows each key as often as can be, for people with one key or two; "gaussian" is better for
            more; "weighted" is as good as "gaussian" for people with `max_groups` keys, and better for all others, but
            wants sums of weights in place of counts. "auto" (default) is "optimal" or "weighted", whichever needs fewer
            people for an even chance.

    >>> pages = KeySelection(epsilon=1, delta=1e-5, max_groups=30)
    >>> pages.method, pages.users(), round(pages.probability(120), 3)
    ('weighted', 103, 0.803)
    >>> KeySelection(epsilon=1, delta=1e-5).release([1, 2, 1000])
    array([2])
    """

    epsilon: Fraction
    delta: Fraction
    max_groups: int = 1
    method: str = "auto"
    law: OptimalKeys | GaussianKeys = field(repr=False, compare=False)

    @with_usage_hint("dp.KeySelection(epsilon={}, delta={}, max_groups=1)")
    def __init__(self, *, epsilon: object, delta: object, max_groups: int = 1, method: str = "auto") -> None:
        cost = positive("epsilon", epsilon)
        if cost > LARGEST_EPSILON:
            cure = "choose a smaller epsilon: at this one the selection of keys protects nobody."
            raise InvalidParameter(expected(f"an epsilon of at most {LARGEST_EPSILON}", "epsilon", epsilon, cure))
        part = proper_delta(delta, UNLISTED)
        most = at_least_one("max_groups", max_groups)
        if most > MOST_GROUPS or part < LEAST_DELTA * most:
            what = f"at most 2**30 groups and a delta of at least {float(LEAST_DELTA):.0e} for each"
            got = (max_groups, delta)
            raise InvalidParameter(expected(what, "max_groups, delta", got, "choose fewer groups or more delta."))
        if method not in ("auto", *METHODS):
            cure = 'write method="optimal", "gaussian", "weighted" or "auto".'
            raise InvalidParameter(expected("a method", "method", method, cure))
        name, law = _best(cost, part, most) if method == "auto" else (method, _law(cost, part, most, method))
        for key, value in (("epsilon", cost), ("delta", part), ("max_groups", most), ("method", name), ("law", law)):
            object.__setattr__(self, key, value)

    @property
    def steps(self) -> int:
        """How much a person with one key weighs: 1, or 2**20 where people with more keys weigh less."""
        return STEPS if self.method == "weighted" else 1

    def weight(self, groups: int) -> int:
        """What a person with so many keys adds to the total of each: 1, or `steps` / sqrt(groups), rounded down.

        >>> KeySelection(epsilon=1, delta=1e-5, max_groups=30).weight(4) / 2**20
        0.5
        """
        keys = self._groups(groups)
        return self.law.weight(keys) if isinstance(self.law, GaussianKeys) and self.law.weighted else 1

    @property
    def threshold(self) -> float:
        """Where noise is added: the noisy total that is enough, in people with one key each.

        For the optimal law, the number of people from which on a key is always shown.
        """
        return float(self.law.certain) if isinstance(self.law, OptimalKeys) else self.law.threshold / STEPS

    @property
    def event(self) -> Event:
        """What a ledger records."""
        return ApproximateEvent(epsilon=self.epsilon, delta=self.delta)

    def probability(self, users: int, *, groups: int | None = None) -> float:
        """The probability that a key is shown which so many people have, each of them with `groups` keys.

        Without `groups`, as many as they may have.
        """
        units, keys = count("users", users), self._groups(self.max_groups if groups is None else groups)
        if isinstance(self.law, OptimalKeys):
            return self.law.probability(units)
        return self.law.probability(units, keys)

    def users(self, chance: float = 0.5, *, groups: int | None = None) -> int:
        """How many people, each with `groups` keys, it takes for a key to be shown with at least this chance.

        >>> [KeySelection(epsilon=1, delta=1e-5, max_groups=keys).users() for keys in (1, 3, 10, 30, 100)]
        [12, 31, 58, 103, 196]
        """
        wanted, keys = fraction("chance", chance), self._groups(self.max_groups if groups is None else groups)
        if not 0 < wanted < 1:
            cure = "write chance=0.5."
            raise InvalidParameter(expected("a chance strictly between 0 and 1", "chance", chance, cure))
        if isinstance(self.law, OptimalKeys):
            return self.law.users(float(wanted))
        return self.law.users(float(wanted), keys)

    def release(self, totals: ArrayLike, *, words: RandomWords | None = None) -> NDArray[np.int64]:
        """The places of the keys that are shown, ascending.

        Args:
            totals: for each key, the number of people who have it; with "weighted", the sum of their weights.
            words: where chance comes from; the operating system, if you do not test.

        Raises:
            InvalidParameter: the totals are no whole numbers of 0 or more.
        """
        whole = exact_counts(totals, CAP // 2 // (1 if self.method != "gaussian" else STEPS))
        if whole is None:
            cure = "count the people who have each key, or add up their .weight(...): one whole number a key."
            raise InvalidParameter(expected("counts of people", "totals", "other numbers", cure))
        source = words or fresh_words()
        shown = self.law.release(whole * STEPS if self.method == "gaussian" else whole, source)
        return np.flatnonzero(shown).astype(np.int64)

    def _groups(self, groups: object) -> int:
        keys = at_least_one("groups", groups)
        if keys > self.max_groups:
            cure = "a person with more keys than max_groups is counted in some of them only."
            raise InvalidParameter(expected(f"at most {self.max_groups} keys a person", "groups", groups, cure))
        return keys


def _law(epsilon: Fraction, delta: Fraction, max_groups: int, method: str) -> OptimalKeys | GaussianKeys:
    if method == "optimal":
        return OptimalKeys.of(epsilon, delta, max_groups)
    return GaussianKeys.of(epsilon, delta, max_groups, weighted=method == "weighted")


def _best(epsilon: Fraction, delta: Fraction, max_groups: int) -> tuple[str, OptimalKeys | GaussianKeys]:
    """The law that needs the fewest people for an even chance, and its name."""
    weighted = GaussianKeys.of(epsilon, delta, max_groups, weighted=True)
    try:
        optimal = OptimalKeys.of(epsilon, delta, max_groups)
    except InvalidParameter:  # its table would be too long
        return "weighted", weighted
    if optimal.users(0.5) <= weighted.users(0.5, max_groups):
        return "optimal", optimal
    return "weighted", weighted
