"""Keys in a file: each once, in the order of the file, and the same ever after."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.language.checked_expressions import Kind
from discreet.planning import batches, group_key_file
from discreet.planning.group_key_file import KeyFile
from discreet.planning.group_keys import ARROW_TYPES, POSITION, Keys
from discreet.testing import people

KINDS = {"k": Kind.INTEGER}
LATE = 253_402_300_799_999_999
"""The last microsecond of the year 9999."""


def written(path: Path, rows: dict[str, Any], **options: Any) -> Path:
    pq.write_table(pa.table(rows), path, **options)
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys.parquet"


SAME: list[tuple[Kind, list[Any], list[Any]]] = [
    (Kind.INTEGER, [pa.array([3, None, -1], t) for t in (pa.int8(), pa.int32(), pa.int64())], [3, None, -1]),
    (Kind.INTEGER, [pa.array([2**63 - 1, 0], pa.uint64())], [2**63 - 1, 0]),
    (Kind.BOOLEAN, [pa.array([True, None, False])], [True, None, False]),
    (
        Kind.TEXT,
        [pa.array(["b", "", None, "é\0"], t) for t in (pa.string(), pa.large_string())]
        + [pa.array(["b", "", None, "é\0"]).dictionary_encode()],
        ["b", "", None, "é\0"],
    ),
    (Kind.DATE, [pa.array([date(1, 1, 1), None, date(9999, 12, 31)], pa.date32())], [date.min, None, date.max]),
    (
        Kind.TIMESTAMP,
        [
            pa.array([datetime(2020, 1, 1, 5, tzinfo=UTC)], pa.timestamp(unit, zone))
            for unit in ("s", "ns") for zone in ("UTC", "Asia/Tokyo")
        ]
        + [pa.array([datetime(2020, 1, 1, 5)], pa.timestamp("us"))],  # noqa: DTZ001 (naive means UTC here)
        [datetime(2020, 1, 1, 5)],  # noqa: DTZ001 (as above)
    ),
]  # fmt: skip


def read(kinds: dict[str, Kind], path: Path) -> KeyFile:
    """The keys of these columns, from a file of them."""
    return KeyFile.of(path).by(kinds)


@pytest.mark.parametrize(("kind", "columns", "keys"), SAME, ids=[f"{kind.value} {keys}" for kind, _, keys in SAME])
def test_equal_keys_are_one_whatever_holds_them(path: Path, kind: Kind, columns: list[Any], keys: list[Any]) -> None:
    """The same column, digest and numbers from every type that has these values; those of a list of them."""
    listed = Keys(("k",), (kind,), tuple((key,) for key in keys))
    digests = set()
    for column in columns:
        found = read({"k": kind}, written(path, {"k": column}))
        assert found.to_arrow().equals(listed.to_arrow())
        assert found.numbered().to_table().equals(listed.numbered())
        assert pa.concat_tables(found.batches()).equals(pa.concat_tables(listed.batches()))
        assert found.size == listed.size == len(keys)
        digests.add(found.digest)
    assert len(digests) == 1


REFUSED: dict[str, tuple[Kind, Any, str]] = {
    "beyond 64 bits": (Kind.INTEGER, pa.array([2**63], pa.uint64()), "keys of kind integer"),
    "reals": (Kind.INTEGER, pa.array([1.0]), "keys that compare exactly"),
    "truth values for numbers": (Kind.INTEGER, pa.array([True]), "keys of kind integer"),
    "numbers for truth values": (Kind.BOOLEAN, pa.array([1]), "keys of kind boolean"),
    "numbers for text": (Kind.TEXT, pa.array([1]), "keys of kind text"),
    "bytes": (Kind.TEXT, pa.array([b"a"]), "keys that compare exactly"),
    "times for dates": (Kind.DATE, pa.array([datetime(2020, 1, 1)]), "keys of kind date"),  # noqa: DTZ001 (naive means UTC here)
    "nanoseconds": (Kind.TIMESTAMP, pa.array([1], pa.timestamp("ns")), "keys of kind timestamp"),
    "after the last year": (Kind.TIMESTAMP, pa.array([2**63 - 1], pa.timestamp("us")), "keys of kind timestamp"),
    "after the last moment": (Kind.TIMESTAMP, pa.array([LATE + 1], pa.timestamp("us")), "of the years 1 to 9999"),
    "before the first day": (Kind.DATE, pa.array([-719163], pa.int32()).cast(pa.date32()), "keys of kind date"),
    "no row": (Kind.INTEGER, pa.array([], pa.int64()), "at least one key"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_not_be_told_apart_is_refused(path: Path, name: str) -> None:
    kind, column, message = REFUSED[name]
    with pytest.raises((dp.InvalidQuery, dp.InvalidParameter), match=message):
        read({"k": kind}, written(path, {"k": column}))


@pytest.mark.parametrize("keys", [[1, 2, 1], [None, 1, None], [*range(200_000), 7]], ids=["one", "NULL", "far apart"])
def test_a_repeated_key_is_refused(path: Path, keys: list[int | None]) -> None:
    with pytest.raises(dp.InvalidParameter, match="each key once"):
        read(KINDS, written(path, {"k": pa.array(keys, pa.int64())}))


def test_tuples_are_told_apart_as_a_whole(path: Path) -> None:
    kinds = {"a": Kind.INTEGER, "b": Kind.TEXT}
    found = read(kinds, written(path, {"b": ["x", "y", "X", None], "a": [1, 1, 1, 1]}))
    assert found.to_arrow().to_pydict() == {"a": [1, 1, 1, 1], "b": ["x", "y", "X", None]}
    with pytest.raises(dp.InvalidParameter, match="each key once"):
        read(kinds, written(path, {"a": [1, 1], "b": ["x", "x"]}))


@pytest.mark.long
def test_the_layout_of_the_file_does_not_matter(path: Path) -> None:
    rows = {"k": np.arange(300_000)[::-1]}
    first = read(KINDS, written(path, rows))
    again = read(KINDS, written(path, rows, row_group_size=1000, compression="gzip"))
    assert first.digest == again.digest
    assert first.facts == again.facts
    assert [part.num_rows for part in first.batches()] == [batches.ROWS, batches.ROWS, 300_000 - 2 * batches.ROWS]
    turned = read(KINDS, written(path, {"k": np.arange(300_000)}))
    assert turned.digest != first.digest


def test_digests_are_of_values_wherever_batches_end(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow's CSV writer puts arbitrary bytes for a NULL after a chunk without rows."""
    monkeypatch.setattr(batches.of_size, "__defaults__", (8192,))
    monkeypatch.setattr(group_key_file, "ROWS", 8192)
    written(path, {"k": pa.array([*range(12_000), None], pa.int64())})
    assert len({read(KINDS, path).digest for _ in range(4)}) == 1


