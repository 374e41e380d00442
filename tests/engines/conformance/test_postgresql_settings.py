"""Settings, encodings and names of a PostgreSQL server: none moves or fails an answer, no code of others runs."""

from __future__ import annotations

import datetime
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import ibis
import pytest

import discreet as dp
from discreet.engines.postgresql_settings import CURATORS, FIRST, SETTINGS
from discreet.query.table import PrivateTable

pytestmark = pytest.mark.engine("postgresql")

UNSETTLED = {
    "how a statement is computed, not what": """
        enable_ geqo cost _cost jit parallel work_mem hash_mem_multiplier _io_concurrency _collapse_limit
        cursor_tuple_fraction default_statistics_target effective_cache_size plan_cache_mode recursive_worktable_factor
        temp_buffers temp_tablespaces backend_flush_after constraint_exclusion debug_discard_caches max_stack_depth
        stats_fetch_consistency""",
    "in which order rows are read, which every statement here sorts or forgets": "synchronize_seqscans",
    "what is written, and to where; nothing is": """
        vacuum_ wal_ commit_ synchronous_commit default_table_access_method default_tablespace default_toast_compression
        gin_pending_list_limit logical_decoding_work_mem lo_compat_privileges allow_in_place_tablespaces
        allow_system_table_mods check_function_bodies quote_all_identifiers password_encryption
        session_replication_role""",
    "what goes to the server's log and counters, or to the curator as a notice": """
        log_ debug_print debug_pretty_print track_ trace_ application_name backtrace_functions client_min_messages
        compute_query_id update_process_title lc_messages escape_string_warning""",
    "the network, and the life of the connection between transactions": """
        tcp_ client_connection_check_interval idle_session_timeout deadlock_timeout exit_on_error""",
    "what is there already when a transaction of ours begins": """
        default_transaction_ transaction_deferrable transaction_isolation transaction_read_only""",
    "a superuser's, who is trusted": """
        dynamic_library_path extension_destdir preload_libraries ignore_checksum_failure zero_damaged_pages
        temp_file_limit""",
}
"""All others that a session may set, and why they are left alone; a part of a name stands for all that have it."""
OTHERS: dict[str, tuple[str, ...]] = {
    "client_encoding": ("LATIN1", "WIN1252", "SQL_ASCII", "EUC_JP"),
    "search_path": ("theirs, public", "theirs, public, pg_catalog", ""),
    "DateStyle": ("German", "SQL, DMY", "Postgres, MDY"),
    "TimeZone": ("Asia/Tokyo", "America/St_Johns"),
    "extra_float_digits": ("-15", "0", "3"),
    "gin_fuzzy_search_limit": ("1",),
    **dict.fromkeys(("idle_in_transaction_session_timeout", "lock_timeout", "statement_timeout"), ("9s",)),
    "transaction_timeout": ("9s",),
    "restrict_nonsystem_relation_kind": ("view", "view, foreign-table"),
}
"""Other values of those that are neither switches nor lists of words."""
_names = itertools.count(1)


@pytest.fixture
def postgresql(backend_of: Callable[[str], Any], other: str) -> Any:
    assert other == "postgresql"
    backend = backend_of(other)
    backend.raw_sql("CREATE SCHEMA IF NOT EXISTS theirs")
    backend.raw_sql(
        "DROP TABLE IF EXISTS settled CASCADE; CREATE TABLE settled"
        " (who int, word text, at timestamptz, x float8, d numeric);"
        "INSERT INTO settled VALUES (1, 'a\\b', '2026-01-01 20:00+00', 0.1, 0.25), (2, NULL, NULL, NULL, NULL),"
        " (3, 'NULL', '2026-01-02 03:00+00', 1e-300, 1), (4, '€', '1066-10-14 00:00+00', 'Infinity', 'NaN');"
        "CREATE VIEW slow AS SELECT * FROM settled WHERE pg_sleep(0.25) IS NOT NULL"
    )
    return backend


def known(backend: Any) -> dict[str, list[str]]:
    """What a session may set, and the words that it may be set to."""
    found = backend.raw_sql(
        "SELECT name, CASE vartype WHEN 'bool' THEN '{on,off}' ELSE enumvals END FROM pg_settings "
        "WHERE context IN ('user', 'superuser')"
    ).fetchall()
    return {name: list(words or []) if not isinstance(words, str) else words[1:-1].split(",") for name, words in found}


