"""What the mechanisms of a release are given on two neighbors costs, all together, no more than the ledger has.

Nothing that a plan says of itself is believed here: each release is made on a table and, with the same noise, on a
neighbor, and what its mechanisms were given is compared with the scales of their noise. The neighbors are the worst
that limits allow: one unit in every group, with more rows than count, in all tables at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
import discreet.hierarchies.level_plan as levels
import discreet.planning.batch_planner as batches
from discreet.audit.adjacency import MechanismMetric
from discreet.audit.own_mechanisms import mechanisms_watched
from discreet.audit.recording import CallRecorder
from discreet.mechanisms.distributed_noise import DistributedNoise
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.joint_totals import JointTotals
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.staircase import Staircase
from discreet.noise.entropy import fresh_words
from discreet.privacy.definitions import UNBOUNDED
from discreet.query.table import PrivateTable
from discreet.sensitivity.contributions import Limits
from neighbor_bench import Bench

Release = Callable[[Any, dict[str, Any], dict[str, Any], Path], object]
PLANS, MANY = ["a", "b", "c"], list(range(2000))
KEYS = {"plan": PLANS, "b": [True, False], "i": [0, 1, 2, 3]}
TWO = {name: KEYS[name] for name in ("plan", "b")}
WIDE = {"plan": PLANS, "i": MANY, "j": MANY, "b": [True, False]}
PLACES = dp.public_keys(pa.table({"b": [True] * 3 + [False] * 3, "plan": PLANS * 2}))


def asked(t: PrivateTable) -> dict[str, Any]:
    return {"n": t.plan.count(), "s": t.x.sum(), "c": t.plan.count(where=t.x > 0)}


def several(t: PrivateTable, limits: dict[str, Any]) -> Any:
    grouped = t.group_by("plan", keys={"plan": PLANS}, **limits).agg(s=t.x.sum())
    return dp.batch(a=t.filter(t.x > 0).count(), b=grouped, **limits)


RELEASES: dict[str, Release] = {
    "groups": lambda t, m, p, _: t.group_by("plan", "b", keys=TWO, **m).agg(**asked(t)).release(**p),
    "variances": lambda t, m, p, _: t.group_by("plan", keys={"plan": PLANS}, **m).agg(v=t.x.var()).release(**p),
    "file": lambda t, m, p, to: (
        t.group_by("plan", "b", keys=TWO, **m).agg(**asked(t)).release(to=to / "one.parquet", **p)
    ),
    "cube": lambda t, m, p, _: t.group_by("plan", "b", "i", keys=KEYS, cube=True, **m).agg(**asked(t)).release(**p),
    "large domain": lambda t, m, p, _: t.mutate(j=t.i).crosstabs(*WIDE, ways=1, keys=WIDE, **m).release(**p),
    "ranges": lambda t, m, p, _: t.histogram("x", [-5, -1, 0, 2, 3, 5], ranges=True, **m).release(**p),
    "ranges in groups": lambda t, m, p, _: (
        t.group_by("plan", keys={"plan": KEYS["plan"]}, **m)
        .histogram("x", [-5, 0, 3, 5], ranges="prefixes")
        .release(**p)
    ),
    "batch": lambda t, m, p, _: several(t, m).release(**p),
    "batch of ranges": lambda t, m, p, _: dp.batch(
        a=t.filter(t.x > 0).count(),
        x=t.histogram("x", [-5, -1, 0, 2, 5], ranges=True, **m),
        by_plan=t.group_by("plan", keys={"plan": KEYS["plan"]}, **m).histogram("x", [-5, 0, 5], ranges="prefixes"),
        **m,
    ).release(**p),
    "levels": lambda t, m, p, _: t.hierarchy(["b", "plan"], keys=PLACES, **m).agg(**asked(t)).release(**p),
    "level files": lambda t, m, p, to: (
        t.hierarchy(["b", "plan"], keys=PLACES, cells={"i": [0, 1, 2, 3]}, **m)
        .agg(n=t.plan.count())
        .release(to=to / "all", shares=[1, 0, 3], **p)
    ),
}
UNITS: dict[str, tuple[Any, int, dict[str, int]]] = {
    "rows": (dp.ROW, 1, {}),
    "rows of two tables": (dp.ROW, 2, {}),
    "persons": ("person", 2, {"max_groups": 2, "max_rows": 2}),
}
"""The unit, how many tables there are, and limits."""
PRICES: tuple[dict[str, Any], ...] = ({"epsilon": 1}, {"rho": 0.2})


def rows(person: int, number: int, x: float) -> list[dict[str, Any]]:
    return [
        {"person": person, "plan": PLANS[j % 3], "x": x if j % 2 else -x, "i": j % 4, "b": j % 2 == 0}
        for j in range(number)
    ]


def neighbors(unit: Any, tables: int, *, replaced: bool) -> tuple[list[pa.Table], list[pa.Table]]:
    """Tables, and others in which the first person's rows are gone, or are another one's."""
    others, one, other = rows(2, 3, 1.0) + rows(3, 2, -4.0), rows(1, 24, 5.0), rows(9, 19, 0.0)
    if unit is dp.ROW:
        one, other = [one[1]], [other[2]]
    schema = pa.schema([("person", pa.int64()), ("plan", pa.string()), ("x", pa.float64()), ("i", pa.int64())])
    schema = schema.append(pa.field("b", pa.bool_()))
    both = [others + one, others + (other if replaced else [])]
    first, second = ([pa.Table.from_pylist(held, schema)] * tables for held in both)
    return first, second


@dataclass
class Watch:
    """What mechanisms were given, and what they gave: drawn, or that of an earlier run."""

    given: list[tuple[Any, Any, Any]] = field(default_factory=list)
    earlier: list[tuple[Any, Any, Any]] | None = None

    def answer(self, mechanism: Any, exact: Any, draw: Callable[[], Any]) -> Any:
        found = draw() if self.earlier is None else self.earlier[len(self.given)][2].copy()
        self.given.append((mechanism, np.array(exact, dtype=object), found))
        return found


@contextmanager
def watched(patch: pytest.MonkeyPatch, watch: Watch) -> Iterator[None]:
    with patch.context() as own:
        for kind in (Laplace, Gaussian, Staircase, JointTotals):
            own.setattr(kind, "add_noise", _watched(kind.add_noise, watch))
        own.setattr(DistributedNoise, "add_noise", _here)
        yield


def _watched(plain: Any, watch: Watch) -> Any:
    return lambda self, exact, words: watch.answer(self, exact, lambda: plain(self, exact, words))


def _here(self: DistributedNoise, _: Any, totals: list[Any]) -> list[Any]:
    """Noise beside the rows, by mechanisms that can be watched."""
    words = fresh_words()
    return [noise.add_noise(exact, words) for noise, exact in zip(self.noises, totals, strict=True)]


def costs(first: Watch, second: Watch) -> tuple[Fraction, Fraction]:
    """The epsilon of Laplace noise and stairs, and the rho of all noise, by which the two runs can be told apart."""
    epsilon, rho = Fraction(0), Fraction(0)
    assert len(first.given) == len(second.given)
    for (one, x, _), (other, y, _) in zip(first.given, second.given, strict=True):
        assert repr(one) == repr(other)
        apart = [abs(int(a) - int(b)) for a, b in zip(x.ravel(), y.ravel(), strict=True)]
        if isinstance(one, Gaussian):
            rho += Fraction(sum(d * d for d in apart)) / one.scale**2 / 2
            continue
        if isinstance(one, JointTotals):
            own = Fraction(MechanismMetric(one).cost(x, y).epsilon).limit_denominator(10**9)
        else:
            own = Fraction(sum(apart)) / one.scale if isinstance(one, Laplace) else stairs(one, apart)
        epsilon, rho = epsilon + own, rho + own**2 / 2
    return epsilon, rho


def stairs(mechanism: Any, apart: list[int]) -> Fraction:
    """Each sensitivity that an entry moves by costs epsilon, and so does what is left."""
    steps = sum((Fraction(-(-d // mechanism.sensitivity)) for d in apart), Fraction(0))
    return steps * Fraction(mechanism.epsilon)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A release, of which table, at which price."""

    kind: str
    unit: str
    replaced: bool
    price: dict[str, Any]

    def protected(self, tables: list[Any]) -> PrivateTable:
        """All tables as one."""
        unit, budget = UNITS[self.unit][0], dp.Budget(epsilon=10) if "epsilon" in self.price else dp.Budget(rho=1)
        facts: dict[str, Any] = {"unit": unit, "bounds": {"x": (-5, 5), "i": (0, 3)}, "budget": budget}
        if unit is not dp.ROW:
            facts["max_rows"] = 2
        if self.replaced:
            facts |= {"neighbors": "replace-one", "rows" if unit is dp.ROW else "units": 50}
        table, *others = (dp.protect(one, name=f"table {place}", **facts) for place, one in enumerate(tables))
        for other in others:
            table = table.union(other)
        return table


