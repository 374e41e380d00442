"""Distinct values of a column that nobody listed: what is counted, what the noise is for, and a bound that holds."""

from __future__ import annotations

import json
from datetime import date, datetime
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.answers.table_exports import FARTHEST
from discreet.distinct_values.count_distinct import DistinctReading, priced_count
from discreet.engines.unit_value_pairs import UNIT, VALUE
from discreet.errors import InvalidQuery
from discreet.ledger.ledger import stated_guarantee
from discreet.planning.unlisted_values import MOST
from discreet.privacy.events import PureEvent
from discreet.query.table import PrivateTable
from discreet.sensitivity.capped_matching import assigned
from discreet.testing.scripted_words import splitmix
from discreet.testing.statistics import binomial_p

DATA = pa.table(
    {
        "person": [1, 1, 1, 2, 3, 3, None, 4],
        "code": ["a", "a", "b", "a", "A", "a ", "z", None],
        "n": [5, 5, 5, 6, None, 7, 8, 5],
        "sick": [True, True, False, None, True, True, False, True],
        "day": [*[date(2026, 1, day) for day in (1, 2, 1)], None, date(1, 1, 1), date(9999, 1, 1), None, None],
        "at": [datetime(2026, 1, 1, 5), *[datetime(2026, 1, 1, 6)] * 7],  # noqa: DTZ001 (as stored)
        "x": [0.5] * 8,
    }
)


def protected(data: pa.Table = DATA, **stated: Any) -> PrivateTable:
    facts: dict[str, Any] = {"unit": "person", "name": "codes", "budget": dp.Budget(epsilon=10**6)} | stated
    return dp.protect(data, **facts)


def priced(table: PrivateTable, column: str, *, epsilon: object = 1, **stated: Any) -> tuple[DistinctReading, Any]:
    return priced_count(table, column, price=stated_guarantee(epsilon), **stated)


def counts(table: PrivateTable, column: str, *limits: int) -> list[int]:
    """The exact counts under some limits."""
    reading, source = priced(table, column)
    found = source._engine.run_statement(source.declaration, source._engine.compiled(reading.expression))
    return assigned(found[UNIT].to_numpy(), found[VALUE].to_numpy(), limits)


LARGE = pa.table({"person": range(9), "u": pa.array([2**63 + i for i in range(9)], pa.uint64()), "i": [1] * 9})
ONE_VALUE = {
    "as it is": lambda t: t.mutate(s=_.u),
    "renamed": lambda t: t.rename(s="u"),
    "filled": lambda t: t.mutate(s=_.u.coalesce(0)),
    "chosen": lambda t: t.mutate(s=(_.i == 1).ifelse(_.u, 0)),
    "of a unit": lambda t: t.per_unit(s=lambda t: t.u.max()),
    "as text": lambda t: t.mutate(s=_.u.cast("string")),
    "filled, as text": lambda t: t.mutate(s=_.u.coalesce(0).cast("string")),
    "united": lambda t: t.select("u").union(t.select("u")).rename(s="u"),
}


@pytest.mark.parametrize("form", ONE_VALUE)
def test_values_that_are_read_as_one_are_not_counted(form: str) -> None:
    """From 2**63 on, numbers without a sign are one value: 9 of them were counted as 1, in words that say nothing."""
    table = protected(LARGE, max_rows=1)
    with pytest.raises(InvalidQuery, match=r"told apart.*\n.*text or a signed integer before dp.protect"):
        ONE_VALUE[form](table).count_distinct("s", epsilon=1)


def test_numbers_without_a_sign_are_counted_within_stated_bounds() -> None:
    small = pa.table({"person": range(9), "u": pa.array(range(9), pa.uint64())})
    assert counts(protected(small, bounds={"u": (0, 100)}), "u", 9) == [9]
    assert counts(protected(small, bounds={"u": (0, 100)}).mutate(s=_.u.cast("string")), "s", 9) == [9]
    assert counts(protected(small).mutate(s=_.u.clip(0, 2**63 - 1)), "s", 9) == [9]
    assert counts(protected(LARGE).mutate(s=_.u.clip(0, 2**63 - 1)), "s", 9) == [1]


@pytest.mark.long
@pytest.mark.parametrize(("column", "number"), [("code", 4), ("n", 3), ("sick", 2), ("day", 4), ("at", 2)], ids=str)
def test_values_are_counted_once(column: str, number: int) -> None:
    """Whoever has them, in any kind of column; neither NULL nor those of rows without a unit."""
    assert counts(protected(), column, 9) == [number]
    assert counts(protected(DATA.take([7, 3, 3, 2, 1, 0, 0, 5, 4, 6])), column, 9) == [number]
    assert counts(protected(DATA.slice(0, 0)), column, 1, 9) == [0, 0]


def test_a_unit_counts_no_more_than_its_limit() -> None:
    assert counts(protected(), "code", 1, 2) == [3, 4]
    assert counts(protected(), "n", 1, 2) == [3, 3]
    many = pa.table({"person": [1] * 50 + [2], "n": [*range(50), 3]})
    assert counts(protected(many), "n", 1, 2, 4, 49, 64) == [2, 3, 5, 50, 50]


