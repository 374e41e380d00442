"""Parts of a path one after the other: the same answers as all at once, and noisy totals that come back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.errors import InvalidQuery
from discreet.hierarchies import level_stream
from discreet.hierarchies.level_stream import bounds_of, cut_of, keep, kept
from discreet.mechanisms.laplace import Laplace
from discreet.query.table import PrivateTable
from hierarchy_fixtures import KEYS, PATH, asked, protected

Made = Callable[..., PrivateTable]
VISITS = [2, 0, 8, 5]
DEEP = pa.table(
    {
        **{name: [one for one in KEYS[name].to_pylist() for _ in range(8)] for name in KEYS.column_names},
        "female": [female for _ in range(6) for female in (True, False) for _ in range(4)],
        "visits": VISITS * 12,
    }
)
"""Five levels: the total, states, counties, women and men, and their numbers of visits."""


@pytest.fixture(autouse=True)
def _no_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """What looks like noise and is a function of the total, so that no order of draws matters."""
    monkeypatch.setattr(Laplace, "add_noise", lambda _, totals, __: totals + totals * 7919 % 23 - 11)


@pytest.mark.long
@pytest.mark.parametrize("integers", [False, True])
@pytest.mark.parametrize("values", [1, 3, 5, 16, 30, 100])
@pytest.mark.parametrize("shares", [None, [1, 0, 1], [0, 1, 1]])
def test_parts_give_what_all_at_once_gives(
    country: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shares: Any, values: int, *, integers: bool
) -> None:
    monkeypatch.setattr(level_stream, "VALUES", values)
    stated = {"epsilon": 1, "shares": shares, "integers": integers}
    whole = asked(protected(), cells={"female": [True, False]}).release(**stated)
    files = asked(country(), cells={"female": [True, False]}).release(**stated, to=tmp_path / "counts")
    for name in whole:
        one, other = whole[name], pq.read_table(files[name])
        assert one.schema.equals(other.schema)
        for column in one.column_names:
            a, b = one[column].to_numpy(), other[column].to_numpy()
            assert np.array_equal(a, b) if a.dtype.kind != "f" else np.allclose(a, b, rtol=1e-12, atol=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("values", [1, 4, 9, 20])
def test_parts_of_deeper_paths(country: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: int) -> None:
    """Two columns of totals on five levels, in parts below each of them."""
    monkeypatch.setattr(level_stream, "VALUES", values)
    found: list[Any] = []
    for table, to in ((protected(), None), (country(), tmp_path / "counts")):
        groups = table.hierarchy([*PATH, "female", "visits"], keys=dp.public_keys(DEEP))
        question = groups.agg(n=lambda t: t.count(), v=lambda t: t.visits.sum())
        found.append(question.release(epsilon=1, weights=[1, 2, 1, 1, 1], to=to))
    whole, files = found
    for name in whole:
        assert pq.read_table(files[name])["v"].to_numpy() == pytest.approx(whole[name]["v"].to_numpy(), abs=1e-6)
        assert pq.read_table(files[name])["n_low"].to_numpy() == pytest.approx(whole[name]["n_low"].to_numpy())


def test_parts_are_as_large_as_they_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    places = asked(protected())._places
    for values, cut, bounds in (
        (100, 0, [(0, 1)]),
        (5, 1, [(0, 2), (2, 3)]),
        (3, 1, [(0, 1), (1, 2), (2, 3)]),
        (1, 1, [(0, 1), (1, 2), (2, 3)]),
    ):
        monkeypatch.setattr(level_stream, "VALUES", values)
        assert cut_of(places) == cut
        assert bounds_of(places, cut) == bounds


def test_parts_that_no_memory_holds_are_refused(country: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(level_stream, "VALUES", 1)
    monkeypatch.setattr(level_stream, "MOST_VALUES", 2)
    table = country()
    with pytest.raises(InvalidQuery, match="at most 2 values below one node"):
        asked(table).release(epsilon=1, to=tmp_path / "counts")
    assert table.budget.spent.epsilon == 0


@pytest.mark.parametrize("values", [[0, 1], [-128, 127], [-70_000, 5], [2**62, -(2**62)], [0, 2**32]])
def test_noisy_totals_come_back_as_they_were(tmp_path: Path, values: list[int]) -> None:
    plan = asked(protected())._plan((1, 0, None), None, ([1, 0, 1], None), integers=False, confidence=0.95)
    level = np.array([values, values[::-1], values], dtype=np.int64)
    keep(tmp_path, 7, [[level[:1], None, level]])
    [[first, none, last]] = kept(tmp_path, 7, plan, 0)
    assert none is None
    assert first is not None
    assert last is not None
    assert np.array_equal(first, level[:1])
    assert np.array_equal(last, level)
    assert list(tmp_path.iterdir()) == []


def test_totals_beyond_64_bits_are_kept_as_reals(tmp_path: Path) -> None:
    plan = asked(protected())._plan((1, 0, None), None, ([0, 0, 1], None), integers=False, confidence=0.95)
    keep(tmp_path, 0, [[None, None, np.array([[2**80], [-5]], dtype=object)]])
    [[*_, last]] = kept(tmp_path, 0, plan, 0)
    assert last is not None
    assert last.tolist() == [[2.0**80], [-5.0]]
