"""Answers in files: written under another name, and under their own once they are whole and on record."""

from __future__ import annotations

import glob
import hashlib
import itertools
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from discreet.answers.receipt import Receipt
from discreet.errors import InvalidParameter, expected
from discreet.exact.given_values import path_of
from discreet.guesses.answer_words import ReleasedNames
from discreet.ledger.file_location import flush_folder

ENDING = ".parquet"
RECEIPT = b"discreet"
"""Under which a file has the receipt among its metadata."""
DRAFT, WHOLE = ".partial", ".whole"
"""Of an answer that is being written, and of one that waits for its name. Only the second may be on record."""


@dataclass(frozen=True)
class AnswerFile(ReleasedNames):
    """An answer in a Parquet file: keys, values and ends as in a `Release`, and the receipt in its metadata.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from discreet.testing import people
    >>> question = people().group_by("plan").agg(n=lambda t: t.count())
    >>> folder = tempfile.TemporaryDirectory()
    >>> written = question.release(epsilon=1, to=Path(folder.name) / "plans.parquet")
    >>> written.rows, written.head(2)["plan"].to_pylist(), written.receipt["charge"]["epsilon"]
    (3, ['free', '25%'], '1')
    >>> folder.cleanup()
    """

    _ask: ClassVar[str] = "ask for its length, len(answer), or for .path.exists()."

    path: Path
    rows: int
    _receipt: Mapping[str, Any] = field(repr=False)

    @property
    def receipt(self) -> Receipt:
        """What was promised and how it was kept, as of a `Release`; also in the file, under ``discreet``."""
        return Receipt.of(self._receipt)

    def __len__(self) -> int:
        return self.rows

    def head(self, n: int = 5) -> pa.Table:
        """The first rows of the file, which has to be this answer: its receipt is in it.

        Raises:
            InvalidParameter: something else is there now.
        """
        import pyarrow.parquet as pq

        try:
            metadata = pq.read_metadata(self.path).metadata or {}
        except (OSError, pa.ArrowException):
            metadata = {}
        if metadata.get(RECEIPT) != json.dumps(self._receipt).encode():
            cure = "put the answer back there, or release it again: the same release is free."
            raise InvalidParameter(expected("the file of this answer", "path", str(self.path), cure))
        with pq.ParquetFile(self.path) as file:
            return pa.Table.from_batches(file.iter_batches(max(n, 1)), file.schema_arrow).slice(0, n)


def checked_path(to: object) -> Path:
    """Where an answer is to be written: a name that ends in .parquet, in a folder that is there."""
    if not isinstance(to, str | os.PathLike) or not str(os.fspath(to)).lower().endswith(ENDING):
        raise InvalidParameter(expected(f"a path that ends in {ENDING}", "to", to, "write to='answer.parquet'."))
    path = Path(os.path.abspath(path_of("to", to)))  # noqa: PTH100 (links are followed when it is opened, as by others)
    if not path.parent.is_dir():
        raise InvalidParameter(expected("a folder that exists", "to", str(to), "make the folder first."))
    return path


def check_free(path: Path) -> None:
    """Refuses to replace a file: it may be an answer that was paid for."""
    if os.path.lexists(path):
        cure = "choose another name, or move the file; an answer that was paid for is never replaced."
        raise InvalidParameter(expected("a name that is not taken", "to", str(path), cure))


