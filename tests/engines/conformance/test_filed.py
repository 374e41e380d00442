"""Answers in files on every engine: the same totals as in memory, from keys in a list and in a file."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.engines import postgresql, postgresql_copies
from discreet.engines.engine import UNCHARGED
from discreet.mechanisms.laplace import Laplace
from discreet.query.question import Question
from neighbor_bench import STORES

ROWS = pa.table(
    {
        "person": pa.array([1, 1, 2, 3, 3, None], pa.int64()),
        "plan": ["a", "b", "B", "a", None, "a"],
        "cost": [1.0, 5.0, float("nan"), 9.0, 2.5, 1.0],
    }
)
KEYS = pa.table({"plan": pa.array(["b", None, "B", "c", "a"], pa.string())})


@pytest.fixture
def ask(backend_of: Callable[[str], Any], engine: str) -> Callable[[Any], Question]:
    backend = backend_of(engine)
    stored = STORES[backend.name](backend, "filed", ROWS) if backend.name in STORES else ROWS
    table = dp.protect(
        stored, unit="person", bounds={"cost": (0, 8)}, max_groups=2, max_rows=1,
        budget=dp.Budget(epsilon=9), name=f"filed on {engine}",
    )  # fmt: skip
    return lambda keys: table.group_by(
        "plan", keys=dp.public_keys(keys) if isinstance(keys, Path | pa.Table) else keys
    ).agg(n=lambda t: t.count(), m=lambda t: t.cost.mean())


def test_a_file_has_the_totals(
    ask: Callable[[Any], Question], engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without noise, from keys in a list and in a file."""
    path = tmp_path / "keys.parquet"
    pq.write_table(KEYS, path)
    if engine != "spark":  # where noise is made by other processes
        monkeypatch.setattr(Laplace, "add_noise", lambda _, totals, __: totals)
    for number, keys in enumerate([KEYS, path]):
        written = ask(keys).release(epsilon=1, to=tmp_path / f"{number}.parquet")
        found = pq.read_table(written.path)
        assert found["plan"].to_pylist() == KEYS["plan"].to_pylist()
        if engine != "spark":
            assert found["n"].to_pylist() == [1, 1, 1, 0, 2]


HOSTILE = pa.table(
    {
        "t": ["", None, "\\.", '"', "a,b", "a\nb", "a\r\nb", "\\N", "é", "e\u0301", "NULL", " ", "\U0001f600"],
        "i": pa.array([0, None, 2**63 - 1, -(2**63), *range(1, 10)], pa.int64()),
        "b": pa.array([None, True, False] * 4 + [None]),
        "d": pa.array([date.min, None, date.max, *[date(1582, 10, 5 + n) for n in range(10)]], pa.date32()),
        "s": pa.array(
            ["0001-01-01 00:00:00", None, "9999-12-31 00:00:00", *[f"1969-12-31 23:59:59.{n:06}" for n in range(10)]]
        ).cast(pa.timestamp("us")),
    }
)


def test_hostile_keys_meet_their_rows(backend_of: Callable[[str], Any], engine: str, tmp_path: Path) -> None:
    """Keys of a file are those of a list, on every engine: each of them has its row, whatever it is made of."""
    backend = backend_of(engine)
    table = STORES[backend.name](backend, "hostile", HOSTILE) if backend.name in STORES else HOSTILE
    budget = dp.Budget(epsilon=10**7)
    people = dp.protect(table, unit=dp.ROW, budget=budget, name=f"hostile on {engine}")
    for names in ("t", "i", "b", "d", "s"), ("t",), ("d", "s"):
        keys = HOSTILE.select(list(names))
        path = tmp_path / f"{'-'.join(names)}.parquet"
        pq.write_table(keys, path)
        found = people.group_by(*names, keys=dp.public_keys(path)).agg(n=lambda t: t.count()).release(epsilon=10**5)
        assert found["n"].tolist() == [1] * HOSTILE.num_rows
        assert found.to_pyarrow().select(list(names)).equals(keys)


