"""Checks what the analyst wrote node by node, by an allow-list, and returns checked values.

Claim
    `checked` returns only expressions in which the value of each row depends on that row alone, which no row can make
    raise, whose numbers lie in the interval that it states, and which can be NULL only where it says so.
Requires
    Columns whose kinds and intervals `scan` enforces.
Relies on
    The rules of `arithmetic`, `logic` and `text`, one for each allowed class of operation; Ibis for the tree.
Proof
    By induction over the tree. A leaf is a constant or a column of this very table (fields of any other relation are
    refused). A node is rebuilt by the rule of its class from checked arguments; each rule rebuilds a row-wise operation
    and proves from its arguments' intervals that the operation is total on them. A class without a rule (windows,
    aggregates, sub-queries, random numbers, functions of the user's) is refused. Size and depth are limited, so that
    no statement is too long or too deep for the engine; neither depends on a row.
Rounding
    None here.
Source
    Haeberlen, Pierce and Narayan, "Differential privacy under fire" (2011): a query that can raise, stall or keep state
    on one row leaks it.
Mutant
    any-relation: fields of other tables are taken for fields of this one; killed by
    test_fields_of_other_tables_are_refused.
    frames-in-the-words-of-ibis: a refusal quotes what Ibis says of an argument, rows and all; killed by
    test_what_ibis_says_of_a_frame_shows_none_of_its_rows.
    arrays-in-the-words-of-ibis: it quotes an array that a column is compared with; killed by
    test_what_ibis_says_of_an_array_shows_none_of_its_values.
    texts-that-write-themselves: a text of a class of the caller's is taken as it is; killed by
    test_a_text_that_writes_itself_is_what_it_holds.
    arrays-as-constants: an array is a constant, which a refusal writes out; killed by
    test_an_array_is_no_expression_and_shows_none_of_its_values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import ibis
import ibis.expr.operations as ops
import ibis.expr.types as ir
from ibis.common.annotations import SignatureValidationError
from ibis.common.deferred import Deferred
from ibis.common.exceptions import InputTypeError

from discreet.errors import DiscreetError, InvalidQuery, nearest_name, shown
from discreet.guesses.column_words import GROUPED, as_expression, method_line
from discreet.language import arithmetic, binning, dates, logic, text
from discreet.language.checked_expressions import LEAF, Lower, Measure, Rule, Value
from discreet.language.literals import check_moments, constant
from discreet.language.protected_columns import NothingRuns
from discreet.language.unsupported_columns import no_column

RULES: dict[type[ops.Node], Rule] = {**arithmetic.RULES, **logic.RULES, **text.RULES, **dates.RULES, **binning.RULES}
"""Every operation of the language."""

NONE: Mapping[str, str] = {}
MISSING = re.compile(r"Column '(.*)' is not found in table")
"""Ibis's message for an unknown `_["name"]`."""
HELD = re.compile(r"Literal\(.*\):(?=(array|map|struct)<)", re.DOTALL)
"""What Ibis quotes of the values of an array, before its type."""
DEEPEST = 100
"""The most nested operations, over all steps of a chain: engines parse a statement recursively."""
LARGEST_EXPRESSION = 20_000
"""The most operations and constants of one expression, written out."""
REPEATS: dict[type[ops.Node], int] = {
    **dict.fromkeys((ops.Substring, ops.TryCast), 2),
    ops.ArrayIndex: 3,
    **dict.fromkeys((ops.LPad, ops.RPad), 4),
}
"""How often a statement repeats the arguments of an operation, where that is more than once."""

Columns = Mapping[str, Value]
Tables = Mapping[ops.Relation, Columns]
"""The columns of each relation whose fields an expression may use."""

CURES: dict[type[ops.Node], str] = {
    ops.WindowFunction: "a window looks at other rows. Aggregate with .group_by(...).agg(...) instead.",
    ops.Reduction: "an aggregate belongs in .agg(...), not inside a row-wise expression.",
    ops.Subquery: "a sub-query looks at other rows.",
    ops.RandomScalar: "the noise is added by the release.",
    ops.IsNan: "NaN is read as NULL: use .isnull().",
    ops.IsInf: "infinities are read as the nearest bound.",
    ops.DateDiff: "for the days between two dates, write .delta(..., unit='day').",
    ops.TimestampDiff: "subtract .epoch_seconds(), or write .delta(..., unit='day').",
    ops.StringSlice: "write .substr(0, 2), of constant places.",
    ops.RegexSearch: "write .contains('a') or .like('a%'): engines differ in what a pattern means.",
    ops.Unnest: "a list makes several rows of one: write .unnest(code=[_.first, _.second]).",
    ops.StringSplit: "the parts of a text are rows: write .unnest(word=_.text.split(','), max_items=5).",
    ops.ScalarUDF: "functions of your own cannot be checked.",
}


