"""What the curator needs for a truncated total, and what it answers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import ibis.expr.types as ir
import pyarrow as pa

from discreet.answers.receipt import Receipt
from discreet.answers.stored_answers import whole_texts
from discreet.answers.table_exports import TableExports, within_64_bits
from discreet.errors import InvalidParameter, expected, printable
from discreet.exact.amounts import at_least_one, decimal_text
from discreet.guesses.answer_words import AT_LEAST, ReleasedNames
from discreet.mechanisms.contribution_limit_selection import CountsUnderLimits
from discreet.mechanisms.race_to_the_top import RaceToTheTop
from discreet.noise.entropy import RandomWords
from discreet.privacy.definitions import Guarantee, Neighbors
from discreet.privacy.events import Event
from discreet.truncation.pair_totals import totals_of_pairs

FULL = 2**61
"""The largest total, in parts, to which noise is added."""
LIMIT, NOISY = "limit", "total"
AUTO, RACE = "auto", "race"
"""The ways in which a limit is found."""
CUT = {
    False: "totals of what each unit has up to a limit",
    True: "the largest totals of parts of rows of which no unit has more than a limit",
}
"""What is counted; where rows belong to several units, how much of each row counts is chosen for the largest total."""
SHORT = "bound short by at most, if no unit has more"
CONFIDENCE = 0.95

Mechanism = CountsUnderLimits | RaceToTheTop


def ceiling(most: int) -> int:
    """The power of two that is not below a limit: of a range up to there, the steps of a lattice are exact.

    >>> ceiling(1), ceiling(1000), ceiling(1024)
    (1, 1024, 1024)
    """
    return 1 << (most - 1).bit_length()


@dataclass(frozen=True, eq=False)
class TruncatedTotal(TableExports, ReleasedNames):
    """A noisy total under the limit that was chosen, and a bound below which the true one is not likely to be."""

    _ask: ClassVar[str] = "ask for .at_least() or .value."
    _instead = AT_LEAST

    value: int | float
    """The noisy total of what units have up to `limit`; of a race, its bound of 95 %."""
    limit: int
    """How much of one unit counts at most; chosen with noise, or stated."""
    _receipt: Receipt
    _reading: TotalReading
    _noisy: tuple[int, ...]

    @property
    def receipt(self) -> Receipt:
        """What was promised, and how it was kept; a copy, ready for JSON."""
        return Receipt.of(self._receipt)

    def at_least(self, confidence: object = CONFIDENCE) -> int | float:
        """No more than the total of all units, with this confidence; there is no bound from above.

        It costs nothing: the same noisy numbers with other margins.

        Raises:
            InvalidParameter: the confidence is not between 0 and 1.
        """
        rule = self._reading.mechanism
        if isinstance(rule, RaceToTheTop):
            bound = rule.best(self._noisy, confidence).at_least
        else:
            bound = self._noisy[0] - rule.margin(self._reading.limits.index(self.limit), confidence)
        return max(0, self._reading.amount(bound))

    def short(self, largest: object, confidence: object = CONFIDENCE) -> int | float:
        """By how much `at_least` is short of the total, at most, with this confidence, if no unit has more than this.

        Of real amounts: of the total of rounded ones; ``explain`` says by how much less each row may count.

        Raises:
            InvalidParameter: no limit that was tried is so large.
        """
        most = at_least_one("largest", largest)
        place = next((i for i, limit in enumerate(self._reading.limits) if limit >= most), None)
        if place is None:
            cure = "ask with most=..., no less than what any unit has."
            raise InvalidParameter(expected(f"at most {self._reading.limits[-1]:,}", "largest", most, cure))
        return self._reading.amount(self._reading.mechanism.short(place, confidence) + self._reading.floored)

    def to_pyarrow(self, confidence: object = CONFIDENCE) -> pa.Table:
        """One row: the limit, the noisy total, and the ends of its interval, which has no upper one."""
        low = min(self.at_least(confidence), self.value)  # the race may be won otherwise at 95 %, or noise be below 0
        row = {LIMIT: self.limit, "value": self.value, "value_low": low, "value_high": math.inf}
        if self._reading.parts == 1:
            row |= {name: within_64_bits(row[name]) for name in ("value", "value_low")}
        return pa.Table.from_pylist([row], self._reading.shape)

    def __repr__(self) -> str:
        return printable(f"<at least {self.at_least():,} (95 %): {self._reading.what}>")


@dataclass(frozen=True, kw_only=True, eq=False)
class TotalReading:
    """What the curator needs for a truncated total."""

    of: str
    """The amount, as people read it; empty for rows."""
    limits: tuple[int, ...]
    expression: ir.Table
    """The totals under all limits in one row: one look at the rows."""
    finer: int
    """How many parts of those totals are one of the mechanism's."""
    parts: int
    """Of one, in which the mechanism counts."""
    mechanism: Mechanism
    neighbors: Neighbors
    each_of: bool = False
    """Whether rows belong to two units each: what is found are pairs of units, with what they have together."""
    row_rounding: float = 0.0
    """A real amount counts for less than it is by less than this, in its own units."""
    charged_event: Event | None = None

    @property
    def what(self) -> str:
        """The question in one line."""
        return f"the total of {self.of} of all units" if self.of else "the number of rows of all units"

    @property
    def guarantee(self) -> Guarantee:
        """What it costs."""
        return Guarantee(epsilon=self.mechanism.epsilon)

    @property
    def shape(self) -> pa.Schema:
        """The names and types of the answer as a table."""
        kind = pa.int64() if self.parts == 1 else pa.float64()
        return pa.schema({LIMIT: pa.int64(), "value": kind, "value_low": kind, "value_high": pa.float64()})

    @property
    def floored(self) -> int:
        """Parts that rounding a total down may take."""
        return int(self.parts > 1)

    def amount(self, steps: int) -> int | float:
        """A number of the mechanism's in the units of the amount."""
        return steps if self.parts == 1 else steps / self.parts

    @property
    def facts(self) -> Mapping[str, Any]:
        """All that determines the mechanism, ready for JSON."""
        rule = self.mechanism
        facts: dict[str, Any] = {
            "guarantee": f"{self.guarantee.promise} for {self.neighbors.value} neighbors",
            "charge": self.guarantee.amounts,
            "mechanism": f"discrete Laplace noise in {CUT[self.each_of]}",
            "limits": list(self.limits),
            "sensitivity": "the limit" if self.parts == 1 else f"the limit, in parts of 1/{self.parts:,}",
            "epsilon of a total": decimal_text(rule.counting(0).epsilon),
        }
        if isinstance(rule, RaceToTheTop):
            facts["limit chosen by"] = "race to the top: the largest noisy total less its margin"
        elif rule.choice is not None:
            facts["limit chosen by"] = "permute-and-flip of penalized totals"
            facts["penalty"] = decimal_text(rule.penalty)
        places = range(len(self.limits))
        margins = {str(self.limits[i]): self.amount(rule.margin(i, CONFIDENCE)) for i in places}
        short = {str(self.limits[i]): self.amount(rule.short(i, CONFIDENCE) + self.floored) for i in places}
        shown = {"too large by at most": margins, SHORT: short}
        return facts | shown | {"confidence": CONFIDENCE}

    def add_noise(self, found: pa.Table, words: RandomWords) -> pa.Table:
        """The chosen limit and its noisy total; of a race, all noisy totals."""
        exact = self.steps_of(found)
        if isinstance(self.mechanism, RaceToTheTop):
            noisy, limits = list(self.mechanism.release(exact, words=words)), list(self.limits)
        else:
            chosen = self.mechanism.release(exact, words=words)
            noisy, limits = [chosen.noisy], [self.limits[chosen.place]]
        texts = [str(one) for one in noisy]
        return pa.table({LIMIT: pa.array(limits, pa.int64()), NOISY: pa.array(texts, pa.string())})

    def check_shown(self, shown: pa.Table) -> None:
        """Refuses, by a ValueError, a table that is none of those that `add_noise` gives."""
        limits, is_race = shown[LIMIT].to_pylist(), isinstance(self.mechanism, RaceToTheTop)
        is_known = limits == list(self.limits) if is_race else len(limits) == 1 and limits[0] in self.limits
        if shown.column_names != [LIMIT, NOISY] or shown[LIMIT].type != pa.int64() or not is_known:
            raise ValueError(shown.schema)
        whole_texts(shown[NOISY])

    def steps_of(self, found: pa.Table) -> list[int]:
        """The exact total under each limit, in whole parts."""
        if self.each_of:
            exact = totals_of_pairs(found, [one * self.parts for one in self.limits])
        else:
            exact = [int(found[f"{NOISY}_{i}"][0].as_py() or 0) for i in range(len(self.limits))]
        return [min(one // self.finer, FULL) for one in exact]
