"""What is compared of a Spark table's names and types; with a session in `conformance/test_spark_session.py`."""

from __future__ import annotations

import pytest

from discreet.engines.spark_tables import Meaning, ambiguous, changed_table_refusal

PROTECTED = Meaning(("spark_catalog.default.visits",), {"person": "bigint", "plan": "string"})


def test_the_same_table_is_taken() -> None:
    assert changed_table_refusal(PROTECTED, PROTECTED) == ""
    assert changed_table_refusal(PROTECTED._replace(types={**PROTECTED.types, "more": "int"}), PROTECTED) == ""


@pytest.mark.parametrize("names", [("visits",), ("spark_catalog.other.visits",), ()])
def test_other_tables_are_refused(names: tuple[str, ...]) -> None:
    words = changed_table_refusal(PROTECTED._replace(names=names), PROTECTED)
    assert words.startswith("Expected the table that was protected, spark_catalog.default.visits, got found=")


@pytest.mark.parametrize("types", [{"person": "bigint"}, {"person": "bigint", "plan": "string collate UTF8_LCASE"}])
def test_other_types_are_refused(types: dict[str, str]) -> None:
    words = changed_table_refusal(PROTECTED._replace(types=types), PROTECTED)
    assert words.startswith("Expected a column 'plan' of type string, as protected, got type=")


def test_names_that_differ_by_case_alone_are_refused() -> None:
    assert ambiguous(PROTECTED) == ""
    assert "['plan', 'Plan']" in ambiguous(PROTECTED._replace(twice=("plan", "Plan")))
