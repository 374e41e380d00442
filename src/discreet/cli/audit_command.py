"""``discreet audit``: attacks a script, a notebook or a statement with neighbors of its table."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.audit.pipeline_files import notebook, script, statement
from discreet.audit.pipelines import Pipeline
from discreet.audit.replaying import replay
from discreet.audit.report import Report
from discreet.cli import option_values, table_option
from discreet.cli.amount_texts import amount
from discreet.cli.messages import print_line, working
from discreet.cli.options import argument, option, taking
from discreet.errors import InvalidParameter, expected, printable
from discreet.privacy.definitions import ROW

app = typer.Typer(add_completion=False)

TABLE, PROMISE, REPORT = "The table", "The promise", "The report"
FOUND = 1
KINDS = (".py", ".ipynb", ".sql")


@dataclass(frozen=True, kw_only=True)
class Audited:
    """An audit, as it is written on the command line."""

    pipeline: Annotated[str, argument("PIPELINE", "A script (.py), a notebook (.ipynb) or SQL.")]
    data: Annotated[str, option("FILE", "The table it reads, beside it: made-up or public rows.", TABLE)]
    unit: Annotated[str | None, option("COLUMN", "Who is protected: a column, several (a,b), or row.", TABLE)] = None
    table: Annotated[str | None, option("FILE", "A declaration (.toml), instead of what it states.", TABLE)] = None
    epsilon: Annotated[str | None, option("NUMBER", "What all its outputs are meant to cost.", PROMISE)] = None
    delta: Annotated[str, option("NUMBER", None, PROMISE)] = "0"
    neighbors: Annotated[str | None, option("RELATION", "add-remove or replace-one.", PROMISE)] = None
    tries: Annotated[int, option("N", "Search for so many worse neighbors.", PROMISE)] = 0
    argument: Annotated[
        list[str] | None, option("WORD", "A word of the script's command line; may be repeated.", TABLE)
    ] = None
    cell: Annotated[list[int] | None, option("N", "Only these cells of a notebook.", TABLE)] = None
    bounds: Annotated[list[str] | None, option("COLUMN=LOW:HIGH", "For SQL, as in discreet query.", TABLE)] = None
    keys: Annotated[list[str] | None, option("GROUP=A,B", "For SQL, as there.", TABLE)] = None
    max_groups: Annotated[int | None, option("N", "For SQL, as there.", TABLE)] = None
    max_rows: Annotated[int | None, option("N", "For SQL, as there.", TABLE)] = None
    json: Annotated[str | None, option("FILE", "Where the report is written as JSON.", REPORT)] = None
    page: Annotated[str | None, option("FILE", "Where it is written as Markdown.", REPORT)] = None


@app.command()
@taking(Audited)
def audit(asked: Audited) -> None:
    """Run a pipeline on a table and on its worst neighbors, with the same chance, and report what differs.

    The pipeline runs many times, in copies of its folder; use made-up or public rows. Exit codes: 0, nothing was found,
    which proves nothing; 1, a violation was found; 2, refused; 130, interrupted.
    """
    stated = _stated(asked)
    unit, neighbors, delta = stated.pop("unit"), stated.pop("neighbors"), stated.pop("delta")
    made = _pipeline(asked, stated | {"unit": unit})
    with working("replaying"):
        report = replay(
            made, asked.data, unit=unit, epsilon=stated["epsilon"], delta=delta, neighbors=neighbors, tries=asked.tries
        )
    _print(report)
    for path, write in ((asked.json, report.to_json), (asked.page, report.to_markdown)):
        if path is not None:
            write(Path(path))
            print_line(f"Written: {path}")
    if not report.ok:
        raise typer.Exit(FOUND)


def _stated(asked: Audited) -> dict[str, Any]:
    """What is promised, and what a statement has to be told of its table: by options, or by a declaration."""
    promised = {
        "epsilon": None if asked.epsilon is None else amount("epsilon", asked.epsilon),
        "delta": amount("delta", asked.delta),
    }
    given = {
        "max_groups": asked.max_groups,
        "max_rows": asked.max_rows,
        "bounds": option_values.bounds(asked.bounds or ()),
    }
    if asked.table is None:
        if asked.unit is None:
            cure = "say who is protected: --unit person; or name a declaration, --table visits.toml."
            raise InvalidParameter(expected("a privacy unit", "unit", None, cure))
        unit = ROW if asked.unit == "row" else tuple(asked.unit.split(","))
        return {"unit": unit, "neighbors": asked.neighbors or "add-remove", **given, **promised}
    for name, value in {"unit": asked.unit, "neighbors": asked.neighbors, **given}.items():
        if value not in (None, {}):
            cure = f"state it in {asked.table}: the file is what was reviewed."
            raise InvalidParameter(expected(f"no --{name.replace('_', '-')} beside --table", name, value, cure))
    declared = table_option.declaration(asked.table)
    allowed = declared.allowance
    if promised["epsilon"] is None and "epsilon" in allowed:
        promised = {"epsilon": allowed["epsilon"], "delta": allowed.get("delta", 0)}
    return {"names": (declared.name,), **declared.stated, **promised}


def _pipeline(asked: Audited, stated: dict[str, Any]) -> Pipeline:
    path = Path(asked.pipeline)
    if path.suffix not in KINDS or not path.is_file():
        cure = "name an existing script (.py), notebook (.ipynb) or SQL file (.sql)."
        raise InvalidParameter(expected("a pipeline", "pipeline", asked.pipeline, cure))
    if path.suffix == ".py":
        return script(path, asked.data, arguments=tuple(asked.argument or ()))
    if path.suffix == ".ipynb":
        return notebook(path, asked.data, cells=tuple(asked.cell or ()))
    epsilon = stated.pop("epsilon")
    if epsilon is None:
        raise InvalidParameter(expected("epsilon", "epsilon", None, "say what the statement may cost: --epsilon 1."))
    listed, declared = asked.keys or (), stated.pop("keys", {})
    text = path.read_text(encoding="utf-8")
    return statement(
        text,
        epsilon=epsilon,
        keys=lambda kinds: option_values.keys(listed, kinds),
        **stated,
        **({"table_keys": declared} if declared else {}),
    )


def _print(report: Report) -> None:
    """The report for a terminal, violations in red."""
    from rich.console import Console
    from rich.text import Text

    console = Console(file=sys.stdout, highlight=False, soft_wrap=True)
    for line in str(report).split("\n"):
        style = (
            "bold red" if line.startswith(("VIOLATION", "A violation")) else "yellow" if line.startswith("note") else ""
        )
        console.print(Text(printable(line), style=style))
