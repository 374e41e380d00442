"""Refuses constants and operators that the parser reads differently from the dialect, or only in part.

The parser drops what it does not know inside an interval, has its own escapes in texts, and takes the rest of a number
for an alias. So tokens are checked before it sees them, each as written in the source.
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
NAME_CHARACTER = re.compile(r"[\w$\"'`]")
"""What may not follow a number: the parser takes it for a name, and dialects for a part of the number."""
SAME_ESCAPES = re.compile(r"""[^\\]*(?:\\[\\'"][^\\]*)*""", re.DOTALL)
"""A text whose only escapes are those that all dialects share."""
INTERVAL_UNITS = frozenset({*UNITS, *(f"{unit}S" for unit in UNITS)})
"""The units that may follow the quotes of an interval. The parser knows others, which dialects read as names."""
PARTED = frozenset({"DATE_PART", "DATEPART", "DATE_TRUNC", "DATETRUNC", "DATE_DIFF", "DATEDIFF"})
"""Functions whose first argument is a part of a date, as a text. Spark's DATEDIFF has a word of its own there."""
INTERVAL = re.compile(r"\s*-?[0-9]+\s*([A-Za-z]*)\s*")


def check_notation(text: Text) -> None:
    """Refuses constants and operators that the parser reads differently from the dialect."""
    for i, token in enumerate(text.tokens):
        if token.token_type is TokenType.NUMBER:
            _check_number(token, text)
        elif token.token_type is TokenType.STRING:
            _check_text(token, text)
        elif token.token_type is TokenType.INTERVAL:
            _check_interval(text.tokens[i + 1 : i + 3], text)
        elif token.token_type is not TokenType.IDENTIFIER and token.text in text.dialect.foreign:
            cure = "write it with those, or with Ibis on the protected table."
            raise text.refusal_at("operators that discreet docs sql lists", token, cure)
    for token, following in pairwise(text.tokens):
        _check_neighbors(token, following, text)
    for tokens in zip(*(text.tokens[i:] for i in range(4)), strict=False):
        _check_part(tokens, text)
    _check_limits(text)
    _check_comments(text)
    for found in re.finditer(r"\\\n", text.source) if text.dialect.escapes else ():
        line = max(text.source.rfind(end, 0, found.start()) for end in "\r\n") + 1
        comment = text.source.find("--", line, found.start())
        if comment >= 0:
            place = text.at(comment)
            cure = "leave the backslash out; in this dialect it continues the comment."
            raise InvalidQuery(f"Expected a comment that ends with its line, got a backslash {place}.\nHint: {cure}")


def _check_comments(text: Text) -> None:
    """Refuses what the parser alone takes for a comment."""
    for found in re.finditer(r"\{#", text.source):
        if not any(token.start <= found.start() <= token.end for token in text.tokens):
            place = text.at(found.start())
            raise InvalidQuery(f"Expected comments of SQL, got {{# {place}.\nHint: write /* ... */ or -- ...")


def _check_limits(text: Text) -> None:
    """Refuses LIMIT 1, 5, which MySQL alone has: the parser takes the first number for that of OFFSET."""
    depth, since = 0, None
    for token in text.tokens:
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if token.token_type is TokenType.LIMIT:
            since = depth
        elif since is not None and (depth < since or token.token_type is TokenType.OFFSET):
            since = None
        elif since == depth and token.token_type is TokenType.COMMA:
            raise text.refusal_at("one number after LIMIT", token, "LIMIT 1, 5 is LIMIT 5 OFFSET 1: write that.")


def _check_neighbors(token: Token, following: Token, text: Text) -> None:
    """Refuses two texts in a row, which dialects join differently, and a cast after IS NULL."""
    if token.token_type is TokenType.STRING and following.token_type is TokenType.STRING:
        cure = "write one text, or join them with ||; write a quote inside a text in the other kind of quotes."
        raise text.refusal_at("one text in quotes", following, cure)
    if token.token_type is TokenType.NULL and following.token_type is TokenType.DCOLON:
        raise text.refusal_at("a comparison without a cast after it", following, "write CAST(x IS NULL AS type).")


def _check_part(tokens: tuple[Token, ...], text: Text) -> None:
    """Refuses a part of a date without quotes, which engines take for a column where there is one of that name."""
    call, opening, part, comma = tokens
    known = PARTED if text.dialect.name == "duckdb" else PARTED - {"DATE_DIFF", "DATEDIFF"}
    if call.text.upper() not in known or opening.token_type is not TokenType.L_PAREN:
        return
    if part.token_type is not TokenType.STRING and comma.token_type is TokenType.COMMA:
        cure = f"write {call.text.upper()}('{part.text.lower()}', ...); without quotes it is a column."
        raise text.refusal_at("a part of a date in quotes", part, cure)


def _check_number(token: Token, text: Text) -> None:
    """Refuses a suffix, as in 1L, an exponent without digits, and what some dialects read as a base or a separator."""
    written = text.source[token.start : token.end + 1]
    following = text.source[token.end + 1 : token.end + 2]
    if not NUMBER.fullmatch(written) or NAME_CHARACTER.match(following):
        cure = "write digits with a point or an exponent, as in 12, 0.5 or 1e3, and a space after them."
        got = f"{written + following!r} {text.at(token.start)}"
        raise InvalidQuery(f"Expected a number in decimal digits, got {got}.\nHint: {cure}")


def _check_text(token: Token, text: Text) -> None:
    """Refuses escapes on which dialects differ."""
    if text.dialect.escapes and not SAME_ESCAPES.fullmatch(text.source[token.start : token.end + 1]):
        cure = r"write the character itself, and a backslash as \\."
        raise text.refusal_at("a text without escapes", token, cure)


def _check_interval(following: tuple[Token, ...], text: Text) -> None:
    """Refuses text after INTERVAL that is not a number, or a number and a unit; the parser would ignore the rest."""
    if not following or following[0].token_type is not TokenType.STRING:
        return
    written, after = following[0], following[1].text.upper() if len(following) > 1 else ""
    units = text.dialect.fields or INTERVAL_UNITS
    parts = INTERVAL.fullmatch(written.text)
    if parts is None or ((after in INTERVAL_UNITS) if parts[1] else (after not in units)):
        raise text.refusal_at(INTERVALS[0], written, INTERVALS[1])
