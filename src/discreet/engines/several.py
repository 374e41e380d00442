"""Several tables in one DuckDB statement: those of one connection in place, others copied beside them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import pyarrow as pa

from discreet.engines.duckdb import DuckDB
from discreet.query.plan import Plan
from discreet.query.scan import NAME, scan_name
from discreet.query.source import Declaration

EVERYTHING = f'SELECT * FROM "{NAME}"'  # noqa: S608 (a constant)


@dataclass(frozen=True, eq=False)
class Part:
    """One of several tables: protected, in an engine; or public, at hand."""

    declaration: Declaration
    engine: DuckDB | None = None
    rows: pa.Table | None = None


class Several(DuckDB):
    """The first of some tables, in whose connection the others stand beside it."""

    def __init__(self, parts: tuple[Part, ...]) -> None:
        first = parts[0].engine
        if first is None:
            raise TypeError(parts)
        self.__dict__.update(first.__dict__)
        self.parts = parts

    def barrier(self, declared: Declaration) -> str:  # noqa: ARG002 (that of the plan, which may state less)
        """The SQL of the first table behind its own barrier, whatever is stated of all of them together."""
        return super().barrier(self.parts[0].declaration)

    def script(self, plan: Plan) -> str:
        """All that the engine runs for a plan, for people to read."""
        views = []
        for place, part in enumerate(self.parts[1:], start=1):
            seen = "a public table" if part.engine is None else part.engine.barrier(part.declaration)
            views.append(f'CREATE TEMP VIEW "{scan_name(place)}" AS {seen};\n')
        return "".join(views) + super().script(plan)

    def _answer(self, plan: Plan, statement: str) -> pa.Table:
        with self._copied():
            return super()._answer(plan, statement)

    def _rows(self, declared: Declaration, statement: str) -> pa.Table:
        with self._copied():
            return super()._rows(declared, statement)

    @contextmanager
    def _copied(self) -> Iterator[None]:
        """What stands in other connections, as Arrow tables; taken before our lock is, so that no two wait in turn."""
        found: dict[int, pa.Table] = {}
        for place, part in enumerate(self.parts):
            if part.engine is None:
                found[place] = part.rows
            elif part.engine._backend.con is not self._backend.con:  # noqa: SLF001 (engines of one kind)
                found[place] = part.engine._rows(part.declaration, EVERYTHING)  # noqa: SLF001 (as above)
        token = _copies.set(found)
        try:
            yield
        finally:
            _copies.reset(token)

    @contextmanager
    def _scanned(self, declared: Declaration) -> Iterator[None]:
        with super()._scanned(declared), ExitStack() as stack:
            for place, part in enumerate(self.parts[1:], start=1):
                stack.enter_context(self._standing(scan_name(place), part, _copies.get().get(place)))
            yield

    @contextmanager
    def _standing(self, name: str, part: Part, rows: pa.Table | None) -> Iterator[None]:
        raw = self._backend.con
        if rows is not None:
            raw.register(name, rows)
        elif part.engine is not None:
            raw.execute(f'CREATE OR REPLACE TEMP VIEW "{name}" AS {part.engine.barrier(part.declaration)}')
        try:
            yield
        finally:
            if rows is not None:
                raw.unregister(name)
            else:
                raw.execute(f'DROP VIEW IF EXISTS "{name}"')


_copies: ContextVar[dict[int, pa.Table]] = ContextVar("_copies", default={})  # noqa: B039 (never changed)