def test_what_was_checked_is_what_is_used(path: Path) -> None:
    found = read(KINDS, written(path, {"k": [1, 2]}))
    written(path, {"k": [3, 3]})
    assert found.to_arrow()["k"].to_pylist() == [1, 2]
    assert found.numbered().to_table()[POSITION].to_pylist() == [0, 1]
    folder = found.copy.path.parent
    assert folder.is_dir()
    del found
    gc.collect()
    assert not folder.exists()


FORKED = """
import os, sys
from discreet.planning.group_key_file import KeyFile

keys = KeyFile.of(sys.argv[1])
if not os.fork():
    sys.exit()
os.wait()
print(keys.to_arrow()["k"].to_pylist())
"""


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_fork_that_ends_leaves_the_keys(path: Path) -> None:
    command = [sys.executable, "-c", FORKED, str(written(path, {"k": [1, 2]}))]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[1, 2]\n"


@pytest.mark.parametrize(
    ("rows", "message"),
    [({"other": [1]}, "of the columns"), ({"k": [1], "more": [1]}, "of the columns"), (None, "a Parquet file")],
    ids=["other", "more", "nothing"],
)
def test_a_file_of_something_else_is_refused(path: Path, rows: dict[str, Any] | None, message: str) -> None:
    if rows is not None:
        written(path, rows)
    with pytest.raises((dp.InvalidQuery, dp.InvalidParameter), match=message):
        dp.public_keys(path).of(KINDS)


def test_reals_are_no_groups(path: Path) -> None:
    with pytest.raises(dp.InvalidQuery, match="compare exactly"):
        people().group_by("visits", keys=dp.public_keys(written(path, {"visits": [1]})))


def test_groups_take_what_the_curator_read(path: Path) -> None:
    groups = people().group_by("plan", keys=dp.public_keys(str(written(path, {"plan": ["free", "25%"]}))))
    assert repr(groups).endswith("by plan: 2 public keys>")
    assert groups.agg(n=lambda t: t.count()).release(epsilon=1).to_pyarrow()["plan"].to_pylist() == ["free", "25%"]


def test_types_of_keys_are_those_of_lists() -> None:
    assert set(ARROW_TYPES) == set(Kind) - {Kind.REAL}
