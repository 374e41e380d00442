"""String functions of SQL, translated into Ibis."""

from __future__ import annotations

import functools
import re
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


def position(node: exp.StrPosition, scope: Scope, lower: Lower) -> ir.Value:
    """The place of a constant text, which counts from 1; 0 where it does not occur."""
    looked_for = quoted(node.args["substr"], scope, "what is looked for", least=1)
    return ops.StringFind(lower(node.this, scope), looked_for, None, None).to_expr() + 1


def padded(node: exp.Pad, scope: Scope, lower: Lower) -> ir.Value:
    """LPAD and RPAD to a constant length, which longer texts are cut to."""
    length = whole(node.expression, scope, "the length", least=0)
    pad = node.args.get("fill_pattern")
    if pad is None and scope.text.dialect.name == "duckdb":
        raise scope.text.refusal("LPAD(x, 5, '0')", node, "name the character to fill with.")
    character = " " if pad is None else quoted(pad, scope, "the character to fill with", least=1)
    if len(character) > 1:
        raise scope.text.refusal("one character to fill with", node, "write LPAD(x, 5, '0').")
    operation = ops.LPad if node.args["is_left"] else ops.RPad
    return operation(lower(node.this, scope), length, character).to_expr().substr(0, length)


def part(node: exp.SplitPart, scope: Scope, lower: Lower) -> ir.Value:
    """The part with a constant number; no text where there are fewer parts."""
    delimiter = quoted(node.args["delimiter"], scope, "the text to split by", least=1)
    number = whole(node.args.get("part_index"), scope, "the number of the part", least=1)
    value = lower(node.this, scope)
    found = ops.ArrayIndex(ops.StringSplit(value, delimiter), number - 1).to_expr()
    return found if number == 1 else ibis.cases((value.notnull(), found.fill_null("")))


def escaped(node: exp.Escape, scope: Scope, lower: Lower) -> ir.Value:
    """LIKE with ESCAPE, of patterns that say how a text starts, how it ends, or what it contains.

    No engine has to read an escape: what a pattern says is written as conditions with constant texts.
    """
    inner, cure = node.this, "write x LIKE '10!%%' ESCAPE '!'."
    if not isinstance(inner, exp.Like):
        raise scope.text.refusal("LIKE before ESCAPE", node, cure)
    pattern = quoted(inner.expression, scope, "the pattern")
    sign = quoted(node.expression, scope, "the escape", least=1)
    escape = re.escape(sign)
    if len(sign) > 1 or not re.fullmatch(rf"(?:[^{escape}]|{escape}[%_{escape}])*", pattern):
        raise scope.text.refusal("one character of escape, before %, _ or itself", node, cure)
    value = lower(inner.this, scope)
    signs = re.findall(rf"{escape}.|.", pattern, re.DOTALL)
    if not {f"{sign}%", f"{sign}_"} & {*signs}:
        return ops.StringSQLLike(value, "".join(one[-1] for one in signs)).to_expr()
    texts = [""]
    for one in signs:
        texts[-1:] = [texts[-1], ""] if one == "%" else [texts[-1] + one[-1]]
    first, *middle, last = texts if len(texts) > 1 else ["", *texts, ""]
    middle = [text for text in middle if text]
    if "_" in signs or len(middle) > 1 or (middle and last):
        cure = "combine simpler ones with AND; a sign without meaning is in its place: x LIKE 'a!_%' ESCAPE '!'."
        raise scope.text.refusal("a pattern with % at its ends or in its middle beside ESCAPE", node, cure)
    return value == texts[0] if len(texts) == 1 else _like(value, first, middle, last)


def _like(value: ir.Value, first: str, middle: list[str], last: str) -> ir.Value:
    """Whether a text starts with one text, contains another one after it, and ends with a third one after both."""
    held = [ops.StartsWith(value, first)] if first else []
    held += [ops.StringContains(value.substr(len(first)), text) for text in middle]
    held += [ops.EndsWith(value, last)] if last else []
    if first and last:
        held.append(ops.GreaterEqual(ops.StringLength(value), len(first) + len(last)))
    return functools.reduce(ops.And, held).to_expr()


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
