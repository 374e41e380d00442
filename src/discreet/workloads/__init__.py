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

from typing import TYPE_CHECKING

from discreet.public_names import loading

if TYPE_CHECKING:
    from discreet.workloads.cell_tables import CellTable as CellTable
    from discreet.workloads.hierarchy import Hierarchy as Hierarchy
    from discreet.workloads.hierarchy_release import CENSUS_2020 as CENSUS_2020
    from discreet.workloads.hierarchy_release import LevelNoise as LevelNoise
    from discreet.workloads.laplace_strategies import laplace_strategy as laplace_strategy
    from discreet.workloads.marginals import Marginals as Marginals
    from discreet.workloads.ordered_queries import OrderedQueries as OrderedQueries
    from discreet.workloads.product_queries import ProductQueries as ProductQueries
    from discreet.workloads.residual_strategy import ResidualStrategy as ResidualStrategy
    from discreet.workloads.spectral_bound import over_bound as over_bound

_NAMES = {
    "discreet.workloads.cell_tables": ("CellTable",),
    "discreet.workloads.hierarchy": ("Hierarchy",),
    "discreet.workloads.hierarchy_release": ("CENSUS_2020", "LevelNoise"),
    "discreet.workloads.laplace_strategies": ("laplace_strategy",),
    "discreet.workloads.marginals": ("Marginals",),
    "discreet.workloads.ordered_queries": ("OrderedQueries",),
    "discreet.workloads.product_queries": ("ProductQueries",),
    "discreet.workloads.residual_strategy": ("ResidualStrategy",),
    "discreet.workloads.spectral_bound": ("over_bound",),
}
"""The names of each module; loaded when they are first used."""

__getattr__, __dir__, __all__ = loading(__name__, _NAMES)
