"""Selects the engine of a table, and refuses engines that have not passed the conformance suite.

The rule: an engine of another kind is refused. A version before the first that is known to keep the rules is refused. A
version that the suite has not run on is taken with a warning, since engines change what an expression means: the suite
can be run on it before it is trusted with anything.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any, NamedTuple

import ibis.expr.types as ir

from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import Engine, hide_failure_details
from discreet.engines.inputs import connected, no_schema
from discreet.engines.postgresql import PostgreSQL
from discreet.engines.random_rows import check_not_drawn
from discreet.engines.spark import Spark
from discreet.errors import InvalidParameter, expected


class Support(NamedTuple):
    """What is known of an engine."""

    title: str
    oldest: int
    """The first major version that is taken at all."""
    tried: tuple[str, ...]
    """The versions on which the conformance suite passes in CI, as far as they may differ in what they compute."""
    make: Callable[[Any, ir.Table], Engine]
    """The engine of a backend's table."""


SUPPORT = {
    "duckdb": Support("DuckDB", 2, ("2.0",), lambda _, table: DuckDB(table, None)),
    "postgres": Support("PostgreSQL", 13, ("15",), PostgreSQL),
    "pyspark": Support("Spark", 4, ("4.0",), Spark),
}
"""By the name that Ibis gives a backend."""


def opened(data: Any, schema: Mapping[str, str] | None, beside: Engine | None = None) -> Engine:
    """The engine that computes totals of a path, a frame, or an Ibis table of a connection.

    A path or a frame is put in the connection of the engine `beside`, if that is one of ours.
    """
    if schema is not None and not isinstance(schema, Mapping):
        cure = "write schema={'person': 'int64', 'plan': 'string'}."
        raise InvalidParameter(expected("a dict of columns and types", "schema", schema, cure))
    if not isinstance(data, ir.Table):
        check("duckdb", version("duckdb"))
        return DuckDB(data, schema, beside.own_connection if isinstance(beside, DuckDB) else None)
    backend = connected(data)
    check(backend.name, hide_failure_details(lambda: str(backend.version), charged=False))
    no_schema(schema)
    check_not_drawn(data)
    return SUPPORT[backend.name].make(backend, data)


def check(name: str, found: str) -> None:
    """Refuses an unknown engine and one too old; warns of a version that the conformance suite has not run on."""
    if name not in SUPPORT:
        known = ", ".join(support.title for support in SUPPORT.values())
        cure = f"use {known}, or read it into DuckDB first; other engines have not passed the conformance suite."
        raise InvalidParameter(expected("a table on an engine that is known", "backend", name, cure))
    support = SUPPORT[name]
    parts = found.removeprefix("v").split(".")
    major = int(parts[0]) if parts[0].isdecimal() else 0
    if major < support.oldest:
        cure = "upgrade it; older versions have not passed the conformance suite."
        raise InvalidParameter(expected(f"{support.title} {support.oldest} or later", "version", found, cure))
    if not any(parts[: len(one.split("."))] == one.split(".") for one in support.tried):
        tried = ", ".join(support.tried)
        warnings.warn(
            f"{support.title} {found} has not passed the conformance suite, which runs on {tried}. "
            "Run tests/engines/conformance on it before you trust it with people's data.",
            stacklevel=4,
        )
