"""One session after its sign-in: the messages of the simple and the extended protocol, in the order in which they come.

Of a statement that fails in the extended protocol, all messages up to the next Sync are passed over, as PostgreSQL
does. Transactions change nothing but settings: a charge is never undone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from discreet.pgwire import framing
from discreet.pgwire.framing import Bind, Close, Describe, Execute, Flush, FunctionCall, Parse, Query, Sync, Terminate
from discreet.pgwire.message_stream import MessageStream
from discreet.pgwire.portals import Portal, Portals
from discreet.pgwire.sqlstates import (
    CANCELED,
    FAILED_TRANSACTION,
    NO_TRANSACTION,
    PROTOCOL,
    VALUE,
    Refused,
    fields,
    refusal_of,
)
from discreet.pgwire.statement_kinds import Statement, StatementKind, statements, words
from discreet.pgwire.statement_results import StatementResult, as_described, copied, encoded, formats_of
from discreet.pgwire.statement_runner import Prepared, StatementRunner
from discreet.pgwire.type_codes import BadValue

logger = logging.getLogger("discreet.pgwire")

NOTICE = "00000"
WARNING = "01000"
ROWS_AT_ONCE = 500
"""Rows between two looks at whether the client takes them."""


class Session:
    """What one client asks."""

    def __init__(self, stream: MessageStream, runner: StatementRunner, portals: Portals) -> None:
        self._stream = stream
        self._runner = runner
        self._portals = portals
        self._status = "I"
        self._skipping = False
        self._work: asyncio.Task[None] | None = None
        self._canceled = False
        self._answered = False

    def cancel(self) -> None:
        """Ends the statement that is running, if one is; what it was charged stays.

        One whose answer has its end already, and waits for the client to take it, is left: an error after that would be
        one of the next statement. So is Sync, which has to be answered by what ends the passing over.
        """
        if self._work is not None and not self._work.done() and not self._answered:
            self._canceled = True
            self._work.cancel()

    async def serve(self) -> None:
        """Answers messages until the client ends the session."""
        self._stream.send(framing.ready(self._status))
        await self._stream.flush()
        while True:
            message = await self._stream.read()
            if message is None or isinstance(message, Terminate):
                return
            self._answered = self._skipping or isinstance(message, Sync)  # of which there is nothing to cancel
            self._work = asyncio.ensure_future(self._guarded(message))
            try:
                await self._work
            except asyncio.CancelledError:
                own = asyncio.current_task()
                if not self._canceled or (own is not None and own.cancelling()):  # the server's end goes first
                    raise
                self._canceled = False
                await self._fail(message, Refused(CANCELED, "Expected an answer, got a request to cancel it."))
            finally:
                self._work = None

    async def _guarded(self, message: Any) -> None:
        """Answers one message; whatever fails becomes one error."""
        if self._skipping and not isinstance(message, Sync):
            return
        try:
            await self._handlers[type(message)](message)
        except framing.BadStream:
            raise
        except BadValue as problem:
            await self._fail(message, Refused(VALUE, str(problem)))
        except Exception as problem:
            refused = refusal_of(problem)
            if refused is not problem:
                logger.debug("a statement was refused", exc_info=problem)
            await self._fail(message, refused)

    async def _fail(self, message: Any, refused: Refused) -> None:
        """Sends an error; the rest of an extended batch is passed over."""
        if self._status == "I":
            self._runner.settings.end(keep=False)
        if self._status == "T":
            self._status = "E"
        self._stream.send(framing.error(refused.fields))
        if isinstance(message, Query | FunctionCall | Sync):
            await self._ready()
        else:
            self._skipping = True

    async def _ready(self) -> None:
        """Says that the next statement may come."""
        if self._status == "I":
            self._runner.settings.end(keep=True)
            self._portals.end_transaction()
        self._stream.send(framing.ready(self._status))
        self._answered = True
        await self._stream.flush()

    @property
    def _handlers(self) -> Mapping[type[Any], Callable[[Any], Awaitable[None]]]:
        return {
            Query: self._query,
            Parse: self._parse,
            Bind: self._bind,
            Describe: self._describe,
            Execute: self._execute,
            Close: self._close,
            Sync: self._sync,
            Flush: self._flush,
            FunctionCall: self._function,
        }

    # The simple protocol

    async def _query(self, message: Query) -> None:
        found = statements(message.query_string)
        if not found:
            self._stream.send(framing.EMPTY)
        for one in found:
            if one.kind is StatementKind.COPY:
                self._check_transaction(one)
                await self._copy(one)
                continue
            result = await self._ran(Prepared(statement=one), ())
            self._notify(result)
            if result.columns is not None:
                codes = formats_of((), len(result.columns))
                self._stream.send(framing.row_description([one.described for one in result.columns], codes))
                await self._send_rows(result, 0, len(result.rows), codes)
            self._stream.send(framing.complete(result.complete_tag(len(result.rows))))
        self._portals.close("S", "")
        await self._ready()

    async def _copy(self, one: Statement) -> None:
        result, options = await self._runner.copy(one.text)
        self._notify(result)
        self._stream.send(framing.copy_out(len(result.columns or ()), binary=options["form"] == "binary"))
        for part in copied(result, **options):
            self._stream.send(framing.copy_data(part))
        self._stream.send(framing.COPY_END, framing.complete(f"COPY {len(result.rows)}"))

    async def _function(self, message: FunctionCall) -> None:
        del message
        raise Refused.unsupported()

    # The extended protocol

    async def _parse(self, message: Parse) -> None:
        prepared = await self._runner.prepare(message.query, message.param_types)
        self._portals.close("S", "") if not message.statement else None
        self._portals.keep_statement(message.statement, prepared)
        self._stream.send(framing.PARSED)

    async def _bind(self, message: Bind) -> None:
        prepared = self._portals.statement(message.statement)
        self._portals.close("P", "") if not message.portal else None
        codes = (message.param_formats, message.result_formats)
        self._portals.bind(message.portal, prepared, message.param_values, codes)
        portal = self._portals.portal(message.portal)
        if len(portal.formats) > 1:  # which have to fit before anything is charged
            columns = prepared.columns or await self._columns(prepared, portal.values)
            self._formats(portal, len(columns or ()))
        self._stream.send(framing.BOUND)

    async def _describe(self, message: Describe) -> None:
        if message.kind == "S":
            prepared = self._portals.statement(message.name)
            columns = await self._columns(prepared)
            self._portals.note_columns(message.name, columns)
            self._stream.send(framing.parameter_description(prepared.oids))
            codes = formats_of((), len(columns or ()))
        elif message.kind == "P":
            if self._runner.cursors.has(message.name):
                columns = self._runner.cursors.columns_of(message.name)
                self._stream.send(framing.row_description([one.described for one in columns], [0] * len(columns)))
                return
            portal = self._portals.portal(message.name)
            columns = portal.result.columns if portal.result else await self._columns(portal.prepared, portal.values)
            portal.prepared = replace(portal.prepared, columns=columns)
            codes = self._formats(portal, len(columns or ()))
        else:
            raise Refused(PROTOCOL, "Expected S or P, got another letter to describe.")
        described = [one.described for one in columns or ()]
        self._stream.send(framing.NO_DATA if columns is None else framing.row_description(described, codes))

    async def _columns(self, prepared: Prepared, values: tuple[Any, ...] | None = None) -> Any:
        self._check_transaction(prepared.statement)
        return await self._runner.describe(prepared, values)

    def _formats(self, portal: Portal, count: int) -> list[int]:
        codes = formats_of(portal.formats, count)
        if len(codes) != count:
            raise Refused(PROTOCOL, f"Expected a format for each of {count} columns, got another number.")
        return codes

    async def _execute(self, message: Execute) -> None:
        portal = self._portals.portal(message.portal)
        if portal.prepared.statement.kind is StatementKind.EMPTY:
            self._stream.send(framing.EMPTY)
            return
        if portal.result is None:
            if portal.prepared.statement.kind is StatementKind.COPY:
                self._check_transaction(portal.prepared.statement)
                await self._copy(portal.prepared.statement)
                return
            found = await self._ran(portal.prepared, portal.values)
            self._notify(found)
            portal.result = as_described(found, portal.prepared.columns)
        result = portal.result
        most = message.max_rows or len(result.rows)
        end = min(portal.place + most, len(result.rows))
        if result.columns is not None:
            await self._send_rows(result, portal.place, end, self._formats(portal, len(result.columns)))
        shown, portal.place = end - portal.place, end
        left = end < len(result.rows)
        self._stream.send(framing.SUSPENDED if left else framing.complete(result.complete_tag(shown)))

    async def _close(self, message: Close) -> None:
        if message.kind not in ("S", "P"):
            raise Refused(PROTOCOL, "Expected S or P, got another letter to close.")
        self._portals.close(message.kind, message.name)
        self._stream.send(framing.CLOSED)

    async def _sync(self, message: Sync) -> None:
        del message
        self._skipping = False
        await self._ready()

    async def _flush(self, message: Flush) -> None:
        del message
        await self._stream.flush()

    # Both

    async def _ran(self, prepared: Prepared, values: tuple[Any, ...]) -> StatementResult:
        one = prepared.statement
        self._check_transaction(one)
        self._runner.settings.begin()  # statements up to Sync, or of one text, are a transaction
        match one.kind:
            case StatementKind.BEGIN:
                if self._status == "I":
                    self._runner.cursors.begin()
                self._status = "T"
                return StatementResult(tag="BEGIN")
            case StatementKind.COMMIT | StatementKind.ROLLBACK if "to" not in words(one.text)[:4]:
                return self._end_transaction(one)
            case StatementKind.SAVEPOINT | StatementKind.RELEASE | StatementKind.ROLLBACK:
                return self._savepoint(one)
            case StatementKind.DEALLOCATE:
                said = [word for word in words(one.text)[1:] if word != "prepare"]
                self._portals.deallocate(None if said[:1] == ["all"] else said[0] if said else "")
                return StatementResult(tag="DEALLOCATE")
            case StatementKind.DISCARD:
                self._portals.clear()
        return await self._runner.run(prepared, values)

    def _check_transaction(self, one: Statement) -> None:
        ending = (StatementKind.COMMIT, StatementKind.ROLLBACK)
        if self._status == "E" and one.kind not in ending:
            cure = "ROLLBACK, and ask again: what was charged stays charged, and its answer is free."
            raise Refused(FAILED_TRANSACTION, "Expected the end of a failed transaction, got another statement.", cure)

    def _end_transaction(self, one: Statement) -> StatementResult:
        failed, before = self._status == "E", self._status
        keep = one.kind is StatementKind.COMMIT and not failed
        self._runner.settings.end(keep=keep)
        self._runner.cursors.end(keep=keep)
        self._portals.end_transaction()
        self._status = "I"
        notices = ("there is no transaction in progress",) if before == "I" else ()
        return StatementResult(tag="COMMIT" if keep else "ROLLBACK", notices=notices)

    def _savepoint(self, one: Statement) -> StatementResult:
        if self._status == "I":
            cure = "BEGIN first."
            raise Refused(NO_TRANSACTION, "Expected a savepoint inside a transaction, got one outside.", cure)
        name = words(one.text)[-1]
        if one.kind is StatementKind.SAVEPOINT:
            self._runner.settings.save(name)
        else:
            self._runner.settings.leave(name, keep=one.kind is StatementKind.RELEASE)
        if one.kind is StatementKind.ROLLBACK:
            self._status = "T"
        return StatementResult(tag=one.kind.name)

    def _notify(self, result: StatementResult) -> None:
        for text in result.notices:
            state = NOTICE if text.startswith("discreet") else WARNING
            severity = "NOTICE" if state == NOTICE else "WARNING"
            self._stream.send(framing.notice(fields(severity, state, text)))

    async def _send_rows(self, result: StatementResult, start: int, end: int, codes: list[int]) -> None:
        columns = result.columns or ()
        for number, row in enumerate(encoded(columns, result.rows[start:end], codes), 1):
            self._stream.send(framing.data_row(row))
            if number % ROWS_AT_ONCE == 0:
                await self._stream.flush()
