"""docs/glossary.md: words that it rules out are not used, and those of the code are explained."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from discreet.planning.aggregates import STATISTICS
from discreet.planning.forms import PAIR, TRIPLE

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
OUR_WORDS = GLOSSARY.read_text(encoding="utf-8").split("## Every standard name\n")[0]
LINES = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in OUR_WORDS.splitlines()
    if line.startswith("| ") and not line.startswith("| word ")
]
NOT_USED = [word.strip() for *_, words in LINES for word in words.split(",") if word.strip()]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]


def uses(word: str, text: str) -> list[str]:
    return re.findall(rf"\b{re.escape(word)}s?\b", text, re.IGNORECASE)


def test_each_word_is_explained_once() -> None:
    words = [word.strip() for line in LINES for word in line[0].split(",")]
    assert len(words) == len(set(words)) > 40
    assert all(line[1] for line in LINES)


def test_the_words_of_a_plan_are_explained() -> None:
    explained = " ".join(" ".join(line[:2]) for line in LINES)
    for word in (*(one.name for one in STATISTICS), PAIR.name, TRIPLE.name):
        assert uses(word, explained), word


@pytest.mark.long
@pytest.mark.parametrize("word", NOT_USED)
def test_words_that_are_ruled_out_are_not_used(word: str) -> None:
    where = [
        str(page.relative_to(ROOT))
        for page in PAGES
        if page != GLOSSARY and uses(word, page.read_text(encoding="utf-8"))
    ]
    assert where == []


def test_a_word_that_is_ruled_out_would_be_seen() -> None:
    assert uses("data set", "two data sets")
    assert not uses("adjacent tables", "adjacent numbers")
