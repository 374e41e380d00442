from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting.dominating_pairs import Reals
from discreet.accounting.pairwise_summation import UNIT, additions, gathered, halved, total

SIZES = [1, 2, 3, 7, 8, 9, 1000, 4097]


def swallowed(size: int) -> Reals:
    """One, and many terms that a running sum of one does not notice."""
    terms = np.full(size, 0.9 * UNIT)
    terms[0] = 1.0
    return terms


def exact(terms: Reals) -> Fraction:
    return sum((Fraction(float(term)) for term in terms), Fraction(0))


def is_near(found: float, terms: Reals) -> bool:
    """Within the claim, without its terms of second order."""
    allowed = additions(terms.size) * Fraction(UNIT) * exact(np.abs(terms))
    return abs(Fraction(found) - exact(terms)) <= allowed


@pytest.mark.parametrize("size", SIZES)
def test_each_term_passes_few_additions(size: int) -> None:
    terms = swallowed(size)
    assert is_near(total(terms), terms)
    assert is_near(float(halved(terms[:, None] * np.ones(3))[1]), terms)
    both = halved((terms * (1.0 - 0.5j)).astype(np.complex128))
    assert is_near(float(both.real), terms)
    assert is_near(float(both.imag), -0.5 * terms)


@pytest.mark.parametrize("size", SIZES)
def test_arrays_are_gathered_by_halves(size: int) -> None:
    terms = swallowed(size)
    found = gathered((np.array([term, 1.0]) for term in terms), np.zeros(2))
    assert is_near(float(found[0]), terms)
    assert found[1] == size
    # What adds in a row is worse than the claim, so that the claim says something.
    assert size < 100 or not is_near(float(np.add.accumulate(terms)[-1]), terms)


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=70))
def test_sums_are_within_the_claim(numbers: list[float]) -> None:
    terms = np.array(numbers)
    assert is_near(total(terms), terms)
    assert is_near(float(gathered(iter(terms[:, None]), np.zeros(1))[0]), terms)
    assert terms.tolist() == numbers


def test_no_terms() -> None:
    assert total(np.zeros(0)) == 0.0
    assert halved(np.zeros((0, 3))).tolist() == [0.0, 0.0, 0.0]
    start = np.zeros(2)
    assert gathered(iter(()), start) is start
