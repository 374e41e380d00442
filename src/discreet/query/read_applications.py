"""Questions of other kinds, read from a document: the verbs of rooms above, without a price."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import ibis.expr.types as ir

from discreet.query.document_parts import DocumentPart
from discreet.query.expression_documents import read_expression, read_moment, read_real
from discreet.query.join_truncation import UNIQUE
from discreet.query.table import PrivateTable
from discreet.workloads.cell_tables import MOST_CELLS

MOST_CANDIDATES = 100
"""Each has a score, which is checked and bounded; in Python there may be more."""
MOST_KEYS = 4096
"""Of one column."""
LIMITS = ("max_groups", "max_rows")
STEPS = ("name", "by", "start", "every", "until", "windows", "max_steps")
STEP_TEXTS = ("name", "by", "arrives", "late", "settled")
"""What is stated of the steps of a series, and which of it is text."""
OPEN = "open"
"""The end of a series whose end nobody knows."""
MOST_WINDOWS = 30


class Reader(Protocol):
    """What the reader of a document has for its parts."""

    def table(self, part: DocumentPart, nested: int = 0) -> PrivateTable:
        """A protected table after its steps."""

    def public_keys(self, part: DocumentPart) -> Any:
        """Public keys that were handed in."""

    def asked(self, fields: Mapping[str, DocumentPart], table: PrivateTable) -> Any:
        """What aggregates and groups ask of a table."""

    def count(self, more: int, part: DocumentPart) -> None:
        """Refuses more columns than there may be."""


def row_wise(part: DocumentPart, table: PrivateTable) -> ir.Value:
    """An expression of a row."""
    visible = table._visible  # noqa: SLF001 (what its expressions are written over)
    return read_expression(part, table.__getitem__, visible.op())


def read_matches(part: DocumentPart) -> int | str:
    """How many rows of a key a join keeps; or that it keeps those of unique keys alone."""
    if not isinstance(part.value, str):
        return part.number(least=1)
    if part.value != UNIQUE:
        part.refuse(f"a whole number of 1 or more, or {UNIQUE!r}")
    return UNIQUE


def read_limit(part: DocumentPart) -> int | str:
    """A limit on what a unit contributes."""
    return part.value if part.value == "auto" else part.number(least=1)


def read_key(part: DocumentPart) -> Any:
    """A public key."""
    if isinstance(part.value, dict):
        name, held = part.one_of(("date", "timestamp"), "a key")
        return read_moment(name, held)
    if isinstance(part.value, list | float):
        part.refuse("a key that compares exactly")
    return part.value


def _keys(part: DocumentPart) -> list[Any]:
    return [read_key(one) for one in part.listed(least=1, most=MOST_KEYS)]


def _top(reader: Reader, part: DocumentPart) -> Any:
    fields = part.having_fields(("from", "column", "k"), ("keys", "order"))
    more: dict[str, Any] = {"keys": _keys(fields["keys"])} if "keys" in fields else {}
    if "order" in fields:
        more["order"] = fields["order"].value
    table = reader.table(fields["from"])
    return table.top(fields["column"].text(), k=fields["k"].number(least=1), **more)


def _count_distinct(reader: Reader, part: DocumentPart) -> Any:
    fields = part.having_fields(("from", "column"), ("max_values",))
    more: dict[str, Any] = {"max_values": fields["max_values"].number(least=1)} if "max_values" in fields else {}
    return reader.table(fields["from"]).count_distinct(fields["column"].text(), **more)


def _choose(reader: Reader, part: DocumentPart) -> Any:
    fields = part.having_fields(("from", "candidates"), ("max_rows",))
    pairs = [one.listed(least=2, most=2) for one in fields["candidates"].listed(least=2, most=MOST_CANDIDATES)]
    reader.count(len(pairs), fields["candidates"])
    table = reader.table(fields["from"])
    scores = iter([row_wise(score, table) for _, score in pairs])
    most = read_limit(fields["max_rows"]) if "max_rows" in fields else None
    options: dict[str, Any] = {"score": lambda _: next(scores), "max_rows": most}
    return table.choose([_candidate(one) for one, _ in pairs], **options)


def _truncated_total(reader: Reader, part: DocumentPart) -> Any:
    fields = part.having_fields(("from",), ("value", "limit", "most"))
    table, more = reader.table(fields["from"]), dict[str, Any]()
    if "value" in fields:
        reader.count(1, fields["value"])
        more["value"] = row_wise(fields["value"], table)
    if "limit" in fields:
        own = fields["limit"]
        more["limit"] = own.value if own.value == "race" else own.number(least=1)
    if "most" in fields:
        more["most"] = fields["most"].number(least=1)
    return table.truncated_total(**more)


def _candidate(part: DocumentPart) -> Any:
    """A candidate: any constant."""
    if isinstance(part.value, dict) and "real" in part.value:
        return read_real(part.one_of(("real",), "a number")[1])
    return part.value if isinstance(part.value, float) else read_key(part)


def _kmeans(reader: Reader, part: DocumentPart) -> Any:
    fields = part.having_fields(("from", "columns", "n_clusters", "algorithm"), ("rounds", *LIMITS))
    more: dict[str, Any] = {name: one.number(least=1) for name, one in fields.items() if name in ("rounds", *LIMITS)}
    more |= {"n_clusters": fields["n_clusters"].number(least=1), "algorithm": fields["algorithm"].text()}
    table = reader.table(fields["from"])
    return table.kmeans(fields["columns"].texts(least=1), **more)


def _hierarchy(reader: Reader, part: DocumentPart) -> Any:
    fields = part.having_fields(("from", "levels", "keys", "aggregates"), ("cells", *LIMITS))
    table, keys = reader.table(fields["from"]), reader.public_keys(fields["keys"])
    cells = {name: None if one.value is None else _keys(one) for name, one in _pairs(fields.get("cells"))}
    known = table._keys  # noqa: SLF001 (public keys)
    sizes = [len(known.get(name, ()) if own is None else own) for name, own in cells.items()]
    if keys.size * math.prod(sizes) > MOST_CELLS:
        part.refuse(f"at most {MOST_CELLS:,} groups in all", "group more coarsely, or ask for less at a time.")
    made = {name: row_wise(one, table) for name, one in fields["aggregates"].pairs()}
    reader.count(len(made), fields["aggregates"])
    limits: dict[str, Any] = {name: read_limit(fields[name]) for name in LIMITS if name in fields}
    return table.hierarchy(fields["levels"].texts(least=1), keys=keys, cells=cells, **limits).agg(**made)


def _series(reader: Reader, part: DocumentPart) -> Any:
    fields = part.having_fields(("from", "aggregates", "steps"), ("by",))
    stated = fields["steps"].having_fields(STEPS, ("apart", "arrives", "late", "settled"))
    more: dict[str, Any] = {name: stated[name].number(least=1) for name in ("max_steps", "apart") if name in stated}
    more |= {name: own.text() for name, own in stated.items() if name in STEP_TEXTS}
    more |= {name: OPEN if stated[name].value == OPEN else read_key(stated[name]) for name in ("start", "until")}
    more["every"] = _length(stated["every"])
    more["windows"] = [_length(one) for one in stated["windows"].listed(least=1, most=MOST_WINDOWS)]
    steps = reader.table(fields["from"]).series(**more)
    return steps.question(reader.asked(fields, steps.rows))


def _length(part: DocumentPart) -> str | int:
    """A number of steps, or a length in words."""
    return part.text() if isinstance(part.value, str) else part.number(least=1)


def _pairs(part: DocumentPart | None) -> list[tuple[str, DocumentPart]]:
    return [] if part is None else list(part.pairs())


APPLIED: dict[str, Callable[[Reader, DocumentPart], Any]] = {
    "top": _top,
    "choose": _choose,
    "count_distinct": _count_distinct,
    "truncated_total": _truncated_total,
    "kmeans": _kmeans,
    "hierarchy": _hierarchy,
    "series": _series,
}
"""What a document can be beside questions, batches and ranges."""
