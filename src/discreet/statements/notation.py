"""How constants and operators are written: refuses what the parser reads otherwise than the dialect, or in part.

The parser drops what it does not know inside of an interval, has escapes of its own in texts, and takes the rest of a
number for an alias. So tokens are looked at before it sees them, each as it stands in the source.
"""

from __future__ import annotations

import re
from itertools import pairwise

from sqlglot.tokenizer_core import Token, TokenType

from discreet.errors import InvalidQuery
from discreet.statements.date_functions import INTERVALS, UNITS
from discreet.statements.statement_text import Text

DIGITS = r"[0-9]+(?:_[0-9]+)*"
NUMBER = re.compile(rf"{DIGITS}(?:\.(?:{DIGITS})?)?(?:[eE][+-]?{DIGITS})?")
WORD = re.compile(r"[\w$\"'`]")
"""What may not follow a number: the parser takes it for a name, and dialects for a part of the number."""
SAME_ESCAPES = re.compile(r"""[^\\]*(?:\\[\\'"][^\\]*)*""", re.DOTALL)
"""A text with no escape but those that are the same everywhere."""
WORDS = frozenset({*UNITS, *(f"{unit}S" for unit in UNITS)})
"""The units that may follow the quotes of an interval. The parser knows others, which dialects take for names."""
INTERVAL = re.compile(r"\s*-?[0-9]+\s*([A-Za-z]*)\s*")


def check_notation(text: Text) -> None:
    """Refuses constants and operators that the parser reads otherwise than the dialect does."""
    for i, token in enumerate(text.tokens):
        if token.token_type is TokenType.NUMBER:
            _check_number(token, text)
        elif token.token_type is TokenType.STRING:
            _check_text(token, text)
        elif token.token_type is TokenType.INTERVAL:
            _check_interval(text.tokens[i + 1 : i + 3], text)
        elif token.token_type is not TokenType.IDENTIFIER and token.text in text.dialect.foreign:
            cure = "write it with those, or with Ibis on the protected table."
            raise text.refusal_at("operators that docs/sql.md lists", token, cure)
    for token, following in pairwise(text.tokens):
        _check_neighbors(token, following, text)
    if text.dialect.escapes and (found := re.search(r"--[^\r\n]*\\\n", text.source)):
        place = text.at(found.start())
        cure = "leave the backslash out; the dialect reads on behind it."
        raise InvalidQuery(f"Expected a comment that ends with its line, got a backslash {place}.\nHint: {cure}")


def _check_neighbors(token: Token, following: Token, text: Text) -> None:
    """Two texts in a row, which dialects join in ways of their own, and a cast behind IS NULL."""
    if token.token_type is TokenType.STRING and following.token_type is TokenType.STRING:
        cure = "write one text, or join them with ||; a quote inside of a text stands in the other kind of quotes."
        raise text.refusal_at("one text in quotes", following, cure)
    if token.token_type is TokenType.NULL and following.token_type is TokenType.DCOLON:
        raise text.refusal_at("a comparison without a cast behind it", following, "write CAST(x IS NULL AS type).")


def _check_number(token: Token, text: Text) -> None:
    """A suffix, as in 1L, an exponent without digits, and what some dialects know as a base or a separator."""
    written = text.source[token.start : token.end + 1]
    following = text.source[token.end + 1 : token.end + 2]
    if not NUMBER.fullmatch(written) or WORD.match(following):
        cure = "write digits with a point or an exponent, as in 12, 0.5 or 1e3, and a space behind them."
        got = f"{written + following!r} {text.at(token.start)}"
        raise InvalidQuery(f"Expected a number in decimal digits, got {got}.\nHint: {cure}")


def _check_text(token: Token, text: Text) -> None:
    """Escapes, of which each dialect has others."""
    if text.dialect.escapes and not SAME_ESCAPES.fullmatch(text.source[token.start : token.end + 1]):
        cure = r"write the character itself, and a backslash as \\."
        raise text.refusal_at("a text without escapes", token, cure)


def _check_interval(following: tuple[Token, ...], text: Text) -> None:
    """The whole of a text after INTERVAL is a number, or a number and a unit; the parser would pass over the rest."""
    if not following or following[0].token_type is not TokenType.STRING:
        return
    written, after = following[0], following[1].text.upper() if len(following) > 1 else ""
    parts = INTERVAL.fullmatch(written.text)
    if parts is None or ((after in WORDS) if parts[1] else (after not in (text.dialect.fields or WORDS))):
        raise text.refusal_at(INTERVALS[0], written, INTERVALS[1])
