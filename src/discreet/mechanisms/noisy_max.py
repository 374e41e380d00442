"""Report noisy max: add noise to every score, and tell whose sum is the largest.

Claim
    ``NoisyMax(sensitivity=D, epsilon=e, noise=...).release(scores)`` returns the index of the largest of s_i + N_i, for
    independent noise of scale 2D/e, or D/e with ``monotonic=True``, and is e-differentially private if no unit moves a
    score by more than D, and, for ``monotonic=True``, if all scores move the same way. The number of candidates does
    not enter. With Gumbel noise it is the exponential mechanism, and has its bounded range.
Requires
    What is claimed of the scores. ``words``: independent uniform 64-bit words (`noise.entropy` owes it).
Relies on
    `noisy_argmax.winners`: exact noise, and comparisons that are decided.
Proof
    As for `PermuteAndFlip`: given the noise of the others, candidate i wins if N_i exceeds a t that moves by at most
    2D (D) between neighbors, and each of these laws has P(N > t + d) >= exp(-d/scale) P(N > t): with equality for
    the exponential law; for Laplace since its log-survival falls at most that fast; for Gumbel by `Exponential`. Equal
    sums have probability zero.
Rounding
    None: as for `Exponential`. The sums are never rounded, so none is released: their floats would tell scores apart.
Source
    Dwork, Roth, Algorithmic Foundations (2014), 3.3: Laplace noise, and 1/e for counts. Ding et al. (2021): exponential
    noise.
Mutant
    noise-ignored: whatever noise is asked for, Gumbel noise is drawn; killed by test_releases_follow_the_table.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import InvalidParameter, expected
from discreet.guesses.misfit_calls import with_usage_hint
from discreet.mechanisms.selection_probabilities import Selector
from discreet.noise.noisy_argmax import ScoreNoise


@dataclass(frozen=True, kw_only=True, init=False)
class NoisyMax(Selector):
    """Adds noise to every score and returns the index of the largest sum.

    A person who moves a thousand counts at once costs no more than one who moves a single count. When the counts
    themselves are released, noise must grow with their number.

    Args:
        sensitivity: the most by which one unit moves any single score.
        epsilon: the price of one choice.
        monotonic: whether scores all move the same way (counts under add-remove); halves the noise.
        noise: "exponential" (the smallest error), "laplace" or "gumbel" (the exponential mechanism).

    >>> likes = NoisyMax(sensitivity=1, epsilon=0.1, monotonic=True)
    >>> likes.scale, likes.release([120, 3000, 80])
    (Fraction(10, 1), 1)
    """

    noise: str = "exponential"

    @with_usage_hint("dp.NoisyMax(sensitivity={}, epsilon={})")
    def __init__(
        self, *, sensitivity: object, epsilon: object, monotonic: bool = False, noise: str = "exponential"
    ) -> None:
        if noise not in [law.value for law in ScoreNoise]:
            cure = 'write noise="exponential", noise="laplace" or noise="gumbel".'
            raise InvalidParameter(expected("a law of noise", "noise", noise, cure))
        object.__setattr__(self, "noise", noise)
        super().__init__(sensitivity=sensitivity, epsilon=epsilon, monotonic=monotonic)

    @property
    def _law(self) -> ScoreNoise:
        return ScoreNoise(self.noise)
