"""How an ask becomes a job: priced, compared with what is answered already, put on record, charged, and run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from discreet.errors import BudgetExceeded, DiscreetError, InvalidParameter, expected
from discreet.ledger.ledger import Charge
from discreet.service.asks import Ask
from discreet.service.data_sets import DataSet
from discreet.service.job_records import FREE, Job, JobRecord
from discreet.service.job_runner import BUDGET_FAILED, JobRunner
from discreet.service.jobs import JobBook
from discreet.service.question_desk import Asking, QuestionDesk, Repeated
from discreet.service.recorded_refusals import RefusalBook
from discreet.service.roles import Action, Principal
from discreet.service.service_errors import TOO_MANY_JOBS, OverLimit
from discreet.service.tokens import new_id

if TYPE_CHECKING:
    from discreet.service.service import Settings

_KEY = re.compile(r"[\x21-\x7e]{1,200}")


class JobSubmission:
    """The half of a service that accepts jobs."""

    settings: Settings
    _book: JobBook
    _desk: QuestionDesk
    _runner: JobRunner
    _clock: Callable[[], float]
    _datasets: dict[str, DataSet]
    _refusals: RefusalBook
    _asking: Callable[[Principal, Action, object], Asking]

    def submit(self, principal: Principal, ask: object, idempotency_key: str | None = None) -> Job:
        """Accepts an ask as a job that ends at public moments; the same key and ask give the same job.

        Raises:
            Conflict: the key stands for another ask, or the plan that it names is another one by now.
            BudgetExceeded: what remains does not hold the charge; nothing was charged.
            OverLimit: too many jobs of this principal have not ended.
        """
        with self._refusals.kept(principal, Action.RELEASE, self._known_to(principal), ask):
            return self._submitted(principal, ask, _idempotency(idempotency_key))

    def _known_to(self, principal: Principal) -> list[str]:
        """The data sets that somebody has a role for."""
        return [name for name, roles in principal.roles.items() if roles and name in self._datasets]

    def _submitted(self, principal: Principal, ask: object, key: str | None) -> Job:
        read = ask if isinstance(ask, Ask) else Ask.read(ask)
        if key is not None and (found := self._book.repeated(principal.name, key, read.digest)) is not None:
            return found.shown(self._clock())
        asking = self._asking(principal, Action.RELEASE, read)
        if self._book.busy(principal.name) >= self.settings.jobs_at_once:
            raise OverLimit(TOO_MANY_JOBS)
        self._desk.check_plan(asking)
        first = self._desk.explain(asking)["seconds"]
        priced = self._desk.price(asking)
        sharing = self._desk.sharing(asking)
        repeated = self._desk.repeated(asking, priced.key, sharing)
        refused = self._refusal(asking, priced) if repeated is None else None
        accepted = self._clock()
        record = JobRecord(
            id=new_id(),
            principal=principal.name,
            dataset=asking.dataset.name,
            idempotency=key,
            digest=read.digest,
            ask=asking.ask.text,
            what=priced.what,
            cost=json.dumps(priced.guarantee.amounts if repeated is None else FREE),
            release=priced.key,
            accepted=accepted,
            first=first,
            **_stage(repeated, accepted),
            ledger=asking.budget.ledger_identity,
            level=asking.budget.path,
        )
        answer = None if repeated is None else repeated.answer
        most = self.settings.jobs_at_once
        book = partial(self._book.accept, record, answer=answer, most=most, sharing=sharing, refused=refused)
        return self._accepted(asking, record, priced, book)

    def _refusal(self, asking: Asking, charge: Charge) -> DiscreetError | None:
        """Why it may not be charged, if so; perhaps by the charge for this very release, asked twice at once."""
        try:
            self._desk.check(asking, charge)
        except (BudgetExceeded, InvalidParameter) as refusal:
            return refusal
        return None

    def _accepted(
        self, asking: Asking, record: JobRecord, charge: Charge, book: Callable[[], tuple[JobRecord, bool]]
    ) -> Job:
        """Puts a job on record, charges it if it has to be, and has it run."""
        try:
            accepted, is_new = book()
        except BaseException:
            if record.stage == "charging":
                self._runner.add(record)  # which finds out whether it is on record to be charged, and ends it
            raise
        if is_new and accepted.stage == "charging":
            accepted = self._charged(asking, charge, accepted)
            self._runner.add(accepted)
        return accepted.shown(self._clock())

    def _charged(self, asking: Asking, charge: Charge, job: JobRecord) -> JobRecord:
        """Charges an accepted job: everything that is booked is booked now, and not when a look begins or ends."""
        try:
            entry = self._desk.charge(asking, charge)
        except BudgetExceeded:
            try:
                self._book.forget(job.id, BUDGET_FAILED)
            except Exception:  # noqa: BLE001 (what is raised is why it is forgotten)
                self._runner.add(job)  # it is on record still, and ends as failed
            raise
        except BaseException:
            self._runner.add(job)  # which finds out, and marks it
            raise
        with suppress(Exception):
            if self._book.charged(job.id, entry):
                return replace(job, stage="queued", entry=entry)
        return replace(job, entry=entry)  # the runner records it, once the store answers


def _stage(repeated: Repeated | None, accepted: float) -> dict[str, Any]:
    """Where a job begins: with its charge, behind its twin, or at its end."""
    if repeated is None:
        return {"stage": "charging"}
    if repeated.twin is not None:
        return {"stage": "repeating", "twin": repeated.twin}
    return {"stage": "ended", "done": accepted, "paid": 0}


def _idempotency(key: object) -> str | None:
    if key is None:
        return None
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        cure = "use 1 to 200 visible ASCII characters, such as a UUID."
        shown = key[:40] if isinstance(key, str) else type(key).__name__
        raise InvalidParameter(expected("an idempotency key", "Idempotency-Key", shown, cure))
    return key
