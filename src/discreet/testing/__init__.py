"""Scripted noise, an example table, neighbors, and statistical assertions, for our tests and our users'.

Nothing that is released with the noise from here is private, and its receipt says so.

- `people`, `visits`: a small protected table of made-up people, and its rows.
- `counties`: made-up populations of 3,143 counties in 51 states.
- `not_private`: any protected table, with noise that a test can foresee.
- `scripted`, `splitmix`: sources of words that can be foreseen.
- `chi_square_p`, `joint_p`, `vectors_p`, `binomial_p`, `clopper_pearson`: does a sample follow the promised law?
- `planted`: samplers that are wrong on purpose, to try such tests on.
- `discreet.testing.neighbors`: hostile tables, their neighbors and random questions, as strategies of Hypothesis
  (which has to be installed).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.testing.example_tables import not_private as not_private
    from discreet.testing.example_tables import people as people
    from discreet.testing.example_tables import visits as visits
    from discreet.testing.populations import counties as counties
    from discreet.testing.scripted_words import scripted as scripted
    from discreet.testing.scripted_words import splitmix as splitmix
    from discreet.testing.statistics import binomial_p as binomial_p
    from discreet.testing.statistics import chi_square_p as chi_square_p
    from discreet.testing.statistics import clopper_pearson as clopper_pearson
    from discreet.testing.statistics import joint_p as joint_p
    from discreet.testing.statistics import planted as planted
    from discreet.testing.statistics import vectors_p as vectors_p

_HOMES = {
    "binomial_p": "discreet.testing.statistics",
    "chi_square_p": "discreet.testing.statistics",
    "clopper_pearson": "discreet.testing.statistics",
    "counties": "discreet.testing.populations",
    "joint_p": "discreet.testing.statistics",
    "not_private": "discreet.testing.example_tables",
    "people": "discreet.testing.example_tables",
    "planted": "discreet.testing.statistics",
    "scripted": "discreet.testing.scripted_words",
    "splitmix": "discreet.testing.scripted_words",
    "vectors_p": "discreet.testing.statistics",
    "visits": "discreet.testing.example_tables",
}
"""Where each name lives; loaded when it is first used (PEP 562)."""

__all__ = sorted(_HOMES)  # noqa: PLE0605 (a list all the same)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.testing' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
