"""A complete question, ready to be explained or released."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, overload

from discreet.answers.answer_file import AnswerFile
from discreet.answers.release import Release
from discreet.answers.run_post_processing import rehearse
from discreet.errors import InvalidParameter, InvalidQuery, printable
from discreet.exact.amounts import fraction
from discreet.exact.given_values import flag
from discreet.guesses.calculations import NoArithmetic
from discreet.guesses.misfit_calls import with_usage_hint
from discreet.guesses.near_names import NearNames, line_for
from discreet.guesses.table_words import QUESTION
from discreet.inference.post_processing import AfterNoise, Processing, expectation
from discreet.planning.clipping_reports import is_stated, reports
from discreet.planning.first_look_budget import stated_part
from discreet.planning.narrower_bounds import narrower
from discreet.planning.open_question_plan import OpenQuestionPlan, plan_open_question, split_weights
from discreet.planning.plan import Plan, Query
from discreet.planning.planner import level, price
from discreet.planning.unspecified import Unspecified, open_values
from discreet.query.accuracy_rounds import Rounds, rounds_of
from discreet.query.epsilon_for_accuracy import cheapest, cheapest_plan, check_unpriced
from discreet.query.explain import explain
from discreet.query.explain_first_looks import beside_stated, first_look_facts
from discreet.query.explanation import Explanation
from discreet.query.file_output import check_held, check_written
from discreet.query.question_documents import after_parts, document_of
from discreet.query.recorded_verbs import RecordedQuestion
from discreet.query.source import ReleaseCall, Source
from discreet.query.unreleased_methods import REFUSED, Unreleased

NO_ROUNDS = (
    "Expected keys, limits and bounds that are stated, got rounds with some that are to be found.\n"
    "Hint: state them, or give epsilon."
)
NO_ERROR = (
    "Expected limits and bounds that are stated, got some that are to be found.\n"
    "Hint: the error depends on them: give epsilon, or state them."
)
ROUNDS_ALONE = (
    "Expected no epsilon, delta, rho, report or first_look beside up_to, got one.\n"
    "Hint: up_to=0.5 is the most that the rounds may cost together; leave the others out."
)


@dataclass(frozen=True, eq=False, repr=False)
class Question(AfterNoise, NearNames, NoArithmetic, Unreleased):
    """A complete question. `explain` prices it without reading a row; `release` charges it and answers.

    >>> from discreet.testing import people
    >>> question = people().count()
    >>> question.explain(epsilon=1)["charge"]
    {'epsilon': '1', 'delta': '0'}
    >>> len(question.release(epsilon=1))
    1

    Keys, limits and bounds may be left open: a first look finds them, at a stated part of the charge.

    >>> import discreet as dp
    >>> question = people().group_by("plan", keys=dp.UNKNOWN, max_groups=1).agg(n=lambda t: t.count())
    >>> question
    <question about 'people': n by plan, of unknown keys>
    >>> [look["what"] for look in question.explain(epsilon=1, delta=1e-6)["first looks"]]
    ['keys of plan']
    """

    _instead: ClassVar[Mapping[str, str]] = QUESTION

    def _line_for(self, name: str) -> str:
        return line_for(name, [one for one in dir(self) if one not in REFUSED], QUESTION)

    _source: Source
    _query: Query
    _open: Unspecified = field(default_factory=Unspecified)
    _later: tuple[tuple[str, tuple[Any, ...], Mapping[str, Any]], ...] = ()
    """Verbs for the answer, as they were written; each was checked when it was."""
    _expected: Processing | None = None
    """The shape of the answer after them."""
    _asked: RecordedQuestion | None = field(default=None, kw_only=True)
    """What a document says of it."""

    def _steps(self) -> Processing:
        return self._expected or expectation(self._query)

    def _handed(self, processing: Processing, verb: str, /, *arguments: Any, **named: Any) -> Question:
        return replace(self, _later=(*self._later, (verb, arguments, named)), _expected=processing)

    def document(self) -> dict[str, Any]:
        """What is asked, ready for JSON: the same for the same question, in whichever way it was written.

        ``dp.question(document, {"people": people})`` reads it. It holds names of tables, and no rows, no price.

        >>> from discreet.testing import people
        >>> people().filter(lambda t: t.age >= 18).count().document()["question"]["aggregates"]
        [['count', {'count_star': []}]]
        """
        after = after_parts(self._later, self._expected)
        return document_of(self._asked, **({"after": after} if after else {}))

    def __repr__(self) -> str:
        by = f" by {', '.join(self._query.keys.names)}" if self._query.keys else ""
        names = ", ".join(a.name for a in self._query.aggregates)
        later = "" if self._expected is None else f"; {', '.join(step.text for step in self._expected.steps)}"
        unknown = ", of unknown keys" if self._open.keys else ""
        return printable(f"<question about {self._source.declaration.title!r}: {names}{by}{later}{unknown}>")

    @property
    def _is_open(self) -> bool:
        """Whether keys, limits or bounds are to be found by a first look."""
        return bool(self._open.keys or self._open.limits or open_values(self._query))

    def plan(
        self,
        *,
        epsilon: object = None,
        delta: object = 0,
        rho: object = None,
        weights: Mapping[str, object] | None = None,
    ) -> Plan:
        """The priced question: what would be drawn and charged, with stand-ins for what is open."""
        found = self._priced((epsilon, delta, rho, None), None, 0.95, weights, ())
        return replace(found.placeholder_plan, event=found.event) if isinstance(found, OpenQuestionPlan) else found

    @with_usage_hint(".rounds({'count': 0.05}, relative=True, up_to=0.5)")
    def rounds(
        self,
        within: Mapping[str, object] | None,
        *,
        up_to: object,
        relative: bool = False,
        confidence: float = 0.95,
        weights: Mapping[str, object] | None = None,
    ) -> Rounds:
        """The rounds of a release with `up_to`; their `explain` shows what each costs and how good it is.

        >>> from discreet.testing import people
        >>> rounds = people().count().rounds({"count": 0.05}, relative=True, up_to=0.5)
        >>> rounds.explain()[-1]
        {'round': 12, 'epsilon': '0.5', 'plus_minus': {'count': '55'}}
        """
        if self._is_open:
            raise InvalidQuery(NO_ROUNDS)
        if up_to is None or within is None:
            raise InvalidParameter(
                "Expected within and up_to, got one of them alone.\n"
                "Hint: within={'visits': 0.05}, relative=True, up_to=0.5 says how good, and what it may cost at most."
            )
        return rounds_of(
            self._query, within, up_to=up_to, relative=relative, confidence=level(confidence), weights=weights
        )

    @with_usage_hint(".explain(epsilon={})")
    def explain(
        self,
        *,
        epsilon: object = None,
        delta: object = 0,
        rho: object = None,
        within: Mapping[str, object] | None = None,
        relative: bool = False,
        up_to: object = None,
        weights: Mapping[str, object] | None = None,
        confidence: float = 0.95,
        assume: Mapping[str, int] | None = None,
        report: str | Iterable[str] = (),
        bounds: str | None = None,
        first_look: object = None,
    ) -> Explanation:
        """Mechanism, sensitivity, noise, error bars and cost of a release, without reading a row or spending anything.

        `assume={"rows": n}` gives figures where the error depends on how many rows there are. `within`, `relative` and
        `up_to` are those of `release`: with `up_to` the account is that of the last round, and ``["rounds"]`` says of
        each what it would have cost in all, and how good its answer is. Where something is open, ``["first looks"]``
        says what each of them finds, and at which part of the charge; errors are those for the most groups and, for
        open limits or bounds, for limits of 1 and bounds of (0, 1). With `bounds="auto"` it shows the error with the
        stated bounds beside, and with bounds of which width the first look pays.

        >>> from discreet.testing import people
        >>> people().count().explain(epsilon=1)["columns"][0]["plus_minus"]
        '15'
        >>> people().count().explain(within={"count": 40}, up_to=0.5)["rounds"][0]
        {'round': 1, 'epsilon': '0.005781', 'plus_minus': {'count': '4741'}}
        """
        if bounds is not None:
            call = {
                "epsilon": epsilon,
                "delta": delta,
                "rho": rho,
                "within": within,
                "relative": relative,
                "up_to": up_to,
            }
            other: dict[str, Any] = {"weights": weights, "confidence": confidence, "assume": assume, "report": report}
            other["first_look"] = first_look
            return self._beside_stated(bounds, call | other)
        if flag("relative", relative) or up_to is not None:
            self._check_rounds(first_look)
            rounds = self._in_rounds(within, (epsilon, rho), delta, report)(
                up_to=up_to, relative=relative, confidence=confidence, weights=weights
            )
            statement = self._source.statement(rounds.most)
            facts = explain(rounds.most, statement, confidence=level(confidence), assume=assume)
            return Explanation({**facts.facts, "rounds": rounds.explain()})
        found = self._priced((epsilon, delta, rho, first_look), within, level(confidence), weights, report)
        whole = found.placeholder_plan if isinstance(found, OpenQuestionPlan) else found
        facts = explain(whole, self._source.statement(found), confidence=level(confidence), assume=assume)
        return Explanation({**facts.facts, **first_look_facts(found)}) if isinstance(found, OpenQuestionPlan) else facts

    def _beside_stated(self, bounds: str, call: Mapping[str, Any]) -> Explanation:
        """The account with bounds that are to be found, beside that with the stated ones."""
        plain = self.explain(**{**call, "first_look": call["first_look"] if self._is_open else None})
        return beside_stated(self._query, self._narrower(bounds).explain(**call), plain)

    def _narrower(self, bounds: str) -> Question:
        """The same question, with bounds that are to be found within the stated ones."""
        return replace(self, _query=narrower(self._query, bounds), _open=replace(self._open, narrower=True))

    @overload
    def release(
        self,
        *,
        epsilon: object = None,
        delta: object = 0,
        rho: object = None,
        within: Mapping[str, object] | None = None,
        relative: bool = False,
        up_to: object = None,
        confidence: float = 0.95,
        weights: Mapping[str, object] | None = None,
        fresh: bool = False,
        report: str | Iterable[str] = (),
        bounds: str | None = None,
        first_look: object = None,
        to: None = None,
    ) -> Release: ...

    @overload
    def release(
        self,
        *,
        epsilon: object = None,
        delta: object = 0,
        rho: object = None,
        within: Mapping[str, object] | None = None,
        confidence: float = 0.95,
        weights: Mapping[str, object] | None = None,
        fresh: bool = False,
        to: str | os.PathLike[str],
    ) -> AnswerFile: ...

    @with_usage_hint(".release(epsilon={})")
    def release(
        self,
        *,
        epsilon: object = None,
        delta: object = 0,
        rho: object = None,
        within: Mapping[str, object] | None = None,
        relative: bool = False,
        up_to: object = None,
        confidence: float = 0.95,
        weights: Mapping[str, object] | None = None,
        fresh: bool = False,
        report: str | Iterable[str] = (),
        bounds: str | None = None,
        first_look: object = None,
        to: str | os.PathLike[str] | None = None,
    ) -> Release | AnswerFile:
        """The noisy answer, charged before a row is read.

        `epsilon` is the total for the call; the division over its columns minimizes the sum of (noise sd / public
        range)², scaled by `weights`, which may name a column of unknown keys too. With a `delta`, Gaussian noise is
        priced beside Laplace noise and the better is taken (`explain` shows both); Laplace noise leaves the delta
        unspent. `rho` prices the call in zero-concentrated differential privacy instead, as a budget stated in rho adds
        it up: Gaussian noise whose parts cost that much together, quantiles at the epsilon that costs their part of it.
        `within={"people": 25}` takes the cheapest epsilon instead for which that column is off by at most 25 with the
        given confidence. The same release again returns the stored answer for nothing; `fresh=True` draws anew and
        pays. `report=("clipped", "weighted")` tells beside the answer, at a twentieth of epsilon each, for which share
        of the units bounds and limits made a difference. `bounds="auto"` finds narrower bounds than the stated ones, at
        a tenth of epsilon, for all that is added up: for bounds that are far wider than the rows. `first_look=0.5` is
        the part of the price that finds limits and bounds, for few units or little epsilon, in place of a twentieth for
        each limit and a tenth for bounds.

        With `up_to`, the targets are met in rounds of ever less noise, each charged before it is looked at, until all
        cells of these columns are within them or `up_to` is spent: the charge is that of the last round, and the
        receipt says how it ended. It serves errors that depend on the rows, such as those of means, and, with
        `relative`, targets that are parts of the answer: ``within={"visits": 0.05}, relative=True, up_to=0.5``.

        Unknown keys need a `delta`. `within` finds the epsilon where keys alone are open; a lone count is then made
        apart from finding its keys, so that it is as good for a key that few units have.

        `to` names a Parquet file for the answer, which is never held as a whole: groups may be more than fit in memory
        (`keys` in a file). The same release again gives the same file; it is an ``AnswerFile`` that is returned.

        Returns a ``Release``. Raises BudgetExceeded (nothing spent), InvalidParameter, InvalidQuery, EngineError
        (spent).
        """
        offer = {"epsilon": epsilon, "delta": delta, "rho": rho, "within": within, "first_look": first_look}
        if bounds is not None:
            stated = {"up_to": up_to, "relative": relative, "confidence": confidence, "weights": weights}
            stated["report"] = report
            return self._released_within(bounds, {**offer, **stated, "fresh": fresh, "to": to})
        wanted = level(confidence)
        in_rounds = flag("relative", relative) or up_to is not None
        flag("fresh", fresh)
        if in_rounds:
            self._check_rounds(first_look)
        if self._expected is not None:
            rehearse(self._expected)
        if to is None:
            check_held(self._query)
        else:
            check_written(
                self._query,
                is_open=self._is_open,
                in_rounds=in_rounds,
                reported=is_stated(report),
                processed=bool(self._later),
            )
        if in_rounds:
            rounds = self._in_rounds(within, (epsilon, rho), delta, report)(
                up_to=up_to, relative=relative, confidence=wanted, weights=weights
            )
            return self._finished(self._source.release(rounds, fresh=fresh, confidence=wanted))
        found = self._priced((epsilon, delta, rho, first_look), within, wanted, weights, report)
        if to is not None and isinstance(found, Plan):  # nothing is open or reported
            return self._source.write(found, to, fresh=fresh, confidence=wanted)
        call = ReleaseCall(document=partial(document_of, self._asked), price=offer, weights=weights)
        return self._finished(self._source.release(found, fresh=fresh, confidence=wanted, call=call))

    def _released_within(self, bounds: str, call: Mapping[str, Any]) -> Release | AnswerFile:
        """The same release, with bounds that are found within the stated ones."""
        answer: Release | AnswerFile = self._narrower(bounds).release(**call)
        return answer

    def _check_rounds(self, first_look: object) -> None:
        """Refuses first looks beside rounds."""
        if self._is_open:
            raise InvalidQuery(NO_ROUNDS)
        if first_look is not None:
            raise InvalidParameter(ROUNDS_ALONE)

    def _in_rounds(self, within: Any, price: object, delta: object, report: object) -> Callable[..., Rounds]:
        """The rounds, for what is left to state of them; refuses what does not go together with any."""
        if not self._is_open and (price != (None, None) or fraction("delta", delta) or is_stated(report)):
            raise InvalidParameter(ROUNDS_ALONE)
        return partial(self.rounds, within)

    def _priced(
        self,
        price_of_call: tuple[object, object, object, object],
        within: object,
        confidence: float,
        weights: Mapping[str, object] | None,
        report: str | Iterable[str],
    ) -> Plan | OpenQuestionPlan:
        """The plan at an epsilon, with a delta, or at a rho, and a part of it for first looks; or at the cheapest
        epsilon for a wanted error.
        """
        epsilon, delta, rho, first_look = price_of_call
        if within is not None:
            check_unpriced(epsilon, rho)
        left = replace(self._open, report=reports(self._query, report), share=stated_part(first_look))
        is_plain = not (self._is_open or left.report or left.share)
        if within is not None:
            if is_plain:
                return cheapest_plan(self._query, within, confidence=confidence, weights=weights, delta=delta)
            epsilon = self._cheapest(within, confidence, weights, delta)
        if is_plain:
            return price(self._query, epsilon=epsilon, delta=delta, rho=rho, weights=weights)
        return plan_open_question(
            self._query, left, epsilon=epsilon, delta=delta, rho=rho, weights=weights, within=within
        )

    def _cheapest(
        self, within: object, confidence: float, weights: Mapping[str, object] | None, delta: object
    ) -> Fraction:
        """The cheapest epsilon for a wanted error; where keys are open, with the part that finds them."""
        if self._open.limits or open_values(self._query):
            raise InvalidQuery(NO_ERROR)
        own = fraction("delta", delta) / 2 if self._open.keys else delta
        keys_part, weights = split_weights(self._open, weights)
        found = cheapest(self._query, within, confidence=confidence, weights=weights, delta=own)
        return found / (1 - keys_part) if self._open.keys else found

    def _finished(self, answer: Release) -> Release:
        """The answer after the verbs that were written for it."""
        for verb, arguments, named in self._later:
            answer = getattr(answer, verb)(*arguments, **named)
        return answer
