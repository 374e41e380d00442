"""Noise that Spark's executors add: to the totals of each group, where these are, so that none comes to the driver.

The noise of a group is that of `mechanisms.distributed_noise`, whichever executor adds it, and however often. So the
totals are written before noise is added, once: a task that is run again reads them again. Were they computed again,
from a table that has changed, the same noise would show by how much. If what was written is lost, the release fails.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.engines.engine import AddNoise, add_noise_to_batch, widths_of
from discreet.planning.batches import ROWS
from discreet.planning.group_keys import POSITION
from discreet.planning.plan import Plan

GROUPS_AT_ONCE = 32 * ROWS
"""So many groups come to the driver at once."""

_numbers = itertools.count()
"""Of what is written to the checkpoint folder, which Spark makes anew for each application."""


def noisy_groups(frame: Any, plan: Plan, add_noise: AddNoise) -> Generator[pa.Table]:
    """The totals of a plan, which `frame` computes, with noise: groups in the order of the keys, part by part."""
    with _checkpointed(frame) as written:
        for first in range(0, plan.query.cells, GROUPS_AT_ONCE):
            part = written.where(f"{POSITION} >= {first} AND {POSITION} < {first + GROUPS_AT_ONCE}")
            changed = partial(_noisy_batches, partial(add_noise_to_batch, add_noise, widths_of(plan)))
            found = part.mapInArrow(changed, written.schema).toArrow()
            yield found.take(np.argsort(found[POSITION].to_numpy()))


def _noisy_batches(noisily: Callable[[Any], Any], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What an executor makes of its part of the totals."""
    return map(noisily, batches)


@contextmanager
def _checkpointed(frame: Any) -> Iterator[Any]:
    """What a frame holds, computed and written once, and gone afterwards.

    It is in the session's checkpoint folder if the curator has set one, so that it outlasts executors; otherwise on two
    executors, so that one may be lost.
    """
    folder = frame.sparkSession.sparkContext.getCheckpointDir()
    if folder is not None:
        with _deleted_afterwards(frame, f"{folder}/discreet-{next(_numbers)}") as path:
            frame.write.parquet(path)
            yield frame.sparkSession.read.schema(frame.schema).parquet(path)
        return
    from pyspark import StorageLevel

    written = frame.localCheckpoint(eager=True, storageLevel=StorageLevel.MEMORY_AND_DISK_2)
    try:
        yield written
    finally:
        written._jdf.queryExecution().analyzed().rdd().unpersist(True)  # noqa: FBT003, SLF001 (Java; whether to wait)


@contextmanager
def _deleted_afterwards(frame: Any, path: str) -> Iterator[str]:
    """A path in the session's storage, at which nothing is left afterwards."""
    context = frame.sparkSession.sparkContext
    try:
        yield path
    finally:
        there = context._jvm.org.apache.hadoop.fs.Path(path)  # noqa: SLF001 (Python's side has no name for it)
        there.getFileSystem(context._jsc.hadoopConfiguration()).delete(there, True)  # noqa: FBT003, SLF001 (Java; all that is in it)
