"""Which unit has which value of a column: the expression that an engine runs to count values that nobody listed.

Claim
    `unit_value_pairs` has each distinct pair of a unit and a value that is not NULL once, both as numbers from 1 on:
    equal units have one number, different ones different numbers, and so have values. Where each row is a unit, each
    value is its own unit, which is the same number of values.
Requires
    Rows behind the barrier of `language.input_barrier`; values that compare exactly.
Relies on
    `DISTINCT` and `DENSE_RANK` of exact values.
Proof
    By reading. Which numbers they are depends on others' rows, and does not matter to the size of an assignment.
Rounding
    None.
Source
    discreet's own.
Mutant
    values-of-pairs: each pair of a unit and a value is a value; killed by test_values_are_counted_once.
    condition-left-out: rows for which the condition is not true count; killed by test_conditions_are_on_rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ibis
import ibis.expr.types as ir

from discreet.language.input_barrier import UNIT as HIDDEN
from discreet.planning.contribution_bounding import units
from discreet.planning.plan import PricedValues, Query

UNIT, VALUE = "unit", "value"


def value_pairs(relation: ir.Table, of_unit: Sequence[ir.Value], value: ir.Value) -> ir.Table:
    """The pairs, given the columns that name the unit: none where each row is one."""
    hidden = [f"{UNIT}_{i}" for i in range(len(of_unit))]
    rows = relation.select(**dict(zip(hidden, of_unit, strict=True)), **{VALUE: value})
    rows = rows.filter(rows[VALUE].notnull()).distinct()
    by = [rows[one] for one in hidden] or [rows[VALUE]]
    unit = ibis.dense_rank().over(ibis.window(order_by=by)).cast("int64")
    number = ibis.dense_rank().over(ibis.window(order_by=[rows[VALUE]])).cast("int64")
    return rows.select(**{UNIT: unit, VALUE: number})


def pairs_of(query: Query, priced: PricedValues) -> ir.Table:
    """Those of a column of an answer."""
    value: Any = priced.value.expr
    if priced.where is not None:
        value = ibis.ifelse(priced.where.expr, value, ibis.null(value.type()))
    named = sorted(units(query.relation), key=lambda name: int(name.removeprefix(HIDDEN)))
    return value_pairs(query.relation, [query.relation[name] for name in named], value)
