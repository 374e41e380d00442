"""`dp.question`: a document read as a question, by the verbs and the checks that Python's expressions pass.

Claim
    `question` returns a question whose document is the one that it was given, or raises InvalidQuery or
    InvalidParameter. What it returns was made by the verbs of the given tables. It opens, runs and charges nothing, and
    its time and memory are bounded by its limits, whatever it is given.
Requires
    Tables, public tables and public keys that the curator handed in by name.
Relies on
    `document_parts.whole_document` for size and depth; the verbs, which check their arguments.
Proof
    Each part of a document names a verb of a closed list, or an operation of one, and its arguments are values, names
    of columns, or names of what was handed in. The result is written again, and given out only if the text is the same:
    so a document is read as what it says, in full, or refused.
Rounding
    None.
Source
    None.
Mutant
    read-as-something-else: what was read is not compared with what was given; killed by
    test_what_is_read_says_what_was_given.
    windows-without-end: windows after the noise are not counted; killed by test_documents_have_limits.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import ibis.expr.operations as ops

from discreet.errors import InvalidParameter, InvalidQuery, expected, nearest_name
from discreet.guesses.misfit_calls import with_usage_hint
from discreet.language.allow_list import too_deep
from discreet.language.checked_expressions import Measure
from discreet.planning.group_keys import UNKNOWN, UNKNOWN_BY_COUNT
from discreet.query.batch import batch
from discreet.query.batch_question import BatchQuestion
from discreet.query.document_parts import CURE, DocumentPart, difference, same, whole_document
from discreet.query.expression_documents import checked_lists, read_number
from discreet.query.grouping_sets_question import stacked
from discreet.query.listed_batch_question import ListedBatchQuestion
from discreet.query.private_groups import PrivateGroups
from discreet.query.public_keys import PublicKeys
from discreet.query.public_table import PublicTable
from discreet.query.question import Question
from discreet.query.question_documents import VERSION
from discreet.query.ranges import GroupedRangesQuestion, RangesQuestion
from discreet.query.read_applications import APPLIED, read_key, read_limit, read_matches, row_wise
from discreet.query.read_later_steps import check_windows, handed_on, measure_step
from discreet.query.row_expansion import MOST_ITEMS
from discreet.query.shared_table import SharedTable
from discreet.query.table import PrivateTable
from discreet.query.unpriced_question import UnpricedQuestion
from discreet.workloads.cell_tables import MOST_CELLS

if TYPE_CHECKING:  # which knows the rooms above by name
    from discreet.query.application_verbs import HierarchyQuestion

Known = PrivateTable | SharedTable | PublicTable | PublicKeys
Asked: TypeAlias = (
    "Question | BatchQuestion | RangesQuestion | GroupedRangesQuestion | UnpricedQuestion[Any] | HierarchyQuestion"
)
"""What type checkers are told: a series is another one, whose `release` wants a `through`."""

KINDS = ("question", "batch", "ranges", *APPLIED)
"""What a document can be."""

MOST_NESTED = 20
"""Tables in tables in tables."""
MOST_QUESTIONS = 200
"""Of a batch."""
MOST_NAMES = 1000
"""New columns of all steps together, and columns of the answer."""
WIDEST = 5000
"""Columns of the tables after each step, all together."""
MOST_BATCHED = 4096
"""Keys of all questions of a batch: its cells are found by pairs of them."""
MOST_AFTER = 50
"""Steps after the noise."""


@with_usage_hint("dp.question(document, {'people': people})")
def question(document: Mapping[str, Any], tables: Mapping[str, Known]) -> Asked:
    """The question that a document says, asked of the tables that are handed in by name.

    Args:
        document: what ``question.document()`` gave, in this process or another one.
        tables: by the names that the document has: protected tables, and what ``dp.public(...)`` and
            ``dp.public_keys(...)`` marked.

    Raises:
        InvalidQuery: it is no document, more than the limits allow, or a question that the verbs refuse.
        InvalidParameter: a value in it that a verb cannot use, or tables that are none.

    >>> import discreet as dp
    >>> from discreet.testing import people
    >>> asked = people().filter(lambda t: t.age >= 18).group_by("plan").agg(visits=lambda t: t.visits.mean())
    >>> again = dp.question(asked.document(), {"people": people()})
    >>> again
    <question about 'people': visits by plan>
    >>> again.document() == asked.document()
    True
    """
    if not isinstance(tables, Mapping):
        cure = "write dp.question(document, {'people': people})."
        raise InvalidParameter(expected("a dict of tables", "tables", tables, cure))
    for name, table in tables.items():
        if not isinstance(name, str) or not isinstance(table, Known):
            cure = "hand in protected tables, dp.public(...) and dp.public_keys(...), by the names in the document."
            raise InvalidParameter(expected("a table", str(name), type(table).__name__, cure))
    whole = checked_lists(whole_document(document))
    try:
        found = _Reader(tables).read(whole)
        again = found.document()
    except RecursionError:
        raise InvalidQuery(too_deep()) from None
    if not same(again, whole.value):
        place = difference(again, whole.value)
        cure = "a question has one document, the one that question.document() writes."
        raise InvalidQuery(expected("what the question would write", "place", place, cure))
    return found


class _Reader:
    """Reads the parts of one document."""

    def __init__(self, tables: Mapping[str, Known]) -> None:
        self._tables = tables
        self._chains: dict[tuple[int, str], PrivateTable] = {}
        """Tables by what they were made of: the same steps are taken once, so that one table can be asked twice."""
        self._names = self._cells = self._keys = self._width = 0

    def read(self, whole: DocumentPart) -> Asked:
        """What the whole document asks."""
        fields = whole.having_fields(("version",), KINDS)
        if fields["version"].value is not VERSION or len(fields) != 2:
            fields["version"].refuse(f"version {VERSION}, and one of {', '.join(KINDS)}", CURE)
        if "question" in fields:
            return self._question(fields["question"])
        if "batch" in fields or "ranges" in fields:
            return self._batch(fields["batch"]) if "batch" in fields else self._ranges(fields["ranges"])
        ((kind, part),) = ((kind, part) for kind, part in fields.items() if kind in APPLIED)
        applied: Asked = APPLIED[kind](self, part)
        return applied

    def _handed(self, part: DocumentPart, kind: Any, what: str) -> Any:
        """What was handed in under a name."""
        found = self._tables.get(part.text())
        if not isinstance(found, kind):
            known = [name for name, one in self._tables.items() if isinstance(one, kind)]
            part.refuse(what, nearest_name(part.value[:60], known) if known else "none was handed in.")
        return found

    def public_keys(self, part: DocumentPart) -> PublicKeys:
        """Public keys that were handed in, under the name that they have here."""
        keys = self._handed(part, PublicKeys, "public keys")
        return PublicKeys(keys.names, keys._rows, keys._file, name=part.value)  # noqa: SLF001 (of this room)

    def table(self, part: DocumentPart, nested: int = 0) -> PrivateTable:
        """A protected table after its steps."""
        if nested > MOST_NESTED:
            part.refuse(f"at most {MOST_NESTED} tables in each other")
        fields = part.having_fields(("table",), ("steps",))
        name = fields["table"]
        key = (0, name.text())
        if key not in self._chains:
            handed: Any = self._handed(name, PrivateTable | SharedTable, "a protected table")
            self._chains[key] = handed._called(name.value)  # noqa: SLF001 (a table of this room)
        table = self._chains[key]
        for step in fields["steps"].listed(least=1) if "steps" in fields else ():
            key = (id(table), json.dumps(step.value))
            if key not in self._chains:
                self._width += len(table.columns)
                if self._width > WIDEST:
                    step.refuse(f"at most {WIDEST:,} columns after all steps together", "select those that you need.")
                self._chains[key] = self._stepped(table, step, nested)
            table = self._chains[key]
        return table

    def _stepped(self, table: PrivateTable, step: DocumentPart, nested: int) -> PrivateTable:
        verb, held = step.one_of(VERBS, "a verb")
        own = {"unnest": self._unnested, "per_key": self._per_key, "take": _taken, "skip": _skipped}
        if verb == "join" or verb in own:
            return self._joined(table, held, nested) if verb == "join" else own[verb](table, held)
        if verb in ("union", "intersect", "difference"):
            return self._combined(table, verb, held, nested)
        if verb in ("mutate", "per_unit"):
            made = {name: row_wise(one, table) for name, one in held.pairs()}
            self.count(len(made), held)
            return table.mutate(**made) if verb == "mutate" else table.per_unit(**made)
        if verb == "filter":
            return table.filter(*(row_wise(one, table) for one in held.listed(least=1)))
        if verb == "rename":
            return table.rename({new: old.text() for new, old in held.pairs()})
        names = held.texts(least=1)
        return table.select(*names) if verb == "select" else table.distinct(*names)

    def _combined(self, table: PrivateTable, verb: str, part: DocumentPart, nested: int) -> PrivateTable:
        more: dict[str, Any] = {}
        if verb == "union" and isinstance(part.value, dict) and "rows" in part.value:
            fields = part.having_fields(("rows", "raise_limits"))
            part, more = fields["rows"], {"raise_limits": fields["raise_limits"].value}
        combine: Callable[..., PrivateTable] = getattr(table, verb)
        return combine(self.table(part, nested + 1), **more)

    def _unnested(self, table: PrivateTable, part: DocumentPart) -> PrivateTable:
        fields = part.having_fields((), ("lists", "split", "max_items", "raise_limits"))
        if ("lists" in fields) == ("split" in fields):
            part.refuse("lists, or a split text")
        lists: dict[str, Any] = {}
        if "lists" in fields:
            for name, held in fields["lists"].pairs():
                lists[name] = [row_wise(one, table) for one in held.listed(least=1, most=MOST_ITEMS)]
                self.count(len(lists[name]), part)
        else:
            called, text, delimiter = fields["split"].listed(least=3, most=3)
            whole = row_wise(text, table)
            lists[called.text()] = lambda _: ops.StringSplit(whole, delimiter.text()).to_expr()
            self.count(1, part)
        most = fields["max_items"].number(least=1) if "max_items" in fields else None
        raised = fields["raise_limits"].value if "raise_limits" in fields else False
        return table._unnested(lists, max_items=most, raise_limits=raised)  # noqa: SLF001 (a table of this room)

    def _per_key(self, table: PrivateTable, part: DocumentPart) -> PrivateTable:
        fields = part.having_fields(("keys", "features"), ("max_keys",))
        made = {name: row_wise(one, table) for name, one in fields["features"].pairs()}
        self.count(len(made), part)
        if "max_keys" in made:
            part.refuse("features of other names than max_keys")
        most = fields["max_keys"].number(least=1) if "max_keys" in fields else None
        return table.per_key(*fields["keys"].texts(least=1), max_keys=most, **made)

    def count(self, more: int, part: DocumentPart) -> None:
        """Refuses more columns than there may be."""
        self._names += more
        if self._names > MOST_NAMES:
            part.refuse(f"at most {MOST_NAMES:,} new columns in all", "ask for less at a time.")

    def _joined(self, table: PrivateTable, part: DocumentPart, nested: int) -> PrivateTable:
        fields = part.having_fields(("on", "how"), ("table", "public", "columns", "max_matches"))
        if ("table" in fields) == ("public" in fields):
            part.refuse("a table or a public one")
        other: Any
        if "table" in fields:
            other = self.table(fields["table"], nested + 1)
        else:
            public = self._handed(fields["public"], PublicTable, "a public table")
            other = PublicTable(public.rows, public.digest, public.closed, name=fields["public"].value)
            if "columns" in fields:
                renames = {new: old.text() for new, old in fields["columns"].pairs()}
                if unknown := [old for old in renames.values() if old not in other.columns]:
                    cure = nearest_name(unknown[0][:60], other.columns)
                    fields["columns"].refuse("columns of the public table", cure)
                other = other.renamed(renames)
        most = fields.get("max_matches")
        matches: Any = None
        if most is not None:
            both = most.listed(least=2, most=2) if isinstance(most.value, list) else None
            matches = read_matches(most) if both is None else tuple(read_matches(one) for one in both)
        return table.join(other, fields["on"].texts(least=1), how=fields["how"].text(), max_matches=matches)

    def _question(self, part: DocumentPart) -> Question | BatchQuestion:
        fields = part.having_fields(("from", "aggregates"), ("by", "stacked", "after"))
        found: Any = self.asked(fields, self.table(fields["from"]))
        if "stacked" in fields:
            if not isinstance(found, ListedBatchQuestion):
                fields["stacked"].refuse("several groupings")
            names = tuple(fields["by"].value["columns"])
            markers = {name: tuple(one.texts()) for name, one in _pairs_or_none(fields["stacked"])}
            for name, columns in markers.items():
                if not set(columns) <= set(names) or name in names:
                    fields["stacked"].refuse("markers of columns that are grouped by")
            found = stacked(found, names, markers)
        if "after" in fields:
            if isinstance(found, BatchQuestion):
                fields["after"].refuse("no steps after several groupings", "take them with its tables.")
            sizes: dict[str, Measure] = {}
            steps = fields["after"].listed(least=1, most=MOST_AFTER)
            check_windows(steps)
            for step in steps:
                measure_step(step, sizes)
                found = handed_on(found, step)
        asked: Question | BatchQuestion = found
        return asked

    def asked(self, fields: Mapping[str, DocumentPart], table: PrivateTable) -> Question | BatchQuestion:
        """What aggregates and groups ask of a table."""
        pairs = list(fields["aggregates"].pairs())
        self.count(sum(_columns(one) for _, one in pairs), fields["aggregates"])
        if len(pairs) == 1 and isinstance(pairs[0][1].value, dict) and "units" in pairs[0][1].value:
            name, one = pairs[0]
            condition = one.having_fields(("units",))["units"].listed(most=1)
            if "by" in fields or name != "nunique":
                one.refuse("a number of units of all rows, as nunique")
            return table.nunique(where=row_wise(condition[0], table) if condition else None)
        made = {name: row_wise(one, table) for name, one in pairs}
        return self._grouped(table, fields["by"]).agg(**made) if "by" in fields else table.agg(**made)

    def _grouped(self, table: PrivateTable, part: DocumentPart) -> Any:
        known = ("keys", "unknown_keys", "public_keys", "sets", "max_groups", "max_rows")
        fields = part.having_fields(("columns",), known)
        columns = fields["columns"].texts(least=1)
        if sum(name in fields for name in known[:3]) > 1:
            part.refuse("one of keys, unknown_keys and public_keys")
        keys: Any = None
        if "unknown_keys" in fields:
            keys = UNKNOWN if fields["unknown_keys"].value is True else UNKNOWN_BY_COUNT
        elif "public_keys" in fields:
            keys = self.public_keys(fields["public_keys"])
        elif "keys" in fields:
            keys = {
                name: [read_key(one) for one in own.listed(least=1)] for name, own in fields["keys"].fields().items()
            }
        sets = [one.texts() for one in fields["sets"].listed(least=1)] if "sets" in fields else None
        if keys is None or isinstance(keys, dict):
            known_keys = {**table._keys, **(keys or {})}  # noqa: SLF001 (public keys)
            sizes = {name: len(known_keys.get(name, (False, True))) for name in columns}
            self._cells += sum(math.prod(sizes.get(name, 1) for name in one) for one in (sets or [columns]))
            self._keys += sum(sizes.values())
            if self._cells > MOST_CELLS:
                cure = "group more coarsely, or ask for less at a time."
                part.refuse(f"at most {MOST_CELLS:,} groups in all", cure)
        limits = {name: read_limit(fields[name]) for name in ("max_groups", "max_rows") if name in fields}
        return table.group_by(columns, keys=keys, sets=sets, **limits)

    def _batch(self, part: DocumentPart) -> BatchQuestion:
        fields = part.having_fields(("questions",), ("max_groups", "max_rows"))
        fields["questions"].listed(least=1, most=MOST_QUESTIONS)
        asked: dict[str, Any] = {}
        for name, one in fields["questions"].pairs():
            asked[name] = self._together(one)
            if self._keys > MOST_BATCHED:
                one.refuse(f"at most {MOST_BATCHED:,} keys in a batch", "ask for less at a time.")
        limits: dict[str, Any] = {name: one.number(least=1) for name, one in fields.items() if name != "questions"}
        found: BatchQuestion = batch(asked, **limits)
        return found

    def _together(self, part: DocumentPart) -> Any:
        """One of the questions of a batch."""
        if isinstance(part.value, dict) and "ranges" in part.value:
            return self._ranges(part.having_fields(("ranges",))["ranges"])
        own = part.having_fields(("from", "aggregates"), ("by",))
        return self.asked(own, self.table(own["from"]))

    def _ranges(self, part: DocumentPart) -> RangesQuestion | GroupedRangesQuestion:
        fields = part.having_fields(("from", "column", "edges"), ("by", "sums", "max_groups", "max_rows"))
        edges = [_edge(one) for one in fields["edges"].listed(least=2)]
        self._keys += len(edges)
        limits = {name: fields[name].number(least=1) for name in ("max_groups", "max_rows") if name in fields}
        sums: Any = fields["sums"].text() if "sums" in fields else True
        table, column = self.table(fields["from"]), fields["column"].text()
        if "by" not in fields:
            alone: RangesQuestion = table.histogram(column, edges, ranges=sums, **limits)
            return alone
        groups = self._grouped(table, fields["by"])
        if not isinstance(groups, PrivateGroups):
            fields["by"].refuse("one grouping")
        if limits:
            part.refuse("limits in one place", "those of the groups speak of pairs of a group and a bin.")
        asked: GroupedRangesQuestion = groups.histogram(column, edges, ranges=sums)
        return asked


VERBS = (
    *("filter", "mutate", "select", "rename", "distinct", "per_unit", "per_key", "unnest", "take", "skip"),
    *("union", "intersect", "difference", "join"),
)
"""What a step of a document can be."""


def _taken(table: PrivateTable, part: DocumentPart) -> PrivateTable:
    return table.take(part.number(least=1))


def _skipped(table: PrivateTable, part: DocumentPart) -> PrivateTable:
    return table.skip(part.number(least=1))


def _columns(aggregate: DocumentPart) -> int:
    """How many columns of the answer an aggregate is: a list of quantiles is several."""
    held = aggregate.value.get("multi_quantile") if isinstance(aggregate.value, dict) else None
    shares = held[1].get("list") if isinstance(held, list) and len(held) > 1 and isinstance(held[1], dict) else None
    return len(shares) if isinstance(shares, list) else 1


def _pairs_or_none(part: DocumentPart) -> list[tuple[str, DocumentPart]]:
    return list(part.pairs()) if part.value else []


def _edge(part: DocumentPart) -> Any:
    """An edge of a bin."""
    if isinstance(part.value, str):
        return part.value
    if isinstance(part.value, dict) and "real" not in part.value:
        return read_key(part)
    return read_number(part)
