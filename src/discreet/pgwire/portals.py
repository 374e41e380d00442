"""Prepared statements and portals of one session, by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from discreet.pgwire.session_limits import SessionLimits
from discreet.pgwire.sqlstates import (
    DUPLICATE_CURSOR,
    DUPLICATE_STATEMENT,
    PORTAL,
    PROTOCOL,
    STATEMENT,
    TOO_LONG,
    Refused,
)
from discreet.pgwire.statement_results import StatementResult
from discreet.pgwire.statement_runner import Prepared
from discreet.pgwire.type_codes import ColumnType
from discreet.pgwire.value_forms import parameter


@dataclass
class Portal:
    """A statement with values for its parameters, and how far its rows were shown."""

    prepared: Prepared
    values: tuple[Any, ...]
    formats: tuple[int, ...]
    result: StatementResult | None = None
    place: int = 0


@dataclass
class Portals:
    """What a session has prepared and bound."""

    limits: SessionLimits
    _statements: dict[str, Prepared] = field(default_factory=dict)
    _portals: dict[str, Portal] = field(default_factory=dict)

    def keep_statement(self, name: str, prepared: Prepared) -> None:
        """Keeps a statement; the one without a name replaces the one before.

        Raises:
            Refused: the name is taken, or there are too many.
        """
        if name and name in self._statements:
            raise Refused(DUPLICATE_STATEMENT, f"Expected a new name for a statement, got {name!r}.", "close it first.")
        if len(self._statements) >= self.limits.statements:
            raise Refused(TOO_LONG, f"Expected at most {self.limits.statements} statements, got more.", "close some.")
        self._statements[name] = prepared

    def note_columns(self, name: str, columns: tuple[ColumnType, ...]) -> None:
        """Remembers how the columns of a statement were described."""
        self._statements[name] = replace(self._statements[name], columns=columns)

    def statement(self, name: str) -> Prepared:
        """The statement of a name."""
        if name not in self._statements:
            raise Refused(STATEMENT, f"Expected a statement that was prepared, got {name!r}.", "prepare it first.")
        return self._statements[name]

    def bind(
        self, name: str, prepared: Prepared, values: Sequence[bytes | None], codes: Sequence[Sequence[int]]
    ) -> None:
        """Keeps a portal; `codes` are the formats of the parameters and of the columns.

        Raises:
            Refused: the name is taken, or the values do not fit the statement.
        """
        if name and name in self._portals:
            raise Refused(DUPLICATE_CURSOR, f"Expected a new name for a portal, got {name!r}.", "close it first.")
        if len(self._portals) >= self.limits.portals:
            raise Refused(TOO_LONG, f"Expected at most {self.limits.portals} portals, got more.", "close some.")
        given, shown = codes
        count = len(prepared.oids)
        if (
            len(values) != count
            or len(given) not in (0, 1, count)
            or any(code not in (0, 1) for code in (*given, *shown))
        ):
            raise Refused(PROTOCOL, f"Expected {count} parameters in text or binary form, got others.")
        forms = [*given] * count if len(given) == 1 else [*given] or [0] * count
        made = [parameter(value, oid, code) for value, oid, code in zip(values, prepared.oids, forms, strict=True)]
        self._portals[name] = Portal(prepared=prepared, values=tuple(made), formats=tuple(shown))

    def portal(self, name: str) -> Portal:
        """The portal of a name."""
        if name not in self._portals:
            raise Refused(PORTAL, f"Expected a portal that was bound, got {name!r}.", "bind it first.")
        return self._portals[name]

    def close(self, kind: str, name: str) -> None:
        """Forgets a statement or a portal, if there is one."""
        (self._statements if kind == "S" else self._portals).pop(name, None)

    def end_transaction(self) -> None:
        """Forgets the portals, as the end of a transaction does."""
        self._portals.clear()

    def clear(self) -> None:
        """Forgets everything."""
        self._statements.clear()
        self._portals.clear()

    def deallocate(self, name: str | None) -> None:
        """Forgets one statement, or all of them.

        Raises:
            Refused: there is none of this name.
        """
        if name is None:
            self._statements.clear()
        else:
            self.statement(name)
            del self._statements[name]
