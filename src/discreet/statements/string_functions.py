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

from discreet.statements.constants import quoted, whole_number_of
from discreet.statements.scope import Lower, Scope

MOST_TIMES = 100
"""How often REPEAT has a text: the statement has it as often."""
ANY = None
"""A place in a pattern where any one character may stand."""
Signs = list[str | None]


def trimmed(node: exp.Trim, scope: Scope, lower: Lower) -> ir.Value:
    """TRIM, LTRIM and RTRIM, of white space."""
    side = {"LEADING": ops.LStrip, "TRAILING": ops.RStrip}.get(str(node.args.get("position")), ops.Strip)
    return side(lower(node.this, scope)).to_expr()


def substring(node: exp.Substring, scope: Scope, lower: Lower) -> ir.Value:
    """Characters from a place on, which counts from 1."""
    start = whole_number_of(node.args.get("start"), scope, "the first place", least=1)
    length = node.args.get("length")
    count = None if length is None else whole_number_of(length, scope, "the length", least=0)
    return lower(node.this, scope).substr(start - 1, count)


def left(node: exp.Left, scope: Scope, lower: Lower) -> ir.Value:
    """The first characters. A negative number is refused: it drops the last characters, but not on Spark."""
    return lower(node.this, scope).substr(0, whole_number_of(node.expression, scope, "the length", least=0))


def right(node: exp.Right, scope: Scope, lower: Lower) -> ir.Value:
    """The last characters; a negative number is refused, as for LEFT."""
    number = whole_number_of(node.expression, scope, "the length", least=0)
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
    length = whole_number_of(node.expression, scope, "the length", least=0)
    pad = node.args.get("fill_pattern")
    if pad is None and scope.text.dialect.name == "duckdb":
        raise scope.text.refusal("LPAD(x, 5, '0')", node, "name the character to fill with.")
    character = " " if pad is None else quoted(pad, scope, "the character to fill with", least=1)
    if len(character) > 1:
        raise scope.text.refusal("one character to fill with", node, "write LPAD(x, 5, '0').")
    operation = ops.LPad if node.args["is_left"] else ops.RPad
    return operation(lower(node.this, scope), length, character).to_expr().substr(0, length)


def repeated(node: exp.Repeat, scope: Scope, lower: Lower) -> ir.Value:
    """A text so many times, a constant number, as one text."""
    times = whole_number_of(node.args.get("times"), scope, "how often", least=0)
    if times > MOST_TIMES or any(inner is not node for inner in node.find_all(exp.Repeat)):
        cure = "repeat it less often, or join the results by ||."
        raise scope.text.refusal(f"REPEAT of at most {MOST_TIMES} times, not inside of another", node, cure)
    value = lower(node.this, scope)
    return ops.StringConcat((value,) * times).to_expr() if times else value.substr(0, 0)


def part(node: exp.SplitPart, scope: Scope, lower: Lower) -> ir.Value:
    """The part with a constant number; no text where there are fewer parts."""
    if node.args.get("part_index") is None:
        raise scope.text.refusal("SPLIT_PART(x, ',', 1)", node, "name the text to split by and the number of the part.")
    delimiter = quoted(node.args["delimiter"], scope, "the text to split by", least=1)
    number = whole_number_of(node.args["part_index"], scope, "the number of the part", least=1)
    value = lower(node.this, scope)
    found = ops.ArrayIndex(ops.StringSplit(value, delimiter), number - 1).to_expr()
    return found if number == 1 else ibis.cases((value.notnull(), found.fill_null("")))


def escaped(node: exp.Escape, scope: Scope, lower: Lower) -> ir.Value:
    """LIKE or ILIKE with ESCAPE, of patterns that say how a text starts, how it ends, or what it contains.

    No engine has to read an escape: what a pattern says is written as conditions with constant texts.
    """
    inner, cure = node.this, "write x LIKE '10!%%' ESCAPE '!'."
    if not isinstance(inner, exp.Like | exp.ILike):
        raise scope.text.refusal("LIKE before ESCAPE", node, cure)
    pattern = quoted(inner.expression, scope, "the pattern")
    sign = quoted(node.expression, scope, "the escape", least=1)
    escape = re.escape(sign)
    if len(sign) > 1 or not re.fullmatch(rf"(?:[^{escape}]|{escape}[%_{escape}])*", pattern):
        raise scope.text.refusal("one character of escape, before %, _ or itself", node, cure)
    value, ignores_case = lower(inner.this, scope), isinstance(inner, exp.ILike)
    if ignores_case and sign.lower() != sign.upper():  # engines take it in one case, in both, or in neither
        raise scope.text.refusal("an escape that is no letter beside ILIKE", node, cure)
    signs = re.findall(rf"{escape}.|.", pattern, re.DOTALL)
    if not {f"{sign}%", f"{sign}_"} & {*signs}:
        operation = ops.StringSQLILike if ignores_case else ops.StringSQLLike
        return operation(value, "".join(one[-1] for one in signs)).to_expr()
    if ignores_case:
        if not pattern.isascii():
            cure = "write LOWER(x) LIKE with small letters."
            raise scope.text.refusal("ILIKE of ASCII letters beside ESCAPE", node, cure)
        value = ops.Lowercase(value).to_expr()
    texts: list[Signs] = [[]]
    for one in signs:
        if one == "%":
            texts.append([])
        else:
            texts[-1].append(ANY if one == "_" else one[-1].lower() if ignores_case else one[-1])
    first, *middle, last = texts if len(texts) > 1 else [*texts, []]
    middle = [text for text in middle if text]
    if len(middle) > 1 or (middle and (last or ANY in middle[0])):
        cure = "combine simpler ones with AND; a sign without meaning is in its place: x LIKE 'a!_%' ESCAPE '!'."
        raise scope.text.refusal("a pattern with % at its ends or in its middle beside ESCAPE", node, cure)
    return _like(value, first, ["".join(map(str, text)) for text in middle], last, whole=len(texts) == 1)


def _like(value: ir.Value, first: Signs, middle: list[str], last: Signs, *, whole: bool) -> ir.Value:
    """Whether a text starts with one text, contains another one after it, and ends with a third one after both."""
    if whole and ANY not in first:
        return ops.Equals(value, "".join(map(str, first))).to_expr()
    held: list[ops.Value] = []
    if first:
        held += _at(value, first) if ANY in first else [ops.StartsWith(value, "".join(map(str, first)))]
    held += [ops.StringContains(value.substr(len(first)), text) for text in middle]
    if last:
        end = ops.StrRight(value, len(last)).to_expr()
        held += _at(end, last) if ANY in last else [ops.EndsWith(value, "".join(map(str, last)))]
    if (first and last) or ANY in first or ANY in last:
        compared = ops.Equals if whole else ops.GreaterEqual
        held.append(compared(ops.StringLength(value), len(first) + len(last)))
    return functools.reduce(ops.And, held).to_expr()


def _at(value: ir.Value, signs: Signs) -> list[ops.Value]:
    """Conditions that each run of known characters stands in its place, counted from the start of a text."""
    runs: list[tuple[int, str]] = []
    for place, sign in enumerate(signs):
        if sign is not ANY and runs and runs[-1][0] + len(runs[-1][1]) == place:
            runs[-1] = (runs[-1][0], runs[-1][1] + sign)
        elif sign is not ANY:
            runs.append((place, sign))
    return [ops.Equals(value.substr(place, len(run)), run) for place, run in runs]


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
    """A whole number as text, refused if it is a real number here or in SQL, whose text has a point or an exponent."""
    if (scope.is_answer and value.type().is_floating()) or scope.text.is_unclear(node):
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
