"""What is said aloud when tables are protected in a way that keeps their promises but is seldom meant.

Nothing here depends on a row: tables are compared by their paths, or as the objects that were handed over.
"""

from __future__ import annotations

import os
import warnings
import weakref
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import ibis.expr.types as ir

from discreet.errors import SourceWarning
from discreet.ledger.budget import Budget
from discreet.ledger.declared_sources import DeclaredSource

_handed: dict[tuple[str, str, str, int], Callable[[], object]] = {}
"""By ledger, name, version and place on the path: what was handed over first, while it is there."""
_protected: dict[str, set[str]] = {}
"""By name and by path: the ledgers that a table was protected under."""


def warn_of_reused_name(source: DeclaredSource, data: Any, budget: Budget, path: Iterable[Any] = ()) -> None:
    """Warns of other data under the same name and version, and of another budget for what one was spent on; `path` has
    the tables on the way to the unit.

    A frame that was read again, or that is gone, is not taken for another: only its rows could tell.
    """
    ledger, marks = budget.identity, [_mark(one) for one in (data, *path)]
    mark, known = marks[0], (ledger, source.name, source.version)
    before = [_handed.setdefault((*known, place), one)() for place, one in enumerate(marks)]
    if any(one is not None and _differ(one, now()) for one, now in zip(before, marks, strict=True)):
        warnings.warn(
            f"Expected one table for a name and a version, got another one for name={source.name!r}, "
            f"version={source.version!r}.\n"
            "Hint: where rows have changed, declare a new version=; until then the answers of the first are given. "
            "For another table, give another name=.",
            SourceWarning,
            stacklevel=3,
        )
    handles = {source.name, *([str(mark())] if isinstance(mark(), Path) else [])}
    others = set().union(*(_protected.setdefault(handle, set()) for handle in handles)) - {ledger}
    for handle in handles:
        _protected[handle].add(ledger)
    if others & Budget.charged:
        warnings.warn(
            f"Expected one budget for {source.name!r}, got another.\n"
            "Hint: what the first one paid for is not counted by it. Pass the same Budget to every dp.protect of these "
            "people; Budget(..., ledger='spent.db') is the same one in every process.",
            SourceWarning,
            stacklevel=3,
        )


def _mark(data: Any) -> Callable[[], object]:
    """Gives back what was handed over, without keeping a frame in memory."""
    if isinstance(data, str | os.PathLike):
        path = Path(data).resolve()
        return lambda: path
    if isinstance(data, ir.Table):
        written = hash(data.op())  # the operation itself would keep the connection open
        return lambda: written
    try:
        return weakref.ref(data)
    except TypeError:  # it cannot be told whether it is the same
        return lambda: None


def _differ(first: object, second: object) -> bool:
    """Whether two tables are not the same one: by path, by what was written of a database's, by being one frame."""
    return first != second if isinstance(first, Path | int) else first is not second
