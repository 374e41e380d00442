"""What more weight on one table does: it gains, others lose, and the figures are those of the plans themselves."""

from __future__ import annotations

import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.errors import InvalidParameter
from discreet.query.batch_question import BatchQuestion

ROWS = pa.table({"plan": ["a", "b"] * 20, "age": list(range(40))})


def question() -> BatchQuestion:
    budget = dp.Budget(epsilon=5)
    table = dp.protect(ROWS, unit=dp.ROW, keys={"plan": ["a", "b"]}, bounds={"age": (0, 99)}, budget=budget)
    return dp.batch(
        by_plan=table.group_by("plan").agg(n=_.count()),
        young=table.filter(_.age < 20).count(),
        old=table.filter(_.age >= 60).count(),
    )


def test_weight_moves_the_error_from_one_table_to_others() -> None:
    asked = question()
    found = asked.trade_offs(rho=0.1).to_pydict()
    assert found["table"] == ["by_plan", "young", "old"]
    for before, after, grown in zip(
        found["plus_minus"], found["plus_minus_if_heavier"], found["others_grow_by"], strict=True
    ):
        assert after < before
        assert grown > 0
    exact = asked.explain(rho=0.1, weights={"old": 4}).accuracy
    assert found["plus_minus_if_heavier"][2] == exact["old: count"].amount
    assert found["plus_minus"][0] == asked.explain(rho=0.1).accuracy["by_plan: n"].amount


def test_stated_weights_are_where_it_starts() -> None:
    asked = question()
    found = asked.trade_offs(rho=0.1, weights={"old": 9}).to_pydict()
    assert found["plus_minus"][2] == asked.explain(rho=0.1, weights={"old": 9}).accuracy["old: count"].amount
    for wrong in ({"odd": 2}, {"old": 0}, {"old": "x"}):
        with pytest.raises(InvalidParameter):
            asked.trade_offs(rho=0.1, weights=wrong)
