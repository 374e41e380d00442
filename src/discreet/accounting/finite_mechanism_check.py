"""Decides whether a finite mechanism, a table of probabilities, is differentially private, with a witness.

Claim
    `check(table, ...)` decides pure, approximate and both forms of probabilistic differential privacy of the mechanism
    whose row i holds the probabilities of its outputs on input i, over all ordered pairs of neighboring rows; each
    refusal comes with a pair and an event that show it.
Requires
    Nothing: the table is checked.
Relies on
    Arb's enclosures of e^epsilon; exact arithmetic of fractions.
Proof
    *Pure*: Pr[S] <= e^epsilon Pr'[S] for all events S if and only if for each output, if and only if the loss is at
    most epsilon wherever Pr > 0: sum over the outputs of S. *Approximate*: Pr[S] - e^epsilon Pr'[S] is largest for S
    = the outputs with loss above epsilon. *Probabilistic*: the probability of that event under Pr is at most delta.
    *Probabilistic, with the clause on zeros*: outputs that one of the two never gives have probability at most delta
    under both, and all others a loss of at most epsilon both ways. The comparisons are a > e^epsilon b with fractions
    a, b: for rational epsilon other than 0, e^epsilon is irrational (Lindemann), so equality needs a = b = 0, and some
    precision decides; ``ratio=`` states e^epsilon itself as a fraction.
Rounding
    None.
Source
    Dwork and Roth (2014), Definition 2.4; Kasiviswanathan and Smith (2014): probabilistic implies approximate; Hong,
    Vaidya, Lu and Wu (2012), Definition 2: the clause on zeros.
Mutant
    one-order: each pair is looked at in one order only; killed by test_both_orders_count.
    zero-ratio-is-fine: an output that the neighbor never gives is skipped; killed by test_deterministic_is_refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, permutations
from numbers import Integral
from typing import ClassVar

from discreet.accounting.conversions import Amount
from discreet.accounting.event_losses import probabilities
from discreet.errors import InvalidParameter, NoTruth, expected
from discreet.exact.amounts import decimal_text, fraction
from discreet.exact.given_values import values
from discreet.noise.certified_comparison import decided, real

Row = Sequence[Fraction]


@dataclass(frozen=True, kw_only=True, slots=True)
class Witness:
    """Two neighboring inputs and an event that tells them apart."""

    inputs: tuple[int, int]
    """Row numbers: the event is more likely on the first."""
    event: tuple[int, ...]
    """Column numbers."""
    probabilities: tuple[Fraction, Fraction]
    """Of the event, on the first and on the second input."""

    def __str__(self) -> str:
        first, second = (decimal_text(value) for value in self.probabilities)
        outputs = ", ".join(map(str, self.event))
        return (
            f"outputs {{{outputs}}}: probability {first} on input {self.inputs[0]}, {second} on input {self.inputs[1]}"
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict(NoTruth):
    """Which definitions a table satisfies: None where it does, a witness where it does not."""

    _ask: ClassVar[str] = "ask for one definition, as .approximate: assert dp.check(...).pure."

    against_pure: Witness | None
    against_approximate: Witness | None
    against_probabilistic: Witness | None
    against_probabilistic_zeros: Witness | None

    @property
    def pure(self) -> bool:
        """epsilon-differentially private."""
        return self.against_pure is None

    @property
    def approximate(self) -> bool:
        """(epsilon, delta)-differentially private."""
        return self.against_approximate is None

    @property
    def probabilistic(self) -> bool:
        """The loss is above epsilon with probability at most delta."""
        return self.against_probabilistic is None

    @property
    def probabilistic_zeros(self) -> bool:
        """The loss is within epsilon but for outputs that one side never gives, of probability at most delta: the
        probabilistic definition of the lecture notes, after Hong and others (2012).
        """
        return self.against_probabilistic_zeros is None

    def __str__(self) -> str:
        lines = []
        for name in ("pure", "approximate", "probabilistic", "probabilistic_zeros"):
            witness = getattr(self, f"against_{name}")
            lines.append(f"{name}: {'yes' if witness is None else f'no; {witness}'}")
        return "\n".join(lines)


class Bar:
    """e^epsilon, with which numbers are compared exactly."""

    def __init__(self, epsilon: Amount | None, ratio: Amount | None) -> None:
        if (epsilon is None) == (ratio is None):
            cure = "give epsilon=, or e^epsilon as ratio= where that is the rational number."
            raise InvalidParameter(expected("epsilon or ratio", "epsilon, ratio", (epsilon, ratio), cure))
        self._epsilon = fraction("epsilon", epsilon) if epsilon is not None else Fraction(0)
        self._ratio = fraction("ratio", ratio) if ratio is not None else None
        if self._epsilon < 0 or (self._ratio is not None and self._ratio < 1):
            cure = "write epsilon as 0 or more, ratio as 1 or more."
            raise InvalidParameter(expected("a bound on a loss", "epsilon, ratio", (epsilon, ratio), cure))
        if self._epsilon == 0 and self._ratio is None:
            self._ratio = Fraction(1)

    def exceeded(self, a: Fraction, b: Fraction) -> bool:
        """Whether a > e^epsilon b; b is 0 or more."""
        if self._ratio is not None:
            return a > self._ratio * b
        if a <= b:
            return False
        if not b:
            return True

        def question() -> bool | None:
            excess = real(a) - real(self._epsilon).exp() * real(b)
            return True if bool(excess > 0) else False if bool(excess < 0) else None

        return decided(question, 64)


def check(
    table: Sequence[Sequence[float | Fraction]],
    epsilon: Amount | None = None,
    delta: Amount = 0,
    *,
    ratio: Amount | None = None,
    neighbors: Iterable[tuple[int, int]] | None = None,
) -> Verdict:
    """Decides whether a finite mechanism is differentially private, exactly, and shows why not.

    Args:
        table: one row for each input, with the probability of each output; a float means its printed decimal.
        epsilon: the bound on the loss.
        delta: what may escape it.
        ratio: e^epsilon in place of epsilon, where that is the rational number (3 for randomized response with 3/4).
        neighbors: pairs of rows, in either order; all pairs where it is left out.

    >>> verdict = check([[0.75, 0.25], [0.25, 0.75]], ratio=3)
    >>> verdict.pure
    True
    >>> print(check([[1, 0], [0, 1]], epsilon=5).against_pure)
    outputs {0}: probability 1 on input 0, 0 on input 1
    """
    is_table = isinstance(table, Iterable) and all(isinstance(row, Iterable) for row in table)
    if not is_table or isinstance(table, Mapping | str) or not len(table):
        cure = "list the probabilities of outputs, as [[0.75, 0.25], [0.25, 0.75]]."
        raise InvalidParameter(expected("one row for each input", "table", table, cure))
    rows = [probabilities(f"table[{i}]", row) for i, row in enumerate(table)]
    if len({len(row) for row in rows}) != 1:
        cure = "give every row the same outputs, with 0 for those that never come."
        raise InvalidParameter(expected("rows of one length", "lengths", [len(row) for row in rows], cure))
    slack = fraction("delta", delta)
    if not 0 <= slack < 1:
        raise InvalidParameter(expected("a delta from 0 to below 1", "delta", delta, "write a small number, or 0."))
    bar, pairs = Bar(epsilon, ratio), _ordered(neighbors, len(rows))
    pure = approximate = probabilistic = zeros = None
    for i, j in pairs:
        above = [y for y, (p, q) in enumerate(zip(rows[i], rows[j], strict=True)) if bar.exceeded(p, q)]
        bad = _witness((i, j), above, rows)
        first, second = bad.probabilities
        if above and pure is None:
            pure = _witness((i, j), above[:1], rows)
        if above and first > slack and approximate is None and bar.exceeded(first - slack, second):
            approximate = bad
        if first > slack and probabilistic is None:
            probabilistic = bad
        zeros = zeros or _against_zeros((i, j), above, rows, slack)
    return Verdict(
        against_pure=pure,
        against_approximate=approximate,
        against_probabilistic=probabilistic,
        against_probabilistic_zeros=zeros,
    )


def _against_zeros(
    inputs: tuple[int, int], above: Sequence[int], rows: Sequence[Row], delta: Fraction
) -> Witness | None:
    """A witness against the form in which only outputs that one side never gives may break the bound."""
    second = rows[inputs[1]]
    if both := [y for y in above if second[y]]:
        return _witness(inputs, both[:1], rows)
    never = _witness(inputs, [y for y in above if not second[y]], rows)
    return never if never.probabilities[0] > delta else None


def pure_by_events(p: Sequence[Amount], q: Sequence[Amount], *, ratio: Amount) -> bool:
    """Pure privacy by its definition: every event, one after the other (at most 16 outputs).

    >>> pure_by_events([0.75, 0.25], [0.25, 0.75], ratio=3)
    True
    """
    (first, second), bar = _both(p, q), Bar(None, ratio)
    if len(first) > 16:
        raise InvalidParameter(expected("at most 16 outputs", "len(p)", len(first), "ask pure_by_points instead."))
    events = (event for size in range(1, len(first) + 1) for event in combinations(range(len(first)), size))
    totals = ((sum(first[y] for y in event), sum(second[y] for y in event)) for event in events)
    return not any(bar.exceeded(Fraction(a), Fraction(b)) or bar.exceeded(Fraction(b), Fraction(a)) for a, b in totals)


def pure_by_points(p: Sequence[Amount], q: Sequence[Amount], *, ratio: Amount) -> bool:
    """The same by single outputs.

    >>> pure_by_points([0.75, 0.25], [0.25, 0.75], ratio=2)
    False
    """
    (first, second), bar = _both(p, q), Bar(None, ratio)
    return not any(bar.exceeded(a, b) or bar.exceeded(b, a) for a, b in zip(first, second, strict=True))


def pure_by_loss(p: Sequence[Amount], q: Sequence[Amount], *, ratio: Amount) -> bool:
    """The same by the loss: the largest ratio over all outputs that can come, in both directions.

    >>> pure_by_loss([0.75, 0.25], [0.25, 0.75], ratio=3)
    True
    """
    (first, second), bar = _both(p, q), Bar(None, ratio)
    ratios = [max(a / b, b / a) if a and b else None for a, b in zip(first, second, strict=True) if a or b]
    return not any(value is None or bar.exceeded(value, Fraction(1)) for value in ratios)


def _both(p: Sequence[Amount], q: Sequence[Amount]) -> tuple[Row, Row]:
    """Two laws on the same outputs."""
    first, second = probabilities("p", p), probabilities("q", q)
    if len(first) != len(second):
        raise InvalidParameter(expected(f"{len(first)} probabilities", "len(q)", len(q), "list the same outputs."))
    return first, second


def _witness(inputs: tuple[int, int], event: Sequence[int], rows: Sequence[Row]) -> Witness:
    first, second = (sum((rows[i][y] for y in event), start=Fraction(0)) for i in inputs)
    return Witness(inputs=inputs, event=tuple(event), probabilities=(first, second))


def _ordered(neighbors: Iterable[tuple[int, int]] | None, rows: int) -> list[tuple[int, int]]:
    """Both orders of each pair."""
    if neighbors is None:
        return list(permutations(range(rows), 2))
    pairs: list[tuple[int, int]] = []
    cure = "list pairs of row numbers, as neighbors=[(0, 1), (1, 2)]; rows are numbered from 0."
    for pair in neighbors if isinstance(neighbors, set | frozenset) else values("neighbors", neighbors, cure):
        is_pair = isinstance(pair, Sequence) and len(pair) == 2 and all(isinstance(i, Integral) for i in pair)
        if not is_pair or not all(0 <= i < rows for i in pair):
            raise InvalidParameter(expected(f"pairs of rows from 0 to {rows - 1}", "neighbors", pair, cure))
        pairs += [(pair[0], pair[1]), (pair[1], pair[0])]
    return pairs
