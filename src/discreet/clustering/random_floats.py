"""Random doubles for first centers, directions and restarts, which need no exact distribution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.noise.entropy import RandomWords

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RandomFloats:
    """Doubles made from random words; used on public numbers and noisy answers only, so they need not be exact."""

    words: RandomWords

    def uniform(self, *shape: int) -> Reals:
        """Independent numbers in [0, 1), of this shape.

        >>> from discreet.testing.scripted_words import splitmix
        >>> bool(0 <= RandomFloats(splitmix(1)).uniform(2, 3).min() < 1)
        True
        """
        size = int(np.prod(shape))
        drawn: Reals = (self.words(size) >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return drawn.reshape(shape)

    def normal(self, *shape: int) -> Reals:
        """Independent standard normal numbers, of this shape (Box and Muller)."""
        radius = np.sqrt(-2 * np.log1p(-self.uniform(*shape)))
        result: Reals = radius * np.cos(2 * np.pi * self.uniform(*shape))
        return result

    def directions(self, number: int, columns: int) -> Reals:
        """Directions of length 1, spread evenly, shape (number, columns)."""
        normal = self.normal(number, columns)
        spread: Reals = normal / np.linalg.norm(normal, axis=1, keepdims=True)
        return spread