def test_every_setting_is_decided(postgresql: Any) -> None:
    parts = [part for group in UNSETTLED.values() for part in group.split()]
    left = {name for name in known(postgresql) if any(part in name for part in parts)}
    assert left | {*FIRST, *SETTINGS, *CURATORS} >= set(known(postgresql))
    assert not left & {*FIRST, *SETTINGS, *CURATORS}


@contextmanager
def opened(postgresql: Any, **settings: str) -> Iterator[Any]:
    """A connection of a role whose defaults these are."""
    role, con = f"settled_{next(_names)}", postgresql.con
    with con.transaction():
        con.execute(f"CREATE ROLE {role} LOGIN SUPERUSER")
        for name, value in settings.items():
            shown = value or "''" if name in ("search_path", "DateStyle") else f"'{value}'"
            con.execute(f"ALTER ROLE {role} SET {name} = {shown}")
    backend = None
    try:
        backend = ibis.postgres.connect(host=con.info.host, user=role, database=con.info.dbname)
        yield backend
    finally:
        if backend is not None:
            backend.disconnect()
        con.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")


def protected(backend: Any, name: str = "settled", **stated: Any) -> PrivateTable:
    facts: dict[str, Any] = {"unit": "who", "bounds": {"x": (0, 1)}, "name": name, "max_rows": 1, "max_groups": 9}
    return dp.protect(backend.table(name), budget=dp.Budget(epsilon=10**9, delta=0.5), **facts | stated)


KEYS: list[Any] = ["a\\b", None, "NULL", "€", "nobody's"]


def asked(table: PrivateTable) -> list[Any]:
    """Totals by public keys and over public rows, literals, times and reals, all but without noise."""
    by = table.group_by("word", keys={"word": KEYS}).agg(n=lambda t: t.count(), m=lambda t: t.x.sum())
    one = table.agg(
        day=table.at.count(where=table.at.date() == datetime.date(2026, 1, 2)),
        evening=table.at.count(where=table.at == "2026-01-01T20:00"),
        like=table.word.count(where=table.word.like("a\\_")),
        null=table.word.count(where=(table.word == "x").isnull()),
        tenth=table.x.count(where=table.x == 0.1),
    )
    found, counts = (question.release(epsilon=10**6) for question in (by, one))
    groups = zip(found.to_pyarrow()["word"].to_pylist(), found["n"].tolist(), found["m"].round(2).tolist(), strict=True)
    return [*map(list, groups), *(counts[name].tolist() for name in ("day", "evening", "like", "null", "tenth"))]


@pytest.mark.long
def test_settings_of_roles_and_sessions_move_nothing(postgresql: Any) -> None:
    """Each at each of its other values, as the default of a role, and set once more after the table is protected."""
    with opened(postgresql) as backend:
        wanted = asked(protected(backend))
    assert [row[:2] for row in wanted[:5]] == [[key, key != "nobody's"] for key in KEYS]
    words, tried = known(postgresql), 0
    for name, value in {**FIRST, **SETTINGS}.items():
        if name not in words:
            continue  # another version's
        assert words[name] or OTHERS[name]
        for other in {*words[name], *OTHERS.get(name, ())} - {value}:
            late = {"client_encoding", "search_path", "restrict_nonsystem_relation_kind"}  # Ibis itself needs these
            with opened(postgresql, **({} if name in late else {name: other})) as backend:
                table = protected(backend)
                backend.con.execute("SELECT set_config(%s, %s, false)", [name, other])
                assert asked(table) == wanted, (name, other)
                with table._source._engine._read_only() as cursor:  # type: ignore[attr-defined]  # the curator's source
                    [now] = cursor.execute(f"SHOW {name}").fetchone()
                    assert now == value or (name == "DateStyle" and now.startswith("ISO, "))  # the order is theirs
                assert backend.con.execute(f"SHOW {name}").fetchone() != (value,)
            tried += 1
    assert tried > len(SETTINGS)


@pytest.mark.long
def test_a_statement_takes_as_long_as_it_takes(postgresql: Any) -> None:
    """However many rows one person makes it read."""
    with opened(postgresql, statement_timeout="500ms") as backend:
        with pytest.raises(Exception, match="statement timeout"):
            backend.con.execute("SELECT * FROM slow")
        table = protected(backend, "slow")
        assert table.agg(n=lambda t: t.count()).release(epsilon=10**5)["n"].tolist() == [4]


WAITING = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


