"""Names that tables, groups and questions have in pandas, polars, Spark, dplyr and other libraries of privacy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from discreet.guesses.near_names import each, line_for

GROUPED = ".group_by('plan', keys=..., max_groups=1).agg(n=_.count())"
RELEASED = ".release(epsilon=0.1)"
NO_ROWS = "no row of a protected table is shown; ask for aggregates, .agg(n=_.count()).release(epsilon=0.1)."
PLACES = "rows have no places here: write .filter(_.age >= 18) for rows, and .select('age') for columns."
ORDER = "rows have no order here; .order_by(...) is for the answer, after .agg(n=_.count())."
MISSING = "write .filter(_.age.notnull()) for rows, or .fill_null({'age': 0})."
DERIVED = "write .mutate(monthly=_.visits / 12)."
CONDITION = "write .filter(_.age >= 18)."
LONGER = "write .pivot_longer(['first', 'second'], names_to='which', values_to='code')."
GROUPS = f"write {GROUPED}."
JOINED = "write .join(dp.public(other), 'zip'), with a public table."
KINDS = "print(table) shows the columns and their types; .columns has the names."
PRICED = f"end with {RELEASED}; .explain(epsilon=0.1) tells the error beforehand, for free."
COLLECTED = f"nothing is computed before a release: end with .agg(n=_.count()){RELEASED}."
SPREAD = "write .histogram('age', bins=10), or .agg(q=_.age.quantile([0.25, 0.5, 0.75]))."


STATISTICS: Mapping[str, str] = {
    name: f"write .agg({name}=_.age.{name}()){RELEASED}."
    for name in ("mean", "sum", "median", "std", "var", "min", "max", "nunique")
} | {
    "avg": f"write .agg(mean=_.age.mean()){RELEASED}.",
    "average": f"write .agg(mean=_.age.mean()){RELEASED}.",
    "quantile": f"write .agg(q=_.age.quantile(0.9)){RELEASED}.",
    "quantiles": f"write .agg(q=_.age.quantile([0.25, 0.5, 0.75])){RELEASED}.",
    "approxquantile": f"write .agg(q=_.age.quantile([0.25, 0.5, 0.75])){RELEASED}.",
    "percentile": f"write .agg(q=_.age.quantile(0.9)){RELEASED}.",
    "corr": f"write .agg(r=_.age.corr(_.visits, how='pop')){RELEASED}.",
    "cov": f"write .agg(c=_.age.cov(_.visits)){RELEASED}.",
    "mode": "write .top('plan', epsilon=0.1).",
}

TABLE: Mapping[str, str] = {
    **STATISTICS,
    "describe": "write .agg(n=_.count(), mean=_.age.mean(), median=_.age.median()), each with its part of epsilon.",
    "summary": "write .agg(n=_.count(), mean=_.age.mean(), median=_.age.median()), each with its part of epsilon.",
    "info": KINDS,
    "dtypes": KINDS,
    "schema": KINDS,
    "printschema": KINDS,
    "glimpse": KINDS,
    "shape": f"the number of rows is private: .count(){RELEASED}; .columns has the names.",
    "size": f"the number of rows is private: .count(){RELEASED}.",
    "nrow": f"the number of rows is private: .count(){RELEASED}.",
    "numrows": f"the number of rows is private: .count(){RELEASED}.",
    "height": f"the number of rows is private: .count(){RELEASED}.",
    "width": "len(table.columns) is the number of columns.",
    "ncols": "len(table.columns) is the number of columns.",
    "empty": f"whether there are rows is private: .count(){RELEASED}.",
    "valuecounts": "write .group_by('plan', max_groups=1).agg(n=_.count()), of declared keys, or keys=dp.UNKNOWN.",
    "crosstab": "write .crosstabs('plan', 'sex', ways=2), or .group_by('plan', 'sex').agg(n=_.count()).",
    "pivottable": "write .group_by('plan', 'sex').agg(n=_.count()); the answer has .pivot('sex').",
    "pivot": "write .group_by('plan', 'sex').agg(n=_.count()); the answer has .pivot('sex').",
    "pivotwider": "write .group_by('plan', 'sex').agg(n=_.count()); the answer has .pivot('sex').",
    "hist": SPREAD,
    "plot": f"there is nothing to draw before a release: {SPREAD} Then .release(epsilon=0.1).plot().",
    "boxplot": SPREAD,
    "groupby": GROUPS,
    "groupbykey": GROUPS,
    "rollup": "write .group_by('state', 'county', rollup=True).",
    "cube": "write .group_by('plan', 'sex', cube=True).",
    "aggregate": "write .agg(n=_.count()).",
    "summarise": "write .agg(n=_.count()).",
    "summarize": "write .agg(n=_.count()).",
    "reduce": "write .agg(total=_.visits.sum()).",
    "release": "ask something first: .agg(n=_.count()).release(epsilon=0.1).",
    "explain": "ask something first: .agg(n=_.count()).explain(epsilon=0.1).",
    "laplace": f"noise is added by a release: .agg(n=_.count()){RELEASED}; dp.Laplace is for numbers of yours.",
    "epsilon": "the allowance is .budget.allowance.epsilon, and what is left .budget.remaining.epsilon.",
    "spent": "write .budget.spent.",
    "remaining": "write .budget.remaining.",
    "unit": "write .declaration.unit.",
    "bounds": "write .declaration.bounds.",
    "keys": "write .declaration.keys.",
    "name": "write .declaration.name.",
    "isin": "it is of a column: .filter(_.plan.isin(['free'])).",
    "between": "it is of a column: .filter(_.age.between(18, 65)).",
    "clip": "it is of a column: .mutate(age=_.age.clip(0, 110)).",
    "round": "it is of an answer: .release(epsilon=0.1).rounded(0).",
    "setbudget": "write .with_budget(dp.Budget(parent=table.budget, epsilon=0.3, name='alice')).",
    "createorreplacetempview": "write dp.sql('SELECT ...', people=table).",
    "sql": "write dp.sql('SELECT ...', people=table).",
    "merge": JOINED,
    "leftjoin": JOINED,
    "innerjoin": JOINED,
    "joinwith": JOINED,
    "concat": "write .union(other), with another protected table of the same budget.",
    "append": "write .union(other); rows of a newer version come by .refreshed(data, version=...).",
    "unionall": "write .union(other).",
    "vstack": "write .union(other).",
    "window": "a window looks at other rows; write .group_by(...).agg(...), or .per_unit(...).",
    "over": "a window looks at other rows; write .group_by(...).agg(...), or .per_unit(...).",
    **dict(each(NO_ROWS, "values to_numpy to_dict to_list tolist to_records items iterrows itertuples iter_rows rows")),
    **dict(each(NO_ROWS, "first last tail foreach display print to_html to_json to_string write memory_usage")),
    **dict(each(NO_ROWS, "to_sql unique any all equals cache persist checkpoint dump save nlargest nsmallest stat")),
    **dict(each(PLACES, "iloc loc at iat ix index reset_index set_index slice get T transpose axes xs row")),
    **dict(each(ORDER, "sort_values sort_index sort orderby order_by arrange rank shift diff cumsum rolling resample")),
    **dict(each(ORDER, "lag lead cumcount cummax cummin ngroup ntile row_number bfill ffill asof")),
    **dict(each(NO_ROWS, "arg_unique is_unique is_duplicated to_series get_column hash op item")),
    **dict(each("write .cut('age', [0, 18, 65, 110]), bins that are public.", "qcut bin")),
    **dict(each(MISSING, "dropna drop_nulls drop_na isna isnull fillna na notna interpolate replace_na")),
    **dict(
        each(DERIVED, "assign with_column with_columns transform apply applymap map map_rows pipe eval insert replace")
    ),
    **dict(each(CONDITION, "where query subset mask filterby")),
    **dict(
        each(COLLECTED, "collect compute run submit to_arrow toPandas fetch fetchall evaluate get_data lazy as_arrow")
    ),
    "astype": "write .cast({'age': 'float64'}).",
    "dropduplicates": "write .distinct('plan'): the distinct rows of each unit.",
    "dropdups": "write .distinct('plan'): the distinct rows of each unit.",
    "explode": "write .unnest(code=[_.first, _.second]), or .unnest(word=_.text.split(','), max_items=5).",
    "flatmap": "write .unnest(code=[_.first, _.second]), or .unnest(word=_.text.split(','), max_items=5).",
    "selectmany": "write .unnest(code=[_.first, _.second]), or .unnest(word=_.text.split(','), max_items=5).",
    "melt": LONGER,
    "stack": LONGER,
    "unpivot": LONGER,
    "widetolong": LONGER,
    "gather": LONGER,
    "withcolumnrenamed": "write .rename(new='old').",
    "copy": "a table never changes: each verb gives a new one.",
    "clone": "a table never changes: each verb gives a new one.",
    "ntop": "write .top('plan', k=5, epsilon=0.1).",
    "topk": "write .top('plan', k=5, epsilon=0.1).",
    "cluster": "write .kmeans(['age', 'visits'], n_clusters=4, epsilon=1).",
}


def table_line(name: str, known: Iterable[str]) -> str:
    """The cure for a name that a protected table does not have.

    >>> table_line("write_csv", []) == NO_ROWS, table_line("rolling_mean", []) == ORDER
    (True, True)
    """
    line, folded = line_for(name, known, TABLE), name.lower().replace("_", "")
    if not line.startswith("there are"):
        return line
    if folded.startswith(("to", "write", "sink", "iter", "map", "hash")):
        return NO_ROWS
    return ORDER if folded.startswith(("rolling", "ewm", "cum", "arg", "sort")) else line


GROUPS_WORDS: Mapping[str, str] = {
    "count": "write .agg(n=_.count()).",
    "size": "write .agg(n=_.count()).",
    "nunique": "write .agg(n=_.person.nunique()), with the column of the unit.",
    **{name: f"write .agg({name}=_.age.{name}())." for name in ("mean", "sum", "median", "std", "var", "min", "max")},
    "avg": "write .agg(mean=_.age.mean()).",
    "quantile": "write .agg(q=_.age.quantile(0.9)).",
    "describe": "write .agg(n=_.count(), mean=_.age.mean(), median=_.age.median()).",
    "aggregate": "write .agg(n=_.count()).",
    "summarise": "write .agg(n=_.count()).",
    "summarize": "write .agg(n=_.count()).",
    "release": "say what of each group: .agg(n=_.count()).release(epsilon=0.1).",
    "explain": "say what of each group: .agg(n=_.count()).explain(epsilon=0.1).",
    "apply": "write .agg(n=_.count(), mean=_.age.mean()): an aggregate for each column of the answer.",
    "transform": "write .agg(n=_.count(), mean=_.age.mean()): an aggregate for each column of the answer.",
    "filter": "filter rows before .group_by(...), and groups of the answer by .having(_.n > 100).",
    "having": "it comes after .agg(n=_.count()): .having(_.n > 100).",
    "groups": "the keys are public: .keys.",
    "ngroups": "the keys are public: .keys.size.",
    "top": "it is of the table: .top('plan', k=5, epsilon=0.1).",
    "regress": "write .regress('visits', 'age').",
}

QUESTION: Mapping[str, str] = {
    **dict(
        each(PRICED, "values value result results answer run collect compute submit evaluate get fetch show_result")
    ),
    **dict(each(PRICED, "to_numpy item tolist to_dict iloc loc display print measure sample")),
    "plot": f"write {RELEASED}.plot().",
    "sqltext": "write .explain(epsilon=0.1)['sql'].",
    "sql": "write .explain(epsilon=0.1)['sql'].",
    "cost": "write .explain(epsilon=0.1).charge.",
    "price": "write .explain(epsilon=0.1).charge.",
    "error": "write .explain(epsilon=0.1).accuracy.",
    "accuracy": "write .explain(epsilon=0.1).accuracy.",
    "noise": "write .explain(epsilon=0.1); it shows the noise of each total.",
    "sensitivity": "write .explain(epsilon=0.1); it shows the sensitivity of each total.",
    "epsilon": "write .release(epsilon=0.1).",
    "withepsilon": "write .release(epsilon=0.1).",
    "sortvalues": "write .order_by('n', desc=True).",
    "sort": "write .order_by('n', desc=True).",
    "orderby": "write .order_by('n', desc=True).",
    "where": "rows: .filter(...) before .agg(...); rows of the answer: .having(_.n > 100).",
    "query": "rows: .filter(...) before .agg(...); rows of the answer: .having(_.n > 100).",
    "assign": "write .mutate(rate=_.a / _.n).",
    "withcolumns": "write .mutate(rate=_.a / _.n).",
    "withcolumn": "write .mutate(rate=_.a / _.n).",
    "round": "write .release(epsilon=0.1).rounded(0).",
    "pivot": "write .release(epsilon=0.1).pivot('plan').",
    "toexcel": "write .release(epsilon=0.1).to_excel('answer.xlsx').",
    **dict(each(PRICED, "head tail first last describe summary mean sum min max std var median count T index info")),
    **dict(each(PRICED, "shape size len columns dtypes schema rows keys collect_all to_list to_dicts to_json to_html")),
}
