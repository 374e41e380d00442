"""The types of columns of Parquet files, and which of these Spark reads as the types of a table.

Claim
    Where `fits` says yes of a column of a file, no value of its type makes Spark fail on it, or is read by its last
    bits; moments in milliseconds apart.
Requires
    That no decimal has more digits than the column of the file states.
Relies on
    Parquet's text of a type; Spark's conversion of a file's schema.
Proof
    Of 32 bits of Parquet Spark gives the last 8 or 16 to a column of so many, and fails on each file that has another
    type than those of `FORMS`, which a writer may choose by the rows: a text that is missing everywhere has none. Days
    far away are no moments. A column with parts (a structure, an array, a map) has to have each part that is read in
    the very type that is read, told in JSON on both sides, or to lack it.
Rounding
    None.
Source
    Spark 4.0: ParquetVectorUpdaterFactory, ParquetRowConverter, ParquetToSparkSchemaConverter.
Mutant
    days-read-as-moments: a day is taken for a moment; killed by test_types_of_files_that_are_read_as_others.
    texts-of-no-type, decimals-of-more-digits: a text, or a decimal, is taken for one in each file; killed by
    test_texts_and_decimals_of_parquet_that_are_others.
    parts-of-other-types: types of parts are not asked; killed by
    test_parts_of_columns_of_parquet_that_are_others.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

MILLISECONDS = re.compile(r"TIMESTAMP\(MILLIS|TIMESTAMP_MILLIS")
TEXTS = ("string", "char", "varchar")
SHORT = r"int32(?! \(INTEGER\(32,false).*"
MOMENT = r"int96|int64 \(TIMESTAMP\(MICROS.*"
FORMS = {
    "boolean": r"boolean",
    "tinyint": r"int32 \(INTEGER\(8,true\)\)",
    "smallint": r"int32 \(INTEGER\((?:8,\w+|16,true)\)\)",
    "int": SHORT,
    "bigint": r"int32.*|int64(?! \(INTEGER\(64,false).*",
    "float": r"float",
    "double": r"double|float|int32.*",
    "date": SHORT,
    "timestamp": MOMENT,
    "timestamp_ntz": MOMENT,
    **dict.fromkeys(TEXTS, r"binary.*"),
    "binary": r"binary.*|fixed_len_byte_array.*",
}
"""How Parquet may have a column of a type: numbers in no more bits than it has, and all in a way that Spark reads."""
NESTED = "{"
"""How the JSON of a type that has parts begins."""
NO_TYPE = '{"type": ""}'
DIGITS = re.compile(r"(?i)decimal\((\d+),(\d+)\)")
WHOLE_NUMBER = re.compile(r"int(32|64)(?: \(INTEGER\(\d+,true\)\))?")
Types = list[tuple[str, str]]
"""The names of columns and their types, in the order of a file or of a relation."""


def form_of(name: str, stored: str) -> str:
    """How Parquet has a column, of its description.

    >>> form_of("a b", "optional int32 a b (INTEGER(16,true)) = 5")
    'int32 (INTEGER(16,true))'
    """
    if stored.startswith(NESTED):
        return stored
    _, physical, rest = stored.split(" ", 2)
    return physical + rest[len(name) :].partition(" = ")[0]


def fits(form: str | None, read: str) -> bool:
    """Whether a file lacks a column, or has it in a form that Spark reads as a type, and not by its last bits.

    >>> fits("binary (STRING)", "string"), fits("int32 (UNKNOWN)", "string"), fits("int64", "decimal(18,2)")
    (True, False, False)
    """
    if form is None:
        return True
    if read.startswith(NESTED):
        return form.startswith(NESTED) and _fits_inside(json.loads(form), json.loads(read))
    kind = read.partition("(")[0].partition(" ")[0]  # a text may have a length, or a collation
    if kind != "decimal":
        return kind not in FORMS or bool(re.fullmatch(FORMS[kind], form))
    precision, scale = map(int, DIGITS.findall(read)[0])
    if number := WHOLE_NUMBER.fullmatch(form):
        return precision - scale >= {"32": 10, "64": 20}[number[1]]
    held = DIGITS.search(form)
    digits, places = (int(held[1]), int(held[2])) if held else (math.inf, 0)
    return scale >= places and precision - scale >= digits - places


def _fits_inside(stored: Any, read: Any) -> bool:
    """Whether a file has each part of a nested type as the type that is read, or lacks it.

    >>> read = {"type": "struct", "fields": [{"name": "day", "type": "timestamp_ntz"}]}
    >>> _fits_inside({"type": "struct", "fields": [{"name": "Day", "type": "date"}]}, read)
    False
    >>> _fits_inside({"type": "struct", "fields": []}, read)
    True
    """
    if isinstance(stored, str) or isinstance(read, str) or stored["type"] != read["type"]:
        return bool(stored == read)
    pairs = [(stored[part], read[part]) for part in ("elementType", "keyType", "valueType") if part in read]
    for one in read.get("fields", ()):
        held = [other["type"] for other in stored["fields"] if other["name"].lower() == one["name"].lower()]
        if len(held) > 1:
            return False
        pairs += [(other, one["type"]) for other in held]
    return all(_fits_inside(*pair) for pair in pairs)


def told_type(kind: str, read: Any) -> str:
    """A type of Spark's in words; those of Parquet that have parts in JSON, as the files' own."""
    told = str(read.json())
    return told if kind == "parquet" and told.startswith(NESTED) else str(read.catalogString())


def parquet_types(java: Any, path: Any, conf: Any, known: dict[str, Types]) -> Types:
    """The columns of a file, by its footer; `known` are those of schemas that were seen before, by their texts."""
    parquet = java.org.apache.parquet.hadoop
    reader = parquet.ParquetFileReader.open(parquet.util.HadoopInputFile.fromPath(path, conf))
    try:
        schema = reader.getFooter().getFileMetaData().getSchema()
        if (written := str(schema.toString())) not in known:
            each = ((schema.getFields().get(i), i) for i in range(schema.getFields().size()))
            known[written] = [
                (str(one.getName()), str(one.toString()) if one.isPrimitive() else _nested(java, schema, i))
                for one, i in each
            ]
        return known[written]
    finally:
        reader.close()


def _nested(java: Any, schema: Any, place: int) -> str:
    """What Spark makes of a column of Parquet with parts, in JSON; no type where it fails, or has milliseconds."""
    alone = java.org.apache.parquet.schema.MessageType("alone", schema.getFields().subList(place, place + 1))
    spark = java.org.apache.spark.sql
    converter = spark.execution.datasources.parquet.ParquetToSparkSchemaConverter(spark.internal.SQLConf.get())
    if MILLISECONDS.search(str(alone.toString())):
        return NO_TYPE
    try:
        return str(converter.convert(alone).apply(0).dataType().json())
    except Exception:  # noqa: BLE001 (Java)
        return NO_TYPE
