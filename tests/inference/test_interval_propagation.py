"""Intervals of calculated columns: exact where they can be, never too short, and absent where nothing is known."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import duckdb
import ibis
import ibis.expr.operations as ops
import numpy as np
import pyarrow as pa
import pytest
from ibis import _

import depth
import discreet as dp
import discreet.inference.interval_propagation as module
from discreet.answers.run_post_processing import CELL, _connection, _run
from discreet.curator.add_noise import with_noise
from discreet.inference.estimate import Estimate, estimates
from discreet.inference.interval_propagation import ENDS, CalculatedInterval, has_interval, linear
from discreet.inference.post_processing import Processing
from discreet.planning.planner import price
from discreet.query.table import PrivateTable
from discreet.testing.scripted_words import splitmix
from discreet.testing.statistics import clopper_pearson

SHAPE = ibis.table({"a": "float64", "b": "float64", "n": "int64", "t": "string"}, name="answer")


def op_of(written: Any) -> Any:
    return written.resolve(SHAPE).op()


def test_linear_forms() -> None:
    assert linear(op_of(2 * _.a - _.b / 4 + 1)) == ({"a": 2.0, "b": -0.25}, 1.0)
    assert linear(op_of(-(_.a + _.a))) == ({"a": -2.0}, -0.0)
    assert linear(op_of(_.n.cast("float64") * 3)) == ({"n": 3.0}, 0.0)
    for bent in (_.a * _.b, 1 / _.a, _.a / 0, _.a.abs()):
        assert linear(op_of(bent)) is None


def test_what_carries_an_interval() -> None:
    known = frozenset({"a", "b", "n"})
    for written in (
        _.a / _.b,
        _.a.abs().sqrt(),
        _.a.clip(0, 1),
        ibis.greatest(_.a, _.n),
        _.a.exp() - _.b.ln(),
        _.a.floor(),
        _.a.round(2),
        ibis.ifelse(_.t == "x", _.a, 0),
        ibis.cases((_.a > 1, _.b), else_=2.5),
    ):
        assert has_interval(op_of(written), known)
    for written in (
        _.t.length() + _.a,
        _.a.sin(),
        _.a.clip(_.b, None),
        _.a / _.a.sum(),
        _.n.cast("int8"),
        _.n.cast("float32"),
        _.a % 2,
        ibis.ifelse(_.a > 1, _.b, None),
    ):
        assert not has_interval(op_of(written), known)
    assert not has_interval(op_of(_.a + _.b), frozenset({"a"}))


SAMPLES = np.random.default_rng(5).uniform(-3, 3, (2, 4, 500))


@pytest.mark.parametrize(
    "written",
    [
        *(_.a + _.b, _.a - _.b, _.a * _.b, _.a / _.b, _.a.abs(), -_.a, _.a.exp(), _.a.clip(-1, 2)),
        *(ibis.greatest(_.a, _.b), _.a.round(1), _.a.round(-1)),
    ],
)
def test_interval_arithmetic_encloses(written: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any point between the ends of the columns is sent between the ends of the calculation."""
    first, second = np.sort(SAMPLES[:, :2], axis=1), np.sort(SAMPLES[:, :2], axis=1)
    low = {"a": first[0, 0], "b": second[1, 0]}
    high = {"a": first[0, 1], "b": second[1, 1]}
    point = {name: low[name] + (high[name] - low[name]) * np.abs(SAMPLES[0, 2]) / 3 for name in low}
    own = {name: Estimate(point[name], low[name], high[name]) for name in low}
    ends = module._ends(op_of(written), own)
    exact = module._ends(op_of(written), {name: Estimate(v, v, v) for name, v in point.items()})
    assert np.all(ends[0] <= exact[0] + 1e-12)
    assert np.all(exact[1] <= ends[1] + 1e-12)
    assert set(ENDS) >= {type(op_of(written))}


