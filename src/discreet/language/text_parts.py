"""The parts of a text between constant delimiters, by their numbers.

Claim
    `part_of` is the part with a number from 0 on, of the parts that Python's ``text.split(delimiter)`` gives;
    `has_part` is true if the text has so many, and never for NULL. Neither raises, whatever the text.
Requires
    A delimiter that is a constant, not empty, and a number of 0 or more.
Relies on
    SPLIT_PART, which DuckDB, PostgreSQL and Spark have with one meaning: the delimiter as it is, parts from 1 on, the
    empty text beyond the last. REPLACE and LENGTH, which count in characters.
Proof
    Occurrences of the delimiter are found from the left, and none begins before the last one ended, by SPLIT_PART as by
    REPLACE. So a text without them is shorter by their number times the delimiter's length, and there is one part more
    than there are occurrences. A part is no longer than its text.
Rounding
    None.
Source
    None.
Mutant
    last-part-lost: a text has as many parts as delimiters; killed by test_texts_are_split_as_python_splits_them.
"""

from __future__ import annotations

from typing import Any

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.types as ir

from discreet.errors import InvalidQuery, expected
from discreet.language.allow_list import Tables, checked
from discreet.language.arithmetic import name_of
from discreet.language.checked_expressions import Kind, Value, cast
from discreet.language.literals import constant
from discreet.language.text import LONGEST_PART


@ibis.udf.scalar.builtin(name="split_part", signature=((dt.string, dt.string, dt.int32), dt.string))
def _split_part(text, delimiter, place):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 - a name of SQL's
    ...


def split_of(op: Any, tables: Tables) -> tuple[Value, str]:
    """The checked text of a split, and its delimiter."""
    text = checked(op.arg.to_expr(), tables)
    if text.kind is not Kind.TEXT:
        raise InvalidQuery(f"Expected a text, got {text.kind.said} in {name_of(op)}.\nHint: split a text column.")
    delimiter = getattr(op.delimiter, "value", None)
    if not isinstance(delimiter, str) or not 0 < len(delimiter) <= LONGEST_PART:
        cure = "write _.text.split(',')."
        raise InvalidQuery(expected("a constant delimiter, not empty", "delimiter", delimiter, cure))
    constant(delimiter)  # refuses what engines do not hold
    return text, delimiter


def has_part(text: Any, delimiter: str, place: Any) -> ir.Value:
    """Whether a text has a part of this number."""
    between = cast(text.length(), Kind.INTEGER) - cast(_without(text, delimiter).length(), Kind.INTEGER)
    found: ir.Value = place * constant(len(delimiter)).expr <= between
    return found


def _without(text: Any, delimiter: str) -> Any:
    return ops.StringReplace(text.op(), constant(delimiter).expr.op(), constant("").expr.op()).to_expr()


def part_of(text: ir.Value, delimiter: str, place: Any) -> ir.Value:
    """The part of this number."""
    part: ir.Value = _split_part(text, constant(delimiter).expr, (place + constant(1).expr).cast(dt.int32))
    return cast(part, Kind.TEXT)
