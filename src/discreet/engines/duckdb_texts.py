"""Texts of files as computed values, for which a file has no statistics.

Claim
    `computed_text(t)` is t, and NULL where t is. DuckDB decides no comparison of it by what a file says of t. Under the
    option `TOTAL`, no bytes of a text make a look at a Parquet file fail.
Requires
    Nothing of the rows.
Relies on
    DuckDB keeps statistics of columns and of the expressions that it sees through, of which `concat` within CASE is
    none (tested, on files with statistics that are wrong). It reads what is not UTF-8 as the option says (tested).
Proof
    concat of a text with the empty one is that text; where it is NULL, CASE is NULL. Writers of before 2018 left the
    least and the largest text of a row group by signed bytes, with "é" below "b": then both are one person's to choose,
    and a row group in which no text seems to lie is passed over, with the rows of everybody. As t, `t || ''`, coalesce,
    substring, a collation or a cast, DuckDB still sees the column.
Rounding
    None.
Source
    PARQUET-251 and PARQUET-686; the statistics of Parquet's format, fields 1 and 2.
Mutant
    texts-by-statistics: a text of a file is read as it is; killed by test_statistics_of_old_writers_decide_nothing.
    one-text-fails-a-file: a text that is not UTF-8 is refused; killed by
    test_bytes_of_a_file_that_are_not_utf_8_are_question_marks.
"""

from __future__ import annotations

from discreet.engines.decimal_digits import column_within_digits

TOTAL = "utf8_validation='replace'"
"""Each byte that is not UTF-8 is read as "?". By default one such row makes every look at its column fail."""


def computed_text(written: str) -> str:
    r"""A text, by the SQL of its column, as a computed value.

    >>> computed_text('"plan"')
    'CASE WHEN "plan" IS NOT NULL THEN concat("plan", \'\') END'
    """
    return f"CASE WHEN {written} IS NOT NULL THEN concat({written}, '') END"


def column_of_file(name: str, kind: str) -> str:
    """A column of a file, by its quoted name: texts as computed values, zoned nanoseconds in a type that Ibis knows,
    decimals of as many digits as they say.
    """
    if kind.startswith("DECIMAL("):
        return f"{column_within_digits(name, kind)} AS {name}"
    if "TZ_NS" in kind:  # which rounds: `lossy_types`
        return f"TRY_CAST({name} AS TIMESTAMPTZ) AS {name}"
    return f"{computed_text(name)} AS {name}" if kind == "VARCHAR" or kind.startswith("ENUM") else name
