"""Small values of what may be left open."""

from __future__ import annotations

from datetime import date

import pytest

from discreet.errors import InvalidQuery
from discreet.language.checked_expressions import Kind
from discreet.planning.plan import StatedLimits
from discreet.planning.unspecified import UnknownKeys, auto_columns, is_auto, limits_of_unknown
from discreet.privacy.declaration import Declaration

COLUMNS = UnknownKeys(("page", "hot"), (Kind.TEXT, Kind.BOOLEAN))


def test_keys_are_ordered_by_themselves() -> None:
    found = COLUMNS.found([("é", True), ("b", True), ("Z", False), ("b", False), ("\U0001f600", False)])
    assert found.rows == (("Z", False), ("b", False), ("b", True), ("é", True), ("\U0001f600", False))
    days = UnknownKeys(("day",), (Kind.DATE,)).found([(date(2020, 2, 1),), (date(1999, 1, 1),)])
    assert days.rows[0] == (date(1999, 1, 1),)


def test_stand_ins_are_one_more_than_a_unit_may_be_in() -> None:
    assert len(COLUMNS.stand_in(StatedLimits(max_groups=5)).rows) == 6


def test_reals_are_no_keys() -> None:
    with pytest.raises(InvalidQuery, match=r"\.floor\(\)"):
        UnknownKeys.of({"x": Kind.REAL})


def test_columns_of_keys_are_few() -> None:
    with pytest.raises(InvalidQuery, match="at most 100 columns of unknown keys, got columns=101"):
        UnknownKeys.of({f"x{i}": Kind.TEXT for i in range(101)})


def test_rows_have_one_key() -> None:
    assert limits_of_unknown(StatedLimits(), Declaration(name="d")).max_groups == 1


def test_words_for_limits_and_bounds() -> None:
    assert is_auto("auto")
    assert not is_auto(5)
    assert not is_auto((0, 1))
    assert auto_columns({"a": "auto", "b": (0, 1), "c": "no"}) == {"a"}
    assert auto_columns(None) == auto_columns([1]) == frozenset()
