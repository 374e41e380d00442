"""A protected table that is elsewhere: the verbs are checked and priced here, and released there.

Claim
    A `Release` of a remote question is made of totals whose receipt states the very plan by which they are read: the
    same charge, limits, groups, noise and scales.
Requires
    A service that is what it says it is, which TLS sees to.
Relies on
    `query.explain`, which says all of a plan that its totals are read by.
Proof
    The question is planned from the public declaration, by the code that plans it there. What the answer's receipt
    states is compared with what this plan states, name by name, before the totals are read by it.
Rounding
    None.
Source
    None.
Mutant
    receipts-unread: the plan of the answer is not compared with the own one; killed by
    test_an_answer_to_another_plan_is_refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import date, datetime
from fractions import Fraction
from importlib import import_module
from typing import Any, NoReturn

import ibis
import ibis.expr.schema as sch
import numpy as np

from discreet.answers.release import Release
from discreet.answers.run_post_processing import rehearse
from discreet.client.service_connection import ServiceConnection
from discreet.errors import DiscreetError, InvalidQuery, expected
from discreet.exact.amounts import fraction
from discreet.language.barrier import kind_of
from discreet.language.checked_expressions import Kind
from discreet.planning.aggregates import Aggregate
from discreet.planning.group_keys import Keys
from discreet.planning.plan import Plan, StatedLimits
from discreet.planning.planner import level
from discreet.planning.unspecified import AUTO, WIDEST
from discreet.privacy.declaration import Declaration
from discreet.privacy.definitions import Neighbors
from discreet.query.explain import explain
from discreet.query.question import Question
from discreet.query.recorded_verbs import RecordedQuestion
from discreet.query.source import Beside
from discreet.query.table import PrivateTable

COMPARED = ("neighbors", "unit", "groups", "limits", "charge", "columns", "totals")
"""What a receipt states of the plan by which totals are read."""
LIMITS = ("max_groups", "max_rows")


def declared(facts: Mapping[str, Any]) -> tuple[Declaration, sch.Schema]:
    """The declaration of a data set, as its service states it."""
    schema = ibis.schema({column["name"]: column["type"] for column in facts["columns"]})
    limits = {name: facts["limits"][name] for name in LIMITS}
    bounds: dict[str, Any] = {}
    keys: dict[str, Any] = {}
    for column in facts["columns"]:
        name, kind = column["name"], kind_of(schema[column["name"]])
        if column["bounds"] is not None:
            is_auto = column["bounds"] == AUTO
            bounds[name] = (-WIDEST, WIDEST) if is_auto else tuple(_value(kind, end) for end in column["bounds"])
        if column["keys"] is not None:
            keys[name] = tuple(_key(kind, key) for key in column["keys"])
    found = Declaration(
        name=facts["name"],
        version=facts["version"],
        unit=() if isinstance(facts["unit"], str) else tuple(facts["unit"]),
        neighbors=Neighbors(facts["neighbors"]),
        size=facts["size"],
        bounds=bounds,
        keys=keys,
        max_groups=1 if limits["max_groups"] == AUTO else limits["max_groups"],
        max_rows=1 if limits["max_rows"] == AUTO else limits["max_rows"],
        auto_limits=frozenset(name for name, limit in limits.items() if limit == AUTO),
        auto_bounds=frozenset(one["name"] for one in facts["columns"] if one["bounds"] == AUTO),
    )
    return found, schema


def _key(kind: Kind | None, key: Any) -> Any:
    return key if not isinstance(key, str) or kind not in (Kind.DATE, Kind.TIMESTAMP) else _value(kind, key)


def _value(kind: Kind | None, text: str) -> Any:
    if kind is Kind.DATE:
        return date.fromisoformat(text)
    return datetime.fromisoformat(text) if kind is Kind.TIMESTAMP else Fraction(text)


@dataclass(frozen=True)
class RemoteBudget:
    """The allowances that releases of a data set have to fit into, as the service keeps them."""

    connection: ServiceConnection
    dataset: str

    @property
    def levels(self) -> list[dict[str, Any]]:
        """All of them now, the outermost first, with what is spent and left where the policy shows it."""
        found: list[dict[str, Any]] = self.connection.get(f"/datasets/{self.dataset}/budget")
        return found

    @property
    def spent(self) -> dict[str, str] | None:
        """What is spent of the innermost one: one's own."""
        spent: dict[str, str] | None = self.levels[-1]["spent"]
        return spent

    @property
    def remaining(self) -> dict[str, str] | None:
        """What is left of the innermost one."""
        left: dict[str, str] | None = self.levels[-1]["remaining"]
        return left

    def __repr__(self) -> str:
        return f"<budget of {self.dataset!r}, kept by its service>"


