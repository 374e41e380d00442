"""Several tables in one statement: protected ones of one connection, and public rows that are sent with it.

On DuckDB, protected tables of other connections are copied beside the first. From a server they would have to be read
row by row, so there they are refused.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Container, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.compute as pc

from discreet.engines.connected import Connected
from discreet.engines.duckdb import DuckDB
from discreet.engines.postgresql import PostgreSQL
from discreet.engines.postgresql_keys import rows_sql, written_array
from discreet.engines.spark import Spark
from discreet.errors import InvalidQuery, expected
from discreet.language.barrier import NAME, kind_of, scan_name
from discreet.planning.plan import Plan
from discreet.privacy.declaration import Declaration

EVERYTHING = f"SELECT * FROM {NAME}"  # noqa: S608 (a constant)

MOST_BYTES = 100_000_000
"""Of public rows that are sent with a statement; one of PostgreSQL's ends at 1 GB."""


@dataclass(frozen=True, eq=False)
class TablePart:
    """One of several tables: protected, in an engine; or public, at hand."""

    declaration: Declaration
    engine: Connected | None = None
    rows: pa.Table | None = None


class Several(Connected):
    """The first of some tables, in whose connection the others stand beside it."""

    def __init__(self, parts: tuple[TablePart, ...]) -> None:
        first = parts[0].engine
        if first is None:
            raise TypeError(parts)
        self.__dict__.update(first.__dict__)
        self.parts = parts
        for part in parts[1:]:
            self._check(part)

    def barrier(self, declared: Declaration, wanted: frozenset[str] | None = None) -> str:  # noqa: ARG002 (that of the plan, which may state less)
        """The SQL of the first table behind its own barrier, whatever is stated of all of them together."""
        return super().barrier(self.parts[0].declaration, wanted)

    def check_alive(self) -> None:
        """Refuses if the connection of one of the tables answers nothing."""
        for part in self.parts:
            if part.engine is not None:
                part.engine.check_alive()

    @abstractmethod
    def _check(self, part: TablePart) -> None:
        """Refuses a table that cannot stand beside the first."""

    def _check_near(self, part: TablePart) -> None:
        """Refuses a table of another connection, and public rows that are too many to be sent."""
        if part.engine is not None and not part.engine.shares(self):
            names = f"{self.parts[0].declaration.name} and {part.declaration.name}"
            cure = "make both with the same Ibis connection, connection.table(name), before they are protected."
            raise InvalidQuery(expected("tables of one connection", "tables", names, cure))
        if part.rows is not None and part.rows.nbytes > MOST_BYTES:
            cure = "join so large a table before it is protected, by a view of the database."
            raise InvalidQuery(expected(f"at most {MOST_BYTES:,} public bytes", "bytes", part.rows.nbytes, cure))

    def _beside(self) -> Iterator[tuple[str, TablePart]]:
        """The other tables and their names."""
        return ((scan_name(place), part) for place, part in enumerate(self.parts[1:], start=1))

    def _views(self, besides: Container[str] = ()) -> str:
        """The views of the other tables, but for those that are written out otherwise, for people to read."""
        seen = {
            name: "a public table" if part.engine is None else part.engine.barrier(part.declaration)
            for name, part in self._beside()
            if name not in besides
        }
        return "".join(
            f"CREATE TEMPORARY VIEW {self.identifier(name)} AS {written};\n" for name, written in seen.items()
        )


