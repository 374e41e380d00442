"""Many linear queries at once: what to measure, and with which noise, so that their errors are the least there can be.

Objects that work on arrays, without tables and budgets; each states its error beside the least there can be before
anything is released, and its `release` returns noisy values and the event that accounting charges for.

- `Marginals`: all marginals of a domain of any size: the exact optimum for the total, or for the largest variance.
- `ProductQueries`: the same with prefixes, ranges or other sums along some attributes.
- `OrderedQueries`: ranges, prefixes, windows or any explicit matrix of queries, with Gaussian noise.
- `laplace_strategy`: the same at a pure epsilon.
- `Hierarchy`, `LevelNoise`: sums on all levels of a tree; `CENSUS_2020`: the levels and shares of a census.
- `CellTable`, `ResidualStrategy`: tables over a product of keys, as the language measures them; `over_bound`: how far a
  strategy is above the least error there can be.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.workloads.cell_tables import CellTable as CellTable
    from discreet.workloads.hierarchy import Hierarchy as Hierarchy
    from discreet.workloads.hierarchy_release import CENSUS_2020 as CENSUS_2020
    from discreet.workloads.hierarchy_release import LevelNoise as LevelNoise
    from discreet.workloads.laplace_strategies import laplace_strategy as laplace_strategy
    from discreet.workloads.marginals import Marginals as Marginals
    from discreet.workloads.ordered import OrderedQueries as OrderedQueries
    from discreet.workloads.product_queries import ProductQueries as ProductQueries
    from discreet.workloads.residual_strategy import ResidualStrategy as ResidualStrategy
    from discreet.workloads.spectral_bound import over_bound as over_bound

_HOMES = {
    "CENSUS_2020": "discreet.workloads.hierarchy_release",
    "CellTable": "discreet.workloads.cell_tables",
    "Hierarchy": "discreet.workloads.hierarchy",
    "LevelNoise": "discreet.workloads.hierarchy_release",
    "Marginals": "discreet.workloads.marginals",
    "OrderedQueries": "discreet.workloads.ordered",
    "ProductQueries": "discreet.workloads.product_queries",
    "ResidualStrategy": "discreet.workloads.residual_strategy",
    "laplace_strategy": "discreet.workloads.laplace_strategies",
    "over_bound": "discreet.workloads.spectral_bound",
}
"""Where each name lives; loaded when it is first used (PEP 562)."""

__all__ = sorted(_HOMES)  # noqa: PLE0605 (a list all the same)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.workloads' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
