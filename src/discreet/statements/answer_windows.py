"""Window functions over the answer: ranks, shares and running totals of the groups, after the noise.

A window looks at other rows, so that none may look at rows of people. Over the groups of an answer, which are noisy and
paid for, it is post-processing, as all calculations after the noise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ibis
import ibis.expr.types as ir
from sqlglot import exp

from discreet.statements.constants import whole_number_of
from discreet.statements.refusals import refusal
from discreet.statements.scope import Lower, Scope, matching
from discreet.statements.statement_text import Text
from discreet.statements.window_frames import check_key, frame_of, framed

OVER_GROUPS = "over groups"
"""What marks a function of groups, which as a plain call is not taken for an aggregate of rows."""

RANKS: dict[str, Callable[[], ir.Value]] = {
    "ROW_NUMBER": lambda: ibis.row_number() + 1,
    "RANK": lambda: ibis.rank() + 1,
    "DENSE_RANK": lambda: ibis.dense_rank() + 1,
    "PERCENT_RANK": ibis.percent_rank,
    "CUME_DIST": ibis.cume_dist,
}
"""Functions without arguments that need an order."""

TOTALS: dict[str, Callable[[Any], ir.Value]] = {
    "SUM": lambda x: x.sum(),
    "AVG": lambda x: x.mean(),
    "MIN": lambda x: x.min(),
    "MAX": lambda x: x.max(),
    "COUNT": lambda x: x.count(),
}
"""Functions of the groups from the first to this one where there is an order, else of all."""

NEIGHBORS: dict[str, Callable[[Any, int], ir.Value]] = {"LAG": lambda x, n: x.lag(n), "LEAD": lambda x, n: x.lead(n)}
NTILE = "NTILE"

NAMES: dict[type[exp.Expression], str] = {
    exp.RowNumber: "ROW_NUMBER",
    exp.Rank: "RANK",
    exp.DenseRank: "DENSE_RANK",
    exp.PercentRank: "PERCENT_RANK",
    exp.CumeDist: "CUME_DIST",
    exp.Sum: "SUM",
    exp.Avg: "AVG",
    exp.Min: "MIN",
    exp.Max: "MAX",
    exp.Count: "COUNT",
    exp.Lag: "LAG",
    exp.Lead: "LEAD",
    exp.Ntile: NTILE,
}
KNOWN = ", ".join(NAMES.values())
NAMED = "alias"
PARTS = ("this", "partition_by", "order", "over", "spec", NAMED)
"""What a window may have where it is looked at, so that all of it is refused in the same words."""
WRITTEN = ("partition_by", "order", "spec")
"""What stands between the parentheses of a window."""


def has_window(node: exp.Expression) -> bool:
    """Whether an expression looks at other rows."""
    return node.find(exp.Window) is not None


def write_out(select: exp.Select, text: Text) -> None:
    """Puts what WINDOW w AS (...) says in the place of each OVER w, so that no name is left."""
    stated: list[exp.Expression] = select.args.get("windows") or []
    names = tuple(one.this.name for one in stated)
    for one in stated:
        if one.args.get(NAMED) or len(matching(one.this, names)) > 1:
            cure = "write each window out: WINDOW w AS (PARTITION BY a ORDER BY b)."
            raise text.refusal("a window of its own under each name", one, cure)
    select.set("windows", None)
    used: list[exp.Expression] = []
    for window in list(select.find_all(exp.Window)):
        name = window.args.get(NAMED)
        if name is None:
            continue
        if any(window.args.get(part) for part in WRITTEN):
            raise text.refusal("a window in parentheses", window, "write OVER (PARTITION BY a ORDER BY b).")
        found = [one for one in stated if matching(name, (one.this.name,))]
        if len(found) != 1:
            raise text.refusal("a window that WINDOW names", window, "write OVER (PARTITION BY a ORDER BY b).")
        used += found
        copied = found[0].copy()
        for part in WRITTEN:
            window.set(part, copied.args.get(part))
        window.set(NAMED, None)
    for one in stated:
        if one not in used:
            raise text.refusal("a window that is used", one, "leave it out, or write OVER and its name.")


def over_groups(node: exp.Expression, scope: Scope) -> exp.Expression:
    """The expression, whose functions of windows are told from aggregates of rows."""
    if not has_window(node):
        return node
    copy = exp.Paren(this=node.copy())
    for window in list(copy.find_all(exp.Window)):
        name, arguments = _checked(window, scope)
        function = exp.Anonymous(this=name, expressions=arguments)
        function.meta[OVER_GROUPS] = True
        window.set("this", function)
    made: exp.Expression = copy
    return made


def _checked(window: exp.Window, scope: Scope) -> tuple[str, list[exp.Expression]]:
    """The function of a window, and its arguments; refuses what is not known over groups."""
    function = window.this
    if any(inner is not window for inner in window.find_all(exp.Window)):
        cure = "name the inner one in a release of its own, and calculate with that."
        raise scope.text.refusal("no window inside of another", window, cure)
    name = NAMES.get(type(function))
    if name is None:
        raise scope.text.refusal("a function that is known over groups", function, f"there are {KNOWN}.")
    extra = [part for part, held in function.args.items() if held and part not in ("this", "offset", "big_int")]
    if extra:
        raise scope.text.refusal(f"{name} without {extra[0].upper()}", function, "leave it out.")
    given = [function.args.get("this"), function.args.get("offset")]
    arguments = [one for one in given if one is not None and not isinstance(one, exp.Star)]
    if not arguments and name not in (*RANKS, "COUNT"):
        raise scope.text.refusal(f"{name} of something", window, "write SUM(COUNT(*)) OVER ().")
    if not window.args.get("order") and name not in TOTALS:
        raise scope.text.refusal(f"an order for {name}", window, "write OVER (ORDER BY COUNT(*) DESC).")
    if frame_of(window, scope) is not None and name not in TOTALS:
        raise scope.text.refusal(f"{name} without ROWS or RANGE", window, f"those are for {', '.join(TOTALS)}.")
    return name, arguments


def windowed(node: exp.Window, scope: Scope, lower: Lower) -> ir.Value:
    """A function over groups of the answer, as `over_groups` leaves it."""
    function = node.this
    if OVER_GROUPS not in function.meta:
        raise refusal(node, scope.text)
    order, name = node.args.get("order"), function.name
    keys = _first_of_each([sort_key(one, lower(one.this, scope)) for one in order.expressions] if order else [])
    group = [lower(one, scope) for one in node.args.get("partition_by") or ()]
    made = _function(name, function.expressions, scope, lower)
    if (frame := frame_of(node, scope)) is not None:
        check_key(node, keys, scope)
        return framed(made, frame, group, keys)
    if not keys or name not in TOTALS:
        return made.over(ibis.window(group_by=group, order_by=keys))
    return made.over(ibis.range_window(preceding=None, following=0, group_by=group, order_by=keys))


def _first_of_each(keys: list[ir.Value]) -> list[ir.Value]:
    """The keys without those of a value that one before them sorts by, which decide nothing: Ibis would sort by the
    first in the direction of the last.
    """
    found: dict[Any, ir.Value] = {}
    for key in keys:
        sorted_by: Any = key.op()
        found.setdefault(sorted_by.arg, key)
    return [*found.values()]


def _function(name: str, arguments: list[exp.Expression], scope: Scope, lower: Lower) -> Any:
    """The function before its window."""
    if name in RANKS:
        return RANKS[name]()
    if name == NTILE:
        return ibis.ntile(whole_number_of(arguments[0], scope, "a number of parts", least=1)) + 1
    if not arguments:
        return scope.table.count()
    value: Any = lower(arguments[0], scope)
    if name in NEIGHBORS:
        step = whole_number_of(arguments[1], scope, "a number of rows", least=0) if len(arguments) > 1 else 1
        return NEIGHBORS[name](value, step)
    found = TOTALS[name](value)
    return found.cast("float64") if name == "SUM" else found


def sort_key(node: exp.Ordered, value: ir.Value) -> ir.Value:
    """What an entry of ORDER BY sorts by, from its value."""
    way = ibis.desc if node.args.get("desc") else ibis.asc
    return way(value, nulls_first=bool(node.args.get("nulls_first")))
