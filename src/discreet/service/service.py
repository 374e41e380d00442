"""The service: what each face asks, with a principal first; it decides by `roles`, and no face adds a rule."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from discreet.answers.release import Release
from discreet.query.public_keys import PublicKeys
from discreet.service.allowance_requests import AllowanceRequest, RequestBook, checked_line
from discreet.service.analyst_budgets import levels
from discreet.service.answer_timing import State
from discreet.service.asks import Ask
from discreet.service.auditor_verbs import Heads
from discreet.service.data_sets import ColumnKeys, DataSet, Seen
from discreet.service.explanations import Explanations
from discreet.service.job_records import Job, JobRecord
from discreet.service.job_runner import WORKERS, JobRunner, Outcome
from discreet.service.job_submission import JobSubmission
from discreet.service.jobs import JobBook
from discreet.service.ledger_views import entries_shown, levels_shown, statement_shown
from discreet.service.members import Members, TokenRecord
from discreet.service.operator_metrics import Metric, budget_metrics, late_jobs, series_metrics
from discreet.service.question_desk import Asking, QuestionDesk
from discreet.service.recorded_refusals import RefusalBook, on_record
from discreet.service.roles import Action, Principal, Role
from discreet.service.series_book import SeriesBook
from discreet.service.series_desk import SeriesDesk
from discreet.service.series_publisher import SeriesPublisher
from discreet.service.series_verbs import SeriesVerbs
from discreet.service.service_errors import NOT_YET, Late, forbidden, there
from discreet.service.state_store import StateStore
from discreet.service.tokens import new_id

_ID = re.compile(r"[0-9a-f]{32}")
MOST_LISTED = 500
POLICY = "policy"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Limits of the service; none of them is about privacy."""

    jobs_at_once: int = 8
    """Of one principal."""
    requests_open: int = 20
    workers: int = WORKERS
    clock: Callable[[], float] = field(default=time.time)


