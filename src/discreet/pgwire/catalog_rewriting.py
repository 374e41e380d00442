"""Statements about PostgreSQL's catalog as DuckDB reads them: names, casts, operators and functions.

What a session says of itself (who, which database, which settings) becomes constants; what DuckDB lacks becomes a macro
of `catalog_functions`. The rest is left to sqlglot.

Claim
    A statement reads the relations of the catalog and nothing else that DuckDB can reach.
Requires
    `catalog_database`: no access to files or networks, and a configuration that is locked.
Relies on
    sqlglot: whatever stands in FROM is a table, a function or a sub-query of its tree.
Proof
    `_name_tables` visits each table of the tree: a name becomes one of the catalog's relations, or one that WITH has,
    or the statement is refused; a function, behind LATERAL as well, is one of `SETS`, `SET_NAMES` and `SCALARS`, or the
    statement is refused. `_check_reads` refuses what writes, wherever it stands: WITH may stand before DELETE, and may
    have one inside. Should it miss one, the transaction is one that reads alone (`catalog_answers`).
Rounding
    None.
Source
    DuckDB's documentation, "Securing DuckDB".
Mutant
    from-calls-any-function: FROM may call whatever DuckDB has; killed by test_the_database_reaches_nothing_outside.
    lateral-calls-any-function: LATERAL may; killed by test_the_database_reaches_nothing_outside.
    with-names-any-view: names of WITH stay as they are; killed by test_a_name_of_with_is_nothing_else.
    with-may-write: what follows WITH is not looked at; killed by test_nothing_is_written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from discreet.pgwire.catalog_database import CATALOG, INFORMATION, VERSION_TEXT, relations
from discreet.pgwire.catalog_functions import BODIES, PREFIX
from discreet.pgwire.catalog_texts import constant_text, matched
from discreet.pgwire.session_settings import SessionSettings
from discreet.pgwire.sqlstates import Refused

SCHEMAS = {"pg_catalog": CATALOG, "information_schema": INFORMATION}
PUBLIC = "public"
NAMES_OF = {"regclass": "class_name", "regtype": "type_name", "regnamespace": "namespace_name", "regrole": "role_name"}
FINDS = {"regclass": "to_regclass", "regtype": "to_regtype", "regnamespace": "to_regnamespace"}
VECTORS = ("int2vector", "oidvector")
TEXT_TYPES = (
    "text",
    "name",
    "regproc",
    "regprocedure",
    "regoperator",
    "char",
    "pg_node_tree",
    "citext",
    "xid",
    "aclitem",
)
OPERATORS = {"~": "regexp", "!~": "no regexp", "=": "equal", "~~": "like", "!~~": "no like", "<>": "not equal"}
SETS = (exp.GenerateSeries, exp.ExplodingGenerateSeries, exp.Unnest, exp.Explode, exp.StringToArray, exp.CurrentSchemas)
SET_NAMES = ("pg_get_keywords", "generate_series", "unnest", "current_schemas", "pg_options_to_table", "aclexplode")
"""The functions that FROM may have: DuckDB has others, which say how it is set up, or read files."""
SCALARS = ("string_to_array", "current_setting", "version")
READS = (exp.Query, exp.Values)
WRITES = (exp.DML, exp.DDL, exp.Into, exp.Command)
MADE = "with "
"""How names of WITH begin: where a WITH does not reach, its name would mean DuckDB's own view of that name."""
RENAMED = {"_pg_expandarray": "expandarray"}
PROCEDURES = ("typinput", "typoutput", "typreceive", "typsend", "typmodin", "typmodout", "typanalyze", "typsubscript")


@dataclass
class CatalogSession:
    """Who asks: what functions of the session answer."""

    user: str
    database: str
    settings: SessionSettings
    process: int = 0
    changes: list[tuple[str, str, bool]] = field(default_factory=list)
    """What `set_config` is to set, once the statement runs."""


def is_catalog_table(table: exp.Table) -> bool:
    """Whether a table of FROM is one of the catalog's."""
    name, schema = table.name.lower(), table.db.lower()
    if schema:
        return f"{schema}.{name}" in relations()
    return f"pg_catalog.{name}" in relations()


