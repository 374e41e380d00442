"""The committed schema: that of the code, and one that all documents have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it has no types
import pytest

from question_schema import document_schema
from random_documents import ASKED, tables

COMMITTED = Path(__file__).parents[2] / "docs" / "question-1.schema.json"
VALIDATOR = jsonschema.Draft202012Validator(json.loads(COMMITTED.read_text(encoding="utf-8")))


def test_the_committed_schema_is_that_of_the_code() -> None:
    """``scripts/question_schema.py`` writes it."""
    assert json.loads(COMMITTED.read_text(encoding="utf-8")) == document_schema()
    jsonschema.Draft202012Validator.check_schema(document_schema())


@pytest.mark.long
@pytest.mark.parametrize("ask", ASKED)
def test_documents_have_the_committed_form(ask: Any) -> None:
    assert [error.message for error in VALIDATOR.iter_errors(ask(tables()).document())] == []


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"version": 2, "question": {"from": {"table": "people"}, "aggregates": [["n", {"count_star": []}]]}},
        {"version": 1, "question": {"from": {"table": "people"}, "aggregates": [["n", {"system": ["ls"]}]]}},
        {"version": 1, "question": {"from": {"path": "people.csv"}, "aggregates": [["n", {"count_star": []}]]}},
        {"version": 1, "question": {"from": {"table": "people"}, "aggregates": [["n"]]}},
        {"version": 1, "question": {"from": {"table": "people"}, "aggregates": [["n", {"count_star": []}]], "seed": 1}},
    ],
)
def test_what_has_another_form_is_found(wrong: Any) -> None:
    assert not VALIDATOR.is_valid(wrong)
