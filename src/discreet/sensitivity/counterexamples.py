"""Searches for two neighboring tables on which a function moves by more than is claimed.

Not left to Hypothesis, which is a tool of our tests and not among the dependencies.

Claim
    ``check_sensitivity(f, claimed, ...)`` tries pairs of tables that are neighbors under the stated relation and whose
    rows are all from the stated domain. A `Counterexample` in its result is such a pair, with the two values that f
    returned on it, at a distance above `claimed`. No witness proves nothing.
Requires
    f depends on its argument alone.
Relies on
    Exact fractions for the values and their distances.
Proof
    Each pair is made by `_pairs`: one row dropped for add-remove, one row overwritten for replace-one; so the tables
    are neighbors. The witness is kept only where the distance of the two returned values, in exact arithmetic, is above
    `claimed` by more than `slack` in relation.
Rounding
    None, but for norm 2, where squares are compared instead of roots.
Source
    Search for counterexamples: Ding, Wang, Wang, Zhang, Kifer, Detecting Violations of Differential Privacy (CCS 2018);
    the shapes of tables that break sums: Casacuberta, Shoemate, Vadhan, Wagaman, Widespread Underestimation of
    Sensitivity in Differentially Private Libraries (CCS 2022).
Mutant
    only-rows-added: under replace-one the replaced row keeps its place and value; killed by
    test_a_histogram_under_replace_one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from discreet.errors import InvalidParameter, NoTruth, expected
from discreet.exact.amounts import decimal_text, fraction, is_whole, root_above
from discreet.exact.given_values import values
from discreet.privacy.definitions import Neighbors
from discreet.sensitivity.workload_sensitivity import Norm, neighbors_of, norm_of

ODD_NUMBERS = (0, 1, -1, 2, 0.5, 0.1, 10, -10, 100, 1e3, -1e3, 1e6, -1e6, 1e-6)
"""Rows that are tried where no domain is given: a function that was meant to clip has to show it."""

SIZES = (0, 1, 2, 3, 5, 10, 30, 100)
GOLDEN = 0.6180339887498949
MOST_OTHERS = 24
"""A row is replaced by at most so many others of the domain, spread over it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Counterexample:
    """Two neighboring tables and what the function returned on each."""

    first: tuple[Any, ...]
    second: tuple[Any, ...]
    values: tuple[object, object]
    distance: Fraction | None
    """How far apart the values are; None where one of them is no number, or they differ in shape."""

    def __str__(self) -> str:
        apart = "which is no distance at all" if self.distance is None else f"{decimal_text(self.distance)} apart"
        return f"f({_short(self.first)}) = {self.values[0]!r}\nf({_short(self.second)}) = {self.values[1]!r}, {apart}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Search(NoTruth):
    """What a search found. It can show that a claim is wrong; it never shows that one is right."""

    _ask: ClassVar[str] = "ask whether the claim was broken: assert not dp.check_sensitivity(...).broken."

    claimed: Fraction
    witness: Counterexample | None
    largest: Fraction
    """The largest distance seen."""
    pairs: int
    """How many pairs of tables were tried."""

    @property
    def broken(self) -> bool:
        """Whether the claim was broken."""
        return self.witness is not None

    def __str__(self) -> str:
        if self.witness is None:
            seen = f"largest distance seen {decimal_text(self.largest)}, claimed {decimal_text(self.claimed)}"
            return f"Not broken by {self.pairs} pairs of tables ({seen}). This is no proof."
        return f"Broken: sensitivity is not {decimal_text(self.claimed)}.\n{self.witness}"


def check_sensitivity(
    f: Callable[[list[Any]], object],
    claimed: object,
    *,
    domain: Iterable[Any] = ODD_NUMBERS,
    neighbors: Neighbors | str = Neighbors.ADD_REMOVE,
    norm: object = 1,
    sizes: Sequence[int] = SIZES,
) -> Search:
    """Searches for neighboring tables on which f moves by more than `claimed`.

    Args:
        f: takes a list of rows, returns a number or an array of numbers (always of one shape).
        claimed: the sensitivity that is claimed for f.
        domain: rows that may occur, as many sorts as you can think of; odd numbers where you give none.
        neighbors: add-remove, or replace-one.
        norm: the distance between two returned arrays: 1, 2 or "inf".
        sizes: how many rows the tried tables have (under add-remove, the larger of the two).

    Returns:
        A `Search` whose `witness` is the pair that moved f most, if any moved it by more than claimed (beyond one part
        in 10**9, which is left to floating point). Without one, nothing is proved.

    Raises:
        InvalidParameter: the claim is negative, the domain empty, or a size is no count.

    >>> clipped = lambda rows: sum(min(max(row, 0), 50) for row in rows)
    >>> check_sensitivity(clipped, 50).broken
    False
    >>> print(check_sensitivity(sum, 50, domain=[0, 20, 50, 400]))
    Broken: sensitivity is not 50.
    f([400]) = 400
    f([]) = 0, 400 apart
    """
    relation, kind, claim = neighbors_of(neighbors), norm_of(norm), _claim(claimed)
    rows = values("domain", domain, "list some rows that may occur.")
    if not rows:
        raise InvalidParameter(expected("rows to try", "domain", rows, "list some rows that may occur."))
    tracker = _Tracker(f, kind, claim)
    for size in values("sizes", sizes, "list numbers of rows, as sizes=[0, 1, 5]."):
        for first, second in _pairs(rows, _size(size), relation):
            tracker.look(first, second)
    tracker.climb(rows, relation)
    return Search(claimed=claim, witness=tracker.witness(), largest=tracker.largest, pairs=tracker.pairs)


