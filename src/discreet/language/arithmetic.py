"""Rules for numbers: each result stays inside 64 bits or the finite doubles, or the query is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import ibis
import ibis.expr.operations as ops
import ibis.expr.types as ir

from discreet.errors import InvalidQuery
from discreet.language.checked_expressions import (
    LARGEST_EXACT,
    Kind,
    Lower,
    Rule,
    Value,
    cast,
    checked_number,
    float_text,
    numeric,
    real,
    same_kind,
)
from discreet.language.expression_texts import expression_text
from discreet.sensitivity import intervals
from discreet.sensitivity.intervals import LARGEST_INT, SMALLEST_INT, Interval

LARGEST_EXPONENT = 16
"""The largest exponent: a power is written out as a product."""
MOST_PLACES = 15
"""The most decimals: 10 to this power is a double, below 2^53."""
LARGEST_POWER_OF_E = 700.0
"""The exponential of anything larger may leave the doubles."""


def name_of(op: ops.Node) -> str:
    """An operation about as the analyst wrote it, for messages."""
    return expression_text(op)


def _both(op: ops.Binary, lower: Lower) -> tuple[Value, Value, Interval, Interval, bool]:
    pair = [numeric(lower(arg), name_of(op))[0] for arg in (op.left, op.right)]
    left, right = same_kind(pair, name_of(op))
    x, y = numeric(left, name_of(op))[1], numeric(right, name_of(op))[1]
    return left, right, x, y, left.nullable or right.nullable


def _closed(interval_of: Callable[[Interval, Interval], Interval]) -> Rule:
    """A rule for an operation of two numbers that only overflow can break."""

    def rule(op: ops.Binary, lower: Lower) -> Value:
        left, right, x, y, nullable = _both(op, lower)
        expr = type(op)(left.expr, right.expr).to_expr()
        return checked_number(expr, interval_of(x, y), nullable=nullable, what=name_of(op))

    return rule


def _divisor(op: ops.Binary, y: Interval, *, positive: bool = False) -> None:
    if not y.excludes_zero() or (positive and y.low <= 0):
        wanted = "above zero" if positive else "that excludes zero"
        raise InvalidQuery(
            f"Expected a divisor {wanted}, got {name_of(op)}, whose divisor lies in {float_text(y)}.\n"
            "Hint: bound the divisor away from zero with .clip(low, high)."
        )


def divide(op: ops.Divide, lower: Lower) -> Value:
    """x / y as doubles."""
    left, right, x, y, nullable = _both(op, lower)
    _divisor(op, y)
    left, right = real(left), real(right)
    x, y = numeric(left, name_of(op))[1], numeric(right, name_of(op))[1]
    return checked_number(
        ops.Divide(left.expr, right.expr).to_expr(), intervals.divide(x, y), nullable=nullable, what=name_of(op)
    )


def _small(op: ops.Node, *parts: Interval) -> None:
    if any(max(abs(part.low), abs(part.high)) > LARGEST_EXACT for part in parts):
        raise InvalidQuery(
            f"Expected numbers below 2**53 in {name_of(op)}, got a range of {float_text(parts[0])}.\n"
            "Hint: give the columns bounds in dp.protect(bounds=...)."
        )


def floor_divide(op: ops.FloorDivide, lower: Lower) -> Value:
    """floor(x / y), through doubles, exact below 2**53."""
    left, right, x, y, nullable = _both(op, lower)
    _divisor(op, y)
    result = intervals.floor_divide(x, y)
    _small(op, x, y, result)
    expr = cast(ops.Floor(ops.Divide(real(left).expr, real(right).expr)).to_expr(), Kind.INTEGER)
    return checked_number(expr, result, nullable=nullable, what=name_of(op))


def modulus(op: ops.Modulus, lower: Lower) -> Value:
    """x % y for y > 0, with the engine's sign."""
    left, right, x, y, nullable = _both(op, lower)
    _divisor(op, y, positive=True)
    return checked_number(
        ops.Modulus(left.expr, right.expr).to_expr(), intervals.remainder(x, y), nullable=nullable, what=name_of(op)
    )


def power(op: ops.Power, lower: Lower) -> Value:
    """x ** n for a small whole n, as repeated multiplication."""
    value, interval = numeric(lower(op.left), name_of(op))
    exponent = op.right.value if isinstance(op.right, ops.Literal) else None
    if not isinstance(exponent, int) or isinstance(exponent, bool) or not 1 <= exponent <= LARGEST_EXPONENT:
        raise InvalidQuery(
            f"Expected a whole exponent from 1 to {LARGEST_EXPONENT}, got {name_of(op)}.\n"
            "Hint: use .sqrt(), .exp() or .log() where they fit."
        )
    expr = value.expr
    for _ in range(exponent - 1):
        expr = ops.Multiply(expr, value.expr).to_expr()
    return checked_number(expr, intervals.power(interval, exponent), nullable=value.nullable, what=name_of(op))


