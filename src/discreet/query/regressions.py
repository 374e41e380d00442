"""Lines through values of one column and several others, with error bars, from noisy products of Bernstein polynomials.

Claim
    A group has n rows, each with values u_1, ..., u_p and v in [0, 1]. Given are noisy sums of all products of the
    Bernstein polynomials of the u_i (degree 2) and of v, in rows, each with its own independent noise of one `law` and
    scale b (sigma), on the multiples of `step`, or continuous. Then the intervals hold the slopes of the least-squares
    line of v over the u_i together, or its height at a public place, with at least the stated probability, wherever
    there is one such line. Ends may be infinite.
Requires
    Components as released, neither rounded nor made non-negative; those of a row were rounded by at most `rounding` in
    all. The truth is that of the bounded, weighted rows.
Relies on
    `query.basis` for the coefficients; `noise.sums`: the quantile Q holds for all smaller |coefficients|.
Proof
    Let f = (1, u_1 - 1/2, ..., u_p - 1/2), S the sum of f f' and s that of f v over the rows, S* = S + E and s* = s + e
    the noisy ones, W = S*^-1, and B = S^-1 s the truth. Each entry of E and e is noise with known coefficients c, and
    what rounding added, at most `rounding` n max |c|; it stays within F and g, all of them at once but for a tenth of
    the miss probability; n, which rounding keeps, is among them. |.| and <= are by entries.
    *Bounds.* Let M = |W| F. If M has a spectral radius below 1, S = S* (I - WE) is invertible, and |S^-1| <= |W| +
    M |S^-1| gives |S^-1| <= K |W|, K = (I - M)^-1 >= 0, and |S^-1 - W| <= M K |W|. With b* = W s* and r = e - EB, S*
    (b* - B) = r; so d = |b* - B| <= |W| (g + F |B|) <= |W| (g + F |b*|) + M d, hence d <= K |W| (g + F |b*|).
    *First order.* b* - B = S^-1 r - W E S^-1 r. A linear form c of S^-1 r is noise with the coefficients of the sum of
    (c S^-1)_l (f_l v - sum_m B_m f_l f_m), which are those of the truth, fixed; they differ from those at W and b* by
    at most what the bounds allow. So it is within Q, but for 9/10 of the miss probability; and the rest is at most |cW|
    F K |W| (g + F (|b*| + d)).
    The largest |coefficient| of a sum bounds its rounding there as well.
    Where the spectral radius is not below 1, nothing is refused.
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
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.query.basis import Basis, Reals
from discreet.query.covariances import KNOWN, Interval, Known, shares
from discreet.query.pivot import Pivot

OUTCOME = -1
"""Stands for v among the places of f."""


@dataclass(frozen=True, slots=True)
class Line:
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
    def of(cls, parts: Reals, degrees: tuple[int, ...]) -> Line:
        """From components of shape (cells, components), the last column's degree running fastest: that of v."""
        basis, places = Basis(degrees), range(len(degrees))  # of the u_i in f

        def summed(*columns: int) -> Reals:
            powers = [columns.count(1 + k) for k in places[:-1]]
            ahead = [basis.single(k, power, 0.5) for k, power in enumerate(powers)]
            return basis.product(*ahead, basis.single(places[-1], columns.count(OUTCOME)))

        at_squares = np.array([[summed(i, j) for j in places] for i in places])
        at_crossed = np.array([summed(i, OUTCOME) for i in places])
        size = np.abs(parts).sum(axis=-1)
        return cls(
            np.einsum("nc,ijc->nij", parts, at_squares), np.einsum("nc,ic->ni", parts, at_crossed),
            at_squares, at_crossed, parts.sum(axis=-1) > KNOWN, size,
        )  # fmt: skip

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


def line(parts: Reals, degrees: tuple[int, ...], form: Sequence[float], *, scale: float) -> Reals:
    """A linear form of the line's height at u = 1/2 and its slopes.

    >>> u = np.array([0.0, 0.5, 1.0])
    >>> basis = Basis((2, 1))
    >>> own = np.stack([(1 - u) ** 2, 2 * u * (1 - u), u**2], axis=-1), np.stack([1 - u / 4, u / 4], axis=-1)
    >>> line(basis.product(*own).sum(axis=0)[None], (2, 1), (0.0, 1.0), scale=0.01)
    array([0.25])
    """
    found: Reals = Line.of(parts, degrees).fitted(scale) @ np.array(form)
    return found


def line_interval(
    parts: Reals, degrees: tuple[int, ...], form: Sequence[float], noise: Pivot, *, confidence: Any, rounding: float = 0
) -> Interval:
    """An interval that holds the form of the true line with at least this confidence."""
    own, c = Line.of(parts, degrees), np.array(form)
    size = len(c)
    main, unknown = shares(confidence, size * (size + 1) // 2 + size)  # the entries of E and e, all that differ
    most = rounding * np.maximum(own.squares[:, 0, 0] + noise.reach(own.at_squares[0, 0], unknown), 0.0)
    rounded = (most[:, None, None] * np.abs(at).max(axis=-1) for at in (own.at_squares, own.at_crossed[None]))
    most_squares = noise.reach(own.at_squares, unknown) + next(rounded)
    most_crossed = noise.reach(own.at_crossed, unknown) + next(rounded)[:, 0]
    squares, spread = own.ridged(noise.scale)
    inverse = np.linalg.inv(squares)
    sizes = np.abs(inverse)
    moved = sizes @ most_squares
    sound = spread & (np.abs(np.linalg.eigvals(moved)).max(axis=-1) < 1.0 - 1e-9)
    moved = np.where(sound[:, None, None], moved, 0.0)
    whole = np.linalg.inv(np.eye(size) - moved) @ sizes
    fit = own.fitted(noise.scale)
    off = np.einsum("nij,nj->ni", whole, most_crossed + np.einsum("nij,nj->ni", most_squares, np.abs(fit)))
    weights = np.einsum("i,nij->nj", c, inverse)
    drift = np.einsum("i,nij->nj", np.abs(c), moved @ whole)
    residual = own.at_crossed - np.einsum("nm,lmc->nlc", fit, own.at_squares)
    residual_off = np.einsum("nm,lmc->nlc", off, np.abs(own.at_squares))
    coefficients = np.abs(np.einsum("nl,nlc->nc", weights, residual))
    coefficients += np.einsum("nl,nlc->nc", np.abs(weights) + drift, residual_off)
    coefficients += np.einsum("nl,nlc->nc", drift, np.abs(residual))
    rest = np.einsum("nij,nj->ni", whole, most_crossed + np.einsum("nij,nj->ni", most_squares, np.abs(fit) + off))
    second = np.einsum("nl,nlm,nm->n", np.abs(weights), most_squares, rest)
    slack = 2.0**-40 * (own.size * np.abs(weights).sum(axis=-1) * (1.0 + np.abs(fit).sum(axis=-1)))
    slack += most * coefficients.max(axis=-1)
    half = np.where(sound, noise.reach(coefficients, main) + second + slack, np.inf)
    middle = fit @ c
    return middle - half, middle + half
