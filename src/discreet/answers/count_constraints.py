"""The counts of a batch as counts can be: none negative, or whole numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.answers.release import Release
from discreet.errors import InvalidQuery, expected
from discreet.inference.interval_propagation import HIGH, LOW
from discreet.inference.nonnegative_counts import fitted, rounded, tables_of
from discreet.planning.batch_planner import BatchPlan
from discreet.planning.forms import COUNT, UNITS
from discreet.planning.table_names import Name
from discreet.workloads.cell_tables import MOST_CELLS, Reals

Places = list[tuple[int, str]]
"""A table, by its place, and one of its columns."""


def possible_counts(
    plan: BatchPlan, tables: Mapping[Name, Release], *, nonnegative: bool, integers: bool
) -> dict[Name, pa.Table]:
    """Keys, counts and ends of each table; the ends are those of the answer."""
    if math.prod(plan.query.sizes) > MOST_CELLS:
        cure = "take the estimates as they are, or ask for fewer attributes at a time."
        raise InvalidQuery(expected(f"at most {MOST_CELLS:,} common cells", "cells", "more", cure))
    asked = _counts(plan)
    if not asked:
        cure = "sums and means are estimates, which may be negative."
        raise InvalidQuery(expected("a count in the batch", "columns", "none", cure))
    names = plan.query.names
    columns: dict[tuple[int, str], NDArray[Any]] = {}
    for places in asked:
        values = [tables[names[i]][column] for i, column in places]
        found = _possible(plan, places, values, nonnegative=nonnegative, integers=integers)
        columns.update(zip(places, found, strict=True))
    shown = {}
    for i, name in enumerate(names):
        whole = tables[name].to_pyarrow()
        held = whole.select(list(tables[name].groups))
        for column in tables[name].columns:
            if (i, column) not in columns:
                continue
            ends = [whole[f"{column}{end}"].to_numpy() for end in (LOW, HIGH)]
            for end, values in zip(("", LOW, HIGH), (columns[i, column], *ends), strict=True):
                held = held.append_column(f"{column}{end}", pa.array(np.maximum(values, 0) if nonnegative else values))
        shown[name] = held
    return shown


def _counts(plan: BatchPlan) -> list[Places]:
    """For each count of the cells the columns that are made of it."""
    found = []
    for k, own in enumerate(plan.cells.query.aggregates):
        if own.statistic.form in (COUNT, UNITS):
            found.append([
                (i, a.name)
                for i, table in enumerate(plan.query.tables)
                for place, a in zip(table.places, table.query.aggregates, strict=True)
                if place == k
            ])  # fmt: skip
    return found


def _possible(
    plan: BatchPlan, places: Places, values: list[Reals], *, nonnegative: bool, integers: bool
) -> list[NDArray[Any]]:
    """The tables of the cells that fit best."""
    weighted = [replace(plan.query.tables[i].table, weight=1.0 / _variance(plan, i, column)) for i, column in places]
    cells = fitted(plan.query.sizes, weighted, values, nonnegative=nonnegative)
    if not integers:
        return tables_of(weighted, cells)
    return [table.astype(np.int64) for table in tables_of(weighted, rounded(cells))]


def _variance(plan: BatchPlan, table: int, name: str) -> float:
    """Of a count, in rows, on average over the cells of a table; it may be taken from several blocks."""
    column = next(own for own in plan.tables[table].columns if own.aggregate.name == name)
    return sum(
        float(plan.variances(table, block).mean()) / plan.cells.blocks[block].steps ** 2 * sum(c**2 for c in factors)
        for block, factors in zip(column.blocks, column.coefficients, strict=True)
    )
