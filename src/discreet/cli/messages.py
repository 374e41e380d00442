"""What is told on standard error: refusals with their cure, what was charged, and that work goes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError, printable

if TYPE_CHECKING:
    from rich.console import Console

SPELLED = {
    "unit=": "--unit person, or --each-row",
    "bounds=": "--bounds visits=0:50",
    ".clip(0, high)": "--bounds visits=0:1000",
    "keys=": "--keys plan=free,25%",
    "dp.UNKNOWN_BY_COUNT": "--keys unknown-by-count --delta 1e-8",
    "dp.UNKNOWN": "--keys unknown --delta 1e-8",
    "delta=": "--delta 1e-8",
    "max_groups": "--max-groups 2",
    "max_rows": "--max-rows 5",
    "schema=": "--schema person=int64,plan=string",
    "neighbors=": "--neighbors replace-one",
    "allowance=": "--allowance 1",
    "ledger=": "--ledger spent.db",
    "to='": "--output answer.parquet",
    "without to=": "--output with another ending than .parquet, or none",
}
"""How what a refusal asks for is written on the command line."""


def errors() -> Console:
    """Standard error, for people."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=False)


def refused(problem: DiscreetError) -> None:
    """A refusal in a frame, with the options that its cure needs."""
    from rich.panel import Panel
    from rich.text import Text

    text = str(problem)  # in which nothing commands a terminal
    _, _, cure = text.partition("\nHint: ")
    options = [option for word, option in SPELLED.items() if word in cure and not word.startswith("--")]
    if options:
        text += f"\nOn the command line: {'; '.join(options)}."
    errors().print(Panel(Text(text), title=type(problem).__name__, title_align="left", border_style="red"))


def failed(what: str, problem: Exception) -> str:
    """What could not be done and why, in one line that ends with a period."""
    return f"{what}: {' '.join(str(problem).split()).removesuffix('.')}."


def print_line(text: str) -> None:
    """One line for people."""
    with suppress(OSError, ValueError):  # nowhere is left to tell it
        errors().print(printable(text), markup=False, soft_wrap=True)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Shows that work goes on, and for how long; only where somebody watches."""
    console = errors()
    if not console.is_terminal:
        yield
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False) as progress:
        progress.add_task(what, total=None)
        yield
