"""Cursors of SQL: DECLARE runs a question once, FETCH shows its rows in parts, CLOSE forgets them."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from discreet.pgwire.sqlstates import CURSOR, DUPLICATE_CURSOR, SYNTAX, TOO_LONG, Refused
from discreet.pgwire.statement_kinds import Statement, StatementKind, words
from discreet.pgwire.statement_results import StatementResult
from discreet.pgwire.type_codes import ColumnType

MOST = 50
_DECLARE = re.compile(
    r'\s*declare\s+("(?:[^"]|"")+"|\w+)\s+(?:(?:binary|asensitive|insensitive|no\s+scroll|scroll)\s+)*cursor\s+'
    r"(?:with(?:out|(?P<hold>))\s+hold\s+)?for\s+(?P<query>.*)",
    re.IGNORECASE | re.DOTALL,
)
NOISE = ("in", "from", "forward", "next", "move", "fetch")


@dataclass
class Cursor:
    """A result and how far it was shown."""

    result: StatementResult
    hold: bool
    """Whether it is there after the transaction, if that is committed."""
    place: int = 0
    is_old: bool = False
    """Whether it is from before the transaction."""


class Cursors:
    """The cursors of one session."""

    def __init__(self) -> None:
        self._held: dict[str, Cursor] = {}

    def clear(self) -> None:
        """Forgets all."""
        self._held.clear()

    def begin(self) -> None:
        """Begins a transaction."""
        for cursor in self._held.values():
            cursor.is_old = True

    def end(self, *, keep: bool) -> None:
        """Ends the transaction: those WITH HOLD stay, without `keep` those from before it."""
        self._held = {name: one for name, one in self._held.items() if one.hold and (keep or one.is_old)}

    async def declare(self, text: str, run: Callable[[str], Awaitable[StatementResult]]) -> StatementResult:
        """Runs the query of DECLARE and keeps its rows.

        Raises:
            Refused: the name is taken, or the query is not answered.
        """
        name, query, hold = declared_cursor(text)
        if name in self._held:
            raise Refused(DUPLICATE_CURSOR, f"Expected a new name for a cursor, got {name!r}.", "close it first.")
        if len(self._held) >= MOST:
            raise Refused(TOO_LONG, f"Expected at most {MOST} cursors, got more.", "close some.")
        self._held[name] = Cursor(await run(query), hold)
        return StatementResult(tag="DECLARE CURSOR")

    def run(self, one: Statement) -> StatementResult:
        """FETCH or CLOSE."""
        if one.kind is StatementKind.CLOSE:
            return self._close(words(one.text)[1:])
        moves = words(one.text)[0] == "move"
        name, count = self._fetched(one.text)
        cursor = self._cursor(name)
        rows = cursor.result.rows[cursor.place : None if count is None else cursor.place + count]
        cursor.place += len(rows)
        if moves:
            return StatementResult(tag=f"MOVE {len(rows)}")
        return StatementResult(tag="FETCH", columns=cursor.result.columns, rows=rows, counted=True)

    def has(self, name: str) -> bool:
        """Whether a cursor has this name."""
        return name in self._held

    def columns_of(self, name: str) -> tuple[ColumnType, ...]:
        """The columns of a cursor."""
        return self._cursor(name).result.columns or ()

    def columns(self, text: str) -> tuple[ColumnType, ...] | None:
        """The columns that FETCH will have."""
        return self._cursor(self._fetched(text)[0]).result.columns

    def _fetched(self, text: str) -> tuple[str, int | None]:
        """The cursor that is meant, and how many rows; None for all."""
        said = words(text)
        rest = [word for word in said[1:-1] if word not in NOISE]
        if len(said) < 2 or any(word in ("prior", "backward", "last", "first") for word in rest):
            raise Refused.unsupported()
        if not rest:
            return said[-1], 1
        if rest == ["all"]:
            return said[-1], None
        if len(rest) == 1 and rest[0].isdecimal() and int(rest[0][:9]):  # 0 would be the last row again
            return said[-1], int(rest[0][:9])
        raise Refused.unsupported()

    def _cursor(self, name: str) -> Cursor:
        if name not in self._held:
            raise Refused(CURSOR, f"Expected a cursor that was declared, got {name!r}.", "DECLARE it first.")
        return self._held[name]

    def _close(self, names: list[str]) -> StatementResult:
        if names == ["all"]:
            self._held.clear()
        else:
            self._cursor(names[0] if names else "")
            del self._held[names[0]]
        return StatementResult(tag="CLOSE CURSOR")


def declared_cursor(text: str) -> tuple[str, str, bool]:
    """The name and the query of DECLARE, and whether it is WITH HOLD.

    >>> declared_cursor('DECLARE "C" NO SCROLL CURSOR WITH HOLD FOR SELECT 1')
    ('C', 'SELECT 1', True)

    Raises:
        Refused: it has another form.
    """
    found = _DECLARE.match(text)
    if found is None:
        raise Refused(SYNTAX, "Expected DECLARE name CURSOR FOR query, got another form.", "write it like that.")
    return _name(found[1]), found["query"], found["hold"] is not None


def _name(written: str) -> str:
    return written[1:-1].replace('""', '"') if written.startswith('"') else written.lower()
