"""The engine of what a curator hands over, where it is one that has passed the conformance suite.

The rule: an engine of another kind is refused. A version before the first that is known to keep the rules is refused. A
version that the suite has not run on is taken with a warning, since engines change what an expression means: the suite
can be run on it before it is trusted with anything.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import ibis.expr.types as ir

from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import Engine
from discreet.engines.inputs import connected, no_schema
from discreet.engines.postgresql import PostgreSQL
from discreet.engines.spark import Spark
from discreet.errors import InvalidParameter, expected


class Support(NamedTuple):
    """What is known of an engine's versions."""

    title: str
    oldest: int
    """The first major version that is taken at all."""
    tried: tuple[int, ...]
    """The major versions on which the conformance suite passes in CI."""


SUPPORT = {
    "duckdb": Support("DuckDB", 2, (2,)),
    "postgres": Support("PostgreSQL", 13, (15,)),
    "pyspark": Support("Spark", 4, (4,)),
}
"""By the name that Ibis gives a backend."""


def opened(data: Any, schema: Mapping[str, str] | None) -> Engine:
    """The engine that computes totals of a path, a frame, or an Ibis table of a connection."""
    if not isinstance(data, ir.Table):
        return DuckDB(data, schema)
    backend = connected(data)
    check(backend.name, str(backend.version))
    if backend.name == "duckdb":
        return DuckDB(data, schema)
    no_schema(schema)
    return PostgreSQL(backend, data) if backend.name == "postgres" else Spark(backend, data)


def check(name: str, version: str) -> None:
    """Refuses an unknown engine and one too old; warns of a version that the conformance suite has not run on."""
    if name not in SUPPORT:
        known = ", ".join(support.title for support in SUPPORT.values())
        cure = f"use {known}, or read it into DuckDB first; other engines have not passed the conformance suite."
        raise InvalidParameter(expected("a table on an engine that is known", "backend", name, cure))
    support = SUPPORT[name]
    number = version.removeprefix("v").split(".")[0]
    major = int(number) if number.isdecimal() else 0
    if major < support.oldest:
        cure = "move to a newer one; older ones are not known to keep the rules."
        raise InvalidParameter(expected(f"{support.title} {support.oldest} or later", "version", version, cure))
    if major not in support.tried:
        tried = ", ".join(map(str, support.tried))
        warnings.warn(
            f"{support.title} {version} has not passed the conformance suite, which runs on {tried}. "
            "Run tests/engines/conformance on it before you trust it with people's data.",
            stacklevel=4,
        )
