"""Totals of rows that belong to two units each: what is counted, who is one unit, and how far one moves it."""

from __future__ import annotations

import json
from datetime import date
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ibis import _

import discreet as dp
from discreet.distinct_values.count_distinct import count_distinct
from discreet.errors import EngineError
from discreet.ledger.ledger import stated_guarantee
from discreet.query.table import PrivateTable
from discreet.testing.neighbors import IDENTITIES, Rows, hostile
from discreet.truncation.pair_totals import totals_of_pairs
from discreet.truncation.truncated_total import priced_total
from discreet.truncation.truncated_total_release import TotalReading
from neighbor_bench import Bench

CALLS = pa.table(
    {
        "caller": [1, 1, 2, 3, None, 4, 2, 1],
        "called": [2, 3, 3, 3, 1, None, 1, 2],
        "minutes": [5, 1, 9, 2, 3, 3, None, 50],
        "cost": [0.5, 0.25, float("nan"), 3.0, 1.0, 1.0, 1.75, 0.0],
        "abroad": [True, False, None, True, True, True, True, False],
    }
)
BOUNDS = {"minutes": (0, 60), "cost": (0, 2)}


def protected(data: Any = CALLS, **stated: Any) -> dp.SharedTable:
    facts: dict[str, Any] = {"each_of": ("caller", "called"), "budget": dp.Budget(epsilon=10**6), "name": "calls"}
    return dp.protect_shared(data, **({"bounds": BOUNDS} | facts | stated))


def priced(table: Any, value: Any = None, **stated: Any) -> tuple[TotalReading, Any]:
    return priced_total(table, value, price=stated_guarantee(1), **stated)


@cache
def compiled(reading: TotalReading, engine: Any) -> str:
    found: str = engine.compiled(reading.expression)
    return found


def looked(reading: TotalReading, source: Any) -> list[int]:
    """The exact total under each limit, in parts."""
    statement = compiled(reading, source._engine)
    return reading.steps_of(source._engine.run_statement(source.declaration, statement))


def totals(table: Any, value: Any = None, **stated: Any) -> list[float]:
    """The same in the units of the amount."""
    reading, source = priced(table, value, **stated)
    return [one / reading.parts for one in looked(reading, source)]


def test_rows_amounts_and_conditions() -> None:
    """Rows without one of their units are left out; NULL adds nothing; a row of one person alone counts once."""
    table = protected()
    assert totals(table, most=8) == [2, 3, 6, 6]
    assert totals(table, "minutes", most=64) == [2, 4, 7, 11, 19, 35, 67]
    assert totals(table, _.minutes * 2, limit=3) == [6]
    assert totals(table, _.abroad, most=4) == [2, 3, 3]
    assert totals(table, "cost", most=4) == [2, 4, 4.5]
    assert totals(protected(CALLS.slice(0, 0)), "minutes", most=2) == [0, 0]


def test_the_rows_may_be_rewritten_first() -> None:
    table = protected()
    assert totals(table.filter(_.minutes > 4), most=4) == [1, 2, 3]
    assert totals(table.select("minutes").mutate(hours=_.minutes / 60), "hours", most=1) == [
        pytest.approx(1.05, abs=1e-5)
    ]
    assert totals(table.rename(length="minutes").drop("cost"), "length", most=64)[-1] == 67
    assert totals(table.select("abroad").distinct(), most=8)[-1] == 6
    assert totals(table.distinct("caller", "called"), most=8)[-1] == 5


def test_who_is_in_both_columns_has_one_limit() -> None:
    """One who calls ten and is called by ten others counts once up to the limit, in keys of every type."""
    for kind, name in ((pa.string(), "n{}".format), (pa.int16(), int), (pa.date32(), date.fromordinal)):
        others = [name(one) for one in range(2, 12)]
        ends = [[name(1)] * 10 + others, others + [name(1)] * 10]
        data = pa.table({"caller": pa.array(ends[0], kind), "called": pa.array(ends[1], kind)})
        assert totals(protected(data, bounds={}), limit=3) == [3]
    mixed = {"caller": pa.array([1, 2], pa.int8()), "called": pa.array([2, 3], pa.int64())}
    assert totals(protected(pa.table(mixed), bounds={}), limit=1) == [1]
    spaces = pa.table({"caller": ["a", "A", "a "], "called": ["b", "B", "b "]})
    assert totals(protected(spaces, bounds={}), limit=1) == [3]


