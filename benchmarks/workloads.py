"""The error of many queries at once beside the bound, and what planning takes: ``python benchmarks/workloads.py``.

At the rho of noise of variance 1 on a count (1/2): the root of the mean squared error of what is measured, in integers,
the bound that no Gaussian mechanism is below, and what it would be without a strategy: each marginal measured for
itself, each cell of an ordered attribute measured and added up. Then the largest variance of a cell.
"""

from __future__ import annotations

import math
import resource
import time
from fractions import Fraction

from discreet.workloads.laplace_strategies import laplace_strategy
from discreet.workloads.marginals import Marginals
from discreet.workloads.ordered import OrderedQueries

ADULT = (100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2)
UNIT = Fraction(1, 2)


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


def pure(kind: str, cells: int) -> None:
    """The same with Laplace noise at epsilon 1, for which no bound is known that is attained."""
    start = time.process_time()
    queries: OrderedQueries = getattr(OrderedQueries, kind)(cells)
    error = laplace_strategy(queries).rmse(epsilon=1)
    seconds = time.process_time() - start
    apart = math.sqrt(2 * float(queries.squares.trace()) / queries.number)
    title = f"{kind} of {cells:,} cells, pure"
    print(f"{title:32} {error:10.3f} {'':10} {'':8} {apart:10.3f} {seconds:8.2f} s", flush=True)


def main() -> None:
    """One line for each workload."""
    print(f"{'':32} {'rmse':>10} {'bound':>10} {'ratio':>8} {'apart':>10} {'processor':>10}")
    for ways in (1, 2, 3, 4):
        line(f"Adult, all {ways}-way", ADULT, [ways])
    line("100 attributes of 10, up to 3-way", (10,) * 100, [0, 1, 2, 3])
    for cells in (128, 256, 512, 1024, 2048):
        for kind in ("ranges", "prefixes"):
            ordered(kind, cells)
    for cells in (128, 256):
        for kind in ("ranges", "prefixes"):
            pure(kind, cells)
    print(f"{'':32} {'largest':>10} {'bound':>10} {'ratio':>8}")
    for ways in (1, 2, 3):
        worst(f"Adult, all {ways}-way", ways)
    print(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB at most")


if __name__ == "__main__":
    main()
