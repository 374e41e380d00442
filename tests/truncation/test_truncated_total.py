"""Truncated totals: what is counted, what the noise is for, and bounds that hold and are near."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.answers.table_exports import FARTHEST
from discreet.ledger.ledger import stated_guarantee
from discreet.mechanisms.contribution_limit_selection import CountsUnderLimits
from discreet.mechanisms.race_to_the_top import RaceToTheTop
from discreet.privacy.events import PureEvent
from discreet.query.explanation import plan_digest
from discreet.query.table import PrivateTable
from discreet.testing.scripted_words import splitmix
from discreet.testing.statistics import binomial_p
from discreet.truncation.truncated_total import MOST, PARTS, priced_total
from discreet.truncation.truncated_total_release import FULL, NOISY, SHORT, TotalReading

DATA = pa.table(
    {
        "person": [1, 1, 1, 2, 3, 3, None, 4],
        "n": [5, 5, 5, 6, None, 7, 8, 0],
        "x": [0.5, 0.25, None, float("nan"), 1.75, float("inf"), 1.0, 0.0],
        "sick": [True, True, False, None, True, True, True, False],
        "word": ["a"] * 8,
    }
)
BOUNDS = {"n": (0, 100), "x": (0, 2)}


def protected(data: pa.Table = DATA, **stated: Any) -> PrivateTable:
    facts: dict[str, Any] = {"unit": "person", "name": "stays", "budget": dp.Budget(epsilon=10**6), "bounds": BOUNDS}
    return dp.protect(data, **(facts | stated))


def priced(table: PrivateTable, value: Any = None, *, epsilon: object = 1, **stated: Any) -> tuple[TotalReading, Any]:
    return priced_total(table, value, price=stated_guarantee(epsilon), **stated)


def totals(table: PrivateTable, value: Any = None, **stated: Any) -> list[float]:
    """The exact total under each limit, in the units of the amount."""
    reading, source = priced(table, value, **stated)
    found = source._engine.run_statement(source.declaration, source._engine.compiled(reading.expression))
    return [one / reading.parts for one in reading.steps_of(found)]


def test_a_unit_counts_up_to_each_limit() -> None:
    """Its rows, its amounts, and the rows for which a condition is true; NULL adds nothing, nor do rows without one."""
    assert totals(protected(), most=4) == [4, 6, 7]
    assert totals(protected(), "n", most=32) == [3, 6, 12, 21, 28, 28]
    assert totals(protected(), _.n * 2, most=9) == [3, 6, 12, 24, 27]
    assert totals(protected(), _.sick, most=2) == [2, 4]
    assert totals(protected(), "x", most=8) == [1.75, 2.75, 4.5, 4.5]
    assert totals(protected(DATA.take([7, 3, 3, 2, 1, 0, 5, 4, 6])), most=4) == [4, 7, 8]
    assert totals(protected(DATA.slice(0, 0)), "n", most=4) == [0, 0, 0]


def test_limits_of_a_race_and_stated_ones() -> None:
    assert totals(protected(), "n", limit="race", most=20) == [3, 12, 28, 28]
    assert totals(protected(), "n", limit=6) == [18]
    assert priced(protected(), limit="race", most=20)[0].limits == (1, 4, 16, 20)
    assert priced(protected(), limit="race", most=1)[0].limits == (1,)


def test_the_table_may_be_rewritten_first() -> None:
    table = protected()
    assert totals(table.filter(_.n > 5), most=2) == [2, 2]
    assert totals(table.rename(m="n").mutate(half=_.m / 2), "half", most=4) == [3, 6, 10.5]
    assert totals(table.union(table), "n", most=64)[-1] == 56
    assert totals(table.per_unit(last=lambda t: t.n.max()), "last", most=8) == [3, 6, 12, 18]


def test_units_of_several_columns() -> None:
    data = pa.table({"site": [1, 1, 2, 2, None], "id": ["a", "b", "a", "a", "a"], "n": [1, 2, 3, 4, 5]})
    table = protected(data, unit=["site", "id"], bounds={"n": (0, 9)})
    assert totals(table, most=2) == [3, 4]
    assert totals(table, "n", most=8) == [3, 5, 7, 10]


def test_a_unit_of_another_table() -> None:
    """Rows of lines, whose unit is that of their order."""
    orders = pa.table({"order": [10, 11, 12], "person": [1, 1, 2]})
    lines = pa.table({"order": [10, 10, 11, 12, 13], "n": [1, 2, 3, 4, 5]})
    table = protected(lines, via=[(orders, {"order": "order"})], bounds={"n": (0, 9)})
    assert totals(table, most=4) == [2, 3, 4]
    assert totals(table, "n", most=8) == [2, 4, 8, 10]


def test_what_the_noise_is_for() -> None:
    """The limits that are tried, in parts of one where amounts are real, and which way totals move."""
    rule = priced(protected())[0].mechanism
    assert isinstance(rule, CountsUnderLimits)
    assert rule.limits == tuple(2**i for i in range(21))
    assert (rule.limits[-1], rule.units, rule.both_ways) == (MOST, 1, False)
    assert priced(protected(), "x", most=5)[0].mechanism.limits == (PARTS, 2 * PARTS, 4 * PARTS, 5 * PARTS)
    assert priced(protected(), limit=3)[0].mechanism.limits == (3,)
    assert priced(protected(max_rows=5))[0].limits == (1, 2, 4, 5)
    assert priced(protected(max_rows=5), "x")[0].limits == (1, 2, 4, 8, 10)
    assert priced(protected(max_rows="auto"))[0].limits[-1] == MOST
    assert priced(protected().per_unit(k=lambda t: t.n.max()))[0].limits == (1,)
    replaced = priced(protected(neighbors="replace-one", units=4))[0].mechanism
    assert isinstance(replaced, CountsUnderLimits)
    assert (replaced.units, replaced.both_ways) == (1, True)
    race = priced(protected(), "x", limit="race", most=4)[0].mechanism
    assert isinstance(race, RaceToTheTop)
    assert (race.limits, race.counting(0).scale) == ((PARTS, 4 * PARTS), Fraction(2 * PARTS))


def test_one_look_at_the_rows() -> None:
    """However many limits there are, the scan is named once."""
    for limit in ("auto", "race"):
        reading, source = priced(protected(), "x", limit=limit)
        assert source._engine.compiled(reading.expression).count("__discreet_scan") == 1
        assert source._engine.compiled(reading.expression).count("GROUP BY") == 1


def test_nearly_all_of_epsilon_finds_it_all() -> None:
    table = protected()
    for limit in ("auto", "race", 32):
        most = None if limit == 32 else 64  # in a race, far larger limits have noise that wins now and then
        found = table.truncated_total("n", epsilon=10**5, limit=limit, most=most)
        assert (found.value, found.at_least()) == (28, 28)
    assert repr(table.truncated_total(epsilon=10**5)) == "<at least 7 (95 %): the number of rows of all units>"
    assert table.truncated_total("x", epsilon=10**5).value == pytest.approx(4.5, abs=0.01)


def test_it_is_charged_once_and_remembered() -> None:
    table = protected(max_rows=2)
    first = table.truncated_total(epsilon=0.25)
    again = table.truncated_total(epsilon=0.25)
    assert (again.value, again.limit, again.receipt) == (first.value, first.limit, first.receipt)
    assert table.budget.spent.epsilon == Fraction(1, 4)
    assert table.budget.entries()[0].event == PureEvent(epsilon=Fraction(1, 4))
    facts = json.loads(json.dumps(first.receipt))
    assert facts["question"] == "the number of rows of all units"
    assert facts["limits"] == [1, 2]
    assert facts["too large by at most"] == {"1": 18, "2": 37}
    assert facts["guarantee"] == "0.25-differential privacy for add-remove neighbors"
    race = table.truncated_total(epsilon=0.25, limit="race")
    assert race.receipt["limit chosen by"].startswith("race to the top")
    assert race.receipt["epsilon of a total"] == "0.125"
    assert len({table.truncated_total(epsilon=0.25, fresh=True).value for _i in range(30)}) > 3
    assert table.budget.spent.epsilon == Fraction(32, 4)


def test_a_budget_in_rho_pays_for_it() -> None:
    table = protected(budget=dp.Budget(rho=1))
    table.truncated_total(epsilon=0.5)
    assert table.budget.spent.rho is not None
    assert 0 < table.budget.spent.rho <= Fraction(1, 8)


def test_a_question_without_a_price() -> None:
    table = protected()
    question = table.truncated_total(_.n + 1, limit="race")
    assert repr(question) == "<question about 'stays': the total of n + 1 of all units>"
    assert question.document()["truncated_total"]["limit"] == "race"
    assert table.budget.spent.epsilon == 0
    found = question.release(epsilon=2)
    assert found.at_least() == table.truncated_total(_.n + 1, limit="race", epsilon=2).at_least()
    with pytest.raises(dp.InvalidParameter, match="an epsilon"):
        question.release(rho=1)
    assert table.budget.spent.epsilon == 2


def test_what_is_explained_is_what_is_paid_for() -> None:
    """For nothing, and the other way to find a limit beside it; a stated one has none."""
    table = protected()
    for limit, other in (("auto", "race"), ("race", "auto")):
        question = table.truncated_total("n", limit=limit, most=64)
        found = question.explain(epsilon=2)
        beside = table.truncated_total("n", limit=other, most=64).explain(epsilon=2)
        [told] = found.facts["also priced"]
        assert (told["mechanism"], told[SHORT]) == (f"limit={other!r}", beside[SHORT])
        assert told["plus_minus"] == beside.accuracy
        assert table.budget.spent.epsilon == (0 if limit == "auto" else 2)
        receipt = question.release(epsilon=2).receipt
        for name in ("charge", "mechanism", "sensitivity", "confidence", SHORT):
            assert json.loads(json.dumps(found[name])) == receipt[name]
    assert table.truncated_total(limit=3).explain(epsilon=1)["also priced"] == []
    with pytest.raises(dp.InvalidParameter, match="above 0"):
        table.truncated_total().explain(epsilon=0)


def test_it_is_said_which_way_is_taken_and_where_it_is_the_nearer() -> None:
    """By what both promise at each size of the largest unit: no size is told that the other way is as good for."""
    table = protected()
    for limit, other, most in (
        ("auto", "race", 64),
        ("race", "auto", 64),
        ("auto", "race", 2),
        ("auto", "race", 2**20),
    ):
        found = table.truncated_total("n", limit=limit, most=most).explain(epsilon=1)
        beside = table.truncated_total("n", limit=other, most=most).explain(epsilon=1)
        promises = [{int(size): short for size, short in one[SHORT].items()} for one in (found, beside)]
        said = found["taken"]
        assert said.startswith(f"limit={limit!r}, as asked")
        nearer = re.findall(r"[\d,]+\d|\d", said.partition("Its promise is nearer if")[2].partition(";")[0])
        expected = []
        for size in sorted({*promises[0], *promises[1]}):
            mine, theirs = (min(short for limit, short in one.items() if limit >= size) for one in promises)
            expected += [f"{size:,}"] if mine < theirs else []
        if "no better" in said:
            assert (expected, most) == ([], 2)
        elif "no worse" in said:
            assert most == 2**20
        else:
            assert nearer == expected
        assert "taken  limit=" in repr(found)
    assert "taken" not in table.truncated_total(limit=3).explain(epsilon=1)


def test_errors_are_those_of_the_answer() -> None:
    """From the smallest limit to the largest, at any confidence; a race has no total beside its bound."""
    table = protected()
    for value, limit in (("n", "auto"), ("x", "auto"), ("n", 7), ("x", 7)):
        question = table.truncated_total(value, limit=limit, most=64 if limit == "auto" else None)
        found, receipt = question.explain(epsilon=0.5), question.release(epsilon=0.5).receipt
        for name, told in (("value", "too large by at most"), ("at_least", SHORT)):
            amounts, error = list(receipt[told].values()), found.accuracy[name]
            most = error.amount if error.at_most is None else error.at_most
            assert (error.amount, most) == (min(amounts), max(amounts))
            loose = question.explain(epsilon=0.5, confidence=0.99).accuracy[name]
            assert loose.amount > error.amount
        assert sum(one["share"] for one in found.facts["totals"]) == 1
        for said in ("too large", "too small", "if no unit has more than"):
            assert said in repr(found)
    race = table.truncated_total("x", limit="race", most=64).explain(epsilon=0.5)
    assert set(race.accuracy) == {"at_least"}
    assert [one["scale"] for one in race.facts["totals"]] == [8, 32, 128, 512]
    assert race["rounding"] == "each row down by less than 4e-12, and each total down to 1/1,024"


@pytest.mark.long
@pytest.mark.parametrize("limit", ["auto", "race", 4])
@pytest.mark.parametrize(("amount", "high"), [(0.0075, 1e9), (0.5, 1e12), (2.9, 1e15), (1 / 3, 1)])
def test_a_generous_bound_of_amounts_changes_nothing(amount: float, high: float, limit: Any) -> None:
    """Rounded to the steps of so wide a range, they would be twice as much, or nothing."""
    rows = pa.table({"p": range(4000), "x": [amount] * 4000})
    table = dp.protect(rows, unit="p", budget=dp.Budget(epsilon=10**9))
    truth = 4000 * amount
    found = table.truncated_total(_.x.clip(0, high), epsilon=10**6, limit=limit)
    assert found.at_least(1 - 1e-9) <= truth <= found.at_least(1 - 1e-9) + found.short(3, 1 - 1e-9) + 4000 * 1e-6


@pytest.mark.long
@pytest.mark.parametrize("limit", [1, 3, 2**10, 10**9, 2**39])
@pytest.mark.parametrize("high", [0.3, 1, 100, 2**20, 2**40, 1e30])
def test_no_real_amount_rounds_up(high: float, limit: int) -> None:
    """Amounts a little above half a step, of every lattice that there may be, up to a fifth of a step too large."""
    steps = 2.0 ** np.arange(-60, 2)
    parts = np.concatenate([[whole + part for part in (0.26, 0.5, 0.5001, 0.76, 0.999)] for whole in (0, 1, 1000)])
    amounts = np.unique(np.outer(steps, parts).ravel())
    amounts = amounts[amounts <= min(high, limit)]
    for amount in (amounts, np.repeat(amounts[amounts > 0][-1:], 1000)):
        rows = pa.table({"p": np.arange(len(amount)), "x": amount})
        table = dp.protect(rows, unit="p", budget=dp.Budget(epsilon=1))
        value = table["x"].clip(0, high)
        [total], true = totals(table, value, limit=limit), sum(map(Fraction, amount.tolist()))
        lost = Fraction(priced(table, value, limit=limit)[0].row_rounding)
        assert 0 <= true - Fraction(total) <= len(amount) * lost + Fraction(1, PARTS)


def test_generous_bounds_of_whole_numbers_change_nothing() -> None:
    rows = pa.table({"p": range(4000), "n": [500] * 4000})
    table = dp.protect(rows, unit="p", bounds={"n": (0, 10**15)}, budget=dp.Budget(epsilon=10**9))
    assert table.truncated_total("n", epsilon=10**6, most=4096).value == 4000 * 500


def test_other_questions_are_other_plans() -> None:
    table = protected()
    asked: list[dict[str, Any]] = [
        *({"value": value} for value in (None, "n", "x", _.n + 1)),
        *({"limit": limit} for limit in ("race", 7, 8)),
        *({"most": most} for most in (8, 9)),
    ]
    names = [plan_digest(table.truncated_total(**one).explain(epsilon=1)) for one in asked]
    names.append(plan_digest(table.truncated_total().explain(epsilon=2)))
    assert len(set(names)) == len(names)


def test_an_answer_is_one_row() -> None:
    """The limit, the total, and the end below which it is not likely to be; whole, where rows or whole amounts are."""
    for value, kind in (("n", pa.int64()), ("x", pa.float64())):
        question = protected().truncated_total(value, limit="race", most=16)
        answer = question.release(epsilon=0.5)
        table = answer.to_pyarrow(0.99)
        assert table.schema == question._shape()
        assert table.schema.field("value").type == kind
        ends = {"value_low": min(answer.at_least(0.99), answer.value), "value_high": math.inf}
        assert table.to_pylist() == [{"limit": answer.limit, "value": answer.value, **ends}]
    largest = protected().truncated_total(limit=2**39, epsilon=10**-15)
    [row] = largest.to_pyarrow().to_pylist()
    assert row["value"] in (largest.value, FARTHEST, -FARTHEST)
    assert row["value_low"] == min(row["value"], max(0, row["value_low"]))


@pytest.mark.long
@pytest.mark.parametrize("stated", [{"limit": "race", "most": 16}, {"limit": 4}], ids=["a race", "a stated limit"])
def test_no_low_end_is_above_its_value(stated: dict[str, Any]) -> None:
    """Neither where noise is below 0, nor where another limit wins the race at another confidence."""
    few = protected().filter(_.n < 6)
    for _again in range(30):
        answer = few.truncated_total("n", **stated).release(epsilon=0.1, fresh=True)
        for confidence in (0.01, 0.5, 0.999):
            [row] = answer.to_pyarrow(confidence).to_pylist()
            assert row["value_low"] <= min(row["value"], answer.at_least(confidence))


def heavy(seed: int) -> pa.Table:
    """Many units with a few rows, and some with hundreds."""
    rng = np.random.default_rng(seed)
    rows = np.concatenate([rng.poisson(6, 900), rng.integers(100, 400, 30)])
    return pa.table({"person": np.repeat(np.arange(len(rows)), rows)})


@pytest.mark.long
@pytest.mark.parametrize("limit", ["auto", "race"])
def test_bounds_hold_and_are_near_as_often_as_they_say(limit: str) -> None:
    """Of 300 releases at most 40 lie above the total or further below than is said, once in a million times each."""
    data = heavy(5)
    table, true = protected(data, bounds={}), data.num_rows
    answers = [table.truncated_total(epsilon=1, limit=limit, most=512, fresh=True) for _i in range(300)]
    bounds = np.array([answer.at_least() for answer in answers])
    assert (bounds > true).sum() <= 40
    assert (bounds < true - answers[0].short(400)).sum() <= 40
    low = np.array([answer.at_least(0.99) for answer in answers])
    assert (low <= bounds).all()
    assert np.median(bounds) > (0.6 if limit == "auto" else 0)


@pytest.mark.long
@pytest.mark.parametrize("limit", ["auto", "race"])
def test_each_bound_is_below_the_total(limit: str) -> None:
    """4,000 draws from totals that are all the same: missed in 5 % at most; with half of the margin far more often."""
    reading, words, trials = priced(protected(), limit=limit, most=4)[0], splitmix(4), 1000
    found = pa.table({f"{NOISY}_{i}": [1000] for i in range(len(reading.limits))})
    rule, missed, halved = reading.mechanism, 0, 0
    for _i in range(trials):
        shown = reading.add_noise(found, words)
        noisy, limits = [int(one) for one in shown[NOISY].to_pylist()], shown["limit"].to_pylist()
        margins = [rule.margin(reading.limits.index(one)) for one in limits]
        missed += max(n - h for n, h in zip(noisy, margins, strict=True)) > 1000
        halved += max(n - h // 2 for n, h in zip(noisy, margins, strict=True)) > 1000
    assert missed < 0.05 * trials or binomial_p(missed, trials, 0.05) > 1e-6
    assert halved > 0.05 * trials
    assert binomial_p(halved, trials, 0.05) < 1e-6


def test_totals_stop_where_noise_could_be_seen() -> None:
    reading = priced(protected(), "x", most=2)[0]
    huge = pa.table({f"{NOISY}_{i}": pa.array([10**30], pa.decimal128(38, 0)) for i in range(2)})
    assert reading.steps_of(huge) == [FULL, FULL]


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no column": ({"value": "nobody"}, "a known column"),
    "words": ({"value": "word"}, "amounts of 0 or more"),
    "below 0": ({"value": _.n - 1}, r"below 0.*\n.*clip"),
    "no bounds": ({"value": "loose"}, r"no bounds.*\n.*clip"),
    "an aggregate": ({"value": lambda t: t.n.sum()}, "row"),
    "nothing": ({"epsilon": 0}, "above 0"),
    "a limit of 0": ({"limit": 0}, "1 or more"),
    "half a row": ({"limit": 1.5}, "whole number"),
    "a word": ({"limit": "many"}, r"limit.*\n.*race"),
    "too large": ({"limit": 2**40}, "at most 549,755,813,888"),
    "most of 0": ({"most": 0}, "1 or more"),
    "most and a limit": ({"most": 5, "limit": 3}, "no most beside"),
    "a word for fresh": ({"fresh": "yes"}, "fresh"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_cost_nothing(name: str) -> None:
    stated, match = REFUSED[name]
    table = protected(DATA.append_column("loose", DATA["n"]))
    asked: dict[str, Any] = {"epsilon": 1} | stated
    with pytest.raises((dp.InvalidParameter, dp.InvalidQuery), match=match) as refused:
        table.truncated_total(**asked)
    assert "Hint: " in str(refused.value)
    assert table.budget.spent.epsilon == 0


def test_how_far_it_may_be_short_is_of_limits_that_were_tried() -> None:
    found = protected().truncated_total(epsilon=1, most=8)
    assert found.short(5) == found.short(8) > found.short(1)
    with pytest.raises(dp.InvalidParameter, match=r"at most 8.*\n.*most="):
        found.short(9)
