"""How many different values of a column occur in a table, for which nobody has to list any: a lower bound.

Claim
    `count_distinct` is epsilon-differentially private for the declared neighbors, whatever values a unit has, and
    however many. With its confidence, the bound ``at_least(confidence)`` is no more than the number of values.
Requires
    A table behind the barrier of `language.input_barrier`, whose rows belong to one unit each.
Relies on
    `planning.unlisted_values`, whose claim it is for one column, with limits that may be stated.
    `engines.unit_value_pairs`.
Proof
    There; a stated limit is one of the public ones. The margin is kept for the count that was chosen, which is no more
    than the number of values, and a bound below 0 is raised to 0.
Rounding
    None here.
Source
    Knop and Steinke, "Counting distinct elements under person-level differential privacy" (NeurIPS 2023).
Mutant
    distinct-limits-unstated: a stated limit is not used; killed by test_what_the_noise_is_for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from discreet.answers.receipt import Receipt
from discreet.answers.stored_answers import whole_texts
from discreet.answers.table_exports import TableExports, within_64_bits
from discreet.engines.unit_value_pairs import UNIT, VALUE, value_pairs
from discreet.errors import InvalidParameter, InvalidQuery, expected, printable
from discreet.exact.amounts import at_least_one, decimal_text
from discreet.exact.given_values import flag
from discreet.guesses.answer_words import AT_LEAST, ReleasedNames
from discreet.language.checked_expressions import Kind, told_apart
from discreet.ledger.ledger import stated_guarantee
from discreet.mechanisms.contribution_limit_selection import CountsUnderLimits
from discreet.noise.entropy import RandomWords
from discreet.planning.unlisted_values import assignment_noise, tried_limits
from discreet.privacy.declaration import Declaration
from discreet.privacy.definitions import Guarantee, Neighbors
from discreet.privacy.events import Event
from discreet.query.explain_application import application_account, drawn_total, paid_part, promised
from discreet.query.explanation import Accuracy, ErrorOf, Explanation
from discreet.query.question_documents import document_of
from discreet.query.recorded_verbs import RecordedApplication
from discreet.query.source import ReleaseCall
from discreet.query.table import PrivateTable
from discreet.query.table_view import view_of
from discreet.query.unpriced_question import UnpricedQuestion
from discreet.sensitivity.capped_matching import assigned

LARGEST = 2**30
"""Of a stated limit: there are fewer pairs of a unit and a value."""
LIMIT, COUNT = "limit", "count"
CONFIDENCE = 0.95
SHAPE = pa.schema({LIMIT: pa.int64(), "value": pa.int64(), "value_low": pa.int64(), "value_high": pa.float64()})
MOST_TOLD = 5
"""Of the limits that are compared with each other before a charge."""
FROM_BELOW = "how far above the number of values that occur it is; how far below, nobody can say of any rows"


@dataclass(frozen=True, eq=False)
class DistinctValues(TableExports, ReleasedNames):
    """A noisy number of values, and a bound below which the true one is not likely to be."""

    _ask: ClassVar[str] = "ask for .at_least() or .value."
    _instead = AT_LEAST

    column: str
    value: int
    """The noisy number of values that can be counted if no unit counts more than `limit` of them."""
    limit: int
    """How many values one unit counts at most; chosen with noise, or stated."""
    _receipt: Receipt
    _mechanism: CountsUnderLimits

    @property
    def receipt(self) -> Receipt:
        """What was promised, and how it was kept; a copy, ready for JSON."""
        return Receipt.of(self._receipt)

    def at_least(self, confidence: object = CONFIDENCE) -> int:
        """No more than the number of values that occur, with this confidence; there is no bound from above.

        It costs nothing: the same noisy number with another margin.

        Raises:
            InvalidParameter: the confidence is not between 0 and 1.
        """
        return max(0, self.value - self._mechanism.margin(self._mechanism.limits.index(self.limit), confidence))

    def to_pyarrow(self, confidence: object = CONFIDENCE) -> pa.Table:
        """One row: the limit, the noisy number, and the ends of its interval, which has no upper one."""
        value, low = map(within_64_bits, (self.value, min(self.at_least(confidence), self.value)))  # it may be below 0
        row = {LIMIT: self.limit, "value": value, "value_low": low, "value_high": math.inf}
        return pa.Table.from_pylist([row], SHAPE)

    def __repr__(self) -> str:
        return printable(f"<at least {self.at_least():,} values of {self.column!r} (95 %)>")


@dataclass(frozen=True, kw_only=True, eq=False)
class DistinctReading:
    """What the curator needs to count the values of a column."""

    column: str
    expression: ir.Table
    mechanism: CountsUnderLimits
    neighbors: Neighbors
    charged_event: Event | None = None

    @property
    def what(self) -> str:
        """The question in one line."""
        return f"how many values of {printable(self.column)} there are"

    @property
    def guarantee(self) -> Guarantee:
        """What it costs."""
        return Guarantee(epsilon=self.mechanism.epsilon)

    @property
    def facts(self) -> Mapping[str, Any]:
        """All that determines the mechanism, ready for JSON."""
        rule, limits = self.mechanism, self.mechanism.limits
        part = rule.counting(0).epsilon
        facts: dict[str, Any] = {
            "guarantee": f"{self.guarantee.promise} for {self.neighbors.value} neighbors",
            "charge": self.guarantee.amounts,
            "mechanism": "discrete Laplace noise in a largest assignment of values to units",
            "limits": list(limits),
            "sensitivity": f"{rule.units} times the limit" if rule.units > 1 else "the limit",
            "epsilon of the count": decimal_text(part),
        }
        if rule.choice is not None:
            facts["limit chosen by"] = "permute-and-flip of penalized counts"
            facts["penalty"] = decimal_text(rule.penalty)
        margins = {str(limit): rule.margin(place, CONFIDENCE) for place, limit in enumerate(limits)}
        return facts | {"too large by at most": margins, "confidence": CONFIDENCE}

    def add_noise(self, found: pa.Table, words: RandomWords) -> pa.Table:
        """The chosen limit, and the noisy count."""
        codes = [np.asarray(found[name].to_numpy(), dtype=np.int64) for name in (UNIT, VALUE)]
        counts = assigned(codes[0], codes[1], self.mechanism.limits)
        chosen = self.mechanism.release(counts, words=words)
        limit = self.mechanism.limits[chosen.place]
        return pa.table({LIMIT: pa.array([limit], pa.int64()), COUNT: pa.array([str(chosen.noisy)], pa.string())})

    def check_shown(self, shown: pa.Table) -> None:
        """Refuses, by a ValueError, a table that is none of those that `add_noise` gives."""
        limits = shown[LIMIT].to_pylist()
        is_known = len(limits) == 1 and limits[0] in self.mechanism.limits
        if shown.column_names != [LIMIT, COUNT] or shown[LIMIT].type != pa.int64() or not is_known:
            raise ValueError(shown.schema)
        whole_texts(shown[COUNT])


def count_distinct(
    table: PrivateTable, column: str, *, epsilon: object, max_values: int | str = "auto", fresh: bool = False
) -> DistinctValues:
    """How many values of a column occur, for one charge; see `PrivateTable.count_distinct`.

    Raises:
        InvalidQuery, InvalidParameter: there is no such column, or its values are not compared exactly; nothing is read
            or spent.
        BudgetExceeded: nothing has been read or spent.
    """
    flag("fresh", fresh)
    reading, source = priced_count(table, column, price=stated_guarantee(epsilon), max_values=max_values)
    call = ReleaseCall(
        document=partial(document_of, _recorded(table, reading, max_values)),
        price={"epsilon": epsilon},
        account=partial(count_account, reading, source.declaration, CONFIDENCE),
    )
    shown, receipt = source.read(reading, fresh=fresh, call=call)
    value, limit = int(shown[COUNT][0].as_py()), int(shown[LIMIT][0].as_py())
    return DistinctValues(reading.column, value, limit, Receipt(receipt), reading.mechanism)


def count_distinct_question(
    table: PrivateTable, column: str, *, max_values: int | str = "auto"
) -> UnpricedQuestion[DistinctValues]:
    """The same question without a price; it is checked, and nothing is read."""
    reading, _ = priced_count(table, column, price=stated_guarantee(1), max_values=max_values)

    def priced(price: Guarantee, confidence: float) -> Explanation:
        found, source = priced_count(table, column, price=price, max_values=max_values)
        return count_account(found, source.declaration, confidence)

    asked = _recorded(table, reading, max_values)
    answer = partial(count_distinct, table, column, max_values=max_values)
    return UnpricedQuestion(asked, reading.what, answer, priced, lambda: SHAPE, _takes_rho=False)


def _recorded(table: PrivateTable, reading: DistinctReading, max_values: int | str) -> RecordedApplication:
    """What is asked, as a document has it: the limit where it was stated."""
    stated = {} if isinstance(max_values, str) else {"max_values": int(max_values)}
    return RecordedApplication(table, "count_distinct", lambda: {"column": reading.column, **stated})


def count_account(reading: DistinctReading, declared: Declaration, confidence: float) -> Explanation:
    """What a release would be: by how much the number may be above that of the values that occur."""
    rule, facts, charge = reading.mechanism, reading.facts, reading.guarantee
    margins = {limit: rule.margin(place, confidence) for place, limit in enumerate(rule.limits)}
    least, most = min(margins.values()), max(margins.values())
    error = Accuracy(float(least), ErrorOf.TOO_LARGE, float(most) if most > least else None)
    half = Fraction(1, 2) if rule.choice else Fraction(1)
    totals = [
        drawn_total(
            f"values, at a limit of {rule.limits[0]:,}",
            reading.column,
            mechanism="discrete Laplace",
            moved=(Fraction(rule.units * rule.limits[0]), "values"),
            scale=rule.counting(0).scale,
            limits=list(rule.limits),
            share=half,
            **paid_part(charge, half),
        )
    ]
    if rule.choice is not None:
        totals.append(
            drawn_total(
                f"choice of 1 of {len(rule.limits)} limits",
                reading.column,
                mechanism="permute-and-flip",
                moved=(Fraction(1), "of a score"),
                scale=rule.choice.scale,
                penalty=rule.penalty,
                share=1 - half,
                **paid_part(charge, 1 - half),
            )
        )
    others = []
    for limit in rule.limits[:MOST_TOLD] if rule.choice is not None else ():
        alone = replace_limits(rule, [limit])
        told = {reading.column: Accuracy(float(alone.margin(0, confidence)), ErrorOf.TOO_LARGE)}
        others.append({"mechanism": f"max_values={limit}", "charge": charge, "plus_minus": told})
    return application_account(
        promised(declared, charge),
        law={"mechanism": facts["mechanism"], "sensitivity": facts["sensitivity"], "intervals": FROM_BELOW},
        columns=[{"name": reading.column, "statistic": "values that occur", "plus_minus": error, "share": Fraction(1)}],
        totals=totals,
        confidence=confidence,
        others=others,
    )


def replace_limits(rule: CountsUnderLimits, limits: list[int]) -> CountsUnderLimits:
    """The same mechanism with other limits."""
    return CountsUnderLimits(limits=limits, epsilon=rule.epsilon, units=rule.units, both_ways=rule.both_ways)


def priced_count(
    table: PrivateTable, column: str, *, price: Guarantee, max_values: int | str = "auto"
) -> tuple[DistinctReading, Any]:
    """The priced reading, and the source that it is made of; reads and spends nothing."""
    name = table._name(column)  # noqa: SLF001 (a verb of this table, in another room)
    view = view_of(table)
    kind = told_apart(view.columns[name], name).kind
    if kind is Kind.REAL:
        cure = f"write .mutate(whole=_.{name}.floor()), or use .cut(...), and count the values of that."
        raise InvalidQuery(expected("values that are compared exactly", name, kind.said, cure))
    declared = view.source.declaration
    limits = _limits(max_values, table._rows_of_a_unit() if view.units else 1)  # noqa: SLF001 (as above)
    mechanism = assignment_noise(declared, limits, price.epsilon)
    found = DistinctReading(
        column=name,
        expression=value_pairs(view.relation, view.units, view.columns[name].expr),
        mechanism=mechanism,
        neighbors=declared.neighbors,
    )
    return found, view.source


def _limits(stated: int | str, rows: int | None) -> list[int]:
    """The limits among which one is chosen, up to the number of rows with which a unit counts; or the stated one."""
    if not isinstance(stated, str) or stated != "auto":
        cure = 'write how many values of one unit may be counted, or max_values="auto".'
        limit = at_least_one("max_values", stated, cure)
        if limit > LARGEST:
            raise InvalidParameter(expected(f"a limit of at most {LARGEST:,}", "max_values", stated, cure))
        return [limit]
    return tried_limits(rows)
