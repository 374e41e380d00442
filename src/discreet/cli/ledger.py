"""``discreet ledger``: make the record of what was spent, and read it."""

from __future__ import annotations

import json
import sys
from decimal import ROUND_CEILING, ROUND_FLOOR
from typing import Annotated

import typer

from discreet.cli.accounts import balance, existing, words
from discreet.cli.amounts import amount
from discreet.curator.ledger_file import Statement, create

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Make the record of what was spent, and read it.")


@app.command("create")
def create_ledger(
    path: Annotated[str, typer.Argument(metavar="FILE", help="Where nothing is yet.")],
    *,
    epsilon: Annotated[str, typer.Option(metavar="NUMBER", help="All that may ever be spent.")],
    delta: Annotated[str, typer.Option(metavar="NUMBER", help="All that may ever be spent.")] = "0",
) -> None:
    """Make the ledger of an allowance.

    Exit codes: 0, made; 2, refused.
    """
    create(path, epsilon=amount("epsilon", epsilon), delta=amount("delta", delta))
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
            "answered": entry.answered,
        }
        for entry in found.entries
    ]
    facts = {
        "path": found.path,
        "created": found.created,
        "allowance": {"epsilon": str(found.allowance.epsilon), "delta": str(found.allowance.delta)},
        "spent": {"epsilon": str(found.spent.epsilon), "delta": str(found.spent.delta)},
        "entries": entries,
    }
    return json.dumps(facts, indent=2, ensure_ascii=False) + "\n"


def _table(found: Statement) -> str:
    import io

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=io.StringIO(), width=120, force_terminal=False)
    shown = Table("", "time (UTC)", "question", "of", "cost", "answered")
    for entry in found.entries:
        cost = words(entry.guarantee, ROUND_CEILING, found)
        cells = (str(entry.number), entry.time, entry.what, entry.source, cost, "yes" if entry.answered else "no")
        shown.add_row(*map(Text, cells))
    if found.entries:
        console.print(shown)
    allowed = words(found.allowance, ROUND_FLOOR, found)
    console.print(Text(f"{found.path}, made {found.created} with {allowed}: {balance(found)}."), soft_wrap=True)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]  # the file is the StringIO above
    return text
