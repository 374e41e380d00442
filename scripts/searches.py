"""Searches over parameters: which epsilon, types, sizes, bounds and limits bring a promise closest to breaking.

For each kind of mechanism an attack with its parameters; for all aggregates and verbs one attack, which computes the
exact totals of two neighbors under any declaration, and holds them against the sensitivity that the plan claims.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

import discreet as dp
from attacked_questions import AGGREGATES, AT_ONCE, PEOPLE, STATED, VERBS
from attacks import PATTERNS, attacks
from discreet.audit import Finding, Report, drawn, exact, sampled
from discreet.audit.compare_runs import findings
from discreet.audit.pipelines import Function
from discreet.exact.amounts import fraction
from discreet.mechanisms.gaussian import Gaussian
from discreet.planning.plan import Plan
from discreet.testing.neighbors import mass_distances
from discreet.testing.statistics import clopper_pearson
from neighbor_bench import Bench

Space = Mapping[str, Sequence[Any]]
Attack = Callable[..., Report | None]

EPSILONS = (3, 1, 0.5, 0.01, 10)
AMOUNTS = (1, Fraction(1, 3), 3, 1000, 2.0**-20)
TYPES = ("int64", "int8", "object", "float64", "float32", "float16")
DELTA = 1e-3


def held(title: str, strain: float, told: str) -> Report:
    """A report of one number: how much of what is allowed was used."""
    message = f"{told}: {strain:.6g} times what is allowed"
    found = (Finding(kind="promise", message=message, size=strain),) if strain > 1 + 1e-9 else ()
    return Report(title=title, findings=found, tried={}, blind=(), strain=strain)


def worse(first: Report, second: Report) -> Report:
    """The one that used more of what is allowed."""
    return max((first, second), key=lambda report: report.strain)


# -- noise on numbers -----------------------------------------------------------------------------------------


def inputs(kind: str, base: float, moved: Fraction, spread: tuple[int, str]) -> tuple[Any, Any] | None:
    """Two vectors of a type whose distance is `moved`, all in one entry or shared; None where the type
    cannot.
    """
    size, place = spread
    if kind in ("int64", "int8", "object"):
        moved = Fraction(math.floor(moved))
    each = moved / size if place == "shared" else moved
    values: Sequence[float] = [base] * size
    where = {"first": [0], "last": [size - 1], "shared": range(size)}[place]
    others: Sequence[float] = [base + float(each) if i in where else base for i in range(size)]
    if kind == "object":
        values, others = ([int(value) for value in part] for part in (values, others))
    with np.errstate(over="ignore", invalid="ignore"):
        one, two = (
            np.array(found, dtype=object if kind == "object" else None).astype(kind) for found in (values, others)
        )
    pairs = list(zip(one.tolist(), two.tolist(), strict=True))
    if not all(math.isfinite(x) for pair in pairs for x in pair):
        return None
    far = sum(abs(Fraction(x) - Fraction(y)) for x, y in pairs)
    return (one, two) if 0 < far <= moved else None


NUMBERS: Space = {
    "epsilon": EPSILONS, "sensitivity": AMOUNTS, "kind": TYPES, "base": (0, -1, 100, 2.0**20, 2.0**52),
    "size": (1, 2, 5), "place": ("first", "last", "shared"),
}  # fmt: skip


def many(mechanism: Any, values: Any, runs: int) -> Any:
    """So many releases of one vector, at once."""
    return mechanism.release(np.tile(values, (runs, 1)))


def laplace(runs: int) -> Attack:
    """Noise on vectors, against exact ratios of the scale and against samples."""

    def attack(*, epsilon: float, sensitivity: Any, kind: str, base: float, size: int, place: str) -> Report | None:
        pair = inputs(kind, base, fraction("sensitivity", sensitivity), (size, place))
        if pair is None:
            return None
        made = dp.Laplace(sensitivity=sensitivity, epsilon=epsilon)
        least = fraction("sensitivity", sensitivity) / fraction("epsilon", epsilon)
        scale = made.scale if kind in ("int64", "int8", "object") else made.real_scale(size)
        stated = held("scale", float(least / scale), "the scale is too small")
        return worse(stated, drawn(*(many(made, one, runs) for one in pair), epsilon=epsilon))

    return attack


def gaussian(runs: int) -> Attack:
    """Rounded and discrete Gaussian noise, on vectors that move in one entry."""

    def attack(
        *, epsilon: float, sensitivity: Any, kind: str, base: float, size: int, place: str, law: Any = dp.Gaussian
    ) -> Report | None:
        pair = inputs(kind, base, fraction("sensitivity", sensitivity), (size, place))
        if pair is None:
            return None
        if law is dp.Gaussian:
            made = law(sensitivity=sensitivity, epsilon=epsilon, delta=DELTA)
            stated = held("delta", made.loss.delta(fraction("epsilon", epsilon)) / DELTA, "delta is too large")
        else:
            rho = float(fraction("epsilon", epsilon)) ** 2 / 2
            made = law(sensitivity=sensitivity, rho=rho)
            spent = fraction("sensitivity", sensitivity) ** 2 / (2 * made.sigma2)
            stated = held("rho", float(spent / fraction("rho", rho)), "rho is too large")
            epsilon = rho + 2 * math.sqrt(rho * math.log(1 / DELTA))
        return worse(stated, drawn(*(many(made, one, runs) for one in pair), epsilon=epsilon, delta=DELTA))

    return attack


def staircase(runs: int) -> Attack:
    """A law for one number, sampled one by one."""

    def attack(*, epsilon: float, sensitivity: Any, minimize: str, kind: str, base: float) -> Report | None:
        pair = inputs(kind, base, fraction("sensitivity", sensitivity), (1, "first"))
        if pair is None:
            return None
        made = dp.Staircase(sensitivity=sensitivity, epsilon=epsilon, minimize=minimize)
        first, second = (one.tolist()[0] for one in pair)
        return sampled(made.release, first, second, epsilon=epsilon, runs=max(1000, runs // 4))

    return attack


# -- choices, keys, reports -----------------------------------------------------------------------------------


def choosing(runs: int) -> Attack:
    """All laws that choose one of several, by enumeration."""
    del runs

    def attack(
        *, law: str, noise: str, epsilon: float, pattern: str, size: int, gap: float, sensitivity: Any, monotonic: bool
    ) -> Report | None:
        first, second = (np.resize(np.array(part), size) for part in PATTERNS[pattern])
        if monotonic and not (np.all(first <= second) or np.all(first >= second)):
            return None
        ramp, step = np.arange(size) * gap, float(fraction("sensitivity", sensitivity))
        if not (np.array_equal((first * step + ramp - ramp) / step, first) and step * 2**40 > 1):
            return None
        more = {"noise": noise} if law == "NoisyMax" else {}
        made = getattr(dp, law)(sensitivity=step, epsilon=epsilon, monotonic=monotonic, **more)
        chances = [made.probabilities(part * step + ramp) for part in (first, second)]
        if min(min(one) for one in chances) < 1e-200:
            return None
        return exact(*(one.tolist() for one in chances), epsilon=epsilon * (1 + 1e-7))

    return attack


def keys(runs: int) -> Attack:
    """Keys of one unit alone, and keys that it shares with others; by chances and by samples."""

    def attack(*, law: str, epsilon: float, delta: float, groups: int, others: int) -> Report:
        if law == "Threshold":
            made: Any = dp.Threshold(epsilon=epsilon, delta=delta, max_groups=groups)
            whole, weight = 1, 1
        else:
            made = dp.KeySelection(epsilon=epsilon, delta=delta, max_groups=groups, method=law)
            whole, weight = made.steps, made.weight(groups)
        with_unit, without = (
            shown(made, np.full((runs, groups), others * whole + more)) for more in (weight, 0)
        )  # fmt: skip
        report = drawn(with_unit, without, epsilon=epsilon, delta=delta)
        if others:
            return report
        seen = int(np.isfinite(with_unit).any(axis=1).sum())
        least = clopper_pearson(seen, runs, confidence=1 - 2e-6)[0]
        return worse(report, held("delta", least / delta, "keys of one unit are shown too often"))

    return attack


def shown(made: Any, totals: Any) -> Any:
    """What is shown of each key: its noisy count, or 1; NaN of the others. Keys that nobody has are not asked about."""
    kept = np.full(totals.size, np.nan)
    if totals.any():
        found = made.release(totals.reshape(-1))
        places, numbers = found if isinstance(made, dp.Threshold) else (found, 1.0)
        kept[places] = numbers
    return kept.reshape(totals.shape)


def responses(runs: int) -> Attack:
    """Answers that each person blurs alone: the whole report of one person, with the answers all exchanged."""

    def attack(*, epsilon: float, categories: int, questions: int, first: int, second: int) -> Report | None:
        if first % categories == second % categories:
            return None
        made = dp.RandomizedResponse(epsilon=epsilon, categories=categories, questions=questions)
        shape = (runs,) if questions == 1 else (runs, questions)
        both = (made.release(np.full(shape, one % categories)).reshape(runs, -1) for one in (first, second))
        codes = [part @ categories ** np.arange(questions) for part in both]
        return drawn(*codes, epsilon=epsilon)

    return attack


def others(runs: int) -> Attack:
    """Every other attack on a mechanism, at every epsilon."""
    every = {f"{one.mechanism}: {one.words}": one for one in attacks() if one.cost < 10}

    def attack(*, name: str, epsilon: float) -> Report:
        one = every[name]
        made = max(1000, runs // (4 * one.cost))
        return sampled(one.make(epsilon), one.first, one.second, epsilon=epsilon, delta=one.delta, runs=made)

    return attack


def clusters(runs: int) -> Attack:
    """K-means on arrays, replayed with one point more: every step of it within what it states."""
    del runs

    def attack(
        *,
        algorithm: str,
        n_clusters: int,
        rounds: int,
        neighbors: str,
        epsilon: float,
        columns: int,
        low: float,
        far: str,
    ) -> Report:
        places = np.linspace(low, low + 10, 12)
        rows = np.stack([np.roll(places, i) for i in range(columns)], axis=1)
        point = {"corner": low, "other corner": low + 10, "outside": 1e6, "middle": low + 5}[far]
        more = np.full((1, columns), point)
        pair = (rows[:-1], more) if neighbors == "replace-one" else (rows, more)
        first = np.concatenate([pair[0], rows[-1:]]) if neighbors == "replace-one" else rows
        made = dp.KMeans(
            n_clusters, epsilon=epsilon, bounds=([low] * columns, [low + 10] * columns), algorithm=algorithm,
            rounds=rounds, neighbors=neighbors,
        )  # fmt: skip
        pipeline = Function(name="k-means", function=lambda data: made.fit(data).cluster_centers_, like=None)
        one = pipeline.run(first)
        other = pipeline.run(np.concatenate(pair), one.recorder.calls)
        found = findings(one, other, ("the warnings",), None, far)
        shares = [
            before.metric.distance(before.value, after.value) / before.metric.declared
            for before, after in zip(one.recorder.calls, other.recorder.calls, strict=False)
            if before.metric.declared
        ]
        return held("k-means", max([*shares, *(2.0 for _ in found)]), "; ".join(map(str, found)) or "a step moves")

    return attack


# -- questions ------------------------------------------------------------------------------------------------

ASKS = (
    {"aggregate mean": AGGREGATES["mean"]}
    | {f"aggregate {name}": ask for name, ask in AGGREGATES.items()}
    | {f"verb {name}": ask for name, ask in VERBS.items() if name not in {*AT_ONCE, "crosstabs"}}
)
"""What has one plan. K-means makes many, the top values have none, several tables have another one: they are replayed.

