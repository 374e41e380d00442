"""On which line of a TOML text each key stands: `tomllib` reads what a file says, and does not say where.

Not left to tomlkit or tomli: the one is a dependency for a number beside a message, the other is `tomllib` itself.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from discreet.errors import InvalidParameter, printable

LARGEST = 4 * 1024 * 1024
"""Characters of a file; more is no declaration that anybody reviews."""
DEEPEST = 50
"""Brackets within brackets."""

Path = tuple[str, ...]
"""Where a value stands, key by key."""

TOKEN = re.compile(
    r"""
      (?P<space> [ \t\r]+ | \#[^\n]* )
    | (?P<line> \n )
    | (?P<long> \"\"\"(?:[^"\\]|\\.|\"(?!\"\"))*\"{3,5} | '''(?:[^']|'(?!''))*'{3,5} )
    | (?P<text> "(?:[^"\\\n]|\\.)*" | '[^'\n]*' )
    | (?P<mark> [\[\]{}=,.] )
    | (?P<bare> [^\s\[\]{}=,.\#"']+ )
    """,
    re.VERBOSE | re.DOTALL,
)
WHERE = re.compile(r" \(at (?:line (?P<line>\d+), column \d+|end of document)\)$")


class Token(NamedTuple):
    """A piece of the text, and its line."""

    kind: str
    text: str
    line: int


class TomlDocument(NamedTuple):
    """What a TOML text says, and where."""

    values: dict[str, Any]
    lines: dict[Path, int]
    """The line of each table and key, by its path."""

    def line(self, *path: str) -> int:
        r"""The line of a key; of what is not there, that of the table which lacks it.

        >>> read_toml('[table]\nunit = "person"', "a.toml").line("table", "source")
        1
        """
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def read_toml(text: str, name: str) -> TomlDocument:
    r"""The values of a TOML text, with the line of each; refuses what is no TOML, with its line.

    >>> document = read_toml("[columns.minutes]\nbounds = [0, 240]", "visits.toml")
    >>> document.values, document.line("columns", "minutes", "bounds")
    ({'columns': {'minutes': {'bounds': [0, 240]}}}, 2)
    """
    if len(text) > LARGEST:
        raise InvalidParameter(
            f"Expected a file of at most {LARGEST:,} characters, got more in {name}.\nHint: state less in one file."
        )
    try:
        values = tomllib.loads(text, parse_float=_decimal)
    except (ValueError, RecursionError) as problem:
        raise InvalidParameter(_no_toml(problem, text, name)) from None
    tokens = list(_tokens(text))
    if _depth(tokens) > DEEPEST:
        raise InvalidParameter(
            f"Expected at most {DEEPEST} brackets within each other, got more in {name}.\n"
            "Hint: no declaration needs them."
        )
    lines: dict[Path, int] = {(): 1}
    _Reader(tokens, lines).statements()
    return TomlDocument(values, lines)


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(text) from None


def _no_toml(problem: Exception, text: str, name: str) -> str:
    said = str(problem)
    found = WHERE.search(said)
    line = int(found["line"]) if found and found["line"] else text.count("\n") + 1
    what = (
        printable(WHERE.sub("", said))
        if isinstance(problem, tomllib.TOMLDecodeError)
        else "a value that is too long or too deep"
    )
    return (
        f"Expected TOML, got {what!r} in {name}, line {line}.\n"
        'Hint: write key = value; texts stand in quotes, lists in brackets: keys = ["north", "south"].'
    )


def _tokens(text: str) -> Iterator[Token]:
    """The pieces of a text; what is no piece of TOML is left to `tomllib` to refuse."""
    place, line = 0, 1
    while place < len(text):
        found = TOKEN.match(text, place)
        piece = found[0] if found else text[place]
        kind = (found.lastgroup if found else None) or "bare"
        if kind != "space":
            yield Token(kind, piece, line)
        line += piece.count("\n")
        place += len(piece)


def _depth(tokens: list[Token]) -> int:
    now = most = 0
    for token in tokens:
        if token.kind == "mark":
            now += (token.text in "[{") - (token.text in "]}")
            most = max(most, now)
    return most


class _Reader:
    """Goes through the tokens of a text that is known to be TOML, and notes where keys stand."""

    def __init__(self, tokens: list[Token], lines: dict[Path, int]) -> None:
        self._tokens = tokens
        self._lines = lines
        self._place = 0

    def statements(self) -> None:
        """Headers and keys, line by line."""
        table: Path = ()
        while (token := self._next()) is not None:
            if token.kind == "line":
                self._place += 1
            elif token.text == "[":
                while (mark := self._next()) is not None and mark.text == "[":
                    self._place += 1
                table = self._key(())
                while (mark := self._next()) is not None and mark.kind != "line":
                    self._place += 1
            else:
                self._pair(table)

    def _pair(self, table: Path) -> None:
        """One key and its value."""
        path = self._key(table)
        self._place += 1  # the equals sign
        self._value(path)

    def _key(self, table: Path) -> Path:
        """A key of one part or several, each of which is noted where it is new."""
        path = table
        while (token := self._next()) is not None and token.kind in ("bare", "text"):
            path = (*path, _plain(token))
            self._lines.setdefault(path, token.line)
            self._place += 1
            if (after := self._next()) is None or after.text != ".":
                break
            self._place += 1
        return path

    def _value(self, path: Path) -> None:
        """A value, up to its end; keys in braces are noted."""
        token = self._next()
        if token is not None and token.text == "{":
            self._place += 1
            self._braces(path)
        elif token is not None and token.text == "[":
            self._brackets(path)
        else:
            self._place += 1
            while (token := self._next()) is not None and token.text not in (",", "}", "]") and token.kind != "line":
                self._place += 1

    def _braces(self, path: Path) -> None:
        while (token := self._next()) is not None:
            if token.text == "}" and token.kind == "mark":
                self._place += 1
                return
            if token.text == "," or token.kind == "line":
                self._place += 1
            else:
                self._pair(path)

    def _brackets(self, path: Path) -> None:
        self._place += 1
        while (token := self._next()) is not None:
            if token.text == "]" and token.kind == "mark":
                self._place += 1
                return
            if token.text == "," or token.kind == "line":
                self._place += 1
            else:
                self._value(path)

    def _next(self) -> Token | None:
        return self._tokens[self._place] if self._place < len(self._tokens) else None


def _plain(token: Token) -> str:
    """A key as it is meant, without its quotes."""
    return next(iter(tomllib.loads(f"{token.text} = 0"))) if token.kind == "text" else token.text
