"""What the dialects of SQL mean by the same words, where they differ.

DuckDB's meaning is that of `statements.expressions`. What another dialect means otherwise is written here in Ibis, or
refused, so that a statement never counts other rows than it would on the engine that it was written for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from discreet.errors import InvalidParameter, expected, nearest

Means = tuple[str, str]
"""What is expected in place of a refused node, and the cure."""

SECONDS = ("EXTRACT of whole parts", "this dialect's seconds have fractions: take MINUTE or a larger part.")
ESCAPES = ("LIKE without backslashes", "use CONTAINS, STARTS_WITH or a pattern without \\.")
HALVES = ("FLOOR or CEIL", "PostgreSQL rounds halves to even: write FLOOR(x + 0.5).")

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
    """A dialect's name, what of it is refused, and how it counts."""

    name: str
    refused: Mapping[type[exp.Expression], tuple[Callable[[exp.Expression], bool], Means]] = field(default_factory=dict)
    first_day: int = 0
    """The number of Sunday in DAYOFWEEK and EXTRACT(DOW)."""
    casts_try: bool = False
    """Whether the parser reads CAST as a cast that gives NULL where it fails."""
    short_names: bool = False
    """Whether the names of weekdays and months have three letters."""
    casts_cut: bool = False
    """Whether CAST makes whole numbers of real ones by cutting; it rounds halves to even otherwise."""
    halves_by_type: bool = False
    """Whether CAST rounds the halves of some real numbers to even, and those of others away from zero."""
    comma: str = ""
    """The kind of join that the parser takes a comma for."""
    real: tuple[type[exp.Expression], ...] = (exp.Floor, exp.Ceil, exp.Round, exp.Trunc, exp.Pow)
    """What gives real numbers, or decimals, where it gives whole ones here."""
    days_are_intervals: bool = False
    """Whether a date less a date is an interval, and a date plus days in one a date."""
    pipes_are_terms: bool = False
    """Whether || binds as + and - do, and not weaker."""
    escapes: bool = False
    """Whether a backslash in a text is the beginning of an escape."""
    fields: frozenset[str] | None = None
    """The units that may follow the quotes of an interval; None for all of them, and their plurals."""
    foreign: frozenset[str] = frozenset({"~~", "~~*", "^@", "<=>", "!", "@"})
    """Operators that the parser takes, and that the dialect has not or binds otherwise."""
    half_joins: bool = True
    """Whether SEMI and ANTI say how to join; they name the table before them otherwise."""

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
            refused={
                exp.Round: (_always, HALVES),
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
            casts_cut=True,
            short_names=True,
            pipes_are_terms=True,
            escapes=True,
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
    cure = nearest(name, DIALECTS) if isinstance(name, str) else f"one of {', '.join(DIALECTS)}."
    raise InvalidParameter(expected("a dialect of SQL that is known here", "dialect", name, cure))
