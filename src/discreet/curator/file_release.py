"""Releases into a file: an answer with more groups than fit in memory, some of them at a time.

Claim
    What comes under the name that was asked for is a function of public facts and of the noisy totals of one plan,
    each drawn once, whose charge was recorded before the engine saw the plan. The same release again gives the same
    bytes and costs nothing, or is refused; it never draws again unless it is told to, and then pays again.
Requires
    An engine whose `streamed` finds the totals once, and hands over each group once, in the order of the keys.
Relies on
    `ledger.ledger`; `mechanisms.distributed_noise`: the noise of a group is a function of the secret and of its place,
    and independent of that of other groups. `inference.estimate`, `curator.receipt_builder`: functions of noisy totals
    and the plan.
Proof
    Price (the plan is given), reserve (or raise, having looked at nothing), look and add noise (the engine, under a
    secret that is drawn for this release and kept nowhere), commit (the file's digest and the receipt), release (its
    name): in this order. Whatever fails before the commit leaves the charge, and no file. Rows are the public keys in
    their order; row groups hold `batches.ROWS` of them; types follow from the plan; encodings and statistics are made
    of keys and noisy values. Nothing else of the engine's is written. A repeat is found by the plan's canonical text,
    as any other is, and is given only bytes of the digest on record.
Rounding
    None here.
Source
    McSherry, "Privacy integrated queries" (2009); Haeberlen, Pierce and Narayan, "Differential privacy under fire"
    (2011).
Mutant
    file-before-its-charge: the engine is asked first; killed by test_the_charge_comes_before_the_engine_and_the_file.
    any-file-is-the-answer: what stands at the recorded path is given, whatever its bytes; killed by
    test_a_file_that_was_changed_is_not_given.
    unrecorded-file-stays: what was written is left behind if it cannot be put on record; killed by
    test_a_record_that_fails_leaves_no_file.
    answers-of-others-are-swept: what is on no record here is removed, though it may be on another; killed by
    test_a_release_that_was_cut_off_before_its_name_is_finished.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from discreet.answers.answer_file import (
    WHOLE,
    AnswerFile,
    account_in,
    check_free,
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
from discreet.answers.release import answer_table
from discreet.answers.stored_answers import unpacked
from discreet.curator.add_noise import distributed_noise_of
from discreet.curator.receipt_builder import claims, receipt
from discreet.curator.transaction import Drawing, ReleaseContext, Turn, once, paid
from discreet.errors import InvalidQuery, expected
from discreet.inference.estimate import estimates
from discreet.ledger.ledger import Charge
from discreet.planning.batches import ROWS
from discreet.planning.plan import Plan

Totals = Sequence[NDArray[Any]]


@dataclass(frozen=True, kw_only=True)
class FileRelease:
    """A release that goes to a file."""

    plan: Plan
    statement: str
    key: str
    """Its name in the ledger."""
    to: object
    confidence: float


def in_file(desk: ReleaseContext, order: FileRelease, charge: Charge, *, fresh: bool) -> AnswerFile:
    """The file of a release: the one on record, or a new one.

    Raises:
        InvalidParameter: nothing can be written there, or would replace a file. Nothing is spent, or the answer is on
            record and waits for its name: the same release is free.
        InvalidQuery: the answer on record cannot be given. Nothing is spent.
        BudgetExceeded: nothing is spent.
        EngineError: something failed, in the engine or at the disk. The charge stays spent.
    """
    with writing(order.to):
        path = checked_path(order.to)
        return once(
            desk.budget,
            order.key,
            stored=partial(_again, desk, order, path),
            draw=partial(_made, desk, order, path, charge),
            fresh=fresh,
        )


def _made(desk: ReleaseContext, order: FileRelease, path: Path, charge: Charge, turn: Turn) -> AnswerFile:
    """A new file, under its name once it is on record."""
    check_free(path)
    remove_leftovers(path, lambda left: on_record(desk, left))
    with drafting(path) as made:
        whole = made.with_suffix(WHOLE)
        claims(order.plan)
        try:
            stored = paid(desk, charge, partial(_draw, desk, order, (path, made)), turn)
        except BaseException:
            if not on_record(desk, whole):  # an interrupt may come when it is
                whole.unlink(missing_ok=True)
            raise
        # It is on record: what is left now is to give it its name, and a repeat would.
        give_name(whole, path)
    answer = json.loads(stored)
    return AnswerFile(path, answer["file"]["rows"], answer["receipt"])


def _draw(desk: ReleaseContext, order: FileRelease, places: tuple[Path, Path], drawing: Drawing) -> bytes:
    """Writes a draft to the disk, group by group, and returns what goes on record."""
    path, made = places
    account = receipt(order.plan, order.key, drawing)
    add_noise = distributed_noise_of(order.plan, drawing.words).add_noise
    with closing(desk.engine.streamed(order.plan, order.statement, add_noise)) as parts:
        rows = write_tables(made, _tables(order, parts), account)
    facts = {
        "path": str(path),
        "sha256": sha256_of(made),
        "draft": str(finished(made)),
        "rows": rows,
        "confidence": order.confidence,
    }
    return json.dumps({"receipt": account, "file": facts}, separators=(",", ":")).encode()


def on_record(desk: ReleaseContext, left: Path) -> bool:
    """Whether a whole file or folder that has no name yet is an answer that was paid for; also where none can tell: in
    another ledger, or by somebody whose answers are not found here.
    """
    account = account_in(left)
    if account is None:
        return True
    key = str(account.get("release"))
    stored = desk.budget.stored(key)
    if stored is None:
        return not any(entry.key == key and not entry.answered for entry in desk.budget.entries())
    facts = json.loads(stored).get("file")
    return facts is not None and facts["draft"] == str(left)


def _tables(order: FileRelease, parts: Iterator[Totals]) -> Iterator[pa.Table]:
    """Keys, values and ends, batch by batch."""
    keys = order.plan.query.keys
    for listed, totals in zip(() if keys is None else keys.batches(), parts, strict=True):
        yield answer_table(
            {name: listed[name] for name in listed.column_names}, estimates(order.plan, totals, order.confidence)
        )


def _again(desk: ReleaseContext, order: FileRelease, path: Path) -> AnswerFile | None:
    """The answer on record, under the name that is asked for now; None where there is none."""
    stored = desk.budget.stored(order.key)
    if stored is None:
        return None
    answer = json.loads(stored)
    if "file" not in answer:
        return _written(order, path, *unpacked(stored))
    facts = answer["file"]
    if facts["confidence"] != order.confidence:
        cure = "release it with the same; ends at another confidence would need totals that were not kept."
        what = f"the confidence of the file, {facts['confidence']}"
        raise InvalidQuery(expected(what, "confidence", order.confidence, cure))
    draft = Path(facts["draft"])
    for source in (path, Path(facts["path"]), draft):
        if copied(source, path, facts["sha256"]):
            if draft.exists() and draft.samefile(path):  # it was killed between the two names
                draft.unlink()
            return AnswerFile(path, facts["rows"], answer["receipt"])
    cure = "put it back there; fresh=True draws anew, and pays again."
    raise InvalidQuery(expected(f"the file of this answer at {facts['path']}", "file", "none with its digest", cure))


def _written(order: FileRelease, path: Path, totals: list[NDArray[Any]], account: dict[str, Any]) -> AnswerFile:
    """An answer of which the totals are on record, in a file as well."""
    check_free(path)
    with drafting(path) as made:
        parts = ([block[first : first + ROWS] for block in totals] for first in range(0, len(totals[0]), ROWS))
        rows = write_tables(made, _tables(order, parts), account)
        give_name(made, path)
    return AnswerFile(path, rows, account)
