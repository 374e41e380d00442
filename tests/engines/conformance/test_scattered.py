"""Many groups on Spark: noise beside the totals, the same for a task that is run again, and written totals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

import discreet as dp
from discreet.curator import add_noise as curators
from discreet.engines import spark_executor_noise
from discreet.engines.engine import AddNoise
from discreet.mechanisms.distributed_noise import DistributedNoise
from discreet.noise.entropy import random_key
from discreet.planning.plan import Plan
from discreet.query.table import PrivateTable
from neighbor_bench import STORES, plan_of

KEYS = 10_000
pytestmark = pytest.mark.engine("spark")


@pytest.fixture
def table(backend_of: Callable[[str], Any], other: str) -> PrivateTable:
    data = pa.table({"k": pa.array([k for k in range(KEYS) for _ in range(k % 3)], pa.int64())})
    stored = STORES["pyspark"](backend_of(other), "scattered", data)
    return dp.protect(
        stored, unit=dp.ROW, keys={"k": range(KEYS)[::-1]}, budget=dp.Budget(epsilon=10**6), name="scattered"
    )


TRUE = np.array([k % 3 for k in range(KEYS)[::-1]])


def asked(table: PrivateTable) -> dp.Question:
    return table.group_by("k").agg(n=lambda t: t.count())


def noise_of(plan: Plan, secret: bytes) -> DistributedNoise:
    return DistributedNoise(secret, tuple(block.noise for block in plan.blocks))


def noisy(table: PrivateTable, plan: Plan, add_noise: AddNoise) -> NDArray[Any]:
    engine: Any = table._source._engine  # type: ignore[attr-defined]  # the curator's source has it
    [found] = engine.noisy_totals(plan, engine.statement(plan), add_noise)
    return np.asarray(found).ravel()


@pytest.fixture
def failing(tmp_path: Any) -> Callable[[DistributedNoise], AddNoise]:
    """Noise whose first task on each part of the totals fails when it has been made."""

    def made(noise: DistributedNoise) -> AddNoise:
        folder = str(tmp_path)

        def add_noise(places: NDArray[np.int64], totals: list[NDArray[Any]]) -> list[NDArray[Any]]:
            from pathlib import Path

            found, mark = noise.add_noise(places, totals), Path(folder) / str(places.min())
            if not mark.exists():
                mark.touch()
                raise RuntimeError(mark)
            return found

        return add_noise

    return made


def test_tasks_that_are_run_again_make_the_same_noise(table: PrivateTable, monkeypatch: pytest.MonkeyPatch) -> None:
    """In other parts, too: with 1 and with 3 partitions. Another secret makes other noise."""
    plan, secret = plan_of(asked(table), epsilon=1), random_key()
    session = table._source._engine._backend._session  # type: ignore[attr-defined]  # as above
    first = noisy(table, plan, noise_of(plan, secret).add_noise)
    frames: Any = type(session.sql("SELECT 1"))
    written = frames.localCheckpoint
    monkeypatch.setattr(frames, "localCheckpoint", lambda self, **how: written(self.repartition(3), **how))
    again = noisy(table, plan, noise_of(plan, secret).add_noise)
    assert first.tobytes() == again.tobytes()
    assert not session.sparkContext._jsc.getPersistentRDDs()  # what was written is freed
    monkeypatch.undo()
    assert first.tobytes() != noisy(table, plan, noise_of(plan, random_key()).add_noise).tobytes()
    assert np.abs(first - TRUE).max() < 60  # once in 10**20 beyond
    assert np.abs(first - TRUE).max() > 3


def test_a_checkpoint_folder_holds_the_totals_for_as_long_as_they_are_needed(
    table: PrivateTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same noise from there, of the same totals; nothing stays, after a failure either."""
    plan, noise = plan_of(asked(table), epsilon=1), noise_of(plan_of(asked(table), epsilon=1), random_key())
    usual = noisy(table, plan, noise.add_noise)
    session = table._source._engine._backend._session  # type: ignore[attr-defined]  # as above
    context, seen = session.sparkContext, tmp_path / "seen"
    monkeypatch.setattr(type(context), "getCheckpointDir", lambda _: (tmp_path / "checkpoints").as_uri())

    def add_noise(places: NDArray[np.int64], totals: list[NDArray[Any]]) -> list[NDArray[Any]]:
        if not seen.exists():
            seen.write_text("\n".join(path.name for path in (tmp_path / "checkpoints").rglob("*.parquet")))
            raise RuntimeError
        return noise.add_noise(places, totals)

    with pytest.raises(dp.EngineError):
        noisy(table, plan, add_noise)
    assert "part-" in seen.read_text()
    assert not list((tmp_path / "checkpoints").iterdir())
    assert noisy(table, plan, add_noise).tobytes() == usual.tobytes()
    assert not list((tmp_path / "checkpoints").iterdir())