class Service(JobSubmission, SeriesVerbs):
    """Data sets, principals and jobs; thread-safe, and without any protocol."""

    def __init__(self, store: StateStore, datasets: Iterable[DataSet], settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self._store = store
        self._datasets = {one.name: one for one in datasets}
        self._clock = self.settings.clock
        self.members = Members(store, self._clock)
        self._book = JobBook(store, new_id(), self._clock)
        self._requests = RequestBook(store, self._clock)
        self._refusals = RefusalBook(store, self._clock)
        self._desk = QuestionDesk(self._book)
        self._explanations = Explanations()
        self._runner = JobRunner(
            self._book, run=self._run, resume=self._resume, workers=self.settings.workers, beat=self._beat
        )
        self._heads = Heads(self._datasets)
        self._series = SeriesDesk(self._datasets.values(), SeriesBook(store, self._clock), self._clock)
        self._publisher = SeriesPublisher(self._series.served)
        self._started = self._clock()
        for one in self._datasets.values():
            self._book.adopt(one.name, one.budget.ledger_identity, one.budget.path)
        self._runner.start()
        self._publisher.start()

    def close(self) -> None:
        """Ends after the jobs that are being run; what waits goes on with the next start."""
        self._publisher.stop()
        self._runner.stop()
        self._store.close()

    def authenticate(self, token: object) -> Principal:
        """Who this token, or the secret of a session, belongs to; or NotSignedIn."""
        return self.members.authenticate(token)

    def sign_in(self, token: object) -> str:
        """The secret of a session for whoever has a token, to be kept in a cookie; it ends with the token."""
        return self.members.sign_in(token)

    def sign_out(self, secret: object) -> None:
        """Ends a session."""
        self.members.sign_out(secret)

    # What is declared

    def datasets(self, principal: Principal) -> list[dict[str, Any]]:
        """The data sets that a principal has a role for."""
        names = [name for name in principal.datasets(Action.DESCRIBE) if name in self._datasets]
        return [
            {
                "name": name,
                "description": self._datasets[name].about,
                "roles": sorted(role.value for role in principal.roles[name]),
            }
            for name in names
        ]

    def dataset(self, principal: Principal, name: str) -> dict[str, Any]:
        """The public declaration of a data set, and the allowance of the whole."""
        found = self._data_set(principal, Action.DESCRIBE, name)
        return {**found.facts(), "allowance": found.budget.allowance.amounts}

    def keys(self, principal: Principal, name: str, column: str) -> ColumnKeys:
        """The declared keys of a column; Forbidden where there are none, or the policy shows none."""
        return there(self._data_set(principal, Action.DESCRIBE, name).shown_keys(column))

    def public_keys(self, principal: Principal, name: str, keys: str) -> PublicKeys:
        """The public tuples of a data set that have this name; Forbidden as above."""
        return there(self._data_set(principal, Action.DESCRIBE, name).shown_tuples(keys))

    # Asking

    def explain(self, principal: Principal, ask: object) -> dict[str, Any]:
        """What a release would be and cost, from public facts alone; never a charge."""
        asking = self._asking(principal, Action.EXPLAIN, ask)
        return {**self._desk.explain(asking), "most_cells": asking.dataset.most_cells}

    def explained(self, principal: Principal, sent: bytes) -> bytes | None:
        """What `explain_sent` told the same principal of the same bytes, where that is in memory; without any work."""
        return self._explanations.told(principal.name, self._open_to(principal, Action.EXPLAIN), sent)

    def explain_sent(self, principal: Principal, sent: bytes, ask: object) -> bytes:
        """What `explain` tells, as JSON, of an ask that was sent as these bytes."""
        told = json.dumps(self.explain(principal, ask), ensure_ascii=False, separators=(",", ":")).encode()
        return self._explanations.keep(principal.name, self._open_to(principal, Action.EXPLAIN), sent, told)

    def job(self, principal: Principal, identity: str) -> Job:
        """What is shown of an own job now."""
        return self._own(principal, identity).shown(self._clock())

    def answer(self, principal: Principal, identity: str) -> Release:
        """The answer of an own job, from its public moment on.

        Raises:
            Late: it is not ready.
            BudgetExceeded, EngineError: it failed; the text is the same for all failures of a kind.
            Conflict: the data set was declared anew since.
        """
        record = self._own(principal, identity)
        job = record.shown(self._clock())
        if job.state is State.FAILED:
            raise self._desk.failure(job.failure)
        if job.state is not State.READY:
            raise Late(NOT_YET)
        found: Release = self._desk.shown(self._asking_of(record), record)
        return found

    def stored_answer(self, principal: Principal, identity: str) -> dict[str, Any]:
        """The stored bytes of an answer, with the ask that they are the answer to: enough to make the release again."""
        self.answer(principal, identity)
        record = self._own(principal, identity)
        return self._desk.stored(self._asking_of(record), record.id)

    def questions(self, principal: Principal, dataset: str) -> list[dict[str, Any]]:
        """The latest jobs of a data set: one's own; everybody's for curators and auditors, or by policy."""
        found = self._data_set(principal, Action.DESCRIBE, dataset)
        every = principal.may(Action.ALL_QUESTIONS, dataset) or found.policy.questions is Seen.ALL
        if not every:
            self.check(principal, Action.OWN_QUESTIONS, dataset)
        records = self._book.of(dataset, None if every else principal.name, MOST_LISTED)
        now = self._clock()
        return [{"who": one.principal, "ask": one.ask, "job": one.shown(now)} for one in records]

    # Budgets, requests, changes

    def budget(self, principal: Principal, dataset: str) -> list[dict[str, Any]]:
        """The allowances that one's releases have to fit into, the outermost first, with what is spent and left."""
        found = self._data_set(principal, Action.BUDGET, dataset)
        own = levels(dataset, found.budget, principal.name, principal.groups.get(dataset))
        hidden = found.policy.spending is Seen.OWN and not principal.may(Action.ALL_QUESTIONS, dataset)
        return levels_shown(own, only_last=hidden)

    @on_record(Action.REQUEST)
    def request(
        self, principal: Principal, dataset: str, amount: Mapping[str, object], reason: str
    ) -> AllowanceRequest:
        """Asks the curator for so much more."""
        self._data_set(principal, Action.REQUEST, dataset)
        given, most = self._desk.amounts(amount), self.settings.requests_open
        return self._requests.make(principal.name, dataset, given, checked_line("reason", reason), most=most)

    def requests(self, principal: Principal, dataset: str) -> list[AllowanceRequest]:
        """One's own requests about a data set; everybody's for those who decide or audit."""
        self._data_set(principal, Action.DESCRIBE, dataset)
        every = principal.may(Action.DECIDE, dataset) or principal.may(Action.AUDIT, dataset)
        return self._requests.of(dataset, None if every else principal.name)

    def note_policy(self, dataset: str, by: str, policy: Mapping[str, Any]) -> None:
        """Records the policy of a data set, where it is not the one on record."""
        known = next((one for one in self._requests.changes(dataset) if one["what"] == POLICY), None)
        if known is None or known["detail"] != dict(policy):
            self._requests.note(by, dataset, POLICY, policy)

    def spending(self, principal: Principal, dataset: str) -> list[dict[str, Any]]:
        """How all allowances of a data set stand, by their paths, the whole first; for curators and auditors."""
        found = self._data_set(principal, Action.ALL_QUESTIONS, dataset)
        return [statement_shown(one) for one in found.budget.levels()]

    def changes(self, principal: Principal, dataset: str) -> list[dict[str, Any]]:
        """Who changed which policy of a data set, and when."""
        self._data_set(principal, Action.CHANGES, dataset)
        return self._requests.changes(dataset)

    def entries(self, principal: Principal, dataset: str, after: int = 0, most: int = 100) -> list[dict[str, Any]]:
        """The charges of a data set's ledger behind a number, oldest first; answered, once that is public."""
        found = self._data_set(principal, Action.AUDIT, dataset)
        entries = found.budget.entries(max(0, after), min(max(1, most), MOST_LISTED))
        hidden = self._book.hidden_entries(found.budget.ledger_identity, (entry.number for entry in entries))
        return entries_shown(entries, hidden)

    def tokens(self, principal: Principal) -> list[TokenRecord]:
        """The tokens that were issued, without the tokens themselves."""
        principal.check(Action.TOKENS)
        return self.members.tokens()

    def issue_token(self, principal: Principal, who: str, expires: float | None = None) -> tuple[str, TokenRecord]:
        """A new token for somebody, which is shown this once."""
        principal.check(Action.TOKENS)
        token, record = self.members.issue(who, expires=expires)
        self._requests.note(principal.name, None, "token issued", {"who": who, "id": record.id})
        return token, record

    def revoke_token(self, principal: Principal, identity: str) -> None:
        """Ends a token, by its id."""
        principal.check(Action.TOKENS)
        self.members.revoke(identity)
        self._requests.note(principal.name, None, "token revoked", {"id": identity})

    def health(self) -> dict[str, str]:
        """Whether the state store answers."""
        self._store.read("SELECT 1")
        return {"status": "ok"}

    def counts(self) -> dict[str, float]:
        """Counts for monitoring: of what was accepted. How long a queue is would tell when looks end."""
        ((accepted,),) = self._store.read("SELECT COUNT(*) FROM job")
        return {"jobs_accepted": float(accepted), "uptime_seconds": self._clock() - self._started}

    def metrics(self, principal: Principal) -> list[Metric]:
        """What an operator watches: budgets, and how many jobs were accepted, and late."""
        principal.check(Action.METRICS)
        counts = [
            Metric(name=f"discreet_{name}", about=name.replace("_", " "), value=value)
            for name, value in self.counts().items()
        ]
        late = late_jobs(self._store, self._clock())
        return [*counts, late, *budget_metrics(self._datasets.values()), *series_metrics(self._series)]

    # Within

    def _asking(self, principal: Principal, action: Action, ask: object) -> Asking:
        read = ask if isinstance(ask, Ask) else Ask.read(ask)
        return self._desk.asking(principal.name, principal.groups, self._open_to(principal, action), read)

    def _open_to(self, principal: Principal, action: Action) -> tuple[DataSet, ...]:
        """The data sets of which somebody may ask this."""
        return tuple(self._datasets[name] for name in principal.datasets(action) if name in self._datasets)

    def _own(self, principal: Principal, identity: str) -> JobRecord:
        record = self._book.find(identity) if isinstance(identity, str) and _ID.fullmatch(identity) else None
        if record is None or record.principal != principal.name or record.dataset not in self._datasets:
            raise forbidden()
        principal.check(Action.RELEASE, record.dataset)
        return record

    def _asking_of(self, record: JobRecord) -> Asking:
        groups = self.members.principal(record.principal).groups
        return self._desk.asking(record.principal, groups, [self._datasets[record.dataset]], Ask.stored(record.ask))

    def _beat(self) -> None:
        self._heads.read(self._clock())
        self.finish_approvals()

    def _run(self, record: JobRecord) -> Outcome:
        return self._desk.run(self._asking_of(record), record)

    def _resume(self, record: JobRecord) -> Outcome:
        return self._desk.resume(self._asking_of(record), record)


__all__ = ["Principal", "Role", "Service", "Settings"]
