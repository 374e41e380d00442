"""Which local report to use: the exact error of each kind, for a number of categories and an epsilon."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import InvalidParameter
from discreet.exact.amounts import decimal_text, positive
from discreet.local.frequency_oracle import FrequencyOracle
from discreet.local.hadamard_response import HadamardResponse
from discreet.local.local_hashing import LocalHashing
from discreet.local.unary_encoding import UnaryResponse
from discreet.mechanisms.frequencies import Categories
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.plots.lines import lines_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Choice = RandomizedResponse | FrequencyOracle

EPSILONS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0)
NEARLY = 1.05
"""Kinds whose variance is within so many times the smallest count as equal; the shortest report then decides."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Option:
    """One kind of report."""

    oracle: Choice
    variance: float
    """n times the variance of the estimated share of a rare category among n people."""
    bits: int
    """The length of a report."""

    @property
    def name(self) -> str:
        """The class to use."""
        return type(self.oracle).__name__


@dataclass(frozen=True, kw_only=True, slots=True)
class Advice:
    """The kinds of report, the recommended one first."""

    epsilon: Fraction
    options: tuple[Option, ...]

    @property
    def oracle(self) -> Choice:
        """The recommended one, ready to use."""
        return self.options[0].oracle

    def __str__(self) -> str:
        lines = [f"{'':20}{'n * variance':>14}{'bits a report':>15}"]
        lines += [f"{option.name:20}{option.variance:14.4g}{option.bits:15,}" for option in self.options]
        return f"For epsilon={decimal_text(self.epsilon)}:\n" + "\n".join(lines)


def choose_report(*, epsilon: object, categories: object) -> Advice:
    """Compares the local reports for so many categories at this epsilon.

    The smallest variance wins; among those within 5 % of it, the shortest report. For few categories, below about
    3 e^epsilon + 2, that is randomized response; for many, local hashing or, at a small epsilon, Hadamard response.

    >>> print(choose_report(epsilon=1, categories=1000))
    For epsilon=1:
                          n * variance  bits a report
    LocalHashing                 3.692             14
    UnaryResponse                3.683          1,000
    HadamardResponse             4.683             10
    RandomizedResponse           338.9             10
    """
    exact, listed = positive("epsilon", epsilon), Categories.of(categories)
    size = listed.size
    found = [
        _option(RandomizedResponse(epsilon=exact, categories=listed), (size - 1).bit_length()),
        _option(UnaryResponse(epsilon=exact, categories=listed), size),
    ]
    hadamard = HadamardResponse(epsilon=exact, categories=listed)
    found.append(_option(hadamard, (hadamard.columns - 1).bit_length()))
    try:
        hashing = LocalHashing(epsilon=exact, categories=listed)
    except InvalidParameter:
        pass  # more hash functions than a tally holds
    else:
        found.append(_option(hashing, (hashing.functions * hashing.hashes - 1).bit_length()))
    least = min(option.variance for option in found)
    ranked = sorted(found, key=lambda option: option.variance)
    near = sorted((option for option in ranked if option.variance <= NEARLY * least), key=lambda option: option.bits)
    rest = [option for option in ranked if option.variance > NEARLY * least]
    return Advice(epsilon=exact, options=(*near, *rest))


def _option(oracle: Choice, bits: int) -> Option:
    return Option(oracle=oracle, variance=float(oracle.variance(people=1)), bits=bits)


def report_error_figure(
    *,
    categories: int,
    epsilons: Sequence[float] = EPSILONS,
    ax: object = None,
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """n times the variance of a share, for each kind of report, over epsilon. `ax` draws in axes of yours, `path` saves
    the figure.

    >>> report_error_figure(categories=10, epsilons=(1, 2)).axes[0].get_xlabel()
    'epsilon'
    """
    curves: dict[str, list[float]] = {}
    for epsilon in epsilons:
        for option in choose_report(epsilon=epsilon, categories=categories).options:
            curves.setdefault(option.name, []).append(option.variance)
    drawn = {name: curve for name, curve in curves.items() if len(curve) == len(epsilons)}
    caption, y_label = f"{categories:,} categories", "n · variance of a share"
    return lines_figure(epsilons, drawn, x_label="epsilon", y_label=y_label, caption=caption, ax=ax, path=path)
