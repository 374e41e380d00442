"""Stored answers read again: noisy totals with their receipt, and what first looks found."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.answers.batch_release import BatchRelease
from discreet.answers.grouped_ranges_release import ranges_answer
from discreet.answers.mixed_batch_release import MixedBatchRelease
from discreet.answers.release import Release
from discreet.errors import InvalidQuery, expected
from discreet.exact.written_amounts import stored_amount
from discreet.language.checked_expressions import Kind
from discreet.planning.mixed_batch_plan import MixedBatchPlan
from discreet.planning.open_question_plan import Findings, OpenQuestionPlan
from discreet.planning.plan import Plan
from discreet.planning.unspecified import UnknownKeys
from discreet.privacy.declaration import Key

WHOLE = re.compile(r"0|-?[1-9][0-9]{0,99}")
"""A whole number as `str` writes it, far larger than any total."""


def unpacked(stored: bytes) -> tuple[list[NDArray[Any]], dict[str, Any]]:
    """The noisy totals and the receipt of a stored answer."""
    answer = json.loads(stored)
    if "file" in answer:
        path = answer["file"]["path"]
        cure = "read it there; release(..., to=path) gives it again for nothing, and fresh=True draws anew and pays."
        raise InvalidQuery(expected("to=, for an answer that was written to a file", "to", f"none, it is {path}", cure))
    totals = [np.array([list(map(int, row)) for row in block], dtype=object) for block in answer["totals"]]
    return totals, answer["receipt"]


def completed_release(open_plan: OpenQuestionPlan, stored: bytes, confidence: float) -> Release:
    """The answer to a question that left something open: that of the plan which its first looks completed."""
    totals, account = unpacked(stored)
    plan = completed_plan(open_plan, stored)
    parts = [part.reshape(len(part), block.block.components) for part, block in zip(totals, plan.blocks, strict=True)]
    return Release(plan, parts, account, confidence)


def completed_plan(open_plan: OpenQuestionPlan, stored: bytes) -> Plan:
    """The plan that the first looks of a stored answer completed."""
    return open_plan.completed_plan(findings(json.loads(stored)["found"], open_plan.unspecified.keys))


def packed_parts(receipt: Mapping[str, Any], listed: bytes | None, found: Mapping[str, bytes]) -> bytes:
    """The answer to a mixed batch as it is stored: its receipt, the listed tables, and each other question's answer,
    whether it is about ranges or had something open.
    """
    others = {name: one.decode() for name, one in found.items()}
    whole = {"receipt": receipt, "listed": None if listed is None else listed.decode(), "open": others}
    return json.dumps(whole, separators=(",", ":")).encode()


def unpacked_parts(stored: bytes) -> tuple[dict[str, Any], bytes | None, dict[str, bytes]]:
    """What `packed_parts` packed."""
    whole = json.loads(stored)
    listed = None if whole["listed"] is None else whole["listed"].encode()
    return whole["receipt"], listed, {name: one.encode() for name, one in whole["open"].items()}


def completed_batch(plan: MixedBatchPlan, stored: bytes, confidence: float) -> MixedBatchRelease:
    """The answer to a mixed batch: that of its listed tables, of ranges, and of what first looks completed."""
    receipt, listed, others = unpacked_parts(stored)
    found = {name: completed_release(part, others[name], confidence) for name, part in plan.open.items()}
    ranges = {
        name: ranges_answer(BatchRelease(part, *unpacked(others[name]), confidence), confidence)
        for name, part in plan.ranges.items()
    }
    noisy = [] if listed is None else unpacked(listed)[0]
    return MixedBatchRelease(plan, noisy, receipt, confidence, found=found, ranges=ranges)


def dated(stored: bytes, time: str) -> bytes:
    """A stored answer whose receipts, those of its parts included, have this time.

    >>> dated(b'{"receipt":{"time":"then"},"totals":[]}', "now")
    b'{"receipt":{"time":"now"},"totals":[]}'
    """
    if not is_json(stored):
        table, receipt = table_of(stored)
        return stored_table(table, {**receipt, "time": time})
    held = json.loads(stored)
    held["receipt"]["time"] = time
    if "open" in held:
        held["open"] = {name: dated(one.encode(), time).decode() for name, one in held["open"].items()}
        if held["listed"] is not None:
            held["listed"] = dated(held["listed"].encode(), time).decode()
    return json.dumps(held, separators=(",", ":")).encode()


def is_json(stored: bytes) -> bool:
    """Whether an answer is stored as JSON; those that are tables of their own are stored in Arrow's form.

    >>> is_json(b'{"receipt":{}}'), is_json(stored_table(pa.table({"n": [1]}), {}))
    (True, False)
    """
    return stored.startswith(b"{")


def sent_text(stored: bytes) -> str:
    """A stored answer as text that JSON can carry: as it is, or in base 64."""
    return stored.decode() if is_json(stored) else base64.b64encode(stored).decode()


def received(text: str) -> bytes:
    """What `sent_text` sent.

    >>> held = stored_table(pa.table({"n": [1]}), {"private": True})
    >>> received(sent_text(held)) == held, received("{}")
    (True, b'{}')
    """
    return text.encode() if text.startswith("{") else base64.b64decode(text, validate=True)


def stored_table(table: pa.Table, account: Mapping[str, Any]) -> bytes:
    """A table and its receipt as bytes, every value in its own type."""
    metadata = {**(table.schema.metadata or {}), b"receipt": json.dumps(account).encode()}
    target = pa.BufferOutputStream()
    with pa.ipc.new_stream(target, table.schema.with_metadata(metadata)) as writer:
        writer.write_table(table.replace_schema_metadata(metadata))
    found: bytes = target.getvalue().to_pybytes()
    return found


def table_of(stored: bytes) -> tuple[pa.Table, dict[str, Any]]:
    """What `stored_table` wrote.

    >>> table_of(stored_table(pa.table({"n": [1]}), {"private": True}))[1]
    {'private': True}
    """
    with pa.ipc.open_stream(stored) as reader:
        table = reader.read_all()
    return table, json.loads(table.schema.metadata[b"receipt"])


def plain(found: Findings) -> dict[str, Any]:
    """Findings ready for JSON."""
    keys = None if found.keys is None else [[_written(key) for key in row] for row in found.keys]
    return {"limits": dict(found.limits), "ends": [[str(end) for end in pair] for pair in found.ends], "keys": keys}


def findings(stored: Mapping[str, Any], columns: UnknownKeys | None) -> Findings:
    """What `plain` wrote."""
    sizes = tuple((stored_amount(low), stored_amount(high)) for low, high in stored["ends"])
    keys = None
    if columns is not None:
        readers = [READERS.get(kind, _same) for kind in columns.kinds]
        keys = tuple(tuple(read(key) for read, key in zip(readers, row, strict=True)) for row in stored["keys"])
    return Findings(stored["limits"], sizes, keys)


def _written(key: Key) -> Any:
    return key.isoformat() if isinstance(key, date) else key


def _same(key: Any) -> Key:
    return key  # type: ignore[no-any-return]  # JSON keeps text, whole numbers and truth values


READERS: dict[Kind, Callable[[Any], Key]] = {
    Kind.DATE: date.fromisoformat,
    Kind.TIMESTAMP: datetime.fromisoformat,
}


def whole_texts(column: pa.ChunkedArray) -> list[int]:
    """Whole numbers that were written as text, of any size.

    >>> whole_texts(pa.chunked_array([["12", "-3"]]))
    [12, -3]

    Raises:
        ValueError: it is another column.
    """
    texts = column.to_pylist()
    if column.type != pa.string() or not all(one is not None and WHOLE.fullmatch(one) for one in texts):
        raise ValueError(column.type)
    return [int(one) for one in texts]
