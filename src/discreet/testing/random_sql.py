"""Random SQL without parentheses, by dialect, and the values that we give to it, row by row. Nothing here is private.

Operators are strung together as they come: how they bind is what is compared with the engine that a dialect names.
Constants are sums of powers of two, so that reals and decimals have the same value.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from discreet.language.barrier import barrier
from discreet.privacy.definitions import ROW
from discreet.query.table import PrivateTable
from discreet.statements.dialects import dialect_named
from discreet.statements.lowering import lower
from discreet.testing.neighbor_bench import NAME, Bench

MOMENT = datetime.datetime
ROWS = pa.table(
    {
        "place": pa.array(range(8), pa.int64()),
        "i": pa.array([0, 7, -9, 3, None, 5, -1, 8], pa.int64()),
        "j": pa.array([4, None, 2, -6, 1, 0, 9, -3], pa.int64()),
        "x": pa.array([0.5, -2.25, 0.0, 7.0, 3.75, None, -8.5, 1.0], pa.float64()),
        "a": pa.array([True, False, None, True, False, None, True, False]),
        "b": pa.array([None, True, False, False, None, True, True, False]),
        "s": pa.array(["", "a", "ab", None, "B", "a%", "7", "a'b"]),
        "d": pa.array([datetime.date(2020, 1, 1 + 4 * day) for day in range(7)] + [None]),
        "t": pa.array([MOMENT(2020, 2, 28, 23, 59, at) for at in range(0, 56, 8)] + [None], pa.timestamp("us")),
    }
)
BOUNDS = {"place": (0, 9), "i": (-9, 9), "j": (-9, 9), "x": (-9, 9)}

TIMES = {
    "duckdb": ("*", "/", "%", "//", "^", "**"),
    "postgres": ("*", "/", "%", "^"),
    "spark": ("*", "/", "%", "DIV"),
}
"""What binds tighter than + and -; what follows is a constant, since a divisor may not be 0."""
COMPARED = {
    "duckdb": ("=", "<>", "!=", "<", ">=", "==", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"),
    "postgres": ("=", "<>", "!=", "<", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"),
    "spark": ("=", "<>", "!=", "<", ">=", "==", "<=>", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"),
}
TESTS = ("IS NULL", "IS NOT NULL", "IS TRUE", "IS NOT TRUE", "IS FALSE")
ATOMS = {"number": ("i", "j", "x", "1", "3", "25e-2"), "text": ("s", "'a'", "'%b'"), "truth": ("a", "b", "TRUE")}

Atoms = Mapping[str, tuple[str, ...]]


@st.composite
def sentences(draw: st.DrawFn, dialect: str, kind: str, depth: int = 3, atoms: Atoms = ATOMS) -> str:
    """An expression of a kind (number, text, truth) whose operators stand in a row, without parentheses."""
    if depth == 0 or not draw(st.integers(0, 5)):
        return draw(st.sampled_from(atoms[kind]))

    def part(kind: str) -> str:
        if kind not in atoms:  # as text is where only released numbers are left
            return draw(st.sampled_from(ATOMS["text"][1:]))
        return draw(sentences(dialect, kind, draw(st.integers(0, depth - 1)), atoms))

    return {"number": _number, "text": _text, "truth": _truth}[kind](draw, dialect, part)


def _number(draw: st.DrawFn, dialect: str, part: Any) -> str:
    form = draw(st.integers(0, 6))
    if form == 0:
        return f"- {part('number')}"
    if form == 1:
        return f"CASE WHEN {part('truth')} THEN {part('number')} ELSE {part('number')} END"
    if form < 4:
        return f"{part('number')} {draw(st.sampled_from('+-'))} {part('number')}"
    operator = draw(st.sampled_from(TIMES[dialect]))
    factors = ("1", "2") if operator in ("^", "**") else ("2", "4", "3") if operator in ("%", "*") else ("2", "4")
    return f"{part('number')} {operator} {draw(st.sampled_from(factors))}"


def _text(draw: st.DrawFn, _: str, part: Any) -> str:
    return f"{part('text')} || {part(draw(st.sampled_from(('text', 'text', 'number'))))}"


def _truth(draw: st.DrawFn, dialect: str, part: Any) -> str:
    negated = draw(st.sampled_from(("", "", "NOT ")))
    form = draw(st.sampled_from(("compared", "compared", "tested", "tested", "between", "in", "like", "joined")))
    if form in ("compared", "tested"):
        kind = draw(st.sampled_from(("number", "truth", "truth")))
        tests = TESTS if kind == "truth" else TESTS[:2]
        end = f"{draw(st.sampled_from(COMPARED[dialect]))} {part(kind)}"
        return f"{part(kind)} {draw(st.sampled_from(tests)) if form == 'tested' else end}"
    if form == "joined":
        return f"{negated or 'NOT '}{part('truth')} {draw(st.sampled_from(('AND', 'OR')))} {part('truth')}"
    ends = {
        "between": f"BETWEEN {part('number')} AND {part('number')}",
        "in": "IN (1, -3, 25e-2)",
        "like": f"LIKE {draw(st.sampled_from(ATOMS['text'][1:]))}",
    }
    return f"{part('text' if form == 'like' else 'number')} {negated}{ends[form]}"


DIGITS = st.sampled_from(("0", "1", "07", "12", "1_0", "1__0", "9007199254740993"))
EXTRAS = st.just("") | st.sampled_from(
    (
        "",
        "",
        "",
        "",
        " ",
        "'",
        "''",
        "\\n",
        "\\\\",
        "_",
        "L",
        "e",
        "E2",
        ".5",
        ":",
        "+02",
        "Z",
        "x",
        "0x",
        "-",
        " ago",
        "é",
    )
)
UNITS = st.sampled_from(
    ("day", "days", "MONTH", "year", "hours", "minute", "seconds", "week", "quarter", "mon", "d", "")
)
CLOCKS = st.sampled_from(("", " 12:30:59", "T00:00:00", " 23:59:59.999999", " 12:30:59.1234567", " 1:02:03", " 12:30"))
DAYS = st.sampled_from(("2020-02-28", "1969-12-31", "2020-2-3", "20200131", "epoch", "infinity", "now", "2020-W05-1"))


@st.composite
def constants(draw: st.DrawFn, dialect: str) -> str:
    """An expression around one constant, well-formed or nearly so."""
    form, extra = draw(st.sampled_from(("number", "text", "interval", "moment", "cast"))), draw(EXTRAS)
    if form == "number":
        fraction = draw(st.sampled_from(("", ".", ".5", ".25")))
        return f"x + {draw(DIGITS)}{fraction}{draw(st.sampled_from(('', 'e1', 'E-2', 'e')))}{extra}"
    if form == "text":
        prefix = draw(st.sampled_from(("", "", "", "E", "U&", "r", "N", "x", "b")))
        follows = draw(st.sampled_from(("", "", "", " 'b'", "\n'b'", " || 'b'")))
        return f"{prefix}'a{extra}b'{follows} || s"
    if form == "interval":
        sign, count, unit = draw(st.sampled_from(("", "", "-", "+"))), draw(DIGITS), draw(UNITS)
        inside = draw(st.booleans())
        written = f"'{sign}{count} {unit}{extra}'" if inside else f"'{sign}{count}{extra}' {unit}"
        return f"t {draw(st.sampled_from('+-'))} INTERVAL {written}"
    if form == "moment":
        moment = f"'{draw(DAYS)}{draw(CLOCKS)}{extra}'"
        column, kind = draw(st.sampled_from("td")), draw(st.sampled_from(("", "DATE ", "TIMESTAMP ", "TIMESTAMP(0) ")))
        return f"{column} >= {kind}{moment}"
    return draw(casts(dialect))


SIGNS = ("a", "a", "b", "B", "%", "%", "_", "!", "\\", "'")
ESCAPES = st.sampled_from(("", "!", "\\", "A", "B"))


@st.composite
def patterns(draw: st.DrawFn, dialect: str) -> str:
    """LIKE or ILIKE of a pattern, often with an escape, which stands before signs that have a meaning."""
    escape = draw(ESCAPES)
    escapes = [escape + sign for sign in f"%%_{escape}"] if escape else []
    signs = [*(sign for sign in SIGNS if sign != escape), *escapes]
    pattern = "".join(draw(st.lists(st.sampled_from(signs), min_size=1, max_size=3)))
    end = f" ESCAPE {_quoted(escape, dialect)}" if escape else ""
    negated, like = draw(st.sampled_from(("", "NOT "))), draw(st.sampled_from(("LIKE", "ILIKE")))
    return f"s {negated}{like} {_quoted(pattern, dialect)}{end}"


def _quoted(text: str, dialect: str) -> str:
    if dialect == "spark":
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return "'" + text.replace("'", "''") + "'"


@st.composite
def casts(draw: st.DrawFn, dialect: str) -> str:
    """A chain of casts, or a function and a cast."""
    value = draw(st.sampled_from(("i", "x", "a", "s", "d", "t", "2.5", "-3", "1e2", "TRUE", "'1'")))
    number = value in ("i", "x", "2.5", "-3", "1e2")
    made = draw(
        st.sampled_from(("{}", "{}", "FLOOR({})", "SIGN({})", "ABS({})", "CEIL({})", "- {}", "{} % 4", "{} + 1"))
    )
    value = made.format(value) if number else value
    names = CASTS[dialect]
    for _ in range(draw(st.integers(1, 3))):
        value = f"CAST({value} AS {draw(st.sampled_from(names))})"
    return value


SIZED = ("VARCHAR(2)", "DECIMAL(9, 2)", "TIMESTAMP(0)")
"""Types with parameters, which change values."""

CASTS = {
    "duckdb": ("INTEGER", "BIGINT", "SMALLINT", "DOUBLE", "VARCHAR", "BOOLEAN", "DATE", "TIMESTAMP", *SIZED),
    "postgres": ("INTEGER", "BIGINT", "SMALLINT", "DOUBLE PRECISION", "TEXT", "BOOLEAN", "DATE", "TIMESTAMP", *SIZED),
    "spark": ("INT", "BIGINT", "SMALLINT", "DOUBLE", "STRING", "BOOLEAN", "DATE", "TIMESTAMP", *SIZED),
}


def protected(bench: Bench, rows: pa.Table = ROWS) -> PrivateTable:
    """The table that sentences speak of, each row a unit."""
    return bench.protect(rows, unit=ROW, bounds=BOUNDS)


def meaning(text: str, dialect: str, table: PrivateTable) -> Any:
    """What an expression is in the closed language; raises InvalidQuery where it is refused."""
    statement = lower(f"SELECT {text} AS v, COUNT(*) FROM people GROUP BY v", {"people": table}, dialect_named(dialect))  # noqa: S608 (nothing runs)
    return table._check(statement.groups[0].value).expr  # noqa: SLF001 (what a filter is made of)


def values(bench: Bench, table: PrivateTable, meanings: list[Any]) -> list[list[Any]]:
    """The values of expressions, row by row, as the engine of the bench computes them for us."""
    source: Any = table._source  # noqa: SLF001 (what is behind the barrier)
    seen = barrier(bench._backend.table(NAME), (), source.declaration.bounds)  # noqa: SLF001 (the same)
    relation = table._relation  # noqa: SLF001 (the same)
    asked = relation.select(place=relation.place, **{f"e{i}": one for i, one in enumerate(meanings)})
    statement = asked.op().replace({relation.op(): seen.op()}).to_expr().order_by("place")
    answer = bench._backend.to_pyarrow(statement)  # noqa: SLF001 (the same)
    return [answer[f"e{i}"].to_pylist() for i in range(len(meanings))]


def renamed(text: str, names: Mapping[str, str]) -> str:
    """An expression with other names for its atoms."""
    return re.sub(r"[a-z]\w*", lambda word: names.get(word[0], word[0]), text)


def plain(value: Any) -> Any:
    """A value as it is compared: numbers as numbers of one kind, moments without a zone."""
    if isinstance(value, bool | str) or value is None:
        return value
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, datetime.date):
        return MOMENT.combine(value, datetime.time())
    return round(float(value), 9) + 0.0
