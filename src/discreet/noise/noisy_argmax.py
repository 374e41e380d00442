"""Noisy argmax: the largest of a million scores with independent noise, decided exactly.

Claim
    ``winners(scores, rate, words, k=k, noise=noise)`` returns the indices of the k largest of rate * s_i + N_i, largest
    first, for independent real N_i of exactly the stated law: GUMBEL (N = -log E, E a standard exponential),
    EXPONENTIAL (N = E) or LAPLACE (N = E - E'). For k = 1 GUMBEL gives candidate i with probability proportional to
    exp(rate * s_i): the exponential mechanism; EXPONENTIAL gives the law of permute-and-flip.
Requires
    Scores that are finite: integers (any size), floats (each means its exact binary value) or fractions.
    ``words(n)`` returns n independent uniform 64-bit words (`entropy` owes it).
Relies on
    Arb's enclosures. NumPy's log and log1p to within four units in the last place, IEEE doubles.
Proof
    Each noise is an increasing function of uniform reals on [0, 1) of which the first 64 bits are drawn for all. From
    them each total has a float enclosure: its value, plus and minus a margin above the sum of all errors (Rounding). A
    candidate whose upper end is below the k-th largest lower end is not among the k largest. The others are sorted
    by comparisons; two whose enclosures meet have them computed again, by Arb, with 64 more bits for each of their
    uniforms and 128 more of precision, from the exact score, until they part. Two totals agree with probability zero,
    so each comparison ends. Differences to the largest score are exact before the one rounding to a float, so that
    a common offset changes nothing.
    The winner of GUMBEL: max of -log E_i + a_i is the min of E_i exp(-a_i), a race of exponentials with rates
    exp(a_i). EXPONENTIAL: Ding et al.
Rounding
    None in the result. The margin of a float enclosure: a difference of scores and its product with the rate err by
    at most 3u|a| (u = 2**-53) if |a| is a normal double; a uniform read as w/2**64 is less than 2**-64 below the real
    one and errs by u relatively, which changes log(w/2**64) by at most 2/w + u, and -log1p(-w/2**64), relatively, by
    at most 2/w + 4u below w = 2**63 and by 2**-10 beyond, where that noise is far from winning; logarithms add 8u of
    their value. 2**-46 (1 + |a| + |N|) is more than all that, apart from the terms in 1/w. Where w is below 2**20 or
    above 2**64 - 2**20 the enclosure is made by Arb.
Source
    McSherry, Talwar (FOCS 2007). Gumbel (1954); Maddison, Tarlow, Minka (NeurIPS 2014). McKenna, Sheldon,
    Permute-and-Flip (NeurIPS 2020); Ding, Kifer, Steinke, et al., The permute-and-flip mechanism is identical to
    report-noisy-max with exponential noise (2021).
Mutant
    nearest-float-wins: two totals that no float tells apart are taken in the order of their floats; killed by
    test_meeting_totals_are_told_apart_by_more_bits.
    rate-forgotten: scores are not multiplied by the rate; killed by test_the_winner_has_the_law.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cmp_to_key
from typing import Any, TypeAlias

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import count
from discreet.noise.certified_comparison import real
from discreet.noise.entropy import RandomWords, draw

MARGIN = 2.0**-46
EDGE = 1 << 20
"""Words this near to 0 or 2**64 are left to Arb."""

CHUNK = 1 << 15
"""Candidates are treated in chunks that stay in a core's own cache."""

SAFE = 1 << 62
"""Integers below this can be subtracted within 64 bits."""

Reals = NDArray[np.float64]
Scores: TypeAlias = Sequence[int] | Sequence[float] | Sequence[Fraction] | NDArray[Any]


class ScoreNoise(Enum):
    """The law of the noise that each score gets."""

    GUMBEL = "gumbel"
    EXPONENTIAL = "exponential"
    LAPLACE = "laplace"


@dataclass(slots=True)
class _Total:
    """One candidate's total: an enclosure that can be made narrower."""

    index: int
    low: arb
    high: arb
    bits: int
    uniforms: list[int]


