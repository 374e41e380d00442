"""Expressions as texts, and methods of columns by the names of other libraries."""

from __future__ import annotations

from wrong_calls import misjudged

CALLS = {
    "people.agg(n=people.count())": "inside of .agg(...) write an expression, n=_.count()",
    "people.agg(m=_.visits.stddev())": "write .std().",
    "people.agg(m=_.visits.variance())": "write .var().",
    "people.agg(m=_.visits.percentile(0.9))": "write .quantile(0.9).",
    "people.agg(m=_.visits.size())": "write .count() for values that are not NULL, _",
    "people.agg(m=_.person.n_unique())": "write .nunique().",
    "people.agg(m=_.person.count_distinct())": "write .nunique().",
    "people.filter(_.plan.isna())": "write .isnull(); NaN is read as NULL.",
    "people.filter(_.plan.is_not_null())": "write .notnull(); NaN is read as NULL.",
    "people.mutate(x=_.plan.str.upper())": "write the method itself, as in .upper() or .co",
    "people.mutate(x=_.age.dt.year)": "write the method itself, as in .year() or .mon",
    'people.mutate(x=_.age.astype("float64"))': "write .cast('float64').",
    "people.mutate(x=_.age.apply(len))": "write .cases(...), or ibis.ifelse(condition, a",
    "people.mutate(x=_.age.map(len))": "write .cases(...), or ibis.ifelse(condition, a",
    "people.mutate(x=_.age.shift(1))": "rows have no order here: nothing can depend on",
    "people.mutate(x=_.age.diff())": "rows have no order here: nothing can depend on",
    "people.agg(n=_.plan.value_counts())": "write for example _.age >= 18; a column that h",
    'people.filter(_.plan.beginswith("f"))': "write .startswith('a').",
    'people.agg(m="mean")': "write mean=_.age.mean(), with a column.",
    'people.agg(m="sum")': "write sum=_.age.sum(), with a column.",
    'people.agg(n="size")': "write n=_.count().",
    'people.filter("age == 18")': "a text names a column; write the expression it",
    "people.filter(\"plan = 'free'\")": "a text names a column; write the expression it",
    'people.filter("age > 18 and visits < 3")': "a text names a column; write the expression it",
    'people.mutate(monthly="visits / 12")': "a text names a column; write the expression it",
    'people.mutate(plan2="plann")': "did you mean 'plan'?",
    "people.mutate(x=max)": "write _.age.mean() for an aggregate, _.visits",
    "people.agg(m=max)": "write _.age.mean() for an aggregate, _.visits",
}
"""The line that each is answered with, or the beginning of it."""


def test_columns_say_what_to_write() -> None:
    assert len(CALLS) >= 20
    assert misjudged(CALLS) == {}
