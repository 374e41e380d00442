"""``discreet query``: one private answer from a file."""

from __future__ import annotations

import sys
from typing import Any

import typer

from discreet.cli import accounts, answers
from discreet.cli.amounts import amount
from discreet.cli.asking import question
from discreet.cli.messages import told, working
from discreet.cli.options import Asked, taking
from discreet.curator.ledger_file import Statement
from discreet.query.table import Question

app = typer.Typer(add_completion=False)


@app.command()
@taking(Asked)
def query(asked: Asked) -> None:
    """Answer a SELECT statement about a file, with noise and error bars.

    The answer goes to standard output, what it cost to standard error; with keys in a file and --output to a Parquet
    file, it goes there group by group, and its first rows are printed. Exit codes: 0, answered; 1, an output file could
    not be written; 2, refused (nothing was spent, unless the message says so); 130, interrupted.
    """
    epsilon, delta = amount("epsilon", asked.epsilon), amount("delta", asked.delta)
    confidence = float(amount("confidence", asked.confidence))
    answers.check_paths(asked)
    before = accounts.recorded(asked)
    asking = question(asked, accounts.opened(asked))
    price: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "confidence": confidence, "fresh": asked.fresh}
    if answers.streamed(asked):
        _stream(asked, asking, price, before)
        return
    with working("computing"):
        answer = asking.release(**price)
    sys.stdout.flush()
    sys.stdout.buffer.write(answers.PRINTED[asked.format](answer))
    sys.stdout.flush()
    told(accounts.account(asked, answer, before))
    try:
        with working("writing"):
            written = answers.write(answer, asked)
    except OSError as problem:
        told(f"The answer could not be written: {problem}. It was paid for, and is printed above.")
        raise typer.Exit(1) from None
    for path in written:
        told(f"Written: {path}")


def _stream(asked: Asked, asking: Question, price: dict[str, Any], before: Statement | None) -> None:
    """Writes an answer group by group, and shows its first rows."""
    try:
        with working("computing"):
            answer = asking.release(**price, to=asked.output)
    except OSError as problem:
        told(f"The answer could not be written: {problem}. What was charged stays charged, and no file is left.")
        raise typer.Exit(1) from None
    answers.print_start(answer)
    told(accounts.account(asked, answer, before))
    told(f"Written: {asked.output}")
