"""A declaration that a service states is taken where a curator could have stated it, and refused otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet.client.remote_declaration import declared
from discreet.client.service_bodies import ServiceRefused
from service_fixtures import data_set


def test_a_declaration_comes_as_it_was_stated(tmp_path: Path) -> None:
    made = data_set("people", tmp_path)
    found, schema = declared(made.facts())
    assert (found.unit, found.bounds, found.keys) == (
        made.declaration.unit, made.declaration.bounds, made.declaration.keys,
    )  # fmt: skip
    assert list(schema) == [column["name"] for column in made.facts()["columns"]]


@pytest.mark.parametrize(
    "changed",
    [
        {"unit": ["nobody"]},
        {"unit": [3]},
        {"neighbors": "add-replace"},
        {"size": 5},
        {"limits": {"max_groups": 0, "max_rows": 5}},
        {"limits": {"max_groups": True, "max_rows": 5}},
        {"limits": {}},
        {"columns": []},
        {"columns": [{"name": "person", "type": "int64", "bounds": ["1e99999999", "2"], "keys": None}]},
        {"via": [{"a": 1}]},
        {"version": 3},
    ],
    ids=str,
)
def test_what_no_curator_could_state_is_refused(changed: dict[str, Any], tmp_path: Path) -> None:
    facts = data_set("people", tmp_path).facts() | changed
    with pytest.raises(ServiceRefused, match="the declaration of a data set"):
        declared(facts)
