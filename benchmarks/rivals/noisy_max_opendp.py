"""The best by noisy scores in OpenDP, with the smallest scale that its own map lets epsilon have.

``python noisy_max_opendp.py SCORES.npy EPSILON DRAWS`` writes what was chosen and the seconds of each draw as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version

import numpy as np
import opendp.prelude as dp


def main() -> None:
    """Draws, and writes."""
    path, epsilon, draws = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    dp.enable_features("contrib")
    scores = np.load(path).tolist()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64", monotonic=True)
    rule = dp.binary_search_chain(
        lambda scale: dp.m.make_noisy_max(*space, dp.max_divergence(), scale=scale), d_in=1, d_out=epsilon
    )
    chosen, seconds = [], []
    for _ in range(draws):
        start = time.perf_counter()
        chosen.append(rule(scores))
        seconds.append(time.perf_counter() - start)
    json.dump({"version": version("opendp"), "chosen": chosen, "seconds": seconds}, sys.stdout)


if __name__ == "__main__":
    main()
