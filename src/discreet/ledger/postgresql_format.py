"""What the schema of a ledger on PostgreSQL looks like, and the checks that it passes before it is trusted.

The lines are those of a ledger's file, with the same hashes. The one row of ``head`` is what a transaction holds to be
alone, and says where the chain ends: a line that is missing at the end shows, unless both were changed.
"""

from __future__ import annotations

from discreet.errors import LedgerError, expected
from discreet.ledger.file_format import AMOUNTS, FORMAT, check_allowance, check_version
from discreet.ledger.hash_chain import DAMAGED, Head, LedgerLine, chain_hash, follow, stated
from discreet.ledger.privacy_filter import Allowance
from discreet.ledger.stored_lines import EVERY, Database, check_answer, follow_from, insert, line_at, now
from discreet.ledger.verify_tail import LINES, check_tail

_TEXTS = ("kind", "time", "source", "what", "key", "event", "answer_sha256", "chain", "level", "asked_by", "totals")
_SPENT = tuple(f"spent_{name}" for name in AMOUNTS)

# COLLATE "C": bytes are compared as they are, whatever the database thinks of languages.
_TABLES = (
    'CREATE TABLE meta (name text COLLATE "C" PRIMARY KEY, value text NOT NULL)',
    "CREATE TABLE line (position bigint PRIMARY KEY, number bigint NOT NULL, answer bytea, "
    + ", ".join(f'{name} text COLLATE "C" NOT NULL' for name in (*_TEXTS, *AMOUNTS, *_SPENT))
    + ")",
    "CREATE TABLE head (one boolean PRIMARY KEY CHECK (one), position bigint NOT NULL, chain text NOT NULL)",
    "CREATE UNIQUE INDEX one_charge_one_answer ON line (number, kind)",
    "CREATE INDEX answer_by_key ON line (key, position) WHERE kind = 'answer'",
    "CREATE INDEX charge_by_level ON line (level, position) WHERE kind = 'charge' AND level <> ''",
    """CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'a ledger is append-only'; END $$""",
    "CREATE TRIGGER line_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON line EXECUTE FUNCTION refuse()",
    "CREATE TRIGGER meta_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON meta EXECUTE FUNCTION refuse()",
    "CREATE TRIGGER head_kept BEFORE DELETE OR TRUNCATE ON head EXECUTE FUNCTION refuse()",
)
_TRIGGERS = """
    SELECT tgname::text FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
    WHERE relnamespace = current_schema()::regnamespace AND tgenabled = 'O' AND NOT tgisinternal ORDER BY tgname
"""
_INDEXES = """
    SELECT relname::text FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
    WHERE relnamespace = current_schema()::regnamespace AND indisvalid AND indisready ORDER BY relname
"""
_OWN = {
    "triggers": (_TRIGGERS, ("head_kept", "line_kept", "meta_kept")),
    "indexes": (
        _INDEXES,
        ("answer_by_key", "charge_by_level", "head_pkey", "line_pkey", "meta_pkey", "one_charge_one_answer"),
    ),
}
_ANSWERS = """
    SELECT position, number, answer_sha256, answer FROM line WHERE kind IN ('answer', 'point') AND position > ?
    ORDER BY position LIMIT ?
"""
ANSWERS = 100
"""So many answers are read at once."""


def write_new(database: Database, allowance: Allowance) -> None:
    """Fills an empty schema with a ledger whose first line is its allowance."""
    for statement in _TABLES:
        database.execute(statement)
    amounts, time = stated(allowance), now()
    meta = {"format": FORMAT, "created": time, **dict(zip(AMOUNTS, amounts, strict=True))}
    for row in meta.items():
        database.execute("INSERT INTO meta VALUES (?, ?)", row)
    line = LedgerLine._make((0, "created", time, 0, "", f"format {FORMAT}", "", "", *amounts, *["0/1"] * 4, *[""] * 4))
    chain = chain_hash("", line)
    insert(database, line, chain, None)
    database.execute("INSERT INTO head VALUES (true, 0, ?)", (chain,))


def move_head(database: Database, head: Head) -> None:
    """Says where the chain ends now."""
    database.execute("UPDATE head SET position = ?, chain = ?", (head.position, head.chain))


def check_head(database: Database, head: Head) -> None:
    """Refuses another end of the chain than the row of the head says."""
    found = database.execute("SELECT position, chain FROM head").fetchone()
    if found is None or tuple(found) != (head.position, head.chain):
        raise LedgerError(expected("as many lines as the head says", "lines", head.position + 1, DAMAGED))


def check_schema(database: Database, path: str) -> None:
    """Refuses a schema that is not a ledger's, or is too new to be understood, or lacks what keeps it append-only."""
    row = database.execute("SELECT value FROM meta WHERE name = 'format'").fetchone()
    check_version(row[0] if row else None)
    for what, (query, wanted) in _OWN.items():
        found = tuple(name for (name,) in database.execute(query))
        if found != wanted:
            raise LedgerError(expected(f"a ledger with its {what}", "ledger", f"{path}, changed {what}", DAMAGED))


def check_end(database: Database) -> Head:
    """The verified head of the ledger, whatever its length."""
    head = check_tail(database, follow(None, *line_at(database, 0)))
    check_head(database, head)
    return head


def check_whole(database: Database) -> Head:
    """Reads the whole ledger, some lines at a time, and returns its verified head; refuses the least damage."""
    head = follow_from(database, None, 1)
    check_allowance(database, head)
    while (after := follow_from(database, head, LINES)).position > head.position:
        head = after
    check_head(database, head)
    seen = -1
    while rows := database.execute(_ANSWERS, (seen, ANSWERS)).fetchall():
        for position, number, digest, answer in rows:
            check_answer(number, digest, answer)
            seen = position
    return head


def rows_from(database: Database, after: int) -> list[tuple[object, ...]]:
    """Lines behind a position as they are stored, with hashes and answers: some at a time."""
    names = ", ".join((*LedgerLine._fields, "chain", "answer"))
    query = f"SELECT {names} FROM line WHERE position > ? ORDER BY position LIMIT ?"  # noqa: S608 - names
    found: list[tuple[object, ...]] = database.execute(query, (after, min(ANSWERS, EVERY))).fetchall()
    return found
