"""``discreet demo pages``: which page do most people like, where a person may like any number? Asked in seven ways."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.cli.terminal_tables import rich_rows
from discreet.logs.example_log import example_visits
from discreet.logs.favorite_page import Likes, most_liked_errors, most_liked_figure, most_liked_table

if TYPE_CHECKING:
    from rich.console import Console

EPSILON, DELTA = 0.3, 1e-6
PAGES = 1_000

INTRODUCTION = (
    "[bold]The most liked page, where a person may like any number of pages[/]\n"
    "5,000 made-up people and 1,000 pages. One person can move as many counts as they like pages, so noise on all "
    "counts must hide them all. But each like moves one score by 1, and all the same way: to name the best page, noise "
    "of scale 1/epsilon on each score is enough, however many pages a person likes."
)

EXPLAINED = (
    "[italic]mode missed[/]: how many fewer people like the named page than the most liked one. [italic]top found[/]: "
    "places of the top 10 that were filled with pages as liked as those. [italic]top missed[/]: likes of the top 10 "
    "that are missing. [italic]count off by[/]: in people; likes that were cut are missing too."
)


def run(console: Console, folder: Path) -> None:
    """Asks in all ways, prints their errors beside each other, draws them over epsilon into `folder`."""
    console.print(INTRODUCTION, highlight=False)
    catalogue = [f"/page/{place + 1}" for place in range(PAGES)]
    likes = Likes.of(example_visits(users=5_000, pages=PAGES), person="user", page="page", catalogue=catalogue)
    found = most_liked_table(most_liked_errors(likes, epsilon=EPSILON, delta=DELTA, runs=10))
    console.print(
        rich_rows(found, title=f"epsilon {EPSILON} for each way, delta {DELTA:g} where one is needed; 10 runs")
    )
    console.print(EXPLAINED, highlight=False)
    target = folder / "pages.png"
    most_liked_figure(likes, delta=DELTA, runs=3, path=target)
    console.print(f"Picture: {target}", highlight=False)