def rewritten(tree: exp.Expression, session: CatalogSession, values: list[Any]) -> exp.Expression:
    """The same statement for DuckDB, with the values of its parameters.

    Raises:
        Refused: it names a table that is not in the catalog, or does more than read.
    """
    _check_reads(tree)
    root = exp.Paren(this=tree.copy())
    _name_tables(root, {cte.alias.lower() for cte in root.find_all(exp.CTE)})
    for node in reversed(list(root.this.walk(bfs=True))):
        changed = _valued(node, values)
        for kinds, change in CHANGES:
            if isinstance(changed, kinds):
                changed = change(changed, session)
        if changed is not node:
            node.replace(changed)
    whole: exp.Expression = root.this
    return whole.pop()


def _check_reads(tree: exp.Expression) -> None:
    """Refuses a statement that writes somewhere."""
    if not isinstance(tree, READS) or tree.find(*WRITES) is not None:
        raise Refused.unsupported()


def _name_tables(tree: exp.Expression, made: set[str]) -> None:
    for table in list(tree.find_all(exp.Table)):
        if not isinstance(table.this, exp.Identifier):
            _name_function(table)
            continue
        name, schema = table.name.lower(), table.db.lower()
        is_made = not schema and name in made
        if not is_made and not is_catalog_table(table):
            raise Refused.unsupported()
        if not table.args.get("alias"):
            table.set("alias", exp.TableAlias(this=exp.to_identifier(name)))
        table.set("this", exp.to_identifier(MADE + name if is_made else name, quoted=is_made))
        table.set("db", None if is_made else exp.to_identifier(SCHEMAS[schema or "pg_catalog"]))
    for cte in tree.find_all(exp.CTE):
        cte.args["alias"].set("this", exp.to_identifier(MADE + cte.alias.lower(), quoted=True))
    for lateral in tree.find_all(exp.Lateral):
        if not isinstance(lateral.this, exp.Subquery):
            _check_function(lateral.this)


def _check_function(function: exp.Expression | None) -> None:
    """Refuses a function in FROM that is not one of those listed."""
    name = "" if function is None else function.name.lower()
    if not isinstance(function, SETS) and name not in (*SCALARS, *SET_NAMES):
        raise Refused.unsupported()


def _name_function(table: exp.Table) -> None:
    """A function in FROM: its one column has the name of its alias, and what it gives is one row if it gives no set."""
    table.set("db", None)
    _check_function(table.this)
    alias: Any = table.args.get("alias")
    name = alias.name if alias is not None else ""
    if isinstance(table.this, exp.StringToArray) or (name and table.this.name.lower() in SCALARS):
        inner = exp.select(exp.alias_(table.this.copy(), name or "value"))
        table.replace(exp.Subquery(this=inner, alias=alias.copy() if alias is not None else None))
    elif name and not alias.args.get("columns") and isinstance(table.this, exp.GenerateSeries):
        alias.set("columns", [exp.to_identifier(name)])


def _column(node: exp.Column, session: CatalogSession) -> exp.Expression:
    if node.args.get("db"):
        node.set("db", None)
        node.set("catalog", None)
    if not node.table and node.name.lower() == "user" and not node.this.quoted:
        return exp.Literal.string(session.user)
    return node


def _dot(node: exp.Dot, _session: CatalogSession) -> exp.Expression:
    """A function that is qualified by its schema."""
    schema = node.this.name.lower() if isinstance(node.this, exp.Identifier | exp.Column) else ""
    return node.expression if schema in SCHEMAS else node


def _function(node: exp.Func, session: CatalogSession) -> exp.Expression:
    name = (node.name if isinstance(node, exp.Anonymous) else str(node.sql_name())).lower()  # type: ignore[no-untyped-call]  # sqlglot's own
    said = SESSION.get(name)
    if said is not None:
        return said(session, node)
    name = RENAMED.get(name, name)
    if name in BODIES or name == "pg_get_keywords":
        parts = node.expressions if isinstance(node, exp.Anonymous) else _arguments(node)
        return exp.Anonymous(this=PREFIX + name, expressions=parts)
    return node


def _arguments(node: exp.Func) -> list[exp.Expression]:
    found: list[exp.Expression] = []
    for key in node.arg_types:
        held = node.args.get(key)
        found.extend(held if isinstance(held, list) else [held] if isinstance(held, exp.Expression) else [])
    return found


def _text(_session: CatalogSession, node: exp.Expression) -> str:
    if not (isinstance(node, exp.Literal) or (isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal))):
        raise Refused.unsupported()
    return str(node.name if isinstance(node, exp.Literal) else node.this.name)


