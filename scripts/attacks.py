"""The inputs on which every public mechanism is attacked; a test sees that none is missing.

For each mechanism: inputs that differ by as much as one unit may change them, in the patterns that have broken others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import ibis
import numpy as np
import pyarrow as pa

import discreet as dp
from discreet.curator.open_question_transaction import findings_of
from discreet.local.hadamard_response import HadamardResponse
from discreet.local.local_hashing import LocalHashing
from discreet.local.unary_encoding import UnaryResponse
from discreet.logs.item_threshold import ItemThreshold
from discreet.logs.thresholded_log import ThresholdedLog
from discreet.mechanisms.contribution_limit_selection import CountsUnderLimits
from discreet.mechanisms.joint_exponential import JointExponential
from discreet.mechanisms.joint_totals import JointTotals
from discreet.mechanisms.noise_reduction import Refinement
from discreet.mechanisms.race_to_the_top import RaceToTheTop
from discreet.noise.entropy import fresh_words
from discreet.planning.open_question_plan import plan_open_question
from discreet.privacy.definitions import Guarantee, Neighbors
from discreet.selection.quantiles import Cut, QuantileCuts, Stage
from discreet.selection.rank_exponential import PARTS, Histogram
from discreet.selection.top_k import TopK
from level_attacks import levels, steps


@dataclass(frozen=True, kw_only=True)
class Attack:
    """A mechanism at any epsilon, and two inputs that it must not tell apart."""

    mechanism: str
    words: str
    make: Callable[[float], Callable[[Any], Any]]
    """epsilon in, a function of one input out."""
    first: Any
    second: Any
    delta: float = 0.0
    tight: bool = True
    """Whether outcomes really are as far apart as epsilon allows, so that a mechanism at 3 epsilon must be caught."""
    cost: int = 1
    """How slow one run is: that many times fewer are made."""


PATTERNS: dict[str, tuple[list[int], list[int]]] = {
    "one below": ([1, 1, 1, 1, 1], [0, 1, 1, 1, 1]),
    "one above": ([1, 1, 1, 1, 1], [2, 1, 1, 1, 1]),
    "one above, the rest below": ([1, 1, 1, 1, 1], [2, 0, 0, 0, 0]),
    "one below, the rest above": ([1, 1, 1, 1, 1], [0, 2, 2, 2, 2]),
    "half above, half below": ([1, 1, 1, 1, 1], [0, 0, 0, 2, 2]),
    "all above": ([1, 1, 1, 1, 1], [2, 2, 2, 2, 2]),
    "crossed": ([1, 1, 0, 0, 0], [0, 0, 1, 1, 1]),
}
"""Scores that each move by at most one (Ding, Wang, Wang, Zhang, Kifer 2018)."""


def _additive() -> Iterator[Attack]:
    def laplace(epsilon: float) -> Callable[[Any], Any]:
        return dp.Laplace(sensitivity=1, epsilon=epsilon).release

    for words, first, second, tight in (
        ("whole numbers", 0, 1, True), ("floats", 0.0, 1.0, True), ("all in one entry", [0, 0], [1, 0], True),
        ("divided among entries", [0.5, 0.0], [0.0, 0.5], False), ("subnormal", 5e-324, 1.0, True),
        ("at the edge of 64 bits", 2**62, 2**62 + 1, True), ("at 2^53", 2.0**53, 2.0**53 + 1, False),
    ):  # fmt: skip
        yield Attack(mechanism="Laplace", words=words, make=laplace, first=first, second=second, tight=tight)

    def staircase(epsilon: float) -> Callable[[Any], Any]:
        return dp.Staircase(sensitivity=1, epsilon=epsilon).release

    for words, first, second in (("whole numbers", 0, 1), ("floats", 0.0, 1.0)):
        yield Attack(mechanism="Staircase", words=words, make=staircase, first=first, second=second)
    yield Attack(
        mechanism="Refinement", words="two rounds of one total", first=0, second=1, tight=False,
        make=lambda epsilon: lambda x: (
            Refinement(sensitivity=Fraction(1), scales=(3 / Fraction(epsilon), 1 / Fraction(epsilon)))
            .add_noise(np.array([x]), fresh_words()).reshape(-1).tolist()
        ),
    )  # fmt: skip
    for kind in (dp.Gaussian, dp.DiscreteGaussian):

        def gaussian(epsilon: float, kind: Any = kind) -> Callable[[Any], Any]:
            return kind(sensitivity=1, epsilon=epsilon, delta=0.01).release  # type: ignore[no-any-return]  # either of two

        for words, first, second in (("one entry", 0, 1), ("the last of two", [0, 0], [0, 1])):
            yield Attack(
                mechanism=kind.__name__, words=words, make=gaussian, first=first, second=second, delta=0.01, tight=False
            )
    yield Attack(
        mechanism="KNorm", words="a box, both at once", first=[0, 0], second=[1, 1],
        make=lambda epsilon: dp.KNorm.box([1, 1], epsilon=epsilon).release,
    )  # fmt: skip
    yield Attack(
        mechanism="KNorm", words="a hexagon, its corner", first=[0, 0], second=[1, 1], cost=2,
        make=lambda epsilon: dp.KNorm.of_contributions([(1, 0), (0, 1), (1, 1)], epsilon=epsilon).release,
    )  # fmt: skip
    corners = ((1, 0), (0, 1), (1, 1))
    yield Attack(
        mechanism="JointTotals", words="a hexagon, its corner", first=[[0, 0]], second=[[1, 1]], cost=2,
        make=lambda epsilon: lambda totals: JointTotals(contributions=corners, epsilon=Fraction(str(epsilon)))
        .add_noise(np.array(totals), fresh_words())[0],
    )  # fmt: skip


def _choosing() -> Iterator[Attack]:
    for kind in (dp.Exponential, dp.PermuteAndFlip, dp.NoisyMax):

        def choosing(epsilon: float, kind: Any = kind) -> Callable[[Any], Any]:
            return kind(sensitivity=1, epsilon=epsilon).release  # type: ignore[no-any-return]  # any of three

        for words, (first, second) in PATTERNS.items():
            yield Attack(
                mechanism=kind.__name__, words=words, make=choosing, first=first, second=second,
                tight=words == "one below, the rest above", cost=2,
            )  # fmt: skip
    yield Attack(
        mechanism="TopK", words="two of five", first=PATTERNS["crossed"][0], second=PATTERNS["crossed"][1],
        tight=False, cost=2,
        make=lambda epsilon: TopK(k=2, sensitivity=1, epsilon=epsilon).release,
    )  # fmt: skip
    for order in (True, False):

        def joint(epsilon: float, *, order: bool = order) -> Callable[[Any], Any]:
            return JointExponential(k=2, sensitivity=1, epsilon=epsilon, order=order).release

        yield Attack(
            mechanism="JointExponential", words=f"two of five, {'a sequence' if order else 'a set'}", make=joint,
            first=PATTERNS["crossed"][0], second=PATTERNS["crossed"][1], tight=False, cost=4,
        )  # fmt: skip
    for k in (1, 5):
        first, second = [0] * k + [1], [1] * k + [0]
        yield Attack(
            mechanism="SparseVector", words=f"{k} below, then one above", first=first, second=second, tight=False,
            make=lambda epsilon: lambda q: dp.SparseVector(sensitivity=1, epsilon=epsilon, threshold=0).release(q),
        )  # fmt: skip


def _limited() -> Iterator[Attack]:
    def limited(epsilon: float) -> Callable[[Any], Any]:
        return CountsUnderLimits(limits=[1, 2, 4], epsilon=epsilon).release

    for words, first, second in (
        ("each by its limit", [3, 5, 6], [4, 7, 10]), ("the largest alone", [9, 9, 9], [9, 9, 13]),
        ("all but the one in between", [3, 6, 6], [4, 6, 10]),
    ):  # fmt: skip
        yield Attack(
            mechanism="CountsUnderLimits", words=words, make=limited, first=first, second=second, tight=False, cost=2
        )
    yield Attack(
        mechanism="CountsUnderLimits", words="a stated limit", first=[7], second=[10],
        make=lambda epsilon: CountsUnderLimits(limits=[3], epsilon=epsilon).release,
    )  # fmt: skip


def _raced() -> Iterator[Attack]:
    for words, first, second in (("each by its limit", [3, 5], [4, 9]), ("the largest alone", [9, 9], [9, 13])):
        yield Attack(
            mechanism="RaceToTheTop", words=words, first=first, second=second, tight=words == "each by its limit",
            make=lambda epsilon: RaceToTheTop(limits=[1, 4], epsilon=epsilon).release, cost=2,
        )  # fmt: skip
    yield Attack(
        mechanism="RaceToTheTop", words="the best of three", first=[3, 5, 6], second=[4, 9, 22], tight=False, cost=2,
        make=lambda epsilon: _best_of(RaceToTheTop(limits=[1, 4, 16], epsilon=epsilon)),
    )  # fmt: skip


def _best_of(race: RaceToTheTop) -> Callable[[Any], Any]:
    return lambda totals: race.best(race.release(totals))


def _keys() -> Iterator[Attack]:
    yield Attack(
        mechanism="Threshold", words="a key of one person", first=[1], second=[0], delta=0.05, tight=False,
        make=lambda epsilon: dp.Threshold(epsilon=epsilon, delta=0.05).release,
    )  # fmt: skip
    yield Attack(
        mechanism="Threshold", words="three keys of one person", first=[1, 1, 1], second=[0, 0, 0], delta=0.05,
        tight=False,
        make=lambda epsilon: dp.Threshold(epsilon=epsilon, delta=0.05, max_groups=3).release,
    )  # fmt: skip
    yield Attack(
        mechanism="Threshold", words="three rows in each of two keys of one person", first=[3, 3], second=[0, 0],
        delta=0.05, tight=False,
        make=lambda epsilon: dp.Threshold(epsilon=epsilon, delta=0.05, max_groups=2, max_rows=3).release,
    )  # fmt: skip
    pages = [(person, "b") for person in range(6)]
    yield Attack(
        mechanism="Threshold", words="people counted by a page that nobody listed", delta=0.05, tight=False, cost=20,
        first=[*pages, (9, "a"), (9, "b")], second=pages, make=_by_page,
    )  # fmt: skip
    for method in ("optimal", "gaussian"):

        def keys(epsilon: float, method: str = method) -> Callable[[Any], Any]:
            return dp.KeySelection(epsilon=epsilon, delta=0.05, max_groups=2, method=method).release

        for words, first, second in (("keys of one person", [1, 1], [0, 0]), ("keys of several", [3, 4], [2, 3])):
            yield Attack(
                mechanism="KeySelection", words=f"{method}: {words}", make=keys, first=first, second=second,
                delta=0.05, tight=False,
            )  # fmt: skip


def _by_page(epsilon: float) -> Callable[[Any], Any]:
    """What the one look of a lone count by unknown keys shows of two of them: rows in, exact totals, noise."""

    def asked(rows: list[tuple[int, str]]) -> Any:
        data = pa.table(dict(zip(("person", "page"), zip(*rows, strict=True), strict=True)))
        people = dp.protect(data, unit="person", budget=dp.Budget(epsilon=1)).per_unit(page=lambda t: t.page.min())
        question: Any = people.group_by("page", keys=dp.UNKNOWN).agg(n=lambda t: t.count())
        found = plan_open_question(question._query, question._open, epsilon=epsilon, delta=0.05)  # noqa: SLF001 (as a release does)
        return question._source._engine, found  # noqa: SLF001 (likewise)

    made: dict[int, Any] = {}

    def shown(rows: Any) -> list[Any]:
        if len(rows) not in made:
            made[len(rows)] = asked(rows)
        engine, found = made[len(rows)]
        look = findings_of(engine, found, fresh_words())
        counts = dict(zip(look.keys or (), look.counts.tolist(), strict=True)) if look.counts is not None else {}
        return [counts.get(("a",)), counts.get(("b",))]

    return shown


def _cuts() -> Iterator[Attack]:
    def median(epsilon: float) -> Callable[[Any], Any]:
        stage = Stage(cuts=(Cut(place=0, share=Fraction(1, 2)),), epsilon=Fraction(epsilon))
        cuts = QuantileCuts(stages=(stage,), cells=5, mass=1)

        def cell(masses: Any) -> int:
            held = np.flatnonzero(np.asarray(masses))
            mass = np.asarray(masses, dtype=np.int64)[held]
            return int(cuts.made(Histogram(held * 0, held, mass), 1, fresh_words())[0, 0]) // PARTS

        return cell

    for words, first, second in (("an end", [1, 0, 0, 0, 1], [0, 0, 0, 0, 1]), ("one of one", [0, 0, 1], [0, 0, 0])):
        yield Attack(mechanism="QuantileCuts", words=words, make=median, first=first, second=second, tight=False)


def _local() -> Iterator[Attack]:
    yield Attack(
        mechanism="RandomizedResponse", words="one of two answers", first=[0], second=[1],
        make=lambda epsilon: dp.RandomizedResponse(epsilon=epsilon).release,
    )  # fmt: skip
    yield Attack(
        mechanism="RandomizedResponse", words="the last of three answers", first=[[0, 0, 0]], second=[[1, 1, 1]],
        make=lambda epsilon: dp.RandomizedResponse(epsilon=epsilon, questions=3).release,
    )  # fmt: skip
    for kind in (UnaryResponse, LocalHashing, HadamardResponse):

        def report(epsilon: float, kind: Any = kind) -> Callable[[Any], Any]:
            return lambda values: kind(epsilon=epsilon, categories=4).report(values)

        yield Attack(
            mechanism="FrequencyOracle", words=kind.__name__, make=report, first=[0], second=[3], tight=False,
            cost=20 if kind is LocalHashing else 1,
        )  # fmt: skip


def _clusters() -> Iterator[Attack]:
    rows = np.repeat([[1.0], [9.0]], 4, axis=0)
    for algorithm in ("best", "lloyd"):

        def centers(epsilon: float, algorithm: str = algorithm) -> Callable[[Any], Any]:
            def fitted(points: Any) -> Any:
                made = dp.KMeans(n_clusters=2, epsilon=epsilon, bounds=(0, 10), algorithm=algorithm).fit(points)
                return [*made.cluster_sizes_.tolist(), *made.cluster_centers_.reshape(-1).tolist()]

            return fitted

        yield Attack(
            mechanism="KMeans", words=algorithm, make=centers, first=rows, second=rows[1:], tight=False, cost=40
        )


def _logs() -> Iterator[Attack]:
    def totals(*items: tuple[str, int, int, int]) -> pa.Table:
        columns = zip(*items, strict=True) if items else [(), (), (), ()]
        kinds = (pa.string(), pa.int64(), pa.int64(), pa.int64())
        made = (pa.array(list(column), kind) for column, kind in zip(columns, kinds, strict=True))
        return pa.table(dict(zip(("item", "users", "extra", "first"), made, strict=True)))

    for noise in ("gaussian", "laplace"):
        for count, words, first, second in (
            (1, "pages of one user", totals(("a", 1, 0, 1), ("b", 1, 0, 0)), totals()),
            (1, "pages of several", totals(("a", 9, 0, 9), ("b", 8, 0, 0)), totals(("a", 8, 0, 8), ("b", 7, 0, 0))),
            (3, "visits of one user", totals(("a", 9, 6, 9), ("b", 1, 2, 0)), totals(("a", 8, 4, 8))),
        ):

            def released(epsilon: float, noise: str = noise, count: int = count) -> Callable[[Any], Any]:
                price = Guarantee(epsilon=Fraction(epsilon), delta=Fraction(1, 20))
                screen = ItemThreshold.of(
                    epsilon=price.epsilon, delta=price.delta, max_items=2, max_count=count, noise=noise
                )
                log = ThresholdedLog(
                    what="log", guarantee=price, neighbors=Neighbors.ADD_REMOVE, unit="user", screen=screen,
                    expression=ibis.table({"item": "string"}, name="log"),
                )  # fmt: skip

                def shown(found: pa.Table) -> list[Any]:
                    answer = log.add_noise(found, fresh_words())
                    rows = {row["item"]: [row["presence"], row.get("high", 0)] for row in answer.to_pylist()}
                    return [
                        int(answer.schema.metadata[b"people"]),
                        *rows.get("a", [None] * 2),
                        *rows.get("b", [None] * 2),
                    ]

                return shown

            yield Attack(
                mechanism="ThresholdedLog", words=f"{noise}: {words}", make=released, first=first, second=second,
                delta=0.05, tight=False, cost=4,
            )  # fmt: skip


def attacks() -> list[Attack]:
    """All of them."""
    return [
        *_additive(),
        *_choosing(),
        *_limited(),
        *_raced(),
        *_keys(),
        *_cuts(),
        *_local(),
        *_clusters(),
        *_logs(),
        *levels(Attack),
        *steps(Attack),
    ]


COVERED_BY = {
    "RandomizedResponse.report": "RandomizedResponse", "Laplace.add_noise": "Laplace", "Selector": "Exponential",
    "TableKeys": "KeySelection",
}  # fmt: skip
"""Names under which a mechanism is found that is attacked under another one."""
