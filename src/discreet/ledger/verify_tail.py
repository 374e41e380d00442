"""Opening a ledger of any length in the time of a short one: its last lines are verified, and they say all that counts.

Claim
    `check_end` returns the head that `check_whole` would return, if `check_whole` accepts the file; and it refuses each
    file in which one of the last `LINES` lines, the first line, a line of a source, of a change of a level, or of the
    last charge to a level before these, or the hash before one of these was changed, if the hashes after it were not
    computed anew.
Requires
    A transaction on the file, in which it does not change.
Relies on
    `hash_chain.follow`: a line continues the chain only if its total is the one before it and its cost. SHA-256.
Proof
    Every line carries the total of all charges up to it, and a hash over what it says and over the hash before it: each
    is a checkpoint of all that came before. Accepted by `check_whole`, the file has at `base`, `LINES` from its end,
    the total and hash that following it from the first line gives; the number of charges there is that of the first
    charge after `base` less one; its sources are those lines that lie before `base`, numbered from 1, and its levels
    follow from their changes in the same way. What was spent at a level is what the last charge up to `base` says that
    was made to it or in it; that is the last one of those found for each level by its own name. Followed from
    this head, the last lines lead to the same end. Of a changed line, `line_at` or `follow` computes a hash that is not
    the one beside it; of a changed hash, that of the next line.
    Not looked at is what an older line says, and whether the file's pages are sound: `check_whole` does so, for all of
    a file of less than `SHORT` bytes, and for every file on `discreet ledger verify`. What an older line says has no
    part in what may still be spent. An answer is compared with its line, and its line with its hash, when it is given.
Rounding
    None.
Source
    Checkpoints of a hash chain: Haber and Stornetta, How to Time-Stamp a Digital Document (1991).
Mutant
    end-is-believed: the last lines are not followed; killed by test_a_change_at_the_end_of_a_long_ledger_is_refused.
    sources-before-the-end: those that were declared long ago are forgotten; killed by
    test_the_end_says_what_the_whole_says.
    charges-inside-are-missed: what was spent at a level is taken from charges to it alone, and not from those to levels
    in it; killed by test_the_end_says_what_the_whole_says_of_levels.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import count
from typing import Any

from discreet.errors import InvalidParameter, LedgerError, expected
from discreet.exact.written_amounts import stored_amount
from discreet.ledger.declared_sources import DeclaredSource, DeclaredSources
from discreet.ledger.file_format import check_allowance, check_tables, check_whole
from discreet.ledger.hash_chain import DAMAGED, Head, LedgerLine, broken, change_of, follow, totals_of
from discreet.ledger.level_names import WHOLE
from discreet.ledger.nested_levels import Balances
from discreet.ledger.privacy_filter import NOTHING, Spending
from discreet.ledger.stored_lines import Database, follow_from, line_at

LINES = 1000
"""So many lines are verified at the end of a ledger."""
SHORT = 1 << 20
"""A file of less bytes is verified whole, in less than 0.2 s."""


def check_end(database: sqlite3.Connection) -> Head:
    """The verified head of the file, whatever its length."""
    [pages], [size] = (database.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
    if pages * size < SHORT:
        return check_whole(database)
    check_tables(database)
    return check_tail(database, follow(None, *line_at(database, 0)))


def check_tail(database: Database, first: Head) -> Head:
    """The verified head of a ledger whose first line is `first`, by its last lines."""
    check_allowance(database, first)
    [last] = database.execute("SELECT max(position) FROM line").fetchone()
    if last is None or last <= LINES:
        return follow_from(database, first)
    head = follow_from(database, _head_at(database, last - LINES, first))
    if _last_charge(database) != head.number:
        raise LedgerError(expected("as many charges as the last line says", "charges", head.number, DAMAGED))
    return head


def _head_at(database: Database, position: int, first: Head) -> Head:
    """What the line at `position` says of all lines up to it."""
    line, chain = line_at(database, position)
    query = "SELECT number FROM line WHERE position > ? AND kind = 'charge' ORDER BY position LIMIT 1"
    texts = (line.spent_epsilon, line.spent_delta, line.spent_rho, line.spent_slack)
    try:
        [after] = database.execute(query, (position,)).fetchone() or [_last_charge(database) + 1]
        balances = Balances.of(first.allowance)
        for change in _numbered(database, "level", position):
            balances = balances.changed(change_of(change))
        totals = _totals(database, position, balances) | {WHOLE: Spending(*map(stored_amount, texts))}
        levels = {path: one._replace(spent=totals.get(path, NOTHING)) for path, one in balances.levels.items()}
        sources = _sources(database, position)
        balances = balances._replace(levels=levels, number=after - 1, sources=sources)
        return Head(position=position, chain=chain, balances=balances)
    except (ArithmeticError, InvalidParameter, LedgerError, TypeError, ValueError) as error:
        raise LedgerError(broken(position)) from error


def _last_charge(database: Database) -> Any:
    """Its number, by the index of numbers."""
    query = "SELECT number FROM line WHERE number > 0 AND kind = 'charge' ORDER BY number DESC LIMIT 1"
    [number] = database.execute(query).fetchone() or [0]
    return number  # SQLite keeps a text in a column of integers; whoever reads this compares it


def _sources(database: Database, position: int) -> DeclaredSources:
    """The sources that were declared up to a line."""
    sources = DeclaredSources()
    for line in _numbered(database, "source", position):
        sources = sources.with_(DeclaredSource.from_json(line.source, line.what, line.event))
    return sources


def _totals(database: Database, position: int, balances: Balances) -> dict[str, Spending]:
    """What was spent, up to a line, at each level to which or in which something was charged."""
    query = "SELECT max(position) FROM line WHERE kind = 'charge' AND level <> '' AND level = ? AND position <= ?"
    found = [database.execute(query, (path, position)).fetchone()[0] for path in balances.levels if path]
    totals: dict[str, Spending] = {}
    for last in sorted(one for one in found if one is not None):
        totals |= totals_of(line_at(database, last)[0])
    return totals


def _numbered(database: Database, kind: str, position: int) -> Iterator[LedgerLine]:
    """The lines of a kind up to a line, which are numbered from 1."""
    for number in count(1):
        query = "SELECT position FROM line WHERE number = ? AND kind = ?"
        [found] = database.execute(query, (number, kind)).fetchone() or [None]
        if found is None or found > position:
            return
        yield line_at(database, found)[0]