A mean comes first: two units can move it all the way.
"""

QUESTIONS: Space = {
    "ask": tuple(ASKS), "neighbors": ("add-remove", "replace-one"), "unit": ("person", "row"), "delta": (0, 1e-6),
    "epsilon": (1, 0.01, 100), "max_groups": (2, 1, 4), "max_rows": (2, 1, 7),
    "age": (pa.int64(), pa.int8(), pa.uint64(), pa.int16()),
    "cost": (pa.float64(), pa.float32(), pa.float16(), pa.decimal128(20, 2)),
    "bounds": ((0, 50), (-50, 0), (-1, 2), (-0.5, 900), (10**6, 10**6 + 1)),
    "rows": (40, 1, 2, 3), "value": ("high", "low", "huge", "hugely negative", "NaN", "NULL"),
    "groups": ("every", "one", "unlisted", "NULL"),
}  # fmt: skip

OTHER_END = {"high": "low", "low": "high", "huge": "hugely negative"}
"""What the unit has that is replaced."""

PLANS: Mapping[str, list[Any]] = {"one": ["a"], "every": ["a", "b", "d", None], "unlisted": ["z", "a"], "NULL": [None]}


def value_of(kind: pa.DataType, word: str, bounds: tuple[float, float]) -> Any:
    """A value of a column's type: an end of its bounds, or one that breaks things."""
    if word == "NULL" or (word == "NaN" and not pa.types.is_floating(kind)):
        return None
    wanted = {"low": bounds[0], "high": bounds[1], "huge": 1e4, "hugely negative": -1e4, "NaN": math.nan}[word]
    if pa.types.is_floating(kind):
        wanted = min(max(wanted, -6e4), 6e4) if pa.types.is_float16(kind) else wanted
        return kind.to_pandas_dtype()(wanted)
    if pa.types.is_decimal(kind):
        return pa.scalar(str(wanted)).cast(kind).as_py()
    info = np.iinfo(kind.to_pandas_dtype())
    return int(min(max(wanted, info.min), info.max))


