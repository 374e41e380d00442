"""Two runs that saw the same chance and other rows: whatever differs between them has got past the mechanisms."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.accounting.event_losses import composed, gaussian_loss, laplace_loss, pure_loss
from discreet.audit.code_locations import NOWHERE, Place
from discreet.audit.pipelines import Run
from discreet.audit.recording import Call, Diverged, RecordedCost
from discreet.audit.report import Finding
from discreet.audit.visible_output import ERROR

SLACK = 1e-9
"""What floats may be off by, as a part of the whole."""
MOST_LOSSES = 20
CUT = 160


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What the pipeline promises for all its outputs together."""

    epsilon: float
    delta: float = 0.0


def findings(first: Run, second: Run, unstable: Sequence[str], claim: Claim | None, words: str) -> list[Finding]:
    """All that the second run, on a neighbor, shows of the rows."""
    divergence = second.shown.diverged
    pairs = list(zip(first.recorder.calls, second.recorder.calls, strict=False))
    found = [*_calls(pairs, words), *_claimed(pairs, claim, words)]
    if divergence is not None:
        return [*found, _diverged(divergence, words)]
    return [*found, *_surfaces(first, second, unstable, words)]


def _calls(pairs: Sequence[tuple[Call, Call]], words: str) -> Iterator[Finding]:
    for one, other in pairs:
        apart, declared = one.metric.distance(one.value, other.value), one.metric.declared
        for name in one.stated:
            if one.stated[name] != other.stated.get(name):
                values = f"{one.stated[name]} and {other.stated.get(name)}"
                message = f"{name} of {one.name} depends on the rows: {_cut(values)}. Make it of public facts alone."
                yield Finding(kind="parameter", message=message, place=one.place, neighbor=words)
        if declared is not None and not apart <= declared * (1 + SLACK):
            size = math.inf if math.isnan(apart) else apart / declared
            stated = f"{_number(apart)}, and the sensitivity stated is {_number(declared)}"
            message = (
                f"the input of {one.name} moves by {stated}. Bound what one unit can add (clip values, limit rows) "
                "before this line, or state what it really is."
            )
            yield Finding(kind="sensitivity", message=message, place=one.place, neighbor=words, size=size)


def _claimed(pairs: Sequence[tuple[Call, Call]], claim: Claim | None, words: str) -> Iterator[Finding]:
    """Whether the noise really asked for covers this pair at the epsilon that was claimed."""
    costs = [one.metric.cost(one.value, other.value) for one, other in pairs]
    if not pairs or (claim is not None and keeps_claim(costs, claim)):
        return
    priced = [one.metric.declared is not None for (one, _), cost in zip(pairs, costs, strict=True) if _costs(cost)]
    if claim is None and all(priced):
        return
    largest = max(range(len(costs)), key=lambda i: costs[i].epsilon + costs[i].mu)
    total = sum(cost.epsilon for cost in costs)
    mu = math.sqrt(sum(cost.mu**2 for cost in costs))
    part = f"epsilon={_number(total)}" if total else ""
    part += (" and " if part else "") + f"Gaussian noise of mu={_number(mu)}" if mu else ""
    part += f" and delta={sum(cost.delta for cost in costs):g}" if any(cost.delta for cost in costs) else ""
    call, apart = (
        pairs[largest][0],
        pairs[largest][0].metric.distance(pairs[largest][0].value, pairs[largest][1].value),
    )
    stated = ", ".join(f"{name}={value}" for name, value in call.stated.items() if name in {"scale", "epsilon"})
    largest_part = f"{call.name} here, whose input moves by {_number(apart)}" + (f" ({stated})." if stated else ".")
    message = f"telling these two tables apart costs {part} over {sum(map(_costs, costs))} call(s), and "
    if claim is None:
        message += "no epsilon was claimed: state the one that is meant, to hold that against it. "
        message += f"The largest part is {largest_part}"
        yield Finding(
            kind="claim", message=message, place=call.place, neighbor=words, size=total + mu, is_violation=False
        )
        return
    promised = f"epsilon={_number(claim.epsilon)}" + (f", delta={claim.delta:g}" if claim.delta else "")
    message += f"{promised} was claimed. The largest part is {largest_part}"
    yield Finding(kind="claim", message=message, place=call.place, neighbor=words, size=(total + mu) / claim.epsilon)


def _costs(cost: RecordedCost) -> bool:
    return bool(cost.epsilon or cost.mu)


