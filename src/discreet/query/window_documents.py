"""Windows over the groups of an answer as parts of a document: ranks, shares, running totals; and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ibis
import ibis.expr.operations as ops

from discreet.errors import InvalidQuery, expected
from discreet.query.document_parts import DocumentPart

WINDOW = "window"
RANKS_AND_NEIGHBORS = (
    *(ops.RowNumber, ops.MinRank, ops.DenseRank, ops.PercentRank, ops.CumeDist, ops.NTile),
    *(ops.Lag, ops.Lead, ops.NthValue, ops.First, ops.Last),
)
"""What a window can be of, beside the aggregates."""
FRAMES = ("rows", "range")
MOST_WINDOWS = 100
"""In all steps after the noise together: each sorts the groups."""
FARTHEST = 2**31
"""Rows before or after one."""
MOST_APART = 2**53
"""Of values before or after one: whole numbers up to here are exact as real ones, as which they are compared."""

SPANS = frozenset("YMWDhms")
"""Units of an interval that a window may reach by."""

Write = Callable[[ops.Node], Any]
Read = Callable[[DocumentPart], ops.Node]


def sort_part(key: Any, write: Write) -> dict[str, Any]:
    """What rows are sorted by, and how."""
    return {"by": write(key.arg), "desc": key.descending, "nulls_first": key.nulls_first}


def read_sort(part: DocumentPart, read: Read) -> ops.SortKey:
    """The key that `sort_part` wrote."""
    fields = part.having_fields(("by", "desc", "nulls_first"))
    desc, first = (fields[name].value for name in ("desc", "nulls_first"))
    if type(desc) is not bool or type(first) is not bool:
        part.refuse("desc and nulls_first as true or false")
    return ops.SortKey(read(fields["by"]), ascending=not desc, nulls_first=first)


def window_part(op: Any, write: Write) -> dict[str, Any]:
    """A function over other groups: which ones, in which order."""
    part: dict[str, Any] = {"of": write(op.func)}
    if op.group_by:
        part["by"] = [write(one) for one in op.group_by]
    if op.order_by:
        part["order"] = [sort_part(key, write) for key in op.order_by]
    if op.how != FRAMES[0]:
        part["frame"] = op.how
    for name in ("start", "end"):
        if (boundary := getattr(op, name)) is not None:
            own = _plain(boundary.value)
            if not _reaches(own, op.how):
                cure = "count up to 2**31 rows, or reach up to a number; or take the window with the released answer."
                got = f"{op.how} of {getattr(own, 'value', None)}"
                raise InvalidQuery(expected("a window that a document has", "window", got, cure))
            # A number is of the type that it has by itself.
            reach = write(own if own.dtype.is_interval() else ibis.literal(own.value).op())
            part[name] = {"preceding" if boundary.preceding else "following": reach}
    return part


def _plain(op: Any) -> Any:
    """The end of a window, where Ibis has made an interval of a number beside another interval."""
    if isinstance(op, ops.Cast) and op.dtype.is_interval() and isinstance(op.arg, ops.Literal):
        return ibis.interval(op.arg.value, unit=op.dtype.unit.short).op()
    return op


def _reaches(op: Any, how: str) -> bool:
    """Whether a window may go so far: so many rows, or by so much in its one key, a number or a time."""
    dtype = op.dtype
    is_span = how != FRAMES[0] and dtype.is_interval() and dtype.unit.short in SPANS
    value: Any = op.value if isinstance(op, ops.Literal) and (is_span or dtype.is_numeric()) else None
    kinds, most = ((int,), FARTHEST) if how == FRAMES[0] else ((int,) if is_span else (int, float), MOST_APART)
    return type(value) in kinds and 0 <= value <= most


def read_window(part: DocumentPart, read: Read) -> dict[str, Any]:
    """The arguments of the function that `window_part` wrote; what it takes for them is the caller's to look at."""
    fields = part.having_fields(("of",), ("by", "order", "frame", "start", "end"))
    found: dict[str, Any] = {"func": read(fields["of"])}
    if "by" in fields:
        found["group_by"] = tuple(read(one) for one in fields["by"].listed(least=1))
    if "order" in fields:
        found["order_by"] = tuple(read_sort(one, read) for one in fields["order"].listed(least=1))
    how = FRAMES[0]
    if "frame" in fields:
        how = found["how"] = fields["frame"].text()
        if how not in FRAMES:
            fields["frame"].refuse("rows or range")
    for name in ("start", "end"):
        if name in fields:
            way, held = fields[name].one_of(("preceding", "following"), "preceding or following")
            reach = read(held)
            if not _reaches(reach, how):
                counted = f"a whole number of 0 to {FARTHEST:,} rows"
                held.refuse(counted if how == FRAMES[0] else f"a number of 0 to {MOST_APART:,}, or an interval")
            found[name] = ops.WindowBoundary(reach, preceding=way == "preceding")
    return found


def number_of_windows(value: Any) -> int:
    """How many windows a part of a document has."""
    left, found = [value], 0
    while left:
        one = left.pop()
        if isinstance(one, dict):
            found += WINDOW in one
            left += one.values()
        elif isinstance(one, list):
            left += one
    return found
