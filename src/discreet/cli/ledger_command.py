"""``discreet ledger``: make the record of what was spent, and read it."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.accounts import balance, existing
from discreet.cli.amount_texts import amount
from discreet.cli.options import argument, option
from discreet.cli.raise_command import raise_allowance
from discreet.cli.standard_output import json_text, write_output
from discreet.cli.table_option import declaration, is_declaration, ledger_of
from discreet.errors import InvalidParameter, LedgerError, expected, printable
from discreet.ledger.budget import allowance_of
from discreet.ledger.ledger_kinds import backup, create, exists, head, statement, verify
from discreet.ledger.ledger_location import place_text
from discreet.ledger.ledger_statement import LedgerStatement
from discreet.ledger.level_changes import LevelChange
from discreet.ledger.privacy_filter import Allowance
from discreet.ledger.published_head import PublishedHead, make_key
from discreet.privacy.definitions import UNBOUNDED
from discreet.privacy.events import to_json

LEDGER = argument("LEDGER", "A file, postgresql://host/database#name, or a declaration (.toml).")

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Make the record of what was spent, and read it.")
app.command("raise")(raise_allowance)


@app.command("create")
def create_ledger(
    path: Annotated[
        str,
        argument("LEDGER", "Where nothing is yet: a file, postgresql://host/database#name, or a declaration (.toml)."),
    ],
    *,
    epsilon: Annotated[str | None, option("NUMBER", "All that may ever be spent.")] = None,
    delta: Annotated[str, option("NUMBER", "All that may ever be spent.")] = "0",
    own_delta: Annotated[str | None, option("NUMBER", "The part of delta for charges that have one; a third.")] = None,
    rho: Annotated[str | None, option("NUMBER", "An allowance in rho, instead of epsilon.")] = None,
) -> None:
    """Make the ledger of an allowance.

    Exit codes: 0, made; 2, refused.
    """
    stated = {"epsilon": epsilon, "delta": delta, "own_delta": own_delta, "rho": rho}
    if is_declaration(path):
        place = _declared(path, stated)
        write_output(f"{printable(place_text(place))}: {balance(existing(place))}.\n")
        return
    if epsilon is None and rho is None:
        raise InvalidParameter(expected("an allowance", "epsilon", None, "say what may ever be spent: --epsilon 1."))
    create(path, allowance_of(**{k: amount(k, text) for k, text in stated.items() if text is not None}))
    write_output(f"{printable(place_text(path))}: {balance(existing(path))}.\n")


@app.command("show")
def show_ledger(
    path: Annotated[str, LEDGER],
    *,
    last: Annotated[int | None, option("N", "Only the last N charges.", min=0)] = None,
    as_json: Annotated[bool, option(None, "As one JSON object.", None, "--json")] = False,
) -> None:
    """Show what was spent, when and on what; the end of the file is verified, and it is not changed.

    Exit codes: 0, shown; 2, refused: the file is no ledger, or damaged.
    """
    path = ledger_of(path)
    found = existing(path)
    found = statement(path, after=0 if last is None else max(found.number - last, 0))
    write_output(_facts(found) if as_json else _table(found))


@app.command("verify")
def verify_ledger(
    path: Annotated[str, LEDGER],
    *,
    published: Annotated[
        str | None, option("FILE", "A published head, which the ledger has to continue.", None, "--head")
    ] = None,
    public_key: Annotated[str | None, option("HEX", "The key that has to have signed it.")] = None,
) -> None:
    """Verify every line and answer of a ledger; charges go on meanwhile. With --head, also that no older copy was put
    back since it was published.

    Exit codes: 0, whole; 2, refused: no ledger, damaged, or not the one that was published.
    """
    path = ledger_of(path)
    existing(path)
    if public_key is not None and published is None:
        raise InvalidParameter(expected("a head beside its key", "head", None, "name what was published: --head FILE."))
    seen = None if published is None else PublishedHead.from_json(_text(published))
    if seen is not None and (seen.signature or public_key is not None):
        seen.check_signature(public_key)
    found = verify(path, seen)
    whole = f"{place_text(path)}: whole, with {found.number} charges: {balance(found)}."
    if seen is not None:
        by = f", signed by {seen.public_key}" if seen.signature else ", which nobody signed"
        whole += f" It continues the head of {seen.time}, with {seen.charges} charges{by}."
    write_output(printable(whole) + "\n")


@app.command("head")
def show_head(
    path: Annotated[str, LEDGER],
    *,
    key: Annotated[str | None, option("FILE", "The private key to sign it with.")] = None,
) -> None:
    """Print where a ledger's chain ends, to be published: `verify --head` finds an older copy by it.

    Exit codes: 0, printed; 2, refused.
    """
    path = ledger_of(path)
    existing(path)
    found = head(path)
    write_output((found if key is None else found.signed(key)).to_json() + "\n")


@app.command("key")
def new_key(path: Annotated[str, argument("FILE", "Where nothing is yet.")]) -> None:
    """Make a private key to sign heads with, in a file that only its owner can read, and print the public one.

    Exit codes: 0, made; 2, refused.
    """
    write_output(make_key(path) + "\n")


@app.command("backup")
def backup_ledger(
    path: Annotated[str, LEDGER],
    to: Annotated[str, argument("COPY", "Where nothing is yet.")],
) -> None:
    """Copy a ledger as it stands, while others charge it; the copy knows nothing of what is charged later.

    Exit codes: 0, copied; 2, refused.
    """
    path = ledger_of(path)
    existing(path)
    found = backup(path, to)
    write_output(printable(f"{to}: a copy of {place_text(path)} with {found.number} charges: {balance(found)}.") + "\n")


def _declared(path: str, stated: dict[str, str | None]) -> str:
    """The ledger of a declaration, made now with the allowance that it states."""
    for name, text in stated.items():
        if text not in (None, "0"):
            cure = f"state it in {path}: the file is what was reviewed."
            raise InvalidParameter(expected(f"no --{name.replace('_', '-')} beside a declaration", name, text, cure))
    place = ledger_of(path)
    if exists(place):
        cure = "it is there already: discreet ledger show shows it."
        raise LedgerError(expected("a ledger that is not there yet", "ledger", place_text(place), cure))
    declaration(path).budget()
    return place


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
            "asked_by": entry.asked_by,
            "level": entry.level,
        }
        for entry in found.entries
    ]
    facts = {
        "path": found.path,
        "created": found.created,
        "allowance": _allowance(found.allowance),
        "spent": _amounts(**found.spent._asdict()),
        "sources": [
            {"name": one.name, "version": one.version, "unit": list(one.unit), "neighbors": one.neighbors}
            | ({"each_of": True} if one.each_of else {})
            for one in found.sources
        ],
        "levels": [
            {
                "path": path,
                "allowance": _allowance(level.allowance),
                "spent": _amounts(**level.spent._asdict()),
                "standing": found.balances.standing(path),
            }
            for path, level in found.balances.levels.items()
        ],
        "changes": [_change(one) for one in found.changes],
        "entries": entries,
    }
    return json_text(facts)


def _allowance(allowed: Allowance) -> dict[str, str]:
    return _amounts(epsilon=allowed.epsilon, delta=allowed.delta, rho=allowed.rho, own_delta=allowed.part)


def _change(one: LevelChange) -> dict[str, object]:
    stated = {} if one.allowance is None else {"allowance": _allowance(one.allowance)}
    facts = ("number", "time", "kind", "level", "by", "why", "after")
    return {name: getattr(one, name) for name in facts} | stated


def _text(path: str) -> str:
    """What a file says."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        cure = "name the file that has what `discreet ledger head` printed."
        raise InvalidParameter(expected("a file that can be read", "head", path, cure)) from error


