"""The error of many queries at once beside the bound, and what planning takes: ``python benchmarks/workloads.py``.

At the rho of noise of variance 1 on a count (1/2): the root of the mean squared error of what is measured, in integers,
the bound that no Gaussian mechanism is below, and what it would be without a strategy (`apart`): each table measured
for itself at an even part of rho, as Tumult Analytics and SmartNoise SQL do, each cell of an ordered attribute measured
and added up. Ranges of groups are asked of a table and released: their error is that of the noise in the answer, over
all groups, and the ratio that of the plan. Then the largest variance of a cell. At a pure epsilon, also OpenDP's tree
(`tree`): all levels with noise of one scale, made consistent, at the branching that is best for the queries. Figures of
others follow exactly from what they measure; of mixtures, those published of ResidualPlanner+ and HDMM are in
docs/theory/least_error.md.
"""

from __future__ import annotations

import itertools
import math
import resource
import time
from fractions import Fraction

import numpy as np
import pyarrow as pa

import discreet as dp
from discreet.mechanisms.joint_totals import JointTotals
from discreet.workloads.laplace_strategies import laplace_strategy
from discreet.workloads.marginals import Marginals
from discreet.workloads.matrix_strategy import least_mean
from discreet.workloads.ordered_queries import OrderedQueries
from discreet.workloads.product_bound import least_of_products
from discreet.workloads.product_queries import ProductQueries

ADULT = (100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2)
CPS, LOANS = (100, 50, 7, 4, 2), (101, 101, 101, 101, 3, 8, 36, 6, 51, 4, 5, 15)
UNIT = Fraction(1, 2)
MOST_BRANCHES = 32
WORK = 2.0**36
"""Of the bound of a mixture: a minute or two, and about a gigabyte."""


def line(title: str, sizes: tuple[int, ...], ways: list[int]) -> None:
    """The total of one workload."""
    start = time.process_time()
    tables = Marginals({f"a{i}": size for i, size in enumerate(sizes)}, ways=ways)
    best = tables.total()
    error, bound = best.rmse(rho=UNIT), best.bound(rho=UNIT)
    seconds = time.process_time() - start
    apart = math.sqrt(len(tables.sets))
    print(f"{title:32} {error:10.3f} {bound:10.3f} {error / bound:8.4f} {apart:10.3f} {seconds:8.2f} s", flush=True)


def worst(title: str, ways: int) -> None:
    """The largest variance of one workload."""
    start = time.process_time()
    best = Marginals({f"a{i}": size for i, size in enumerate(ADULT)}, ways=ways).largest()
    largest, bound = best.largest(rho=UNIT) ** 2, best.bound(rho=UNIT) ** 2
    print(
        f"{title:32} {largest:10.3f} {bound:10.3f} {largest / bound:8.4f} {'':10} {time.process_time() - start:8.2f} s"
    )


def ordered(kind: str, cells: int) -> None:
    """All ranges, or prefixes, of ordered cells."""
    start = time.process_time()
    queries: OrderedQueries = getattr(OrderedQueries, kind)(cells)
    best = queries.strategy()
    error, bound = best.rmse(rho=UNIT), best.bound(rho=UNIT)
    seconds = time.process_time() - start
    apart = math.sqrt(float(queries.squares.trace()) / queries.number)
    title = f"{kind} of {cells:,} cells"
    print(f"{title:32} {error:10.3f} {bound:10.3f} {error / bound:8.4f} {apart:10.3f} {seconds:8.2f} s", flush=True)


def grouped(groups: int, cells: int) -> None:
    """All ranges in each of some groups, or prefixes, asked of a table of one row: the error of what is released."""
    rows = pa.table({"group": pa.array([0], pa.int64()), "value": pa.array([0], pa.int64())})
    table = dp.protect(rows, unit=dp.ROW, budget=dp.Budget(rho=10**6), bounds={"value": (0, cells)})
    for kind in (True, "prefixes"):
        start = time.process_time()
        asked = table.group_by("group", keys={"group": range(groups)})
        question = asked.histogram("value", list(range(cells + 1)), ranges=kind)
        plan = question.plan(rho=UNIT)
        seconds = time.process_time() - start
        bins = question.release(rho=UNIT).table["count"].reshape(groups, cells)
        bins[0, 0] -= 1
        below = np.concatenate([np.zeros((groups, 1)), np.cumsum(bins, axis=1)], axis=1)
        found = below[:, 1:] ** 2
        if kind is True:
            found = (cells + 1) * (below**2).sum(axis=1) - below.sum(axis=1) ** 2
            found = found / ((cells + 1) * cells / 2)
        name = "ranges" if kind is True else kind
        queries: OrderedQueries = getattr(OrderedQueries, name)(cells)
        bound, apart = least_mean(queries) ** 0.5, math.sqrt(float(queries.squares.trace()) / queries.number)
        title, error = f"{name} of {cells:,} in {groups:,} groups", math.sqrt(float(found.mean()))
        ratio = plan.over_bound or math.nan
        print(f"{title:32} {error:10.3f} {bound:10.3f} {ratio:8.4f} {apart:10.3f} {seconds:8.2f} s", flush=True)


