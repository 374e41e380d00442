"""Plans as values: what is asked, in blocks that are paid for together, at which price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import ibis.expr.types as ir
import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidQuery
from discreet.language.checked_expressions import Value
from discreet.mechanisms.contribution_limit_selection import CountsUnderLimits
from discreet.mechanisms.joint_totals import JointPart, JointTotals
from discreet.mechanisms.threshold import Threshold
from discreet.planning import forms
from discreet.planning.aggregates import AT_LEAST, Aggregate
from discreet.planning.column_lattice import ColumnLattice
from discreet.planning.forms import Block
from discreet.planning.group_keys import Keys
from discreet.planning.noise_laws import Law, Noise, width_of
from discreet.planning.product_keys import ProductKeys
from discreet.planning.quantile_measurements import PricedRanks
from discreet.privacy.declaration import Declaration
from discreet.privacy.definitions import Guarantee, Neighbors
from discreet.privacy.events import Event
from discreet.sensitivity.contributions import Limits


@dataclass(frozen=True, kw_only=True, slots=True)
class StatedLimits:
    """The limits on one unit as far as they were given."""

    max_groups: int | None = None
    max_rows: int | None = None
    auto: frozenset[str] = frozenset()
    """Those that are to be chosen privately; 1 stands for them until they are."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Query:
    """A checked question, before its price."""

    declaration: Declaration
    relation: ir.Table
    groups: Mapping[str, ir.Value]
    keys: Keys | None
    limits: StatedLimits
    aggregates: tuple[Aggregate, ...]
    filtered: bool
    most_rows: int | None = None
    """How many rows a unit has at most in any table, as the verbs imply; it is not stated."""
    conditions: tuple[str, ...] = ()
    """Those of its filters, as they were written: for people, no part of the question's identity."""

    @property
    def by_row(self) -> bool:
        """Whether each row is a unit of its own."""
        return not self.declaration.unit

    @property
    def units_changed(self) -> int:
        """How many units are added or removed, one after another, on the way from a table to its neighbor: two where
        one is replaced, and as many for each row where rows are told apart and a unit has several.
        """
        return self.declaration.rows_changed * (1 if self.declaration.neighbors is Neighbors.ADD_REMOVE else 2)

    @property
    def cells(self) -> int:
        """How many groups the answer has."""
        return self.keys.size if self.keys else 1

    @property
    def listed_keys(self) -> Keys | None:
        """The keys that an engine is sent; of so many that none is, it says which groups it found."""
        return None if isinstance(self.keys, ProductKeys) else self.keys

    @property
    def public_size(self) -> int | None:
        """The number of rows, where it is public: replace-one neighbors, rows as units, no filter, no groups."""
        replaces = self.declaration.neighbors is Neighbors.REPLACE_ONE
        return self.declaration.size if replaces and self.by_row and not self.filtered and self.keys is None else None

    @property
    def effective(self) -> Limits:
        """The limits that bind: none for rows, never more groups than there are.

        Where a unit has several rows, or neighbors differ in several, these are as far apart as those of one group.
        """
        if self.by_row:
            return Limits(max_rows=self.declaration.rows_changed)
        groups = min(self.limits.max_groups or self.cells, self.cells)
        return Limits(max_groups=groups, max_rows=self.limits.max_rows or 1)


def check_limits(query: Query) -> None:
    """Refuses a question that lacks a limit it needs."""
    if query.by_row:
        return
    unit = ", ".join(query.declaration.unit)
    missing = []
    if query.cells > 1 and query.limits.max_groups is None:
        missing.append(
            (
                "max_groups",
                f"in how many of the {query.cells:,} groups one {unit} counts; max_groups={query.cells} keeps them all",
            )
        )
    counted = [a for a in query.aggregates if a.statistic.form is not forms.UNITS and a.statistic is not AT_LEAST]
    if query.limits.max_rows is None and counted:
        missing.append(("max_rows", f"with how many rows in {'each group' if query.keys else 'all'} one {unit} counts"))
    if missing:
        names = " and ".join(name for name, _ in missing)
        cures = "; ".join(f"{name}: {meaning}" for name, meaning in missing)
        where = ".group_by(..., ...) or dp.protect(...)" if query.keys else "dp.protect(...)"
        raise InvalidQuery(
            f"Expected {names}, got none.\nHint: give {names} to {where}. {cures}. They are enforced, not assumed. "
            '"auto" has them chosen privately, at a part of epsilon.'
        )


