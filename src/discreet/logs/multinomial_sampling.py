"""Multinomial sampling of a log: every item gets a stated number of rows, whose users are drawn by their counts.

Claim
    Let x_i rows of each item i be drawn from a log with counts c_ik, the user of each row independently with
    probability c_ik / c_i, c_i = sum_k c_ik. Where `is_bounded` says yes for user k, then, *for these fixed x*, k is in
    the output with probability at most delta, and every output without k is at most e^epsilon times as likely to come
    from the log without k as from the log with k, and no more likely to come from the log with k than from the other.
    `sample_rows` has that law exactly. Nothing is claimed where x was computed from the log, as in `integer_programs`:
    two neighbors then have different x, and x alone can distinguish them.
Requires
    Items of two users or more (`of_several_users`); counts of 1 or more, one for each pair of user and item. ``words``:
    independent uniform 64-bit words (`noise.entropy` owes it).
Relies on
    `uniform.below_each`: exact integers. Arb's enclosures; NumPy's log and log1p to within 2**-48 of themselves.
Proof
    k is missing from all rows with probability prod_i (1 - c_ik/c_i)^x_i = e^-l, l = sum_i x_i log(c_i/(c_i - c_ik)),
    so it appears with probability 1 - e^-l, which is at most delta exactly if l <= log 1/(1 - delta). An output o
    without k has under the log without k the probability M(o) prod (c_ij/(c_i - c_ik)), under the log with k the same
    with c_i in place of c_i - c_ik: the ratio is e^l, between 1 and e^epsilon if l <= epsilon. A row's user is the one
    in whose stretch of 0..c_i - 1, c_ik long, a uniform integer falls.
    *How few rows.* sum_k log(c_i/(c_i - c_ik)) >= sum_k c_ik/c_i = 1, so the l of all K users add up to at least
    sum x_i: sum_i x_i <= K log 1/(1 - delta) wherever the condition holds for all.
Rounding
    l up, both limits down; where floats do not tell, enclosures do.
Source
    Hong, Vaidya, Lu, Wu, Differentially Private Search Log Sanitization with Optimal Output Utility (EDBT 2012).
Mutant
    epsilon-alone: the limit log 1/(1 - delta) is left out; killed by test_the_smaller_limit_binds.
    one-too-many: the end of a user's stretch is counted to it; killed by test_rows_have_the_law.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from discreet.exact.bisection import float_down
from discreet.noise.certified_comparison import float_above, real
from discreet.noise.entropy import RandomWords
from discreet.noise.uniform import below_each

Integers = NDArray[np.int64]
Reals = NDArray[np.float64]

PRECISION = 256
MARGIN = 2.0**-44
"""The relative error of one term."""


@dataclass(frozen=True, slots=True, eq=False)
class UserItemPairs:
    """A log by pairs of user and item, each pair once: numbers from 0 for users and items, and a count of 1 or more."""

    users: Integers
    items: Integers
    counts: Integers

    @property
    def size(self) -> int:
        """The number of items, including those without a pair."""
        return int(self.items.max()) + 1 if self.items.size else 0

    @property
    def totals(self) -> Integers:
        """c_i: the sum of each item's counts."""
        result = np.zeros(self.size, dtype=np.int64)
        np.add.at(result, self.items, self.counts)
        return result

    @property
    def people(self) -> int:
        """The number of users with a pair."""
        return int(np.unique(self.users).size)


def of_several_users(log: UserItemPairs) -> UserItemPairs:
    """The pairs whose item has two users or more: a row of any other item would reveal its user.

    >>> log = UserItemPairs(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([5, 1, 2]))
    >>> of_several_users(log).items
    array([1, 1])
    """
    kept = np.bincount(log.items, minlength=log.size)[log.items] > 1
    return UserItemPairs(log.users[kept], log.items[kept], log.counts[kept])


def terms(log: UserItemPairs) -> Reals:
    """log(c_i / (c_i - c_ik)) for each pair, to within `MARGIN` of itself.

    >>> terms(UserItemPairs(np.array([0, 1]), np.array([0, 0]), np.array([1, 3]))).round(4)
    array([0.2877, 1.3863])
    """
    whole, own = log.totals[log.items].astype(np.float64), log.counts.astype(np.float64)
    # Each form where it loses no digits.
    return np.where(2 * own <= whole, -np.log1p(-own / whole), np.log(whole / np.maximum(whole - own, 1.0)))


