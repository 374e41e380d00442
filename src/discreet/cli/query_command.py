"""``discreet query``: one private answer from a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import typer

from discreet.answers.answer_file import AnswerFile
from discreet.answers.release import Release
from discreet.cli import accounts, answer_output, table_option
from discreet.cli.amount_texts import amount
from discreet.cli.asking import question
from discreet.cli.messages import failed, print_line, working
from discreet.cli.options import QueryOptions, taking
from discreet.cli.standard_output import FAILED, OutputFailure, write_output
from discreet.ledger.ledger_statement import LedgerStatement
from discreet.query.table import Question

app = typer.Typer(add_completion=False)


@app.command()
@taking(QueryOptions)
def query(asked: QueryOptions) -> None:
    """Answer a SELECT statement about a file, with noise and error bars.

    The answer goes to standard output, what it cost to standard error; with keys in a file and --output to a Parquet
    file, it goes there group by group, and its first rows are printed. Exit codes: 0, answered; 1, an output file could
    not be written; 2, refused (nothing was spent, unless the message says so); 130, interrupted.
    """
    stated, delta = accounts.price(asked), amount("delta", asked.delta)
    confidence = float(amount("confidence", asked.confidence))
    asked = table_option.settled(asked, make=True)
    answer_output.check_paths(asked)
    before = accounts.recorded(asked)
    asking = question(asked, table_option.budget(asked))
    price: dict[str, Any] = {**stated, "delta": delta, "confidence": confidence, "fresh": asked.fresh}
    if answer_output.streamed(asked):
        _stream(asked, asking, price, before)
        return
    with working("computing"):
        answer = asking.release(**price)
    failures = [*_told(asked, answer, before, lambda: answer_output.PRINTED[asked.format](answer))]
    try:
        with working("writing"):
            files = answer_output.write(answer, asked)
    except Exception as problem:  # noqa: BLE001 (what draws and writes has many classes; the answer is paid for)
        failures.append(failed("The answer could not be written", problem))
        files = []
    for path in files:
        print_line(f"Written: {path}")
    _end(asked, failures)


def _told(
    asked: QueryOptions, answer: Release | AnswerFile, before: LedgerStatement | None, text: Callable[[], str]
) -> Iterator[str]:
    """Prints an answer and what it cost; if it cannot be printed, says so."""
    failure = None
    try:
        write_output(text())
    except OutputFailure as problem:
        failure = str(problem)
    except Exception as problem:  # noqa: BLE001 (as of writing)
        failure = failed("The answer could not be shown", problem)
    print_line(accounts.account(asked, answer, before))
    if failure is not None:
        yield failure


def _end(asked: QueryOptions, failures: list[str]) -> None:
    """Says where an answer is that was paid for, and could not be written."""
    if failures:
        kept = "Repeat the command: the ledger has the answer, and gives it again for nothing."
        lost = "It was paid for; without --ledger, no other command can give it again."
        print_line(" ".join([*failures, lost if asked.ledger is None else kept]))
        raise typer.Exit(FAILED)


def _stream(asked: QueryOptions, asking: Question, price: dict[str, Any], before: LedgerStatement | None) -> None:
    """Writes an answer group by group, and shows its first rows."""
    with working("computing"):
        answer = asking.release(**price, to=str(asked.output))
    failures = [*_told(asked, answer, before, lambda: answer_output.start(answer))]
    print_line(f"Written: {asked.output}")
    _end(asked, failures)