def test_nothing_that_others_write_fails_a_release(postgresql: Any) -> None:
    """In a serializable transaction, a row fails it that another one changes, which has read what a third one wrote."""
    postgresql.raw_sql(
        "DROP TABLE IF EXISTS third; CREATE TABLE third AS SELECT 1 AS y; CREATE VIEW waits AS SELECT s.* FROM"
        " (SELECT pg_advisory_xact_lock(4712)) AS w CROSS JOIN LATERAL (SELECT * FROM settled OFFSET 0) AS s"
    )

    def write(con: Any) -> None:
        """As soon as the reader waits, which has begun by then."""
        for _ in range(3000):
            if postgresql.con.execute(WAITING).fetchone() == (1,):
                break
            time.sleep(0.01)
        con.execute("UPDATE settled SET x = x WHERE who = 1; COMMIT")
        con.execute("SELECT pg_advisory_unlock(4712)")

    with opened(postgresql, default_transaction_isolation="serializable") as backend, opened(postgresql) as other:
        for fails in (True, False):
            table = protected(backend, "waits")
            other.con.execute("SELECT pg_advisory_lock(4712)")
            other.con.execute("BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT * FROM third")
            postgresql.con.execute("BEGIN ISOLATION LEVEL SERIALIZABLE; UPDATE third SET y = y + 1; COMMIT")
            writer = threading.Thread(target=write, args=(other.con,))
            writer.start()
            if fails:
                with pytest.raises(Exception, match="could not serialize"):  # the fault itself
                    backend.con.execute("SELECT * FROM waits")
            else:
                assert table.agg(n=lambda t: t.count()).release(epsilon=10**5)["n"].tolist() == [4]
            writer.join()


def test_what_views_depend_on_is_kept(postgresql: Any) -> None:
    with opened(postgresql) as backend:
        backend.con.execute("SET xmloption = 'document'; SET default_text_search_config = 'pg_catalog.german'")
        table = protected(backend, "settled")
        backend.con.execute("SET xmloption = 'content'; SET default_text_search_config = 'pg_catalog.simple'")
        with table._source._engine._read_only() as cursor:  # type: ignore[attr-defined]  # the curator's source
            shown = [cursor.execute(f"SHOW {name}").fetchone()[0] for name in ("xmloption", CURATORS[0])]
    assert shown == ["document", "pg_catalog.german"]


@pytest.mark.parametrize(("order", "text"), [("DMY", "13/02/2020"), ("MDY", "02/13/2020"), ("YMD", "20/02/13")])
def test_days_in_texts_are_those_of_the_session_that_protected_them(postgresql: Any, order: str, text: str) -> None:
    """In another order one such row would make each release of its view fail, though the view does not fail there."""
    with opened(postgresql, DateStyle=f"Postgres, {order}") as backend:
        backend.con.execute(
            f"CREATE TEMP TABLE told AS SELECT 1 AS who, '{text}' AS day; "  # noqa: S608 (our own)
            "CREATE TEMP VIEW days AS SELECT who, day::date AS day FROM told"
        )
        backend.con.commit()
        table = protected(backend, "days", bounds={})
        backend.con.execute("SET DateStyle = 'German, " + {"DMY": "MDY", "MDY": "YMD", "YMD": "DMY"}[order] + "'")
        found = table.agg(n=table.day.count(where=table.day == datetime.date(2020, 2, 13))).release(epsilon=10**5)
    assert found["n"].tolist() == [1]


@pytest.mark.parametrize("style", ["sql_standard", "iso_8601", "postgres_verbose", "postgres"])
def test_intervals_and_bytes_in_texts_are_those_of_the_session(postgresql: Any, style: str) -> None:
    """A key that the curator sees was in no row, and -1 2:03:04, in the standard's style all negative, another time."""
    with opened(postgresql, IntervalStyle=style, bytea_output="escape") as backend:
        backend.con.execute(
            "CREATE TEMP TABLE told AS SELECT 1 AS who, '-1 2:03:04' AS lasted, timestamp '2026-03-01 00:00' AS at;"
            "CREATE TEMP VIEW read AS SELECT who, at, extract(epoch FROM lasted::interval)::int AS seconds,"
            " interval '1 day -2 hours'::text AS word, 'A'::bytea::text AS bytes FROM told"
        )
        [(seconds, word, bytes_)] = backend.con.execute("SELECT seconds, word, bytes FROM read").fetchall()
        table = protected(backend, "read", bounds={})
        backend.con.execute("SET IntervalStyle = 'postgres'; SET bytea_output = 'hex'")
        back = table.at - ibis.interval(hours=25) + ibis.interval(minutes=-5) - ibis.interval(months=1)
        found = table.agg(
            seconds=table.who.count(where=table.seconds == seconds),
            word=table.who.count(where=table.word == word),
            bytes=table.who.count(where=table.bytes == bytes_),
            back=table.who.count(where=back == "2026-01-27T22:55"),
        ).release(epsilon=10**5)
    assert bytes_ == "A"
    assert [found[name].tolist() for name in ("seconds", "word", "bytes", "back")] == [[1]] * 4


