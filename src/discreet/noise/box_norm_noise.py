"""Noise of density exp(-rate * norm) where the norm's unit ball is a box or a cross-polytope, of any dimension.

Claim
    `Box(w).sample(rate, n, words)` returns n independent integer vectors, each coordinate the nearest integer to that
    of a real Z with density proportional to exp(-rate max_i |z_i| / w_i); `Cross(w).sample` the same for
    exp(-rate sum_i |z_i| / w_i).
Requires
    Exact reaches w_i above 0. ``words(n)`` returns n independent uniform 64-bit words (`entropy` owes it).
Relies on
    `cone_norm_noise.Cones` in one dimension. Arb's enclosures. NumPy's log to within four units in the last place.
Proof
    *Box.* With density proportional to exp(-rate ||z||) in d dimensions, P(||Z|| <= r) comes from r^(d-1) exp(-rate r),
    and Z / ||Z|| from the cone measure. R U has that law, for U uniform in the body and R the sum of d + 1 independent
    exponentials: ||U|| has density d t^(d-1), so given R = s the density of R U at z is 1/(vol s^d) where s >= ||z||,
    and its integral over the Gamma(d + 1) density s^d exp(-rate s) rate^(d+1) / d! is proportional to
    exp(-rate ||z||). Uniform in the box: independent coordinates w_i (2 U_i - 1).
    *Cross-polytope.* The density is a product, of Laplace densities of scale w_i / rate.
    *Rounding with certainty*, as in `cones`: 64 bits of each uniform are drawn at first, floats carry a margin, and
    where a coordinate is nearer than that to half an integer all uniforms of the vector get 64 bits more and Arb
    computes those coordinates again, until no ball holds a half. It ends with probability one.
Rounding
    None in the result. Margin: with u = 2**-53, what a logarithm's uniform w/2**64 lacks changes it by at most 2/w,
    rounding and log by 9u (1 + L); their sum R of d + 1 terms adds (d + 1) u R; the side 2U - 1 errs by 3u. With
    products, (d + 64) 2**-50 (R + 16) and the sum of 4/w is more. Words below 2**20 are left to Arb.
Source
    Hardt, Talwar, On the geometry of differential privacy (STOC 2010), 4.
Mutant
    one-edge-less: the radius is a sum of d exponentials; killed by test_boxes_have_the_law.
    reaches-left-out: a cross-polytope's coordinates all get the first one's scale; killed by
    test_cross_polytopes_are_laplace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import count
from discreet.noise.certified_comparison import real
from discreet.noise.cone_norm_noise import EDGE, LARGEST, Cones, nearest_integer
from discreet.noise.entropy import RandomWords, draw

ONE = Fraction(1)


@dataclass(frozen=True, slots=True)
class Box:
    """The product of the intervals from -w to w.

    >>> from discreet.noise.entropy import fresh_words
    >>> Box((Fraction(1), Fraction(3))).sample(Fraction(1, 9), 5, fresh_words()).shape
    (5, 2)
    """

    reaches: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        _checked(self.reaches)

    def sample(self, rate: Fraction, n: int, words: RandomWords) -> NDArray[Any]:
        """n independent vectors, shape (n, coordinates): int64, or Python integers where one may not fit.

        Raises:
            InvalidParameter: the rate is not a `Fraction` above 0, or n is not a count.
        """
        size = len(self.reaches)
        scales = np.array([float(reach / _rate(rate)) for reach in self.reaches])
        drawn = draw(words, count("n", n) * (2 * size + 1)).reshape(n, 2 * size + 1)
        lengths = drawn[:, size:].astype(np.float64)
        radius = -np.log(lengths.clip(1.0, None) * 2.0**-64).sum(axis=1)
        slack = (size + 64) * 2.0**-50 * (radius + 16) + (4.0 / lengths.clip(EDGE, None)).sum(axis=1)
        value = (drawn[:, :size].astype(np.float64) * 2.0**-63 - 1.0) * radius[:, None] * scales
        nearest = np.floor(value + 0.5)
        margin = slack[:, None] * scales + 2.0**-40
        unsure: NDArray[np.bool_] = (np.abs(value - nearest) > 0.5 - margin) | (np.abs(value) > LARGEST)
        unsure |= (drawn[:, size:] < EDGE).any(axis=1, keepdims=True)
        result: NDArray[Any] = np.where(unsure, 0, nearest).astype(np.int64)
        if (np.abs(value) > LARGEST).any():
            result = result.astype(object)
        for row in np.flatnonzero(unsure.any(axis=1)):  # rare, unless coordinates are very large
            places = np.flatnonzero(unsure[row])
            result[row, places] = self._decided(places.tolist(), [int(w) for w in drawn[row]], rate, words)
        return result

    def _decided(self, places: list[int], uniforms: list[int], rate: Fraction, words: RandomWords) -> list[int]:
        bits, size = 64, len(self.reaches)
        while True:
            with ctx.workprec(2 * bits + 64):
                balls = [arb(word).union(arb(word + 1)) * arb(2) ** -bits for word in uniforms]
                radius = -sum((ball.log() for ball in balls[size:]), arb(0)) / real(rate)
                whole = [nearest_integer((2 * balls[i] - 1) * radius * real(self.reaches[i])) for i in places]
            if None not in whole:
                return [number for number in whole if number is not None]
            more = draw(words, len(uniforms))
            uniforms = [(word << 64) | int(new) for word, new in zip(uniforms, more, strict=True)]
            bits += 64


@dataclass(frozen=True, slots=True)
class Cross:
    """The hull of the points w and -w on each axis: independent Laplace noise, rounded.

    >>> from discreet.noise.entropy import fresh_words
    >>> Cross((Fraction(1), Fraction(3))).sample(Fraction(1, 9), 5, fresh_words()).shape
    (5, 2)
    """

    reaches: tuple[Fraction, ...]
    line: Cones = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _checked(self.reaches)
        object.__setattr__(self, "line", Cones.of([ONE, ONE], [[(ONE,)], [(-ONE,)]]))

    def sample(self, rate: Fraction, n: int, words: RandomWords) -> NDArray[Any]:
        """n independent vectors, shape (n, coordinates): int64, or Python integers where one may not fit.

        Raises:
            InvalidParameter: the rate is not a `Fraction` above 0, or n is not a count.
        """
        places: dict[Fraction, list[int]] = {}
        for i, reach in enumerate(self.reaches):
            places.setdefault(reach, []).append(i)
        result: NDArray[Any] = np.zeros((count("n", n), len(self.reaches)), dtype=np.int64)
        for reach, columns in places.items():
            drawn = self.line.sample(_rate(rate) / reach, n * len(columns), words)
            if drawn.dtype == object:
                result = result.astype(object)
            result[:, columns] = drawn.reshape(n, len(columns))
        return result


def _checked(reaches: Sequence[Fraction]) -> None:
    if not reaches or not all(isinstance(reach, Fraction) and reach > 0 for reach in reaches):
        cure = "give one fractions.Fraction above 0 for each coordinate."
        raise InvalidParameter(expected("exact reaches above 0", "reaches", reaches, cure))


def _rate(rate: Fraction) -> Fraction:
    if not isinstance(rate, Fraction) or rate <= 0:
        cure = "give the rate as fractions.Fraction(numerator, denominator), above 0."
        raise InvalidParameter(expected("an exact rate above 0", "rate", rate, cure))
    return rate
