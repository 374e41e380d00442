"""Plans of levels: neighbors in integers, prices that add up, and what is refused before anything is read."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from depth import FUZZ
from discreet.accounting.event_costs import zcdp_of_event
from discreet.errors import InvalidParameter, InvalidQuery
from discreet.hierarchies.hierarchy_question import HierarchyQuestion
from discreet.hierarchies.level_plan import LevelPlan
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.query.table import PrivateTable
from hierarchy_fixtures import COUNTIES, KEYS, LEVELS, PATH, ROWS, STATED, STATES, asked, protected
from neighbor_bench import Bench


def planned(question: HierarchyQuestion, **price: Any) -> LevelPlan:
    stated = {"epsilon": None, "delta": 0, "rho": None, **price}
    own = (stated.pop("epsilon"), stated.pop("delta"), stated.pop("rho"))
    division = (stated.pop("shares", None), stated.pop("weights", None))
    within, integers = stated.pop("within", None), stated.pop("integers", False)
    return question._plan(own, within, division, integers=integers, confidence=0.95)


def moved(plan: LevelPlan, first: list[Any], second: list[Any]) -> list[list[tuple[int, int]]]:
    """For each block and level, how far it is from totals of counties to others, in both norms."""
    levels = [[plan.places.tree.sums(block.reshape(6, -1)) for block in blocks] for blocks in (first, second)]
    return [
        [(int(np.abs(a - b).sum()), int(((a - b).astype(object) ** 2).sum())) for a, b in zip(one, two, strict=True)]
        for one, two in zip(*levels, strict=True)
    ]


def summed(table: PrivateTable) -> HierarchyQuestion:
    keys = dp.public_keys(KEYS)
    groups = table.hierarchy(PATH, keys=keys, cells={"female": [True, False]})
    return groups.agg(n=lambda t: t.count(), visits=lambda t: t.visits.sum())


def neighbor(random: np.random.Generator, unit: Any, relation: str) -> pa.Table:
    """A table in which one unit has no rows, or some more of it stands there that had none, or others instead."""
    person, own = ROWS["person"].to_numpy(), int(random.integers(0, 90))
    left = person != own if unit is not dp.ROW else np.arange(400) != own
    number = 1 if unit is dp.ROW else int(random.integers(1, 4)) * 2
    places = random.permutation(6)[: max(1, number // 2)].repeat(2)[:number]
    new = pa.table(
        {
            "person": [own if relation == "replace-one" else 1000] * number,
            "state": [STATES[place] for place in places],
            "county": [COUNTIES[place] for place in places],
            "female": [True] * number,
            "visits": [int(random.integers(0, 2)) * 8] * number,
        },
        schema=ROWS.schema,
    )
    if relation == "replace-one":
        return pa.concat_tables([ROWS.filter(pa.array(left)), new])
    return pa.concat_tables([ROWS, new]) if random.integers(0, 2) else ROWS.filter(pa.array(left))


@pytest.mark.long
@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": 1}])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize(("unit", "limits"), [(dp.ROW, {}), ("person", {"max_groups": 3, "max_rows": 2})])
def test_levels_move_no_further_than_their_noise_allows(
    unit: Any, limits: Any, relation: str, price: dict[str, Any]
) -> None:
    """On DuckDB's own integers."""
    stated: dict[str, Any] = {**limits, "neighbors": relation}
    if relation == "replace-one" and unit is dp.ROW:
        stated["rows"] = 400
    elif relation == "replace-one":
        stated["units"] = 90
    bench, random = Bench(), np.random.default_rng(3)
    table = bench.protect(ROWS, unit=unit, bounds=STATED["bounds"], **stated)
    plan = planned(summed(table), shares=[1, 1, 1], **price)
    farthest, own = 0.0, bench.totals(plan.plan)
    for _ in range(FUZZ):
        found = moved(plan, own, bench.totals(plan.plan, neighbor(random, unit, relation)))
        for noises, levels in zip(plan.noises, found, strict=True):
            for noise, (one_norm, square) in zip(noises, levels, strict=True):
                assert noise is not None
                far = Fraction(square) / noise.sensitivity**2 if "rho" in price else one_norm / noise.sensitivity
                assert far <= 1
                farthest = max(farthest, float(far))
    assert farthest > 0.4


def test_levels_have_their_own_limits() -> None:
    """Three counties of one person may be in one state: three times as far there, in L2 norm."""
    question = asked(protected(unit="person", max_groups=3, max_rows=1))
    [noises] = planned(question, rho=1, shares=[1, 1, 1]).noises
    steps = planned(question, rho=1).plan.blocks[0].steps
    squares = [float(one.sensitivity / steps) ** 2 for one in noises if one is not None]
    assert squares == pytest.approx([9, 9, 3])


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": 1}, {"epsilon": 1, "delta": Fraction(1, 10**6)}])
def test_levels_and_blocks_cost_the_price_together(price: dict[str, Any]) -> None:
    plan = planned(summed(protected()), **price)
    assert all(sum(own) == 1 for own in plan.shares)
    if "rho" in price:
        assert Fraction(99, 100) < zcdp_of_event(plan.event)[0] <= 1
        assert plan.charge.rho == 1
    elif not plan.gaussian:
        assert sum(one.epsilon for own in plan.noises for one in own if isinstance(one, Laplace)) == 1
        assert plan.charge.epsilon == 1
        assert plan.charge.delta == 0


