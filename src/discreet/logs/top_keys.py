"""The k most common of a column's public values, chosen among the people who have each.

Claim
    `top` is epsilon-differentially private ((epsilon, delta), with a delta; rho-zCDP, at a rho) for the declared
    neighbors, however many values one unit has. Where no order is asked for, a set is drawn at once if, at the same
    price and confidence, its error for any scores is below that of k choices for some.
Requires
    Values that are public; a table behind the barrier of `language.input_barrier`.
Relies on
    `selection.top_k`, `mechanisms.joint_exponential`. `GROUP BY` of exact values.
Proof
    The score of a value is the number of units that have it: the pairs of unit and value are distinct, or the rows are
    the units, of which one has at most m. So one unit moves each score by at most 1, or m. Adding or removing it moves
    all of them one way, monotonic scores of that sensitivity; replacing it moves some up and some down, each by at most
    as much. A value that nobody has has the score 0, and which ones the engine finds does not matter, since all listed
    values are candidates in the stated order. Which mechanism is taken follows from k, the number of listed values and
    the price. At a rho each of the k choices has epsilon_i <= sqrt(8 rho / k): losses of a bounded range, of which it
    costs epsilon_i^2/8 (Cesar and Rogers, 2021), so that all of them cost rho at most; the one draw of a set has
    epsilon <= sqrt(8 rho), and costs rho at most for the same reason.
Rounding
    None.
Source
    As `selection.top_k`.
Mutant
    rows-for-people: a person counts once for each row; killed by test_one_unit_moves_each_score_by_one.
    replaced-one-way: scores are taken for monotonic where units are replaced; killed by
    test_replacing_a_unit_moves_scores_both_ways.
    set-moves-one-way: a set is drawn as from monotonic scores where units are replaced; killed by
    test_replacing_a_unit_moves_scores_both_ways.
    larger-error-taken: a set is drawn where its error is the larger one; killed by
    test_a_set_is_drawn_where_that_is_better.
    best-value-of-one-row: a unit in several united tables counts once; killed by
    test_the_most_common_value_is_chosen_by_scores_that_move_so_far.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.answers.receipt import Receipt
from discreet.answers.table_exports import TableExports
from discreet.engines.engine import integers
from discreet.errors import InvalidParameter, InvalidQuery, expected
from discreet.exact.amounts import decimal_text, root_below
from discreet.exact.cached_property import cached_property
from discreet.exact.given_values import flag
from discreet.guesses.answer_words import ReleasedNames
from discreet.language.literals import constant
from discreet.ledger.ledger import stated_guarantee
from discreet.mechanisms.joint_exponential import JointExponential
from discreet.noise.entropy import RandomWords
from discreet.planning.group_keys import ARROW_TYPES, Keys, Unknown
from discreet.planning.unspecified import UnknownKeys
from discreet.privacy.declaration import Declaration, Key
from discreet.privacy.definitions import Guarantee, Neighbors
from discreet.privacy.events import Event
from discreet.query.aggregate_checks import MOST_LISTED
from discreet.query.explain_application import application_account, drawn_total, paid_part, promised
from discreet.query.explanation import Accuracy, ErrorOf, Explanation
from discreet.query.question_documents import document_of, key_part
from discreet.query.recorded_verbs import RecordedApplication
from discreet.query.source import ReleaseCall
from discreet.query.table import PrivateTable
from discreet.query.table_view import view_of
from discreet.query.unpriced_question import UnpricedQuestion
from discreet.selection.top_k import TopK

VALUE, PEOPLE = "value", "people"
TOTAL = "decimal(38, 0)"
CONFIDENCE = 0.95
SHORTFALL = "how many units fewer than the best have what is chosen, for any rows, at each place of the k"


@dataclass(frozen=True, eq=False)
class Top(TableExports, ReleasedNames):
    """The chosen values, best first up to the noise, or as a set in the order of the list; and the receipt."""

    _ask: ClassVar[str] = "ask for .values."

    column: str
    values: tuple[Key, ...]
    _receipt: Receipt
    _kind: pa.DataType | None = None

    @property
    def receipt(self) -> Receipt:
        """What was promised, and how it was kept; a copy, ready for JSON."""
        return Receipt.of(self._receipt)

    def to_pyarrow(self) -> pa.Table:
        """The values as a table of one column."""
        return pa.table({self.column: pa.array(self.values, self._kind)})


@dataclass(frozen=True, kw_only=True, eq=False)
class TopKeysChoice:
    """What the curator needs to choose the most common values."""

    what: str
    found_by: Callable[[], ir.Table]
    """Makes the expression: of many keys a long one, which is not needed to price it."""
    keys: Keys
    rule: TopK | JointExponential
    neighbors: Neighbors
    guarantee: Guarantee
    instead: TopK | None = None
    """The choices one by one that a set is better than."""

    @cached_property
    def expression(self) -> ir.Table:
        """How many units have each listed value."""
        return self.found_by()

    @property
    def charged_event(self) -> Event | None:
        """What is drawn, where its own law is what was paid for."""
        return None if self.guarantee.rho is None else self.rule.event

    @property
    def facts(self) -> Mapping[str, Any]:
        """All that determines the mechanism, ready for JSON."""
        drawn = self.rule.choice if isinstance(self.rule, TopK) else self.rule
        moved = f"{decimal_text(drawn.sensitivity)} of each score"
        facts = {
            "guarantee": f"{self.guarantee.promise} for {self.neighbors.value} neighbors",
            "charge": self.guarantee.amounts,
            "mechanism": self._said(self.rule),
            "each": decimal_text(drawn.epsilon),
            "sensitivity": f"{moved}, all the same way" if drawn.monotonic else moved,
            "short by at most": self._bound(self.rule),
            "confidence": CONFIDENCE,
            "values": [[type(key).__name__, str(key)] for (key,) in self.keys.rows],
        }
        if self.instead is not None:
            facts["instead of"] = {
                "mechanism": self._said(self.instead),
                "short by at most": self._bound(self.instead),
                "short for some scores by": self.instead.lower_bound(**self._stated),
            }
        return facts

    def _said(self, rule: TopK | JointExponential) -> str:
        if isinstance(rule, TopK):
            return f"{rule.method} choice of {rule.k} of {len(self.keys.rows)}"
        return f"joint exponential choice of a set of {rule.k} of {len(self.keys.rows)}"

    def _bound(self, rule: TopK | JointExponential) -> float:
        return rule.bound(**self._stated)

    @property
    def _stated(self) -> dict[str, Any]:
        return {"candidates": len(self.keys.rows), "confidence": CONFIDENCE}

    def others(self, confidence: float) -> dict[str, float]:
        """What else could be drawn at this price, and what it may fall short by."""
        rules: list[TopK | JointExponential] = [self.instead] if self.instead is not None else []
        if isinstance(self.rule, TopK) and self.guarantee.rho is None and not self.guarantee.delta:
            drawn = self.rule.choice
            stated: dict[str, Any] = {"k": self.rule.k, "sensitivity": drawn.sensitivity, "monotonic": drawn.monotonic}
            rules.append(TopK(epsilon=self.rule.epsilon, method="one-shot", **stated))
            if self.rule.k > 1:
                rules.append(JointExponential(epsilon=self.rule.epsilon, order=False, **stated))
        size = len(self.keys.rows)
        return {self._said(one): one.bound(candidates=size, confidence=confidence) for one in rules}

    def scores(self, found: pa.Table) -> NDArray[Any]:
        """How many units have each listed value."""
        held = dict(zip(found[VALUE].to_pylist(), integers(found[PEOPLE]).tolist(), strict=True)) if len(found) else {}
        return np.array([held.get(key, 0) for (key,) in self.keys.rows], dtype=object)

    def add_noise(self, found: pa.Table, words: RandomWords) -> pa.Table:
        """The chosen values, in order where they have one."""
        chosen = self.rule.release(self.scores(found), words=words)
        kind = ARROW_TYPES[self.keys.kinds[0]]
        return pa.table({VALUE: pa.array([self.keys.rows[place][0] for place in chosen], kind)})

    def check_shown(self, shown: pa.Table) -> None:
        """Refuses, by a ValueError, a table that is none of those that `add_noise` gives."""
        values, kind = shown[VALUE].to_pylist(), ARROW_TYPES[self.keys.kinds[0]]
        is_known = {(one,) for one in values} <= set(self.keys.rows)
        if shown.schema.types != [kind] or not self.rule.k == len(values) == len(set(values)) or not is_known:
            raise ValueError(shown.schema)


def top(
    table: PrivateTable,
    column: str,
    *,
    epsilon: object = None,
    rho: object = None,
    k: int = 1,
    keys: Any = None,
    delta: object = 0,
    order: bool = True,
    fresh: bool = False,
) -> Top:
    """The k values of a column that most units have, for one charge; see `PrivateTable.top`.

    Raises:
        InvalidQuery, InvalidParameter: the values are not public, or fewer than k; nothing has been read or spent.
        BudgetExceeded: nothing has been read or spent.
    """
    flag("fresh", fresh)
    flag("order", order)
    price = stated_guarantee(epsilon, delta, rho)
    choice, source = chosen(table, column, price=price, k=k, keys=keys, order=order)
    asked = _recorded(table, choice, stated=keys is not None, order=order)
    call = ReleaseCall(
        document=partial(document_of, asked),
        price={"epsilon": epsilon, "delta": delta, "rho": rho},
        account=partial(top_account, choice, source.declaration, CONFIDENCE),
    )
    shown, receipt = source.read(choice, fresh=fresh, call=call)
    values = shown[VALUE].to_pylist()
    if not order:
        place = {key: i for i, (key,) in enumerate(choice.keys.rows)}
        values.sort(key=lambda value: place.get(value, -1))
    return Top(column, tuple(values), Receipt(receipt), ARROW_TYPES[choice.keys.kinds[0]])


def top_question(
    table: PrivateTable, column: str, *, k: int = 1, keys: Any = None, order: bool = True
) -> UnpricedQuestion[Top]:
    """The same question without a price; it is checked, and nothing is read."""
    flag("order", order)
    choice, _ = chosen(table, column, price=stated_guarantee(1), k=k, keys=keys, order=order)
    own = None if keys is None else [key for (key,) in choice.keys.rows]

    def priced(price: Guarantee, confidence: float) -> Explanation:
        found, source = chosen(table, column, price=price, k=k, keys=own, order=order)
        return top_account(found, source.declaration, confidence)

    asked = _recorded(table, choice, stated=own is not None, order=order)
    answer = partial(top, table, column, k=k, keys=own, order=order)
    shape = pa.schema({choice.keys.names[0]: ARROW_TYPES[choice.keys.kinds[0]]})
    return UnpricedQuestion(asked, choice.what, answer, priced, lambda: shape, _takes_delta=True)


def _recorded(table: PrivateTable, choice: TopKeysChoice, *, stated: bool, order: bool) -> RecordedApplication:
    """What is asked, as a document has it: its keys where they were stated."""

    def parts() -> dict[str, Any]:
        part: dict[str, Any] = {"column": choice.keys.names[0], "k": choice.rule.k}
        if stated:
            part["keys"] = [key_part(key) for (key,) in choice.keys.rows]
        return part if order else {**part, "order": False}

    return RecordedApplication(table, "top", parts)


def top_account(choice: TopKeysChoice, declared: Declaration, confidence: float) -> Explanation:
    """What a release would be: by how much any of the k falls short of the value that should stand in its place."""
    facts, column, size = choice.facts, choice.keys.names[0], len(choice.keys.rows)
    drawn = choice.rule.choice if isinstance(choice.rule, TopK) else choice.rule
    error = Accuracy(choice.rule.bound(candidates=size, confidence=confidence), ErrorOf.SHORT)
    what = f"choice of {choice.rule.k} of {size} values"
    more = {"each": drawn.epsilon, "values": facts["values"], **paid_part(choice.guarantee)}
    moved = drawn.sensitivity, "units" if declared.unit else "rows"
    return application_account(
        promised(declared, choice.guarantee),
        law={"mechanism": facts["mechanism"], "sensitivity": facts["sensitivity"], "intervals": SHORTFALL},
        columns=[{"name": column, "statistic": "most common", "plus_minus": error, "share": Fraction(1)}],
        totals=[drawn_total(what, column, mechanism=facts["mechanism"], moved=moved, scale=drawn.scale, **more)],
        confidence=confidence,
        others=[
            {"mechanism": said, "charge": choice.guarantee, "plus_minus": {column: Accuracy(bound, ErrorOf.SHORT)}}
            for said, bound in choice.others(confidence).items()
        ],
    )


def chosen(
    table: PrivateTable, column: str, *, price: Guarantee, k: int, keys: Any, order: bool = True
) -> tuple[TopKeysChoice, Any]:
    """The priced choice, and the source that it is made of; reads and spends nothing."""
    if not isinstance(table, PrivateTable):
        cure = "protect it first: dp.protect(data, unit=..., budget=...)."
        raise InvalidParameter(expected("a protected table", "table", type(table).__name__, cure))
    try:
        listed = table.group_by(column, keys=keys if keys is None or isinstance(keys, Unknown) else {column: keys}).keys
    except InvalidQuery:
        if keys is None and isinstance(column, str) and column in table.columns:
            raise InvalidQuery(_unlisted(column, "none")) from None
        raise
    if isinstance(listed, UnknownKeys):
        raise InvalidQuery(_unlisted(column, repr(keys)))
    if len(listed.rows) > MOST_LISTED:
        cure = "choose among fewer: filter, or take coarser values."
        raise InvalidQuery(expected(f"at most {MOST_LISTED:,} public values", "keys", len(listed.rows), cure))
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= len(listed.rows):
        cure = "no more than there are public values."
        raise InvalidParameter(expected(f"a whole k from 1 to {len(listed.rows)}", "k", k, cure))
    parts = view_of(table)
    declared = parts.source.declaration
    if price.rho is not None and price.delta:
        raise InvalidParameter(
            expected("no delta beside rho", "delta", price.delta, "leave delta out: none is needed.")
        )
    by_range = bool(price.delta) or price.rho is not None  # where it counts that losses have a bounded range
    listing = TopK(
        k=k,
        sensitivity=declared.rows_changed,
        epsilon=price.epsilon if price.rho is None else k * root_below(8 * price.rho / k),
        delta=price.delta,
        monotonic=declared.neighbors is Neighbors.ADD_REMOVE,
        method="one-shot" if by_range else "peeling",
    )
    joint = None if order else _better_set(listing, price, len(listed.rows))
    return TopKeysChoice(
        what=f"the {k} most common of {column}" if k > 1 else f"the most common {column}",
        found_by=partial(_people, parts.relation, parts.units, parts.columns[column].expr, listed),
        keys=listed,
        rule=joint or listing,
        neighbors=declared.neighbors,
        guarantee=Guarantee(epsilon=(joint or listing).epsilon, delta=listing.delta, rho=price.rho),
        instead=listing if joint else None,
    ), parts.source


def _better_set(listing: TopK, price: Guarantee, candidates: int) -> JointExponential | None:
    """One draw of a set at the same price, if its error stays below what choices one by one reach for some scores."""
    joint = JointExponential(
        k=listing.k,
        sensitivity=listing.choice.sensitivity,
        epsilon=price.epsilon if price.rho is None else root_below(8 * price.rho),
        monotonic=listing.choice.monotonic,
        order=False,
    )
    stated: dict[str, Any] = {"candidates": candidates, "confidence": CONFIDENCE}
    return joint if joint.k > 1 and joint.error(**stated) < listing.lower_bound(**stated) else None


def _unlisted(column: str, got: str) -> str:
    """The refusal of values that nobody listed, with the question that finds and counts them."""
    found = f".group_by({column!r}, keys=dp.UNKNOWN, max_groups=1, max_rows=1).agg(n=_.count())"
    return (
        f"Expected the public values of {column!r}, got {got}.\n"
        f"Hint: list them, .top({column!r}, keys=[...]) or dp.protect(keys=...). Where nobody knows them, write "
        f"{found}.order_by('n', desc=True).limit(3), and release it with a delta: it finds the values that many have."
    )


def _people(relation: ir.Table, units: Any, value: ir.Value, keys: Keys) -> ir.Table:
    """How many units have each listed value that somebody has."""
    rows = relation.select(**{f"unit_{i}": unit for i, unit in enumerate(units)}, **{VALUE: value})
    some = [constant(key).expr for (key,) in keys.rows if key is not None]
    listed = rows[VALUE].isin(some)
    rows = rows.filter(listed | rows[VALUE].isnull() if (None,) in keys.rows else listed)
    rows = rows.distinct() if units else rows
    return rows.group_by(VALUE).agg(**{PEOPLE: rows.count().cast(TOTAL)})
