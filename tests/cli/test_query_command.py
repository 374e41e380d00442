"""`discreet query`: each option does what it says, each refusal spends nothing, each output reads back."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import Result

import discreet as dp
from discreet.cli import answer_output
from discreet.cli.options import Format
from discreet.errors import EngineError
from discreet.ledger.file_ledger import statement

Run = Callable[..., Result]

WHOLE = "SELECT COUNT(*) AS n FROM data"


def flat(text: str) -> str:
    """A message without its frame."""
    return " ".join(re.sub("[│╭╮╰╯─]", " ", text).split())


def test_a_table_is_printed_and_not_accounted_for(ask: Run) -> None:
    done = ask()
    assert done.exit_code == 0
    for word in ("plan", "avg_visits", "free", "25%", "NULL", "200", "95% intervals"):
        assert word in done.stdout
    assert flat(done.stderr).startswith("Not accounted: this answer cost epsilon=100000, and no ledger knows of it.")


def test_csv_reads_back(ask: Run) -> None:
    rows = list(csv.DictReader(ask("--format", "csv").stdout.splitlines()))
    assert list(rows[0]) == ["plan", "n", "n_low", "n_high", "avg_visits", "avg_visits_low", "avg_visits_high"]
    assert {row["plan"]: int(row["n"]) for row in rows} == {"free": 200, "25%": 200, "": 200}
    assert all(2.9 < float(row["avg_visits_low"]) <= float(row["avg_visits_high"]) < 3.1 for row in rows)


def test_json_reads_back_with_the_receipt(ask: Run) -> None:
    answer = json.loads(ask("--format", "json").stdout)
    assert [row["plan"] for row in answer["rows"]] == ["free", "25%", None]
    assert [row["n"] for row in answer["rows"]] == [200, 200, 200]
    assert answer["receipt"]["charge"]["epsilon"] == "100000"
    assert answer["receipt"]["private"] is True


@pytest.mark.long
@pytest.mark.parametrize("end", ["parquet", "csv", "json", "CSV"])
def test_files_read_back(ask: Run, end: str) -> None:
    done = ask("--output", f"out.{end}", "--plot", "picture.svg")
    assert done.exit_code == 0
    assert flat(done.stderr).endswith(f"Written: out.{end} Written: picture.svg")
    path = Path(f"out.{end}")
    if end == "parquet":
        table = pq.read_table(path)
        plans, counts = table["plan"].to_pylist(), table["n"].to_pylist()
        assert json.loads(table.schema.metadata[b"discreet"])["charge"]["epsilon"] == "100000"
    elif end == "json":
        rows = json.loads(path.read_text())["rows"]
        plans, counts = [row["plan"] for row in rows], [row["n"] for row in rows]
    else:
        lines = list(csv.DictReader(path.read_text().splitlines()))
        plans, counts = [line["plan"] or None for line in lines], [int(line["n"]) for line in lines]
    assert (plans, counts) == (["free", "25%", None], [200, 200, 200])
    assert "<svg" in Path("picture.svg").read_text()


@pytest.mark.long
@pytest.mark.parametrize(("name", "magic"), [("p.png", b"\x89PNG"), ("p.pdf", b"%PDF")])
def test_pictures_have_the_format_of_their_name(ask: Run, name: str, magic: bytes) -> None:
    assert ask("--plot", name).exit_code == 0
    assert Path(name).read_bytes().startswith(magic)


def test_a_ledger_counts_and_a_repeat_is_free(ask: Run, ledger: Path) -> None:
    first = ask("--ledger", ledger, epsilon="0.5")
    again = ask("--ledger", ledger, epsilon="0.5")
    assert (first.exit_code, again.exit_code) == (0, 0)
    assert first.stdout == again.stdout
    balance = "spent epsilon=0.5 of epsilon=1; epsilon=0.5 remains."
    assert flat(first.stderr) == f"Charged epsilon=0.5 to {ledger}: {balance}"
    assert flat(again.stderr) == f"Repeated from {ledger}, nothing charged: {balance}"
    assert len(statement(ledger).entries) == 1


def test_fresh_draws_and_pays_anew(ask: Run, ledger: Path) -> None:
    first = ask("--ledger", ledger, "--format", "csv", epsilon="0.25")
    fresh = ask("--ledger", ledger, "--format", "csv", "--fresh", epsilon="0.25")
    assert first.stdout != fresh.stdout
    assert flat(fresh.stderr).startswith(f"Charged epsilon=0.25 to {ledger}: spent epsilon=0.5 of")


def test_another_version_is_another_table(ask: Run, ledger: Path) -> None:
    ask("--ledger", ledger, "--name", "people", "--version", "1", epsilon="0.25")
    ask("--ledger", ledger, "--name", "people", "--version", "2", epsilon="0.25")
    entries = statement(ledger).entries
    assert len(entries) == 2
    assert {entry.source.split("@")[0] for entry in entries} == {"people"}


def test_a_ledger_runs_out(ask: Run, ledger: Path) -> None:
    for share in ("0.4", "0.5"):
        assert ask("--ledger", ledger, epsilon=share).exit_code == 0
    over = ask("--ledger", ledger, epsilon="0.2")
    assert over.exit_code == 2
    assert over.stdout == ""
    assert "within the remaining epsilon=0.1, got epsilon=0.2" in flat(over.stderr)
    assert "Traceback" not in over.stderr
    assert ask("--ledger", ledger, epsilon="0.1").exit_code == 0
    assert statement(ledger).spent.epsilon == 1


def test_the_allowance_can_be_checked(ask: Run, ledger: Path) -> None:
    assert ask("--ledger", ledger, "--allowance", "1.0", epsilon="0.5").exit_code == 0
    wrong = ask("--ledger", ledger, "--allowance", "2", epsilon="0.25")
    assert wrong.exit_code == 2
    assert "the allowance of the ledger, got allowance='2'" in flat(wrong.stderr)
    assert float(statement(ledger).spent.epsilon) == 0.5


def test_limits_units_and_neighbors_reach_the_receipt(ask: Run) -> None:
    receipt = json.loads(ask("--format", "json").stdout)["receipt"]
    assert receipt["limits"] == {"max_groups": 1, "max_rows": 2}
    assert receipt["unit"] == ["person"]
    words = ("--neighbors", "replace-one", "--units", "300", "--format", "json")
    assert json.loads(ask(*words).stdout)["receipt"]["neighbors"] == "replace-one"


@pytest.mark.parametrize("unit", [["--unit", "row"], ["--each-row"], ["--unit", "row", "--each-row"]])
def test_each_row_may_be_a_unit(run: Run, file: Path, unit: list[str]) -> None:
    done = run("query", file, WHOLE, *unit, "--epsilon", "1000", "--format", "json")
    answer = json.loads(done.stdout)
    assert answer["rows"][0]["n"] == 600
    assert answer["receipt"]["unit"] == "each row"
    words = ("--neighbors", "replace-one", "--rows", "600", "--epsilon", "1", "--format", "json")
    mean = run("query", file, "SELECT AVG(visits) FROM data", *unit, "--bounds", "visits=0:10", *words)
    assert json.loads(mean.stdout)["receipt"]["neighbors"] == "replace-one"


def test_several_columns_may_be_the_unit(run: Run, wide: Path) -> None:
    words = ("--unit", "person,joined", "--max-rows", "1", "--epsilon", "1", "--format", "json")
    assert json.loads(run("query", wide, WHOLE, *words).stdout)["receipt"]["unit"] == ["person", "joined"]


def test_keys_are_read_in_the_type_of_their_group(run: Run, wide: Path) -> None:
    text = "SELECT site, joined, smokes, visits // 4 AS some, COUNT(*) AS n FROM data GROUP BY ALL"
    keys = ["--keys", "site=0,3", "--keys", "joined=2020-01-31", "--keys", "smokes=true", "--keys", "some=0,1"]
    words = ("--bounds", "visits=0:10", "--epsilon", "1000", "--format", "json")
    rows = json.loads(run("query", wide, text, "--each-row", *keys, *words).stdout)["rows"]
    assert [(row["site"], row["joined"], row["smokes"], row["some"]) for row in rows] == [
        (site, "2020-01-31", True, some) for site in (0, 3) for some in (0, 1)
    ]


def test_text_files_have_a_schema(run: Run, text_file: Path) -> None:
    schema = ["--schema", "person=int64,plan=string", "--schema", "visits=int64"]
    words = ("--unit", "person", "--max-rows", "2", "--epsilon", "1000", "--format", "csv")
    done = run("query", text_file, "SELECT COUNT(visits) AS n FROM data", *schema, *words)
    assert done.stdout.splitlines()[1].startswith("600,")
    bare = run("query", text_file, WHOLE, *words)
    assert bare.exit_code == 2
    assert "On the command line: --schema person=int64,plan=string" in flat(bare.stderr)


def test_public_files_are_joined(ask: Run, run: Run, tmp_path: Path) -> None:
    pq.write_table(pa.table({"plan": ["free", "free", "25%"], "share": [1, 2, 4]}), tmp_path / "terms.parquet")
    text = "SELECT SUM(share) AS n FROM data JOIN terms USING (plan)"
    done = ask("--public", "terms=terms.parquet", "--max-rows", "4", "--format", "json", statement=text)
    assert json.loads(done.stdout)["rows"][0]["n"] == pytest.approx(200 * 3 + 200 * 4, abs=0.1)
    for words, said in (
        ("data=terms.parquet", "other names than data, got public='data'"),
        ("terms", "name=value, got public='terms'"),
        ("terms=none.parquet", "a file that exists"),
    ):
        assert said in flat(ask("--public", words, statement=text).stderr)


def test_confidence_widens_the_intervals(ask: Run) -> None:
    narrow, wide = (
        json.loads(ask("--confidence", level, "--format", "json", epsilon="1").stdout)["rows"][0]
        for level in ("0.5", "0.99")
    )
    assert wide["n_high"] - wide["n_low"] > narrow["n_high"] - narrow["n_low"]


REFUSED = {
    "no unit": (["--unit"], "a privacy unit, got none"),
    "row and a column": (["--each-row"], "--unit or --each-row, got unit='person'"),
    "epsilon of zero": (["--epsilon", "0"], "a number above 0, got epsilon"),
    "negative epsilon": (["--epsilon", "-1"], "a number above 0, got epsilon"),
    "epsilon that is no number": (["--epsilon", "much"], "a number of at most 30 digits, got epsilon='much'"),
    "epsilon that is not finite": (["--epsilon", "nan"], "a number of at most 30 digits, got epsilon"),
    "delta": (["--delta", "2"], "a delta from 0 to below 1"),
    "confidence": (["--confidence", "1"], "a confidence between 0 and 1"),
    "bounds": (["--bounds", "visits=10:0"], "each column once, got bounds='visits'"),
    "unknown bounds": (["--bounds", "visit=0:9"], "known columns, got bounds='visit'"),
    "keys of others": (["--keys", "plam=free"], "did you mean 'plan'"),
    "limits": (["--max-groups", "0"], "max_groups=0"),
    "dialect": (["--dialect", "mysql"], "a dialect of SQL that is known here, got dialect='mysql'"),
    "neighbors": (["--neighbors", "cousins"], "'add-remove' or 'replace-one', got neighbors='cousins'"),
    "size": (["--rows", "5"], "no public size with add-remove neighbors"),
    "no size": (["--neighbors", "replace-one"], "the public number of units"),
    "no ledger": (["--ledger", "none.db"], "a ledger that exists, got ledger='none.db'"),
    "no file of a ledger": (["--ledger", "."], "Expected a file, got ledger="),
    "allowance of no ledger": (["--allowance", "1"], "--ledger beside --allowance"),
    "output of another kind": (["--output", "out.xlsx"], ".csv, .json, .arrow, got output='out.xlsx'"),
    "picture of another kind": (["--plot", "out.gif"], "ends in .png, .svg, .pdf, got plot='out.gif'"),
    "output nowhere": (["--output", "no/such/folder.csv"], "a file that can be written"),
    "schema of Parquet": (["--schema", "a=int64"], "no schema where the table has one"),
    "schema without a type": (["--schema", "a"], "name=value, got schema='a'"),
}


@pytest.mark.long
@pytest.mark.parametrize("case", REFUSED)
def test_refusals_have_a_frame_a_cure_and_no_charge(ask: Run, run: Run, file: Path, ledger: Path, case: str) -> None:
    words, message = REFUSED[case]
    account = [] if {"--ledger", "--allowance"} & set(words) else ["--ledger", str(ledger)]
    if case == "no unit":
        done = run("query", file, WHOLE, "--epsilon", "1", *account)
    else:
        done = ask(*account, *words, epsilon="0.5")
    assert done.exit_code == 2
    assert message in flat(done.stderr)
    assert "Hint:" in done.stderr
    assert "╭─ " in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert statement(ledger).entries == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "SELECT plan, COUNT(*) FROM data GROUP BY plan QUALIFY TRUE",
            "a window that QUALIFY looks at, got 'QUALIFY' at line 1, column 47",
        ),
        ("SELECT plan, COUNT(*) FROM data GROUP BY plan", "On the command line: --keys plan=free,25%"),
        ("SELECT SUM(site) FROM data", "On the command line: --bounds visits=0:50"),
        ("SELECT COUNT(*) FROM people", "a known table, got 'people' at line 1, column 22"),
        ("SELECT COUNT(*) FROM", "table name in the SQL"),
    ],
)
def test_refusals_of_the_statement_say_how_options_are_written(run: Run, file: Path, text: str, message: str) -> None:
    done = run("query", file, text, "--unit", "person", "--max-rows", "2", "--epsilon", "1")
    assert done.exit_code == 2
    assert message in flat(done.stderr)


def test_missing_limits_name_their_options(run: Run, file: Path) -> None:
    done = run(
        "query", file, "SELECT site > 1 AS far, COUNT(*) FROM data GROUP BY 1", "--unit", "person", "--epsilon", "1"
    )
    assert "On the command line: --max-groups 2; --max-rows 5." in flat(done.stderr)


def test_keys_are_listed_once(run: Run, file: Path) -> None:
    text = "SELECT site, COUNT(*) FROM data GROUP BY site"
    done = run("query", file, text, "--each-row", "--epsilon", "1", "--keys", "site=1,2,1")
    assert done.exit_code == 2
    assert "each key once" in flat(done.stderr)


def test_keys_without_groups_are_refused(run: Run, file: Path) -> None:
    done = run("query", file, WHOLE, "--each-row", "--epsilon", "1", "--keys", "plan=a")
    assert "no keys without GROUP BY" in flat(done.stderr)


@pytest.mark.parametrize("option", ["--output", "--plot"])
def test_output_never_replaces_the_table_or_its_ledger(run: Run, tmp_path: Path, file: Path, option: str) -> None:
    names = {"--output": "people.parquet", "--plot": "people.svg"}
    path = tmp_path / names[option]
    path.write_bytes(file.read_bytes())
    (tmp_path / "link.parquet").symlink_to(path)
    ends = {"--output": ".parquet", "--plot": ".svg"}
    ledger = (tmp_path / "spent").with_suffix(ends[option])
    run("ledger", "create", ledger, "--epsilon", "1")
    before = ledger.read_bytes()
    source = path if option == "--output" else file
    for goal in [ledger, *([path] if option == "--output" else [])]:
        words = ("--each-row", "--epsilon", "1", "--ledger", ledger, option, goal)
        assert "it would replace what it is made from" in flat(run("query", source, WHOLE, *words).stderr)
    assert ledger.read_bytes() == before


def test_the_picture_is_another_file_than_the_output(ask: Run) -> None:
    assert ask("--output", "a.csv", "--plot", "a.csv").exit_code == 2


def test_a_column_called_row_needs_the_other_spelling(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("row,visits\n1,2\n1,3\n")
    words = ("--schema", "row=int64,visits=int64", "--epsilon", "1")
    done = run("query", path, WHOLE, "--unit", "row", *words)
    assert done.exit_code == 2
    assert "a unit with one meaning, got unit='row'" in flat(done.stderr)
    assert run("query", path, WHOLE, "--each-row", *words).exit_code == 0


def test_usage_errors_have_the_same_code(run: Run, file: Path) -> None:
    for words in ((), (file,), (file, WHOLE), (file, WHOLE, "--epsilon", "1", "--max-rows", "x"), ("--nonsense",)):
        assert run("query", *words).exit_code == 2


@pytest.mark.parametrize("problem", [OSError(28, "No space left on device"), dp.InvalidParameter("No.\nHint: none.")])
def test_what_cannot_be_written_was_paid_for_and_printed(
    ask: Run, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    def full(*_: object) -> None:
        raise problem

    monkeypatch.setattr(Path, "write_bytes", full)
    done = ask("--output", "out.csv")
    assert done.exit_code == 1
    assert "free" in done.stdout
    assert "The answer could not be written" in flat(done.stderr)
    assert "\\n" not in done.stderr


@pytest.mark.parametrize("place", ["plot", "table"])
def test_whatever_fails_after_the_charge_says_what_was_charged(
    ask: Run, ledger: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError("no such font")

    if place == "plot":
        monkeypatch.setattr("discreet.answers.release.Release.plot", fail)
    else:
        monkeypatch.setitem(answer_output.PRINTED, Format.TABLE, fail)
    done = ask("--ledger", ledger, "--plot", "out.png", epsilon="0.5")
    assert done.exit_code == 1
    assert "Charged epsilon=0.5" in flat(done.stderr)
    assert "no such font" in flat(done.stderr)
    assert "Repeat the command" in flat(done.stderr)
    assert "Traceback" not in done.output


def test_an_engine_that_fails_has_spent(ask: Run, ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise EngineError("Expected the engine to answer, got a failure.\nHint: the charge stays spent.")

    monkeypatch.setattr("discreet.engines.duckdb.DuckDB.totals", fail)
    done = ask("--ledger", ledger, epsilon="0.5")
    assert done.exit_code == 2
    assert float(statement(ledger).spent.epsilon) == 0.5


def test_a_file_that_is_not_there_is_refused(run: Run) -> None:
    done = run("query", "none.parquet", WHOLE, "--each-row", "--epsilon", "1")
    assert done.exit_code == 2
    assert "a file that exists, got data='none.parquet'" in flat(done.stderr)


def test_keys_that_nobody_listed_are_found(run: Run, file: Path) -> None:
    text = "SELECT plan, COUNT(*) AS n FROM data GROUP BY plan"
    words = ["query", file, text, "--unit", "person", "--max-rows", "2", "--max-groups", "1", "--keys", "unknown"]
    done = run(*words, "--epsilon", "200", "--delta", "1e-6", "--format", "csv")
    assert done.exit_code == 0
    found = [(line["plan"], round(int(line["n"]), -1)) for line in csv.DictReader(done.stdout.splitlines())]
    assert found == [("25%", 200), ("free", 200)]
    assert flat(done.stderr).startswith("Not accounted: this answer cost epsilon=200, delta=0.000001, and no ledger")
    without = run(*words, "--epsilon", "1")
    assert without.exit_code == 2
    assert "--delta 1e-8" in flat(without.stderr)


def test_a_price_in_rho_and_a_ledger_in_rho(run: Run, file: Path) -> None:
    words = ("query", file, WHOLE, "--unit", "person", "--max-rows", "2")
    done = run(*words, "--rho", "0.5")
    assert done.exit_code == 0
    assert flat(done.stderr).startswith("Not accounted: this answer cost rho=0.5, and no ledger knows of it.")
    assert run("ledger", "create", "rho.db", "--rho", "1").exit_code == 0
    done = run(*words, "--rho", "0.75", "--ledger", "rho.db")
    assert "Charged rho=0.75 to rho.db: spent rho=0.75 of rho=1; rho=0.25 remains." in flat(done.stderr)
    assert "rho=0.75" in run("ledger", "show", "rho.db").stdout
    assert json.loads(run("ledger", "show", "rho.db", "--json").stdout)["entries"][0]["epsilon"] == "inf"
    assert run("explain", *words[1:], "--rho", "0.5").exit_code == 0


@pytest.mark.parametrize("price", [(), ("--epsilon", "1", "--rho", "1")])
def test_a_price_is_stated_once(run: Run, file: Path, price: tuple[str, ...]) -> None:
    done = run("query", file, WHOLE, "--unit", "person", "--max-rows", "2", *price)
    assert done.exit_code == 2
    assert "Expected --epsilon or --rho, got price=" in flat(done.stderr)
