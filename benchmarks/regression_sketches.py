"""Regression by iterative Hessian mixing beside sufficient statistics, on arrays: is the former worth having?

``python benchmarks/regression_sketches.py`` prints, for numbers of rows and of predictors and two epsilons, by how much
the mean squared residual of each way is above that of least squares, as a part of what y varies by: the median of some
runs. Rows have a norm of at most 1 and |y| <= 1; delta is 1/n². Two kinds of predictors: all of one spread, and spreads
that fall from 1 to 1/10.

- *Hessian mixing*: Lev, Shenfeld, Srinivasan, Ligett, Wilson, "Near-optimal private linear regression via iterative
  Hessian mixing" (arXiv 2601.07545), its steps written anew: half of epsilon for Gaussian sketches of X and its least
  eigenvalue, half for gradients; three steps; sketches of 6 max(d, log(12/rho)) rows.
- *AdaSSP*: Wang, "Revisiting differentially private linear regression" (UAI 2018), as it is compared with there: a
  third of epsilon and delta each for X'X, X'y and the least eigenvalue.
- *One Gaussian*: X'X and X'y with one Gaussian mechanism of all of epsilon and delta, as discreet prices the totals of
  a question; eigenvalues of X'X are held above the size of the noise.

Noise is of floats, since nothing is released here.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from discreet.theory import gaussian_sigma

Reals = NDArray[np.float64]
Solve = Callable[[Reals, Reals, float, float, np.random.Generator], Reals]
STEPS, WIDE = 3, 6
RUNS = 30


def sketch_noise(k: int, epsilon: float, delta: float) -> float:
    """The least gamma with which STEPS sketches and the least eigenvalue cost (epsilon, delta)."""
    part = delta / 2

    def cost(gamma: float) -> float:
        def renyi(order: float) -> float:
            loss = order * math.log1p(-1 / gamma) - math.log1p(-order / gamma)
            return (STEPS * k * loss / 2 - math.log(part) - math.log(order)) / (order - 1) + math.log1p(-1 / order)

        found = minimize_scalar(renyi, bounds=(1 + 1e-6, gamma * (1 - 1e-6)), method="bounded")
        return float(found.fun) + math.sqrt(2 * math.log(1.25 / part)) * math.sqrt(k) / gamma

    low, high = 2.0, 1e9
    for _step in range(100):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if cost(middle) <= epsilon else (middle, high)
    return high


def hessian_mixing(x: Reals, y: Reals, epsilon: float, delta: float, random: np.random.Generator) -> Reals:
    """The line after STEPS steps, each with a sketch of its own."""
    n, d = x.shape
    rare = delta / 10
    k = int(WIDE * max(d, math.log(4 * STEPS / rare)))
    gamma = sketch_noise(k, epsilon / 2, 3 * delta / 4)
    sigma = math.sqrt(STEPS) * float(gaussian_sigma(1, epsilon / 2, delta / 4))
    far, eigen = math.sqrt(2 * math.log(4 / rare)), float(np.linalg.eigvalsh(x.T @ x)[0])
    known = max(0.0, eigen - gamma / math.sqrt(k) * (far - random.standard_normal()))
    more, theta = math.sqrt(max(0.0, gamma - known)), np.zeros(d)
    for _step in range(STEPS):
        sketch = random.standard_normal((k, n)) @ x + more * random.standard_normal((k, d))
        gradient = x.T @ np.clip(y - x @ theta, -1, 1) + sigma * random.standard_normal(d)
        theta = theta + np.linalg.solve(sketch.T @ sketch / k, gradient)
    return theta


def symmetric(d: int, random: np.random.Generator) -> Reals:
    """A symmetric matrix of standard normal entries."""
    upper = np.triu(random.standard_normal((d, d)))
    return upper + np.triu(upper, 1).T


def adassp(x: Reals, y: Reals, epsilon: float, delta: float, random: np.random.Generator) -> Reals:
    """The line of noisy sufficient statistics with a ridge."""
    d = x.shape[1]
    sigma, square = float(gaussian_sigma(1, epsilon / 3, delta / 3)), x.T @ x
    rare, eigen = delta / 10, float(np.linalg.eigvalsh(square)[0])
    known = max(0.0, eigen + sigma * random.standard_normal() - sigma * math.sqrt(2 * math.log(6 / delta)))
    ridge = max(0.0, math.sqrt(d * math.log(2 * d * d / rare)) * sigma - known)
    noisy = square + sigma * symmetric(d, random) + ridge * np.eye(d)
    return np.asarray(np.linalg.solve(noisy, x.T @ y + sigma * random.standard_normal(d)), dtype=np.float64)


def one_gaussian(x: Reals, y: Reals, epsilon: float, delta: float, random: np.random.Generator) -> Reals:
    """The line of X'X and X'y, released together.

    In the Frobenius norm x x' has 1 at most, and x y has 1: together the root of 2. Off the diagonal each entry is
    there twice, so half of the variance does.
    """
    d = x.shape[1]
    sigma = float(gaussian_sigma(math.sqrt(2), epsilon, delta))
    raw = symmetric(d, random)
    noise = sigma * (raw / math.sqrt(2) + np.diag(np.diag(raw)) * (1 - 1 / math.sqrt(2)))
    values, vectors = np.linalg.eigh(x.T @ x + noise)
    held = np.maximum(values, sigma * math.sqrt(2 * d))
    projected: Reals = vectors.T @ (x.T @ y + sigma * random.standard_normal(d))
    solved: Reals = vectors @ (projected / held)
    return solved


WAYS: dict[str, Solve] = {"Hessian mixing": hessian_mixing, "AdaSSP": adassp, "one Gaussian": one_gaussian}


def data(n: int, d: int, last: float, random: np.random.Generator) -> tuple[Reals, Reals]:
    """Rows of a norm of at most 1, with spreads that fall to `last`, and y of a line and noise, |y| <= 1."""
    x = random.standard_normal((n, d)) * np.geomspace(1, last, d)
    x /= np.linalg.norm(x, axis=1).max()
    line = x @ (random.standard_normal(d) / np.geomspace(1, last, d))
    y = line / np.abs(line).max() + 0.1 * random.standard_normal(n)
    return x, np.clip(y, -1, 1)


def main() -> None:
    """Prints a line for each table and epsilon."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=RUNS)
    runs = parser.parse_args().runs
    print(f"{'rows':>8} {'predictors':>10} {'spreads':>8} {'epsilon':>8}", *(f"{name:>15}" for name in WAYS))
    for n, d, last in [(n, d, last) for n in (2_000, 20_000) for d in (2, 5, 10, 30) for last in (1.0, 0.1)]:
        random = np.random.default_rng(n + d)
        x, y = data(n, d, last, random)
        best = float(np.mean((y - x @ np.linalg.lstsq(x, y, rcond=None)[0]) ** 2))
        for epsilon in (0.5, 2.0):
            shown = []
            for way in WAYS.values():
                found = [way(x, y, epsilon, 1 / n**2, random) for _run in range(runs)]
                excess = [(float(np.mean((y - x @ theta) ** 2)) - best) / float(np.var(y)) for theta in found]
                shown.append(f"{np.median(excess):15.5f}")
            print(f"{n:8,} {d:10} {f'to {last:g}':>8} {epsilon:8}", *shown, flush=True)


if __name__ == "__main__":
    main()
