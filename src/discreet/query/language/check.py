"""From what the analyst wrote to checked values: an allow-list, walked node by node.

Claim
    `checked` returns only expressions in which the value of each row depends on that row alone, and which no row can
    make raise.
Requires
    Columns whose kinds and intervals `scan` enforces.
Relies on
    The rules of `arithmetic`, `logic` and `text`, one for each allowed class of operation; Ibis for the tree.
Proof
    By induction over the tree. A leaf is a constant or a column of this very table (fields of any other relation are
    refused). A node is rebuilt by the rule of its class from checked arguments; each rule rebuilds a row-wise operation
    and proves from its arguments' intervals that the operation is total on them. A class without a rule (windows,
    aggregates, sub-queries, random numbers, functions of the user's) is refused.
Rounding
    None here.
Source
    Haeberlen, Pierce and Narayan, "Differential privacy under fire" (2011): a query that can raise, stall or keep state
    on one row leaks it.
Mutant
    any-relation: fields of other tables are taken for fields of this one; killed by
    test_fields_of_other_tables_are_refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ibis.expr.operations as ops
import ibis.expr.types as ir

from discreet.errors import InvalidQuery, nearest
from discreet.query.language import arithmetic, logic, text
from discreet.query.language.literals import constant
from discreet.query.language.values import Rule, Value

RULES: dict[type[ops.Node], Rule] = {**arithmetic.RULES, **logic.RULES, **text.RULES}
"""Every operation of the language."""

CURES: dict[type[ops.Node], str] = {
    ops.WindowFunction: "a window looks at other rows. Aggregate with .group_by(...).agg(...) instead.",
    ops.Reduction: "an aggregate belongs in .agg(...), not inside a row-wise expression.",
    ops.Subquery: "a sub-query looks at other rows.",
    ops.RandomScalar: "the noise is added by the release.",
    ops.IsNan: "NaN is read as NULL: use .isnull().",
    ops.IsInf: "infinities are read as the nearest bound.",
    ops.ScalarUDF: "functions of your own cannot be checked.",
}


def bind(visible: ir.Table, written: Any) -> ir.Value:
    """What the analyst wrote (an expression, `_`, a lambda, a column's name), as one expression over `visible`."""
    try:
        bound = visible.bind(written)
    except AttributeError as problem:
        raise InvalidQuery(
            f"Expected a known column or method, got {problem.name!r}.\nHint: {nearest(str(problem.name), visible.columns)}"
        ) from None
    except (TypeError, ValueError) as problem:
        if "truth value" in str(problem):
            raise InvalidQuery(
                "Expected & and | between conditions, got `and`, `or`, `not` or a chained comparison.\n"
                "Hint: use & and parentheses: (_.age >= 18) & (_.age < 65)."
            ) from None
        raise InvalidQuery(
            f"Expected an Ibis expression, got {written!r}.\nHint: write for example _.age >= 18."
        ) from None
    except Exception as problem:  # Ibis has many classes of its own for a wrong expression
        raise InvalidQuery(
            f"Expected a valid Ibis expression, got one that Ibis refuses: {problem}\nHint: write for example _.age >= 18."
        ) from None
    if len(bound) != 1:
        raise InvalidQuery(f"Expected one expression, got {len(bound)}.\nHint: write one at a time.")
    value: ir.Value = bound[0]
    return value


def checked(expr: ir.Value, tables: Mapping[ops.Relation, Mapping[str, Value]]) -> Value:
    """The checked form of a bound expression; `tables` gives the columns of each relation whose fields it may use."""

    def lower(op: ops.Node) -> Value:
        if isinstance(op, ops.Field):
            return column(op, tables)
        if isinstance(op, ops.Literal):
            return constant(op.value)
        if isinstance(op, ops.Alias):
            return lower(op.arg)
        rule = RULES.get(type(op))
        if rule is None:
            raise InvalidQuery(refusal(op))
        return rule(op, lower)

    return lower(expr.op())


def column(op: ops.Field, tables: Mapping[ops.Relation, Mapping[str, Value]]) -> Value:
    """The column that a field names."""
    columns = tables.get(op.rel)
    if columns is None:
        raise InvalidQuery(
            f"Expected columns of this table, got {op.name!r} of another one.\nHint: write _.{op.name}, which means this table's column."
        )
    if op.name not in columns:
        raise InvalidQuery(
            f"Expected a column that is still there, got {op.name!r}.\nHint: {nearest(op.name, columns)}"
        )
    return columns[op.name]


def refusal(op: ops.Node) -> str:
    """Why an operation is outside the language, and what to write instead."""
    cure = next(
        (cure for kind, cure in CURES.items() if isinstance(op, kind)),
        "see docs/language.md for the operations that are allowed.",
    )
    return (
        f"Expected operations on one row at a time, got {type(op).__name__} in {arithmetic.name_of(op)}.\nHint: {cure}"
    )
