"""The same tables in OpenDP: each at an even share, by its contingency table, and by its tree of ordered cells."""

from __future__ import annotations

import itertools
from importlib.metadata import version
from typing import Any

import numpy as np
import opendp.prelude as dp
import polars as pl
from opendp.extras.mbi import Count, Fixed
from tables import ATTRIBUTES, EPSILON, KEYS, MARGINALS, ORDERED, PAIRS, RHO, filled, shape

dp.enable_features("contrib")
VERSION = version("opendp")
ROWS = 2_000_000  # what the curator says of the table's size
BRANCHES = {128: 12, 256: 16}  # the best for ranges; OpenDP's distance is as many as levels with either noise


def loss(price: str) -> Any:
    return dp.loss_of(epsilon=EPSILON) if price == "epsilon" else dp.loss_of(rho=RHO[price])


def counts(path: str, sets: list[tuple[str, ...]], price: str) -> dict[tuple[str, ...], Any]:
    sizes = {one: int(np.prod(shape(one))) for one in sets}
    context = dp.Context.compositor(
        data=pl.scan_parquet(path),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=loss(price),
        split_evenly_over=len(sets),
        margins=[dp.polars.Margin(by=list(one), max_length=ROWS, max_groups=sizes[one]) for one in sets],
    )
    found = {}
    for one in sets:
        n = dp.len(signed=True)
        if one:
            keys = list(itertools.product(*(KEYS[name] for name in one)))
            listed = pl.LazyFrame(keys, schema=list(one), orient="row")
            query = context.query().group_by(*one).agg(n=n).with_keys(listed)
        else:
            query = context.query().select(n=n)
        found[one] = filled(one, query.release().collect().select(*one, "n").iter_rows())
    return found


def cube(path: str, price: str) -> dict[tuple[str, ...], Any]:
    context = dp.Context.compositor(
        data=pl.scan_parquet(path).select(*ATTRIBUTES),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=loss(price),
        split_evenly_over=1,
        margins=[dp.polars.Margin(by=(), max_length=ROWS)],
    )
    pairs = Fixed(queries=[Count(by=one) for one in PAIRS])
    table = context.query().contingency_table(keys=ATTRIBUTES, algorithm=pairs).release()
    found = {one: np.asarray(table.project(list(one))) for one in MARGINALS}
    # Each attribute has a place for other values too, the last one, which is not asked for.
    return {one: cells[tuple(slice(0, size) for size in shape(one))] for one, cells in found.items()}


def ordered(path: str, column: str, price: str) -> Any:
    cells, pure = ORDERED[column], price == "epsilon"
    values = pl.read_parquet(path, columns=[column])[column].to_list()
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    counted = space >> dp.t.then_count_by_categories(
        categories=list(range(cells)), null_category=False, MO="L1Distance<i32>" if pure else "L2Distance<i32>"
    )
    tree = counted >> dp.t.then_b_ary_tree(leaf_count=cells, branching_factor=BRANCHES[cells])
    noise = dp.m.then_laplace if pure else dp.m.then_gaussian
    scale = dp.binary_search_param(
        lambda s: tree >> noise(scale=s), d_in=1, d_out=EPSILON if pure else RHO[price], T=float
    )
    consistent = dp.t.make_consistent_b_ary_tree(branching_factor=BRANCHES[cells])
    return consistent((tree >> noise(scale=scale))(values))[:cells]
