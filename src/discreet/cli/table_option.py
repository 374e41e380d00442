"""A table that a declaration file states, in place of the options that describe one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

from discreet.cli import accounts
from discreet.cli.messages import print_line
from discreet.errors import InvalidParameter, expected
from discreet.ledger.ledger_kinds import exists
from discreet.ledger.ledger_location import place_text as ledger_told

if TYPE_CHECKING:
    from discreet.cli.options import QueryOptions
    from discreet.curator.declaration_file import DeclarationFile
    from discreet.ledger.budget import Budget

    Asked = TypeVar("Asked", bound=QueryOptions)

STATED = (
    "unit", "each_row", "bounds", "max_groups", "max_rows", "schema", "neighbors", "rows", "units", "name", "version",
    "ledger", "allowance",
)  # fmt: skip
"""The options that a declaration stands for."""
READER = "discreet.curator.declaration_file"
"""Imported where it is needed: a ledger that is named by its own place does not wait for what reads tables."""


def settled(asked: Asked, *, make: bool) -> Asked:
    """The options with file and statement in their places, and the ledger of a declaration, where one was given.

    `make` has its ledger made where nothing is yet; otherwise no ledger stands for one that is not there.
    """
    if asked.table is None:
        if asked.file is None or asked.statement is None:
            cure = 'write discreet query FILE "SELECT ...", or discreet query --table visits.toml "SELECT ...".'
            raise InvalidParameter(expected("a file and a statement", "arguments", asked.file, cure))
        if asked.connection:
            cure = "connections are of the sources that a declaration names: --table visits.toml."
            raise InvalidParameter(expected("--table beside --connection", "connection", asked.connection, cure))
        return asked
    if asked.file is None or asked.statement is not None:
        cure = 'the declaration names the source: discreet query --table visits.toml "SELECT ...".'
        raise InvalidParameter(expected("one statement beside --table", "arguments", asked.file, cure))
    _nothing_else(asked, asked.table)
    stated = declaration(asked.table)
    place = stated.source(connections_of(asked.connection))
    ledger = stated.ledger
    if ledger is not None and not exists(ledger):
        if make:
            print_line(f"Made: {ledger_told(ledger)}, with {stated.budget().allowance}.")
        else:
            ledger = None
    return replace(asked, file=place if isinstance(place, str) else None, statement=asked.file, ledger=ledger)


def declaration(path: str) -> DeclarationFile:
    """What a file declares, in its form; nothing has been opened."""
    stated: DeclarationFile = import_module(READER).read_declaration(path)
    return stated


def is_declaration(path: str) -> bool:
    """Whether a place of a ledger is a declaration that names one."""
    return "://" not in path and path.lower().endswith(".toml")


def ledger_of(path: str) -> str:
    """The place of a ledger: itself, or what a declaration names."""
    if not is_declaration(path):
        return path
    found = declaration(path).ledger
    if found is None:
        cure = f'name it there, [budget] ledger = "spent.db", or give the ledger itself instead of {path}.'
        raise InvalidParameter(expected("a declaration that names its ledger", "ledger", path, cure))
    return found


def budget(asked: QueryOptions) -> Budget:
    """The budget of a declaration, or the one that the options name."""
    return accounts.opened(asked) if asked.table is None else declaration(asked.table).budget()


def connections_of(texts: Sequence[str] | None) -> dict[str, str]:
    """``name=address`` options; the address may have an equals sign of its own."""
    found: dict[str, str] = {}
    for text in texts or ():
        name, separator, address = text.partition("=")
        if not separator or not name or name in found:
            cure = "write each once, --connection warehouse=postgresql://reader@db.example/clinic."
            raise InvalidParameter(expected("name=address", "connection", name, cure))
        found[name] = address
    return found


def _nothing_else(asked: QueryOptions, table: str) -> None:
    defaults = {field.name: field.default for field in fields(asked)}
    for name in STATED:
        if (given := getattr(asked, name)) not in (defaults[name], []):
            option = f"--{name.replace('_', '-')}"
            cure = f"state it in {table}: the file is what was reviewed."
            raise InvalidParameter(expected(f"no {option} beside --table", name, given, cure))
