"""Public tuples as a tree, in the order in which they were stated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import InvalidParameter, InvalidQuery
from discreet.hierarchies import place_keys
from discreet.hierarchies.place_keys import MarkedPlaces, Places
from discreet.language.checked_expressions import Kind
from hierarchy_fixtures import COUNTIES, KEYS, PATH, STATES, asked, protected

KINDS = {"state": Kind.TEXT, "county": Kind.INTEGER}


def places(keys: pa.Table = KEYS, path: Any = PATH, **more: Any) -> Places:
    return Places.of(path, dp.public_keys(keys), {**KINDS, **more}, None)


def test_a_county_is_one_of_its_state() -> None:
    """County 1 is in three states, and each is its own, also where one follows the other."""
    towns = pa.table({"state": ["a", "b"], "county": [1, 1], "town": [1, 1]})
    assert places(towns, [*PATH, "town"], town=Kind.INTEGER).tree.sizes == (1, 2, 2, 2)
    found = places()
    assert found.tree.sizes == (1, 3, 6)
    assert [own.tolist() for own in found.tree.children] == [[3], [2, 3, 1]]
    assert found.named(1).to_pylist() == [{"state": "b"}, {"state": "a"}, {"state": "c"}]
    assert found.named(2).to_pylist() == [
        {"state": s, "county": c} for s, c in zip(STATES, COUNTIES, strict=True)
    ]  # fmt: skip


def test_children_are_brought_together() -> None:
    """In the order in which their parents come first, and then in their own."""
    order = [0, 2, 5, 1, 4, 3]
    found = places(KEYS.take(pa.array(order)))
    assert found.path.to_pydict() == {"state": ["b", "b", "a", "a", "a", "c"], "county": [1, 2, 1, 4, 3, 1]}
    assert [own.tolist() for own in found.tree.children] == [[3], [2, 3, 1]]


@pytest.mark.parametrize("seed", range(5))
def test_each_level_has_the_beginnings_of_the_tuples(seed: int) -> None:
    random = np.random.default_rng(seed)
    rows = {tuple(row) for row in random.integers(0, 4, (40, 3)).tolist()}
    listed = pa.table(dict(zip("xyz", zip(*rows, strict=True), strict=True)))
    found = Places.of(list("xyz"), dp.public_keys(listed), dict.fromkeys("xyz", Kind.INTEGER), None)
    for level in (1, 2, 3):
        own = [tuple(row.values()) for row in found.named(level).to_pylist()]
        assert len(set(own)) == len(own) == found.tree.sizes[level]
        assert set(own) == {row[:level] for row in rows}
    for level, children in enumerate(found.tree.children[1:], 1):
        above = [tuple(row.values()) for row in found.named(level).to_pylist()]
        below = [tuple(row.values())[:level] for row in found.named(level + 1).to_pylist()]
        assert [row for row, own in zip(above, children, strict=True) for _ in range(own)] == below


def test_null_is_a_place() -> None:
    found = places(pa.table({"state": ["a", None, None], "county": pa.array([None, 1, None], pa.int64())}))
    assert found.tree.sizes == (1, 2, 3)
    assert found.groups().rows == (("a", None), (None, 1), (None, None))


def test_groups_are_places_with_every_cell() -> None:
    question = asked(protected(), cells={"female": [True, False]})
    groups = question._places.groups(1, 3)
    assert groups.rows == (("b", 2, True), ("b", 2, False), ("a", 1, True), ("a", 1, False))
    assert groups.size == 4
    assert groups.numbered().column_names == [*PATH, "female", "__discreet_position"]
    assert [part.num_rows for part in groups.batches()] == [4]
    assert question._places.groups().facts != question._places.groups(0, 5).facts


def test_the_digest_is_that_of_the_tuples() -> None:
    assert places().digest == places().digest
    assert places().digest != places(KEYS.slice(0, 5)).digest


def test_other_columns_are_refused() -> None:
    marked = MarkedPlaces(("state", "county"), _groups=places().groups())
    with pytest.raises(InvalidParameter, match="columns of the places"):
        marked.of({"county": Kind.INTEGER, "state": Kind.TEXT})


def test_too_many_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place_keys, "MOST_PLACES", 5)
    with pytest.raises(InvalidQuery, match="at most 5 places"):
        asked(protected())
    monkeypatch.setattr(place_keys, "MOST_PLACES", 6)
    monkeypatch.setattr(place_keys, "MOST_CELLS", 1)
    with pytest.raises(InvalidQuery, match="at most 1 cells"):
        asked(protected(), cells={"female": [True, False]})
