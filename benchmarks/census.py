"""A census: billions of counts get exact noise and go to disk, in memory that does not grow with them.

``python benchmarks/census.py [--counts 3e9] [--batch 4e6]`` makes counts up batch by batch, as an engine would hand
them over, adds discrete Laplace noise of scale 1 to each, and writes them into one Parquet file, which it deletes.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import tempfile
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

import discreet as dp

SCHEMA = pa.schema([("count", pa.int64())])


def batches(counts: int, size: int) -> Iterator[NDArray[np.int64]]:
    """Counts of small places: most are below a hundred."""
    made = np.random.default_rng(1).geometric(0.05, size).astype(np.int64)
    for begin in range(0, counts, size):
        yield made[: min(size, counts - begin)]


def stream(path: Path, counts: int, size: int) -> None:
    """Releases all counts as one vector, part after part: one person moves one of them by one."""
    noise = dp.Laplace(sensitivity=1, epsilon=1)
    with pq.ParquetWriter(path, SCHEMA, compression="zstd", compression_level=1) as writer:
        for batch in batches(counts, size):
            writer.write_batch(pa.record_batch([pa.array(noise.release(batch))], schema=SCHEMA))


def peak() -> float:
    """The most memory that this process has held, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Streams a tenth of the counts, then all of them: memory stays, time grows tenfold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", type=float, default=1e8)
    parser.add_argument("--batch", type=float, default=4e6)
    given = parser.parse_args()
    today = date.today()  # noqa: DTZ011 - a label
    print(f"{today}, {os.cpu_count()} cores ({platform.machine()}), NumPy {np.__version__}, Arrow {pa.__version__}")
    print("| counts | seconds | counts a second | file | most memory |\n|--:|--:|--:|--:|--:|")
    for counts in (int(given.counts / 10), int(given.counts)):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "census.parquet"
            began = time.perf_counter()
            stream(path, counts, int(given.batch))
            took, size = time.perf_counter() - began, path.stat().st_size
            assert pq.read_metadata(path).num_rows == counts
        print(f"| {counts:,} | {took:.1f} | {counts / took / 1e6:.0f} M | {size / 1e6:,.0f} MB | {peak():,.0f} MB |")


if __name__ == "__main__":
    main()
