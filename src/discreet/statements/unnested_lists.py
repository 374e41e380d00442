"""UNNEST of listed expressions in FROM: each row as several, one for each of them."""

from __future__ import annotations

from sqlglot import exp

from discreet.statements.expressions import row_wise
from discreet.statements.from_joins import Joined, Member
from discreet.statements.scope import Scope, same_name
from discreet.statements.statement_text import Text, located

SHOWN = "write FROM t CROSS JOIN UNNEST([a, b]) AS u(x), after all tables."


def check_unnest(join: exp.Join, text: Text) -> None:
    """Refuses what is no list of expressions with a name for its values."""
    node = join.this
    extra = [name for name, held in join.args.items() if held and name not in ("this", "kind")]
    if extra or join.kind not in ("", "CROSS") or text.dialect.name != "duckdb":
        raise text.refusal("CROSS JOIN before UNNEST, in the dialect of DuckDB", node, SHOWN)
    alias = node.args.get("alias")
    lists = node.expressions
    if len(lists) != 1 or not isinstance(lists[0], exp.Array) or node.args.get("offset"):
        cure = f"{SHOWN} The parts of a text are rows of people.unnest(word=_.text.split(','), max_items=5)."
        raise text.refusal("one list of expressions in UNNEST", node, cure)
    if not alias or not alias.this or len(alias.args.get("columns") or ()) != 1:
        raise text.refusal("a name for the values of UNNEST", node, SHOWN)


def unnested(scope: Scope, join: exp.Join) -> Scope:
    """The rows so far, each as many times as the list is long, and the values of the list under their own name."""
    check_unnest(join, scope.text)
    node = join.this
    alias, (column,) = node.args["alias"].this, node.args["alias"].columns
    values = [row_wise(one, scope) for one in node.expressions[0].expressions]
    for one in node.expressions[0].expressions:
        scope.text.remember(one, column.name)
    unit = scope.table._source.declaration.unit  # noqa: SLF001 - what was declared has no public name
    taken = {name.casefold() for name in (*scope.table.columns, *unit)}
    name = column.name
    while name.casefold() in taken:
        name = f"{alias.name}.{name}"
    with located(scope.text, node):
        table = scope.table._unnested({name: values})  # noqa: SLF001 - a name may be any, also that of a parameter
    own = dict(zip(scope.table.columns, scope.table.columns, strict=True))
    old = scope.members if isinstance(scope, Joined) else (Member(scope.qualifier, own),)
    if any(one.qualifier and same_name(alias, one.qualifier) for one in old):
        raise scope.text.refusal("each name in FROM once", node, "give the list another: AS v(x).")
    merged = scope.merged if isinstance(scope, Joined) else {}
    members = (*old, Member(alias, {column.name: name}))
    return Joined(text=scope.text, table=table, qualifier=None, met=scope.met, members=members, merged=merged)
