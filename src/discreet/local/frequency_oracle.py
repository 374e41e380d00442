"""Frequency oracles: the base class of all local reports, with tallies and unbiased estimates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.accounting.event_losses import HasLoss
from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import positive
from discreet.exact.given_values import array_of
from discreet.mechanisms.frequencies import Categories, Channel, Codes, Reals, to_simplex, warn_if_useless
from discreet.noise.entropy import RandomWords, fresh_words
from discreet.privacy.events import Event, PureEvent


@dataclass(frozen=True, kw_only=True)
class FrequencyOracle(HasLoss, ABC):
    """Reports of one category a person, each at epsilon, from which the share of every category can be estimated.

    `report` runs where the person trusts it. A collector needs `tally` and `estimate` alone.
    """

    epsilon: Fraction
    categories: Categories
    channel: Channel = field(init=False, repr=False)

    def __init__(self, *, epsilon: object, categories: object) -> None:
        listed = categories if isinstance(categories, Categories) else Categories.of(categories)
        object.__setattr__(self, "epsilon", positive("epsilon", epsilon))
        object.__setattr__(self, "categories", listed)
        object.__setattr__(self, "channel", self._prepare())

    @abstractmethod
    def _prepare(self) -> Channel:
        """Derives what a report is made of; returns the chances of supporting one's own and another category."""

    @abstractmethod
    def _randomize(self, codes: Codes, words: RandomWords) -> NDArray[Any]:
        """A report for each code."""

    @abstractmethod
    def tally(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """What is kept of many reports. Tallies of parts add up to the tally of the whole."""

    @abstractmethod
    def supports(self, tally: NDArray[np.int64]) -> Reals:
        """How many reports support each category: shape (categories,)."""

    @property
    def event(self) -> Event:
        """What a ledger records of one report."""
        return PureEvent(epsilon=self.epsilon)

    def report(self, values: ArrayLike, *, words: RandomWords | None = None) -> NDArray[Any]:
        """One report for each person's value; the first axis counts the people.

        Args:
            values: one category, or one for each person: shape () or (people,).
            words: where chance comes from; the operating system, if you do not test.

        Raises:
            InvalidParameter: a value is not among the categories, or the array has more than one axis.
        """
        codes = self.categories.codes(values)
        if codes.ndim > 1:
            cure = "one person reports one value; a person with several pays for each."
            raise InvalidParameter(expected("one value a person", "shape", codes.shape, cure))
        add_noise = self._randomize(codes.reshape(-1), words or fresh_words())
        return add_noise if codes.ndim else add_noise[0]

    def estimate(self, reports: ArrayLike, *, simplex: bool = False) -> Reals:
        """The share of the people in each category, shape (categories,): without bias, so some may be below 0.

        Args:
            reports: what `report` returned, from everybody.
            simplex: whether to move the shares to the nearest that are 0 or more and add up to 1.

        Raises:
            InvalidParameter: there are no reports, or they are not reports of this kind.
        """
        collected = array_of("reports", reports)
        return self.estimate_tally(self.tally(collected), people=collected.shape[0], simplex=simplex)

    def estimate_tally(self, tally: NDArray[np.int64], *, people: int, simplex: bool = False) -> Reals:
        """As `estimate`, from a tally of the reports of so many people.

        Warns where epsilon is below 1/people: then not even one count of all the people would say anything.
        """
        shares = self.channel.estimate(self.supports(tally), people=people)
        warn_if_useless(self.epsilon, people, float(np.sqrt(self.variance(people=people))))
        return to_simplex(shares) if simplex else shares

    def variance(self, share: ArrayLike = 0.0, *, people: int) -> Reals:
        """The exact variance of the estimated share of a category that this share of the people have."""
        return self.channel.variance(share, people=people)


def whole_reports(reports: NDArray[Any], bound: int) -> NDArray[np.int64]:
    """The reports as integers below `bound`.

    Raises:
        InvalidParameter: they are something else.
    """
    sound = reports.ndim == 1 and reports.dtype.kind in "iu"
    if not sound or (reports.size and (int(reports.min()) < 0 or int(reports.max()) >= bound)):
        cure = "pass what `report` returned, under the same epsilon and categories."
        raise InvalidParameter(expected(f"one report from 0 to {bound - 1} a person", "reports", "others", cure))
    return reports.astype(np.int64, copy=False)
