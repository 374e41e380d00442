"""`dp.open`: the table that a file states is the one that `dp.protect` makes of the same facts; refusals name lines."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ibis import _

import discreet as dp
from discreet.curator.declaration_file import read_declaration
from discreet.curator.release_key import stated
from discreet.errors import SourceWarning

ROWS = pa.table(
    {
        "patient": [i // 2 for i in range(60)],
        "ward": [("north", "south", None)[i % 3] for i in range(60)],
        "minutes": [float(i) for i in range(60)],
        "day": [datetime.date(2024, 1, 1 + i % 28) for i in range(60)],
        "tags": [["a"] for _i in range(60)],
    }
)
GOOD = """\
[table]
source = "visits.parquet"
unit = "patient"
description = "Visits to three wards, 2024"
version = 2
[table.limits]
max_groups = 1
max_rows = 20
[columns.minutes]
bounds = [0, 240]
description = "length of a visit"
[columns.ward]
keys = ["north", "south", "west"]
null = true
[columns.day]
bounds = [2024-01-01, 2024-12-31]
[budget]
epsilon = 1
ledger = "spent.db"
"""
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes the good declaration, with some of its text replaced, beside its file."""
    folder = tmp_path / "clinic"
    folder.mkdir()
    pq.write_table(ROWS, folder / "visits.parquet")

    def written(*replaced: str, name: str = "visits.toml") -> Path:
        text = GOOD
        for old, new in zip(replaced[::2], replaced[1::2], strict=True):
            assert old in text
            text = text.replace(old, new, 1)
        (folder / name).write_text(text)
        return folder / name

    return written


def refused(path: Any, **given: Any) -> str:
    with pytest.raises(dp.DiscreetError) as refusal:
        dp.open(path, **given)
    text = str(refusal.value)
    assert text.startswith("Expected ")
    assert "\nHint: " in text
    return text


def test_a_file_is_the_table_that_protect_makes(write: Write, tmp_path: Path) -> None:
    path = write()
    opened = dp.open(path)
    assert (path.parent / "spent.db").exists()
    made = dp.protect(
        path.parent / "visits.parquet",
        unit="patient",
        bounds={"minutes": (0, 240), "day": ("2024-01-01", "2024-12-31")},
        keys={"ward": ["north", "south", "west", None]},
        max_groups=1,
        max_rows=20,
        budget=dp.Budget(epsilon=1),
        name="visits",
        version=2,
    )
    assert opened.declaration == made.declaration
    assert stated(opened.declaration, "", {}) == stated(made.declaration, "", {})
    assert opened.declaration.description == "Visits to three wards, 2024"
    assert opened.declaration.descriptions == {"minutes": "length of a visit"}
    by_ward = opened.group_by("ward").agg(n=_.count(), m=_.minutes.mean())
    assert by_ward.release(epsilon=0.5).to_pyarrow()["ward"].to_pylist() == ["north", "south", "west", None]
    assert opened.budget.spent.epsilon == dp.open(path).budget.spent.epsilon == 0.5


def test_a_repeat_is_free_for_whoever_opens_the_file(write: Write) -> None:
    """Descriptions are no part of a release's name."""
    first = dp.open(write()).agg(n=_.count()).release(epsilon=0.5)
    again = dp.open(write("length of a visit", "how long it took")).agg(n=_.count()).release(epsilon=0.5)
    assert first.to_pyarrow() == again.to_pyarrow()
    assert dp.open(write()).budget.spent.epsilon == 0.5


def test_no_row_is_read(write: Write) -> None:
    """Names and types are in the footer: with every row destroyed, the table opens all the same."""
    path = write()
    file = path.parent / "visits.parquet"
    raw = bytearray(file.read_bytes())
    end = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    raw[4:end] = b"\0" * (end - 4)
    file.write_bytes(raw)
    assert dp.open(path).columns == ("patient", "ward", "minutes", "day")


def test_steps_are_kept_beside_the_file(write: Write) -> None:
    """In every version; a folder that is none is refused with its line."""
    path = write("version = 2", 'version = 2\nkeep_steps = "steps"')
    table = dp.open(path)
    for one in (table, table.refreshed(path.parent / "visits.parquet", version=3)):
        source: Any = one._source
        assert source.keep_steps == str(path.parent.resolve() / "steps")
    path = write("version = 2", 'keep_steps = "visits.parquet"')
    assert f" in {path}, line 5." in refused(path)


