"""A job: what is shown of it, and how it is stored."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import NamedTuple

from discreet.ledger.budget import Budget
from discreet.service.answer_timing import Schedule, State, schedule

FIELDS = (
    "id, principal, dataset, idempotency, digest, ask, what, cost, release, "
    "accepted, first, stage, done, failure, paid, entry, twin, ledger, level, start"
)
FREE = {"epsilon": "0", "delta": "0"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """What is shown of a job: nothing that depends on when it was done, but for the step."""

    id: str
    dataset: str
    what: str
    cost: dict[str, str]
    state: State
    accepted_at: float
    ready_at: float
    """When it may be ready, or was; seconds since 1970."""
    failure: str | None = None
    """What failed, of a job that is shown as failed: a kind of error."""
    paid: bool | None = None
    """Of a job that is ready: whether it was charged, or answered from the record."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JobRecord:
    """A job as it is stored."""

    id: str
    principal: str
    dataset: str
    idempotency: str | None
    digest: str
    ask: str
    what: str
    cost: str
    release: str
    accepted: float
    first: float
    stage: str = "queued"
    done: float | None = None
    failure: str | None = None
    paid: int | None = None
    entry: int | None = None
    twin: str | None = None
    ledger: str | None = None
    level: str | None = None
    start: float = 0.0

    @property
    def schedule(self) -> Schedule:
        """Its public moments: dense ones, where it waits for another."""
        return schedule(self.start, self.first, waits=self.twin is not None or self.start > self.accepted)

    def shown(self, now: float) -> Job:
        """What is shown of it now."""
        state, moment = self.schedule.view(self.done, now, failed=self.failure is not None)
        return Job(
            id=self.id,
            dataset=self.dataset,
            what=self.what,
            cost=json.loads(self.cost),
            state=state,
            accepted_at=self.accepted,
            ready_at=moment,
            failure=self.failure if state is State.FAILED else None,
            paid=bool(self.paid) if state is State.READY else None,
        )


class Sharing(NamedTuple):
    """Whose answers an ask may be given without a charge."""

    budget: Budget
    """Which finds them."""
    principal: str | None
    """Who asked for them, where nobody else's are given."""
    since: float
    """Before which what is on record was not looked up."""
