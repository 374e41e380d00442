"""What curators do: admit, give allowances, raise, freeze and close them, decide requests; each by an entry.

Claim
    A request that is approved raises its allowance once, and is then on record as approved, once, whichever process
    dies when, and however many go on with it: "approved" is never on record without the raise, nor the raise for long
    without it. One that is open, or was declined, has raised nothing.
Requires
    A store whose updates are atomic (`RequestBook`), and that a process of the service goes on at some time.
Relies on
    `ledger.budget_levels.raise_by`: of several raises under one name the first is made. `ledger`: it lasts.
Proof
    A request leaves "open" by one update, to "declined" or to "approving"; the raise follows that, and "approved", with
    the change that is shown, is written in one transaction after the raise, and from "approving" alone. So a process
    that dies leaves one of three: nothing was decided; it is "approving", with or without the raise; or all is done.
    Each start and each beat of any process does both steps again for all that is "approving", and by the name of the
    raise and "from approving alone" neither is done twice. It goes back to "open" only where no raise will ever be let
    in: where the level was seen to be closed, which nothing undoes, and then not raised; or where no allowance is so
    large.
Rounding
    None.
Source
    Gray and Reuter, "Transaction processing" (1993), 10: testable transactions.
Mutant
    approval-is-not-finished: what a dead process approved stays as it is; killed by
    test_an_approval_whose_raise_is_in_doubt_is_finished_later.
    approved-before-it-is-raised: an approval is on record before its raise; killed by
    test_a_kill_at_any_moment_of_an_approval_raises_once.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

from discreet.errors import DiscreetError, InvalidParameter, LedgerError, expected
from discreet.exact.written_amounts import written_amount
from discreet.ledger.budget import Budget
from discreet.service.allowance_requests import LONGEST, AllowanceRequest, RequestBook, checked_line
from discreet.service.analyst_budgets import ANALYST, DATA_SET, GROUP, Level, level_name, levels
from discreet.service.asks import Ask
from discreet.service.data_sets import DataSet
from discreet.service.ledger_views import amounts_plain, level_shown
from discreet.service.members import Members, principal_name
from discreet.service.recorded_refusals import RefusalBook, on_record
from discreet.service.roles import Action, Principal, Role
from discreet.service.service_errors import NO_CHANGE, NO_LEVEL, OTHER_GROUP, Conflict, forbidden

logger = logging.getLogger("discreet.service")

NAMED = 80
"""What the name of a request takes of the reason of its raise, at most."""

FREEZE, UNFREEZE, CLOSE = "freeze", "unfreeze", "close"


class CuratorVerbs:
    """The curator's part of the service."""

    members: Members
    _datasets: dict[str, DataSet]
    _requests: RequestBook
    _refusals: RefusalBook

    def check(self, principal: Principal, action: Action, dataset: str) -> None:
        """Refuses what somebody may not do to a data set, in the words of what is not there.

        Whoever has a role for the data set, so that it is there for them, is on record with it.
        """
        if dataset in self._datasets and principal.may(action, dataset):
            return
        refused = forbidden()
        if dataset in self._datasets and principal.roles.get(dataset):
            self._refusals.note(principal.name, [dataset], action, refused)
        raise refused

    def _data_set(self, principal: Principal, action: Action, name: str) -> DataSet:
        """A data set for which somebody may do something; what is not there is refused like what they may not."""
        self.check(principal, action, name)
        return self._datasets[name]

    def analysts(self, principal: Principal, dataset: str) -> list[dict[str, Any]]:
        """Who is admitted to a data set, with the allowance that each has, and what is left of it."""
        found = self._data_set(principal, Action.ADMIT, dataset)
        listed = []
        for member in self.members.of(dataset):
            own = levels(dataset, found.budget, member["name"], member["group"])
            level = level_shown(own[-1]) if own[-1].kind == ANALYST and member["role"] == Role.ANALYST else None
            listed.append({**member, "level": level})
        return listed

    def groups(self, principal: Principal, dataset: str) -> list[dict[str, Any]]:
        """The groups of a data set that have an allowance."""
        found = self._data_set(principal, Action.ADMIT, dataset)
        word = level_name(GROUP, "")
        named = [one for one in found.budget.children if one.name.startswith(word)]
        return [level_shown(Level(GROUP, one.name.removeprefix(word), one)) for one in named]

    @on_record(Action.ADMIT)
    def admit(
        self,
        principal: Principal,
        dataset: str,
        who: str,
        *,
        group: str | None = None,
        allowance: Mapping[str, object] | None = None,
    ) -> dict[str, Any]:
        """Makes somebody an analyst of a data set, in a group or not, with an allowance of their own or not.

        Raises:
            Conflict: the group is not open, or they are in another one.
        """
        found = self._data_set(principal, Action.ADMIT, dataset)
        principal_name(who)
        before = self.members.principal(who)
        if Role.ANALYST in before.roles.get(dataset, ()) and before.groups.get(dataset) != group:
            raise Conflict(OTHER_GROUP)
        around = self._level(found, GROUP, group) if group is not None else Level(DATA_SET, dataset, found.budget)
        if allowance is not None:
            open_level(around, ANALYST, who, Ask.amounts(allowance), by=principal.name)
        self.members.admit(who, dataset, group)  # of two that come at once, one is let in
        self._requests.note(
            principal.name, dataset, "admitted", {"who": who, "group": group, "allowance": _told(allowance)}
        )
        return next(one for one in self.analysts(principal, dataset) if one["name"] == who)

    @on_record(Action.ADMIT)
    def open_group(
        self, principal: Principal, dataset: str, group: str, allowance: Mapping[str, object]
    ) -> dict[str, Any]:
        """Opens a group with an allowance that its analysts share."""
        found = self._data_set(principal, Action.ADMIT, dataset)
        whole = Level(DATA_SET, dataset, found.budget)
        opened = open_level(whole, GROUP, principal_name(group), Ask.amounts(allowance), by=principal.name)
        self._requests.note(principal.name, dataset, "group opened", {"group": group, "allowance": _told(allowance)})
        return level_shown(opened)

    @on_record(Action.ADMIT)
    def raise_allowance(
        self, principal: Principal, dataset: str, of: tuple[str, str], amount: Mapping[str, object], reason: str
    ) -> dict[str, Any]:
        """Raises the allowance of a group, an analyst or the data set, `of`, to so much in total."""
        found = self._data_set(principal, Action.ADMIT, dataset)
        level = self._level(found, *of)
        why = checked_line("reason", reason)
        with _conflicts():
            level.budget.raise_to(**Ask.amounts(amount), by=principal.name, why=why)
        self._requests.note(principal.name, dataset, "raised", {of[0]: of[1], "to": _told(amount), "why": why})
        return level_shown(level)

    @on_record(Action.ADMIT)
    def set_standing(
        self, principal: Principal, dataset: str, of: tuple[str, str], change: str, reason: str
    ) -> dict[str, Any]:
        """Freezes, unfreezes or closes the allowance of a group, an analyst or the data set."""
        found = self._data_set(principal, Action.ADMIT, dataset)
        level = self._level(found, *of)
        why = checked_line("reason", reason)
        budget = level.budget
        verbs = {FREEZE: budget.freeze, UNFREEZE: budget.unfreeze, CLOSE: budget.close}
        if change not in verbs:
            raise InvalidParameter(expected("freeze, unfreeze or close", "change", change, "name one of them."))
        with _conflicts():
            verbs[change](by=principal.name, why=why)
        self._requests.note(principal.name, dataset, change, {of[0]: of[1], "why": why})
        return level_shown(level)

    def decide(self, principal: Principal, request: str, *, approve: bool, reason: str = "") -> AllowanceRequest:
        """Approves a request, which raises the analyst's allowance by its amount, or declines it; once.

        What is approved and not raised yet, as after a crash, is still "approving", and is raised later, once.

        Raises:
            Conflict: it is decided, or the analyst has no allowance of their own.
        """
        asked = self._requests.find(request)
        if asked is None or not principal.may(Action.DECIDE, asked.dataset):
            raise forbidden()
        return self._decided(principal, asked.dataset, asked, approve=approve, reason=reason)

    @on_record(Action.DECIDE)
    def _decided(
        self, principal: Principal, dataset: str, asked: AllowanceRequest, *, approve: bool, reason: str
    ) -> AllowanceRequest:
        found = self._data_set(principal, Action.DECIDE, dataset)
        answer = checked_line("reason", reason, empty=True)
        request = asked.id
        if not approve:
            return self._requests.decide(request, by=principal.name, approve=False, answer=answer)
        budget = self._level(found, ANALYST, asked.principal).budget
        if not amounts_plain(budget.allowance).keys() >= asked.amount.keys():
            raise Conflict(NO_LEVEL)
        if budget.standing == "closed":
            raise Conflict(NO_CHANGE)
        decided = self._requests.decide(request, by=principal.name, approve=True, answer=answer)
        try:
            return self._raised(decided, budget)
        except LedgerError:
            logger.exception("an allowance is not raised yet")
            return decided

    def finish_approvals(self) -> None:
        """Raises what was approved and perhaps not raised, because a process ended or a database did not answer."""
        for one in self._requests.approving():
            if one.dataset in self._datasets:
                try:
                    self._raised(one, self._level(self._datasets[one.dataset], ANALYST, one.principal).budget)
                except DiscreetError:  # the others are not kept waiting
                    logger.exception("an allowance is not raised yet")

    def _raised(self, approving: AllowanceRequest, budget: Budget) -> AllowanceRequest:
        """Raises an allowance for a request that is approved, and records it: both once, whoever else does so too."""
        why = f"{approving.reason} (approved: {approving.answer or 'no comment'})"[: LONGEST - NAMED]
        name = f"request {approving.id}"
        try:
            budget.raise_by(_amounts(approving), by=str(approving.decided_by), why=why, once=name)
        except InvalidParameter:  # no allowance can be so large, and this one never becomes less
            self._requests.reopen(approving.id)
            raise
        except LedgerError:
            if budget.standing != "closed":
                raise
            if not any(one.why.endswith(f"[{name}]") for one in budget.changes()):  # it is closed for ever
                self._requests.reopen(approving.id)
                raise Conflict(NO_CHANGE) from None
        return self._requests.raised(approving)

    def _level(self, dataset: DataSet, kind: str, name: str) -> Level:
        whole = Level(DATA_SET, dataset.name, dataset.budget)
        if kind == DATA_SET:
            return whole
        if kind == GROUP:
            found = whole.opened(GROUP, name)
        else:
            group = self.members.principal(name).groups.get(dataset.name)
            last = levels(dataset.name, dataset.budget, name, group)[-1]
            found = last if last.kind == ANALYST else None
        if found is None:
            raise Conflict(NO_LEVEL)
        return found


