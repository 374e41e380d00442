"""Steps after the noise, run: on DuckDB, over the noisy table alone.

A value that cannot be calculated in a row is NULL there: a text that is no number, a root of what is below 0. A date or
timestamp outside the years 1 to 9999 is the first or last of them, as in the language. Noise decides what the values
are, after the charge, so none of them may make a step fail, or a format that the answer is written in.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute
from sqlglot import exp, parse_one

from discreet.errors import InvalidQuery, expected
from discreet.exact.amounts import exact_decimals
from discreet.inference.interval_propagation import HIGH, LOW, CalculatedInterval
from discreet.inference.post_processing import Processing, Step
from discreet.planning.plan import Plan

SETTINGS = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "temp_directory": "''",
    "disabled_optimizers": "'common_subexpressions'",
    "ieee_floating_point_ops": "false",
    "TimeZone": "'UTC'",
    "enable_external_access": "false",
    "lock_configuration": "true",
}
"""An answer fits in memory: nothing is fetched, nothing of the caller's is read, nothing is written to a disk. What
stands twice in a calculation stays inside of its TRY. Roots and logarithms of what has none fail there, and are no NaN,
which DuckDB takes for the largest number: `.clip(0, 2)` would make 2 of it. The last one keeps all of them."""

PLACE, CELL = "__discreet_place", "__discreet_cell"
CALCULATED, WINDOW = "__discreet_calculated_", "__discreet_window_"

FIRST_DAY, LAST_DAY = -719_162, 2_932_896
"""Of the years 1 and 9999, since 1970."""
DAY = 86_400
_DAYS = 366 * 10_000
ALL_YEARS = {"Y": 10_000, "Q": 40_000, "M": 120_000, "W": 530_000, "D": _DAYS} | {
    unit: _DAYS * DAY // seconds for unit, seconds in (("h", 3600), ("m", 60), ("s", 1))
}
"""So many units are more than there are from the first of them to the last."""
PARTS_OF_A_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}

HOLDERS = (
    *(exp.AggFunc, exp.Anonymous, exp.IgnoreNulls, exp.RespectNulls),
    *(exp.Distinct, exp.Filter, exp.Where, exp.Order, exp.Ordered),
)
"""Parts of a window function that hold what it is calculated from."""
OPERATORS = (*(exp.Binary, exp.Between, exp.In, exp.Is, exp.Not), *(exp.Neg, exp.BitwiseNot, exp.AtTimeZone))
"""What is written without a name, so that its place among others depends on how tightly each of them binds."""
EXISTING = "LIST_TRANSFORM([0], LAMBDA one: CASE WHEN ISNAN(one) THEN CAST(one AS BIGINT) ELSE one END)[1]"
"""A power in the place of 0, calculated once: DuckDB's of a negative number is NaN, whose cast fails, as roots do."""
PARTS_OF_CALLS = (exp.Slice, exp.Kwarg, exp.PropertyEQ)
"""Operators to sqlglot that are no operators of values."""


class Processed:
    """An answer after some steps: which of its rows are left, in which order, and the columns beside them."""

    def __init__(
        self,
        answer: pa.Table,
        plan: Plan,
        totals: list[NDArray[Any]],
        confidence: float,
        cells: NDArray[np.int64] | None = None,
    ) -> None:
        places = range(answer.num_rows) if cells is None else cells
        self._table = answer.append_column(CELL, pa.array(places, pa.int64()))
        self._plan, self._totals, self._confidence = plan, totals, confidence

    def after(self, processing: Processing, done: int = 0) -> pa.Table:
        """The table that the steps leave; the column `CELL` says which row of the answer each row is.

        Args:
            processing: all steps.
            done: how many of them the table has behind it, whose `cells` are its rows.
        """
        steps = processing.steps[done:]
        backend = _connection() if any(step.written for step in steps) else None
        for step in steps:
            if step.verb == "limit":
                rows = self._table.num_rows
                self._table = self._table.slice(min(step.offset, rows), min(step.count, rows))
            if step.written:
                self._table = _run(backend, self._table, step)
            for name, op in step.carried.items():
                self._add_ends(name, CalculatedInterval(op, self._plan, self._totals))
            self._table = self._table.select([*step.left, CELL])
        return self._table

    def _add_ends(self, name: str, carried: CalculatedInterval) -> None:
        cells = self._table[CELL].to_numpy()
        found = ends_at(carried, self._table[name], cells, self._confidence)
        for end, values in zip((LOW, HIGH), found, strict=True):
            self._table = _with(self._table, f"{name}{end}", pa.array(values, pa.float64()))


