"""Records as codes: wild ones count as the nearest; see also tests/workloads/test_marginal_release.py."""

from __future__ import annotations

import numpy as np

from discreet.workloads.records import clipped_codes


def test_wild_codes_of_every_type_are_those_of_the_ends() -> None:
    for kind, wild in ((np.int8, -128), (np.int64, 2**63 - 1), (np.uint64, 2**64 - 1)):
        found = clipped_codes(np.array([[wild, 1]], dtype=kind), (3, 2)).tolist()
        assert found == [[0 if wild < 0 else 2, 1]]
