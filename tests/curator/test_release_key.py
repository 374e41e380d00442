"""The key of a release changes with every public fact that matters, and with nothing else."""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pytest

import discreet as dp
from discreet.curator.release_key import LONGEST_LINE, described, digest
from discreet.language import arithmetic
from discreet.planning.planner import price
from discreet.query.question import Question
from discreet.query.table import PrivateTable

ROWS = pa.table(
    {
        "person": pa.array([1, 2, 3], pa.int64()),
        "plan": ["a", "b", None],
        "age": pa.array([30, 40, 50], pa.int64()),
        "at": pa.array([0, 1, 2], pa.int64()).view(pa.timestamp("us")),
    }
)
FACTS: dict[str, Any] = {
    "unit": "person",
    "bounds": {"age": (0, 100)},
    "keys": {"plan": ["a", "b"]},
    "max_groups": 1,
    "max_rows": 2,
    "name": "people",
    "version": "1",
}

Ask = Callable[[PrivateTable], Question]


def usual(table: PrivateTable) -> Question:
    return table.filter(table.age > 18).group_by("plan").agg(n=table.at.count(), m=table.age.mean())


def key(ask: Ask = usual, data: Any = ROWS, *, epsilon: Any = 1, weights: Any = None, **facts: Any) -> str:
    stated = {name: value for name, value in (FACTS | facts).items() if value is not None}
    table = dp.protect(data, budget=dp.Budget(epsilon=1), **stated)
    source: Any = table._source
    plan = price(ask(table)._query, epsilon=epsilon, weights=weights)
    return digest(plan, source._engine.statement(plan), source.schema)


REPLACED = {"neighbors": "replace-one", "units": 3}
FACTS_THAT_MATTER: dict[str, dict[str, Any]] = {
    "name": {"name": "others"},
    "version": {"version": "2"},
    "unit": {"unit": ["person", "plan"]},
    "bounds": {"bounds": {"age": (0, 101)}},
    "bounds of a column that is not asked of": {"bounds": {"age": (0, 100), "at": ("2020-01-01", "2021-01-01")}},
    "keys": {"keys": {"plan": ["a", "c"]}},
    "order of keys": {"keys": {"plan": ["b", "a"]}},
    "NULL among the keys": {"keys": {"plan": ["a", "b", None]}},
    "NULL in words": {"keys": {"plan": ["a", "b", "None"]}},
    "max_groups": {"max_groups": 2},
    "max_rows": {"max_rows": 3},
    "neighbors": REPLACED,
    "number of units": {**REPLACED, "units": 4},
    "epsilon": {"epsilon": 2},
    "weights": {"weights": {"m": 3}},
    "types": {"data": ROWS.set_column(2, "age", ROWS["age"].cast(pa.int16()))},
}
QUESTIONS: dict[str, Ask] = {
    "constant": lambda t: t.filter(t.age > 19).group_by("plan").agg(n=t.at.count(), m=t.age.mean()),
    "operation": lambda t: t.filter(t.age >= 18).group_by("plan").agg(n=t.at.count(), m=t.age.mean()),
    "no filter": lambda t: t.group_by("plan").agg(n=t.at.count(), m=t.age.mean()),
    "no groups": lambda t: t.filter(t.age > 18).agg(n=t.at.count(), m=t.age.mean()),
    "names": lambda t: t.filter(t.age > 18).group_by("plan").agg(k=t.at.count(), m=t.age.mean()),
    "order": lambda t: t.filter(t.age > 18).group_by("plan").agg(m=t.age.mean(), n=t.at.count()),
    "where": lambda t: t.filter(t.age > 18).group_by("plan").agg(n=t.at.count(where=t.age > 20), m=t.age.mean()),
    "statistic": lambda t: t.filter(t.age > 18).group_by("plan").agg(n=t.at.count(), m=t.age.sum()),
    "variance of the sample": lambda t: t.agg(v=t.age.var()),
    "variance of the population": lambda t: t.agg(v=t.age.var(how="pop")),
    "deviation": lambda t: t.agg(v=t.age.std()),
    "expression": lambda t: t.filter(t.age > 18).group_by("plan").agg(n=t.at.count(), m=(t.age / 2).mean()),
    "rows": lambda t: t.agg(n=lambda s: s.count()),
    "values": lambda t: t.agg(n=t.age.count()),
    "units": lambda t: t.agg(n=t.person.nunique()),
    "text of a constant": lambda t: t.filter(t.plan == "1").count(),
    "a longer text": lambda t: t.filter(t.plan == "1 ").count(),
}


