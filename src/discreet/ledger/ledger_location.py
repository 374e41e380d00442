"""Where a ledger is: a file, or a schema of a PostgreSQL server; and how to speak of it without its password."""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

from discreet.errors import InvalidParameter, expected

SCHEMES = ("postgresql", "postgres")
SCHEMA = "discreet_ledger"
"""The schema of a ledger whose URL names none."""

_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


def is_server(place: object) -> bool:
    """Whether a ledger is on a PostgreSQL server; refuses URLs of anything else.

    >>> is_server("postgresql://db.example.org/study#visits"), is_server("spent.db")
    (True, False)
    """
    found = _URL.match(place) if isinstance(place, str) else None
    if found is None:
        return False
    if found[1] not in SCHEMES:
        cure = "give the path of a file, or postgresql://host/database#ledger."
        raise InvalidParameter(expected("a file or a PostgreSQL server", "ledger", f"{found[1]}://...", cure))
    return True


def schema_of(url: str) -> str:
    """The schema that a URL names after ``#``."""
    _, _, named = url.partition("#")
    if not named:
        return SCHEMA
    if not _SCHEMA.fullmatch(named) or named.startswith("pg_") or named in ("public", "information_schema"):
        cure = "name a schema of its own after #: small letters, digits and underscores, such as #visits."
        # What stands there may be the rest of a password.
        raise InvalidParameter(expected("the name of a schema", "schema", "another text", cure))
    return named


def address_of(url: str) -> str:
    """A URL as libpq takes it, without the part that is ours."""
    return url.partition("#")[0]


def place_text(place: object) -> str:
    """A place as it may be shown: of a URL, the database and the schema, without who connects and by which password.

    >>> place_text("postgresql://carol:secret@db.example.org:5432/study?sslmode=require#visits")
    'postgresql://db.example.org:5432/study#visits'
    """
    if not isinstance(place, str | os.PathLike) or not _URL.match(str(place)):
        return str(place)
    url, _, named = str(place).partition("#")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:  # a part of a password where a port should be
        return "postgresql://..."
    # What stands before the last @ may be a password that was written without escapes, wherever else it is cut.
    is_odd = named and not _SCHEMA.fullmatch(named)
    if is_odd or any(sign in parts.path + parts.query for sign in "@:"):
        return "postgresql://..."
    shown = host if port is None else f"{host}:{port}"
    return f"postgresql://{shown}{parts.path}" + (f"#{named}" if named else "")
