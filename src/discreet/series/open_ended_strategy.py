"""What to measure at each step of a series whose end nobody knows.

Claim
    All rows of the matrix of an `OpenEndedStrategy` are one column, shifted: step t is measured as the sum of
    column[t - s] times what step s holds. The column has whole numbers, none below 0, none above the one before it, and
    1 or more at its beginning. `moved` is at least the squared L2 norm by which one unit moves the measurements of all
    `MOST_OPEN` steps together, `absolute` at least the L1 norm. `deviations` and `roundings` are at most one part in
    `GRAIN` above those of the column as it is, and never below, but for floating point.
Requires
    Limits that were enforced, as `participation` says. A column that somebody else made is checked.
Relies on
    Nothing further.
Proof
    Let g(d) be the sum over u of column[u] column[u + d], over the whole column. Steps s < t share the sum of
    column[t - r] column[s - r] over what is measured of both, whose terms are among those of g(t - s). The column falls
    and is not below 0, so g falls. In S = {s_1 < s_2 < ...}, with k places of which any two are `apart` or more, the
    i-th and the j-th are |i - j| `apart` or more from each other; so for vectors v_s no longer than 1 the squared norm
    of A v, the sum over pairs of G_st <v_s, v_t>, is at most k g(0) + 2 times the sum of (k - d) g(d `apart`). In L1
    norm each step adds the sum of the column at most.
    *Error.* With b the coefficients of 1 / column(z) and c_j = b_0 + ... + b_j, the total up to t is off by the sum of
    c_j times the noise of t - j, and a sum that begins l steps before by that of c_j - c_(j - l). Where such a sum
    begins with the first step, no difference is left. Other windows with a calendar are as wide as l at several t: they
    have the error at the largest of them, which is no less.
    *Which column.* That of (1 - z)^(-1/2) / (1 + `SLOWER` log(1 / (1 - z))): the square root of the running total
    serves a horizon that is known; the logarithm takes so much from late rows that all rows together cost little more
    than a few. The mean square of the errors of n running totals is below 1.5 times that of a square root that was made
    for n steps, for every n from 28 on.
Rounding
    The column to 2**-18 of its norm, before anything is computed from it. Errors up to the next of `GRAIN` per factor
    e. Sums of squares of the column are below 2**56.
Source
    Jacobsen and Fawaz, "Private continual counting of unbounded streams" (2025); Henzinger, Upadhyay and Upadhyay,
    "Almost tight error bounds on differentially private continual counting" (2023), for the square root.
Mutant
    column-that-rises: a column is taken that does not fall; killed by test_columns_that_are_none_are_refused.
    steps-that-never-meet: what two steps of a unit share is left out; killed by
    test_no_unit_moves_the_measurements_further.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from discreet.errors import InvalidParameter, expected
from discreet.series.participation import Integers, Participation
from discreet.series.series_strategy import Reals, SeriesStrategy, square_root_column
from discreet.series.step_windows import StepWindows, Window

BITS = 18
LARGEST = 2**19
SLOWER = 0.12
GRAIN = 200
MOST_LENGTHS = 400
COLUMN = "a column of an int64 for each step, from 1 or more downward, none below 0"


@dataclass(frozen=True, eq=False)
class OpenEndedStrategy(SeriesStrategy):
    """Integer sums to measure, as many as anybody will ever want, and the errors that follow from them.

    >>> daily = OpenEndedStrategy.made(StepWindows.open_ended((1, "all")))
    >>> daily.row(2).tolist() == daily.column[2::-1].tolist()
    True
    """

    windows: StepWindows
    column: Integers
    participation: Participation = field(default_factory=Participation)
    family: str = "a square root for an open end"

    def __post_init__(self) -> None:
        own = self.column
        if (
            own.dtype != np.int64
            or own.shape != (self.windows.steps,)
            or not (0 < own[0] < LARGEST and own[-1] >= 0 and (np.diff(own) <= 0).all())
        ):
            cure = "OpenEndedStrategy.made(windows) makes one."
            raise InvalidParameter(expected(COLUMN, "column", f"{own.shape} of {own.dtype}", cure))

    @classmethod
    def made(cls, windows: StepWindows, participation: Participation = Participation()) -> OpenEndedStrategy:  # noqa: B008 (a frozen value)
        """The one whose error is nearly that of a square root for as many steps as there have been.

        Raises:
            InvalidParameter: windows of too many lengths.
        """
        for name, own in windows.first.items():
            if len(np.unique(_lengths(own)[own > 0])) > MOST_LENGTHS:
                cure = "leave it out, or take longer steps."
                what = f"windows with a calendar of at most {MOST_LENGTHS} steps where no end is known"
                raise InvalidParameter(expected(what, "windows", name, cure))
        real = _column(windows.steps)
        column = np.maximum(np.rint(real * (2**BITS / np.linalg.norm(real))), 0).astype(np.int64)
        return cls(windows, column, participation)

    def row(self, step: int) -> Integers:
        """The coefficients of the steps up to this one."""
        return self.column[step::-1]

    def _moved(self) -> int:
        steps, apart = self.participation.within(self.windows.steps), self.participation.apart
        gaps = range(1, steps)
        shared = [int(self.column[gap * apart :] @ self.column[: len(self.column) - gap * apart]) for gap in gaps]
        pairs = sum((steps - gap) * one for gap, one in zip(gaps, shared, strict=True))
        return steps * int(self.column @ self.column) + 2 * pairs

    def _absolute(self) -> int:
        return self.participation.within(self.windows.steps) * int(self.column.sum())

    def _errors(self) -> tuple[dict[Window, Reals], dict[Window, Reals]]:
        whole = np.cumsum(_reciprocal(self.column.astype(np.float64)))
        totals = np.cumsum(whole**2), np.cumsum(np.abs(whole))
        deviations, roundings = dict[Window, Reals](), dict[Window, Reals]()
        for name, first in self.windows.first.items():
            lengths = _lengths(first)
            full = np.flatnonzero(lengths)
            squares, sizes = (own[full] for own in totals)
            wide, begun = lengths[full], np.flatnonzero(first[full] > 0)
            for length in np.unique(wide[begun]):
                rest = whole.copy()
                rest[length:] -= whole[:-length]
                places = begun[wide[begun] == length]
                at = full[places] if isinstance(name, int) else np.array([-1])
                squares[places] = np.cumsum(rest**2)[at]
                sizes[places] = np.cumsum(np.abs(rest))[at]
            deviations[name], roundings[name] = _coarse(np.sqrt(squares)), _coarse(sizes)
        return deviations, roundings


def _lengths(first: Integers) -> Integers:
    """How many steps a window holds at each step; 0 where it is not full."""
    return np.where(first >= 0, np.arange(len(first)) - first + 1, 0)


def _coarse(values: Reals) -> Reals:
    """Up to the next of `GRAIN` values per factor e: few enough for a ledger, and each at least as large."""
    found: Reals = np.exp(np.ceil(GRAIN * np.log(values)) / GRAIN)
    return np.maximum(found, values)


def _column(steps: int) -> Reals:
    """The coefficients of (1 - z)^(-1/2) / (1 + SLOWER log(1 / (1 - z)))."""
    logarithm = np.concatenate([[1.0], SLOWER / np.arange(1, steps)])
    return np.minimum.accumulate(_product(square_root_column(steps), _reciprocal(logarithm), steps))


def _product(one: Reals, two: Reals, number: int) -> Reals:
    """The first coefficients of the product of two power series."""
    from scipy.fft import irfft, next_fast_len, rfft

    size = next_fast_len(len(one) + len(two))
    found: Reals = irfft(rfft(one, size) * rfft(two, size), size)[:number]
    return found


def _reciprocal(series: Reals) -> Reals:
    """The coefficients of 1 over a power series, twice as many in each round (Newton)."""
    found = np.array([1 / series[0]])
    while len(found) < len(series):
        number = min(2 * len(found), len(series))
        error = -_product(series[:number], found, number)
        error[0] += 2
        found = _product(found, error, number)
    return found