def sha256_of(path: Path) -> str:
    """The digest of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def writing(to: object) -> Iterator[None]:
    """Turns what the disk raises, before or after a charge, into a refusal with a cure."""
    try:
        yield
    except OSError as error:
        got = f"{to} ({error.strerror or type(error).__name__})"
        cure = "see to it, or give another path. An answer that was charged and is on record is free: release it again."
        raise InvalidParameter(expected("a folder that can be written to", "to", got, cure)) from error


@contextmanager
def drafting(path: Path, *, folder: bool = False) -> Iterator[Path]:
    """A new file or folder beside `path` to write to, which others see is taken; gone afterwards, if it still has this
    name.
    """
    made = _drafted(path, folder=folder)
    try:
        with _taken(made):
            yield made
    finally:
        remove(made)


def _drafted(path: Path, *, folder: bool) -> Path:
    for number in itertools.count():
        made = path.with_name(f".{path.name}.{os.getpid()}-{number}{DRAFT}")
        if os.path.lexists(made.with_suffix(WHOLE)):  # of another process, which had our number
            continue
        try:
            if folder:
                made.mkdir(mode=0o700)
            else:
                os.close(os.open(made, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            continue
        break
    return made


def remove(left: Path) -> None:
    """Removes a draft, a file or a folder, if it is there."""
    if left.is_dir():
        shutil.rmtree(left, ignore_errors=True)
    else:
        left.unlink(missing_ok=True)


def finished(made: Path) -> Path:
    """The name of a draft that is whole, from now on: it waits for the record, and then for its own. A power cut leaves
    it there.
    """
    whole = made.replace(made.with_suffix(WHOLE))
    flush_folder(made.parent)
    return whole


def remove_leftovers(path: Path, on_record: Callable[[Path], bool]) -> None:
    """Removes files and folders of this name that nobody writes to, and that are on no record: killed processes left
    them.
    """
    for ending in (DRAFT, WHOLE):
        for left in path.parent.glob(f".{glob.escape(path.name)}.[0-9]*-[0-9]*{ending}"):
            with suppress(OSError), _taken(left) as is_ours:
                if is_ours and not (ending == WHOLE and on_record(left)):
                    remove(left)


def account_in(left: Path) -> dict[str, Any] | None:
    """The receipt in an answer's file, or in those of a folder; None where there is none."""
    import pyarrow.parquet as pq

    try:
        file = next(left.glob(f"*{ENDING}")) if left.is_dir() else left
        account = json.loads(pq.read_schema(file).metadata[RECEIPT])
    except (OSError, StopIteration, KeyError, TypeError, ValueError, pa.ArrowException):
        return None
    return account if isinstance(account, dict) else None


@contextmanager
def _taken(left: Path) -> Iterator[bool]:
    """Takes a file or a folder until it is closed, or its process ends; false where another one has it, or none can be
    taken.
    """
    file = os.open(left, os.O_RDONLY)
    try:
        yield _locked(file)
    finally:
        os.close(file)


def _locked(file: int) -> bool:
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def write_tables(target: Path, tables: Iterator[pa.Table], account: dict[str, Any]) -> int:
    """Writes tables as the row groups of one file, to the disk itself, and returns how many rows there are."""
    import pyarrow.parquet as pq

    first = next(tables)
    schema, rows = first.schema.with_metadata({RECEIPT: json.dumps(account)}), 0
    with target.open("wb") as file:
        with pq.ParquetWriter(file, schema) as writer:
            for table in itertools.chain([first], tables):
                writer.write_table(table.replace_schema_metadata(schema.metadata), row_group_size=table.num_rows)
                rows += table.num_rows
        file.flush()
        os.fsync(file.fileno())
    return rows


def give_name(made: Path, path: Path) -> None:
    """Gives a whole draft its name, and takes it from nobody who was given it a moment ago."""
    try:
        path.hardlink_to(made)  # replaces nothing, as a rename does to files
    except OSError:  # of folders, of file systems without links, and where something is
        check_free(path)
        made.replace(path)
    else:
        made.unlink()


def copied(source: Path, path: Path, digest: str) -> bool:
    """Copies a file to another name, if its bytes are those of the digest; one that has none yet is given it."""
    if not source.is_file() or sha256_of(source) != digest:
        return False
    if source.suffix == WHOLE:
        give_name(source, path)
    elif source != path:
        with drafting(path) as made:
            shutil.copyfile(source, made)
            give_name(made, path)
    return True
