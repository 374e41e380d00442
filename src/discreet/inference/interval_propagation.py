"""Intervals of calculations on a noisy answer.

Claim
    For each cell, `CalculatedInterval.at(confidence)` gives ends between which the same calculation on the exact
    (bounded and weighted) answers lies, with at least this probability.
Requires
    Of each column that enters: ends that hold its exact answer with any wanted confidence, for each cell.
Relies on
    `inference.estimate` for these ends, and for the exact law of a linear form of noisy totals.
Proof
    Where the calculation is a linear form of columns that are linear forms of the totals, it is one itself, and its
    noise has an exact quantile. Otherwise each of the m columns that enter gets ends of confidence 1 - (1 - c) / m; all
    of them hold at once with probability c (Bonferroni), and then the calculation lies between the ends that interval
    arithmetic makes of theirs: each operation here is monotone in each argument on the intervals that it is given, or
    its ends are infinite. A choice is one of its branches, and lies between the least and the greatest of their ends.
Rounding
    Ends are rounded outward, operation by operation (`inference.outward_rounding`), or of a linear form as
    `inference.estimate` does; of constants whose sum is smaller than they are, by some units in their last place.
Source
    Moore, Interval Analysis (1966), chapter 3; Bonferroni (1936).
Mutant
    one-for-all: each column's ends have the whole confidence; killed by test_ends_are_shared_among_columns.
    first-branch-alone: a choice has the ends of its first branch; killed by test_a_choice_lies_between_its_branches.
    short-floats-for-long: a column in 32 bits has the ends of the doubles; killed by test_what_carries_an_interval.
    constants-cancel-exactly: rounding is of what is left of constants; killed by
    test_constants_that_cancel_leave_what_their_rounding_takes.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import ibis.expr.operations as ops
import numpy as np
from numpy.typing import NDArray

from discreet.inference.estimate import FINE_RANGE, ROUNDINGS, Estimate, estimates
from discreet.inference.outward_rounding import Ends, Reals, added, divided, multiplied, nearly, root, subtracted
from discreet.planning.aggregates import SUM, Aggregate
from discreet.planning.noise_laws import Law
from discreet.planning.plan import Column, Plan

LOW, HIGH = "_low", "_high"
BEFORE_HALF = math.nextafter(0.5, 0)
"""The largest double below a half: with 1/2 itself, 0.49999999999999994 would be rounded to 1."""

MOST_PLACES = sys.float_info.max_10_exp
"""Before or behind the point: farther out no double has a digit."""


def _monotone(function: Callable[[Reals], Reals], x: Ends) -> Ends:
    return function(x[0]), function(x[1])


def _from_zero(function: Callable[[Ends], Ends], x: Ends) -> Ends:
    """Of a function that is there from 0 on: where all of the interval is below, nothing is known."""
    low, high = function((np.maximum(x[0], 0.0), np.maximum(x[1], 0.0)))
    return np.where(x[1] < 0, -np.inf, low), np.where(x[1] < 0, np.inf, high)


def _absolute(x: Ends) -> Ends:
    sizes = np.abs(x[0]), np.abs(x[1])
    return np.where((x[0] <= 0) & (x[1] >= 0), 0.0, np.minimum(*sizes)), np.maximum(*sizes)


def _clipped(op: Any, x: Ends) -> Ends:
    low = -np.inf if op.lower is None else float(op.lower.value)
    high = np.inf if op.upper is None else float(op.upper.value)
    return _monotone(lambda v: np.maximum(np.minimum(v, high), low), x)  # the lower end wins, as on DuckDB


def _chosen(parts: tuple[Ends, ...], function: np.ufunc) -> Ends:
    # Not function.reduce, which needs columns of one length: a constant has no length.
    return reduce(function, (part[0] for part in parts)), reduce(function, (part[1] for part in parts))


def _rounded(op: Any, x: Ends) -> Ends:
    """As DuckDB rounds: halves away from zero; what the factor takes out of the doubles is left as it is."""
    places = int(op.digits.value)
    if abs(places) > MOST_PLACES:
        return x if places > 0 else _monotone(lambda v: np.where(np.isfinite(v), 0.0, v), x)
    factor = 10.0 ** abs(places)

    def nearest(v: Reals) -> Reals:
        sizes = np.abs(v) * factor if places > 0 else np.abs(v) / factor
        whole = np.floor(sizes + BEFORE_HALF)
        made = np.copysign(whole / factor if places > 0 else whole * factor, v)
        return np.where(np.isfinite(made), made, v)

    return _monotone(nearest, x)


def _of_branches(*parts: Ends) -> Ends:
    """Of a choice, whatever decides it: exact answers may take another branch than noisy ones."""
    return reduce(np.minimum, (part[0] for part in parts)), reduce(np.maximum, (part[1] for part in parts))


ENDS: dict[type[ops.Node], Callable[..., Ends]] = {
    ops.Alias: lambda _, x: x,
    ops.Cast: lambda _, x: x,
    ops.Clip: _clipped,
    ops.Negate: lambda _, x: (-x[1], -x[0]),
    ops.Abs: lambda _, x: _absolute(x),
    ops.Exp: lambda _, x: nearly(np.exp, x, 0.0),
    ops.Sqrt: lambda _, x: _from_zero(root, x),
    ops.Ln: lambda _, x: _from_zero(lambda v: nearly(np.log, v, -np.inf), x),
    ops.Floor: lambda _, x: _monotone(np.floor, x),
    ops.Ceil: lambda _, x: _monotone(np.ceil, x),
    ops.Round: _rounded,
    ops.IfElse: lambda _, *parts: _of_branches(*parts),
    ops.SearchedCase: lambda _, *parts: _of_branches(*parts),
    ops.Add: lambda _, x, y: added(x, y),
    ops.Subtract: lambda _, x, y: subtracted(x, y),
    ops.Multiply: lambda _, x, y: multiplied(x, y),
    ops.Divide: lambda _, x, y: divided(x, y),
    ops.Greatest: lambda _, *parts: _chosen(parts, np.maximum),
    ops.Least: lambda _, *parts: _chosen(parts, np.minimum),
}
"""The ends of an operation from those of its arguments."""


PARTS: dict[type[ops.Node], Callable[[Any], tuple[ops.Node, ...]]] = {
    ops.Binary: lambda op: (op.left, op.right),
    ops.IfElse: lambda op: (op.true_expr, op.false_null_expr),
    ops.SearchedCase: lambda op: (*op.results, op.default),
}
"""The arguments of operations that have several, beside what decides between them."""


def arguments(op: Any) -> list[ops.Node] | None:
    """The numbers that an operation is calculated from; None where its interval would not be known."""
    if type(op) not in ENDS or (isinstance(op, ops.Cast) and not op.to.is_float64()):
        return None
    if isinstance(op, ops.Clip) and not all(e is None or isinstance(e, ops.Literal) for e in (op.lower, op.upper)):
        return None
    if isinstance(op, ops.Round) and not isinstance(op.digits, ops.Literal):
        return None
    parts = next((parts for kind, parts in PARTS.items() if isinstance(op, kind)), None)
    found = op.arg if parts is None else parts(op)
    return list(found) if isinstance(found, tuple) else [found]


def has_interval(op: ops.Node, columns: frozenset[str]) -> bool:
    """Whether a calculation on these columns has an interval: a number, made by operations that `ENDS` lists."""
    if isinstance(op, ops.Field):
        return op.name in columns and op.dtype.is_numeric()
    if isinstance(op, ops.Literal):
        return bool(op.dtype.is_numeric()) and isinstance(op.value, int | float)
    found = arguments(op)
    return found is not None and all(has_interval(argument, columns) for argument in found)


@dataclass(frozen=True, eq=False)
class CalculatedInterval:
    """The interval of one calculated column, for all cells of an answer."""

    op: ops.Node
    """The calculation, over the columns of the answer."""
    plan: Plan
    totals: list[NDArray[Any]]

    def at(self, confidence: float) -> Ends:
        """Low and high ends, with this confidence for each cell."""
        form = linear(self.op)
        exact = None if form is None else _column(self.plan, *form)
        if exact is not None:
            [estimate] = estimates(replace(self.plan, columns=(exact,)), self.totals, confidence).values()
            spread = 0.0 if form is None else _rounded_away(self.plan, *form)
            few = estimate.high - estimate.low < spread / FINE_RANGE  # as of totals: there is next to no noise
            return np.where(few, estimate.low - spread, estimate.low), np.where(
                few, estimate.high + spread, estimate.high
            )
        used = {field.name for field in self.op.find(ops.Field, filter=ops.Value)}
        own = estimates(self.plan, self.totals, 1 - (1 - confidence) / max(1, len(used)))
        with np.errstate(all="ignore"):
            return _ends(self.op, own)


def _ends(op: Any, columns: Mapping[str, Estimate]) -> Ends:
    """Interval arithmetic over whole columns; what has no end is infinite."""
    if isinstance(op, ops.Field):
        found = columns[op.name]
        return np.asarray(found.low, dtype=np.float64), np.asarray(found.high, dtype=np.float64)
    if isinstance(op, ops.Literal):
        value = np.asarray(op.value, dtype=np.float64)
        return value, value
    low, high = ENDS[type(op)](op, *(_ends(argument, columns) for argument in arguments(op) or ()))
    return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)


def _rounded_away(plan: Plan, coefficients: Mapping[str, float], constant: float) -> float:
    """What rounding may have taken of constants and offsets that are larger than their sum: 0, where there are none."""
    own = [coefficients[c.aggregate.name] * c.offset for c in plan.columns if c.aggregate.name in coefficients]
    return ROUNDINGS * float(np.spacing(sum(map(abs, own)) + abs(constant))) if any(own) or constant else 0.0


Form = tuple[dict[str, float], float]
"""Coefficients by column, and a constant."""


def linear(op: Any) -> Form | None:
    """A calculation as a linear form of columns, where it is one."""
    if isinstance(op, ops.Field):
        return {op.name: 1.0}, 0.0
    if isinstance(op, ops.Literal):
        return {}, float(op.value)
    rule = LINEAR.get(type(op))
    forms = [linear(argument) for argument in arguments(op) or ()] if rule else []
    return None if rule is None or None in forms else rule(*forms)


def _scaled(form: Form, factor: float) -> Form:
    return {name: factor * c for name, c in form[0].items()}, factor * form[1]


def _added(x: Form, y: Form) -> Form:
    return {name: x[0].get(name, 0.0) + y[0].get(name, 0.0) for name in (*x[0], *y[0])}, x[1] + y[1]


def _product(x: Form, y: Form) -> Form | None:
    if not y[0]:
        return _scaled(x, y[1])
    return None if x[0] else _scaled(y, x[1])


LINEAR: dict[type[ops.Node], Callable[..., Form | None]] = {
    ops.Alias: lambda x: x,
    ops.Cast: lambda x: x,
    ops.Negate: lambda x: _scaled(x, -1.0),
    ops.Add: _added,
    ops.Subtract: lambda x, y: _added(x, _scaled(y, -1.0)),
    ops.Multiply: _product,
    ops.Divide: lambda x, y: None if y[0] or not y[1] else _scaled(x, 1 / y[1]),
}


def _column(plan: Plan, coefficients: Mapping[str, float], constant: float) -> Column | None:
    """A linear form of columns as a linear form of the plan's totals, where all of them are linear in these."""
    found = {column.aggregate.name: column for column in plan.columns}
    own = [(found[name], c) for name, c in coefficients.items()]
    if not own or not all(column.linear for column, _ in own):
        return None
    sums: dict[int, NDArray[np.float64]] = {}
    for column, c in own:
        for block, parts in zip(column.blocks, column.coefficients, strict=True):
            sums[block] = sums.get(block, 0.0) + c * np.array(parts)
    if not all(np.any(parts) and np.all(np.isfinite(parts)) for parts in sums.values()):
        return None  # the noise cancels, or leaves the floats: neither law has a quantile
    if len(sums) > 1 and plan.law in (Law.STAIRCASE, Law.JOINT):
        return None  # sums of staircase noise and other noise, or of parts of one mechanism, have no quantile here
    return Column(
        aggregate=Aggregate(name="calculated", statistic=SUM),
        blocks=tuple(sums),
        coefficients=tuple(tuple(map(float, parts)) for parts in sums.values()),
        offset=constant + sum(c * column.offset for column, c in own),
    )
