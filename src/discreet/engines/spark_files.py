"""Files behind a Spark table: readers that fail on a row, pass over others because of it, or find out types from it,
are refused; columns with values that Spark may fail on are left out.

Claim
    Where `found` says nothing, no row of a file that Spark's readers of Parquet, ORC, Avro, JSON or text read makes a
    look fail, or another row be passed over, by the moments, numbers or decimals in it, by its number of columns, or by
    a record that is none; and no type of a column depends on a row.
Requires
    That files keep the types that they had when their names were first seen, and that no decimal in Parquet, ORC or
    Avro has more digits than its column states; that a source of somebody else's, a reader of Hive's, and a frame that
    was made of objects, fail on no row.
Relies on
    Spark's plans: the analyzed one names each relation with its options, the physical one the columns that are read.
Proof
    Milliseconds, seconds and nanoseconds beside a day are multiplied or carried into microseconds, which raises where
    64 bits do not hold them. Parquet says in its footer which columns are in milliseconds, or are days that the
    relation has as moments; ORC and Avro are taken to be so in each moment. ORC's reader writes a day as a text, which
    raises for some: a column that a footer has in another type than the relation is left out, but for numbers read as
    numbers, and texts as texts. Of a JSON number such as 1e600000000 all digits are written out to make it a decimal,
    for which there may be no time or memory; other types are read without. A column whose own plan reads one is left
    out; so are all where that cannot be seen: behind a cache, or a sub-query. Columns of Parquet in other types than
    Spark reads (`spark_parquet_types`) are left out, and so are columns of a file that differ by case alone, of which
    Spark reads none. By the last bits of numbers, row groups are passed over in which the whole numbers are none of
    those that are asked for: one row of a group brings back all others of it. A line of CSV with more columns than
    `maxColumns` raises; XML, and JSON of many lines, take the records after a bad one with it; FAILFAST raises for one,
    and a rebase mode EXCEPTION for one day of long ago, whatever the session's own mode is. A pattern of JSON's days
    that Spark does not know raises at the first text that it is for, and so it does for a text of ours. Without a
    schema of the reader's, the rows of JSON, and the values in the names of folders, decide of which types columns are:
    one row makes a column of numbers one of texts, and a permanent view, which casts it back, fail. A stored table has
    its types in the catalog.
Rounding
    None.
Source
    Spark 4.0: ParquetRowConverter, OrcDeserializer, AvroDeserializer, JacksonParser, UnivocityParser,
    FilePartitionReader.
Mutant
    other-types-of-orc: the type that a file has is not asked; killed by test_types_of_files_that_are_read_as_others.
    far-moments-of-orc-are-read: ORC's moments are taken for harmless; killed by test_moments_that_may_be_far.
    decimals-of-json-are-read: those are taken for harmless; killed by test_decimals_of_json_are_left_out.
    days-of-long-ago-raise: rebase modes of the reader are let be; killed by test_readers_that_one_row_can_stop.
    json-guesses-types, folders-guess-types: types that nobody stated are taken; killed by
        test_types_that_nobody_stated.
    patterns-that-raise: those of JSON are let be; killed by test_patterns_that_spark_does_not_know.
    columns-by-case: the last of those that differ by case alone is asked; killed by
        test_columns_of_a_file_that_spark_takes_for_one.
    readers-pass-over-rows: the reader's own options are let be; killed by test_readers_that_one_row_can_stop.
    last-bits-of-numbers: numbers of 32 bits are read by their last ones; killed by
        test_numbers_of_parquet_that_are_read_as_others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from discreet.engines.spark_parquet_types import (
    MILLISECONDS,
    NESTED,
    TEXTS,
    Types,
    fits,
    form_of,
    parquet_types,
    told_type,
)
from discreet.engines.spark_tables import each
from discreet.errors import expected

NUMBERS = {"boolean", "tinyint", "smallint", "int", "bigint", "float", "double"}
PASSING_OVER = ("ignorecorruptfiles", "ignoremissingfiles")
RAISING = {"mode": "FAILFAST", "datetimerebasemode": "EXCEPTION", "int96rebasemode": "EXCEPTION"}
"""Options of readers that have one row raise."""
PATTERNS = ("dateformat", "timestampformat", "timestampntzformat")
ROW = """'{"a": "1", "b": "1", "c": "1"}', 'a DATE, b TIMESTAMP, c TIMESTAMP_NTZ'"""
PARSED = f"SELECT from_json({ROW}, map(:name, :pattern))"
"""One text of each kind, read by a pattern: Spark looks at the pattern then, and not before."""
WHOLE = ("csv", "xml", "binaryfile")
"""Formats of which one row or file can make all fail."""
FAR = "a text, moment, number or decimal that Spark may fail on"
FAILING = {"orc": "timestamp", "avro": "timestamp", "json": "decimal"}
"""What is in the types of columns with such values, by the format of their files."""
STORED = "store it first, spark.read...write.saveAsTable('visits'), and protect that table."


class Found(NamedTuple):
    """What was found of the files behind a table."""

    words: str
    """The refusal of a reader, empty if there is none."""
    left_out: tuple[str, ...]
    """The columns that are not read."""


class Footers:
    """Of each Parquet and ORC file that has been seen, the types of its columns."""

    def __init__(self) -> None:
        self._seen: dict[str, Types] = {}
        self._known: dict[str, Types] = {}
        """The same by the text of a schema, which files have in common."""

    def types(self, session: Any, relation: Any) -> list[Types]:
        """Those of each of a relation's files; reads the footers of files that are new."""
        java = session._jvm  # noqa: SLF001 (Python's side has no name for it)
        # All names in one call: each element of an array of Java's is a call of its own. Names are written as in URIs.
        named = java.scala.Predef.genericWrapArray(relation.location().inputFiles()).mkString("\n")
        paths = str(named).split("\n") if named else []
        new = [one for one in paths if one not in self._seen]
        conf = session._jsparkSession.sessionState().newHadoopConf() if new else None  # noqa: SLF001 (as above)
        read = parquet_types if new and _format(relation) == "parquet" else _orc_types
        for path in new:
            self._seen[path] = read(java, java.org.apache.hadoop.fs.Path(java.java.net.URI(path)), conf, self._known)
        return [self._seen[one] for one in paths]


