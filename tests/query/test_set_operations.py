"""Union, intersection and difference: by unit, bounded afterwards, and of tables that belong together."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ibis import _

import discreet as dp
from discreet.errors import InvalidQuery
from discreet.query.table import PrivateTable

FIRST = pa.table({"who": pa.array([1, 1, 2, 3, None], pa.int64()), "v": pa.array([1, 1, 5, None, 7], pa.int64())})
SECOND = pa.table({"who": pa.array([1, 2, 4, None], pa.int32()), "v": pa.array([5, 1, None, 7], pa.int64())})

Two = tuple[PrivateTable, PrivateTable]


def two(first: pa.Table = FIRST, second: pa.Table = SECOND, **stated: Any) -> Two:
    facts: dict[str, Any] = {"unit": "who", "max_rows": 9, "budget": dp.Budget(epsilon=100)} | stated
    bounds = {"v": (0, 9)}
    return dp.protect(first, bounds=bounds, name="A", **facts), dp.protect(second, bounds=bounds, name="B", **facts)


def test_a_union_counts_what_is_in_both_twice(exact: Any) -> None:
    a, b = two()
    asked = {"n": _.count(), "s": _.v.sum(), "u": _.who.nunique()}
    assert exact(a.union(b).agg(**asked)) == {"n": [7], "s": [13], "u": [4]}
    assert exact(a.union(a).agg(**asked)) == {"n": [8], "s": [14], "u": [3]}
    assert exact(a.union(b).union(a).agg(**asked)) == {"n": [11], "s": [20], "u": [4]}
    limited, other = two(max_rows=2)
    assert exact(limited.union(limited).agg(n=_.count())) == {"n": [6]}
    assert exact(limited.union(other).agg(n=_.count())) == {"n": [6]}


def test_what_was_combined_is_selected_and_combined_again(exact: Any) -> None:
    """Ibis does not lower a selection of a selection of a difference."""
    data = pa.table({"who": [1, 2, 3], "v": [1, 5, 7], "w": [1, 2, 3]})
    a, b = two(data, data.slice(1))
    others = a.difference(b).select("w", "v", "who")
    assert exact(a.select("w", "v", "who").intersect(others).agg(n=_.count())) == {"n": [1]}
    assert exact(a.select("w", "v", "who").union(others).agg(n=_.count())) == {"n": [4]}


def test_limits_of_both_add_up(exact: Any) -> None:
    """Unit 1 has two rows in each table, which the limit of one table would weight down to two of four."""
    first, second = two(FIRST, FIRST, max_rows=2, max_groups=1)
    keys = {"v": [1, 5, 7, None]}
    weighted, whole = first.union(second), first.union(second, raise_limits=True)
    assert (whole.declaration.max_rows, whole.declaration.max_groups) == (4, 2)
    assert exact(weighted.agg(n=_.count())) == {"n": [6]}
    assert exact(whole.agg(n=_.count())) == {"n": [8]}
    assert exact(whole.group_by("v", keys=keys).agg(n=_.count()))["n"] == [4, 2, 0, 2]
    three = whole.union(first, raise_limits=True)
    for made, most in ((weighted, 2), (whole, 4), (three, 6)):
        assert made.count().explain(epsilon=1)["totals"][0]["sensitivity"] == most
    one, other = two(max_rows="auto", max_groups=3)
    assert one.union(other, raise_limits=True).declaration.max_rows == 1
    assert one.union(other, raise_limits=True).declaration.max_groups == 6
    free, bound = two(max_rows=None)
    assert free.union(bound, raise_limits=True).declaration.max_rows is None


def test_a_row_of_one_unit_hides_no_other(exact: Any) -> None:
    """Unit 2 has a 5 in the first table, unit 1 in the second: their rows are not the same."""
    a, b = (table.select("v") for table in two())
    assert exact(a.intersect(b).agg(n=_.count())) == {"n": [0]}
    assert exact(a.difference(b).agg(n=_.count())) == {"n": [3]}
    assert exact(a.union(b).intersect(b).agg(n=_.count())) == {"n": [3]}


def test_one_charge_names_both(refused: Any) -> None:
    a, b = two()
    asked = a.union(b).agg(n=_.count())
    assert asked.explain(epsilon=1)["source"] == "A, B"
    assert "__discreet_scan_1" in asked.explain(epsilon=1)["sql"]
    asked.release(epsilon=1)
    [entry] = a.budget.entries()
    assert (entry.source, a.budget.spent.epsilon) == ("A, B", Fraction(1))
    asked.release(epsilon=1)
    assert a.budget.spent.epsilon == 1
    other = dp.protect(SECOND, unit="who", max_rows=9, bounds={"v": (0, 8)}, budget=a.budget, name="B")
    a.union(other).agg(n=_.count()).release(epsilon=1)
    assert a.budget.spent.epsilon == 2
    stranger = dp.protect(FIRST, unit="who", budget=dp.Budget(epsilon=1))
    assert "under the same budget" in refused(InvalidQuery, a.union, stranger)


def test_what_is_known_of_both(protect_people: Callable[..., PrivateTable], refused: Any) -> None:
    table = protect_people()
    both = table.union(table.mutate(age=_.age + 5))
    interval = both._columns["age"].interval
    assert interval is not None
    assert (float(interval.low), float(interval.high)) == (0.0, 115.0)
    assert both._keys == {"plan": ("a", "b")}
    assert "Expected bounds" in refused(InvalidQuery, table.union(table).agg, x=_.size.sum())
    rewritten = table.mutate(plan=_.plan.upper())
    assert "plan" not in table.union(rewritten)._keys
    features = table.per_unit(n=_.count())
    assert features.union(features)._most_rows == 2
    assert features.union(table.select("person").mutate(n=1).select("person", "n"))._most_rows is None


def test_rows_as_units(by_row: Callable[..., PrivateTable], exact: Any, refused: Any) -> None:
    table = by_row()
    assert "no limits to raise" in refused(InvalidQuery, table.union, table, raise_limits=True)
    first, second = two(unit=dp.ROW, max_rows=None)
    assert exact(first.union(second).agg(n=_.count())) == {"n": [9]}
    assert exact(first.union(second).union(second).agg(n=_.count())) == {"n": [13]}
    assert exact(first.distinct().agg(n=_.count())) == {"n": [4]}
    assert exact(first.intersect(second).agg(n=_.count())) == {"n": [1]}
    assert exact(first.difference(second).agg(n=_.count())) == {"n": [3]}
    sized: dict[str, Any] = {"unit": dp.ROW, "neighbors": "replace-one", "budget": dp.Budget(epsilon=1)}
    five, four = dp.protect(FIRST, rows=5, **sized), dp.protect(SECOND, rows=4, **sized)
    assert exact(five.union(four).agg(n=_.count())) == {"n": [9]}  # a count with noise: no size is public any more
    assert exact(five.distinct().agg(n=_.count())) == {"n": [4]}
    assert exact(five.intersect(five).agg(n=_.count())) == {"n": [4]}
    assert "add-remove neighbors" in refused(InvalidQuery, five.difference, four)


TYPES = (
    *("TINYINT", "INTEGER", "BIGINT", "USMALLINT", "UBIGINT", "HUGEINT", "UHUGEINT", "FLOAT", "DOUBLE", "BOOLEAN"),
    *("DECIMAL(4,0)", "DECIMAL(9,1)", "DECIMAL(12,2)", "DECIMAL(18,2)", "DECIMAL(18,3)", "DECIMAL(38,0)", "VARCHAR"),
    *("UUID", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMPTZ"),
    "ENUM('7', '1.5', '2020-01-01', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11')",
)
SPELLED = ("7", "1.5", "0", "2020-01-01", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11")


def of_types() -> dict[str, dict[str, PrivateTable]]:
    """For each way to write somebody, the tables of all types that can hold it, with one row."""
    connection, budget = ibis.duckdb.connect(), dp.Budget(epsilon=1)
    made: dict[str, dict[str, PrivateTable]] = {}
    for i, spelled in enumerate(SPELLED):
        for j, kind in enumerate(TYPES):
            name = f"t{i}_{j}"
            try:
                connection.con.execute(f"CREATE TABLE {name} AS SELECT '{spelled}'::{kind} AS who, 1 AS v")
                table = dp.protect(connection.table(name), unit="who", max_rows=1, max_groups=1, budget=budget)
            except (duckdb.Error, dp.InvalidParameter, dp.InvalidQuery):
                continue
            made.setdefault(spelled, {})[kind] = table.select("v")
    return made


@pytest.mark.long
def test_units_have_one_notation_in_all_tables(exact: Any) -> None:
    """Whatever type somebody's name has in each of two tables: they are one unit there, or the tables do not meet."""
    met = 0
    for tables in of_types().values():
        for one, other in itertools.product(tables.items(), repeat=2):
            try:
                both = one[1].union(other[1])
            except dp.InvalidQuery as refusal:
                assert "units of the same type" in str(refusal)  # noqa: PT017 (most are refused, and some are not)
                assert one[0] != other[0], one[0]
                continue
            met += one[0] != other[0]
            found = {**exact(both.count()), **exact(both.nunique())}
            assert found == {"count": [1], "nunique": [1]}, (one[0], other[0])
    assert met > 10


