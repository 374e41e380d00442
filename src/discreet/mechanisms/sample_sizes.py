"""How many people it takes for a share, with a trusted curator and without one.

Claim
    Each size of `sample_size` is enough for its error: at its confidence, or in root mean square.
Requires
    Shares of a public number of people, of whom one may be replaced.
Relies on
    `Laplace.sample_size` and `RandomizedResponse.sample_size`.
Proof
    k answers of one person share epsilon in both models: with a curator by the L1 sensitivity k of k counts, without
    one because each report is made at epsilon / k.
Rounding
    As there.
Source
    Dwork and Roth (2014), Theorem 3.8; Warner (1965).
Mutant
    questions-for-free: reports on several questions are made at the whole epsilon each; killed by
    test_a_workload_takes_its_square_in_the_local_model.
"""

from __future__ import annotations

from typing import NamedTuple

from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.randomized_response import RandomizedResponse


class Sizes(NamedTuple):
    """The least numbers of people for one share, or for several.

    >>> Sizes(laplace=600, response=150_905).laplace
    600
    """

    laplace: int
    """With a trusted curator who adds Laplace noise to the counts."""
    response: int
    """With binary randomized response, each person on their own."""


def sample_size(
    *, within: object = None, rms: object = None, epsilon: object, queries: int = 1, confidence: object = 0.95
) -> Sizes:
    """How many people it takes for the share who have some property, in both models.

    Args:
        within: the largest error of the people's share, from 0 to 1, at this confidence.
        rms: in its place, the root-mean-square error.
        epsilon: what all answers of one person may cost.
        queries: how many such shares are asked; each person answers all of them, and all have to be within.
        confidence: with which probability; of no meaning for `rms`.

    For several queries Laplace noise takes about k log(k) times the people, randomized response k^2 log(k) times.

    >>> sample_size(within=0.01, epsilon=0.5)
    Sizes(laplace=600, response=150905)
    >>> sample_size(within=0.01, epsilon=0.5, queries=10)
    Sizes(laplace=10600, response=31349075)
    >>> sample_size(rms=0.01, epsilon=0.5)
    Sizes(laplace=280, response=39177)
    """
    curator = Laplace.sample_size(within=within, rms=rms, epsilon=epsilon, queries=queries, confidence=confidence)
    response = RandomizedResponse.sample_size(
        within=within, rms=rms, epsilon=epsilon, questions=queries, confidence=confidence
    )
    return Sizes(curator, response)
