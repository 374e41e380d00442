"""The exponential mechanism: a candidate with probability that grows with its score.

Claim
    ``Exponential(sensitivity=D, epsilon=e).release(scores)`` returns i with probability exactly proportional to
    exp(e s_i / (2 D)), and is e-differentially private if no unit moves a score by more than D; with
    ``monotonic=True``, proportional to exp(e s_i / D), if also all scores move the same way. Its privacy losses, for
    any two neighbors, lie in an interval of length e (bounded range).
Requires
    What is claimed of the scores. ``words``: independent uniform 64-bit words (`noise.entropy` owes it).
Relies on
    `noisy_argmax.winners`: exact Gumbel noise.
Proof
    Let w_i = exp(r s_i) with r the rate, W their sum, and s, s' the scores on neighbors. log P(i)/P'(i) = r (s_i -
    s'_i) - log(W/W'). The second term does not depend on i, so the losses lie in an interval as long as the range of
    r (s_i - s'_i): 2 r D in general, r D if the differences all have one sign; both are e. As probabilities add up to
    one, the interval contains 0, so no loss exceeds e.
Rounding
    None: the scores are exact, and the choice is made by comparing real numbers to as many bits as it takes.
Source
    McSherry, Talwar, Mechanism Design via Differential Privacy (FOCS 2007). Bounded range: Durfee, Rogers, Practical
    Differentially Private Top-k Selection with Pay-what-you-get Composition (NeurIPS 2019). What floats do to it:
    Ilvento, Implementing the Exponential Mechanism with Base-2 Differential Privacy (CCS 2020).
Mutant
    exponential-noise: the noise of `PermuteAndFlip` is drawn; killed by test_releases_follow_the_table.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.mechanisms.selection_probabilities import Selector
from discreet.noise.noisy_argmax import ScoreNoise


@dataclass(frozen=True, kw_only=True, init=False)
class Exponential(Selector):
    """Chooses a candidate with probability proportional to exp(epsilon * score / (2 * sensitivity)).

    Use it where many choices are made, or where zCDP or a delta is accounted: its losses have a bounded range, so k
    choices cost less than those of `NoisyMax` or `PermuteAndFlip`; for one choice at a pure epsilon, those are better.

    Args:
        sensitivity: the most by which one unit moves any single score.
        epsilon: the price of one choice.
        monotonic: whether scores all move the same way (counts under add-remove); the 2 is then dropped.

    >>> mechanism = Exponential(sensitivity=1, epsilon=1)
    >>> mechanism.probabilities([0, 1, 2]).round(4)
    array([0.1863, 0.3072, 0.5065])
    >>> mechanism.release([10**9, 10**9 + 500])
    1
    """

    @property
    def _law(self) -> ScoreNoise:
        return ScoreNoise.GUMBEL
