"""What the curator states of a table whose rows belong to two units each, checked before anything is read.

Claim
    A `SharedTable` answers nothing but what is private for neighbors of which one has all rows that name a person in
    either of two columns and the other none; and for those that differ in the rows that name it in one of them. With
    replace-one neighbors: for those of which each has rows of one person that the other has not.
Requires
    Noise for such neighbors of a reading that says `each_of`.
Relies on
    `curator.transaction.charge_to`: all else is refused before it is charged, and so before a row is read.
    `language.input_barrier.one_notation`: equal keys are equal behind the barrier. `sensitivity.shared_totals`: both
    readings of who is a person.
Proof
    By reading.
Rounding
    None.
Source
    Kasiviswanathan, Nissim, Raskhodnikova, Smith, "Analyzing graphs with node differential privacy" (TCC 2013). Dong,
    Fang, Yi, Tao, Machanavajjhala, "R2T" (SIGMOD 2022), of multiple primary private relations.
Mutant
    notations-of-one-person: keys of any two types are compared; killed by test_what_cannot_be_meant_is_refused.
    decimals-of-any-scale: 1.5 may be there as 1.50, which cannot be fetched; killed by
    test_decimals_of_any_scale_are_refused.
    timestamps-as-people: a moment may be one that DuckDB has no text of; killed by
    test_what_cannot_be_meant_is_refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import ibis.expr.schema as sch

from discreet.curator.protect import budgeted, is_path, protected, source_name
from discreet.curator.protection_warnings import warn_of_reused_name
from discreet.curator.stated_facts import (
    by_column,
    check_columns,
    stated_bounds,
    stated_neighbors,
    stated_unit,
    stated_version,
)
from discreet.engines.engine_selection import opened
from discreet.errors import InvalidParameter, expected
from discreet.guesses.misfit_calls import with_usage_hint
from discreet.language.input_barrier import one_notation
from discreet.ledger.budget import Budget
from discreet.ledger.declared_sources import DeclaredSource
from discreet.planning.unspecified import auto_columns
from discreet.privacy.declaration import Declaration
from discreet.query.shared_table import SharedTable


@with_usage_hint("dp.protect_shared({}, each_of=('sender', 'receiver'), budget=dp.Budget(epsilon=1))")
def protect_shared(
    data: Any,
    *,
    each_of: Iterable[str] | None = None,
    budget: Budget | None = None,
    bounds: Mapping[str, tuple[object, object]] | None = None,
    neighbors: str = "add-remove",
    units: int | None = None,
    schema: Mapping[str, str] | None = None,
    name: str | None = None,
    version: str | int = "",
) -> SharedTable:
    """A table whose rows belong to two people each, and that answers one kind of question: `truncated_total`.

    It is node-level privacy: neighbors differ in one person, with all rows that name it in either column. Who is in
    both columns is one person, which also protects people who are told apart by the column that they are in.

    Args:
        data: as `dp.protect` takes it; of a join, a view that has both columns.
        each_of: the two columns that name who is protected, of one type, which is none of timestamps. Rows with NULL in
            one of them are left out.
        budget: what may be spent; one Budget may serve several tables, of this kind and of others.
        bounds: (low, high) of numbers and dates, from public knowledge.
        neighbors: ``"add-remove"``, or ``"replace-one"``, where one person is another one, with other rows; it needs
            the public number of `units`.
        units: the public number of people in both columns, for replace-one neighbors.
        schema: the columns of a CSV file and their types.
        name: what the ledger calls the source; a path stands for itself.
        version: the declared version of the source.

    Raises:
        InvalidParameter: something is missing or not usable; nothing has been read.

    >>> import pyarrow as pa
    >>> import discreet as dp
    >>> calls = pa.table({"caller": [1, 1, 2], "called": [2, 3, 3]})
    >>> dp.protect_shared(calls, each_of=("caller", "called"), budget=dp.Budget(epsilon=2), name="calls")
    <private table 'calls', protecting each of caller, called: caller: integer, called: integer>
    """
    engine = opened(data, schema)
    check_columns(engine.schema)
    unit = stated_pair(each_of, engine.schema)
    related, size = stated_neighbors(neighbors, rows=None, units=units, by_row=False)
    declaration = Declaration(
        name=source_name(data, name),
        version=stated_version(version),
        unit=unit,
        each_of=True,
        neighbors=related,
        size=size,
        bounds=stated_bounds(by_column("bounds", bounds, (0, 100)), engine.schema, unit),
        auto_bounds=auto_columns(bounds),
    )
    table: SharedTable = protected(engine, declaration, budgeted(budget))
    if name is not None or is_path(data):
        warn_of_reused_name(DeclaredSource.of(declaration), data, table.budget)
    return table


def stated_pair(stated: Any, schema: sch.Schema) -> tuple[str, ...]:
    """The two columns, in which one person is written in one way."""
    cure = "write each_of=('sender', 'receiver'); of rows of three people or more there is no such total."
    if isinstance(stated, str) or stated is None or len(unit := stated_unit(stated, schema, "each_of")) != 2:
        raise InvalidParameter(expected("two columns that name people", "each_of", stated, cure))
    first, second = (schema[name] for name in unit)
    if not one_notation(first, second) or first.is_timestamp() or (first.is_decimal() and first.scale is None):
        cure = "cast one of them first: who is in both columns is one person."
        types = "two columns of one type, and no timestamps or decimals without a scale"
        raise InvalidParameter(expected(types, "each_of", f"{first} and {second}", cure))
    return unit
