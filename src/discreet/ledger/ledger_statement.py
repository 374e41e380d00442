"""What a ledger says, to be looked at: nothing can be charged by way of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from discreet.ledger.declared_sources import DeclaredSources
from discreet.ledger.entry_pages import change_page, page
from discreet.ledger.hash_chain import Head
from discreet.ledger.ledger import Entry
from discreet.ledger.level_changes import LevelChange
from discreet.ledger.nested_levels import Balances
from discreet.ledger.privacy_filter import Allowance, Spending
from discreet.ledger.stored_lines import Database


@dataclass(frozen=True, kw_only=True, slots=True)
class LedgerStatement:
    """What a ledger says, and the entries in it, if they were asked for."""

    path: str
    """Its file; or its server, database and schema."""
    created: str
    """When it was made: UTC, ISO 8601."""
    allowance: Allowance
    spent: Spending
    number: int
    """How many charges there are."""
    balances: Balances
    """How all levels stand."""
    entries: tuple[Entry, ...] = ()
    changes: tuple[LevelChange, ...] = ()

    @property
    def sources(self) -> DeclaredSources:
        """What was declared of all tables that charges are about."""
        return self.balances.sources


def statement_at(database: Database, path: str, head: Head) -> LedgerStatement:
    """What a ledger says at its head, without entries."""
    [created] = database.execute("SELECT time FROM line WHERE position = 0").fetchone()
    return LedgerStatement(
        path=path,
        created=created,
        allowance=head.allowance,
        spent=head.spent,
        number=head.number,
        balances=head.balances,
    )


def with_entries(
    told: LedgerStatement, look: Callable[[], AbstractContextManager[Database]], after: int
) -> LedgerStatement:
    """A statement with its charges behind number `after`, and all changes, read page by page."""
    found: list[Entry] = []
    while (missing := told.number - after - len(found)) > 0:
        with look() as database:
            found += page(database, after + len(found), missing)
    changes: list[LevelChange] = []
    while (missing := told.balances.changes - len(changes)) > 0:
        with look() as database:
            changes += change_page(database, len(changes), missing)
    return replace(told, entries=tuple(found), changes=tuple(changes))
