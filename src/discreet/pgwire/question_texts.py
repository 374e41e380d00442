"""What tools write, in our SQL: the same statement without the names of schemas, and with its parameters as constants.

The text is changed in place and keeps its length where it can, so that a refusal still names the line and the column.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from discreet.pgwire.declared_tables import DeclaredColumn, DeclaredTable
from discreet.pgwire.sqlstates import SYNTAX, TOO_DEEP, TOO_LONG, Refused
from discreet.pgwire.statement_kinds import LONGEST, remembered, tokens
from discreet.pgwire.type_codes import (
    ARRAYS,
    BOOL,
    DATE,
    ELEMENTS,
    FLOAT8,
    INT4,
    INT8,
    NUMERIC,
    OID,
    REAL,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    WHOLE,
    literal,
)
from discreet.statements.aggregate_functions import default_name, is_aggregate
from discreet.statements.bounded_parser import parse_one

SCHEMAS = ("public",)
NAMES = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.SCHEMA, TokenType.TABLE)
CASTS = {"int": INT4, "integer": INT4, "int4": INT4, "bigint": INT8, "int8": INT8, "text": TEXT, "varchar": TEXT}
CASTS |= {"date": DATE, "timestamp": TIMESTAMP, "boolean": BOOL, "double precision": FLOAT8, "numeric": NUMERIC}
CASTS |= {
    "timestamptz": TIMESTAMPTZ,
    "regclass": TEXT,
    "oid": OID,
    "name": TEXT,
    "decimal": NUMERIC,
    "real": FLOAT8,
    "smallint": INT4,
}
BESIDE: tuple[tuple[Any, int], ...] = (
    (exp.Any, ARRAYS[TEXT]),
    ((exp.Limit, exp.Offset, exp.Fetch), INT8),
    ((exp.Like, exp.ILike, exp.RegexpLike), TEXT),
    ((exp.Round, exp.Substring), INT4),
    (exp.PercentileCont, FLOAT8),
)
RESULTS: tuple[tuple[Any, int], ...] = (
    ((exp.Extract, exp.Length, exp.StrPosition, exp.Ascii), INT8),
    (exp.Count, FLOAT8),
)
"""The types of what functions give, where it is not that of their columns."""
CATALOG_TYPES = dict.fromkeys(
    ("oid", "attrelid", "relnamespace", "objoid", "indrelid", "conrelid", "typnamespace"), OID
) | dict.fromkeys(("attnum", "objsubid"), INT4)
APART = ("", " ", "\n", "(", ")", ",", ";")
"""What makes no other word with a constant beside it."""
MOST_PARAMETERS = 100_000
SAMPLES: Mapping[int, Any] = {
    **dict.fromkeys(WHOLE, 1),
    **dict.fromkeys(REAL, 0.5),
    **dict.fromkeys((TIMESTAMP, TIMESTAMPTZ), datetime(2000, 1, 1)),  # noqa: DTZ001 - parameters have no zone
    **{array: [] for array in ELEMENTS},
    BOOL: True,
    NUMERIC: Decimal("0.5"),
    DATE: date(2000, 1, 1),
}
"""What stands for a parameter before it is bound, by type, and could be a quantile; a text for all others."""


@dataclass(frozen=True, kw_only=True)
class Shown:
    """One selected item: the name that the answer has for it, and that the client is told."""

    name: str
    label: str


@remembered
def tree_of(text: str) -> exp.Expression:
    """The syntax tree of a statement; it is shared, so whoever changes it takes a copy.

    Raises:
        Refused: it cannot be read, or is too long or nested too deeply to be.
    """
    tokens(text)  # which refuses too many
    found = _parsed(text) or _parsed(_with_quoted_names(text))
    if found is None:
        cure = "write SELECT keys, aggregates FROM table WHERE condition GROUP BY keys."
        raise Refused(SYNTAX, "Expected SQL that can be read, got another text.", cure)
    return found


def _parsed(text: str) -> exp.Expression | None:
    try:
        return parse_one(text, "postgres")
    except (ParseError, TokenError):
        return None
    except RecursionError:
        cure = "remove parentheses, or write IN for a long list of OR; nothing was charged."
        raise Refused(TOO_DEEP, "Expected a statement of moderate depth, got one nested more deeply.", cure) from None


def _with_quoted_names(text: str) -> str:
    """The text with quotes around words of SQL that name columns, as in `AS select`, which the parser does not read."""
    found, end = [], 0
    for before, name, after in zip(held := tokens(text), held[1:], held[2:], strict=False):
        ends = after.token_type in (TokenType.COMMA, TokenType.FROM, TokenType.R_PAREN)
        if before.token_type is TokenType.ALIAS and ends and name.text.isidentifier() and name.token_type not in NAMES:
            found += [text[end : name.start], f'"{name.text.lower()}"']
            end = name.end + 1
    return "".join([*found, text[end:]])


@remembered
def without_schemas(text: str, database: str) -> str:
    """The same text with spaces for each schema, and for each database, that qualifies a name.

    >>> without_schemas('SELECT "public"."people"."age" FROM public.people', "people")
    'SELECT          "people"."age" FROM        people'
    """
    held = tokens(text)
    changed = list(text)
    is_alias = _is_alias(SCHEMAS, held)
    for i, token in enumerate(held[:-2]):
        qualifies = token.token_type in NAMES and held[i + 1].token_type is TokenType.DOT
        starts = i == 0 or held[i - 1].token_type is not TokenType.DOT
        more = held[i + 2].token_type in NAMES
        if not (qualifies and more) or (is_alias and _is_column(held, i)):
            continue
        schema = token.text.lower() in SCHEMAS and (starts or held[i - 2].text == database)
        catalog = token.text == database and starts and held[i + 2].text.lower() in SCHEMAS
        if schema or catalog:
            for place in range(token.start, held[i + 1].end + 1):
                changed[place] = " "
    return "".join(changed)


def _is_alias(names: Collection[str], held: Sequence[Token]) -> bool:
    """Whether one of some names seems to be that of a table or a column in a statement, as in `FROM visits public`."""
    follows = [*(token.token_type for token in held[2:]), None]
    return any(
        name.text.lower() in names
        and name.token_type in NAMES
        and after is not TokenType.DOT
        and before.token_type in (TokenType.ALIAS, TokenType.R_PAREN, *NAMES)
        for before, name, after in zip(held, held[1:], follows, strict=False)
    )


def _is_column(held: Sequence[Token], place: int) -> bool:
    """Whether the name at a place qualifies a column, as in `WHERE public.age > 18`, if it is that of a table."""
    before = held[place - 1].token_type if place else None
    is_last = place + 3 >= len(held) or held[place + 3].token_type is not TokenType.DOT
    return is_last and before not in (TokenType.FROM, TokenType.JOIN, TokenType.DOT)


@remembered
def in_our_words(text: str) -> str:
    """What tools write, as we do: COUNT(1) and SUM(1) as COUNT(*), casts to decimal numbers as casts to real ones.

    >>> in_our_words("SELECT SUM(1) AS n, 'sum(1)', AVG(CAST(age AS decimal)) FROM people")
    "SELECT COUNT(*) AS n, 'sum(1)', AVG(CAST(age AS float8 )) FROM people"
    """
    changed = list(text)
    held = tokens(text)
    follows = [*(token.text for token in held[2:]), ""]
    for before, kind, after in zip(held, held[1:], follows, strict=False):
        cast = before.token_type is TokenType.ALIAS and after == ")"
        if (cast or before.text == "::") and after != "(" and kind.text.lower() in ("decimal", "numeric"):
            changed[kind.start : kind.end + 1] = "float8".ljust(len(kind.text))
    text = "".join(changed)
    held = tokens(text)
    found, end = [], 0
    for name, left, one, right in zip(held, held[1:], held[2:], held[3:], strict=False):
        plain = name.text.lower() in ("sum", "count") and name.token_type is not TokenType.STRING
        number = one.token_type is TokenType.NUMBER
        if plain and number and (left.text, one.text, right.text) == ("(", "1", ")"):
            found += [text[end : name.start], "COUNT(*)"]
            end = right.end + 1
    return "".join([*found, text[end:]])


@remembered
def parameters_of(text: str) -> int:
    """How many parameters a statement has: the largest number after a $."""
    held = tokens(text)
    numbers = [int(after.text) for token, after in pairwise(held) if _is_parameter(token, after)]
    return max((number for number in numbers if number < MOST_PARAMETERS), default=0)


def _is_parameter(token: Token, after: Token) -> bool:
    """Whether two tokens are $ and a number: the tokenizer has @, of an absolute value, as the same kind."""
    return token.text == "$" and token.token_type is TokenType.PARAMETER and after.text.isdecimal()


def with_values(text: str, values: Sequence[Any]) -> str:
    """The text with each parameter as a constant, which makes no comment or other constant with what is beside it.

    >>> with_values("age > $1 AND plan = $2", [18, "it's"]), with_values("10-$1", [-5])
    ("age > 18 AND plan = 'it''s'", '10- -5')

    Raises:
        Refused: one has no value, or the text would be too long.
    """
    held = tokens(text)
    found, end, length = [], 0, len(text)
    for token, after in pairwise(held):
        if _is_parameter(token, after):
            place = int(after.text) - 1
            if not 0 <= place < len(values):
                raise Refused(SYNTAX, f"Expected a value for ${after.text}, got none.", "bind one for each parameter.")
            before, constant = text[end : token.start], literal(values[place])
            length += len(constant)
            if length > LONGEST:
                raise Refused(TOO_LONG, f"Expected at most {LONGEST:,} characters, got more.", "bind shorter values.")
            found += [before, "" if before[-1:] in APART else " ", constant]
            end = after.end + 1
            found.append("" if text[end : end + 1] in APART else " ")
    return "".join([*found, text[end:]])


def parameter_types(
    tree: exp.Expression, count: int, stated: Sequence[int], tables: Collection[DeclaredTable]
) -> list[int]:
    """The type of each parameter: as the client states it, or as what it is compared with, or text."""
    found = [stated[i] if i < len(stated) else 0 for i in range(count)]
    for node in tree.find_all(exp.Parameter):
        place = int(node.this.name) - 1 if node.this.name.isdecimal() else -1
        if 0 <= place < count and not found[place]:
            found[place] = _type_beside(node, tables)
    return [oid or TEXT for oid in found]


def _type_beside(node: exp.Expression, tables: Collection[DeclaredTable]) -> int:
    """The type of what a parameter is compared with, or cast to; 0 where that says nothing."""
    child, parent = node, node.parent
    while isinstance(parent, exp.Paren | exp.Neg | exp.Tuple):
        child, parent = parent, parent.parent
    if isinstance(parent, exp.If | exp.Case) and child is not parent.this:
        return _branch_type(parent if isinstance(parent, exp.Case) else parent.parent, tables)
    if isinstance(parent, exp.If):
        parent = parent.parent
    if isinstance(parent, exp.Cast):
        kind = parent.args["to"].sql("postgres").lower().split("(")[0].removeprefix("pg_catalog.")
        return ARRAYS[TEXT] if kind.endswith("[]") else CASTS.get(kind, TEXT)
    beside = next((oid for kinds, oid in BESIDE if isinstance(parent, kinds)), None)
    if beside is not None or parent is None:
        return beside or TEXT
    others = [one for one in parent.iter_expressions() if one is not child]
    return next((oid for one in others if (oid := _type_of(one, tables))), 0)


def _type_of(node: exp.Expression, tables: Collection[DeclaredTable]) -> int:
    """The type of what a parameter is compared with; 0 where it says nothing."""
    while isinstance(node, exp.Paren | exp.Neg):
        node = node.this
    if isinstance(node, exp.Case):
        return _branch_type(node, tables)
    if isinstance(node, exp.Literal):
        return 0 if node.is_string else INT8 if node.name.isdecimal() else FLOAT8
    given = next((oid for kinds, oid in RESULTS if isinstance(node, kinds)), 0)
    named = (oid for column in node.find_all(exp.Column) if (oid := _column_type(column.name, tables)))
    return given or next(named, 0) or FLOAT8 * isinstance(node, exp.AggFunc)


def _branch_type(case: exp.Expression | None, tables: Collection[DeclaredTable]) -> int:
    """The type of the results of a CASE: of the first that has one, or text."""
    held = {} if case is None else case.args
    for branch in (*(one.args.get("true") for one in held.get("ifs", ())), held.get("default")):
        found = 0 if branch is None else _type_of(branch, tables)
        if found:
            return found
    return TEXT


def _column_type(name: str, tables: Collection[DeclaredTable]) -> int:
    """The type of a declared column, or of one of the catalog's numbers."""
    declared = next((found for table in tables if (found := table.column(name)) is not None), None)
    return CATALOG_TYPES.get(name.lower(), 0) if declared is None else declared.oid


