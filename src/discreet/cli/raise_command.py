"""`discreet ledger raise`: a larger allowance, as an entry that says who gave it and why."""

from __future__ import annotations

from typing import Annotated

from discreet.cli.accounts import balance, existing
from discreet.cli.amount_texts import amount
from discreet.cli.options import argument, option
from discreet.cli.standard_output import write_output
from discreet.errors import InvalidParameter, expected, printable
from discreet.ledger.budget import Budget
from discreet.ledger.ledger_location import place_text


def raise_allowance(
    path: Annotated[str, argument("LEDGER", "A file, or postgresql://host/database#name.")],
    *,
    by: Annotated[str, option("WHO", "Who decided it.")],
    why: Annotated[str, option("REASON", "On which grounds.")],
    level: Annotated[str | None, option("PATH", "A level inside, staff/alice.")] = None,
    epsilon: Annotated[str | None, option("NUMBER", "All that may be spent from now on.")] = None,
    delta: Annotated[str | None, option("NUMBER", "The same of delta.")] = None,
    rho: Annotated[str | None, option("NUMBER", "The same of rho, where it is stated in rho.")] = None,
) -> None:
    """Let a ledger, or a level in it, spend more in total; who decided it, and why, is an entry of the ledger.

    Everybody whose rows are asked about was promised less before. Nothing that was spent is given back.

    Exit codes: 0, raised; 2, refused.
    """
    stated = {"epsilon": epsilon, "delta": delta, "rho": rho}
    amounts = {name: amount(name, text) for name, text in stated.items() if text is not None}
    if not amounts:
        raise InvalidParameter(
            expected("a larger amount", "epsilon", None, "say what may be spent in all: --epsilon 2.")
        )
    allowed = existing(path).allowance
    if allowed.epsilon:
        budget = Budget(epsilon=allowed.epsilon, delta=allowed.delta, own_delta=allowed.part, ledger=path)
    else:
        budget = Budget(rho=allowed.rho, delta=allowed.delta, ledger=path)
    for name in level.split("/") if level else ():
        budget = budget.child(name)
    budget.raise_to(by=by, why=why, **amounts)
    where = f"{place_text(path)}, level {level}" if level else place_text(path)
    write_output(printable(f"{where}: raised to {budget.allowance}. In all, {balance(existing(path))}.") + "\n")
