"""The verb: counts, sums and means of a protected table at every step, ready to be explained or released."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from discreet.curator.release_key import described_query
from discreet.errors import InvalidParameter, InvalidQuery, expected, printable
from discreet.exact.cached_property import cached_property
from discreet.language.checked_expressions import Kind
from discreet.planning.contribution_limits import checked_limit
from discreet.planning.group_keys import MOST_KEYS
from discreet.planning.planner import level
from discreet.query.explanation import Explanation
from discreet.query.question import Question
from discreet.query.question_documents import document_of, key_part
from discreet.query.table import PrivateGroups, PrivateTable
from discreet.query.unreleased_methods import Unreleased
from discreet.series import step_clock
from discreet.series.active_steps import (
    MOST_APART,
    bounded_steps,
    check_asked,
    check_rowwise,
    in_steps,
    named_column,
    one_step_units,
    with_record_of,
)
from discreet.series.explain_series import account
from discreet.series.participation import MOST as MOST_STEPS
from discreet.series.participation import Participation
from discreet.series.publish_steps import publish
from discreet.series.series_plan import SeriesPlan, plan_series
from discreet.series.series_release import SeriesRelease
from discreet.series.series_strategy import SeriesStrategy
from discreet.series.step_calendar import OPEN, StepCalendar
from discreet.series.step_windows import StepWindows, Window


@dataclass(frozen=True, eq=False)
class SeriesTerms:
    """What was stated of a series beside its question."""

    name: str
    by: str
    calendar: StepCalendar
    windows: StepWindows
    participation: Participation
    late: tuple[str, ...]
    settled: timedelta
    """How long after its end the rows of a step are there."""
    table: PrivateTable
    """The rows before they were told apart by steps."""
    steps: PrivateTable
    """The rows of all steps, before those of a unit's first ones were chosen."""
    rows: PrivateTable
    """The rows of the steps."""

    @property
    def stated(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return {
            "by": self.by,
            "start": str(self.calendar.start),
            "every": self.calendar.every,
            "steps": self.calendar.steps,
            "windows": list(self.windows.first),
            "max_steps": self.participation.steps,
            "apart": self.participation.apart,
            "late": list(self.late),
            "settled": str(self.settled) if self.settled else "",
        }

    @property
    def written(self) -> dict[str, Any]:
        """All of it as a document has it: in the words of the verb, and complete."""
        calendar, apart = self.calendar, self.participation.apart
        found = {
            "name": self.name,
            "by": self.by,
            "start": key_part(calendar.start),
            "every": calendar.length if calendar.kind is Kind.INTEGER else calendar.every,
            "until": OPEN if calendar.open_ended else key_part(calendar.last(calendar.steps - 1)),
            "windows": list(self.windows.first),
            "max_steps": self.participation.steps,
        }
        found |= {"apart": apart} if apart > 1 else {}
        found |= dict(zip(("arrives", "late"), self.late, strict=False))
        return found | ({"settled": step_clock.wait_text(self.settled)} if self.settled else {})

    def check_size(self, groups: int, last: int) -> None:
        """Refuses an answer of more numbers than one has."""
        number = groups * sum(len(self.windows.full(window, last + 1)) for window in self.windows.first)
        if number > MOST_KEYS:
            cure = "open another series of fewer groups, fewer windows or longer steps."
            raise InvalidQuery(expected(f"at most {MOST_KEYS:,} numbers in an answer", "through", number, cure))

    def check_over(self, step: int) -> None:
        """Refuses to publish a step that is not over."""
        step_clock.check(self.calendar, step, self.settled)


@dataclass(frozen=True, eq=False, repr=False)
class SeriesTable(Unreleased):
    """The steps of a table, waiting for `.group_by` or `.agg`."""

    _terms: SeriesTerms

    @property
    def rows(self) -> PrivateTable:
        """The rows of the steps, which answer nothing by themselves: for what reads questions from text, and gives them
        to `question`.
        """
        return self._terms.rows

    def __repr__(self) -> str:
        return printable(f"<series of {self.rows!r}: {self._terms.calendar.steps:,} steps>")

    def group_by(
        self,
        /,
        *names: Any,
        keys: object = None,
        max_groups: int | None = None,
        max_rows: int | None = None,
        **expressions: Any,
    ) -> SeriesGroups:
        """Groups in each step, over public keys; the limits are those of a unit in one step.

        >>> import datetime, discreet as dp, pyarrow as pa
        >>> rows = pa.table({"person": [1], "day": [datetime.date(2026, 1, 1)], "ward": ["A"]})
        >>> visits = dp.protect(rows, unit="person", max_rows=2, budget=dp.Budget(rho=1), name="visits by ward")
        >>> series = visits.series(by="day", start="2026-01-01", max_steps=3)
        >>> series.group_by("ward", keys={"ward": ["A", "B"]}, max_groups=1).agg(n=lambda t: t.count())
        <series about 'visits by ward': n by ward, 365 steps of 1 day>
        """
        groups = self.rows.group_by(*names, keys=keys, max_groups=max_groups, max_rows=max_rows, **expressions)
        return SeriesGroups(groups, self._terms)

    def agg(self, /, *unnamed: Any, **aggregates: Any) -> SeriesQuestion:
        """A question: one value for each named aggregate, at each step."""
        return SeriesQuestion(self.rows.agg(*unnamed, **aggregates), self._terms)

    def question(self, question: Question) -> SeriesQuestion:
        """An ordinary question about these rows at each step; for what reads questions from text."""
        return SeriesQuestion(question, self._terms)


@dataclass(frozen=True, eq=False, repr=False)
class SeriesGroups(Unreleased):
    """Groups in the steps of a table, waiting for `.agg`."""

    _groups: PrivateGroups
    _terms: SeriesTerms

    def agg(self, /, *unnamed: Any, **aggregates: Any) -> SeriesQuestion:
        """A question: one value for each named aggregate in each group, at each step."""
        return SeriesQuestion(self._groups.agg(*unnamed, **aggregates), self._terms)


@dataclass(frozen=True, eq=False, repr=False)
class SeriesQuestion(Unreleased):
    """A complete question at every step. `explain` prices all steps without reading a row; `release` publishes them."""

    _question: Question
    _terms: SeriesTerms

    def __post_init__(self) -> None:
        if self._question._is_open or self._question._later:  # noqa: SLF001 (a question of this library)
            cure = "state keys, limits and bounds, and leave what comes after the noise to the answer."
            raise InvalidQuery(expected("a question without anything to find", "question", "an open one", cure))
        check_asked(self._question, self._terms.rows)

    def __repr__(self) -> str:
        query, calendar = self._question._query, self._terms.calendar  # noqa: SLF001 (as above)
        by = f" by {', '.join(query.keys.names)}" if query.keys else ""
        names = ", ".join(a.name for a in query.aggregates)
        steps = f"{calendar.steps:,} steps of {calendar.every}"
        return printable(f"<series about {self._source.declaration.name!r}: {names}{by}, {steps}>")

    @property
    def by_number(self) -> bool:
        """Whether its steps are numbered by a column of whole numbers."""
        return self._terms.calendar.kind is Kind.INTEGER

    @property
    def _source(self) -> Any:
        return self._terms.table._source  # noqa: SLF001 (as above)

    @cached_property
    def _asked(self) -> dict[str, Any]:
        """What a ledger keeps of it, beside its price: the same for the same series, on whatever engine."""
        declared, query = self._source.declaration, self._question._query  # noqa: SLF001 (as above)
        bounds = {name: [str(low), str(high)] for name, (low, high) in declared.bounds.items()}
        asked = {
            **self._terms.stated,
            "question": document_of(self._question._asked),  # noqa: SLF001 (as above)
            "keys": None if query.keys is None else query.keys.facts,
            "limits": [query.limits.max_groups, query.limits.max_rows],
            "unit": list(declared.unit),
            "neighbors": declared.neighbors.value,
            "bounds": bounds,
            **({"via": declared.via} if declared.via else {}),
        }
        plain: dict[str, Any] = json.loads(json.dumps(asked))
        return plain

    def document(self) -> dict[str, Any]:
        """What is asked, ready for JSON, without a price; see ``Question.document``.

        >>> import datetime, discreet as dp, pyarrow as pa
        >>> rows = pa.table({"person": [1], "day": [datetime.date(2026, 1, 1)]})
        >>> visits = dp.protect(rows, unit="person", max_rows=1, budget=dp.Budget(rho=1), name="visits by day")
        >>> asked = visits.series(by="day", start="2026-01-01", max_steps=1).agg(n=lambda t: t.count())
        >>> asked.document()["series"]["steps"]["until"]
        {'date': '2026-12-31'}
        >>> dp.question(asked.document(), {"visits by day": visits})
        <series about 'visits by day': n, 365 steps of 1 day>
        """
        found = document_of(self._question._asked)  # noqa: SLF001 (as above)
        return {"version": found["version"], "series": {**found["question"], "steps": self._terms.written}}

    @property
    def in_words(self) -> str:
        """The question in one line, for the ledger."""
        query = self._question._query  # noqa: SLF001 (as above)
        later = query.conditions[len(self._terms.rows._conditions) :]  # noqa: SLF001 (as above)
        query = replace(query, conditions=(*self._terms.table._conditions, *later))  # noqa: SLF001 (as above)
        calendar = self._terms.calendar
        steps = f"{calendar.steps:,} steps of {calendar.every}"
        return f"{described_query(query)}: series {self._terms.name!r}, {steps} from {calendar.start} on"

    def _plan(self, prices: Mapping[str, Any], strategy: SeriesStrategy | None = None) -> SeriesPlan:
        terms = self._terms
        query = self._question._query  # noqa: SLF001 (as above)
        return plan_series(query, terms.calendar, terms.windows, terms.participation, prices, strategy=strategy)

    def explain(
        self, *, epsilon: object = None, delta: object = 0, rho: object = None, confidence: float = 0.95
    ) -> Explanation:
        """The noise, the error of each window and the cost of the whole series; nothing is read or spent.

        >>> import datetime, discreet as dp, pyarrow as pa
        >>> rows = pa.table({"person": [1], "day": [datetime.date(2026, 1, 1)]})
        >>> visits = dp.protect(rows, unit="person", max_rows=1, budget=dp.Budget(rho=1), name="one visit")
        >>> series = visits.series(by="day", start="2026-01-01", windows=(1, "all"), max_steps=1)
        >>> found = series.agg(n=lambda t: t.count()).explain(rho=0.5)
        >>> list(found.accuracy)
        ['n, window 1', 'n, window all']
        """
        plan = self._plan({"epsilon": epsilon, "delta": delta, "rho": rho})
        rows = self._question._query.relation  # noqa: SLF001 (as above)
        statement = self._source.statement(plan.step_plan(rows, 1))
        return account(plan, self._terms.stated, statement, level(confidence))

    def release(
        self,
        *,
        through: object,
        epsilon: object = None,
        delta: object = 0,
        rho: object = None,
        confidence: float = 0.95,
    ) -> SeriesRelease:
        """Publishes every step up to the one that ends with `through`, and returns all numbers so far.

        The first release charges the price of the whole series, before a row is read; later ones cost nothing, and
        state the same price or none. What was published is read from the ledger, and never drawn again.

        Args:
            through: the last day (number, hour) of a step that is over and whose rows are all there; one that is not
                over by this machine's clock is refused.
            epsilon: what the whole series costs, with
            delta: beside it; or instead
            rho: of zero-concentrated differential privacy.
            confidence: of the intervals.

        Raises:
            InvalidParameter, InvalidQuery: something is not usable, or not what the series was opened with.
            BudgetExceeded: the series does not fit. In none of these cases was anything read or spent.
            EngineError: the rows could not be read; ask again, which costs nothing more.
        """
        wanted, last = level(confidence), self._terms.calendar.ended(through)
        prices = {"epsilon": epsilon, "delta": delta, "rho": rho}
        published = publish(self, prices, last)
        return SeriesRelease(published.plan, published.points, published.facts, wanted, last + 1)


def series(
    table: PrivateTable,
    by: str,
    *,
    start: object,
    every: object = "1 day",
    until: object = None,
    windows: Sequence[Window] = (1,),
    max_steps: int | None = None,
    apart: int = 1,
    name: str = "series",
    arrives: str | None = None,
    late: str | None = None,
    settled: str | None = None,
) -> SeriesTable:
    """The steps of a table; see `PrivateTable.series`.

    Raises:
        InvalidParameter, InvalidQuery: something is not usable, or not public. Nothing has been read or spent.
    """
    check_rowwise(table)
    if not isinstance(name, str) or not name.strip():
        raise InvalidParameter(expected("a name for the series", "name", name, "write name='admissions'."))
    column = named_column(table, "by", by)
    moment = named_column(table, "arrives", arrives) if arrives is not None else column
    kind = table._columns[column].kind  # noqa: SLF001 (what is known of a column is public)
    if table._columns[moment].kind is not kind:  # noqa: SLF001 (as above)
        cure = "make them the same by .mutate() or .cast()."
        raise InvalidQuery(expected("two columns of one kind", "arrives", moment, cure))
    calendar = StepCalendar.of(kind, start=start, every=every, until=until)
    begins = calendar.calendar_windows()
    if calendar.open_ended:
        wanted = StepWindows.open_ended(windows, begins, calendar.steps)
    else:
        wanted = StepWindows.of(calendar.steps, windows, begins)
    taken = Participation() if one_step_units(table, column) else _participation(table, calendar, max_steps, apart)
    steps = in_steps(table, column, calendar, arrives=arrives, late=late)
    rows = bounded_steps(steps, taken)
    told = () if arrives is None or late is None else (arrives, late)
    wait = step_clock.waiting(calendar, settled)
    terms = SeriesTerms(name, column, calendar, wanted, taken, told, wait, table, steps, with_record_of(rows, table))
    return SeriesTable(terms)


def _participation(table: PrivateTable, calendar: StepCalendar, max_steps: int | None, apart: int) -> Participation:
    """In how many steps a unit counts, and how far they are from each other."""
    gap = checked_limit("apart", apart)
    if max_steps is None and gap == 1:
        unit = ", ".join(table.declaration.unit)
        raise InvalidQuery(
            f"Expected max_steps, got none.\nHint: say in how many of the {calendar.steps:,} steps one {unit} counts: "
            "its first ones. Fewer mean less noise. The limit is enforced, not assumed."
        )
    most = Participation(min(calendar.steps, MOST_STEPS), gap).within(calendar.steps)
    steps = min(checked_limit("max_steps", most if max_steps is None else max_steps), most)
    if gap > 1 and steps > MOST_APART:
        cure = f"state max_steps={MOST_APART}, or take longer steps."
        raise InvalidQuery(expected(f"at most {MOST_APART} steps of a unit that are apart", "max_steps", steps, cure))
    return Participation(steps, gap)
