"""What to measure at each step of a series, so that sums of the last steps are nearly as good as they can be.

Claim
    The matrix A of a `StreamStrategy` has integers alone, nothing above its diagonal, and numbers above 0 on it: what
    is measured at a step is a sum over this step and those before it, and each step follows from what was measured up
    to it. `moved` is the squared L2 norm by which one unit moves all measurements together, `absolute` the L1 norm.
    `deviations` and `roundings` are exact for A as it is, but for floating point. No Gaussian mechanism on linear
    queries is below `bound`.
Requires
    Limits that were enforced, as `participation` says. A matrix that somebody else made is checked: integers below
    2**19, none above the diagonal, and none on it below 1.
Relies on
    `participation` for `moved`; `workloads.ordered_queries` for what is best for one step. Of the entries of A nothing
    is taken on trust.
Proof
    *One step.* G of `OrderedQueries.gram` is the best product of columns, or near it. With J the reversal of order and
    J G J = L L^T, C = (J L J)^T has nothing above its diagonal, and C^T C = J L L^T J = G. The rows of C are rounded to
    integers afterwards, and all that is stated is computed from those.
    *Several steps.* For weights Y of pairs of steps with <Y, G> <= B(G), the squared norm by which the worst unit moves
    all measurements, tr(S G^-1) B(G) is at least tr(S G^-1) <Y, G>, which is at least (tr (Y^1/2 S Y^1/2)^1/2)^2, with
    equality up to scale at G = Y^-1/2 (Y^1/2 S Y^1/2)^1/2 Y^-1/2. Such Y are the mean of 1_P 1_P^T over sets P in which
    a unit may be, since a unit that adds 1 in each of P moves |A 1_P|^2 = <1_P 1_P^T, G>; p times the identity, where
    each place is in a random P with probability p or more, since a unit of random signs moves tr G_P on average; and
    mixtures of both. All n shifts of k places around a circle have p = k/n, if their gap at the end is wide enough, and
    places of one remainder by `apart` have p = 1/`apart`. What is best for one of a few Y, or lies between that and
    each step for itself, is taken by its own error.
    *Trees.* Row t of `tree`, from 1 on, sums the last b^j steps, the largest such power that divides t: a node of the
    b-ary tree that ends at t. A step is in one node of each level at most. A total so far is the sum of the nodes that
    the digits of its length in base b say, and a window a difference of two, with coefficients of 1 and -1 alone.
    *Error.* With x = A^-1 (y - noise) the sum of a window is off by w A^-1 noise, of variance |w A^-1|^2.
Rounding
    Entries to 2**-16 of the longest column, before anything is computed from them. A^T A in doubles is exact: all
    partial sums are below 2**53.
Source
    Li, Hay, Miklau and others: the matrix mechanism (2010, 2013). Denisov, McMahan, Rush, Smith and Thakurta, "Improved
    differential privacy for SGD via optimal private linear operators on adaptive streams" (2022). Henzinger, Upadhyay
    and Upadhyay, "Almost tight error bounds on differentially private continual counting" (2023), for `square_root`.
    Chan, Shi and Song, "Private and continual release of statistics" (2011), Fenwick (1994), for `tree`.
Mutant
    upper-triangular: a matrix that looks ahead is taken; killed by test_what_could_not_be_measured_is_refused.
    trees-of-one-level: a step counts in one node of the tree; killed by test_trees_are_sums_of_their_nodes.
    bound-of-a-circle: places are taken from the whole circle where they do not fit; killed by
    test_no_strategy_is_below_the_bound.
    one-step-for-all: several steps cost no more than one; killed by test_noise_is_that_of_all_steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import at_least_one
from discreet.exact.cached_property import cached_property
from discreet.series.participation import Integers, Participation
from discreet.series.series_strategy import Reals, SeriesStrategy, square_root_column
from discreet.series.step_windows import StepWindows, Window

BITS = 16
LARGEST = 2**19
MATRIX = "a lower triangular matrix of a row for each step, of int64 below 2**19, with 1 or more on its diagonal"
MIXTURES = (0.0, 0.5, 0.9)
"""How much of the weight is on pairs of steps, where a unit counts in several."""
BLENDS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97)
"""How much of the product of columns is that of each step for itself."""
MOST_BRANCHES = 24
FEW = 600
"""Up to so many steps all of them are tried."""


@dataclass(frozen=True, eq=False)
class StreamStrategy(SeriesStrategy):
    """Integer sums to measure, one for each step, and the errors that follow from them.

    >>> best = StreamStrategy.best(StepWindows.of(64, (1, 7, "all")))
    >>> best.rmse(rho=0.5) < 1.01 * best.bound(rho=0.5)
    True
    """

    windows: StepWindows
    matrix: Integers
    """Lower triangular."""
    participation: Participation
    family: str
    _bound: float = 0.0
    """The mean of the squared errors at rho = 1/2, below which none is."""

    def __post_init__(self) -> None:
        own = self.matrix
        if (
            own.dtype != np.int64
            or own.shape != (self.windows.steps, self.windows.steps)
            or np.triu(own, 1).any()
            or not ((own < LARGEST).all() and (own > -LARGEST).all() and (np.diag(own) > 0).all())
        ):
            cure = "StreamStrategy.best(windows) makes one; scaled to 2**16, a matrix of reals can be rounded."
            raise InvalidParameter(expected(MATRIX, "matrix", f"{own.shape} of {own.dtype}", cure))

    @classmethod
    def best(cls, windows: StepWindows, participation: Participation = Participation()) -> StreamStrategy:  # noqa: B008 (a frozen value)
        """The least mean squared error over all windows and steps, or little above it."""
        queries = windows.queries()
        if participation.within(windows.steps) == 1:
            gram, bound = queries.gram()
            return cls(windows, _factor(gram), participation, "least error", bound / queries.number)
        found = _mixed(queries.squares, participation)
        bound = max(own for _, own in found) / queries.number
        blends = BLENDS if windows.steps <= FEW else BLENDS[1::2]
        made = (_factor(_blended(gram, part)) for gram, _ in found for part in blends)
        named = [(matrix, "least error") for matrix in made]
        named.append((np.eye(windows.steps, dtype=np.int64), "each step for itself"))
        named.append((_square_root(windows.steps), "square root"))
        tried = (cls(windows, matrix, participation, name, bound) for matrix, name in named)
        return min(tried, key=lambda one: one.mean_square)

    @classmethod
    def best_tree(cls, windows: StepWindows, participation: Participation = Participation()) -> StreamStrategy:  # noqa: B008 (a frozen value)
        """For Laplace noise: the tree with the best branching, or each step for itself."""
        most = min(windows.steps, MOST_BRANCHES)
        tried = [cls.days(windows, participation)]
        tried += [cls.tree(windows, participation, branches) for branches in range(2, most + 1)]
        return min(tried, key=lambda one: one.absolute * one.spread)

    @classmethod
    def tree(
        cls,
        windows: StepWindows,
        participation: Participation = Participation(),  # noqa: B008 (a frozen value)
        branches: int = 2,
    ) -> StreamStrategy:
        """Sums of the last steps, as many as a power of `branches` that divides the number of the step."""
        number = at_least_one("branches", branches)
        if number < 2:
            raise InvalidParameter(expected("2 branches or more", "branches", branches, "write branches=8."))
        matrix = np.zeros((windows.steps, windows.steps), dtype=np.int64)
        for step in range(1, windows.steps + 1):
            wide = 1
            while step % (wide * number) == 0:
                wide *= number
            matrix[step - 1, step - wide : step] = 1
        return cls(windows, matrix, participation, f"a tree with {number} branches")

    @classmethod
    def days(cls, windows: StepWindows, participation: Participation = Participation()) -> StreamStrategy:  # noqa: B008 (a frozen value)
        """Each step for itself, from which sums are added up: what others do."""
        return cls(windows, np.eye(windows.steps, dtype=np.int64), participation, "each step for itself")

    @classmethod
    def square_root(cls, windows: StepWindows, participation: Participation = Participation()) -> StreamStrategy:  # noqa: B008 (a frozen value)
        """The square root of the running total, whose error grows with the logarithm of the number of steps."""
        return cls(windows, _square_root(windows.steps), participation, "square root")

    @cached_property
    def gram(self) -> Integers:
        """A^T A, exactly."""
        dense = self.matrix.astype(np.float64)
        return np.asarray(np.rint(dense.T @ dense), dtype=np.int64)

    def row(self, step: int) -> Integers:
        """The coefficients of the steps up to this one."""
        own: Integers = self.matrix[step, : step + 1]
        return own

    def _moved(self) -> int:
        return self.participation.squared(self.gram)

    def _absolute(self) -> int:
        return self.participation.absolute(np.abs(self.matrix).sum(axis=0))

    @cached_property
    def _inverse(self) -> Reals:
        from scipy.linalg import solve_triangular

        found: Reals = solve_triangular(self.matrix.astype(np.float64), np.eye(len(self.matrix)), lower=True)
        return found

    def _errors(self) -> tuple[dict[Window, Reals], dict[Window, Reals]]:
        forms = {window: self.windows.sums(self._inverse, window) for window in self.windows.first}
        deviations = {window: np.sqrt((own**2).sum(axis=1)) for window, own in forms.items()}
        return deviations, {window: np.abs(own).sum(axis=1) for window, own in forms.items()}


def _scaled(rows: Reals) -> Integers:
    """A matrix with its longest column at 2**16, in integers; none on the diagonal is below 1."""
    longest = math.sqrt(float((rows**2).sum(axis=0).max()))
    found: Integers = np.rint(rows * (2**BITS / longest)).astype(np.int64)
    np.fill_diagonal(found, np.maximum(np.diag(found), 1))
    return found


def _factor(gram: Reals) -> Integers:
    """Nothing above the diagonal, and this product of its columns."""
    reversed_factor: Any = np.linalg.cholesky(gram[::-1, ::-1])
    return _scaled(np.tril(reversed_factor[::-1, ::-1].T))


def _square_root(steps: int) -> Integers:
    """1, 1/2, 3/8, 5/16, ... down each column."""
    number = at_least_one("steps", steps)
    column = square_root_column(number)
    lags = np.subtract.outer(np.arange(number), np.arange(number))
    return _scaled(np.where(lags >= 0, column[np.abs(lags)], 0.0))


def _mixed(squares: Reals, participation: Participation) -> list[tuple[Reals, float]]:
    """For some weights of pairs of steps the best product of columns, and the bound of the total that they prove."""
    number = len(squares)
    most = participation.within(number)
    apiece = min(most / number, 1 / participation.apart)
    together = _patterns(number, most, participation.apart)
    found = []
    for part in MIXTURES if number <= FEW else MIXTURES[:2]:
        values, vectors = np.linalg.eigh((1 - part) * apiece * np.eye(number) + part * together)
        roots = np.sqrt(np.maximum(values, 1e-12 * values.max()))
        root, back = (vectors * roots) @ vectors.T, (vectors / roots) @ vectors.T
        own, turned = np.linalg.eigh(root @ squares @ root)
        own = np.sqrt(np.maximum(own, 1e-12 * own.max()))
        gram = back @ (turned * own) @ turned.T @ back
        found.append(((gram + gram.T) / 2, float(own.sum()) ** 2))
    return found


def _blended(gram: Reals, part: float) -> Reals:
    """Between a product of columns and that of each step for itself, with columns of norm 1."""
    mixed = (1 - part) * gram / np.diag(gram).mean() + part * np.eye(len(gram))
    widths = np.sqrt(np.diag(mixed))
    found: Reals = mixed / np.outer(widths, widths)
    return found


def _patterns(number: int, most: int, apart: int) -> Reals:
    """The mean over all shifts of the pairs of places that are `apart`, 2 `apart`, ... from each other."""
    shifts = number - (most - 1) * apart
    rows = np.zeros((shifts, number))
    for place in range(most):
        rows[np.arange(shifts), np.arange(shifts) + place * apart] = 1.0
    return np.asarray(rows.T @ rows / shifts)
