"""``discreet ledger``: make the record of what was spent, and read it."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import ROUND_CEILING
from fractions import Fraction
from typing import Annotated

import typer

from discreet.cli.accounts import balance, existing
from discreet.cli.amount_texts import amount
from discreet.cli.standard_output import json_text, written
from discreet.errors import InvalidParameter, expected, printable
from discreet.ledger.budget import allowance_of
from discreet.ledger.file_ledger import LedgerStatement, backup, create, statement, verify
from discreet.privacy.definitions import UNBOUNDED
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
    written(f"{printable(path)}: {balance(existing(path))}.\n")


@app.command("show")
def show_ledger(
    path: Annotated[str, typer.Argument(metavar="FILE", help="A ledger.")],
    *,
    last: Annotated[int | None, typer.Option(metavar="N", min=0, help="Only the last N charges.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Show what was spent, when and on what; the end of the file is verified, and it is not changed.

    Exit codes: 0, shown; 2, refused: the file is no ledger, or damaged.
    """
    found = existing(path)
    found = statement(path, after=0 if last is None else max(found.number - last, 0))
    written(_facts(found) if as_json else _table(found))


@app.command("verify")
def verify_ledger(path: Annotated[str, typer.Argument(metavar="FILE", help="A ledger.")]) -> None:
    """Verify every page, line and answer of a ledger; charges go on meanwhile.

    Exit codes: 0, whole; 2, refused: the file is no ledger, or damaged.
    """
    existing(path)
    found = verify(path)
    written(printable(f"{path}: whole, with {found.number} charges: {balance(found)}.") + "\n")


@app.command("backup")
def backup_ledger(
    path: Annotated[str, typer.Argument(metavar="FILE", help="A ledger.")],
    to: Annotated[str, typer.Argument(metavar="COPY", help="Where nothing is yet.")],
) -> None:
    """Copy a ledger as it stands, while others charge it; the copy knows nothing of what is charged later.

    Exit codes: 0, copied; 2, refused.
    """
    existing(path)
    found = backup(path, to)
    written(printable(f"{to}: a copy of {path} with {found.number} charges: {balance(found)}.") + "\n")


def _facts(found: LedgerStatement) -> str:
    """The ledger as JSON; amounts as exact fractions in text, since JSON's numbers are doubles."""
    entries = [
        {
            "number": entry.number,
            "time": entry.time,
            "source": entry.source,
            "what": entry.what,
            "release": entry.key,
            "epsilon": _written(entry.guarantee.epsilon),
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
    return json_text(facts)


def _amounts(**amounts: Fraction) -> dict[str, str]:
    return {name: _written(amount) for name, amount in amounts.items()}


def _written(amount: Fraction) -> str:
    return str(amount) if amount < UNBOUNDED else "inf"


def _table(found: LedgerStatement) -> str:
    import io

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=io.StringIO(), width=120, force_terminal=False)
    allowed = found.allowance
    shown = Table("", "time (UTC)", "question", "of", "cost", "answered")
    for entry in found.entries:
        cost = allowed.amount_text(replace(entry.guarantee, rho=entry.rho), ROUND_CEILING)
        cells = (str(entry.number), entry.time, entry.what, entry.source, cost, "yes" if entry.answered else "no")
        shown.add_row(*(Text(printable(cell)) for cell in cells))
    if found.entries:
        console.print(shown)
    total = f"{found.path}, made {found.created} with {allowed}: {balance(found)}."
    console.print(Text(printable(total)), soft_wrap=True)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]  # the file is the StringIO above
    return text
