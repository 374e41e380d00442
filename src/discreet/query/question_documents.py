"""Questions as documents: JSON that says what is asked, whichever way it was written.

Claim
    `document_of` returns a value that is ready for JSON. Two questions with the same document are the same question of
    the tables that it names: the same verbs with the same checked arguments, in the same order.
Requires
    A question whose verbs were recorded as they were checked.
Relies on
    `expression_documents.written`.
Proof
    Each recorded verb is written with all of its arguments. Nothing else is: no path, frame, connection or row, since
    no recorded argument is one; public tables and keys are names, which whoever reads the document resolves.
Rounding
    None.
Source
    None.
Mutant
    limits-left-out: max_rows is not written; killed by
    test_other_questions_have_other_digests.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import ibis.expr.operations as ops

from discreet.errors import InvalidQuery, expected
from discreet.inference.post_processing import Processing
from discreet.planning.group_keys import UNKNOWN, Unknown, checked_keys
from discreet.planning.strategy_families import RANGES
from discreet.query.document_parts import whole_document
from discreet.query.expression_documents import expression_document, moment_part, real_part
from discreet.query.public_keys import PublicKeys
from discreet.query.public_table import PublicTable
from discreet.query.recorded_verbs import (
    RecordedApplication,
    RecordedBatch,
    RecordedGroups,
    RecordedQuestion,
    RecordedRanges,
    RecordedVerb,
)
from discreet.query.window_documents import sort_part

VERSION = 1
"""Raised when a document of an earlier version would mean something else."""

UNNAMED = re.compile(r"table \d+ of process \d+ at ")
"""What `dp.protect` calls a frame without a name: something else in each process."""
ENDINGS = (".parquet", ".csv", ".tsv", ".csv.gz", ".tsv.gz")

Later = tuple[tuple[str, tuple[Any, ...], Mapping[str, Any]], ...]
"""Verbs for the answer, as they were written."""


Recorded = RecordedQuestion | RecordedBatch | RecordedRanges | RecordedApplication


def document_of(asked: Recorded | None, **more: Any) -> dict[str, Any]:
    """The document of what was asked; `more` goes to the question."""
    writer = _Writer()
    if asked is None:
        raise InvalidQuery(expected("a question made by the verbs of a table", "question", "another", "ask it anew."))
    if isinstance(asked, RecordedBatch):
        questions = [[name, writer.asked(one)] for name, one in asked.questions.items()]
        return {"version": VERSION, "batch": {"questions": questions, **limits_part(asked.limits)}}
    if isinstance(asked, RecordedApplication):
        return {"version": VERSION, asked.verb: {"from": writer.table(asked.table), **asked.stated()}}
    if isinstance(asked, RecordedRanges):
        return {"version": VERSION, "ranges": writer.ranges(asked)}
    return {"version": VERSION, "question": {**writer.question(asked), **more}}


def question_digest(document: Mapping[str, Any]) -> str:
    """SHA-256 of a document: the same for the same question, from whichever door it came.

    >>> import discreet as dp
    >>> from ibis import _
    >>> from discreet.testing import people
    >>> table = people()
    >>> asked = (
    ...     table.filter(_.age >= 18).agg(n=_.count()),
    ...     dp.sql("SELECT COUNT(*) AS n FROM t WHERE age >= 18", t=table),
    ... )
    >>> len({dp.question_digest(question.document()) for question in asked})
    1
    """
    text = json.dumps(whole_document(document).value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def after_parts(later: Later, processing: Processing | None) -> list[dict[str, Any]]:
    """The steps after the noise."""
    steps = processing.steps if processing else ()
    found: list[dict[str, Any]] = []
    for (verb, arguments, named), step in zip(later, steps, strict=True):
        if verb == "select":
            found.append({"select": list(arguments)})
        elif verb == "limit":
            found.append({"limit": [*arguments, named["offset"]]})
        elif verb == "order_by":
            keys = (value.op() for value in step.written.values())
            found.append({"order_by": [sort_part(key, partial(expression_document, after=True)) for key in keys]})
        elif verb == "having":
            found.append({"having": [expression_document(value.op(), after=True) for value in step.written.values()]})
        else:
            made = [[name, expression_document(value.op(), after=True)] for name, value in step.written.items()]
            found.append({"mutate": made})
    return found


def limits_part(limits: Mapping[str, Any]) -> dict[str, Any]:
    """Limits, as they were given."""
    return {name: limit if isinstance(limit, str) else int(limit) for name, limit in limits.items()}


def source_name(name: str) -> str:
    """What documents call a protected table: its name; of a file that has none, its own without folder and ending; of a
    frame that has none, "table".

    >>> source_name("visits"), source_name("/data/2024/visits.parquet")
    ('visits', 'visits')
    """
    if UNNAMED.match(name):
        return "table"
    is_path = "/" in name or "\\" in name or name.lower().endswith(ENDINGS)
    return re.split(r"[/\\]", name)[-1].partition(".")[0] if is_path else name


def key_part(key: Any) -> Any:
    """A public key."""
    return key if key is None or isinstance(key, bool | int | str) else moment_part(key)


def _edge(end: Any) -> Any:
    end = end.item() if hasattr(end, "item") else end
    return real_part(end) if isinstance(end, float) else key_part(end)


def groups_part(groups: RecordedGroups) -> dict[str, Any]:
    """What is grouped by."""
    part: dict[str, Any] = {"columns": list(groups.columns)}
    if isinstance(groups.keys, Unknown):
        part["unknown_keys"] = True if groups.keys is UNKNOWN else groups.keys.value
    elif isinstance(groups.keys, PublicKeys):
        part["public_keys"] = public_name(groups.keys.name, "public_keys")
    elif groups.keys:
        part["keys"] = {name: [key_part(key) for key in checked_keys(name, keys)] for name, keys in groups.keys.items()}
    if groups.sets is not None:
        part["sets"] = [list(one) for one in groups.sets]
    return {**part, **limits_part(groups.limits)}


def public_name(name: str, call: str) -> str:
    """The name of what is public; refuses what has none."""
    if not name:
        cure = f"give it one, dp.{call}(data, name='plans'): a document holds the name, and no rows."
        raise InvalidQuery(expected("a name for what is public", "name", name, cure))
    return name


class _Writer:
    """Writes tables, each of them under a name of its own."""

    def __init__(self) -> None:
        self._origins: dict[str, object] = {}

    def question(self, asked: RecordedQuestion) -> dict[str, Any]:
        """A question of one grouping, or of several."""
        part: dict[str, Any] = {"from": self.table(asked.table)}
        if asked.groups is not None:
            part["by"] = groups_part(asked.groups)
        where = None if asked.where is None else asked.where.op()
        part["aggregates"] = [
            [name, units_part(where) if value is None else expression_document(value.op())]
            for name, value in asked.aggregates.items()
        ]
        return part

    def ranges(self, asked: RecordedRanges) -> dict[str, Any]:
        """A histogram that was asked for all of its ranges."""
        edges = [_edge(end) for end in asked.edges]
        body = {"from": self.table(asked.table), "column": asked.column, "edges": edges, **limits_part(asked.limits)}
        by = {} if asked.by is None else {"by": groups_part(asked.by)}
        sums = {} if asked.sums == RANGES else {"sums": asked.sums}
        return {**body, **by, **sums}

    def asked(self, asked: RecordedQuestion | RecordedRanges) -> dict[str, Any]:
        """One of the questions that were asked together."""
        return {"ranges": self.ranges(asked)} if isinstance(asked, RecordedRanges) else self.question(asked)

    def table(self, chain: Any) -> dict[str, Any]:
        """A table: which one was taken, and what was done with it."""
        taken, *verbs = chain._taken  # noqa: SLF001 (a chain of this room)
        origin = taken.stated["origin"]
        name = taken.stated["name"] or source_name(origin.declaration.name)
        if self._origins.setdefault(name, origin) is not origin:
            cure = "give them different names, dp.protect(..., name=...)."
            raise InvalidQuery(expected("tables of different names", "name", name, cure))
        steps = list(self._steps(verbs))
        return {"table": name, "steps": steps} if steps else {"table": name}

    def _steps(self, verbs: list[RecordedVerb]) -> Iterator[dict[str, Any]]:
        for verb in verbs:
            stated = verb.stated
            if verb.name == "partition":
                cure = "group by its column: the groups of one question share its charge as well."
                raise InvalidQuery(expected("a question about a whole table", "table", "a part of one", cure))
            if verb.name == "filter":
                yield {"filter": [expression_document(one.op()) for one in stated["conditions"]]}
            elif verb.name in ("select", "distinct"):
                yield {verb.name: list(stated["names"])}
            elif verb.name in OWN_FORMS:
                yield {verb.name: OWN_FORMS[verb.name](**stated)}
            elif verb.name == "rename":
                yield {"rename": [[new, old] for old, new in stated["names"].items()]}
            elif verb.name == "join":
                yield {"join": self._joined(**stated)}
            elif verb.name in ("union", "intersect", "difference"):
                table = self.table(stated["other"])
                yield {verb.name: {"rows": table, "raise_limits": True} if stated.get("raise_limits") else table}
            else:
                ((_, made),) = stated.items()
                yield {verb.name: [[name, expression_document(value.op())] for name, value in made.items()]}

    def _joined(self, other: Any, on: tuple[str, ...], how: str, max_matches: Any = None) -> dict[str, Any]:
        part: dict[str, Any] = {"on": list(on), "how": how}
        if max_matches is not None:
            pair = isinstance(max_matches, tuple)
            part["max_matches"] = [_matches(most) for most in max_matches] if pair else _matches(max_matches)
        if not isinstance(other, PublicTable):
            return {"table": self.table(other), **part}
        public: dict[str, Any] = {"public": public_name(other.name, "public")}
        if other.renames:
            public["columns"] = [[new, old] for new, old in other.renames.items()]
        return {**public, **part}


def _matches(most: Any) -> Any:
    """How many rows of a key are kept, or which."""
    return most if isinstance(most, str) else int(most)


def _per_key(keys: list[str], max_keys: Any, aggregates: Mapping[str, Any]) -> dict[str, Any]:
    """The keys and the features of the rows under them."""
    made = [[name, expression_document(value.op())] for name, value in aggregates.items()]
    return {"keys": list(keys), **limits_part({"max_keys": max_keys} if max_keys is not None else {}), "features": made}


def _unnested(lists: Mapping[str, Any], max_items: Any, *, raise_limits: bool) -> dict[str, Any]:
    """Lists of expressions side by side, or a text that is split."""
    part: dict[str, Any] = {"raise_limits": True} if raise_limits else {}
    if max_items is None:
        return {
            "lists": [[name, [expression_document(one.op()) for one in items]] for name, items in lists.items()],
            **part,
        }
    ((name, split),) = lists.items()
    op: Any = split.op()
    return {
        "split": [name, expression_document(op.arg), expression_document(op.delimiter)],
        "max_items": int(max_items),
        **part,
    }


def _size(rows: Any) -> int:
    return int(rows)


OWN_FORMS: dict[str, Callable[..., Any]] = {
    "unnest": _unnested,
    "per_key": _per_key,
    **dict.fromkeys(("take", "skip"), _size),
}
"""How verbs are written that have arguments of their own."""


def units_part(where: ops.Node | None) -> dict[str, Any]:
    """A number of units that no column names."""
    return {"units": [] if where is None else [expression_document(where)]}
