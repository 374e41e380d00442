"""``discreet ledger``: make the record of what was spent, and read it."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from decimal import ROUND_CEILING
from fractions import Fraction
from typing import Annotated

import typer

from discreet.cli.accounts import balance, existing
from discreet.cli.amounts import amount
from discreet.curator.budget import allowance_of
from discreet.curator.ledger_file import Statement, create
from discreet.errors import InvalidParameter, expected
from discreet.privacy.events import to_json

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Make the record of what was spent, and read it.")


@app.command("create")
def create_ledger(
    path: Annotated[str, typer.Argument(metavar="FILE", help="Where nothing is yet.")],
    *,
    epsilon: Annotated[str | None, typer.Option(metavar="NUMBER", help="All that may ever be spent.")] = None,
    delta: Annotated[str, typer.Option(metavar="NUMBER", help="All that may ever be spent.")] = "0",
    own_delta: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="The part of delta for charges that have one; a third.")
    ] = None,
    rho: Annotated[str | None, typer.Option(metavar="NUMBER", help="An allowance in rho, instead of epsilon.")] = None,
) -> None:
    """Make the ledger of an allowance.

    Exit codes: 0, made; 2, refused.
    """
    stated = {"epsilon": epsilon, "delta": delta, "own_delta": own_delta, "rho": rho}
    if epsilon is None and rho is None:
        raise InvalidParameter(expected("an allowance", "epsilon", None, "say what may ever be spent: --epsilon 1."))
    create(path, allowance_of(**{k: amount(k, text) for k, text in stated.items() if text is not None}))
    sys.stdout.write(f"{path}: {balance(existing(path))}.\n")


@app.command("show")
def show_ledger(
    path: Annotated[str, typer.Argument(metavar="FILE", help="A ledger.")],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Show what was spent, when and on what; the file is verified and not changed.

    Exit codes: 0, shown; 2, refused: the file is no ledger, or damaged.
    """
    found = existing(path)
    sys.stdout.write(_facts(found) if as_json else _table(found))


def _facts(found: Statement) -> str:
    """The ledger as JSON; amounts as exact fractions in text, since JSON's numbers are doubles."""
    entries = [
        {
            "number": entry.number,
            "time": entry.time,
            "source": entry.source,
            "what": entry.what,
            "release": entry.key,
            "epsilon": str(entry.guarantee.epsilon),
            "delta": str(entry.guarantee.delta),
            "rho": str(entry.rho),
            "slack": str(entry.slack),
            "event": json.loads(to_json(entry.event)),
            "answered": entry.answered,
        }
        for entry in found.entries
    ]
    allowed = found.allowance
    facts = {
        "path": found.path,
        "created": found.created,
        "allowance": _amounts(epsilon=allowed.epsilon, delta=allowed.delta, rho=allowed.rho, own_delta=allowed.part),
        "spent": _amounts(**found.spent._asdict()),
        "sources": [
            {"name": one.name, "version": one.version, "unit": list(one.unit), "neighbors": one.neighbors}
            for one in found.sources
        ],
        "entries": entries,
    }
    return json.dumps(facts, indent=2, ensure_ascii=False) + "\n"


def _amounts(**amounts: Fraction) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items()}


def _table(found: Statement) -> str:
    import io

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=io.StringIO(), width=120, force_terminal=False)
    allowed = found.allowance
    shown = Table("", "time (UTC)", "question", "of", "cost", "answered")
    for entry in found.entries:
        cost = allowed.words(replace(entry.guarantee, rho=entry.rho), ROUND_CEILING)
        cells = (str(entry.number), entry.time, entry.what, entry.source, cost, "yes" if entry.answered else "no")
        shown.add_row(*map(Text, cells))
    if found.entries:
        console.print(shown)
    console.print(Text(f"{found.path}, made {found.created} with {allowed}: {balance(found)}."), soft_wrap=True)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]  # the file is the StringIO above
    return text
