"""Several questions under one charge: reserved whole, spent part by part, stored as one answer.

Claim
    What `together` returns costs its charge and no more, whatever `run` asks of the table that it is given, and however
    that depends on earlier answers. The same work on the same declared source is answered from the record.
Requires
    `run` looks at the rows through that table alone.
Relies on
    `curator.protected_table`: answers of a `Protected` are within the allowance of its budget. `ledger.ledger`.
Proof
    The whole charge is reserved before anything else, or refused with nothing looked at (`curator.transaction`). The
    table given to `run` stands before a budget of its own, of exactly its epsilon, made here and reachable by nothing
    else; so all its answers together are epsilon-differentially private, and so is what is computed from them. Of rho
    that is epsilon^2/2, which is no more than the rho of the charge.
Rounding
    None here.
Source
    McSherry, "Privacy integrated queries" (2009): agents with budgets of their own.
Mutant
    parts-from-the-purse: the parts are charged to the table's own budget again; killed by
    test_the_parts_are_paid_by_the_whole.
    parts-without-room: nobody asks beforehand how many nested calls are left for the parts; killed by
    test_a_whole_without_room_for_the_calls_of_its_parts_costs_nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from discreet.curator.protected_table import Protected
from discreet.curator.receipt_builder import header
from discreet.curator.release_key import digest, hashed
from discreet.curator.transaction import NESTED_CALLS, Drawing, charge_to, check_stack, released
from discreet.errors import InvalidParameter, expected
from discreet.ledger.budget import Budget
from discreet.noise.entropy import RandomWords
from discreet.planning.contribution_limits import check_moved
from discreet.planning.plan import Plan
from discreet.privacy.definitions import Guarantee
from discreet.query.explain import promise
from discreet.query.explanation import as_text
from discreet.query.table import PrivateTable

Run = Callable[[PrivateTable, RandomWords], Mapping[str, Any]]
"""Takes the table to ask, and words for chance that needs no privacy; returns what JSON can hold."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """What is done, in public facts: one line for the ledger, parameters, and one of the questions that are asked."""

    what: str
    parameters: Mapping[str, Any]
    example: Plan
    """A priced question about the same rows: it says who is protected, and which rows and columns are looked at."""


def together(table: PrivateTable, work: Work, *, price: Guarantee, run: Run, fresh: bool) -> dict[str, Any]:
    """What `run` returns and the receipt, for one charge; the stored answer where there is one.

    The charge is an epsilon; or a rho, with an epsilon that costs no more of it (`ledger.stated_guarantee`).

    Raises:
        InvalidParameter: the table is not one of ``dp.protect``. Nothing is spent.
        BudgetExceeded: the charge does not fit. Nothing is spent.
        EngineError: something failed, in the engine or in `run`. The charge stays spent.
    """
    source = getattr(table, "_source", None)
    if not isinstance(source, Protected):
        cure = "make one with dp.protect(...)."
        raise InvalidParameter(expected("a protected table", "table", type(table).__name__, cure))
    check_moved(source.declaration, "table")
    desk, declared = source.desk, source.declaration
    base = digest(work.example, desk.engine.statement(work.example), source.schema)
    stated = str(price.epsilon) if price.rho is None else f"rho={price.rho}"
    key = hashed([base, stated, dict(work.parameters)])

    def draw(drawing: Drawing) -> bytes:
        own = Protected(desk.engine, declared, Budget(epsilon=price.epsilon), desk.words)
        found = run(replace(table, _source=own), drawing.words)
        answer = {"receipt": _receipt(work, key, price, drawing), "answer": dict(found)}
        return json.dumps(answer, separators=(",", ":")).encode()

    charge = charge_to(declared, key, work.what, price)
    room = partial(check_stack, 2 * NESTED_CALLS)  # the questions inside ask for theirs, which comes too late
    loaded: dict[str, Any] = json.loads(released(desk, charge, draw, fresh=fresh, first=room))
    return loaded


def _receipt(work: Work, key: str, price: Guarantee, drawing: Drawing) -> dict[str, Any]:
    facts: dict[str, Any] = as_text(promise(replace(work.example, charge=price)))
    del facts["groups"]
    return (
        header(key, drawing, work.what) | {"guarantee": f"{price.promise} for {facts['neighbors']} neighbors"} | facts
    )
