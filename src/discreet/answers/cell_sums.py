"""The verbs of answers whose cells share noise: sums, differences and weighted sums of the cells of a table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from discreet.answers.linear_combination import LARGEST_FACTOR, Combination
from discreet.errors import InvalidParameter, expected, nearest_name
from discreet.exact.given_values import in_memory
from discreet.guesses.misfit_calls import with_usage_hint


class CellSums(ABC):
    """An answer of several tables, whose cells may be added up within a table and across tables."""

    @with_usage_hint(".sum('by_plan', 'n', plan='free')")
    def sum(self, table: Any, column: str, /, **cells: Any) -> Combination:
        """The sum of a column over some cells of a table: all of them, or those of the stated keys.

        Sums can be added, subtracted and multiplied by numbers, across tables and columns; each has its ``value``,
        ``low``, ``high``, and ``interval(confidence)``, from the noise that is left in it. Of a hierarchy, whose tables
        are its levels, that interval is proved to hold, and a little wider than what a table says of a cell.

        Args:
            table: by name; of a cube, by its attributes.
            column: of counts or sums.
            cells: for keys of the table, a value or a list of values.

        >>> from discreet.testing import people
        >>> cube = people().group_by("plan", cube=True, max_groups=1, max_rows=5).agg(n=lambda t: t.count())
        >>> answer = cube.release(epsilon=1)
        >>> gap = answer.sum("plan", "n", plan="free") - answer.sum("plan", "n", plan=["25%", "50%"])
        >>> gap.low <= gap.value <= gap.high
        True

        Raises:
            InvalidParameter: an unknown table, column or key.
            InvalidQuery: the column is no sum of totals, such as a mean.
        """
        return self.weighted(table, column, chosen(*self._rows(table), cells))

    @with_usage_hint(".difference('by_plan', 'n', {'plan': 'free'}, {'plan': '25%'})")
    def difference(
        self, table: Any, column: str, first: Mapping[str, Any], second: Mapping[str, Any], /
    ) -> Combination:
        """The sum of a column over the cells of some keys of a table, less that over the cells of others.

        What both have in common, cells or noise, is in neither its value nor its interval: this is narrower than what
        the intervals of both would say. Differences between tables are those of sums, ``answer.sum(...) -
        answer.sum(...)``.

        Args:
            table: by name; of a cube, by its attributes.
            column: of counts or sums.
            first: the keys of the cells to add up, each a value or a list of values; ``{}`` for all.
            second: the same of those to take away.

        >>> from discreet.testing import people
        >>> cube = people().group_by("plan", cube=True, max_groups=1, max_rows=5).agg(n=lambda t: t.count())
        >>> gap = cube.release(epsilon=1).difference("plan", "n", {"plan": "free"}, {"plan": ["25%", "50%"]})
        >>> gap.low <= gap.value <= gap.high
        True

        Raises:
            InvalidParameter: an unknown table, column or key.
            InvalidQuery: the column is no sum of totals, such as a mean.
        """
        rows, keys = self._rows(table)
        for name, cells in (("first", first), ("second", second)):
            if not isinstance(cells, Mapping):
                cure = "write .difference('plan', 'n', {'plan': 'free'}, {'plan': '25%'})."
                raise InvalidParameter(expected("a dict of keys", name, cells, cure))
        return self.weighted(table, column, chosen(rows, keys, first) - chosen(rows, keys, second))

    @abstractmethod
    def weighted(self, table: Any, column: str, weights: ArrayLike) -> Combination:
        """The sum of a column over the cells of a table, each times its weight, a number for each row; errors as of
        `sum`.
        """

    @abstractmethod
    def _rows(self, table: Any) -> tuple[pa.Table, tuple[str, ...]]:
        """The rows of a table, and the columns that name its cells."""


def chosen(table: pa.Table, keys: tuple[str, ...], cells: Mapping[str, Any]) -> NDArray[np.float64]:
    """1 for each row that is meant, 0 for all others: for each named key a value or several."""
    wanted = np.ones(table.num_rows, dtype=bool)
    for key, given in cells.items():
        if key not in keys:
            cure = nearest_name(key, keys) if keys else "leave them out: the total has no keys."
            raise InvalidParameter(expected("keys of the table", "cells", key, cure))
        values = list(given) if in_memory(given) or isinstance(given, set | frozenset) else [given]
        held = table[key].unique()
        for value in values:
            if not _holds(held, value):
                cure = nearest_name(value, held.to_pylist())
                raise InvalidParameter(expected("a key of the table", key, value, cure))
        asked = pa.array(values, type=held.type)
        wanted &= pc.is_in(table[key], value_set=asked).to_numpy(zero_copy_only=False)
    return wanted.astype(np.float64)


def _holds(held: pa.Array, value: object) -> bool:
    try:
        one = pa.scalar(value, type=held.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return False
    return bool(one.as_py() == value) and bool(pc.is_in(one, value_set=held).as_py())


def row_weights(given: ArrayLike, rows: int) -> NDArray[np.float64]:
    """Numbers for the rows of a table, checked."""
    try:
        found = np.asarray(given, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        found = np.zeros(0)
    if found.shape != (rows,) or not (np.abs(found) <= LARGEST_FACTOR).all():
        cure = "give one for each row of the table, in its order."
        what = f"{rows:,} finite numbers up to {LARGEST_FACTOR:g}"
        raise InvalidParameter(expected(what, "weights", f"shape {found.shape}", cure))
    return found
