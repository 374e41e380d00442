"""Weights are what fractions say, and the rows that are kept depend on nobody else."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import ibis
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.planning.contribution_bounding import RANK, attach, keep, weigh

CONNECTION = ibis.duckdb.connect()


def found(expression: Any) -> list[dict[str, Any]]:
    return list(CONNECTION.to_pyarrow(expression).to_pylist())


@given(
    amount=st.integers(-(2**40), 2**40), limit=st.integers(1, 2**12), number=st.integers(1, 2**20), signed=st.booleans()
)
def test_weights_are_rounded_toward_zero(amount: int, limit: int, number: int, *, signed: bool) -> None:
    amount = amount if signed else abs(amount)
    held = [ibis.literal(value, type="int64") for value in (amount, number)]
    weight = min(Fraction(1), Fraction(limit, number)) * amount
    expected = math.floor(weight) if weight >= 0 else math.ceil(weight)
    assert CONNECTION.to_pyarrow(weigh(held[0], limit, held[1], signed=signed)).as_py() == expected


def test_each_row_has_what_is_known_of_its_unit() -> None:
    rows = ibis.memtable(pa.table({"u": [1, 1, 2], "v": ["a", "b", "a"]}))
    with_counts = attach(rows, rows.group_by("u").agg(n=rows.count()), ["u"])
    assert sorted(tuple(row.values()) for row in found(with_counts)) == [(1, "a", 2), (1, "b", 2), (2, "a", 1)]


@pytest.mark.long
@pytest.mark.parametrize("limit", [1, 2, 5, 9])
def test_a_unit_keeps_its_first_rows_whoever_else_is_there(limit: int) -> None:
    own = [(unit, key) for unit in range(20) for key in [*"abcd", None]]

    def kept(rows: list[tuple[int, str | None]]) -> set[tuple[Any, ...]]:
        who, what = zip(*rows, strict=True)
        table = ibis.memtable(pa.table({"u": pa.array(who, pa.int64()), "k": pa.array(what, pa.string())}))
        return {tuple(row.values()) for row in found(keep(table, unit=["u"], key=["k"], limit=limit))}

    every = kept(own)
    assert Counter(unit for unit, *_ in every) == dict.fromkeys(range(20), min(limit, 5))
    assert all(rank < limit for *_, rank in every)
    for unit in range(20):
        assert kept([row for row in own[::-1] if row[0] == unit]) == {row for row in every if row[0] == unit}
    chosen = Counter(key for _, key, rank in every if not rank)
    assert len(chosen) > 2  # each unit has a turn of its own
    assert RANK in keep(ibis.table({"u": "int64"}, name="t"), unit=["u"], key=[], limit=1).columns
