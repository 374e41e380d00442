"""Documents under attack: valid ones, and ones with faults, are each a question or one clean refusal."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depth import examples
from random_documents import ended, mutated, tables, valid


@pytest.fixture(scope="module")
def corpus() -> tuple[dict[str, Any], list[Any]]:
    handed = tables()
    return handed, valid(handed)


@settings(max_examples=examples(2))
@given(seed=st.integers(0, 2**63))
def test_a_document_is_a_question_or_a_clean_refusal(corpus: tuple[dict[str, Any], list[Any]], seed: int) -> None:
    handed, documents = corpus
    chance = random.Random(seed)  # noqa: S311 (documents to try)
    for _i in range(20):
        ended(mutated(chance, documents), handed)
