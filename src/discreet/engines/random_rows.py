"""Tables whose rows are drawn anew each time that they are read, which are refused.

Claim
    `check_not_drawn` refuses a table in whose steps of Ibis's, or in whose views, queries and macros of DuckDB's, there
    are random values or a sample. `is_sampled` tells of a sample in a view of PostgreSQL's.
Requires
    Functions that go by DuckDB's names; one of an extension, or of the curator's in another language, may have others.
Relies on
    DuckDB's own text of a view and of a macro, in which a function's name stands before a parenthesis. PostgreSQL's
    plan of a query, in which each sample has a line; and that it computes a common table expression once which calls a
    function that it takes for volatile ("WITH Queries", 7.8.3 of its documentation).
Proof
    A statement may read a table twice: once for a unit's rows, and once for how many these are, by which they are
    weighted down. Where each time has other rows, the number is that of other rows than those that are weighted, and a
    unit adds more than its limit: of 8 rows with random keys, it had three times as much in a median of groups. On
    PostgreSQL, the scan is a common table expression, so that random values are drawn once in each statement; a sample
    is drawn for each reading, unless it is REPEATABLE.
Rounding
    None.
Source
    The documentations of DuckDB and PostgreSQL, of random functions and of samples.
Mutant
    random-steps: steps of Ibis's are taken; killed by test_steps_that_draw_rows_are_refused.
    random-views: the texts of views are taken; killed by test_views_that_draw_rows_are_refused.
    samples-of-plans: a sample in a plan is taken; killed by test_samples_are_told_by_their_plans.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import ibis.expr.operations as ops
import ibis.expr.types as ir

from discreet.errors import InvalidParameter, expected

RANDOM = (ops.RandomScalar, ops.RandomUUID, ops.Sample)
DRAWS = re.compile(
    r"\b(?:random|uuid|uuidv4|uuidv7|gen_random_uuid|nextval)\"?\s*\(|\busing\s+sample\b|\btablesample\b", re.IGNORECASE
)
SAMPLING, REPEATABLE = re.compile(r"\s*Sampling: "), " REPEATABLE ("
QUOTED = re.compile(r"\"(?:[^\"]|\"\")*\"|'(?:[^']|'')*'")
"""A name or a text, with whatever quotes are in it."""


def drawn_refusal() -> str:
    """The refusal of a table whose rows are others each time that it is read, in words."""
    cure = "store its rows first, as a table or a file, and protect that; a unit keeps its limits in rows that stay."
    return expected(
        "a table of the same rows each time that it is read", "data", "one with random values or a sample", cure
    )


def check_not_drawn(table: ir.Table, texts: Iterable[str] = ()) -> None:
    """Refuses a table in whose steps, or in the texts of whose views, there are random values or a sample.

    >>> import ibis
    >>> visits = ibis.table({"person": "int64"}, name="visits")
    >>> check_not_drawn(visits.mutate(x=1), ["SELECT 'random()', random FROM visits"])
    >>> check_not_drawn(visits, ["SELECT random() AS x FROM visits"])
    Traceback (most recent call last):
        ...
    discreet.errors.InvalidParameter: Expected a table of the same rows each time that it is read, got ...
    """
    if table.op().find(RANDOM) or any(DRAWS.search(_without_texts(text)) for text in texts):
        raise InvalidParameter(drawn_refusal())


def is_sampled(cursor: Any, written: str) -> bool:
    """Whether a table of PostgreSQL's, `written` in SQL, is a sample that each reading draws anew."""
    plan = cursor.execute(f"EXPLAIN SELECT * FROM ({written}) AS raw").fetchall()  # noqa: S608 (the curator's own table)
    return any(SAMPLING.match(line) and REPEATABLE not in line for [line] in plan)


def _without_texts(sql: str) -> str:
    return QUOTED.sub(lambda found: found[0] if found[0][0] == '"' else "''", sql)
