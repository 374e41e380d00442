"""Public bins: edges into conditions and labels."""

from __future__ import annotations

import itertools
import math
import sys
from dataclasses import dataclass
from datetime import date
from typing import Any

import ibis
import ibis.expr.types as ir
import numpy as np

from discreet.errors import InvalidQuery, expected
from discreet.exact.given_values import in_memory
from discreet.language.checked_expressions import Value

MOST_BINS = 1000


@dataclass(frozen=True, slots=True)
class Bins:
    """Edges and the labels of the bins between them."""

    edges: tuple[Any, ...]
    labels: tuple[str, ...]

    def of(self, column: Any) -> ir.Value:
        """The label of the bin that a column's value falls into, NULL outside of all."""
        pairs = itertools.pairwise(self.edges)
        conditions = [_condition(column, low, high, last=high == self.edges[-1]) for low, high in pairs]
        return ibis.cases(*zip(conditions, self.labels, strict=True))


def bins(edges: Any, labels: Any) -> Bins:
    """Checked bins."""
    ends = _edges(edges)
    pairs = list(itertools.pairwise(ends))
    names = tuple(_label(low, high, last=high == ends[-1]) for low, high in pairs)
    if labels is not None:
        names = tuple(labels) if in_memory(labels) else ()
    if len(names) != len(pairs) or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        cure = "give one text for each bin; there is one bin fewer than edges."
        raise InvalidQuery(expected(f"{len(pairs)} distinct labels", "labels", labels, cure))
    return Bins(tuple(ends), names)


def equal_edges(value: Value, name: str, number: int) -> list[Any]:
    """The edges of so many bins of one width over the stated bounds of a column."""
    if isinstance(number, bool) or not 1 <= number <= MOST_BINS:
        cure = "write bins=10, or the edges themselves, bins=[0, 18, 65, 110]."
        raise InvalidQuery(expected(f"1 to {MOST_BINS:,} bins, or their edges", "bins", number, cure))
    if value.interval is None or value.unbounded or not value.interval.width:
        raise InvalidQuery(
            f"Expected edges, or a number of bins of a column with bounds, got bins={number} of {name!r}.\n"
            f"Hint: write bins=[0, 18, 65, 110], or state dp.protect(bounds={{{name!r}: (low, high)}})."
        )
    low, width = value.interval.low, value.interval.width
    ends = [low + width * i / number for i in range(number + 1)]
    return [int(end) if end.denominator == 1 else float(end) for end in ends]


def _edges(edges: Any) -> list[Any]:
    cure = "write them in order, [0, 18, 65, 110]; float('inf') may be the last."
    ends = list(edges) if in_memory(edges) else []
    if not 2 <= len(ends) <= MOST_BINS + 1:
        raise InvalidQuery(expected(f"2 to {MOST_BINS + 1:,} edges", "edges", edges, cure))
    ends = [end.item() if isinstance(end, np.generic) else end for end in ends]
    kinds = {_kind(end) for end in ends}
    if len(kinds) != 1 or None in kinds:
        raise InvalidQuery(expected("edges that are all numbers, or all dates", "edges", edges, cure))
    if not all(low < high for low, high in itertools.pairwise(ends)) or not any(map(_finite, ends)):
        raise InvalidQuery(expected("edges in rising order", "edges", edges, cure))
    return ends


def _kind(end: Any) -> str | None:
    if isinstance(end, float):
        return None if math.isnan(end) else "number"
    if isinstance(end, int) and not isinstance(end, bool):
        return "number" if abs(end) <= sys.float_info.max else None
    return type(end).__name__ if isinstance(end, date | str) else None


def _finite(end: Any) -> bool:
    return not isinstance(end, float) or math.isfinite(end)


def _condition(column: Any, low: Any, high: Any, *, last: bool) -> Any:
    above = column >= low if _finite(low) else None
    below = (column <= high if last else column < high) if _finite(high) else None
    return below if above is None else above if below is None else above & below


def _label(low: Any, high: Any, *, last: bool) -> str:
    if not _finite(low):
        return f"{'<=' if last else '<'} {_text(high)}"
    if not _finite(high):
        return f">= {_text(low)}"
    return f"[{_text(low)}, {_text(high)}{']' if last else ')'}"


def _text(end: Any) -> str:
    return f"{end:g}" if isinstance(end, float) and end == float(f"{end:g}") else str(end)
