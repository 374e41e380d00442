"""Where an answer may be written, and under which name it stands when."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.answers.answer_file import (
    AnswerFile,
    checked_path,
    copied,
    drafting,
    finished,
    give_name,
    remove_leftovers,
    sha256_of,
    write_tables,
    writing,
)
from discreet.ledger.budget import Reservation


@pytest.mark.parametrize("to", ["answer.csv", "answer", 7, b"answer.parquet.gz", ""], ids=repr)
def test_other_endings_are_refused(to: Any) -> None:
    with pytest.raises(dp.InvalidParameter, match=r"a path that ends in .parquet"):
        checked_path(to)


def test_a_path_is_absolute_and_its_folder_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert checked_path("a.PARQUET") == tmp_path / "a.PARQUET"
    with pytest.raises(dp.InvalidParameter, match="a folder that exists"):
        checked_path("no/a.parquet")


def test_drafts_are_new_files_beside_the_name(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    with drafting(path) as first, drafting(path) as second:
        assert first != second
        assert {first.parent, second.parent} == {tmp_path}
        assert not path.exists()
    assert names(tmp_path) == []


def test_a_folder_that_takes_no_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "no")

    monkeypatch.setattr(os, "open", refused)
    path = tmp_path / "a.parquet"
    with pytest.raises(dp.InvalidParameter, match="can be written to"), writing(path), drafting(path):
        pass


KILLED = """
import os, signal
from pathlib import Path
from discreet.answers.answer_file import drafting
with drafting(Path("a[1].parquet")) as file, drafting(Path("a[1].parquet"), folder=True) as folder:
    for made in (file, folder / "total.parquet"):
        made.write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_a_killed_process_left_is_swept_away(tmp_path: Path, kind: str) -> None:
    """Drafts of others that live stay, and so do whole answers, which may be on record, and all other names."""
    path = tmp_path / "a[1].parquet"
    subprocess.run([sys.executable, "-c", KILLED], cwd=tmp_path, check=False)
    assert [name.endswith(".partial") for name in names(tmp_path)] == [True, True]
    kept = [".a[1].parquet.7-0.whole", ".a1.parquet.7-0.partial", ".a[1].parquet.mine.partial"]
    for name in kept:
        (tmp_path / name).write_bytes(b"kept")
    with drafting(path, folder=kind == "folder") as made:
        remove_leftovers(path, lambda left: left.read_bytes() == b"kept")
        assert names(tmp_path) == sorted([*kept, made.name])
    assert names(tmp_path) == sorted(kept)
    remove_leftovers(path, lambda _: False)
    assert names(tmp_path) == sorted(kept[1:])


def released(folder: Path, epsilon: int) -> AnswerFile:
    """A release to the same name, charged to the same ledger."""
    rows, keys = pa.table({"block": [0, 1, 1]}), pa.table({"block": [0, 1]})
    budget = dp.Budget(epsilon=9, ledger=folder / "spent.db")
    table = dp.protect(rows, unit=dp.ROW, budget=budget, name="blocks", version="1")
    question = table.group_by("block", keys=dp.public_keys(keys)).agg(n=lambda t: t.count())
    written = question.release(epsilon=epsilon, to=folder / "a.parquet")
    assert isinstance(written, AnswerFile)
    return written


def test_whole_answers_of_killed_processes_are_swept_unless_they_are_on_record(tmp_path: Path) -> None:
    """One was paid for and has no name yet; of the other the record knows nothing."""
    first = released(tmp_path, 1)
    recorded = first.path.with_name(f".a.parquet.{os.getpid()}-0.whole")
    first.path.rename(recorded)
    lost = tmp_path / ".a.parquet.7-0.whole"
    shutil.copy(recorded, lost)
    odd = tmp_path / ".a.parquet.7-1.whole"
    odd.write_bytes(b"no answer")
    other = released(tmp_path, 3)
    assert names(tmp_path) == sorted([recorded.name, odd.name, "a.parquet", "spent.db"])
    other.path.unlink()
    assert released(tmp_path, 1).receipt == first.receipt
    assert names(tmp_path) == sorted([odd.name, "a.parquet", "spent.db"])


def test_answers_are_for_their_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        written = released(tmp_path, 1)
    finally:
        os.umask(before)
    assert stat.S_IMODE(written.path.stat().st_mode) == 0o600


