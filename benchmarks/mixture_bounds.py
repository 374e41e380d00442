"""What no Gaussian mechanism is below for prefixes beside marginals: ``python benchmarks/mixture_bounds.py``.

For domains with two numeric attributes whose values together are few thousand, as CPS. The bound of
`workloads.product_bound` holds for all weights of the cells, and is tight at the best of them. There they are products,
so that the bound is found in seconds; here each pair of numeric values has a weight of its own, which is multiplied in
each step by how much the bound grows with it. A step takes the eigenvalues of up to four matrices of 5,000 rows, that
is minutes; a line for each step is printed, and each line is a bound.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from discreet.workloads import ProductQueries

CPS = (100, 50, 7, 4, 2)
NUMERIC = 2
UNIT = 0.5

Reals = NDArray[np.float64]
Block = tuple[int, list[tuple[float, tuple[int, ...]]]]
"""A dimension, and of the tables there the weight and which numeric attributes they ask along."""


def blocks_of(sizes: tuple[int, ...], ways: tuple[int, ...]) -> list[Block]:
    """The spaces that the attributes asked for their values alone fall into, and what is asked in each."""
    numeric, others = range(NUMERIC), range(NUMERIC, len(sizes))
    tables = [set(one) for k in ways for one in itertools.combinations(range(len(sizes)), k)]
    found = []
    for k in range(len(others) + 1):
        for apart in itertools.combinations(others, k):
            held: dict[tuple[int, ...], float] = {}
            for table in tables:
                if set(apart) <= table:
                    along = tuple(axis for axis in numeric if axis in table)
                    alike = math.prod(sizes[axis] for axis in others if axis not in table)
                    held[along] = held.get(along, 0.0) + alike
            if held:
                dimension = math.prod(sizes[axis] - 1 for axis in apart)
                found.append((dimension, [(weight, along) for along, weight in held.items()]))
    return found


def roots(sizes: tuple[int, ...], block: Block, weights: Reals) -> tuple[float, Reals]:
    """The sum of the roots of the eigenvalues of the weighted squares, and the diagonal of their root."""
    halves = np.sqrt(weights)
    own = []
    for weight, along in block[1]:
        factor: Reals = np.ones((1, 1))
        for axis in range(NUMERIC):
            size = sizes[axis]
            one = np.tril(np.ones((size, size))) if axis in along else np.ones((1, size))
            factor = np.asarray(np.kron(factor, one))
        own.append(math.sqrt(weight) * factor * halves)
    rows = np.concatenate(own)
    if len(rows) < len(weights):
        values, vectors = eigh(rows @ rows.T, driver="evd", overwrite_a=True)
        kept = values > values[-1] * 1e-13
        single = np.sqrt(values[kept])
        right = (vectors[:, kept] / single).T @ rows
    else:
        values, vectors = eigh(rows.T @ rows, driver="evd", overwrite_a=True)
        single, right = np.sqrt(np.maximum(values, 0.0)), vectors.T
    return float(single.sum()), np.einsum("i,ij,ij->j", single, right, right)


def bounds(title: str, sizes: tuple[int, ...], ways: tuple[int, ...], steps: int, seconds: float) -> None:
    """Prints a bound for each step, the first one Li and Miklau's, beside what the strategy has."""
    names = [f"a{i}" for i in range(len(sizes))]
    along = dict.fromkeys(names[:NUMERIC], "prefixes")
    best = ProductQueries(dict(zip(names, sizes, strict=True)), ways=ways, along=along).strategy()
    error = best.rmse(rho=UNIT)
    queries = sum(math.prod(sizes[axis] for axis in one) for k in ways for one in itertools.combinations(range(5), k))
    alike = math.prod(sizes[NUMERIC:])
    weights = np.ones(math.prod(sizes[:NUMERIC]))
    start = time.monotonic()
    for step in range(steps):
        total, diagonal = 0.0, np.zeros_like(weights)
        for block in blocks_of(sizes, ways):
            whole, own = roots(sizes, block, weights)
            total += block[0] * whole
            diagonal += block[0] * own
        bound = math.sqrt(total**2 / (float(weights.sum()) * alike) / queries)
        passed = time.monotonic() - start
        print(f"{title:32} {error:10.4f} {bound:10.4f} {error / bound:8.4f} {step:4} {passed:8.0f} s", flush=True)
        weights = diagonal * (len(weights) / diagonal.sum())
        if passed > seconds:
            break


def main() -> None:
    """CPS, one line for each step."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=300, help="no step begins after this, for each workload")
    asked = parser.parse_args()
    print(f"{'':32} {'rmse':>10} {'bound':>10} {'ratio':>8} {'step':>4}")
    for title, ways in (("1-way", (1,)), ("2-way", (2,)), ("up to 3-way", (0, 1, 2, 3)), ("3-way", (3,))):
        bounds(f"CPS, prefixes, {title}", CPS, ways, asked.steps, asked.seconds)


if __name__ == "__main__":
    main()
