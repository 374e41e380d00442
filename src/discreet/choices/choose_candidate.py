"""One of the analyst's own candidates, chosen by a score of the rows: the exponential mechanism over a table.

Claim
    `choose` is epsilon-differentially private (rho-zCDP, at a rho) for the declared neighbors.
Requires
    Scores that are counts of rows or sums of bounded values; a table behind the barrier of `language.input_barrier`.
Relies on
    `planning.exact_scores`; `mechanisms.permute_and_flip`, `mechanisms.exponential`.
Proof
    Both mechanisms depend on the differences of scores alone. Between neighbors the score of candidate c moves by v_c.
    The scores s_c + v_c give the law that s_c + (v_c - min v) give, and v_c - min v lies between 0 and the spread for
    all c: scores that all move one way, by no more than the spread, for which the mechanism is monotonic and costs
    epsilon. At a rho the exponential mechanism has epsilon = root of 8 rho, rounded down; it costs epsilon^2/8 at most,
    as its losses have a range of epsilon, which is what is booked where epsilon is counted. The candidates are public,
    and what is chosen is a place among them.
Rounding
    None here.
Source
    McSherry, Talwar, Mechanism design via differential privacy (FOCS 2007). McKenna, Sheldon (NeurIPS 2020). Cesar,
    Rogers (ALT 2021).
Mutant
    half-the-spread: noise is of half the scale; killed by test_a_choice_costs_what_it_says_by_enumeration.
    choices-at-the-root-of-rho: epsilon of a rho is too large; killed by test_a_choice_at_a_rho_is_booked_by_its_law.
    choices-booked-as-noise: at a rho the epsilon of noise is booked; killed by
    test_a_choice_at_a_rho_is_booked_by_its_law.
    shortfall-of-two-candidates: the error that is explained forgets candidates; killed by
    test_the_error_of_a_choice_is_that_of_its_receipt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import ibis.expr.operations as ops
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
from ibis.common.deferred import Deferred

from discreet.answers.receipt import Receipt
from discreet.answers.table_exports import TableExports
from discreet.curator.release_key import one_line
from discreet.engines.engine import blocks_of
from discreet.engines.exact_totals import totals
from discreet.errors import InvalidParameter, InvalidQuery, expected, printable
from discreet.exact.amounts import decimal_text, root_below
from discreet.exact.cached_property import cached_property
from discreet.exact.given_values import flag
from discreet.guesses.answer_words import CHOICE, ReleasedNames
from discreet.language.arithmetic import name_of
from discreet.language.checked_expressions import Kind
from discreet.ledger.ledger import stated_guarantee
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.selection_probabilities import Selector
from discreet.noise.entropy import RandomWords
from discreet.planning.contribution_limits import stated_limits
from discreet.planning.exact_scores import ExactScores, exact_scores_of
from discreet.planning.unspecified import open_values
from discreet.privacy.definitions import Guarantee
from discreet.privacy.events import Event
from discreet.query.explain import promise
from discreet.query.explain_application import application_account, drawn_total, paid_part
from discreet.query.explanation import Accuracy, ErrorOf, Explanation
from discreet.query.expression_documents import expression_document, real_part
from discreet.query.question_documents import document_of, key_part, limits_part
from discreet.query.recorded_verbs import RecordedApplication
from discreet.query.source import ReleaseCall
from discreet.query.table import PrivateTable
from discreet.query.table_view import view_of
from discreet.query.unpriced_question import UnpricedQuestion

MOST_CANDIDATES = 1000
"""Each is a total of one statement."""
CONFIDENCE = 0.95
CHOSEN = "chosen"
SHORTFALL = "how far below the best score that of what is chosen is, in the units of the scores, for any rows"


@dataclass(frozen=True, eq=False)
class Choice(TableExports, ReleasedNames):
    """The chosen candidate, as it was given, and the receipt; neither its score nor how close it was."""

    _ask: ClassVar[str] = "ask for .value."
    _instead = CHOICE

    value: Any
    _receipt: Receipt
    _kind: pa.DataType | None = None
    """Of all candidates; none where they have no type in common."""

    @property
    def receipt(self) -> Receipt:
        """What was promised, and how it was kept; a copy, ready for JSON."""
        return Receipt.of(self._receipt)

    def to_pyarrow(self) -> pa.Table:
        """The candidate as a table of one row and one column; as text, where candidates have no type in common."""
        value = self.value if self._kind is not None else str(self.value)
        return pa.table({CHOSEN: pa.array([value], self._kind or pa.string())})

    def __repr__(self) -> str:
        return printable(f"<chosen: {self.value!r}>")


@dataclass(frozen=True, kw_only=True, eq=False)
class CandidateChoice:
    """What the curator needs to choose a candidate."""

    scores: ExactScores
    texts: tuple[str, ...]
    rule: Selector
    guarantee: Guarantee

    @property
    def what(self) -> str:
        """The question in one line."""
        return one_line(f"the best of {len(self.texts)} by {'; '.join(self.texts)}")

    @property
    def charged_event(self) -> Event | None:
        """What is drawn, where its own law is what was paid for."""
        return None if self.guarantee.rho is None else self.rule.event

    @cached_property
    def expression(self) -> ir.Table:
        """All scores in one row."""
        return totals(self.scores.plan)

    @property
    def facts(self) -> Mapping[str, Any]:
        """All that determines the mechanism, ready for JSON."""
        number = len(self.texts)
        name = "exponential" if isinstance(self.rule, Exponential) else "permute-and-flip"
        return {
            "guarantee": f"{self.guarantee.promise} for {self.scores.plan.query.declaration.neighbors.value} neighbors",
            "charge": self.guarantee.amounts,
            "mechanism": f"{name} choice of 1 of {number}",
            "sensitivity": f"{decimal_text(self.rule.sensitivity)} between two scores",
            "short by at most": self.rule.error(candidates=number, confidence=CONFIDENCE),
            "confidence": CONFIDENCE,
            "scores": list(self.texts),
        }

    def add_noise(self, found: pa.Table, words: RandomWords) -> pa.Table:
        """The place of the chosen one."""
        chosen = self.rule.release(self.scores.of(blocks_of(self.scores.plan, found)), words=words)
        return pa.table({CHOSEN: pa.array([chosen], pa.int64())})

    def check_shown(self, shown: pa.Table) -> None:
        """Refuses, by a ValueError, a table that is none of those that `add_noise` gives."""
        places = shown[CHOSEN].to_pylist()
        if shown.schema.types != [pa.int64()] or len(places) != 1 or places[0] not in range(len(self.texts)):
            raise ValueError(shown.schema)


def choose(
    table: PrivateTable,
    candidates: Sequence[Any],
    *,
    score: Callable[[Any], Any],
    epsilon: object = None,
    rho: object = None,
    max_rows: int | None = None,
    fresh: bool = False,
) -> Choice:
    """One of some candidates, good by a score of the rows, for one charge; see `PrivateTable.choose`.

    Raises:
        InvalidQuery, InvalidParameter: a candidate has no score, or none that can be bounded; nothing is read or spent.
        BudgetExceeded: nothing has been read or spent.
    """
    flag("fresh", fresh)
    price = stated_guarantee(epsilon, rho=rho)
    listed = _listed(candidates)
    scores, kept = _keeping(table, score)
    choice, source = priced_choice(table, listed, kept, price=price, max_rows=max_rows)
    call = ReleaseCall(
        document=partial(document_of, _recorded(table, listed, scores, max_rows)),
        price={"epsilon": epsilon, "rho": rho},
        account=partial(choice_account, choice, CONFIDENCE),
    )
    shown, receipt = source.read(choice, fresh=fresh, call=call)
    return Choice(listed[shown[CHOSEN][0].as_py()], Receipt(receipt), _kind_of(listed))


def choose_question(
    table: PrivateTable, candidates: Sequence[Any], *, score: Callable[[Any], Any], max_rows: int | None = None
) -> UnpricedQuestion[Choice]:
    """The same question without a price; it is checked, and nothing is read."""
    listed = _listed(candidates)
    scores, kept = _keeping(table, score)
    priced_choice(table, listed, kept, price=stated_guarantee(1), max_rows=max_rows)

    def again() -> Callable[[Any], Any]:
        left = iter(scores)
        return lambda _: next(left)

    def priced(price: Guarantee, confidence: float) -> Explanation:
        choice, _ = priced_choice(table, listed, again(), price=price, max_rows=max_rows)
        return choice_account(choice, confidence)

    def answer(**price: Any) -> Choice:
        return choose(table, listed, score=again(), max_rows=max_rows, **price)

    asked = _recorded(table, listed, scores, max_rows)
    shape = pa.schema({CHOSEN: _kind_of(listed) or pa.string()})
    return UnpricedQuestion(asked, f"one of {len(listed)}", answer, priced, lambda: shape)


def _kind_of(listed: list[Any]) -> pa.DataType | None:
    """The type that candidates have in common; none where there is none."""
    try:
        kind = pa.array(listed).type
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return None
    return None if pa.types.is_null(kind) else kind


def _keeping(table: PrivateTable, score: Callable[[Any], Any]) -> tuple[list[ir.Value], Callable[[Any], Any]]:
    """The scores that a function gives, bound to the table, in a list that it fills as it is called."""
    _check_score(score)
    scores: list[ir.Value] = []

    def kept(candidate: Any) -> Any:
        scores.append(table._bound(score(candidate)))  # noqa: SLF001 (a verb of this table, in another room)
        return scores[-1]

    return scores, kept


def _recorded(
    table: PrivateTable, listed: list[Any], scores: list[ir.Value], max_rows: int | None
) -> RecordedApplication:
    """What is asked, as a document has it."""

    def stated() -> dict[str, Any]:
        pairs = [[_constant(one), expression_document(own.op())] for one, own in zip(listed, scores, strict=True)]
        return {"candidates": pairs, **limits_part({} if max_rows is None else {"max_rows": max_rows})}

    return RecordedApplication(table, "choose", stated)


def choice_account(choice: CandidateChoice, confidence: float) -> Explanation:
    """What a release would be: by how much the score of what is chosen falls short of the best."""
    number, rule, facts = len(choice.texts), choice.rule, choice.facts

    def short(one: Selector) -> Accuracy:
        return Accuracy(one.error(candidates=number, confidence=confidence), ErrorOf.SHORT)

    others: list[dict[str, Any]] = []
    if choice.guarantee.rho is None:
        other = Exponential(sensitivity=rule.sensitivity, epsilon=rule.epsilon, monotonic=True)
        said = f"exponential choice of 1 of {number}"
        others.append({"mechanism": said, "charge": choice.guarantee, "plus_minus": {CHOSEN: short(other)}})
    more = {"scores": facts["scores"], "components": number, **paid_part(choice.guarantee)}
    moved, what = (rule.sensitivity, "of a score"), f"choice of 1 of {number}"
    return application_account(
        promise(choice.scores.plan),
        law={"mechanism": facts["mechanism"], "sensitivity": facts["sensitivity"], "intervals": SHORTFALL},
        columns=[{"name": CHOSEN, "statistic": "best score", "plus_minus": short(rule), "share": Fraction(1)}],
        totals=[drawn_total(what, "scores", mechanism=facts["mechanism"], moved=moved, scale=rule.scale, **more)],
        confidence=confidence,
        others=others,
    )


def _constant(candidate: Any) -> Any:
    """A candidate as a document has it."""
    if isinstance(candidate, np.generic):
        candidate = candidate.item()
    if isinstance(candidate, float):
        return real_part(candidate)
    if candidate is None or isinstance(candidate, bool | int | str | date):
        return key_part(candidate)
    cure = "choose among their names, and look the candidate up by its name."
    raise InvalidQuery(expected("a candidate that a document has", "candidate", type(candidate).__name__, cure))


def _check_score(score: object) -> None:
    if not callable(score) or isinstance(score, Deferred):
        cure = "write a function of one candidate, score=lambda c: _.age == c."
        raise InvalidParameter(expected("the score of each candidate", "score", score, cure))


def priced_choice(
    table: PrivateTable,
    candidates: list[Any],
    score: Callable[[Any], Any],
    *,
    price: Guarantee,
    max_rows: int | str | None = None,
) -> tuple[CandidateChoice, Any]:
    """The priced choice, and the source that it is made of; reads and spends nothing."""
    _check_score(score)
    scored = _scored(_limited(table, max_rows), [score(candidate) for candidate in candidates])
    names, columns = scored.columns[-len(candidates) :], view_of(scored).columns
    for name in names:
        kind = columns[name].kind
        if kind is not Kind.BOOLEAN and not kind.numeric:
            cure = "compare it with something, or take a number out of it."
            raise InvalidQuery(expected("a condition, or a number with bounds", "score", kind.said, cure))
    asked = {name: _total(name, condition=columns[name].kind is Kind.BOOLEAN) for name in names}
    query = scored.agg(**asked)._query  # noqa: SLF001 (a question is its query and a source)
    if query.limits.auto or open_values(query):
        cure = "find them by a question of their own, and state them in this one: max_rows=1, .clip(low, high)."
        raise InvalidQuery(expected("limits and bounds that are stated", "score", '"auto"', cure))
    scores = exact_scores_of(query, price)
    rule: Selector
    if price.rho is None:
        rule = PermuteAndFlip(sensitivity=scores.spread, epsilon=price.epsilon, monotonic=True)
    else:
        rule = Exponential(sensitivity=scores.spread, epsilon=root_below(8 * price.rho), monotonic=True)
    texts = tuple(printable(columns[name].text) for name in names)
    paid = replace(price, epsilon=rule.epsilon)  # at a rho, too: twice that of noise which costs as much rho
    choice = CandidateChoice(scores=scores, texts=texts, rule=rule, guarantee=paid)
    return choice, scored._source  # noqa: SLF001 (as above)


def _listed(candidates: object) -> list[Any]:
    """The candidates in their order; refuses what has none, and fewer than two."""
    array = candidates.tolist() if isinstance(candidates, np.ndarray) and candidates.ndim == 1 else candidates
    if not isinstance(array, list | tuple | range):
        cure = "list them, in the order in which they are to be known: [17, 18, 21]."
        raise InvalidParameter(expected("a list of candidates", "candidates", f"<{type(array).__name__}>", cure))
    if not 2 <= len(array) <= MOST_CANDIDATES:
        cure = "for the most common of many values, .top('column', keys=[...], epsilon=0.1)."
        what = f"2 to {MOST_CANDIDATES:,} candidates"
        raise InvalidParameter(expected(what, "candidates", f"{len(array):,}", cure))
    return list(array)


def _limited(table: PrivateTable, max_rows: int | str | None) -> PrivateTable:
    """The table, with the rows of a unit that count stated here; refuses one where nobody stated them."""
    source: Any = table._source  # noqa: SLF001 (a verb of this table, in another room)
    declared = source.declaration
    if max_rows is not None:
        limits = stated_limits(declared, max_rows=max_rows)
        stated = {"max_rows": limits.max_rows, "auto_limits": limits.auto}
        return replace(table, _source=source.restated(**stated))
    if declared.unit and table._rows_of_a_unit() is None:  # noqa: SLF001 (as above)
        unit = ", ".join(declared.unit)
        cure = f"write .choose(..., max_rows=1), or declare it: with how many rows one {unit} counts in each score."
        raise InvalidQuery(expected("max_rows", "max_rows", None, cure))
    return table


def _scored(table: PrivateTable, scores: list[Any]) -> PrivateTable:
    """The rows with a column for each score, which come last."""
    longest = max(map(len, (*table.columns, *table.declaration.unit)))
    prefix = "score".ljust(longest + 1, "_")  # longer than any name that there is
    bound = [table._bound(score) for score in scores]  # noqa: SLF001 (as above)
    for score in bound:
        if score.op().find(ops.Reduction):
            cure = "write the score of one row, _.age == c; the rows for which it is true are counted, numbers summed."
            raise InvalidQuery(expected("an expression of a row", "score", name_of(score.op()), cure))
    return table.mutate(**{f"{prefix}{i}": score for i, score in enumerate(bound)})


def _total(name: str, *, condition: bool) -> Callable[[Any], Any]:
    """A count of the rows for which a score is true, or the sum of its numbers."""
    return lambda t: t.count(where=t[name]) if condition else t[name].sum()
