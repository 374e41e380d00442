"""Scripted noise, an example table, neighbors, and statistical assertions, for our tests and our users'.

Nothing that is released with the noise from here is private, and its receipt says so.

- `people`, `visits`: a small protected table of made-up people, and its rows.
- `counties`: made-up populations of 3,143 counties in 51 states.
- `not_private`: any protected table, with noise that a test can foresee.
- `scripted`, `splitmix`: sources of words that can be foreseen.
- `chi_square_p`, `joint_p`, `vectors_p`, `binomial_p`, `clopper_pearson`: does a sample follow the promised law?
- `planted`: samplers that are wrong on purpose, to try such tests on.
- `discreet.testing.neighbors`: hostile tables and their neighbors, as strategies of Hypothesis (which has to be
  installed).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.public_names import loading

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

_NAMES = {
    "discreet.testing.example_tables": ("not_private", "people", "visits"),
    "discreet.testing.populations": ("counties",),
    "discreet.testing.scripted_words": ("scripted", "splitmix"),
    "discreet.testing.statistics": (
        "binomial_p",
        "chi_square_p",
        "clopper_pearson",
        "joint_p",
        "planted",
        "vectors_p",
    ),
}
"""The names of each module; loaded when they are first used."""

__getattr__, __dir__, __all__ = loading(__name__, _NAMES)
