"""What a statement is, told by its first words; a text may have several, with semicolons between."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

import sqlglot
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from discreet.pgwire.sqlstates import SYNTAX, TOO_LONG, Refused

LONGEST = 100_000
MOST_STATEMENTS = 50
MOST_TOKENS = 10_000
"""Of a statement: more would be read for over a second."""
EXACT = (TokenType.STRING, TokenType.BYTE_STRING, TokenType.HEREDOC_STRING, TokenType.IDENTIFIER, TokenType.NUMBER)
"""Of which capital letters are a part; E'a' and $$a$$ are among them."""
READ, SHORT = 200, 2_000
"""Statements that are kept as they were read, and the characters of each: a dashboard asks the same ones again."""
Given = ParamSpec("Given")
Made = TypeVar("Made")
_LEADING = re.compile(r"(?:\s+|--[^\n\r]*|/\*(?:[^*]|\*(?!/))*\*/)*")
_WORD = re.compile(r"[A-Za-z_]+")


class StatementKind(Enum):
    """What a statement is."""

    EMPTY = "empty"
    SELECT = "select"
    EXPLAIN = "explain"
    SET = "set"
    SHOW = "show"
    RESET = "reset"
    BEGIN = "begin"
    COMMIT = "commit"
    ROLLBACK = "rollback"
    SAVEPOINT = "savepoint"
    RELEASE = "release"
    DISCARD = "discard"
    DEALLOCATE = "deallocate"
    DECLARE = "declare"
    FETCH = "fetch"
    CLOSE = "close"
    COPY = "copy"
    LISTEN = "listen"
    OTHER = "other"


FIRST_WORDS = {
    "select": StatementKind.SELECT,
    "with": StatementKind.SELECT,
    "values": StatementKind.SELECT,
    "explain": StatementKind.EXPLAIN,
    "set": StatementKind.SET,
    "show": StatementKind.SHOW,
    "reset": StatementKind.RESET,
    "begin": StatementKind.BEGIN,
    "start": StatementKind.BEGIN,
    "commit": StatementKind.COMMIT,
    "end": StatementKind.COMMIT,
    "rollback": StatementKind.ROLLBACK,
    "abort": StatementKind.ROLLBACK,
    "savepoint": StatementKind.SAVEPOINT,
    "release": StatementKind.RELEASE,
    "discard": StatementKind.DISCARD,
    "deallocate": StatementKind.DEALLOCATE,
    "declare": StatementKind.DECLARE,
    "fetch": StatementKind.FETCH,
    "move": StatementKind.FETCH,
    "close": StatementKind.CLOSE,
    "copy": StatementKind.COPY,
    "listen": StatementKind.LISTEN,
    "unlisten": StatementKind.LISTEN,
}


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement: its text, and what it is."""

    text: str
    kind: StatementKind


def statement(text: str) -> Statement:
    """A text that holds at most one statement.

    >>> statement("  EXPLAIN SELECT 1; ").kind, statement(";").kind, statement("DROP TABLE t").kind
    (<StatementKind.EXPLAIN: 'explain'>, <StatementKind.EMPTY: 'empty'>, <StatementKind.OTHER: 'other'>)

    Raises:
        Refused: it holds several, or is too long.
    """
    found = statements(text)
    if len(found) > 1:
        cure = "send each statement by itself."
        raise Refused(SYNTAX, "Expected one statement, got several in a prepared statement.", cure)
    return found[0] if found else Statement("", StatementKind.EMPTY)


def statements(text: str) -> list[Statement]:
    """The statements of a text, without the empty ones.

    Raises:
        Refused: there are too many, the text is too long, its quotes have no end, or comments have others inside.
    """
    if len(text) > LONGEST:
        raise Refused(TOO_LONG, f"Expected at most {LONGEST:,} characters, got more.", "send a shorter statement.")
    if not text.strip().strip(";").strip():
        return []
    found = [part for part in _parts(text) if part.strip()]
    if len(found) > MOST_STATEMENTS:
        raise Refused(TOO_LONG, f"Expected at most {MOST_STATEMENTS} statements, got more.", "send fewer at once.")
    return [Statement(part.strip(), _kind(part)) for part in found if _kind(part) is not StatementKind.EMPTY]