def test_the_table_may_be_rewritten_first() -> None:
    table = protected()
    assert counts(table.filter(_.n > 5), "code", 9) == [2]
    assert counts(table.mutate(short=_.code.strip().lower()), "short", 9) == [2]
    assert counts(table.rename(what="code").drop("n"), "what", 9) == [4]
    assert counts(table.union(table), "code", 1) == [3]
    assert counts(table.per_unit(last=lambda t: t.n.max()), "last", 1) == [3]


def test_units_of_several_columns() -> None:
    """They are told apart by all of them."""
    data = pa.table({"site": [1, 1, 2, 2, None], "id": ["a", "b", "a", "a", "a"], "n": [1, 2, 3, 4, 5]})
    assert counts(protected(data, unit=["site", "id"]), "n", 1, 2) == [3, 4]


def test_rows_as_units() -> None:
    table = protected(unit=dp.ROW)
    assert counts(table, "code", 1) == [5]
    assert priced(table, "code")[0].mechanism.limits == (1,)


def test_what_the_noise_is_for() -> None:
    """The limits that are tried, how many units change, and which way counts move then."""
    mechanism = priced(protected(), "code")[0].mechanism
    assert mechanism.limits == tuple(2**i for i in range(13))
    assert mechanism.limits[-1] == MOST
    assert (mechanism.units, mechanism.both_ways) == (1, False)
    assert priced(protected(max_rows=5), "code")[0].mechanism.limits == (1, 2, 4, 5)
    assert priced(protected(max_rows="auto"), "code")[0].mechanism.limits[-1] == MOST
    assert priced(protected(), "code", max_values=3)[0].mechanism.limits == (3,)
    one = protected().per_unit(last=lambda t: t.n.max())
    assert priced(one, "last")[0].mechanism.limits == (1,)
    replaced = priced(protected(neighbors="replace-one", units=4), "code")[0].mechanism
    assert (replaced.units, replaced.both_ways) == (1, True)
    rows = protected(unit=dp.ROW)
    twice = priced(rows.union(rows), "code")[0].mechanism
    assert (twice.units, twice.both_ways, twice.limits) == (2, False, (1,))


def test_nearly_all_of_epsilon_finds_them_all() -> None:
    found = protected().count_distinct("code", epsilon=10**4)
    assert (found.value, found.at_least()) == (4, 4)
    assert repr(found) == "<at least 4 values of 'code' (95 %)>"
    stated = protected().count_distinct("code", epsilon=10**4, max_values=1)
    assert (stated.value, stated.limit) == (3, 1)


def test_noise_beyond_64_bits_is_a_row_as_well() -> None:
    """At such a price about half of all numbers are beyond them, on either side."""
    answers = [protected().count_distinct("code", epsilon=Fraction(1, 10**40), max_values=1) for _i in range(30)]
    rows = [answer.to_pyarrow().to_pylist()[0] for answer in answers]
    assert {row["value"] for row in rows} == {FARTHEST, -FARTHEST}
    assert all(row["value_low"] <= row["value"] for row in rows)
    assert {answer.value > 0 for answer in answers} == {True, False}


def test_it_is_charged_once_and_remembered() -> None:
    table = protected(max_rows=2)
    first = table.count_distinct("code", epsilon=0.25)
    again = table.count_distinct("code", epsilon=0.25)
    assert (again.value, again.limit, again.receipt) == (first.value, first.limit, first.receipt)
    assert table.budget.spent.epsilon == Fraction(1, 4)
    assert table.budget.entries()[0].event == PureEvent(epsilon=Fraction(1, 4))
    facts = json.loads(json.dumps(first.receipt))
    assert facts["question"] == "how many values of code there are"
    assert facts["limits"] == [1, 2]
    assert facts["too large by at most"] == {"1": 18, "2": 37}
    assert facts["guarantee"] == "0.25-differential privacy for add-remove neighbors"
    drawn = {table.count_distinct("code", epsilon=0.25, fresh=True).value for _i in range(30)}
    assert len(drawn) > 3
    table.count_distinct("code", epsilon=0.25, max_values=2)
    assert table.budget.spent.epsilon == Fraction(32, 4)


def test_a_budget_in_rho_pays_for_it() -> None:
    table = protected(budget=dp.Budget(rho=1))
    table.count_distinct("code", epsilon=0.5)
    assert table.budget.spent.rho is not None
    assert 0 < table.budget.spent.rho <= Fraction(1, 8)


