"""A small protected table to try questions on, and predictable noise for any table. NOT PRIVATE.

What is released from here says so in its receipt (``receipt["private"]`` is False) and under its table.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import pyarrow as pa

from discreet.curator.protect import protect
from discreet.curator.protected_table import Protected
from discreet.errors import InvalidParameter, expected
from discreet.ledger.budget import Budget
from discreet.query.query_steps import Chain
from discreet.query.table import PrivateTable
from discreet.testing.scripted_words import splitmix

PERSONS = 100
PLANS = ("free", "25%", "50%")
ALLOWANCE = 10
Table = TypeVar("Table", bound=Chain)


def visits() -> pa.Table:
    """The rows behind `people`: 100 made-up persons with 1 to 5 years each, one row a year.

    Returns:
        Columns ``person`` (int64), ``plan`` (text), ``age`` (int64, with a NULL in every tenth row), ``visits`` (float,
        doctor visits in that year); 300 rows.

    >>> visits().num_rows, sorted(visits()["plan"].unique().to_pylist())
    (300, ['25%', '50%', 'free'])
    """
    rows = [(person, year) for person in range(PERSONS) for year in range(1 + person % 5)]
    return pa.table(
        {
            "person": pa.array([person for person, _ in rows], pa.int64()),
            "plan": pa.array([PLANS[person % 3] for person, _ in rows], pa.string()),
            "age": pa.array([_age(i, *row) for i, row in enumerate(rows)], pa.int64()),
            "visits": pa.array([float((7 * person + 3 * year) % 12) for person, year in rows], pa.float64()),
        }
    )


def _age(i: int, person: int, year: int) -> int | None:
    return None if i % 10 == 9 else 1 + (37 * person) % 80 + year


def people(seed: int = 0) -> PrivateTable:
    """A protected table of made-up people with a fresh budget, for examples and tests. Its noise is not private.

    The unit is ``person``, with at most 5 rows in each of at most 2 groups; ``age`` lies in 0..110, ``visits`` in
    0..50, and the plans are ``free``, ``25%`` and ``50%``. The budget is epsilon=10.

    Args:
        seed: fixes the noise of all releases, in their order.

    >>> table = people()
    >>> table
    <private table 'people', protecting person: person: integer, plan: text, age: integer, visits: real number>
    >>> answer = table.group_by("plan").agg(persons=lambda t: t.person.nunique()).release(epsilon=1)
    >>> answer.receipt["private"], answer.to_pyarrow()["plan"].to_pylist()
    (False, ['free', '25%', '50%'])
    """
    table = protect(
        visits(),
        unit="person",
        bounds={"age": (0, 110), "visits": (0, 50)},
        keys={"plan": list(PLANS)},
        max_groups=2,
        max_rows=5,
        budget=Budget(epsilon=ALLOWANCE),
    )
    foreseeable = not_private(table, seed=seed)
    source: Any = foreseeable._source  # noqa: SLF001 (stands in for the curator here)
    # Named afterwards: each call is a table and a budget of its own, of which nobody needs to be warned.
    source.declaration = replace(source.declaration, name="people")
    return foreseeable


def not_private(table: Table, *, seed: int = 0) -> Table:
    """The same table with predictable noise, for tests that need the same result each time. Not private.

    NOT PRIVATE: who knows the seed can take the noise away. Everything else is as it was: the same budget is charged,
    before the rows are looked at, and the noise has its full size. Receipts say ``"private": False``.

    Args:
        table: a protected table, or a step of a question about one.
        seed: an integer in 0..2**64-1, fixes the noise of all releases of the returned table, in their order.

    Raises:
        InvalidParameter: `table` is no protected table, or the seed is out of range.

    >>> import discreet as dp
    >>> import pyarrow as pa
    >>> def ages():
    ...     rows = pa.table({"age": [30, 40, 50]})
    ...     return dp.protect(rows, unit=dp.ROW, bounds={"age": (0, 110)}, budget=dp.Budget(epsilon=1))
    >>> first, second = (not_private(ages(), seed=1).agg(n=lambda t: t.count()).release(epsilon=1) for _ in range(2))
    >>> first["n"] == second["n"], first.receipt["private"]
    (array([ True]), False)
    """
    source = table._source if isinstance(table, Chain) else None  # noqa: SLF001 (stands in for the curator here)
    if not isinstance(source, Protected):
        cure = "make one with dp.protect(...), or take discreet.testing.people()."
        raise InvalidParameter(expected("a protected table", "table", type(table).__name__, cure))
    words, engine = splitmix(seed), source._engine  # noqa: SLF001 (as above)
    made = Protected(engine, source.declaration, source.budget, lambda: words, source.keep_steps)
    return replace(table, _source=made)
