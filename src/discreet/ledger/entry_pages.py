"""The charges of a ledger file, page by page: whoever reads a long ledger keeps nobody waiting."""

from __future__ import annotations

import sqlite3
from fractions import Fraction

from discreet.ledger.ledger import Entry
from discreet.privacy.definitions import Guarantee
from discreet.privacy.events import from_json

PAGE = 1000
"""So many charges are read in one transaction."""

_QUERY = """
    SELECT number, time, source, what, key, event, epsilon, delta, rho, slack,
           EXISTS (SELECT 1 FROM line AS a WHERE a.number = line.number AND a.kind = 'answer')
    FROM line WHERE kind = 'charge' AND number > ? ORDER BY number LIMIT ?
"""


def page(database: sqlite3.Connection, after: int, most: int | None) -> list[Entry]:
    """The charges behind number `after`, oldest first: a page of them, and `most` if that is less."""
    rows = database.execute(_QUERY, (after, PAGE if most is None else min(most, PAGE)))
    return [
        Entry(
            number=number,
            time=time,
            source=source,
            what=what,
            key=key,
            guarantee=Guarantee(epsilon=Fraction(epsilon), delta=Fraction(delta)),
            rho=Fraction(rho),
            slack=Fraction(slack),
            event=from_json(event),
            answered=bool(answered),
        )
        for number, time, source, what, key, event, epsilon, delta, rho, slack, answered in rows
    ]
