"""Questions of one principal to the service: what they would cost, and their answers at their public moments.

Claim
    The same statement at the same price is charged once to a principal, however often and from whichever session it is
    sent; describing and explaining charge nothing.
Requires
    The service gives one job to one idempotency key and ask, and an answer to nobody before its public moment.
Relies on
    `service.jobs.JobBook.accept`; `service.answer_timing`.
Proof
    The key is a digest of the ask, price included, and of the declarations and policies of the data sets, which state
    the price of an ask without one. So a repeated statement is the job of before, whose answer is public; where a data
    set was declared anew, it is a new job, whose release is looked for on record. One that failed has
    no answer: it is asked as a new job, whose release is looked for on record first. `explained` calls `explain` alone.
    Whoever asks has the rights of that moment: the token is looked up again for each question, and before its answer,
    which may come ten minutes later.
Rounding
    What remains rounds down, in `service.ledger_views`.
Source
    IETF draft, "The Idempotency-Key HTTP header field" (2025), for retries; here for dashboards that refresh.
Mutant
    prices-share-an-answer: the key leaves the price out; killed by test_another_price_is_another_answer.
    usual-prices-share-an-answer: the key leaves out the price of what has none; killed by
    test_another_usual_price_is_another_answer.
    connections-outlive-tokens: the token is looked up at the sign-in alone; killed by
    test_a_token_that_has_ended_asks_nothing_more.
    answers-outlive-tokens: it is not looked up again before an answer; killed by
    test_a_token_that_ends_while_an_answer_is_awaited_gets_none.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from discreet.pgwire.declared_tables import DeclaredColumn, DeclaredTable, keys_of, named_oid
from discreet.pgwire.question_texts import Shown
from discreet.pgwire.session_settings import SessionSettings, amounts
from discreet.pgwire.sqlstates import LATE, Refused
from discreet.pgwire.statement_results import StatementResult
from discreet.pgwire.thread_shares import ThreadShare
from discreet.pgwire.type_codes import FLOAT8, INT8, REAL, WHOLE, BadValue, ColumnType, oid_of
from discreet.pgwire.value_forms import parameter

ENDS = ("_low", "_high")
PATIENCE = 600.0
"""Seconds after which an answer that is not there is given up, where the client sets no statement_timeout."""
CHANGING = ("allowance", "description")
"""Of what is public of a data set, what no answer depends on. The policy has the price of what has none."""
RECENT = 5.0
GIVEN = TypeVar("GIVEN")
Items = Callable[[Sequence[str]], list[Shown]]
"""The selected items of a statement, by the names of the columns that its answer has."""


class Asked(Protocol):
    """What is asked of the service; `discreet.service.service.Service` has it."""

    def authenticate(self, token: object) -> Any:
        """Who this token belongs to."""

    def datasets(self, principal: Any) -> list[dict[str, Any]]:
        """The data sets of a principal."""

    def dataset(self, principal: Any, name: str) -> dict[str, Any]:
        """A declaration."""

    def explain(self, principal: Any, ask: object) -> dict[str, Any]:
        """What a release would be and cost."""

    def submit(self, principal: Any, ask: object, idempotency_key: str | None = None) -> Any:
        """Accepts an ask as a job."""

    def job(self, principal: Any, identity: str) -> Any:
        """What is shown of a job now."""

    def answer(self, principal: Any, identity: str) -> Any:
        """The answer of a job that is ready."""

    def budget(self, principal: Any, dataset: str) -> list[dict[str, Any]]:
        """Allowances, the outermost first."""


class ServedQuestions:
    """What one principal asks; the work is done by the principal's own share of threads."""

    def __init__(self, service: Asked, principal: Any, token: str, share: ThreadShare) -> None:
        self._service = service
        self._principal = principal
        self._token = token
        self._share = share
        self.tables: dict[str, DeclaredTable] = {}
        self._declared: dict[str, dict[str, Any]] = {}
        self._left: dict[str, tuple[float, str]] = {}

    async def open(self) -> None:
        """Finds the declarations of the principal's data sets."""
        for one in await self._call(self._service.datasets, self._principal):
            facts = await self._call(self._service.dataset, self._principal, one["name"])
            self.tables[one["name"]] = declared_table(facts)
            self._declared[one["name"]] = {name: value for name, value in facts.items() if name not in CHANGING}

    async def _call(self, work: Callable[..., GIVEN], *arguments: Any, **named: Any) -> GIVEN:
        return await self._share.run(work, *arguments, **named)

    def ask(self, sql: str, settings: SessionSettings) -> dict[str, Any]:
        """A statement with the price that the session has set, in the words of the service."""
        asked: dict[str, Any] = {"question": {"sql": sql, "dialect": "postgres"}}
        price = settings.price(None)
        if price is not None:
            asked["price"] = price
        if weights := settings.get("discreet.weights"):
            asked["weights"] = amounts(weights)
        if settings.get("discreet.fresh") == "on":
            asked["fresh"] = True
        return asked

    def _admitted(self) -> Any:
        """Who asks, with the roles of now; refused once the token has ended, as a new connection would be."""
        self._principal = self._service.authenticate(self._token)
        return self._principal

    async def explained(self, sql: str, settings: SessionSettings) -> dict[str, Any]:
        """What a release would be and cost; free."""
        asked = self.ask(sql, settings)
        asked.pop("fresh", None)
        return await self._call(lambda: self._service.explain(self._admitted(), asked))

    async def released(self, sql: str, settings: SessionSettings, items: Items) -> StatementResult:
        """The answer at its public moment, with the charge as a notice.

        Raises:
            Refused: it is late beyond the patience of the session; it stays charged, and costs nothing again.
        """
        asked = self.ask(sql, settings)
        began, end = time.time(), time.monotonic() + patience(settings)
        job = await self._call(self._submitted, asked)
        job = await self._ended(job, end)
        table, note = await self._call(self._taken, job, is_new=job.accepted_at >= began)
        shown = items(selectable(table.column_names))
        names, labels = displayed(shown, table.column_names, intervals=settings.get("discreet.intervals") == "on")
        chosen = table.select(names)
        columns = [numbered(label, oid_of(kind)) for label, kind in zip(labels, chosen.schema.types, strict=True)]
        rows = list(zip(*(column.to_pylist() for column in chosen.columns), strict=True))
        return StatementResult.of(columns, rows, notices=[note])

    def _submitted(self, asked: Mapping[str, Any]) -> Any:
        """The job of an ask: the one of before, where this principal asked the same."""
        self._admitted()
        if asked.get("fresh"):
            return self._service.submit(self._principal, asked)
        written = json.dumps([asked, self._declared], sort_keys=True, separators=(",", ":"), default=str)
        key = "pg-" + hashlib.sha256(written.encode()).hexdigest()
        job = self._service.submit(self._principal, asked, idempotency_key=key)
        return self._service.submit(self._principal, asked) if job.state == "failed" else job

    async def _ended(self, job: Any, end: float) -> Any:
        """The job once it is ready or failed; `end` is by the clock that nobody sets."""
        while job.state not in ("ready", "failed"):
            left = end - time.monotonic()
            if left <= 0:
                cure = "the charge stays; the same statement again costs nothing, and has the answer once it is there."
                raise Refused(LATE, "Expected an answer by its deadline, got none yet.", cure)
            await asyncio.sleep(max(0.001, min(job.ready_at - time.time(), left)))
            job = await self._call(self._service.job, self._principal, job.id)
        return job

    def _taken(self, job: Any, *, is_new: bool) -> tuple[Any, str]:
        """The answer of a job that has ended, and what it cost now; to whoever may still have it by then."""
        self._admitted()
        table = self._service.answer(self._principal, job.id).to_pyarrow()
        if job.paid and is_new:
            self._left.pop(job.dataset, None)
        left = self._remaining(job.dataset)
        if job.paid and is_new:
            spent = ", ".join(f"{name}={amount}" for name, amount in job.cost.items() if amount not in ("0", 0))
            return table, f"discreet: charged {spent}; {left}. The same statement again is free."
        return table, f"discreet: a stored answer, nothing was charged; {left}."

    def _remaining(self, dataset: str) -> str:
        """What remains, as it was at most `RECENT` seconds ago: the ledger is not read for each tile of a dashboard."""
        moment, left = self._left.get(dataset, (0.0, ""))
        if time.monotonic() - moment > RECENT or not left:
            left = remains(self._service.budget(self._principal, dataset))
            self._left[dataset] = time.monotonic(), left
        return left

    async def budget(self, dataset: str) -> list[dict[str, Any]]:
        """The allowances that one's releases have to fit into."""
        return await self._call(self._service.budget, self._principal, dataset)


