"""Permute-and-flip: never worse than the exponential mechanism at the same epsilon.

Claim
    ``PermuteAndFlip(sensitivity=D, epsilon=e).release(scores)`` has the law of: go through the candidates in random
    order, and stop at i with probability exp(r (s_i - max s)), r = e/(2D), or e/D with ``monotonic=True``. It is
    e-differentially private under the same conditions as `Exponential`. Its zCDP cost is e^2/2; the e^2/8 of the
    exponential mechanism does not hold for it.
Requires
    What is claimed of the scores. ``words``: independent uniform 64-bit words (`noise.entropy` owes it).
Relies on
    `noisy_argmax.winners`: exact exponential noise.
Proof
    The law is that of the largest of s_i + E_i, E_i exponential with scale 1/r (Ding et al. 2021). Fix the noise of all
    but i. Candidate i wins if E_i exceeds some t; on a neighbor, t moves by at most 2D, or by at most D if all scores
    move the same way, and P(E_i > t + d) >= exp(-r d) P(E_i > t). So no probability of an index shrinks by more than
    exp(e). On scores (0, 0) and (1, -1) at e = 2 the Renyi divergence of order 2 is 1.377 > 2 e^2/8.
Rounding
    None: as for `Exponential`.
Source
    McKenna, Sheldon, Permute-and-Flip: A new mechanism for differentially private selection (NeurIPS 2020). Ding,
    Kifer, Steinke, et al., The Permute-and-Flip Mechanism is Identical to Report-Noisy-Max with Exponential Noise
    (2021).
Mutant
    gumbel-instead: the exponential mechanism's noise is drawn; killed by test_releases_follow_the_table.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.mechanisms.selection_probabilities import Selector
from discreet.noise.noisy_argmax import ScoreNoise


@dataclass(frozen=True, kw_only=True, init=False)
class PermuteAndFlip(Selector):
    """Chooses as `NoisyMax` with exponential noise does: the best choice at a pure epsilon.

    Args:
        sensitivity: the most by which one unit moves any single score.
        epsilon: the price of one choice.
        monotonic: whether scores all move the same way (counts under add-remove).

    >>> PermuteAndFlip(sensitivity=1, epsilon=1).probabilities([0, 1, 2]).round(4)
    array([0.1468, 0.2661, 0.5872])
    """

    @property
    def _law(self) -> ScoreNoise:
        return ScoreNoise.EXPONENTIAL
