"""The studies that ``discreet demo`` can show, by name; each is loaded when it is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import InvalidParameter, expected, nearest_name

if TYPE_CHECKING:
    from rich.console import Console

Show = Callable[["Console", Path], None]
"""What shows a study: prints to the console, draws its pictures into the folder."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Study:
    """One study: the module whose ``run(console, folder)`` shows it, and what it is about in a few words."""

    module: str
    about: str

    @property
    def run(self) -> Show:
        """What shows it."""
        show: Show = import_module(self.module).run
        return show


FIRST = "people"
"""What is shown where no name is given."""

STUDIES: Mapping[str, Study] = {
    FIRST: Study(module="discreet.cli.demo", about="doctor visits and costs of the people of an experiment"),
    "kmeans": Study(module="discreet.cli.demo_kmeans", about="clusters of made-up customers, and which survive"),
    "counties": Study(module="discreet.cli.demo_counties", about="how many people live in each of 3,143 counties"),
    "logs": Study(module="discreet.cli.logs_study", about="a log of page visits, released as a log"),
    "pages": Study(module="discreet.cli.pages_study", about="the most liked page, asked in seven ways"),
}
"""In the order of the help page."""


def study(name: str) -> Study:
    """The study of this name.

    >>> study("people").about
    'doctor visits and costs of the people of an experiment'
    """
    if name not in STUDIES:
        raise InvalidParameter(expected(f"one of {', '.join(STUDIES)}", "STUDY", name, nearest_name(name, STUDIES)))
    return STUDIES[name]