def bind(visible: ir.Table, written: Any, closed: Mapping[str, str] = NONE) -> ir.Value:
    """Resolves what the analyst wrote (an expression, `_`, a lambda, a column's name) to an expression over `visible`.

    Of the `closed` columns, which are there and not read, a refusal says so.
    """
    try:
        bound = _resolved(visible, written, closed)
    except DiscreetError as problem:
        if isinstance(problem, NothingRuns) and _is_function(written):  # NumPy's would run what it is of
            raise InvalidQuery(unbound(problem, written)) from None
        raise
    except RecursionError:
        raise InvalidQuery(too_deep()) from None
    except Exception as problem:  # noqa: BLE001 - Ibis has many classes of its own for a wrong expression
        missing = _missing(problem)
        if missing in closed:
            raise InvalidQuery(no_column(missing, visible.columns, closed)) from None
        if isinstance(problem, AttributeError):
            raise InvalidQuery(unknown(problem, visible)) from None
        raise InvalidQuery(unbound(problem, written)) from None
    if isinstance(bound, ir.Table) and bound.op() != visible.op():
        said = "Expected an expression of a row, got a table, as .value_counts() and .topk() make one."
        raise InvalidQuery(f"{said}\nHint: {GROUPED}")
    if not isinstance(bound, ir.Value):
        raise InvalidQuery(
            f"Expected an Ibis expression, got a {type(bound).__name__}.\n"
            "Hint: write for example _.age >= 18; a column that has the name of a method is _['count']."
        )
    return _of_plain_texts(bound)


def _of_plain_texts(bound: ir.Value) -> ir.Value:
    """The same expression, whose texts and names are no objects of the caller's, which may write themselves otherwise
    than they compare.
    """
    plain: dict[ops.Node, ops.Node] = {}
    for op in bound.op().find((ops.Literal, ops.Field)):
        if isinstance(op, ops.Field) and type(op.name) is not str:
            plain[op] = ops.Field(op.rel, str.__str__(op.name))
        elif isinstance(op, ops.Literal) and isinstance(op.value, str) and type(op.value) is not str:
            plain[op] = ops.Literal(str.__str__(op.value), op.dtype)
    return bound.op().replace(plain).to_expr() if plain else bound


def _missing(problem: Exception) -> str:
    """The column of a table that Ibis did not find, `_.name` or `_["name"]`; empty for other problems."""
    if isinstance(problem, AttributeError):
        return "" if isinstance(problem.obj, ir.Value) else str(problem.name)
    found = MISSING.match(str(problem))
    return found[1] if found else ""


def _resolved(visible: ir.Table, written: Any, closed: Mapping[str, str]) -> Any:
    check_moments(written)
    # Not by visible.bind(), which spells out a name for the expression: a doubled expression has no short one.
    if isinstance(written, str):
        if written not in visible.columns:
            line = as_expression(written, visible.columns)
            if line and written not in closed:
                raise InvalidQuery(f"Expected the name of a column, got {written!r}.\nHint: {line}")
            raise InvalidQuery(no_column(written, visible.columns, closed))
        return visible[written]
    if isinstance(written, Deferred):
        return written.resolve(visible)
    if isinstance(written, ir.Expr):
        return written
    if callable(written):
        return _resolved(visible, written(visible), closed)
    if hasattr(written, "__len__"):  # an array or a frame, whose rows a literal would show
        raise InvalidQuery(_no_expression(written))
    return ibis.literal(written)


def _no_expression(written: object) -> str:
    cure = "write for example _.age >= 18."
    if hasattr(type(written), "release"):
        cure = "inside of .agg(...) write an expression, n=_.count(): a question is released by itself."
    return f"Expected an Ibis expression, got {shown(written)}.\nHint: {cure}"


def unknown(problem: AttributeError, visible: ir.Table) -> str:
    """Why a name is neither a column nor a method of one."""
    if isinstance(problem.obj, ir.Value):
        kind = str(problem.obj.type())
        cure = method_line(str(problem.name), dir(type(problem.obj)))
        return f"Expected a method that a column of type {kind} has, got .{problem.name}.\nHint: {cure}"
    cure = nearest_name(str(problem.name), visible.columns)
    return f"Expected a known column or method, got {problem.name!r}.\nHint: {cure}"


def _is_function(written: object) -> bool:
    """Whether it is a function with a name, which knows nothing of columns."""
    named = getattr(written, "__name__", "<lambda>") != "<lambda>"
    return callable(written) and named and not isinstance(written, ir.Value | Deferred)


def unbound(problem: Exception, written: Any) -> str:
    """Why Ibis refuses what was written."""
    if "truth value" in str(problem):
        return (
            "Expected & and | between conditions, got `and`, `or`, `not` or a chained comparison.\n"
            "Hint: use & and parentheses: (_.age >= 18) & (_.age < 65)."
        )
    if _is_function(written):
        said = f"Expected an expression of columns, got the function {written.__name__}."
        return f"{said}\nHint: write _.age.mean() for an aggregate, _.visits / 12 for a column."
    if not callable(written) and not isinstance(written, ir.Value | Deferred):
        return _no_expression(written)
    reason = " ".join(_reason(problem).split())[:500].rstrip(".")
    return f"Expected an expression that Ibis accepts, got one that it refuses.\nHint: Ibis says: {reason}."


