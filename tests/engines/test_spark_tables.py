"""What is compared of a Spark table's names and types; with a session in `conformance/test_spark_session.py`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from discreet.engines import spark_tables
from discreet.engines.spark_tables import Meaning, changed_table_refusal, unsettled

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
    assert unsettled(PROTECTED) == ""
    assert "['plan', 'Plan']" in unsettled(PROTECTED._replace(twice=("plan", "Plan")))


def sequence(*items: Any) -> Any:
    """A sequence of Scala's."""
    return SimpleNamespace(size=lambda: len(items), apply=lambda i: items[i])


def part(kind: str, *inner: Any, random: bool = False, of_plan: bool = False) -> Any:
    """A part of a plan of Java's, with its expressions, or an expression with those in it."""
    found = type(kind, (), {"getClass": lambda _: SimpleNamespace(getSimpleName=lambda: kind)})()
    setattr(found, "expressions" if of_plan else "children", lambda: sequence(*inner))
    found.deterministic = lambda: not random and all(one.deterministic() for one in inner)
    return found


def test_rows_that_are_drawn_are_refused() -> None:
    """Spark takes `first`, which depends on an order, and names of files for random, too."""
    drawn = PROTECTED._replace(is_drawn=True)
    for words in (unsettled(drawn), changed_table_refusal(drawn, PROTECTED)):
        assert words.startswith("Expected a table of the same rows each time that it is read, got")
    rand, name = part("Rand", random=True), part("InputFileName", random=True)
    assert spark_tables._draws(part("Project", part("Alias", part("Floor", rand)), of_plan=True))
    assert spark_tables._draws(part("Filter", part("Less", name, rand), of_plan=True))
    assert spark_tables._draws(part("Sample", of_plan=True))
    assert not spark_tables._draws(part("Project", part("Alias", name), part("Column"), of_plan=True))
    first = part("AggregateExpression", part("First", random=True))
    assert not spark_tables._draws(part("Aggregate", first, of_plan=True))
    assert spark_tables._draws(part("Aggregate", part("Alias", part("Add", first, rand)), of_plan=True))


def test_views_that_later_leave_rows_out_are_refused() -> None:
    """Only of a view that did when it was protected are the rows found first."""
    leaves_out = PROTECTED._replace(keeps_rows=False)
    assert changed_table_refusal(PROTECTED, leaves_out) == changed_table_refusal(leaves_out, leaves_out) == ""
    assert "Expected a view that leaves out no row, as protected" in changed_table_refusal(leaves_out, PROTECTED)
