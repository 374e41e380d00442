"""What the catalog knows of a data set: names, types and comments from its declaration, and nothing from its rows."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.pgwire.type_codes import (
    BOOL,
    BYTEA,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    NUMERIC,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
)

FIRST_OID = 16_384
"""The first number that PostgreSQL gives to what users make."""
OID_SPACE = 1 << 30
NAMED = {
    "bool": BOOL,
    "boolean": BOOL,
    "int8": INT2,
    "int16": INT2,
    "uint8": INT2,
    "int32": INT4,
    "uint16": INT4,
    "int64": INT8,
    "uint32": INT8,
    "uint64": INT8,
    "float16": FLOAT4,
    "float32": FLOAT4,
    "float64": FLOAT8,
    "string": TEXT,
    "text": TEXT,
    "date": DATE,
    "time": TIME,
    "timestamp": TIMESTAMP,
    "binary": BYTEA,
}
"""The types of columns, as declarations name them."""


@dataclass(frozen=True, kw_only=True)
class DeclaredColumn:
    """One column, as it was declared."""

    name: str
    oid: int
    description: str = ""
    keys: Sequence[Any] | None = None
    bounds: tuple[Any, Any] | None = None

    @property
    def comment(self) -> str:
        """The description, with bounds and keys: what an analyst asks a colleague about."""
        parts = [self.description] if self.description else []
        if self.bounds is not None:
            parts.append(f"bounds {self.bounds[0]} to {self.bounds[1]}")
        if self.keys is not None:
            shown = ", ".join(str(key) for key in self.keys[:20])
            parts.append(f"keys {shown}{', ...' if len(self.keys) > 20 else ''}")
        return "; ".join(parts)


@dataclass(frozen=True, kw_only=True)
class DeclaredTable:
    """One table: a data set of the service."""

    name: str
    columns: tuple[DeclaredColumn, ...]
    description: str = ""

    @property
    def oid(self) -> int:
        """The number of the table: the same for ever, since it follows from the name.

        >>> DeclaredTable(name="people", columns=()).oid == DeclaredTable(name="people", columns=()).oid
        True
        """
        return stable_oid("table", self.name)

    def column(self, name: str) -> DeclaredColumn | None:
        """The column of a name, in any case; None if there is none."""
        exact = [one for one in self.columns if one.name == name]
        close = [one for one in self.columns if one.name.casefold() == name.casefold()]
        return next(iter((*exact, *close)), None)


def stable_oid(*of: str) -> int:
    """A number that follows from names alone, beyond those that PostgreSQL gives itself."""
    digest = hashlib.sha256("\0".join(of).encode()).digest()
    return FIRST_OID + int.from_bytes(digest[:8], "big") % OID_SPACE


def named_oid(kind: object) -> int:
    """The type of PostgreSQL for the type of a column, as a declaration names it.

    >>> named_oid("int64"), named_oid("!string"), named_oid("timestamp('UTC')"), named_oid("decimal(10, 2)")
    (20, 25, 1184, 1700)
    """
    shown = str(kind).strip().lstrip("!").lower()
    name, _, arguments = shown.partition("(")
    if name == "decimal":
        return NUMERIC
    if name == "timestamp" and "'" in arguments:
        return TIMESTAMPTZ
    return NAMED.get(name.strip(), TEXT)


def keys_of(declared: Mapping[str, Any]) -> Sequence[Any] | None:
    """The public keys of a column as they were declared, if they were."""
    keys = declared.get("keys")
    return keys if isinstance(keys, list | tuple) else None
