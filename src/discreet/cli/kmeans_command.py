"""``discreet kmeans``: private cluster centers of some columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from discreet.cli.options import argument, option, taking
from discreet.cli.verb_answers import VerbOptions, answer
from discreet.query.table import PrivateTable

app = typer.Typer(add_completion=False)


@dataclass(frozen=True, kw_only=True)
class ClusterOptions(VerbOptions):
    """Cluster centers of some columns of a file."""

    statement: Annotated[str | None, argument("COLUMN,...", "Numeric columns with bounds.")] = None
    clusters: Annotated[int, option("N", "How many centers.")] = 2
    algorithm: Annotated[str, option("NAME", "best or lloyd.")] = "best"
    rounds: Annotated[int, option("N", "Of lloyd.")] = 5


@app.command()
@taking(ClusterOptions)
def kmeans(asked: ClusterOptions) -> None:
    """Print private cluster centers of some columns, and about how many rows are around each, for one charge.

    Every step is a question to the engine. Exit codes: 0, answered; 1, an output file could not be written; 2, refused
    (nothing was spent, unless the message says so); 130, interrupted.
    """

    def question(asked: Any, table: PrivateTable) -> Any:
        ways = {"n_clusters": asked.clusters, "algorithm": asked.algorithm, "rounds": asked.rounds}
        return table.kmeans(str(asked.statement).split(","), **ways)

    answer(asked, question, has_picture=True)
