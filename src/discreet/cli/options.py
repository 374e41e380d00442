"""The options of ``query`` and ``explain``, stated once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from enum import StrEnum
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

T = TypeVar("T")

TABLE, COST, ANSWER = "The table", "The cost", "The answer"


def option(metavar: str | None, text: str | None, panel: str | None = None, *names: str, **more: Any) -> Any:
    """An option with its line of help, in a panel; under other names than that of its parameter, where some are given.

    >>> option("N", "How many centers.").metavar
    'N'
    """
    return typer.Option(*names, metavar=metavar, help=text, rich_help_panel=panel, **more)


def argument(metavar: str, text: str, *, show_default: bool = False) -> Any:
    """An argument with its line of help.

    >>> argument("SQL", "One SELECT.").help
    'One SELECT.'
    """
    return typer.Argument(metavar=metavar, help=text, show_default=show_default)


class Format(StrEnum):
    """How an answer is printed."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


Epsilon = Annotated[str | None, option("NUMBER", "What the answer may cost.", COST)]
Rho = Annotated[str | None, option("NUMBER", "The same in rho, instead of epsilon.", COST)]
Fresh = Annotated[bool, option(None, "Draw and pay anew for a repeated question.", COST, "--fresh")]
Confidence = Annotated[str, option("NUMBER", "Of the intervals.", ANSWER)]
Printed = Annotated[Format, option(None, "How it is printed.", ANSWER)]
Output = Annotated[str | None, option("FILE", "Where it is written too: .parquet, .arrow, .csv or .json.", ANSWER)]
Picture = Annotated[str | None, option("FILE", "A picture: .png, .svg or .pdf.", ANSWER)]


@dataclass(frozen=True, kw_only=True)
class QueryOptions:
    """A question about a file, as it is written on the command line."""

    file: Annotated[
        str | None, argument("FILE", "A Parquet file, or a CSV or TSV file with --schema; left out beside --table.")
    ] = None
    statement: Annotated[str | None, argument("SQL", "One SELECT; the file is the table called data.")] = None
    table: Annotated[
        str | None, option("FILE", "A declaration (.toml), instead of FILE and what describes it.", TABLE)
    ] = None
    connection: Annotated[list[str] | None, option("NAME=ADDRESS", "The connection that its source names.", TABLE)] = (
        None
    )
    epsilon: Epsilon = None
    rho: Rho = None
    delta: Annotated[str, option("NUMBER", "For mechanisms that need it.", COST)] = "0"
    ledger: Annotated[str | None, option("FILE", "The ledger that is charged; see discreet ledger.", COST)] = None
    allowance: Annotated[
        str | None, option("NUMBER", "Refuse a ledger with another allowance than this epsilon.", COST)
    ] = None
    fresh: Fresh = False
    unit: Annotated[str | None, option("COLUMN", "Who is protected: a column, several (a,b), or row.", TABLE)] = None
    each_row: Annotated[bool, option(None, "Each row is a person of its own.", TABLE, "--each-row")] = False
    bounds: Annotated[list[str] | None, option("COLUMN=LOW:HIGH", "What is publicly known of a column.", TABLE)] = None
    keys: Annotated[
        list[str] | None,
        option("GROUP=A,B", "The public keys of a group, a .parquet file of all, or unknown; \\N is NULL.", TABLE),
    ] = None
    max_groups: Annotated[int | None, option("N", "In how many groups one unit counts.", TABLE)] = None
    max_rows: Annotated[int | None, option("N", "With how many rows in each of them.", TABLE)] = None
    public: Annotated[list[str] | None, option("NAME=FILE", "A public table that may be joined.", TABLE)] = None
    schema: Annotated[list[str] | None, option("COLUMN=TYPE,...", "The columns of a CSV file.", TABLE)] = None
    neighbors: Annotated[str, option("RELATION", "add-remove or replace-one.", TABLE)] = "add-remove"
    rows: Annotated[int | None, option("N", "The public number of rows (replace-one).", TABLE)] = None
    units: Annotated[int | None, option("N", "The public number of units (replace-one).", TABLE)] = None
    name: Annotated[str | None, option("NAME", "What the ledger calls the table; its path if left out.", TABLE)] = None
    version: Annotated[str, option("TEXT", "A new one whenever rows have changed.", TABLE)] = ""
    dialect: Annotated[str, option("NAME", "Of the SQL: duckdb, postgres or spark.", TABLE)] = "duckdb"
    confidence: Confidence = "0.95"
    format: Printed = Format.TABLE
    output: Output = None
    plot: Picture = None


def taking(kind: type[T]) -> Callable[[Callable[[T], None]], Callable[..., None]]:
    """A command whose options are the fields of a dataclass, which the decorated function takes as its one argument."""
    hints = get_type_hints(kind, include_extras=True)
    parameters = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(kind)  # type: ignore[arg-type]  # a dataclass
    ]

    def decorate(function: Callable[[T], None]) -> Callable[..., None]:
        def command(**given: Any) -> None:
            function(kind(**given))

        paragraphs = (function.__doc__ or "").split("\n\n")
        command.__doc__ = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)  # Typer keeps newlines
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what inspect looks for
        command.__annotations__ = {}
        return command

    return decorate
