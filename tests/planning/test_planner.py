"""Prices: shares that add up, sensitivities that hold for every neighbor, noise at the promised error."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from ibis import _
from scipy import optimize

import discreet as dp
from discreet.errors import InvalidQuery
from discreet.planning import forms
from discreet.planning.measurements import gather
from discreet.planning.noise_laws import width_of
from discreet.planning.plan import Plan
from discreet.planning.planner import _variance, divide, price, stated_weights

ROWS = pa.schema({"who": pa.int64(), "plan": pa.string(), "x": pa.int64()})
CHOICES = [("a", 0), ("a", 3), ("b", 1), ("b", None), ("c", 2)]
"""What a row may hold: a listed key or not, and a value or none."""


def table(held: list[tuple[int, str, int | None]], **changed: Any) -> dp.PrivateTable:
    """Rows of (who, plan, x) as a protected table."""
    stated: dict[str, Any] = {"unit": "who", "max_rows": 1, "max_groups": 1, "keys": {"plan": ["a", "b"]}, **changed}
    data = pa.table([list(column) for column in zip(*held, strict=True)] or [[], [], []], schema=ROWS)
    return dp.protect(data, bounds={"x": (-1, 3)}, budget=dp.Budget(epsilon=100), **stated)


def totals(people: dp.PrivateTable, priced: Plan) -> list[Any]:
    """The exact totals of a plan over another table."""
    source: Any = people._source
    found: list[Any] = source._engine.totals(priced)
    return found


def plan(question: dp.Question, epsilon: object = 1, **stated: Any) -> Plan:
    """The plan of a question."""
    return price(question._query, epsilon=epsilon, **stated)


def everything(people: dp.PrivateTable, by: tuple[str, ...] = ("plan",)) -> dp.Question:
    """Each statistic once, over all rows and over some."""
    asked = {
        "n": _.count(),
        "s": _.x.sum(),
        "some": _.x.sum(where=_.x > 0),
        "v": _.x.var(where=_.x < 2),
        "k": _.count(where=_.x >= 1),
    }
    if people._source.declaration.unit:
        asked["people"] = _.who.nunique()
    return people.group_by(*by).agg(**asked) if by else people.agg(**asked)


def test_shares_add_up_to_epsilon() -> None:
    for epsilon in (1, 0.1, Fraction(1, 3), 1e-3):
        priced = plan(everything(table([])), epsilon)
        assert len(priced.blocks) >= 4
        assert sum(block.share for block in priced.blocks) == 1
        noises = [block.noise for block in priced.blocks]
        assert all(isinstance(noise, dp.Laplace) for noise in noises)
        assert sum(noise.epsilon for noise in noises if isinstance(noise, dp.Laplace)) == priced.charge.epsilon
        for block in priced.blocks:
            assert width_of(block.noise) * priced.charge.epsilon * block.share == block.sensitivity


@pytest.mark.long
@pytest.mark.cases
@pytest.mark.parametrize("limits", [(1, 1), (2, 2)])
@pytest.mark.parametrize("by", [("plan",), ()])
def test_no_unit_moves_the_totals_further_than_claimed(limits: tuple[int, int], by: tuple[str, ...]) -> None:
    """Every unit of one or two rows over a small domain, and some of three, added to a table of others."""
    others = [(7, "a", 2), (7, "b", 0), (8, "b", None), (8, "b", 3)]
    groups, rows = limits
    stated = {"max_groups": groups, "max_rows": rows}
    priced = plan(everything(table(others, **stated), by))
    base = totals(table(others, **stated), priced)
    reached = [0] * len(priced.blocks)
    pairs = [held for size in (1, 2) for held in itertools.combinations_with_replacement(CHOICES, size)]
    for held in [*pairs, CHOICES[:3], CHOICES[1:4], CHOICES[2:], [CHOICES[1]] * 5]:
        more = table([*others, *((1, *row) for row in held)], **stated)
        moved = totals(more, priced)
        for i, (new, old, block) in enumerate(zip(moved, base, priced.blocks, strict=True)):
            distance = int(np.abs(new.astype(object) - old.astype(object)).sum())
            assert distance <= block.sensitivity
            reached[i] = max(reached[i], distance)
    for distance, block in zip(reached, priced.blocks, strict=True):
        assert block.block.form is forms.SUM or distance * groups * rows >= block.sensitivity


def test_replacing_a_row_moves_the_totals_no_further_than_claimed() -> None:
    others: list[tuple[int, str, int | None]] = [(1, "a", 2), (2, "b", None)]
    stated = {"unit": dp.ROW, "neighbors": "replace-one", "rows": 3, "max_rows": None, "max_groups": None}
    for by in (("plan",), ()):
        asked = {"s": _.x.sum(), "m": _.x.mean(where=_.x < 3), "k": _.count(where=_.x >= 1)}
        tables = [table([*others, (3, *row)], **stated) for row in CHOICES]
        questions = [t.group_by(*by).agg(**asked) if by else t.agg(**asked) for t in tables]
        priced = plan(questions[0])
        found = [totals(t, priced) for t in tables]
        reached = [
            max(int(np.abs(a[i].astype(object) - b[i].astype(object)).sum()) for a in found for b in found)
            for i in range(len(priced.blocks))
        ]
        assert all(r <= block.sensitivity for r, block in zip(reached, priced.blocks, strict=True))
        if by:
            assert any(r == block.sensitivity for r, block in zip(reached, priced.blocks, strict=True))


@pytest.mark.cases
@pytest.mark.parametrize("by", [("plan",), ()])
def test_replacing_a_unit_moves_the_totals_no_further_than_claimed(by: tuple[str, ...]) -> None:
    """One unit with up to three rows in place of another, at limits that some of them exceed."""
    others: list[tuple[int, str, int | None]] = [(7, "a", 2), (8, "b", None)]
    stated = {"neighbors": "replace-one", "units": 3, "max_groups": 1, "max_rows": 2}
    held = [[], *([row] for row in CHOICES), CHOICES[:2], CHOICES[1:3], CHOICES[2:4], CHOICES[1:4], [CHOICES[1]] * 4]
    tables = [table([*others, *((1, *row) for row in rows)], **stated) for rows in held]
    priced = plan(everything(tables[0], by))
    found = [t._source._engine.totals(priced) for t in tables]  # type: ignore[attr-defined]  # the engine of a source
    for i, block in enumerate(priced.blocks):
        totals = [one[i].astype(object) for one in found]
        reached = max(int(np.abs(a - b).sum()) for a, b in itertools.combinations(totals, 2))
        assert reached <= block.sensitivity
        assert 4 * reached >= block.sensitivity


def test_a_lone_sum_of_both_signs_moves_from_end_to_end_under_replacement() -> None:
    """From the lowest value to the highest; a sum of one sign by its size alone."""
    stated = {"unit": dp.ROW, "neighbors": "replace-one", "rows": 2, "max_rows": None, "max_groups": None}
    tables = [table([(1, "a", 0), (2, "a", x)], **stated) for x in (-1, 3)]
    for written, largest in ((_.x.sum(), 4), (_.x.clip(0, 3).sum(), 3)):
        questions = [t.agg(s=written) for t in tables]
        (block,) = plan(questions[0]).blocks
        low, high = (q._source._engine.totals(plan(q))[0] for q in questions)  # type: ignore[attr-defined]  # as above
        assert int(abs(high - low).sum()) == block.sensitivity == largest


def test_a_lone_count_moves_by_one_under_replacement() -> None:
    """It cannot leave one group and enter another; a histogram can."""
    stated = {"unit": dp.ROW, "neighbors": "replace-one", "rows": 3, "max_rows": None, "max_groups": None}
    rows = table([(1, "a", 1), (2, "b", 2), (3, "a", 3)], **stated)
    assert plan(rows.filter(_.x > 0).count()).blocks[0].sensitivity == 1
    assert plan(rows.group_by("plan").agg(n=_.count())).blocks[0].sensitivity == 2


def test_the_mean_reaches_its_error() -> None:
    """n times the sd of a private mean over its range, one row a unit, at epsilon 1 and mid-range: at most 1.05."""
    priced = plan(table([], unit=dp.ROW, max_rows=None, max_groups=None).agg(m=_.x.mean()))
    (block,) = priced.blocks
    assert block.block.form is forms.PAIR
    first_order = block.scale * 2**0.5 * np.hypot(0.5, 0.5)
    assert first_order <= 1.05
    assert first_order == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize(
    "stated", [{}, {"n": 5}, {"s": 0.01, "v": 100}, {"k": 3, "some": Fraction(1, 7)}], ids=["even", "n", "s", "k"]
)
def test_the_division_minimizes_the_stated_sum(stated: dict[str, object]) -> None:
    query = everything(table([]))._query
    blocks, columns = gather(query)
    own = stated_weights(query, stated)

    def total(shares: Any) -> float:
        error = 0.0
        for column in columns:
            precision = sum(shares[i] ** 2 / _variance(query, column, blocks[i]) for i in column.blocks)
            error += own[column.aggregate.name] / precision
        return error

    ours = [float(share) for share in divide(query, blocks, columns, own)]
    n = len(blocks)
    best = optimize.minimize(
        lambda free: total(np.exp(free) / np.exp(free).sum()),
        np.zeros(n),
        method="Nelder-Mead",
        options={"maxiter": 20_000, "xatol": 1e-9, "fatol": 1e-12},
    )
    assert total(ours) <= best.fun * (1 + 1e-4)


def test_weights_move_epsilon_to_the_column_that_matters() -> None:
    question = everything(table([]))
    plain, weighted = plan(question), plan(question, weights={"people": 1000})
    share = {"plain": plain, "weighted": weighted}
    found = {name: next(b.share for b in p.blocks if b.block.form is forms.UNITS) for name, p in share.items()}
    assert found["weighted"] > 2 * found["plain"]


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"epsilon": None}, "Expected an epsilon, got none"),
        ({"epsilon": 0}, "above 0"),
        ({"epsilon": -1}, "above 0"),
        ({"epsilon": float("nan")}, "finite"),
        ({"epsilon": float("inf")}, "finite"),
        ({"epsilon": True}, "Expected a number"),
        ({"epsilon": "1"}, "Expected a number"),
        ({"epsilon": 2**21}, "at most"),
        ({"delta": 1}, "delta"),
        ({"delta": -0.1}, "delta"),
        ({"weights": {"other": 1}}, "weights of columns"),
        ({"weights": {"n": 0}}, "above 0"),
        ({"weights": [1]}, "dict of weights"),
    ],
    ids=str,
)
def test_prices_that_mean_nothing_are_refused(stated: dict[str, Any], message: str) -> None:
    question = everything(table([]))
    with pytest.raises(dp.InvalidParameter, match=message) as refusal:
        question.release(**{"epsilon": 1} | stated)
    assert "\nHint: " in str(refusal.value)
    source: Any = question._source
    assert source.budget.spent.epsilon == 0


@pytest.mark.parametrize("end", [1e151, 1e155, 1e250])
def test_squares_of_ranges_stay_within_the_floats(end: float, refused: Any) -> None:
    """A variance over such a range once failed in its own account, after the charge."""
    rows = pa.table({"x": [1.0, 2.0], "y": [1.0, 3.0]})
    table = dp.protect(rows, unit=dp.ROW, bounds={"x": (0, end), "y": (0, 1)}, budget=dp.Budget(epsilon=1))
    for aggregate in (_.x.var(), _.x.std(), _.x.cov(_.y), _.x.corr(_.y)):
        assert "between 1e-150 and 1e150" in refused(InvalidQuery, table.agg(v=aggregate).release, epsilon=1)
    assert "between 1e-150" in refused(InvalidQuery, table.regress("x", "y").explain, epsilon=1)
    assert table.budget.spent.epsilon == 0
    assert len(table.agg(s=_.x.sum(), m=_.x.mean()).release(epsilon=0.5)) == 1
    small = dp.protect(rows, unit=dp.ROW, bounds={"x": (0, 1e149), "y": (0, 1)}, budget=dp.Budget(epsilon=1))
    assert len(small.agg(v=_.x.var(), c=_.x.cov(_.y)).release(epsilon=0.5)) == 1


@pytest.mark.parametrize("rows", [1, 4, 100, 500])
def test_a_count_of_persons_is_not_starved_beside_one_of_their_rows(rows: int) -> None:
    """Squares of errors are over the rows of a person: shares are as 1 to the cube root of these."""
    frame = pa.table({"person": [1, 2], "x": [0.0, 1.0]})
    budget = dp.Budget(epsilon=1)
    table = dp.protect(frame, unit="person", max_rows=rows, bounds={"x": (0, 1)}, budget=budget, name=f"rows {rows}")
    told = table.agg(users=lambda t: t.person.nunique(), edits=lambda t: t.count()).explain(epsilon=1)
    shares = told.shares
    if rows == 1:
        assert told.accuracy["users"].amount <= 12
    else:
        assert float(shares["edits"] / shares["users"]) == pytest.approx(rows ** (1 / 3), rel=0.01)
