"""Tuples that the curator marked: the order of their columns, and what they are refused for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.language.checked_expressions import Kind
from discreet.testing import people

ROWS = pa.table({"year": [2, 1], "plan": ["b", None]})
KINDS = {"plan": Kind.TEXT, "year": Kind.INTEGER}


@pytest.fixture(params=["frame", "file"])
def marked(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    pq.write_table(ROWS, tmp_path / "keys.parquet")
    return dp.public_keys(ROWS if request.param == "frame" else tmp_path / "keys.parquet")


def test_columns_come_in_the_order_of_the_groups(marked: Any) -> None:
    found = marked.of(KINDS)
    assert found.names == ("plan", "year")
    assert found.to_arrow().to_pydict() == {"plan": ["b", None], "year": [2, 1]}
    assert marked.of(dict(reversed(KINDS.items()))).to_arrow().to_pydict() == ROWS.to_pydict()


def test_counts_are_those_of_the_tuples(marked: Any) -> None:
    rows = pa.table({"plan": ["b", "b", None, "z"], "year": [2, 2, 1, 1]})
    table = dp.protect(rows, unit=dp.ROW, budget=dp.Budget(epsilon=10**6))
    for names in (("plan", "year"), ("year", "plan")):
        answer = table.group_by(*names, keys=marked).agg(n=lambda t: t.count()).release(epsilon=1000)
        assert answer["n"].tolist() == [2, 1]
        assert answer.to_pyarrow().column_names[:2] == list(names)


def test_it_says_what_it_has(marked: Any) -> None:
    assert repr(marked) == "<public keys: year, plan; 2 tuples>"
    assert marked.size == 2


def test_other_columns_and_kinds_are_refused(marked: Any) -> None:
    with pytest.raises(dp.InvalidQuery, match="public keys of the columns"):
        people().group_by("plan", keys=marked)
    with pytest.raises(dp.InvalidQuery, match="compare exactly"):
        marked.of({"plan": Kind.TEXT, "year": Kind.REAL})
    with pytest.raises(dp.InvalidQuery, match="of kind text"):
        marked.of({"plan": Kind.TEXT, "year": Kind.TEXT})


def test_a_path_is_no_mark(tmp_path: Path) -> None:
    """The file that published itself: the one that is protected, named by an analyst as its own keys."""
    place = tmp_path / "visits.parquet"
    pq.write_table(ROWS, place)
    table = dp.protect(place, unit=dp.ROW, budget=dp.Budget(epsilon=1))
    for named in (str(place), place, str(tmp_path / "none.parquet"), ROWS, ROWS.to_pandas()):
        with pytest.raises(dp.InvalidParameter, match=r"a dict of lists of keys, or public keys(?s:.*)dp.public_keys"):
            table.group_by("plan", "year", keys=named)
