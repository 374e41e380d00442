"""The budget behind a question: a ledger that exists, or none, which is said aloud."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR
from typing import TYPE_CHECKING, Any

from discreet.cli.amount_texts import amount
from discreet.cli.options import QueryOptions
from discreet.errors import InvalidParameter, LedgerError, expected
from discreet.exact.amounts import fraction
from discreet.ledger.budget import Budget
from discreet.ledger.ledger_kinds import exists, statement
from discreet.ledger.ledger_location import place_text
from discreet.ledger.ledger_statement import LedgerStatement

if TYPE_CHECKING:
    from discreet.answers.answer_file import AnswerFile
    from discreet.answers.release import Release


def price(asked: QueryOptions) -> dict[str, Any]:
    """What the answer may cost: epsilon, or rho."""
    texts = {"epsilon": asked.epsilon, "rho": asked.rho}
    stated = {name: amount(name, text) for name, text in texts.items() if text is not None}
    if len(stated) != 1:
        cure = "say what the answer may cost: --epsilon 0.5."
        raise InvalidParameter(expected("--epsilon or --rho", "price", ", ".join(stated) or "none", cure))
    return stated


def this_question_alone(asked: QueryOptions) -> Budget:
    """A budget in memory that this one question uses up."""
    stated, delta = price(asked), amount("delta", asked.delta)
    if "rho" in stated:
        return Budget(rho=stated["rho"], delta=delta)
    return Budget(epsilon=stated["epsilon"], delta=delta, own_delta=delta)


def opened(asked: QueryOptions) -> Budget:
    """The budget of a ledger that exists, or one for this question alone."""
    found = recorded(asked)
    if found is None:
        return this_question_alone(asked)
    allowed = found.allowance
    if not allowed.epsilon:
        return Budget(rho=allowed.rho, delta=allowed.delta, ledger=asked.ledger)
    return Budget(epsilon=allowed.epsilon, delta=allowed.delta, own_delta=allowed.part, ledger=asked.ledger)


def recorded(asked: QueryOptions) -> LedgerStatement | None:
    """What the ledger says, if one was named; it is read and not changed."""
    if asked.ledger is None:
        if asked.allowance is not None:
            cure = "name the ledger that has this allowance, --ledger spent.db, or leave --allowance out."
            raise InvalidParameter(expected("--ledger beside --allowance", "allowance", asked.allowance, cure))
        return None
    found = existing(asked.ledger)
    if asked.allowance is not None:
        stated = fraction("allowance", amount("allowance", asked.allowance))
        if stated != found.allowance.epsilon:
            cure = f"the allowance of {place_text(asked.ledger)} is {found.allowance}."
            raise LedgerError(expected("the allowance of the ledger", "allowance", asked.allowance, cure))
    return found


def existing(path: str, *, entries: bool = False) -> LedgerStatement:
    """What the ledger at `path` says, with its entries if they are asked for; a path where nothing is gets a cure."""
    if not exists(path):
        cure = (
            "name the ledger that earlier answers about these people were charged to. Before the first one, make it, "
            f"with all that may ever be spent: discreet ledger create {place_text(path)} --epsilon 1."
        )
        raise LedgerError(expected("a ledger that exists", "ledger", place_text(path), cure))
    return statement(path, entries=entries)


def balance(found: LedgerStatement) -> str:
    """What was spent and what is left, never rounded in favor of spending."""
    allowed = found.allowance
    spent = allowed.amount_text(allowed.spent(found.spent), ROUND_CEILING)
    left = allowed.amount_text(allowed.remaining(found.spent), ROUND_FLOOR)
    return f"spent {spent} of {allowed}; {left} remains"


def account(asked: QueryOptions, answer: Release | AnswerFile, before: LedgerStatement | None) -> str:
    """One line on what the answer cost, and whom it was charged to."""
    charge = ", ".join(f"{name}={amount}" for name, amount in answer.receipt["charge"].items() if amount != "0")
    if before is None or asked.ledger is None:
        return (
            f"Not accounted: this answer cost {charge}, and no ledger knows of it. "
            "Use --ledger to keep count of what all answers cost together."
        )
    after = statement(asked.ledger, after=before.number)
    paid = [entry for entry in after.entries if entry.key == answer.receipt["release"] and entry.answered]
    place = place_text(asked.ledger)
    what = f"Charged {charge} to {place}" if paid else f"Repeated from {place}, nothing charged"
    return f"{what}: {balance(after)}."
