"""sqlglot's parsers with a bound on their work, which for some short texts grows twofold with every bracket.

Claim
    A parser of `bounded` reads at most `STEPS_A_TOKEN` times the number of tokens, and `STEPS` more, and makes trees of
    at most `DEEPEST` levels; else it raises RecursionError, as for a text that is nested too deeply. Where it does not,
    its tree is that of the parser that it is made from.
Requires
    A parser class of sqlglot 29, whose core alone moves along the tokens.
Relies on
    `ParserCore._advance`: every step, forward or back, is a call of it.
Proof
    What a parser tries and takes back, as a type that turns out to be a function, it reads again, each time deeper: in
    `int(int(int(1)))` twice as often with every bracket. All of that goes through `_advance`, which counts. What it
    raises is no ParseError, so that no trial of the parser's own goes on after it. A long chain of operators is read in
    a loop, but each of them is a level of the tree, through which those who lower, copy and write it recurse: it is
    measured without recursion.
Rounding
    None.
Source
    Discreet's own; a statement of 190 characters stopped a server.
Mutant
    trees-of-any-depth: they are not measured; killed by test_a_tree_is_not_deep.
    steps-uncounted: the parser goes on for ever; killed by test_a_parser_reads_one_text_after_another.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError
from sqlglot.parser_core import ParserCore

STEPS_A_TOKEN = 40
"""Statements that people and tools write take less than a tenth of it."""
STEPS = 20_000
DEEPEST = 200
"""Levels of a tree: a chain of a hundred operators over columns has some more."""


class _CountingCore(ParserCore):
    """Moves along the tokens, and counts."""

    steps = most = 0

    def reset(self) -> None:
        """Begins another text."""
        super().reset()
        self.steps = 0

    def _advance_chunk(self) -> None:
        if not self._chunk_index:  # once for a text: it may have many statements
            self.most = STEPS + STEPS_A_TOKEN * sum(map(len, self._chunks))
        super()._advance_chunk()

    def _advance(self, times: int = 1) -> None:
        self.steps += 1
        if self.steps > self.most:
            raise RecursionError("nested too deeply to be read")
        super()._advance(times)


@cache
def bounded(original: Any) -> type[Any]:
    """The same parser with a bound on its work; its `parse` raises RecursionError beyond it."""

    class Parser(original):  # type: ignore[misc]  # any of sqlglot's
        """Reads no text for longer than its length allows."""

        def parse(self, *arguments: Any, **named: Any) -> Any:
            """The trees of all statements in a text."""
            found: list[exp.Expression | None] = super().parse(*arguments, **named)
            for tree in found:
                check_depth(tree)
            return found

        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            before = vars(self)["_core"]
            self._core = _CountingCore(
                before.error_level, before.error_message_context, before.max_errors, before.dialect
            )
            for name, held in list(vars(self).items()):
                if getattr(held, "__self__", None) is before:
                    setattr(self, name, getattr(self._core, name))

    return Parser


def check_depth(tree: exp.Expression | None) -> None:
    """Raises RecursionError where a tree has more than `DEEPEST` levels."""
    level, depth = [tree] if tree is not None else [], 0
    while level:
        depth += 1
        if depth > DEEPEST:
            raise RecursionError("nested too deeply to be read")
        level = [child for node in level for child in node.iter_expressions()]


def parse_one(text: str, dialect: str) -> exp.Expression:
    """The tree of a text of one statement, as `sqlglot.parse_one` reads it.

    Raises:
        ParseError: there is none.
        RecursionError: it is nested too deeply, or reading it would take too long.
        TokenError: it ends within a text or a comment.

    >>> parse_one("SELECT a FROM t", "postgres").sql("postgres")
    'SELECT a FROM t'
    """
    read = Dialect.get_or_raise(dialect)
    parser = bounded(read.parser_class)(dialect=read)
    found: list[exp.Expression | None] = parser.parse(read.tokenize(text), text)
    if not found or found[0] is None:
        raise ParseError(f"No expression was parsed from '{text}'")
    return found[0]