def test_descriptions_stay_with_a_new_version(write: Write) -> None:
    table = dp.open(write())
    newer = table.refreshed(ROWS, version=3)
    assert newer.declaration.descriptions == {"minutes": "length of a visit"}
    assert newer.declaration.description == "Visits to three wards, 2024"


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("unit =", "unti =", 3, "did you mean 'unit'"),
        ("[columns.minutes]", "[columns.minuts]", 9, "did you mean 'minutes'"),
        ("[columns.minutes]", "[columns.tags]", 9, "Cast it before"),
        ('"patient"', '"pacient"', 3, "did you mean 'patient'"),
        ('"patient"', '["patient", "patient"]', 3, "several columns"),
        ("[0, 240]", "[240, 0]", 10, "low < high"),
        ("[0, 240]", '["a", "b"]', 10, "bounds = [0, 100]"),
        ("[0, 240]", "[0, inf]", 10, "finite"),
        ("[2024-01-01, 2024-12-31]", "[2024-01-01, 10:00:00]", 16, "a date"),
        ("[2024-01-01, 2024-12-31]", "[1, 2]", 16, "a date"),
        ("[2024-01-01, 2024-12-31]", '"auto"', 16, "a pair"),
        ('["north", "south", "west"]', "[1, 2]", 13, "keys"),
        ('["north", "south", "west"]', '["north", "north"]', 13, "keys"),
        ('keys = ["north", "south", "west"]\n', "", 13, "keys beside null"),
        ("max_groups = 1", "max_groups = 0", 7, "1 or more"),
        ("max_rows = 20", "max_rows = 0", 8, "1 or more"),
        ("epsilon = 1", "epsilon = 0", 17, "epsilon"),
        ("epsilon = 1", "epsilon = nan", 18, "a finite number"),
        ("epsilon = 1", 'epsilon = "one"', 18, "an amount"),
        ("epsilon = 1", 'epsilon = "1e99999999"', 18, "an amount of at most 30 digits"),
        ("epsilon = 1", "epsilon = 1e-99999999", 18, "at most 1000 digits"),
        ("bounds = [0, 240]", "bounds = [0, 1e99999999]", 10, "two finite numbers"),
        ("epsilon = 1\n", "", 17, "epsilon or rho"),
        ("epsilon = 1", "epsilon = 1\nrho = 1", 17, "one kind of allowance"),
        ('"visits.parquet"', '"visit.parquet"', 2, "a file that exists"),
        ('"visits.parquet"', '"visits.toml"', 2, ".parquet"),
        ('"visits.parquet"', '"db:visits"', 2, "hand it over"),
        ('source = "visits.parquet"\n', "", 1, "source in [table]"),
        ('unit = "patient"\n', "", 1, "unit in [table]"),
        ("version = 2", 'version = "\\u0007"', 5, "a version"),
        ("version = 2", 'name = ""', 5, "a name"),
        ("version = 2", 'neighbors = "near"', 5, "'add-remove' or 'replace-one'"),
        ("version = 2", "rows = 5", 5, "no public size"),
        ("version = 2", 'neighbors = "replace-one"', 5, "the public number of units"),
        ("bounds = [0, 240]", 'type = "int64"', 10, "no type of a column"),
    ],
)
def test_each_refusal_names_its_line(write: Write, old: str, new: str, line: int, says: str) -> None:
    path = write(old, new)
    text = refused(path)
    assert f" in {path}, line {line}.\nHint: " in text
    assert says in text
    assert not (path.parent / "spent.db").exists()


def test_a_budget_has_to_be_stated(write: Write) -> None:
    text = refused(write('[budget]\nepsilon = 1\nledger = "spent.db"\n', ""))
    assert "[budget] with epsilon or rho" in text


def test_a_ledger_of_another_allowance_is_refused(write: Write) -> None:
    dp.open(write())
    path = write("epsilon = 1", "epsilon = 2")
    assert f"in {path}, line 17." in refused(path)


