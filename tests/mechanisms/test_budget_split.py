"""Epsilon is divided exactly, and as well as can be."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidParameter
from discreet.mechanisms.budget_split import shares
from discreet.mechanisms.laplace import Laplace

AMOUNTS = st.fractions(min_value=Fraction(1, 1000), max_value=1000)
LISTS = st.lists(st.tuples(AMOUNTS, AMOUNTS), min_size=1, max_size=6)


@pytest.mark.long
@given(LISTS, st.sampled_from(["variance", "deviation", "nothing"]), AMOUNTS)
def test_shares_add_up(pairs: list[tuple[Fraction, Fraction]], minimize: str, epsilon: Fraction) -> None:
    parts = shares(epsilon, [p[0] for p in pairs], [p[1] for p in pairs], minimize)
    assert sum(parts) == epsilon
    assert min(parts) > 0


@given(LISTS, st.sampled_from([("variance", 2), ("deviation", 1)]), st.integers(0, 5), st.integers(0, 5))
def test_no_other_split_is_better(
    pairs: list[tuple[Fraction, Fraction]], aim: tuple[str, int], giver: int, taker: int
) -> None:
    """Moving a hundredth of one share to another makes the weighted sum larger."""
    giver, taker = giver % len(pairs), taker % len(pairs)
    parts = list(shares(Fraction(1), [p[0] for p in pairs], [p[1] for p in pairs], aim[0]))

    def error(some: list[Fraction]) -> float:
        return float(sum(w * (d / e) ** aim[1] for (d, w), e in zip(pairs, some, strict=True)))

    moved = list(parts)
    moved[giver] -= parts[giver] / 100
    moved[taker] += parts[giver] / 100
    assert error(parts) <= error(moved) * (1 + 1e-12)


def test_equal_parts_and_joint_noise() -> None:
    """k numbers: each gets epsilon/k; one mechanism for the joint L1 sensitivity has the same noise, or less."""
    each = Laplace.split(sensitivities=[1, 1, 1, 1], epsilon=1, minimize="nothing")
    assert [m.scale for m in each] == [4] * 4
    assert Laplace(sensitivity=4, epsilon=1).scale == 4
    assert sum((m.epsilon for m in each), Fraction(0)) == 1
    total = each[0].loss + each[1].loss + each[2].loss + each[3].loss
    assert total.epsilon(delta=0) == pytest.approx(1, rel=1e-9)


def test_extreme_shares_are_above_zero() -> None:
    parts = shares(Fraction(1), [Fraction(1, 10**80), Fraction(10**80), Fraction(1)], (), "deviation")
    assert min(parts) > 0
    assert sum(parts) == 1


@pytest.mark.parametrize(
    "stated",
    [
        {"sensitivities": [], "epsilon": 1},
        {"sensitivities": [1], "epsilon": 0},
        {"sensitivities": [0], "epsilon": 1},
        {"sensitivities": [1], "epsilon": 1, "weights": [1, 2]},
        {"sensitivities": [1], "epsilon": 1, "weights": [-1]},
        {"sensitivities": [1], "epsilon": 1, "minimize": "all"},
    ],
    ids=repr,
)
def test_splits_that_cannot_be_are_refused(stated: dict[str, object]) -> None:
    with pytest.raises(InvalidParameter, match="Hint"):
        Laplace.split(**stated)  # type: ignore[arg-type]  # the refusal is the test
