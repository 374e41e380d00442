"""The neighbors that are tried differ from the table by one unit, and include the worst that is known."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import discreet as dp
from discreet.audit import neighbors

TABLE = pa.table(
    {
        "person": [1, 1, 2, 3, 3, 3],
        "plan": ["a", "b", "a", "c", "a", "a"],
        "age": pa.array([1, 2, 3, 4, 5, 6], pa.int32()),
        "cost": [1.0, -5.0, 2.5, None, 100.0, 3.0],
        "paid": [True, False, True, True, False, None],
    }
)


def units(data: pa.Table) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for row in data.to_pylist():
        found.setdefault(row["person"], []).append(str(row))
    return {unit: sorted(rows) for unit, rows in found.items()}


def differing(first: pa.Table, second: pa.Table) -> set[int]:
    one, two = units(first), units(second)
    return {unit for unit in one | two if one.get(unit) != two.get(unit)}


def test_one_unit_comes_or_goes() -> None:
    for neighbor in neighbors(TABLE, ["person"]):
        assert len(differing(TABLE, neighbor.data)) == 1, neighbor.words
        assert neighbor.data.schema == TABLE.schema
        assert len(units(neighbor.data)) != len(units(TABLE))


def test_one_row_comes_or_goes() -> None:
    for neighbor in neighbors(TABLE):
        assert abs(neighbor.data.num_rows - TABLE.num_rows) == 1, neighbor.words


def test_one_unit_is_replaced() -> None:
    found = neighbors(TABLE, ["person"], kind="replace-one")
    assert found
    for neighbor in found:
        assert len(units(neighbor.data)) == len(units(TABLE))
        assert len(differing(TABLE, neighbor.data)) == 2
    assert all(one.data.num_rows == TABLE.num_rows for one in neighbors(TABLE, kind="replace-one"))


def test_the_known_attacks_are_among_them() -> None:
    words = " / ".join(one.words for one in neighbors(TABLE, ["person"]))
    for part in ("most rows", "rarest plan", "cost is NaN", "cost is infinite",
                 "cost is NULL", "plan is NULL", "nobody else has", "of 200 rows", "every plan",
                 "age is huge"):  # fmt: skip
        assert part in words


def test_no_two_are_the_same() -> None:
    found = neighbors(TABLE, ["person"])
    assert not any(one.data.equals(other.data) for i, one in enumerate(found) for other in found[:i])


@pytest.mark.parametrize("kind", [pa.string(), pa.float64(), pa.int8()], ids=str)
def test_new_units_are_new(kind: pa.DataType) -> None:
    table = TABLE.set_column(0, "person", pc.cast(TABLE["person"], kind))
    for neighbor in neighbors(table, ["person"]):
        assert len(differing(table, neighbor.data)) == 1


def test_an_empty_table_has_neighbors() -> None:
    found = neighbors(TABLE.slice(0, 0), ["person"])
    assert found
    assert all(one.data.num_rows for one in found)


def test_refusals() -> None:
    with pytest.raises(dp.InvalidParameter, match="did you mean 'person'"):
        neighbors(TABLE, ["persona"])
    with pytest.raises(dp.InvalidParameter, match="add-remove"):
        neighbors(TABLE, ["person"], kind="add-remov")