def ends_at(
    carried: CalculatedInterval, shown: pa.ChunkedArray, cells: NDArray[np.int64], confidence: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The ends of a calculated column in some rows of the answer, with the values that are shown between them: these
    are of whole counts, and the ends of the noisy ones. Whole numbers beyond the doubles' are the nearest of these.
    """
    ends = (np.asarray(end, dtype=np.float64) for end in carried.at(confidence))
    low, high = (end[cells] if end.ndim else np.full(cells.shape, end) for end in ends)
    values = shown.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.where(values < low, values, low), np.where(values > high, values, high)


def _connection() -> Any:
    try:
        import_module("duckdb")
    except ImportError:  # where answers of a service are read
        cure = "install duckdb, or take these steps with answer.to_pyarrow()."
        raise InvalidQuery(expected("DuckDB, by which steps after the noise are taken", "duckdb", None, cure)) from None
    backend = ibis.duckdb.connect()
    for name, value in SETTINGS.items():
        backend.con.execute(f"SET {name} = {value}")
    return backend


def _with(table: pa.Table, name: str, column: Any) -> pa.Table:
    if name in table.column_names:
        return table.set_column(table.column_names.index(name), name, column)
    return table.append_column(name, column)


def rehearse(processing: Processing) -> None:
    """Runs the steps on an answer without rows, so that what DuckDB refuses of them costs nothing.

    Raises:
        InvalidQuery: an operation that it does not have, or arguments that it does not take.
    """
    backend = _connection() if any(step.written for step in processing.steps) else None
    for step in processing.steps:
        if step.written:
            schema = {**step.shape.schema(), CELL: ibis.dtype("int64")}
            _run(backend, ibis.schema(schema).to_pyarrow().empty_table(), step)


def _run(backend: Any, table: pa.Table, step: Step) -> pa.Table:
    name = step.shape.get_name()
    backend.con.register(name, table.append_column(PLACE, pa.array(range(table.num_rows), pa.int64())))
    try:
        found = backend.con.sql(_statement(backend, step)).to_arrow_table()
        for column in _moments(step):
            found = _with(found, column, _within_calendar(found[column], step.written[column].type()))
    except Exception as problem:  # noqa: BLE001 (DuckDB has many classes; all it knows is the noisy table)
        reason = " ".join(str(problem).split())[:300]
        raise InvalidQuery(
            f"Expected a calculation that the answer's values allow, got {step.text}: {reason}\n"
            "Hint: leave this step out; an answer that was paid for is stored, and costs nothing without it."
        ) from None
    finally:
        backend.con.unregister(name)
    found = found.drop([PLACE, *(column for column in found.column_names if column.startswith(CALCULATED))])
    for i, column in enumerate(found.schema):
        if pa.types.is_decimal(column.type):  # sums of integers come out of DuckDB as these
            found = found.set_column(i, column.name, found[column.name].cast(pa.float64()))
    return found


def _moments(step: Step) -> list[str]:
    """The new columns that are dates or timestamps."""
    kinds = {name: value.type() for name, value in step.written.items() if step.verb == "mutate"}
    return [name for name, kind in kinds.items() if kind.is_date() or kind.is_timestamp()]


def _within_calendar(column: pa.ChunkedArray, kind: dt.DataType) -> pa.ChunkedArray:
    """Dates or timestamps, clipped to the years 1 to 9999; NULL stays NULL.

    DuckDB has other years, and an infinity, of which Python has none: what reads the answer would fail.
    """
    held, wanted = column.type, pa.date32() if kind.is_date() else pa.timestamp("us")
    days = pa.types.is_date32(held)
    parts = 1 if days else PARTS_OF_A_SECOND[held.unit] * DAY
    whole = column.cast(pa.int32() if days else pa.int64()).cast(pa.int64())
    # Of nanoseconds, 64 bits have no such years.
    low, high = max(FIRST_DAY * parts, -(2**63)), min((LAST_DAY + 1) * parts - 1, 2**63 - 1)
    clipped = compute.max_element_wise(compute.min_element_wise(whole, high, skip_nulls=False), low, skip_nulls=False)
    return (clipped.cast(pa.int32()) if days else clipped).cast(held).cast(wanted, safe=False)


def _statement(backend: Any, step: Step) -> str:
    """A step in SQL: what it calculates as columns of their own, by which it then chooses or sorts rows."""
    wide = ibis.table({**step.shape.schema(), PLACE: "int64", CELL: "int64"}, name=step.shape.get_name())
    made = {n: value.op().replace({step.shape.op(): wide.op()}) for n, value in step.written.items()}
    made = {n: op.replace(_by_real_numbers).replace(_of_one_type) for n, op in made.items()}
    names = {n: n if step.verb == "mutate" else f"{CALCULATED}{n}" for n in made}
    columns = {names[n]: (op.arg if isinstance(op, ops.SortKey) else op).to_expr() for n, op in made.items()}
    with exact_decimals():
        made_of = backend.compiler.to_sqlglot(wide.mutate([value.name(name) for name, value in columns.items()]))
    calculated = _total(made_of)
    asked = exp.select("*").from_(calculated.subquery("calculated"))
    if step.verb == "having":
        asked = asked.where(*(exp.column(name, quoted=True) for name in names.values()))
    if step.verb == "order_by":
        asked = asked.order_by(*(_sorted_by(names[n], op) for n, op in made.items()))
    return asked.order_by(exp.column(PLACE, quoted=True)).sql("duckdb")


def _by_real_numbers(op: ops.Node, replaced: Mapping[str, Any] | None) -> ops.Node:
    """A window that reaches by a value in whole numbers compares them as real ones, which do not overflow."""
    found = op.__recreate__(replaced) if replaced else op
    if not isinstance(found, ops.WindowFunction) or found.how != "range" or len(found.order_by) != 1:
        return found
    [key] = found.order_by
    if key.dtype.is_date() or key.dtype.is_timestamp():
        return found.copy(start=_within_years(found.start), end=_within_years(found.end))
    ends = [end.value for end in (found.start, found.end) if end is not None]
    if not key.dtype.is_integer() or all(isinstance(one, ops.Literal) and one.value == 0 for one in ends):
        return found
    return found.copy(order_by=(key.copy(arg=ops.Cast(key.arg, "float64")),))


def _within_years(end: Any) -> Any:
    """An end of a window that reaches no farther than all years there are, since DuckDB fails at what is beyond."""
    own = None if end is None else end.value
    if not isinstance(own, ops.Literal) or type(own.value) is not int:
        return end
    unit = own.dtype.unit.short if own.dtype.is_interval() else "D"
    most = min(own.value, ALL_YEARS.get(unit, own.value))
    return end.copy(value=own.copy(value=most))


def _of_one_type(op: ops.Node, replaced: Mapping[str, Any] | None) -> ops.Node:
    """What stands for the rows that LAG and LEAD do not have is cast here, in TRY: DuckDB's own cast may fail."""
    found = op.__recreate__(replaced) if replaced else op
    if not isinstance(found, ops.Lag | ops.Lead) or found.default is None or found.default.dtype == found.arg.dtype:
        return found
    return found.copy(default=ops.Cast(found.default, found.arg.dtype))


def _sorted_by(column: str, key: ops.Node) -> exp.Ordered:
    """By a column, in the direction of what it was calculated for; NULL comes last, or where the key has it."""
    return exp.Ordered(
        this=exp.column(column, quoted=True),
        desc=isinstance(key, ops.SortKey) and key.descending,
        nulls_first=isinstance(key, ops.SortKey) and key.nulls_first,
    )


def _total(statement: Any) -> Any:
    """The statement with every calculation in TRY, which is NULL where it fails.

    TRY takes no window functions: these come from a sub-query, with what they are calculated from in TRY.
    """
    for node in statement.walk():  # Ibis gives some lists of parts as tuples, into which sqlglot does not look
        for name, parts in [*node.args.items()]:
            if isinstance(parts, tuple):
                node.set(name, [*parts])
    statement = statement.copy()  # nor is what stands twice in it one node in two places then
    _let_powers_fail(statement)
    _set_apart(statement)
    for select in [*statement.find_all(exp.Select)]:
        windows: dict[exp.Expression, str] = {}
        for part in _calculations(select):
            for window in [*part.find_all(exp.Window)]:
                for operand in _operands(window):
                    _try(operand)
                name = windows.setdefault(window.copy(), f"{WINDOW}{len(windows)}")
                window.replace(exp.column(name, quoted=True))
        for part in _calculations(select):
            _try(part)
        if windows:
            _calculate_first(select, windows)
    return statement


def _let_powers_fail(statement: exp.Expression) -> None:
    """Makes a power that is no number one that cannot be calculated."""
    for power in [*statement.find_all(exp.Pow)]:
        if not power.expression.is_int:
            held = parse_one(EXISTING, dialect="duckdb")
            power.replace(held)
            held.this.this.set("expressions", [power])


def _set_apart(statement: exp.Expression) -> None:
    """Puts each operation inside of another in parentheses: Ibis leaves out those of NOT, IS, IN, BETWEEN and LIKE."""
    for node in [*statement.find_all(*OPERATORS)]:
        is_operand = isinstance(node.parent, OPERATORS) or (
            isinstance(node.parent, exp.Bracket) and node.arg_key == "this"
        )
        is_null_test = isinstance(node, exp.Not) and isinstance(node.this, exp.Null)  # so Ibis writes IS NOT NULL
        if is_operand and not is_null_test and not isinstance(node, PARTS_OF_CALLS):
            held = exp.Paren()
            node.replace(held)
            held.set("this", node)


def _calculations(select: exp.Select) -> list[exp.Expression]:
    """What a statement calculates, without the names."""
    return [column.this if isinstance(column, exp.Alias) else column for column in select.expressions]


def _operands(window: exp.Window) -> list[exp.Expression]:
    """What a window function is calculated from, beside constants, which it may demand other than as defaults."""
    inside = [window.this, *window.args.get("partition_by", []), *window.find_all(exp.Order)]
    nodes = (node for part in inside for node in part.walk(prune=lambda one: not isinstance(one, HOLDERS)))
    found = [node for node in nodes if not isinstance(node, HOLDERS) and node.find(exp.Column)]
    defaults = [shifted.args.get("default") for shifted in window.find_all(exp.Lag, exp.Lead)]
    return [*found, *(one for one in defaults if one is not None and not one.find(exp.Column))]


def _try(calculated: exp.Expression) -> None:
    if not isinstance(calculated, exp.Column | exp.Literal | exp.Star):
        calculated.replace(exp.Anonymous(this="TRY", expressions=[calculated.copy()]))


def _calculate_first(select: exp.Select, windows: Mapping[exp.Expression, str]) -> None:
    """Moves window functions to a sub-query below a statement."""
    source = select.args["from_"].this
    below = exp.select("*", *(exp.alias_(window, name, quoted=True) for window, name in windows.items())).from_(source)
    select.set("from_", exp.From(this=below.subquery(source.alias_or_name)))
