"""What each statement of a session does: questions go to the service, the catalog answers from declarations.

Nothing here knows messages of the protocol: statements in, columns and rows out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlglot import exp

from discreet.pgwire.catalog_answers import CatalogAnswers, is_about_catalog
from discreet.pgwire.catalog_rewriting import CatalogSession
from discreet.pgwire.cursors import Cursors, declared_cursor
from discreet.pgwire.explain_output import plan_of
from discreet.pgwire.exploratory_queries import LookAround, from_declaration, refused, scan_of, without_nothing
from discreet.pgwire.question_texts import (
    declared_columns,
    in_our_words,
    parameter_types,
    parameters_of,
    sample,
    shown_items,
    tree_of,
    with_values,
    without_schemas,
)
from discreet.pgwire.served_questions import ServedQuestions, described, remains, selectable
from discreet.pgwire.session_settings import SessionSettings
from discreet.pgwire.setting_statements import copied_query, explained_statement, run_setting, shown_setting
from discreet.pgwire.sqlstates import Refused
from discreet.pgwire.statement_kinds import READ, Statement, StatementKind, spaced, statement
from discreet.pgwire.statement_results import StatementResult, as_described
from discreet.pgwire.thread_shares import ThreadShare
from discreet.pgwire.type_codes import ColumnType
from discreet.pgwire.wrapped_statements import unwrapped
from discreet.statements.dialects import DIALECTS
from discreet.statements.notation import check_notation
from discreet.statements.statement_text import Text


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A statement whose parameters are known by type."""

    statement: Statement
    oids: tuple[int, ...] = ()
    columns: tuple[ColumnType, ...] | None = None
    """As they were described, if they were."""