# -- other accounts ---------------------------------------------------------------------------------------------------

ATTACK = """
    DROP SCHEMA IF EXISTS theirs CASCADE; CREATE SCHEMA theirs;
    CREATE TABLE theirs.stolen (what text); GRANT INSERT ON theirs.stolen TO PUBLIC;
    CREATE FUNCTION theirs.spy(l float8, r int4) RETURNS boolean LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_advisory_lock(4711); RETURN l OPERATOR(pg_catalog.>) r::float8; END $$;
    CREATE OPERATOR theirs.>= (LEFTARG = float8, RIGHTARG = int4, FUNCTION = theirs.spy);
    CREATE OPERATOR theirs.<= (LEFTARG = float8, RIGHTARG = int4, FUNCTION = theirs.spy);
    CREATE OPERATOR theirs.> (LEFTARG = float8, RIGHTARG = int4, FUNCTION = theirs.spy);
    CREATE FUNCTION theirs.spy(l text, r text) RETURNS boolean LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_advisory_lock(4711); RETURN true; END $$;
    CREATE OPERATOR theirs.= (LEFTARG = text, RIGHTARG = text, FUNCTION = theirs.spy);
    CREATE FUNCTION theirs.floor(float8) RETURNS float8 LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_advisory_lock(4711); RETURN 0; END $$;
"""
LOCKED = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"


@pytest.mark.parametrize("path", ["theirs, public, pg_catalog", "public, theirs"])
def test_no_operator_of_others_is_run(postgresql: Any, path: str) -> None:
    """An advisory lock, which outlasts a transaction that is undone, shows whether a function of theirs was run."""
    postgresql.raw_sql(ATTACK)
    with opened(postgresql) as backend:
        wanted = asked(protected(backend))
        table = backend.table("settled").filter(ibis._.who >= 0)
        backend.con.execute(f"SET search_path = {path}")
        assert backend.con.execute("SELECT 2.0::float8 >= 1").fetchone() == (True,)
        assert postgresql.raw_sql(LOCKED).fetchone() == (1,)  # the attack itself works
        backend.con.execute("SELECT pg_catalog.pg_advisory_unlock_all()")
        protecting = dp.protect(
            table, unit="who", budget=dp.Budget(epsilon=10**9), bounds={"x": (0, 1)}, name="s", max_rows=1
        )
        backend.con.execute("SET search_path = public")
        seen = protected(backend)
        backend.con.execute(f"SET search_path = {path}")
        assert asked(seen) == wanted
        some = protecting.filter(protecting.x.floor() >= 0).agg(n=lambda t: t.count(where=t.x >= 1))
        some.release(epsilon=10**5)
        assert postgresql.raw_sql(LOCKED).fetchone() == (0,)


def test_names_are_settled_once(postgresql: Any) -> None:
    """A table of the same name that appears in an earlier schema, or as a temporary one, is not read instead."""
    with opened(postgresql) as backend:
        table = protected(backend, "settled")
        backend.con.execute("CREATE TEMP TABLE settled AS SELECT * FROM public.settled WHERE false")
        assert asked(table)[1][1] == 1
        assert asked(protected(backend, "settled"))[1][1] == 0
        backend.con.execute('CREATE TABLE "theirs"."odd "" name" AS SELECT * FROM public.settled')
        odd = backend.table('odd " name', database="theirs")
        table = dp.protect(odd, unit="who", budget=dp.Budget(epsilon=10**6), name="odd", max_rows=1)
        assert table.agg(n=lambda t: t.count()).release(epsilon=10**5)["n"].tolist() == [4]


def test_a_table_of_text_is_refused(postgresql: Any) -> None:
    with pytest.raises(dp.InvalidQuery, match="a table of SQL text"):
        dp.protect(postgresql.sql("SELECT * FROM settled"), unit="who", budget=dp.Budget(epsilon=1))


