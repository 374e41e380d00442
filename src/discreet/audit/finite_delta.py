"""Computes delta for each epsilon of two finite laws, by enumeration: exactly, without samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from discreet.accounting.event_losses import finite_loss
from discreet.accounting.privacy_loss import Loss
from discreet.audit.report import Finding, Report
from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import fraction, positive
from discreet.exact.bisection import least

GRID = (0, 0.1, 0.5, 1, 2, 4, 8)
SLACK = 1e-9


def exact(
    first: Mapping[Any, float | Fraction] | Sequence[float | Fraction],
    second: Mapping[Any, float | Fraction] | Sequence[float | Fraction],
    *,
    epsilon: Any,
    delta: Any = 0,
    name: str = "two laws",
) -> Report:
    """Holds a claim against the two laws of the outputs on two neighbors, in both directions.

    Args:
        first: the probability of each output on a table, by output or in order.
        second: the same on its neighbor; an output that is missing in one of two mappings has probability 0 there.
        epsilon: what was claimed.
        delta: likewise.
        name: what the report calls them.

    Raises:
        InvalidParameter: the probabilities are not those of a law, or the lists differ in length.

    >>> exact([0.7, 0.3], [0.3, 0.7], epsilon=1).ok, exact([0.8, 0.2], [0.2, 0.8], epsilon=1).ok
    (True, False)
    """
    outputs, one, two = _aligned(first, second)
    claimed, allowed = float(positive("epsilon", epsilon)), float(fraction("delta", delta))
    loss = finite_loss(one, two)
    grid = sorted({*map(float, GRID), claimed})
    rows = tuple({"epsilon": value, "delta": loss.delta(Fraction(value))} for value in grid)
    found = loss.delta_bounds(Fraction(claimed)).lower  # what is surely there: nobody is blamed for rounding
    findings = []
    if found > allowed * (1 + SLACK) + SLACK**2:
        ratios = [_ratio(p, q) for p, q in zip(one, two, strict=True)]
        worst = max(range(len(ratios)), key=lambda i: ratios[i])
        message = (
            f"delta is {found:.6g} at epsilon={claimed:g}, and {allowed:g} was claimed. The output that tells most is "
            f"{outputs[worst]!r}, of probability {float(one[worst]):.6g} on one table and {float(two[worst]):.6g} on "
            "the other."
        )
        findings.append(Finding(kind="delta", message=message, size=found))
    blind = ("other pairs of tables than this one", "whether a program really has these laws (audit.sampled looks)")
    return Report(
        title=f"Exact audit of {name}", findings=tuple(findings), rows=rows, blind=blind,
        tried={"outputs": len(outputs), "directions": 2},
        strain=_strain(loss, claimed, allowed, found),
    )  # fmt: skip


def _strain(loss: Loss, claimed: float, allowed: float, found: float) -> float:
    """The part of delta that is used; without a delta, the epsilon at which none is left, as a part of the claim."""
    if allowed:
        return found / allowed
    if found > SLACK**2:
        return 1.0 + found
    high = claimed * (1 + SLACK)
    return least(lambda e: e >= high or loss.delta(Fraction(e)) <= SLACK**2, 0.0, high, relative=SLACK) / claimed


def _aligned(first: Any, second: Any) -> tuple[list[Any], list[Any], list[Any]]:
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        outputs = list(dict.fromkeys([*first, *second]))
        return outputs, [first.get(one, 0) for one in outputs], [second.get(one, 0) for one in outputs]
    one, two = list(first), list(second)
    if len(one) != len(two):
        cure = "give a probability for each output on both, or two dicts by output."
        raise InvalidParameter(expected(f"{len(one)} probabilities", "second", len(two), cure))
    return list(range(len(one))), one, two


def _ratio(p: Any, q: Any) -> float:
    high, low = max(float(p), float(q)), min(float(p), float(q))
    return float("inf") if low == 0 < high else high / low if low else 0.0