def test_several_tables_share_a_budget(write: Write) -> None:
    first = dp.open(write())
    own = '[budget]\nepsilon = 1\nledger = "spent.db"\n'
    second = dp.open(write(own, "", name="doctors.toml"), budget=first.budget)
    third = dp.open(write("version", 'name = "third"\nversion', name="third.toml"), budget=first.budget)
    assert second.budget is first.budget is third.budget
    first.union(second).agg(n=_.count()).release(epsilon=0.25)
    assert third.budget.spent.epsilon == 0.25
    other = dp.Budget(epsilon=1)
    assert "the budget that is passed, or none" in refused(write(), budget=other)
    assert "Expected a budget" in refused(write(), budget="spent.db")


@pytest.mark.parametrize("unit", ['"row"', '["patient"]', '["patient", "ward"]'])
def test_every_unit_can_be_stated(write: Write, unit: str) -> None:
    limits = "[table.limits]\nmax_groups = 1\nmax_rows = 20\n"
    path = write('"patient"', unit, limits, "")
    whose = {'"row"': (), '["patient"]': ("patient",)}.get(unit, ("patient", "ward"))
    assert dp.open(path).declaration.unit == whose


def test_limits_need_a_unit(write: Write) -> None:
    assert "line 7." in refused(write('"patient"', '"row"'))


def test_a_column_called_row_needs_brackets(write: Write) -> None:
    path = write('"patient"', '"row"')
    pq.write_table(ROWS.rename_columns(["row", "ward", "minutes", "day", "tags"]), path.parent / "visits.parquet")
    limits = "[table.limits]\nmax_groups = 1\nmax_rows = 20\n"
    path.write_text(path.read_text().replace(limits, ""))
    assert 'write unit = ["row"]' in refused(path)
    path.write_text(path.read_text().replace('"row"', '["row"]'))
    assert dp.open(path).declaration.unit == ("row",)


def test_sizes_and_automatic_choices(write: Write) -> None:
    replaced = ("version = 2", 'neighbors = "replace-one"\nunits = 30', "max_rows = 20", 'max_rows = "auto"')
    stated_ = dp.open(write(*replaced, "[0, 240]", '"auto"')).declaration
    found = (stated_.size, set(stated_.auto_limits), set(stated_.auto_bounds))
    assert found == (30, {"max_rows"}, {"minutes"})


def test_amounts_are_exact(write: Write) -> None:
    path = write("epsilon = 1", 'epsilon = "1/3"\ndelta = 1e-6\nown_delta = 0.0')
    assert str(dp.open(path).budget.allowance.epsilon) == "1/3"
    assert dp.open(write("epsilon = 1", "rho = 0.1", "spent.db", "r.db")).budget.allowance.rho == Fraction(1, 10)


TYPES = """\
[table]
source = "visits.csv"
unit = "patient"
[columns.patient]
type = "int64"
[columns.minutes]
type = "float64"
bounds = [0, 240]
[budget]
epsilon = 1
"""


