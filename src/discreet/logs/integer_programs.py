"""Integer programs that choose the rows of each item, for the three objectives of the multinomial release.

Hong, Vaidya, Lu and Wu (EDBT 2012) choose the rows x_i of each item such that every user's condition
sum_i x_i log(c_i / (c_i - c_ik)) <= min(epsilon, log 1/(1 - delta)) holds, and such that the output

- ``"size"`` has as many rows as possible: max sum x_i;
- ``"support"`` keeps the shares of frequent items: min sum over frequent i of |x_i / rows - c_i / sum c|, where sum x_i
  = rows;
- ``"diversity"`` has as many different items as possible: max sum y_i, x_i = y_i in {0, 1}.

HiGHS solves them in floats, which proves nothing. So each solution is checked by `multinomial_sampling.within`, and
solved again with tighter limits if it fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import ctx

from discreet.logs.multinomial_sampling import PRECISION, Integers, Reals, UserItemPairs, is_bounded, limit, terms
from discreet.noise.certified_comparison import float_above

if TYPE_CHECKING:
    from scipy.optimize import LinearConstraint

OBJECTIVES = ("size", "support", "diversity")
SLACKS = (1e-9, 1e-6, 1e-4, 1e-2)
"""Fractions of the limits that are left unused, tried in this order."""

SECONDS = 3.0
"""The time limit, after which the best solution so far is taken; it is valid, but maybe not optimal."""

GAP = 1e-3
OUT_OF_TIME = 1
"""SciPy's status for a solver that ran out of time."""


@dataclass(frozen=True, slots=True, eq=False)
class ProgramSolution:
    """The rows of each item, and how they were found."""

    rows: Integers
    status: str
    """"optimal" (to within a part of `GAP`), "feasible" (time ran out), "relaxed" (it ran out before there was any, and
    the linear program's solution was rounded down) or "none" (no program has a solution).
    """


def choose(
    log: UserItemPairs,
    objective: str,
    *,
    epsilon: Fraction,
    delta: Fraction,
    rows: int | None = None,
    support: float = 0.002,
) -> ProgramSolution:
    """Rows for each item of a log of shared items, for which the condition holds for all users.

    Args:
        log: pairs whose items have two users or more.
        objective: "size", "support" or "diversity".
        epsilon: the limit on the loss of every user.
        delta: the limit on the probability that a user is in the output.
        rows: the size of the output that keeps the support; half of the largest possible, if it is not stated (the
            largest leaves no choice).
        support: the share of all counts from which on an item is frequent.

    >>> log = UserItemPairs(np.array([0, 1, 2]), np.array([0, 0, 0]), np.array([1, 1, 1]))
    >>> choose(log, "size", epsilon=Fraction(1), delta=Fraction(1, 2)).rows  # log(3/2) = 0.41, log 2 = 0.69
    array([1])
    """
    for slack in SLACKS:
        program = _Program.of(log, epsilon, delta, slack)
        if objective == "size":
            result = program.largest()
        elif objective == "diversity":
            result = program.most_diverse()
        else:
            size = rows if rows is not None else int(program.largest().rows.sum()) // 2
            result = program.best_supported(size, support)
        if bool(is_bounded(log, result.rows, epsilon=epsilon, delta=delta).all()):
            return result
    return ProgramSolution(np.zeros(log.size, dtype=np.int64), "none")


@dataclass(frozen=True, slots=True, eq=False)
class _Program:
    """The constraints of all users, each divided by the limit, over the items that can have a row at all."""

    items: Integers
    """The numbers of those items."""
    most: Integers
    """How many rows each of them can have by itself."""
    totals: Integers
    size: int
    constraint: LinearConstraint | None

    @classmethod
    def of(cls, log: UserItemPairs, epsilon: Fraction, delta: Fraction, slack: float) -> _Program:
        from scipy.optimize import LinearConstraint
        from scipy.sparse import csr_array

        with ctx.workprec(PRECISION):
            room = float_above(limit(epsilon, delta)) * (1 - slack)
        each = terms(log)
        largest = np.zeros(log.size)
        np.maximum.at(largest, log.items, each)
        alone = np.floor(np.divide(room, largest, out=np.zeros(log.size), where=largest > 0))
        most = np.minimum(alone, 2.0**40).astype(np.int64)
        items = np.flatnonzero(most)
        kept = most[log.items] > 0
        constraint = None
        if items.size:
            users, columns = np.unique(log.users[kept], return_inverse=True)[1], np.searchsorted(items, log.items[kept])
            matrix = csr_array((each[kept] / room, (users, columns)), shape=(int(users.max()) + 1, items.size))
            constraint = LinearConstraint(matrix, -np.inf, 1.0)
        return cls(items, most[items], log.totals, log.size, constraint)

    def largest(self) -> ProgramSolution:
        return self._solved(-np.ones(self.items.size), self.most.astype(np.float64))

    def most_diverse(self) -> ProgramSolution:
        return self._solved(-np.ones(self.items.size), np.ones(self.items.size))

    def best_supported(self, rows: int, support: float) -> ProgramSolution:
        """Deviations e_i >= |x_i / rows - share_i| are further variables, for frequent items alone."""
        from scipy.optimize import LinearConstraint
        from scipy.sparse import csr_array, eye_array, hstack

        shares = self.totals[self.items] / max(int(self.totals.sum()), 1)
        frequent = np.flatnonzero(shares >= support)
        n, f = self.items.size, frequent.size
        if self.constraint is None or rows < 1:
            return self._nothing("none" if rows else "optimal")
        pick = csr_array((np.full(f, 1.0), (np.arange(f), frequent)), shape=(f, n))
        wide = [
            LinearConstraint(hstack([self.constraint.A, csr_array((self.constraint.A.shape[0], f))]), -np.inf, 1.0),
            # In rows rather than shares: the solver's tolerances are absolute.
            LinearConstraint(hstack([pick, -eye_array(f)]), -np.inf, shares[frequent] * rows),
            LinearConstraint(hstack([pick, eye_array(f)]), shares[frequent] * rows, np.inf),
            LinearConstraint(np.concatenate([np.ones(n), np.zeros(f)])[None, :], rows, rows),
        ]
        cost = np.concatenate([np.zeros(n), np.ones(f)])
        upper = np.concatenate([self.most.astype(np.float64), np.full(f, np.inf)])
        return self._solved(cost, upper, wide)

    def _solved(self, cost: Reals, upper: Reals, constraints: list[LinearConstraint] | None = None) -> ProgramSolution:
        from scipy.optimize import Bounds, milp

        if self.constraint is None:
            return self._nothing("optimal")
        whole = np.zeros(cost.size)
        whole[: self.items.size] = 1
        stated: dict[str, Any] = {
            "bounds": Bounds(0.0, upper),
            "constraints": [self.constraint] if constraints is None else constraints,
        }
        answer: Any = milp(cost, integrality=whole, options={"time_limit": SECONDS, "mip_rel_gap": GAP}, **stated)
        status = "optimal" if answer.status == 0 else "feasible"
        if answer.x is None and answer.status == OUT_OF_TIME:
            answer, status = milp(cost, **stated), "relaxed"
        if answer.x is None:
            return self._nothing("none")
        chosen = answer.x[: self.items.size]
        found = np.zeros(self.size, dtype=np.int64)
        found[self.items] = (np.floor(chosen) if status == "relaxed" else np.round(chosen)).astype(np.int64)
        return ProgramSolution(found, status)

    def _nothing(self, status: str) -> ProgramSolution:
        return ProgramSolution(np.zeros(self.size, dtype=np.int64), status)
