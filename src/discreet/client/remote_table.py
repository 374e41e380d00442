"""A protected table that is elsewhere: the verbs are checked and priced here, and released there.

Claim
    (a) A question is charged for the plan that was shown here, or refused before a charge. (b) An answer is made of
    totals whose receipt states the very plan by which they are read: the same charge, limits, groups, noise and scales.
Requires
    A service that is what it says it is, which TLS sees to.
Relies on
    `query.explain`, which says all of a plan that its totals are read by. `service.service`: what names a plan is not
    charged for another one.
Proof
    The question is planned from the public declaration, by the code that plans it there. (a) What is sent names that
    plan by the digest of its account. (b) What the answer's receipt states is compared with what this plan states, name
    by name, before the totals are read by it; where a first look found something, with the plan that it completes.
    Which ask an answer is to is sent beside it, and compared: its receipt may word an equal question otherwise, as
    whoever asked it first wrote it.
Rounding
    None.
Source
    None.
Mutant
    receipts-unread: the plan of the answer is not compared with the own one; killed by
    test_an_answer_to_another_plan_is_refused.
    answers-of-others-read: an answer to another ask is not told from one to this; killed by
    test_the_answer_to_another_question_is_refused.
    receipts-of-parts-unread: that of a question beside listed tables is not compared; killed by
    test_an_answer_to_another_mixed_batch_is_not_read.
    receipts-of-ranges-unread: that of ranges in a batch is not compared; killed by
    test_an_answer_to_other_ranges_is_not_read.
    receipts-of-choices-unread: the mechanism of a choice is not compared with the own one; killed by
    test_an_answer_to_another_plan_is_not_read.
    plans-unnamed: what is sent does not name the plan; killed by
    test_a_table_that_is_declared_anew_is_refused_before_a_charge.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn, TypeVar

import pyarrow as pa
from numpy.typing import NDArray

from discreet.answers.batch_release import BatchRelease
from discreet.answers.release import Release
from discreet.answers.stored_answers import (
    completed_batch,
    completed_plan,
    completed_release,
    table_of,
    unpacked,
    unpacked_parts,
)
from discreet.client.remote_declaration import declared, with_long_lists
from discreet.client.service_bodies import ANSWER, answer_to, list_of_objects, mapping, reading
from discreet.client.service_connection import ServiceConnection
from discreet.errors import DiscreetError, InvalidQuery, expected
from discreet.exact.amounts import fraction
from discreet.planning.batch_planner import BatchPlan, BatchTable
from discreet.planning.mixed_batch_plan import MixedBatchPlan
from discreet.planning.open_question_plan import OpenQuestionPlan
from discreet.planning.plan import Plan
from discreet.planning.table_names import Name, label, table_named
from discreet.query.accuracy_rounds import Rounds
from discreet.query.explain import explain
from discreet.query.explain_batch import explain_batch
from discreet.query.explain_first_looks import first_look_facts
from discreet.query.explain_mixed_batch import explain_mixed_batch
from discreet.query.explanation import Explanation, plan_digest
from discreet.query.source import Beside, ReleaseCall

CONFIDENCE = 0.95
"""Of what a receipt states."""
COMPARED = (
    *("neighbors", "unit", "via", "groups", "limits", "charge", "tables", "parts", "strategy", "columns", "totals"),
    "places",
)
"""What a receipt states of the plan by which totals are read."""
Answer = TypeVar("Answer")

ONE_CHARGE = "one charge, which is known before it is sent"


@dataclass(frozen=True)
class RemoteBudget:
    """The allowances that releases of a data set have to fit into, as the service keeps them."""

    connection: ServiceConnection
    dataset: str

    @property
    def levels(self) -> list[dict[str, Any]]:
        """All of them now, the outermost first, with what is spent and left where the policy shows it."""
        sent = self.connection.get(f"/datasets/{self.dataset}/budget")
        with reading("the levels of a budget"):
            found = [dict(one) for one in list_of_objects("levels of a budget", sent)]
            found[-1]["spent"], found[-1]["remaining"]
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
        self.declaration, self.schema = declared(with_long_lists(connection, facts))
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

    def release(
        self, plan: Plan | OpenQuestionPlan | Rounds, *, fresh: bool, confidence: float, call: ReleaseCall | None = None
    ) -> Release:
        """The answer to a plan, charged by the service before a row is read there.

        Raises:
            InvalidQuery: it takes several charges, or a report; nothing was sent.
            ServiceRefused: the plan is another one there by now; nothing was charged.
        """
        if isinstance(plan, Rounds):
            cure = "give epsilon, or within without up_to and relative; rounds are for a table in one's own process."
            raise InvalidQuery(expected(ONE_CHARGE, "release", "rounds", cure))
        if isinstance(plan, OpenQuestionPlan):
            if plan.unspecified.narrower:
                cure = "leave bounds= out, or write .clip(low, high); a service finds those alone that nobody stated."
                raise InvalidQuery(expected("a release with the stated bounds", "bounds", "auto", cure))
            if plan.reports:
                cure = "leave report= out; a service gives what was asked, and its receipt."
                raise InvalidQuery(expected("a release without a report", "report", "one", cure))
            account = Explanation({**_account(plan.placeholder_plan).facts, **first_look_facts(plan)})
            stored = self._stored(account, call, confidence, fresh=fresh)
            with reading(ANSWER):
                answer, completed = completed_release(plan, stored, confidence), completed_plan(plan, stored)
                checked_receipt(answer.receipt)
            check_plan(completed, answer.receipt)
            return answer
        stored = self._stored(_account(plan), call, confidence, fresh=fresh)
        with reading(ANSWER):
            totals, receipt = unpacked(stored)
            checked_totals(plan, totals)
            checked_receipt(receipt)
        check_plan(plan, receipt)
        with reading(ANSWER):
            return Release(plan, totals, receipt, confidence)

    def release_batch(
        self, plan: BatchPlan | MixedBatchPlan, *, fresh: bool, confidence: float, call: ReleaseCall | None = None
    ) -> BatchRelease:
        """The same for several tables at once."""
        if (
            call is not None
            and call.price.get("within") is not None  # with a stated price it changes nothing
            and call.price.get("assume")
            and any(not c.linear for own in plan.tables for c in own.columns)
        ):
            cure = "give epsilon, as .explain(within=..., assume=...) shows it, and weights."
            raise InvalidQuery(expected("errors that nothing is assumed for", "assume", call.price["assume"], cure))
        if isinstance(plan, MixedBatchPlan):
            return self._release_mixed(plan, call, confidence, fresh=fresh)
        account = _batch_account(plan)
        named = None if call is None else _by_labels(call, plan.query.names, plan.query.tables)
        stored = self._stored(account, named, confidence, fresh=fresh)
        with reading(ANSWER):
            noisy, receipt = unpacked(stored)
            checked_receipt(receipt)
        check_receipt(account, receipt)
        with reading(ANSWER):
            return BatchRelease(plan, noisy, receipt, confidence)

    def _release_mixed(
        self, plan: MixedBatchPlan, call: ReleaseCall | None, confidence: float, *, fresh: bool
    ) -> BatchRelease:
        """The same beside ranges, and where keys, limits or bounds of some tables are found first."""
        account = explain_mixed_batch(plan, "", confidence=CONFIDENCE, assume=None)
        listed = () if plan.listed is None else plan.listed.query.tables
        named = None if call is None else _by_labels(call, plan.names, listed)
        stored = self._stored(account, named, confidence, fresh=fresh)
        with reading(ANSWER):
            receipt, own, found = unpacked_parts(stored)
            texts = {name: found[name] if name is not None else own or b"" for name in plan.planned}
            told_of = {name: checked_receipt(unpacked(text)[1]) for name, text in texts.items()}
            parts = [(completed_plan(part, found[name]), unpacked(found[name])[1]) for name, part in plan.open.items()]
            for one in (receipt, *(told for _, told in parts)):
                checked_receipt(one)
        check_receipt(account, receipt)
        for name, part in plan.planned.items():
            check_receipt(_batch_account(part), told_of[name])
        for completed, told_of_part in parts:
            check_plan(completed, told_of_part)
        with reading(ANSWER):
            return completed_batch(plan, stored, confidence)

    def _stored(self, account: Mapping[str, Any], call: ReleaseCall | None, confidence: float, *, fresh: bool) -> bytes:
        """What the service stores as the answer to a call, whose plan has this account."""
        if call is None:
            self._not_here("a question made by its verbs")
        ask: dict[str, Any] = {
            "question": {"document": call.document()},
            "price": _price(call.price, confidence),
            "fresh": fresh,
            "plan": plan_digest(account),
        }
        if call.weights:
            ask["weights"] = {name: _amount("weights", weight) for name, weight in call.weights.items()}
        return answer_to(ask, self.connection.answer(ask))

    def read(self, asked: Any, *, fresh: bool, call: ReleaseCall | None = None) -> tuple[pa.Table, dict[str, Any]]:
        """The answer to a choice or a number of values, whose receipt states the very mechanism that was planned here.

        Raises:
            InvalidQuery: it is none that a service sends, such as a log of users; nothing was sent.
        """
        if call is None or call.account is None:
            self._not_here("a question whose answer a service sends")
        stored = self._stored(call.account(), call, CONFIDENCE, fresh=fresh)
        with reading(ANSWER):
            shown, receipt = table_of(stored)
            checked_receipt(receipt)
        _compare(json.loads(json.dumps(dict(asked.facts))), receipt)
        with reading(ANSWER):
            asked.check_shown(shown)
        return shown, receipt

    def fetched(
        self,
        call: ReleaseCall,
        read: Callable[[bytes], Answer],
        *,
        fresh: bool,
        compared: Sequence[str] = (),
        confidence: float = CONFIDENCE,
    ) -> Answer:
        """The answer to a call of a verb of its own, whose receipt states the plan that was made here.

        Args:
            call: the document, the price, and the account.
            read: makes the answer of what is stored.
            fresh: whether to draw anew, and pay anew.
            compared: what the receipt repeats of the account; all of a plan, where nothing is said.
            confidence: of intervals, where they are wanted within something.
        """
        account: Mapping[str, Any] = call.account() if call.account is not None else {}
        stored = self._stored(account, call, confidence, fresh=fresh)
        with reading(ANSWER):
            receipt = checked_receipt(json.loads(stored)["receipt"])
        check_receipt({name: account[name] for name in compared or COMPARED if name in account}, receipt)
        with reading(ANSWER):
            return read(stored)

    @property
    def desk(self) -> NoReturn:
        """Refused: a service sends no synthetic data."""
        self._not_here("a question whose answer a service sends")

    def write(self, plan: Any, to: object, **_: Any) -> NoReturn:
        """Refused: an answer is fetched, and then written."""
        del plan, to
        self._not_here("an answer that is held; .to_parquet(path) of it writes it")

    def parts(self, number: int, most: int) -> NoReturn:
        """Refused: the charge of parts is shared within one process."""
        del number, most
        self._not_here("a question about the whole table")

    def restated(self, **facts: Any) -> RemoteSource:
        """The same table, of whose rows after a verb other limits hold, or more of them are one unit's."""
        made = copy.copy(self)
        made.declaration = replace(self.declaration, **facts)
        return made

    def rowwise(self, rows_changed: int) -> NoReturn:
        """Refused, as in `beside`."""
        del rows_changed
        self._not_here("one data set")

    def with_budget(self, budget: Any) -> NoReturn:
        """Refused: a token says whose budget is charged."""
        del budget
        self._not_here("the budget of one's token")

    def _not_here(self, what: str) -> NoReturn:
        cure = "ask the service for less at a time, or ask its curator."
        raise InvalidQuery(expected(what, "table", f"{self.declaration.name}, of a service", cure))


