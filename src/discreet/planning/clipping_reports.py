"""How far bounds and limits bend an answer: noisy shares of the units that they made a difference to.

Claim
    `shares` is a function of noisy counts and public numbers, and each of its intervals holds the exact share with the
    stated confidence at least.
Requires
    Counts of units in four bins, each unit in one: touched by neither, the first, the second, or both; integer noise of
    this scale.
Relies on
    `noise.laplace_sum.quantile`.
Proof
    A share is a ratio of sums a / n of two and of four noisy counts. Each is within the quantile of its noise, at half
    of the allowed miss, with the stated confidence; both at once by a union bound; and then the ratio is within those
    of the ends, since n > 0 where its lower end is above 0, and within [0, 1] always.
Rounding
    Quantiles up.
Source
    "Result should show clipping": the most repeated wish of people who had to choose bounds; intervals by Bonferroni.
Mutant
    total-is-known: the number of units is taken for exact; killed by test_intervals_hold_the_share.
    reports-beside-ranks: a report is charged for beside a quantile, and the answer is lost; killed by
    test_what_it_does_not_go_with_is_refused_unread.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from discreet.errors import InvalidParameter, InvalidQuery, expected
from discreet.exact.given_values import in_memory
from discreet.language.checked_expressions import Value
from discreet.noise.laplace_sum import quantile
from discreet.planning.contribution_limits import check_moved
from discreet.planning.plan import Query

KINDS = ("clipped", "weighted")
BINS = 4
CONFIDENCE = 0.95


def bounded_values(query: Query) -> list[Value]:
    """The values of a query that are clipped, each once, in the order of its aggregates."""
    found: dict[Any, Value] = {}
    for a in query.aggregates:
        for value in a.values:
            if value.interval is not None and not a.statistic.counts:
                found.setdefault(value.expr.op(), value)
    return list(found.values())


def is_stated(report: object) -> bool:
    """Whether any report was asked for."""
    return not isinstance(report, str | tuple | list | set | frozenset) or len(report) > 0


def reports(query: Query, stated: str | Iterable[str]) -> frozenset[str]:
    """The reports to release with an answer; refuses those that it cannot have."""
    listed: Iterable[Any] = [stated] if isinstance(stated, str) else stated
    if not isinstance(listed, frozenset | set) and not in_memory(listed):
        listed = [listed]
    if wrong := next(([kind] for kind in listed if not isinstance(kind, str) or kind not in KINDS), None):
        raise InvalidParameter(expected("'clipped' or 'weighted'", "report", wrong[0], 'write report="clipped".'))
    found = frozenset(listed)
    if found:
        check_moved(query.declaration, "report")
        check_no_ranks(query, "report")
    if "clipped" in found and not bounded_values(query):
        raise InvalidQuery(
            "Expected a column that is added up, got none to report clipping of.\n"
            "Hint: leave the report out: counts are not clipped."
        )
    if "weighted" in found and query.by_row:
        raise InvalidQuery(
            "Expected units with several rows, got rows that are units to report weights of.\n"
            "Hint: leave the report out: nothing is weighted down."
        )
    return found


def check_no_ranks(query: Query, what: str) -> None:
    """Refuses what is found by a first look beside order statistics, which have no part in its answer."""
    ranked = next((a.name for a in query.aggregates if a.statistic.apart), None)
    if ranked is not None:
        cure = "ask for it in a question of its own."
        wanted = f"totals alone beside {what}=, no quantile, end or number of values"
        raise InvalidQuery(expected(wanted, "aggregate", ranked, cure))


def shares(noisy: NDArray[Any], scale: Fraction, names: tuple[str, str]) -> dict[str, dict[str, float]]:
    """Two shares of all units with their intervals, from the noisy counts of four bins.

    >>> import numpy as np
    >>> shares(np.array([900, 50, 30, 20]), Fraction(1, 100), ("low", "high"))["low"]
    {'share': 0.07, 'low': 0.0676, 'high': 0.0724}
    """
    counts = [int(count) for count in noisy]
    total, step = sum(counts), float(1 / scale)
    some, all_of = (
        float(scale) * float(quantile([1.0] * terms, 1 - (1 - CONFIDENCE) / 2, step=step)) for terms in (2, 4)
    )
    return {
        name: _ratio(counts[place] + counts[3], total, some, all_of) for name, place in zip(names, (1, 2), strict=True)
    }


def _ratio(part: int, total: int, some: float, all_of: float) -> dict[str, float]:
    low = max(0.0, part - some) / max(total + all_of, 1.0)
    high = (max(part, 0) + some) / (total - all_of) if total > all_of else 1.0
    low, high = min(low, 1.0), min(max(high, 0.0), 1.0)
    middle = min(max(part / total, 0.0), 1.0) if total > 0 else 0.5
    return {"share": round(middle, 4), "low": math.floor(1e4 * low) / 1e4, "high": math.ceil(1e4 * high) / 1e4}
