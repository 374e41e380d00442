"""What `.top`, `.choose` and `.kmeans` give without a price: a question with a document, for later."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from discreet.errors import InvalidParameter, expected, printable
from discreet.exact.amounts import fraction
from discreet.guesses.near_names import NearNames, each
from discreet.ledger.ledger import stated_guarantee
from discreet.query.question_documents import document_of
from discreet.query.recorded_verbs import RecordedApplication
from discreet.query.unreleased import Unreleased

Answer = TypeVar("Answer")

WORDS: Mapping[str, str] = dict(
    each("the answer has it: end with .release(epsilon=1).", "values value centers sizes predict receipt plot")
)


@dataclass(frozen=True, eq=False, repr=False)
class UnpricedQuestion(NearNames, Unreleased, Generic[Answer]):
    """A complete question that has no price yet; nothing was read or spent. `release` charges it and answers.

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
    _takes_delta: bool = False

    def __repr__(self) -> str:
        return printable(f"<question about {self._asked.table.declaration.title!r}: {self._what}>")

    def document(self) -> dict[str, Any]:
        """What is asked, ready for JSON, without a price; see ``Question.document``.

        >>> from discreet.testing import people
        >>> people().top("plan", k=2).document()["top"]
        {'from': {'table': 'people'}, 'column': 'plan', 'k': 2}
        """
        return document_of(self._asked)

    def release(self, *, epsilon: object = None, delta: object = 0, rho: object = None, fresh: bool = False) -> Answer:
        """The answer, charged before a row is read: what the verb gives with this price.

        >>> from discreet.testing import people
        >>> people().kmeans(["age", "visits"], n_clusters=2).release(epsilon=8).columns
        ('age', 'visits')
        """
        stated_guarantee(epsilon, delta, rho)
        price: dict[str, object] = {"epsilon": epsilon, "rho": rho, "fresh": fresh}
        if self._takes_delta:
            price["delta"] = delta
        elif fraction("delta", delta):
            raise InvalidParameter(expected("no delta", "delta", delta, "leave it out: none is needed."))
        return self._answer(**price)
