"""Texts where an expression is meant, and methods of columns by the names that other libraries give them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher

from discreet.guesses.near_names import each

AGGREGATES = ("count", "size", "mean", "avg", "sum", "median", "std", "var", "min", "max", "nunique", "len")
OPERATORS = re.compile(r"[<>=!+*/&|()\[\]%-]| and | or | in | is | like ", re.IGNORECASE)


def as_expression(written: str, columns: Iterable[str]) -> str:
    """What to write for a text that is no column: the expression that it has, if it has one; empty otherwise.

    >>> as_expression("age > 18", ["age", "plan"])
    'a text names a column; write the expression itself, as in _.age > 18.'
    >>> as_expression("count", ["age"])
    'write n=_.count().'
    >>> as_expression("one", ["age"])
    "the known names are 'age'; for the text itself write ibis.literal('one')."
    """
    names = sorted(columns, key=len, reverse=True)
    if OPERATORS.search(written) and any(re.search(rf"\b{re.escape(name)}\b", written) for name in names):
        pattern = "|".join(map(re.escape, names))
        found = re.sub(rf"(?<![\w.'\"])({pattern})\b(?!['\"(])", r"_.\1", written)
        return f"a text names a column; write the expression itself, as in {found}."
    if written.lower() in AGGREGATES:
        named = {"avg": "mean", "size": "count", "len": "count"}.get(written.lower(), written.lower())
        return "write n=_.count()." if named == "count" else f"write {named}=_.age.{named}(), with a column."
    folded = {name.lower().replace("_", "") for name in names}
    near = any(_alike(written.lower().replace("_", ""), name) for name in folded)
    if near:
        return ""
    return f"the known names are {', '.join(map(repr, columns))}; for the text itself write ibis.literal({written!r})."


def _alike(first: str, second: str) -> bool:
    return SequenceMatcher(None, first, second).ratio() >= 0.6


METHODS: Mapping[str, str] = {
    **dict(each("write .mean().", "avg average")),
    **dict(each("write .std().", "stdev stddev sd")),
    **dict(each("write .var().", "variance")),
    **dict(each("write .quantile(0.9).", "percentile percentileapprox approxquantile")),
    **dict(each("write .count() for values that are not NULL, _.count() for rows.", "size len length countall")),
    **dict(each("write .nunique().", "nunique countdistinct ndistinct distinctcount unique distinct")),
    **dict(each("write .isnull(); NaN is read as NULL.", "isna isnan isnone")),
    **dict(each("write .notnull(); NaN is read as NULL.", "notna isnotnull isnotna")),
    **dict(each("write .fill_null(0).", "fillna coalesce nafill replacena")),
    **dict(each("write .isin(['a', 'b']).", "in isinlist contains_any")),
    **dict(each("write the method itself, as in .upper() or .contains('a').", "str")),
    **dict(each("write the method itself, as in .year() or .month().", "dt")),
    **dict(each("write .cast('float64').", "astype toint tofloat tonumeric")),
    **dict(each("write .cases(...), or ibis.ifelse(condition, a, b).", "apply map where when transform replace")),
    **dict(each("group by it and count: .group_by('plan').agg(n=_.count()).", "valuecounts groupby")),
    **dict(
        each("rows have no order here: nothing can depend on other rows.", "shift diff cumsum rolling rank pctchange")
    ),
    **dict(each("write .contains('a'), or .re_search('a.b').", "match fullmatch")),
    **dict(each("write .startswith('a').", "startwith beginswith")),
}
