"""One row that becomes several: what it becomes, what it is charged for, and how far neighbors are apart."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ibis
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.errors import InvalidParameter, InvalidQuery
from discreet.query.table import PrivateTable
from discreet.testing.neighbors import l1_distances
from neighbor_bench import Bench, plan_of

ROWS = pa.table(
    {
        "who": pa.array([1, 1, 2, 3, None], pa.int64()),
        "a": pa.array([1, 2, 3, None, 5], pa.int64()),
        "b": pa.array([10.5, 20.0, None, 40.0, 50.0]),
        "t": ["x,y,z", "", None, "x,x", "y"],
        "c": ["p", "q", "p", None, "q"],
    }
)
Expand = Callable[[PrivateTable], PrivateTable]


def protected(**stated: Any) -> PrivateTable:
    facts: dict[str, Any] = {"unit": "who", "max_rows": 9, "max_groups": 9, "budget": dp.Budget(epsilon=100)} | stated
    if facts["unit"] is dp.ROW:
        facts |= {"max_rows": None, "max_groups": None}
    return dp.protect(ROWS, bounds={"a": (0, 9), "b": (0, 50)}, keys={"c": ["p", "q"]}, name="rows", **facts)


def counted(exact: Any, table: PrivateTable, column: str, keys: list[Any]) -> dict[Any, int]:
    found = exact(table.group_by(column, keys={column: keys}).agg(n=_.count()))
    return dict(zip(keys, found["n"], strict=True))


def test_listed_values(exact: Any) -> None:
    table = protected()
    for written in ([_.a, _.b, 7], ibis.array([_.a, _.b, 7]), ("a", "b", 7), lambda t: ibis.array([t.a, t.b, 7])):
        made = table.unnest(v=written)
        assert made.columns == ("who", "a", "b", "t", "c", "v")
        assert exact(made.agg(n=_.count(), v=_.v.count(), s=_.v.sum())) == {"n": [12], "v": [10], "s": [104.5]}
    value = table.unnest(v=[_.a, _.b, 7])._columns["v"]
    assert value.interval is not None
    assert (float(value.interval.low), float(value.interval.high), value.unbounded) == (0, 50, False)
    assert exact(table.unnest(a=[_.a, _.a + 1]).agg(s=_.a.sum())) == {"s": [15]}
    assert exact(table.unnest(a=[_.a]).agg(n=_.count(), s=_.a.sum())) == {"n": [4], "s": [6]}


def test_lists_stand_side_by_side(exact: Any) -> None:
    made = protected().unnest(which=[ibis.literal("first"), ibis.literal("second")], v=[_.a, _.b])
    assert made._keys["which"] == ("first", "second")
    assert exact(made.group_by("which").agg(n=_.v.count(), s=_.v.sum())) == {
        "which": ["first", "second"],
        "n": [3, 3],
        "s": [6.0, 70.5],
    }


def test_keys_of_listed_values() -> None:
    table = protected()
    assert table.unnest(v=[_.c, ibis.literal("r"), ibis.null()])._keys["v"] == ("p", "q", "r")
    assert table.unnest(v=[_.a > 1, _.a > 2])._columns["v"].kind.value == "boolean"
    assert "v" not in table.unnest(v=[_.c, _.t])._keys
    assert "v" not in table.unnest(v=[_.a, 7])._keys
    assert table.unnest(v=[_.a % 2, 7])._keys["v"] == (0, 1, 7)
    assert "c" not in table.unnest(c=[_.c, _.t])._keys
    assert table.unnest(v=[_.a])._keys["c"] == ("p", "q")


def test_columns_as_rows(exact: Any) -> None:
    table = protected()
    long = table.pivot_longer(["a", "b"], names_to="what", values_to="amount")
    assert long.columns == ("who", "t", "c", "what", "amount")
    found = exact(long.group_by("what").agg(n=_.count(), s=_.amount.sum()))
    assert found == {"what": ["a", "b"], "n": [4, 4], "s": [6.0, 70.5]}
    assert table.pivot_longer(_.a, values_to="x").columns == ("who", "b", "t", "c", "name", "x")


def test_no_more_parts_than_stated(exact: Any) -> None:
    """Unit 1 has "x,y,z" and "", 3 has "x,x": NULL has no part, and the empty text has one."""
    table = protected()
    assert counted(exact, table.unnest(w=_.t.split(","), max_items=9), "w", ["x", "y", "z", ""]) == {
        "x": 3, "y": 1, "z": 1, "": 1,
    }  # fmt: skip
    assert counted(exact, table.unnest(w=_.t.split(","), max_items=2), "w", ["x", "y", "z", ""]) == {
        "x": 3, "y": 1, "z": 0, "": 1,
    }  # fmt: skip
    assert counted(exact, table.unnest(t=_.t.upper().split(","), max_items=1), "t", ["X", "Y", ""]) == {
        "X": 2, "Y": 0, "": 1,
    }  # fmt: skip
    value = table.unnest(w=_.t.split(","), max_items=1)._columns["w"]
    assert (value.nullable, value.kind.value) == (False, "text")


def test_a_row_that_becomes_several_is_charged_for_all() -> None:
    table = protected(unit=dp.ROW)
    three = table.unnest(v=[_.a, _.b, 7])
    six = three.unnest(w=[_.v, _.a])
    split = table.unnest(w=_.t.split(","), max_items=4)
    both = three.union(table.mutate(v=1.0))
    for made, rows in ((three, 3), (six, 6), (split, 4), (three.union(three), 6), (both, 4)):
        facts = made.agg(n=_.count()).explain(epsilon=1)
        assert facts["totals"][0]["sensitivity"] == rows
        assert facts["limits"] == {"rows that one unit has": rows}
    public = {"neighbors": "replace-one", "rows": 5}
    sized = protected(unit=dp.ROW, **public).unnest(v=[_.a, _.b])
    assert sized.agg(n=_.count()).explain(epsilon=1)["totals"][0]["sensitivity"] == 2


@pytest.mark.parametrize("first", [0, 1])
def test_a_table_of_public_size_is_one_source_before_and_after(first: int) -> None:
    """The ledger took it for one of another size, and refused what was asked next."""
    table = protected(unit=dp.ROW, neighbors="replace-one", rows=5)
    asked = [table.agg(s=_.a.sum()), table.unnest(v=[_.a, _.b]).agg(s=_.v.sum())]
    for question in (asked[first], asked[1 - first]):
        question.release(epsilon=0.25)
    assert table.budget.spent.epsilon == Fraction(1, 2)


def test_limits_hold_afterwards_or_are_raised(exact: Any) -> None:
    table = protected(max_rows=1)
    assert exact(table.unnest(v=[_.a, _.b]).agg(n=_.count())) == {"n": [3]}
    raised = table.unnest(v=[_.a, _.b], raise_limits=True)
    assert raised.declaration.max_rows == 2
    assert exact(raised.agg(n=_.count())) == {"n": [6]}
    assert raised.agg(n=_.count()).explain(epsilon=1)["totals"][0]["sensitivity"] == 2
    assert exact(table.unnest(w=_.t.split(","), max_items=3, raise_limits=True).agg(n=_.count())) == {"n": [5]}
    assert table.pivot_longer(["a"], raise_limits=True).declaration.max_rows == 1
    assert protected(max_rows="auto").unnest(v=[_.a, _.b], raise_limits=True).declaration.max_rows == 1
    features = protected(max_rows=None, max_groups=None).per_unit(a=_.a.max(), b=_.a.min())
    assert features.unnest(v=[_.a, _.b])._most_rows == 2
    assert exact(features.unnest(v=[_.a, _.b]).agg(n=_.count())) == {"n": [6]}


EXPANSIONS: dict[str, tuple[Expand, int]] = {
    "lists": (lambda t: t.unnest(v=[t.a, t.b, 7]), 3),
    "a text": (lambda t: t.unnest(v=t.t.split(","), max_items=2).mutate(v=_.v.length()), 2),
    "columns": (lambda t: t.drop("t").pivot_longer(["a", "b"], values_to="v"), 2),
    "twice": (lambda t: t.unnest(v=[t.a, t.b]).unnest(v=[_.v, _.v + 1]), 4),
}
DOMAIN = ((1, 9, 50.0, "x,y,z", "p"), (2, 0, 0.0, "a,", "q"), (1, None, 3.0, None, "p"), (None, 4, 5.0, "y,y", "p"))
"""Rows of two units and of none, at the ends of the bounds."""


def table_of(rows: Any) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else [()] * 5
    return pa.table({n: pa.array(list(c), k) for (n, k), c in zip(
        (("who", pa.int64()), ("a", pa.int64()), ("b", pa.float64()), ("t", pa.string()), ("c", pa.string())),
        columns, strict=True,
    )})  # fmt: skip


def worlds(unit: Any, *, replaced: bool) -> list[tuple[pa.Table, pa.Table]]:
    """All pairs of neighbors among the tables of up to two rows: with rows as units, and of persons."""
    tables = [rows for n in range(3) for rows in itertools.combinations_with_replacement(DOMAIN, n)]
    pairs = []
    for first, second in itertools.product(tables, repeat=2):
        if unit is dp.ROW:
            gone = sum(max(0, first.count(r) - second.count(r)) for r in DOMAIN)
            come = sum(max(0, second.count(r) - first.count(r)) for r in DOMAIN)
            near = (gone, come) == (1, 1) if replaced else (gone, come) == (1, 0)
        else:
            whose = [
                {one: sorted(repr(row) for row in rows if row[0] == one) for one in {row[0] for row in rows} - {None}}
                for rows in (first, second)
            ]
            differ = {n for n in {**whose[0], **whose[1]} if whose[0].get(n) != whose[1].get(n)}
            near = len(differ) <= (2 if replaced else 1) and (
                len(whose[0]) == len(whose[1]) if replaced else len(differ) == abs(len(whose[0]) - len(whose[1])) == 1
            )
        if near:
            pairs.append((table_of(first), table_of(second)))
    return pairs


@pytest.mark.long
@pytest.mark.parametrize("name", EXPANSIONS)
@pytest.mark.parametrize("unit", [dp.ROW, "who"], ids=["rows", "persons"])
@pytest.mark.parametrize("replaced", [False, True])
def test_neighbors_are_no_further_apart_than_claimed(name: str, unit: Any, *, replaced: bool) -> None:
    """Every pair of neighbors of up to two rows, to the last integer; and one of them is as far apart as may be."""
    expand, copies = EXPANSIONS[name]
    bench = Bench()
    facts: dict[str, Any] = {"unit": unit, "bounds": {"a": (0, 9), "b": (0, 50)}, "keys": {"c": ["p", "q"]}}
    if unit != dp.ROW:
        facts |= {"max_rows": 2 * copies, "max_groups": 1}
    if replaced:
        facts |= {"neighbors": "replace-one", "rows" if unit is dp.ROW else "units": 2}
    table = bench.protect(table_of(DOMAIN), **facts)
    made = expand(table)
    plan = plan_of(made.group_by("c").agg(n=_.count(), s=_.v.sum()), epsilon=1)
    reached = 0.0
    for first, second in worlds(unit, replaced=replaced):
        apart = l1_distances(bench.totals(plan, first), bench.totals(plan, second))
        for distance, block in zip(apart, plan.blocks, strict=True):
            assert distance <= block.sensitivity
            reached = max(reached, float(distance / block.sensitivity))
    assert reached >= (0.5 if replaced and unit != dp.ROW else 1) * 0.99


REFUSED: dict[str, tuple[Expand, type[Exception], str]] = {
    "no list": (lambda t: t.unnest(), InvalidQuery, "a name for each list"),
    "no name": (lambda t: t.unnest([t.a]), InvalidQuery, "a name for each list"),  # type: ignore[arg-type]  # the refusal is the test
    "an empty list": (lambda t: t.unnest(v=[]), InvalidQuery, "a list of 1 to 1,000"),
    "a long list": (lambda t: t.unnest(v=[t.a] * 1001), InvalidQuery, "a list of 1 to 1,000"),
    "a column": (lambda t: t.unnest(v=t.a), InvalidQuery, "a list of expressions"),
    "an expression": (lambda t: t.unnest(v=t.a + 1), InvalidQuery, "got v=a . 1"),
    "kinds": (lambda t: t.unnest(v=[t.a, t.t]), InvalidQuery, "precedence"),
    "lengths": (lambda t: t.unnest(v=[t.a], w=[t.a, t.b]), InvalidQuery, "lists of one length"),
    "an aggregate": (lambda t: t.unnest(v=[t.a.sum()]), InvalidQuery, "one row at a time"),
    "the unit": (lambda t: t.unnest(who=[t.a]), InvalidQuery, "other than the privacy unit"),
    "no number": (lambda t: t.unnest(v=t.t.split(",")), InvalidQuery, "max_items beside a split text"),
    "nothing": (lambda t: t.unnest(v=t.t.split(","), max_items=0), InvalidParameter, "1 or more"),
    "too many": (lambda t: t.unnest(v=t.t.split(","), max_items=1001), InvalidParameter, "at most 1,000"),
    "two splits": (lambda t: t.unnest(v=t.t.split(","), w=[t.a], max_items=2), InvalidQuery, "by itself"),
    "a number for a list": (lambda t: t.unnest(v=[t.a], max_items=2), InvalidParameter, "no max_items"),
    "split numbers": (lambda t: t.unnest(v=t.a.cast("string").split(t.t), max_items=2), InvalidQuery, "constant"),
    "in mutate": (lambda t: t.mutate(v=ibis.array([t.a, t.b]).unnest()), InvalidQuery, r"\.unnest\("),
    "a split in mutate": (lambda t: t.mutate(v=t.t.split(",")), InvalidQuery, r"\.unnest\("),
    "no columns": (lambda t: t.pivot_longer([]), InvalidQuery, "distinct columns"),
    "twice": (lambda t: t.pivot_longer(["a", "a"]), InvalidQuery, "distinct columns"),
    "one name": (lambda t: t.pivot_longer(["a"], names_to="v", values_to="v"), InvalidQuery, "two names"),
    "no text": (lambda t: t.pivot_longer(["a"], names_to=3), InvalidQuery, "two names"),  # type: ignore[arg-type]  # as above
    "an old name": (lambda t: t.pivot_longer(["a"], values_to="a"), InvalidQuery, "none of the old ones"),
    "limits of another kind": (lambda t: t.unnest(v=[t.a], raise_limits=2), InvalidParameter, "raise_limits"),  # type: ignore[arg-type]  # as above
}


@pytest.mark.long
@pytest.mark.parametrize("what", REFUSED)
def test_refusals(what: str) -> None:
    ask, kind, said = REFUSED[what]
    with pytest.raises(kind, match=said):
        ask(protected())


def test_refusals_where_rows_are_units() -> None:
    table = protected(unit=dp.ROW)
    with pytest.raises(InvalidParameter, match="no raise_limits"):
        table.unnest(v=[_.a], raise_limits=True)
    many = table
    for _i in range(4):
        many = many.unnest(w=_.t.split(","), max_items=1000)
    with pytest.raises(InvalidParameter, match="no table has so many rows"):
        many.unnest(w=_.t.split(","), max_items=1000)


@pytest.mark.long
@pytest.mark.parametrize("after", ["union", "intersect", "difference"])
@pytest.mark.parametrize("before", ["union", "intersect", "difference"])
def test_between_two_set_operations(before: str, after: str) -> None:
    """A column that is replaced stays in its place: moved to the end, such a question could not be compiled."""
    rows = pa.table({"p": [1, 1, 2], "i": [1, 2, 3], "s": ["a", "b", "a"]})
    facts: dict[str, Any] = {"unit": "p", "max_rows": 5, "bounds": {"i": (0, 9)}, "budget": dp.Budget(epsilon=10**7)}
    one, two = dp.protect(rows, name="one", **facts), dp.protect(rows.slice(1), name="two", **facts)
    several = getattr(one, before)(two).unnest(i=[_.i, _.i + 1])
    assert several.columns == ("p", "i", "s")
    assert getattr(several, after)(two).agg(n=lambda t: t.count()).explain(epsilon=1).facts["columns"]
