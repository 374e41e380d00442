"""How many rows there are, or how much they add up to, where nobody stated how much one unit may have: a lower bound.

Claim
    `truncated_total` is epsilon-differentially private for the declared neighbors, whatever rows a unit has. With its
    confidence, ``at_least(confidence)`` is no more than the total of all units; and where no unit has more than one of
    the limits, it is short of that total by ``short(limit, confidence)`` at most, with that confidence.
Requires
    Amounts of 0 or more, with bounds; a table behind the barrier of `language.input_barrier`, whose rows belong to one
    unit each, or to each of two.
Relies on
    `query.unit_features`: one row for each unit, which has its total. Integer sums of 128 bits.
    `mechanisms.contribution_limit_selection`, `mechanisms.race_to_the_top`. `sensitivity.shared_totals`,
    `truncation.pair_totals`.
Proof
    *Movement.* D_l is the sum over all units of min(x, l), x being the unit's own total as an integer: of whole
    amounts itself, of real ones in fine parts of one, of which l is a whole number, too. It lies between 0 and l,
    whatever arithmetic made it. So adding a unit raises D_l by 0 to l, and replacing one moves it by at most l either
    way. Totals of real amounts are then rounded down to ``PARTS`` to one: the floor of y + d is above that of y by 0 to
    m where d is between 0 and m, m being l in these parts. Totals beyond 2**61 of them stand at that: which moves none
    further.
    *Units that share rows.* D_l is the largest total of parts of amounts of which no unit has more than l, as
    `sensitivity.shared_totals` has it, of the whole amounts that pairs of units have: it moves likewise, is at most the
    total, and is the total where no unit has more than l. Real amounts are rounded down, row by row, to the parts in
    which the mechanism counts.
    *Bound.* min(x, l) <= x, and what floors take is taken from above. Amounts are cut at the largest limit before they
    are added up, which changes no min(x, l), and real ones are rounded down to whole steps. Both mechanisms are given
    the D_l, and promise no more than the largest.
    *Near the best.* Where no x is above l_k, all D_i from there on are the total, which is what the mechanisms require.
    *Limits.* They are public: one that was stated; or powers of two (of four, in a race) up to `most`.
Rounding
    Of a real amount down to steps: 2**-39 of the power of two that is not below its bound, or the largest limit where
    that is less, but no finer than 2**-51 of that limit; `explain` says how much. Whole numbers: none.
    Where units share rows: of a real amount down to a part, and of a total down by a half of one.
Source
    Dong, Fang, Yi, Tao, Machanavajjhala, "R2T" (SIGMOD 2022): truncated totals, and a race of them. Raskhodnikova and
    Smith (2015), Knop and Steinke (NeurIPS 2023): a limit chosen by penalized totals, in place of a race.
Mutant
    rows-of-units-loose: a unit counts up to one more than the limit; killed by test_a_unit_counts_up_to_each_limit.
    parts-for-wholes: the noise is for whole amounts where parts are counted; killed by test_what_the_noise_is_for.
    lattice-of-the-range: real amounts are rounded to the steps of their whole range; killed by
    test_a_generous_bound_of_amounts_changes_nothing.
    amounts-to-the-nearest: real amounts are rounded to the nearest step; killed by test_no_real_amount_rounds_up.
    negative-amounts: amounts below 0 are taken; killed by test_refusals_cost_nothing.
    replaced-totals-as-added: where units are replaced, totals are taken to move one way; killed by
    test_what_the_noise_is_for.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import ibis.expr.types as ir

from discreet.answers.receipt import Receipt
from discreet.errors import InvalidParameter, InvalidQuery, expected, printable
from discreet.exact.amounts import at_least_one
from discreet.exact.given_values import flag
from discreet.language.checked_expressions import Kind
from discreet.language.exact_arithmetic import TOTAL, clipped, int64_constant
from discreet.ledger.ledger import stated_guarantee
from discreet.mechanisms.contribution_limit_selection import CountsUnderLimits
from discreet.mechanisms.race_to_the_top import RaceToTheTop
from discreet.privacy.definitions import Guarantee, Neighbors
from discreet.query.explanation import Explanation
from discreet.query.expression_documents import expression_document
from discreet.query.question_documents import document_of
from discreet.query.recorded_verbs import RecordedApplication
from discreet.query.shared_table import SharedTable
from discreet.query.source import ReleaseCall
from discreet.query.table import PrivateTable
from discreet.query.table_view import TableView, view_of
from discreet.query.unpriced_question import UnpricedQuestion
from discreet.sensitivity.shared_totals import LARGEST as LARGEST_SHARE
from discreet.truncation.explain_total import total_account
from discreet.truncation.pair_totals import unit_pairs
from discreet.truncation.truncated_total_release import (
    AUTO,
    CONFIDENCE,
    LIMIT,
    NOISY,
    RACE,
    Mechanism,
    TotalReading,
    TruncatedTotal,
    ceiling,
)

MOST = 2**20
"""The largest limit that is tried, where nothing else is known."""
LARGEST = 2**39
"""Of a limit: whole numbers up to here are exact on the lattice."""
PARTS = 2**10
"""Of one, in which totals of real amounts are counted."""
PARTS_OF_A_SHARE = 2**20
"""Of one, in which they are counted at most where a row belongs to two units."""
OF_A_ROW, OF_A_UNIT = 39, 12
"""A real amount is 2**39 steps at most, and the largest limit 2**12 times as many: doubles are exact there."""
BASE = 4
"""By which the limits of a race grow: its noise grows with their number, and bounds are best near e."""


def truncated_total(
    table: PrivateTable | SharedTable,
    value: Any = None,
    *,
    epsilon: object,
    limit: int | str = AUTO,
    most: int | None = None,
    fresh: bool = False,
) -> TruncatedTotal:
    """The number of rows, or a total, for one charge; see `PrivateTable.truncated_total`.

    Raises:
        InvalidQuery, InvalidParameter: there is no such amount, it may be below 0, or it has no bounds; nothing is read
            or spent.
        BudgetExceeded: nothing has been read or spent.
    """
    flag("fresh", fresh)
    price, ask = stated_guarantee(epsilon), AskedTotal(table, _bound(table, value), limit, most)
    reading, source = ask.priced(price)
    call = ReleaseCall(
        document=partial(document_of, ask.recorded),
        price={"epsilon": epsilon},
        account=partial(ask.account, price, CONFIDENCE),
    )
    shown, receipt = source.read(reading, fresh=fresh, call=call)
    noisy = tuple(int(one) for one in shown[NOISY].to_pylist())
    limits = shown[LIMIT].to_pylist()
    if isinstance(reading.mechanism, RaceToTheTop):
        place, bound = reading.mechanism.best(noisy, CONFIDENCE)
        return TruncatedTotal(reading.amount(bound), limits[place], Receipt(receipt), reading, noisy)
    return TruncatedTotal(reading.amount(noisy[0]), limits[0], Receipt(receipt), reading, noisy)


def truncated_total_question(
    table: PrivateTable | SharedTable, value: Any = None, *, limit: int | str = AUTO, most: int | None = None
) -> UnpricedQuestion[TruncatedTotal]:
    """The same question without a price; it is checked, and nothing is read."""
    ask = AskedTotal(table, _bound(table, value), limit, most)
    reading, _ = ask.priced(stated_guarantee(1))
    answer = partial(truncated_total, table, ask.value, limit=limit, most=most)
    return UnpricedQuestion(ask.recorded, reading.what, answer, ask.account, lambda: reading.shape, _takes_rho=False)


class AskedTotal(NamedTuple):
    """What is asked, without a price."""

    table: PrivateTable | SharedTable
    value: ir.Value | None
    limit: int | str
    most: int | None

    def priced(self, price: Guarantee, limit: int | str | None = None) -> tuple[TotalReading, Any]:
        """The priced reading and its source, of this limit or of another one."""
        asked = self.limit if limit is None else limit
        return priced_total(self.table, self.value, price=price, limit=asked, most=self.most)

    @property
    def recorded(self) -> RecordedApplication:
        """What is asked, as a document has it: the parts that were stated."""

        def stated() -> dict[str, Any]:
            found: dict[str, Any] = {} if self.value is None else {"value": expression_document(self.value.op())}
            if self.limit != AUTO:
                found["limit"] = self.limit if isinstance(self.limit, str) else int(self.limit)
            return found if self.most is None else {**found, "most": int(self.most)}

        return RecordedApplication(self.table, "truncated_total", stated)

    def account(self, price: Guarantee, confidence: float) -> Explanation:
        """What a release at a price would be, and beside it the other way to find a limit."""
        reading, source = self.priced(price)
        ways = (AUTO, RACE) if isinstance(self.limit, str) else ()
        others = {one: self.priced(price, one)[0] for one in ways if one != self.limit}
        return total_account(reading, others, source.declaration, confidence)


def priced_total(
    table: PrivateTable | SharedTable,
    value: Any = None,
    *,
    price: Guarantee,
    limit: int | str = AUTO,
    most: int | None = None,
) -> tuple[TotalReading, Any]:
    """The priced reading, and the source that it is made of; reads and spends nothing."""
    rows, amount = table._rows_of_a_unit(), _amount(table, value)  # noqa: SLF001 (a verb of this table, in another room)
    if table.declaration.each_of:
        return _priced_pairs(amount, _limits(limit, most, None, amount.largest_of_pairs), price, race=limit == RACE)
    high = None if rows is None else rows * amount.high
    limits = _limits(limit, most, None if high is None else math.ceil(high))
    own, step = _unit_totals(amount, limits[-1])
    parts, fine = (PARTS, max(PARTS, step.denominator)) if step else (1, 1)
    view = view_of(_in_parts(own, limits[-1], step, fine) if step else own)
    neighbors = view.source.declaration.neighbors
    mechanism = _mechanism(limits, parts, price, neighbors, race=limit == RACE)
    reading = TotalReading(
        of=amount.of, limits=limits, parts=parts, finer=fine // parts, mechanism=mechanism, neighbors=neighbors,
        row_rounding=float(step), expression=_truncated(view, [one * fine for one in limits]),
    )  # fmt: skip
    return reading, view.source


def _priced_pairs(
    amount: _Amount, limits: tuple[int, ...], price: Guarantee, *, race: bool
) -> tuple[TotalReading, Any]:
    """The same of rows that belong to two units each."""
    top, made, name = ceiling(limits[-1]), amount.table, amount.name
    parts = min(PARTS_OF_A_SHARE, LARGEST_SHARE // top) if amount.is_real else 1
    if name is not None and amount.kind is not Kind.BOOLEAN:
        made = made.mutate(**{f"{name}_": lambda t: t[name].clip(0, top)})
        if amount.is_real:
            made = made.mutate(**{f"{name}__": lambda t: (t[f"{name}_"] * float(parts)).floor()})
    view = view_of(made, each_of=True)
    value = None if name is None else [*view.columns.values()][-1]
    reading = TotalReading(
        of=amount.of, limits=limits, parts=parts, finer=1, neighbors=view.source.declaration.neighbors, each_of=True,
        mechanism=_mechanism(limits, parts, price, view.source.declaration.neighbors, race=race),
        row_rounding=1 / parts if amount.is_real else 0.0, expression=unit_pairs(view, value, limits[-1] * parts),
    )  # fmt: skip
    return reading, view.source


def _in_parts(own: PrivateTable, most: int, step: Fraction, fine: int) -> PrivateTable:
    """The same with the totals, which are in steps, in whole parts of one."""
    name = own.columns[-1]
    return own.mutate(**{f"{name}_": lambda t: t[name].clip(0, int(most / step)) * int(step * fine)})


def _truncated(view: TableView, limits: list[int]) -> ir.Table:
    """The sum over all units of the smaller of their totals, whole numbers, and each limit."""
    rows = view.relation.select(**{NOISY: [*view.columns.values()][-1].expr})
    ends = [clipped(rows[NOISY], int64_constant(0), int64_constant(most)) for most in limits]
    return rows.aggregate([end.sum().cast(TOTAL).name(f"{NOISY}_{i}") for i, end in enumerate(ends)])


def _mechanism(limits: tuple[int, ...], parts: int, price: Guarantee, neighbors: Neighbors, *, race: bool) -> Mechanism:
    steps = [one * parts for one in limits]
    if race:
        return RaceToTheTop(limits=steps, epsilon=price.epsilon)
    return CountsUnderLimits(limits=steps, epsilon=price.epsilon, both_ways=neighbors is not Neighbors.ADD_REMOVE)


def _bound(table: PrivateTable | SharedTable, value: Any) -> ir.Value | None:
    """The amount as an expression of a row; a name is that of a column; none, where rows are counted."""
    if value is None:
        return None
    if isinstance(value, str):
        return table[table._name(value)]  # noqa: SLF001 (a verb of this table, in another room)
    return table._bound(value)  # noqa: SLF001 (as above)


def _free_name(table: PrivateTable | SharedTable) -> str:
    """A name that is longer than any other."""
    return "total".ljust(max(map(len, (*table.columns, *table.declaration.unit))) + 1, "_")


class _Amount(NamedTuple):
    """What is added up."""

    table: Any
    """The rows, with the amount."""
    name: str | None
    """Of its column; none, where rows are counted."""
    of: str
    """In words."""
    high: Fraction
    """No row has more."""
    kind: Kind

    @property
    def is_real(self) -> bool:
        """Whether it is no whole number."""
        return self.kind not in (Kind.INTEGER, Kind.BOOLEAN)

    @property
    def largest_of_pairs(self) -> int:
        """Of limits, where a row belongs to two units: as a whole number of parts it has 31 bits."""
        return LARGEST_SHARE // PARTS if self.is_real else LARGEST_SHARE


def _amount(table: PrivateTable | SharedTable, value: Any) -> _Amount:
    """The amount of a row, checked."""
    if value is None:
        return _Amount(table, None, "", Fraction(1), Kind.INTEGER)
    name = _free_name(table)
    made = table.mutate(**{name: _bound(table, value)})
    amount = view_of(made, each_of=True).columns[name]
    of, interval = printable(amount.text), amount.interval
    if amount.kind is Kind.BOOLEAN:
        return _Amount(made, name, of, Fraction(1), Kind.BOOLEAN)
    if interval is None or amount.unbounded or interval.low < 0:
        got = amount.kind.said if interval is None else f"{of}, {'no bounds' if amount.unbounded else 'below 0'}"
        cure = "write .clip(0, high), with a high that nothing useful is above: it costs next to nothing here."
        raise InvalidQuery(expected("amounts of 0 or more, with bounds", "value", got, cure))
    return _Amount(made, name, of, interval.high, amount.kind)


def _unit_totals(amount: _Amount, most: int) -> tuple[PrivateTable, Fraction]:
    """One row for each unit, with its total last, where no row has more than the largest limit; and its steps.

    Real amounts are counted in whole steps, rounded down. They are those of the range up to the limit: steps of a
    generous bound would round what people have to nothing. Of others the step is 0.
    """
    name, step = amount.name, Fraction(0)
    if name is None:
        return amount.table.per_unit(**{_free_name(amount.table): lambda t: t.count()}), step
    if amount.kind is Kind.BOOLEAN:
        return amount.table.per_unit(**{f"{name}_": lambda t: t[name].sum()}), step
    cut = ceiling(most)
    made = amount.table.mutate(**{f"{name}_": lambda t: t[name].clip(0, cut)})
    if amount.is_real:
        high = ceiling(max(1, math.ceil(min(amount.high, Fraction(cut)))))
        step = Fraction(max(high, cut >> OF_A_UNIT), 2**OF_A_ROW)
        made = made.mutate(**{f"{name}__": lambda t: (t[f"{name}_"] * float(1 / step)).floor()})
    last = made.columns[-1]
    return made.per_unit(**{f"{last}_": lambda t: t[last].sum()}), step


def _limits(stated: int | str, most: int | None, known: int | None, largest: int = LARGEST) -> tuple[int, ...]:
    """The limits among which one is chosen, up to what a unit can have; or the stated one."""
    cure = 'write how much of one unit may count, limit=100; or limit="auto", or limit="race".'
    if not isinstance(stated, str):
        if most is not None:
            raise InvalidParameter(expected("no most beside a stated limit", "most", most, "leave one of them out."))
        return (_allowed("limit", stated, cure, largest),)
    if stated not in (AUTO, RACE):
        raise InvalidParameter(expected("a limit", "limit", stated, cure))
    top = MOST if most is None else _allowed("most", most, "write the largest limit that is worth trying.", largest)
    top = top if known is None else max(1, min(top, known))
    step = BASE.bit_length() - 1 if stated == RACE else 1
    return (*(2**i for i in range(0, top.bit_length(), step) if 2**i < top), top)


def _allowed(name: str, limit: object, cure: str, largest: int) -> int:
    found = at_least_one(name, limit, cure)
    if found > largest:
        raise InvalidParameter(expected(f"a limit of at most {largest:,}", name, limit, cure))
    return found
