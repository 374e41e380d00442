"""Compositions of anything with anything, asked in any order: the ends of a fresh object, around what is enumerated.

The references are sums over all outputs in 400 bits, and share no code with the contour.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import pytest
from flint import arb, ctx

import depth
from discreet.accounting import event_losses as losses
from discreet.accounting.privacy_loss import Loss
from discreet.exact.bisection import float_up
from discreet.noise.certified_comparison import real

BITS = 400
EXAMPLES = max(3, depth.examples(30))
MOST_OUTPUTS = 500
LEAST = arb("1e-1000")
"""Beside each reference: what tables of infinitely many outputs lack."""

Outputs = list[tuple[arb, arb]]


class Mixture(NamedTuple):
    """What makes a loss, and its law."""

    made: Callable[[], Loss]
    outputs: Outputs
    """Probabilities of all discrete outputs on both neighbors."""
    mu2: Fraction
    """Of all Gaussian noise together; 0 without."""


def pure(random: random.Random) -> tuple[Loss, Outputs]:
    epsilon = amount(random)
    return losses.pure_loss(epsilon), response_of(epsilon)


def approximate(random: random.Random) -> tuple[Loss, Outputs]:
    epsilon, delta = amount(random), Fraction(random.choice(["1/3", "1e-9", "1e-30", "0.5", "1e-300"]))
    pair = [(real(1 - delta) * p, real(1 - delta) * q) for p, q in response_of(epsilon)]
    return losses.approximate_loss(epsilon, delta), [*pair, (real(delta), arb(0)), (arb(0), real(delta))]


def response(random: random.Random) -> tuple[Loss, Outputs]:
    epsilon, categories = amount(random), random.randint(2, 5)
    whole = real(epsilon).exp() + categories - 1
    truth, lie = real(epsilon).exp() / whole, 1 / whole
    law = [(truth, lie), (lie, truth), ((categories - 2) * lie, (categories - 2) * lie)]
    return losses.randomized_response_loss(epsilon, categories), law[: 2 + (categories > 2)]


def finite(random: random.Random) -> tuple[Loss, Outputs]:
    def law() -> list[Fraction]:
        weights = [random.choice([0, 1, 1, 2, 5, 1000]) for _ in range(4)]
        return [Fraction(w, sum(weights)) for w in weights] if any(weights) else law()

    first, second = law(), law()
    return losses.finite_loss(first, second), [(real(p), real(q)) for p, q in zip(first, second, strict=True)]


def discrete_laplace(random: random.Random) -> tuple[Loss, Outputs]:
    steps, scale = random.randint(1, 5), amount(random)
    q = (-1 / real(scale)).exp()
    inner = [(1 - q) / (1 + q) * q**x for x in range(1, steps)]
    law = [1 / (1 + q), *inner, q**steps / (1 + q)]
    return losses.discrete_laplace_loss(steps, scale), list(zip(law, law[::-1], strict=True))


def discrete_gaussian(random: random.Random) -> tuple[Loss, Outputs]:
    sigma2, steps = Fraction(random.choice(["1/9", "1/2", "2", "7/3"])), random.randint(1, 2)
    farthest = math.ceil(70 * math.sqrt(sigma2)) + steps
    law = [(-(real(Fraction(x) ** 2) / real(2 * sigma2))).exp() for x in range(-farthest, farthest + 1)]
    whole = sum(law, arb(0))
    first = [value / whole for value in law] + [arb(0)] * steps
    return losses.discrete_gaussian_loss(sigma2, steps), list(zip(first, first[::-1], strict=True))


def amount(random: random.Random) -> Fraction:
    return Fraction(f"{10 ** random.uniform(-3, 1):.4g}")


KINDS = [pure, approximate, response, finite, discrete_laplace, discrete_gaussian]


def times(one: Outputs, other: Outputs) -> Outputs:
    """All outputs of both; those of equal loss were not told apart anyway."""
    return [(p * a, q * b) for p, q in one for a, b in other]


def mixture(random: random.Random) -> Mixture:
    parts: list[Loss] = []
    outputs: Outputs = [(arb(1), arb(1))]
    for _ in range(random.randint(0, 4)):
        part, law = random.choice(KINDS)(random)
        if len(outputs) * len(law) <= MOST_OUTPUTS:
            parts.append(part)
            outputs = times(outputs, law)
    mus = [amount(random) for _ in range(random.choice([0, 1, 1, 3]))] if parts else [amount(random)]
    parts += [losses.gaussian_loss(mu) for mu in mus]
    random.shuffle(parts)
    return Mixture(lambda: losses.composed(parts), outputs, sum((mu**2 for mu in mus), Fraction(0)))


def normal(x: arb) -> arb:
    return (-x / arb(2).sqrt()).erfc() / 2


def above(mixed: Mixture, t: Fraction) -> tuple[arb, arb]:
    """P(L > t) and Q(L > t), infinite losses included."""
    first, second, mu = arb(0), arb(0), real(mixed.mu2).sqrt()
    for p, q in mixed.outputs:
        if bool(p == 0):
            continue
        if bool(q == 0):
            first += p
        elif mixed.mu2:
            place = (real(t) - (p / q).log()) / mu
            first += p * normal(mu / 2 - place)
            second += q * normal(-mu / 2 - place)
        elif bool(p > real(t).exp() * q):
            first, second = first + p, second + q
    return first, second


def delta(mixed: Mixture, epsilon: Fraction) -> arb:
    """Of the forward direction."""
    first, second = above(mixed, epsilon)
    return first - real(epsilon).exp() * second


def backward(mixed: Mixture) -> Mixture:
    return mixed._replace(outputs=[(q, p) for p, q in mixed.outputs])


def worst(ask: Callable[[Mixture], arb], mixed: Mixture) -> arb:
    there, back = ask(mixed), ask(backward(mixed))
    return there if bool(there > back) else back


def not_below(upper: float, truth: arb) -> bool:
    return not bool(arb(upper) < truth - LEAST)


def not_above(lower: float, truth: arb) -> bool:
    return not bool(arb(lower) > truth + LEAST)


def asked(random: random.Random) -> tuple[str, Fraction]:
    """A figure, and where."""
    sign, size = random.choice([1, 1, 1, -1]), Fraction(f"{10 ** random.uniform(-4, 1.7):.5g}")
    name = random.choice(["delta", "delta", "epsilon", "tail", "tradeoff"])
    if name == "epsilon":
        return name, Fraction(f"{10 ** random.uniform(-300 if random.random() < 0.1 else -20, -0.01):.5g}")
    return name, Fraction(f"{random.uniform(0, 1) ** 4:.5g}") if name == "tradeoff" else sign * size


ASK: dict[str, Callable[[Loss, Fraction], Any]] = {
    "delta": Loss.delta_bounds,
    "epsilon": Loss.epsilon_bounds,
    "tail": Loss.tail,
    "tradeoff": Loss.tradeoff,
}


def check(mixed: Mixture, name: str, place: Fraction, found: Any) -> None:
    """The ends are around what is enumerated; a mixture that is only dominated may have a larger upper end."""
    if name == "delta":
        truth = worst(lambda one: delta(one, place), mixed)
        assert not_above(found.lower, truth), (name, place, found, truth)
        assert not_below(found.upper, truth), (name, place, found, truth)
    elif name == "epsilon":
        lower, upper = found
        if math.isfinite(upper):
            assert not_below(float_up(place), worst(lambda one: delta(one, Fraction(upper)), mixed)), (place, found)
        if lower > 0.0:
            just_below = Fraction(min(lower, 1e4)) * (1 - Fraction(1, 2**60))
            truth = worst(lambda one: delta(one, just_below), mixed)
            assert not bool(truth + LEAST < real(place)), (name, place, found, truth)
    elif name == "tail":
        assert not_below(found, worst(lambda one: above(one, place)[0], mixed)), (name, place, found)


def check_tradeoff(mixed: Mixture, loss: Loss, t: Fraction) -> None:
    """The test that rejects where the loss is above t has these errors; no bound may be above them."""
    for one in (mixed, backward(mixed)):
        power, level = above(one, t)
        alpha = min(Fraction(float(level.upper().mid())) + Fraction(1, 2**1000), Fraction(1))
        alpha = Fraction(min(float_up(alpha), 1.0))
        assert not bool(arb(loss.tradeoff(alpha)) > 1 - power + LEAST), (t, alpha, loss.tradeoff(alpha), 1 - power)


@pytest.mark.parametrize("seed", range(max(EXAMPLES, 1)))
def test_any_order_gives_the_ends_of_a_fresh_object(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - examples, not noise
    with ctx.workprec(BITS):
        mixed = mixture(chance)
        loss = mixed.made()
        for _ in range(6):
            name, place = asked(chance)
            found = ASK[name](loss, place)
            assert found == ASK[name](mixed.made(), place), (name, place)
            check(mixed, name, place, found)
        check_tradeoff(mixed, loss, Fraction(f"{chance.gauss(0, 1):.4g}"))


EPSILON = Fraction("0.005")


def response_of(epsilon: Fraction) -> Outputs:
    truth = 1 / (1 + (-real(epsilon)).exp())
    return [(truth, 1 - truth), (1 - truth, truth)]


def test_a_far_epsilon_after_a_near_one() -> None:
    """Found on 2026-11-22: ends that agreed on 1 where delta is 0.0042."""
    mixed = Mixture(
        lambda: losses.randomized_response_loss(EPSILON) + losses.gaussian_loss(Fraction("0.02")),
        response_of(EPSILON),
        Fraction("0.0004"),
    )
    loss = mixed.made()
    loss.delta(Fraction("0.8"))
    with ctx.workprec(BITS):
        for place in (Fraction("0.01"), Fraction("0.8"), Fraction(-1), Fraction("0.3")):
            found = loss.delta_bounds(place)
            assert found == mixed.made().delta_bounds(place)
            check(mixed, "delta", place, found)
