"""Fences in statements: between steps that PostgreSQL's planner would merge, and around the rows of any engine's views.

Claim
    `fenced` gives a statement with the same rows. The planner meets each computed column of a step once for every time
    that the statement writes it out, however many steps follow: what it plans is no larger than the statement, but for
    the columns of a common table expression that it was told not to materialize. No condition of a statement
    `with_rows_first` is tried on a row that a view, or a step of the caller's, leaves out. A table that `with_scans`
    has `once` has the same rows wherever the statement names it.
Requires
    A statement of Ibis: steps are sub-queries in FROM with names of their own, whose columns are named with these.
Relies on
    PostgreSQL pulls no sub-query with OFFSET up into the query around it (is_simple_subquery, prepjointree.c), and
    OFFSET 0 leaves no row out. It computes common table expressions that are named more than once by themselves.
    DuckDB pushes no condition through OFFSET (FilterPushdown::Optimize), and Spark none through a sample, which keeps
    each row whose number from [0, 1) is below 1 (PushPredicateThroughNonJoin, BernoulliCellSampler). DuckDB computes a
    common table expression once that is MATERIALIZED (tested).
Proof
    A step is pulled up by putting the expression of each of its columns in the place of every name of it. That adds up
    to more than the text where a computed column is named twice: with k steps that name it twice, to 2^k times as much.
    Those steps are fenced, and where a column is only handed on, the one who names it twice decides. Steps with
    aggregates, DISTINCT or set operations are never pulled up; a fence around them would change nothing.
    No condition is pushed down into a sub-query with OFFSET either (subquery_is_pushdown_safe, allpaths.c). Elsewhere
    the cheapest is tried first, or what can be asked of a table before it is joined: of a view
    `SELECT id::int FROM t WHERE good(id)`, which fails on no row, our test for NULL would be, `id::int IS NOT NULL`,
    and one row that is not good would make it fail.
    A view with `any_value`, or with ORDER BY and LIMIT where rows are equal, takes rows by which thread came first.
    Read twice, it has a unit's rows once and once others, by the number of which the former are weighted down.
Rounding
    None.
Source
    PostgreSQL's documentation has no word on it; "OFFSET 0" as a fence is told of in its mailing lists since 2003.
Mutant
    no-fences: steps are left to the planner; killed by test_steps_are_planned_once.
    views-without-fences: conditions go down into views; killed by test_conditions_stay_out_of_views.
    views-are-read-twice: a view is read wherever a statement names it; killed by
    test_a_view_is_read_once_by_a_statement.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping

import sqlglot.expressions as sge

ROWS = "__discreet_rows"
"""Name of the rows of a view, or of steps of the caller's."""
OFFSET = "NOT MATERIALIZED (SELECT * FROM ({}) AS found OFFSET 0)"
"""A fence around a query: no condition goes down through it."""
SAMPLE = "(SELECT * FROM ({}) TABLESAMPLE (100 PERCENT) REPEATABLE (0) AS found)"
"""The same where OFFSET 0 is left out before conditions go down: a sample of all rows."""
APART = ("group", "distinct", "having", "limit", "offset")
"""Steps with one of these are planned by themselves."""


def fenced(statement: sge.Expression) -> sge.Expression:
    """The statement, changed in place, with OFFSET 0 after each step that has a computed column named several times."""
    uses = Counter((column.table, column.name) for column in statement.find_all(sge.Column))
    computed: dict[str, set[str]] = {}
    for select in reversed(list(statement.find_all(sge.Select))):  # from the innermost
        place = select.parent
        if not isinstance(place, sge.Subquery | sge.CTE) or any(select.args.get(part) for part in APART):
            continue
        name, own = place.alias, _computed(select, computed)
        if own and (isinstance(place, sge.CTE) or any(uses[name, column] > 1 for column in own)):
            select.offset(0, copy=False)
        else:
            computed[name] = own
    return statement


def with_rows_first(rows: str, statement: str, *, name: str = f'"{ROWS}"', fence: str = OFFSET) -> str:
    """The SQL of a statement over `ROWS`, which are those of other SQL, found before anything is asked of them."""
    return f"WITH {name} AS {fence.format(rows)} {statement}"


def with_scans(tables: Mapping[str, str], statement: str, once: Container[str] = ()) -> str:
    """A statement with tables written out before it, so that nothing of them is left in a connection; those `once` are
    read once, however often it names them. One that it names once is not kept for it, which takes time and memory.

    >>> with_scans({"t": "SELECT 1 AS x"}, "SELECT x FROM t")
    'WITH "t" AS NOT MATERIALIZED (SELECT 1 AS x) SELECT x FROM t'
    """
    rest = statement.removeprefix("WITH ")
    whole = "".join([*tables.values(), statement])
    # What stands in an expression of the statement's own, DuckDB may write out wherever that is named.
    kept = {name for name in tables if name in once and (rest != statement or whole.count(f'"{name}"') > 1)}
    how = {name: "MATERIALIZED" if name in kept else "NOT MATERIALIZED" for name in tables}
    written = ", ".join(f'"{name}" AS {how[name]} ({sql})' for name, sql in tables.items())
    return f"WITH {written}{', ' if rest != statement else ' '}{rest}"


def _computed(select: sge.Select, known: Mapping[str, set[str]]) -> set[str]:
    """The columns of a step that are more than a name or a constant; `known` are those of the steps it reads from."""
    result = set()
    for shown in select.expressions:
        held = shown.unalias()
        if held.is_star:
            tables = [held.table] if isinstance(held, sge.Column) else [one.alias for one in _tables(select)]
            result |= {column for table in tables for column in known.get(table, ())}
        elif held.name in known.get(held.table, ()) if isinstance(held, sge.Column) else held.find(sge.Column):
            result.add(shown.alias_or_name)
    return result


def _tables(select: sge.Select) -> list[sge.Expression]:
    """What a step reads from."""
    return [part.this for part in (select.args["from_"], *select.args.get("joins", ()))]
