"""A histogram that is asked for all sums of neighboring bins at once, of all rows or in each of some groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from discreet.answers.grouped_ranges_release import GroupedRangesRelease, ranges_answer
from discreet.answers.ranges_release import RangesRelease
from discreet.errors import InvalidParameter, InvalidQuery, expected, printable
from discreet.exact.amounts import positive
from discreet.exact.given_values import flag, values
from discreet.language.checked_expressions import Kind, Value
from discreet.language.public_bins import equal_edges
from discreet.planning.batch_planner import BatchPlan, BatchQuery, BatchTable
from discreet.planning.group_keys import Keys
from discreet.planning.planner import level
from discreet.planning.strategy_families import PREFIXES, RANGES
from discreet.privacy.declaration import Key
from discreet.query.batch_question import check_cells
from discreet.query.batch_targets import cheapest, wanted_ranges
from discreet.query.epsilon_for_accuracy import check_unpriced
from discreet.query.explain_batch import WORST, explain_batch, range_errors
from discreet.query.explanation import Explanation
from discreet.query.listed_batch_question import ListedBatchQuestion
from discreet.query.question import Question
from discreet.query.question_documents import document_of
from discreet.query.recorded_verbs import RecordedRanges
from discreet.query.source import ReleaseCall
from discreet.query.unreleased_methods import Unreleased
from discreet.workloads.cell_tables import MOST_CELLS, CellTable

if TYPE_CHECKING:
    from discreet.answers.batch_release import BatchRelease


def kind_of(ranges: object) -> str | None:
    """Which sums of bins are asked for: "ranges", "prefixes", or None of them."""
    if isinstance(ranges, str) and ranges == PREFIXES:
        return PREFIXES
    if isinstance(ranges, str):
        cure = 'write ranges=True for all ranges, ranges="prefixes" for those from the first bin on.'
        raise InvalidParameter(expected("True, False or 'prefixes'", "ranges", ranges, cure))
    return RANGES if flag("ranges", ranges) else None


class NamedColumns(Protocol):
    """The columns of a table, as `bins_of` asks for them."""

    @property
    def _columns(self) -> Mapping[str, Value]: ...

    def _name(self, written: Any) -> str: ...


def bins_of(table: NamedColumns, column: Any, bins: Any) -> tuple[str, Any]:
    """The column of a histogram by name, and the edges of its bins, which are checked where it is cut."""
    name = table._name(column)
    if isinstance(bins, int):
        return name, tuple(equal_edges(table._columns[name], name, bins))
    cure = "write them in order, [0, 18, 65, 110], or their number, bins=10."
    return name, bins if isinstance(bins, str) else tuple(values("bins", bins, cure))


def with_bins(keys: Keys, name: str, bins: Sequence[Key]) -> Keys:
    """Listed groups, each with all bins."""
    if type(keys) is not Keys:
        cure = "list them, keys={'plan': [...]}; those that keys=dp.UNKNOWN finds, by a question of its own."
        raise InvalidQuery(expected("groups that are listed, for the bins of each", "keys", "others", cure))
    if name in keys.names:
        cure = f"rename it, people.rename(own={name!r}): the bins take its name."
        raise InvalidQuery(expected("groups of other names than the bins", "names", name, cure))
    if keys.size * len(bins) > MOST_CELLS:
        got = f"{keys.size:,} groups of {len(bins):,} bins"
        cure = "make bins wider, or ask for some of the groups at a time."
        raise InvalidQuery(expected(f"at most {MOST_CELLS:,} pairs of a group and a bin", "keys", got, cure))
    pairs = tuple((*row, label) for row in keys.rows for label in bins)
    return Keys((*keys.names, name), (*keys.kinds, Kind.TEXT), pairs)


def _batch_of(question: Question, sizes: tuple[int, ...], asked: RecordedRanges) -> ListedBatchQuestion:
    query = question._query
    check_cells(query, sizes, [tuple(range(len(sizes)))])
    table = CellTable(tuple(range(len(sizes))), (None,) * len(sizes))
    bins = BatchTable(name="bins", query=query, table=table, places=(0,))
    batch = BatchQuery(cells=query, sizes=sizes, tables=(bins,), ranges=asked.sums, edges=asked.edges)
    return ListedBatchQuestion(question._source, None, batch)


def ranges_of(question: Question, asked: RecordedRanges) -> RangesQuestion:
    """All ranges of the bins of a histogram."""
    return RangesQuestion(_batch_of(question, (question._query.cells,), asked), asked)


def grouped_ranges_of(question: Question, asked: RecordedRanges) -> GroupedRangesQuestion:
    """The same in each of some groups."""
    bins = len(asked.edges) - 1
    return GroupedRangesQuestion(_batch_of(question, (question._query.cells // bins, bins), asked), asked)


Answer = TypeVar("Answer", RangesRelease, GroupedRangesRelease)


@dataclass(frozen=True, eq=False, repr=False)
class AllRanges(Unreleased, Generic[Answer]):
    """What is asked of all sums of neighboring bins, in groups or without."""

    batch: ListedBatchQuestion
    """The bins as a table that is planned for their sums, for the rooms above."""
    _asked: RecordedRanges

    def __repr__(self) -> str:
        name, bins = self.batch.source.declaration.title, len(self._asked.edges) - 1
        by = "" if self._asked.by is None else f" by {', '.join(self._asked.by.columns)}"
        return printable(f"<all {self._asked.sums} of {bins:,} bins{by}, about {name!r}>")

    def document(self) -> dict[str, Any]:
        """What is asked, ready for JSON; see ``Question.document``.

        >>> from discreet.testing import people
        >>> question = people().histogram("age", bins=2, ranges=True, max_groups=1, max_rows=5)
        >>> question.document()["ranges"]["edges"]
        [0, 55, 110]
        """
        return document_of(self._asked)

    def plan(
        self,
        *,
        epsilon: object = None,
        delta: object = 0,
        rho: object = None,
        within: object = None,
        confidence: float = 0.95,
    ) -> BatchPlan:
        """The priced question: what would be measured and charged. Arguments as of `release`."""
        if within is None:
            return self.batch.plan(epsilon=epsilon, delta=delta, rho=rho)
        check_unpriced(epsilon, rho)
        return cheapest(wanted_ranges(self.batch.query, positive("within", within), level(confidence)), delta)

    def explain(
        self,
        *,
        epsilon: object = None,
        delta: object = 0,
        rho: object = None,
        within: object = None,
        confidence: float = 0.95,
    ) -> Explanation:
        """The strategy, the noise and the error of a bin, of ranges on average, and of the worst range; without reading
        a row.

        >>> from discreet.testing import people
        >>> question = people().histogram("age", bins=11, ranges=True, max_groups=1, max_rows=5)
        >>> sorted(question.explain(epsilon=1)["ranges"])
        ['on average', 'worst']
        """
        plan = self.plan(epsilon=epsilon, delta=delta, rho=rho, within=within, confidence=confidence)
        statement = self.batch.source.statement(plan.cells)
        facts = explain_batch(plan, statement, confidence=level(confidence), assume=None).facts
        return Explanation({**facts, self._asked.sums: range_errors(plan, level(confidence))})

    def _answer(self, bins: BatchRelease, confidence: float) -> Answer:
        """What follows from the noisy bins."""
        found: Any = ranges_answer(bins, confidence)
        answer: Answer = found
        return answer

    def release(
        self,
        *,
        epsilon: object = None,
        delta: object = 0,
        rho: object = None,
        within: object = None,
        confidence: float = 0.95,
        fresh: bool = False,
    ) -> Answer:
        """The noisy bins and all that follows from them, charged before a row is read; arguments and errors as of
        ``Question.release``, but `within`: by how many rows the worst of all ranges may be off, of each group where
        there are some, for which the smallest epsilon is found.
        """
        wanted = level(confidence)
        flag("fresh", fresh)
        plan = self.plan(epsilon=epsilon, delta=delta, rho=rho, within=within, confidence=confidence)
        worst = None if within is None else {WORST: within}
        price = {"epsilon": epsilon, "delta": delta, "rho": rho, "within": worst}
        call = ReleaseCall(document=self.document, price=price)
        found = self.batch.source.release_batch(plan, fresh=fresh, confidence=wanted, call=call)
        return self._answer(found, wanted)


class RangesQuestion(AllRanges[RangesRelease]):
    """The rows in any range of neighboring bins of a column: one charge for all of them.

    >>> from discreet.testing import people
    >>> people().histogram("age", bins=11, ranges=True, max_groups=1, max_rows=5)
    <all ranges of 11 bins, about 'people'>
    """


class GroupedRangesQuestion(AllRanges[GroupedRangesRelease]):
    """The rows in any range of neighboring bins of a column, in each of some groups: one charge for all of them.

    >>> from discreet.testing import people
    >>> groups = people().group_by("plan", max_groups=1, max_rows=5)
    >>> groups.histogram("age", bins=11, ranges="prefixes")
    <all prefixes of 11 bins by plan, about 'people'>
    """
