"""Why a part of a statement is refused, and what to write instead."""

from __future__ import annotations

from difflib import get_close_matches

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from discreet.errors import InvalidQuery
from discreet.query.aggregate_checks import most_common
from discreet.statements.statement_text import Text

KNOWN = "COUNT, SUM, AVG, VARIANCE, STDDEV, CORR, COVAR_POP, MEDIAN, QUANTILE_CONT, MIN or MAX"
FUNCTIONS = (  # noqa: SIM905 - fifty names in quotes of their own are harder to read
    "COUNT COUNT_IF SUM AVG VARIANCE VAR_SAMP VAR_POP STDDEV STDDEV_SAMP STDDEV_POP "
    "CORR COVAR_POP COVAR_SAMP REGR_SLOPE REGR_INTERCEPT "
    "MEDIAN MIN MAX QUANTILE_CONT ABS SIGN FLOOR CEIL CEILING ROUND TRUNC SQRT EXP LN "
    "LOG LOG2 LOG10 POW POWER MOD GREATEST LEAST COALESCE IFNULL NULLIF IF LOWER UPPER LENGTH TRIM LTRIM RTRIM "
    "SUBSTRING SUBSTR LEFT RIGHT POSITION STRPOS LPAD RPAD REPEAT REVERSE SPLIT_PART "
    "REPLACE CONCAT CONCAT_WS STARTS_WITH ENDS_WITH CONTAINS EXTRACT DATE_PART "
    "YEAR QUARTER MONTH WEEK DAY DAYOFYEAR DAYOFWEEK ISODOW HOUR MINUTE SECOND "
    "DAYNAME MONTHNAME STRFTIME EPOCH LAST_DAY DATE_TRUNC DATE_DIFF DATE_ADD DATE_SUB DATE CAST"
).split()
"""The functions that exist, for the cure of a misspelt one."""

SUBQUERY = ("one table without sub-queries", "put its condition into WHERE, or ask it as a question of its own.")
ROWS = (
    "rows in a sub-query, no aggregates",
    "aggregate in the outer SELECT, or group the sub-query by the privacy unit; in Python, by others: .per_key(...).",
)
CURRENT_TIME = (
    "constants and columns",
    "write the date itself, DATE '2020-01-31': an answer does not depend on when it is asked.",
)
AGGREGATE = ("one row at a time here", "write aggregates in SELECT, HAVING and ORDER BY, not inside each other.")

NODES: dict[type[exp.Expression], tuple[str, str]] = {
    exp.Window: (
        "aggregates over groups, no windows",
        "a window looks at other rows. Use GROUP BY; over its groups there is SUM(COUNT(*)) OVER ().",
    ),
    exp.Any: SUBQUERY,
    exp.All: SUBQUERY,
    exp.Subquery: SUBQUERY,
    exp.Table: ("SELECT in parentheses", "write (SELECT * FROM a JOIN b USING (key)) AS t."),
    exp.Exists: SUBQUERY,
    exp.Star: ("named columns", "no private row is shown: ask for aggregates, such as COUNT(*) or AVG(column)."),
    exp.Distinct: ("DISTINCT in COUNT(DISTINCT unit) alone", "group by the column instead, with public keys."),
    exp.Order: ("sums whose order does not matter", "leave ORDER BY out."),
    exp.Rand: ("no random numbers", "the noise is added by the release."),
    exp.TryCast: (
        "a cast that cannot fail",
        "use CAST; declare the column's type in dp.protect(schema=...) otherwise.",
    ),
    exp.IsNan: ("tests for NULL", "NaN is read as NULL: write IS NULL."),
    exp.IsInf: ("tests for NULL", "infinities are read as the nearest bound."),
    exp.CurrentDate: CURRENT_TIME,
    exp.CurrentTimestamp: CURRENT_TIME,
    exp.Parameter: ("constants", "write the value itself."),
    exp.Placeholder: ("constants", "write the value itself."),
    exp.Interval: (
        "an interval after + or -",
        "write d + INTERVAL '1 day', or compare with a date, DATE '2020-01-31'.",
    ),
}
"""Nodes with a cure of their own."""

PARTS: dict[tuple[type[exp.Expression], str], tuple[str, str]] = {
    (exp.In, "query"): SUBQUERY,
    (exp.Trim, "expression"): ("TRIM of white space", "leave the characters out."),
}
"""Parts of known nodes with a cure of their own."""

NOTATIONS = (exp.Array, exp.Struct, exp.Bracket, exp.Collate)
"""Nodes that sqlglot counts among the functions, though they are not written as one."""

CLAUSES: dict[str, tuple[TokenType, str, str]] = {
    "distinct": (
        TokenType.DISTINCT,
        "groups by GROUP BY, not DISTINCT",
        "group by public keys; in Python, .distinct(...) drops duplicates.",
    ),
    "having": (TokenType.HAVING, "rows in a sub-query, no HAVING", "write it in the outer SELECT."),
    "order": (TokenType.ORDER_BY, "rows in a sub-query, no ORDER BY", "write it in the outer SELECT."),
    "limit": (TokenType.LIMIT, "rows in a sub-query, no LIMIT", "write it outside; in Python, .take(1000) keeps rows."),
    "offset": (TokenType.OFFSET, "rows in a sub-query, no OFFSET", "write it in the outer SELECT."),
    "qualify": (TokenType.QUALIFY, "rows in a sub-query, no QUALIFY", "write it in the outer SELECT."),
    "windows": (TokenType.WINDOW, "rows in a sub-query, no WINDOW", "write it in the outer SELECT."),
    "sample": (TokenType.TABLE_SAMPLE, "all rows of the table", "sampling makes no answer private here: leave it out."),
    "into": (TokenType.INTO, "an answer, no new table", "write the released answer with .to_parquet(path)."),
}
"""Clauses of SELECT that are not supported, with their refusals."""


def refusal(node: exp.Expression, text: Text, part: str = "") -> InvalidQuery:
    """The refusal of a node that no rule allows, or of one of its parts."""
    if part:
        known = PARTS.get((type(node), part))
        what, cure = known or (f"{node.key.upper()} without {part.rstrip('_')}", "leave it out.")
    elif type(node) in NODES:
        what, cure = NODES[type(node)]
    elif isinstance(node, exp.Func) and not isinstance(node, NOTATIONS):
        what, cure = _of_function(node)
    else:
        what, cure = (
            "operations that discreet docs sql lists",
            "write it with those, or with Ibis on the protected table.",
        )
    inner = text.refusal_of(what, cure, TokenType.SELECT, after=1) if (what, cure) == SUBQUERY else None
    return inner or text.refusal(what, node, cure)


def _of_function(node: exp.Func) -> tuple[str, str]:
    names = [node.name.upper()] if isinstance(node, exp.Anonymous) else list(type(node).sql_names())  # type: ignore[no-untyped-call]  # sqlglot's own
    if isinstance(node, exp.AggFunc):
        if isinstance(node, exp.Mode):
            of = node.this.name if isinstance(node.this, exp.Column) else "column"
            return KNOWN, most_common(of)
        known = set(names) & set(FUNCTIONS)
        return AGGREGATE if known else (KNOWN, "ask for one of these.")
    close = get_close_matches(names[0], FUNCTIONS, n=1)
    return "a known function", f"did you mean {close[0]}?" if close else "discreet docs sql lists the functions."
