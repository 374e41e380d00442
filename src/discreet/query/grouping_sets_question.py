"""Several groupings as one table, as SQL gives them: keys that a grouping does not have are NULL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from discreet.answers.run_post_processing import rehearse
from discreet.errors import InvalidQuery, expected
from discreet.inference.post_processing import Processing, expectation
from discreet.language.checked_expressions import Kind
from discreet.planning.group_keys import Keys
from discreet.planning.plan import Plan
from discreet.query.epsilon_for_accuracy import targets_of
from discreet.query.explanation import Explanation
from discreet.query.listed_batch_question import ListedBatchQuestion
from discreet.query.question import Question
from discreet.query.question_documents import after_parts, document_of

if TYPE_CHECKING:
    from discreet.answers.release import Release

APART = ("relative", "up_to", "report", "to", "bounds", "first_look")
"""What a question of one grouping takes besides."""


def stacked(
    batch: ListedBatchQuestion, names: tuple[str, ...], markers: Mapping[str, tuple[str, ...]]
) -> StackedQuestion:
    """One table of all groupings of a batch: by `names`, with a column for each of `markers`, SQL's GROUPING(...): a
    bit for each of its columns, 1 where the grouping does not have it.
    """
    cells = batch.query.cells
    if cells.keys is None:
        raise TypeError(cells)
    kinds = dict(zip(cells.keys.names, cells.keys.kinds, strict=True))
    rows = []
    for table in batch.query.tables:
        own = table.query.keys
        marks = tuple(_mark(columns, table.name) for columns in markers.values())
        for row in own.rows if own else [()]:
            held = dict(zip(table.name, row, strict=True))
            rows.append((*(held.get(name) for name in names), *marks))
    keys = Keys((*names, *markers), (*(kinds[name] for name in names), *[Kind.INTEGER] * len(markers)), tuple(rows))
    return StackedQuestion(batch.source, replace(cells, keys=keys), _batch=batch, _markers=dict(markers))


def _mark(columns: tuple[str, ...], own: Any) -> int:
    return sum((name not in own) << place for place, name in enumerate(reversed(columns)))


@dataclass(frozen=True, eq=False, repr=False)
class StackedQuestion(Question):
    """A question whose answer has the rows of several groupings, with one charge; released and explained as a batch.

    >>> import discreet as dp
    >>> from discreet.testing import people
    >>> text = "SELECT plan, COUNT(*) AS n FROM t GROUP BY ROLLUP (plan)"
    >>> question = dp.sql(text, t=people(), max_groups=1, max_rows=5)
    >>> question
    <question about 'people': n by plan>
    >>> question.release(epsilon=1).to_pyarrow()["plan"].to_pylist()
    ['free', '25%', '50%', None]
    """

    _batch: ListedBatchQuestion = field(kw_only=True)
    _markers: Mapping[str, tuple[str, ...]] = field(kw_only=True)

    def _steps(self) -> Processing:
        return self._expected or expectation(self._query, reconciled=True)

    def document(self) -> dict[str, Any]:
        """What is asked, ready for JSON; see ``Question.document``."""
        after = after_parts(self._later, self._expected)
        stacked = [[name, list(columns)] for name, columns in self._markers.items()]
        asked = self._batch._asked  # noqa: SLF001 (the question that it is made of)
        return document_of(asked, stacked=stacked, **({"after": after} if after else {}))

    def _targets(self, within: Any) -> dict[Any, Any] | None:
        """Wanted errors of columns as those of all tables."""
        if within is None:
            return None
        return dict.fromkeys(self._batch.names, targets_of(self._query, within))

    def plan(self, **stated: Any) -> Plan:
        """The priced question."""
        return self._batch.plan(**_plain(stated)).stacked(self._query)

    def explain(self, *, within: Any = None, **stated: Any) -> Explanation:
        """What each grouping would cost and how good it would be; arguments as of ``Question.explain``."""
        return self._batch.explain(within=self._targets(within), **_plain(stated))

    def release(  # type: ignore[override]  # a part of its options, and no file
        self, *, within: Any = None, **stated: Any
    ) -> Release:
        """The rows of all groupings, charged once; arguments as of ``Question.release``, without rounds, reports and
        files.
        """
        if self._expected is not None:
            rehearse(self._expected)
        found = self._batch.release(within=self._targets(within), **_plain(stated))
        return self._finished(found.stacked(self._query))


def _plain(stated: dict[str, Any]) -> dict[str, Any]:
    """The options that batches have; the others are refused where they say something."""
    for name in (*APART, "weights"):
        if value := stated.pop(name, None):
            cure = "leave it out, or ask for the groupings one by one."
            raise InvalidQuery(expected(f"no {name} beside several groupings", name, value, cure))
    return stated
