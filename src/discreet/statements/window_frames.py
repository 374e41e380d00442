"""Frames of windows over the groups: ROWS counts groups, RANGE reaches so far by the value of the one key."""

from __future__ import annotations

from typing import Any, NamedTuple

import ibis
import ibis.expr.operations as ops
from sqlglot import exp

from discreet.statements.constants import number_of
from discreet.statements.date_functions import CLOCK, interval
from discreet.statements.scope import Scope

UNBOUNDED, CURRENT = "UNBOUNDED", "CURRENT ROW"
SIDES = {"PRECEDING": -1, "FOLLOWING": 1}
KINDS = ("ROWS", "RANGE")
MOST = {"ROWS": 2**31, "RANGE": 2**53}
"""How far a frame reaches, as in documents."""
CURE = "write ROWS BETWEEN 2 PRECEDING AND CURRENT ROW."
MONTHLY = ("Y", "Q", "M")
"""Units that are not always as long, of an interval of its own type in Spark."""
SPAN = "write ORDER BY day RANGE BETWEEN INTERVAL '7 days' PRECEDING AND CURRENT ROW."


class Span(NamedTuple):
    """A time before the group, below 0, or after it."""

    number: int
    unit: str


Frame = tuple[str, float | Span | None, float | Span | None]
"""In which terms it is, and its ends before or after the group; none, where it has no end."""


def frame_of(window: exp.Window, scope: Scope) -> Frame | None:
    """The frame of a window, checked; none, where it has none."""
    spec = window.args.get("spec")
    if spec is None:
        return None
    kind = str(spec.args.get("kind")).upper()
    if kind not in KINDS or spec.args.get("exclude"):
        raise scope.text.refusal("a frame of ROWS or RANGE, without EXCLUDE", window, CURE)
    order = window.args.get("order")
    if order is None or (kind == "RANGE" and len(order.expressions) != 1):
        raise scope.text.refusal(f"{'an order' if order is None else 'one key'} for {kind}", window, CURE)
    start = _end(spec, "start", kind, window, scope)
    end = _end(spec, "end", kind, window, scope) if spec.args.get("end") else 0
    if _crossed(start, end):
        raise scope.text.refusal("a frame that does not end before it begins", window, CURE)
    if len({isinstance(one, Span) for one in (start, end) if one}) > 1:
        raise scope.text.refusal("two intervals, or two numbers", window, SPAN)
    return kind, start, end


def _crossed(start: Any, end: Any) -> bool:
    """Whether a frame ends before it begins, whatever the group; of spans in two units it may for some."""
    if start is None or end is None:
        return False
    units = {one.unit for one in (start, end) if isinstance(one, Span)}
    first, last = (one.number if isinstance(one, Span) else one for one in (start, end))
    return bool(first > last) and (len(units) < 2 or first >= 0 >= last)


def _end(spec: exp.Expression, name: str, kind: str, window: exp.Window, scope: Scope) -> Any:
    """An end of a frame: before the group below 0, after it above; none, where it is unbounded."""
    value, side = spec.args[name], str(spec.args.get(f"{name}_side") or "").upper()
    if value == CURRENT:
        return 0
    if value == UNBOUNDED:
        if side != ("PRECEDING" if name == "start" else "FOLLOWING"):
            raise scope.text.refusal("a frame that begins before it ends", window, CURE)
        return None
    if isinstance(value, exp.Interval) and kind == "RANGE" and side in SIDES:
        count, unit = interval(value, scope)
        if not 0 <= count <= MOST[kind]:
            raise scope.text.refusal("an interval of 0 or more", window, SPAN)
        return Span(SIDES[side] * count, unit)
    found = number_of(value) if isinstance(value, exp.Expression) else None
    whole = isinstance(found, int)
    if found is None or side not in SIDES or not 0 <= found <= MOST[kind] or not (whole or kind == "RANGE"):
        what = f"a whole number of 0 to {MOST[kind]:,}" if kind == "ROWS" else f"a number of 0 to {MOST[kind]:,}"
        raise scope.text.refusal(what, window, CURE)
    return SIDES[side] * (found if whole else float(found))


def check_key(window: exp.Window, keys: list[Any], scope: Scope) -> None:
    """Refuses an interval before or after what is no date, and one that the dialect does not take from a date."""
    frame = frame_of(window, scope)
    spans = [one for one in frame[1:] if isinstance(one, Span)] if frame else []
    if not spans:
        return
    kind = keys[0].type()
    if not (kind.is_date() or kind.is_timestamp()):
        raise scope.text.refusal("a date to sort by beside an interval", window, SPAN)
    if not scope.text.dialect.days_are_intervals:
        return
    if kind.is_date() and any(one.unit in CLOCK for one in spans):
        raise scope.text.refusal("an interval of days or more beside a date", window, "CAST the date AS TIMESTAMP.")
    if len({one.unit in MONTHLY for one in spans}) > 1:
        raise scope.text.refusal("two intervals of months, or two of days", window, "write INTERVAL 28 DAYS for one.")


def _boundary(end: float | Span | None) -> ops.WindowBoundary | None:
    """An end as an interval; none, where there is none."""
    if end is None:
        return None
    count, unit = end if isinstance(end, Span) else (0, "D")
    count, unit = (3 * count, "M") if unit == "Q" else (count, unit)
    return ops.WindowBoundary(ibis.interval(abs(count), unit=unit), preceding=count < 0)


def framed(value: Any, frame: Frame, group: list[Any], keys: list[Any]) -> Any:
    """A total over the groups of a frame."""
    kind, start, end = frame
    ends = (start, end)
    if any(isinstance(one, Span) for one in ends):  # Ibis compares the numbers of two intervals, whatever their units
        own = value.over(ibis.range_window(preceding=None, following=0, group_by=group, order_by=keys)).op()
        [window] = own.find(ops.WindowFunction)
        first, last = map(_boundary, ends)
        return own.replace({window: window.copy(start=first, end=last)}).to_expr()
    stated: dict[str, Any] = {"rows": ends} if kind == "ROWS" else {"range": ends}
    return value.over(ibis.window(group_by=group, order_by=keys, **stated))