def patience(settings: SessionSettings) -> float:
    """How many seconds a statement waits: statement_timeout, where it is set."""
    stated = settings.get("statement_timeout") or "0"
    digits = "".join(char for char in stated if char.isdigit()) or "0"
    unit = stated.strip("0123456789 ").lower()
    seconds = int(digits[:9]) * {"": 0.001, "ms": 0.001, "s": 1, "min": 60, "h": 3600}.get(unit, 0.001)
    return min(seconds, PATIENCE) if seconds else PATIENCE


def remains(levels: Sequence[Mapping[str, Any]]) -> str:
    """What is left of the allowances that are shown.

    >>> remains([{"level": "analyst", "name": "ann", "allowance": {"epsilon": "1"}, "remaining": {"epsilon": "0.9"}}])
    'epsilon=0.9 of 1 remains of analyst ann'
    """
    parts = []
    for one in levels:
        for name, amount in one.get("remaining", {}).items():
            whole = one["allowance"].get(name, "0")
            if whole not in ("0", 0):
                parts.append(f"{name}={amount} of {whole} remains of {one['level']} {one['name']}")
    return "; ".join(parts) or "what remains is not shown"


def displayed(shown: Sequence[Shown], names: Sequence[str], *, intervals: bool) -> tuple[list[str], list[str]]:
    """The columns of an answer in the order of the statement, and what they are called; with their ends, if wanted."""
    found = [(one.name, one.label) for one in shown]
    if intervals:
        ended = {name for name, _ in found if all(f"{name}{end}" in names for end in ENDS)}
        found = [
            pair
            for name, label in found
            for pair in [(name, label), *((f"{name}{end}", f"{label}{end}") for end in ENDS if name in ended)]
        ]
    return [name for name, _ in found], [label for _, label in found]