@pytest.mark.parametrize("kind", [pa.string(), pa.int64()])
def test_a_unit_is_one_in_all_parts_of_what_is_fetched(kind: pa.DataType) -> None:
    random = np.random.default_rng(5)
    ends = [pa.array(random.integers(0, 40, 300)).cast(kind) for _side in range(2)]
    whole = pa.table([*ends, pa.array(random.integers(0, 9, 300))], names=["first", "second", "amount"])
    parts = pa.concat_tables([whole.slice(i, 7) for i in range(0, 300, 7)])
    assert parts["first"].num_chunks > 1
    assert totals_of_pairs(parts, [1, 2, 4, 20]) == totals_of_pairs(whole, [1, 2, 4, 20])


@pytest.mark.parametrize("kind", [one for one in dict.fromkeys(IDENTITIES) if not pa.types.is_timestamp(one)], ids=str)
def test_no_key_makes_a_look_fail(kind: pa.DataType) -> None:
    """At the ends of every type that may say who somebody is."""
    data = Rows((("caller", kind), ("called", kind)), tuple((one, one) for one in hostile(kind)))
    assert totals(protected(data.to_arrow(), bounds={}), limit=1) == [len(data.units(["caller"]))]


def test_dates_are_fetched_as_texts() -> None:
    """PostgreSQL has dates that Arrow has not, of which one would make a release fail."""
    dates = pa.table({"caller": [date(2026, 1, 1)], "called": [date(2026, 1, 2)]})
    reading, source = priced(protected(dates, bounds={}), limit=1)
    assert reading.expression["first"].type().is_string()
    assert looked(reading, source) == [1]


PEOPLE = st.sampled_from([None, 1, 2, 3, 4])
ROWS = st.lists(st.tuples(PEOPLE, PEOPLE, st.integers(0, 9), st.floats(0, 3, width=16)), max_size=14)
VERBS: tuple[Any, ...] = (
    lambda t: t,
    lambda t: t.filter(_.minutes > 2),
    lambda t: t.mutate(minutes=_.minutes * 2).distinct("minutes", "cost"),
)


def table_of(rows: Any) -> pa.Table:
    kinds = {"caller": pa.int64(), "called": pa.int64(), "minutes": pa.int64(), "cost": pa.float64()}
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], [], []]
    return pa.table(dict(zip(kinds, columns, strict=True)), schema=pa.schema(kinds))


@cache
def on_the_bench(verb: int, value: str | None) -> tuple[Bench, TotalReading, Any]:
    """A table after a verb, whose rows are put there later."""
    bench = Bench()
    put = bench.put(table_of([]))
    table = VERBS[verb](protected(put, budget=dp.Budget(epsilon=1)))
    return bench, *priced(table, value, most=8)


@given(
    rows=ROWS,
    person=st.integers(1, 4),
    verb=st.integers(0, len(VERBS) - 1),
    value=st.sampled_from([None, "minutes", "cost"]),
)
def test_one_unit_moves_totals_by_their_limits(rows: Any, person: int, verb: int, value: str | None) -> None:
    """With all rows that name it, where columns share their names; with those of one column, where they do not."""
    bench, reading, source = on_the_bench(verb, value)
    bench.put(table_of(rows))
    before = looked(reading, source)
    assert before == sorted(before)
    for columns in ((0, 1), (0,), (1,)):
        bench.put(table_of([row for row in rows if all(row[i] != person for i in columns)]))
        moves = [old - new for old, new in zip(before, looked(reading, source), strict=True)]
        assert all(0 <= move <= most for move, most in zip(moves, reading.mechanism.limits, strict=True))


