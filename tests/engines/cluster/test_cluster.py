"""Spark on a master, two workers and their executors: tasks that are speculated, and executors that are lost."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

import discreet as dp
from discreet.curator import file_release
from discreet.mechanisms.distributed_noise import DistributedNoise
from discreet.planning.plan import Plan
from discreet.query.table import PrivateTable
from neighbor_bench import STORES
from temporary_spark import BRIEF, temporary_cluster, temporary_spark

KEYS = 20_000
SECRET = bytes(range(32))
SETTINGS = {
    **BRIEF,
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.adaptive.enabled": "false",  # it would make one part of so few groups
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.minTaskRuntime": "3s",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.eventLog.rolling.enabled": "false",
}
PART = 1
"""The part of the totals where a task is disturbed."""

Disturb = Callable[[], None]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("events")


@pytest.fixture(scope="module")
def session(folder: Path) -> Iterator[Any]:
    events = {"spark.eventLog.dir": folder.as_uri()}
    with temporary_cluster() as joined, temporary_spark({**SETTINGS, **events, **joined}) as started:
        yield started


@dataclass(frozen=True)
class Asking:
    """Releases to files, of a known secret: each task keeps what it made, and some are disturbed."""

    table: PrivateTable
    folder: Path
    patch: pytest.MonkeyPatch

    def release(self, name: str, disturb: Disturb | None = None) -> pa.Table:
        """What comes under the name."""
        (self.folder / name).mkdir()
        self.patch.setattr(
            file_release, "distributed_noise_of", lambda plan, _: Watched(plan, self.folder / name, disturb)
        )
        question = self.table.group_by("k", keys=dp.public_keys(self.folder / "keys.parquet")).agg(
            n=lambda t: t.count()
        )
        written = question.release(epsilon=1, to=self.folder / f"{name}.parquet", fresh=True)
        return pq.read_table(written.path).replace_schema_metadata()

    def made(self, name: str) -> dict[str, list[bytes]]:
        """What the attempts at each piece of work made, in their order."""
        found: dict[str, list[bytes]] = {}
        for path in sorted((self.folder / name).glob("*-*-*")):
            found.setdefault(path.name.rpartition("-")[0], []).append(path.read_bytes())
        return found


@pytest.fixture
def asking(session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asking:
    data = pa.table({"k": pa.array([k for k in range(KEYS) for _ in range(k % 3)], pa.int64())})
    pq.write_table(pa.table({"k": range(KEYS)[::-1]}), tmp_path / "keys.parquet")
    stored = STORES["pyspark"](ibis.pyspark.connect(session), "spread", data)
    table = dp.protect(stored, unit=dp.ROW, budget=dp.Budget(epsilon=100), name="spread")
    return Asking(table, tmp_path, monkeypatch)


class Watched:
    """Noise of the known secret, whose tasks write down what they made before they hand it over."""

    def __init__(self, plan: Plan, folder: Path, disturb: Disturb | None) -> None:
        noise = DistributedNoise(SECRET, tuple(block.noise for block in plan.blocks))

        def add_noise(places: NDArray[np.int64], totals: list[NDArray[Any]]) -> list[NDArray[Any]]:
            from pyspark import TaskContext

            found, task = noise.add_noise(places, totals), TaskContext.get()
            if task is None:
                raise RuntimeError("noise was added outside of a task")
            part, attempt = task.partitionId(), task.attemptNumber()
            made = folder / f"{part}-{places.min()}-{attempt}"
            made.write_bytes(b"".join(one.tobytes() for one in [places, *found]))
            if disturb is not None and part == PART and not (folder / "disturbed").exists():
                (folder / "disturbed").touch()
                disturb()
            return found

        self.add_noise = add_noise


def slow() -> Disturb:
    """Takes until it is killed."""

    return partial(time.sleep, 60)


def deadly(*, everywhere: bool = False) -> Disturb:
    """Kills the executor that this task's Python belongs to, or both; they are children of the workers."""
    test = os.getpid()

    def disturb() -> None:
        def parent(process: int) -> int:
            with suppress(OSError):
                return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
            return 0

        executors = [parent(os.getppid())]
        if everywhere:
            running = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
            executors = [process for process in running if parent(parent(process)) == test]
        for process in executors:
            os.kill(process, signal.SIGKILL)

    return disturb


def ended(folder: Path) -> list[dict[str, Any]]:
    """The tasks that have ended so far, from Spark's log of events."""
    [log] = folder.iterdir()
    events = [json.loads(line) for line in log.read_text().splitlines() if line.endswith("}")]
    return [event for event in events if event["Event"] == "SparkListenerTaskEnd"]


def speculated(folder: Path, before: int) -> list[str]:
    """How the speculated tasks at the disturbed part of the last stage ended; the log comes after the events."""
    for _ in range(100):
        tasks = ended(folder)[before:]
        last = max((task["Stage ID"] for task in tasks), default=None)
        found = [task for task in tasks if task["Stage ID"] == last and task["Task Info"]["Index"] == PART]
        if ends := [task["Task End Reason"]["Reason"] for task in found if task["Task Info"]["Speculative"]]:
            return ends
        time.sleep(0.1)
    return []


def test_a_speculated_task_makes_the_same_bytes(asking: Asking, folder: Path) -> None:
    """Its first attempt is still busy when the second one is done; both have made the same, and that is released."""
    plain = asking.release("plain")
    before = len(ended(folder))
    assert asking.release("slow", slow()).equals(plain)
    twice = {name: made for name, made in asking.made("slow").items() if len(made) > 1}
    assert str(PART) in {name.split("-")[0] for name in twice}
    assert all(len(set(made)) == 1 for made in twice.values())
    assert speculated(folder, before) == ["Success"]
    assert len(asking.made("plain")) >= 4
    assert np.ptp(plain["n"].to_numpy()) > 10  # there is noise


def test_an_executor_may_be_lost(asking: Asking) -> None:
    """What was written is on two of them. The task is run again elsewhere, and makes the same."""
    plain = asking.release("plain")
    assert asking.release("deadly", deadly()).equals(plain)
    assert max(len(made) for made in asking.made("deadly").values()) > 1
    assert all(len(set(made)) == 1 for made in asking.made("deadly").values())


def test_when_all_executors_are_lost_the_release_fails(asking: Asking) -> None:
    """Nothing is computed a second time; the charge stays, and there is no file."""
    with pytest.raises(dp.EngineError, match="the charge stays spent"):
        asking.release("deadly", deadly(everywhere=True))
    assert not list(asking.folder.glob("*deadly*.parquet*"))
    assert asking.table.budget.spent.epsilon == 1


def test_a_checkpoint_folder_outlasts_all_executors(asking: Asking, session: Any) -> None:
    plain = asking.release("plain")
    kept = asking.folder / "checkpoints"
    session.sparkContext.setCheckpointDir(kept.as_uri())
    assert asking.release("deadly", deadly(everywhere=True)).equals(plain)
    assert all(len(set(made)) == 1 for made in asking.made("deadly").values())
    assert sum(len(made) for made in asking.made("deadly").values()) > len(asking.made("plain"))
    assert not [path for path in kept.rglob("*") if path.is_file()]