def found(session: Any, written: str, footers: Footers) -> Found:
    """What is to be said of the files behind the SQL of a table; footers are read, and no row."""
    frame = session.sql(written)
    plan = frame._jdf.queryExecution().analyzed()  # noqa: SLF001 (Java)
    plans = (plan, *each(plan.subqueriesAll()))
    words = _table_refusal(frame, plans)
    if words:
        return Found(words, ())
    far = hidden = False
    for one in plans:
        relations = filter(None, map(_relation, each(one.collectLeaves())))
        if any(_far(session, relation, footers) for relation in relations):
            far, hidden = True, hidden or one is not plan
    if not far:
        return Found("", ())
    names = tuple(frame.columns)
    left_out = tuple(name for name in names if hidden or _reads_far(session, _only(name, written), footers))
    if left_out == names:
        cure = (
            "write moments in microseconds, numbers in the types that are read, decimals of JSON as texts, or " + STORED
        )
        return Found(expected("a column that can be read", "columns", list(names), cure), names)
    return Found("", left_out)


def _table_refusal(frame: Any, plans: Iterable[Any]) -> str:
    """The refusal of a table by what its plans read, and how; empty if there is none."""
    if frame.isStreaming:
        return expected("rows that are there", "table", "a stream", "store it first, by .writeStream.")
    for leaf in (leaf for one in plans for leaf in each(one.collectLeaves())):
        if _is_other_reader(leaf):
            cure = "leave spark.sql.sources.useV1SourceList as Spark comes with it."
            return expected("files that Spark reads by its first interface", "reader", "its second", cure)
        relation = _relation(leaf)
        if relation is None:
            continue
        kind, options = _format(relation), _options(relation)
        words = (
            reader_refusal(kind, options) or pattern_refusal(frame.sparkSession, kind, options) or _guesses(relation)
        )
        if words:
            return words
    return ""


