"""The text of a statement: its syntax tree, and the line and column of whatever is refused in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import ErrorLevel, ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from discreet.errors import InvalidParameter, InvalidQuery, expected
from discreet.statements.dialects import DUCKDB, Dialect
from discreet.statements.operator_precedence import check_operators, parsed

LONGEST_SHOWN = 60
LONGEST_OPENING = 4
"""Tokens from the name of a function to its first operand, as in EXTRACT ( YEAR FROM x."""
FORM = "SELECT keys, aggregates FROM table WHERE condition GROUP BY keys"

MOST_STEPS = 50_000
"""Parts that are written: more than a statement has that is read."""

SET_OPERATIONS = (TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT)
OPENING = (TokenType.SELECT, TokenType.WITH, TokenType.FROM, TokenType.L_PAREN)


@dataclass(frozen=True, kw_only=True)
class Text:
    """The text of a statement, and its tokens."""

    source: str
    tokens: tuple[Token, ...]
    dialect: Dialect = DUCKDB
    unclear: set[str] = field(default_factory=set, compare=False)
    """Computed columns that may be whole numbers in only one of Ibis and the dialect, in lower case."""

    @classmethod
    def of(cls, source: object, dialect: Dialect = DUCKDB) -> Text:
        """The tokens of a statement; refuses values that are not text, and unclosed quotes."""
        if not isinstance(source, str):
            raise InvalidParameter(expected("the text of a statement", "text", source, f"write it as '{FORM}'."))
        try:
            return cls(source=source, tokens=tuple(sqlglot.tokenize(source, read=dialect.name)), dialect=dialect)
        except TokenError as problem:
            raise InvalidQuery(_unreadable(source, str(problem.__cause__))) from None

    def at(self, start: int) -> str:
        """A position in the text, for people: both numbers count from 1."""
        line = self.source.count("\n", 0, start) + 1
        return f"at line {line}, column {start - self.source.rfind(chr(10), 0, start)}"

    def place(self, node: exp.Expression) -> str:
        """The position of a part of the tree in the text."""
        nearby: exp.Expression | None = node
        while nearby is not None:
            starts = [part.meta["start"] for part in nearby.walk() if "start" in part.meta]
            if starts:
                return self.at(self._opening(nearby, min(starts)))
            nearby = nearby.parent
        return self.at(0)

    def _opening(self, node: exp.Expression, start: int) -> int:
        """Where a function begins whose first known part is at `start`: at its name, if the name is before it."""
        if not isinstance(node, exp.Func) or "start" in node.meta:
            return start
        names = type(node).sql_names()  # type: ignore[no-untyped-call]  # sqlglot's own
        before = [token for token in self.tokens if token.start < start][-LONGEST_OPENING:]
        return next((token.start for token in reversed(before) if token.text.upper() in names), start)

    def refusal(self, what: str, got: exp.Expression, cure: str) -> InvalidQuery:
        """The refusal of a part of the tree."""
        return InvalidQuery(f"Expected {what}, got {shown(got)} {self.place(got)}.\nHint: {cure}")

    def refusal_of(self, what: str, cure: str, *kinds: TokenType, after: int = 0) -> InvalidQuery | None:
        """The refusal of the first token of some kinds beyond the first `after` ones; None if there is none."""
        token = next((token for token in self.tokens[after:] if token.token_type in kinds), None)
        return None if token is None else self.refusal_at(what, token, cure)

    def refusal_at(self, what: str, token: Token, cure: str) -> InvalidQuery:
        """The refusal of one token."""
        return InvalidQuery(f"Expected {what}, got {token.text.upper()!r} {self.at(token.start)}.\nHint: {cure}")

    def is_unclear(self, node: exp.Expression) -> bool:
        """Whether some part of it, outside casts, may be a whole number in only one of Ibis and the dialect."""
        parts = node.walk(prune=lambda part: isinstance(part, exp.Cast))
        return any(
            isinstance(part, self.dialect.real)
            or (isinstance(part, exp.Column) and part.name.casefold() in self.unclear)
            for part in parts
        )

    def remember(self, node: exp.Expression, name: str) -> None:
        """Records under a computed column's name whether `is_unclear` holds for it."""
        if self.is_unclear(node):
            self.unclear.add(name.casefold())

    def call_with(self, name: str, arguments: int) -> Token | None:
        """The name of the first call of a function with at least so many arguments; None if there is none."""
        for i, token in enumerate(self.tokens):
            if token.text.upper() == name and _arguments(self.tokens[i + 1 :]) >= arguments:
                return token
        return None

    def select(self) -> exp.Select:
        """The tree of the text, which must be one SELECT statement."""
        what, cure = "one SELECT statement", f"write {FORM}."
        if not self.tokens:
            raise InvalidQuery(expected(what, "text", self.source, cure))
        self._check_single()
        if self.tokens[0].token_type not in OPENING:
            raise self.refusal_at(what, self.tokens[0], cure)
        try:
            trees = parsed(self.tokens, self.source, self.dialect.name)
            [tree] = [tree for tree in trees if tree is not None]
        except ParseError as problem:
            raise InvalidQuery(self._misread(problem.errors[0])) from None
        if isinstance(tree, exp.SetOperation):
            cure = "ask two questions, or write one condition with OR."
            raise self.refusal_of(what, cure, *SET_OPERATIONS) or self.refusal(what, tree, cure)
        if not isinstance(tree, exp.Select):
            raise self.refusal(what, tree, cure)
        check_operators(tree, self)
        return tree

    def _check_single(self) -> None:
        ends = [i for i, token in enumerate(self.tokens) if token.token_type is TokenType.SEMICOLON]
        if ends and ends[0] < len(self.tokens) - 1:
            raise self.refusal_at(
                "one statement",
                self.tokens[ends[0]],
                "pass each statement to a call of its own; each has its own cost.",
            )

    def _misread(self, problem: dict[str, Any]) -> str:
        """The message for text that is not SQL, from what the parser says about it."""
        place = (problem["line"], problem["col"])
        token = next((token for token in self.tokens if (token.line, token.col) == place), self.tokens[-1])
        got = f"{token.text!r} {self.at(token.start)}"
        description = str(problem["description"])
        wanted = re.match(r"Expect(?:ed|ing) (.+?)(?: but got .*)?$", description)
        if wanted:
            return f"Expected {wanted[1]} in the SQL, got {got}.\nHint: the statement has the form {FORM}."
        if description.startswith("Required keyword"):
            return f"Expected an operand in the SQL, got {got} without one.\nHint: write what it applies to."
        if "number of provided arguments" in description:
            return f"Expected a function with the arguments that it takes, got more before {got}.\nHint: remove some."
        return f"Expected SQL that can be read, got {got} out of place.\nHint: the statement has the form {FORM}."


def _arguments(tokens: tuple[Token, ...]) -> int:
    """The number of arguments in the parentheses with which the tokens begin; 0 without them."""
    depth, commas = 0, 0
    for token in tokens:
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if depth == 0:
            break
        commas += depth == 1 and token.token_type is TokenType.COMMA
    return commas + 1 if tokens and tokens[0].token_type is TokenType.L_PAREN else 0


class _BoundedGenerator(sqlglot.Dialect.get_or_raise(DUCKDB.name).generator_class):  # type: ignore[misc]  # found at run time
    """Ends where the text would be too long: of some functions it has an operand several times, and so on in this."""

    steps = 0

    def sql(self, *arguments: Any, **named: Any) -> str:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise InvalidQuery(
                expected("a statement of moderate depth", "text", "a deeper one", "ask for less at a time.")
            )
        text: str = super().sql(*arguments, **named)
        return text


def sql_text(node: exp.Expression) -> str:
    """A part of the tree as SQL, whatever of it DuckDB does not have."""
    generator = _BoundedGenerator(dialect=DUCKDB.name, comments=False, unsupported_level=ErrorLevel.IGNORE)
    text: str = generator.generate(node)
    return text


def shown(node: exp.Expression) -> str:
    """A part of the tree as SQL, on one line and not too long."""
    try:
        text = " ".join(sql_text(node).split())
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, InvalidQuery):
        text = ""  # a tree that the parser makes of odd arguments, and cannot write
    text = text or node.key.upper()
    return repr(text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 3]}...")


def _unreadable(source: str, cause: str) -> str:
    """The refusal of a text that cannot be tokenized: quotes or a comment without an end."""
    missing = re.match(r"Missing (.+) from ", cause)
    last = re.search(r"(['\"`]|\$\$)\s*$", source)  # a quote with nothing behind it
    end = missing[1] if missing else last[1] if last else "*/"
    start = source.rfind("/*" if end == "*/" else end)
    text = Text(source=source, tokens=())
    return (
        f"Expected a closing {end}, got the end of the text; the last one is {text.at(max(start, 0))}.\n"
        "Hint: write text in single quotes, 'like this', and double a quote inside it, 'it''s'."
    )


CLIP = "In SQL, x.clip(low, high) is LEAST(GREATEST(x, low), high)."


@contextmanager
def located(text: Text, node: exp.Expression) -> Iterator[None]:
    """Adds the position in the statement to refusals of the verbs."""
    try:
        yield
    except InvalidQuery as problem:
        if " at line " in str(problem):
            raise
        clip = f"\n{CLIP}" if ".clip(" in str(problem) else ""
        raise InvalidQuery(f"{problem}{clip}\nIn the SQL: {shown(node)} {text.place(node)}.") from None
