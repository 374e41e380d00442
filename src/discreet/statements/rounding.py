"""ROUND and TRUNC of SQL: to whole numbers, and to a number of decimals, with each dialect's halves.

DuckDB rounds the double x 10^n, halves away from zero. Spark rounds the shortest decimal that means the double, and
PostgreSQL decimals alone: there 1.005 is a half, though the double beside it is less.
"""

from __future__ import annotations

import math

import ibis
import ibis.expr.operations as ops
import ibis.expr.types as ir
from sqlglot import exp

from discreet.statements.casts import toward_zero
from discreet.statements.constants import number_of
from discreet.statements.scope import Lower, Scope
from discreet.statements.statement_text import located

BEFORE_HALF = math.nextafter(0.5, 0)
"""The largest double below a half."""
MOST_PLACES = 15
"""Of this many digits and fewer, each decimal is the shortest one that means its double."""
EXACT = (exp.Add, exp.Sub, exp.Mul, exp.Neg, exp.Paren)
"""What is a decimal in the dialects if it is made of decimals."""


def rounded(node: exp.Round | exp.Trunc, scope: Scope, lower: Lower) -> ir.Value:
    """The nearest number with so many decimals; or the next whole number toward zero."""
    places = 0 if node.args.get("decimals") is None else number_of(node.args["decimals"])
    if not isinstance(places, int) or abs(places) > MOST_PLACES:
        what = f"{node.key.upper()} to a constant number of decimals, at most {MOST_PLACES}"
        raise scope.text.refusal(what, node, "write ROUND(x, 2).")
    value = lower(node.this, scope)
    if value.type().is_boolean():
        raise scope.text.refusal(
            f"a number in {node.key.upper()}", node, "of a condition, write CASE WHEN x THEN 1 END."
        )
    if isinstance(node, exp.Trunc):
        if places:
            raise scope.text.refusal("TRUNC to whole numbers", node, "write ROUND(x, 2).")
        return value if value.type().is_integer() else toward_zero(value)
    if value.type().is_integer():
        return value if places >= 0 else _whole(value, 10**-places)
    _check_type(node, scope, lower)
    if scope.text.dialect.name != "duckdb" and node.args.get("decimals") is not None:
        return _decimal(value, places, node, scope)
    if scope.is_answer:
        return ops.Round(value, places).to_expr()
    factor = 10.0 ** abs(places)
    scaled = value if not places else value * factor if places > 0 else value / factor
    # With 1/2 itself, 0.49999999999999994 would be 1.
    nearest = ibis.ifelse(scaled < 0, (scaled - BEFORE_HALF).ceil(), (scaled + BEFORE_HALF).floor())
    return nearest if not places else nearest / factor if places > 0 else nearest * factor


def _check_type(node: exp.Round, scope: Scope, lower: Lower) -> None:
    """Refuses real numbers whose halves depend on whether they are doubles or decimals in the dialect."""
    dialect = scope.text.dialect.name
    if dialect == "postgres" and node.args.get("decimals") is None:
        cure = "PostgreSQL rounds halves to even, or away from zero, by type: write FLOOR(x + 0.5)."
        raise scope.text.refusal("FLOOR or CEIL", node, cure)
    if scope.is_answer:
        return
    inner = node.this.unnest()
    if dialect == "postgres" and not isinstance(inner, exp.Column):
        cure = "it rounds decimals alone, and we calculate with doubles: write FLOOR(x * 100 + 0.5) / 100."
        raise scope.text.refusal("ROUND of a column", node, cure)
    parts = [part for part in inner.walk(prune=lambda one: not isinstance(one, EXACT)) if not isinstance(part, EXACT)]
    reals = [part for part in parts if lower(part, scope).type().is_floating()]
    if reals and all(isinstance(part, exp.Literal) for part in reals):
        cure = "beside whole numbers, 0.5 is a decimal in SQL: write ROUND(CAST(x AS DOUBLE) * 0.35, 1)."
        raise scope.text.refusal("ROUND of a double", node, cure)


def _whole(value: ir.Value, step: int) -> ir.Value:
    """The nearest multiple of a power of ten, halves away from zero."""
    up = (value.abs() + step // 2) // step * step
    return ibis.ifelse(value < 0, -up, up)


def _decimal(value: ir.Value, places: int, node: exp.Expression, scope: Scope) -> ir.Value:
    """The nearest number with so many decimals to the shortest decimal that means a double, halves away from zero.

    A decimal of at most 15 digits is the shortest one that means the double beside it, so that a double is at or above
    a half exactly if it is at or above the double beside that half.
    """
    factor = 10.0 ** abs(places)
    if not scope.is_answer:
        with located(scope.text, node):
            interval = scope.table._check(value.abs() * factor if places > 0 else value.abs() / factor).interval  # noqa: SLF001 - what is proved has no public name
        if interval is None or interval.high >= 10 ** (MOST_PLACES - 1):
            cure = "give its columns bounds in dp.protect(bounds=...)."
            raise scope.text.refusal(f"numbers of at most {MOST_PLACES} digits", node, cure)

    def up(size: ir.Value) -> ir.Value:
        below = (size * factor if places > 0 else size / factor).floor()
        half = (below + 0.5) / factor if places > 0 else (below + 0.5) * factor
        steps = below + ibis.ifelse(size >= half, 1, 0)
        return steps / factor if places > 0 else steps * factor

    return ibis.ifelse(value < 0, -up(-value), up(value))
