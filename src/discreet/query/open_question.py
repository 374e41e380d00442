"""A question that leaves keys, limits or bounds open, to be settled privately when it is released."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from discreet.errors import InvalidQuery
from discreet.exact.amounts import fraction
from discreet.language.given_values import flag
from discreet.planning.clipping_reports import reports
from discreet.planning.plan import Plan
from discreet.planning.planner import level
from discreet.planning.two_stage import KEYS_PART, prospect
from discreet.planning.unspecified import Unspecified, open_values
from discreet.query.epsilon_for_accuracy import cheapest
from discreet.query.explain import Explanation
from discreet.query.file_output import check_held
from discreet.query.question import Question, check_epsilon

NO_ROUNDS = (
    "Expected keys, limits and bounds that are stated, got rounds with some that are to be found.\n"
    "Hint: state them, or give epsilon."
)

NO_FILE = (
    "Expected keys, limits and bounds that are stated for to=, got some that are to be found.\n"
    "Hint: state them, or leave out to= and use .to_parquet(path) on the answer."
)


@dataclass(frozen=True, eq=False, repr=False)
class OpenQuestion(Question):
    """A question with something open: a first look finds it, at a stated part of the charge; the rest answers.

    >>> import discreet as dp
    >>> from discreet.testing import people
    >>> question = people().group_by("plan", keys=dp.UNKNOWN, max_groups=1).agg(n=lambda t: t.count())
    >>> question
    <question about 'people': n by plan, of unknown keys>
    >>> [look["what"] for look in question.explain(epsilon=1, delta=1e-6)["first looks"]]
    ['keys of plan']
    """

    _open: Unspecified = field(default_factory=Unspecified)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}{', of unknown keys' if self._open.keys else ''}>"

    def plan(
        self,
        *,
        epsilon: object = None,
        delta: object = 0,
        rho: object = None,
        weights: Mapping[str, object] | None = None,
    ) -> Plan:
        """The plan with stand-ins for what is open, and the charge of all looks together."""
        check_epsilon(rho)
        found = prospect(self._query, self._open, epsilon=epsilon, delta=delta, weights=weights)
        return replace(found.outlook, event=found.event)

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
    ) -> Explanation:
        """What `Question.explain` says, and the first looks: what each of them finds, and at which part of the charge.

        Errors are those for the most groups and, where limits or bounds are open, for limits of 1 and bounds of (0, 1).
        """
        if flag("relative", relative) or up_to is not None:
            raise InvalidQuery(NO_ROUNDS)
        epsilon = self._epsilon((epsilon, rho), within, level(confidence), weights, delta)
        left = replace(self._open, report=reports(self._query, report))
        found = prospect(self._query, left, epsilon=epsilon, delta=delta, weights=weights, foreseen=within is not None)
        return self._foreseen(found, confidence, assume)

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
        to: str | os.PathLike[str] | None = None,
    ) -> Any:
        """The noisy answer, charged in full before a row is read; see `Question.release`.

        Unknown keys need a `delta`. `within` finds the epsilon where keys alone are open; a lone count is then made
        apart from finding its keys, so that it is as good for a key that few units have.
        """
        wanted = level(confidence)
        if flag("relative", relative) or up_to is not None:
            raise InvalidQuery(NO_ROUNDS)
        flag("fresh", fresh)
        if to is not None:
            raise InvalidQuery(NO_FILE)
        check_held(self._query)
        epsilon = self._epsilon((epsilon, rho), within, wanted, weights, delta)
        left = replace(self._open, report=reports(self._query, report))
        found = prospect(self._query, left, epsilon=epsilon, delta=delta, weights=weights, foreseen=within is not None)
        return self._finished(self._source.release(found, fresh=fresh, confidence=wanted))

    def rounds(self, within: Mapping[str, object] | None, **stated: Any) -> NoReturn:
        """Refuses: rounds are for questions with nothing left open.

        >>> import discreet as dp
        >>> from discreet.testing import people
        >>> question = people().group_by("plan", keys=dp.UNKNOWN, max_groups=1).agg(n=lambda t: t.count())
        >>> question.rounds({"n": 5}, up_to=1)
        Traceback (most recent call last):
            ...
        discreet.errors.InvalidQuery: Expected keys, limits and bounds that are stated, got rounds ...
        Hint: state them, or give epsilon.
        """
        del within, stated
        raise InvalidQuery(NO_ROUNDS)

    def _epsilon(
        self,
        stated: tuple[object, object],
        within: object,
        confidence: float,
        weights: Mapping[str, object] | None,
        delta: object,
    ) -> object:
        check_epsilon(stated[1])
        if within is None or stated != (None, None):
            return super()._epsilon(stated, within, confidence, weights, delta)
        if self._open.limits or open_values(self._query):
            raise InvalidQuery(
                "Expected limits and bounds that are stated, got some that are to be found.\n"
                "Hint: the error depends on them: give epsilon, or state them."
            )
        half = fraction("delta", delta) / 2
        answering = cheapest(self._query, within, confidence=confidence, weights=weights, delta=half)
        return answering / (1 - KEYS_PART)