def sample(oid: int) -> Any:
    """A value of a type, for the plan of a statement whose parameters are not bound."""
    return SAMPLES.get(oid, "a")


def shown_items(tree: exp.Expression, columns: Sequence[str]) -> list[Shown]:
    """The selected items in their order, by the names that the answer has for them; all columns if one is unclear."""
    select = tree if isinstance(tree, exp.Select) else tree.find(exp.Select)
    items = [] if select is None else [_item(node, columns) for node in select.expressions]
    names = [one.name for one in items if one is not None]
    if len(names) != len(items) or sorted(names) != sorted(columns):
        return [Shown(name=name, label=name) for name in columns]
    return [one for one in items if one is not None]


def _item(node: exp.Expression, columns: Sequence[str]) -> Shown | None:
    inner: exp.Expression = node.this if isinstance(node, exp.Alias) else node
    while isinstance(inner, exp.Paren):
        inner = inner.this
    alias = node.args.get("alias") if isinstance(node, exp.Alias) else None
    if alias is not None:
        name, quoted = alias.name, bool(alias.args.get("quoted"))
    elif isinstance(inner, exp.Column):
        name, quoted = inner.name, True
    else:
        name, quoted = default_name(inner), True
    found = [one for one in columns if one == name] or [one for one in columns if one.casefold() == name.casefold()]
    if not found and is_aggregate(inner):
        found = [one for one in columns if one.casefold() == _counted(inner)]
    if not found:
        return None
    return Shown(name=found[0], label=name if quoted else name.lower())


