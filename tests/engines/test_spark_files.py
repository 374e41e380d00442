"""Which readers of Spark's one row can stop, by their names; with a session in `conformance/test_spark_session.py`."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from discreet.engines.spark_files import far_moments, far_when_stored, guess_refusal, pattern_refusal, reader_refusal
from discreet.engines.spark_parquet_types import NO_TYPE

WHOLE_NUMBERS = ["tinyint", "smallint", "int", "bigint"]


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("csv", {}),
        ("xml", {}),
        ("binaryfile", {}),
        ("json", {"multiline": "true"}),
        ("json", {"mode": "failfast"}),
        ("parquet", {"datetimerebasemode": "Exception"}),
        ("parquet", {"int96rebasemode": "EXCEPTION"}),
        ("parquet", {"ignorecorruptfiles": "True"}),
        ("orc", {"ignoremissingfiles": "true"}),
    ],
)
def test_readers_that_one_row_can_stop(kind: str, options: dict[str, str]) -> None:
    assert reader_refusal(kind, options).startswith(
        "Expected files of which no row can make Spark fail, or pass over other"
    )


@pytest.mark.parametrize(
    ("kind", "options"),
    [("json", {"multiline": "false"}), ("parquet", {"datetimerebasemode": "CORRECTED"}), ("text", {})],
)
def test_other_readers_are_taken(kind: str, options: dict[str, str]) -> None:
    assert reader_refusal(kind, options) == ""


@pytest.mark.parametrize(
    ("kind", "stated", "folders"),
    [
        ("json", None, []),
        ("json", None, ["site"]),
        ("json", ["person"], ["site"]),
        ("parquet", None, ["site"]),
        ("orc", ["Site", "person"], ["site", "year"]),
    ],
)
def test_types_that_nobody_stated(kind: str, stated: list[str] | None, folders: list[str]) -> None:
    """They are those that the rows have, or that the names of folders have: one person makes them others."""
    assert guess_refusal(kind, stated, folders).startswith("Expected columns whose types are stated, got files=")


@pytest.mark.parametrize(
    ("kind", "stated", "folders"), [("json", ["person"], []), ("parquet", None, []), ("parquet", ["Site"], ["site"])]
)
def test_types_that_are_stated(kind: str, stated: list[str] | None, folders: list[str]) -> None:
    assert guess_refusal(kind, stated, folders) == ""


def test_moments_that_may_be_far() -> None:
    columns = {"person": "bigint", "at": "timestamp", "day": "date", "in": "array<timestamp_ntz>"}
    assert far_moments("orc", columns) == far_moments("avro", columns) == {"at", "in"}
    assert far_moments("json", columns) == frozenset()


def test_decimals_of_json_are_left_out() -> None:
    """Of 1e20000000 Spark's reader writes out all digits, for minutes; of more it has no memory for them."""
    columns = {"cost": "decimal(10,2)", "in": "struct<cost:decimal(38,0)>", "at": "timestamp", "x": "double"}
    assert far_moments("json", columns) == {"cost", "in"}
    assert far_moments("orc", columns) == {"at"}
    assert far_moments("parquet", columns) == frozenset()


def test_types_of_files_that_are_read_as_others() -> None:
    """Days far away are no moments, and some no texts: one of them made each look fail."""
    days = [("a", "optional int32 a (DATE)"), ("b", "optional int32 b (DATE)"), ("c", "optional int64 c")]
    assert far_when_stored("parquet", days, {"A": "timestamp_ntz", "b": "date", "c": "bigint"}) == {"A"}
    held = [("A", "date"), ("b", "date"), ("c", "int"), ("d", "char(3)"), ("e", "timestamp")]
    read = {"a": "string", "b": "date", "c": "bigint", "d": "string", "e": "bigint", "f": "date"}
    assert far_when_stored("orc", held, read) == {"a", "e"}
    unnamed = [("_col0", "int"), ("_col1", "date")]
    assert far_when_stored("orc", unnamed, {"person": "bigint", "day": "string"}) == {"day"}


def test_numbers_of_parquet_that_are_read_as_others() -> None:
    """Of 261 in 32 bits a column of 8 has 5, which no statistics of a file say; doubles are no whole numbers."""
    forms = ["a", "a (INTEGER(16,true))", "a (INTEGER(8,true)) = 3", "a (INTEGER(16,false))", "a (INTEGER(32,false))"]
    taken = {
        form: [
            of for of in WHOLE_NUMBERS if not far_when_stored("parquet", [("a", f"optional int32 {form}")], {"A": of})
        ]
        for form in forms
    }
    assert list(taken.values()) == [WHOLE_NUMBERS[2:], WHOLE_NUMBERS[1:], WHOLE_NUMBERS, WHOLE_NUMBERS[2:], ["bigint"]]
    held = [
        ("a", "optional double a"),
        ("b", "required int64 b"),
        ("c d", "optional int64 c d (TIMESTAMP(NANOS,true))"),
    ]
    assert far_when_stored("parquet", held, {"a": "double", "b": "bigint", "c d": "bigint", "e": "int"}) == frozenset()
    assert far_when_stored("parquet", held, {"a": "bigint", "b": "double", "c d": "int"}) == {"a", "b", "c d"}


