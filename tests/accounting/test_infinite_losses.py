"""Infinite losses of many pairs, by exact products."""

from __future__ import annotations

from fractions import Fraction

from discreet.accounting import tabulated_pairs
from discreet.accounting.dominating_pairs import LaplacePair
from discreet.accounting.infinite_losses import infinite_loss_probability


def test_masses_are_multiplied_exactly() -> None:
    parts = [
        (tabulated_pairs.two_point(1.0, Fraction(1, 3)), 3),
        (tabulated_pairs.two_point(0.5, Fraction(1, 7)), 2),
        (LaplacePair(1.0), 9),
    ]
    exact = 1 - Fraction(2, 3) ** 3 * Fraction(6, 7) ** 2
    assert infinite_loss_probability(parts) == (exact, exact)
    assert (
        infinite_loss_probability([])
        == infinite_loss_probability([(LaplacePair(1.0), 1)])
        == (Fraction(0), Fraction(0))
    )


def test_what_was_cut_off_is_not_certain() -> None:
    cut = tabulated_pairs.discrete_gaussian(Fraction(2), 1)
    lower, upper = infinite_loss_probability([(cut, 5)])
    assert lower == 0 < upper == 1 - (1 - cut.infinite) ** 5


def test_long_fractions_are_cut_on_both_sides() -> None:
    parts = [(tabulated_pairs.two_point(0.1, Fraction(1, n)), 3) for n in (10**9 + k * k for k in range(60))]
    lower, upper = infinite_loss_probability(parts)
    none = Fraction(1)
    for pair, count in parts:
        none *= (1 - pair.infinite) ** count
    assert lower < 1 - none < upper < lower + Fraction(1, 10**990)
