"""The differentially private log release: bounded contributions, noise, a threshold, and synthetic rows.

Claim
    What `ThresholdedLog.add_noise` returns is (epsilon, delta)-differentially private for users, under the neighbors of
    the declaration, and everything shown of it is a function of what it returns.
Requires
    `found`: the totals of `user_item_pairs.totals`, each user in at most `max_items` pairs, with counts of at most
    `max_count`. Fewer than 2**37 users.
Relies on
    `item_threshold.ItemThreshold`: noise and threshold for the totals of one user's pairs. `user_item_pairs`: the
    bounds.
Proof
    The totals of an item are sums over its users of S - h and h, h = 8 (count - 1), or of S; every user is the first of
    exactly one item, so the sum of FIRST is the number of users, and counts g for each. Those are the totals that
    `ItemThreshold` speaks of. Items are sorted by what is shown of them. Under replace-one neighbors one user goes and
    another
    comes: with (e, d) for each, the two make (2e, d (1 + exp(e))) by way of the table without either.
Rounding
    The share of delta under replace-one down.
Source
    Korolova, Kenthapadi, Mishra, Ntoulas, Releasing Search Queries and Clicks Privately (WWW 2009).
Mutant
    people-unblurred: the number of users is shown as it is; killed by test_the_number_of_users_is_blurred.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from flint import ctx
from numpy.typing import NDArray

from discreet.exact.amounts import decimal_text
from discreet.logs.item_threshold import PRECISION, SHARE, ItemThreshold
from discreet.logs.user_item_pairs import EXTRA, FIRST, ITEM, USERS
from discreet.noise.certified_comparison import float_above, real
from discreet.noise.entropy import RandomWords
from discreet.privacy.definitions import Guarantee, Neighbors
from discreet.privacy.events import ApproximateEvent, Event

PRESENCE, HIGH, PEOPLE = "presence", "high", b"people"
CAP = 1 << 61
CONFIDENCE = 0.95


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ThresholdedLog:
    """What the curator needs to charge, look, add noise and store."""

    what: str
    guarantee: Guarantee
    neighbors: Neighbors
    unit: str
    screen: ItemThreshold
    expression: ir.Table

    @property
    def epsilon(self) -> Fraction:
        """The price."""
        return self.guarantee.epsilon

    @property
    def event(self) -> Event:
        """What a ledger records."""
        return ApproximateEvent(epsilon=self.guarantee.epsilon, delta=self.guarantee.delta)

    charged_event = event

    @property
    def facts(self) -> Mapping[str, Any]:
        """Its part of the receipt."""
        screen, price = self.screen, self.guarantee
        return {
            "guarantee": f"{price.promise} for {self.neighbors.value} neighbors, of the whole release",
            "method": "sound",
            "unit": [self.unit],
            "neighbors": self.neighbors.value,
            "charge": price.amounts,
            "limits": {"max_items": screen.max_items, "max_count": screen.max_count},
            "mechanism": {"gaussian": "rounded normal noise", "laplace": "discrete Laplace noise"}[screen.noise]
            + " on the totals of each item, and a threshold",
            "noise": {"scale": decimal_text(screen.scale), "steps": screen.steps, "threshold": screen.threshold},
            "threshold_users": round(screen.users_needed, 3),
            "users_sd": round(screen.users_sd, 3),
            "users_ids": "made up: which items a released user has says nothing of the log",
        }

    def add_noise(self, found: pa.Table, words: RandomWords) -> pa.Table:
        """The items that reach the threshold with their noisy totals, and the noisy number of users."""
        screen, g = self.screen, self.screen.steps // SHARE
        users, extra, first = (found[name].to_numpy().astype(np.int64) for name in (USERS, EXTRA, FIRST))
        high = SHARE * extra if screen.parts == 2 else np.zeros(0, dtype=np.int64)
        low = screen.steps * users - (high if screen.parts == 2 else 0)
        noisy_low = _held(screen.add_noise(low, words))
        noisy_high = _held(screen.add_noise(high, words))
        people = _held(screen.add_noise(np.array([g * int(first.sum())]), words))
        presence = noisy_low + noisy_high if screen.parts == 2 else noisy_low
        shown = np.flatnonzero(presence >= screen.threshold)
        columns = {ITEM: found[ITEM].take(pa.array(shown)), PRESENCE: pa.array(presence[shown])}
        if screen.parts == 2:
            columns[HIGH] = pa.array(noisy_high[shown])
        table = pa.table(columns)
        order = pc.sort_indices(table, sort_keys=[(PRESENCE, "descending"), (ITEM, "ascending")])
        return table.take(order).replace_schema_metadata({PEOPLE: str(int(people[0])).encode()})


def _held(noisy: NDArray[Any]) -> NDArray[np.int64]:
    return np.asarray(np.clip(noisy, -CAP, CAP), dtype=np.int64)


def shares(guarantee: Guarantee, neighbors: Neighbors) -> tuple[Fraction, Fraction]:
    """The epsilon and delta for add-remove neighbors that give the stated ones for the declared neighbors.

    >>> shares(Guarantee(epsilon=Fraction(1), delta=Fraction(1, 10)), Neighbors.ADD_REMOVE)
    (Fraction(1, 1), Fraction(1, 10))
    """
    if neighbors is Neighbors.ADD_REMOVE:
        return guarantee.epsilon, guarantee.delta
    half = guarantee.epsilon / 2
    with ctx.workprec(PRECISION):
        return half, guarantee.delta / Fraction(float_above(1 + real(half).exp()))


def released_users(table: pa.Table, screen: ItemThreshold) -> NDArray[np.float64]:
    """The noisy number of users of each item."""
    return np.asarray(table[PRESENCE].to_numpy() / screen.steps)


def released_extra(table: pa.Table) -> NDArray[np.float64]:
    """The noisy sum of count - 1 of each item."""
    return np.asarray(table[HIGH].to_numpy() / SHARE)


def released_people(table: pa.Table, screen: ItemThreshold) -> int:
    """The noisy number of users, 1 or more."""
    return max(math.floor(int(table.schema.metadata[PEOPLE]) * SHARE / screen.steps + 0.5), 1)
