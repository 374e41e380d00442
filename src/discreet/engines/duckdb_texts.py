"""Texts as computed values: for those of files there are no statistics, and those of columns have no collation left.

Claim
    `computed_text(t)` is t, and NULL where t is. DuckDB decides no comparison of it by what a file says of t. Under the
    option `TOTAL`, no bytes of a text make a look at a Parquet file fail. `with_computed_texts` gives the intersection
    or the difference of the same rows, whose texts, each under COLLATE C, are equal if and only if their bytes are.
Requires
    Nothing of the rows.
Relies on
    DuckDB keeps statistics of columns and of the expressions that it sees through, of which `concat` within CASE is
    none (tested, on files with statistics that are wrong). It reads what is not UTF-8 as the option says (tested).
    It sees through no CASE to a column, and a text under COLLATE C has that collation behind one (tested).
Proof
    concat of a text with the empty one is that text; where it is NULL, CASE is NULL. Writers of before 2018 left the
    least and the largest text of a row group by signed bytes, with "é" below "b": then both are one person's to choose,
    and a row group in which no text seems to lie is passed over, with the rows of everybody. So they left those of
    timestamps in 96 bits, and CASE is enough to hide these. As t, `t || ''`, coalesce, substring, a collation or a
    cast, DuckDB still sees the column. So it does as it makes joins of INTERSECT and EXCEPT: it compares what is left
    of `x COLLATE C` by then, the column x, by the collation with which that was created. With NOCASE a row of "north"
    hid one of "North", another unit's, and one unit those of any number of others. All other comparisons get their
    collation when a statement is read.
Rounding
    None.
Source
    PARQUET-251 and PARQUET-686; the statistics of Parquet's format, fields 1 and 2.
Mutant
    texts-by-statistics: a text of a file is read as it is; killed by test_statistics_of_old_writers_decide_nothing.
    sets-by-collation: rows of two tables are compared by the collations of their columns; killed by
    test_rows_of_two_tables_are_compared_byte_by_byte.
    steps-by-statistics: a timestamp in 96 bits is read as it is; killed by
    test_statistics_of_old_writers_leave_no_step_out.
    one-text-fails-a-file: a text that is not UTF-8 is refused; killed by
    test_bytes_of_a_file_that_are_not_utf_8_are_question_marks.
"""

from __future__ import annotations

import ibis.expr.operations as ops
import ibis.expr.types as ir

from discreet.engines.decimal_digits import column_within_digits
from discreet.engines.parquet_columns import OLD_TIMESTAMP
from discreet.language.input_barrier import computed

TOTAL = "utf8_validation='replace'"
"""Each byte that is not UTF-8 is read as "?". By default one such row makes every look at its column fail."""


def computed_text(written: str) -> str:
    r"""A text, by the SQL of its column, as a computed value.

    >>> computed_text('"plan"')
    'CASE WHEN "plan" IS NOT NULL THEN concat("plan", \'\') END'
    """
    return f"CASE WHEN {written} IS NOT NULL THEN concat({written}, '') END"


def with_computed_texts(op: ops.Intersection | ops.Difference) -> ops.Node:
    """The rows of two tables that both have, or the first alone, by texts that are computed values."""
    return op.copy(left=_computed(op.left.to_expr()), right=_computed(op.right.to_expr()))


def _computed(table: ir.Table) -> ops.Node:
    texts = [name for name, kind in table.schema().items() if kind.is_string()]
    seen = {name: computed(table[name]) for name in texts}
    return table.select([seen.get(name, table[name]).name(name) for name in table.columns]).op()


def column_of_file(name: str, kind: str) -> str:
    """A column of a file, by its quoted name: texts and timestamps in 96 bits as computed values, zoned nanoseconds in
    a type that Ibis knows, decimals of as many digits as they say.
    """
    if kind == OLD_TIMESTAMP:
        return f"CASE WHEN {name} IS NOT NULL THEN {name} END AS {name}"
    if kind.startswith("DECIMAL("):
        return f"{column_within_digits(name, kind)} AS {name}"
    if "TZ_NS" in kind:  # which rounds: `lossy_types`
        return f"TRY_CAST({name} AS TIMESTAMPTZ) AS {name}"
    return f"{computed_text(name)} AS {name}" if kind == "VARCHAR" or kind.startswith("ENUM") else name