def test_a_csv_file_needs_types(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("patient,minutes,ward\n1,3.5,north\n")
    path = tmp_path / "visits.toml"
    path.write_text(TYPES)
    assert dp.open(path).columns == ("patient", "minutes")
    path.write_text(TYPES.replace('type = "float64"\n', ""))
    assert "line 6.\nHint: state it" in refused(path)
    path.write_text(TYPES.replace("float64", "flot64"))
    assert "a known type" in refused(path)
    path.write_text(TYPES.replace("[columns.minutes]", "[columns.minuts]"))
    assert "did you mean 'minutes'" in refused(path)
    path.write_text('[table]\nsource = "visits.csv"\nunit = "row"\n[budget]\nepsilon = 1\n')
    assert "the columns of a CSV file" in refused(path)
    (tmp_path / "folder.csv").mkdir()
    path.write_text(TYPES.replace("visits.csv", "folder.csv"))
    assert "Expected a file" in refused(path)


def test_a_table_of_a_connection(write: Write) -> None:
    connection = ibis.duckdb.connect()
    connection.con.execute("CREATE SCHEMA clinic")
    connection.con.register("rows", ROWS)
    connection.con.execute("CREATE TABLE clinic.visits AS FROM rows")
    path = write('"visits.parquet"', '"warehouse:clinic.visits"')
    answer = dp.open(path, connections={"warehouse": connection}).count().release(epsilon=1)
    assert len(answer) == 1
    assert "did you mean 'visits'" in refused(
        write("visits.parquet", "warehouse:clinic.visit"), connections={"warehouse": connection}
    )
    assert "a dict of connections" in refused(path, connections=[connection])
    assert "a connection, got connections" in refused(path, connections={"warehouse": 3})


def test_another_table_under_the_same_name_is_noticed(write: Write) -> None:
    table = dp.open(write())
    pq.write_table(ROWS, table.declaration.name and Path(os.fspath(write().parent / "other.parquet")))
    with pytest.warns(SourceWarning):
        dp.open(write('"visits.parquet"', '"other.parquet"'))


@pytest.mark.parametrize("path", [3, None, b"visits.toml", "none.toml", "folder", "\0", "binary.toml"])
def test_what_is_no_file_is_refused(path: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("binary.toml").write_bytes(b"\xff\xfe")
    assert "declaration" in refused(path)


def test_what_waits_for_a_writer_is_no_declaration(tmp_path: Path) -> None:
    """It once had `open` wait with it."""
    os.mkfifo(tmp_path / "people.toml")
    with pytest.raises(dp.InvalidParameter, match="a declaration that can be read"):
        dp.open(tmp_path / "people.toml")


def test_reading_a_declaration_opens_nothing(write: Write) -> None:
    path = write('"visits.parquet"', '"none.parquet"')
    found = read_declaration(path)
    assert found.name == "visits"
    assert found.ledger == str(path.parent / "spent.db")
    assert not (path.parent / "spent.db").exists()
    assert read_declaration(write("spent.db", "postgresql://db/x")).ledger == "postgresql://db/x"


CSV = """\
[table]
source = "lines.csv"
unit = "who"
[table.limits]
max_rows = 2
[[table.via]]
source = "orders.parquet"
on = { order = "key" }
[columns.order]
type = "int64"
[columns.v]
type = "float64"
bounds = [0, 3]
[budget]
epsilon = 1000
"""


@pytest.mark.parametrize(
    ("old", "new", "cure"),
    [
        ("orders.parquet", "orders.csv", "write it as a Parquet file"),
        ('[columns.order]\ntype = "int64"\n', "", 'state it: [columns.order] type = "int64"'),
        ('unit = "who"', 'unit = "plan"', "the known names are 'key', 'who'"),
        (CSV[CSV.index("[[") : CSV.index("[columns.order]")], "", "the known names are 'order', 'v'"),
        (CSV[CSV.index('unit = "who"') : CSV.index("[columns.order]")], 'unit = "plan"\n', "state it: [columns.plan]"),
        ('type = "float64"\n', "", "state it: [columns.v]"),
    ],
)
def test_a_csv_file_with_a_path_is_cured_by_the_line_to_write(tmp_path: Path, old: str, new: str, cure: str) -> None:
    (tmp_path / "lines.csv").write_text("order,v,plan\n1,1,a\n1,2,b\n2,3,a\n")
    (tmp_path / "orders.csv").write_text("key,who\n1,x\n2,y\n")
    pq.write_table(pa.table({"key": [1, 2], "who": ["x", "y"]}), tmp_path / "orders.parquet")
    path = tmp_path / "lines.toml"
    path.write_text(CSV)
    assert round(dp.open(path).agg(n=_.count()).release(epsilon=900)["n"].tolist()[0]) == 3
    assert old in CSV
    path.write_text(CSV.replace(old, new, 1))
    text = refused(path)
    assert cure in text.partition("\nHint: ")[2]
    assert f" in {path}, line " in text
    path.write_text(CSV)


def test_a_csv_file_on_the_way_has_no_schema(tmp_path: Path) -> None:
    (tmp_path / "orders.csv").write_text("key,who\n1,x\n2,y\n")
    lines = pa.table({"order": [1, 2]})
    asks: list[Callable[[], Any]] = [
        lambda: dp.public(tmp_path / "orders.csv"),
        lambda: dp.protect(
            lines, unit="who", via=[(tmp_path / "orders.csv", {"order": "key"})], budget=dp.Budget(epsilon=1)
        ),
    ]
    for ask in asks:
        with pytest.raises(dp.InvalidParameter, match="write the file as Parquet, or pass a frame"):
            ask()
