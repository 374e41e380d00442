"""Discrete Laplace noise without a cap, at any scale, in Python's integers.

Claim
    ``wide_laplace(scale, n, words)`` returns n independent integers Z where, exactly, P(Z = z) is proportional to
    exp(-|z| / scale) over all integers; for every rational scale above zero.
Requires
    ``words(n)`` returns n independent uniform 64-bit words (`entropy` owes it).
Relies on
    `Geometric.sample`: exact draws of min(T, 2**62), P(T >= t) = exp(-t / scale). `Bernoulli.certified`.
Proof
    Let G be geometric with ratio q = exp(-1/scale) and G = B_0 + 2 B_1 + ... + 2^(k-1) B_(k-1) + 2^k T in binary. P(G =
    g) is proportional to q^g, and g is a sum over its digits, so they are independent: B_i is 1 with probability
    r / (1 + r), r = q^(2^i), and T is geometric with ratio q^(2^k), that is, of scale / 2^k. k is such that this is
    below 2^50, so that T reaches 2^62 once in exp(2^12) draws; by memorylessness T is then 2^62 and a new T more.
    `symmetric` gives the magnitude a sign.
Rounding
    None.
Source
    Ghosh, Roughgarden, Sundararajan (STOC 2009). Canonne, Kamath, Steinke (NeurIPS 2020), algorithm 2.
Mutant
    low-bits-left-out: the bits below 2^k are zero; killed by test_low_bits_are_drawn.
    wide-on-one-side: the draws have no sign; killed by test_narrow_scales.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.noise.bernoulli import Bernoulli
from discreet.noise.certified_comparison import real
from discreet.noise.entropy import RandomWords
from discreet.noise.geometric import CAP, Geometric
from discreet.noise.symmetric_law import symmetric

NARROW = 1 << 50
"""The scale of the part that is drawn in 64 bits."""


def wide_laplace(scale: Fraction, n: int, words: RandomWords) -> NDArray[Any]:
    """n independent draws, shape (n,), Python integers.

    Raises:
        InvalidParameter: the scale is not a `Fraction` above zero, or n is not a count.

    >>> from discreet.noise.entropy import fresh_words
    >>> len(wide_laplace(Fraction(10**40), 3, fresh_words()))
    3
    """
    return symmetric(partial(_magnitudes, scale), n, words)


def _magnitudes(scale: Fraction, n: int, words: RandomWords) -> NDArray[Any]:
    bits = 0
    while scale >= NARROW << bits:
        bits += 1
    top = Geometric.of_scale(scale / 2**bits)
    magnitude = top.sample(n, words).astype(object)
    for i in np.flatnonzero(magnitude >= CAP):
        while (more := int(top.sample(1, words)[0])) >= CAP:
            magnitude[i] += CAP
        magnitude[i] += more
    for place in reversed(range(bits)):
        magnitude = 2 * magnitude + Bernoulli.certified(partial(_odd, 2**place / scale)).sample(n, words)
    return magnitude


def _odd(rate: Fraction) -> arb:
    """r / (1 + r), r = exp(-rate)."""
    return 1 / (1 + real(rate).exp())
