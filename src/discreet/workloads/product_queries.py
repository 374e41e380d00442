"""Tables over sets of attributes, asked for prefixes, ranges or other sums along some: from records, in any domain.

Claim
    `ProductStrategy.release(records, rho=, contributions=)` is rho-zCDP where a unit has at most so many records, and
    neighbors add or remove one; under "replace-one" too. Its tables are unbiased and agree with each other, and
    `NoisyProducts.half_width` holds the error of a weighted sum of cells with at least the stated confidence.
Requires
    Records that the unit's limit was enforced on. The domain and the queries are public.
Relies on
    `workloads.split_products`, `mechanisms.gaussian`.
Proof
    Codes outside of their range count as the nearest, so that each record adds 1 to one cell. A unit with m records
    moves a product by m times what one cell moves it at most, a unit that is replaced by twice that. Each product has
    its Gaussian mechanism at its share of rho, and shares add up to 1 at most. The rest is post-processing.
    *Intervals.* A sum is a linear form of independent normal noises, and of what rounding to integers adds, at most a
    half times the sum of its absolute coefficients.
Rounding
    Sensitivities up; tables are floats.
Source
    Bun and Steinke (2016); Xiao, He, Zhang and Kifer (2023).
Mutant
    products-of-one-record: a unit's number of records does not enter the noise; killed by
    test_noise_of_products_grows_with_the_records_of_a_unit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import InvalidParameter, expected, nearest_name
from discreet.exact.amounts import at_least_one, positive, root_above
from discreet.exact.cached_property import cached_property
from discreet.mechanisms.gaussian import Gaussian
from discreet.noise.entropy import RandomWords, fresh_words
from discreet.privacy.definitions import Neighbors
from discreet.privacy.events import Event, composed
from discreet.sensitivity.workload_sensitivity import neighbors_of
from discreet.workloads.axis_splits import MOST_VALUES
from discreet.workloads.cell_tables import CellTable, Reals
from discreet.workloads.hierarchy_least_squares import reach
from discreet.workloads.marginals import Marginals, Set
from discreet.workloads.ordered_queries import OrderedQueries
from discreet.workloads.product_bound import least_of_products
from discreet.workloads.records import clipped_codes
from discreet.workloads.sparse_cells import SparseCells
from discreet.workloads.split_products import SplitProducts

KINDS = ("prefixes", "ranges")


class ProductQueries:
    """Tables over sets of attributes, some of which are asked for sums of their values.

    Args:
        sizes: how many values each attribute has, by name; 2 or more.
        sets: the tables, each a tuple of names; or instead
        ways: all sets of so many attributes, or of each number in a list.
        along: for some attributes what is asked along them: "prefixes", "ranges" (all sums of neighboring values), or a
            matrix with one row for each query; of others, their values.
        weights: how much the squared error of a query matters, by set; 1 for those that are left out.

    Raises:
        InvalidParameter: as of `Marginals`, or an attribute or a kind that there is not.

    >>> tables = ProductQueries({"age": 50, "sex": 2}, ways=[1, 2], along={"age": "prefixes"})
    >>> best = tables.strategy()
    >>> best.rmse(rho=0.5) / best.bound(rho=0.5) < 1.01
    True
    """

    def __init__(
        self,
        sizes: Mapping[str, int],
        sets: Iterable[Sequence[str]] | None = None,
        *,
        ways: int | Sequence[int] | None = None,
        along: Mapping[str, str | ArrayLike] | None = None,
        weights: Mapping[Set, object] | None = None,
    ) -> None:
        self._stated = Marginals(sizes, sets, ways=ways, weights=weights)
        self.sizes, self.sets = self._stated.sizes, self._stated.sets
        asked = {name: _queries(name, kind, self.sizes) for name, kind in (along or {}).items()}
        names = list(self.sizes)
        self.tables = [
            CellTable(tuple(map(names.index, one)), (None,) * len(one), float(weight))
            for one, weight in zip(self.sets, self._stated.weights, strict=True)
        ]
        self.squares = [tuple(asked[name].squares if name in asked else None for name in one) for one in self.sets]
        each = {name: asked[name].number if name in asked else size for name, size in self.sizes.items()}
        numbers = [math.prod(each[name] for name in one) for one in self.sets]
        self.weight = sum(t.weight * number for t, number in zip(self.tables, numbers, strict=True))

    def strategy(self) -> ProductStrategy:
        """What to measure for a small mean squared error."""
        return ProductStrategy(self, SplitProducts(tuple(self.sizes.values()), self.tables, self.squares))


@dataclass(frozen=True, eq=False)
class ProductStrategy:
    """The products to measure, and the errors that follow from them."""

    queries: ProductQueries
    measured: SplitProducts

    def rmse(self, *, rho: object) -> float:
        """The root of the weighted mean of all queries' squared errors, for units of one record."""
        mean = self.measured.error / self.queries.weight
        return math.sqrt(mean / (2 * float(positive("rho", rho))))

    def bound(self, *, rho: object) -> float | None:
        """What no Gaussian mechanism on linear queries can be below; None where it takes too long to find."""
        if self._least is None:
            return None
        return math.sqrt(self._least / self.queries.weight / (2 * float(positive("rho", rho))))

    @cached_property
    def _least(self) -> float | None:
        stated = self.queries
        return least_of_products(tuple(stated.sizes.values()), stated.tables, stated.squares)

    def release(
        self,
        records: NDArray[np.integer],
        *,
        rho: object,
        contributions: int = 1,
        neighbors: Neighbors | str = Neighbors.ADD_REMOVE,
        words: RandomWords | None = None,
    ) -> NoisyProducts:
        """All tables with Gaussian noise.

        Args:
            records: one row each, one column for each attribute: whole numbers from 0 to below its size. Others count
                as the nearest.
            rho: what all of them cost together, in zero-concentrated differential privacy.
            contributions: how many records one unit has at most; the caller has enforced that.
            neighbors: add-remove, or replace-one.
            words: random words for tests; without them, of the operating system's secure source.

        >>> best = ProductQueries({"age": 9, "sex": 2}, ways=2, along={"age": "ranges"}).strategy()
        >>> answer = best.release(np.array([[3, 1], [4, 0], [8, 0]]), rho=1)
        >>> answer["sex", "age"].shape, answer.half_width(("age", "sex"), np.ones((9, 2))) > 0
        ((9, 2), True)
        """
        codes = clipped_codes(records, tuple(self.queries.sizes.values()))
        sizes = tuple(self.queries.sizes.values())
        twice = neighbors_of(neighbors) is Neighbors.REPLACE_ONE
        units, price = at_least_one("contributions", contributions) * (2 if twice else 1), positive("rho", rho)
        cells = SparseCells(sizes, tuple(codes.T), np.ones((len(codes), 1), dtype=np.int64))
        source, noisy, noises = words or fresh_words(), [], []
        for exact, part in zip(self.measured.measure(cells), self.measured.parts, strict=True):
            bound = root_above(Fraction(units**2 * part.squared(1)))
            noises.append(Gaussian(sensitivity=bound, rho=price * part.share))
            noisy.append(noises[-1].add_noise(exact, source).astype(np.float64))
        tables = self.measured.tables(noisy)
        shapes = [tuple(self.queries.sizes[name] for name in one) for one in self.queries.sets]
        values = [table.reshape(shape) for table, shape in zip(tables, shapes, strict=True)]
        scales = [float(noise.scale) for noise in noises]
        return NoisyProducts(self, values, scales, composed(*(noise.event for noise in noises)))


