"""A release in rounds: each is charged before it is seen, and the last pays for no more than its own noise.

Claim
    A release that stopped in round j costs e_j: the charges add up to it, and each is recorded before anything that
    depends on its round is used, shown or stored. Under a sum of rho it costs at least (up_to)^2/2.
Requires
    A ledger that keeps its claim; an engine that computes the plan's totals.
Relies on
    `mechanisms.rounds`: the outcomes of rounds 1..j depend on the totals through round j. `query.rounds`: whether to
    go on is a function of noisy totals. `accounting.allowance`.
Proof
    Round 1 is charged e_1 before the engine is asked; round j+1 is charged e_(j+1) - e_j after round j was found
    wanting and before round j+1 is looked at; whatever fails leaves the charges. Write the probability of a view as a
    product over its releases, in any interleaving: the rounds seen of this one contribute P(Y_j = y_j) and terms that
    are the same for neighbors, a ratio of at most exp(e_j), which is the sum of its charges (`mechanisms.rounds`, block
    by block). So sums of epsilon stay what the ledger takes them for. As to rho: all k rounds together are
    up_to-differentially private, hence up_to^2/2-zCDP, and seeing fewer is post-processing; so that amount, recorded
    with round 1, pays for all of them, and what later charges add is above what is due. The answer says where it
    stopped, which follows from the views, and from the ledger if it let no further round in.
Rounding
    None here.
Source
    Whitehouse, Ramdas, Wu and Rogers, "Brownian noise reduction" (2022): ex-post privacy.
Mutant
    rounds-at-half-price: each round is charged half of what it adds; killed by
    test_each_round_is_charged_before_it_is_seen.
    unfinished-rounds-are-given: a release that broke off is answered from its first round; killed by
    test_a_crash_between_rounds_shows_no_more_than_was_charged.
    rounds-by-their-rho: round 1 is recorded with the rho of its own epsilon; killed by test_rho_is_that_of_the_cap.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from discreet.curator.budget import Budget
from discreet.curator.canonical import described, digest, hashed
from discreet.curator.declared import sources_of
from discreet.curator.ledger import Charge
from discreet.curator.parts import PartBudget
from discreet.curator.receipt import receipt
from discreet.curator.stored import packed
from discreet.engines.engine import Engine
from discreet.errors import BudgetExceeded
from discreet.exact.amounts import decimal_text
from discreet.noise.entropy import Words
from discreet.privacy.definitions import Guarantee
from discreet.privacy.events import PureEvent
from discreet.query.plan import Plan
from discreet.query.rounds import Rounds

MET, CAPPED, SPENT = "the targets are met", "the cap is reached, a target is not met", "the budget is spent before"


@dataclass(frozen=True, kw_only=True, slots=True)
class Desk:
    """What a release takes from a protected source."""

    engine: Engine
    budget: Budget | PartBudget
    words: Callable[[], Words]


def in_rounds(desk: Desk, rounds: Rounds, *, fresh: bool) -> tuple[Plan, bytes]:
    """The plan of the round that was the last, and its answer as it is stored.

    Raises:
        BudgetExceeded: not even the first round fits. Nothing is spent.
        EngineError: the engine failed. The first round stays spent.
    """
    statement = desk.engine.statement(rounds.most)
    keys = _keys(rounds, digest(rounds.most, statement, desk.engine.schema))
    found = None if fresh else _stored(desk.budget, keys)
    if found is None:
        found = _drawn(desk, rounds, statement, keys)
    number, stored = found
    return rounds.plans[number], stored


def _keys(rounds: Rounds, base: str) -> list[str]:
    facts = [base, {n: str(t) for n, t in rounds.targets.items()}, rounds.relative, rounds.confidence]
    return [hashed([*facts, n]) for n in range(len(rounds.plans))]


def _stored(budget: Budget | PartBudget, keys: list[str]) -> tuple[int, bytes] | None:
    """The answer with which such a release ended; none where it never did, or broke off."""
    for number, key in enumerate(keys):
        stored = budget.stored(key)
        if stored is None:
            return None
        if json.loads(stored)["receipt"]["rounds"]["ended"]:
            return number, stored
    return None


def _drawn(desk: Desk, rounds: Rounds, statement: str, keys: list[str]) -> tuple[int, bytes]:
    charges = list(_charges(rounds, keys))
    reservation = desk.budget.reserve(charges[0])
    exact = desk.engine.totals(rounds.most, statement)
    words = desk.words()
    secret = [block.blurred(totals, words) for block, totals in zip(rounds.mechanisms, exact, strict=True)]
    for number, plan in enumerate(rounds.plans):
        noisy: list[NDArray[Any]] = [block[number] for block in secret]
        account, following = receipt(plan, keys[number], words), None
        ended = MET if rounds.met(number, noisy) else CAPPED if plan is rounds.most else ""
        if not ended:
            try:
                following = desk.budget.reserve(charges[number + 1])
            except BudgetExceeded:
                ended = SPENT
        stored = packed(noisy, {**account, "rounds": _told(rounds, number, ended)})
        reservation.commit(stored)
        if following is None:
            break
        reservation = following
    return number, stored


def _charges(rounds: Rounds, keys: list[str]) -> Iterator[Charge]:
    what, spent, cap = described(rounds.most), Fraction(0), rounds.most.charge.epsilon
    for number, plan in enumerate(rounds.plans):
        own, declared = Guarantee(epsilon=plan.charge.epsilon - spent), plan.query.declaration
        spent = plan.charge.epsilon
        yield Charge(
            source=declared.label,
            declared=sources_of(declared),
            what=f"{what}: round {number + 1}",
            key=keys[number],
            guarantee=own,
            event=PureEvent(epsilon=own.epsilon if number else cap),
            least_rho=Fraction(0) if number else cap**2 / 2,
        )


def _told(rounds: Rounds, number: int, ended: str) -> dict[str, Any]:
    return {
        "number": number + 1,
        "of": len(rounds.plans),
        "up_to": decimal_text(rounds.most.charge.epsilon),
        "within": {name: decimal_text(target) for name, target in rounds.targets.items()},
        "relative": rounds.relative,
        "confidence": rounds.confidence,
        "ended": ended,
    }