def with_unit(table: pa.Table, unit: int, rows: int, plans: list[Any], values: Mapping[str, Any]) -> pa.Table:
    """The table with one unit of so many rows in each of some groups."""
    every = [plan for plan in plans for _ in range(rows)]
    parts = {"person": [unit] * len(every), "plan": every} | {name: [one] * len(every) for name, one in values.items()}
    more = [pa.array(parts[field.name], field.type) for field in table.schema]
    return pa.concat_tables([table, pa.table(more, schema=table.schema)])


@functools.cache
def bench() -> Bench:
    """One for each process."""
    return Bench()


def apart(plan: Plan, first: list[Any], second: list[Any]) -> list[float]:
    """How far the totals of each block are apart in the norm of its noise, as a part of what the plan claims."""
    found = []
    for block, one, other in zip(plan.blocks, first, second, strict=True):
        steps = [abs(int(a) - int(b)) for a, b in zip(one.reshape(-1), other.reshape(-1), strict=True)]
        far = math.sqrt(sum(d * d for d in steps)) if isinstance(block.noise, Gaussian) else float(sum(steps))
        found.append(far / float(block.sensitivity))
    return found


def asked(runs: int) -> Attack:
    """Any question about any declaration: exact totals with and without one unit."""
    del runs

    def attack(**p: Any) -> Report:
        plain = PEOPLE.set_column(2, "age", PEOPLE["age"].cast(p["age"]))
        plain = plain.set_column(3, "cost", PEOPLE["cost"].cast(pa.float64()).cast(p["cost"]))
        by_row, replaced = p["unit"] == "row", p["neighbors"] == "replace-one"
        rows, plans = 1 if by_row else p["rows"], PLANS[p["groups"]][: 1 if by_row else None]
        second, other = (
            with_unit(plain, unit, rows, plans, {
                "age": value_of(p["age"], word, (0, 110)), "cost": value_of(p["cost"], word, p["bounds"]),
            }) for unit, word in ((9, p["value"]), (8, OTHER_END.get(p["value"], "high")))
        )  # fmt: skip
        first = other if replaced else plain
        stated: dict[str, Any] = {"bounds": {"age": (0, 110), "cost": p["bounds"]}, "keys": STATED["keys"]}
        stated |= {"unit": dp.ROW} if by_row else {
            "unit": "person", "max_groups": p["max_groups"], "max_rows": p["max_rows"]
        }  # fmt: skip
        if replaced:
            stated |= {"neighbors": "replace-one", "rows" if by_row else "units": 8}
        question = ASKS[p["ask"]](bench().protect(first, **stated))
        plan = bench().plan(question, epsilon=p["epsilon"], delta=p["delta"])
        totals, masses = bench().totals(plan), bench().masses(plan)
        parts = apart(plan, totals, bench().totals(plan, second))
        changes = 2 if replaced else 1
        moved = mass_distances(masses, bench().masses(plan))
        parts += [far / (changes * one.cuts.mass) for far, one in zip(moved, plan.ranks, strict=True)]
        return held(repr(question), max(parts, default=0.0), "the totals move too far")

    return attack