def winners(
    scores: Scores, rate: Fraction, words: RandomWords, *, k: int = 1, noise: ScoreNoise = ScoreNoise.GUMBEL
) -> NDArray[np.int64]:
    """The indices of the k largest of rate * score + noise, largest first; shape (k,), int64.

    Args:
        scores: shape (m,): integers of any size, floats (at their exact binary value) or `Fraction`s.
        rate: an exact number of 0 or more: by what the scores are multiplied. The noise has scale 1, so noise of scale
            b on the scores themselves is rate = 1/b.
        words: the source of chance.
        k: how many.
        noise: the law of each noise.

    Raises:
        InvalidParameter: there are no scores, one is not finite, the rate is not exact, or k is not in 1..m.

    >>> from discreet.noise.entropy import fresh_words
    >>> winners([0, 10**9 + 1000, 10**9], Fraction(1), fresh_words()).tolist()
    [1]
    """
    values = finite_scores(scores)
    if not isinstance(rate, Fraction) or rate < 0:
        cure = "give the rate as fractions.Fraction(numerator, denominator)."
        raise InvalidParameter(expected("an exact rate of 0 or more", "rate", rate, cure))
    if not 1 <= count("k", k) <= values.size:
        raise InvalidParameter(expected(f"a k from 1 to {values.size}", "k", k, "ask for no more than there are."))
    drawn = draw(words, values.size * (2 if noise is ScoreNoise.LAPLACE else 1)).reshape(-1, values.size)
    low, high = _enclosures(_behind(values, rate), drawn, noise)
    place = int(np.argmax(low)) if k == 1 else int(np.argpartition(low, values.size - k)[values.size - k])
    contenders = np.flatnonzero(high >= low[place]).tolist()
    largest = exact_score(values.max())
    exact = _Refinement(rate, words, noise, lambda i: exact_score(values[i]) - largest)
    totals = [_Total(i, arb(low[i]), arb(high[i]), 64, [int(word) for word in drawn[:, i]]) for i in contenders]
    totals.sort(key=cmp_to_key(exact.compare), reverse=True)
    return np.array([total.index for total in totals[:k]], dtype=np.int64)


def finite_scores(scores: Scores) -> NDArray[Any]:
    """The scores as int64, float64 or objects that are whole or fractions, each what it was.

    Raises:
        InvalidParameter: there are none, or one is not finite.

    >>> finite_scores([3, 8])
    array([3, 8])
    """
    values = np.asarray(scores)
    if values.dtype.kind == "u" or (values.dtype.kind == "i" and values.dtype != np.int64):
        values = values.astype(object) if values.size and int(values.max()) >= SAFE else values.astype(np.int64)
    if values.ndim != 1 or not values.size:
        cure = "pass one score for each candidate."
        raise InvalidParameter(expected("a list of scores", "scores.shape", values.shape, cure))
    if values.dtype.kind == "f":
        sound = values.dtype.itemsize <= 8 and bool(np.isfinite(values).all())
        values = values.astype(np.float64, copy=False)
    else:
        sound = values.dtype.kind == "i" or (
            values.dtype == object and all(isinstance(v, int | Fraction | np.integer) for v in values)
        )
    if not sound:
        cure = "scores are finite integers, floats or fractions."
        raise InvalidParameter(expected("finite scores", "scores.dtype", str(values.dtype), cure))
    return values


def exact_score(value: Any) -> Fraction:
    """A finite score as a fraction.

    >>> exact_score(0.5)
    Fraction(1, 2)
    """
    return Fraction(value) if isinstance(value, float | Fraction) else Fraction(int(value))


def _behind(values: NDArray[Any], rate: Fraction) -> Reals:
    """rate * (score - largest score) with a relative error below 3u, or -infinity where that is below -1e290."""
    largest, least = exact_score(values.max()), exact_score(values.min())
    plain = rate == 0 or 1e-290 < rate < 1e290
    if plain and (largest - least) * rate < 1e290 and largest - least < 1e290:
        if values.dtype == np.float64:
            return np.asarray((values - values.max()) * float(rate))
        if values.dtype != object and largest - least < SAFE:
            return np.asarray((values - values.max()).astype(np.float64) * float(rate))
    return np.array([_nearest(rate * (exact_score(value) - largest)) for value in values.tolist()])


def _nearest(value: Fraction) -> float:
    return float(value) if value > -1e290 else -np.inf