def described(explained: Mapping[str, Any], shown: Sequence[Shown], *, intervals: bool) -> list[ColumnType]:
    """The columns that an answer will have."""
    kinds = {one["name"]: one["type"] for one in explained["answer"]}
    names, labels = displayed(shown, list(kinds), intervals=intervals)
    return [numbered(label, named_oid(kinds[name])) for name, label in zip(names, labels, strict=True)]


def numbered(name: str, oid: int) -> ColumnType:
    """A column of an answer; numbers are of the widest type, since a constant may be wider than it is announced."""
    return ColumnType(name, INT8 if oid in WHOLE else FLOAT8 if oid in REAL else oid)


def selectable(names: Sequence[str]) -> list[str]:
    """The names of the columns that a statement can have selected: all but the ends of intervals."""
    own = set(names)
    return [name for name in names if not any(name.endswith(end) and name.removesuffix(end) in own for end in ENDS)]


def declared_table(facts: Mapping[str, Any]) -> DeclaredTable:
    """A table of the catalog, from the public declaration of a data set."""
    columns = []
    for one in facts["columns"]:
        oid = named_oid(one["type"])
        keys = keys_of(one)
        bounds = one.get("bounds")
        columns.append(
            DeclaredColumn(
                name=one["name"],
                oid=oid,
                description=one.get("description", "") or ("the privacy unit" if one.get("is_unit") else ""),
                keys=None if keys is None else [_typed(key, oid) for key in keys],
                bounds=None if bounds is None else (_typed(bounds[0], oid), _typed(bounds[1], oid)),
            )
        )
    return DeclaredTable(name=facts["name"], columns=tuple(columns), description=facts.get("description", ""))


def _typed(value: Any, oid: int) -> Any:
    """A declared key or bound as a value of its column's type."""
    if not isinstance(value, str):
        return value
    try:
        return parameter(value.encode(), oid, 0)
    except BadValue:
        return value