def _unary(interval_of: Callable[[Interval], Interval]) -> Rule:
    def rule(op: ops.Unary, lower: Lower) -> Value:
        value, interval = numeric(lower(op.arg), name_of(op))
        return checked_number(
            type(op)(value.expr).to_expr(), interval_of(interval), nullable=value.nullable, what=name_of(op)
        )

    return rule


def _whole(interval_of: Callable[[Interval], Interval]) -> Rule:
    """A rule for floor and ceiling, as 64-bit integers."""

    def rule(op: ops.Unary, lower: Lower) -> Value:
        value, interval = numeric(lower(op.arg), name_of(op))
        if interval.integer:
            return value
        _small(op, interval)
        expr = cast(type(op)(value.expr).to_expr(), Kind.INTEGER)
        return checked_number(expr, interval_of(interval), nullable=value.nullable, what=name_of(op))

    return rule


def round_to_integer(op: ops.Round, lower: Lower) -> Value:
    """The nearest integer, halves up: floor(x + 1/2), the one rounding that all engines share."""
    value, interval = numeric(lower(op.arg), name_of(op))
    places = getattr(op.digits, "value", None)
    if not isinstance(places, int) or isinstance(places, bool) or abs(places) > MOST_PLACES:
        raise InvalidQuery(
            f"Expected .round() to a constant number of decimals, at most {MOST_PLACES}, got {name_of(op)}.\n"
            "Hint: write .round(2)."
        )
    if interval.integer and places >= 0:
        return value
    if places:
        return lower(_to_places(op.arg.to_expr(), places, whole=interval.integer))
    _small(op, interval)
    half = cast(ibis.literal(0.5), Kind.REAL)
    expr = cast(ops.Floor(ops.Add(value.expr, half)).to_expr(), Kind.INTEGER)
    return checked_number(expr, intervals.nearest(interval), nullable=value.nullable, what=name_of(op))


