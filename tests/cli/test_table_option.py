"""`--table`: a declaration answers as the options that say the same, and is charged to its own ledger."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import Result

from discreet.cli.application import COMMANDS
from discreet.cli.table_option import connections_of
from discreet.errors import InvalidParameter
from discreet.ledger.file_ledger import statement

Run = Callable[..., Result]

BY_PLAN = "SELECT plan, COUNT(*) AS n, AVG(visits) FROM people GROUP BY plan"
DECLARED = """\
[table]
source = "people.parquet"
unit = "person"
name = "people"
[table.limits]
max_groups = 1
max_rows = 2
[columns.visits]
bounds = [0, 10]
[columns.plan]
keys = ["free", "25%"]
null = true
[budget]
epsilon = 200000
ledger = "declared.db"
"""


@pytest.fixture
def declared(file: Path) -> Path:
    path = file.with_name("clinic.toml")
    path.write_text(DECLARED)
    return path


def flat(text: str) -> str:
    return " ".join(re.sub("[│╭╮╰╯─]", " ", text).split())


@pytest.mark.parametrize("table", ["people", "data"])
def test_a_declaration_answers(run: Run, declared: Path, table: str) -> None:
    asked = ("query", "--table", declared, BY_PLAN.replace("people", table), "--epsilon", "100000")
    done = run(*asked, "--format", "json")
    assert done.exit_code == 0, done.stderr
    assert [row["n"] for row in json.loads(done.stdout)["rows"]] == [200, 200, 200]
    ledger = declared.with_name("declared.db")
    assert f"Made: {ledger}" in flat(done.stderr)
    assert "spent epsilon=100000 of epsilon=200000" in flat(done.stderr)
    again = run(*asked, "--format", "json")
    assert again.stdout == done.stdout
    assert "nothing charged" in flat(again.stderr)
    assert statement(str(ledger)).number == 1


def test_an_explanation_makes_no_ledger(run: Run, declared: Path) -> None:
    asked = ("explain", "--table", declared, BY_PLAN, "--epsilon", "1")
    done = run(*asked)
    assert done.exit_code == 0, done.stderr
    assert not declared.with_name("declared.db").exists()
    assert run("query", *asked[1:]).exit_code == 0
    assert "spent epsilon=1 of" in flat(run(*asked).stderr)


def test_without_a_ledger_nothing_is_accounted_for(run: Run, declared: Path) -> None:
    declared.write_text(DECLARED.replace('ledger = "declared.db"\n', ""))
    done = run("query", "--table", declared, BY_PLAN, "--epsilon", "1")
    assert done.exit_code == 0
    assert "Not accounted" in done.stderr


def test_other_options_go_on_working(run: Run, declared: Path) -> None:
    words = ("--epsilon", "1", "--keys", "site=0,1", "--output", "out.csv", "--fresh")
    done = run("query", "--table", declared, "SELECT site, COUNT(*) AS n FROM people GROUP BY site", *words)
    assert done.exit_code == 0, done.stderr
    assert Path("out.csv").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--unit", "person"), "no --unit beside --table"),
        (("--each-row",), "no --each-row beside --table"),
        (("--bounds", "visits=0:5"), "no --bounds beside --table"),
        (("--max-rows", "5"), "no --max-rows beside --table"),
        (("--ledger", "spent.db"), "no --ledger beside --table"),
        (("--version", "2"), "no --version beside --table"),
        (("more",), "one statement beside --table"),
        (("--connection", "db"), "name=address"),
        (("--public", "people=terms.parquet"), "other names than people"),
        (("--output", "people.parquet"), "a file of its own"),
    ],
)
def test_what_a_declaration_says_is_not_said_twice(
    run: Run, declared: Path, words: tuple[str, ...], told: str, file: Path
) -> None:
    before = file.read_bytes()
    done = run("query", "--table", declared, BY_PLAN, "--epsilon", "1", *words)
    assert done.exit_code == 2
    assert told in flat(done.stderr)
    assert file.read_bytes() == before


@pytest.mark.parametrize("output", ["orders.parquet", "none/../orders.parquet"])
def test_a_table_on_the_way_to_the_unit_is_not_written_over(run: Run, file: Path, output: str) -> None:
    pq.write_table(pa.table({"person": [1, 2], "owner": [7, 8]}), file.with_name("orders.parquet"))
    before = file.with_name("orders.parquet").read_bytes()
    file.with_name("none").mkdir()
    via = '[[table.via]]\nsource = "orders.parquet"\non = { person = "person" }\n'
    stated = (
        f'[table]\nsource = "{file.name}"\nunit = "owner"\n{via}[table.limits]\nmax_rows = 5\n[budget]\nepsilon = 1\n'
    )
    file.with_name("lines.toml").write_text(stated, encoding="utf-8")
    done = run("query", "--table", "lines.toml", "SELECT COUNT(*) FROM data", "--epsilon", "1", "--output", output)
    assert done.exit_code == 2
    assert "a file of its own" in flat(done.stderr)
    assert file.with_name("orders.parquet").read_bytes() == before


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("query", "--epsilon", "1"), "a file and a statement"),
        (("query", "people.parquet", "--epsilon", "1"), "a file and a statement"),
        (("query", "people.parquet", "SELECT 1", "--epsilon", "1", "--connection", "a=b"), "--table beside"),
        (("query", "--table", "none.toml", "SELECT 1", "--epsilon", "1"), "a declaration that can be read"),
        (("explain", "--table", "clinic.toml", "--epsilon", "1"), "one statement beside --table"),
    ],
)
def test_what_is_missing_is_asked_for(run: Run, declared: Path, words: tuple[str, ...], told: str) -> None:
    assert declared.exists()
    done = run(*words)
    assert done.exit_code == 2
    assert told in flat(done.stderr)


def test_a_connection_is_named_by_its_address(run: Run, declared: Path, file: Path) -> None:
    import duckdb

    with duckdb.connect("warehouse.duckdb") as connection:
        connection.execute(f"CREATE TABLE people AS FROM '{file}'")
    declared.write_text(DECLARED.replace('"people.parquet"', '"warehouse:people"'))
    words = ("--connection", "warehouse=duckdb://warehouse.duckdb", "--epsilon", "1")
    done = run("query", "--table", declared, BY_PLAN, *words)
    assert done.exit_code == 0, done.stderr


@pytest.mark.long
def test_an_audit_takes_a_declaration(run: Run, declared: Path, file: Path) -> None:
    made_up = pq.read_table(file).slice(0, 12)
    pq.write_table(made_up, "made_up.parquet")
    Path("by_plan.sql").write_text(BY_PLAN)
    done = run("audit", "by_plan.sql", "--table", declared, "--data", "made_up.parquet", "--epsilon", "1")
    assert done.exit_code == 0, done.output
    assert "calls of chance compared" in done.stdout
    assert not declared.with_name("declared.db").exists()
    for words in (
        ("--unit", "person"),
        ("--max-rows", "2"),
        ("--bounds", "visits=0:1"),
        ("--neighbors", "replace-one"),
    ):
        refused = run("audit", "by_plan.sql", "--table", declared, "--data", "made_up.parquet", *words)
        assert refused.exit_code == 2
        assert "beside --table" in flat(refused.stderr)
    nobody = run("audit", "by_plan.sql", "--data", "made_up.parquet", "--epsilon", "1")
    assert "a privacy unit" in nobody.stderr


def test_every_command_that_takes_a_table_takes_a_declaration() -> None:
    described = {"--unit", "--each-row", "--bounds", "--neighbors"}
    taking = set()
    for name, module in COMMANDS.items():
        command = typer.main.get_command(import_module(module).app)
        options = {option for parameter in command.params for option in parameter.opts}
        if options & described:
            taking.add(name)
            assert "--table" in options, name
    answering = {"query", "explain", "series", "audit"}
    assert taking == answering | {"top", "choose", "count-distinct", "truncated-total", "hierarchy", "kmeans"}


def test_a_series_and_a_hierarchy_take_a_declaration(run: Run, declared: Path) -> None:
    counted = "SELECT plan, COUNT(*) AS n FROM people GROUP BY plan"
    by_site = ("--by", "site", "--start", "0", "--until", "3", "--every", "1", "--windows", "1", "--max-steps", "1")
    done = run("series", "--table", declared, counted, *by_site, "--through", "3", "--epsilon", "1")
    assert done.exit_code == 0, done.stderr
    pq.write_table(pa.table({"site": [0, 1], "plan": ["free", "25%"]}), "places.parquet")
    counted = "SELECT site, plan, COUNT(*) AS n FROM people GROUP BY site, plan"
    done = run("hierarchy", "--table", declared, counted, "--keys", "places.parquet", "--epsilon", "1")
    assert done.exit_code == 0, done.stderr
    assert statement(str(declared.with_name("declared.db"))).spent.epsilon == 2


def test_addresses_are_read_once() -> None:
    assert connections_of(["db=postgresql://h/d?a=b"]) == {"db": "postgresql://h/d?a=b"}
    with pytest.raises(InvalidParameter, match="name=address"):
        connections_of(["db=a", "db=b"])


SHARED = """\
[table]
source = "mails.parquet"
each_of = ["sender", "receiver"]
[columns.words]
bounds = [0, 500]
[budget]
epsilon = 9
ledger = "mails.db"
"""


def test_rows_of_two_people_each_have_a_truncated_total(run: Run, tmp_path: Path) -> None:
    """Which is charged and repeated for nothing; all else is refused in words, and nothing is charged."""
    rows = {"sender": [1, 1, 2, 4], "receiver": [2, 3, 1, 4], "words": [10, 200, 35, 7]}
    pq.write_table(pa.table(rows), tmp_path / "mails.parquet")
    (tmp_path / "mails.toml").write_text(SHARED)
    declared = ("--table", "mails.toml", "--epsilon", "1")
    total = ("truncated-total", *declared, "SELECT SUM(words) FROM mails WHERE words > 8", "--limit", "64")
    explained = run(*total, "--explain", "--format", "json")
    assert json.loads(explained.output)["unit"] == "each of sender, receiver"
    for _time in range(2):
        found = run(*total, "--format", "json")
        assert (found.exit_code, json.loads(found.stdout)["rows"][0]["limit"]) == (0, 64)
        assert statement("mails.db").spent.epsilon == 1
    refused = (
        ("query", "SELECT COUNT(*) FROM mails"),
        ("explain", "SELECT words, SUM(words) FROM mails GROUP BY words"),
        ("query", "SELECT COUNT(*) FROM mails AS a JOIN mails AS b ON a.sender = b.receiver"),
        ("query", "SELECT AVG(n) FROM (SELECT sender, COUNT(*) AS n FROM mails GROUP BY sender) AS people"),
        ("truncated-total", "SELECT COUNT(*) FROM (SELECT words FROM mails UNION ALL SELECT words FROM mails) AS x"),
        ("count-distinct", "words"),
        ("top", "words", "--keys", "words=1,2"),
        ("kmeans", "words", "--clusters", "2"),
        ("choose", "SELECT COUNT(*) FILTER (WHERE words > 8) AS a, SUM(words) AS b FROM mails"),
    )
    for command, *words in refused:
        found = run(command, *declared, *words)
        said = " ".join(found.output.split())
        assert found.exit_code == 2, (command, words)
        assert "one unit each" in said or "several units" in said, said
    assert statement("mails.db").spent.epsilon == 1