def _format(_session: CatalogSession, node: exp.Func) -> exp.Expression:
    """`format('%I.%I', schema, name)` as a text put together."""
    form, *values = _arguments(node)
    parts = re.split(r"(%[sIL])", form.name)
    found: exp.Expression = exp.Literal.string("")
    for part in parts:
        piece = (
            exp.Literal.string(part) if not re.fullmatch(r"%[sIL]", part) else values.pop(0) if values else exp.null()
        )
        found = exp.DPipe(this=found, expression=exp.cast(piece.copy(), "TEXT"))
    return exp.Paren(this=found)


def _setting(session: CatalogSession, node: exp.Func) -> exp.Expression:
    if isinstance(node.expressions[0], exp.Column):
        return exp.Anonymous(this=f"{PREFIX}setting_of", expressions=[node.expressions[0]])
    value = session.settings.get(_text(session, node.expressions[0]))
    return exp.null() if value is None else exp.Literal.string(value)


def _set_config(session: CatalogSession, node: exp.Func) -> exp.Expression:
    if len(node.expressions) != 3:
        raise Refused.unsupported()
    name, value = (_text(session, part) for part in node.expressions[:2])
    session.changes.append((name, value, node.expressions[2].sql().upper() == "TRUE"))
    return exp.Literal.string(value)


def _schemas(_session: CatalogSession, node: exp.Func) -> exp.Expression:
    implicit = "TRUE" in node.sql().upper()
    names = ["pg_catalog", PUBLIC] if implicit else [PUBLIC]
    return exp.Array(expressions=[exp.Literal.string(name) for name in names])


def _said(value: Callable[[CatalogSession], str]) -> Callable[[CatalogSession, exp.Func], exp.Expression]:
    return lambda session, _node: exp.Literal.string(value(session))


SESSION: Mapping[str, Callable[[CatalogSession, exp.Func], exp.Expression]] = {
    "version": _said(lambda _: VERSION_TEXT),
    "current_version": _said(lambda _: VERSION_TEXT),
    "current_database": _said(lambda session: session.database),
    "current_catalog": _said(lambda session: session.database),
    "current_schema": _said(lambda _: PUBLIC),
    "current_schemas": _schemas,
    "current_user": _said(lambda session: session.user),
    "current_role": _said(lambda session: session.user),
    "session_user": _said(lambda session: session.user),
    "current_setting": _setting,
    "set_config": _set_config,
    "json_build_object": lambda _session, _node: exp.cast(exp.null(), "TEXT"),
    "format": _format,
    "pg_backend_pid": lambda session, _node: exp.Literal.number(session.process),
}


def _cast(node: exp.Cast, _session: CatalogSession) -> exp.Expression:
    kind, inner = _kind(node.args["to"]), node.this
    literal = inner.name if isinstance(inner, exp.Literal) and inner.is_string else None
    if kind in NAMES_OF:
        return _named_object(kind, inner, literal)
    if kind in ("regproc", "regprocedure") and literal is not None:
        return exp.Literal.string(_last_name(literal))
    if kind == "oid":
        return _number_of(inner)
    if kind in TEXT_TYPES:
        return exp.cast(inner, "TEXT")
    if kind.endswith("[]") and literal is not None:
        return exp.cast(exp.Literal.string(literal.replace("{", "[").replace("}", "]")), _array_type(node))
    return exp.cast(inner, exp.DataType.build("INT[]", dialect="duckdb")) if kind in VECTORS else node


def _named_object(kind: str, inner: exp.Expression, literal: str | None) -> exp.Expression:
    """A number that stands for a name, or the name of a number."""
    if literal is not None and literal.isdigit():
        return exp.Literal.number(int(literal))
    if literal is not None and kind in FINDS:
        return exp.Anonymous(this=PREFIX + FINDS[kind], expressions=[exp.Literal.string(_last_name(literal))])
    while isinstance(inner, exp.Paren):
        inner = inner.this
    if isinstance(inner, exp.DPipe | exp.Concat) and kind in FINDS:
        return exp.Anonymous(this=PREFIX + FINDS[kind], expressions=[inner])
    return exp.Anonymous(this=PREFIX + NAMES_OF[kind], expressions=[inner])


def _array_type(node: exp.Cast) -> exp.DataType:
    shown = node.args["to"].sql("duckdb").upper()
    whole = any(kind in shown for kind in ("INT", "OID"))
    return exp.DataType.build("BIGINT[]" if whole else "TEXT[]", dialect="duckdb")


