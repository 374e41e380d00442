"""The inputs on which every public mechanism, aggregate and verb is attacked; a test sees that none is missing.

For each mechanism: inputs that differ by as much as one unit may change them, in the patterns that have broken others.
For each aggregate and verb: a question whose table is then exchanged for its worst neighbors.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import discreet as dp
from discreet.curator.preliminary_queries import surveyed
from discreet.local.hadamard_response import HadamardResponse
from discreet.local.local_hashing import LocalHashing
from discreet.local.unary_encoding import UnaryResponse
from discreet.logs.item_threshold import ItemThreshold
from discreet.logs.thresholded_log import ThresholdedLog
from discreet.mechanisms.noise_reduction import Refinement
from discreet.noise.entropy import fresh_words
from discreet.planning.two_stage import plan_two_stages
from discreet.privacy.definitions import Guarantee, Neighbors
from discreet.query.question import Question
from discreet.query.table import PrivateTable
from discreet.selection.quantiles import Cut, QuantileCuts, Stage
from discreet.selection.rank_exponential import PARTS, Histogram
from discreet.selection.top_k import TopK
from level_attacks import all_levels, levels

Ask = Callable[[PrivateTable], Any]


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
    for k in (1, 5):
        first, second = [0] * k + [1], [1] * k + [0]
        yield Attack(
            mechanism="SparseVector", words=f"{k} below, then one above", first=first, second=second, tight=False,
            make=lambda epsilon: lambda q: dp.SparseVector(sensitivity=1, epsilon=epsilon, threshold=0).release(q),
        )  # fmt: skip


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
        found = plan_two_stages(question._query, question._open, epsilon=epsilon, delta=0.05)  # noqa: SLF001 (as a release does)
        return question._source._engine, found  # noqa: SLF001 (likewise)

    made: dict[int, Any] = {}

    def shown(rows: Any) -> list[Any]:
        if len(rows) not in made:
            made[len(rows)] = asked(rows)
        engine, found = made[len(rows)]
        look = surveyed(engine, found, fresh_words())
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
    return [*_additive(), *_choosing(), *_keys(), *_cuts(), *_local(), *_clusters(), *_logs(), *levels(Attack)]


COVERED_BY = {
    "RandomizedResponse.report": "RandomizedResponse", "Laplace.add_noise": "Laplace", "Selector": "Exponential",
}  # fmt: skip
"""Names under which a mechanism is found that is attacked under another one."""

# -- questions about tables -----------------------------------------------------------------------------------

PEOPLE = pa.table(
    {
        "person": [1, 1, 2, 3, 3, 4, 5],
        "plan": ["a", "b", "a", "c", "b", None, "a"],
        "age": pa.array([20, 21, 35, 50, 51, None, 90], pa.int64()),
        "cost": [1.0, 5.0, 2.5, None, 900.0, 3.0, -4.0],
    }
)
STATED: Mapping[str, Any] = {
    "unit": "person", "bounds": {"age": (0, 110), "cost": (0, 50)}, "keys": {"plan": ["a", "b", "d", None]},
    "max_groups": 2, "max_rows": 2,
}  # fmt: skip


def answered(ask: Ask, rows: Any) -> Any:
    """A question as it shows itself, and its answer; or the answer, of what answers at once."""
    asked = ask(dp.protect(rows, budget=dp.Budget(epsilon=1), name="people", **STATED))
    return (repr(asked), asked.release(epsilon=1)) if isinstance(asked, Question) else asked


def by_plan(t: PrivateTable, **asked: Any) -> Question:
    """Aggregates in groups."""
    return t.group_by("plan").agg(**asked)


PLANS = pa.table({"plan": ["a", "a", "a", "b", "d"], "share": [1, 2, 3, 5, 7]})
"""Public, with duplicates: each row of plan a comes out three times."""


def _two(t: PrivateTable) -> PrivateTable:
    return t.select("person", "plan")


AGGREGATES: dict[str, Ask] = {
    "count": lambda t: by_plan(t, a=lambda s: s.count(), b=lambda s: s.age.count(where=s.cost > 2)),
    "units": lambda t: by_plan(t, a=lambda s: s.person.nunique()),
    "distinct": lambda t: t.group_by(old=t.age > 30, keys={"old": [True, False]}).agg(
        a=lambda s: s.plan.nunique(), b=lambda s: s.plan.nunique(where=s.cost > 2)
    ),
    "sum": lambda t: by_plan(t, a=lambda s: s.cost.sum(), b=lambda s: (s.age * 2 - 7).sum()),
    "mean": lambda t: by_plan(t, a=lambda s: s.cost.mean()),
    "variance": lambda t: by_plan(t, a=lambda s: s.cost.var()),
    "std": lambda t: by_plan(t, a=lambda s: s.cost.std(how="pop")),
    "covariance": lambda t: by_plan(t, a=lambda s: s.cost.cov(s.age), n=lambda s: s.count()),
    "correlation": lambda t: by_plan(t, a=lambda s: s.cost.corr(s.age, where=s.cost > 2)),
    "slope": lambda t: t.group_by("plan").regress(
        "cost", ["age", (t.age > 30).name("old"), (t.cost * t.age).name("both")], where=t.age > 20
    ),
    "intercept": lambda t: t.regress(t.cost, t.age, where=t.cost > 2),
    "quantile": lambda t: by_plan(
        t, a=lambda s: s.cost.quantile([0.1, 0.5]), b=lambda s: s.age.median(where=s.cost > 2)
    ),
    "minimum": lambda t: by_plan(t, a=lambda s: s.cost.min()),
    "maximum": lambda t: by_plan(t, a=lambda s: s.age.max()),
}
"""By statistic: each of `STATISTICS` has one."""

VERBS: dict[str, Ask] = {
    "filter": lambda t: t.filter(t.cost > 2, t.plan != "b").count(),
    "mutate": lambda t: t.mutate(x=t.cost * t.age / 7).agg(a=lambda s: s.x.mean()),
    "select": lambda t: t.select("person", "cost").agg(a=lambda s: s.cost.sum()),
    "rename": lambda t: t.rename(price="cost").agg(a=lambda s: s.price.sum()),
    "drop": lambda t: t.drop("age").agg(a=lambda s: s.cost.sum()),
    "cast": lambda t: t.cast({"age": "float64"}).agg(a=lambda s: (s.age / 3).sum()),
    "fill_null": lambda t: t.fill_null({"cost": 7}).agg(a=lambda s: s.cost.mean()),
    "cut": lambda t: t.cut("cost", [0, 10, 50]).group_by("cost_bin").agg(a=lambda s: s.count()),
    "histogram": lambda t: t.histogram("cost", bins=5, max_groups=2, max_rows=2),
    "distinct": lambda t: t.select("person", "plan").distinct().agg(a=lambda s: s.count()),
    "group_by": lambda t: t.group_by(long=t.plan.length(), keys={"long": [0, 1, 2]}).agg(a=lambda s: s.count()),
    "agg": lambda t: t.agg(a=t.cost.sum(), b=t.age.mean(), c=lambda s: s.count(), d=t.person.nunique()),
    "count": lambda t: t.count(where=t.age > 30),
    "nunique": lambda t: t.nunique(where=t.cost < 10),
    "union": lambda t: t.filter(t.cost > 2).union(t.filter(t.age > 30)).agg(a=lambda s: s.cost.sum()),
    "intersect": lambda t: _two(t).intersect(_two(t.filter(t.cost > 2))).agg(a=lambda s: s.count()),
    "difference": lambda t: _two(t).difference(_two(t.filter(t.cost > 2))).agg(a=lambda s: s.count()),
    "join": lambda t: t.join(dp.public(PLANS), "plan", max_matches=3).agg(
        a=lambda s: (s.cost * s.share).sum(), b=lambda s: s.count()
    ),
    "partition": lambda t: t.partition("plan", max_parts=1)["a"].agg(a=lambda s: s.cost.sum(), b=lambda s: s.count()),
    "per_unit": lambda t: t.per_unit(
        rows=lambda s: s.count(), most=lambda s: s.cost.max(), total=lambda s: s.cost.sum()
    ).agg(a=lambda s: s.total.clip(-5, 60).mean(), b=lambda s: s.count(where=s.rows > 1), c=lambda s: s.most.sum()),
    "refreshed": lambda t: t.union(t.refreshed(PEOPLE, version=2)).agg(a=lambda s: s.cost.sum(), b=lambda s: s.count()),
    "regress": lambda t: t.regress("age", ["cost", (t.age > 30).name("old"), (t.cost > 2).name("dear")]),
    "top": lambda t: t.top("plan", k=2, epsilon=1),
    "hierarchy": all_levels,
    "kmeans": lambda t: t.kmeans(["age", "cost"], n_clusters=2, epsilon=1, algorithm="lloyd", rounds=2),
}
"""By name: each public method of a table that leads to a question has one; those that always refuse do not."""


def _filed(asked: Question) -> Any:
    """An answer in a file: what is in it, and all that Parquet says of how it is laid out; without its time."""
    written = asked.release(epsilon=1, to="answer.parquet")
    with pq.ParquetFile(written.path) as file:
        layout, rows = file.metadata.to_dict(), file.read().replace_schema_metadata()
    written.path.unlink()  # the receipt in it has the time
    return (
        repr(asked),
        json.dumps(layout, default=str),
        rows,
        {name: fact for name, fact in written.receipt.items() if name != "time"},
    )


WAYS: dict[str, Ask] = {
    "to": lambda t: _filed(by_plan(t, a=lambda s: s.count(), b=lambda s: s.cost.mean(), c=lambda s: s.plan.nunique())),
}
"""By parameter: how an answer is given, other than from `release` itself."""
