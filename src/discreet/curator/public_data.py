"""Public tables and public keys, marked as such by the one who knows that they are: the curator."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from discreet.engines.engine_selection import opened
from discreet.engines.multi_table_engine import ALL_ROWS
from discreet.errors import EngineError, InvalidParameter, expected
from discreet.language.unsupported_columns import unsupported
from discreet.planning.batches import lines
from discreet.planning.group_key_file import KeyFile
from discreet.planning.group_keys import tuples
from discreet.privacy.declaration import Declaration
from discreet.query.public_keys import PublicKeys
from discreet.query.public_table import PublicTable
from discreet.sensitivity.intervals import LARGEST_INT

MOST_ROWS = 10_000_000


def public(data: Any, *, schema: Mapping[str, str] | None = None, name: str = "") -> PublicTable:
    """Says that a table is public, so that a protected one can be joined to it; it is read at once and kept in memory.

    Public means: it would be the same whoever is in the protected table. Its columns get bounds from its own values,
    and its duplicates are counted, all of which would reveal people if it were private.

    Args:
        data: as in ``protect``: a path, a pandas, polars or Arrow table, or an Ibis table of a connection.
        schema: the columns of a CSV file and their types.
        name: what documents call it, ``question.document()``.

    >>> import pyarrow as pa
    >>> from discreet.testing import people
    >>> plans = public(pa.table({"plan": ["free", "25%", "50%"], "share": [0, 25, 50]}))
    >>> people().join(plans, "plan").agg(share=lambda t: t.share.mean())
    <question about 'people': share>
    """
    engine = opened(data, schema)
    try:
        rows = engine.run_statement(Declaration(name="public"), ALL_ROWS)
    except EngineError:
        raise InvalidParameter(
            expected("a table that can be read", "data", type(data).__name__, "look at the log 'discreet.curator'.")
        ) from None
    if rows.num_rows > MOST_ROWS:
        cure = "join so large a table before it is protected."
        raise InvalidParameter(expected(f"at most {MOST_ROWS:,} public rows", "rows", rows.num_rows, cure))
    for column, dtype in engine.schema.items():
        if dtype.is_uint64() and pc.max(rows[column]).as_py() == LARGEST_INT:
            cure = "make it text or a real number: larger ones would be read as one."
            raise InvalidParameter(expected("whole numbers below 2**63 - 1", "column", column, cure))
    return PublicTable(rows, _digest(rows), unsupported(engine.schema), name=_text(name))


def public_keys(data: Any, *, name: str = "") -> PublicKeys:
    """Says that tuples of keys are public, so that ``group_by(..., keys=...)`` takes them; they are read at once.

    A call of the curator's, like ``protect``: every tuple is a group of the answers, so keys that were read off the
    protected rows would publish them. An analyst gets the object, and can give lists of keys beside it.

    Args:
        data: the path of a Parquet file, of which there may be more tuples than fit in memory, or a pandas, polars or
            Arrow table. Each tuple once; NULL is a key like any other. What becomes of the file later does not matter.

        name: what documents call them, ``question.document()``.

    Raises:
        InvalidParameter: it cannot be read, holds what does not compare exactly, or a tuple twice.

    >>> import pyarrow as pa
    >>> from discreet.testing import people
    >>> plans = public_keys(pa.table({"plan": ["free", "25%"]}))
    >>> people().group_by("plan", keys=plans, max_groups=1, max_rows=5).agg(n=lambda t: t.count())
    <question about 'people': n by plan>
    """
    if isinstance(data, str | os.PathLike):
        file = KeyFile.of(data)
        return PublicKeys(file.names, _file=file, name=_text(name))
    names, rows = tuples(data)
    return PublicKeys(names, rows, name=_text(name))


def _text(name: object) -> str:
    """A name for documents."""
    if not isinstance(name, str):
        raise InvalidParameter(expected("a name as text", "name", name, "write name='plans'."))
    return name


def _digest(rows: pa.Table) -> str:
    """SHA-256 of types and values."""
    return hashlib.sha256(str(rows.schema).encode() + b"\0" + lines(rows, header=True)).hexdigest()