def test_texts_and_decimals_of_parquet_that_are_others() -> None:
    """A text that is missing in all rows of a file has no type there: each release failed, after its charge."""
    moments, texts = ["timestamp", "timestamp_ntz"], ["string", "varchar(3)", "string collate UTF8_LCASE"]
    decimals = ["decimal(9,2)", "decimal(12,2)", "decimal(12,3)", "decimal(22,2)"]
    forms = {
        "int32": ["date", "decimal(12,2)", "decimal(22,2)"],
        "int32 (INTEGER(16,true))": ["date", "decimal(12,2)", "decimal(22,2)"],
        "int32 (INTEGER(32,false))": [],
        "int32 (DATE)": ["date"],
        "int64 (INTEGER(64,true))": ["decimal(22,2)"],
        "int64 (TIMESTAMP(MICROS,false))": moments,
        "int64 (TIMESTAMP(NANOS,true))": [],
        "int64 (DECIMAL(10,2))": decimals[1:],
        "int96": moments,
        "binary (STRING)": texts,
        "fixed_len_byte_array(4) (DECIMAL(9,2))": decimals,
        "fixed_len_byte_array(1)": [],
        "double": [],
    }
    for form, taken in forms.items():
        physical, _, rest = form.partition(" ")
        held = [("A", f"optional {physical} A {rest}".rstrip())]
        kinds = ["date", *moments, *texts, *decimals]
        assert [kind for kind in kinds if not far_when_stored("parquet", held, {"a": kind})] == taken, form
    assert not far_when_stored("parquet", [("a", "optional group a {")], {"a": "array<int>", "b": "string"})


def test_parts_of_columns_of_parquet_that_are_others() -> None:
    """A day in a structure is no moment, either; nor is a text that is missing in all rows one."""

    def read(told: str, of: str) -> bool:
        return not far_when_stored("parquet", [("a", told)], {"A": of})

    def nested(**parts: object) -> str:
        return json.dumps({"type": "struct", "fields": [{"name": name, "type": of} for name, of in parts.items()]})

    moment = nested(at="timestamp_ntz", more="string")
    assert read(nested(At="timestamp_ntz"), moment)
    assert read(nested(other="date"), moment)
    for told in (nested(at="date"), nested(at="timestamp_ntz", AT="timestamp_ntz"), "optional int32 a", NO_TYPE):
        assert not read(told, moment)
    held = {"type": "map", "keyType": "string", "valueType": {"type": "array", "elementType": "date"}}
    assert read(nested(m=held), nested(m=held))
    assert not read(nested(m=held), nested(m={**held, "valueType": {"type": "array", "elementType": "timestamp"}}))
    forms = ("binary a", "fixed_len_byte_array(4) a", "int32 a (UNKNOWN)")
    assert [read(f"optional {form}", "binary") for form in forms] == [True, True, False]


def test_columns_of_a_file_that_spark_takes_for_one() -> None:
    """Each release that read them failed, after its charge."""
    twice = [("v", "optional double v"), ("w", "optional int64 w"), ("V", "optional double V")]
    assert far_when_stored("parquet", twice, {"v": "double", "w": "bigint"}) == {"v"}
    assert far_when_stored("orc", [(name, "double") for name, _ in twice], {"V": "double", "w": "double"}) == {"V"}


@pytest.mark.parametrize("name", ["dateformat", "timestampformat", "timestampntzformat"])
def test_patterns_that_spark_does_not_know(name: str) -> None:
    """Of YYYY it says so at the first text that should be a day; see `conformance` for a session."""

    def sql(statement: str, args: dict[str, str]) -> Any:
        if "Y" in args["pattern"]:
            raise ValueError(statement)
        return SimpleNamespace(collect=list)

    session = SimpleNamespace(sql=sql)
    assert pattern_refusal(session, "json", {name: "dd.MM.yyyy", "mode": "YYYY"}) == ""
    assert pattern_refusal(session, "json", {name: "YYYY"}).startswith(
        "Expected a pattern that Spark knows, got option"
    )
    assert pattern_refusal(session, "parquet", {name: "YYYY"}) == ""
