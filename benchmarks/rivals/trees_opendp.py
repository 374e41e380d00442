"""The error of OpenDP's tree on ordered cells, measured: ``python benchmarks/rivals/trees_opendp.py``.

Needs `opendp` and NumPy, in an environment of their own. At epsilon 1: a tree of counts with Laplace noise, made
consistent by OpenDP's own postprocessor; the root of the mean squared error of all ranges, or prefixes, of empty cells,
over 400 releases. Beside `benchmarks/workloads.py`, whose `tree` is the same strategy by its formula.
"""

from __future__ import annotations

import math
from importlib.metadata import version

import numpy as np
import opendp.prelude as dp

dp.enable_features("contrib")
RUNS = 400
BRANCHES = (2, 4, 8, 12, 16)


def squares(cells: int, branches: int) -> tuple[list[float], list[float]]:
    """The mean squared errors of ranges, and of prefixes, of each release."""
    space = (dp.vector_domain(dp.atom_domain(T=int), size=cells), dp.l1_distance(T=int))
    tree = dp.t.make_b_ary_tree(*space, leaf_count=cells, branching_factor=branches)
    release = tree >> dp.m.then_laplace(scale=float(tree.map(1)))
    consistent = dp.t.make_consistent_b_ary_tree(branching_factor=branches)
    ranges, prefixes = [], []
    for _ in range(RUNS):
        leaves = np.array(consistent(release([0] * cells)), dtype=float)[:cells]
        sums = np.concatenate([[0.0], np.cumsum(leaves)])
        pairs = (cells + 1) * cells / 2
        ranges.append(((cells + 1) * (sums**2).sum() - sums.sum() ** 2) / pairs)
        prefixes.append(float((sums[1:] ** 2).mean()))
    return ranges, prefixes


def main() -> None:
    """One line for each kind of query, number of cells and branching."""
    print(f"OpenDP {version('opendp')}, {RUNS} releases at epsilon 1")
    for cells in (128, 256):
        for branches in BRANCHES:
            for kind, found in zip(("ranges", "prefixes"), squares(cells, branches), strict=True):
                error = math.sqrt(np.mean(found))
                spread = np.std(found) / math.sqrt(RUNS) / (2 * error)
                print(f"{kind:9} of {cells} cells, {branches:2} branches: {error:7.3f} +- {spread:.3f}", flush=True)


if __name__ == "__main__":
    main()
