"""Texts where an expression is meant, and methods of columns by the names that other libraries give them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher, get_close_matches
from functools import cache

from discreet.guesses.near_names import each

AGGREGATES = ("count", "size", "mean", "avg", "sum", "median", "std", "var", "min", "max", "nunique", "len")
NO_VALUES = "no value of a protected column is shown: write people.agg(m=_.age.mean()).release(epsilon=0.1)."
GROUPED = "group by it and count: people.group_by('plan', max_groups=1).agg(n=_.count()).release(epsilon=0.1)."
TOGETHER = "write people.agg(n=_.age.count(), mean=_.age.mean(), median=_.age.median()).release(epsilon=0.1)."
SPREAD = "write people.histogram('age', bins=10).release(epsilon=0.1)."
BINNED = "write people.cut('age', [0, 18, 65, 110]), bins that are public."
COMMON = "write people.top('plan', k=5, epsilon=0.1), which finds them among public values."
NO_ORDER = "rows have no order here: nothing can depend on other rows."
TABLE_TYPES = "print(people) shows the columns and their types."
MISSING = "write people.filter(_.age.notnull()) for rows, or .fill_null(0)."
OPERATOR = "write the operator itself, as in _.age >= 18 or _.visits / 12."
NAMED = "a column is named where it is made, people.mutate(new=_.age) or people.rename(new='age')."
OF_THE_ANSWER = "ask for _.age.mean() and _.age.std(), and calculate with the released answer."
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
        return f"a text names a column; write the expression itself, as in {over_rows(written, names)}."
    if written.lower() in AGGREGATES:
        named = {"avg": "mean", "size": "count", "len": "count"}.get(written.lower(), written.lower())
        return "write n=_.count()." if named == "count" else f"write {named}=_.age.{named}(), with a column."
    folded = {name.lower().replace("_", "") for name in names}
    near = any(_alike(written.lower().replace("_", ""), name) for name in folded)
    if near:
        return ""
    return f"the known names are {', '.join(map(repr, columns))}; for the text itself write ibis.literal({written!r})."


def over_rows(written: str, columns: Iterable[str]) -> str:
    """An expression as it is written of rows.

    >>> over_rows("age > 18", ["age", "plan"])
    '_.age > 18'
    """
    pattern = "|".join(map(re.escape, sorted(columns, key=len, reverse=True)))
    return re.sub(rf"(?<![\w.'\"])({pattern})\b(?!['\"(])", r"_.\1", written)


def method_line(name: str, known: Iterable[str]) -> str:
    """What to write for a method that a column does not have.

    >>> method_line("avg", []), method_line("uper", ["upper"])
    ('write .mean().', "did you mean 'upper'?")
    """
    folded = name.lower().replace("_", "")
    if folded in METHODS:
        return METHODS[folded]
    if folded.startswith(("to", "write", "sink", "iter")):
        return NO_VALUES
    if folded.startswith(("rolling", "ewm", "cum", "sort", "group")):
        return NO_ORDER
    public = [one for one in known if not one.startswith("_")]
    if name in of_columns() and name not in public:
        return "columns of another type have it; print(people) shows the types."
    close = get_close_matches(name, public, n=1, cutoff=0.8)
    listed = "discreet docs language lists them; sums and means are of numbers."
    return f"did you mean {close[0]!r}?" if close else listed


@cache
def of_columns() -> frozenset[str]:
    """The methods that Ibis has for columns of some type."""
    import ibis.expr.types as ir

    kinds = (ir.NumericColumn, ir.IntegerColumn, ir.StringColumn, ir.BooleanColumn, ir.TimestampColumn)
    return frozenset(name for kind in kinds for name in dir(kind) if not name.startswith("_"))


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
    **dict(each("write .cases(...), or ibis.ifelse(condition, a, b).", "apply map where when transform replace mask")),
    **dict(each(GROUPED, "valuecounts groupby uniquecounts crosstab")),
    **dict(
        each(NO_ORDER, "shift diff cumsum cumprod cummax cummin rolling expanding ewm rank pctchange lag lead argsort")
    ),
    **dict(each(NO_ORDER, "sortvalues sortindex sort argmax argmin idxmax idxmin interpolate ffill bfill resample")),
    **dict(each(NO_ORDER, "asof over first last nth isincreasing ismonotonic autocorr searchsorted reindex")),
    **dict(
        each(NO_VALUES, "head tail limit sample show display preview execute compute fetch collect values array item")
    ),
    **dict(each(NO_VALUES, "iloc loc iat at get take slice gather items keys index iter tolist tonumpy tosql compile")),
    **dict(each(NO_VALUES, "visualize getbackend astable asscalar frame toframe topandas copy view")),
    **dict(each(TOGETHER, "describe summary summarize agg aggregate info stats")),
    **dict(each(SPREAD, "hist plot boxplot kde density")),
    **dict(each(BINNED, "cut qcut bin bins digitize ntile")),
    **dict(each(COMMON, "topk nlargest bottomk nsmallest")),
    **dict(each(TABLE_TYPES, "dtype dtypes shape schema columns ndim nbytes empty hasnans")),
    **dict(each(MISSING, "dropna dropnulls dropnans isnotnan")),
    **dict(each(OPERATOR, "eq ne lt le gt ge truediv floordiv multiply subtract divide equal divmod dot pow")),
    **dict(each(NAMED, "rename alias addprefix addsuffix setname as assign drop")),
    **dict(each(OF_THE_ANSWER, "skew kurt kurtosis sem mad prod product entropy ptp")),
    **dict(each("write people.filter(_.age >= 18): rows are left out of a table.", "filter query subset")),
    **dict(each("write people.distinct('plan'), the distinct rows of each unit.", "dropduplicates duplicated")),
    **dict(each("write people.unnest(word=_.text.split(','), max_items=5).", "explode unnest flatten")),
    **dict(each("write .contains('a'), or .like('a%').", "match fullmatch research regexsearch")),
    **dict(each("write .startswith('a').", "startwith beginswith")),
}
