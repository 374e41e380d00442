"""A protected table whose rows belong to several units each: verbs that keep each row of the same units, and one
question.
"""

from __future__ import annotations

from typing import Any, NoReturn

from discreet.errors import expected
from discreet.query.columns import ColumnVerbs
from discreet.query.lower_bound_verbs import TruncatedTotals
from discreet.query.query_steps import UnknownColumn
from discreet.query.row_filters import RowFilters
from discreet.query.source import Source
from discreet.query.table import PrivateTable


class SharedTable(ColumnVerbs, RowFilters, TruncatedTotals):
    """A table in which a row belongs to each person that one of two columns names; made by ``dp.protect_shared``.

    It has the verbs that take rows one by one, and one question: `truncated_total`.

    >>> import pyarrow as pa
    >>> import discreet as dp
    >>> calls = pa.table({"caller": [1, 1, 2], "called": [2, 3, 3], "minutes": [5, 1, 9]})
    >>> table = dp.protect_shared(
    ...     calls, each_of=("caller", "called"), bounds={"minutes": (0, 60)}, budget=dp.Budget(epsilon=2), name="calls"
    ... )
    >>> table.filter(lambda t: t.minutes > 2).truncated_total("minutes", most=64)
    <question about 'calls': the total of minutes of all units>
    """

    def __getattr__(self, name: str) -> Any:
        if hasattr(PrivateTable, name) and name not in self.columns:
            _refuse(f".{name}")
        return super().__getattr__(name)


def protected_table(source: Source) -> Any:
    """All rows of a source, with the verbs that there are of them."""
    return (SharedTable if source.declaration.each_of else PrivateTable).of(source)


def _refuse(verb: str) -> NoReturn:
    cure = "ask for .truncated_total(...) of it, after .filter(...), .mutate(...) or .distinct(...)."
    raise UnknownColumn(expected("truncated_total of a table whose rows belong to several units", "verb", verb, cure))
