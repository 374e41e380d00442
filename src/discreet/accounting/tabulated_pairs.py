"""Tabulated pairs: laws on finitely many outputs, and the integer laws with their tails cut.

Claim
    Each function returns a pair that dominates its mechanism: `finite` the pair of two tables; `two_point` the worst
    pair of any epsilon-differentially private mechanism, with delta of infinite loss; `response` randomized response;
    `staircase`, `discrete_laplace` and `discrete_gaussian` noise at the largest shift. All but `two_point` are reached
    by the mechanism, and `discrete_laplace` up to `MOST_ATOMS` outputs between the centers.
Requires
    Checked parameters; tables of equal length.
Relies on
    NumPy's exp and log; `dominating_pairs.Atoms` for the rounding of what is tabulated.
Proof
    *two_point*: Theorem 3.3 of Kairouz, Oh and Viswanath. *staircase*: for a shift d up to the sensitivity the levels
    of both densities differ by at most one, so L is in {-epsilon, 0, epsilon} and by symmetry only P(L = epsilon) is
    free; (1 - e^-epsilon) P(L = epsilon) is the total variation, which for unimodal symmetric noise is P(|Z| < d/2) and
    grows with d. *discrete_laplace*, q = e^(-1/b): P(x <= 0) = 1/(1+q), then (1-q)/(1+q) q^x, then q^D/(1+q).
    Beyond `MOST_ATOMS`, outputs are gathered in cells of the loss, and each cell's mass under P and Q is split between
    the cell's ends so that both totals are kept: every profile is replaced by its chords in e^epsilon, which lie above.
    A cell of n outputs has P = p (1 - q^n) and Q = p e^-l (q - q^(n+1))/(q (1 - q)) (1 - q), p its first output's, and
    its ends differ by q^2n, so that the shares are in proportion to 1 - q^(n-1) and q^(n-1) (1 - q^(n+1)).
    *discrete_gaussian*: L(x) = (d^2 - 2dx)/(2 sigma^2); outputs more than R from their center, of probability at most
    4 e^(-(R-1)^2/(2 sigma^2)), count as infinite loss.
Rounding
    Left to `dominating_pairs.Atoms`; the cut mass only raises delta. A mass of `discrete_gaussian` t deviations from
    its center is wrong by t^2/2 units of the exponent, too. Where e^(theta L) weighs the outputs their t is theta
    s/sigma on average, so that this is little beside the units that moments have for theta `reach`, `reach` > 20
    s/sigma.
Source
    Geng and Viswanath (2014): staircase. Doroshenko et al., Connect the Dots (2022). Canonne, Kamath and Steinke
    (2020).
Mutant
    missing-tail: the discrete Laplace atom beyond the far center is left out; killed by test_tables_are_laws.
    chords-without-the-far-tail: Q forgets what lies beyond the far center; killed by
        test_chords_are_above_the_law_however_wide_or_narrow.
    staircase-at-the-center: total variation is taken as P(|Z| < d); killed by test_staircase_against_quadrature.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np

from discreet.accounting.dominating_pairs import Atoms, Reals
from discreet.exact.amounts import LEAST_FLOAT
from discreet.exact.bisection import float_up

MOST_ATOMS = 1 << 12
FARTHEST = 20
"""Standard deviations of a discrete Gaussian that are tabulated: beyond is less than 1e-80."""
PRODUCT = 2.0**-52
"""How far a loss may be from the product of two floats that it stands for, as a part of it."""


def finite(first: Sequence[Fraction | float], second: Sequence[Fraction | float]) -> Atoms:
    """The pair of two tables of probabilities over the same outputs."""
    both = [(p, q) for p, q in zip(first, second, strict=True) if p and q]
    ordered = sorted(((_log_ratio(p, q), float(p), float(q)) for p, q in both), key=lambda row: row[0])
    columns = np.array(ordered, dtype=np.float64).reshape(-1, 3)
    return Atoms(
        losses=columns[:, 0],
        first=columns[:, 1],
        second=columns[:, 2],
        infinite=sum((Fraction(p) for p, q in zip(first, second, strict=True) if not q), start=Fraction(0)),
        infinite_back=sum((Fraction(q) for p, q in zip(first, second, strict=True) if not p), start=Fraction(0)),
        off=2.0**-50,
    )


def two_point(epsilon: float, delta: Fraction | float = 0) -> Atoms:
    """Binary randomized response that tells the truth outright with probability `delta`, which is kept exactly."""
    outright = Fraction(delta)
    rest = float_up(1 - outright)
    lie, truth = rest / (1.0 + math.exp(min(epsilon, 709.0))), rest / (1.0 + math.exp(-epsilon))
    return Atoms(
        losses=np.array([-epsilon, epsilon]),
        first=np.array([lie, truth]),
        second=np.array([truth, lie]),
        infinite=outright,
        infinite_back=outright,
        exact=False,
    )


def response(epsilon: float, categories: int) -> Atoms:
    """Randomized response over so many categories."""
    small = math.exp(-epsilon)
    whole = 1.0 + (categories - 1) * small
    return _symmetric(epsilon, 1.0 / whole, (categories - 2) * small / whole)


def staircase(epsilon: float, gamma: float) -> Atoms:
    """Staircase noise whose steps are split at the part `gamma`."""
    small = math.exp(-epsilon)
    if gamma >= 0.5:
        top = 0.5 / (gamma + small * (1.0 - gamma))
    else:  # (gamma + small (1/2 - gamma))/(gamma + small (1 - gamma)), also where e^-epsilon is no float
        power = math.log(gamma) + epsilon if gamma else -math.inf
        top = 1.0 - 0.5 / (math.exp(power) + 1.0 - gamma) if power < 700.0 else 1.0
    return _symmetric(epsilon, top, max(1.0 - top * (1.0 + small), 0.0))


def _symmetric(epsilon: float, top: float, middle: float) -> Atoms:
    """Losses -epsilon, 0 and epsilon, the same in both directions."""
    bottom = top * math.exp(-epsilon)
    masses = np.array([bottom, middle, top]) if middle > 0.0 else np.array([bottom, top])
    losses = np.array([-epsilon, 0.0, epsilon]) if middle > 0.0 else np.array([-epsilon, epsilon])
    return Atoms(losses=losses, first=masses, second=masses[::-1])


def discrete_laplace(sensitivity: int, scale: Fraction) -> Atoms:
    """Discrete Laplace noise of a scale, on integers that move by at most `sensitivity`."""
    rate = float_up(1 / scale)
    if sensitivity > MOST_ATOMS:
        return _chorded(sensitivity, rate)
    whole = 1.0 + math.exp(-rate)
    inner = np.arange(1, sensitivity)
    first = np.concatenate(
        [[1.0 / whole], -math.expm1(-rate) / whole * np.exp(-rate * inner), [math.exp(-rate * sensitivity) / whole]]
    )
    losses: Reals = rate * (sensitivity - 2.0 * np.arange(sensitivity + 1, dtype=np.float64))
    return Atoms(losses=losses[::-1], first=first[::-1], second=first, off=PRODUCT)


def _chorded(sensitivity: int, rate: float) -> Atoms:
    """The same, with the outputs between the centers gathered in `MOST_ATOMS` cells."""
    borders = [sensitivity * i // MOST_ATOMS for i in range(MOST_ATOMS + 1)]
    # Differences of integers are exact; of floats they would not be beyond 2**53.
    losses, low, high, back = (
        rate * np.array([float(x) for x in row])
        for row in (
            [sensitivity - 2 * x for x in borders],
            [x + 1 for x in borders[:-1]],
            borders[1:],
            [sensitivity - x for x in borders],
        )
    )
    width = rate * np.array([float(b - a) for a, b in pairwise(borders)])
    whole = 1.0 + math.exp(-rate)
    # Outputs low < x <= high: their mass at the upper end, and at the lower one, in parts of e^(-rate (low + 1)) and of
    # e^(-rate high). No term is subtracted from one near to it, and none is larger than 1.
    upper = -np.expm1(rate - width) / (whole * (1.0 + np.exp(-width)))
    lower = -np.expm1(-rate - width) / (whole * (1.0 + np.exp(-width)))
    masses = np.append(np.exp(-low) * upper, 0.0) + np.insert(np.exp(-high) * lower, 0, 1.0 / whole)
    masses[-1] += math.exp(-rate * (sensitivity + 1)) / whole
    seconds = np.append(np.exp(-back[:-1] - rate) * upper, 0.0) + np.insert(np.exp(-back[1:]) * lower, 0, 0.0)
    seconds[0] += math.exp(-rate * sensitivity) / whole
    seconds[-1] += math.exp(-rate) / whole
    return Atoms(losses=losses[::-1], first=masses[::-1], second=seconds[::-1], exact=False, off=PRODUCT)


def discrete_gaussian(sigma2: Fraction, sensitivity: int) -> Atoms:
    """Discrete Gaussian noise with parameter sigma^2, on integers that move by exactly `sensitivity`."""
    variance = float(sigma2)
    farthest = math.ceil(FARTHEST * math.sqrt(variance)) + 1
    places: Reals = np.arange(-farthest, sensitivity + farthest + 1, dtype=np.float64)
    first = np.maximum(np.exp(-(places**2) / (2.0 * variance)), LEAST_FLOAT)
    near = np.arange(-2 * farthest, 2 * farthest + 1, dtype=np.float64)
    first /= np.exp(-(near**2) / (2.0 * variance)).sum()
    losses = (sensitivity**2 - 2.0 * sensitivity * places) / (2.0 * variance)
    # 20 of the least floats are what masses may lose among them.
    cut = Fraction(4.0 * math.exp(-((farthest - 1) ** 2) / (2.0 * variance)) + 20.0 * LEAST_FLOAT)
    second = first[::-1]
    return Atoms(
        losses=losses[::-1],
        first=first[::-1],
        second=second[::-1],
        infinite=cut,
        infinite_back=cut,
        cut=cut,
        off=2 * PRODUCT,
    )


def _log_ratio(p: Fraction | float, q: Fraction | float) -> float:
    """log(p/q) of two positive numbers, also where the ratio is no float."""
    ratio = Fraction(p) / Fraction(q)
    twos = 0 if 0.5 < ratio < 2 else ratio.numerator.bit_length() - ratio.denominator.bit_length()
    rest = float(ratio / Fraction(2) ** twos - 1)  # above -1/2
    return math.log1p(rest) + twos * math.log(2.0)
