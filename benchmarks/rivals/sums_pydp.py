"""Sums in PyDP without stated bounds: its ``BoundedSum`` finds some by Google's ``ApproxBounds``, for half of epsilon.

``python sums_pydp.py SIZES.npy EPSILON DRAWS`` writes the sums as JSON, null where no bounds were found.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version

import numpy as np
from pydp.algorithms.laplacian import BoundedSum


def main() -> None:
    """Draws, and writes."""
    path, epsilon, draws = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    sizes = np.load(path).tolist()
    found: list[float | None] = []
    for _ in range(draws):
        try:
            found.append(BoundedSum(epsilon=epsilon, dtype="float").quick_result(sizes))
        except Exception:  # noqa: BLE001 (it raises what pybind11 makes of a status)
            found.append(None)
    json.dump({"version": version("python-dp"), "sums": found}, sys.stdout)


if __name__ == "__main__":
    main()
