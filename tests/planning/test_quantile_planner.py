"""What blocks of ranks cost, what they share, and that a unit's limits enter their price."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import InvalidParameter
from discreet.mechanisms.laplace import Laplace
from discreet.planning.plan import Plan
from discreet.planning.quantile_planner import split_epsilon
from discreet.query.table import PrivateTable
from neighbor_bench import plan_of


def plan(table: PrivateTable, epsilon: object = 1, **asked: Any) -> Plan:
    return plan_of(table.agg(**asked), epsilon=epsilon)


def test_the_mass_of_a_unit_is_limited(protect_people: Any) -> None:
    table = protect_people(max_rows=3)
    found = plan(table, m=lambda t: t.age.median()).ranks[0]
    assert found.cuts.mass == 3 * found.steps
    grouped = table.group_by("plan", max_groups=2, max_rows=5).agg(m=lambda t: t.age.median())
    found = plan_of(grouped, epsilon=1).ranks[0]
    assert found.cuts.mass == 10 * found.steps


FAR_TABLES = {
    "nobody": [],
    "one at the top": [1000.0],
    "many": [float(i % 10) for i in range(300)],
    "many, and one at the top": [*(float(i % 10) for i in range(300)), 1000.0],
}


@pytest.mark.long
@pytest.mark.parametrize("statistic", ["max", "min", "median"])
def test_a_price_is_refused_or_good_for_every_table(statistic: str) -> None:
    """Whether the release of a maximum failed, at a price that its analyst chose, once showed whether somebody is at
    the top: prices of every size, for tables in which it did not and in which it did.
    """
    budget, seen = dp.Budget(epsilon=10**6), {"answered": 0, "refused": 0}
    tables = [
        dp.protect(pa.table({"v": pa.array(values, pa.float64())}), unit=dp.ROW, bounds={"v": (0, 1000)}, budget=budget)
        for values in FAR_TABLES.values()
    ]
    for power in range(28, 66):
        for epsilon in (2.0**-power, 1.78 * 2.0**-power):
            outcomes = {outcome(table, statistic, epsilon) for table in tables}
            assert len(outcomes) == 1, (epsilon, outcomes)
            seen[outcomes.pop()] += 1
    assert min(seen.values()) > 20


def outcome(table: PrivateTable, statistic: str, epsilon: float) -> str:
    try:
        table.agg(m=lambda t: getattr(t.v, statistic)()).release(epsilon=epsilon, fresh=True)
    except InvalidParameter as refusal:
        assert "an order statistic can use" in str(refusal)  # noqa: PT017 (an answer is as good)
        return "refused"
    return "answered"


def test_prices_of_no_use_are_refused_before_anything_overflows(by_row: Any) -> None:
    for epsilon in (Fraction(1, 10**100), 1e-90, 1e-30):
        for asked in (lambda t: t.age.max(), lambda t: t.age.quantile([0.25, 0.5])):
            with pytest.raises(InvalidParameter, match="an order statistic can use, got price='too little'"):
                plan(by_row(), epsilon, m=asked)


def test_a_row_is_one(by_row: Any) -> None:
    found = plan(by_row(), m=lambda t: t.age.median()).ranks[0]
    assert (found.cuts.mass, found.steps, found.cuts.replaced) == (1, 1, False)
    found = plan(by_row(neighbors="replace-one", rows=9), m=lambda t: t.age.median()).ranks[0]
    assert found.cuts.replaced


def test_parts_are_the_whole(by_row: Any) -> None:
    asked = {
        "n": lambda t: t.age.count(),
        "m": lambda t: t.age.median(),
        "q": lambda t: t.age.quantile([0.1, 0.9]),
        "lo": lambda t: t.spent.min(),
        "hi": lambda t: t.spent.max(),
        "s": lambda t: t.spent.sum(),
    }
    found = plan(by_row(), 0.3, **asked)
    assert len(found.ranks) == 3  # all quantiles of one column share their cuts
    spent = [b.noise.epsilon for b in found.blocks if isinstance(b.noise, Laplace)]
    whole = sum(spent, start=sum((r.cuts.epsilon for r in found.ranks), Fraction(0)))
    assert whole == Fraction(3, 10)
    assert [c.aggregate.name for c in found.columns] == ["n", "m", "q_0.1", "q_0.9", "lo", "hi", "s"]
    assert [found.columns[i].place for i in (1, 2, 3)] == [1, 0, 2]


def test_weights_move_the_parts(by_row: Any) -> None:
    question = by_row().agg(m=lambda t: t.age.median(), hi=lambda t: t.spent.max())
    from discreet.planning.planner import price

    light, heavy = (price(question._query, epsilon=1, weights={"m": w}).ranks[0].cuts.epsilon for w in (1, 8))
    assert light == Fraction(1, 2)
    assert heavy == pytest.approx(Fraction(2, 3), abs=1e-5)


def test_parted() -> None:
    assert split_epsilon(2, []) == (Fraction(1), [])
    assert split_epsilon(0, [1.0]) == (Fraction(0), [Fraction(1)])
    assert split_epsilon(1, [1.0, 2.0]) == (Fraction(1, 4), [Fraction(1, 4), Fraction(1, 2)])
    rest, parts = split_epsilon(0, [1.0] * 3)
    assert rest == 0
    assert sum(parts) == 1


def test_too_many_rows_of_one_unit_are_refused(protect_people: Any, refused: Any) -> None:
    table = protect_people(max_rows=2**33)
    assert "max_groups * max_rows" in refused(InvalidParameter, plan, table, m=lambda t: t.age.median())