def reader_refusal(kind: str, options: Mapping[str, str]) -> str:
    """The refusal of a reader that one row can stop; empty if none can."""
    what = "files of which no row can make Spark fail, or pass over other rows"
    on = [name for name in PASSING_OVER if options.get(name, "").lower() == "true"]
    if on:
        return expected(what, "option of the reader", on[0], "read them without it.")
    if kind in WHOLE:
        return expected(what, "files", kind, STORED)
    if kind == "json" and options.get("multiline", "").lower() == "true":
        return expected(what, "option of the reader", "multiLine", STORED)
    raising = [f"{name}={value}" for name, value in RAISING.items() if options.get(name, "").upper() == value]
    return expected(what, "option of the reader", raising[0], "read them without it.") if raising else ""


def pattern_refusal(session: Any, kind: str, options: Mapping[str, str]) -> str:
    """The refusal of a pattern for days or moments in JSON that Spark raises at; empty if there is none."""
    for name in PATTERNS if kind == "json" else ():
        pattern = options.get(name)
        try:
            if pattern is not None:
                session.sql(PARSED, args={"name": name, "pattern": pattern}).collect()
        except Exception:  # noqa: BLE001 (Java)
            cure = "write one of Spark's datetime patterns, yyyy rather than YYYY."
            return expected("a pattern that Spark knows", "option of the reader", f"{name}={pattern}", cure)
    return ""


def guess_refusal(kind: str, stated: Iterable[str] | None, folders: Iterable[str]) -> str:
    """The refusal of columns whose types no schema of the reader's states: those of JSON, and those that the names of
    folders have the values of; empty if there are none.
    """
    known = {name.lower() for name in stated or ()}
    guessed = kind if kind == "json" and stated is None else ""
    if any(name.lower() not in known for name in folders):
        guessed = "folders named for values"
    cure = "state them, spark.read.schema('person LONG, site STRING').parquet('visits'), or " + STORED
    return expected("columns whose types are stated", "files", f"{guessed}, without a schema", cure) if guessed else ""


def far_moments(kind: str, columns: Mapping[str, str]) -> frozenset[str]:
    """Of the columns of a file, those with values that Spark may fail on, by their types alone."""
    return frozenset(name for name, of in columns.items() if kind in FAILING and FAILING[kind] in of)


def far_when_stored(kind: str, stored: Types, columns: Mapping[str, str]) -> frozenset[str]:
    """Of the columns of a relation, those that Spark may fail on as a file has them: moments in milliseconds, and what
    a reader makes another type of.
    """
    if kind == "parquet":
        forms = _by_name([(name, form_of(name, of)) for name, of in stored])
        others = {name for name, of in columns.items() if not fits(forms.get(name.lower()), of)}
        return frozenset(others | {name for name, of in stored if MILLISECONDS.search(of)})
    if all(name.startswith("_col") for name, _ in stored):  # without names, as Hive writes them: by their places
        stored = [(name, of) for name, (_, of) in zip(columns, stored, strict=False)]
    held = _by_name(stored)
    return frozenset(name for name, of in columns.items() if not _alike(held.get(name.lower(), of), of))


def _by_name(stored: Types) -> dict[str, str]:
    """The types of a file's columns; those of which Spark takes several for one have none.

    >>> _by_name([("a", "int"), ("v", "int"), ("V", "int")])
    {'a': 'int', 'v': ''}
    """
    number = Counter(name.lower() for name, _ in stored)
    return {name.lower(): of if number[name.lower()] == 1 else "" for name, of in stored}


def _alike(stored: str, read: str) -> bool:
    """Whether a reader of ORC takes each value of one type for one of the other, or for NULL, without failing."""
    return stored == read or {stored, read} <= NUMBERS or all(of.startswith(TEXTS) for of in (stored, read))


