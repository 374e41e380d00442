"""Lines through values of one column and several others, with error bars, from noisy sums of products of columns.

Claim
    A group has n rows, each with values u_1, ..., u_p and v in [0, 1]. Given are noisy components, in rows, each with
    its own independent noise of one `law` and scale b (sigma), on the multiples of `step`, or continuous; and
    coefficients by which their exact values add up to the sums of f f' and f v below: `RegressionLine.of` has those of
    all products of the Bernstein polynomials of the u_i (degree 2) and of v, `planning.signed_products` those of signed
    products. Then the intervals hold the slopes of the least-squares line of v over the u_i together, or its height at
    a public place, with at least the stated probability, wherever there is one such line. Ends may be infinite.
Requires
    Components as released, neither rounded nor made non-negative; those of a row were rounded by at most `rounding` in
    all. The truth is that of the bounded, weighted rows.
Relies on
    `planning.bernstein_polynomials` and `planning.signed_products` for the coefficients; `noise.weighted_sums`: a
    quantile is no less than a norm that holds, for all smaller |coefficients| too.
Proof
    Let f = (1, u_1 - 1/2, ..., u_p - 1/2), S the sum of f f' and s that of f v over the rows, S* = S + E and s* = s + e
    the noisy ones, W = S*^-1, B = S^-1 s the truth, b = W s* the estimate, z = b - B, and r = e - EB = s* - S*B, since
    s = SB. So z = W r. E, e and r are noise with known coefficients, and rounding, of a sum with coefficients c at most
    `rounding` n max |c|. Let Q(c) be the quantile of the noise with coefficients c and that together: a norm, and
    monotone. |.| and <= are by entries, F that of Q of the coefficients of E.
    *Estimate.* The coefficients of r are those of e - Eb and of Ez, so |r| <= q + F |z|, q those of e - Eb. Hence |z|
    <= |W| q + |W| F |z|; and if M = |W| F has a spectral radius below 1, |z| <= d = K |W| q, K = (I - M)^-1 >= 0.
    *Weights.* Of a form c let a = c W and A = c S^-1. From W = S^-1 - S^-1 E W: a - A = -A E W. AE has the coefficients
    of aE and of (A - a)E, so |AE| <= h + |A - a| F, h those of aE; and with D = |A - a|, D <= (h + D F) |W|, so D <= h
    |W| (I - F |W|)^-1 = h K |W|.
    *Form.* c z = a r = A r + (a - A) r. A r is noise whose coefficients, those of the truth, differ from those of a (e
    - Eb) by at most D |e - Eb| + |aE| d + D |E| d, in these letters for coefficients; the rest is at most D (q + F d).
    Each bound on r, AE and n holds but for its part of a tenth of the miss probability, all with coefficients of the
    truth, which are fixed; and that on A r but for nine tenths of it. Where the spectral radius is not below 1, nothing
    is refused.
Rounding
    Widened by 2^-40 of the sizes of what is added. A noisy count up to 1/2 is taken for none. The estimate divides by a
    spread no smaller than the noise in it: a ridge, which changes no interval but to hold the estimate.
Source
    Sufficient statistics with noise: Wang, Revisiting differentially private linear regression (UAI 2018), for the
    ridge. Fieller, Some problems in interval estimation (1954): pivots.
Mutant
    mean-at-the-middle: the pivot forgets that the mean of u is noisy, and not 1/2; killed by test_slope_coverage.
    slopes-one-by-one: what two predictors have in common is left out; killed by test_several_slopes_coverage.
    line-without-second-order: the squares of the noise are left out; killed by test_second_order_is_bounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.inference.covariances import KNOWN, Interval, Known, shares
from discreet.inference.ratio_intervals import PivotNoise
from discreet.planning.bernstein_polynomials import Basis, Reals

OUTCOME = -1
"""Stands for v among the places of f."""
BLOCK = 1 << 12
"""Groups treated at a time: ten predictors have 850 coefficients in each."""
Levels = tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class RegressionLine:
    """Noisy sums over the rows of each cell, and the coefficients of their noise."""

    squares: Reals
    """Of f f', shape (cells, 1 + p, 1 + p)."""
    crossed: Reals
    """Of f v, shape (cells, 1 + p)."""
    at_squares: Reals
    at_crossed: Reals
    """Their coefficients, with the components on a further axis."""
    known: Known
    size: Reals

    @classmethod
    def of(cls, parts: Reals, degrees: tuple[int, ...]) -> RegressionLine:
        """From components of shape (cells, components), the last column's degree running fastest: that of v."""
        basis, places = Basis(degrees), range(len(degrees))  # of the u_i in f

        def summed(*columns: int) -> Reals:
            powers = [columns.count(1 + k) for k in places[:-1]]
            ahead = [basis.single(k, power, 0.5) for k, power in enumerate(powers)]
            return basis.product(*ahead, basis.single(places[-1], columns.count(OUTCOME)))

        at_squares = np.array([[summed(i, j) for j in places] for i in places])
        return cls.of_forms(parts, at_squares, np.array([summed(i, OUTCOME) for i in places]))

    @classmethod
    def of_forms(cls, parts: Reals, at_squares: Reals, at_crossed: Reals) -> RegressionLine:
        """From components, and the coefficients of the squares and of what is crossed in them."""
        squares = np.einsum("nc,ijc->nij", parts, at_squares)
        largest = np.maximum(np.abs(at_squares).max(axis=(0, 1)), np.abs(at_crossed).max(axis=0))
        return cls(
            squares, np.einsum("nc,ic->ni", parts, at_crossed),
            at_squares, at_crossed, squares[:, 0, 0] > KNOWN, np.abs(parts) @ largest,
        )  # fmt: skip

    def part(self, groups: slice) -> RegressionLine:
        """The same of some of the groups."""
        cut = {name: getattr(self, name)[groups] for name in ("squares", "crossed", "known", "size")}
        return replace(self, **cut)

    def ridged(self, scale: float) -> tuple[Reals, Known]:
        """The noisy squares with all spreads of u no smaller than their noise; and where they are so by themselves."""
        count = np.where(self.known, self.squares[:, 0, 0], 1.0)
        means = self.squares[:, 0, 1:]
        spreads = self.squares[:, 1:, 1:] - means[:, :, None] * means[:, None, :] / count[:, None, None]
        least = np.sqrt(2.0) * scale * float(np.linalg.norm(self.at_squares[1, 1]))
        unit = np.eye(len(self.at_crossed))
        found = np.where(self.known[:, None, None], self.squares, unit)
        smallest = np.linalg.eigvalsh(spreads)[:, 0]
        more = np.where(self.known, np.maximum(least - smallest, 0.0), 0.0)
        unit[0, 0] = 0.0
        return found + more[:, None, None] * unit, self.known & (more == 0.0)

    def fitted(self, scale: float) -> Reals:
        """Height at u = 1/2 and slopes, shape (cells, 1 + p); a half and 0 where the noisy count is none."""
        squares, _ = self.ridged(scale)
        fit = np.asarray(np.linalg.solve(squares, self.crossed[..., None])[..., 0], dtype=np.float64)
        return np.where(self.known[:, None], fit, np.eye(fit.shape[1])[0] / 2)


