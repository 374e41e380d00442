"""Texts and lists that a statement about the catalog makes, kept short; and its patterns, read in linear time.

Claim
    Each text and list that a row of a statement has is of at most `catalog_functions.LONGEST_MADE` bytes, but for what
    the catalog holds and what the outermost statement gathers from its rows, of which nothing is made. Patterns of LIKE
    go to RE2.
Requires
    A tree that `catalog_limits.check_limits` lets through.
Relies on
    DuckDB: what `error` is asked for ends the statement; RE2, for which there is no pattern that takes long.
Proof
    Texts and lists come from the nodes in `GROWING` and `GATHERING` alone (`catalog_limits`). `shortened` puts a macro
    around each of them that ends the statement beyond the limit, from the innermost on, so that each is made of parts
    that are short: a vector of 2,048 rows has at most a megabyte of it.
Rounding
    None.
Source
    PostgreSQL's documentation, 9.7.1, for LIKE; DuckDB backtracks where a pattern has `_` beside `%`.
Mutant
    texts-of-any-length: what is put together is not measured; killed by test_texts_are_short.
    escaped-signs-match-others: a sign that is escaped stands for others; killed by
    test_patterns_mean_what_they_mean_in_postgresql.
"""

from __future__ import annotations

import re

from sqlglot import exp

from discreet.pgwire.catalog_functions import PREFIX
from discreet.pgwire.sqlstates import Refused

GROWING = (exp.DPipe, exp.Concat, exp.Replace)
GATHERING = (exp.GroupConcat, exp.ArrayAgg, exp.Array)
MACROS_OF_TEXTS = frozenset(PREFIX + name for name in ("quote_ident", "quote_literal", "array_to_string"))
SHORT, MATCHED = f"{PREFIX}short", "regexp_full_match"


def shortened(tree: exp.Expression) -> exp.Expression:
    """The same statement, in which each text and list that is put together ends it where it is too long.

    Raises:
        Refused: it gathers lists or texts in a window.
    """
    root = exp.Paren(this=tree)
    for node in reversed(list(root.walk(bfs=True))):
        if not _grows(node):
            continue
        whole = node.parent if isinstance(node.parent, exp.Filter) else node
        if isinstance(whole.parent, exp.Window):
            raise Refused.unsupported()
        if not (isinstance(node, GATHERING) and _is_outermost(whole, root.this)):
            whole.replace(exp.Anonymous(this=SHORT, expressions=[whole.copy()]))
    made: exp.Expression = root.this
    return made.pop()


def _grows(node: exp.Expression) -> bool:
    """Whether a node may make more than its parts are."""
    if isinstance(node, exp.Array):
        return node.find(exp.Query) is not None
    if isinstance(node, exp.Anonymous):
        return str(node.name).lower() in MACROS_OF_TEXTS
    return isinstance(node, (*GROWING, *GATHERING))


def _is_outermost(node: exp.Expression, tree: exp.Expression) -> bool:
    """Whether it is selected by the outermost statement as it is."""
    parent = node.parent
    while isinstance(parent, exp.Alias):
        parent = parent.parent
    return parent is tree and isinstance(tree, exp.Select)


def matched(node: exp.Like | exp.ILike, escape: str = "\\") -> exp.Expression:
    """LIKE with a constant as a regular expression of RE2, which must match all of the text.

    >>> import sqlglot
    >>> matched(sqlglot.parse_one("a LIKE 'x%'", read="postgres")).sql("duckdb")
    "REGEXP_FULL_MATCH(a, 'x.*', 's')"

    Raises:
        Refused: the pattern is no constant.
    """
    pattern = constant_text(node.expression)
    if pattern is None or len(escape) > 1:
        raise Refused.unsupported()
    options = "si" if isinstance(node, exp.ILike) else "s"
    parts = [node.this.copy(), exp.Literal.string(_regular(pattern, escape)), exp.Literal.string(options)]
    return exp.Anonymous(this=MATCHED, expressions=parts)


def constant_text(node: exp.Expression) -> str | None:
    """The text that is written, or bound, there; None where it is none."""
    while isinstance(node, exp.Paren | exp.Cast):
        node = node.this
    return str(node.name) if isinstance(node, exp.Literal) and node.is_string else None


def _regular(pattern: str, escape: str) -> str:
    found, place = [], 0
    while place < len(pattern):
        sign = pattern[place]
        if sign == escape and place + 1 < len(pattern):
            place += 1
            found.append(re.escape(pattern[place]))
        else:
            found.append({"%": ".*", "_": "."}.get(sign) or re.escape(sign))
        place += 1
    return re.sub(r"(\.\*)+", ".*", "".join(found))