class RemoteSource:
    """What the query layer needs to know of a table that is elsewhere: its public declaration."""

    def __init__(self, connection: ServiceConnection, facts: Mapping[str, Any]) -> None:
        self.connection = connection
        self.declaration, self.schema = declared(facts)
        self.budget = RemoteBudget(connection, self.declaration.name)

    def statement(self, plan: Any) -> str:
        """No SQL: the service has its own."""
        del plan
        return ""

    def beside(self, other: Any) -> Beside:
        """This table with itself; others are in other data sets."""
        if other is not self or not self.declaration.unit:
            cure = "ask about one data set at a time; a curator joins tables before they are served."
            raise InvalidQuery(expected("one data set", "other", "another", cure))
        return Beside(self, (0,))

    def release(self, plan: Any, **_: Any) -> NoReturn:
        """Refused: a question knows how it is sent."""
        del plan
        self._not_here("a question made by its verbs")

    def release_batch(self, plan: Any, **_: Any) -> NoReturn:
        """Refused: services answer one grouping at a time."""
        del plan
        self._not_here("one grouping at a time")

    def write(self, plan: Any, to: object, **_: Any) -> NoReturn:
        """Refused: an answer is fetched, and then written."""
        del plan, to
        self._not_here("an answer that is held; .to_parquet(path) of it writes it")

    def parts(self, number: int, most: int) -> NoReturn:
        """Refused: the charge of parts is shared within one process."""
        del number, most
        self._not_here("a question about the whole table")

    def rowwise(self, rows_changed: int) -> NoReturn:
        """Refused, as in `beside`."""
        del rows_changed
        self._not_here("one data set")

    def with_budget(self, budget: Any) -> NoReturn:
        """Refused: a token says whose budget is charged."""
        del budget
        self._not_here("the budget of one's token")

    def _not_here(self, what: str) -> NoReturn:
        cure = "ask the service for less at a time."
        raise InvalidQuery(expected(what, "table", f"{self.declaration.name}, of a service", cure))


@dataclass(frozen=True, eq=False, repr=False)
class RemoteTable(PrivateTable):
    """A protected table of a service, with the verbs of one that is here."""

    def _question(
        self, keys: Keys | None, limits: StatedLimits, aggregates: Iterable[Aggregate], asked: RecordedQuestion
    ) -> Question:
        made = super()._question(keys, limits, aggregates, asked)
        parts = {one.name: getattr(made, one.name) for one in fields(made)}
        return RemoteQuestion(**parts)


@dataclass(frozen=True, eq=False, repr=False)
class RemoteQuestion(Question):
    """A question to a service: `explain` prices it here and charges nothing; `release` sends it."""

    def release(  # type: ignore[override]  # a part of its options, and no file
        self,
        *,
        epsilon: object = None,
        delta: object = 0,
        rho: object = None,
        within: Mapping[str, object] | None = None,
        confidence: float = 0.95,
        weights: Mapping[str, object] | None = None,
        fresh: bool = False,
    ) -> Release:
        """The noisy answer, charged by the service before a row is read there; arguments as of ``Question.release``,
        without rounds, reports and files.

        Raises:
            BudgetExceeded: what remains does not hold it; nothing is spent.
            EngineError: something failed after the charge, which stays spent.
            ServiceRefused, ServiceUnreachable: the token or the connection.
        """
        wanted = level(confidence)
        self._check_steps()
        plan = self._priced((epsilon, delta, rho), within, wanted, weights, ())
        if not isinstance(plan, Plan):
            cure = "state keys, limits and bounds; or ask in SQL over HTTP, which finds unknown keys."
            raise InvalidQuery(expected("a question with nothing to find first", "question", "an open one", cure))
        price = {"epsilon": str(plan.charge.epsilon)} if rho is None else {"rho": str(fraction("rho", rho))}
        if rho is None and fraction("delta", delta):
            price["delta"] = str(fraction("delta", delta))
        document = self.document()
        document["question"].pop("after", None)  # the answer is processed here
        ask: dict[str, Any] = {"question": {"document": document}, "price": price, "fresh": fresh}
        if weights:
            ask["weights"] = {name: str(fraction("weights", weight)) for name, weight in weights.items()}
        source: Any = self._source
        answer = json.loads(source.connection.answer(ask)["answer"])
        check_plan(plan, answer["receipt"])
        totals = [np.array([list(map(int, row)) for row in block], dtype=object) for block in answer["totals"]]
        return self._finished(Release(plan, totals, answer["receipt"], wanted))

    def _check_steps(self) -> None:
        """Refuses steps that could not be taken, before anything is paid."""
        if self._expected is None:
            return
        try:
            import_module("duckdb")
        except ImportError:
            cure = "install duckdb, or take these steps with answer.to_pyarrow()."
            what = "DuckDB, by which steps after the noise are taken"
            raise InvalidQuery(expected(what, "duckdb", None, cure)) from None
        rehearse(self._expected)


def check_plan(plan: Plan, receipt: Mapping[str, Any]) -> None:
    """Refuses an answer whose receipt states another plan than the one that was shown."""
    mine = json.loads(json.dumps(dict(explain(plan, "", confidence=0.95, assume=None))))
    for name in COMPARED:
        if receipt.get(name) != mine[name]:
            raise DiscreetError(
                f"Expected an answer to the plan that was shown, got another {name}.\n"
                "Hint: the declaration was changed meanwhile, or the service is another version: connect again; the "
                "answer is stored there."
            )