@pytest.mark.long
def test_the_bound_holds_as_often_as_it_says() -> None:
    """Of 400 releases at most 45 lie above the number of values, once in a million times; and it is no bound that says
    nothing.
    """
    rng = np.random.default_rng(5)
    data = pa.table({"person": rng.integers(0, 2000, 9000), "n": rng.zipf(1.3, 9000).clip(0, 10**6)})
    table, true = protected(data), len(set(data["n"].to_pylist()))
    answers = [table.count_distinct("n", epsilon=1, fresh=True) for _i in range(400)]
    bounds = np.array([answer.at_least() for answer in answers])
    assert (bounds > true).sum() <= 45
    assert true > np.median(bounds) > 0.75 * true
    low = np.array([answer.at_least(0.6) for answer in answers])
    assert (low >= bounds).all()
    surely = np.array([answer.value for answer in answers])
    assert (surely.clip(0) >= low).all()


def test_each_bound_is_below_what_may_be_counted() -> None:
    """The count itself misses in one of 20: 4,000 draws under one limit; half of the margin is caught."""
    reading, words = priced(protected(), "code", max_values=2)[0], splitmix(4)
    held = pa.table({UNIT: [0, 0, 1], VALUE: [0, 1, 2]})
    noisy = [int(reading.add_noise(held, words)["count"][0].as_py()) for _i in range(4000)]
    margin = reading.facts["too large by at most"]["2"]
    missed, halved = (sum(count - one > 3 for count in noisy) for one in (margin, margin // 2))
    assert missed < 200 or binomial_p(missed, 4000, 0.05) > 1e-6
    assert halved > 200
    assert binomial_p(halved, 4000, 0.05) < 1e-6


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no column": ({"column": "nobody"}, "a known column"),
    "a number": ({"column": 3}, "column"),
    "reals": ({"column": "x"}, r"compared exactly.*\n.*floor"),
    "no price": ({"epsilon": None, "fresh": True}, "epsilon"),
    "nothing": ({"epsilon": 0}, "above 0"),
    "more than there are pairs": ({"max_values": 2**30 + 1}, "at most 1,073,741,824"),
    "a limit of 0": ({"max_values": 0}, "1 or more"),
    "half a value": ({"max_values": 1.5}, "whole number"),
    "a word": ({"max_values": "many"}, "max_values"),
    "a word for fresh": ({"fresh": "yes"}, "fresh"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_cost_nothing(name: str) -> None:
    stated, match = REFUSED[name]
    table = protected()
    asked: dict[str, Any] = {"column": "code", "epsilon": 1} | stated
    with pytest.raises((dp.InvalidParameter, dp.InvalidQuery), match=match) as refused:
        table.count_distinct(**asked)
    assert "Hint: " in str(refused.value)
    assert table.budget.spent.epsilon == 0


def test_aggregates_of_real_numbers_need_a_list() -> None:
    with pytest.raises(dp.InvalidQuery, match=r"dp\.protect\(keys="):
        protected().agg(n=_.x.nunique())


TOLD_APART: dict[str, tuple[pa.Array, int]] = {
    "whole numbers": (pa.array([-(2**63), 1 - 2**63, 2**63 - 2, 2**63 - 1, 0, None]), 5),
    "unsigned": (pa.array([0, 2**32 - 1, 2**32 - 2], pa.uint32()), 3),
    "truth values": (pa.array([True, False, None, True]), 2),
    "texts": (pa.array(["a", "A", "a ", "\u00e9", "e\u0301", "", "\x00", "\x00a", "nan", None]), 9),
    "dates": (pa.array([-719_162, -719_161, 0, 2_932_896], pa.int32()).view(pa.date32()), 4),
    "times": (pa.array([-62_135_596_800_000_000, 0, 1, 253_402_300_799_999_999]).view(pa.timestamp("us")), 4),
    "times of a zone": (pa.array([0, 1, 3_600_000_000]).view(pa.timestamp("us", "Europe/Berlin")), 3),
}


@pytest.mark.parametrize("kind", TOLD_APART)
def test_values_at_the_ends_of_a_type_are_told_apart(kind: str) -> None:
    values, wanted = TOLD_APART[kind]
    data = pa.table({"person": range(len(values)), "v": values})
    table = dp.protect(data, unit="person", max_rows=1, budget=dp.Budget(epsilon=10**6), name="ends")
    assert table.count_distinct("v", epsilon=10**5).value == wanted


def test_whole_numbers_that_are_read_as_one_are_refused() -> None:
    data = pa.table({"person": [1, 2], "v": pa.array([2**63, 2**63 + 1], pa.uint64())})
    stated: dict[str, Any] = {"unit": "person", "max_rows": 1, "name": "wide"}
    table = dp.protect(data, budget=dp.Budget(epsilon=1), **stated)
    for asked, name in ((table, "v"), (table.rename(w="v"), "w"), (table.mutate(w=lambda t: t.v), "w")):
        with pytest.raises(dp.InvalidQuery, match="whole numbers that are told apart"):
            asked.count_distinct(name, epsilon=1)
    assert table.budget.spent.epsilon == 0
    bounded = dp.protect(data, budget=dp.Budget(epsilon=10**6), bounds={"v": (0, 100)}, **stated)
    assert bounded.count_distinct("v", epsilon=10**5).value == 1
