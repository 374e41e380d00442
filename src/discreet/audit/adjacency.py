"""The distance of two inputs of a mechanism, in the metric of its guarantee."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.recording import RecordedCost
from discreet.curator.open_question_transaction import TableKeys
from discreet.engines.first_looks import NUMBER
from discreet.local.frequency_oracle import FrequencyOracle
from discreet.logs.thresholded_log import ThresholdedLog
from discreet.mechanisms.contribution_limit_selection import CountsUnderLimits
from discreet.mechanisms.discrete_gaussian import DiscreteGaussian
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.joint_exponential import JointExponential
from discreet.mechanisms.joint_totals import JointTotals
from discreet.mechanisms.knorm import KNorm
from discreet.mechanisms.knorm_bodies import BoxBody, CrossBody, Polytope
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.noise_reduction import Refinement
from discreet.mechanisms.race_to_the_top import RaceToTheTop
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.selection_probabilities import Selector
from discreet.mechanisms.sparse_vector import SparseVector
from discreet.mechanisms.staircase import Staircase
from discreet.mechanisms.threshold import Threshold
from discreet.privacy.definitions import Neighbors
from discreet.selection.partition_selection import KeySelection
from discreet.selection.quantiles import QuantileCuts
from discreet.selection.top_k import TopK
from discreet.workloads.hierarchy_release import LevelNoise

Distance = Callable[[Any, Any, Any], float]
"""The distance of two inputs of a mechanism divided by what it allows: above 1 its guarantee is broken."""


def exact(value: object) -> Fraction | float:
    """A finite number as it is; anything else is infinitely far from everything.

    >>> exact(0.5), exact(float("nan")), exact(None)
    (Fraction(1, 2), inf, inf)
    """
    if isinstance(value, Fraction | int):
        return Fraction(value)
    if isinstance(value, float | np.number) and math.isfinite(value):
        return Fraction(value.item()) if isinstance(value, np.number) else Fraction(value)
    return math.inf


def entry_distances(first: Any, second: Any) -> list[float | Fraction]:
    """By how much each entry differs; infinite where one of the two is no number, but the other is not the same.

    >>> entry_distances([1, 2.5], [1, 2]), entry_distances([float("nan")], [1])
    ([Fraction(0, 1), Fraction(1, 2)], [inf])
    """
    one, other = flat(first), flat(second)
    if len(one) != len(other):
        return [math.inf]
    return [_between(x, y) for x, y in zip(one, other, strict=True)]


def flat(values: Any) -> list[Any]:
    """All entries of an array of any shape, one after the other."""
    array = values if isinstance(values, np.ndarray) else np.array(values, dtype=object)
    return list(array.reshape(-1))


def _between(x: Any, y: Any) -> float | Fraction:
    left, right = exact(x), exact(y)
    if isinstance(left, float) or isinstance(right, float):
        return 0.0 if str(x) == str(y) else math.inf
    return abs(left - right)


def l1(first: Any, second: Any) -> float:
    """The sum of what the entries differ by."""
    return float(sum(entry_distances(first, second)))


def l2(first: Any, second: Any) -> float:
    """The Euclidean distance."""
    return math.sqrt(float(sum(d * d for d in entry_distances(first, second))))


def largest(first: Any, second: Any) -> float:
    """The most that any entry differs by."""
    return float(max(entry_distances(first, second), default=0.0))


def persons(first: Any, second: Any) -> float:
    """How many persons, of one row of entries each, report something else."""
    if np.shape(first) != np.shape(second):
        return math.inf
    left, right = (np.asarray(values, dtype=object) for values in (first, second))
    differs = left != right
    return float(np.count_nonzero(differs if left.ndim < 2 else differs.reshape(len(left), -1).any(axis=1)))


def _selected(mechanism: Any, first: Any, second: Any) -> float:
    """The most that any score moves; twice that where scores said to move one way move both ways."""
    one_way = getattr(mechanism, "choice", mechanism).monotonic
    entries = list(zip(flat(first), flat(second), strict=False))
    signs = {(exact(x) > exact(y)) - (exact(x) < exact(y)) for x, y in entries} - {0}
    share = largest(first, second) / float(getattr(mechanism, "choice", mechanism).sensitivity)
    return share * (2 if one_way and len(signs) == 2 else 1)


def _limited(mechanism: CountsUnderLimits, first: Any, second: Any) -> float:
    """The most that any count moves, over its limit; twice that where counts said to move one way move both ways."""
    steps = signed_differences(first, second)
    if steps.size != len(mechanism.limits):
        return math.inf
    share = float(np.max(np.abs(steps) / np.array(mechanism.limits))) / mechanism.units
    return share * (2 if not mechanism.both_ways and (steps > 0).any() and (steps < 0).any() else 1)


def _raced(mechanism: RaceToTheTop, first: Any, second: Any) -> float:
    """How much of its own part of epsilon each total costs, on average: by how far it moves, over its limit."""
    steps = signed_differences(first, second)
    if steps.size != len(mechanism.limits):
        return math.inf
    return float(np.mean(np.abs(steps) / np.array(mechanism.limits))) / mechanism.units


def _groups(mechanism: Any, first: Any, second: Any) -> float:
    """In how many keys a unit counts, and how often in each, by the limits."""
    groups, rows = float(mechanism.max_groups), float(mechanism.max_rows)
    return max(l1(first, second) / groups, largest(first, second)) / rows


def _listed(mechanism: KeySelection, first: Any, second: Any) -> float:
    """The most that a key's total moves, over what a unit of as many keys may add to each."""
    changed = [float(d) for d in entry_distances(first, second) if d]
    if not changed:
        return 0.0
    groups = min(len(changed), mechanism.max_groups)
    each = mechanism.weight(groups) if mechanism.method == "weighted" else 1
    return max(max(changed) / each, len(changed) / mechanism.max_groups)