class SeveralDuckDB(Several, DuckDB):
    """Tables of DuckDB: those of one connection in place, others copied beside them."""

    def script(self, plan: Plan) -> str:
        """All that the engine runs for a plan, for people to read."""
        return self._views(besides=self._others()) + super().script(plan)

    def _check(self, part: TablePart) -> None:
        if part.engine is not None and not isinstance(part.engine, DuckDB):
            self._check_near(part)

    def _others(self) -> dict[str, str]:
        near = ((name, part) for name, part in self._beside() if part.engine is not None and part.engine.shares(self))
        return {name: part.engine.barrier(part.declaration) for name, part in near if part.engine is not None}

    @contextmanager
    def _same(self) -> Iterator[None]:
        """All tables of the connection, as they were protected; those that are copied are seen to where they are."""
        near = [part.engine for part in self.parts[1:] if isinstance(part.engine, DuckDB) and part.engine.shares(self)]
        with super()._same(), ExitStack() as stack:
            for engine in near:
                stack.enter_context(engine._same())  # noqa: SLF001 (engines of one kind)
            yield

    @contextmanager
    def _ours(self) -> Iterator[Any]:
        """The connection with what stands elsewhere, which is read before our lock is taken: no two wait in turn."""
        near = self._others()
        copies = {name: _copied(part) for name, part in self._beside() if name not in near}
        with super()._ours() as raw, ExitStack() as stack:
            for name, rows in copies.items():
                raw.register(name, rows)
                stack.callback(raw.unregister, name)
            yield raw


def _copied(part: TablePart) -> pa.Table:
    return part.rows if part.engine is None else part.engine._rows(part.declaration, EVERYTHING)  # noqa: SLF001 (engines of one kind)


class SeveralPostgreSQL(Several, PostgreSQL):
    """Tables of one PostgreSQL connection; public rows are literals of the statement, as keys are."""

    def _check(self, part: TablePart) -> None:
        self._check_near(part)
        texts = [] if part.rows is None else [one for one in part.rows.columns if pa.types.is_string(one.type)]
        if any(pc.any(pc.match_substring(one, "\0")).as_py() for one in texts):
            cure = "leave such rows out of the public table; no text there has NUL."
            raise InvalidQuery(expected("text that PostgreSQL can hold", "public text", "one with NUL", cure))

    def _others(self, *, shown: bool) -> list[str]:
        written = []
        for name, part in self._beside():
            if part.engine is None:
                written.append(f'"{name}" AS MATERIALIZED ({self._sent(name, part, shown=shown)})')
            else:
                written.append(f'"{name}" AS NOT MATERIALIZED ({part.engine.barrier(part.declaration)})')
        return written

    def _sent(self, place: str, part: TablePart, *, shown: bool) -> str:
        rows: Any = part.rows
        kinds = {name: kind for name, dtype in ibis.schema(rows.schema).items() if (kind := kind_of(dtype)) is not None}
        if shown:
            return rows_sql(kinds, [f"%({place}.{name})s" for name in kinds])
        return rows_sql(kinds, [written_array(rows[name].to_pylist(), self._backend.con) for name in kinds])


class SeveralSpark(Several, Spark):
    """Tables of one Spark session; public rows are a view of what the driver has, as keys are."""

    def script(self, plan: Plan) -> str:
        """All that is run for a plan, for people to read."""
        return self._views() + super().script(plan)

    def _check(self, part: TablePart) -> None:
        self._check_near(part)
        names = [] if part.rows is None else part.rows.column_names
        if len({name.lower() for name in names}) < len(names):
            cure = "rename one of them; Spark takes 'Plan' for 'plan'."
            raise InvalidQuery(expected("public columns of different names", "columns", names, cure))

    @contextmanager
    def _scanned(self, session: Any, declared: Declaration) -> Iterator[None]:
        with super()._scanned(session, declared), ExitStack() as stack:
            for name, part in self._beside():
                if part.engine is None:
                    session.createDataFrame(part.rows).createOrReplaceTempView(name)
                else:
                    seen = part.engine.barrier(part.declaration)
                    session.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {seen}")
                stack.callback(session.catalog.dropTempView, name)
            yield


KINDS: dict[type[Connected], type[Several]] = {
    DuckDB: SeveralDuckDB,
    PostgreSQL: SeveralPostgreSQL,
    Spark: SeveralSpark,
}


def several(parts: tuple[TablePart, ...]) -> Several:
    """Some tables in one statement of the engine that has the first; refuses those that it cannot name together."""
    return next(kind for engine, kind in KINDS.items() if isinstance(parts[0].engine, engine))(parts)