def plan_and_totals(people: PrivateTable) -> tuple[Any, list[Any], list[Any]]:
    """A plan, exact totals, and 2,000 noisy cells of them at once."""
    asked = people.agg(n=_.count(), s=_.spent.sum(), m=_.age.mean())
    plan = price(asked._query, epsilon=3)
    exact = people._source._engine.totals(plan)  # type: ignore[attr-defined]  # the curator's
    words = splitmix(9)
    many = [np.repeat(totals, 2000, axis=0) for totals in exact]
    return plan, exact, with_noise(plan, many, words)


@pytest.mark.long
@pytest.mark.parametrize("what", [op.__name__ for op in ENDS])
def test_a_constant_is_as_good_as_a_column(what: str, protect_people: Callable[..., PrivateTable]) -> None:
    """In each place of every operation, over one cell and over several: it has no length, and once raised after the
    charge.
    """
    kind = next(op for op in ENDS if op.__name__ == what)
    number, people = ibis.literal(2.5), protect_people()
    for asked in (people.agg(n=_.count(), s=_.age.sum()), people.group_by("plan").agg(n=_.count(), s=_.age.sum())):
        plan = price(asked._query, epsilon=3)
        noisy = [np.full((plan.query.cells, block.block.components), 40, dtype=np.int64) for block in plan.blocks]
        shape = ibis.table({"n": "int64", "s": "float64"}, name="answer")
        several, chooses = kind in (ops.Greatest, ops.Least), kind in (ops.IfElse, ops.SearchedCase)
        places = [[shape.n, number], [number, shape.n], [number, number]] + ([[shape.n, number, shape.s]] * several)
        for parts in places if several or chooses or issubclass(kind, ops.Binary) else [[shape.n], [number]]:
            given = [part.op() for part in parts]
            if kind is ops.Alias:
                op = shape.n.name("x").op()
            elif kind is ops.Cast:
                op = parts[0].cast("float64").op()
            elif kind is ops.Clip:
                op = parts[0].clip(0, 1).op()
            elif kind is ops.Round:
                op = parts[0].round(2).op()
            elif kind is ops.IfElse:
                op = ibis.ifelse(shape.n > shape.s, *parts).op()
            elif kind is ops.SearchedCase:
                op = ibis.cases((shape.n > shape.s, parts[0]), else_=parts[1]).op()
            else:
                op = kind(tuple(given)) if several else kind(*given)
            ends = CalculatedInterval(op, plan, noisy).at(0.95)
            assert all(np.broadcast_shapes(np.shape(end), (plan.query.cells,)) == (plan.query.cells,) for end in ends)
            assert np.all(ends[0] <= ends[1])


def test_a_choice_lies_between_its_branches() -> None:
    """Exact answers may take another branch than the noisy ones that are shown."""
    own = {"a": Estimate(*map(np.array, ([1.0], [0.0], [2.0]))), "b": Estimate(*map(np.array, ([9.0], [8.0], [10.0])))}
    ends = module._ends(op_of(ibis.ifelse(_.a > 1, _.a, -_.b)), own)
    assert [end.tolist() for end in ends] == [[-10.0], [2.0]]


@pytest.mark.parametrize("places", [0, 1, 2, 5, -1, -2, 400, -400])
def test_ends_are_rounded_as_duckdb_rounds(places: int) -> None:
    values = np.array([0.0, 0.5, -0.5, 2.5, 1.005, 2.675, -1.25, 12.35, 150.0, -250.0, 1e300, -1e300, math.inf, 5e-324])
    ends = module._ends(op_of(_.a.round(places)), {"a": Estimate(values, values, values)})
    with duckdb.connect() as connection:
        wanted = [
            connection.execute("SELECT ROUND(?::DOUBLE, ?)", [float(v), places]).fetchall()[0][0] for v in values[:-2]
        ]
    assert ends[0].tolist()[:-2] == ends[1].tolist()[:-2] == wanted
    assert ends[0].tolist()[-2:] == [math.inf, 5e-324 if places > 308 else 0.0]


CALCULATIONS = {"ratio": _.a / (_.b + 50), "product": _.a * _.b, "linear": 2 * _.a - 3 * _.b, "mixed": _.a - _.m}