def test_what_the_noise_is_for() -> None:
    """Limits are whole numbers of the parts in which real amounts are counted, of 31 bits at most."""
    table = protected()
    rule: Any = priced(table)[0].mechanism
    assert (rule.limits[-1], rule.both_ways) == (2**20, False)
    replaced = priced(protected(neighbors="replace-one", units=4))[0]
    rule = replaced.mechanism
    assert rule.both_ways
    assert str(replaced.facts["guarantee"]).endswith("for replace-one neighbors")
    assert priced(table, "minutes", limit=2**30)[0].mechanism.limits == (2**30,)
    for most in (1, 5, 1000, 2**20):
        reading, _source = priced(table, "cost", most=most)
        assert reading.mechanism.limits == tuple(one * reading.parts for one in reading.limits)
        assert 2**10 <= reading.parts <= 2**20
        assert reading.mechanism.limits[-1] <= 2**30
    race = priced(table, limit="race", most=20)[0].mechanism
    assert (race.limits, race.counting(0).scale) == ((1, 4, 16, 20), Fraction(4))


def test_an_answer_its_receipt_and_its_account() -> None:
    table = protected()
    for value, whole in ((None, 6), ("minutes", 67), ("cost", 4.5)):
        for limit in ("auto", 64) if whole != 6 else ("race",):
            found = table.truncated_total(value, epsilon=10**4, limit=limit, most=None if limit == 64 else 64)
            assert [found.value, found.at_least()] == pytest.approx([whole, whole], abs=0.1)
    question = table.truncated_total("minutes", most=64)
    account, receipt = question.explain(epsilon=0.5), question.release(epsilon=0.5).receipt
    for name in ("unit", "charge", "mechanism", "sensitivity"):
        assert json.loads(json.dumps(account[name])) == receipt[name]
    assert receipt["unit"] == "each of caller, called"
    assert account["rounding"] == "each total down to a whole number"
    assert "rounding  each row down by less than 2e-05" in repr(
        table.truncated_total("cost", most=2**14).explain(epsilon=1)
    )
    assert table.truncated_total("minutes", most=64, epsilon=0.5).receipt == receipt
    assert table.budget.spent.epsilon == 5 * 10**4 + Fraction(1, 2)


def test_documents_are_read_again() -> None:
    table = protected()
    question = table.filter(_.minutes > 1).mutate(hours=_.minutes / 60).truncated_total(_.hours, limit="race")
    again: Any = dp.question(question.document(), {"calls": table})
    assert again.document() == question.document()
    own = dp.protect(CALLS, unit="caller", max_rows=1, name="calls", budget=dp.Budget(epsilon=1))
    with pytest.raises(dp.InvalidQuery, match="several units"):
        dp.question(own.agg(n=_.count()).document(), {"calls": table})
    for step in ({"take": 1}, {"unnest": {"split": ["a", {"column": "caller"}, ","], "max_items": 2}}):
        document = {"version": 1, "truncated_total": {"from": {"table": "calls", "steps": [step]}}}
        with pytest.raises(dp.InvalidQuery):
            dp.question(document, {"calls": table})


OTHERS: dict[str, Any] = {
    "count": lambda t: t.count(),
    "agg": lambda t: t.agg(n=_.count()),
    "groups": lambda t: t.group_by("abroad"),
    "units": lambda t: t.nunique(),
    "features": lambda t: t.per_unit(n=_.count()),
    "values": lambda t: t.count_distinct("minutes", epsilon=1),
    "values by a function": lambda t: count_distinct(t, "minutes", epsilon=1),
    "clusters": lambda t: t.kmeans(["minutes"], n_clusters=2, epsilon=1),
    "a new version": lambda t: t.refreshed(CALLS, version=2),
    "a join": lambda t: t.join(t, "caller"),
    "a join of another table": lambda t: other(t).join(t, ["caller", "called"]),
    "a union": lambda t: other(t).union(t),
    "SQL": lambda t: dp.sql("SELECT COUNT(*) FROM calls", calls=t),
    "a table in disguise": lambda t: in_disguise(t).count().release(epsilon=1),
    "groups in disguise": lambda t: PrivateTable.of(t._source).group_by("abroad", keys={"abroad": [True]}, max_groups=1,
                                                                        max_rows=1).agg(n=_.count()).release(epsilon=1),
    "values in disguise": lambda t: PrivateTable.of(t._source).count_distinct("minutes", epsilon=1),
    "a batch in disguise": lambda t: dp.batch({
        "a": in_disguise(t).filter(_.n > 1).agg(n=_.count()),
        "b": in_disguise(t).agg(n=_.count())}, max_rows=1, max_groups=2).release(epsilon=1),
}  # fmt: skip
"""What nobody may ask of such a table."""


