"""``discreet choose``: the largest column of a statement, without a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import ibis
import ibis.expr.operations as ops
import ibis.expr.types as ir
import typer

from discreet.cli.options import taking
from discreet.cli.verb_answers import VerbOptions, answer, recorded_of
from discreet.errors import InvalidQuery, expected
from discreet.query.table import PrivateTable

app = typer.Typer(add_completion=False)


@dataclass(frozen=True, kw_only=True)
class ChoiceOptions(VerbOptions):
    """Candidates, each with a count or a sum of a file that is its score."""

    statement: Annotated[
        str | None,
        typer.Argument(
            metavar="SQL", help="One SELECT of counts and sums: a column for each candidate.", show_default=False
        ),
    ] = None


@app.command()
@taking(ChoiceOptions)
def choose(asked: ChoiceOptions) -> None:
    """Print which column of a SELECT is the largest, by the exponential mechanism, and none of its numbers.

    Each column is a candidate, and its score COUNT(*) FILTER (WHERE ...) or SUM(...); the answer is the name of one of
    them. Many candidates cost next to no more than two. Exit codes: 0, answered; 1, an output file could not be
    written; 2, refused (nothing was spent, unless the message says so); 130, interrupted.
    """

    def question(asked: Any, table: PrivateTable) -> Any:
        recorded = recorded_of(asked, table, str(asked.statement))
        if recorded.groups is not None or asked.where is not None:
            cure = "write a column for each candidate, and conditions in WHERE."
            raise InvalidQuery(expected("a statement without GROUP BY, and no --where", "SQL", asked.statement, cure))
        scores = {name: _score(name, value) for name, value in recorded.aggregates.items()}
        rows: Any = recorded.table
        return rows.choose(list(scores), score=scores.__getitem__)

    answer(asked, question)


def _score(name: str, value: ir.Value | None) -> ir.Value:
    """What is counted or summed of each row."""
    op: Any = None if value is None else value.op()
    if isinstance(op, ops.CountStar) and op.where is not None:
        return op.where.to_expr()
    if isinstance(op, ops.Sum):
        own = op.arg.to_expr()
        return own if op.where is None else ibis.ifelse(op.where.to_expr(), own, 0)
    cure = f"write COUNT(*) FILTER (WHERE age >= 18) AS {name}, or SUM(visits) AS {name}."
    raise InvalidQuery(expected("a count under a condition, or a sum", "column", name, cure))
