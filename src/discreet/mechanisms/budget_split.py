"""How to divide epsilon among several numbers.

Claim
    ``shares(epsilon, sensitivities, weights, minimize)`` returns positive fractions that add up to epsilon exactly, and
    in proportion, up to one part in 2^40, to those that minimize sum w_i (D_i / e_i)^2 ("variance") or sum w_i D_i /
    e_i ("deviation") over all e_i that add up to epsilon.
Requires
    Sensitivities D_i above zero; weights w_i above zero, stated from public knowledge.
Relies on
    Nothing but sequential composition: e_i-private releases of the same data are together (sum e_i)-private.
Proof
    Lagrange: at the minimum of sum c_i / e_i^p the derivatives p c_i / e_i^(p+1) agree, so e_i is in proportion to
    c_i^(1/(p+1)); the objective is convex. c_i = w_i D_i^2 and p = 2 give the cube root of w_i D_i^2, c_i = w_i D_i and
    p = 1 the square root of w_i D_i.
Rounding
    Each share down to a multiple of epsilon / 2^62, but not to zero; the largest takes up the difference.
Source
    Dwork, McSherry, Nissim, Smith (2006): composition of Laplace noise. Theory 3: the weighted split.
Mutant
    root-for-the-other: square roots for variances; killed by test_no_other_split_is_better.
    all-at-full-epsilon: each number gets all of epsilon; killed by test_shares_add_up.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from discreet.errors import InvalidParameter, expected, nearest_name
from discreet.exact.amounts import above_zero
from discreet.exact.given_values import values

PARTS = 1 << 62
AIMS = ("variance", "deviation", "nothing")


def shares(
    epsilon: Fraction, sensitivities: Sequence[Fraction], weights: Sequence[object], minimize: str
) -> tuple[Fraction, ...]:
    """Parts of epsilon, one for each number.

    Raises:
        InvalidParameter: there are no numbers, weights that do not fit them, or an unknown aim.

    >>> shares(Fraction(1), [Fraction(1), Fraction(1)], (), "variance")
    (Fraction(1, 2), Fraction(1, 2))
    """
    values("weights", weights, "give one weight for each number, or none.")
    if not sensitivities or (weights and len(weights) != len(sensitivities)):
        cure = "give one sensitivity for each number, and one weight for each, or none."
        got = (len(sensitivities), len(weights))
        raise InvalidParameter(expected("as many weights as numbers", "numbers, weights", got, cure))
    if minimize not in AIMS:
        raise InvalidParameter(expected("what to minimize", "minimize", minimize, nearest_name(minimize, AIMS)))
    matters = [above_zero(f"weights[{i}]", one) for i, one in enumerate(weights)] or [Fraction(1)] * len(sensitivities)
    roots = [_root(w, sensitivity, minimize) for w, sensitivity in zip(matters, sensitivities, strict=True)]
    total = sum(roots)
    parts = [max(1, int(root / total * PARTS)) for root in roots]
    parts[parts.index(max(parts))] += PARTS - sum(parts)
    return tuple(epsilon * Fraction(part, PARTS) for part in parts)


def _root(weight: Fraction, sensitivity: Fraction, minimize: str) -> Fraction:
    if minimize == "nothing":
        return Fraction(1)
    power = 1 / 3 if minimize == "variance" else 1 / 2
    cost = weight * (sensitivity**2 if minimize == "variance" else sensitivity)
    return Fraction(float(cost) ** power)
