"""psql: the question of the README, its backslash commands, and cursors."""

from __future__ import annotations

import os
import subprocess

from far_address import Address

QUESTION = "SELECT plan, AVG(visits) FROM people GROUP BY plan"


def psql(served: Address, *commands: str) -> subprocess.CompletedProcess[str]:
    arguments = [part for command in commands for part in ("-c", command)]
    place = ["psql", "-X", "-h", "localhost", "-p", str(served.port), "-U", "analyst", "people"]
    environment = {**os.environ, "PGPASSWORD": served.token}
    return subprocess.run(
        [*place, *arguments], capture_output=True, text=True, timeout=120, env=environment, check=False
    )


def test_a_question_and_its_price(served: Address) -> None:
    found = psql(served, QUESTION)
    assert found.returncode == 0, found.stderr
    assert "deductible" in found.stdout
    assert "(5 rows)" in found.stdout
    assert found.stderr.startswith("NOTICE:  discreet: ")
    assert "remains of data set people" in found.stderr
    assert psql(served, QUESTION).stdout == found.stdout


def test_backslash_commands(served: Address) -> None:
    found = psql(
        served,
        r"\d",
        r"\dt+",
        r"\d people",
        r"\d+ people",
        r"\dn",
        r"\l",
        r"\du",
        r"\df",
        r"\dv",
        r"\di",
        r"\dp",
        r"\conninfo",
    )
    assert found.returncode == 0, found.stderr
    assert "ERROR" not in found.stderr
    assert "public | people | table" in found.stdout
    assert "keys free, 25%, 50%, 95%, deductible" in found.stdout


def test_explain_settings_and_errors(served: Address) -> None:
    found = psql(
        served,
        "SET discreet.epsilon = 0.05",
        f"EXPLAIN {QUESTION}",
        "SHOW discreet.epsilon",
        r"\set VERBOSITY verbose",
        "SELECT * FROM people",
    )
    assert "Price: epsilon=0.05" in found.stdout
    assert "ERROR:  42DP2: Expected aggregates" in found.stderr
    assert "HINT:  no row is ever shown" in found.stderr


def test_columns_are_described_for_nothing(served: Address) -> None:
    place = f"{QUESTION} \\gdesc"
    environment = {**os.environ, "PGPASSWORD": served.token}
    command = ["psql", "-X", "-h", "localhost", "-p", str(served.port), "-U", "analyst", "people"]
    found = subprocess.run(
        command, input=place, capture_output=True, text=True, timeout=120, env=environment, check=True
    )
    assert "avg_visits | double precision" in found.stdout


def test_rows_in_parts(served: Address) -> None:
    """With FETCH_COUNT, psql asks by a cursor."""
    place = ["psql", "-X", "-v", "FETCH_COUNT=2", "-h", "localhost", "-p", str(served.port), "-U", "analyst", "people"]
    environment = {**os.environ, "PGPASSWORD": served.token}
    found = subprocess.run(
        [*place, "-c", QUESTION], capture_output=True, text=True, timeout=120, env=environment, check=True
    )
    assert "deductible" in found.stdout