def _amounts(**amounts: Fraction) -> dict[str, str]:
    return {name: _written(amount) for name, amount in amounts.items()}


def _written(amount: Fraction) -> str:
    return str(amount) if amount < UNBOUNDED else "inf"


def _table(found: LedgerStatement) -> str:
    import io

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=io.StringIO(), width=120, force_terminal=False, force_jupyter=False)
    allowed = found.allowance
    has_levels = len(found.balances.levels) > 1
    by_whom = ("level", "asked by") if has_levels else ()
    shown = Table("", "time (UTC)", "question", "of", *by_whom, "cost", "answered")
    for entry in found.entries:
        cost = allowed.amount_text(replace(entry.guarantee, rho=entry.rho), ROUND_CEILING)
        whose = (entry.level, entry.asked_by) if has_levels else ()
        answered = "yes" if entry.answered else "no"
        cells = (str(entry.number), entry.time, entry.what, entry.source, *whose, cost, answered)
        shown.add_row(*(Text(printable(cell)) for cell in cells))
    if found.entries:
        console.print(shown)
    if has_levels:
        console.print(_levels(found))
    total = f"{found.path}, made {found.created} with {allowed}: {balance(found)}."
    console.print(Text(printable(total)), soft_wrap=True)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]  # the file is the StringIO above
    return text


def _levels(found: LedgerStatement) -> object:
    """The levels in the budget, as a table."""
    from rich.table import Table
    from rich.text import Text

    shown = Table("level", "allowance", "spent", "remaining", "")
    for path, level in list(found.balances.levels.items())[1:]:
        allowed, standing = level.allowance, found.balances.standing(path)
        spent = allowed.amount_text(allowed.spent(level.spent), ROUND_CEILING)
        left = allowed.amount_text(found.balances.remaining(path), ROUND_FLOOR)
        shown.add_row(*(Text(printable(cell)) for cell in (path, str(allowed), spent, left, standing)))
    return shown
