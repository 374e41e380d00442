"""``discreet series``: numbers that go on, published from a script, day by day."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from discreet.cli import accounts, answer_output, table_option
from discreet.cli.amount_texts import amount
from discreet.cli.asking import question_of, table_of
from discreet.cli.messages import print_line, working
from discreet.cli.options import QueryOptions, option, taking
from discreet.cli.standard_output import write_output
from discreet.cli.verb_answers import AGAIN, write_files
from discreet.errors import InvalidParameter, expected
from discreet.language.checked_expressions import Kind
from discreet.ledger.budget import Budget
from discreet.series.series_question import SeriesQuestion

app = typer.Typer(add_completion=False)

STEPS = "The steps"
LONGEST_NUMBER = 40
"""Digits; no column has numbers of more, and Python reads none of thousands."""


@dataclass(frozen=True, kw_only=True)
class SeriesOptions(QueryOptions):
    """A question at every step, and which steps are over."""

    by: Annotated[str | None, option("COLUMN", "Which step a row belongs to.", STEPS)] = None
    start: Annotated[str | None, option("DATE", "The first day of the series.", STEPS)] = None
    every: Annotated[str, option("LENGTH", 'Such as "1 week".', STEPS)] = "1 day"
    until: Annotated[str | None, option("DATE", "Its last day; a year if left out; or open.", STEPS)] = None
    windows: Annotated[str, option("N,...", "Sums at each step: 1,7,28,all,month.", STEPS)] = "1"
    max_steps: Annotated[int | None, option("N", "In how many steps one unit counts.", STEPS)] = None
    apart: Annotated[int, option("N", "So many steps, or more, are between them.", STEPS)] = 1
    series: Annotated[str, option("NAME", "What the ledger calls the series.", STEPS)] = "series"
    arrives: Annotated[str | None, option("COLUMN", "When a row came, if some are late.", STEPS)] = None
    late: Annotated[str | None, option("RULE", "count or drop what came late.", STEPS)] = None
    settled: Annotated[str | None, option("LENGTH", 'When the rows of a step are there: "2 days" later.', STEPS)] = None
    through: Annotated[str | None, option("DATE", "The last step that is over.", STEPS)] = None
    explain: Annotated[bool, option(None, "Show errors and cost, and spend nothing.", STEPS, "--explain")] = False


@app.command()
@taking(SeriesOptions)
def series(asked: SeriesOptions) -> None:
    """Publish every step of a series up to a day, for one charge of the whole series, and print all numbers so far.

    The SELECT statement is asked at each step. The first call charges the ledger; later ones publish the steps since,
    for nothing, and state the same price or none. What was published never changes. Exit codes: 0, published; 1, an
    output file could not be written; 2, refused (nothing was spent, unless the message says so); 130, interrupted.
    """
    stated = {name: amount(name, given) for name in ("epsilon", "rho") if (given := getattr(asked, name)) is not None}
    prices: dict[str, Any] = {**stated, "delta": amount("delta", asked.delta)}
    confidence = float(amount("confidence", asked.confidence))
    if asked.fresh:
        cure = "open another series under another name, --series."
        raise InvalidParameter(expected("no --fresh: a series is drawn once", "fresh", "stated", cure))
    if asked.through is None and not asked.explain:
        cure = "name the last day whose rows are all there, --through 2026-01-31; --explain shows errors and cost."
        raise InvalidParameter(expected("--through", "through", None, cure))
    asked = table_option.settled(asked, make=not asked.explain)
    answer_output.check_paths(asked)
    if asked.explain:
        question = _question(asked, accounts.this_question_alone(asked))
        write_output(f"{question.explain(**prices, confidence=confidence)!r}\n")
        return
    before = accounts.recorded(asked)
    question = _question(asked, table_option.budget(asked))
    with working("publishing"):
        answer = question.release(through=_moment(question, asked.through), **prices, confidence=confidence)
    try:
        write_output(answer_output.PRINTED[asked.format](answer))
    finally:  # it is paid for, whether it could be printed or not
        print_line(accounts.account(asked, answer, before))
    write_files(answer, asked, AGAIN)


def _question(asked: SeriesOptions, budget: Budget) -> SeriesQuestion:
    """The checked question at every step; nothing is read but the names and types of the columns."""
    if asked.by is None or asked.start is None:
        cure = "write --by day --start 2026-01-01."
        raise InvalidParameter(expected("--by and --start", "by, start", (asked.by, asked.start), cure))
    if asked.table is None and asked.name is None:
        cure = "write --name admissions: the ledger knows the series by it, wherever tomorrow's file is."
        raise InvalidParameter(expected("--name or --table", "name", None, cure))
    table = table_of(asked, budget)
    column = table._columns.get(asked.by)  # noqa: SLF001 (what is known of a column is public)
    numbers = column is not None and column.kind is Kind.INTEGER
    steps = table.series(
        asked.by,
        start=_number(asked.start) if numbers else asked.start,
        every=_number(asked.every) if numbers else asked.every,
        until=_number(asked.until) if numbers and asked.until is not None else asked.until,
        windows=[_number(one) for one in asked.windows.replace(" ", "").split(",")],
        max_steps=asked.max_steps,
        apart=asked.apart,
        name=asked.series,
        arrives=asked.arrives,
        late=asked.late,
        settled=asked.settled,
    )
    return steps.question(question_of(asked, steps.rows))


def _moment(question: SeriesQuestion, text: str | None) -> object:
    return _number(text) if question.by_number and text is not None else text


def _number(text: str) -> int | str:
    """A whole number, of a column of them; what is none is refused where it is used."""
    digits = text.removeprefix("-")
    return int(text) if digits.isdecimal() and len(digits) < LONGEST_NUMBER else text
