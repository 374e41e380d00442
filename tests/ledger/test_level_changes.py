"""A change says who made it and why."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.errors import InvalidParameter
from discreet.ledger.level_changes import FREEZE, OPEN, LevelChange
from discreet.ledger.privacy_filter import Allowance


@pytest.mark.parametrize("text", ["", "  ", "a\nb", "a\0b", "\ud800", "x" * 1001, None, 7])
def test_who_and_why_are_texts(text: Any) -> None:
    for told in ({"by": text, "why": "w"}, {"by": "b", "why": text}):
        with pytest.raises(InvalidParameter, match="Hint: "):
            LevelChange(kind=FREEZE, level="a", **told)


def test_an_opening_needs_no_reason_and_has_an_allowance() -> None:
    assert LevelChange(kind=OPEN, level="a", allowance=Allowance.union(1)).by == ""
    for kind, allowance in ((OPEN, None), (FREEZE, Allowance.union(1))):
        with pytest.raises(InvalidParameter, match="an allowance"):
            LevelChange(kind=kind, level="a", allowance=allowance, by="b", why="w")