def test_a_delta_is_used_where_it_helps() -> None:
    """One person in many counties: Gaussian noise is better, and it alone costs the delta."""
    question = asked(protected(unit="person", max_groups=6, max_rows=20, budget=dp.Budget(epsilon=9, delta=0.1)))
    plan = planned(question, epsilon=1, delta=Fraction(1, 10**5))
    other = planned(asked(protected()), epsilon=1, delta=Fraction(1, 10**5))
    assert all(isinstance(one, Gaussian) for one in plan.noises[0] if one is not None) == plan.gaussian
    assert plan.charge.delta == (Fraction(1, 10**5) if plan.gaussian else 0)
    assert not other.gaussian
    assert other.charge.delta == 0


def test_stated_shares_are_those_of_the_noise() -> None:
    [noises] = planned(asked(protected()), epsilon=1, shares=[1, 0, 3]).noises
    assert noises[1] is None
    assert [one.epsilon for one in noises if isinstance(one, Laplace)] == [Fraction(1, 4), Fraction(3, 4)]


def test_weights_move_the_price_to_a_level() -> None:
    even = planned(asked(protected()), epsilon=1)
    weighted = planned(asked(protected()), epsilon=1, weights=[1, 50, 1])
    assert weighted.shares[0][1] > even.shares[0][1]


def test_weights_are_stated_in_order_or_by_level() -> None:
    listed = planned(asked(protected()), epsilon=1, weights=[1, 50, 1])
    for same in ({"state": 50}, np.array([1, 50, 1]), (2, 100, 2)):
        assert planned(asked(protected()), epsilon=1, weights=same).shares == listed.shares
    for wrong, words in (
        ({"stat": 5}, "(?s)weights of levels of the path, got weights='stat'.*'state'"),
        ([1, 2], r"weights of 3 levels, got weights=\[1, 2\]"), ("abc", "weights of 3 levels"),
        ([1, -1, 1], "weights of 0 or more"), ([1, 1, 0], "above 0 for 'county'"),
        ({"state": "much"}, r"a number, got weights\['state'\]='much'"),
    ):  # fmt: skip
        with pytest.raises(InvalidParameter, match=words):
            planned(asked(protected()), epsilon=1, weights=wrong)


@pytest.mark.parametrize("integers", [False, True])
def test_targets_are_met_and_no_more(*, integers: bool) -> None:
    plan = planned(asked(protected()), within={"county": 40, "total": 12}, integers=integers)
    found = plan.largest(plan.plan.columns[0], 0.95)
    assert found[0] <= 12
    assert found[2] <= 40
    assert found[0] > 11.5 or found[2] > 38.5


def by(**aggregates: Any) -> Any:
    return lambda: protected().hierarchy(PATH, keys=dp.public_keys(KEYS)).agg(**aggregates)


REFUSED: dict[str, tuple[Any, dict[str, Any], str]] = {
    "a mean": (by(m=lambda t: t.visits.mean()), {"epsilon": 1}, "add up along a path"),
    "a median": (by(m=lambda t: t.visits.median()), {"epsilon": 1}, "add up along a path"),
    "distinct values": (by(m=lambda t: t.female.nunique()), {"epsilon": 1}, "add up along a path"),
    "whole sums": (by(m=lambda t: t.visits.sum()), {"epsilon": 1, "integers": True}, "counts, where integers"),
    "two columns within": (
        by(n=lambda t: t.count(), m=lambda t: t.visits.sum()), {"within": {"county": 5}}, "one column beside within"
    ),
    "another level": (by(n=lambda t: t.count()), {"within": {"town": 5}}, "levels of the path"),
    "no target": (by(n=lambda t: t.count()), {"within": {}}, "half widths by level"),
    "a target that nothing reaches": (by(n=lambda t: t.count()), {"within": {"county": 0.25}}, "some epsilon reaches"),
    "a target of 0": (by(n=lambda t: t.count()), {"within": {"county": 0}}, "above 0"),
    "a target and a price": (by(n=lambda t: t.count()), {"within": {"county": 5}, "epsilon": 1}, "within alone"),
    "two divisions": (by(n=lambda t: t.count()), {"epsilon": 1, "shares": [1], "weights": [1]}, "shares or"),
    "shares of other levels": (by(n=lambda t: t.count()), {"epsilon": 1, "shares": [1, 1]}, "3 shares"),
    "no price": (by(n=lambda t: t.count()), {}, "Expected an epsilon"),
    "two prices": (by(n=lambda t: t.count()), {"epsilon": 1, "rho": 1}, "epsilon or rho"),
    "people in several counties": (
        lambda: protected(unit="person", max_groups=2, max_rows=1)
        .hierarchy(PATH, keys=dp.public_keys(KEYS))
        .agg(n=lambda t: t.person.nunique()),
        {"epsilon": 1},
        "count in one place",
    ),
}  # fmt: skip


@pytest.mark.parametrize("why", REFUSED)
def test_refused_before_anything_is_read_or_charged(why: str) -> None:
    made, price, what = REFUSED[why]
    question = made()
    for ask in (question.explain, question.release):
        with pytest.raises((InvalidParameter, InvalidQuery), match=what):
            ask(**price)
    assert question._source.budget.spent.epsilon == 0


def test_people_in_one_county_are_counted() -> None:
    table = protected(unit="person", max_groups=1, max_rows=1)
    question = table.hierarchy(PATH, keys=dp.public_keys(KEYS)).agg(n=lambda t: t.person.nunique())
    answer = question.release(epsilon=100)
    assert list(answer) == LEVELS
    assert 60 < answer["total"]["n"][0].as_py() < 95
    assert STATED["name"] in repr(question)
