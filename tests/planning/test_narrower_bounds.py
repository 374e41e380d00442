"""Bounds that are found within the stated ones: what is found, what a unit moves, and how often intervals are right."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from ibis import _
from scipy import stats

import discreet as dp
from discreet.engines.first_looks import unit_histogram
from discreet.errors import InvalidParameter, InvalidQuery
from discreet.planning.narrower_bounds import narrower, stated_ends, within_stated
from discreet.planning.open_question_plan import Findings, OpenQuestionPlan
from discreet.planning.unspecified import open_values
from discreet.query.table import PrivateTable
from discreet.testing import not_private
from neighbor_bench import Bench

ONE_IN_A_MILLION = 1e-6
STATED = (0, 1_000_000)


def wages(units: int = 2000, seed: int = 1) -> pa.Table:
    """One row a unit, with log-normal wages of about 20, and ages."""
    rng = np.random.default_rng(seed)
    facts = {"pay": rng.lognormal(3, 1, units), "age": rng.integers(18, 90, units), "old": rng.random(units) < 0.5}
    return pa.table({"person": np.arange(units), **facts})


def protect(data: Any = None, **more: Any) -> PrivateTable:
    stated = {"bounds": {"pay": STATED, "age": (18, 120)}, "max_rows": 1, "budget": dp.Budget(epsilon=10_000), **more}
    return dp.protect(wages() if data is None else data, unit="person", name="wages", **stated)


def test_a_mean_within_wide_bounds_is_off_by_a_hundredth() -> None:
    table = protect()
    asked, exact = table.agg(pay=_.pay.mean()), wages()["pay"].to_numpy().mean()
    opened = not_private(table, seed=3).agg(pay=_.pay.mean()).release(epsilon=1, bounds="auto")
    [low, high] = map(float, opened.receipt["found"]["bounds"]["pay"])
    assert (low, high) in {(0, 256), (0, 512), (0, 1024)}
    assert opened["pay"][0] == pytest.approx(exact, abs=3)
    plain = asked.explain(epsilon=1, assume={"rows": 2000}).accuracy["pay"].amount
    told = asked.explain(epsilon=1, assume={"rows": 2000}, bounds="auto").accuracy["pay"].amount
    assert high * told < plain / 100


def test_bounds_are_found_within_the_stated_ones() -> None:
    """Ages reach to 90, in the bin that ends at 128: the stated end is nearer, and the lower one stays."""
    answer = not_private(protect(), seed=1).agg(age=_.age.mean()).release(epsilon=1, bounds="auto")
    assert answer.receipt["found"] == {"bounds": {"age": ["18", "120"]}}
    [value] = open_values(narrower(protect().agg(age=_.age.mean())._query, "auto"))
    for found, cut in (((0, 64), (18, 64)), ((-4, 512), (18, 120)), ((0, 16), (18, 120)), ((-64, 0), (18, 120))):
        assert tuple(map(int, within_stated((Fraction(found[0]), Fraction(found[1])), value))) == cut


def test_where_nothing_is_found_the_stated_bounds_hold() -> None:
    """Four units are too few for any bin to count: nobody is clipped by that."""
    data = pa.table({"person": [1, 2, 3, 4], "pay": [5.0, 70.0, 9.0, 800.0], "age": [20, 30, 40, 50]})
    answer = not_private(protect(data), seed=1).agg(pay=_.pay.sum()).release(epsilon=0.5, bounds="auto")
    assert answer.receipt["found"] == {"bounds": {"pay": ["0", "1000000"]}}
    both = protect(data, bounds={"pay": "auto", "age": (18, 120)}).agg(pay=_.pay.sum(), age=_.age.sum())
    found = both.release(epsilon=0.5, bounds="auto").receipt["found"]
    assert found == {"bounds": {"pay": ["0", "1"], "age": ["18", "120"]}}


@pytest.mark.long
@pytest.mark.parametrize("found", [(0, 4), (0, 8), (-1, 4), (0, 1_000_000)])
def test_one_unit_moves_no_more_than_is_claimed(found: tuple[int, int]) -> None:
    """All tables of up to two units with two rows of these values, with and without one more: histogram and totals."""
    bench = Bench()

    def of(units: Any) -> pa.Table:
        rows = [(place, value) for place, pair in enumerate(units) for value in pair]
        return pa.table(
            {"person": pa.array([r[0] for r in rows], pa.int64()), "pay": pa.array([r[1] for r in rows], pa.float64())}
        )

    pairs = [(-7.0, 9.0), (0.0, 3.0), (9.0, 9.0), (None, 9.0), (-7.0, -7.0)]
    table = bench.protect(of(pairs), unit="person", bounds={"pay": (-10, 1_000_000)}, max_rows=2)
    question: Any = table.agg(pay=_.pay.mean(), all=_.pay.sum())._narrower("auto")
    open_plan = question._priced((1, 0, None, None), None, 0.95, None, ())
    assert isinstance(open_plan, OpenQuestionPlan)
    ends = tuple(within_stated((Fraction(found[0]), Fraction(found[1])), v) for v in open_values(open_plan.query))
    plan, [histogram] = open_plan.completed_plan(Findings(ends=ends)), open_plan.histograms
    assert histogram.noise.sensitivity == 1
    tables = [units for size in range(3) for units in combinations_with_replacement(pairs, size)]
    seen: dict[Any, tuple[Any, Any]] = {}
    for units in {*tables, *((*u, p) for u in tables for p in pairs)}:
        data = of(units)
        seen[units] = bench.totals(plan, data), bench.found(question, unit_histogram(open_plan.query, histogram), data)
    largest = 0.0
    for units in tables:
        for more in pairs:
            (before, few), (after, many) = seen[units], seen[(*units, more)]
            for block, first, second in zip(plan.blocks, before, after, strict=True):
                moved = np.abs((second - first).astype(float)).sum()
                assert moved <= float(block.sensitivity)
                largest = max(largest, moved / float(block.sensitivity))
            assert sum(abs(many.get(bin_, 0) - few.get(bin_, 0)) for bin_ in {*few, *many}) <= 1
    assert largest > 0.9  # the claim is no larger than it has to be


RELEASES = 200


@pytest.mark.long
def test_intervals_hold_the_clipped_mean() -> None:
    """Of 200 releases, 95 % or more hold the mean of the values cut to what was found; not those a third as wide."""
    data, held, narrow = wages(), 0, 0
    table, pay = not_private(protect(data), seed=7), data["pay"].to_numpy()
    for _i in range(RELEASES):
        answer = table.agg(pay=_.pay.mean()).release(epsilon=0.5, bounds="auto", fresh=True)
        low, high = map(float, answer.receipt["found"]["bounds"]["pay"])
        true = np.clip(pay, low, high).mean()
        [found] = answer.intervals().to_pylist()
        middle, reach = answer["pay"][0], (found["pay_high"] - found["pay_low"]) / 2
        held += found["pay_low"] <= true <= found["pay_high"]
        narrow += abs(true - middle) <= reach / 3
    least = stats.binom.ppf(ONE_IN_A_MILLION, RELEASES, 0.95)
    assert narrow < least <= held


def test_explain_shows_it_beside_the_stated_bounds() -> None:
    asked = protect().agg(pay=_.pay.mean(), age=_.age.sum(), n=_.count())
    told = asked.explain(epsilon=1, bounds="auto")
    assert [(look["what"], look["within"], look["epsilon"]) for look in told["first looks"]] == [
        ("bounds of pay", "[0, 1000000]", "0.05"),
        ("bounds of age", "[18, 120]", "0.05"),
    ]
    *_others, stated = told["also priced"]
    plain = asked.explain(epsilon=1)
    assert stated["mechanism"] == "the stated bounds, without a look for narrower ones"
    assert stated["plus_minus"] == {column["name"]: column["plus_minus"] for column in plain["columns"]}
    assert "pays with" not in told  # of several columns, how epsilon is divided depends on what is found
    assert "report='clipped'" in told["clipping"]
    assert "without a look" in repr(told)


def test_explain_says_from_which_width_on_it_pays() -> None:
    """Nine tenths of the stated one: a mean within bounds so wide is as far off at 0.9 as one at 1 within these."""
    asked = protect().agg(pay=_.pay.mean(), all=_.pay.sum())
    assert asked.explain(epsilon=1, bounds="auto")["pays with"] == "bounds narrower than 9e+05"
    alike = protect(bounds={"pay": (0, 900_000)}).agg(pay=_.pay.mean(), all=_.pay.sum()).explain(epsilon=0.9)
    for name, one in asked.explain(epsilon=1).accuracy.items():
        assert alike.accuracy[name].amount == pytest.approx(one.amount, rel=1e-3)
    for other in (_.age.mean(), _.pay.var()):  # 0 is not within the bounds of age, and a variance goes by the square
        assert "pays with" not in protect().agg(m=other).explain(epsilon=1, bounds="auto")


def test_it_is_a_release_of_its_own() -> None:
    table = protect()
    asked = table.agg(pay=_.pay.mean())
    first = asked.release(epsilon=1, bounds="auto", report="clipped")
    assert table.budget.spent.epsilon == 1
    again = table.agg(pay=_.pay.mean()).release(epsilon=1, bounds="auto", report="clipped")
    assert again.receipt == first.receipt
    assert table.budget.spent.epsilon == 1
    assert "found" not in asked.release(epsilon=1).receipt
    assert table.budget.spent.epsilon == 2
    [share] = first.report["clipped"].values()
    assert 0 <= share["high"]["low"] <= share["high"]["high"] < 0.2
    later = table.agg(pay=_.pay.mean()).mutate(half=_.pay / 2).release(epsilon=1, bounds="auto")
    assert later["half"][0] < 1000


def test_truth_values_and_columns_that_are_counted_stay_as_they_are() -> None:
    asked = protect().agg(pay=_.pay.sum(), old=_.old.mean(), n=_.pay.count())
    opened = narrower(asked._query, "auto")
    assert [value.text for value in open_values(opened)] == ["pay"]
    pay, old, counted = (stated_ends(value) for a in opened.aggregates for value in a.values)
    assert pay == (Fraction(STATED[0]), Fraction(STATED[1]))
    assert (old, counted) == (None, None)


@pytest.mark.parametrize(
    ("ask", "call", "words"),
    [
        (lambda t: t.agg(m=_.pay.mean()), {"epsilon": 1, "bounds": "wide"}, "Expected 'auto', got bounds='wide'"),
        (lambda t: t.count(), {"epsilon": 1, "bounds": "auto"}, "stated bounds that is added up, got none"),
        (lambda t: t.agg(m=_.old.mean()), {"epsilon": 1, "bounds": "auto"}, "stated bounds that is added up, got none"),
        (lambda t: t.agg(m=_.pay.mean(), q=_.age.median()), {"epsilon": 1, "bounds": "auto"}, "got aggregate='q'"),
        (lambda t: t.agg(m=_.pay.mean(), q=_.age.median()), {"epsilon": 1, "report": "clipped"}, "got aggregate='q'"),
        (lambda t: t.agg(m=_.pay.sum()), {"within": {"m": 9}, "bounds": "auto"}, "got some that are to be found"),
        (
            lambda t: t.agg(m=_.pay.mean()),
            {"within": {"m": 0.1}, "up_to": 1, "relative": True, "bounds": "auto"},
            "got rounds with some that are to be found",
        ),
    ],
)
def test_what_it_does_not_go_with_is_refused_unread(ask: Any, call: Any, words: str) -> None:
    table = protect()
    for verb in ("explain", "release"):
        with pytest.raises((InvalidQuery, InvalidParameter), match="Expected") as refused:
            getattr(ask(table), verb)(**call)
        assert words in str(refused.value)
    assert table.budget.spent.epsilon == 0
