"""Noise for groups on many machines, as Spark's executors add it: the same for a group wherever it is computed.

Claim
    `DistributedNoise.add_noise` adds to the totals of each block noise with the law of that block's mechanism. The
    noise of a group is a function of the secret and of its place among the public keys, whatever other groups are at
    hand, and in whatever order. The noises of all blocks and places of all secrets are independent, up to the distance
    that `noise.keyed_streams` claims.
Requires
    A secret of 32 uniform bytes that serves one release. Places of 0 or more, another one for each group. Whenever
    noise is made for a place, it is added to the same exact total.
Relies on
    `noise.keyed_streams`: a cell's words are a function of the secret and its name, and independent of those of other
    cells. The mechanisms: `add_noise` of zeros gives independent draws of their law, and asks for words as the number
    of draws and the words before tell, not the totals.
Proof
    A place p is in the run p // RUN, as its (p mod RUN)-th. A run of a block is blurred zeros, RUN rows of them, with
    the words of the cell "block/run", from the first: always the whole run, so that its rows are the same whichever of
    them are wanted. Two numbers in decimals with a slash between them are another name for another pair, so that runs
    have streams of their own, and are independent; so are the draws within one. Adding whole numbers is exact.
    A retried, repeated or speculated task has the same totals, places and secret, and so makes the same bytes. Two
    releases have independent secrets.
Rounding
    None.
Source
    Goldreich, Goldwasser and Micali, How to construct random functions (1986): one key, and chance for every name.
Mutant
    noise-by-turn: groups take the noise of their run in turn; killed by test_the_noise_of_a_group_is_its_own.
    blocks-share-runs: the block does not enter a run's name; killed by test_blocks_have_noise_of_their_own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.vector_lattice import summed
from discreet.noise.entropy import RandomWords
from discreet.noise.keyed_streams import ReleaseKey

RUN = 4096
"""So many consecutive groups share a stream: enough to be drawn at full speed, and few to be drawn for one of them."""


class AddsNoise(Protocol):
    """What adds noise to integers."""

    def add_noise(self, totals: NDArray[Any], words: RandomWords) -> NDArray[Any]:
        """The totals with noise made of the words."""


@dataclass(frozen=True)
class DistributedNoise:
    """The noise of one release, by the places of its groups. It can be sent to where the totals are.

    >>> from fractions import Fraction
    >>> from discreet.mechanisms.laplace import Laplace
    >>> noise = DistributedNoise(bytes(range(32)), (Laplace(sensitivity=1, epsilon=Fraction(1, 10)),))
    >>> [both] = noise.add_noise(np.array([5, 70_000]), [np.array([[10], [20]])])
    >>> [one] = noise.add_noise(np.array([70_000]), [np.array([[20]])])
    >>> bool(both[1] == one[0])
    True
    """

    secret: bytes = field(repr=False)
    """Who knows it knows the noise: it goes where the exact totals are, and nowhere else."""
    noises: tuple[AddsNoise, ...]
    """One for each block."""

    def add_noise(self, places: NDArray[np.int64], totals: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """The totals of each block, of shape (groups, components), with noise; the groups are at these places."""
        runs, which = np.unique(places // RUN, return_inverse=True)
        rows = which * RUN + places % RUN
        result = []
        for i, (noise, exact) in enumerate(zip(self.noises, totals, strict=True)):
            drawn = self._drawn(i, noise, runs, exact.shape[1])
            result.append(summed(exact.reshape(-1), drawn[rows].reshape(-1)).reshape(exact.shape))
        return result

    def _drawn(self, block: int, noise: AddsNoise, runs: NDArray[np.int64], components: int) -> NDArray[Any]:
        """The noise of all places of some runs, one after the other."""
        key = ReleaseKey(self.secret)
        zeros = np.zeros((RUN, components), dtype=np.int64)
        parts = [noise.add_noise(zeros, key.cell(f"{block}/{run}")) for run in runs.tolist()]
        return np.concatenate(parts) if parts else zeros[:0]
