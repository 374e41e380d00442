"""Events: frozen values that say what was released, in a JSON that later versions can read.

The promise: a ledger holds events as JSON, and a later version of this library reads every event that an earlier one
wrote, with the same meaning. So a class or a field here, once released, is never renamed, removed or given another
meaning; a new field has a default that means what its absence meant; a new kind of event gets a new class and a new
name. A reader refuses a kind or a field that it does not know, rather than pricing half of an event.

Amounts are exact fractions, written as ``"3/10"``. Each class says which law it stands for; `accounting.event_costs`
knows what each costs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from discreet.errors import LedgerError, expected
from discreet.exact.amounts import fraction
from discreet.exact.written_amounts import stored_amount

VERSION = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """One release, or several together."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LaplaceEvent(Event):
    """Continuous Laplace noise on reals: `ratio` is the L1 sensitivity over the scale."""

    ratio: Fraction


@dataclass(frozen=True, kw_only=True, slots=True)
class DiscreteLaplaceEvent(Event):
    """Discrete Laplace noise of this scale on integers that move by at most `sensitivity` in L1 norm."""

    sensitivity: Fraction
    scale: Fraction


@dataclass(frozen=True, kw_only=True, slots=True)
class GaussianEvent(Event):
    """Normal noise, or its rounding: `mu2` is the square of L2 sensitivity over standard deviation."""

    mu2: Fraction


@dataclass(frozen=True, kw_only=True, slots=True)
class DiscreteGaussianEvent(Event):
    """Discrete Gaussian noise with parameter `sigma2` on one integer that moves by at most `sensitivity`."""

    sensitivity: Fraction
    sigma2: Fraction


@dataclass(frozen=True, kw_only=True, slots=True)
class StaircaseEvent(Event):
    """Staircase noise of this epsilon, its steps split at `gamma`."""

    epsilon: Fraction
    gamma: Fraction


@dataclass(frozen=True, kw_only=True, slots=True)
class RandomizedResponseEvent(Event):
    """Randomized response over so many categories."""

    epsilon: Fraction
    categories: Fraction


@dataclass(frozen=True, kw_only=True, slots=True)
class PureEvent(Event):
    """Any epsilon-differentially private release."""

    epsilon: Fraction


@dataclass(frozen=True, kw_only=True, slots=True)
class ApproximateEvent(Event):
    """Any (epsilon, delta)-differentially private release."""

    epsilon: Fraction
    delta: Fraction


@dataclass(frozen=True, kw_only=True, slots=True)
class BoundedRangeEvent(Event):
    """A release whose log-ratios span at most epsilon: the exponential mechanism, Gumbel noisy max."""

    epsilon: Fraction


@dataclass(frozen=True, kw_only=True, slots=True)
class ConcentratedEvent(Event):
    """Any rho-zCDP release."""

    rho: Fraction


@dataclass(frozen=True, kw_only=True, slots=True)
class Composed(Event):
    """Several events on the same data, each as often as it says."""

    events: tuple[Event, ...]
    counts: tuple[int, ...]


KINDS: Mapping[str, type[Event]] = {
    "laplace": LaplaceEvent,
    "discrete-laplace": DiscreteLaplaceEvent,
    "gaussian": GaussianEvent,
    "discrete-gaussian": DiscreteGaussianEvent,
    "staircase": StaircaseEvent,
    "randomized-response": RandomizedResponseEvent,
    "pure": PureEvent,
    "approximate": ApproximateEvent,
    "bounded-range": BoundedRangeEvent,
    "concentrated": ConcentratedEvent,
    "composed": Composed,
}
"""The name of each kind in the record. Only ever added to."""

_NAMES = {kind: name for name, kind in KINDS.items()}
_MAY_BE_ZERO = {("staircase", "gamma"), ("approximate", "delta")}


def composed(*events: Event, times: int = 1) -> Composed:
    """All of them on the same data, `times` over.

    >>> composed(PureEvent(epsilon=Fraction(1, 10)), times=3).counts
    (3,)
    """
    return Composed(events=events, counts=(times,) * len(events))


def to_json(event: Event) -> str:
    """`event` as one line of JSON, the same text for equal events.

    >>> to_json(PureEvent(epsilon=Fraction(3, 10)))
    '{"epsilon":"3/10","event":"pure","version":1}'
    """
    return json.dumps({"version": VERSION, **_plain(event)}, sort_keys=True, separators=(",", ":"))


def from_json(text: str) -> Event:
    """The event that `to_json` wrote; raises LedgerError for anything else."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:  # of too many digits, too
        raise _unreadable("text", "something that is not JSON") from error
    if not isinstance(found, dict) or found.pop("version", None) != VERSION:
        raise _unreadable("version", "another version")
    return _event(found)


def _plain(event: Event) -> dict[str, Any]:
    plain: dict[str, Any] = {"event": _NAMES[type(event)]}
    if isinstance(event, Composed):
        return {**plain, "events": [_plain(one) for one in event.events], "counts": list(event.counts)}
    return {**plain, **{field.name: str(getattr(event, field.name)) for field in fields(event)}}


def _event(found: object) -> Event:
    name = found.get("event") if isinstance(found, dict) else None
    if not isinstance(found, dict) or not isinstance(name, str) or name not in KINDS:
        raise _unreadable("event", "an unknown kind")
    kind, rest = KINDS[name], {key: value for key, value in found.items() if key != "event"}
    if set(rest) != {field.name for field in fields(kind)}:
        raise _unreadable("fields", "fields that are missing or unknown")
    if kind is Composed:
        return _together(rest)
    return kind(**{key: _amount(name, key, value) for key, value in rest.items()})


def _together(rest: Mapping[str, Any]) -> Composed:
    events, counts = rest["events"], rest["counts"]
    if not isinstance(events, list) or not isinstance(counts, list) or len(events) != len(counts) or not events:
        raise _unreadable("events", "events and counts of different lengths")
    if not all(isinstance(number, int) and not isinstance(number, bool) and number > 0 for number in counts):
        raise _unreadable("counts", "counts that are not whole numbers above zero")
    return Composed(events=tuple(_event(one) for one in events), counts=tuple(counts))


def _amount(kind: str, key: str, value: object) -> Fraction:
    try:
        amount = stored_amount(value) if isinstance(value, str) else None
    except (ValueError, ZeroDivisionError):
        amount = None
    if amount is None or amount < 0 or (amount == 0 and (kind, key) not in _MAY_BE_ZERO):
        raise _unreadable(key, "an amount that is no positive fraction")
    return fraction(key, amount)


def _unreadable(name: str, what: str) -> LedgerError:
    cure = "read the record with the version of discreet that wrote it, or a later one."
    return LedgerError(expected("an event of this library", name, what, cure))
