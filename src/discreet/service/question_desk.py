"""From asks to questions, prices, runs and answers: what jobs do, without who may have them."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

from discreet.answers.stored_answers import sent_text
from discreet.engines.engine import FAILED
from discreet.errors import BudgetExceeded, DiscreetError, EngineError, InvalidParameter, InvalidQuery, expected
from discreet.exact.amounts import decimal_text, root_above
from discreet.exact.cached_property import cached_property
from discreet.ledger.budget import Budget
from discreet.ledger.ledger import Charge
from discreet.planning.group_keys import Unknown
from discreet.privacy.definitions import UNBOUNDED
from discreet.query.explanation import plan_digest
from discreet.query.read_question import question as read_question
from discreet.service.analyst_budgets import AnalystBudget, analyst_budget
from discreet.service.application_questions import AppliedSize, applied_size, check_applied
from discreet.service.asked_tables import answer_columns, arguments_of, source_of
from discreet.service.asks import ALL_TOGETHER, ALL_UNKNOWN, Ask
from discreet.service.data_sets import DataSet, Seen
from discreet.service.job_budgets import Prepaid, PricedCharge, Pricing, Repeating, acting_as, paid_for
from discreet.service.job_records import JobRecord, Sharing
from discreet.service.job_runner import BUDGET_FAILED, Outcome
from discreet.service.jobs import JobBook
from discreet.service.recently_used import RecentlyUsed
from discreet.service.service_errors import BEYOND_ALLOWANCE, NOTHING_OF, OTHER_PLAN, Conflict, forbidden
from discreet.statements.dialects import dialect_named
from discreet.statements.sql_translation import lower

QUESTIONS, ANSWERS = 500, 100
"""How many are held in memory."""
CHARACTERS = 1_000_000
"""Of all questions that are held: each takes some 350 bytes of memory."""
BYTES = 40_000_000
"""Of all answers that are held, as they are stored: each takes a dozen or so of memory."""


Read = tuple[DataSet, Any, list[dict[str, str]]]
"""A question that was read: the data set that it is about, itself, and the columns of its answer."""


@dataclass(frozen=True, kw_only=True)
class Asking:
    """A question about a data set, with the ask that it was read from."""

    dataset: DataSet
    question: Any
    columns: list[dict[str, str]]
    """Of the answer, by name and type."""
    ask: Ask
    group: str | None
    who: str

    @cached_property
    def analyst_budget(self) -> AnalystBudget:
        """The allowances that it has to fit into; where a question is only priced, nobody looks at the ledger."""
        return analyst_budget(self.dataset.name, self.dataset.budget, self.who, self.group)

    @property
    def budget(self) -> Budget:
        """What is charged."""
        return self.analyst_budget.levels[-1].budget

    @property
    def arguments(self) -> dict[str, Any]:
        """What `explain` is given."""
        return arguments_of(self.question, self.ask)

    def release(self) -> Any:
        """Releases it, charged to what acts."""
        return self.question.release(**self.arguments, **({"fresh": True} if self.ask.fresh else {}))


class Repeated(NamedTuple):
    """What a release is given without a charge."""

    twin: str | None
    """The job whose answer it is."""
    answer: bytes | None
    """The answer itself, where no job has it."""


class QuestionDesk:
    """Reads, prices, runs and repeats questions about some data sets."""

    def __init__(self, book: JobBook) -> None:
        self._book = book
        self._questions: RecentlyUsed[Read] = RecentlyUsed(QUESTIONS, CHARACTERS)
        self._explained: RecentlyUsed[dict[str, Any]] = RecentlyUsed(QUESTIONS, CHARACTERS)
        self._priced: RecentlyUsed[Charge] = RecentlyUsed(QUESTIONS, CHARACTERS)
        self._answers: RecentlyUsed[Any] = RecentlyUsed(ANSWERS, BYTES)

    def asking(self, who: str, groups: Mapping[str, str], datasets: Iterable[DataSet], ask: Ask) -> Asking:
        """The question of an ask about data sets that its principal may ask, which are all that it can name."""
        listed = tuple(datasets)
        if not listed:
            raise forbidden()
        # By principal: how long it takes must not tell that somebody else asked the same.
        text = json.dumps(ask.canonical["question"], sort_keys=True)
        dataset, question, columns = self._questions.get(
            (who, listed, text), lambda: self._read(listed, ask), len(text)
        )
        return Asking(
            dataset=dataset,
            question=question,
            columns=columns,
            ask=ask.priced(dataset.policy.default_epsilon),
            group=groups.get(dataset.name),
            who=who,
        )

    def _read(self, datasets: tuple[DataSet, ...], ask: Ask) -> Read:
        tables = {one.name: one.asked for one in datasets}
        question = _question(ask.question, tables, _public_keys(datasets, ask.question))
        budget = source_of(question).budget
        for one in datasets:
            if one.asked._source.budget is budget:  # noqa: SLF001 (stands in for the curator here)
                return one, question, answer_columns(question)
        raise InvalidQuery(expected("a question about one data set", "question", "another", "ask about one of yours."))

    def explain(self, asking: Asking) -> dict[str, Any]:
        """The account of a release before it is made, from public facts alone, without SQL that names places."""
        return dict(self._explained.get(_asked(asking), lambda: self._explain(asking), len(asking.ask.text)))

    def _explain(self, asking: Asking) -> dict[str, Any]:
        explained = asking.question.explain(**asking.arguments)
        found = {name: explained[name] for name in explained if name != "sql"}
        size = applied_size(asking.question) or AppliedSize(totals=_totals(found), cells=_cells(found))
        first = size.looks * asking.dataset.pace.first_step(totals=size.totals, cells=size.cells)
        told = {"answer": asking.columns, "seconds": first, "plan": plan_digest(found)}
        return {"dataset": asking.dataset.name, **found, **told}

    def check_plan(self, asking: Asking) -> None:
        """Refuses an ask for a plan that is another one by now.

        Raises:
            Conflict: the data set was declared anew since it was shown, or another version planned it.
        """
        if asking.ask.plan not in (None, self.explain(asking)["plan"]):
            raise Conflict(OTHER_PLAN)

    def price(self, asking: Asking) -> Charge:
        """What a release would be charged if it had no answer yet; it takes the same time if it has."""
        return self._priced.get(_asked(asking), lambda: self._price(asking), len(asking.ask.text))

    def _price(self, asking: Asking) -> Charge:
        try:
            with acting_as(Pricing()):
                asking.release()
        except PricedCharge as found:
            return found.charge
        raise EngineError(FAILED)

    def sharing(self, asking: Asking) -> Sharing | None:
        """Whose answers it may be given from now on; nobody's, where it is to be drawn anew."""
        own = asking.dataset.policy.cache is Seen.OWN
        shared = Sharing(budget=asking.budget, principal=asking.who if own else None, since=self._book.clock())
        return None if asking.ask.fresh else shared

    def repeated(self, asking: Asking, key: str, sharing: Sharing | None) -> Repeated | None:
        """The newest answer that is shown, which needs no charge; so it follows from what is public alone."""
        if sharing is None:
            return None
        if sharing.principal is not None:
            shown = self._book.own_answer(sharing.principal, key)
            return None if shown is None else Repeated(twin=shown, answer=None)
        waiting = self._book.open_looks(key, sharing)
        return self._on_record(asking.budget, key, frozenset(one.entry or 0 for one in waiting))

    def _on_record(self, budget: Budget, key: str, without: frozenset[int]) -> Repeated | None:
        """The answer of the newest charge of the ledger that is of no open job; by itself, where it is of no job."""
        ledger = budget.ledger_identity
        while (number := budget.paid_by(key, without)) is not None:
            if hidden := self._book.hidden_entries(ledger, [number]):  # accepted since the open ones were looked up
                without |= hidden
                continue
            holder = self._book.holder(ledger, number, key)
            return Repeated(twin=holder, answer=budget.answer_to(number, key) if holder is None else None)
        return None

    def check(self, asking: Asking, charge: Charge) -> None:
        """Refuses what policies or allowances do not let in, before it is accepted."""
        most = asking.dataset.policy.largest_epsilon
        if most is not None and _worth(charge) > most:
            cure = f"ask for at most epsilon {decimal_text(most)} at a time, or ask the curator."
            raise InvalidParameter(expected("a price within the policy", "epsilon", _worth(charge), cure))
        if (level := asking.analyst_budget.refuses(charge)) is not None:
            amount = asking.analyst_budget.lacks(level, charge)
            text = BEYOND_ALLOWANCE if amount is None else NOTHING_OF
            raise BudgetExceeded(text.format(level=f"{level.kind} {level.name!r}", amount=amount))

    def charge(self, asking: Asking, charge: Charge) -> int:
        """Charges it, and returns the number of the entry; before anything is looked at."""
        return paid_for(asking.budget, charge, asking.who)

    def run(self, asking: Asking, job: JobRecord) -> Outcome:
        """Answers it by the charge that it has; what is on record is its answer, whatever failed."""
        prepaid = Prepaid(asking.budget, job=job)
        try:
            with acting_as(prepaid):
                asking.release()
        except Exception:
            with suppress(EngineError):
                return self.resume(asking, job)
            raise
        if prepaid.answer is None:
            raise EngineError(FAILED)
        return Outcome(answer=prepaid.answer[1], paid=True)

    def resume(self, asking: Asking, job: JobRecord) -> Outcome:
        """What the charge of a job that was begun and not ended has paid for; never a new answer."""
        found = None if job.entry is None else asking.budget.answer_to(job.entry, job.release)
        if found is None:
            raise EngineError(FAILED)
        return Outcome(answer=found, paid=True)

    def shown(self, asking: Asking, job: JobRecord) -> Any:
        """The answer of a job, made of its stored bytes.

        Raises:
            Conflict: the data set was declared anew since.
        """
        if (held := self._answers.held(job.id)) is not None:
            return held
        answer = self._book.answer(job.id)

        def make() -> Any:
            with acting_as(Repeating(answer, job.release)):
                return asking.question.release(**asking.arguments)

        return self._answers.get(job.id, make, len(answer or b""))

    def stored(self, asking: Asking, job: str) -> dict[str, Any]:
        """The stored bytes of a job's answer as text, and the ask that they answer."""
        answer = self._book.answer(job)
        if answer is None:
            raise EngineError(FAILED)
        return {"dataset": asking.dataset.name, "ask": asking.ask.canonical, "answer": sent_text(answer)}

    def failure(self, kind: str | None) -> DiscreetError:
        """The one error of a kind of failure."""
        if kind == BUDGET_FAILED:
            return BudgetExceeded(BEYOND_ALLOWANCE.format(level="an allowance"))
        return EngineError(FAILED)

    def amounts(self, given: Mapping[str, object]) -> dict[str, str]:
        """An amount of budget, checked: epsilon, with a delta or not, or rho."""
        known = {name: str(value) for name, value in Ask.amounts(given).items()}
        return {name: decimal_text(Fraction(value)) for name, value in known.items()}