class _Tracker:
    """The farthest pair so far."""

    def __init__(self, f: Callable[[list[Any]], object], norm: Norm, claim: Fraction) -> None:
        self.f, self.norm, self.claim = f, norm, claim
        self.pairs = 0
        self.farthest: Counterexample | None = None
        self.half_defined: Counterexample | None = None

    @property
    def largest(self) -> Fraction:
        return (self.farthest.distance if self.farthest else None) or Fraction(0)

    def look(self, first: list[Any], second: list[Any]) -> bool:
        """Tries one pair, and says whether it is the farthest so far."""
        self.pairs += 1
        values = self._value(first), self._value(second)
        apart = _distance(values[0], values[1], self.norm)
        found = Counterexample(first=tuple(first), second=tuple(second), values=values, distance=apart)
        if apart is None:
            # A table on which f has no value (or one of another shape), beside one on which it has, gives a row away.
            self.half_defined = self.half_defined or found
            return False
        if self.farthest is None or apart > self.largest:
            self.farthest = found
            return True
        return False

    def climb(self, rows: list[Any], relation: Neighbors) -> None:
        """Changes single rows of the farthest pair while that moves f further."""
        improved = self.farthest is not None
        while improved and self.farthest is not None:
            improved = False
            base, others = list(self.farthest.first), _spread(rows, MOST_OTHERS)
            for place in range(len(base)):
                for other in others:
                    table = [*base[:place], other, *base[place + 1 :]]
                    improved |= any(self.look(*pair) for pair in _neighbors_of_table(table, others[:3], relation))

    def witness(self) -> Counterexample | None:
        slack = Fraction(1, 10**9)
        if self.farthest is not None and self.largest > self.claim * (1 + slack):
            return self.farthest
        return self.half_defined

    def _value(self, rows: list[Any]) -> object:
        try:
            with np.errstate(all="ignore"):
                return self.f(list(rows))
        except Exception as failure:  # noqa: BLE001 - whatever f raises, that it raises on this table is the finding
            return failure


def _pairs(rows: list[Any], size: int, relation: Neighbors) -> Iterator[tuple[list[Any], list[Any]]]:
    """Neighboring tables, the larger of `size` rows: all rows alike, two sorts in two halves, and mixtures."""
    others = _spread(rows, MOST_OTHERS)
    tables = [[row] * size for row in others]
    tables += [[row] * (size // 2) + [others[-1 - i]] * (size - size // 2) for i, row in enumerate(others[:6])]
    tables += [[rows[int(len(rows) * ((start + i) * GOLDEN % 1))] for i in range(size)] for start in range(6)]
    for table in tables:
        yield from _neighbors_of_table(table, others, relation)


def _neighbors_of_table(
    table: list[Any], others: list[Any], relation: Neighbors
) -> Iterator[tuple[list[Any], list[Any]]]:
    """The table beside its neighbors: without its first or last row, or with another row in their place."""
    if not table:
        return
    for place in sorted({0, len(table) - 1}):
        if relation is Neighbors.ADD_REMOVE:
            yield table, table[:place] + table[place + 1 :]
        else:
            yield from ((table, [*table[:place], other, *table[place + 1 :]]) for other in others)


def _spread(rows: list[Any], most: int) -> list[Any]:
    """At most so many of the rows, first and last among them."""
    if len(rows) <= most:
        return rows
    return [rows[round(i * (len(rows) - 1) / (most - 1))] for i in range(most)]


def _numbers(value: object) -> list[Fraction] | None:
    """The entries of a returned value; None where it is no finite number or array of them."""
    if isinstance(value, BaseException):
        return None
    flat = np.asarray(value, dtype=object).ravel().tolist()
    if any(isinstance(entry, float | np.floating) and not math.isfinite(entry) for entry in flat):
        return None
    return [Fraction(int(entry)) if isinstance(entry, bool | np.bool_) else _exact(entry) for entry in flat]


def _exact(entry: object) -> Fraction:
    # A float is taken as the binary number that it is: the question is by how much the returned values differ.
    return Fraction(float(entry)) if isinstance(entry, float | np.floating) else fraction("f(rows)", entry)


def _distance(first: object, second: object, norm: Norm) -> Fraction | None:
    one, other = _numbers(first), _numbers(second)
    if one is None or other is None:
        return Fraction(0) if one is other else None
    if len(one) != len(other):
        return None
    apart = [abs(a - b) for a, b in zip(one, other, strict=True)]
    if norm == 2:
        return root_above(Fraction(sum(d * d for d in apart)))
    return max(apart, default=Fraction(0)) if norm == "inf" else Fraction(sum(apart))


def _claim(claimed: object) -> Fraction:
    claim = fraction("claimed", claimed)
    if claim < 0:
        raise InvalidParameter(
            expected("a sensitivity of 0 or more", "claimed", claimed, "a distance is not negative.")
        )
    return claim


def _size(size: object) -> int:
    if not is_whole(size) or size < 0:
        raise InvalidParameter(expected("numbers of rows", "sizes", size, "write them as ints: sizes=(1, 2, 10)."))
    return int(size)


def _short(rows: tuple[Any, ...]) -> str:
    if len(rows) <= 6:
        return repr(list(rows))
    return f"[{', '.join(map(repr, rows[:3]))}, ..., {rows[-1]!r}] ({len(rows)} rows)"
