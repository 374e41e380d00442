"""``discreet demo logs``: a log of page visits released as a log, and the release that does not keep its promise."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from discreet.cli.terminal_tables import rich_rows
from discreet.exact.amounts import fraction
from discreet.logs.example_log import example_visits
from discreet.logs.multinomial import sample_own_log
from discreet.logs.multinomial_sampling import most_multinomial_rows
from discreet.logs.release_log import release_log

if TYPE_CHECKING:
    from rich.console import Console

USERS = 20_000
EPSILON, DELTA, MAX_ITEMS = 2, 1e-7, 20
SHOWN = 12

INTRODUCTION = (
    "[bold]A log, released as a log[/]\n"
    "20,000 made-up users and the pages that they visited. Nobody can list the pages beforehand, and many of them have "
    "one visitor, whom they would name."
)

NOT_ENOUGH = (
    "[italic]The multinomial release of Hong and others (2012), for comparison[/]\n"
    "Its condition speaks of drawing users for row counts that are fixed. Those it computes from the log itself, so it "
    "promises nothing from end to end; and of {users:,} users, any delta leaves at most {users:,} log 1/(1 - delta) "
    "rows."
)


def run(console: Console, folder: Path) -> None:
    """Releases the log, prints it beside the truth, draws a picture into `folder`."""
    console.print(INTRODUCTION, highlight=False)
    log = example_visits(users=USERS)
    released = release_log(
        log,
        user="user",
        item="page",
        epsilon=EPSILON,
        delta=DELTA,
        max_items=MAX_ITEMS,
    )
    true = truth(log)
    first = released.items.slice(0, SHOWN)
    beside = first.append_column("true", pa.array([true[page] for page in first["page"].to_pylist()]))
    receipt = released.receipt
    caption = (
        f"{released.items.num_rows:,} of {len(true):,} pages, those with about {receipt['threshold_users']:.0f} users "
        f"or more; {len(released):,} rows; cost: epsilon {EPSILON}, delta {DELTA:g}"
    )
    console.print(rich_rows(beside, title=caption))
    console.print(
        f"A user counts in at most {MAX_ITEMS} pages, so that the users of large pages come out somewhat low. Three "
        "rows of the released log:",
        highlight=False,
    )
    console.print(rich_rows(released.to_pyarrow().slice(0, 3)))
    target = folder / "log.png"
    released.plot(truth=true, path=target)
    console.print(f"Picture: {target}\n", highlight=False)
    _not_enough(console, log)


def truth(log: pa.Table) -> dict[str, int]:
    """How many users each page has."""
    grouped = log.group_by("page").aggregate([("user", "count_distinct")])
    return dict(zip(grouped["page"].to_pylist(), grouped["user_count_distinct"].to_pylist(), strict=True))


def _not_enough(console: Console, log: pa.Table) -> None:
    """What the multinomial release leaves, for a delta that means something and for ones that do not."""
    console.print(NOT_ENOUGH.format(users=USERS), highlight=False)
    rows = []
    for delta in (DELTA, 0.01, 0.5):
        sample = sample_own_log(log, user="user", item="page", epsilon=EPSILON, delta=delta)
        rows.append((f"{delta:g}", len(sample), most_multinomial_rows(USERS, fraction("delta", delta))))
    names = ("delta", "rows it gives", "rows at the very most")
    console.print(rich_rows(pa.table(dict(zip(names, map(pa.array, zip(*rows, strict=True)), strict=True)))))
