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
            part[name] = {"preceding" if boundary.preceding else "following": _rows(boundary.value, op.how)}
    return part


def _rows(op: Any, how: str) -> int:
    value = op.value if isinstance(op, ops.Literal) else None
    if type(value) is not int or not 0 <= value <= _most(how):
        cure = "count rows, ibis.window(rows=(-6, 0), order_by=...); or take the window with the released answer."
        raise InvalidQuery(expected("a window that a document has", "window", f"{how} of {value}", cure))
    return value


def _most(how: str) -> int:
    """How far a window reaches: by a value alone as far as those that are equal, since sums can overflow."""
    return FARTHEST if how == FRAMES[0] else 0


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
            if held.number() > _most(how):
                held.refuse(f"at most {_most(how):,} {'rows' if how == FRAMES[0] else 'beside a range'}")
            found[name] = ops.WindowBoundary(ibis.literal(held.value).op(), preceding=way == "preceding")
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
