"""Several tables in one question: on each engine the same exact totals as on DuckDB, and one connection for all."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.query.public_table import PublicTable
from discreet.query.table import PrivateTable
from neighbor_bench import STORES, Bench

Backends = Callable[[str], Any]
DAY = datetime.date
AT = datetime.datetime

VISITS = pa.table(
    {
        "person": ["p1", "p1", "P1", "p2", None, "p3", "p3", "p4"],
        "plan": ["a", "A", "é", None, "a", "", "a", "b"],
        "day": [DAY(2000, 2, 29), None, DAY(1, 1, 1), DAY(2026, 1, 1), None, DAY(2000, 2, 29), None, DAY(1969, 12, 31)],
        "x": [1.5, float("nan"), float("inf"), -0.0, 3.0, 4.25, None, 2.0],
    }
)
CALLS = pa.table(
    {
        "person": ["p1", "p1", "p2", "p5", None, "p3", "p3", "p4"],
        "plan": ["a", "a", None, "b", "a", "", "a", "B"],
        "y": [1, 2**62, -(2**62), 4, 5, None, 7, 8],
    }
)
TERMS = pa.table(
    {
        "plan": ["a", "A", "é", "", None, "quote ' \\ \" % {}"],
        "share": [0.1, -0.0, None, float("nan"), 7.0, 1e-300],
        "since": [DAY(2000, 2, 29), DAY(1, 1, 1), None, DAY(9999, 12, 31), None, DAY(1969, 12, 31)],
        "at": [AT(2000, 2, 29, 12, 0, 0, 1), None, AT(1, 1, 1), AT(1969, 12, 31, 23, 59), None, AT(2026, 3, 29, 2, 30)],
        "number": [2**63 - 1, -(2**63), None, 0, 1, 2],
        "open": [True, False, None, True, False, True],
    }
)


def stored(backend: Any, name: str, data: pa.Table) -> Any:
    if backend.name == "duckdb":
        return backend.create_table(name, data, overwrite=True)
    return STORES[backend.name](backend, name, data, temporary=False)


def protected(backend: Any, **stated: Any) -> tuple[PrivateTable, PrivateTable]:
    budget = dp.Budget(epsilon=10**6)
    facts: dict[str, Any] = {"unit": "person", "max_groups": 2, "max_rows": 3, "budget": budget} | stated
    keys = {"plan": ["a", "A", "é", "", "b", None]}
    visits = dp.protect(
        stored(backend, "visits_beside", VISITS), bounds={"x": (-4, 4)}, keys=keys, name="visits", **facts
    )
    calls = dp.protect(
        stored(backend, "calls_beside", CALLS), bounds={"y": (-100, 100)}, keys=keys, name="calls", **facts
    )
    return visits, calls


def with_public(visits: PrivateTable, terms: PublicTable) -> Any:
    return visits.join(terms, "plan", how="left").group_by("plan").agg(
        n=_.count(), share=_.share.sum(), paid=(_.x * _.share).sum(), year=_.since.year().sum(), hour=_.at.hour().sum(),
        late=_.count(where=_.at > "2000-01-01"), number=_.number.sum(), none=_.count(where=_.number.isnull()),
        open=_.count(where=_.open),
    )  # fmt: skip


QUESTIONS: dict[str, Callable[..., Any]] = {
    "public": lambda visits, _calls, terms: with_public(visits, terms),
    "public days": lambda visits, _calls, terms: visits.join(
        dp.public(terms.rows.select(["since"]).rename_columns(["day"])), "day", how="anti", max_matches=2
    ).count(),
    "private": lambda visits, calls, _terms: visits.select("plan", "x").join(calls.select("y")).group_by("plan").agg(
        n=_.count(), x=_.x.sum(), y=_.y.sum()
    ),
    "private semi": lambda visits, calls, _terms: visits.join(calls, how="semi").group_by("plan").agg(x=_.x.mean()),
    "some and none": lambda visits, calls, terms: visits.join(calls, how="semi").join(
        calls.filter(_.y == 8), how="anti"
    ).join(terms, "plan", how="semi").join(calls, ["person", "plan"], how="anti").agg(n=_.count(), x=_.x.sum()),
    "private and more": lambda visits, calls, _terms: visits.join(calls, ["person", "plan"]).agg(y=_.y.sum()),
    "private on other keys": lambda visits, calls, _terms: visits.join(
        calls.select("plan", "y"), "plan", max_matches=8
    ).group_by("plan").agg(n=_.count(), x=_.x.sum(), y=_.y.sum()),
    "union": lambda visits, calls, _terms: visits.select("plan").union(calls.select("plan")).group_by("plan").agg(
        n=_.count()
    ),
    "intersect": lambda visits, calls, _terms: visits.select("plan").intersect(calls.select("plan")).count(),
    "difference": lambda visits, calls, _terms: visits.select("plan").difference(calls.select("plan")).count(),
    "keys": lambda visits, _calls, _terms: visits.per_key(
        "plan", max_keys=5, n=_.count(), persons=_.person.nunique(), x=_.x.sum(), day=_.day.max()
    ).group_by("plan").agg(n=_.n.clip(0, 9).sum(), p=_.persons.clip(0, 9).sum(), x=_.x.clip(-9, 9).sum()),
    "itself": lambda visits, _calls, _terms: visits.filter(_.x > 1).union(visits.filter(_.x < 2)).agg(x=_.x.sum()),
    "all three": lambda visits, calls, terms: visits.union(
        visits.filter(_.x > 3)
    ).join(terms, "plan").join(calls.select("y")).agg(y=_.y.sum(), share=_.share.sum()),
}  # fmt: skip

BY_ROW: dict[str, Callable[..., Any]] = {
    "distinct rows": lambda visits, _calls, _terms: visits.distinct("plan", "x").group_by("plan").agg(
        n=_.count(), x=_.x.sum()
    ),
    "rows of both": lambda visits, calls, _terms: visits.select("plan").intersect(calls.select("plan")).count(),
    "rows of one": lambda visits, calls, _terms: visits.select("plan").difference(calls.select("plan")).count(),
    "rows taken": lambda visits, _calls, _terms: visits.take(8).agg(n=_.count(), x=_.x.sum()),
    "rows skipped": lambda visits, _calls, _terms: visits.skip(1).agg(n=_.count()),
    "rows that meet": lambda visits, calls, _terms: visits.select("plan", "x").join(
        calls.select("plan", "y"), "plan", max_matches=8
    ).group_by("plan").agg(n=_.count(), x=_.x.sum(), y=_.y.sum()),
}  # fmt: skip
"""Where each row is a unit."""


def totals(backend: Any, name: str) -> list[Any]:
    stated: dict[str, Any] = {"unit": dp.ROW, "max_groups": None, "max_rows": None} if name in BY_ROW else {}
    question = {**QUESTIONS, **BY_ROW}[name](*protected(backend, **stated), dp.public(TERMS))
    bench = Bench(backend)
    return [block.tolist() for block in bench.totals(bench.plan(question, epsilon=1))]


@pytest.mark.long
@pytest.mark.parametrize("name", [*QUESTIONS, *BY_ROW])
def test_tables_of_one_connection_have_the_totals_that_duckdb_gives(
    backend_of: Backends, engine: str, name: str
) -> None:
    found = totals(backend_of("duckdb"), name)
    assert any(any(row) for block in found for row in block)
    assert totals(backend_of(engine), name) == found


TEXTS = {"postgresql": ("text", "varchar(4)", "char(2)", "char(5)"), "spark": ("string", "varchar(4)", "char(5)")}
PEOPLE = ("1", "1", "01", "p1", "é")
"""Of whom two would be one, and others nobody, if they were read as numbers."""


def test_units_are_texts_of_any_length(backend_of: Backends, other: str) -> None:
    """Tables in which a unit had texts of different lengths met as whole numbers: one name made a question fail."""
    if other not in TEXTS:
        return
    backend, budget, tables = backend_of(other), dp.Budget(epsilon=10**6), []
    for i, kind in enumerate(TEXTS[other]):
        name, ending = f"people_{i}", "USING parquet" if other == "spark" else ""
        values = ", ".join(f"('{one}')" for one in PEOPLE)
        for statement in (
            f"DROP TABLE IF EXISTS {name}",
            f"CREATE TABLE {name} (person {kind}) {ending}",
            f"INSERT INTO {name} VALUES {values}",  # noqa: S608 (our own)
        ):
            done = backend.raw_sql(statement)
            if other == "postgresql":
                done.close()
                backend.con.commit()
        tables.append(dp.protect(backend.table(name), unit="person", max_rows=1, budget=budget, name=name))
    bench = Bench(backend)
    for one, second in itertools.product(tables, repeat=2):
        for verb, wanted in (("union", 4), ("intersect", 4), ("difference", 0)):
            plan = bench.plan(getattr(one, verb)(second).agg(n=_.count()), epsilon=1)
            [[found]] = bench.totals(plan)[0].tolist()
            assert found == wanted, (one, second, verb)


def test_a_public_table_of_a_connection_is_read_like_any_other(backend_of: Backends, engine: str) -> None:
    found, wanted = dp.public(stored(backend_of(engine), "terms_beside", TERMS)), dp.public(TERMS)
    assert found.kinds == wanted.kinds
    assert {name: found.rows[name].to_pylist() for name in found.columns} == wanted.rows.to_pydict()


def test_a_release_of_several_leaves_nothing_behind(backend_of: Backends, other: str) -> None:
    backend = backend_of(other)
    visits, calls = protected(backend, max_groups=1, max_rows=1)
    before = sorted(backend.list_tables())
    question = visits.select("x").join(calls.select("y")).agg(n=_.count())
    shown = question.explain(epsilon=1)["sql"]
    assert "visits_beside" in shown
    assert "calls_beside" in shown
    assert question.release(epsilon=10**5)["n"].tolist() == [4]  # p1, p2, p3 and p4, each once
    assert visits.join(dp.public(TERMS), "plan").agg(n=_.count()).release(epsilon=10**5)["n"].tolist() == [3]
    assert visits.budget.spent.epsilon == 2 * 10**5
    assert sorted(backend.list_tables()) == before


def test_tables_of_two_engines_are_refused(backend_of: Backends, other: str) -> None:
    budget = dp.Budget(epsilon=1)
    one, two = (
        dp.protect(stored(backend_of(name), "visits_beside", VISITS), unit="person", budget=budget, name=name)
        for name in ("duckdb", other)
    )
    for first, second in ((one, two), (two, one)):
        with pytest.raises(dp.InvalidQuery, match="tables of one connection"):
            first.join(second, how="semi")
    assert budget.spent.epsilon == 0
