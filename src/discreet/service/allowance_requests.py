"""Requests for more budget, their decisions, and the record of who changed which policy."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from discreet.errors import InvalidParameter, expected
from discreet.service.service_errors import DECIDED, TOO_MANY_JOBS, Conflict, OverLimit
from discreet.service.state_store import Execute, StateStore
from discreet.service.tokens import new_id

OPEN, APPROVING, APPROVED, DECLINED = "open", "approving", "approved", "declined"
LONGEST = 1000
REQUEST_FIELDS = ("id", "principal", "dataset", "amount", "reason", "made", "state", "decided_by", "decided", "answer")
CHANGE_FIELDS = ("number", "made", "principal", "dataset", "what", "detail")


@dataclass(frozen=True, kw_only=True, slots=True)
class AllowanceRequest:
    """One analyst's request for more."""

    id: str
    principal: str
    dataset: str
    amount: dict[str, str]
    """By how much: epsilon, delta or rho."""
    reason: str
    made: float
    state: str = OPEN
    decided_by: str | None = None
    decided: float | None = None
    answer: str | None = None


def checked_line(name: str, given: object, *, empty: bool = False) -> str:
    """A text that people write, of moderate length, in one line."""
    if isinstance(given, str) and len(given) <= LONGEST:
        line = " ".join(given.split())
        if line.isprintable() and (empty or line):
            return line
    what = f"text of {'0' if empty else '1'} to {LONGEST} characters"
    shown = given[:80] if isinstance(given, str) else type(given).__name__
    raise InvalidParameter(expected(what, name, shown, "write a sentence."))


class RequestBook:
    """The requests of a store, and the changes."""

    def __init__(self, store: StateStore, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock

    def make(
        self, principal: str, dataset: str, amount: Mapping[str, str], reason: str, *, most: int
    ) -> AllowanceRequest:
        """Records a request.

        Raises:
            OverLimit: so many of its principal are open.
        """
        request = AllowanceRequest(
            id=new_id(), principal=principal, dataset=dataset, amount=dict(amount), reason=reason, made=self._clock()
        )
        sql = "INSERT INTO request (id, principal, dataset, amount, reason, made, state) VALUES (?, ?, ?, ?, ?, ?, ?)"
        values = (request.id, principal, dataset, json.dumps(request.amount), reason, request.made, OPEN)
        open_ones = "SELECT COUNT(*) FROM request WHERE principal = ? AND state = ?"

        def work(execute: Execute) -> None:
            if execute(open_ones, principal, OPEN)[0][0] >= most:
                raise OverLimit(TOO_MANY_JOBS)
            execute(sql, *values)

        self._store.write(work)
        return request

    def find(self, request: str) -> AllowanceRequest | None:
        """The request of this id."""
        return next(iter(self._many("id = ?", request)), None)

    def of(self, dataset: str, principal: str | None = None) -> list[AllowanceRequest]:
        """The latest requests about a data set: everybody's, or one principal's."""
        where = "dataset = ?" if principal is None else "dataset = ? AND principal = ?"
        values = (dataset,) if principal is None else (dataset, principal)
        return self._many(f"{where} ORDER BY made DESC, id LIMIT 500", *values)

    def decide(self, request: str, *, by: str, approve: bool, answer: str) -> AllowanceRequest:
        """Decides an open request, once; one that is approved is `APPROVING` until `raised` says that it is raised.

        Raises:
            Conflict: it is decided.
        """
        sql = (
            "UPDATE request SET state = ?, decided_by = ?, decided = ?, answer = ? "
            "WHERE id = ? AND state = ? RETURNING id"
        )
        values = (APPROVING if approve else DECLINED, by, self._clock(), answer, request, OPEN)
        if not self._store.write(lambda execute: execute(sql, *values)):
            raise Conflict(DECIDED)
        (found,) = self._many("id = ?", request)
        return found

    def raised(self, request: AllowanceRequest) -> AllowanceRequest:
        """Records, once, that the allowance was raised as it was requested, with the change."""
        sql = "UPDATE request SET state = ? WHERE id = ? AND state = ? RETURNING id"
        detail = {"analyst": request.principal, "by": request.amount, "request": request.id}
        noted = self._noted(str(request.decided_by), request.dataset, "request approved", detail)

        def work(execute: Execute) -> None:
            if execute(sql, APPROVED, request.id, APPROVING):
                noted(execute)

        self._store.write(work)
        (found,) = self._many("id = ?", request.id)
        return found

    def reopen(self, request: str) -> None:
        """Takes an approval back whose raise the ledger refuses for ever."""
        sql = (
            "UPDATE request SET state = ?, decided_by = NULL, decided = NULL, answer = NULL WHERE id = ? AND state = ?"
        )
        self._store.write(lambda execute: execute(sql, OPEN, request, APPROVING))

    def approving(self) -> list[AllowanceRequest]:
        """The requests that are approved, and of which nobody has recorded that the allowance was raised."""
        return self._many("state = ? ORDER BY decided, id", APPROVING)

    def note(self, by: str, dataset: str | None, what: str, detail: Mapping[str, Any]) -> None:
        """Records who changed a policy, and when."""
        self._store.write(self._noted(by, dataset, what, detail))

    def _noted(self, by: str, dataset: str | None, what: str, detail: Mapping[str, Any]) -> Callable[[Execute], None]:
        values = (self._clock(), by, dataset, what, json.dumps(detail, sort_keys=True))

        def work(execute: Execute) -> None:
            execute("INSERT INTO change (made, principal, dataset, what, detail) VALUES (?, ?, ?, ?, ?)", *values)

        return work

    def changes(self, dataset: str) -> list[dict[str, Any]]:
        """The latest changes of a data set's policies."""
        names = ", ".join(CHANGE_FIELDS)
        sql = f"SELECT {names} FROM change WHERE dataset = ? ORDER BY number DESC LIMIT 500"  # noqa: S608 (own names)
        found = [dict(zip(CHANGE_FIELDS, row, strict=True)) for row in self._store.read(sql, dataset)]
        return [{**one, "detail": json.loads(one["detail"])} for one in found]

    def _many(self, where: str, *values: Any) -> list[AllowanceRequest]:
        names = ", ".join(REQUEST_FIELDS)
        rows = self._store.read(f"SELECT {names} FROM request WHERE {where}", *values)  # noqa: S608 (own words)
        found = (dict(zip(REQUEST_FIELDS, row, strict=True)) for row in rows)
        return [AllowanceRequest(**{**one, "amount": json.loads(one["amount"])}) for one in found]
