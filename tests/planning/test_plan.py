"""Limits: which are needed, which bind, and what is public of a table's size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ibis import _

from discreet.errors import InvalidQuery
from discreet.planning.forms import COUNT, PAIR, SUM, TRIPLE, UNITS, Block, Form
from discreet.query.table import PrivateTable
from discreet.sensitivity.contributions import Limits

Protect = Callable[..., PrivateTable]
Refused = Callable[..., str]
ABSENT = {"max_groups": None, "max_rows": None}


def test_both_limits_are_named_with_their_meaning(unreadable: Protect, refused: Refused) -> None:
    table = unreadable(**ABSENT)
    said = refused(InvalidQuery, table.group_by("plan").agg, n=_.count())
    assert said.startswith("Expected max_groups and max_rows, got none.")
    assert "in how many of the 2 groups one person counts; max_groups=2 keeps them all" in said
    assert "with how many rows in each group one person counts" in said
    assert ".group_by(..., ...) or dp.protect(...)" in said
    assert "They are enforced, not assumed." in said


def test_without_groups_only_rows_are_limited(unreadable: Protect, refused: Refused) -> None:
    table = unreadable(**ABSENT)
    said = refused(InvalidQuery, table.agg, n=_.count())
    assert said.startswith("Expected max_rows, got none.")
    assert "dp.protect(...)" in said
    assert ".group_by" not in said
    assert "with how many rows in all one person counts" in said
    assert refused(InvalidQuery, table.count)
    assert table.agg(n=_.person.nunique())._query.effective == Limits()


@pytest.mark.parametrize(
    ("stated", "keys", "asked", "missing"),
    [
        ({"max_rows": 2}, ["a", "b"], _.count(), "Expected max_groups,"),
        ({"max_groups": 2}, ["a", "b"], _.count(), "Expected max_rows,"),
        ({"max_rows": 2}, ["a"], _.count(), None),  # one group is one group
        ({"max_groups": 1}, ["a", "b"], _.person.nunique(), None),
        ({}, ["a"], _.person.nunique(), None),
        ({}, ["a", "b"], _.person.nunique(), "Expected max_groups,"),
    ],
    ids=str,
)
def test_limits_that_are_needed(  # noqa: PLR0917 - four parameters and two fixtures
    protect_people: Protect, refused: Refused, stated: dict[str, int], keys: list[str], asked: Any, missing: str | None
) -> None:
    groups = protect_people(**ABSENT).group_by("plan", keys={"plan": keys}, **stated)
    if missing:
        assert missing in refused(InvalidQuery, groups.agg, x=asked)
    else:
        assert groups.agg(x=asked) is not None


def test_several_columns_of_a_unit_are_named_together(protect_people: Protect, refused: Refused) -> None:
    table = protect_people(unit=["person", "year"], **ABSENT)
    assert "one person, year counts" in refused(InvalidQuery, table.group_by("plan").agg, n=_.count())


def test_limits_bind_no_more_than_there_are_groups(protect_people: Protect, by_row: Protect) -> None:
    table = protect_people(max_groups=9, max_rows=5)
    question = table.group_by("plan").agg(n=_.count())
    assert question._query.effective == Limits(max_groups=2, max_rows=5)
    assert table.group_by("plan", keys={"plan": ["a"]}).agg(n=_.count())._query.effective.max_groups == 1
    assert by_row().group_by("plan").agg(n=_.count())._query.effective == Limits()
    assert question._query.cells == 2


@pytest.mark.parametrize(
    ("form", "components", "parts"),
    [(COUNT, 1, 0), (UNITS, 1, 0), (SUM, 1, 1), (PAIR, 2, 1), (TRIPLE, 3, 2)],
)
def test_components(form: Form, components: int, parts: int) -> None:
    assert (Block(form=form).components, Block(form=form).parts) == (components, parts)
    assert Block(form=form, nulls=True).components == components + 1
