from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.engines.duckdb import DuckDB
from discreet.errors import DiscreetError, InvalidParameter
from discreet.service.asks import Ask, amount
from service_fixtures import Clock, service_in

SQL = {"sql": "SELECT COUNT(*) FROM people"}


@pytest.mark.parametrize(
    "asked",
    [
        None,
        [],
        "x",
        {},
        {"question": None},
        {"question": {}},
        {"question": {"sql": ""}},
        {"question": {"sql": "x" * 20_001}},
        {"question": {"sql": "SELECT \0"}},
        {"question": {"sql": "SELECT \ud800"}},
        {"question": {"sql": 1}},
        {"question": {**SQL, "path": "/etc/passwd"}},
        {"question": {**SQL, "max_rows": 0}},
        {"question": {**SQL, "max_rows": True}},
        {"question": {**SQL, "keys": {"plan": []}}},
        {"question": {**SQL, "keys": {"plan": [1.5]}}},
        {"question": {**SQL, "keys": {"plan": "keys.parquet"}}},
        {"question": {**SQL, "keys": "keys.parquet"}},
        {"question": {**SQL, "keys": ["unknown"]}},
        {"question": {**SQL, "keys": {"plan": "unknown", "age": [1]}}},
        {"question": {**SQL, "keys": {"plan": "unknown", "age": "unknown-by-count"}}},
        {"question": {**SQL, "document": {}}},
        {"question": {"document": "x"}},
        {"question": SQL, "price": {"epsilon": "0"}},
        {"question": SQL, "price": {"epsilon": "-1"}},
        {"question": SQL, "price": {"epsilon": "nan"}},
        {"question": SQL, "price": {"epsilon": "inf"}},
        {"question": SQL, "price": {"epsilon": "1e999"}},
        {"question": SQL, "price": {"epsilon": "1/0"}},
        {"question": SQL, "price": {"epsilon": True}},
        {"question": SQL, "price": {"epsilon": "٣"}},
        {"question": SQL, "price": {"epsilon": "1", "rho": "1"}},
        {"question": SQL, "price": {"delta": "1e-6"}},
        {"question": SQL, "price": {"within": {}}},
        {"question": SQL, "price": {"within": {"n": "0"}}},
        {"question": SQL, "price": {"within": {"n": "5"}, "confidence": "1"}},
        {"question": SQL, "price": {"within": {"n": "5"}, "first_look": "0.5"}},
        {"question": SQL, "price": {"first_look": "0.5"}},
        {"question": SQL, "price": {"epsilon": "1", "first_look": "0.95"}},
        {"question": SQL, "price": {"epsilon": "1", "first_look": "0"}},
        {"question": SQL, "fresh": 1},
        {"question": SQL, "weights": {"n": "x"}},
        {"question": SQL, "tables": {"people": "people.parquet"}},
    ],
)
def test_what_is_no_ask_is_refused(asked: Any) -> None:
    with pytest.raises(DiscreetError, match="Expected"):
        Ask.read(asked)


def test_the_part_of_first_looks_is_no_amount_of_privacy() -> None:
    asked = Ask.read({"question": SQL, "price": {"rho": "0.1", "first_look": "0.50"}})
    assert asked.arguments == {"rho": Fraction(1, 10), "first_look": Fraction(1, 2)}
    assert Ask.stored(asked.text) == asked
    with pytest.raises(InvalidParameter, match="an amount"):
        Ask.amounts({"epsilon": "1", "first_look": "0.5"})


@pytest.mark.parametrize("text", ["0.1", "0.10", ".1", "1e-1", "1/10", 0.1, Decimal("0.1"), Fraction(1, 10)])
def test_amounts_are_exact(text: Any) -> None:
    assert amount("epsilon", text) == Fraction(1, 10)


@pytest.mark.parametrize("text", ["0." + "3" * 29, "1e-29", "1e59", "9" * 30 + "/" + "7" * 30])
def test_what_is_charged_can_be_read_again(text: str) -> None:
    """An amount that is accepted is stored as a fraction, by which the job that it pays for is run."""
    asked = Ask.read({"question": {"sql": "SELECT COUNT(*) FROM people"}, "price": {"epsilon": text}})
    assert Ask.stored(asked.text) == asked


@pytest.mark.parametrize("text", ["0." + "3" * 30, "1e-30", "1e61", "1e300", "1e-999"])
def test_what_could_not_be_read_again_is_no_price(text: str) -> None:
    with pytest.raises(InvalidParameter, match="at most 30 digits"):
        amount("rho", text)


def test_equal_asks_have_one_digest_and_are_read_again() -> None:
    one = Ask.read({"question": SQL, "price": {"epsilon": "0.10"}, "fresh": False, "weights": {}})
    other = Ask.read({"price": {"epsilon": 0.1, "rho": None}, "question": SQL})
    assert one.digest == other.digest
    assert Ask.stored(one.text) == one
    assert Ask.read({"question": SQL, "price": {"epsilon": "0.1"}, "fresh": True}).digest != one.digest


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.decimals(allow_nan=True) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ("question", "price", "sql", "keys", "epsilon", "rho", "within", "fresh", "weights", "document", "plan")
            )
            | st.text(max_size=4),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@pytest.mark.long
