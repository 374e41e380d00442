"""Finds the user, item and count columns of a log."""

from __future__ import annotations

from typing import Any

from discreet.errors import InvalidParameter, expected
from discreet.language.checked_expressions import Kind, Value
from discreet.language.unsupported_columns import no_column
from discreet.query.table import PrivateTable
from discreet.query.table_view import TableView


def check_user(user: object) -> None:
    """Refuses a user argument that is not a column's name."""
    if not isinstance(user, str):
        raise InvalidParameter(expected("the name of a column", "user", user, "the column that says who."))


def columns_of(
    people: PrivateTable, parts: TableView, user: str, item: str, count: str | None
) -> tuple[Any, Value, Value | None]:
    """The values of user, item and count; refuses columns of unsuitable types."""
    for name, written in {"item": item, "count": count}.items():
        if written is not None and (not isinstance(written, str) or written not in people.columns):
            refusal = no_column(written, people.columns, parts.closed, what="a column of the log", label=name)
            raise InvalidParameter(refusal)
    if len({user, item, count}) < 3:
        raise InvalidParameter(expected("different columns", "item", item, "user, item and count are three columns."))
    what, often = parts.columns[item], None if count is None else parts.columns[count]
    if what.kind is Kind.REAL:
        cure = "floats make no items: round or cut the column to whole numbers or text first."
        raise InvalidParameter(expected("items of whole numbers, text or dates", "item", f"{item}: real", cure))
    if often is not None and not often.kind.numeric:
        cure = "the count says how often; leave it out where there is none."
        raise InvalidParameter(expected("a count of numbers", "count", f"{count}: {often.kind.value}", cure))
    return parts.units[0], what, often
