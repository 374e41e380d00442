"""Joins on any key: how many rows one unit changes, by enumeration, and what can be asked of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import combinations_with_replacement, product
from typing import Any

import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.errors import InvalidParameter, InvalidQuery
from discreet.planning.planner import price
from discreet.query.join_truncation import Side, rows_changed
from discreet.query.table import PrivateTable

UNITS, KEYS, ROWS = 3, 2, 3
WORLDS = list(product(combinations_with_replacement(product(range(UNITS), range(KEYS)), ROWS), repeat=2))
"""Every pair of tables of three rows, each of one of three units and with one of two keys."""


def worlds(side: int, without: int | None = None) -> pa.Table:
    """One side of all pairs in one table, where no two pairs share a unit or a key; or without one unit of each."""
    rows = [
        (world * UNITS + who, world * KEYS + key, place)
        for world, pair in enumerate(WORLDS)
        for place, (who, key) in enumerate(pair[side])
        if who != without
    ]
    who, keys, places = zip(*rows, strict=True)
    return pa.table({"who": who, "k": keys, "vw"[side]: places})


def rows_of(one: Side, other: Side, without: int | None = None) -> Counter[tuple[int, ...]]:
    """The rows of the join of every pair."""
    budget = dp.Budget(epsilon=1)
    first, second = (
        dp.protect(worlds(i, without), unit="who", max_rows=side.rows, budget=budget, name="vw"[i])
        for i, side in enumerate((one, other))
    )
    joined = first.join(second, "k", max_matches=tuple("unique" if s.unique else s.matches for s in (one, other)))
    source: Any = joined._source
    assert source.declaration.rows_changed == rows_changed(one, other)
    found = source._engine.run_statement(source.declaration, source._engine.compiled(joined._relation))
    return Counter(zip(*(found[name].to_pylist() for name in ("k", "v", "w")), strict=True))


@pytest.mark.long
@pytest.mark.parametrize(
    ("one", "other", "reached"),
    [
        (Side(rows=1, matches=1), Side(rows=1, matches=1), 4),
        (Side(rows=2, matches=1), Side(rows=1, matches=2), 5),
        (Side(rows=3, matches=3), Side(rows=1, matches=1), 6),
        (Side(rows=1, matches=1, unique=True), Side(rows=1, matches=1, unique=True), 2),
        (Side(rows=2, matches=1, unique=True), Side(rows=1, matches=3), 3),
        (Side(rows=2, matches=2), Side(rows=3, matches=1, unique=True), 3),
    ],
)
def test_one_unit_changes_no_more_rows_than_is_claimed(one: Side, other: Side, reached: int) -> None:
    """Of all 3,136 pairs of tables and each unit, on the engine itself."""
    whole, most = rows_of(one, other), 0
    assert whole
    for unit in range(UNITS):
        left = rows_of(one, other, unit)
        changed: Counter[int] = Counter()
        for row in whole.keys() | left.keys():
            changed[row[0] // KEYS] += abs(whole[row] - left[row])
        most = max(most, *changed.values())
    assert most <= rows_changed(one, other)
    assert most == reached


def test_of_a_key_that_several_rows_have_none_is_kept(exact: Any) -> None:
    """Key a has three rows in one table and two in the other, b one in each; equal rows are several."""
    for matches in ("unique", ("unique", 3), (3, "unique")):
        assert exact(_joined(matches).agg(n=_.count(), s=_.w.sum())) == {"n": [1], "s": [30]}
    rows = pa.table({"who": [1, 2, 3], "k": ["a", "a", "b"]})
    table = dp.protect(rows, unit=dp.ROW, budget=dp.Budget(epsilon=1), name="keys")
    same = table.select("k").mutate(m=_.k).join(table.select("k"), "k", max_matches="unique")
    assert exact(same.agg(n=_.count())) == {"n": [1]}
    assert same.agg(n=_.count()).explain(epsilon=1)["limits"] == {"rows that one unit changes": 2}


def test_unique_keys_have_a_document() -> None:
    first, second = two()
    for matches in ("unique", ("unique", 2), 3):
        asked = first.join(second, "k", max_matches=matches).agg(n=_.count())
        again = dp.question(asked.document(), {"v": first, "w": second})
        assert again.document() == asked.document()
        assert again.explain(epsilon=1)["limits"] == asked.explain(epsilon=1)["limits"]
    wrong = asked.document()
    wrong["question"]["from"]["steps"][-1]["join"]["max_matches"] = "some"
    with pytest.raises(InvalidQuery, match="a whole number of 1 or more, or 'unique'"):
        dp.question(wrong, {"v": first, "w": second})


def test_what_is_kept_does_not_depend_on_the_order_of_rows() -> None:
    table = pa.table({"who": [1, 1, 1, 2, 2, 3], "k": [1, 1, 2, 1, 2, None], "v": [1, 2, 3, 4, 5, 6]})
    found = []
    for rows in (table, table.take([5, 3, 1, 4, 2, 0])):
        people = dp.protect(rows, unit="who", max_rows=2, budget=dp.Budget(epsilon=1), bounds={"v": (0, 9)})
        joined: Any = people.join(people.rename(w="v"), "k", max_matches=2)
        source = joined._source
        answer = source._engine.run_statement(source.declaration, source._engine.compiled(joined._relation))
        found.append(sorted(answer.to_pandas().itertuples(index=False, name=None)))
    assert found[0] == found[1] != []


def two(**stated: Any) -> tuple[PrivateTable, PrivateTable]:
    budget = dp.Budget(epsilon=100, delta=1e-6)
    facts: dict[str, Any] = {"unit": "who", "max_rows": 2, "budget": budget, **stated}
    rows = pa.table({"who": [1, 1, 2, 3, None], "k": ["a", "b", "a", "a", "a"], "v": [1, 2, 3, 4, 5]})
    others = pa.table({"who": [2, 3, 4], "k": ["a", "a", "b"], "w": [10, 20, 30]})
    bounds = {"v": (0, 9)}, {"w": (0, 99)}
    return tuple(dp.protect(t, bounds=b, name=n, **facts) for t, b, n in zip((rows, others), bounds, "vw", strict=True))  # type: ignore[return-value]  # two of them


def test_all_rows_meet_where_none_is_too_many(exact: Any) -> None:
    joined = _joined(9)
    assert joined.columns == ("k", "v", "w")
    assert exact(joined.agg(n=_.count(), s=_.w.sum())) == {"n": [7], "s": [120]}
    by = joined.group_by("k", keys={"k": ["b", "a"]}).agg(n=_.count())
    assert exact(by)["n"] == [1, 6]
    public = dp.public(pa.table({"k": ["a"], "z": [1]}))
    assert exact(joined.join(public, "k").agg(n=_.count())) == {"n": [6]}


def _joined(matches: Any, **stated: Any) -> PrivateTable:
    first, second = two(**stated)
    return first.join(second, "k", max_matches=matches)


def test_totals_are_charged_for_every_row() -> None:
    asked = _joined((3, 2)).group_by("k", keys={"k": ["a", "b"]}).agg(n=_.count(), w=_.w.mean())
    for delta in (0, 1e-9):
        for block in price(asked._query, epsilon=1, delta=delta).blocks:
            assert block.sensitivity >= 2 * (2 * 2 + 2 * 3) * block.steps
    facts = asked.explain(epsilon=1)
    assert facts["limits"] == {"rows that one unit changes": 20}
    assert facts["unit"] == ["who"]
    assert "protecting who" in repr(_joined(1))
    entry = asked.release(epsilon=1).receipt["question"]
    assert "__discreet" not in entry


def test_noise_of_one_total_is_not_given_to_several() -> None:
    """Rows in several groups move all of them: a staircase, which is private for one total alone, is not taken."""
    rows = two(unit=dp.ROW, max_rows=None)[0]
    for table, taken in ((rows, "Staircase"), (_joined(1), "Laplace")):
        asked = table.group_by("k", keys={"k": ["a", "b"]}).agg(s=_.v.sum())
        assert {type(block.noise).__name__ for block in price(asked._query, epsilon=20).blocks} == {taken}


REFUSED: dict[str, tuple[Callable[[PrivateTable], Any], str]] = {
    "quantiles": (lambda t: t.agg(m=_.v.median()), "rows belong to one unit"),
    "unknown keys": (lambda t: t.group_by("k", keys=dp.UNKNOWN).agg(n=_.count()), "rows belong to one unit"),
    "values that occur": (lambda t: t.mutate(b=_.v > 2).agg(n=_.b.nunique()), "rows belong to one unit"),
    "the most common": (lambda t: t.top("k", epsilon=1, keys=["a"]), "rows belong to one unit"),
    "a choice": (lambda t: t.choose([1, 2], score=lambda c: t.v == c, epsilon=1), "rows belong to one unit"),
    "distinct values": (lambda t: t.count_distinct("k", epsilon=1), "rows belong to one unit"),
    "a truncated total": (lambda t: t.truncated_total("v", epsilon=1), "rows belong to one unit"),
    "units": (lambda t: t.nunique(), "a unit of columns"),
    "features": (lambda t: t.per_unit(n=_.count()), "a unit of columns"),
    "distinct": (lambda t: t.distinct(), "rows belong to one unit"),
    "limits": (lambda t: t.group_by("k", keys={"k": ["a"]}, max_groups=1), "no max_groups"),
    "parts": (lambda t: t.partition("k", keys=["a"]), "rows belong to one unit"),
    "clusters": (lambda t: t.kmeans(["v"], n_clusters=1, epsilon=1), "rows belong to one unit"),
    "itself": (lambda t: t.union(t), "rows belong to one unit"),
    "another": (lambda t: t.select("k").join(two()[0], "k", max_matches=1), "."),
    "reports": (lambda t: t.agg(v=_.v.sum()).release(epsilon=1, report="clipped"), "rows belong to one unit"),
    "duplicates": (lambda t: t.join(dp.public(pa.table({"k": ["a", "a"]})), "k", max_matches=2), "without duplicates"),
}


@pytest.mark.long
@pytest.mark.parametrize("what", REFUSED)
def test_what_needs_units_is_refused(what: str) -> None:
    ask, said = REFUSED[what]
    with pytest.raises((InvalidQuery, InvalidParameter), match=said):
        ask(_joined(2))


def test_limits_have_to_be_stated() -> None:
    for stated, said in (
        ({"max_rows": None}, "max_rows of both tables"),
        ({"max_rows": "auto"}, "max_rows of both tables"),
        ({"neighbors": "replace-one", "units": 5}, "add-remove neighbors"),
    ):
        with pytest.raises(InvalidQuery, match=said):
            _joined(1, **stated)
    first, second = two()
    with pytest.raises(InvalidQuery, match="an inner join"):
        first.join(second, "k", how="left", max_matches=1)
    with pytest.raises(InvalidQuery, match=r"(?s)a join on the privacy unit.*needs max_matches"):
        first.join(second, "k")
    for wrong in (0, (1, 2, 3), (1, 0), "2", True, "Unique", ("unique", 0), ["unique", 1]):
        with pytest.raises(InvalidParameter, match="max_matches"):
            first.join(second, "k", max_matches=wrong)
    assert first.per_unit(k=_.k.min()).join(second, "k", max_matches=1)._source.declaration.rows_changed == 2 * (1 + 2)