class StatementRunner:
    """The statements of one session."""

    def __init__(
        self,
        questions: ServedQuestions,
        catalog: CatalogAnswers,
        session: CatalogSession,
        share: ThreadShare,
    ) -> None:
        self._questions = questions
        self._catalog = catalog
        self._session = session
        self._share = share
        self.cursors = Cursors()
        self._columns: dict[tuple[str, bool, str], tuple[ColumnType, ...]] = {}
        """Of questions that were described: drivers have that done before each execution."""

    @property
    def settings(self) -> SessionSettings:
        """The settings of the session."""
        return self._session.settings

    async def prepare(self, text: str, stated: Sequence[int]) -> Prepared:
        """A statement with the types of its parameters; it is read by a thread, as all that may be long.

        Raises:
            Refused: it is not one statement, or cannot be read.
        """
        return await self._share.run(self._prepared, text, stated)

    def _prepared(self, text: str, stated: Sequence[int]) -> Prepared:
        one = statement(spaced(text))
        inner = self._inner(one)
        count = parameters_of(inner.text) if inner.kind is StatementKind.SELECT else 0
        if not count:
            return Prepared(statement=one)
        oids = parameter_types(tree_of(inner.text), count, stated, list(self._questions.tables.values()))
        return Prepared(statement=one, oids=tuple(oids))

    def _inner(self, one: Statement) -> Statement:
        """The question inside EXPLAIN and DECLARE."""
        if one.kind is StatementKind.DECLARE:
            return statement(declared_cursor(one.text)[1])
        return statement(explained_statement(one.text)[0]) if one.kind is StatementKind.EXPLAIN else one

    async def describe(self, prepared: Prepared, bound: Sequence[Any] | None = None) -> tuple[ColumnType, ...] | None:
        """The columns that a statement will have, for nothing; None for one without rows.

        Values that stand for their types take the place of parameters that are not bound yet.
        """
        one = prepared.statement
        values = [sample(oid) for oid in prepared.oids] if bound is None else bound
        if one.kind is StatementKind.SELECT:
            return await self._described(one.text, values)
        if one.kind is StatementKind.EXPLAIN:
            as_json = explained_statement(one.text)[1]
            return plan_of({}, "", as_json=as_json).columns
        if one.kind is StatementKind.SHOW:
            return shown_setting(one.text, self.settings).columns
        if one.kind is StatementKind.FETCH:
            return self.cursors.columns(one.text)
        return None

    async def _described(self, text: str, values: Sequence[Any]) -> tuple[ColumnType, ...] | None:
        tree = await self._share.run(tree_of, text)
        if is_about_catalog(tree):
            return (await self._share.run(self._catalog.answer, tree, self._looking(), values)).columns
        found = await self._scanned(values, tree)
        if found is not None:
            return found.columns
        return await self._question_columns(*await self._share.run(self._asked, text, values, tree))

    async def _question_columns(self, asked: str, tree: exp.Expression) -> tuple[ColumnType, ...]:
        """The columns of the answer to a question as it is asked now, for nothing."""
        key = (asked, self._with_ends, str(self._questions.ask("", self.settings)))
        if key not in self._columns:
            explained = await self._questions.explained(asked, self.settings)
            shown = shown_items(tree, selectable([one["name"] for one in explained["answer"]]))
            if len(self._columns) >= READ:
                self._columns.clear()
            self._columns[key] = tuple(described(explained, shown, intervals=self._with_ends))
        return self._columns[key]

    def _looking(self) -> CatalogSession:
        """The session, for a look that changes nothing."""
        held = self._session
        return CatalogSession(user=held.user, database=held.database, settings=held.settings, process=held.process)

    @property
    def _with_ends(self) -> bool:
        return self.settings.get("discreet.intervals") == "on"

    async def run(self, prepared: Prepared, values: Sequence[Any] = ()) -> StatementResult:
        """Runs a statement with the values of its parameters.

        Raises:
            Refused: it is not answered; other errors of the library say why in their own words.
        """
        one = prepared.statement
        if one.kind is StatementKind.SELECT:
            return await self._selected(one.text, values, prepared.columns)
        if one.kind is StatementKind.EXPLAIN:
            return await self._explained(one.text, values)
        if one.kind is StatementKind.DECLARE:
            return await self.cursors.declare(one.text, lambda text: self._selected(text, values))
        if one.kind in (StatementKind.FETCH, StatementKind.CLOSE):
            return self.cursors.run(one)
        done = run_setting(one, self.settings)
        if done is None:
            raise Refused.unsupported()
        if one.kind is StatementKind.DISCARD:
            self.cursors.clear()
        return done

    async def copy(self, text: str) -> tuple[StatementResult, Mapping[str, Any]]:
        """The result of the query in COPY (query) TO STDOUT, and the options of the copy."""
        query, options = copied_query(text)
        return await self._selected(query, ()), options

    async def _selected(
        self, text: str, values: Sequence[Any], told: tuple[ColumnType, ...] | None = None
    ) -> StatementResult:
        """The result of a query; a question whose columns are not as the client was `told` is refused, not charged."""
        tree = await self._share.run(tree_of, text)
        if is_about_catalog(tree):
            try:
                found = await self._share.run(self._catalog.answer, tree, self._session, values)
                for name, value, local in self._session.changes:
                    self.settings.set(name, value, local=local)
            finally:  # what a statement that fails would have set is set by no later one
                self._session.changes.clear()
            return found
        scanned = await self._scanned(values, tree)
        if scanned is not None:
            return scanned
        asked, shown_tree = await self._share.run(self._asked, text, values, tree)
        if told is not None:
            as_described(StatementResult.of(await self._question_columns(asked, shown_tree), []), told)
        return await self._questions.released(asked, self.settings, partial(shown_items, shown_tree))

    async def _scanned(self, values: Sequence[Any], tree: exp.Expression) -> StatementResult | None:
        """What a look around gives; None for a question."""
        inner = await self._share.run(unwrapped, tree)
        scan = scan_of(inner)
        tables = self._questions.tables
        if scan is LookAround.QUESTION or not isinstance(inner, exp.Select):
            return None
        if scan is LookAround.NOTHING:
            return await self._nothing(inner, values)
        policy = self.settings.get("discreet.scans")
        if scan is LookAround.RANGE and policy == "ask":
            return None
        if scan is LookAround.ROWS or policy != "declared":
            raise refused(scan, tables)
        plain = tree_of(without_schemas(inner.sql("postgres"), self._session.database))
        return from_declaration(scan, plain if isinstance(plain, exp.Select) else inner, tables)

    async def _nothing(self, inner: exp.Select, values: Sequence[Any]) -> StatementResult:
        """The columns alone."""
        whole = without_nothing(inner)
        plain = tree_of(without_schemas(whole.sql("postgres"), self._session.database))
        columns = scan_columns(plain, self._questions.tables)
        if columns is None:
            columns = list(await self._described(whole.sql("postgres"), values) or ())
        return StatementResult.of(columns, [])

    def _asked(self, text: str, values: Sequence[Any], tree: exp.Expression) -> tuple[str, exp.Expression]:
        """The statement as the service reads it, and its tree."""
        inner = unwrapped(tree)
        own = text
        if inner is not tree:  # written anew, in which what PostgreSQL reads otherwise would not be seen
            check_notation(Text.of(text, DIALECTS["postgres"]))
            own = inner.sql("postgres")
        plain = in_our_words(without_schemas(own, self._session.database))
        asked = with_values(plain, values).strip().rstrip(";")
        return asked, tree_of(plain)

    async def _explained(self, text: str, values: Sequence[Any]) -> StatementResult:
        query, as_json = explained_statement(text)
        tree = await self._share.run(tree_of, query)
        if is_about_catalog(tree):
            return plan_of({"groups": "the catalog", "charge": "nothing"}, "declarations are free")
        scan = scan_of(await self._share.run(unwrapped, tree))
        if scan in (LookAround.ROWS, LookAround.KEYS):
            raise refused(scan, self._questions.tables)
        asked, _ = await self._share.run(self._asked, query, values, tree)
        explained = await self._questions.explained(asked, self.settings)
        left = remains(await self._questions.budget(explained["dataset"]))
        return plan_of(explained, left, as_json=as_json)


def scan_columns(tree: exp.Expression, tables: Mapping[str, Any]) -> list[ColumnType] | None:
    """The declared columns that a statement selects as they are; None where it computes."""
    found = declared_columns(tree, tables)
    return None if found is None else [ColumnType(one.name, one.oid) for one in found]
