"""The entries of a ledger, page by page: whoever reads a long ledger keeps nobody waiting."""

from __future__ import annotations

from dataclasses import replace

from discreet.exact.written_amounts import stored_amount
from discreet.ledger.hash_chain import change_of
from discreet.ledger.ledger import Entry
from discreet.ledger.level_changes import LevelChange
from discreet.ledger.stored_lines import Database, is_of_first_format, line_at
from discreet.privacy.definitions import Guarantee
from discreet.privacy.events import from_json

PAGE = 1000
"""So many charges are read in one transaction."""

_QUERY = """
    SELECT number, time, source, what, key, event, epsilon, delta, rho, slack,
           EXISTS (SELECT 1 FROM line AS a WHERE a.number = line.number AND a.kind = 'answer'), {}
    FROM line WHERE kind = 'charge' AND number > ? ORDER BY number LIMIT ?
"""
_CHANGES = "SELECT position FROM line WHERE kind = 'level' AND number > ? ORDER BY number LIMIT ?"
_BEFORE = "SELECT number FROM line WHERE kind = 'charge' AND position < ? ORDER BY position DESC LIMIT 1"


def page(database: Database, after: int, most: int | None) -> list[Entry]:
    """The charges behind number `after`, oldest first: a page of them, and `most` if that is less."""
    query = _QUERY.format("'', ''" if is_of_first_format(database) else "level, asked_by")
    rows = database.execute(query, (after, PAGE if most is None else min(most, PAGE)))
    return [
        Entry(
            number=number,
            time=time,
            source=source,
            what=what,
            key=key,
            guarantee=Guarantee(epsilon=stored_amount(epsilon), delta=stored_amount(delta)),
            rho=stored_amount(rho),
            slack=stored_amount(slack),
            event=from_json(event),
            level=level,
            asked_by=asked_by,
            answered=bool(answered),
        )
        for number, time, source, what, key, event, epsilon, delta, rho, slack, answered, level, asked_by in rows
    ]


def change_page(database: Database, after: int, most: int | None) -> list[LevelChange]:
    """The changes of levels behind number `after`, oldest first: a page of them, and `most` if that is less."""
    rows = database.execute(_CHANGES, (after, PAGE if most is None else min(most, PAGE))).fetchall()
    found = []
    for (position,) in rows:
        [before] = database.execute(_BEFORE, (position,)).fetchone() or [0]
        found.append(replace(change_of(line_at(database, position)[0]), after=before))
    return found
