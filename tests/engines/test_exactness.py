"""The documents say of each engine what the conformance suite tries there."""

from __future__ import annotations

from conformance_corpus import OPERATIONS
from discreet.language.allow_list import RULES
from engine_table import PAGE, filled


def test_the_table_is_that_of_the_suite() -> None:
    """``python scripts/engine_table.py`` writes it anew."""
    page = PAGE.read_text(encoding="utf-8")
    assert filled(page) == page


def test_every_operation_is_in_it() -> None:
    assert {kind.__name__ for kind in RULES} == set(OPERATIONS)
