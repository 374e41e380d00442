"""All versions of a source are about the same units, and the ledger has one entry for each."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

import discreet as dp
from discreet.ledger.declared_sources import DeclaredSource, DeclaredSources, sources_of
from discreet.privacy.declaration import Declaration
from discreet.privacy.definitions import Neighbors


def source(**facts: Any) -> DeclaredSource:
    stated: dict[str, Any] = {"name": "visits", "version": "1", "unit": ("person",), "neighbors": "add-remove"}
    return DeclaredSource(**(stated | facts))


ONE = DeclaredSources().with_(source())


def test_versions_and_names_are_entries_of_their_own() -> None:
    both = ONE.with_(source(version="2")).with_(source(name="other", unit=("household",)))
    assert [(one.name, one.version) for one in both] == [("visits", "1"), ("visits", "2"), ("other", "1")]
    assert len(both) == 3
    assert source(version="2") in both
    assert source(version="2") not in ONE
    assert both.with_(source()) is both


@pytest.mark.parametrize("facts", [{"unit": ("household",)}, {"unit": ()}, {"unit": ("person", "year")}])
@pytest.mark.parametrize("version", ["1", "2"])
def test_all_versions_have_one_unit(facts: dict[str, Any], version: str) -> None:
    with pytest.raises(dp.InvalidParameter, match="the unit that was declared for every version of 'visits'"):
        ONE.with_(source(version=version, **facts))


def test_each_of_some_columns_is_no_unit_of_all_of_them() -> None:
    pair, each = source(unit=("a", "b")), source(unit=("a", "b"), each_of=True)
    for first, second in ((pair, each), (each, pair)):
        with pytest.raises(dp.InvalidParameter, match="the unit that was declared for every version"):
            DeclaredSources().with_(first).with_(replace(second, version="2"))
    assert DeclaredSources().with_(each).with_(replace(each, version="2"))


VIA = ((("order", "id"),), (("customer", "id"),))


@pytest.mark.parametrize(("first", "second"), [((), VIA), (VIA, ()), (VIA, VIA[:1]), (VIA, ((("supplier", "id"),),))])
@pytest.mark.parametrize("version", ["1", "2"])
def test_all_versions_have_one_path(first: Any, second: Any, version: str) -> None:
    """A unit of that name which other columns lead to may be a supplier in place of a customer."""
    known = DeclaredSources().with_(source(via=first))
    with pytest.raises(dp.InvalidParameter, match="the via that was declared for every version of 'visits'"):
        known.with_(source(version=version, via=second))
    assert len(known.with_(source(version="2", via=first))) == 2


def test_all_versions_have_one_relation_of_neighbors() -> None:
    with pytest.raises(dp.InvalidParameter, match="the neighbors that was declared"):
        ONE.with_(source(version="2", neighbors="replace-one", size=5))


def test_a_public_size_is_that_of_its_version() -> None:
    sized = DeclaredSources().with_(source(neighbors="replace-one", size=5))
    assert len(sized.with_(source(version="2", neighbors="replace-one", size=6))) == 2
    with pytest.raises(dp.InvalidParameter, match="declare a new version"):
        sized.check(source(neighbors="replace-one", size=6))


@pytest.mark.parametrize(
    "one",
    [
        source(),
        source(unit=()),
        source(via=VIA),
        source(unit=("a", "b"), each_of=True),
        source(unit=("a", "ü\n"), neighbors="replace-one", size=7),
    ],
    ids=repr,
)
def test_a_source_survives_its_text(one: DeclaredSource) -> None:
    assert DeclaredSource.from_json(one.name, one.version, one.to_json()) == one


@pytest.mark.parametrize("text", ["", "{}", "[]", json.dumps({"unit": [], "neighbors": "add-remove"})])
def test_other_texts_are_no_source(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        DeclaredSource.from_json("visits", "1", text)


def test_tables_in_one_plan_are_sources_each() -> None:
    parts = tuple(Declaration(name=name, version="3", unit=("person",)) for name in ("a", "b"))
    whole = Declaration(name="a, b", version="0123", unit=("person",), parts=parts)
    assert [one.name for one in sources_of(whole)] == ["a", "b"]
    assert sources_of(parts[0]) == (source(name="a", version="3", neighbors=Neighbors.ADD_REMOVE.value),)
