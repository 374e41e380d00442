"""Readings are charged before the engine looks, stored as they are, and named by all that determines them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import ibis.expr.types as ir
import pyarrow as pa
import pytest

import discreet as dp
from discreet.answers.stored_answers import stored_table, table_of
from discreet.noise.entropy import RandomWords
from discreet.privacy.definitions import Guarantee
from discreet.query.table import PrivateTable
from discreet.query.table_view import view_of

ROWS = pa.table({"person": [1, 2, 2], "plan": ["a", "b", "a"]})


PRICE = Guarantee(epsilon=Fraction(1, 2), delta=Fraction(1, 100))


@dataclass(frozen=True, kw_only=True)
class Plain:
    """A reading without a mechanism, to watch the order of things."""

    budget: dp.Budget
    expression: ir.Table
    what: str = "plain"
    guarantee: Guarantee = PRICE
    charged_event: None = None
    facts: Mapping[str, Any] = field(default_factory=lambda: {"method": "plain"})
    spent: list[Fraction] = field(default_factory=list)

    def add_noise(self, found: pa.Table, words: RandomWords) -> pa.Table:
        self.spent.append(self.budget.spent.epsilon)
        assert words(1).size == 1
        return found.replace_schema_metadata({"note": "kept"})


def table(**stated: Any) -> PrivateTable:
    return dp.protect(ROWS, unit="person", budget=dp.Budget(**({"epsilon": 2, "delta": 0.5} | stated)), name="rows")


def plain(people: PrivateTable, **stated: Any) -> Plain:
    relation = view_of(people).relation
    return Plain(budget=people.budget, expression=relation.group_by("plan").agg(n=relation.count()), **stated)


def test_the_charge_comes_first_and_a_repeat_is_free() -> None:
    people = table()
    source: Any = people._source
    reading = plain(people)
    shown, receipt = source.read(reading, fresh=False)
    assert reading.spent == [Fraction(1, 2)]
    assert dict(zip(shown["plan"].to_pylist(), shown["n"].to_pylist(), strict=True)) == {"a": 2, "b": 1}
    assert shown.schema.metadata[b"note"] == b"kept"
    assert (receipt["method"], receipt["private"], receipt["question"]) == ("plain", True, "plain")
    again, same = source.read(plain(people), fresh=False)
    assert again.equals(shown)
    assert same == receipt
    assert (people.budget.spent.epsilon, people.budget.spent.delta) == (Fraction(1, 2), Fraction(1, 100))
    source.read(plain(people), fresh=True)
    source.read(plain(people, facts={"method": "other"}), fresh=False)
    assert people.budget.spent.epsilon == Fraction(3, 2)


def test_what_does_not_fit_is_not_looked_at() -> None:
    people = table(epsilon=0.1)
    source: Any = people._source
    reading = plain(people)
    with pytest.raises(dp.BudgetExceeded):
        source.read(reading, fresh=False)
    assert reading.spent == []


def test_a_failing_engine_says_nothing_and_stays_charged() -> None:
    people = table()
    source: Any = people._source
    broken = plain(people)
    wrong = view_of(people).relation.mutate(x=view_of(people).relation.plan.cast("int64"))
    object.__setattr__(broken, "expression", wrong)
    with pytest.raises(dp.EngineError) as refused:
        source.read(broken, fresh=False)
    assert refused.value.__context__ is None
    assert people.budget.spent.epsilon == Fraction(1, 2)


def test_tables_are_stored_as_they_are() -> None:
    odd = pa.table({"item": pa.array(["é", None, "\x00"]), "n": pa.array([2**62, -1, 0], pa.int64())})
    shown, receipt = table_of(stored_table(odd.replace_schema_metadata({"a": "b"}), {"x": [1]}))
    assert shown.select(["item", "n"]).equals(odd)
    assert shown.schema.metadata[b"a"] == b"b"
    assert receipt == {"x": [1]}
