"""What a statement about the catalog may consist of: a closed list, by which none takes much time or memory.

DuckDB works out constants, and makes the lists and texts of a whole vector of rows, before its limits of memory count
and where it cannot be interrupted. So what makes much of little never gets there.

Claim
    A statement that `check_limits` lets through holds little more in memory than DuckDB counts, and no step of it that
    cannot be interrupted takes more than a part of a second.
Requires
    Macros of `catalog_functions` use each parameter once, outside of lambdas: nested calls would double otherwise.
Relies on
    `catalog_answers`: a limit of the memory that DuckDB counts, and of the processor's time.
    `catalog_texts`: each text or list that is made is short, and patterns take linear time.
Proof
    Every node of the tree is of a kind in `LISTED`, every function in `FUNCTIONS` or a macro. Of these, those of
    `catalog_texts`, series and casts alone make much of little: the first are measured, the ends of
    series are constants up to `LONGEST_SERIES` or those of a list, and types have no sizes of their own. A constant is
    short, but where ANY or ALL compares with it. Operations are counted, and each has a vector of 2,048 rows. Relations
    and columns are counted as often as WITH and `*` repeat them, and nesting is bounded, so planning is.
Rounding
    None.
Source
    DuckDB's documentation, "Securing DuckDB", and what its optimizer folds.
Mutant
    catalog-calls-any-function: functions are not compared with the list; killed by
    test_what_makes_much_of_little_is_not_listed.
    with-repeats-for-nothing: what WITH names counts as one relation; killed by test_what_repeats_itself_is_counted.
    series-of-any-length: their ends are not looked at; killed by test_series_are_short.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from discreet.pgwire.catalog_database import relations
from discreet.pgwire.catalog_functions import BODIES, LONGEST_MADE, PREFIX
from discreet.pgwire.catalog_texts import MACROS_OF_TEXTS, MATCHED
from discreet.pgwire.sqlstates import Refused

MOST_OPERATIONS = 2_000
"""Nodes of the tree that are neither names nor constants; what tools send has at most 300."""
MOST_CONSTANTS = 4_000
MOST_RELATIONS = 100
"""As often as they are read, those inside of functions included."""
MOST_COLUMNS = 1_000
"""Of all sub-queries together."""
MOST_DEPTH = 150
MOST_NESTED = 8
"""Queries, and functions that read relations, inside of one another."""
MOST_COPIES = 100
"""Operations that copy texts: each has up to `LONGEST_MADE` for each of 2,048 rows."""
MOST_PATTERNS = 20
LONGEST_SERIES = 1_000
TIMES_REPLACED = 4
LONGEST_SEPARATOR = 4
TYPES = re.compile(
    r"(TEXT|VARCHAR|BPCHAR|CHAR|U?(BIG|SMALL)?INT|U?INTEGER|INT[248]|BOOL(EAN)?|REAL|FLOAT[48]?|DOUBLE|DATE|TIME"
    r"|TIMESTAMP(TZ)?|DECIMAL|NUMERIC)(\(\d{1,3}(, ?\d{1,3})?\))?(\[\]){0,2}",
    re.IGNORECASE,
)
SHAPES = (
    exp.Select, exp.From, exp.Join, exp.Where, exp.Group, exp.Having, exp.Order, exp.Ordered, exp.Limit, exp.Offset,
    exp.Fetch, exp.LimitOptions, exp.Distinct, exp.With, exp.CTE, exp.Subquery, exp.Table, exp.TableAlias, exp.Lateral,
    exp.Union, exp.Intersect, exp.Except, exp.Values, exp.Tuple, exp.Alias, exp.Star, exp.Paren, exp.Identifier,
    exp.Column, exp.Literal, exp.Boolean, exp.Null, exp.ByteString, exp.Window, exp.WindowSpec, exp.DataType,
    exp.DataTypeParam, exp.Bracket, exp.Slice, exp.Dot, exp.Var, exp.WithinGroup, exp.Filter,
)  # fmt: skip
OPERATORS = (
    exp.Not, exp.Neg, exp.Is, exp.In, exp.Between, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ,
    exp.NullSafeNEQ, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.BitwiseAnd, exp.BitwiseOr, exp.DPipe, exp.Any,
)  # fmt: skip
CALLED = (
    exp.And, exp.Or, exp.Case, exp.If, exp.Cast, exp.Exists, exp.Array, exp.Coalesce, exp.Nullif, exp.Greatest,
    exp.Least, exp.Upper, exp.Lower, exp.Trim, exp.Length, exp.Substring, exp.Left, exp.Right, exp.StrPosition,
    exp.SplitPart, exp.Replace, exp.Concat, exp.RegexpLike, exp.RegexpILike, exp.Abs, exp.Floor, exp.Ceil,
    exp.Count, exp.Min, exp.Max, exp.Sum, exp.Avg, exp.LogicalAnd, exp.LogicalOr, exp.ArrayAgg, exp.GroupConcat,
    exp.RowNumber, exp.Rank, exp.DenseRank, exp.CurrentDate, exp.CurrentTimestamp, exp.Unnest, exp.Explode,
    exp.GenerateSeries, exp.ExplodingGenerateSeries,
)  # fmt: skip
LISTED = frozenset((*SHAPES, *OPERATORS, *CALLED, exp.Anonymous))
"""What the tree of a statement may have."""
FUNCTIONS = frozenset(
    {*(PREFIX + name for name in BODIES), f"{PREFIX}pg_get_keywords", MATCHED}
    | {"all", "generate_subscripts", "octet_length", "btrim", "every"}
)
LOOKUPS = frozenset(PREFIX + name for name, bodies in BODIES.items() if any("SELECT" in body for body in bodies))
"""Macros that read a relation."""
COPIES = (
    exp.DPipe, exp.Concat, exp.Replace, exp.GroupConcat, exp.ArrayAgg, exp.Upper, exp.Lower, exp.Trim, exp.Substring,
    exp.Left, exp.Right, exp.SplitPart, exp.Bracket,
)  # fmt: skip
COPYING = MACROS_OF_TEXTS | {f"{PREFIX}{name}" for name in ("string_to_array", "parse_ident", "array_remove", "btrim")}
SERIES = (exp.GenerateSeries, exp.ExplodingGenerateSeries)
ENDS = frozenset(f"{PREFIX}{name}" for name in ("array_lower", "array_upper", "array_length", "cardinality"))
CONSTANTS = (exp.Literal, exp.ByteString)
PATTERNS = (exp.RegexpLike, exp.RegexpILike)
JOINS = {"side": ("", "LEFT", "RIGHT", "FULL"), "kind": ("", "INNER", "OUTER", "CROSS"), "method": ("", "NATURAL")}


class NotListed(Refused):
    """A statement has what the closed list lacks, or too much of what it has."""

    @classmethod
    def because(cls) -> NotListed:
        """As every statement about the catalog is refused that cannot be answered."""
        said = Refused.unsupported()
        return cls(said.state, said.message, said.hint)


@dataclass(frozen=True)
class Size:
    """Of a query: the relations that it reads, the columns that it has, and those of all inside it."""

    relations: int
    width: int
    columns: int


def check_limits(tree: exp.Expression) -> None:
    """Lets a statement through that is made of what is listed, and of not too much of it.

    Args:
        tree: the statement for DuckDB, from `catalog_rewriting.rewritten`.

    Raises:
        NotListed: it is not.
    """
    check_numbers(tree)
    for node in tree.walk():
        if type(node) not in LISTED or not _is_allowed(node):
            raise NotListed.because()
    found = _size(tree, {})
    if found.relations + _lookups(tree) > MOST_RELATIONS or found.columns > MOST_COLUMNS:
        raise NotListed.because()


def check_numbers(tree: exp.Expression) -> None:
    """Refuses too many nodes, and too many inside of one another.

    Raises:
        NotListed: there are.
    """
    operations, constants, stack = 0, 0, [(tree, 1, 0)]
    while stack:
        node, depth, nested = stack.pop()
        constants += isinstance(node, exp.Literal)
        operations += not isinstance(node, exp.Literal | exp.Identifier)
        nested += isinstance(node, exp.Select) or _called(node) in LOOKUPS
        if depth > MOST_DEPTH or nested > MOST_NESTED or operations > MOST_OPERATIONS or constants > MOST_CONSTANTS:
            raise NotListed.because()
        stack.extend((child, depth + 1, nested) for child in node.iter_expressions())
    copies = sum(isinstance(node, COPIES) or _called(node) in COPYING for node in tree.walk())
    patterns = sum(isinstance(node, PATTERNS) or _called(node) == MATCHED for node in tree.walk())
    if copies > MOST_COPIES or patterns > MOST_PATTERNS:
        raise NotListed.because()


def _called(node: exp.Expression) -> str:
    """The name of a function that sqlglot does not know; nothing for other nodes."""
    return str(node.name).lower() if isinstance(node, exp.Anonymous) else ""


def _lookups(tree: exp.Expression) -> int:
    return sum(_called(node) in LOOKUPS for node in tree.find_all(exp.Anonymous))


def _is_allowed(node: exp.Expression) -> bool:
    """Whether a node of a listed kind is one that takes little."""
    found = next((check for kinds, check in CHECKS if isinstance(node, kinds)), None)
    return found is None or found(node)


def _is_allowed_call(node: exp.Anonymous) -> bool:
    name, parts = _called(node), node.expressions
    if name == MATCHED:
        return len(parts) == 3 and all(map(_is_pattern, parts[1:]))
    if name == f"{PREFIX}array_to_string" and len(parts) > 1:
        return isinstance(parts[1], CONSTANTS) and len(parts[1].name) <= LONGEST_SEPARATOR
    return name in FUNCTIONS


def _is_compared(node: exp.Expression) -> bool:
    """Whether ANY or ALL compares with this text, as with one list."""
    while isinstance(node.parent, exp.Cast | exp.Paren):
        node = node.parent
    return isinstance(node.parent, exp.Any) or (node.parent is not None and _called(node.parent) == "all")


def _is_pattern(node: exp.Expression | None) -> bool:
    """Whether it is a constant without repetitions that are counted, each of which may be a thousand signs."""
    return isinstance(node, exp.Literal) and node.is_string and (node.name.replace("\\{", "").count("{") == 0)


def _is_plain_join(node: exp.Join) -> bool:
    return all((node.args.get(part) or "").upper() in words for part, words in JOINS.items())


def _has_plain_groups(node: exp.Group) -> bool:
    return not any(node.args.get(part) for part in ("cube", "rollup", "grouping_sets", "totals"))


def _replaces_little(node: exp.Replace) -> bool:
    """Whether what takes the place of a text is hardly longer: the answer grows by that factor at most."""
    sought, given = node.args.get("expression"), node.args.get("replacement")
    if not isinstance(sought, CONSTANTS) or not isinstance(given, CONSTANTS):
        return False
    return len(given.name) <= TIMES_REPLACED * len(sought.name)


def _is_end(node: exp.Expression) -> bool:
    """Whether a series may end here: a number that is not large, or the end of a list."""
    while isinstance(node, exp.Neg | exp.Paren):
        node = node.this
    if isinstance(node, exp.Literal):
        return node.name.isdecimal() and len(node.name) < 6 and int(node.name) <= LONGEST_SERIES
    return _called(node) in ENDS


CHECKS: tuple[tuple[Any, Callable[[Any], bool]], ...] = (
    (exp.Anonymous, _is_allowed_call),
    (CONSTANTS, lambda node: len(node.name) <= LONGEST_MADE or _is_compared(node)),
    (exp.With, lambda node: not node.recursive),
    (exp.Join, _is_plain_join),
    (exp.DataType, lambda node: TYPES.fullmatch(node.sql("duckdb")) is not None),
    (PATTERNS, lambda node: _is_pattern(node.expression)),
    (exp.Replace, _replaces_little),
    (exp.Group, _has_plain_groups),
    (SERIES, lambda node: all(map(_is_end, node.iter_expressions()))),
)
"""What is asked of nodes of some kinds beside their kind."""


def _size(query: exp.Expression, made: Mapping[str, Size]) -> Size:
    """What a query reads and has, with what WITH names as often as it is named."""
    made = {**made}
    for cte in query.ctes if isinstance(query, exp.Query) else ():
        made[cte.alias.lower()] = _size(cte.this, made)
    if isinstance(query, exp.Table):
        return _named(query, made)
    parts = [(node, _size(node, made)) for node in _inside(query)]
    read = sum(size.relations for _, size in parts)
    below = sum(size.columns for _, size in parts)
    sources = [size.width for node, size in parts if isinstance(node.parent, exp.From | exp.Join | exp.Lateral)]
    if isinstance(query, exp.Select):
        width = sum(sum(sources) + 1 if item.is_star else 1 for item in query.expressions)
    elif isinstance(query, exp.Values):
        width = len(query.expressions[0].expressions)
    else:
        width = max((size.width for _, size in parts), default=1)
    return Size(max(read, 1), width, below + width)


def _named(table: exp.Table, made: Mapping[str, Size]) -> Size:
    if not table.db and table.name.lower() in made:
        return made[table.name.lower()]
    schema = "pg_catalog" if table.db == "pg" else "information_schema"
    held = relations().get(f"{schema}.{table.name.lower()}")
    return Size(1, len(held["columns"].split(" ")) if held else 2, 0)


def _inside(query: exp.Expression) -> Iterator[exp.Expression]:
    """The queries and tables right inside of a query, but for those of its WITH."""
    kinds = (exp.Query, exp.Table)
    for node in query.walk(prune=lambda one: one is not query and isinstance(one, (*kinds, exp.With))):
        if node is not query and isinstance(node, kinds):
            yield node
