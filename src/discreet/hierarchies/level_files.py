"""Levels in a folder: one Parquet file each, written part by part, under its name once all is whole and on record.

Claim
    What comes under the name that was asked for is a function of public facts and of the noisy totals of one plan,
    each drawn once, whose charge was recorded before the engine was asked. The same release again gives the same bytes
    and costs nothing, or is refused; it never draws again unless it is told to, and then pays again.
Requires
    Where parts are asked for one after the other: rows that are units of their own, and files that `one_version` holds
    still, so that a row is in one part.
Relies on
    `curator.transaction`; `level_stream`; `answers.answer_file`.
Proof
    Price (the plan is given), reserve (or raise, having looked at nothing), look and add noise, commit (the digests of
    the files and the receipt), release (the name of the folder): in this order, as in `curator.file_release`. A group
    of the leaves is in one part, and the rows of a part that are counted are those of its groups: the left join of the
    engine keeps no others. So the totals of all parts are those of one question; where rows are units, none is weighted
    by what it has elsewhere. Otherwise one question finds all totals, and parts are taken from them.
Rounding
    None here.
Source
    McSherry, "Privacy integrated queries" (2009).
Mutant
    units-part-by-part: units with rows in several parts count fully in each; killed by
    test_units_are_bounded_over_all_parts.
    levels-before-their-charge: the engine is asked before the charge; killed by
    test_the_charge_comes_before_the_levels.
    files-move-between-parts: each part is asked of the files as they are then; killed by
    test_files_that_change_meanwhile_are_refused.
    folders-of-killed-processes-stay: what killed processes left is not removed; killed by
    test_what_killed_processes_left_is_swept_away.
    columns-lead-out: any name of a column is that of a file; killed by test_a_column_names_no_place.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from numpy.typing import NDArray

from discreet.answers.answer_file import (
    RECEIPT,
    WHOLE,
    check_free,
    drafting,
    finished,
    give_name,
    remove,
    remove_leftovers,
    sha256_of,
    writing,
)
from discreet.answers.receipt import Receipt
from discreet.curator.file_release import on_record
from discreet.curator.protected_table import Protected
from discreet.curator.transaction import Drawing, Turn, charge_to, once, paid
from discreet.errors import InvalidParameter, InvalidQuery, expected, nearest_name, printable
from discreet.exact.given_values import path_of
from discreet.guesses.answer_words import LEVEL_FILES, ReleasedNames
from discreet.hierarchies.explain_levels import account
from discreet.hierarchies.level_plan import LevelPlan
from discreet.hierarchies.level_stream import Exact, bounds_of, cut_of, stream
from discreet.hierarchies.measured_levels import CONFIDENCE, asked, level_receipt, release_key, stored_levels
from discreet.ledger.file_location import flush_folder
from discreet.planning.measurements import gather
from discreet.planning.plan import Plan, Query
from discreet.query.file_output import check_held

NAMED = re.compile(r"\w[\w -]{0,99}")
PartQuery = Callable[[int, int], Query]
"""The question about some neighboring leaves."""
WAITING = "waiting"
"""A folder for noisy totals, in the draft."""


@dataclass(frozen=True)
class LevelFiles(ReleasedNames, Mapping[str, Path]):
    """The Parquet files of all levels, by name, the total first; each has the receipt in its metadata.

    Columns are those of the tables of a `HierarchyRelease`.
    """

    _ask: ClassVar[str] = "ask for a level, files['county'], or for its length, len(files)."
    _instead = LEVEL_FILES

    path: Path
    """The folder."""
    rows: Mapping[str, int]
    """Of each level."""
    _receipt: Mapping[str, Any]

    def __getitem__(self, level: str) -> Path:
        if not isinstance(level, str) or level not in self.rows:
            raise InvalidParameter(expected("a level of the path", "level", level, nearest_name(level, self.rows)))
        return self.path / f"{level}.parquet"

    def __contains__(self, level: object) -> bool:
        return level in self.rows

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        rows = ", ".join(f"{name} {n:,}" for name, n in self.rows.items())
        return printable(f"<levels in {str(self.path)!r}: {rows}>")

    @property
    def receipt(self) -> Receipt:
        """What was promised, and the noise of each level. A copy, ready for JSON."""
        return Receipt.of(self._receipt)


@dataclass(frozen=True, kw_only=True)
class _Order:
    """A release that goes to a folder."""

    source: Protected
    plan: LevelPlan
    part: PartQuery
    statement: str
    key: str
    path: Path
    confidence: float

    @property
    def in_parts(self) -> bool:
        """Whether the engine is asked part by part."""
        return self.plan.plan.query.by_row and self.source.desk.engine.one_version() is not None


def write_levels(
    source: Protected, plan: LevelPlan, part: PartQuery, *, to: object, fresh: bool, confidence: float
) -> LevelFiles:
    """The files of all levels: those on record, or new ones.

    Raises:
        InvalidParameter: nothing can be written there, or would replace something. Nothing is spent, or the answer is
            on record and waits for its name: the same release is free.
        InvalidQuery: there are too many values for one part, or the answer on record cannot be given. Nothing is spent.
        BudgetExceeded: nothing is spent.
        EngineError: something failed, in the engine or at the disk. The charge stays spent.
    """
    _check_names(plan.places.levels)
    statement = source.desk.engine.statement(plan.plan)
    order = _Order(
        source=source,
        plan=plan,
        part=part,
        statement=statement,
        key=release_key(source, plan, statement),
        path=checked_folder(to),
        confidence=confidence,
    )
    if order.in_parts:
        cut = cut_of(plan.places)
        first, end = bounds_of(plan.places, cut)[0]
        leaves = [plan.places.tree.first_leaf(cut, node) for node in (first, end)]
        source.desk.engine.statement(_of_part(plan.plan, part(*leaves)))
    else:
        check_held(plan.plan.query)
    account(plan, "", CONFIDENCE)
    with writing(to):
        stored, draw = partial(_again, order), partial(_made, order)
        drawn = once(source.desk.budget, order.key, stored=stored, draw=draw, fresh=fresh)
    return LevelFiles(order.path, drawn["file"]["rows"], drawn["receipt"])


def checked_folder(to: object) -> Path:
    """Where levels are to be written: a name that is not taken yet, or is that of a folder of levels."""
    if not isinstance(to, str | os.PathLike) or not str(os.fspath(to)):
        raise InvalidParameter(expected("the path of a folder", "to", to, "write to='counts'."))
    path = Path(os.path.abspath(path_of("to", to)))  # noqa: PTH100 (links are followed when it is opened)
    if not path.parent.is_dir():
        raise InvalidParameter(expected("a folder that exists above it", "to", str(to), "make that folder first."))
    return path


def _check_names(levels: tuple[str, ...]) -> None:
    """Refuses names of columns that are no names of files: an analyst chose them, and the curator the folder."""
    plain = all(NAMED.fullmatch(name) for name in levels)
    if not plain or len({name.casefold() for name in levels}) < len(levels):
        cure = "give them names of letters, digits and _ with .rename(...)."
        raise InvalidQuery(expected("names of columns that files can have, each once", "levels", list(levels), cure))


def _made(order: _Order, turn: Turn) -> dict[str, Any]:
    """A new folder, under its name once it is on record."""
    check_free(order.path)
    plan, desk = order.plan, order.source.desk
    remove_leftovers(order.path, partial(on_record, desk))
    charge = charge_to(order.source.declaration, order.key, asked(plan), plan.charge, plan.event)
    with drafting(order.path, folder=True) as made:
        whole = made.with_suffix(WHOLE)
        try:
            stored = paid(desk, charge, partial(_draw, order, made), turn)
        except BaseException:
            if not on_record(desk, whole):  # an interrupt may come when it is
                remove(whole)
            raise
        give_name(whole, order.path)
    found: dict[str, Any] = json.loads(stored)
    return found


def _draw(order: _Order, made: Path, drawing: Drawing) -> bytes:
    """Writes a draft to the disk, part by part, and returns what goes on record."""
    facts = level_receipt(order.plan, order.key, drawing)
    engine = order.source.desk.engine
    waiting = made / WAITING
    waiting.mkdir()
    with (engine.one_version() if order.in_parts else None) or nullcontext():
        exact = partial(_exact, order) if order.in_parts else _sliced(order)
        rows = _write(order, made, stream(order.plan, exact, drawing.words, waiting), facts)
    waiting.rmdir()
    found = {
        "path": str(order.path),
        "draft": str(made.with_suffix(WHOLE)),
        "sha256": {name: sha256_of(made / f"{name}.parquet") for name in rows},
        "rows": rows,
        "confidence": order.confidence,
    }
    flush_folder(made)
    finished(made)
    return json.dumps({"receipt": facts, "file": found}, separators=(",", ":")).encode()


def _of_part(plan: Plan, query: Query) -> Plan:
    """The plan of a question about some leaves, with the lattices of the whole one."""
    blocks, _ = gather(query)
    own = tuple(replace(old, block=block) for old, block in zip(plan.blocks, blocks, strict=True))
    return replace(plan, query=query, blocks=own)


def _exact(order: _Order, first: int, end: int) -> list[NDArray[Any]]:
    """The totals of some leaves, as the engine finds them now."""
    found = order.source.desk.engine.totals(_of_part(order.plan.plan, order.part(first, end)))
    return [block.reshape(end - first, -1) for block in found]


def _sliced(order: _Order) -> Exact:
    """The totals of all leaves, found at once, of which some are given."""
    places = order.plan.places
    found = order.source.desk.engine.totals(order.plan.plan, order.statement)
    every = [block.reshape(places.path.num_rows, -1) for block in found]
    return lambda first, end: [block[first:end] for block in every]


def _write(order: _Order, made: Path, answers: Iterator[Any], facts: dict[str, Any]) -> dict[str, int]:
    """One file for each level, and how many rows it has."""
    import pyarrow.parquet as pq

    places = order.plan.places
    writers: dict[str, Any] = {}
    rows: dict[str, int] = dict.fromkeys(places.levels, 0)
    try:
        for level, first, own, place in answers:
            name, size = places.levels[level], len(own.values[0][place])
            table = own.table(place, places.named(level, first, first + size), order.confidence)
            table = table.replace_schema_metadata({RECEIPT: json.dumps(facts)})
            if name not in writers:
                writers[name] = pq.ParquetWriter(made / f"{name}.parquet", table.schema, compression="zstd")
            writers[name].write_table(table, row_group_size=table.num_rows)
            rows[name] += table.num_rows
    finally:
        for writer in writers.values():
            writer.close()
    for name in rows:
        with (made / f"{name}.parquet").open("rb") as file:
            os.fsync(file.fileno())
    return rows


def _again(order: _Order) -> dict[str, Any] | None:
    """The answer on record, under the name that is asked for now; None where there is none."""
    stored = order.source.desk.budget.stored(order.key)
    if stored is None:
        return None
    found: dict[str, Any] = json.loads(stored)
    if "file" not in found:
        return _written(order, stored)
    facts = found["file"]
    if facts["confidence"] != order.confidence:
        cure = "release it with the same; ends at another confidence would need totals that were not kept."
        what = f"the confidence of the files, {facts['confidence']}"
        raise InvalidQuery(expected(what, "confidence", order.confidence, cure))
    for source in (order.path, Path(facts["path"]), Path(facts["draft"])):
        if _copied(source, order.path, facts["sha256"]):
            return found
    cure = "put them back there; fresh=True draws anew, and pays again."
    raise InvalidQuery(expected(f"the files of this answer in {facts['path']}", "to", "none with its digests", cure))


def _written(order: _Order, stored: bytes) -> dict[str, Any]:
    """An answer of which the noisy totals are on record, in files as well."""
    check_free(order.path)
    answers, facts = stored_levels(order.plan, stored)
    levels = range(len(order.plan.places.levels))
    with drafting(order.path, folder=True) as made:
        rows = _write(order, made, ((level, 0, answers, level) for level in levels), facts)
        give_name(made, order.path)
    return {"receipt": facts, "file": {"rows": rows}}


def _copied(source: Path, path: Path, digests: Mapping[str, str]) -> bool:
    """Copies a folder to another name, if its files are those of the digests; one without a name yet is given it."""
    files = {name: source / f"{name}.parquet" for name in digests}
    if not all(file.is_file() and sha256_of(file) == digests[name] for name, file in files.items()):
        return False
    if source == path:
        return True
    if source.suffix == WHOLE:
        give_name(source, path)
        return True
    check_free(path)
    with drafting(path, folder=True) as made:
        for file in files.values():
            shutil.copyfile(file, made / file.name)
        give_name(made, path)
    return True
