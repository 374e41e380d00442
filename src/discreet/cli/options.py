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


class Format(StrEnum):
    """How an answer is printed."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


Epsilon = Annotated[str | None, typer.Option(metavar="NUMBER", help="What the answer may cost.", rich_help_panel=COST)]
Rho = Annotated[
    str | None, typer.Option(metavar="NUMBER", help="The same in rho, instead of epsilon.", rich_help_panel=COST)
]
Fresh = Annotated[
    bool, typer.Option("--fresh", help="Draw and pay anew for a repeated question.", rich_help_panel=COST)
]
Confidence = Annotated[str, typer.Option(metavar="NUMBER", help="Of the intervals.", rich_help_panel=ANSWER)]
Printed = Annotated[Format, typer.Option(help="How it is printed.", rich_help_panel=ANSWER)]
Output = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="Where it is written too: .parquet, .arrow, .csv or .json.", rich_help_panel=ANSWER
    ),
]
Picture = Annotated[
    str | None, typer.Option(metavar="FILE", help="A picture: .png, .svg or .pdf.", rich_help_panel=ANSWER)
]


@dataclass(frozen=True, kw_only=True)
class QueryOptions:
    """A question about a file, as it is written on the command line."""

    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE",
            help="A Parquet file, or a CSV or TSV file with --schema; left out beside --table.",
            show_default=False,
        ),
    ] = None
    statement: Annotated[
        str | None,
        typer.Argument(metavar="SQL", help="One SELECT; the file is the table called data.", show_default=False),
    ] = None
    table: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="A declaration (.toml), instead of FILE and what describes it.", rich_help_panel=TABLE
        ),
    ] = None
    connection: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=ADDRESS", help="The connection that its source names.", rich_help_panel=TABLE),
    ] = None
    epsilon: Epsilon = None
    rho: Rho = None
    delta: Annotated[str, typer.Option(metavar="NUMBER", help="For mechanisms that need it.", rich_help_panel=COST)] = (
        "0"
    )
    ledger: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The ledger that is charged; see discreet ledger.", rich_help_panel=COST),
    ] = None
    allowance: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER", help="Refuse a ledger with another allowance than this epsilon.", rich_help_panel=COST
        ),
    ] = None
    fresh: Fresh = False
    unit: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Who is protected: a column, several (a,b), or row.", rich_help_panel=TABLE
        ),
    ] = None
    each_row: Annotated[
        bool, typer.Option("--each-row", help="Each row is a person of its own.", rich_help_panel=TABLE)
    ] = False
    bounds: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=LOW:HIGH", help="What is publicly known of a column.", rich_help_panel=TABLE),
    ] = None
    keys: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GROUP=A,B",
            help="The public keys of a group, a .parquet file of all, or unknown; \\N is NULL.",
            rich_help_panel=TABLE,
        ),
    ] = None
    max_groups: Annotated[
        int | None, typer.Option(metavar="N", help="In how many groups one unit counts.", rich_help_panel=TABLE)
    ] = None
    max_rows: Annotated[
        int | None, typer.Option(metavar="N", help="With how many rows in each of them.", rich_help_panel=TABLE)
    ] = None
    public: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FILE", help="A public table that may be joined.", rich_help_panel=TABLE),
    ] = None
    schema: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=TYPE,...", help="The columns of a CSV file.", rich_help_panel=TABLE),
    ] = None
    neighbors: Annotated[
        str, typer.Option(metavar="RELATION", help="add-remove or replace-one.", rich_help_panel=TABLE)
    ] = "add-remove"
    rows: Annotated[
        int | None, typer.Option(metavar="N", help="The public number of rows (replace-one).", rich_help_panel=TABLE)
    ] = None
    units: Annotated[
        int | None, typer.Option(metavar="N", help="The public number of units (replace-one).", rich_help_panel=TABLE)
    ] = None
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="What the ledger calls the table; its path if left out.", rich_help_panel=TABLE
        ),
    ] = None
    version: Annotated[
        str, typer.Option(metavar="TEXT", help="A new one whenever rows have changed.", rich_help_panel=TABLE)
    ] = ""
    dialect: Annotated[
        str, typer.Option(metavar="NAME", help="Of the SQL: duckdb, postgres or spark.", rich_help_panel=TABLE)
    ] = "duckdb"
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