def used(bench: Bench, case: Case, patch: pytest.MonkeyPatch, to: Path) -> Fraction:
    """The largest part of what was charged that two neighbors use."""
    unit, number, limits = UNITS[case.unit]
    both = neighbors(unit, number, replaced=case.replaced)
    table = case.protected([bench.put(data, place) for place, data in enumerate(both[0])])
    runs: list[Watch] = []
    for turn, held in enumerate(both):
        for place, data in enumerate(held):
            bench.put(data, place)
        runs.append(Watch(earlier=runs[0].given if runs else None))
        folder = to / str(turn)
        folder.mkdir()
        with watched(patch, runs[-1]):
            RELEASES[case.kind](table, limits, {**case.price, "fresh": True}, folder)
    epsilon, rho = costs(*runs)
    entry = table.budget.entries()[-1]
    by_rho = rho / entry.rho
    return by_rho if "rho" in case.price else max(by_rho, epsilon / entry.guarantee.epsilon)


CASES = [
    Case(kind=kind, unit=unit, replaced=replaced, price=PRICES[(number + number // 6) % 2])
    for number, (kind, unit, replaced) in enumerate(
        (kind, unit, replaced) for kind in RELEASES for unit in UNITS for replaced in (False, True)
    )
]


@pytest.mark.long
@pytest.mark.cases
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.kind}, {case.unit}, {case.replaced}")
def test_neighbors_use_no_more_than_was_charged(
    bench: Bench, case: Case, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert used(bench, case, monkeypatch, tmp_path) <= 1


AT_A_RHO: dict[str, Callable[[PrivateTable], object]] = {
    "choice": lambda t: t.choose([0, 1, 2], score=lambda c: t.i == c, rho=0.5),
    "most common": lambda t: t.top("plan", keys=PLANS, rho=0.5),
    "most common two": lambda t: t.top("plan", k=2, keys=PLANS, rho=0.5),
    "set": lambda t: t.top("plan", k=2, keys=PLANS, order=False, rho=0.5),
    "clusters": lambda t: t.kmeans(["x", "i"], n_clusters=2, algorithm="lloyd", rounds=1, max_groups=1, rho=0.5),
    "noise": lambda t: t.agg(n=t.plan.count()).release(rho=0.5),
    "median": lambda t: t.agg(m=t.x.median()).release(rho=0.5),
    "median and noise": lambda t: t.agg(m=t.x.median(), n=t.plan.count()).release(rho=0.5),
    "levels": lambda t: t.hierarchy(["b", "plan"], keys=PLACES, max_groups=1).agg(n=t.plan.count()).release(rho=0.5),
    "ranges": lambda t: t.histogram("x", [-5, 0, 3, 5], ranges=True, max_groups=1).release(rho=0.5),
}
"""What may be asked at a rho under a budget that counts epsilon: each has an epsilon of its own, or none."""


def epsilon_of(calls: list[Any]) -> Fraction:
    """What all mechanisms that were watched cost together, whatever was booked; without bound, where one has none."""
    drawn = [call.metric.mechanism for call in calls if call.name != "random words"]
    assert drawn
    each: list[Any] = [getattr(one, "epsilon", None) for one in drawn if not isinstance(one, Gaussian)]
    return sum(map(Fraction, each), Fraction(UNBOUNDED if len(each) < len(drawn) else 0))


@pytest.mark.long
@pytest.mark.cases
@pytest.mark.parametrize("kind", AT_A_RHO)
def test_at_a_rho_all_of_epsilon_is_booked(kind: str) -> None:
    """The epsilon of a choice is twice that of noise that costs as much rho."""
    budget = dp.Budget(epsilon=10, delta=0.1)
    [data], _ = neighbors("person", 1, replaced=False)
    facts: dict[str, Any] = {"unit": "person", "max_rows": 1, "bounds": {"x": (-5, 5), "i": (0, 3)}, "budget": budget}
    watched = CallRecorder()
    with mechanisms_watched(watched):
        AT_A_RHO[kind](dp.protect(data, name="people", **facts))
    [entry] = budget.entries()
    assert min(epsilon_of(watched.calls), UNBOUNDED) <= entry.guarantee.epsilon
    assert entry.rho == Fraction(1, 2)


@pytest.mark.parametrize(("kind", "module"), [("levels", levels), ("batch", batches)])
def test_a_false_claim_is_seen(
    bench: Bench, kind: str, module: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Of a unit that is taken to count once."""
    name = "squared_part_sensitivity" if kind == "batch" else "Limits"
    plain = getattr(module, name)

    def once(*given: Any, **named: Any) -> Any:
        if name == "Limits":
            return Limits()
        return plain(given[0], given[1], Limits(), *given[3:], **named)

    monkeypatch.setattr(module, name, once)
    case = Case(kind=kind, unit="persons", replaced=False, price={"rho": 0.2})
    assert used(bench, case, monkeypatch, tmp_path) > 1
