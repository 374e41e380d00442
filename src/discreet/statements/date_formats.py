"""STRFTIME of DuckDB, TO_CHAR of PostgreSQL and DATE_FORMAT of Spark: dates as texts, part by part.

The parser would translate formats from one dialect to another, and drop what it does not know: here each is read in its
own dialect, and what is not listed is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator
from typing import NamedTuple

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.types as ir
from sqlglot import exp

from discreet.statements.constants import quoted
from discreet.statements.date_functions import as_timestamp, date_part, english_name
from discreet.statements.scope import Lower, Scope


class DatePart(NamedTuple):
    """A part of a date as text: its number, with zeros before it up to a width, or its name."""

    name: str
    width: int = 0


def _two_digits(year: ir.Value) -> ir.Value:
    return year % 100


def _of_twelve(hour: ir.Value) -> ir.Value:
    return (hour + 11) % 12 + 1


CHANGED: dict[str, tuple[str, Callable[[ir.Value], ir.Value]]] = {
    "YEAR OF CENTURY": ("YEAR", _two_digits),
    "HOUR OF TWELVE": ("HOUR", _of_twelve),
}
NAMES: dict[str, tuple[bool, int | None]] = {
    "WEEKDAY": (True, None),
    "WEEKDAY IN SHORT": (True, 3),
    "MONTH NAME": (False, None),
    "MONTH IN SHORT": (False, 3),
}
"""Whether it is the name of a day or that of a month, and of how many letters."""
CLOCK = ("HOUR", "MINUTE", "SECOND", "HOUR OF TWELVE", "HALF OF DAY")

CODES = (
    ("YEAR", 4, "%Y", "YYYY", "yyyy"),
    ("YEAR", 0, "", "", "y"),
    ("YEAR OF CENTURY", 2, "%y", "YY", "yy"),
    ("YEAR OF CENTURY", 0, "%-y", "", ""),
    ("QUARTER", 0, "", "Q", "q Q"),
    ("MONTH", 2, "%m", "MM", "MM"),
    ("MONTH", 0, "%-m", "FMMM", "M"),
    ("MONTH NAME", 0, "%B", "FMMonth", "MMMM"),
    ("MONTH IN SHORT", 0, "%b", "Mon", "MMM"),
    ("WEEK", 2, "%V", "IW", ""),
    ("DAY", 2, "%d", "DD", "dd"),
    ("DAY", 0, "%-d", "FMDD", "d"),
    ("DOY", 3, "%j", "DDD", "DDD"),
    ("DOY", 0, "%-j", "FMDDD", "D"),
    ("WEEKDAY", 0, "%A", "FMDay", "EEEE"),
    ("WEEKDAY IN SHORT", 0, "%a", "Dy", "E EE EEE"),
    ("DOW", 0, "%w", "", ""),
    ("ISODOW", 0, "%u", "ID", ""),
    ("HOUR", 2, "%H", "HH24", "HH"),
    ("HOUR", 0, "%-H", "FMHH24", "H"),
    ("HOUR OF TWELVE", 2, "%I", "HH12", "hh"),
    ("HOUR OF TWELVE", 0, "%-I", "", ""),
    ("HALF OF DAY", 0, "%p", "AM", "a"),
    ("MINUTE", 2, "%M", "MI", "mm"),
    ("MINUTE", 0, "%-M", "", "m"),
    ("SECOND", 2, "%S", "SS", "ss"),
    ("SECOND", 0, "%-S", "", "s"),
)
"""A part, the digits to which it is filled with zeros, and what it is in formats of DuckDB, PostgreSQL and Spark."""
OF_DUCKDB, OF_POSTGRESQL, OF_SPARK = (
    {code: DatePart(name, width) for name, width, *codes in CODES for code in str(codes[place]).split()}
    for place in range(3)
)
FORMATS: dict[str, tuple[dict[str, DatePart], re.Pattern[str]]] = {
    "duckdb": (OF_DUCKDB, re.compile(r"%(?P<quoted>%)|(?P<part>%-?.)|(?P<text>[^%]+)", re.DOTALL)),
    "postgres": (OF_POSTGRESQL, re.compile(r'(?P<part>[A-Za-z0-9]+)|"(?P<quoted>[^"\\]*)"|(?P<text>[-/.,:;_ ]+)')),
    "spark": (
        OF_SPARK,
        re.compile(r"(?P<part>([A-Za-z])\2*)|'(?P<quoted>[^']+)'|(?P<text>[^A-Za-z'\[\]{}#]+)", re.DOTALL),
    ),
}
"""By dialect: its parts, and how its formats are divided into parts and texts."""
TOGETHER = re.compile(r"YYYY|MM|DD|HH24|MI|SS")
"""The parts that PostgreSQL reads alike with nothing between them, each once."""


def formatted(node: exp.Anonymous, scope: Scope, lower: Lower) -> ir.Value:
    """A date or timestamp as text, in a constant format."""
    first, second = node.expressions
    if scope.text.dialect.name == "duckdb" and isinstance(first, exp.Literal) and first.is_string:
        first, second = second, first  # DuckDB takes both orders
    written = quoted(second, scope, "the format", least=1)
    value = lower(first, scope)
    if not (value.type().is_date() or value.type().is_timestamp()):
        raise scope.text.refusal("a date or a timestamp", node, "CAST it AS DATE.")
    pieces = list(_pieces(written, node, scope))
    if not any(isinstance(piece, DatePart) for piece in pieces):
        raise scope.text.refusal("a format with a part of the date", node, f"write {_example(scope)}.")
    texts = [piece if isinstance(piece, str) else _text(piece, value) for piece in pieces]
    return texts[0] if len(texts) == 1 else ops.StringConcat(tuple(texts)).to_expr()


def _example(scope: Scope) -> str:
    return {
        "duckdb": "STRFTIME(x, '%Y-%m')",
        "postgres": "TO_CHAR(x, 'YYYY-MM')",
        "spark": "DATE_FORMAT(x, 'yyyy-MM')",
    }[scope.text.dialect.name]


def _pieces(written: str, node: exp.Expression, scope: Scope) -> Iterator[str | DatePart]:
    """The parts of a format, and the texts between them."""
    parts, pattern = FORMATS[scope.text.dialect.name]
    end = 0
    while end < len(written):
        found = pattern.match(written, end)
        codes = [] if found is None or found["part"] is None else _divided(found["part"], parts)
        if found is None or not all(code in parts for code in codes):
            raise scope.text.refusal(f"a format of {', '.join(parts)}", node, f"write {_example(scope)}.")
        yield from (parts[code] for code in codes) if codes else (found["quoted"] or found["text"],)
        end = found.end()


def _divided(code: str, parts: Container[str]) -> list[str]:
    """A part, or the parts of PostgreSQL's that follow each other with nothing between them, as in YYYYMMDD."""
    found = TOGETHER.findall(code)
    several = "".join(found) == code and len(set(found)) == len(found) and "YYYY" in parts
    return found if several else [code]


def _text(part: DatePart, value: ir.Value) -> ir.Value:
    """A part of a date as text."""
    if part.name in CLOCK:
        value = as_timestamp(value)
    if part.name in NAMES:
        of_day, letters = NAMES[part.name]
        return english_name(value, of_day=of_day, letters=letters)
    if part.name == "HALF OF DAY":
        hour = date_part("HOUR", value)
        return ibis.cases((hour < 12, "AM"), (hour >= 12, "PM"))
    name, changed = CHANGED.get(part.name, (part.name, lambda found: found))
    number = ops.Cast(changed(date_part(name, value)), dt.string)
    return (ops.LPad(number, part.width, "0") if part.width else number).to_expr()
