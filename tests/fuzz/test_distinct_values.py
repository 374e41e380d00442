"""Distinct values under attack: one unit of any type, with any values, moves each count by its limit at most, and all
of them one way where it is added; no row makes the look fail.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depth import SLOW, examples
from discreet.privacy.definitions import ROW
from discreet.testing.neighbors import pairs
from neighbor_bench import Bench
from total_claims import check_distinct, check_unlisted

EXAMPLES = examples()


@pytest.mark.long
@pytest.mark.parametrize("check", [check_distinct, check_unlisted], ids=["alone", "as a column"])
@settings(max_examples=EXAMPLES, suppress_health_check=SLOW)
@given(pair=pairs(), data=st.data())
def test_one_unit_moves_each_count_by_its_limit(
    bench: Bench, check: Callable[..., None], pair: Any, data: st.DataObject
) -> None:
    facts: dict[str, Any] = {"unit": list(pair.unit) or ROW}
    if pair.replaced:
        facts |= {"neighbors": "replace-one", "units" if pair.unit else "rows": 100}
    table = bench.protect(pair.first.to_arrow(), **facts)
    check(table, data, lambda: bench.put(pair.second.to_arrow()))
