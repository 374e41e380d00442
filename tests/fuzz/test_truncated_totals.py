"""Truncated totals under attack: one unit of any type, with any rows, moves each total by its limit at most, and all of
them one way where it is added; no row makes the look fail.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depth import SLOW, examples
from discreet.testing.neighbors import pairs
from neighbor_bench import Bench
from total_claims import check_total

EXAMPLES = examples()


@pytest.mark.long
@settings(max_examples=EXAMPLES, suppress_health_check=SLOW)
@given(pair=pairs().filter(lambda pair: bool(pair.unit)), data=st.data())
def test_one_unit_moves_each_total_by_its_limit(bench: Bench, pair: Any, data: st.DataObject) -> None:
    facts: dict[str, Any] = {"unit": list(pair.unit)}
    if pair.replaced:
        facts |= {"neighbors": "replace-one", "units": 100}
    table = bench.protect(pair.first.to_arrow(), **facts)
    check_total(table, data, lambda: bench.put(pair.second.to_arrow()))