def test_only_noisy_totals_come_to_the_driver(table: PrivateTable, monkeypatch: pytest.MonkeyPatch) -> None:
    """Above the threshold the engine is never asked for exact ones; what is released is private, and charged once."""
    monkeypatch.setattr(curators, "MOST_HERE", KEYS - 1)
    engine: Any = table._source._engine  # type: ignore[attr-defined]  # as above
    monkeypatch.setattr(type(engine), "totals", lambda *_: pytest.fail("exact totals were asked for"))
    answer = asked(table).release(epsilon=1)
    assert answer.receipt["private"] is True
    assert asked(table).release(epsilon=1)["n"].tolist() == answer["n"].tolist()
    fresh = asked(table).release(epsilon=1, fresh=True)
    assert np.mean(fresh["n"] == answer["n"]) < 0.8  # two draws at scale 1 agree with probability 0.36
    assert table.budget.spent.epsilon == 2


def test_a_lost_task_is_made_up_for(table: PrivateTable, failing: Callable[[DistributedNoise], AddNoise]) -> None:
    """Local mode gives a task one try, and the failure is the analyst's sentence; a new run makes the same noise."""
    plan = plan_of(asked(table), epsilon=1)
    noise = noise_of(plan, random_key())
    flaky = failing(noise)
    for _ in range(4):
        try:
            found = noisy(table, plan, flaky)
            break
        except dp.EngineError:
            continue
    assert found.tobytes() == noisy(table, plan, noise.add_noise).tobytes()


def test_a_file_is_written_slice_by_slice(table: PrivateTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys from a file, noise on the executors, some groups at a time on the driver; what was written is freed."""
    monkeypatch.setattr(spark_executor_noise, "GROUPS_AT_ONCE", 3000)
    session = table._source._engine._backend._session  # type: ignore[attr-defined]  # as above
    engine: Any = table._source._engine  # type: ignore[attr-defined]  # as above
    monkeypatch.setattr(type(engine), "totals", lambda *_: pytest.fail("exact totals were asked for"))
    pq.write_table(pa.table({"k": range(KEYS)[::-1]}), tmp_path / "keys.parquet")
    question = table.group_by("k", keys=dp.public_keys(tmp_path / "keys.parquet")).agg(n=lambda t: t.count())
    written = question.release(epsilon=1, to=tmp_path / "answer.parquet")
    found = pq.read_table(written.path)
    assert found["k"].to_pylist() == list(range(KEYS)[::-1])
    off = found["n"].to_numpy() - TRUE
    assert 3 < np.abs(off).max() < 60  # once in 10**20 beyond
    assert np.mean(off[:3000] == off[3000:6000]) < 0.8
    assert not session.sparkContext._jsc.getPersistentRDDs()
    plan, noise = plan_of(question, epsilon=1), noise_of(plan_of(question, epsilon=1), random_key())
    parts = list(engine.streamed(plan, engine.statement(plan), noise.add_noise))
    whole = engine.noisy_totals(plan, engine.statement(plan), noise.add_noise)
    assert np.concatenate([part[0] for part in parts]).tolist() == whole[0].tolist()
