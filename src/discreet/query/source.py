"""What a query needs to know of its table, and the one thing it asks of it: to release a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import ibis.expr.schema as sch

from discreet.answers.answer_file import AnswerFile
from discreet.answers.batch_release import BatchRelease
from discreet.answers.release import Release
from discreet.planning.batch_planner import BatchPlan
from discreet.planning.mixed_batch_plan import MixedBatchPlan
from discreet.planning.open_question_plan import OpenQuestionPlan
from discreet.planning.plan import Plan
from discreet.privacy.declaration import Declaration
from discreet.query.accuracy_rounds import Rounds


class Beside(NamedTuple):
    """Two tables that stand in one plan."""

    source: Source
    """A source of both: one budget, one charge."""
    places: tuple[int, ...]
    """Where the scanned tables of the second one stand now."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReleaseCall:
    """The call that a plan was made for: what a source elsewhere is sent, where it is planned anew."""

    document: Callable[[], dict[str, Any]]
    """The question, without the steps after the noise."""
    price: Mapping[str, Any]
    """``epsilon``, ``delta``, ``rho``, ``within`` and ``first_look``, as they were stated."""
    weights: Mapping[Any, object] | None = None
    account: Callable[[], Mapping[str, Any]] | None = None
    """What `explain` says of it at 95 %, where the plan alone does not say it: of verbs with answers of their own."""


class Source(Protocol):
    """A protected table. The curator implements it: the only place where budget, data and entropy meet."""

    @property
    def declaration(self) -> Declaration:
        """What was stated of the table."""

    @property
    def budget(self) -> Any:
        """What its releases are charged to, which the query layer never looks at: a `Budget`; of a part of a table,
        what answers as one does.
        """

    @property
    def schema(self) -> sch.Schema:
        """Its column names and types."""

    def release(
        self, plan: Plan | OpenQuestionPlan | Rounds, *, fresh: bool, confidence: float, call: ReleaseCall | None = None
    ) -> Release:
        """Charges the plan, runs it, adds the noise and returns the answer."""

    def release_batch(
        self, plan: BatchPlan | MixedBatchPlan, *, fresh: bool, confidence: float, call: ReleaseCall | None = None
    ) -> BatchRelease:
        """The same for several tables at once."""

    def write(self, plan: Plan, to: object, *, fresh: bool, confidence: float) -> AnswerFile:
        """The same, with the answer in a file."""

    def statement(self, plan: Plan | OpenQuestionPlan) -> str:
        """The SQL that the engine runs for a plan."""

    def beside(self, other: Any) -> Beside:
        """This table and another one, protected or public, in one plan; refuses what cannot stand together."""

    def with_budget(self, budget: Any) -> Source:
        """The same table, whose releases are charged to a level in its budget."""

    def parts(self, number: int, most: int) -> tuple[Source, ...]:
        """So many sources of this table that charge together what the `most` dearest of them cost."""

    def restated(self, **facts: Any) -> Source:
        """A source of the same tables, of whose rows after a verb other limits hold, or more of them are one unit's."""

    def rowwise(self, rows_changed: int) -> Source:
        """A source of the same tables in which rows belong to nobody, and neighbors differ in so many of them."""