def test_dates_of_a_union_lie_in_the_bounds_of_both() -> None:
    """A date of the second table once had the ends of the first."""
    made: list[PrivateTable] = []
    for year in (2000, 2020):
        days = [datetime.date(year, 3, 1)] * 500
        bounds = {"day": (datetime.date(year, 1, 1), datetime.date(year, 12, 31))} if year else {}
        budget = made[0].budget if made else dp.Budget(epsilon=10**4)
        facts: dict[str, Any] = {"unit": dp.ROW, "budget": budget, "name": f"of {year}"}
        made.append(dp.protect(pa.table({"day": days}), bounds=bounds, **facts))
    for one, other in (made, made[::-1]):
        answer = one.union(other).agg(low=_.day.min(), high=_.day.max()).release(epsilon=100).to_pyarrow()
        assert [answer[end][0].as_py().year for end in ("low", "high")] == [2000, 2020]
    endless = dp.protect(pa.table({"day": [datetime.date(1950, 1, 1)]}), unit=dp.ROW, budget=made[0].budget)
    for one, other in ((made[0], endless), (endless, made[0])):
        with pytest.raises(dp.InvalidQuery, match="bounds"):
            one.union(other).agg(low=_.day.min())


def test_any_two_tables_may_have_one_person(tmp_path: Path) -> None:
    """Each row of a union is paid for, whatever tells its tables apart: names, paths, connections, versions, copies."""
    facts: dict[str, Any] = {"unit": dp.ROW, "budget": dp.Budget(epsilon=1)}
    old = dp.protect(FIRST, name="visits", version=1, **facts)
    new = old.refreshed(pa.concat_tables([FIRST, FIRST.slice(0, 1)]), version=2)
    other = dp.protect(SECOND, name="others", **facts)
    pq.write_table(FIRST, tmp_path / "first.parquet")
    (tmp_path / "link.parquet").hardlink_to(tmp_path / "first.parquet")
    file, linked = (dp.protect(tmp_path / f"{name}.parquet", **facts) for name in ("first", "link"))
    copied, pattern = dp.protect(FIRST.slice(0), name="copy", **facts), dp.protect(f"{tmp_path}/f*.parquet", **facts)
    backend = ibis.duckdb.connect()
    backend.create_table("first", FIRST)
    backend.raw_sql("CREATE VIEW seen AS SELECT * FROM first")
    stored, seen = (dp.protect(backend.table(name), **facts) for name in ("first", "seen"))
    for one, another in (
        (old, old),
        (old, new),
        (new, old),
        (old.filter(_.v > 1), new),
        (old, copied),
        (old, other.cast({"who": "int64"})),
        (file, linked),
        (file, pattern),
        (stored, seen),
        (stored, dp.protect(backend.table("first"), name="again", **facts)),
    ):
        both = one.union(another)
        assert both.count().explain(epsilon=1)["totals"][0]["sensitivity"] == 2
        three = both.union(one)
        assert three.count().explain(epsilon=1)["totals"][0]["sensitivity"] == 3
        assert three.agg(n=_.count()).explain(epsilon=1)["limits"] == {"rows that one unit has": 3}


