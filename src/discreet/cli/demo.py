"""The demo: private statistics of real people, beside the true ones, with their error bars and what they cost.

The RAND Health Insurance Experiment is public data, so here, and only here, true values may stand beside private ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.answers.display import number_text
from discreet.answers.release import Release
from discreet.curator.protect import protect
from discreet.exact.amounts import decimal_text
from discreet.ledger.budget import Budget
from discreet.query.table import PrivateTable, Question

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rich.console import Console

PLANS = ("free", "25%", "50%", "95%", "deductible")
YEARS = (1, 2, 3, 4, 5)
ALLOWANCE = 2
INTRODUCTION = (
    "[bold]The RAND Health Insurance Experiment[/]: 20,190 years in the lives of 5,912 people, whose share of each "
    "medical bill was drawn by lot.\nEach [bold]person[/], with all of up to five years, is protected: whoever sees "
    "the private answers learns almost the same whether that person is in the table or not.\n"
    "Every answer below is computed exactly by DuckDB, then noise is added. The data are public, so the true "
    "values may stand beside the private ones; about one 95 % interval in twenty misses its own."
)


@dataclass(frozen=True, kw_only=True)
class Scene:
    """One question of the demo, with its price, its picture, and the SQL of the true answer."""

    title: str
    ask: Any
    epsilon: float
    truth: str
    picture: str | None = None

    def question(self, people: PrivateTable) -> Question:
        """The question, ready to be released."""
        asked: Question = self.ask(people)
        return asked


SCENES = (
    Scene(
        title="How many people had each plan, and how often did they see a doctor? (at most 25 visits a year)",
        ask=lambda people: people.group_by("plan", max_groups=1, max_rows=5).agg(
            people=lambda t: t.person.nunique(), visits=lambda t: t.visits.mean()
        ),
        epsilon=0.5,
        truth="SELECT plan, count(DISTINCT person), avg(least(visits, 25)) FROM data GROUP BY plan",
        picture="visits-by-plan.png",
    ),
    Scene(
        title="What did care cost, by plan and year? (dollars a person; spending counts up to 1,000)",
        ask=lambda people: people.group_by("plan", "year", max_groups=5, max_rows=1).agg(
            mean=lambda t: t.spending.mean(), total=lambda t: t.spending.sum()
        ),
        epsilon=1.0,
        truth="SELECT plan, year, avg(least(spending, 1000)), sum(least(spending, 1000)) FROM data GROUP BY plan, year",
        picture="spending-by-plan-and-year.png",
    ),
    Scene(
        title="How many people over 50 had a chronic condition?",
        ask=lambda people: people.filter(lambda t: (t.age > 50) & (t.chronic_conditions >= 1)).agg(
            people=lambda t: t.person.nunique()
        ),
        epsilon=0.1,
        truth="SELECT count(DISTINCT person) FROM data WHERE age > 50 AND chronic_conditions >= 1",
    ),
)


def run(console: Console, folder: Path) -> None:
    """Asks every question, prints the answers beside the truth, draws two pictures into `folder`, prints the ledger."""
    console.print(INTRODUCTION, highlight=False)
    budget = Budget(epsilon=ALLOWANCE)
    with as_file(files("discreet.data") / "rand_hie.parquet") as path:
        people = protect(
            path,
            unit="person",
            bounds={"age": (0, 64), "visits": (0, 25), "spending": (0, 1000)},
            keys={"plan": PLANS, "year": YEARS},
            budget=budget,
            name="RAND Health Insurance Experiment",
        )
        for scene in SCENES:
            _play(console, scene, people, path, folder)
        again = SCENES[-1].question(people).release(epsilon=SCENES[-1].epsilon)
    console.print(
        f"\nThe last question once more: {number_text(int(again['people'][0]))}. The same answer, for nothing: "
        "asking again cannot average the noise away."
    )
    _account(console, budget)


def _play(console: Console, scene: Scene, people: PrivateTable, path: Path, folder: Path) -> None:
    answer = scene.question(people).release(epsilon=scene.epsilon)
    true = _true(scene, answer, path)
    console.print(f"\n[italic]{scene.title}[/]", highlight=False)
    console.print(_table(scene, answer, true))
    if scene.picture is not None:
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / scene.picture
        answer.plot(path=target, truth=true)
        console.print(f"Picture: {target}", highlight=False)


def _true(scene: Scene, answer: Release, path: Path) -> dict[str, NDArray[np.float64]]:
    """The true values, in the order of the answer's groups; 0 where a group has no rows."""
    import duckdb

    keys = len(answer.groups)
    with duckdb.connect() as connection:
        connection.read_parquet(str(path)).create_view("data")
        rows = connection.execute(scene.truth).fetchall()
    found = {row[:keys]: row[keys:] for row in rows}
    nothing = (0.0,) * len(answer.columns)
    groups = [tuple(record[key] for key in answer.groups) for record in answer.to_pyarrow().to_pylist()]
    values = np.array([found.get(group, nothing) for group in groups], dtype=np.float64)
    return {name: values[:, i] for i, name in enumerate(answer.columns)}


def _table(scene: Scene, answer: Release, true: dict[str, NDArray[np.float64]]) -> Any:
    """Private values and their intervals beside the true ones."""
    from rich.table import Table

    several = len(answer.groups) > 1  # as wide as a terminal of 80 columns, once nothing stands between its columns
    table = Table(caption=f"cost: epsilon {scene.epsilon:g}", padding=0 if several else (0, 1))
    for key in answer.groups:
        table.add_column(key, overflow="fold")
    for name in answer.columns:
        for header, style in ((name, "bold"), ("95 % interval", ""), ("true", "dim")):
            table.add_column(header, justify="right", style=style, overflow="fold")
    for i, record in enumerate(answer.to_pyarrow().to_pylist()):
        cells = [str(record[key]) for key in answer.groups]
        for name in answer.columns:
            low, high = (number_text(record[f"{name}{end}"]) for end in ("_low", "_high"))
            exact = float(true[name][i])
            cells += [
                number_text(record[name]),
                f"{low} … {high}",
                number_text(int(exact) if exact.is_integer() else exact),
            ]
        table.add_row(*cells)
    return table


def _account(console: Console, budget: Budget) -> None:
    """What was spent, entry by entry."""
    from rich.table import Table

    console.print("\n[italic]The ledger[/]")
    table = Table()
    for name in ("", "question", "epsilon"):
        table.add_column(name, justify="right" if name == "epsilon" else "left")
    for entry in budget.entries():
        table.add_row(str(entry.number), entry.what, decimal_text(entry.guarantee.epsilon))
    table.add_section()
    table.add_row("", "spent", decimal_text(budget.spent.epsilon))
    table.add_row("", "remaining", decimal_text(budget.remaining.epsilon))
    console.print(table)
    console.print(
        "epsilon says how much anyone could learn about one person: a guess with even odds stays below odds of "
        "e^epsilon to 1, whatever else is known.",
        highlight=False,
    )