def test_a_draft_never_takes_the_place_of_a_whole_answer(tmp_path: Path) -> None:
    """Of an earlier process, say, that had the same number."""
    path = tmp_path / "a.parquet"
    with drafting(path) as made:
        first = finished(made)
    with drafting(path) as made:
        assert made.with_suffix(".whole") != first
    assert names(tmp_path) == [first.name]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def tables() -> Iterator[pa.Table]:
    yield pa.table({"n": [1, 2, 3]})
    yield pa.table({"n": [4]})


def test_each_table_is_a_row_group(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    assert write_tables(path, tables(), {"private": True}) == 4
    metadata = pq.read_metadata(path)
    assert [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)] == [3, 1]
    assert metadata.metadata[b"discreet"] == b'{"private": true}'
    written = AnswerFile(path, 4, {"private": True})
    assert [written.head(n)["n"].to_pylist() for n in (0, 2, 4, 9)] == [[], [1, 2], [1, 2, 3, 4], [1, 2, 3, 4]]
    assert (len(written), written.receipt) == (4, {"private": True})
    written.receipt["private"] = False
    assert written.receipt == {"private": True}


def test_only_the_bytes_on_record_are_copied(tmp_path: Path) -> None:
    source, path = tmp_path / "a.parquet", tmp_path / "b.parquet"
    write_tables(source, tables(), {})
    digest = sha256_of(source)
    assert not copied(tmp_path / "none.parquet", path, digest)
    assert not copied(source, path, "0" * 64)
    assert not path.exists()
    assert copied(source, path, digest)
    assert path.read_bytes() == source.read_bytes()
    assert copied(path, path, digest)
    assert names(tmp_path) == ["a.parquet", "b.parquet"]


def test_a_whole_draft_is_given_the_name(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    with drafting(path) as made:
        write_tables(made, tables(), {})
        whole = finished(made)
    assert copied(whole, path, sha256_of(whole))
    assert names(tmp_path) == ["a.parquet"]


def test_no_file_is_replaced(tmp_path: Path) -> None:
    source, path = tmp_path / "a.parquet", tmp_path / "b.parquet"
    write_tables(source, tables(), {})
    path.write_bytes(b"another answer")
    with pytest.raises(dp.InvalidParameter, match="a name that is not taken"):
        copied(source, path, sha256_of(source))
    assert path.read_bytes() == b"another answer"
    assert names(tmp_path) == ["a.parquet", "b.parquet"]


def test_a_record_that_fails_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor what a killed process left under this name before; the charge stays."""
    (tmp_path / ".a.parquet.1-0.partial").write_bytes(b"half")
    monkeypatch.setattr(Reservation, "commit", lambda *_: (_ for _ in ()).throw(dp.LedgerError("full")))
    table = dp.protect(pa.table({"k": [1, 2]}), unit=dp.ROW, budget=dp.Budget(epsilon=1), name="t")
    question = table.group_by("k", keys={"k": [1, 2]}).agg(n=lambda t: t.count())
    with pytest.raises(dp.LedgerError):
        question.release(epsilon=0.25, to=tmp_path / "a.parquet")
    assert names(tmp_path) == []
    assert float(table.budget.spent.epsilon) == 0.25


@pytest.mark.parametrize("folder", [False, True])
def test_a_name_that_is_taken_at_the_last_moment_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, folder: bool
) -> None:
    """Two releases to one name at once: whoever is second keeps a draft, and the other one what was paid for."""
    path = tmp_path / "a.parquet"
    other = path / "total.parquet" if folder else path

    def just_behind_the_other(call: str) -> None:
        real: Any = getattr(Path, call)

        def late(*given: Any) -> Any:
            other.parent.mkdir(exist_ok=True)
            other.write_text("of the other one")
            return real(*given)

        monkeypatch.setattr(Path, call, late)

    for call in ["replace"] if folder else ["replace", "hardlink_to"]:
        just_behind_the_other(call)
    with drafting(path, folder=folder) as made:
        with pytest.raises(OSError if folder else dp.InvalidParameter, match=r"not empty|a name that is not taken"):
            give_name(made, path)
        assert made.exists()
    assert other.read_text() == "of the other one"


def test_a_name_is_given_where_files_have_one_name_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(Path, "hardlink_to", refused)
    with drafting(tmp_path / "a.parquet") as made:
        give_name(made, tmp_path / "a.parquet")
        with pytest.raises(dp.InvalidParameter, match="a name that is not taken"):
            give_name(made, tmp_path / "a.parquet")
    assert names(tmp_path) == ["a.parquet"]
