"""The definitions are values: equal when their parts are, unchangeable, and readable."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.privacy.definitions import ROW, UNBOUNDED, Guarantee, Neighbors

guarantees = st.builds(Guarantee, epsilon=st.fractions(), delta=st.fractions())


def test_guarantee_is_a_value() -> None:
    one = Guarantee(epsilon=Fraction(1, 10), delta=Fraction(1, 10**8))
    assert one == Guarantee(epsilon=Fraction(1, 10), delta=Fraction(1, 10**8))
    assert len({one, pickle.loads(pickle.dumps(one)), copy.deepcopy(one)}) == 1  # noqa: S301 - our own bytes
    assert Guarantee(epsilon=Fraction(1)).delta == 0
    with pytest.raises(FrozenInstanceError):
        one.epsilon = Fraction(2)  # type: ignore[misc]  # the case
    with pytest.raises(TypeError):
        Guarantee(Fraction(1))  # type: ignore[call-arg]  # the case


@given(guarantees, guarantees)
def test_guarantees_add_up_exactly(first: Guarantee, second: Guarantee) -> None:
    total = first + second
    assert (total.epsilon, total.delta) == (first.epsilon + second.epsilon, first.delta + second.delta)
    assert total == second + first
    assert total - second == first


@pytest.mark.parametrize(
    ("guarantee", "text"),
    [
        (Guarantee(epsilon=Fraction(1, 10)), "epsilon=0.1"),
        (Guarantee(epsilon=Fraction(1, 3), delta=Fraction(1, 10**8)), "epsilon=0.333333, delta=0.00000001"),
        (Guarantee(epsilon=Fraction(0)), "epsilon=0"),
        (Guarantee(epsilon=Fraction(0), rho=Fraction(0)), "epsilon=0, rho=0"),
        (Guarantee(epsilon=Fraction(0), delta=Fraction(1, 10), rho=Fraction(1, 2)), "delta=0.1, rho=0.5"),
        (Guarantee(epsilon=UNBOUNDED, rho=Fraction(1, 2)), "rho=0.5"),
        (Guarantee(epsilon=Fraction(1), rho=Fraction(1, 2)), "epsilon=1, rho=0.5"),
    ],
)
def test_guarantees_print_as_decimals(guarantee: Guarantee, text: str) -> None:
    assert str(guarantee) == text
    assert repr(guarantee) == f"Guarantee({text})"


def test_neighbors_are_written_as_the_caller_writes_them() -> None:
    assert Neighbors("add-remove") is Neighbors.ADD_REMOVE
    assert Neighbors("replace-one") is Neighbors.REPLACE_ONE
    assert [neighbors.value for neighbors in Neighbors] == ["add-remove", "replace-one"]


def test_row_is_one_thing() -> None:
    assert repr(ROW) == "dp.ROW"
    assert copy.deepcopy(ROW) is ROW
    assert pickle.loads(pickle.dumps(ROW)) is ROW  # noqa: S301 - our own bytes