def _guesses(relation: Any) -> str:
    """The refusal of a relation whose types Spark found out; a stored table has them in the catalog."""
    index = relation.location().getClass()
    while index is not None and index.getSimpleName() != "PartitioningAwareFileIndex":
        index = index.getSuperclass()
    if index is None:
        return ""
    schema = index.getDeclaredField("userSpecifiedSchema")  # which nothing else tells of
    schema.setAccessible(True)
    stated, folders = schema.get(relation.location()), _fields(relation.partitionSchema())
    names = None if stated.isEmpty() else [str(one.name()) for one in _fields(stated.get())]
    return guess_refusal(_format(relation), names, [str(one.name()) for one in folders])


def _far(session: Any, relation: Any, footers: Footers) -> frozenset[str]:
    kind, fields = _format(relation), _fields(relation.dataSchema())
    columns = {str(one.name()): told_type(kind, one.dataType()) for one in fields}
    files = footers.types(session, relation) if kind in ("parquet", "orc") else []
    if kind == "parquet" and any(files) and any(one.metadata().contains("parquet.field.id") for one in fields):
        hidden = ("timestamp", "tinyint", "smallint", NESTED)  # names may be others in the files
        return frozenset(name for name, of in columns.items() if any(one in of for one in hidden))
    return far_moments(kind, columns).union(*(far_when_stored(kind, stored, columns) for stored in files))


def _reads_far(session: Any, written: str, footers: Footers) -> bool:
    """Whether a statement reads a moment that may be too far, or whether that cannot be seen."""
    for leaf in each(session.sql(written)._jdf.queryExecution().sparkPlan().collectLeaves()):  # noqa: SLF001 (Java)
        kind = leaf.getClass().getSimpleName()
        if kind == "InMemoryTableScanExec":
            return True
        if kind == "FileSourceScanExec":
            names = {str(one.name()).lower() for one in _fields(leaf.requiredSchema())}
            if names & {name.lower() for name in _far(session, leaf.relation(), footers)}:
                return True
    return False


def _orc_types(java: Any, path: Any, conf: Any, known: dict[str, Types]) -> Types:
    orc = java.org.apache.orc.OrcFile
    reader = orc.createReader(path, orc.readerOptions(conf))
    try:
        schema = reader.getSchema()
        if (written := str(schema.toString())) not in known:
            names, types = schema.getFieldNames(), schema.getChildren()
            known[written] = [(str(names.get(i)), str(types.get(i).toString())) for i in range(names.size())]
        return known[written]
    finally:
        reader.close()


def _relation(leaf: Any) -> Any:
    """The files that a leaf of an analyzed plan reads; None if it reads none."""
    if leaf.getClass().getSimpleName() != "LogicalRelation":
        return None
    relation = leaf.relation()
    return relation if relation.getClass().getSimpleName() == "HadoopFsRelation" else None


def _is_other_reader(leaf: Any) -> bool:
    if leaf.getClass().getSimpleName() != "DataSourceV2Relation":
        return False
    return bool(leaf.table().getClass().getSuperclass().getSimpleName() == "FileTable")


def _format(relation: Any) -> str:
    """The short name of what a relation's files are; ones that Spark does not come with have others."""
    kind = relation.fileFormat()
    name = str(kind.getClass().getSimpleName())
    return "binaryfile" if name == "BinaryFileFormat" else str(kind.toString()).lower()


def _fields(schema: Any) -> list[Any]:
    return [schema.apply(i) for i in range(schema.length())]


def _options(relation: Any) -> dict[str, str]:
    pairs = each(relation.options().toSeq())
    return {str(one._1()).lower(): str(one._2()) for one in pairs}  # noqa: SLF001 (Scala's pair)


def _only(name: str, written: str) -> str:
    quoted = name.replace("`", "``")
    return f"SELECT `{quoted}` FROM ({written}) AS raw"  # noqa: S608 (quoted)
