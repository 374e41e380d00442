"""The least step is the least: it holds the draws and the one before does not."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb

from discreet.errors import InvalidParameter
from discreet.noise.noise_quantiles import least_step, miss_probability


def halves(t: int) -> arb:
    """P(|Z| >= t) = 2^-t."""
    return arb(2) ** -t


@pytest.mark.parametrize("confidence", [Fraction(1, 10**40), Fraction(1, 2) - Fraction(1, 10**30), 0.95, 0.999999])
@pytest.mark.parametrize("draws", [1, 2, 1000])
def test_quantiles_of_several_draws(confidence: Fraction | float, draws: int) -> None:
    level, step = Fraction(str(confidence)), least_step(halves, confidence, draws, 256)
    assert (1 - Fraction(1, 2 ** (step + 1))) ** draws >= level
    assert step == 0 or (1 - Fraction(1, 2**step)) ** draws < level


def test_what_is_left_out_is_enclosed() -> None:
    assert miss_probability(1 - Fraction(1, 2**40), 1).contains(arb(2) ** -40)


def test_no_draw_is_no_dimension() -> None:
    with pytest.raises(InvalidParameter, match="1 or more, got dimension="):
        least_step(halves, 0.95, 0, 256)
