"""A lower bound on the epsilon of anything that can be run often on two neighbors, without looking inside.

Claim
    For any program, the probability that `sampled` reports a violation of a true claim is at most `false_alarm`.
Requires
    Independent runs.
Relies on
    The Clopper-Pearson bounds of `testing.statistics`.
Proof
    The events are chosen from the first halves of both samples, and tested on the second halves, of which they are
    independent. For a fixed event E and direction, with probability 1 - a each, P[E] on one table is at least the lower
    bound and on the other at most the upper one; if P[E] <= e^epsilon P'[E] + delta, then the first bound is above
    e^epsilon times the second plus delta with probability at most 2a. There are at most `EVENTS` events in each of two
    directions, and a = false_alarm / (4 EVENTS): union bound.
Rounding
    Floats; the bounds are inflated by one in 10^9.
Source
    Clopper and Pearson (1934); Ding, Wang, Wang, Zhang and Kifer (2018): one sample chooses, another tests.
Mutant
    plain-frequencies: no allowance is made for luck; killed by test_true_claims_are_kept.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.audit.fingerprints import fingerprint
from discreet.audit.report import Finding, Report
from discreet.errors import DiscreetError, InvalidParameter, expected
from discreet.exact.amounts import count, fraction, positive
from discreet.exact.bisection import first_power
from discreet.testing.statistics import clopper_pearson

EVENTS = 12
"""How many events are tested, at most, in each direction."""
CUTS = 101
LEAST = 10
LEAST_RUNS = 1000
FALSE_ALARM = 1e-6
INFLATED = 1 + 1e-9


@dataclass(frozen=True)
class OutputEvent:
    """A set of outcomes, in words."""

    words: str
    holds: Callable[[Any], Any]
    """Which of a sample are in it: a sample in, an array of booleans out."""


@dataclass(frozen=True)
class Sample:
    """Outcomes of many runs: a symbol each, and numbers where there are any."""

    symbols: list[str]
    numbers: Any
    """Shape (runs, features); NaN where a run gave no number there."""

    def part(self, start: int, stop: int) -> Sample:
        """Some of the runs."""
        return Sample(self.symbols[start:stop], self.numbers[start:stop])

    def __len__(self) -> int:
        return len(self.symbols)


def sampled(
    run: Callable[[Any], Any],
    first: Any,
    second: Any,
    *,
    epsilon: Any,
    delta: Any = 0,
    runs: int = 20_000,
) -> Report:
    """Runs something often on two neighbors, and reports the largest epsilon that the outcomes prove.

    Args:
        run: a function of one input. Numbers, arrays and frames are looked at number by number, with their sign and
            their last bits; everything else, an error, NaN and None among it, is a symbol.
        first: an input.
        second: a neighbor of it.
        epsilon: what is claimed of one run.
        delta: likewise.
        runs: how often it runs on each of the two.

    A claim that holds is reported as broken with a probability of at most one in a million.

    Raises:
        InvalidParameter: fewer than 1000 runs, or a claim outside its range.

    >>> import discreet as dp
    >>> honest, half = dp.Laplace(sensitivity=1, epsilon=1), dp.Laplace(sensitivity=1, epsilon=2)
    >>> sampled(honest.release, 0, 1, epsilon=1, runs=2000).ok, sampled(half.release, 0, 1, epsilon=1, runs=8000).ok
    (True, False)
    """
    if count("runs", runs) < LEAST_RUNS:
        raise InvalidParameter(expected("1000 runs or more", "runs", runs, "fewer prove nothing: runs=20_000."))
    one, two = (_sample([_outcome(run, data) for _ in range(runs)]) for data in (first, second))
    return _judged(getattr(run, "__qualname__", type(run).__name__), one, two, (epsilon, delta))


def drawn(first: Any, second: Any, *, epsilon: Any, delta: Any = 0) -> Report:
    """The same of runs that were made already: two arrays of numbers, of shape (runs,) or (runs, numbers of a run).

    Mechanisms that blur an array are sampled in one call. Infinities and NaN are symbols; integers are taken as they
    are, of any size.

    Raises:
        InvalidParameter: fewer than 1000 runs, arrays of two shapes, or a claim outside its range.

    >>> import discreet as dp
    >>> half = dp.Laplace(sensitivity=1, epsilon=2)
    >>> drawn(half.release(np.zeros(8000)), half.release(np.ones(8000)), epsilon=1).ok
    False
    """
    one, two = np.asarray(first), np.asarray(second)
    if one.shape != two.shape or not one.ndim or len(one) < LEAST_RUNS:
        shapes = f"{one.shape} and {two.shape}"
        raise InvalidParameter(expected("two arrays of 1000 runs or more", "shapes", shapes, "one row for each run."))
    return _judged("two arrays", _of_array(one), _of_array(two), (epsilon, delta))


def _judged(name: str, one: Sample, two: Sample, claim: tuple[Any, Any]) -> Report:
    claimed, allowed = float(positive("epsilon", claim[0])), float(fraction("delta", claim[1]))
    width = max(one.numbers.shape[1], two.numbers.shape[1])
    one, two = _wide(one, width), _wide(two, width)
    runs = len(one)
    half = runs // 2
    rows: list[dict[str, Any]] = []
    for direction, (p, q) in {"first over second": (one, two), "second over first": (two, one)}.items():
        for event in chosen(p.part(0, half), q.part(0, half), claimed, allowed):
            rows.append({"direction": direction, "event": event.words})
            rows[-1] |= _tested(event, (p, q), half, allowed)
    rows.sort(key=lambda row: -row["epsilon at least"])
    return _report(name, rows, (claimed, allowed), runs)


def _tested(event: OutputEvent, samples: tuple[Sample, Sample], half: int, delta: float) -> dict[str, float]:
    level = 1 - FALSE_ALARM / (4 * EVENTS)
    hits = [int(np.count_nonzero(event.holds(sample.part(half, len(sample))))) for sample in samples]
    sizes = [len(sample) - half for sample in samples]
    low = clopper_pearson(hits[0], sizes[0], confidence=2 * level - 1)[0] / INFLATED - delta
    high = clopper_pearson(hits[1], sizes[1], confidence=2 * level - 1)[1] * INFLATED
    return {"hits": hits[0], "against": hits[1], "epsilon at least": math.log(low / high) if low > 0 else -math.inf}


def _report(name: str, rows: Sequence[dict[str, Any]], claim: tuple[float, float], runs: int) -> Report:
    epsilon, delta = claim
    best = rows[0] if rows else None
    findings = []
    if best is not None and best["epsilon at least"] > epsilon:
        promised = f"epsilon={epsilon:g}" + (f", delta={delta:g}" if delta else "")
        message = (
            f"epsilon is at least {best['epsilon at least']:.4g}, and {promised} was claimed: the event "
            f'"{best["event"]}" came {best["hits"]} and {best["against"]} times in {runs - runs // 2} runs on each '
            f"({best['direction']})."
        )
        findings.append(Finding(kind="epsilon", message=message, size=best["epsilon at least"] / epsilon))
    tried = {
        "runs on each": runs, "events tested": len(rows), "chance of a false alarm": FALSE_ALARM,
        "a true epsilon that would show": f"about {power(epsilon, runs):.3g} and more, for an event of probability 1/2",
    }  # fmt: skip
    blind = (
        f"what happens in fewer than about {math.log(1 / FALSE_ALARM) / runs:.1g} of all runs",
        "other pairs of tables than this one, and time",
        "events that are not of one number, of its bits, or of one outcome",
    )
    return Report(
        title=f"Samples of {name}", findings=tuple(findings), tried=tried, blind=blind, rows=tuple(rows[:10]),
        strain=max(best["epsilon at least"] / epsilon, 0.0) if best else 0.0,
    )  # fmt: skip


def power(epsilon: float, runs: int) -> float:
    """The smallest true epsilon of Laplace noise that so many runs tell from the claimed one nineteen times in twenty.

    N = (z + z')^2 ((1 - p) / p + (1 - q) / q) / (epsilon' - epsilon)^2 for p = 1/2, q = p e^-epsilon'.

    >>> round(power(1, 20_000), 2)
    1.2
    """

    def shows(true: float) -> bool:
        needed = (5.7 + 1.65) ** 2 * 2 * math.exp(true) / (true - epsilon) ** 2
        return needed <= runs / 2 or true > 7.3 * epsilon

    return first_power(shows, 1.01 * epsilon, 1.01)


def _outcome(run: Callable[[Any], Any], data: Any) -> Any:
    try:
        return run(data)
    except (DiscreetError, Exception) as problem:  # noqa: BLE001 (an error is an outcome)
        return f"{type(problem).__name__}: {problem}"


def _sample(outcomes: Sequence[Any]) -> Sample:
    read = [_numbers(outcome) for outcome in outcomes]
    width = max((len(numbers) for _, numbers in read), default=0)
    table = np.full((len(read), width), np.nan)
    for i, (_, numbers) in enumerate(read):
        table[i, : len(numbers)] = numbers
    return Sample([symbol for symbol, _ in read], table)


def _of_array(values: Any) -> Sample:
    """The same of an array, column by column."""
    table = values.reshape(len(values), -1)[:, :MOST_NUMBERS]
    if table.dtype.kind in "iubO":
        high = (
            (table.astype(object) + WHOLE // 2) // WHOLE if table.dtype.kind in "uO" else (table + WHOLE // 2) // WHOLE
        )
        numbers, parts = (table - high * WHOLE).astype(np.float64), high
    else:
        numbers = np.where(np.isfinite(table), table, np.nan).astype(np.float64)
        parts = np.where(np.isfinite(table), 0.0, table.astype(np.float64))
    if not np.any(parts != 0):
        return Sample([repr(np.zeros_like(parts[0]).tolist())] * len(table), numbers)
    return Sample([repr(row) for row in parts.tolist()], numbers)


def _wide(sample: Sample, width: int) -> Sample:
    missing = width - sample.numbers.shape[1]
    if not missing:
        return sample
    return Sample(sample.symbols, np.pad(sample.numbers, ((0, 0), (0, missing)), constant_values=np.nan))


MOST_NUMBERS = 64
WHOLE = 1 << 40


def _numbers(outcome: Any) -> tuple[str, list[float]]:
    """An outcome as a symbol, without its finite numbers, and those numbers."""
    if isinstance(outcome, bool | str | np.bool_) or outcome is None:
        return repr(outcome), []
    if isinstance(outcome, int | float | np.number):
        return _number(outcome)
    for method in ("to_pyarrow", "to_arrow"):
        if hasattr(outcome, method):
            outcome = getattr(outcome, method)()
    if hasattr(outcome, "to_pylist") or hasattr(outcome, "tolist"):
        kind = str(getattr(outcome, "schema", getattr(outcome, "dtype", "")))
        symbol, numbers = _numbers(outcome.to_pylist() if hasattr(outcome, "to_pylist") else outcome.tolist())
        return kind + symbol, numbers
    if isinstance(outcome, dict):
        symbol, numbers = _numbers(list(outcome.values()))
        return f"{list(outcome)!r} {symbol}", numbers
    if isinstance(outcome, list | tuple):
        parts = [_numbers(one) for one in outcome]
        return ",".join(symbol for symbol, _ in parts), [n for _, part in parts for n in part][:MOST_NUMBERS]
    return fingerprint(outcome), []


def _number(outcome: Any) -> tuple[str, list[float]]:
    if isinstance(outcome, int | np.integer):
        high = (int(outcome) + WHOLE // 2) // WHOLE  # so that no digit is lost in a float
        symbol = f"integer {int(outcome)}" if abs(int(outcome)) < 50 else f"integer near {high} * 2^40"
        return symbol, [float(int(outcome) - high * WHOLE)]
    value = float(outcome)
    return (type(outcome).__name__, [value]) if math.isfinite(value) else (repr(value), [])


def chosen(one: Sample, two: Sample, epsilon: float, delta: float) -> list[OutputEvent]:
    """The events of a training sample that are most likely to be too much more likely on the first than the second."""
    scored: list[tuple[float, OutputEvent]] = []
    for event in _events(one, two):
        p = int(np.count_nonzero(event.holds(one))) / len(one)
        q = max(int(np.count_nonzero(event.holds(two))), 1) / len(two)
        if p * len(one) >= LEAST and p > delta:
            noise = math.sqrt(max(1 - p, 1 / len(one)) / (p * len(one)) + 1 / (q * len(two)))
            scored.append((math.log((p - delta) / q) - epsilon - 2 * noise, event))
    scored.sort(key=lambda pair: -pair[0])
    return [event for _, event in scored[:EVENTS]]


def _events(one: Sample, two: Sample) -> Iterator[OutputEvent]:
    yield from _symbols(one, two)
    width = one.numbers.shape[1]
    for feature in range(width):
        values = np.concatenate([one.numbers[:, feature], two.numbers[:, feature]])
        values = values[np.isfinite(values)]
        if not values.size:
            continue
        label = "the value" if width == 1 else f"number {feature + 1}"
        for cut in np.unique(np.quantile(values, np.linspace(0, 1, CUTS), method="nearest")):
            yield OutputEvent(f"{label} >= {cut:.6g}", _at_least(feature, cut))
            yield OutputEvent(f"{label} <= {cut:.6g}", _at_most(feature, cut))
        common, counts = np.unique(values, return_counts=True)
        for value in common[np.argsort(-counts)][:50]:
            yield OutputEvent(f"{label} is {value:.17g}", _equal(feature, value))
        yield from _bits(label, feature)


def _symbols(one: Sample, two: Sample) -> Iterator[OutputEvent]:
    counts, others = Counter(one.symbols), Counter(two.symbols)
    for symbol, _ in counts.most_common(50):
        yield OutputEvent(f"the outcome is {symbol[:80]}", _symbol({symbol}))
    for ratio in (1.0, 2.0, 4.0, 16.0):
        many = {symbol for symbol, n in counts.items() if n > ratio * max(others.get(symbol, 0), 1)}
        if len(many) > 1:
            yield OutputEvent(f"one of {len(many)} outcomes that are {ratio:g} times likelier", _symbol(many))


def _symbol(symbols: set[str]) -> Callable[[Sample], Any]:
    return lambda sample: np.array([symbol in symbols for symbol in sample.symbols])


def _at_least(feature: int, cut: float) -> Callable[[Sample], Any]:
    return lambda sample: sample.numbers[:, feature] >= cut


def _at_most(feature: int, cut: float) -> Callable[[Sample], Any]:
    return lambda sample: sample.numbers[:, feature] <= cut


def _equal(feature: int, value: float) -> Callable[[Sample], Any]:
    return lambda sample: sample.numbers[:, feature] == value


def _bits(label: str, feature: int) -> Iterator[OutputEvent]:
    """Low digits: for values near zero, whether they are multiples of powers of two that larger ones must be."""
    for power_of_two in (-53, -50, -45, -40):
        for size in (-4, 0, 4):

            def fine(sample: Sample, power_of_two: int = power_of_two, size: int = size) -> Any:
                values = sample.numbers[:, feature]
                with np.errstate(invalid="ignore", over="ignore"):
                    scaled = values * 2.0**-power_of_two
                    return (np.abs(values) < 2.0**size) & (scaled != np.round(scaled))

            yield OutputEvent(f"{label} is below 2^{size} and no multiple of 2^{power_of_two}", fine)
    yield OutputEvent(
        f"{label} is minus zero", lambda s: (s.numbers[:, feature] == 0) & np.signbit(s.numbers[:, feature])
    )