def mixture(title: str, kind: str, sizes: tuple[int, ...], numeric: int, ways: tuple[int, ...]) -> None:
    """Prefixes or ranges along the first attributes, values along the others."""
    start = time.process_time()
    names = [f"a{i}" for i in range(len(sizes))]
    along = dict.fromkeys(names[:numeric], kind)
    queries = ProductQueries(dict(zip(names, sizes, strict=True)), ways=ways, along=along)
    error = queries.strategy().rmse(rho=UNIT)
    least = least_of_products(sizes, queries.tables, queries.squares, work=WORK)
    seconds = time.process_time() - start
    bound = math.sqrt(least / queries.weight) if least else math.nan
    title = f"{title}, {kind}, {'up to' if len(ways) > 1 else 'all'} {ways[-1]}-way"
    print(f"{title:32} {error:10.3f} {bound:10.3f} {error / bound:8.4f} {'':10} {seconds:8.2f} s", flush=True)


def tree(queries: OrderedQueries) -> float:
    """The error of the queries from a tree of noisy sums, at epsilon 1 and the best branching."""
    return min(_tree(queries, branches) for branches in range(2, MOST_BRANCHES + 1))


def _tree(queries: OrderedQueries, branches: int) -> float:
    layers = [np.eye(queries.cells)]
    while len(layers[-1]) > 1:
        starts = np.arange(0, len(layers[-1]), branches)
        layers.append(np.add.reduceat(layers[-1], starts, axis=0))
    nodes = np.concatenate(layers)
    mean = float(np.trace(np.linalg.solve(nodes.T @ nodes, queries.squares))) / queries.number
    return len(layers) * math.sqrt(2 * mean)


def joint() -> None:
    """A count and two sums of values from 0 to 1, at epsilon 1: one K-norm mechanism, and three of Laplace noise."""
    corners = tuple((1000, x, y) for x in (0, 1000) for y in (0, 1000))
    together = sum(part.variance for part in JointTotals(contributions=corners, epsilon=Fraction(1)).parts()) / 1000**2
    print(f"{'a count and two sums, variances':32} {together:10.3f} {'':10} {'':8} {3 * 2 * 3**2:10.3f}")


def pure(kind: str, cells: int) -> None:
    """The same with Laplace noise at epsilon 1, for which no bound is known that is attained."""
    start = time.process_time()
    queries: OrderedQueries = getattr(OrderedQueries, kind)(cells)
    error = laplace_strategy(queries).rmse(epsilon=1)
    seconds = time.process_time() - start
    apart = math.sqrt(2 * float(queries.squares.trace()) / queries.number)
    title = f"{kind} of {cells:,} cells, pure"
    print(f"{title:32} {error:10.3f} {tree(queries):9.3f}t {'':8} {apart:10.3f} {seconds:8.2f} s", flush=True)


def main() -> None:
    """One line for each workload."""
    print(f"{'':32} {'rmse':>10} {'bound':>10} {'ratio':>8} {'apart':>10} {'processor':>10}")
    for ways in (1, 2, 3, 4):
        line(f"Adult, all {ways}-way", ADULT, [ways])
    line("100 attributes of 10, up to 3-way", (10,) * 100, [0, 1, 2, 3])
    for cells in (128, 256, 512, 1024, 2048):
        for kind in ("ranges", "prefixes"):
            ordered(kind, cells)
    for groups, cells in ((500, 128), (100, 512)):
        grouped(groups, cells)
    domains = {"CPS": (CPS, 2), "Adult": (ADULT, 5), "Loans": (LOANS, 4)}
    for kind, title, numbers in itertools.product(("prefixes", "ranges"), domains, ((1,), (2,), (3,), (0, 1, 2, 3))):
        mixture(title, kind, *domains[title], numbers)
    print(f"{'':32} {'rmse':>10} {'tree':>10} {'':>8} {'apart':>10} {'processor':>10}")
    for cells in (128, 256):
        for kind in ("ranges", "prefixes"):
            pure(kind, cells)
    joint()
    print(f"{'':32} {'largest':>10} {'bound':>10} {'ratio':>8}")
    for ways in (1, 2, 3):
        worst(f"Adult, all {ways}-way", ways)
    print(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB at most")


if __name__ == "__main__":
    main()
