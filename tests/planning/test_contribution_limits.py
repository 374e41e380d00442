"""Limits that are given with a group_by, declared with a table, or chosen."""

from __future__ import annotations

import pytest

from discreet.errors import InvalidParameter
from discreet.planning.contribution_limits import capped_limits, checked_limit, stated_limits
from discreet.planning.plan import StatedLimits
from discreet.privacy.declaration import Declaration

UNIT = Declaration(name="d", unit=("person",), max_groups=2, max_rows=1, auto_limits=frozenset({"max_rows"}))


def test_what_is_given_comes_before_what_was_declared() -> None:
    declared = stated_limits(UNIT, max_groups=None, max_rows=None)
    assert declared == StatedLimits(max_groups=2, max_rows=1, auto=frozenset({"max_rows"}))
    assert stated_limits(UNIT, max_groups=None, max_rows=7) == StatedLimits(max_groups=2, max_rows=7)
    found = stated_limits(UNIT, max_groups="auto", max_rows=None)
    assert found == StatedLimits(max_groups=1, max_rows=1, auto=frozenset({"max_groups", "max_rows"}))


def test_rows_have_no_limits() -> None:
    with pytest.raises(InvalidParameter, match="unit of its own"):
        stated_limits(Declaration(name="d"), max_groups="auto", max_rows=None)


def test_nobody_has_more_rows_than_there_can_be() -> None:
    stated = StatedLimits(max_groups=5, max_rows=1, auto=frozenset({"max_rows"}))
    assert capped_limits(stated, None) == stated
    assert capped_limits(stated, 2) == StatedLimits(max_groups=2, max_rows=2)
    assert capped_limits(StatedLimits(), 1) == StatedLimits(max_groups=1, max_rows=1)


def test_whole_numbers() -> None:
    assert checked_limit("max_rows", 5) == 5
    for wrong in (0, True, 1.5, 2**60):
        with pytest.raises(InvalidParameter, match="max_rows"):
            checked_limit("max_rows", wrong)