def _parts(text: str) -> list[str]:
    """The text between semicolons that are no part of a quoted text, a name or a comment."""
    signs = list(_SIGNS.finditer(text))
    if any(found[0].startswith("/*") and "/*" in found[0][2:] for found in signs):
        cure = "take the inner one out."
        raise Refused(SYNTAX, "Expected comments without others inside, got one inside another.", cure)
    ends = [found.start() for found in signs if found["end"]]
    return [text[start:end] for start, end in zip([0, *(end + 1 for end in ends)], [*ends, len(text)], strict=True)]


def spaced(text: str) -> str:
    """The same text with spaces behind parameters: the tokenizer takes `$1,$` for the start of a quoted text.

    >>> spaced("a IN ($1,$2) AND b = '$1,$2'")
    "a IN ($1 ,$2) AND b = '$1,$2'"
    """
    return _SIGNS.sub(lambda found: found[0] + " " * bool(found["parameter"]), text)


_SIGNS = re.compile(
    r"""(?<!\w)[eE]'(?:[^'\\]|\\.|'')*(?:'|\Z) | '(?:[^']|'')*(?:'|\Z) | "[^"]*(?:"|\Z)
    | --[^\n\r]* | /\*(?:[^*]|\*(?!/))*(?:\*/|\Z)
    | (?<!\w)\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?(?:\$(?P=tag)\$|\Z)
    | (?P<end>;) | (?P<parameter>(?<!\w)\$\d+(?![\s\d);]|\Z))""",
    re.VERBOSE | re.DOTALL,
)
"""What is quoted, or begins to be: without an end it goes on to that of the text, so that each sign is read once."""


def _kind(text: str) -> StatementKind:
    place = _LEADING.match(text)
    rest = text[place.end() if place else 0 :]
    if not rest.strip():
        return StatementKind.EMPTY
    if rest.startswith("("):
        return StatementKind.SELECT
    word = _WORD.match(rest)
    return FIRST_WORDS.get(word[0].lower(), StatementKind.OTHER) if word else StatementKind.OTHER


def remembered(read: Callable[Given, Made]) -> Callable[Given, Made]:
    """A function of texts that keeps what it made of short ones: what is made of a text takes 800 times its memory."""
    kept: Any = lru_cache(READ)(read)

    @wraps(read)
    def reading(*given: Given.args, **named: Given.kwargs) -> Made:
        found: Made = (kept if len(str(given[0])) <= SHORT else read)(*given, **named)
        return found

    return reading


@remembered
def tokens(text: str) -> tuple[Token, ...]:
    """The tokens of a statement.

    Raises:
        Refused: a quoted text or a comment has no end, or there are too many.
    """
    try:
        found = tuple(sqlglot.tokenize(text, read="postgres"))
    except TokenError:
        cure = "close what is quoted, 'like this'."
        raise Refused(SYNTAX, "Expected SQL that can be read, got quotes or a comment without an end.", cure) from None
    if len(found) > MOST_TOKENS:
        cure = "send a shorter statement: BETWEEN in place of a long list."
        raise Refused(TOO_LONG, f"Expected at most {MOST_TOKENS:,} words, constants and signs, got more.", cure)
    return found


def words(text: str) -> list[str]:
    """The words, names and values of a short statement, names in small letters and values without their quotes.

    >>> words("SET discreet.epsilon TO '0.1'")
    ['set', 'discreet.epsilon', 'to', '0.1']
    """
    place = _LEADING.match(text)
    first = _WORD.match(text, place.end() if place else 0)
    found = [first[0].lower()] if first else []
    joined = False
    rest = text[first.end() :] if first else text
    for token in tokens(rest):
        if token.token_type is TokenType.DOT:
            found[-1:] = [f"{found[-1] if found else ''}."]
            joined = True
            continue
        exact = token.token_type in EXACT
        in_digits = token.token_type in (TokenType.HEX_STRING, TokenType.BIT_STRING)  # whose text lacks its 0x
        word = token.text if exact else rest[token.start : token.end + 1] if in_digits else token.text.lower()
        if joined:
            found[-1] += word
        else:
            found.append(word)
        joined = False
    return found
