"""String functions of SQL, translated into Ibis."""

from __future__ import annotations

from collections.abc import Iterator

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.types as ir
from sqlglot import exp

from discreet.statements.constants import quoted, whole
from discreet.statements.scope import Lower, Scope


def trimmed(node: exp.Trim, scope: Scope, lower: Lower) -> ir.Value:
    """TRIM, LTRIM and RTRIM, of white space."""
    side = {"LEADING": ops.LStrip, "TRAILING": ops.RStrip}.get(str(node.args.get("position")), ops.Strip)
    return side(lower(node.this, scope)).to_expr()


def substring(node: exp.Substring, scope: Scope, lower: Lower) -> ir.Value:
    """Characters from a place on, which counts from 1."""
    start = whole(node.args.get("start"), scope, "the first place", least=1)
    length = node.args.get("length")
    count = None if length is None else whole(length, scope, "the length", least=0)
    return lower(node.this, scope).substr(start - 1, count)


def left(node: exp.Left, scope: Scope, lower: Lower) -> ir.Value:
    """The first characters. A negative number is refused: it drops the last characters, but not on Spark."""
    return lower(node.this, scope).substr(0, whole(node.expression, scope, "the length", least=0))


def right(node: exp.Right, scope: Scope, lower: Lower) -> ir.Value:
    """The last characters; a negative number is refused, as for LEFT."""
    number = whole(node.expression, scope, "the length", least=0)
    return ops.StrRight(lower(node.this, scope), number).to_expr()


def replaced(node: exp.Replace, scope: Scope, lower: Lower) -> ir.Value:
    """REPLACE of a constant, non-empty text by another one."""
    pattern = quoted(node.expression, scope, "the replaced text", least=1)
    if node.args.get("replacement") is None:
        raise scope.text.refusal("REPLACE(x, 'this', 'that')", node, "write '' for nothing in its place.")
    replacement = quoted(node.args["replacement"], scope, "the replacement")
    return ops.StringReplace(lower(node.this, scope), pattern, replacement).to_expr()


def piped(node: exp.DPipe, scope: Scope, lower: Lower) -> ir.Value:
    """Texts joined by ||: NULL if one of them is NULL."""
    return ops.StringConcat(tuple(_texts([node.this, node.expression], scope, lower))).to_expr()


def concatenated(node: exp.Concat, scope: Scope, lower: Lower) -> ir.Value:
    """Texts joined by CONCAT, which ignores NULL where the dialect does."""
    parts = list(_texts(node.expressions, scope, lower))
    if node.args.get("coalesce"):
        parts = [ops.Coalesce((part, "")).to_expr() for part in parts]
    return ops.StringConcat(tuple(parts)).to_expr()


def separated(node: exp.ConcatWs, scope: Scope, lower: Lower) -> ir.Value:
    """Texts joined by CONCAT_WS with a constant separator; every dialect ignores NULL here.

    Each text that is not NULL is preceded by the separator, and the first separator is removed.
    """
    if len(node.expressions) < 2:
        raise scope.text.refusal("CONCAT_WS(', ', x, y)", node, "name the texts to join.")
    first, *others = node.expressions
    separator = quoted(first, scope, "the separator")
    parts = [(part, ops.StringConcat((separator, part)).to_expr()) for part in _texts(others, scope, lower)]
    joined = tuple(ibis.ifelse(part.isnull(), "", follows) for part, follows in parts)
    return ops.StringConcat(joined).to_expr().substr(len(separator))


def as_text(value: ir.Value, node: exp.Expression, scope: Scope) -> ir.Value:
    """A whole number as text, refused if it is a real number in SQL, whose text has a point."""
    if scope.text.is_unclear(node):
        cure = "CAST it AS BIGINT first."
        raise scope.text.refusal("a number that is whole in the dialect too", node, cure)
    return ops.Cast(value, dt.string).to_expr()


def _texts(nodes: list[exp.Expression], scope: Scope, lower: Lower) -> Iterator[ir.Value]:
    """Operands as text: whole numbers look the same on every engine, and anything else has to be text already."""
    for node in nodes:
        value = lower(node, scope)
        if value.type().is_integer():
            value = as_text(value, node, scope)
        yield value