@dataclass(frozen=True, slots=True, eq=False)
class EstimateNoise:
    """The noise of totals that are estimates from several measurements: a fixed linear form of independent noises."""

    terms: NDArray[np.float64]
    """Each coefficient times the scale of its noise, in steps of the block."""
    step: float
    """Rounding to integers adds at most half of this times the sum of the terms."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PricedBlock:
    """A block with its lattice, its sensitivity and its noise.

    Totals are ordered: the parts that the lattice gives (SUM and PAIR: u; TRIPLE: u² and (1-u)²; PRODUCT: all products
    but the last, the last column's degree running fastest), the NULLs where they are counted, and the complement that
    makes a row's components sum to `steps` (COUNT, UNITS and DISTINCT have nothing else; SUM and SIGNED_PRODUCTS have
    none).
    """

    block: Block
    lattice: ColumnLattice
    others: tuple[ColumnLattice, ...] = ()
    """Those of the further columns of a product."""
    factors: tuple[int, ...] = ()
    """The steps of each column's polynomials in a product, which multiply to `steps`; of signed ones, of w."""
    steps: int
    sensitivity: Fraction
    """In the norm of the law of its noise, rounded up."""
    share: Fraction
    """Its part of the call's epsilon, or of mu**2 where the noise is Gaussian."""
    noise: Noise
    part: JointPart | None = None
    """Its part of one mechanism of all blocks instead, where there is one."""
    estimate: EstimateNoise | None = None
    """The noise of its totals instead, where they are estimates from several measurements."""

    @property
    def terms(self) -> NDArray[np.float64]:
        """The scales of the independent noises in one total, in rows."""
        if self.estimate is not None:
            return self.estimate.terms / self.steps
        return np.array([float(self.width / self.steps)])

    @property
    def width(self) -> Fraction:
        """The scale of the noise in one total, in steps."""
        return width_of(self.noise) if self.part is None else self.part.scale

    @property
    def scale(self) -> float:
        """The noise scale (sigma where it is Gaussian), in rows."""
        return float(np.hypot.reduce(self.terms))

    @property
    def step(self) -> float:
        """The distance between neighboring values of the noise, over its scale."""
        return float(1 / self.width) if self.estimate is None else self.estimate.step

    @property
    def spacing(self) -> float:
        """The same in rows."""
        return 1 / self.steps if self.estimate is None else self.estimate.step * self.scale

    @property
    def lattices(self) -> tuple[ColumnLattice, ...]:
        """Those of all its columns."""
        return (self.lattice, *self.others)

    @property
    def rounding(self) -> float:
        """How far the rounding of one row is off at most, in rows."""
        values = sum(0.0 if lattice.exact else 1 / lattice.steps for lattice in self.lattices)
        return self.block.form.rounding(values, self.steps, self.factors)


@dataclass(frozen=True, slots=True, eq=False)
class NoiseClasses:
    """Groups of an answer whose totals have different noise."""

    of: NDArray[np.intp]
    """The class of each group."""
    blocks: tuple[tuple[PricedBlock, ...], ...]
    """The blocks with the noise of each class."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PricedValues:
    """A number of values that nobody listed, with its mechanism; see `planning.unlisted_values`."""

    value: Value
    where: Value | None
    noise: CountsUnderLimits
    share: Fraction
    """Its part of the call's price."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Column:
    """How one column of the answer is computed: a linear form of the blocks' components, or a ratio of them."""

    aggregate: Aggregate
    blocks: tuple[int, ...]
    coefficients: tuple[tuple[float, ...], ...] = ()
    """For a linear column: what each component (in rows) counts, block by block."""
    offset: float = 0.0
    ranks: int | None = None
    """The block of ranks that it is computed from, if it depends on order."""
    place: int = 0
    """Its place among the wanted cuts of that block."""
    values: int | None = None
    """The number of values that it is, if it is one that nobody listed."""

    @property
    def linear(self) -> bool:
        """Whether its noise does not depend on the data."""
        return bool(self.coefficients)


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """A priced question: everything that the engine, the noise and the receipt need."""

    query: Query
    limits: Limits
    blocks: tuple[PricedBlock, ...]
    columns: tuple[Column, ...]
    charge: Guarantee
    event: Event | None = None
    """What is drawn, all blocks together; None for any release of this charge."""
    law: Law = Law.LAPLACE
    cost: float = 0.0
    """The sum of weight * (noise sd / public range)**2 / rows of a unit over the columns: plans are compared by it."""
    rounds: int = 1
    """How many answers there may be of which this is one, picked for what it says: each interval holds in all."""
    runners_up: tuple[Plan, ...] = ()
    """What else was priced, the best first."""
    ranks: tuple[PricedRanks, ...] = ()
    """Blocks of quantiles and ends, which have mechanisms of their own."""
    values: tuple[PricedValues, ...] = ()
    """Numbers of values that nobody listed."""
    shown: Threshold | None = None
    """What found the keys by the count itself, where one look did both."""
    classes: NoiseClasses | None = None
    """The noise of groups that differ in it; `blocks` has that of the worst of them."""
    joint: JointTotals | None = None
    """The one mechanism of all blocks, where there is one, which is drawn in place of theirs."""
    reconciled: bool = False
    """Whether its totals are estimates from several measurements, which agree with other tables and are not whole."""

    @property
    def limits_rows(self) -> bool:
        """Whether `max_rows` limits anything."""
        return bool(self.ranks) or any(block.block.form is not forms.UNITS for block in self.blocks)

    @property
    def weighs_groups(self) -> bool:
        """Whether a unit may be in more groups than it may count in."""
        return not self.query.by_row and self.limits.max_groups < self.query.cells