def line(own: RegressionLine, form: Sequence[float], *, scale: float) -> Reals:
    """A linear form of the height of a line at u = 1/2 and its slopes, for noise of this scale.

    >>> u = np.array([0.0, 0.5, 1.0])
    >>> basis = Basis((2, 1))
    >>> own = np.stack([(1 - u) ** 2, 2 * u * (1 - u), u**2], axis=-1), np.stack([1 - u / 4, u / 4], axis=-1)
    >>> line(RegressionLine.of(basis.product(*own).sum(axis=0)[None], (2, 1)), (0.0, 1.0), scale=0.01)
    array([0.25])
    """
    result: Reals = own.fitted(scale) @ np.array(form)
    return result


def line_interval(
    own: RegressionLine, form: Sequence[float], noise: PivotNoise, *, confidence: Any, rounding: float = 0
) -> Interval:
    """An interval that holds the form of the true line with at least this confidence."""
    levels = shares(confidence, 2 * len(form) + 1)  # r, aE and the number of rows
    blocks = [own.part(slice(i, i + BLOCK)) for i in range(0, max(len(own.known), 1), BLOCK)]
    lows, highs = zip(*(_interval(one, form, noise, levels=levels, rounding=rounding) for one in blocks), strict=True)
    return np.concatenate(lows), np.concatenate(highs)


def _interval(
    own: RegressionLine, form: Sequence[float], noise: PivotNoise, *, levels: Levels, rounding: float
) -> Interval:
    size, (main, unknown) = len(form), levels
    rows = own.squares[:, 0, 0] + noise.noise_quantile(own.at_squares[0, 0], unknown)
    most = rounding * np.maximum(rows, 0.0)

    def noise_bound(coefficients: Reals, level: Any = unknown) -> Reals:
        """Of coefficients that differ by group: the noise, and what rounding adds."""
        added = most.reshape(-1, *(1 for _ in coefficients.shape[2:])) * coefficients.max(axis=-1, initial=0.0)
        found: Reals = noise.noise_quantile(coefficients, level) + added
        return found

    squares, spread = own.ridged(noise.scale)
    inverse, fit = np.linalg.inv(squares), own.fitted(noise.scale)
    sizes, weights = np.abs(inverse), np.array(form) @ inverse
    at_squares = np.abs(own.at_squares)
    residual = own.at_crossed - np.einsum("nm,lmc->nlc", fit, own.at_squares)
    weighted = np.einsum("nl,lmc->nmc", weights, own.at_squares)  # of aE, at the noisy a
    each = noise.noise_quantile(own.at_squares, unknown) + most[:, None, None] * at_squares.max(axis=-1)
    moved = sizes @ each
    sound = spread & (np.abs(np.linalg.eigvals(moved)).max(axis=-1) < 1.0 - 1e-9)
    grown = np.linalg.inv(np.eye(size) - np.where(sound[:, None, None], moved, 0.0))
    alone = noise_bound(np.abs(residual))
    off = np.einsum("nlm,nm->nl", grown @ sizes, alone)
    drift = np.einsum("nm,nml->nl", noise_bound(np.abs(weighted)), grown @ sizes)
    coefficients = np.abs(np.einsum("nl,nlc->nc", weights, residual))
    coefficients += np.einsum("nl,nlc->nc", drift, np.abs(residual))
    coefficients += np.einsum("nm,nmc->nc", off, np.abs(weighted) + np.einsum("nl,lmc->nmc", drift, at_squares))
    second = np.einsum("nl,nl->n", drift, alone + np.einsum("nlm,nm->nl", each, off))
    slack = 2.0**-40 * (own.size * np.abs(weights).sum(axis=-1) * (1.0 + np.abs(fit).sum(axis=-1)))
    half = np.where(sound, noise_bound(coefficients, main) + second + slack, np.inf)
    middle = fit @ np.array(form)
    return middle - half, middle + half
