"""GROUP BY with CUBE, ROLLUP and GROUPING SETS: which groupings it asks for."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from discreet.query.grouping_sets import MOST_TABLES
from discreet.statements.statement_text import Text

Nodes = tuple[exp.Expression, ...]

LISTS = ("rollup", "cube", "grouping_sets")
OPENINGS = (TokenType.ROLLUP, TokenType.CUBE, TokenType.GROUPING_SETS)
MOST_PARTS = {"cube": 10, "rollup": 100}
"""Columns of one list."""


def has_sets(clause: exp.Group | None, text: Text) -> bool:
    """Whether it asks for more than one grouping; refuses one that a comma would change."""
    found = clause is not None and any(clause.args.get(name) for name in LISTS)
    for before, token in itertools.pairwise(text.tokens if found else ()):
        if token.token_type in OPENINGS and before.text.upper() not in (",", "(", "GROUP BY", "WITH"):
            cure = "write it: without it Spark groups by these sets alone, and others know no such statement."
            raise text.refusal_at(f"a comma before {token.text.upper()}", token, cure)
    return found


def grouped_expressions(clause: exp.Group, text: Text) -> Iterator[exp.Expression]:
    """All expressions that it groups by."""
    yield from clause.expressions
    for one in _lists(clause, text):
        yield from dict.fromkeys(itertools.chain.from_iterable(one))


def groupings(clause: exp.Group, text: Text) -> list[Nodes]:
    """The groupings that it asks for, each as the expressions that it has: plain entries are in all of them, and lists
    are combined with each other, as in SQL.
    """
    own, lists = tuple(clause.expressions), [*_lists(clause, text)]
    if math.prod(map(len, lists)) > MOST_TABLES:
        raise text.refusal(
            f"at most {MOST_TABLES:,} sets", clause, "lists beside each other are combined: ask for fewer."
        )
    return [(*own, *itertools.chain.from_iterable(chosen)) for chosen in itertools.product(*lists)]


def _lists(clause: exp.Group, text: Text) -> Iterator[list[Nodes]]:
    """The alternatives of each list."""
    for name in LISTS:
        for one in clause.args.get(name) or ():
            parts = [_part(node, text) for node in one.expressions]
            if not parts:
                raise text.refusal("a list in parentheses", one, "write ROLLUP (a, b).")
            most = MOST_PARTS.get(name)
            if most and len(parts) > most:
                raise text.refusal(f"at most {most} columns in a {name}", one, "list the sets, GROUPING SETS.")
            if name == "grouping_sets":
                yield parts
            elif name == "rollup":
                yield [_joined(parts[:k]) for k in range(len(parts), -1, -1)]
            else:
                sizes = range(len(parts), -1, -1)
                yield [_joined(some) for k in sizes for some in itertools.combinations(parts, k)]


def _joined(parts: list[Nodes] | tuple[Nodes, ...]) -> Nodes:
    return tuple(itertools.chain.from_iterable(parts))


def _part(node: exp.Expression, text: Text) -> Nodes:
    """One entry of a list, which may be several columns in parentheses."""
    if isinstance(node, exp.Cube | exp.Rollup | exp.GroupingSets):
        raise text.refusal("plain sets in GROUPING SETS", node, "write the sets of this list one by one.")
    if isinstance(node, exp.Tuple):
        return tuple(node.expressions)
    return (node.this,) if isinstance(node, exp.Paren) else (node,)
