"""Reads the constants that a statement has to state: numbers, whole numbers, texts."""

from __future__ import annotations

import math

from sqlglot import exp

from discreet.statements.scope import Scope

LONGEST = 40
"""No column holds a whole number of so many digits."""


def number_of(node: exp.Expression) -> int | float | None:
    """The number that a node is; None if it is not a number."""
    if isinstance(node, exp.Paren):
        return number_of(node.this)
    if isinstance(node, exp.Neg):
        value = number_of(node.this)
        return None if value is None else -value
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    digits = node.this.replace("_", "")
    if not digits.isdigit():
        return float(node.this)
    return int(digits) if len(digits) <= LONGEST else math.inf


def whole_number_of(node: exp.Expression | None, scope: Scope, what: str, *, least: int) -> int:
    """The whole number that a node is; refuses other nodes and smaller numbers."""
    value = None if node is None else number_of(node)
    if node is None or not isinstance(value, int) or value < least:
        got = node if node is not None else exp.null()
        raise scope.text.refusal(f"{what} as a whole number of {least} or more", got, "write it as a number.")
    return value


def quoted(node: exp.Expression, scope: Scope, what: str, *, least: int = 0) -> str:
    """The text that a node is; refuses other nodes and shorter texts."""
    if not isinstance(node, exp.Literal) or not node.is_string or len(node.this) < least:
        longer = f" of {least} or more characters" if least else ""
        raise scope.text.refusal(f"{what} as a text{longer}", node, "write it in single quotes.")
    return str(node.this)