@given(JSON)
def test_whatever_is_sent_is_an_ask_or_one_clean_refusal(asked: Any) -> None:
    try:
        found = Ask.read(asked)
    except DiscreetError:
        return
    json.dumps(found.canonical)
    assert Ask.stored(found.text) == found


CODE = (
    "SELECT COUNT(*) AS n FROM read_csv('/etc/passwd')",
    "SELECT COUNT(*) AS n FROM 'people.parquet'",
    "SELECT COUNT(*) AS n FROM glob('/*')",
    "SELECT COUNT(*) AS n FROM people WHERE getenv('HOME') = 'x'",
    "SELECT COUNT(*) AS n FROM people WHERE pg_sleep(9) IS NULL",
    "SELECT COUNT(*) AS n FROM people WHERE my_function(age) > 1",
    "SELECT COUNT(*) AS n FROM people; DROP TABLE people",
    "COPY people TO '/tmp/people.csv'",
    "CREATE MACRO f() AS 1",
    "CREATE FUNCTION f() RETURNS int LANGUAGE plpython3u AS 'import os'",
    "DO $$ BEGIN PERFORM 1; END $$",
    "ATTACH '/tmp/other.db' AS other",
    "INSTALL httpfs",
    "PRAGMA database_list",
    "SET threads = 1",
    "CALL pragma_version()",
    "EXPLAIN ANALYZE SELECT COUNT(*) AS n FROM people",
    "WITH x AS (DELETE FROM people RETURNING 1) SELECT COUNT(*) AS n FROM people",
    "SELECT list_transform([1], x -> x) AS n FROM people",
)
OPERATIONS = (
    "eval",
    "exec",
    "python",
    "udf",
    "sql",
    "__class__",
    "py/object",
    "__reduce__",
    "read_csv",
    "map",
    "apply",
)


def documents() -> Iterator[dict[str, Any]]:
    """Code where an expression, a step, an aggregate or a table stands."""
    source = "__import__('os').system('true')"
    for name in OPERATIONS:
        called: Any = {name: [source]}
        plain: dict[str, Any] = {"from": {"table": "people"}, "aggregates": [["n", {"count_star": []}]]}
        for changed in (
            {"from": {"table": "people", "steps": [{"filter": [called]}]}},
            {"from": {"table": "people", "steps": [called]}},
            {"from": called},
            {"aggregates": [["n", called]]},
            {"aggregates": [["n", {"sum": [called]}]]},
            {name: source},
        ):
            yield {"version": 1, "question": {**plain, **changed}}
        yield {"version": 1, name: source}
        yield {"version": 1, "choose": {"from": {"table": "people"}, "candidates": [[1, called], [2, called]]}}
        yield {"version": 1, "top": {"from": {"table": "people"}, "column": source, "k": 1, "keys": [source]}}


def test_no_code_of_an_analyst_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is no listed operation is refused where it is read: no engine sees it, and nothing is charged."""
    service = service_in(tmp_path, Clock())
    ada = service.members.principal("ada")
    ran: list[str] = []
    for module, name in ((os, "system"), (subprocess, "Popen")):
        monkeypatch.setattr(module, name, lambda *_, name=name, **__: ran.append(name))
    monkeypatch.setattr(DuckDB, "totals", lambda *_: ran.append("a look"))
    asked = [{"sql": text} for text in CODE] + [{"document": one} for one in documents()]
    for question in asked:
        for call in (service.explain, service.submit):
            with pytest.raises(DiscreetError, match="Expected"):
                call(ada, {"question": question, "price": {"epsilon": "0.1"}})
    assert ran == []
    assert service.questions(ada, "people") == []
    assert service.budget(ada, "people")[0]["spent"]["epsilon"] == "0"
    service.close()


@pytest.mark.long
def test_asks_of_very_many_columns_are_refused_before_they_are_priced(tmp_path: Path) -> None:
    service = service_in(tmp_path, Clock())
    ada = service.members.principal("ada")
    names = {f"n{i}": "10" for i in range(101)}
    for stated in ({"price": {"within": names}}, {"price": {"epsilon": "0.1"}, "weights": names}):
        with pytest.raises(InvalidParameter, match=r"at most 100 columns, got (within|weights)=101"):
            service.explain(ada, {"question": SQL, **stated})
    for columns in (200, 201):
        items = ", ".join(f"COUNT(*) FILTER (WHERE age = {i}) AS n{i}" for i in range(columns))
        asked = {"question": {"sql": f"SELECT {items} FROM people"}}  # noqa: S608 (ours)
        if columns == 200:
            assert len(service.explain(ada, asked)["answer"]) == 600
        else:
            for call in (service.explain, service.submit):
                with pytest.raises(DiscreetError, match="at most 200 aggregates from a service, got columns=201"):
                    call(ada, asked)
    assert service.budget(ada, "people")[0]["spent"]["epsilon"] == "0"
    service.close()
