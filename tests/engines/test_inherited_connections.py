"""A forked child may collect the garbage of its parent, and end as it likes: it closes no connection of its parent."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PARENT = """
import gc, os, sys
gc.disable()  # what is let go of is still there at the fork
import ibis, pyarrow as pa, discreet as dp
rows = pa.table({"person": range(9)})
def used(data):
    table = dp.protect(data, unit="person", max_rows=1, budget=dp.Budget(epsilon=1), name="people")
    table.count().release(epsilon=1)
    return table
kept = used(rows)
used(rows), used(ibis.duckdb.connect().create_table("people", rows)), dp.public(rows)
child = os.fork()
if not child:
    if "kept" in sys.argv:
        sys.exit(7)
    del kept
    gc.collect()
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(kept.count().release(epsilon=1)["count"].shape)
os._exit(0)
"""


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
@pytest.mark.parametrize("end", ["garbage", "kept"])
def test_a_forked_child_closes_no_connection_of_its_parent(end: str) -> None:
    """It ended with signal 11 as soon as its garbage was collected, or as it came to its end."""
    command = [sys.executable, "-W", "ignore", "-c", PARENT, end]
    told = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert told.stdout.split("\n") == ["7", "(1,)", ""]
