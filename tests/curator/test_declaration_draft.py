"""The text of a draft: TOML whose every question is refused by name, whatever the columns are called."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discreet.curator.declaration_draft import DraftColumn, draft, quoted
from discreet.curator.declaration_form import UNANSWERED, DeclarationText
from discreet.curator.toml_lines import read_toml
from discreet.errors import InvalidParameter
from discreet.language.checked_expressions import Kind

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
COLUMNS = st.lists(
    st.builds(DraftColumn, name=TEXT, type=TEXT, kind=st.sampled_from([*Kind, None])),
    max_size=4,
    unique_by=lambda column: column.name,
)


@given(text=TEXT)
def test_texts_are_quoted(text: str) -> None:
    assert tomllib.loads(f"a = {quoted(text)}")["a"] == text
    assert quoted(text).isprintable()


@given(source=TEXT, columns=COLUMNS, unread=st.dictionaries(TEXT, TEXT, max_size=2))
@example(source=UNANSWERED, columns=[], unread={})
@example(source="{columns}", columns=[DraftColumn(name="{source}", type="\n", kind=None)], unread={})
def test_every_draft_is_toml_and_every_question_is_open(
    source: str, columns: list[DraftColumn], unread: dict[str, str]
) -> None:
    text = draft(source, columns, unread)
    document = read_toml(text, "draft.toml")
    assert document.values["table"]["source"] == source
    assert list(document.values.get("columns", {})) == [column.name for column in columns]
    for column in columns:
        answered = column.kind is Kind.BOOLEAN
        values = list(document.values["columns"][column.name].values())
        assert values == ([[True, False]] if answered else [UNANSWERED])
    first = "source" if source == UNANSWERED else "unit"  # a file may be named like a question
    said = rf"Expected an answer, got table.{first}='\?' in draft.toml, line \d+\."
    with pytest.raises(InvalidParameter, match=said):
        DeclarationText.checked("draft.toml", document)


def test_the_lines_of_a_draft_fit_on_a_page() -> None:
    columns = [DraftColumn(name=f"column_{i}", type="int64", kind=kind) for i, kind in enumerate([*Kind] * 5)]
    assert max(map(len, draft("visits.parquet", columns, {"tags": "array<string>"}).splitlines())) <= 120
