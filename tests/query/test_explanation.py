"""An account holds numbers; what is shown of them is text."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from fractions import Fraction

import pytest
from ibis import _

from discreet.planning.linear_error import half_width
from discreet.planning.planner import price
from discreet.privacy.definitions import Guarantee
from discreet.query.explanation import Accuracy, ErrorOf, as_text
from discreet.testing import people


def test_amounts_are_exact_and_texts_are_short() -> None:
    asked = people().agg(n=_.count(), m=_.age.mean(), s=_.visits.std(), q=_.age.median(), top=_.age.max())
    found = asked.explain(epsilon=Fraction(1, 3))
    plan = price(asked._query, epsilon=Fraction(1, 3))
    assert found.charge == Guarantee(epsilon=Fraction(1, 3))
    assert found["charge"] == {"epsilon": "0.333333", "delta": "0"}
    assert found.accuracy["n"] == Accuracy(half_width(plan, plan.columns[0], 0.95))
    assert [one.of for one in found.accuracy.values()] == [
        ErrorOf.VALUE,
        ErrorOf.VALUE_TIMES_ROWS,
        ErrorOf.VALUE_TIMES_ROWS,
        ErrorOf.RANK,
        ErrorOf.ROWS_BEYOND_OF_MORE,
    ]
    assert {column["name"]: column["plus_minus"] for column in found["columns"]} == {
        name: str(one) for name, one in found.accuracy.items()
    }
    blocks = sum(block.share for block in plan.blocks) + sum(one.share for one in plan.ranks)
    assert blocks == 1
    assert found.shares["q"] == plan.ranks[0].share
    with pytest.raises(FrozenInstanceError):
        found.accuracy["n"].amount = 0.0  # type: ignore[misc]  # the case


@pytest.mark.parametrize(
    ("accuracy", "text"),
    [
        (Accuracy(12345.6), "1.235e+04"),
        (Accuracy(2.0, ErrorOf.VALUE_TIMES_ROWS), "2/n"),
        (Accuracy(7.0, ErrorOf.RANK, 12.34), "about 7 rows of rank, at most 12.3"),
        (Accuracy(7.0, ErrorOf.ROWS_BEYOND), "about 7 rows beyond"),
        (Accuracy(7.0, ErrorOf.RANGE), "the whole range"),
    ],
)
def test_an_error_says_what_it_is_of(accuracy: Accuracy, text: str) -> None:
    assert str(accuracy) == text


def test_facts_become_text_by_their_name() -> None:
    third = Fraction(1, 3)
    facts = {"share": third, "rho": third, "epsilon": [third], "sensitivity": 3, "cost": (Guarantee(epsilon=third),)}
    assert as_text(facts) == {
        "share": "0.333",
        "rho": "0.3333",
        "epsilon": ["0.333333"],
        "sensitivity": 3,
        "cost": [{"epsilon": "0.333333", "delta": "0"}],
    }
