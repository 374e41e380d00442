"""Tables of one size, whatever they come in: the same rows, in the same order."""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
import pytest

from discreet.planning.batches import of_size


@pytest.mark.parametrize("cuts", [[], [0], [4], [1, 2, 3], [9, 10], [5, 5, 5]], ids=str)
@pytest.mark.parametrize("rows", [1, 3, 5, 10, 11])
def test_rows_stay_and_sizes_are_even(cuts: list[int], rows: int) -> None:
    whole = pa.table({"n": range(10)})
    ends = [0, *cuts, 10]
    found = list(of_size((whole.slice(a, b - a) for a, b in pairwise(ends)), rows))
    assert [n for part in found for n in part["n"].to_pylist()] == list(range(10))
    assert {part.num_rows for part in found[:-1]} <= {rows}
    assert 0 < found[-1].num_rows <= rows


def test_no_rows_are_no_table() -> None:
    assert list(of_size([])) == []
    assert list(of_size([pa.table({"n": pa.array([], pa.int64())})])) == []
