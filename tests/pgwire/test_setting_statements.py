"""SET, SHOW, RESET and their like, and what EXPLAIN and COPY hold."""

from __future__ import annotations

import pytest

from discreet.pgwire.session_settings import SessionSettings
from discreet.pgwire.setting_statements import copied_query, explained_statement, run_setting, shown_setting
from discreet.pgwire.sqlstates import Refused
from discreet.pgwire.statement_kinds import statement


@pytest.fixture
def settings() -> SessionSettings:
    return SessionSettings(user="ann")


@pytest.mark.parametrize(
    ("sql", "name", "value"),
    [
        ("SET discreet.epsilon = 0.1", "discreet.epsilon", "0.1"),
        ("set session discreet.epsilon to '0.25'", "discreet.epsilon", "0.25"),
        ("SET discreet.within = 'n=25, v=0.5';", "discreet.within", "n=25, v=0.5"),
        ("SET discreet.intervals TO on", "discreet.intervals", "on"),
        ("SET application_name = 'it''s a tool'", "application_name", "it's a tool"),
        ('SET search_path TO public, "$user"', "search_path", "public, $user"),
        ("SET TIME ZONE 'Europe/Berlin'", "timezone", "UTC"),
        ("SET NAMES 'UTF8'", "client_encoding", "UTF8"),
        ("SET extra_float_digits = 3", "extra_float_digits", "3"),
    ],
)
def test_set(settings: SessionSettings, sql: str, name: str, value: str) -> None:
    done = run_setting(statement(sql), settings)
    assert done is not None
    assert done.tag == "SET"
    assert settings.get(name) == value


@pytest.mark.parametrize(
    "sql",
    [
        "SET TRANSACTION READ ONLY",
        "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
        "SET SESSION AUTHORIZATION DEFAULT",
        "SET ROLE ann",
        "SET CONSTRAINTS ALL DEFERRED",
    ],
)
def test_what_changes_nothing_is_accepted(settings: SessionSettings, sql: str) -> None:
    before = settings.everything()
    assert run_setting(statement(sql), settings)
    assert settings.everything() == before


@pytest.mark.parametrize("sql", ["SET ROLE curator", "SET discreet.epsilon", "SET discreet.epsilon 3", "SET"])
def test_what_is_no_setting_is_refused(settings: SessionSettings, sql: str) -> None:
    with pytest.raises(Refused):
        run_setting(statement(sql), settings)


def test_show_and_reset(settings: SessionSettings) -> None:
    run_setting(statement("SET discreet.epsilon = 0.1"), settings)
    assert shown_setting("SHOW discreet.epsilon", settings).rows == (("0.1",),)
    run_setting(statement("RESET discreet.epsilon"), settings)
    assert shown_setting("SHOW discreet.epsilon", settings).rows == (("",),)
    assert shown_setting("SHOW TRANSACTION ISOLATION LEVEL", settings).rows == (("read committed",),)
    assert shown_setting("show time zone", settings).rows == (("UTC",),)
    assert len(shown_setting("SHOW ALL", settings).rows) > 30
    run_setting(statement("SET discreet.intervals = on"), settings)
    for sql in ("RESET ALL", "DISCARD ALL"):
        assert run_setting(statement(sql), settings)
        assert settings.get("discreet.intervals") == "off"
    with pytest.raises(Refused):
        shown_setting("SHOW nothing", settings)


def test_explain() -> None:
    assert explained_statement("EXPLAIN SELECT 1") == ("SELECT 1", False)
    assert explained_statement("explain (format json, costs off) select 1") == ("select 1", True)
    assert explained_statement("EXPLAIN VERBOSE SELECT 1") == ("SELECT 1", False)
    assert explained_statement("EXPLAIN (ANALYZE false) SELECT 1") == ("SELECT 1", False)
    for sql in (
        "EXPLAIN ANALYZE SELECT 1",
        "EXPLAIN (ANALYZE) SELECT 1",
        "EXPLAIN (ANALYZE true, FORMAT json) SELECT 1",
    ):
        with pytest.raises(Refused):
            explained_statement(sql)


def test_copy() -> None:
    assert copied_query("COPY (SELECT 1) TO STDOUT")[1] == {"form": "text", "header": False, "delimiter": None}
    assert copied_query("copy (select (1)) to stdout with (format 'binary')") == (
        "select (1)",
        {"form": "binary", "header": False, "delimiter": None},
    )
    assert copied_query("COPY (SELECT 1) TO STDOUT CSV HEADER DELIMITER ';'")[1]["delimiter"] == ";"
    plain = {"form": "csv", "header": False, "delimiter": None}
    assert copied_query("COPY (SELECT 1) TO STDOUT WITH DELIMITER AS ',' CSV")[1] == {**plain, "delimiter": ","}
    whole = "COPY (SELECT 1) TO STDOUT (FORMAT csv, HEADER false, NULL '', QUOTE '\"', ESCAPE '\"', ENCODING 'UTF8')"
    assert copied_query(whole)[1] == plain
    for sql in (
        "COPY people TO STDOUT",
        "COPY people FROM STDIN",
        "COPY (SELECT 1) TO '/tmp/x'",
        "COPY (SELECT 1) TO PROGRAM 'x'",
        "COPY (SELECT 1) TO STDOUT (FORMAT csv, NULL 'none')",
        "COPY (SELECT 1) TO STDOUT (NULL '')",
        "COPY (SELECT 1) TO STDOUT (FORMAT csv, QUOTE '*')",
        "COPY (SELECT 1) TO STDOUT (FORMAT csv, FORCE_QUOTE *)",
        "COPY (SELECT 1) TO STDOUT (ENCODING 'LATIN1')",
        "COPY (SELECT 1) TO STDOUT (FORMAT parquet)",
        "COPY (SELECT 1) TO STDOUT (FORMAT csv, DELIMITER '\"')",
        "COPY (SELECT 1) TO STDOUT (DELIMITER 'n')",
        "COPY (SELECT 1) TO STDOUT (DELIMITER",
    ):
        with pytest.raises(Refused):
            copied_query(sql)