def _asked(asking: Asking) -> Hashable:
    """What the price and the account of a release follow from: the ask, and the data set under its declaration.

    By principal: how long it takes must not tell that somebody else asked the same.
    """
    return asking.who, asking.dataset, replace(asking.ask, plan=None, fresh=False).text


def _question(asked: Mapping[str, Any], tables: Mapping[str, Any], keys: Mapping[str, Any]) -> Any:
    if "document" in asked:
        question = read_question(asked["document"], {**keys, **tables})
        check_applied(question)
        return question
    statement = lower(asked["sql"], tables, dialect_named(asked.get("dialect", "duckdb")))
    limits = {name: asked[name] for name in ("max_groups", "max_rows") if name in asked}
    return statement.question(keys=_keys(asked.get("keys"), statement.kinds), **limits)


def _public_keys(datasets: Iterable[DataSet], asked: Mapping[str, Any]) -> dict[str, Any]:
    """The keys that curators marked, by their names; of several of one name those of the data set that is asked."""
    text = json.dumps(asked.get("document"))
    ordered = sorted(datasets, key=lambda one: f'"table": "{one.name}"' in text)  # what comes last counts
    return {name: keys for one in ordered for name, keys in one.public_keys.items()}


def _keys(given: str | Mapping[str, Any] | None, groups: Iterable[str]) -> Unknown | Mapping[str, Any] | None:
    """Keys as `group_by` takes them; what is to be found is found for all groups together."""
    if not given or isinstance(given, str):
        return Unknown(given) if given else None
    word = next(iter(given.values()))
    if not isinstance(word, str):
        return given
    if set(given) != set(groups):
        raise InvalidParameter(expected(ALL_TOGETHER, "keys", ", ".join(sorted(given)), ALL_UNKNOWN))
    return Unknown(word)


def _worth(charge: Charge) -> Fraction:
    """The epsilon of a charge; of one with rho alone, the epsilon whose pure release costs as much."""
    if charge.guarantee.epsilon < UNBOUNDED:
        return charge.guarantee.epsilon
    return root_above(2 * charge.cost.rho)


def _totals(facts: Mapping[str, Any]) -> int:
    return sum(int(total.get("components", 1)) for total in facts.get("totals", ()) if isinstance(total, Mapping))


def _cells(facts: Mapping[str, Any]) -> int:
    """The groups that are known, those of all parts of a batch together."""
    groups = facts.get("groups", "")
    parts = groups.values() if isinstance(groups, Mapping) else [groups]
    firsts = [str(part).split(" ", 1)[0].replace(",", "") for part in parts]
    return sum(int(first) if first.isdecimal() else 1 for first in firsts)
