"""Files behind a Spark table: readers that fail on a row, or pass over others because of it, are refused; columns with
values that Spark may fail on are left out.

Claim
    Where `found` says nothing, no row of a file that Spark's readers of Parquet, ORC, Avro, JSON or text read makes a
    look fail, or another row be passed over, by the moments or decimals in it, by its number of columns, or by a record
    that is none.
Requires
    That files keep the types that they had when their names were first seen, and that no decimal in Parquet, ORC or
    Avro has more digits than its column states; that a source of somebody else's, a reader of Hive's, and a frame that
    was made of objects, fail on no row.
Relies on
    Spark's plans: the analyzed one names each relation with its options, the physical one the columns that are read.
Proof
    Milliseconds, seconds and nanoseconds beside a day are multiplied or carried into microseconds, which raises where
    64 bits do not hold them. Parquet says in its footer which columns are in milliseconds; ORC and Avro are taken to be
    so in each moment. Of a JSON number such as 1e600000000 all digits are written out to make it a decimal, for which
    there may be no time or memory; other types are read without. A column whose own plan reads one is left out; so are
    all where that cannot be seen: behind a cache, or a sub-query. A line of CSV with more columns than `maxColumns`
    raises; XML, and JSON of many lines, take the records after a bad one with it; FAILFAST raises for one.
Rounding
    None.
Source
    Spark 4.0: ParquetRowConverter, OrcDeserializer, AvroDeserializer, JacksonParser, UnivocityParser,
    FilePartitionReader.
Mutant
    far-moments-of-orc-are-read: ORC's moments are taken for harmless; killed by test_moments_that_may_be_far.
    decimals-of-json-are-read: those are taken for harmless; killed by test_decimals_of_json_are_left_out.
    readers-pass-over-rows: the reader's own options are let be; killed by test_readers_that_one_row_can_stop.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from discreet.errors import expected

MILLISECONDS = re.compile(r"TIMESTAMP\(MILLIS|TIMESTAMP_MILLIS")
PASSING_OVER = ("ignorecorruptfiles", "ignoremissingfiles")
WHOLE = ("csv", "xml", "binaryfile")
"""Formats of which one row or file can make all fail."""
FAR = "a moment or decimal that Spark may fail on"
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
    """Of each Parquet file that has been seen, its columns in milliseconds."""

    def __init__(self) -> None:
        self._seen: dict[str, frozenset[str]] = {}

    def far(self, session: Any, relation: Any) -> frozenset[str]:
        """The columns in milliseconds of any of a relation's files; reads the footers of those that are new."""
        java = session._jvm  # noqa: SLF001 (Python's side has no name for it)
        # All names in one call: each element of an array of Java's is a call of its own. Names are written as in URIs.
        named = java.scala.Predef.genericWrapArray(relation.location().inputFiles()).mkString("\n")
        paths = str(named).split("\n") if named else []
        new = [one for one in paths if one not in self._seen]
        conf = session._jsparkSession.sessionState().newHadoopConf() if new else None  # noqa: SLF001 (as above)
        for path in new:
            parquet = java.org.apache.parquet.hadoop
            file = parquet.util.HadoopInputFile.fromPath(java.org.apache.hadoop.fs.Path(java.java.net.URI(path)), conf)
            reader = parquet.ParquetFileReader.open(file)
            try:
                self._seen[path] = _in_milliseconds(reader.getFooter().getFileMetaData().getSchema())
            finally:
                reader.close()
        return frozenset[str]().union(*(self._seen[one] for one in paths))


def found(session: Any, written: str, footers: Footers) -> Found:
    """What is to be said of the files behind the SQL of a table; footers are read, and no row."""
    frame = session.sql(written)
    if frame.isStreaming:
        return Found(expected("rows that are there", "table", "a stream", "store it first, by .writeStream."), ())
    plan = frame._jdf.queryExecution().analyzed()  # noqa: SLF001 (Java)
    inner = list(_each(plan.subqueriesAll()))
    far = hidden = False
    for one in (plan, *inner):
        for leaf in _each(one.collectLeaves()):
            if _is_other_reader(leaf):
                cure = "leave spark.sql.sources.useV1SourceList as Spark comes with it."
                return Found(
                    expected("files that Spark reads by its first interface", "reader", "its second", cure), ()
                )
            relation = _relation(leaf)
            if relation is not None:
                words = reader_refusal(_format(relation), _options(relation))
                if words:
                    return Found(words, ())
                if _far(session, relation, footers):
                    far, hidden = True, hidden or one is not plan
    if not far:
        return Found("", ())
    names = tuple(frame.columns)
    left_out = tuple(name for name in names if hidden or _reads_far(session, _only(name, written), footers))
    if left_out == names:
        cure = "write moments in microseconds, as Spark does, decimals of JSON as texts, or " + STORED
        return Found(expected("a column that can be read", "columns", list(names), cure), names)
    return Found("", left_out)


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
    if options.get("mode", "").upper() == "FAILFAST":
        return expected(what, "option of the reader", "mode=FAILFAST", "read them without it.")
    return ""


def far_moments(kind: str, columns: Mapping[str, str]) -> frozenset[str]:
    """Of the columns of a file, those with values that Spark may fail on, by their types alone."""
    return frozenset(name for name, of in columns.items() if kind in FAILING and FAILING[kind] in of)


def _far(session: Any, relation: Any, footers: Footers) -> frozenset[str]:
    kind = _format(relation)
    if kind == "parquet":
        return footers.far(session, relation)
    fields = relation.dataSchema()
    each = (fields.apply(i) for i in range(fields.length()))
    return far_moments(kind, {str(one.name()): str(one.dataType().catalogString()) for one in each})


def _reads_far(session: Any, written: str, footers: Footers) -> bool:
    """Whether a statement reads a moment that may be too far, or whether that cannot be seen."""
    for leaf in _each(session.sql(written)._jdf.queryExecution().sparkPlan().collectLeaves()):  # noqa: SLF001 (Java)
        kind = leaf.getClass().getSimpleName()
        if kind == "InMemoryTableScanExec":
            return True
        if kind == "FileSourceScanExec":
            read = leaf.requiredSchema()
            names = {str(read.apply(i).name()).lower() for i in range(read.length())}
            if names & {name.lower() for name in _far(session, leaf.relation(), footers)}:
                return True
    return False


def _in_milliseconds(schema: Any) -> frozenset[str]:
    if not MILLISECONDS.search(str(schema.toString())):
        return frozenset()
    fields = schema.getFields()
    each = (fields.get(i) for i in range(fields.size()))
    return frozenset(str(one.getName()) for one in each if MILLISECONDS.search(str(one.toString())))


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


def _options(relation: Any) -> dict[str, str]:
    pairs = _each(relation.options().toSeq())
    return {str(one._1()).lower(): str(one._2()) for one in pairs}  # noqa: SLF001 (Scala's pair)


def _only(name: str, written: str) -> str:
    quoted = name.replace("`", "``")
    return f"SELECT `{quoted}` FROM ({written}) AS raw"  # noqa: S608 (quoted)


def _each(sequence: Any) -> Iterator[Any]:
    """The elements of a sequence of Scala's."""
    return (sequence.apply(i) for i in range(sequence.size()))