def _counted(node: exp.Expression) -> str:
    return "count" if isinstance(node, exp.Count) and isinstance(node.this, exp.Star) else default_name(node)


def declared_columns(tree: exp.Expression, tables: Mapping[str, DeclaredTable]) -> list[DeclaredColumn] | None:
    """The columns of the declared table that a statement selects as they are: `SELECT *` or plain names; else None."""
    select = tree if isinstance(tree, exp.Select) else None
    source = None if select is None else select.args.get("from_")
    if select is None or source is None or select.args.get("joins"):
        return None
    inner = source.this
    if isinstance(inner, exp.Subquery):
        columns = declared_columns(inner.this, tables)
    else:
        table = tables.get(inner.name.lower()) if isinstance(inner, exp.Table) else None
        columns = None if table is None else list(table.columns)
    if columns is None:
        return None
    found: list[DeclaredColumn] = []
    for item in select.expressions:
        node = item.unalias()
        if node.is_star:
            found.extend(columns)
            continue
        match = [one for one in columns if isinstance(node, exp.Column) and one.name.casefold() == node.name.casefold()]
        if not match and isinstance(node, exp.Literal | exp.Boolean):
            constant = BOOL if isinstance(node, exp.Boolean) else TEXT if node.is_string else INT4
            match = [DeclaredColumn(name="?column?", oid=constant)]
        if not match:
            return None
        alias = item.alias if isinstance(item, exp.Alias) else match[0].name
        found.append(DeclaredColumn(name=alias, oid=match[0].oid, keys=match[0].keys, bounds=match[0].bounds))
    return found
