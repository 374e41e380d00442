"""Verbs of rooms above this one that give a bound from below, of what one unit may have any number of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from discreet.guesses.misfit_calls import with_usage_hint
from discreet.query.application_verbs import ask_application

if TYPE_CHECKING:  # what they return, for a type checker alone
    from discreet.distinct_values.count_distinct import DistinctValues
    from discreet.query.unpriced_question import UnpricedQuestion
    from discreet.truncation.truncated_total_release import TruncatedTotal


class LowerBounds:
    """What can be said of a protected table at least, where nobody stated limits."""

    @overload
    def count_distinct(
        self, column: str, *, epsilon: None = None, max_values: int | str = "auto"
    ) -> UnpricedQuestion[DistinctValues]: ...

    @overload
    def count_distinct(
        self, column: str, *, epsilon: object, max_values: int | str = "auto", fresh: bool = False
    ) -> DistinctValues: ...

    @with_usage_hint(".count_distinct('city', epsilon=0.5)")
    def count_distinct(
        self, column: str, *, epsilon: object = None, max_values: int | str = "auto", fresh: bool = False
    ) -> DistinctValues | UnpricedQuestion[DistinctValues]:
        """How many different values of a column occur, where nobody listed them: a lower bound, for one charge.

        A unit may have any number of values. Of those that it alone has, no private answer can count many, so each unit
        counts a few: for each limit 1, 2, 4 and so on, the number of values is found that can be counted if each is
        counted by one unit that has it, and none counts more. Half of epsilon chooses the limit, and the other half is
        for the noise of its count. The answer has ``value``, that noisy count; ``at_least(confidence=0.95)``, than
        which there are no fewer values, with that confidence; ``limit`` and ``receipt``. NULL is no value. As a
        column of an answer it is ``.agg(n=_.city.nunique())``, which counts those that occur where they are public.
        Without a price it is the question, with ``.explain(...)``, ``.document()`` and ``.release(epsilon=0.5)``.

        Args:
            column: of whole numbers, truth values, text, dates or timestamps.
            epsilon: what it costs.
            max_values: how many values one unit may count, at all of epsilon, where you know it; "auto" chooses.
            fresh: whether to draw anew and pay anew where the same was asked before.

        >>> from discreet.testing import people
        >>> found = people().count_distinct("plan", epsilon=5)
        >>> found.at_least() <= found.value, found.receipt.charge
        (True, Guarantee(epsilon=5))
        """
        options, price = {"max_values": max_values}, {"epsilon": epsilon, "fresh": fresh}
        found: DistinctValues | UnpricedQuestion[DistinctValues]
        found = ask_application("count_distinct", (self, column), options, price)
        return found


class TruncatedTotals:
    """What can be said of totals at least, where nobody stated limits; also where a row belongs to several units."""

    @overload
    def truncated_total(
        self, value: Any = None, *, epsilon: None = None, limit: int | str = "auto", most: int | None = None
    ) -> UnpricedQuestion[TruncatedTotal]: ...

    @overload
    def truncated_total(
        self,
        value: Any = None,
        *,
        epsilon: object = None,
        limit: int | str = "auto",
        most: int | None = None,
        fresh: bool = False,
    ) -> TruncatedTotal: ...

    @with_usage_hint(".truncated_total(_.minutes, epsilon=0.5)")
    def truncated_total(
        self,
        value: Any = None,
        *,
        epsilon: object = None,
        limit: int | str = "auto",
        most: int | None = None,
        fresh: bool = False,
    ) -> TruncatedTotal | UnpricedQuestion[TruncatedTotal]:
        """How many rows there are, or what amounts add up to, where a unit may have any number: a bound from below.

        For each limit 1, 2, 4 and so on, the total is found of what each unit has up to there. With "auto", half of
        epsilon chooses the limit, and the other half is for the noise of its total; "race" is R2T, the race to the top,
        in which the totals of all limits have noise, and the largest less its margin wins. The answer has ``value``;
        ``at_least(confidence=0.95)``, no more than the total; ``short(largest)``, by how much that bound is short of
        the total if no unit has more than ``largest``, for every table; ``limit`` and ``receipt``. Without a price it
        is the question, with ``.document()``, ``.explain(epsilon=0.5)`` and ``.release(epsilon=0.5)``.

        Args:
            value: a column, an amount or a condition; the rows are counted if it is left out.
            epsilon: what it costs.
            limit: "auto", "race", or how much of one unit counts at most, at all of epsilon, where you know it.
            most: the largest limit that is tried; what was declared, or 2**20, if you leave it out.
            fresh: whether to draw anew and pay anew where the same was asked before.

        >>> from discreet.testing import people
        >>> found = people().truncated_total("visits", epsilon=5)
        >>> found.at_least() <= found.value, found.receipt.charge
        (True, Guarantee(epsilon=5))
        """
        options = {"limit": limit, "most": most}
        price = {"epsilon": epsilon, "fresh": fresh}
        found: TruncatedTotal | UnpricedQuestion[TruncatedTotal]
        found = ask_application("truncated_total", (self, value), options, price)
        return found