def _reason(problem: Exception) -> str:
    """What Ibis says, without the texts of arguments, which may be frames and show their rows."""
    if isinstance(problem, InputTypeError):
        return "an argument is of a type that it does not know."
    if not isinstance(problem, SignatureValidationError) or not problem.errors:
        said = HELD.sub("", str(problem.__cause__ if isinstance(problem, SignatureValidationError) else problem))
        return f"{type(problem).__name__}." if "\n" in said else said  # a frame has several lines
    return "; ".join(
        f"{name}={_argument(value)} is not {pattern.describe()}" for name, value, pattern in problem.errors
    )


def _argument(value: object) -> str:
    """An argument as it was written; an expression by its type, for it may hold an array, and a column by its name."""
    if isinstance(value, ir.Value):
        named = f"{value.get_name()} of " if isinstance(value.op(), ops.Field) else ""
        return f"{named}type {value.type()}"
    if isinstance(value, list | tuple):
        return ", ".join(map(_argument, value))
    return shown(value)


def checked(expr: ir.Value, tables: Tables) -> Value:
    """The checked form of a bound expression; `tables` gives the columns of each relation whose fields it may use."""
    op = expr.op()
    limited(measured(op, {}))
    value = lowered(op, tables)
    own = {column.expr.op(): column for columns in tables.values() for column in columns.values()}
    measure = measured(value.expr.op(), {field: column.measure for field, column in own.items()})
    limited(measure)
    narrow = value.interval
    if any(own[field].unbounded for field in value.expr.op().find(ops.Field, filter=ops.Value)):
        halved = {rel: {name: _narrowed(c) for name, c in columns.items()} for rel, columns in tables.items()}
        narrow = lowered(op, halved).interval
    return replace(value, narrow=narrow, measure=measure, text=arithmetic.name_of(op))


def _narrowed(column: Value) -> Value:
    return replace(column, interval=column.narrow)


def lowered(root: ops.Node, tables: Tables) -> Value:
    """Applies the rules, from the leaves up."""
    done: dict[ops.Node, Value] = {}

    def lower(op: ops.Node) -> Value:
        if op not in done:
            done[op] = _apply(op, tables, lower)
        return done[op]

    return lower(root)


def _apply(op: ops.Node, tables: Tables, lower: Lower) -> Value:
    if isinstance(op, ops.Field):
        return column(op, tables)
    if isinstance(op, ops.Literal) and op.dtype.is_interval():
        cure = "add it to a date or a time, _.day + ibis.interval(days=30); it is no number."
        raise InvalidQuery(
            f"Expected a number, text, a truth value or a date, got {arithmetic.name_of(op)}.\nHint: {cure}"
        )
    if isinstance(op, ops.Literal):
        return constant(op.value)
    if isinstance(op, ops.Alias):
        return lower(op.arg)
    rule = RULES.get(type(op))
    if rule is None:
        raise InvalidQuery(operation_refusal(op))
    return rule(op, lower)


def measured(root: ops.Node, columns: Mapping[ops.Node, Measure]) -> Measure:
    """The size of an expression; engines write a column of an earlier step out again where it is used."""

    def measure(op: ops.Node, found: Mapping[ops.Node, Measure], /, **_: object) -> Measure:
        parts = [found[child] for child in op.__children__ if child in found]
        if not parts:
            return columns.get(op, LEAF)
        deepest, size = max(part.depth for part in parts), sum(part.size for part in parts)
        return Measure(1 + deepest, 1 + REPEATS.get(type(op), 1) * size)

    results: dict[ops.Node, Measure] = root.map(measure, filter=ops.Value)
    return results[root]


def limited(measure: Measure) -> None:
    """Refuses expressions that are too large for an engine's parser."""
    if measure.depth > DEEPEST:
        raise InvalidQuery(too_deep())
    if measure.size > LARGEST_EXPRESSION:
        raise InvalidQuery(
            f"Expected expressions of at most {LARGEST_EXPRESSION:,} operations and constants, got a larger one.\n"
            "Hint: use a computed column fewer times, or replace a long list by a range."
        )


def too_deep() -> str:
    """The refusal of an expression that nests too deep."""
    return (
        f"Expected at most {DEEPEST} nested operations, got more.\n"
        "Hint: replace long chains of | by .isin(...), and long chains of + by a column of the source."
    )


def column(op: ops.Field, tables: Tables) -> Value:
    """The column that a field names."""
    columns = tables.get(op.rel)
    if columns is None:
        raise InvalidQuery(
            f"Expected columns of this table, got {op.name!r} of another one.\n"
            f"Hint: write _.{op.name}, which means this table's column."
        )
    if op.name not in columns:
        raise InvalidQuery(
            f"Expected a column that was not rewritten, got {op.name!r}.\n"
            f"Hint: {nearest_name(op.name, columns)} A rewritten column is written _.{op.name}."
        )
    return columns[op.name]


def operation_refusal(op: ops.Node) -> str:
    """Why an operation is outside the language, and what to write instead."""
    cure = next(
        (cure for kind, cure in CURES.items() if isinstance(op, kind)),
        "discreet docs language lists the operations that are allowed.",
    )
    return f"Expected operations on one row at a time, got {arithmetic.name_of(op)}.\nHint: {cure}"
