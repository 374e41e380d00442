"""Frames of windows over the groups: ROWS counts groups, RANGE reaches so far by the value of the one key."""

from __future__ import annotations

from typing import Any

import ibis
from sqlglot import exp

from discreet.statements.constants import number
from discreet.statements.scope import Scope

UNBOUNDED, CURRENT = "UNBOUNDED", "CURRENT ROW"
SIDES = {"PRECEDING": -1, "FOLLOWING": 1}
KINDS = ("ROWS", "RANGE")
MOST = {"ROWS": 2**31, "RANGE": 2**53}
"""How far a frame reaches, as in documents."""
CURE = "write ROWS BETWEEN 2 PRECEDING AND CURRENT ROW."

Frame = tuple[str, float | None, float | None]
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
    if None not in (start, end) and start > end:
        raise scope.text.refusal("a frame that does not end before it begins", window, CURE)
    return kind, start, end


def _end(spec: exp.Expression, name: str, kind: str, window: exp.Window, scope: Scope) -> Any:
    """An end of a frame: before the group below 0, after it above; none, where it is unbounded."""
    value, side = spec.args[name], str(spec.args.get(f"{name}_side") or "").upper()
    if value == CURRENT:
        return 0
    if value == UNBOUNDED:
        if side != ("PRECEDING" if name == "start" else "FOLLOWING"):
            raise scope.text.refusal("a frame that begins before it ends", window, CURE)
        return None
    found = number(value) if isinstance(value, exp.Expression) else None
    whole = isinstance(found, int)
    if found is None or side not in SIDES or not 0 <= found <= MOST[kind] or not (whole or kind == "RANGE"):
        what = f"a whole number of 0 to {MOST[kind]:,}" if kind == "ROWS" else f"a number of 0 to {MOST[kind]:,}"
        raise scope.text.refusal(what, window, CURE)
    return SIDES[side] * (found if whole else float(found))


def framed(value: Any, frame: Frame, group: list[Any], keys: list[Any]) -> Any:
    """A total over the groups of a frame."""
    kind, start, end = frame
    ends = (start, end)
    stated: dict[str, Any] = {"rows": ends} if kind == "ROWS" else {"range": ends}
    return value.over(ibis.window(group_by=group, order_by=keys, **stated))
