"""The differences between the dialects of SQL in the meaning of the same text.

`statements.expressions` has DuckDB's meaning. Where another dialect differs, that meaning is translated, or the text is
refused, so that a statement never counts other rows than it would on the engine that it was written for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from discreet.errors import InvalidParameter, expected, nearest_name

Means = tuple[str, str]
"""What is expected instead of a refused node, and the cure."""

SECONDS = ("EXTRACT of whole parts", "this dialect's seconds have fractions: take MINUTE or a larger part.")
ESCAPES = ("LIKE without backslashes", "use CONTAINS, STARTS_WITH or a pattern without \\.")
DAYS = ("a difference of dates", "write CAST(x AS DATE) - CAST(y AS DATE).")
TRUNC = ("DATE_TRUNC", "write DATE_TRUNC('month', x).")
ELAPSED = ("DATEDIFF(last, first)", "with a unit, it counts whole spans of time: leave the unit out.")


def _always(_: exp.Expression) -> bool:
    return True


def _has_backslash(node: exp.Expression) -> bool:
    return "\\" in str(node.expression.this)


def _of_seconds(node: exp.Expression) -> bool:
    return str(node.this.name).upper() == "SECOND"


def _of_unit(node: exp.Expression) -> bool:
    return node.args.get("unit") is not None


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """A dialect: its name, what is refused in it, and how it differs."""

    name: str
    refused: Mapping[type[exp.Expression], tuple[Callable[[exp.Expression], bool], Means]] = field(default_factory=dict)
    first_day: int = 0
    """The number of Sunday in DAYOFWEEK and EXTRACT(DOW)."""
    casts_try: bool = False
    """Whether the parser reads CAST as a cast that gives NULL where it fails."""
    short_names: bool = False
    """Whether the names of weekdays and months have three letters."""
    casts_truncate: bool = False
    """Whether CAST truncates real numbers to whole ones; otherwise it rounds halves to even."""
    halves_by_type: bool = False
    """Whether CAST rounds halves to even or away from zero, depending on the type of the real number."""
    formatter: str = "STRFTIME"
    """The function that writes dates in a format."""
    comma: str = ""
    """The kind of join as which the parser reads a comma."""
    real: tuple[type[exp.Expression], ...] = (exp.Floor, exp.Ceil, exp.Round, exp.Trunc, exp.Pow)
    """Functions that return real numbers, or decimals, where ours return whole ones."""
    days_are_intervals: bool = False
    """Whether the difference of two dates is an interval, and a date plus an interval of days a date."""
    pipes_are_terms: bool = False
    """Whether || binds as tightly as + and -, rather than less."""
    escapes: bool = False
    """Whether a backslash in a text starts an escape."""
    fields: frozenset[str] | None = None
    """The units that may follow the quotes of an interval; None for all of them, and their plurals."""
    foreign: frozenset[str] = frozenset({"~~", "~~*", "^@", "<=>", "!", "@"})
    """Operators that the parser accepts, but the dialect lacks or binds differently."""
    session: frozenset[str] = frozenset()
    """Names without quotes that are of the session, and no columns."""
    half_joins: bool = True
    """Whether SEMI and ANTI are kinds of joins; otherwise they name the table before them."""

    def refusal(self, node: exp.Expression) -> Means | None:
        """Why a node is refused in this dialect alone."""
        applies, means = self.refused.get(type(node), (None, None))
        return means if applies is not None and applies(node) else None


DUCKDB = Dialect(name="duckdb")
DIALECTS = {
    dialect.name: dialect
    for dialect in (
        DUCKDB,
        Dialect(
            name="postgres",
            session=frozenset(
                {
                    "USER",
                    "CURRENT_USER",
                    "CURRENT_ROLE",
                    "SESSION_USER",
                    "SYSTEM_USER",
                    "CURRENT_CATALOG",
                    "CURRENT_SCHEMA",
                }
            ),
            refused={
                exp.Extract: (_of_seconds, SECONDS),
                exp.Like: (_has_backslash, ESCAPES),
                exp.ILike: (_has_backslash, ESCAPES),
                exp.DateDiff: (_always, DAYS),
            },
            real=(*DUCKDB.real, exp.Sign, exp.Extract, exp.Sum),
            fields=frozenset({"YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"}),
            foreign=DUCKDB.foreign | {"==", "["},
            half_joins=False,
            halves_by_type=True,
            formatter="TO_CHAR",
        ),
        Dialect(
            name="spark",
            refused={
                exp.Extract: (_of_seconds, SECONDS),
                exp.Like: (_has_backslash, ESCAPES),
                exp.ILike: (_has_backslash, ESCAPES),
                exp.DateDiff: (_of_unit, ELAPSED),
                exp.DateTrunc: (_always, TRUNC),
            },
            real=(exp.Round, exp.Sign, exp.Pow),
            days_are_intervals=True,
            first_day=1,
            casts_try=True,
            casts_truncate=True,
            short_names=True,
            pipes_are_terms=True,
            escapes=True,
            formatter="DATE_FORMAT",
            foreign=frozenset({"~~", "~~*", "^@", "[", "@"}),
            comma="CROSS",
        ),
    )
}


def dialect_named(name: object) -> Dialect:
    """The dialect of a name; refuses others.

    >>> dialect_named("spark").first_day
    1
    """
    if isinstance(name, str) and name in DIALECTS:
        return DIALECTS[name]
    cure = nearest_name(name, DIALECTS) if isinstance(name, str) else f"one of {', '.join(DIALECTS)}."
    raise InvalidParameter(expected("a dialect of SQL that is known here", "dialect", name, cure))