def in_disguise(table: Any) -> PrivateTable:
    """One row for each pair of units, as if the pair were the unit."""
    return PrivateTable.of(table._source).per_unit(n=_.count())


def other(table: Any) -> PrivateTable:
    """A table of the same budget, whose unit is a pair."""
    stated: dict[str, Any] = {"unit": ["caller", "called"], "max_rows": 1, "name": "other", "bounds": BOUNDS}
    return dp.protect(CALLS, budget=table.budget, **stated)


@pytest.mark.parametrize("name", OTHERS)
def test_all_other_questions_are_refused_in_words(name: str) -> None:
    table = protected()
    with pytest.raises((dp.InvalidQuery, dp.InvalidParameter), match=r"Expected .*\n?.*Hint: ") as refused:
        OTHERS[name](table)
    assert "unit" in str(refused.value)
    assert table.budget.spent.epsilon == 0


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "below 0": ({"value": _.minutes - 1}, "below 0"),
    "no bounds": ({"value": "loose"}, "no bounds"),
    "bounds to find": ({"value": "open"}, "no bounds"),
    "too large": ({"limit": 2**30 + 1}, "at most 1,073,741,824"),
    "too large for parts": ({"value": "cost", "most": 2**20 + 1}, "at most 1,048,576"),
    "nothing": ({"epsilon": 0}, "above 0"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_cost_nothing(name: str) -> None:
    stated, match = REFUSED[name]
    data = CALLS.append_column("loose", CALLS["minutes"]).append_column("open", CALLS["cost"])
    table = protected(data, bounds={**BOUNDS, "open": "auto"})
    asked: dict[str, Any] = {"epsilon": 1} | stated
    with pytest.raises((dp.InvalidParameter, dp.InvalidQuery), match=match):
        table.truncated_total(**asked)
    assert table.budget.spent.epsilon == 0


def test_a_flow_that_fails_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many rows for memory: one message, without a frame of what was found, and the charge stays."""

    def fails(*_arguments: object, **_named: object) -> None:
        raise MemoryError("6,000,000 pairs")

    monkeypatch.setattr("scipy.sparse.csgraph.maximum_flow", fails)
    table = protected()
    with pytest.raises(EngineError) as refused:
        table.truncated_total("minutes", epsilon=1, limit=3)
    assert "6,000,000" not in str(refused.value)
    assert refused.value.__context__ is None
    assert table.budget.spent.epsilon == 1


@pytest.mark.long
@pytest.mark.parametrize("limit", ["auto", "race"])
def test_bounds_hold_and_are_near_as_often_as_they_say(limit: str) -> None:
    """Of 100 releases at most 19 lie above the total or further below than is said, once in a million times each."""
    random = np.random.default_rng(4)
    ends = random.zipf(1.4, (1000, 2)).clip(0, 100)
    data = pa.table({"caller": ends[:, 0], "called": ends[:, 1]})
    most = int(np.bincount(ends.ravel()).max())
    table = protected(data, bounds={})
    found = [table.truncated_total(epsilon=2, limit=limit, most=1024, fresh=True) for _i in range(100)]
    bounds = np.array([one.at_least() for one in found])
    assert (bounds > 1000).sum() <= 19
    assert (bounds < 1000 - found[0].short(most)).sum() <= 19