def test_numbers_without_sign_stay_such_in_a_union(refused: Any) -> None:
    """Whichever table comes first: from 2**63 on they are read as one value, which would be counted as one."""
    budget, people = dp.Budget(epsilon=1), [1, 2]
    signed, unsigned = (
        dp.protect(pa.table({"who": people, "v": pa.array(values, kind)}), unit="who", budget=budget, name=str(kind))
        for values, kind in (([1, 2], pa.int64()), ([2**63, 2**64 - 1], pa.uint64()))
    )
    for table in (signed.union(unsigned), unsigned.union(signed), signed.union(signed.union(unsigned))):
        assert "told apart" in refused(InvalidQuery, table.agg, n=_.v.nunique())
        assert "told apart" in refused(InvalidQuery, table.count_distinct, "v", epsilon=1)


def test_a_column_without_bounds_can_be_bounded_in_a_union(protect_people: Callable[..., PrivateTable]) -> None:
    table = protect_people()
    both = table.union(table).mutate(few=lambda t: ibis.least(ibis.greatest(t.size, 0), 5))
    few = both._columns["few"].interval
    assert few is not None
    assert [float(end) for end in (few.low, few.high)] == [0, 5]
    assert not both._columns["few"].unbounded


OTHERS: dict[str, tuple[dict[str, Any], str]] = {
    "another unit": ({"unit": "v", "bounds": {}}, "the same unit"),
    "other neighbors": ({"neighbors": "replace-one", "units": 5}, "the same neighbors"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_tables_that_protect_otherwise(refused: Any, what: str) -> None:
    stated, said = OTHERS[what]
    a, _b = two()
    facts: dict[str, Any] = {"unit": "who", "bounds": {"v": (0, 9)}, "max_rows": 9, "budget": a.budget} | stated
    assert said in refused(InvalidQuery, a.union, dp.protect(SECOND, **facts))


def test_other_refusals(refused: Any) -> None:
    a, b = two()
    assert "a protected table" in refused(InvalidQuery, a.union, FIRST)
    assert "the same columns" in refused(InvalidQuery, a.union, b.rename(w="v"))
    assert "the same columns" in refused(InvalidQuery, a.intersect, b.cast({"v": "float64"}))
    text = SECOND.set_column(0, "who", SECOND["who"].cast(pa.string()))
    worded = dp.protect(text, unit="who", budget=a.budget, bounds={"v": (0, 9)}).select("v")
    assert "units of the same type" in refused(InvalidQuery, a.select("v").union, worded)