def _to_places(x: ir.Value, places: int, *, whole: bool) -> ops.Node:
    """floor(x 10^n + 1/2) / 10^n, in operations whose rules prove it; of whole numbers in whole numbers."""
    step = 10 ** abs(places)
    if whole:
        return ops.Multiply(ops.FloorDivide(ops.Add(x, step // 2), step), step)
    up, down = (ops.Multiply, ops.Divide) if places > 0 else (ops.Divide, ops.Multiply)
    return down(ops.Round(up(x, float(step)), 0), float(step))


def sign(op: ops.Sign, lower: Lower) -> Value:
    """-1, 0 or 1, as a 64-bit integer."""
    value, interval = numeric(lower(op.arg), name_of(op))
    low, high = (Fraction((end > 0) - (end < 0)) for end in (interval.low, interval.high))
    expr = cast(ops.Sign(value.expr).to_expr(), Kind.INTEGER)
    return checked_number(expr, Interval(low, high, integer=True), nullable=value.nullable, what=name_of(op))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Domain:
    """Where a function is finite: on [above, below], or without its lower end."""

    above: float
    below: float = math.inf
    open_end: bool = False

    def holds(self, interval: Interval) -> bool:
        """Whether the function is finite on all of an interval."""
        inside = self.above <= interval.low and interval.high <= self.below
        return inside and not (self.open_end and interval.low == self.above)

    def __str__(self) -> str:
        ends = [f"{'>' if self.open_end else '>='} {self.above:g}"] if math.isfinite(self.above) else []
        return " and ".join([*ends, *([f"<= {self.below:g}"] if math.isfinite(self.below) else [])])


def _function(function: Callable[[float], float], domain: _Domain, *, places: int, least: float | None = None) -> Rule:
    """A rule for an increasing function, computed to so many doubles, whose values are never below `least`."""

    def rule(op: ops.Unary, lower: Lower) -> Value:
        value = real(numeric(lower(op.arg), name_of(op))[0])
        interval = numeric(value, name_of(op))[1]
        if not domain.holds(interval):
            raise InvalidQuery(
                f"Expected an argument {domain}, got {name_of(op)}, whose argument lies in {float_text(interval)}.\n"
                "Hint: bound the argument with .clip(low, high)."
            )
        result = intervals.monotone(function, interval, places=places)
        if least is not None:  # what the mathematical library may be off does not cross the function's own bound
            result = intervals.greatest(result, intervals.point(least))
        return checked_number(type(op)(value.expr).to_expr(), result, nullable=value.nullable, what=name_of(op))

    return rule


def logarithm(op: ops.Log, lower: Lower) -> Value:
    """The natural logarithm, or one of base 2 or 10."""
    base = None if op.base is None else getattr(op.base, "value", None)
    named: dict[object, type[ops.Unary]] = {None: ops.Ln, 2: ops.Log2, 10: ops.Log10}
    if op.base is not None and base not in (2, 10):
        raise InvalidQuery(
            f"Expected a logarithm of base e, 2 or 10, got {name_of(op)}.\nHint: divide .log() by a constant."
        )
    return RULES[named[base]](named[base](op.arg), lower)


def clip(op: ops.Clip, lower: Lower) -> Value:
    """x clipped to [low, high]; NULL stays NULL."""
    value, interval = numeric(lower(op.arg), name_of(op))
    low, high = (None if end is None else _literal(op, end) for end in (op.lower, op.upper))
    if low is not None and high is not None and low > high:
        raise InvalidQuery(f"Expected low <= high, got {name_of(op)}.\nHint: write .clip(low, high).")
    if not intervals.clip(interval, low, high).integer:
        value, interval = numeric(real(value), name_of(op))
        low, high = (None if end is None else Fraction(float(end)) for end in (low, high))
    elif (low or 0) > LARGEST_INT or (high or 0) < SMALLEST_INT:
        raise InvalidQuery(f"Expected limits of 64 bits, got {name_of(op)}.\nHint: write .clip(0, 100).")
    result = intervals.clip(interval, low, high)
    cases = [] if low is None else [(value.expr < (end := _constant(low, value.kind)), end)]
    if high is not None:
        cases.append((value.expr > (end := _constant(high, value.kind)), end))
    expr = ibis.cases(*cases, (value.expr.notnull(), value.expr))
    return checked_number(expr, result, nullable=value.nullable, what=name_of(op))


def _literal(op: ops.Node, end: ops.Node) -> Fraction:
    if isinstance(end, ops.Literal) and isinstance(end.value, int | float) and math.isfinite(end.value):
        return Fraction(end.value)
    raise InvalidQuery(f"Expected finite numbers as limits, got {name_of(op)}.\nHint: write .clip(0, 100).")


def _constant(end: Fraction, kind: Kind) -> ir.Value:
    if kind is Kind.REAL:
        return cast(ibis.literal(float(end)), kind)
    return cast(ibis.literal(int(max(SMALLEST_INT, min(end, LARGEST_INT)))), kind)


def extreme(op: ops.Greatest | ops.Least, lower: Lower) -> Value:
    """The greatest or least of some numbers, or of some conditions; NULLs are ignored, as on the engines."""
    given = [lower(arg) for arg in op.arg]
    values = same_kind([numeric(value, name_of(op))[0] for value in given], name_of(op))
    parts = [numeric(value, name_of(op))[1] for value in values]
    present = [part for value, part in zip(values, parts, strict=True) if not value.nullable]
    chosen = intervals.greatest if isinstance(op, ops.Greatest) else intervals.least
    # NULLs are passed over, so only those that are never NULL are sure to have a say.
    interval = chosen(intervals.hull(*parts), *present) if present else intervals.hull(*parts)
    expr = type(op)(tuple(value.expr for value in values)).to_expr()
    nullable = all(value.nullable for value in values)
    if all(value.kind is Kind.BOOLEAN for value in given):
        return Value(ops.NotEquals(expr, 0).to_expr(), Kind.BOOLEAN, None, nullable)
    return checked_number(expr, interval, nullable=nullable, what=name_of(op))


RULES: dict[type[ops.Node], Rule] = {
    ops.Add: _closed(intervals.add),
    ops.Subtract: _closed(intervals.subtract),
    ops.Multiply: _closed(intervals.multiply),
    ops.Divide: divide,
    ops.FloorDivide: floor_divide,
    ops.Modulus: modulus,
    ops.Power: power,
    ops.Negate: _unary(intervals.negate),
    ops.Abs: _unary(intervals.absolute),
    ops.Floor: _whole(intervals.floor),
    ops.Ceil: _whole(intervals.ceiling),
    ops.Round: round_to_integer,
    ops.Sign: sign,
    ops.Sqrt: _function(math.sqrt, _Domain(above=0.0), places=0),
    ops.Log: logarithm,
    ops.Ln: _function(math.log, _Domain(above=0.0, open_end=True), places=8),
    ops.Log2: _function(math.log2, _Domain(above=0.0, open_end=True), places=8),
    ops.Log10: _function(math.log10, _Domain(above=0.0, open_end=True), places=8),
    ops.Exp: _function(math.exp, _Domain(above=-math.inf, below=LARGEST_POWER_OF_E), places=8, least=0.0),
    ops.Clip: clip,
    ops.Greatest: extreme,
    ops.Least: extreme,
}