@pytest.mark.parametrize("what", CALCULATIONS)
def test_coverage(protect_people: Callable[..., PrivateTable], what: str) -> None:
    """At least 90 of 100; 2,000 draws, and a false alarm once in a million."""
    plan, exact, noisy = plan_and_totals(protect_people(max_rows=5))
    shape = ibis.table({"n": "int64", "s": "float64", "m": "float64"}, name="answer")
    written = CALCULATIONS[what].resolve(shape.rename(a="n", b="s"))
    own = {
        field: shape[{"a": "n", "b": "s"}.get(field.name, field.name)].op()
        for field in written.op().find(ibis.expr.operations.Field, filter=ibis.expr.operations.Value)
    }
    op = written.op().replace(own)
    truth = {name: float(e.values[0]) for name, e in estimates(plan, exact, 0.9).items()}
    low, high = CalculatedInterval(op, plan, noisy).at(0.9)
    values = {name: Estimate(*[np.asarray(v)] * 3) for name, v in truth.items()}
    true = float(module._ends(op, values)[0])
    inside = int(np.sum((low <= true) & (true <= high)))
    assert clopper_pearson(inside, 2000, confidence=1 - 1e-6)[1] >= 0.9


UNARY: tuple[Callable[[Any], Any], ...] = (
    *(lambda x: x.abs(), lambda x: -x, lambda x: x.sqrt(), lambda x: x.abs().ln(), lambda x: x.floor()),
    *(lambda x: x.clip(-1, 3), lambda x: x.round(1), lambda x: x.clip(-9, 9).exp(), lambda x: x / 3),
)
BINARY: tuple[Callable[[Any, Any], Any], ...] = (
    *(lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: x / y, ibis.greatest, ibis.least),
    lambda x, y: ibis.ifelse(x > y, x, y),
)


def calculation(chance: random.Random, columns: list[Any], size: int) -> Any:
    """A random calculation with columns that are about 0, which is where roots and quotients end."""
    if not size:
        return chance.choice(columns)
    first = calculation(chance, columns, size - 1)
    if chance.random() < 0.5:
        return chance.choice(UNARY)(first)
    return chance.choice(BINARY)(first, chance.choice([calculation(chance, columns, size - 1), 3.5, 0.0]))


@pytest.mark.long
@pytest.mark.parametrize("turn", range(max(3, depth.examples(5))))
def test_coverage_of_random_calculations(protect_people: Callable[..., PrivateTable], turn: int) -> None:
    """At least 90 of 100, or missing where the exact answers have none; as above."""
    plan, exact, noisy = plan_and_totals(protect_people(max_rows=5))
    truth = {name: estimate.values for name, estimate in estimates(plan, exact, 0.9).items()}
    start = Processing.of({"n": "int64", "s": "float64", "m": "float64"}, (), truth)
    chance, asked = random.Random(turn), {}  # noqa: S311 - examples, not noise
    for i in range(20):
        columns = [start.shape[name] - float(truth[name][0]) + chance.choice((-3, -1, 0, 1)) for name in truth]
        asked[f"c{i}"] = calculation(chance, columns, chance.choice((1, 2, 3)))
    [step] = start.mutated(asked).steps
    held = pa.table({**{name: pa.array(values[:1]) for name, values in truth.items()}, CELL: [0]})
    found = _run(_connection(), held, step)
    for name, op in step.carried.items():
        [true] = found[name].to_pylist()
        if true is not None:
            low, high = CalculatedInterval(op, plan, noisy).at(0.9)
            inside = int(np.sum(np.broadcast_to((low <= true) & (true <= high), 2000)))
            assert clopper_pearson(inside, 2000, confidence=1 - 1e-6)[1] >= 0.9, asked[name]


def test_linear_ends_are_exact(protect_people: Callable[..., PrivateTable]) -> None:
    """Not the sum of two intervals, and no Bonferroni: a sum of counts is as good as its own noise."""
    plan, _exact, noisy = plan_and_totals(protect_people(max_rows=5))
    shape = ibis.table({"n": "int64", "s": "float64", "m": "float64"}, name="answer")
    low, high = CalculatedInterval((shape.n + shape.s).op(), plan, noisy).at(0.95)
    own = estimates(plan, noisy, 0.95)
    widths = [(own[name].high - own[name].low)[0] for name in ("n", "s")]
    assert max(widths) - 2 <= (high - low)[0] < sum(widths)
    nothing = CalculatedInterval((shape.n - shape.n).op(), plan, noisy).at(0.95)
    assert nothing[0][0] <= 0 <= nothing[1][0]


