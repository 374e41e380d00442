"""Several tables in one statement: protected ones of one connection, and public rows that are sent with it.

On DuckDB, protected tables of other connections are copied beside the first. From a server they would have to be read
row by row, so there they are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from discreet.engines.engine import Engine
from discreet.errors import InvalidQuery, expected
from discreet.language.input_barrier import NAME, scan_name
from discreet.privacy.declaration import Declaration

ALL_ROWS = f"SELECT * FROM {NAME}"  # noqa: S608 (a constant)

MOST_BYTES = 100_000_000
"""Of public rows that are sent with a statement; one of PostgreSQL's ends at 1 GB."""


class TableEngine(Engine, Protocol):
    """An engine whose table can stand beside others."""

    @property
    def parts(self) -> tuple[TablePart, ...]:
        """The tables of its statements, its own first; none where there is no other."""

    def shares_connection(self, other: TableEngine) -> bool:
        """Whether another table is reached by the same connection, so that one statement can name both."""

    def with_tables(self, parts: tuple[TablePart, ...]) -> TableEngine:
        """Its table as the first of some; refuses those that it cannot name together."""

    def since(self, column: str, first: object) -> TableEngine:
        """Its table without the rows of which a raw column is below a value, so that files without others stay shut."""


@dataclass(frozen=True, eq=False)
class TablePart:
    """One of several tables: protected, in an engine; or public, at hand."""

    declaration: Declaration
    engine: TableEngine | None = None
    rows: pa.Table | None = None
    secret: bool = False
    """Whether the rows at hand are not public: then they are no part of a statement, which a server may log."""

    def read(self) -> pa.Table:
        """All of its rows, behind the barrier."""
        return self.rows if self.engine is None else self.engine.run_statement(self.declaration, ALL_ROWS)


@dataclass(frozen=True, eq=False)
class MultiTable:
    """The tables of a statement, that of the engine first; none where there is but one."""

    parts: tuple[TablePart, ...] = ()

    def other_tables(self) -> Iterator[tuple[str, TablePart]]:
        """The other tables and their names."""
        return ((scan_name(place), part) for place, part in enumerate(self.parts[1:], start=1))

    def same_connection(self, engine: TableEngine) -> dict[str, TableEngine]:
        """Those that are reached by the engine's connection."""
        return {
            name: part.engine
            for name, part in self.other_tables()
            if part.engine and part.engine.shares_connection(engine)
        }

    def scan(self, name: str) -> str:
        """The SQL of one of them behind its own barrier."""
        part = dict(self.other_tables())[name]
        return "a public table" if part.engine is None else part.engine.barrier(part.declaration)

    def views(self, quoted: Callable[[str], str], written: Container[str] = ()) -> str:
        """The views of the others, but for those that are written out otherwise, for people to read."""
        names = [name for name, _ in self.other_tables() if name not in written]
        return "".join(f"CREATE TEMPORARY VIEW {quoted(name)} AS {self.scan(name)};\n" for name in names)

    def check_one_connection(self, engine: TableEngine, part: TablePart) -> None:
        """Refuses a table of another connection, and public rows that are too many to be sent."""
        if part.engine is not None and not part.engine.shares_connection(engine):
            names = f"{self.parts[0].declaration.name} and {part.declaration.name}"
            cure = "make both with the same Ibis connection, connection.table(name), before they are protected."
            raise InvalidQuery(expected("tables of one connection", "tables", names, cure))
        if part.rows is not None and not part.secret and part.rows.nbytes > MOST_BYTES:
            cure = "join so large a table before it is protected, by a view of the database."
            raise InvalidQuery(expected(f"at most {MOST_BYTES:,} public bytes", "bytes", part.rows.nbytes, cure))


def several_tables(parts: tuple[TablePart, ...]) -> TableEngine:
    """Some tables in one statement of the engine that has the first; refuses those that it cannot name together."""
    if parts[0].engine is None:
        raise TypeError(parts)
    return parts[0].engine.with_tables(parts)