def open_level(around: Level, kind: str, name: str, amounts: Mapping[str, Fraction], *, by: str) -> Level:
    """Opens an allowance inside of another one; one that is open with other amounts is refused."""
    found = around.opened(kind, name)
    if found is None:
        stated: dict[str, Any] = dict(amounts)
        with _conflicts():
            budget = Budget(parent=around.budget, name=level_name(kind, name), by=by, **stated)
        return Level(kind, name, budget)
    if any(amounts_plain(found.budget.allowance).get(one, Fraction(0)) != amount for one, amount in amounts.items()):
        cure = "raise it, with a reason; an allowance is never lowered, but it can be frozen or closed."
        raise InvalidParameter(expected("the allowance that was given before, or none", "allowance", "another", cure))
    return found


def _amounts(request: AllowanceRequest) -> dict[str, Fraction]:
    return {name: written_amount(name, value) for name, value in request.amount.items()}


@contextmanager
def _conflicts() -> Iterator[None]:
    """What the ledger refuses is a conflict with what is there; where it is kept is not said."""
    try:
        yield
    except LedgerError:
        raise Conflict(NO_CHANGE) from None


def _told(amounts: Mapping[str, object] | None) -> dict[str, str] | None:
    return None if amounts is None else {name: str(value) for name, value in amounts.items()}