def _enclosures(behind: Reals, drawn: NDArray[np.uint64], noise: ScoreNoise) -> tuple[Reals, Reals]:
    """Lower and upper ends of all totals, from the first 64 bits of their uniforms."""
    low, high = np.empty(behind.size), np.empty(behind.size)
    far = np.isneginf(behind)
    near = np.where(far, -1e290, behind) if far.any() else behind
    for start in range(0, behind.size, CHUNK):
        part = slice(start, min(start + CHUNK, behind.size))
        value, margin = noise_floats(drawn[:, part], noise)
        margin += MARGIN * (1.0 + np.abs(near[part]) + np.abs(value))
        value += near[part]
        np.subtract(value, margin, out=low[part])
        np.add(value, margin, out=high[part])
    edge = ((drawn < EDGE) | (drawn >= np.uint64(2**64 - EDGE))).any(axis=0)
    for i in np.flatnonzero(edge):  # about one in 2**43
        with ctx.workprec(128):
            ball, slack = noise_ball([int(word) for word in drawn[:, i]], 64, noise), MARGIN * (1.0 + abs(near[i]))
            low[i], high[i] = float_below(ball + near[i] - slack), -float_below(-(ball + near[i] + slack))
    low[far] = -np.inf
    return low, high


def noise_floats(drawn: NDArray[np.uint64], noise: ScoreNoise) -> tuple[Reals, Reals]:
    """The noise of each candidate, and the part of its margin that comes from the bits not yet read."""
    uniform = drawn.astype(np.float64)
    unread = 4.0 / uniform.clip(EDGE, None)
    uniform *= 2.0**-64
    if noise is ScoreNoise.GUMBEL:
        # Small exponentials win here, and are as precise as floats if they are made from small uniforms.
        exponential = -np.log1p(-uniform[0].clip(None, 1.0 - 2.0**-53))
        return -np.log(exponential.clip(2.0**-64, None)), unread[0] + np.where(uniform[0] > 0.5, 2.0**-8, 0.0)
    logs = np.log(uniform.clip(2.0**-64, None))
    if noise is ScoreNoise.EXPONENTIAL:
        return -logs[0], unread[0]
    return logs[1] - logs[0], unread[0] + unread[1] + 2 * MARGIN * np.abs(logs).sum(axis=0)


def noise_ball(uniforms: list[int], bits: int, noise: ScoreNoise) -> arb:
    """The noise, for uniforms of which so many bits are known; all of the line if they do not tell."""

    def exponential(word: int, *, small: bool) -> arb:
        """-log U, or -log(1 - U), for U in [word, word + 1] / 2**bits."""
        scale = arb(2) ** -bits
        ends = [arb(end) * scale for end in ((word, word + 1) if not small else (2**bits - word - 1, 2**bits - word))]
        return -(ends[0].union(ends[1])).log()

    if noise is ScoreNoise.GUMBEL:
        return -exponential(uniforms[0], small=True).log()
    if noise is ScoreNoise.EXPONENTIAL:
        return exponential(uniforms[0], small=False)
    return exponential(uniforms[0], small=False) - exponential(uniforms[1], small=False)


def float_below(ball: arb) -> float:
    """A float at or below all of the ball; minus infinity if it is not finite."""
    if not ball.is_finite():
        return -np.inf
    value = float(ball.lower())
    return value - abs(value) * 2.0**-50 - 2.0**-1000


@dataclass(frozen=True, slots=True)
class _Refinement:
    """What is needed to compute a total again, more finely."""

    rate: Fraction
    words: RandomWords
    noise: ScoreNoise
    behind: Callable[[int], Fraction]

    def compare(self, one: _Total, other: _Total) -> int:
        """1 if the first total is the larger, -1 if the second is."""
        if one is other:
            return 0
        while True:
            if one.low > other.high:
                return 1
            if other.low > one.high:
                return -1
            for total in (one, other):
                self._refine(total)

    def _refine(self, total: _Total) -> None:
        more = draw(self.words, len(total.uniforms))
        total.uniforms = [(word << 64) | int(new) for word, new in zip(total.uniforms, more, strict=True)]
        total.bits += 64
        with ctx.workprec(2 * total.bits):
            ball = noise_ball(total.uniforms, total.bits, self.noise) + real(self.rate * self.behind(total.index))
            if ball.is_finite():
                total.low, total.high = ball.lower(), ball.upper()