def losses(log: UserItemPairs, rows: Integers) -> Reals:
    """l of each user, by number: the least epsilon for which the condition holds, rounded up.

    >>> log = UserItemPairs(np.array([0, 1]), np.array([0, 0]), np.array([1, 3]))
    >>> losses(log, np.array([2])).round(4)
    array([0.5754, 2.7726])
    """
    people = int(log.users.max()) + 1 if log.users.size else 0
    found = np.bincount(log.users, weights=terms(log) * rows[log.items], minlength=people)
    # Sums of at most 2**30 positive terms.
    return np.asarray(found * (1 + MARGIN + (log.users.size + 2) * 2.0**-52))


def limit(epsilon: Fraction | None, delta: Fraction | None) -> arb:
    """min(epsilon, log 1/(1 - delta)), rounded down; the one of them that is stated."""
    if epsilon is None:
        return (-((1 - real(delta or Fraction(0))).log())).lower()
    if delta is None:
        return real(epsilon).lower()
    ends = limit(epsilon, None), limit(None, delta)
    return ends[0] if bool(ends[0] < ends[1]) else ends[1]


def is_bounded(
    log: UserItemPairs, rows: Integers, *, epsilon: Fraction | None, delta: Fraction | None
) -> NDArray[np.bool_]:
    """Whether the condition holds, for each user by number; False where it cannot be decided.

    >>> log = UserItemPairs(np.array([0, 1]), np.array([0, 0]), np.array([1, 3]))
    >>> is_bounded(log, np.array([1]), epsilon=Fraction(1), delta=Fraction(9, 10))
    array([ True, False])
    """
    above = losses(log, rows)
    with ctx.workprec(PRECISION):
        most = limit(epsilon, delta)
        certain = float_down(_dyadic(most))
        holds = np.asarray(above <= certain)
        # A float that is above by more than its own error says no.
        open_cases = np.flatnonzero(~holds & (above * (1 - 2.0**-20) <= certain))
        for user in open_cases.tolist():
            holds[user] = bool(_exact_loss(log, rows, user).upper() <= most)
    return holds


def _dyadic(end: arb) -> Fraction:
    mantissa, exponent = (int(part) for part in end.man_exp())
    return Fraction(mantissa) * Fraction(2) ** exponent


def _exact_loss(log: UserItemPairs, rows: Integers, user: int) -> arb:
    """l of one user, at the working precision."""
    totals, own = log.totals, np.flatnonzero(log.users == user)
    result = arb(0)
    for place in own.tolist():
        item, count = int(log.items[place]), int(log.counts[place])
        whole = int(totals[item])
        result += int(rows[item]) * (arb(whole) / (whole - count)).log()
    return result


def largest_loss(log: UserItemPairs, rows: Integers) -> float:
    """The largest l of all users, rounded up: the epsilon that these rows need, and 1 - e^-l the delta.

    >>> log = UserItemPairs(np.array([0, 1]), np.array([0, 0]), np.array([1, 3]))
    >>> round(largest_loss(log, np.array([2])), 4)
    2.7726
    """
    return float(losses(log, rows).max(initial=0.0))


def most_multinomial_rows(people: int, delta: Fraction) -> float:
    """An upper bound on the number of rows for so many users, whatever the log: K log 1/(1 - delta), rounded up.

    >>> (
    ...     round(most_multinomial_rows(37_711, Fraction(1, 10**6)), 4),
    ...     round(most_multinomial_rows(37_711, Fraction(1, 2))),
    ... )
    (0.0377, 26139)
    """
    with ctx.workprec(PRECISION):
        return float_above(-((1 - real(delta)).log()) * people) if people else 0.0


def sample_rows(log: UserItemPairs, rows: Integers, words: RandomWords) -> Integers:
    """Samples how many of each item's rows each pair gets: shape (pairs,).

    >>> from discreet.noise.entropy import fresh_words
    >>> log = UserItemPairs(np.array([0, 1]), np.array([0, 0]), np.array([1, 3]))
    >>> int(sample_rows(log, np.array([5]), fresh_words()).sum())
    5
    """
    order = np.argsort(log.items, kind="stable")
    ends = np.cumsum(log.counts[order])
    totals = log.totals
    starts = np.concatenate([[0], np.cumsum(totals)[:-1]]) if totals.size else totals
    wanted = np.where(totals > 0, rows, 0)
    places = below_each(np.repeat(totals, wanted), words) + np.repeat(starts, wanted)
    chosen = np.searchsorted(ends, places, side="right")
    result = np.zeros(log.users.size, dtype=np.int64)
    result[order] = np.bincount(chosen, minlength=log.users.size)
    return result
