"""Expressions as texts, and methods of columns by the names of other libraries."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from ibis import _

import discreet as dp
from discreet.testing import people
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
    "people.agg(n=_.plan.value_counts())": "group by it and count: people.group_by('plan',",
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


OF_COLUMNS = {
    "people.plan.value_counts()": "group by it and count: people.group_by('plan'",
    "people.plan.value_counts().release(epsilon=1)": "group by it and count: people.group_by('plan'",
    "(people.age // 10).value_counts().execute()": "no value of a protected column is shown: write",
    "people.age.describe()": "write people.agg(n=_.age.count(), mean=_.age.mean()",
    "_.age.describe().resolve(people)": "write people.agg(n=_.age.count(), mean=_.age.mean()",
    "people.age.head()": "no value of a protected column is shown: write",
    "people.age.tolist()": "no value of a protected column is shown: write",
    "people.age.to_numpy()": "no value of a protected column is shown: write",
    "people.age.to_markdown()": "no value of a protected column is shown: write",
    "people.age.values": "no value of a protected column is shown: write",
    "people.age.iloc[0]": "no value of a protected column is shown: write",
    "people.age.execute()": "no value of a protected column is shown: write",
    "people.age.mean().execute()": "no value of a protected column is shown: write",
    "people.age.max().to_pandas()": "no value of a protected column is shown: write",
    "(people.age > 18).sum().to_pyarrow()": "no value of a protected column is shown: write",
    "ibis.to_sql(people.age)": "no value of a protected column is shown: write",
    "people.age.sort_values()": "rows have no order here: nothing can depend on",
    "people.age.rolling_mean(3)": "rows have no order here: nothing can depend on",
    "people.age.hist()": "write people.histogram('age', bins=10).release(",
    "people.age.plot.hist()": "write people.histogram('age', bins=10).release(",
    "people.age.astype(float)": "write .cast('float64').",
    "people.age.topk(3)": "write people.top('plan', k=5, epsilon=0.1)",
    "people.age.nlargest(3)": "write people.top('plan', k=5, epsilon=0.1)",
    "people.age.dropna()": "write people.filter(_.age.notnull()) for rows",
    "people.age.dtype": "print(people) shows the columns and their types",
    "people.age.qcut(4)": "write people.cut('age', [0, 18, 65, 110])",
    "people.age.skew()": "ask for _.age.mean() and _.age.std(), and calc",
    "people.age.ge(18)": "write the operator itself, as in _.age >= 18",
    "people.age.upper()": "columns of another type have it; print(people)",
    "people.age.flor()": "did you mean 'floor'?",
    "people.age.release(epsilon=1)": "write people.agg(m=_.age.mean()).release(epsilon=0.1)",
    "people.mutate(first=_.plan[0:1])": "write .substr(0, 2), of constant places.",
    "people.filter(_.plan.re_search('a'))": "write .contains('a') or .like('a%')",
    "people.abs()": "it is of a column: write _.column.abs(...) in .agg(",
    "people.upper()": "it is of a column: write _.column.upper(...) in .agg(",
    "people.lag()": "rows have no order here; .order_by(...) is for",
    "people.wibble()": "the columns are 'person', 'plan', 'age', 'visits'; discreet docs verbs has the verbs.",
    "question.describe()": "end with .release(epsilon=0.1); .explain(",
    "question.wibble()": "there are document, explain, filter, having, mutate,",
    "answer.describe()": "write .to_pandas().describe, of a frame.",
    "people.rolling_mean(3)": "rows have no order here; .order_by(...) is for",
    "people.write_csv()": "no row of a protected table is shown; ask for",
    "answer.glimpse()": "write .to_polars().glimpse, of a frame.",
    "answer.nlargest(3)": "write .to_pandas().nlargest, of a frame.",
}
"""Calls on columns, of which Ibis would make a table, or run them."""


def test_calls_on_columns_say_what_to_write_before_anything_is_charged() -> None:
    assert misjudged(OF_COLUMNS) == {}


@pytest.mark.parametrize("name", ["describe", "tolist", "str", "groupby", "wibble"])
def test_a_column_that_ibis_derives_is_answered_as_well(name: str) -> None:
    table = people()
    with pytest.raises(dp.InvalidQuery, match=r"^Expected .+, got .+\nHint: ") as of_a_column:
        getattr(table.age, name)
    with pytest.raises(dp.InvalidQuery) as written:
        table.filter(getattr(_.age, name)())
    assert str(of_a_column.value) == str(written.value)


def test_columns_are_still_expressions_of_ibis() -> None:
    """Of the same class and the same operation; they are pickled, and probed for what Python asks of any object."""
    table = people()
    age: Any = table.age
    plain: Any = age.op().to_expr()
    assert isinstance(age, type(plain))
    assert age.equals(plain)
    assert (age + 1).equals(plain + 1)
    assert pickle.loads(pickle.dumps(age)).equals(plain)  # noqa: S301 - of this line
    assert not hasattr(age, "wibble")
    assert table.agg(m=age.mean(where=table.plan == "free")).explain(epsilon=1).charge.epsilon == 1


def test_columns_say_what_to_write() -> None:
    assert len(CALLS) >= 20
    assert misjudged(CALLS) == {}