def _told_apart(mechanism: TableKeys, first: Any, second: Any) -> float:
    """That of the rule, for all keys that one of two tables has."""
    one, other = (
        {tuple(row.values())[:-1]: int(row[NUMBER]) for row in table.item().to_pylist()} for table in (first, second)
    )
    keys, rule = one.keys() | other.keys(), mechanism.rule
    apart = [one.get(key, 0) for key in keys], [other.get(key, 0) for key in keys]
    if isinstance(rule, KeySelection) and rule.steps > 1 and mechanism.units > 1:  # nobody knows whose keys they are
        changed = sum(x != y for x, y in zip(*apart, strict=True))
        share = max(l2(*apart) / rule.steps, changed / rule.max_groups)
    else:
        share = DISTANCES[type(rule)][1](rule, *apart)
    return share / mechanism.units


def _stairs(mechanism: Staircase, first: Any, second: Any) -> float:
    """Each entry that moves at all may cost epsilon, and again for each sensitivity that it moves by."""
    return float(sum(-(-d // mechanism.sensitivity) if d < math.inf else d for d in entry_distances(first, second)))


def _pairs(mechanism: ThresholdedLog, first: Any, second: Any) -> float:
    """What one user may change of the totals of a log: few items, by one user each, and so many counts in each."""
    one, other = (
        {row["item"]: (row["users"], row["extra"], row["first"]) for row in table.item().to_pylist()}
        for table in (first, second)
    )
    steps = [
        tuple(abs(a - b) for a, b in zip(one.get(item, (0, 0, 0)), other.get(item, (0, 0, 0)), strict=True))
        for item in one.keys() | other.keys()
    ]
    changed = [step for step in steps if any(step)]
    if not changed:
        return 0.0
    screen, times = mechanism.screen, 2 if mechanism.neighbors is Neighbors.REPLACE_ONE else 1
    users, extra, begun = (max(column) for column in zip(*changed, strict=True))
    allowed = screen.max_count - 1
    beyond = extra / allowed if allowed else (math.inf if extra else 0.0)
    return float(max(len(changed) / screen.max_items, users, beyond, begun)) / times


def _masses(mechanism: QuantileCuts, first: Any, second: Any) -> float:
    """How much mass comes and goes, over what one unit may have; replacing one unit does either."""
    one, other = (
        dict(zip(zip(held.group.tolist(), held.cell.tolist(), strict=True), held.mass.tolist(), strict=True))
        for held in (first.item(), second.item())
    )
    steps = [one.get(place, 0) - other.get(place, 0) for place in one.keys() | other.keys()]
    gone, come = sum(max(step, 0) for step in steps), sum(max(-step, 0) for step in steps)
    return float(max(gone, come) if mechanism.replaced else gone + come) / mechanism.mass


def _levels(mechanism: LevelNoise, first: Any, second: Any) -> float:
    """The most that any level moves, over what its noise allows."""
    sums = zip(*(mechanism.tree.sums(np.asarray(values)) for values in (first, second)), strict=True)
    pairs = zip(mechanism.mechanisms, sums, strict=True)
    return max((DISTANCES[type(noise)][1](noise, x, y) for noise, (x, y) in pairs if noise is not None), default=0.0)


def _gauge(mechanism: KNorm | JointTotals, first: Any, second: Any) -> float:
    """The norm of the difference in the body of the mechanism."""
    difference: list[float] = signed_differences(first, second).tolist()
    body = mechanism.body
    if isinstance(body, BoxBody):
        return max(abs(d) / float(r) for d, r in zip(difference, body.reaches, strict=True))
    if isinstance(body, CrossBody):
        return sum(abs(d) / float(r) for d, r in zip(difference, body.reaches, strict=True))
    if not isinstance(body, Polytope) or not body.planes():
        return 0.0 if not any(difference) else math.nan
    return max(sum(float(a) * d for a, d in zip(plane, difference, strict=True)) for plane in body.planes())


def _gauges(mechanism: JointTotals, first: Any, second: Any) -> float:
    """The norms of the differences of all groups in the body of the mechanism, added up."""
    one, other = np.asarray(first), np.asarray(second)
    if one.shape != other.shape:
        return math.inf
    return sum(_gauge(mechanism, x, y) for x, y in zip(one, other, strict=True) if (x != y).any())


def signed_differences(first: Any, second: Any) -> NDArray[np.float64]:
    """The differences with their signs; infinite where there is none."""
    one, other = flat(first), flat(second)
    if len(one) != len(other):
        return np.array([math.inf])
    sizes = entry_distances(first, second)
    signs = [1.0 if exact(x) >= exact(y) else -1.0 for x, y in zip(one, other, strict=True)]
    return np.array([sign * float(size) for sign, size in zip(signs, sizes, strict=True)])


DISTANCES: dict[type, tuple[str, Distance]] = {
    Laplace: ("L1", lambda m, x, y: l1(x, y) / float(m.sensitivity)),
    Staircase: ("entries, each moved by its sensitivity", _stairs),
    Refinement: ("L1", lambda m, x, y: l1(x, y) / float(m.sensitivity)),
    Gaussian: ("L2", lambda m, x, y: l2(x, y) / float(m.sensitivity)),
    DiscreteGaussian: ("L2", lambda m, x, y: l2(x, y) / float(m.sensitivity)),
    KNorm: ("the norm of K", _gauge),
    JointTotals: ("the norm of K, over all groups", _gauges),
    Selector: ("of the largest score", _selected),
    TopK: ("of the largest score", _selected),
    JointExponential: ("of the largest score", _selected),
    CountsUnderLimits: ("of the count that moves most, over its limit", _limited),
    RaceToTheTop: ("of all totals, each over its limit, on average", _raced),
    SparseVector: ("of the largest answer", lambda m, x, y: largest(x, y) / float(m.sensitivity)),
    Threshold: ("in keys", _groups),
    KeySelection: ("in keys", _listed),
    TableKeys: ("in keys", _told_apart),
    QuantileCuts: ("in mass", _masses),
    ThresholdedLog: ("in pairs of user and item", _pairs),
    RandomizedResponse: ("in persons", lambda _, x, y: persons(x, y)),
    LevelNoise: ("of the level that moves most", _levels),
    FrequencyOracle: ("in persons", lambda _, x, y: persons(x, y)),
}
"""By class; a class counts as its nearest ancestor here."""


def known(kind: type) -> type | None:
    """The entry of `DISTANCES` that a class counts as."""
    return next((ancestor for ancestor in kind.__mro__ if ancestor in DISTANCES), None)


@dataclass(frozen=True)
class MechanismMetric:
    """One of discreet's mechanisms, which states itself what distance it allows."""

    mechanism: Any

    @property
    def declared(self) -> float | None:
        """The sensitivity; 1 where the mechanism counts persons or keys."""
        for name in ("sensitivity", "max_groups"):
            stated = getattr(self.mechanism, name, None) or getattr(getattr(self.mechanism, "choice", None), name, None)
            if stated is not None:
                return float(stated)
        return 1.0 if known(type(self.mechanism)) else None

    @property
    def norm(self) -> str:
        """The distance by name."""
        kind = known(type(self.mechanism))
        return DISTANCES[kind][0] if kind else "unknown"

    def distance(self, first: Any, second: Any) -> float:
        """The distance of the inputs, in the unit of what is declared."""
        return self._share(first, second) * (self.declared or 1.0)

    def cost(self, first: Any, second: Any) -> RecordedCost:
        """The price, in proportion to how much of the sensitivity the two inputs use up."""
        share = self._share(first, second)
        if isinstance(self.mechanism, Gaussian):
            return RecordedCost(mu=float(self.mechanism.mu) * share)
        if isinstance(self.mechanism, DiscreteGaussian):
            return RecordedCost(mu=float(self.mechanism.sensitivity) / math.sqrt(float(self.mechanism.sigma2)) * share)
        epsilon = getattr(self.mechanism, "epsilon", None)
        return RecordedCost(epsilon=float(epsilon) * share if epsilon is not None and share else 0.0)

    def _share(self, first: Any, second: Any) -> float:
        kind = known(type(self.mechanism))
        if kind is None:
            return 0.0 if l1(first, second) == 0 else math.nan
        return DISTANCES[kind][1](self.mechanism, first, second)