SEARCHES: Mapping[str, tuple[Callable[[int], Attack], Space]] = {
    "Laplace": (laplace, NUMBERS),
    "Gaussian": (gaussian, {**NUMBERS, "law": (dp.Gaussian, dp.DiscreteGaussian)}),
    "Staircase": (staircase, {
        "epsilon": EPSILONS, "sensitivity": AMOUNTS, "minimize": ("error", "variance"), "kind": TYPES,
        "base": NUMBERS["base"],
    }),
    "Exponential, PermuteAndFlip, NoisyMax": (choosing, {
        "law": ("Exponential", "PermuteAndFlip", "NoisyMax"), "noise": ("exponential", "laplace", "gumbel"),
        "epsilon": EPSILONS, "pattern": tuple(PATTERNS), "size": (2, 3, 5, 12), "gap": (0, 0.5, 2),
        "sensitivity": (1, 3, 2.0**-10, 1024), "monotonic": (False, True),
    }),
    "Threshold, KeySelection": (keys, {
        "law": ("Threshold", "optimal", "gaussian", "weighted"), "epsilon": (0.1, 1, 5), "delta": (0.01, 0.05, 0.3),
        "groups": (1, 2, 3, 8), "others": (0, 1, 2, 10),
    }),
    "RandomizedResponse": (responses, {
        "epsilon": EPSILONS, "categories": (2, 3, 8), "questions": (1, 2, 4), "first": (0, 1, 7), "second": (0, 1, 7),
    }),
    "KMeans": (clusters, {
        "algorithm": ("best", "lloyd"), "n_clusters": (1, 2, 5), "rounds": (1, 3), "columns": (1, 2, 4),
        "neighbors": ("add-remove", "replace-one"), "epsilon": (0.1, 1, 50), "low": (0, -5, -10, 1000),
        "far": ("corner", "other corner", "outside", "middle"),
    }),
    "every mechanism": (others, {
        "name": tuple(f"{one.mechanism}: {one.words}" for one in attacks() if one.cost < 10), "epsilon": (0.5, 2, 6),
    }),
    "aggregates and verbs": (asked, QUESTIONS),
}  # fmt: skip
"""By what is attacked: how, with so many runs where it is sampled, and the values to try."""
