"""What `.top`, `.choose`, `.kmeans` and the like give without a price: a question, to explain or for later."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import pyarrow as pa

from discreet.errors import InvalidParameter, expected, printable
from discreet.exact.amounts import fraction
from discreet.guesses.near_names import NearNames, each
from discreet.ledger.ledger import stated_guarantee
from discreet.planning.planner import level
from discreet.privacy.definitions import Guarantee
from discreet.query.explanation import Explanation
from discreet.query.question_documents import document_of
from discreet.query.recorded_verbs import RecordedApplication
from discreet.query.unreleased_methods import Unreleased

Answer = TypeVar("Answer")

WORDS: Mapping[str, str] = dict(
    each("the answer has it: end with .release(epsilon=1).", "values value centers sizes predict receipt plot")
)


@dataclass(frozen=True, eq=False, repr=False)
class UnpricedQuestion(NearNames, Unreleased, Generic[Answer]):
    """A complete question that has no price yet; nothing was read or spent. `explain` prices it, `release` answers.

    >>> from discreet.testing import people
    >>> question = people().top("plan", k=2)
    >>> question
    <question about 'people': the 2 most common of plan>
    >>> len(question.release(epsilon=5).values)
    2
    """

    _instead: ClassVar[Mapping[str, str]] = WORDS

    _asked: RecordedApplication
    _what: str
    _answer: Callable[..., Answer]
    """The verb, which takes a price."""
    _account: Callable[[Guarantee, float], Explanation]
    """What a release at a price would be, with errors at a confidence."""
    _shape: Callable[[], pa.Schema]
    """The names and types of the answer as a table."""
    _takes_delta: bool = False
    _takes_rho: bool = True

    @property
    def _source(self) -> Any:
        return self._asked.table._source  # noqa: SLF001 (what a question is asked of)

    def __repr__(self) -> str:
        return printable(f"<question about {self._asked.table.declaration.title!r}: {self._what}>")

    def document(self) -> dict[str, Any]:
        """What is asked, ready for JSON, without a price; see ``Question.document``.

        >>> from discreet.testing import people
        >>> people().top("plan", k=2).document()["top"]
        {'from': {'table': 'people'}, 'column': 'plan', 'k': 2}
        """
        return document_of(self._asked)

    def explain(
        self, *, epsilon: object = None, delta: object = 0, rho: object = None, confidence: object = 0.95
    ) -> Explanation:
        """The mechanism, its sensitivity, the error and what else could be had at the price; nothing is read or spent.

        The error is what the answer may be off by with this confidence: of a choice, by how much its score falls short
        of the best, in the units of the scores, for the worst rows that there can be.

        >>> from ibis import _
        >>> from discreet.testing import people
        >>> found = people().choose([10, 40, 70], score=lambda c: (_.age - c).abs() < 15).explain(epsilon=1)
        >>> found["mechanism"], found["sensitivity"], str(found.accuracy["chosen"])
        ('permute-and-flip choice of 1 of 3', '5 between two scores', '14.89 short at most')
        """
        return self._account(self._price(epsilon, delta, rho), level(confidence))

    def release(self, *, epsilon: object = None, delta: object = 0, rho: object = None, fresh: bool = False) -> Answer:
        """The answer, charged before a row is read: what the verb gives with this price.

        >>> from discreet.testing import people
        >>> people().kmeans(["age", "visits"], n_clusters=2).release(epsilon=8).columns
        ('age', 'visits')
        """
        self._price(epsilon, delta, rho)
        price: dict[str, object] = {"epsilon": epsilon, "fresh": fresh}
        if self._takes_rho:
            price["rho"] = rho
        if self._takes_delta:
            price["delta"] = delta
        return self._answer(**price)

    def _price(self, epsilon: object, delta: object, rho: object) -> Guarantee:
        """The price, of which the verb takes every part."""
        price = stated_guarantee(epsilon, delta, rho)
        if not self._takes_delta and fraction("delta", delta):
            raise InvalidParameter(expected("no delta", "delta", delta, "leave it out: none is needed."))
        if not self._takes_rho and price.rho is not None:
            raise InvalidParameter(expected("an epsilon", "rho", rho, "write epsilon=0.5: its parts are pure."))
        return price
