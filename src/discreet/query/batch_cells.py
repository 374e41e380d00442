"""The cells that several questions have in common: their groups and conditions as columns of one relation.

Claim
    Every question is a sum of cells: a row counts in exactly one cell, and counts for a question if and only if its
    cell's values are among those that the question's maps add up.
Requires
    Questions whose relations are filters and row-wise projections of one relation.
Relies on
    The language: conditions and expressions are functions of a row, which no row can make raise.
Proof
    *Groups.* A row's code is the place of its key among the listed ones, compared as `group_by` compares them, or one
    more for all others. *Conditions.* Its code has a bit for each condition on a column, 1 where it is true and not
    where it is false or NULL; a question keeps the rows whose bits it asks for. *Which codes there are.* Comparisons of
    one column with constants are constant on each constant and on each stretch between two of them, so values on all
    of these, and NULL, have every code that a row can have. Any other condition has a column of its own.
Rounding
    None here.
Source
    The atoms of a Boolean algebra.
Mutant
    stretches-forgotten: codes are looked for on the constants alone; killed by
    test_rows_between_constants_are_counted.
    rows-without-constants: a column that is only asked whether it is NULL has no other values; killed by
    test_rows_are_counted_where_no_constant_is.
    copies-as-one-row: what makes several rows of one is taken for a row-wise projection; killed by
    test_rows_that_one_row_became_are_others.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import ibis
import ibis.expr.operations as ops
import ibis.expr.types as ir
import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidQuery, expected
from discreet.language.checked_expressions import MOMENTS, Kind, Value
from discreet.language.exact_arithmetic import integer
from discreet.language.literals import constant
from discreet.planning.aggregates import Aggregate
from discreet.planning.plan import Query
from discreet.planning.product_keys import ProductKeys
from discreet.privacy.declaration import Key
from discreet.workloads.cell_tables import MOST_CELLS

MOST_CONDITIONS = 60
"""On one column: a bit each, of 64."""
MOST_CODED = 4000
"""Keys of a column that some questions do not group by: each is a branch of one expression."""
LARGEST_EXACT = 2**53
CELL = "__discreet_cell_{}"
NOT_ROWWISE = (ops.Reduction, ops.Analytic, ops.WindowFunction, ops.Subquery, ops.Impure, ops.Unnest)


def common_relation(queries: Sequence[Query]) -> ops.Relation:
    """The relation that all questions are filters and projections of."""
    chains = [list(_chain(query.relation.op())) for query in queries]
    found = next((one for one in chains[0] if all(one in chain for chain in chains[1:])), None)
    if found is None:
        cure = "filters, new columns and groups may differ; joins, unions and steps over a unit's rows come before."
        raise InvalidQuery(expected("questions about the same rows", "batch", "others", cure))
    return found


def _chain(op: ops.Relation) -> Iterator[ops.Relation]:
    """A relation, and those below it down to the first that is more than a filter or a row-wise projection."""
    while True:
        yield op
        if not isinstance(op, ops.Filter | ops.Project):
            return
        values = op.predicates if isinstance(op, ops.Filter) else op.values.values()
        if any(value.find(NOT_ROWWISE, filter=ops.Value) for value in values):  # not in what is below
            return
        op = op.parent


@dataclass(frozen=True, eq=False)
class Moved:
    """A question with all its expressions over the common relation."""

    conditions: tuple[ops.Value, ...]
    groups: Mapping[str, ops.Value]
    aggregates: tuple[Aggregate, ...]


def rewrite_over_relation(query: Query, base: ops.Relation) -> Moved:
    """A question over the common relation, its filters as conditions."""
    conditions: list[ops.Value] = []
    op = query.relation.op()
    while op != base:
        if isinstance(op, ops.Filter):
            conditions += [part for one in op.predicates for part in _conjuncts(_down(one, base))]
        op = op.parent
    return Moved(
        tuple(dict.fromkeys(conditions)),
        {name: _down(expr.op(), base) for name, expr in query.groups.items()},
        tuple(over(a, lambda value: _down(value, base)) for a in query.aggregates),
    )


def over(a: Aggregate, move: Callable[[Any], Any]) -> Aggregate:
    """An aggregate whose expressions were moved."""

    def one(value: Value | None) -> Any:
        return None if value is None else replace(value, expr=move(value.expr.op()).to_expr())

    return replace(a, value=one(a.value), others=tuple(map(one, a.others)), where=one(a.where))


def _down(value: Any, base: ops.Relation) -> Any:
    """An expression over a relation above the common one, as one over that."""
    while True:
        above = {field: _below(field) for field in value.find(ops.Field, filter=ops.Value) if field.rel != base}
        if not above:
            return value
        value = substituted(value, above)


def _below(field: ops.Field) -> ops.Value:
    if isinstance(field.rel, ops.Filter):
        return ops.Field(field.rel.parent, field.name)
    return field.rel.values[field.name]


def substituted(value: Any, fields: Mapping[Any, Any]) -> Any:
    """An expression with others in place of some of its fields."""
    if value in fields:
        return fields[value]
    return value.replace(dict(fields), filter=ops.Value)


def _conjuncts(condition: Any) -> Iterator[ops.Value]:
    if isinstance(condition, ops.And):
        yield from _conjuncts(condition.left)
        yield from _conjuncts(condition.right)
    else:
        yield condition


def with_codes(query: Query, columns: Sequence[tuple[ir.Value, Sequence[int]]]) -> Query:
    """A question whose groups are codes: of each the expression and, in rising order, the values that count."""
    names = [CELL.format(i) for i in range(len(columns))]
    relation = query.relation
    if columns:
        relation = relation.mutate(**{name: code for name, (code, _) in zip(names, columns, strict=True)})
    keys = ProductKeys.of(names, [Kind.INTEGER] * len(names), [values for _, values in columns])
    above = relation.op()

    def up(value: Any) -> Any:
        fields = {field: ops.Field(above, field.name) for field in value.find(ops.Field, filter=ops.Value)}
        return substituted(value, fields)

    return replace(
        query,
        relation=relation,
        groups={name: relation[name] for name in names},
        keys=None if not columns else keys if keys.size > MOST_CELLS else keys.written_out(),
        aggregates=tuple(over(a, up) for a in query.aggregates),
    )


def coded_groups(query: Query, lists: Sequence[Sequence[Key]]) -> Query:
    """A question with the places of its keys in their lists as groups."""
    null = ibis.null("int64")
    groups = [(_code(expr, own, null), range(len(own))) for expr, own in zip(query.groups.values(), lists, strict=True)]
    coded = with_codes(query, groups)
    return replace(coded, relation=coded.relation.filter([code.notnull() for code in coded.groups.values()]))


@dataclass(frozen=True, eq=False)
class Attribute:
    """One column of the cells: a code for each row, and the codes that there are."""

    code: ir.Value
    values: tuple[int, ...]
    maps: Mapping[int, NDArray[np.int64]]
    """For each question that looks at it, by place, the sums of codes that it wants, a row each."""


def attributes(questions: Sequence[Moved], queries: Sequence[Query]) -> list[Attribute]:
    """The columns of the cells of some questions."""
    return [*_groups(questions, queries), *_conditions(questions)]


def _groups(questions: Sequence[Moved], queries: Sequence[Query]) -> Iterator[Attribute]:
    """One for each expression that is grouped by, over all questions."""
    users: dict[ops.Value, list[tuple[int, str]]] = {}
    for place, question in enumerate(questions):
        for name, op in question.groups.items():
            users.setdefault(op, []).append((place, name))
    for op, uses in users.items():
        lists = {place: _keys_of(queries[place], name) for place, name in uses}
        every: list[Key] = list(dict.fromkeys(itertools.chain.from_iterable(lists.values())))
        maps = {}
        for place, own in lists.items():
            chosen = np.zeros((len(own), len(every) + 1), dtype=np.int64)
            chosen[np.arange(len(own)), [every.index(key) for key in own]] = 1
            maps[place] = chosen
        yield Attribute(_code(op.to_expr(), every, integer(len(every))), tuple(range(len(every) + 1)), maps)


def _code(column: ir.Value, keys: Sequence[Key], other: ir.Value) -> ir.Value:
    """The place of a key in a list, and another value for those that are not listed."""
    if len(keys) > MOST_CODED:
        cure = "group more coarsely, or ask for this table by a question of its own."
        raise InvalidQuery(expected(f"at most {MOST_CODED:,} keys of a column", "batch", f"{len(keys):,}", cure))
    branches = [
        (column.isnull() if key is None else column == constant(key).expr, integer(i)) for i, key in enumerate(keys)
    ]
    return ibis.cases(*branches, else_=other)


def _keys_of(query: Query, name: str) -> list[Key]:
    """The keys of one column, in their order."""
    if query.keys is None:
        raise TypeError(query)
    place = query.keys.names.index(name)
    return list(dict.fromkeys(row[place] for row in query.keys.rows))


def _conditions(questions: Sequence[Moved]) -> Iterator[Attribute]:
    """One for each column with conditions that compare it with constants; one for each other condition."""
    by_column: dict[Any, list[ops.Value]] = {}
    for condition in dict.fromkeys(itertools.chain.from_iterable(one.conditions for one in questions)):
        fields = condition.find(ops.Field, filter=ops.Value)
        column = fields[0] if len(set(fields)) == 1 and _is_simple(condition) else condition
        by_column.setdefault(column, []).append(condition)
    for column, own in by_column.items():
        if len(own) > MOST_CONDITIONS:
            cure = "ask for .histogram(..., ranges=True), which answers every range at once."
            raise InvalidQuery(expected(f"at most {MOST_CONDITIONS} conditions on a column", "batch", len(own), cure))
        alone = column in own and not isinstance(column, ops.Field)  # a column of truth values is compared as well
        codes = (0, 1) if alone else tuple(sorted(_feasible(column, own)))
        bits = [ibis.ifelse(one.to_expr(), integer(2**i), integer(0)) for i, one in enumerate(own)]
        code = bits[0]
        for bit in bits[1:]:
            code = code + bit
        maps = {}
        for place, question in enumerate(questions):
            wanted = sum(2**i for i, one in enumerate(own) if one in question.conditions)
            if wanted:
                maps[place] = np.array([[int(code & wanted == wanted) for code in codes]], dtype=np.int64)
                if not maps[place].any():
                    cure = "its answer is 0 whoever is in the table: leave the question out."
                    raise InvalidQuery(expected("conditions that some row can meet", "batch", "contradictions", cure))
        yield Attribute(code, codes, maps)


COMPARED: dict[type, Callable[[Any, Any], bool]] = {
    ops.Equals: lambda a, b: a == b,
    ops.NotEquals: lambda a, b: a != b,
    ops.Less: lambda a, b: a < b,
    ops.LessEqual: lambda a, b: a <= b,
    ops.Greater: lambda a, b: a > b,
    ops.GreaterEqual: lambda a, b: a >= b,
}
JOINED = (ops.InValues, ops.IsNull, ops.NotNull, ops.And, ops.Or, ops.Not)
EQUAL = (ops.Field, ops.Literal, ops.Cast, ops.Equals, ops.NotEquals, *JOINED)


def _is_simple(condition: ops.Value) -> bool:
    """Whether a condition compares one column, as it is, with constants of its own type."""
    nodes = condition.find(ops.Value)
    fields = [node for node in nodes if isinstance(node, ops.Field)]
    if any(_is_odd(node) for node in nodes):
        return False
    dtype = fields[0].dtype
    if dtype.is_string():  # whose order is the engine's
        return all(isinstance(node, EQUAL) for node in nodes)
    return bool(dtype.is_numeric() or dtype.is_date() or dtype.is_timestamp() or dtype.is_boolean())


def _is_odd(node: Any) -> bool:
    """Whether a part of a condition is none that `_truth` knows."""
    if isinstance(node, ops.Cast):
        return not isinstance(node.arg, ops.Literal) or isinstance(node.arg.value, str) or node.arg.value is None
    if isinstance(node, ops.Literal):
        value = node.value
        return value is None or (isinstance(value, int | float) and not abs(value) < LARGEST_EXACT)
    return type(node) not in (ops.Field, ops.Between, *JOINED, *COMPARED)


def _feasible(column: Any, conditions: Sequence[ops.Value]) -> set[int]:
    """All codes that values of a column have."""
    constants = {node.value for one in conditions for node in one.find(ops.Literal, filter=ops.Value)}
    values = [None, *_values_between(column.dtype, constants)]
    return {sum(2**i for i, one in enumerate(conditions) if _truth(one, value) is True) for value in values}


def _values_between(dtype: Any, constants: set[Any]) -> list[Any]:
    """The constants, and values on every stretch beside and between them."""
    if dtype.is_boolean():
        return [True, False]
    if dtype.is_string():
        return [*constants, "".join(sorted(map(str, constants))) + "."]
    ordered = sorted(constants)
    if dtype.is_floating():
        ends = [ordered[0] - 1 - abs(ordered[0]), ordered[-1] + 1 + abs(ordered[-1])] if ordered else [0.0]
        return [*ordered, *ends, *((low + high) / 2 for low, high in itertools.pairwise(ordered))]
    if dtype.is_integer():
        ordered = ordered or [0]  # a column that is only asked whether it is NULL has other values all the same
        return [*ordered, *(one + 1 for one in ordered), *(one - 1 for one in ordered)]
    return _moments_between(Kind.DATE if dtype.is_date() else Kind.TIMESTAMP, ordered)


def _moments_between(kind: Kind, ordered: Sequence[Any]) -> list[Any]:
    """The same of dates and times, of which none is outside the calendar."""
    first, last = MOMENTS[kind]
    near = timedelta(days=1) if kind is Kind.DATE else timedelta(microseconds=1)
    later = [one + near for one in ordered if one < last]
    earlier = [one - near for one in ordered if one > first]
    return [first, last, *ordered, *later, *earlier]


def _truth(node: Any, value: Any) -> Any:
    """The value of a condition for one value of its column: true, false, or None for NULL."""
    if isinstance(node, ops.Field | ops.Literal | ops.Cast):
        return value if isinstance(node, ops.Field) else _constant(node)
    if isinstance(node, ops.IsNull | ops.NotNull):
        return (_truth(node.arg, value) is None) is isinstance(node, ops.IsNull)
    if isinstance(node, ops.And | ops.Or):
        pair = (_truth(node.left, value), _truth(node.right, value))
        decided = isinstance(node, ops.Or)
        return decided if decided in pair else None if None in pair else not decided
    parts = [_truth(part, value) for part in node.args if not isinstance(part, tuple)]
    return None if None in parts else _compared(node, parts)


def _constant(node: Any) -> Any:
    return _constant(node.arg) if isinstance(node, ops.Cast) else node.value


def _compared(node: Any, parts: Sequence[Any]) -> bool:
    """A comparison of what is not NULL."""
    if isinstance(node, ops.Not):
        return not parts[0]
    if isinstance(node, ops.Between):
        return bool(parts[1] <= parts[0] <= parts[2])
    if isinstance(node, ops.InValues):
        return parts[0] in [_constant(option) for option in node.options]
    return COMPARED[type(node)](*parts)
