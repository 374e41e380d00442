"""The form of a declaration: unknown keys, other values and open questions are refused with file, line and cure."""

from __future__ import annotations

import pytest

from discreet.curator.declaration_form import DeclarationText
from discreet.curator.toml_lines import read_toml
from discreet.errors import InvalidParameter

GOOD = """\
[table]
source = "visits.parquet"
unit = ["site", "person"]
version = 2
[table.limits]
max_groups = 1
max_rows = "auto"
[columns.minutes]
bounds = [0, 240.5]
description = "length of a visit"
[columns.ward]
keys = ["north", "south"]
null = true
[budget]
epsilon = "1/3"
delta = 1e-6
ledger = "spent.db"
"""


def checked(text: str) -> DeclarationText:
    return DeclarationText.checked("visits.toml", read_toml(text, "visits.toml"))


def test_a_good_form_passes() -> None:
    text = checked(GOOD)
    assert text.get("columns", "minutes", "description") == "length of a visit"
    assert text.get("columns", "none", "bounds") is None
    assert text.get("table", "source", "deeper") is None
    assert list(text.columns) == ["minutes", "ward"]


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("[budget]", "[budgets]", 14, "did you mean 'budget'"),
        ("unit =", "units_ =", 3, "did you mean 'units'"),
        ("max_groups", "max_group", 6, "did you mean 'max_groups'"),
        ("bounds", "bound", 9, "did you mean 'bounds'"),
        ("null = true", "nul = true", 13, "did you mean 'null'"),
        ("epsilon", "epsilom", 15, "did you mean 'epsilon'"),
        ('"visits.parquet"', "3", 2, "Expected a text, got table.source=3"),
        ('["site", "person"]', "[]", 3, "Expected a column, a list"),
        ('["site", "person"]', "[1]", 3, "Expected a column, a list"),
        ("version = 2", "version = 2.5", 4, "a text or a whole number"),
        ("max_groups = 1", "max_groups = true", 6, "Expected a whole number"),
        ("max_groups = 1", 'max_groups = "some"', 6, '"auto"'),
        ("[0, 240.5]", "[0]", 9, "a low and a high end"),
        ("[0, 240.5]", "0", 9, "bounds = [0, 240]"),
        ('["north", "south"]', "[1.5]", 12, "a list of texts"),
        ('["north", "south"]', '"north"', 12, "a list of texts"),
        ("null = true", "null = 1", 13, "true or false"),
        ('"1/3"', "true", 15, "an exact amount"),
        ('"spent.db"', "1", 17, "Expected a text"),
        ("[columns.minutes]", "[[columns.minutes]]", 8, "a table of keys"),
    ],
)
def test_each_refusal_has_its_line(old: str, new: str, line: int, says: str) -> None:
    assert old in GOOD
    with pytest.raises(InvalidParameter) as refusal:
        checked(GOOD.replace(old, new, 1))
    text = str(refusal.value)
    assert f" in visits.toml, line {line}.\nHint: " in text
    assert says in text


@pytest.mark.parametrize("text", ["table = 3", "columns = []", "[columns]\nward = 3", "[table]\nlimits = 3"])
def test_what_should_be_a_table_is_one(text: str) -> None:
    with pytest.raises(InvalidParameter, match="Expected a table of keys"):
        checked(text)


def test_open_questions_are_refused_with_all_their_lines() -> None:
    draft = GOOD.replace("[0, 240.5]", '"?"').replace('"1/3"', '"?"').replace('["north", "south"]', '"?"')
    with pytest.raises(InvalidParameter) as refusal:
        checked(draft)
    text = str(refusal.value)
    assert text.startswith("Expected an answer, got columns.minutes.bounds='?' in visits.toml, line 9.")
    assert "So are lines 12, 15." in text
    with pytest.raises(InvalidParameter, match="line 6"):
        checked(GOOD.replace("max_groups = 1", 'max_groups = "?"'))


def test_a_question_mark_in_a_list_is_a_key() -> None:
    assert checked(GOOD.replace('"south"', '"?"')).get("columns", "ward", "keys") == ["north", "?"]


def test_a_missing_value_is_asked_for() -> None:
    with pytest.raises(
        InvalidParameter, match=r"Expected unit in \[table\], got table.unit=None in visits.toml, line 1"
    ):
        checked("[table]").needed("table", "unit", cure="say who.")
    assert checked(GOOD).needed("table", "version", cure="") == 2


def test_cures_are_written_as_toml() -> None:
    told = checked(GOOD).located(
        ("columns", "minutes"), InvalidParameter("Expected a, got b.\nHint: give bounds={'minutes': (0, 100)}.")
    )
    assert str(told) == "Expected a, got b in visits.toml, line 8.\nHint: give bounds = [0, 100]."
