"""What the commands of single verbs have in common: rows, price, the answer as a table."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import pyarrow as pa
import typer

from discreet.answers.display import WIDTH
from discreet.answers.table_exports import TableExports
from discreet.cli import accounts, answer_output, table_option
from discreet.cli.amount_texts import amount
from discreet.cli.asking import table_of
from discreet.cli.messages import failed, print_line, working
from discreet.cli.options import COST, TABLE, Format, QueryOptions, argument, option
from discreet.cli.standard_output import FAILED, json_text, write_output
from discreet.cli.terminal_tables import rich_rows
from discreet.cli.verb_statements import filtered_table
from discreet.errors import InvalidParameter, expected
from discreet.hierarchies.hierarchy_question import HierarchyQuestion
from discreet.planning.planner import level
from discreet.query.table import PrivateTable
from discreet.query.unpriced_question import UnpricedQuestion
from discreet.service.application_questions import applied_answer

AGAIN = "With --ledger, the same command gives it again for nothing."
Column = Annotated[str | None, argument("COLUMN", "A column of the file.")]


@dataclass(frozen=True, kw_only=True)
class VerbOptions(QueryOptions):
    """A question of one verb about a file."""

    where: Annotated[str | None, option("SQL", "A condition; other rows are left out.", TABLE)] = None
    explain: Annotated[bool, option(None, "Show error and cost, and spend nothing.", COST, "--explain")] = False


def answer(
    asked: VerbOptions,
    question_of: Callable[[VerbOptions, PrivateTable], UnpricedQuestion[Any] | HierarchyQuestion],
    *,
    has_picture: bool = False,
) -> None:
    """Prints the answer to a question of a table, and what it cost; or, beforehand, how good it would be."""
    if asked.file is None or (asked.table is None and asked.statement is None):
        cure = "see --help for what it is written as; --table visits.toml stands for FILE."
        raise InvalidParameter(expected("a file and what is asked of it", "arguments", asked.file, cure))
    if asked.plot is not None and not has_picture:
        raise InvalidParameter(expected("an answer with a picture", "plot", asked.plot, "leave --plot out."))
    price: dict[str, Any] = {**accounts.price(asked), "delta": amount("delta", asked.delta)}
    confidence = level(amount("confidence", asked.confidence))
    asked = table_option.settled(asked, make=not asked.explain)
    answer_output.check_paths(asked)
    if asked.explain:
        account = question_of(
            asked, filtered_table(asked, table_of(asked, accounts.this_question_alone(asked)))
        ).explain(**price, confidence=confidence)
        write_output(json_text(dict(account)) if asked.format is Format.JSON else f"{account!r}\n")
        return
    before = accounts.recorded(asked)
    question = question_of(asked, filtered_table(asked, table_of(asked, table_option.budget(asked))))
    with working("computing"):
        found = VerbAnswer(question.release(**price, fresh=asked.fresh), confidence)
    try:
        write_output(answer_output.PRINTED[asked.format](found))  # type: ignore[arg-type]  # what is asked of a release here
    finally:  # it is paid for, whether it could be printed or not
        print_line(accounts.account(asked, found, before))  # type: ignore[arg-type]  # as above
    write_files(found, asked, AGAIN)


def write_files(found: Any, asked: Any, kept: str) -> None:
    """Writes the files; where one cannot be written, says so, and where the answer still is."""
    try:
        with working("writing"):
            files = answer_output.write(found, asked)
    except Exception as problem:  # noqa: BLE001 (what draws and writes has many classes; the answer is paid for)
        print_line(f"{failed('The answer could not be written', problem)} {kept}")
        raise typer.Exit(FAILED) from None
    for path in files:
        print_line(f"Written: {path}")


class VerbAnswer(TableExports):
    """An answer of a verb, with what is asked of a release here: a table, a receipt, a picture, and a text."""

    def __init__(self, answer: Any, confidence: float) -> None:
        self._answer = answer
        self._one = applied_answer(answer) or answer
        self._confidence = confidence

    def to_pyarrow(self) -> pa.Table:
        """The answer as an Arrow table, whose intervals, if there are some, have the confidence that was asked for."""
        table: pa.Table = self._one.intervals(self._confidence)
        return table

    @property
    def receipt(self) -> Mapping[str, Any]:
        """What was promised."""
        receipt: Mapping[str, Any] = self._answer.receipt
        return receipt

    def plot(self, path: str) -> object:
        """Draws it to a file, where it has a picture."""
        return self._answer.plot(path=path)

    def __repr__(self) -> str:
        from rich.console import Console

        width = shutil.get_terminal_size((WIDTH, 24)).columns
        console = Console(file=io.StringIO(), width=width, highlight=False, force_jupyter=False)
        table = self.to_pyarrow()
        named = [own if own.null_count == 0 else own.cast(pa.string()).fill_null("NULL") for own in table.columns]
        console.print(rich_rows(pa.table(named, names=table.column_names)))
        text: str = console.file.getvalue()  # type: ignore[attr-defined]  # the file is the StringIO above
        return f"{text}{caption(self.receipt)}"


def caption(receipt: Mapping[str, Any]) -> str:
    """One line below an answer: how far it may be off, and by what it was made.

    >>> caption({"mechanism": "peeling choice of 1 of 3", "short by at most": 9.575, "confidence": 0.95})
    'peeling choice of 1 of 3; short of the best by at most 9.575, with 95 % confidence'
    """
    said = str(receipt.get("mechanism") or receipt.get("algorithm") or "")
    if "short by at most" in receipt:
        confidence = f"{float(receipt['confidence']) * 100:g} %"
        said += f"; short of the best by at most {receipt['short by at most']:.4g}, with {confidence} confidence"
    return said
