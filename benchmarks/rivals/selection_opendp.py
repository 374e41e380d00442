"""The best, or the k best, by noisy scores in OpenDP, with the smallest scale that its own map lets epsilon have.

``python selection_opendp.py SCORES.npy EPSILON DRAWS [K]`` writes what was chosen and the seconds of each draw as JSON.
Without a K it draws a place by ``make_noisy_max``; with one, lists of K places by ``make_noisy_top_k``, which is
permute-and-flip K times in a row.
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
    path, epsilon, draws, k = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), [int(part) for part in sys.argv[4:]]
    dp.enable_features("contrib")
    scores = np.load(path).tolist()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64", monotonic=True), dp.max_divergence()

    def at(scale: float) -> dp.Measurement:
        return dp.m.make_noisy_top_k(*space, k=k[0], scale=scale) if k else dp.m.make_noisy_max(*space, scale=scale)

    rule = dp.binary_search_chain(at, d_in=1, d_out=epsilon)
    chosen, seconds = [], []
    for _ in range(draws):
        start = time.perf_counter()
        chosen.append(rule(scores))
        seconds.append(time.perf_counter() - start)
    json.dump({"version": version("opendp"), "chosen": chosen, "seconds": seconds}, sys.stdout)


if __name__ == "__main__":
    main()