def test_equal_questions_have_equal_keys() -> None:
    assert key() == key()
    assert key() == key(epsilon=1.0) == key(keys={"plan": ("a", "b")}, bounds={"age": [0.0, 100]})
    by_lambdas = {"n": lambda t: t.at.count(), "m": lambda t: t.age.mean()}
    assert key() == key(lambda t: t.filter(lambda s: s.age > 18).group_by(lambda s: s.plan).agg(**by_lambdas))


def test_rows_do_not_matter() -> None:
    others = pa.table({"person": [9], "plan": [None], "age": [-5], "at": [None]}, schema=ROWS.schema)
    assert key() == key(data=others) == key(data=ROWS.slice(0, 0))
    connection = ibis.duckdb.connect()
    assert key() == key(data=connection.create_table("t", ROWS))


@pytest.mark.long
@pytest.mark.parametrize("name", FACTS_THAT_MATTER)
def test_every_public_fact_matters(name: str) -> None:
    assert key(**FACTS_THAT_MATTER[name]) != key()


@pytest.mark.long
def test_no_two_questions_share_a_key() -> None:
    keys = [key(), *(key(ask) for ask in QUESTIONS.values()), *(key(**facts) for facts in FACTS_THAT_MATTER.values())]
    assert len(set(keys)) == len(keys)


def test_kinds_of_keys_matter() -> None:
    moments = [datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 1, 1)]  # noqa: DTZ001 (naive means UTC in a key)
    asked = [key(lambda t, m=m: t.group_by("at", keys={"at": [m]}).agg(n=lambda s: s.count())) for m in moments]  # type: ignore[misc]  # mypy takes the default for an argument of Ask
    assert asked[0] != asked[1]


@pytest.mark.long
def test_another_process_makes_the_same_key() -> None:
    """A ledger is read by many processes: no key may depend on hashing seeds, counters or addresses."""
    program = "import sys; sys.path.insert(0, sys.argv[1]); import test_release_key as t; print(t.key())"
    for seed in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", program, str(Path(__file__).parent)],
            env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout.strip() == key()


@pytest.mark.parametrize(
    "ask",
    [
        usual,
        lambda t: t.mutate(old=t.age.clip(0, 9) // 2).filter(lambda s: s.old > 1).agg(s=lambda s: s.old.sum()),
        lambda t: t.agg(n=t.age.count(), m=t.age.mean(where=t.plan.upper() == "A"), q=t.age.quantile(0.5)),
    ],
)
def test_how_an_expression_is_shown_is_no_part_of_the_key(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ledgers of earlier versions, which showed some otherwise, still have their answers."""
    before = key(ask)
    monkeypatch.setattr(arithmetic, "expression_text", lambda op: f"{type(op).__name__}(...)")
    assert key(ask) == before


@pytest.mark.parametrize(
    ("ask", "line"),
    [
        (lambda t: t.count(), "count (count)"),
        (lambda t: t.group_by("plan").agg(n=t.person.nunique()), "n (units) by plan"),
        (lambda t: t.filter(t.age > 18).agg(m=t.age.mean()), "m (mean of age) where age > 18"),
        (lambda t: t.agg(s=t.age.sum(where=t.plan == "a")), "s (sum of age where plan == 'a')"),
        (
            lambda t: t.filter(t.plan.upper() == "A").agg(m=(t.age // 10).mean()),
            "m (mean of age // 10) where plan.upper() == 'A'",
        ),
        (
            lambda t: t.filter((t.age < 18) | (t.age > 65), t.plan.notnull()).count(),
            "count (count) where ((age < 18) | (age > 65)) and plan.notnull()",
        ),
        (
            lambda t: t.filter(t.age.clip(0, 9) > 2).union(t.filter(t.plan == "a")).count(),
            "count (count) where age.clip(0, 9) > 2 and plan == 'a'",
        ),
    ],
)
def test_the_ledger_says_what_was_asked(ask: Ask, line: str) -> None:
    table = dp.protect(ROWS, budget=dp.Budget(epsilon=1), **FACTS)
    assert described(price(ask(table)._query, epsilon=1)) == line


def test_a_long_question_is_cut() -> None:
    table = dp.protect(ROWS, budget=dp.Budget(epsilon=1), **FACTS)
    asked = table.agg(**{f"column_{i}": table.age.count() for i in range(100)})
    assert len(described(price(asked._query, epsilon=1))) == LONGEST_LINE
