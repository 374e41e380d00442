"""What everybody may know of a table is what was declared of it, and nothing of its rows."""

from __future__ import annotations

import json

import pyarrow as pa

import discreet as dp
from discreet.query.public_facts import public_facts


def table(rows: list[int | None], **stated: object) -> dp.PrivateTable:
    data = pa.table({"person": rows, "visits": rows})
    return dp.protect(data, unit="person", budget=dp.Budget(epsilon=1), name="visits", **stated)  # type: ignore[arg-type]  # facts of tests


def test_the_facts_are_json_and_say_nothing_of_the_rows() -> None:
    stated = {"bounds": {"visits": "auto"}, "max_rows": "auto"}
    one, other = public_facts(table([1, 2], **stated)), public_facts(table([7], **stated))
    assert one == other == json.loads(json.dumps(one))
    assert one["limits"] == {"max_groups": None, "max_rows": "auto"}
    assert [column["bounds"] for column in one["columns"]] == [None, "auto"]
    assert [column["unit"] for column in one["columns"]] == [True, False]


def test_keys_are_plain_values() -> None:
    facts = public_facts(table([1], keys={"visits": [1, 2, None]}, bounds={"visits": (0, 2.5)}))
    assert facts["columns"][1]["keys"] == [1, 2, None]
    assert facts["columns"][1]["bounds"] == ["0", "2"]
