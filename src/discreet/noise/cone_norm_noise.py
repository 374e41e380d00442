"""Noise of density exp(-epsilon * norm), the norm given by cones over simplices; rounded with certainty.

Claim
    ``Cones.of(weights, corners).sample(rate, n, words)`` returns n independent integer vectors, each coordinate the
    nearest integer to that of a real Z = sum_i L_i v_i: a simplex is drawn in proportion to its weight, v_1..v_d are
    its corners, and L_1..L_d are independent exponentials of rate `rate`. If the cones over the simplices tile the span
    of the corners, the simplices lie on the boundary of a convex body K around 0, and the weights are proportional to
    |det(v_1..v_d)| in coordinates of the span, then Z has a density there proportional to exp(-rate ||z||_K).
Requires
    Exact corners and weights. ``words(n)`` returns n independent uniform 64-bit words (`entropy` owes it).
Relies on
    `inverse_transform.Inversion`: exact draws of the simplex. Arb's enclosures. NumPy's log to within four units in the
    last place.
Proof
    In a cone, z = sum l_i v_i with all l_i >= 0, and ||z||_K = sum l_i, as the simplex lies on the boundary. So the
    density wanted is exp(-rate sum l_i) in z, and |det| times that in l, which integrates to |det| / rate^d: cones are
    drawn in proportion to |det|, and the l_i are independent exponentials.
    *Radius.* ||Z||_K = sum L_i is a Gamma variable with d degrees.
    *Rounding with certainty.* L = -log(U) / rate with U uniform, of which 64 bits are drawn at first. The floats for Z
    carry a margin; where a coordinate is nearer than that to half an integer, all d uniforms of the draw get 64 bits
    more and Arb computes the coordinate again, until its ball holds no half. It ends with probability one.
Rounding
    None in the result. Margin: with u = 2**-53, what U = w/2**64 lacks changes its logarithm by at most 2/w, rounding
    and log by 9u (1 + |log|), products and sums of d <= 64 terms by 70u of the sum of their absolute values. 2**-44
    times that sum, and 4/w, is more. Words below 2**20 are left to Arb.
Source
    Hardt, Talwar, On the geometry of differential privacy (STOC 2010). Devroye (1986), XI: simplices.
Mutant
    flat-weights: all cones are drawn equally often; killed by test_cones_by_their_volume.
    floor-for-nearest: coordinates are rounded down; killed by test_the_cross_polytope_is_laplace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import count
from discreet.noise.certified_comparison import real
from discreet.noise.entropy import RandomWords, draw
from discreet.noise.inverse_transform import Inversion

Corner: TypeAlias = tuple[Fraction, ...]

MARGIN = 2.0**-44
EDGE = 1 << 20
LARGEST = 2.0**52
"""Coordinates beyond this are left to Arb."""


@dataclass(frozen=True, slots=True, eq=False)
class Cones:
    """A body by the cones over its boundary; make one with `Cones.of`.

    >>> from discreet.noise.entropy import fresh_words
    >>> one, two = (Fraction(1), Fraction(0)), (Fraction(0), Fraction(1))
    >>> quadrant = Cones.of([Fraction(1)], [(one, two)])
    >>> bool((quadrant.sample(Fraction(1), 5, fresh_words()) >= 0).all())
    True
    """

    corners: tuple[tuple[Corner, ...], ...] = field(repr=False)
    table: Inversion = field(repr=False)
    floats: NDArray[np.float64] = field(repr=False)  # (cones, d, coordinates)

    @classmethod
    def of(cls, weights: Sequence[Fraction], corners: Sequence[Sequence[Corner]]) -> Cones:
        """Cones with their weights, which need not add up to 1.

        Raises:
            InvalidParameter: there are none, or a weight is not above zero.
        """
        if not weights or min(weights) <= 0 or len(weights) != len(corners):
            cure = "give one weight above 0 for each simplex."
            raise InvalidParameter(expected("weights above 0", "len(weights)", len(weights), cure))
        above = list(accumulate(reversed(weights)))[::-1]
        total = above[0]

        def survival(j: int) -> arb:
            return real(above[j] / total)

        exact = tuple(tuple(tuple(corner) for corner in simplex) for simplex in corners)
        floats = np.array([[[float(x) for x in corner] for corner in simplex] for simplex in exact])
        return cls(exact, Inversion.tabulate(survival, size=len(weights)), floats)

    def sample(self, rate: Fraction, n: int, words: RandomWords) -> NDArray[Any]:
        """n independent vectors, shape (n, coordinates): int64, or Python integers where one may not fit.

        Raises:
            InvalidParameter: the rate is not a `Fraction` above 0, or n is not a count.
        """
        if not isinstance(rate, Fraction) or rate <= 0:
            cure = "give the rate as fractions.Fraction(numerator, denominator), above 0."
            raise InvalidParameter(expected("an exact rate above 0", "rate", rate, cure))
        cone = self.table.sample(count("n", n), words)
        edges = self.floats.shape[1]
        drawn = draw(words, n * edges).reshape(n, edges)
        uniform = drawn.astype(np.float64)
        logs = -np.log(uniform.clip(1.0, None) * 2.0**-64)
        sides = self.floats[cone]
        terms = logs[:, :, None] * sides / float(rate)
        slack = (MARGIN + 4.0 / uniform.clip(EDGE, None))[:, :, None] * np.abs(sides) / float(rate)
        value, margin = terms.sum(axis=1), slack.sum(axis=1) + MARGIN * np.abs(terms).sum(axis=1)
        nearest = np.floor(value + 0.5)
        unsure: NDArray[np.bool_] = (np.abs(value - nearest) > 0.5 - margin - 2.0**-40) | (np.abs(value) > LARGEST)
        unsure |= np.any(drawn < EDGE, axis=1, keepdims=True)
        result: NDArray[Any] = np.where(unsure, 0, nearest).astype(np.int64)
        rows = np.flatnonzero(unsure.any(axis=1))
        if (np.abs(value[rows]) > LARGEST).any():
            result = result.astype(object)
        for row in rows:  # about one in 2**30, unless coordinates are very large
            uniforms = [int(word) for word in drawn[row]]
            result[row] = self._decided(int(cone[row]), uniforms, rate, words)
        return result

    def _decided(self, cone: int, uniforms: list[int], rate: Fraction, words: RandomWords) -> list[int]:
        bits = 64
        while True:
            with ctx.workprec(2 * bits + 64):
                lengths = [
                    -((arb(word).union(arb(word + 1))) * arb(2) ** -bits).log() / real(rate) for word in uniforms
                ]
                columns = zip(*self.corners[cone], strict=True)
                points = [
                    sum((a * real(x) for a, x in zip(lengths, column, strict=True)), arb(0)) for column in columns
                ]
                whole = [nearest_integer(point) for point in points]
            if None not in whole:
                return [int(number) for number in whole if number is not None]
            more = draw(words, len(uniforms))
            uniforms = [(word << 64) | int(new) for word, new in zip(uniforms, more, strict=True)]
            bits += 64


def nearest_integer(point: arb) -> int | None:
    """The integer nearest to all numbers of a ball, or None if that is not one.

    >>> nearest_integer(arb(2.25)), nearest_integer(arb(2.5, 0.1))
    (2, None)
    """
    if not point.is_finite():
        return None
    ends = [(end + arb(0.5)).floor().unique_fmpz() for end in (point.lower(), point.upper())]
    return None if ends[0] is None or ends[1] is None or ends[0] != ends[1] else int(ends[0])
