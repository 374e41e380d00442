"""The receipt of an answer: what was promised, how it was kept, and what it cost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from html import escape
from typing import Any, ClassVar, Self

from discreet.errors import InvalidParameter, expected, printable
from discreet.exact.written_amounts import stored_amount
from discreet.guesses.answer_words import RECEIPT
from discreet.guesses.near_names import NearNames
from discreet.privacy.definitions import UNBOUNDED, Guarantee, Neighbors

SCRIPTED = " — scripted noise, NOT PRIVATE"


@dataclass(frozen=True, kw_only=True, slots=True)
class Measurement:
    """One noisy total, or a vector of them: how far one unit moves it, and the noise that hides that."""

    statistic: str
    """What is summed, such as "count of rows"."""
    of: str | None
    """The columns that it is a sum of; None for a count."""
    mechanism: str
    """The law of the noise, such as "discrete Laplace"."""
    sensitivity: Fraction
    """How far one unit moves it in all groups together, in the norm of the mechanism, in steps of its lattice."""
    scale: float
    """The scale of the noise (sigma where it is Gaussian), in the same steps."""
    share: float
    """Its part of the charge."""


class Receipt(NearNames, dict[str, Any]):
    """What was promised of an answer, and how it was kept. A dict, ready for JSON, whose main facts are values as well.

    Amounts are rounded up where they have no short decimal; the ledger has them exactly.

    >>> from discreet.testing import people
    >>> receipt = people().count().release(epsilon=1).receipt
    >>> receipt.charge, receipt.neighbors.value, receipt["guarantee"]
    (Guarantee(epsilon=1), 'add-remove', '1-differential privacy for add-remove neighbors')
    >>> [(one.mechanism, one.scale) for one in receipt.measurements]
    [('discrete Laplace', 5.0)]
    """

    _instead: ClassVar[Mapping[str, str]] = RECEIPT

    @classmethod
    def of(cls, facts: Mapping[str, Any], **more: Any) -> Self:
        """A copy of stored facts, and of more of them."""
        if not isinstance(facts, Mapping):
            raise InvalidParameter(expected("a dict of facts", "facts", facts, "give what dict(receipt) gave."))
        try:
            written = json.dumps({**facts, **more})
        except (TypeError, ValueError):  # ValueError of numbers that are too long
            written = None
        if written is None:
            cure = "give texts, numbers, truth values, lists and dicts of them."
            raise InvalidParameter(expected("facts that JSON has", "facts", type(facts).__name__, cure))
        return cls(json.loads(written))

    @property
    def charge(self) -> Guarantee:
        """What was charged; nothing for what is no release of a protected table."""
        amounts = {name: stored_amount(amount) for name, amount in self.get("charge", {}).items()}
        epsilon = amounts.pop("epsilon", UNBOUNDED if "rho" in amounts else Fraction(0))
        return Guarantee(epsilon=epsilon, **amounts)

    @property
    def private(self) -> bool:
        """Whether the noise came from a secure source; False for what is meant for tests, which says so."""
        return bool(self["private"])

    @property
    def key(self) -> str | None:
        """The key of the release in the ledger: equal for equal questions about the same declared source."""
        return self.get("release")

    @property
    def time(self) -> datetime | None:
        """When it was drawn, in UTC."""
        return datetime.fromisoformat(self["time"]) if "time" in self else None

    @property
    def question(self) -> str:
        """What was asked, in one line."""
        return str(self.get("question", ""))

    @property
    def unit(self) -> tuple[str, ...]:
        """The columns that together name who is protected; none where each row is a unit, or each column names one."""
        stated = self.get("unit", [])
        return tuple(stated) if isinstance(stated, list) else ()

    @property
    def neighbors(self) -> Neighbors | None:
        """Which tables are neighbors."""
        return Neighbors(self["neighbors"]) if "neighbors" in self else None

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """What noise was added to, total by total."""
        return tuple(
            Measurement(
                statistic=one["statistic"],
                of=one["of"],
                mechanism=one["mechanism"],
                sensitivity=stored_amount(one["sensitivity"]),
                scale=float("nan") if one["scale"] == "ranks" else float(one["scale"]),
                share=float(one["share"]),
            )
            for one in self.get("totals", [])
        )

    @property
    def cost(self) -> str:
        """The charge in a few words, as it stands below an answer: amounts that are not 0."""
        return ", ".join(f"{name} {amount}" for name, amount in self.get("charge", {}).items() if amount != "0")

    @property
    def warning(self) -> str:
        """What follows the charge where the noise is not private."""
        return "" if self["private"] else SCRIPTED

    def __str__(self) -> str:
        facts = {printable(name): _in_line(fact) for name, fact in self.items()}
        width = max(map(len, facts), default=0)
        return "\n".join(f"{name:>{width}}  {fact}" for name, fact in facts.items())

    def _repr_html_(self) -> str:
        texts = ((escape(printable(name)), escape(_in_line(fact))) for name, fact in self.items())
        rows = "".join(f"<tr><th>{name}</th><td>{fact}</td></tr>" for name, fact in texts)
        return f"<table><tbody>{rows}</tbody></table>"


def _in_line(fact: Any) -> str:
    """A fact in one line; of several, one after another."""
    if isinstance(fact, Mapping):
        return ", ".join(f"{printable(str(name))}={_in_line(value)}" for name, value in fact.items())
    if isinstance(fact, list):
        return "; ".join(map(_in_line, fact))
    return printable(str(fact))
