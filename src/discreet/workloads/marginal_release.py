"""Noisy marginals that agree with each other, from the records of an array.

Claim
    `release(records, strategy, rho=, contributions=)` is rho-zCDP where a unit has at most so many records, and
    neighbors add or remove one; under "replace-one" too. Its tables are unbiased, and equal wherever sums of their
    cells say the same. `MarginalTable.half_width` holds the error of a cell with at least the stated confidence.
Requires
    Records that the unit's limit was enforced on. The domain and the strategy are public.
Relies on
    `workloads.residual_tables`, `workloads.records`, `mechanisms.gaussian`.
Proof
    Codes outside of their range count as the nearest, so no record can raise, and each is one of the domain. A unit
    with m records changes a residual table by m times what one changes it at most (triangle inequality), a unit that is
    replaced by twice that. Each residual table has its Gaussian mechanism at its part of rho, and parts add up to no
    more than rho. The rest is post-processing. *Agreement.* Along an attribute of S outside of A the table is constant,
    and its sum over it d times as large, which is the factor between the numbers of cells; along one of A it is
    centered, and its sum 0. *Intervals.* The noise of a cell is a sum of normal noise of the stated variance, or less,
    and of what rounding to integers adds, at most a half in each cell of a residual table, and 2^|A| / 2 after
    centering.
Rounding
    Sensitivities up; tables are floats.
Source
    Bun and Steinke (2016); Xiao, He, Zhang and Kifer (2023).
Mutant
    records-of-one: a unit's number of records does not enter the noise; killed by
    test_noise_grows_with_the_records_of_a_unit.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import at_least_one, root_above
from discreet.mechanisms.gaussian import Gaussian
from discreet.noise.entropy import RandomWords, fresh_words
from discreet.privacy.definitions import Neighbors
from discreet.privacy.events import Event, composed
from discreet.sensitivity.workload_sensitivity import neighbors_of
from discreet.workloads.hierarchy_least_squares import reach
from discreet.workloads.records import LARGEST, clipped_codes
from discreet.workloads.residual_tables import centered, centered_variance, residual, spread, squared_sensitivity

if TYPE_CHECKING:
    from discreet.workloads.marginals import Marginals, MarginalStrategy

Reals = NDArray[np.float64]
Set = tuple[str, ...]

MOST_CELLS = 10**8


@dataclass(frozen=True, eq=False)
class MarginalTable:
    """One marginal: unbiased values, one axis for each attribute, and the standard deviation of each cell."""

    names: Set
    values: Reals
    deviation: float
    _rounding: float

    def half_width(self, confidence: object = 0.95) -> float:
        """What a cell is off by at most, with this confidence."""
        return reach(confidence, gaussian=True) * self.deviation + self._rounding


class NoisyMarginals(Mapping[Set, MarginalTable]):
    """The tables of one release, by their attributes in any order; `event` is what was drawn."""

    def __init__(self, tables: Mapping[Set, MarginalTable], event: Event) -> None:
        self._tables = {frozenset(names): table for names, table in tables.items()}
        self.event = event

    def __getitem__(self, names: Set | str) -> MarginalTable:
        own = (names,) if isinstance(names, str) else tuple(names)
        if frozenset(own) not in self._tables:
            cure = "the tables are those of .keys()."
            raise InvalidParameter(expected("a marginal that was released", "names", own, cure))
        return self._tables[frozenset(own)]

    def __iter__(self) -> Iterator[Set]:
        return (table.names for table in self._tables.values())

    def __len__(self) -> int:
        return len(self._tables)


def release(
    records: NDArray[np.integer],
    strategy: MarginalStrategy,
    *,
    rho: object,
    contributions: int = 1,
    neighbors: Neighbors | str = Neighbors.ADD_REMOVE,
    words: RandomWords | None = None,
) -> NoisyMarginals:
    """All marginals of a strategy, with Gaussian noise.

    Args:
        records: one row each, one column for each attribute in the order of `Marginals.sizes`: whole numbers from 0 to
            below its size. Others count as the nearest.
        strategy: of `Marginals.total()` or `Marginals.largest()`.
        rho: what all of them cost together, in zero-concentrated differential privacy.
        contributions: how many records one unit has at most; the caller has enforced that.
        neighbors: add-remove, or replace-one.
        words: random words for tests; without them, of the operating system's secure source.

    Raises:
        InvalidParameter: the array has another shape or no whole numbers, or tables are too large to add up exactly.

    >>> from discreet.workloads.marginals import Marginals
    >>> tables = Marginals({"sex": 2, "age": 3}, ways=[1, 2])
    >>> answer = release(np.array([[0, 1], [1, 2], [1, 2]]), tables.total(), rho=1)
    >>> answer["age", "sex"].values.shape, bool(np.allclose(answer["sex", "age"].values.sum(0), answer["age"].values))
    ((2, 3), True)
    """
    stated = strategy.marginals
    units = at_least_one("contributions", contributions) * (
        2 if neighbors_of(neighbors) is Neighbors.REPLACE_ONE else 1
    )
    codes = _codes(records, stated)
    source, events, noisy = words or fresh_words(), [], {}
    for subset, part in zip(stated.subsets, strategy.parts(rho), strict=True):
        sizes = [stated.sizes[name] for name in subset]
        mechanism = Gaussian(sensitivity=root_above(Fraction(units**2 * squared_sensitivity(sizes))), rho=part)
        exact = residual(_marginal(codes, stated, subset))
        noisy[subset] = centered(mechanism.add_noise(exact, source)), mechanism.variance * centered_variance(sizes)
        events.append(mechanism.event)
    return NoisyMarginals({one: _table(one, stated, noisy) for one in stated.sets}, composed(*events))


def _codes(records: object, stated: Marginals) -> NDArray[np.int64]:
    """The records as codes inside of their ranges; what is refused does not depend on what they are."""
    codes = clipped_codes(records, tuple(stated.sizes.values()))
    widest = max(math.prod(2 * stated.sizes[name] for name in one) for one in stated.subsets)
    if widest * max(len(codes), 1) >= LARGEST or max(stated.cells) > MOST_CELLS:
        cure = f"ask for marginals of at most {MOST_CELLS:,} cells, and of fewer attributes."
        raise InvalidParameter(expected("tables that are added up in 64 bits", "sets", "larger ones", cure))
    return codes


def _marginal(codes: NDArray[np.int64], stated: Marginals, subset: Set) -> NDArray[np.int64]:
    """The exact marginal of a subset."""
    if not subset:
        return np.array(len(codes), dtype=np.int64)
    places = {name: i for i, name in enumerate(stated.sizes)}
    sizes = tuple(stated.sizes[name] for name in subset)
    cells = np.ravel_multi_index(tuple(codes[:, places[name]] for name in subset), sizes)
    return np.bincount(cells, minlength=math.prod(sizes)).astype(np.int64).reshape(sizes)


def _table(one: Set, stated: Marginals, noisy: Mapping[Set, tuple[Reals, float]]) -> MarginalTable:
    shape = tuple(stated.sizes[name] for name in one)
    cells = math.prod(shape)
    values, variance, rounding = np.zeros(shape), 0.0, 0.0
    for subset in itertools.chain.from_iterable(itertools.combinations(one, k) for k in range(len(one) + 1)):
        table, own = noisy[subset]
        values = values + spread(table, [one.index(name) for name in subset], shape)
        variance += own
        rounding += 2.0 ** (len(subset) - 1)
    return MarginalTable(one, values / cells, math.sqrt(variance) / cells, rounding / cells)
