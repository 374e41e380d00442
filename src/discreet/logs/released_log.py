"""A released log: rows of the same columns, the totals of its items, and the receipt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from discreet.answers.display import html, table_text
from discreet.answers.receipt import Receipt
from discreet.answers.release import truths
from discreet.answers.table_exports import TableExports
from discreet.errors import InvalidParameter, expected
from discreet.guesses.answer_words import ReleasedNames
from discreet.plots.dot_plot import ranks_figure

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from matplotlib.figure import Figure

DRAWN = 40
"""The number of items in a picture."""


class LogRelease(TableExports, ReleasedNames):
    """A log that was released: its rows, the totals that they were made from, and the receipt.

    `items` has one row for each item, the most frequent first; `to_pandas` and its like give the rows, in the columns
    of the original log.

    >>> import pyarrow as pa
    >>> import discreet as dp
    >>> log = pa.table({"who": list(range(60)), "page": ["/home"] * 60, "hits": [2] * 60})
    >>> released = dp.release_log(
    ...     log,
    ...     user="who",
    ...     item="page",
    ...     count="hits",
    ...     epsilon=3,
    ...     delta=1e-6,
    ...     max_items=1,
    ... )
    >>> released.to_pyarrow().column_names, released.items.column_names
    (['who', 'page', 'hits'], ['page', 'users', 'users_low', 'users_high', 'hits'])
    """

    _ask: ClassVar[str] = "ask for its length, len(released), or for .items."

    def __init__(self, rows: pa.Table, items: pa.Table, facts: Mapping[str, Any]) -> None:
        self._rows = rows
        self._items = items
        self._receipt = Receipt(facts)

    def __len__(self) -> int:
        """The number of rows."""
        return int(self._rows.num_rows)

    @property
    def items(self) -> pa.Table:
        """The items, the most frequent first, with their users and counts."""
        return self._items

    @property
    def receipt(self) -> Receipt:
        """What is guaranteed, what is not, and how each part was computed; a copy, ready for JSON."""
        return Receipt.of(self._receipt)

    def to_pyarrow(self) -> pa.Table:
        """The rows as an Arrow table."""
        return self._rows

    def plot(
        self,
        *,
        truth: Mapping[Any, float] | None = None,
        ax: object = None,
        path: str | os.PathLike[str] | None = None,
    ) -> Figure:
        """The users of the most frequent items, with their intervals where there are some; `ax` draws in axes of yours,
        `path` saves the figure.

        `truth` has exact numbers by item, to draw beside the answers where the data are public.
        """
        if not self._items.num_rows:
            cure = "nothing was released: ask with a larger epsilon or delta, or of a longer log."
            raise InvalidParameter(expected("an item to draw", "items", 0, cure))
        shown = self._items.slice(0, DRAWN)
        item, *_ = shown.column_names
        names = [str(name) for name in shown[item].to_pylist()]
        values = shown["users"].to_numpy().astype(np.float64)
        ends = None
        if "users_low" in shown.column_names:
            low, high = (shown[f"users_{end}"].to_numpy().astype(np.float64) for end in ("low", "high"))
            ends = low, high
        true = None
        if truth is not None:
            true = np.array([truths(truth).get(name, 0.0) for name in shown[item].to_pylist()], dtype=np.float64)
        told = self._caption()
        return ranks_figure(names, values, ends=ends, truth=true, across="users", caption=told, ax=ax, path=path)

    def _caption(self) -> str:
        return (
            f"{len(self):,} rows of {self._items.num_rows:,} items · {self._receipt['method']} · "
            f"{self._receipt.cost}{self._needed()}{self._cut()}{self._receipt.warning}"
        )

    def _cut(self) -> str:
        """What the intervals are of, where a user may have more: the rest was cut before anything was counted."""
        limits = self._receipt.get("limits")
        if not limits or not self._intervals():
            return ""
        most, times = limits["max_items"], limits["max_count"]
        return f" · intervals (noise only) of users cut to {most} items each, and to {times} times in each"

    def _needed(self) -> str:
        """The number of users that an item needs, where it is known; it explains an empty answer."""
        users = self._receipt.get("threshold_users")
        return "" if users is None else f" · an item needs about {users:,.0f} users"

    def __repr__(self) -> str:
        return table_text(self._shown(), self._intervals(), self._caption())

    def _repr_html_(self) -> str:
        return html(self._shown(), self._intervals(), self._caption())

    def _intervals(self) -> tuple[str, ...]:
        return ("users",) if "users_low" in self._items.column_names else ()

    def _shown(self) -> pa.Table:
        return self._items