def _number_of(inner: exp.Expression) -> exp.Expression:
    """The number under a name: `c.oid::regclass::oid` is the number again."""
    if isinstance(inner, exp.Column) and inner.name.lower() in PROCEDURES:
        return exp.Anonymous(this=f"{PREFIX}to_regproc", expressions=[inner])
    made = inner.name.removeprefix(PREFIX) if isinstance(inner, exp.Anonymous) else ""
    if made in FINDS.values():
        return inner
    held = inner.expressions[0] if made in NAMES_OF.values() else inner
    return exp.cast(held, exp.DataType.build("UINTEGER", dialect="duckdb"))


def _kind(to: exp.Expression) -> str:
    return str(to.sql("postgres")).lower().removeprefix("pg_catalog.").strip('"')


def _last_name(shown: str) -> str:
    last = shown.rpartition(".")[2]
    return last.strip('"') if last.startswith('"') else last.lower()


def _operator(node: exp.Operator, _session: CatalogSession) -> exp.Expression:
    sign = str(node.args["operator"]).rpartition(".")[2].strip()
    left, right = node.this, node.expression
    while isinstance(right, exp.Collate):
        right = right.this
    match OPERATORS.get(sign):
        case "regexp":
            return exp.RegexpLike(this=left, expression=right)
        case "no regexp":
            return exp.Not(this=exp.RegexpLike(this=left, expression=right))
        case "equal":
            return exp.EQ(this=left, expression=right)
        case "not equal":
            return exp.NEQ(this=left, expression=right)
        case "like":
            return matched(exp.Like(this=left, expression=right))
        case "no like":
            return exp.Not(this=matched(exp.Like(this=left, expression=right)))
    raise Refused.unsupported()


def _comparison(node: exp.Binary, _session: CatalogSession) -> exp.Expression:
    """A procedure is held by its name, and 0 is none."""
    sides = (node.this, node.expression)
    for one, other, key in ((*sides, "expression"), (*sides[::-1], "this")):
        names_one = isinstance(one, exp.Column) and one.name.lower() in PROCEDURES
        if names_one and isinstance(other, exp.Literal) and not other.is_string and other.name == "0":
            node.set(key, exp.Literal.string("-"))
        if names_one and isinstance(other, exp.Column) and other.name.lower() == "oid":
            number = exp.Anonymous(this=f"{PREFIX}to_regproc", expressions=[one.copy()])
            node.set("this" if key == "expression" else "expression", number)
    return node


def _any(node: exp.Any, _session: CatalogSession) -> exp.Expression:
    """A list that is written as one text: `ANY ('{r,p}')`."""
    inner = node.this
    while isinstance(inner, exp.Paren):
        inner = inner.this
    if isinstance(inner, exp.Literal) and inner.is_string and inner.name.startswith("{"):
        values = [one for one in inner.name[1:-1].split(",") if one]
        node.set("this", exp.Array(expressions=[exp.Literal.string(value) for value in values]))
    return node


def _like(node: exp.Like | exp.ILike, _session: CatalogSession) -> exp.Expression:
    return node if isinstance(node.parent, exp.Escape) else matched(node)


def _escape(node: exp.Escape, _session: CatalogSession) -> exp.Expression:
    if not isinstance(node.this, exp.Like | exp.ILike) or not isinstance(node.expression, exp.Literal):
        raise Refused.unsupported()
    return matched(node.this, node.expression.name)


def _pipe(node: exp.DPipe, _session: CatalogSession) -> exp.Expression:
    """Two constants as one, which may be a pattern."""
    left, right = constant_text(node.this), constant_text(node.expression)
    return node if left is None or right is None else exp.Literal.string(left + right)


def _collate(node: exp.Collate, _session: CatalogSession) -> exp.Expression:
    inner: exp.Expression = node.this
    return inner


def _valued(node: exp.Expression, values: list[Any]) -> exp.Expression:
    """A parameter as its value."""
    if not isinstance(node, exp.Parameter):
        return node
    place = int(node.this.name) - 1 if node.this.name.isdigit() else -1
    if not 0 <= place < len(values):
        raise Refused.unsupported()
    return exp.convert(values[place])


CHANGES: tuple[tuple[Any, Callable[[Any, CatalogSession], exp.Expression]], ...] = (
    (exp.Dot, _dot),
    (exp.Column, _column),
    (exp.Cast, _cast),
    (exp.Operator, _operator),
    ((exp.Like, exp.ILike), _like),
    (exp.Escape, _escape),
    (exp.DPipe, _pipe),
    (exp.Collate, _collate),
    (exp.Any, _any),
    ((exp.EQ, exp.NEQ), _comparison),
    (exp.Func, _function),
)