def test_names_alike_in_63_bytes_are_told_apart(postgresql: Any) -> None:
    long, other, accents, made = "a" * 50 + "x", "a" * 50 + "y", "é" * 31, "m" * 80
    postgresql.raw_sql(
        f'DROP TABLE IF EXISTS longest; CREATE TABLE longest (who int, "{long}" int, "{other}" text, "{accents}" int);'  # noqa: S608 (names of ours)
        f"INSERT INTO longest SELECT i, i % 2, CASE i % 3 WHEN 0 THEN 'u' ELSE 'v' END FROM generate_series(1, 60) AS i"
    )
    table = dp.protect(
        postgresql.table("longest"), unit="who", max_rows=1, max_groups=1, bounds={long: (0, 1)}, name="longest",
        keys={long: [0, 1], other: ["u", "v"], accents: [1, None]}, budget=dp.Budget(epsilon=10**9, delta=0.1),
    )  # fmt: skip
    table = table.mutate(**{f"{made}1": table[long] + 1, f"{made}2": table[long] + 2})
    for names, keys, wanted in (
        ((long, other), None, [10, 20, 10, 20]),
        ((long, accents), None, [0, 30, 0, 30]),
        ((f"{made}1", f"{made}2"), {f"{made}1": [1, 2], f"{made}2": [2, 3]}, [30, 0, 0, 30]),
    ):
        grouped = table.group_by(*names, keys=keys) if keys else table.group_by(*names)
        answer = grouped.agg(**{f"{made}s": lambda t: t.count(), f"{made}t": lambda t: t[long].sum()})
        assert answer.release(epsilon=10**6)[f"{made}s"].tolist() == wanted
    found = table.group_by(f"{made}1", other, keys=dp.UNKNOWN).agg(n=lambda t: t.count())
    assert found.release(epsilon=900, delta=1e-3)["n"].tolist() == [10, 20, 10, 20]


# -- encodings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["WIN1252", "SQL_ASCII", "LATIN1"])
def test_servers_of_other_encodings_are_refused(postgresql: Any, encoding: str) -> None:
    """Before anything is charged: of their bytes some are no text here, and one row that has them would show."""
    con, name = postgresql.con, f"in_{encoding.lower()}"
    con.execute(f"DROP DATABASE IF EXISTS {name}")
    con.execute(f"CREATE DATABASE {name} ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    backend = ibis.postgres.connect(host=con.info.host, user=con.info.user, database=name)
    try:
        backend.con.execute("SET client_encoding = 'UTF8'; CREATE TABLE log (who int, what text)")
        budget = dp.Budget(epsilon=1, delta=1e-6)
        with pytest.raises(dp.InvalidParameter, match=f"server_encoding='{encoding}'"):
            dp.release_log(backend.table("log"), user="who", item="what", epsilon=1, delta=1e-7, budget=budget)
        with pytest.raises(dp.InvalidParameter, match=f"server_encoding='{encoding}'"):
            dp.public(backend.table("log"))
        assert budget.spent.epsilon == 0
    finally:
        backend.disconnect()
        con.execute(f"DROP DATABASE {name}")


def test_texts_of_every_kind_are_candidates(postgresql: Any) -> None:
    """Whatever a person writes: unknown keys and a log find the others' as before."""
    texts = [
        "€",
        "\udcff".encode(errors="replace").decode(),
        "\r\n",
        '"',
        "\\.",
        "",
        "\u202e",
        "\U0010ffff",
        "x" * 10**6,
    ]
    with opened(postgresql) as backend, postgresql.con.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS odd_texts; CREATE TABLE odd_texts (who int, what text)")
        cursor.execute("INSERT INTO odd_texts SELECT i, 'x' FROM generate_series(1, 60) AS i")
        cursor.execute(
            "INSERT INTO odd_texts SELECT 60 + i, t FROM unnest(%s::text[]) WITH ORDINALITY AS u (t, i)", [texts]
        )
        cursor.execute("INSERT INTO odd_texts SELECT 100 + i, E'a\\r\\nb\"' FROM generate_series(1, 60) AS i")
        log = dp.release_log(backend.table("odd_texts"), user="who", item="what", epsilon=20, delta=1e-9, max_items=1)
        assert sorted(log.items["what"].to_pylist()) == ['a\r\nb"', "x"]
        backend.con.execute("SET client_encoding = 'LATIN1'")
        table = dp.protect(
            backend.table("odd_texts"), unit="who", budget=dp.Budget(epsilon=20, delta=1e-6), name="o", max_rows=1
        )
        found = table.group_by("what", keys=dp.UNKNOWN, max_groups=1).agg(n=lambda t: t.count())
        assert found.release(epsilon=20, delta=1e-6).to_pyarrow()["what"].to_pylist() == ['a\r\nb"', "x"]