@dataclass(frozen=True, eq=False)
class NoisyProducts(Mapping[Set, Reals]):
    """The cells of all tables of one release, by their attributes in any order, each table an array in the order of
    the attributes of the domain; `event` is what was drawn.
    """

    _strategy: ProductStrategy
    _values: Sequence[Reals]
    _scales: Sequence[float]
    event: Event

    def _place(self, names: Set | str) -> int:
        own = frozenset((names,) if isinstance(names, str) else names)
        found = next((i for i, one in enumerate(self._strategy.queries.sets) if frozenset(one) == own), None)
        if found is None:
            cure = "the tables are those of .keys()."
            raise InvalidParameter(expected("a table that was released", "names", tuple(own), cure))
        return found

    def __getitem__(self, names: Set | str) -> Reals:
        return self._values[self._place(names)]

    def __iter__(self) -> Iterator[Set]:
        return iter(self._strategy.queries.sets)

    def __len__(self) -> int:
        return len(self._values)

    def half_width(self, names: Set | str, weights: ArrayLike, *, confidence: object = 0.95) -> float:
        """What the sum of a table's cells, each times its weight, is off by at most, with this confidence."""
        place, width = self._place(names), reach(confidence, gaussian=True)
        chosen = np.asarray(weights, dtype=np.float64)
        if chosen.shape != self._values[place].shape or not np.isfinite(chosen).all():
            what = f"finite numbers of the shape {self._values[place].shape}"
            raise InvalidParameter(expected(what, "weights", chosen.shape, "give one for each cell of the table."))
        form = self._strategy.measured.form(place, chosen.reshape(-1))
        terms = [scale * float(np.linalg.norm(part)) for scale, part in zip(self._scales, form, strict=True)]
        rounding = sum(float(np.abs(part).sum()) for part in form) / 2
        return width * math.hypot(*terms) + rounding


def _queries(name: str, kind: object, sizes: Mapping[str, int]) -> OrderedQueries:
    """What is asked along an attribute."""
    if name not in sizes:
        raise InvalidParameter(expected("attributes of the tables", "along", name, nearest_name(name, sizes)))
    if sizes[name] > MOST_VALUES:
        cure = "make its values wider."
        raise InvalidParameter(expected(f"at most {MOST_VALUES:,} values along {name}", "sizes", sizes[name], cure))
    if isinstance(kind, str):
        if kind not in KINDS:
            cure = 'write "prefixes", "ranges" or a matrix.'
            raise InvalidParameter(expected("what is asked along an attribute", f"along[{name!r}]", kind, cure))
        return OrderedQueries.prefixes(sizes[name]) if kind == KINDS[0] else OrderedQueries.ranges(sizes[name])
    found = OrderedQueries.of(kind)  # type: ignore[arg-type] # what is no matrix is refused there
    if found.cells != sizes[name]:
        what = f"a matrix of {sizes[name]} columns"
        raise InvalidParameter(expected(what, f"along[{name!r}]", found.cells, "give one for each value."))
    return found
