"""A draft is made of names and types alone, is refused until it is answered, and replaces nothing."""

from __future__ import annotations

import gzip
from pathlib import Path

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import discreet as dp
from discreet.curator.declaration_form import UNANSWERED
from discreet.curator.write_declaration_draft import write_draft

ROWS = pa.table(
    {
        "patient": [1, 1, 2],
        "ward": ["north", "south", None],
        "minutes": [12.0, 30.5, 7919.25],
        "odd name.": [True, False, True],
        "tags": [["a"], [], None],
    }
)
ANSWERS = {"unit": '"patient"', "max_groups": "2", "max_rows": "20", "epsilon": "1", "type": '"int64"'}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def answered(text: str) -> str:
    """The draft with answers to its questions, and without what does not apply."""
    lines = []
    for line in text.splitlines():
        key = line.partition(" = ")[0]
        if f'"{UNANSWERED}"' not in line or line.startswith("#"):
            lines.append(line)
        elif key in ANSWERS:
            lines.append(f"{key} = {ANSWERS[key]}")
    return "\n".join(lines)


def test_a_draft_is_refused_until_it_is_answered() -> None:
    pq.write_table(ROWS, "visits.parquet")
    path = write_draft("visits.parquet")
    assert path == Path("visits.toml")
    text = path.read_text()
    open_ = [number for number, line in enumerate(text.splitlines(), 1) if f' = "{UNANSWERED}"' in line]
    with pytest.raises(dp.InvalidParameter, match=rf"Expected an answer, .* line {open_[0]}\."):
        dp.open(path)
    assert len(open_) == 8
    for number in open_:  # each question by itself
        lines = text.splitlines()
        kept = [line for other, line in enumerate(lines, 1) if other not in open_ or other == number]
        path.write_text("\n".join(kept))
        with pytest.raises(dp.InvalidParameter, match=r"Expected an answer"):
            dp.open(path)
    path.write_text(answered(text))
    table = dp.open(path)
    assert table.declaration.keys == {"odd name.": (True, False)}
    assert table.declaration.bounds == {}
    assert "tags: array<string>" in text


def test_a_draft_says_nothing_of_the_rows() -> None:
    """Other rows, more of them, none at all, other statistics and another encoding: the same bytes."""
    schema = ROWS.schema
    tables = [ROWS, ROWS.slice(0, 0), pa.concat_tables([ROWS] * 50), ROWS.take([2, 2])]
    drafts = set()
    for number, (rows, kept) in enumerate(zip(tables, (True, False, True, False), strict=True)):
        folder = Path(f"world_{number}")
        folder.mkdir()
        pq.write_table(rows.cast(schema), folder / "visits.parquet", write_statistics=kept, use_dictionary=kept)
        drafts.add(write_draft(f"{folder}/visits.parquet").read_bytes())
    (text,) = drafts
    assert not any(value in text for value in (b"north\n", b"7919", b"30.5"))


def test_a_text_file_has_its_types_asked_for() -> None:
    csv.write_csv(ROWS.select(["patient", "minutes"]), "visits.csv")
    path = write_draft("visits.csv")
    assert path.read_text().count('type = "?"') == 2
    path.write_text(answered(path.read_text()))
    assert dp.open(path).columns == ("patient", "minutes")
    Path("visits.tsv.gz").write_bytes(gzip.compress(b"patient\tminutes\n1\t2\n"))
    assert "[columns.patient]  # of a text file" in write_draft("visits.tsv.gz", "tsv.toml").read_text()
    Path("folder.csv").mkdir()
    with pytest.raises(dp.InvalidParameter, match="Expected a file"):
        write_draft("folder.csv")


def test_the_source_is_named_from_the_draft() -> None:
    Path("data").mkdir()
    Path("declared").mkdir()
    pq.write_table(ROWS, "data/visits-1.parquet")
    beside = write_draft("data/visits-*.parquet")
    assert (beside, 'source = "visits-*.parquet"' in beside.read_text()) == (Path("data/visits.toml"), True)
    other = write_draft("data/visits-1.parquet", "declared/visits.toml")
    assert 'source = "../data/visits-1.parquet"' in other.read_text()
    other.write_text(answered(other.read_text()))
    assert dp.open(other).columns == ("patient", "ward", "minutes", "odd name.")
    assert write_draft("data/*.parquet") == Path("data/declaration.toml")


def test_a_table_of_a_connection() -> None:
    connection = ibis.duckdb.connect()
    connection.con.register("rows", ROWS)
    connection.con.execute('CREATE TABLE "my.visits" AS FROM rows')
    path = write_draft('db:"my.visits"', connections={"db": connection})
    assert path == Path("myvisits.toml")
    path.write_text(answered(path.read_text()))
    assert dp.open(path, connections={"db": connection}).columns[0] == "patient"


def test_nothing_is_replaced() -> None:
    pq.write_table(ROWS, "visits.parquet")
    Path("visits.toml").write_text("mine")
    with pytest.raises(dp.InvalidParameter, match="not there yet"):
        write_draft("visits.parquet")
    Path("link.toml").symlink_to("nowhere.toml")
    with pytest.raises(dp.InvalidParameter, match="not there yet"):
        write_draft("visits.parquet", "link.toml")
    assert Path("visits.toml").read_text() == "mine"


@pytest.mark.parametrize(
    ("source", "to", "says"),
    [
        ("visits.parquet", "visits.txt", "ends in .toml"),
        ("visits.parquet", "none/visits.toml", "can be written"),
        ("none.parquet", None, "a file that exists"),
        ("db:visits", None, "hand it over"),
        ("notes.md", None, ".parquet"),
    ],
)
def test_refusals(source: str, to: str | None, says: str) -> None:
    pq.write_table(ROWS, "visits.parquet")
    Path("notes.md").touch()
    with pytest.raises(dp.InvalidParameter, match="Hint: ") as refusal:
        write_draft(source, to)
    assert says in str(refusal.value)
    assert not list(Path().glob("**/*.toml"))
