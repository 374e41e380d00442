"""A release in rounds: each is charged before it is seen, and the last pays for no more than its own noise.

Claim
    A release that stopped in round j costs e_j: the charges add up to it, and each is recorded before anything that
    depends on its round is used, shown or stored. Under a sum of rho it costs at least (up_to)^2/2.
Requires
    A ledger that keeps its claim; an engine that computes the plan's totals.
Relies on
    `mechanisms.noise_reduction`: the outcomes of rounds 1..j depend on the totals through round j.
    `query.accuracy_rounds`: whether to go on is a function of noisy totals. `ledger.privacy_filter`.
Proof
    Round 1 is charged e_1 before the engine is asked; round j+1 is charged e_(j+1) - e_j after round j was found
    wanting and before round j+1 is looked at; whatever fails leaves the charges. Write the probability of a view as a
    product over its releases, in any interleaving: the rounds seen of this one contribute P(Y_j = y_j) and terms that
    are the same for neighbors, a ratio of at most exp(e_j), which is the sum of its charges
    (`mechanisms.noise_reduction`, block by block). So sums of epsilon stay what the ledger takes them for. As to rho:
    all k rounds together are up_to-differentially private, hence up_to^2/2-zCDP, and seeing fewer is post-processing;
    so that amount, recorded with round 1, pays for all of them, and what later charges add is above what is due. The
    answer says where it stopped, which follows from the views, and from the ledger if it let no further round in.
Rounding
    None here.
Source
    Whitehouse, Ramdas, Wu and Rogers, "Brownian noise reduction" (2022): ex-post privacy.
Mutant
    rounds-at-half-price: each round is charged half of what it adds; killed by
    test_each_round_is_charged_before_it_is_seen.
    unfinished-rounds-are-given: a release that broke off is answered from its first round; killed by
    test_a_crash_between_rounds_shows_no_more_than_was_charged.
    first-round-pays-for-all: round 1 is charged the epsilon of the last; killed by
    test_each_round_is_charged_before_it_is_seen.
    rounds-by-their-rho: round 1 is recorded with the rho of its own epsilon; killed by test_rho_is_that_of_the_cap.
"""

from __future__ import annotations

import json
from fractions import Fraction
from functools import partial
from typing import Any

from numpy.typing import NDArray

from discreet.curator.receipt_builder import foreseen, receipt
from discreet.curator.release_key import described, digest, hashed
from discreet.curator.serialization import packed
from discreet.curator.transaction import Drawing, ReleaseContext, charge_to, released
from discreet.exact.amounts import decimal_text
from discreet.ledger.budget import Budget
from discreet.ledger.ledger import Charge
from discreet.ledger.parallel_composition import PartBudget
from discreet.planning.plan import Plan
from discreet.privacy.definitions import Guarantee
from discreet.privacy.events import PureEvent
from discreet.query.accuracy_rounds import Rounds

MET, CAPPED, SPENT = "the targets are met", "the cap is reached, a target is not met", "the budget is spent before"


def in_rounds(desk: ReleaseContext, rounds: Rounds, *, fresh: bool) -> tuple[Plan, bytes]:
    """The plan of the round that was the last, and its answer as it is stored.

    Raises:
        BudgetExceeded: not even the first round fits. Nothing is spent.
        EngineError: a round failed. What was charged until then stays spent.
    """
    statement = desk.engine.statement(rounds.most)
    keys = _keys(rounds, digest(rounds.most, statement, desk.engine.schema))

    def draw(drawing: Drawing) -> bytes:
        exact = desk.engine.totals(rounds.most, statement)
        pairs = zip(rounds.mechanisms, exact, strict=True)
        return _last(rounds, keys, drawing, [block.add_noise(totals, drawing.words) for block, totals in pairs])

    on_record = partial(_stored, desk.budget, keys)
    charge, first = _charge(rounds, keys, 0), partial(foreseen, rounds.plans[0])  # all rounds claim alike
    stored = released(desk, charge, draw, fresh=fresh, stored=on_record, first=first)
    return rounds.plans[_account(stored)["number"] - 1], stored


def _keys(rounds: Rounds, base: str) -> list[str]:
    facts = [base, {n: str(t) for n, t in rounds.targets.items()}, rounds.relative, rounds.confidence]
    return [hashed([*facts, n]) for n in range(len(rounds.plans))]


def _stored(budget: Budget | PartBudget, keys: list[str]) -> bytes | None:
    """The answer with which such a release ended; none where it never did, or broke off."""
    for key in keys:
        stored = budget.stored(key)
        if stored is None:
            return None
        if _account(stored)["ended"]:
            return stored
    return None


def _account(stored: bytes) -> dict[str, Any]:
    """What a stored answer says of its round."""
    found: dict[str, Any] = json.loads(stored)["receipt"]["rounds"]
    return found


def _last(rounds: Rounds, keys: list[str], drawing: Drawing, every: list[NDArray[Any]]) -> bytes:
    """The answer of the round that ends the release; `every` has the noisy totals of all rounds, also of those that
    are not paid for, which stay here.
    """
    for number, plan in enumerate(rounds.plans):
        noisy: list[NDArray[Any]] = [block[number] for block in every]
        ended = MET if rounds.met(number, noisy) else CAPPED if plan is rounds.most else ""
        if not ended and not drawing.also(_charge(rounds, keys, number + 1)):
            ended = SPENT
        account = receipt(plan, keys[number], drawing)
        stored = packed(noisy, {**account, "rounds": _told(rounds, number, ended)})
        if ended:
            break
        drawing.keep(stored)
    return stored


def _charge(rounds: Rounds, keys: list[str], number: int) -> Charge:
    """What a round costs beyond the ones before it; in rho the first pays for all."""
    plan, cap = rounds.plans[number], rounds.most.charge.epsilon
    spent = rounds.plans[number - 1].charge.epsilon if number else Fraction(0)
    own = Guarantee(epsilon=plan.charge.epsilon - spent, rho=None if number else cap**2 / 2)
    what = f"{described(rounds.most)}: round {number + 1}"
    event = PureEvent(epsilon=own.epsilon if number else cap)
    return charge_to(plan.query.declaration, keys[number], what, own, event, in_parts=not number)


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
