"""The k best in OpenDP: permute-and-flip, k times in a row, with the smallest scale that its own map lets epsilon have.

``python top_k_opendp.py COUNTS.npy K DRAWS`` writes what was chosen and the seconds of each draw as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version

import numpy as np
import opendp.prelude as dp

EPSILON = 1.0


def main() -> None:
    """Draws, and writes."""
    path, k, draws = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    dp.enable_features("contrib")
    counts = np.load(path).tolist()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64", monotonic=True)
    chosen, seconds = [], []
    rule = dp.binary_search_chain(
        lambda scale: dp.m.make_noisy_top_k(*space, dp.max_divergence(), k=k, scale=scale), d_in=1, d_out=EPSILON
    )
    for _ in range(draws):
        start = time.perf_counter()
        chosen.append(rule(counts))
        seconds.append(time.perf_counter() - start)
    json.dump({"version": version("opendp"), "chosen": chosen, "seconds": seconds}, sys.stdout)


if __name__ == "__main__":
    main()