def test_ends_are_shared_among_columns(protect_people: Callable[..., PrivateTable]) -> None:
    plan, _exact, noisy = plan_and_totals(protect_people(max_rows=5))
    shape = ibis.table({"n": "int64", "s": "float64", "m": "float64"}, name="answer")
    low, _high = CalculatedInterval(ibis.least(shape.n, shape.s).op(), plan, noisy).at(0.9)
    halved = estimates(plan, noisy, 0.95)
    assert np.array_equal(low, np.minimum(halved["n"].low, halved["s"].low))


def test_ends_of_calculations_hold_where_there_is_next_to_no_noise() -> None:
    """Groups of 0, 1, 2 and 5 rows, many of them at the bounds; compared with exact fractions."""
    low, high, sizes = -3, 1000, (0, 1, 2, 5)
    rows = [
        (g, (low, high, g * 7 % high + 0.25, high)[(g // 4 + i) % 4]) for g in range(100) for i in range(sizes[g % 4])
    ]
    stated: dict[str, Any] = {"bounds": {"x": (low, high)}, "keys": {"g": range(100)}, "budget": dp.Budget(epsilon=1e9)}
    source = pa.table({"g": [g for g, _x in rows], "x": pa.array([x for _g, x in rows], pa.float64())})
    asked = dp.protect(source, unit=dp.ROW, **stated).group_by("g").agg(n=_.count(), s=_.x.sum(), m=_.x.mean())
    calculated: dict[str, Any] = {
        "ratio": _.s / _.n, "moved": _.m - 0.3, "square": _.m * _.m, "product": _.m * _.n, "far": _.s - 1000.1,
        "third": _.s / 3 + 0.1, "size": (_.s - 0.7).abs(), "rest": _.s - _.m * _.n,
    }  # fmt: skip
    missed = dict.fromkeys(calculated, 0)
    for row in asked.mutate(**calculated).release(epsilon=10**6).to_pyarrow().to_pylist():
        own = [Fraction(x) for g, x in rows if g == row["g"]]
        n, s = Fraction(len(own)), sum(own, Fraction(0))
        truth = {"far": s - Fraction(1000.1), "third": s / 3 + Fraction(0.1), "size": abs(s - Fraction(0.7))}
        if n:
            truth |= {
                "ratio": s / n,
                "moved": s / n - Fraction(0.3),
                "square": (s / n) ** 2,
                "product": s,
                "rest": n * 0,
            }
        for name, value in truth.items():
            missed[name] += not row[f"{name}_low"] <= value <= row[f"{name}_high"]
    assert max(missed.values()) <= 17  # of 100 at 95 %: one time in 100,000


def test_constants_that_cancel_leave_what_their_rounding_takes() -> None:
    """A mean over a public number of rows has an offset, here of 10**9; less a constant as large, it is next to 0."""
    least = 1e9 + 0.25
    source = pa.table({"x": pa.array([least] * 997, pa.float64())})
    stated: dict[str, Any] = {"bounds": {"x": (least, 1e9 + 8)}, "neighbors": "replace-one", "rows": 997}
    table = dp.protect(source, unit=dp.ROW, **stated, budget=dp.Budget(epsilon=1e9)).fill_null({"x": least})
    factors = [1 / k for k in range(3, 43)]
    calculated = {f"rest{k}": _.m * factor - least * factor for k, factor in enumerate(factors)}
    [row] = table.agg(m=_.x.mean()).mutate(**calculated).release(epsilon=10**6).to_pyarrow().to_pylist()
    rests = [Fraction(least) * Fraction(factor) - Fraction(least * factor) for factor in factors]
    assert all(row[f"rest{k}_low"] <= rest <= row[f"rest{k}_high"] for k, rest in enumerate(rests))