def _price(stated: Mapping[str, Any], confidence: float) -> dict[str, Any]:
    """The price of a call, as it is sent."""
    within = stated.get("within")
    if within is not None:
        targets = {name: _amount("within", target) for name, target in within.items()}
        price: dict[str, Any] = {"within": targets, "confidence": _amount("confidence", confidence)}
    else:
        price = {name: _amount(name, stated[name]) for name in ("epsilon", "rho") if stated.get(name) is not None}
    if stated.get("delta") is not None and fraction("delta", stated["delta"]):
        price["delta"] = _amount("delta", stated["delta"])
    if stated.get("first_look") is not None:
        price["first_look"] = _amount("first_look", stated["first_look"])
    return price


def _by_labels(call: ReleaseCall, names: Sequence[Name], tables: Sequence[BatchTable]) -> ReleaseCall:
    """The call with tables of a batch under the names by which they are sent, and one wanted error for each."""

    def named(stated: Mapping[Any, Any] | None) -> dict[str, Any] | None:
        return None if stated is None else {_label(name, names): one for name, one in stated.items()}

    within = named(call.price.get("within"))
    columns = {label(table.name): [a.name for a in table.query.aggregates] for table in tables}
    for name, target in (within or {}).items():
        if isinstance(target, Mapping) and len({str(target.get(column)) for column in columns[name]}) > 1:
            cure = "state one error for all columns of a table, or give epsilon and weights."
            raise InvalidQuery(expected("one error for each table", "within", name, cure))
    flat = within and {n: next(iter(one.values())) if isinstance(one, Mapping) else one for n, one in within.items()}
    return replace(call, price={**call.price, "within": flat}, weights=named(call.weights))


