"""Rows and answers are not to be had before a release."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ibis import _

from discreet.errors import InvalidQuery
from discreet.query.question import Question
from discreet.query.table import PrivateTable
from discreet.query.unreleased_methods import REFUSED

Unreadable = Callable[..., PrivateTable]
Refused = Callable[..., str]


@pytest.mark.parametrize("name", [*REFUSED, "len", "list"])
def test_looking_is_refused_everywhere(unreadable: Unreadable, refused: Refused, name: str) -> None:
    table = unreadable()
    groups = table.group_by("plan")
    for one in (table, table.filter(_.age > 3), groups, groups.agg(n=_.count()), table.count()):
        if name == "limit" and isinstance(one, Question):  # it hands that on to its answer
            continue
        look: Any = {"len": len, "list": list}.get(name)
        said = refused(InvalidQuery, look, one) if look else refused(InvalidQuery, getattr(one, name), 5, path="x")
        assert "end with .release(epsilon=...)" in said
    assert table.budget.spent.epsilon == 0


def test_they_are_neither_empty_nor_true_nor_false(unreadable: Unreadable) -> None:
    table = unreadable()
    for unreleased in (table, table.group_by("plan"), table.count()):
        for ask in (bool, lambda one: not one, lambda one: one == 5, lambda one: one != 0.5):
            with pytest.raises(InvalidQuery, match=r"Hint: end with \.release"):
                ask(unreleased)
