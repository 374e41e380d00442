"""Where an answer may be written, and under which name it stands when."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.curator.answer_file import AnswerFile, checked_path, copied, drafted, sha256_of, write_tables


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
    first, second = drafted(path), drafted(path)
    assert first != second
    assert {first.parent, second.parent} == {tmp_path}
    assert not path.exists()


def test_a_folder_that_takes_no_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "no")

    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(dp.InvalidParameter, match="can be written to"):
        drafted(tmp_path / "a.parquet")


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
    made = drafted(path)
    write_tables(made, tables(), {})
    assert copied(made, path, sha256_of(made))
    assert names(tmp_path) == ["a.parquet"]


def test_no_file_is_replaced(tmp_path: Path) -> None:
    source, path = tmp_path / "a.parquet", tmp_path / "b.parquet"
    write_tables(source, tables(), {})
    path.write_bytes(b"another answer")
    with pytest.raises(dp.InvalidParameter, match="a name that is not taken"):
        copied(source, path, sha256_of(source))
    assert path.read_bytes() == b"another answer"
    assert names(tmp_path) == ["a.parquet", "b.parquet"]