def keeps_claim(costs: Sequence[RecordedCost], claim: Claim) -> bool:
    """Whether these costs together keep a claim.

    >>> keeps_claim([RecordedCost(epsilon=0.5), RecordedCost(epsilon=0.5)], Claim(epsilon=1))
    True
    >>> keeps_claim([RecordedCost(mu=0.1)], Claim(epsilon=1))
    False
    """
    if any(not math.isfinite(cost.epsilon + cost.mu) for cost in costs):
        return False
    mu = math.sqrt(sum(cost.mu**2 for cost in costs))
    pure = sorted((cost.epsilon for cost in costs if cost.epsilon), reverse=True)
    left = claim.delta * (1 + 1e-6) - sum(cost.delta for cost in costs)
    if not mu and sum(pure) <= claim.epsilon * (1 + SLACK):
        return left >= 0
    if left <= 0:
        return False
    parts = [laplace_loss(Fraction(epsilon)) for epsilon in pure[:MOST_LOSSES]]
    if rest := sum(pure[MOST_LOSSES:]):
        parts.append(pure_loss(Fraction(rest)))
    if mu:
        parts.append(gaussian_loss(Fraction(mu)))
    return composed(parts).delta(Fraction(claim.epsilon)) <= left


def _diverged(divergence: Diverged, words: str) -> Finding:
    recorded, met = divergence.recorded, divergence.met
    place = first_place(met, recorded)
    if recorded is None and met is not None:
        what = f"{met.name} is called once more than without this unit"
    elif met is None and recorded is not None:
        what = f"{recorded.name} is not called, as it was without this unit"
    elif recorded is not None and met is not None and (recorded.name, recorded.place) == (met.name, met.place):
        if recorded.shape != met.shape:
            what = f"the input of {met.name} has shape {recorded.shape} for one table and {met.shape} for its neighbor"
        else:
            sizes = f"{recorded.stated.get('size')} for one table and {met.stated.get('size')} for its neighbor"
            what = f"{met.name} is asked for as many values as {sizes}"
    else:
        what = f"one table leads to {_told(recorded)} next, its neighbor to {_told(met)}"
    message = (
        f"{what}. Which calls are made, and for how many values, must not depend on rows: take groups from a public "
        "list, loop over public things, and branch on noisy values only."
    )
    return Finding(kind="control flow", message=message, place=place, neighbor=words, size=1.0)


def first_place(*calls: Call | None) -> Place:
    """The line of the first call that there is."""
    return next((call.place for call in calls if call is not None), NOWHERE)


def _told(call: Call | None) -> str:
    return "no call" if call is None else f"{call.name} at line {call.place.line}"


def _surfaces(first: Run, second: Run, unstable: Sequence[str], words: str) -> Iterator[Finding]:
    for surface, (one, other, place) in first.shown.different(second.shown).items():
        if surface in unstable:
            continue
        if surface == ERROR:
            message = f"whether and how the run fails depends on the rows: {_cut(one)} / {_cut(other)}."
            yield Finding(kind="error", message=message, place=place, neighbor=words, size=2.0)
        elif ERROR not in first.shown.pieces and ERROR not in second.shown.pieces:
            at = first_difference(one, other)
            message = (
                f"{surface} differs, although chance was the same in both runs: {_cut(one[at:])} / {_cut(other[at:])}. "
                "Something computed from rows goes there without a mechanism."
            )
            yield Finding(kind="surface", message=message, place=place, neighbor=words, subject=surface)


def first_difference(one: str, other: str) -> int:
    """Where two texts begin to differ, or a little before.

    >>> first_difference("a" * 100 + "b", "a" * 100 + "c")
    70
    """
    first = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return max(0, first - 30)


def _cut(text: str) -> str:
    return text if len(text) <= CUT else f"{text[:CUT]}..."


def _number(value: float) -> str:
    return f"{value:.6g}"


def seeds(run: Run) -> Iterator[Finding]:
    """Noise that can be foreseen, or that blurs two values at once."""
    for place in dict.fromkeys(run.recorder.seeded):
        message = (
            "this noise comes from a generator with a seed: whoever knows the seed can take it away. Leave it out."
        )
        yield Finding(kind="seed", message=message, place=place, size=1.0)
    for place in dict.fromkeys(run.recorder.reused):
        message = "one draw of noise blurs a second value here: their difference is shown exactly. Draw for each."
        yield Finding(kind="reuse", message=message, place=place, size=1.0)
    by_hand = list(dict.fromkeys(call.place for call in run.recorder.calls if call.name.startswith("noise drawn")))
    if by_hand:
        message = (
            f"noise in floating point, on {len(by_hand)} line(s): the last digits of a sum can show what was added "
            "(Mironov 2012), which this replay does not see. dp.Laplace and dp.Gaussian add exact noise."
        )
        yield Finding(kind="floating point", message=message, place=by_hand[0], is_violation=False)


def unrepeatable(run: Run, again: Run) -> Finding | None:
    """The run on the same rows must make the same calls, or there is nothing to compare with."""
    if again.shown.diverged is None:
        return None
    found = again.shown.diverged
    place = first_place(found.met, found.recorded)
    message = (
        "the same rows, with the same answers of chance, led to other calls: the run cannot be audited. Look for an "
        "order that changes (sets, threads), for time, or for randomness that is not NumPy's or Python's."
    )
    del run
    return Finding(kind="unrepeatable", message=message, place=place)