@pytest.mark.engine("postgresql")
def test_postgresql_sends_the_keys_of_a_file_and_keeps_none(
    backend_of: Callable[[str], Any], other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a transaction of one's own too, and after a failure; it reads when the statement runs."""
    monkeypatch.setattr(postgresql_copies, "ROWS", 100)  # of lines that are read at once
    backend = backend_of(other)
    stored = STORES[backend.name](backend, "sent", pa.table({"k": pa.array([1, 1, 2], pa.int64())}))
    people = dp.protect(stored, unit=dp.ROW, budget=dp.Budget(epsilon=10**7), name="sent")
    pq.write_table(pa.table({"k": range(1000)[::-1]}), tmp_path / "keys.parquet")
    question = people.group_by("k", keys=dp.public_keys(tmp_path / "keys.parquet")).agg(n=lambda t: t.count())
    made = "SELECT count(*) FROM pg_class WHERE relname LIKE '\\_\\_discreet%'"

    def left() -> int:
        return int(backend.con.execute(made).fetchone()[0])

    written = question.release(epsilon=10**5, to=tmp_path / "a.parquet")
    assert pq.read_table(written.path)["n"].to_pylist() == [0] * 997 + [1, 2, 0]
    with backend.con.transaction():
        assert question.release(epsilon=10**5, fresh=True)["n"].tolist() == [0] * 997 + [1, 2, 0]
        assert left() == 0
    run = question.explain(epsilon=1)["sql"]
    assert (
        run.index("CREATE TEMPORARY TABLE") < run.index("COPY") < run.index("transaction_read_only") < run.index("WITH")
    )
    for fault in ("copied", "add_noise_to_table"):  # before its rows, and among them
        with monkeypatch.context() as patched:
            patched.setattr(postgresql, fault, "no function")
            with pytest.raises(dp.EngineError):
                question.release(epsilon=10**5, to=tmp_path / "b.parquet", fresh=True)
        assert backend.con.info.transaction_status.name == "IDLE"
        assert left() == 0
    assert people.budget.spent.epsilon == 4 * 10**5
    assert people.count().release(epsilon=1, fresh=True) is not None  # the connection can be used


@pytest.mark.engine("postgresql")
def test_a_lost_connection_claims_no_charge_before_there_is_one(
    backend_of: Callable[[str], Any], other: str, tmp_path: Path
) -> None:
    info = backend_of(other).con.info
    STORES["postgres"](backend_of(other), "lost", pa.table({"k": ["a", "b"]}), temporary=False)
    pq.write_table(pa.table({"k": ["a"]}), tmp_path / "keys.parquet")
    backend = ibis.postgres.connect(host=info.host, user=info.user, database=info.dbname)
    raw = backend.table("lost")
    people = dp.protect(raw, unit=dp.ROW, budget=dp.Budget(epsilon=1), name="lost")
    question = people.group_by("k", keys=dp.public_keys(tmp_path / "keys.parquet")).agg(n=lambda t: t.count())
    backend.con.close()
    for ask in (
        lambda: question.release(epsilon=1),
        lambda: question.release(epsilon=1, to=tmp_path / "answer.parquet"),
        lambda: question.explain(epsilon=1),
        lambda: dp.protect(raw, unit=dp.ROW, budget=dp.Budget(epsilon=1)),
    ):
        with pytest.raises(dp.EngineError) as failure:
            ask()
        assert str(failure.value) == UNCHARGED
    assert people.budget.spent.epsilon == 0
    with pytest.raises(dp.EngineError) as failure:
        people.count().release(epsilon=0.5)
    assert str(failure.value) == UNCHARGED
    assert people.budget.spent.epsilon == 0


@pytest.mark.engine("postgresql")
def test_postgresql_refuses_a_file_where_it_may_make_no_table(
    backend_of: Callable[[str], Any], other: str, tmp_path: Path
) -> None:
    """Before anything is charged: a role without the right, a connection that reads, and text with NUL."""
    backend = backend_of(other)
    stored = STORES[backend.name](backend, "refusing", pa.table({"k": ["a", "b"]}))
    people = dp.protect(stored, unit=dp.ROW, budget=dp.Budget(epsilon=1), name="refusing")

    def ask(keys: list[str]) -> dp.Question:
        pq.write_table(pa.table({"k": keys}), tmp_path / "keys.parquet")
        return people.group_by("k", keys=dp.public_keys(tmp_path / "keys.parquet")).agg(n=lambda t: t.count())

    for before, after in (
        ("SET default_transaction_read_only = on", "RESET default_transaction_read_only"),
        ("CREATE ROLE modest; REVOKE TEMP ON DATABASE postgres FROM PUBLIC; SET ROLE modest", "RESET ROLE"),
    ):
        backend.raw_sql(before)
        try:
            with pytest.raises(dp.InvalidQuery, match="may make temporary tables"):
                ask(["a"]).release(epsilon=1)
        finally:
            backend.raw_sql(after)
    with pytest.raises(dp.InvalidQuery, match="NUL"):
        ask(["a", "\0"]).release(epsilon=1)
    assert people.budget.spent.epsilon == 0