def _label(name: Any, names: Sequence[Name]) -> str:
    found = table_named(name, names)
    return str(name) if found is None else label(found)


def _amount(name: str, value: object) -> str:
    return str(fraction(name, value))


def _account(plan: Plan) -> Explanation:
    return explain(plan, "", confidence=CONFIDENCE, assume=None)


def _batch_account(plan: BatchPlan) -> Explanation:
    return explain_batch(replace(plan, runners_up=()), "", confidence=CONFIDENCE, assume=None)


def checked_receipt(receipt: Any) -> Mapping[str, Any]:
    """A receipt that says what every receipt begins with."""
    return mapping("a receipt", receipt, release=str, time=str, private=bool, question=str)


def checked_totals(plan: Plan, totals: Sequence[NDArray[Any]]) -> None:
    """Refuses totals of other groups, or of another number, than a plan has."""
    wanted = [(plan.query.cells, priced.block.components) for priced in plan.blocks]
    if len(totals) != len(plan.blocks) + len(plan.ranks) + len(plan.values):
        raise ValueError(len(totals))
    for part, shape in zip(totals, wanted, strict=False):
        part.reshape(shape)
        if len(part) != shape[0]:
            raise ValueError(part.shape)


def check_plan(plan: Plan, receipt: Mapping[str, Any]) -> None:
    """Refuses an answer whose receipt states another plan than the one that was shown."""
    check_receipt(_account(plan), receipt)


def check_receipt(account: Mapping[str, Any], receipt: Mapping[str, Any]) -> None:
    """Refuses an answer whose receipt states another plan than this account is of."""
    _compare(json.loads(json.dumps({name: account[name] for name in COMPARED if name in account})), receipt)


def _compare(mine: Mapping[str, Any], receipt: Mapping[str, Any]) -> None:
    """Refuses a receipt that states something else than this."""
    for name, fact in mine.items():
        if receipt.get(name) != fact:
            raise DiscreetError(
                f"Expected an answer to the plan that was shown, got another {name}.\n"
                "Hint: the declaration was changed meanwhile, or the service is another version: connect again; the "
                "answer is stored there."
            )
