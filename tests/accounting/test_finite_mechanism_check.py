from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting.event_losses import finite_loss
from discreet.accounting.finite_mechanism_check import check, pure_by_events, pure_by_loss, pure_by_points
from discreet.errors import InvalidParameter, InvalidQuery

Table = list[list[Fraction | float]]
HALF = Fraction(1, 2)
ONE_WAY: Table = [[1, 0], [HALF, HALF]]
rows = st.lists(st.integers(0, 12), min_size=4, max_size=4).filter(lambda w: sum(w) > 0)


def row(weights: list[int]) -> list[Fraction]:
    return [Fraction(w, sum(weights)) for w in weights]


def test_randomized_response_is_pure_at_its_ratio() -> None:
    table: Table = [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]]
    assert check(table, ratio=3).pure
    assert not check(table, ratio=Fraction(299, 100)).pure
    assert check(table, 1.0987).pure
    assert check(table, 1.0986).pure is False
    verdict = check(table, 1.0986)
    assert verdict.against_pure is not None
    assert verdict.against_pure.probabilities == (Fraction(3, 4), Fraction(1, 4))


def test_deterministic_is_refused() -> None:
    verdict = check([[1, 0], [0, 1]], 100, 0.5)
    assert str(verdict).count(": no") == 4
    assert verdict.against_pure is not None
    assert verdict.against_pure.probabilities == (Fraction(1), Fraction(0))
    assert verdict.against_pure.inputs == (0, 1)
    assert check([[1, 0], [1, 0]], 0).pure


def test_both_orders_count() -> None:
    """Forward the loss is at most log 2, backward it is infinite."""
    verdict = check(ONE_WAY, ratio=2, neighbors=[(0, 1)])
    assert verdict.against_pure is not None
    assert verdict.against_pure.inputs == (1, 0)
    assert not verdict.approximate


def test_neighbors_limit_the_pairs() -> None:
    table: Table = [[1, 0, 0], [HALF, HALF, 0], [0, 1, 0]]
    assert check(table, ratio=2, delta=HALF, neighbors=[(0, 1), (1, 2)]).approximate
    assert not check(table, ratio=2, delta=HALF).approximate


def test_probabilistic_is_stronger_than_approximate() -> None:
    """Every table that is probabilistic DP is approximate DP; this one shows that the other way round fails."""
    table: Table = [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]]
    verdict = check(table, ratio=2, delta=Fraction(1, 4))
    assert verdict.approximate
    assert not verdict.probabilistic
    assert check(table, ratio=2, delta=Fraction(3, 4)).probabilistic


def test_the_clause_on_zeros_is_stricter() -> None:
    """A small event of large but finite loss may escape one form and not the other."""
    table: Table = [[Fraction(89, 100), Fraction(1, 10), Fraction(1, 100)], [Fraction(89, 100), Fraction(11, 100), 0]]
    assert check(table, ratio=2, delta=Fraction(1, 100)).probabilistic_zeros
    assert not check(table, ratio=2, delta=Fraction(1, 101)).probabilistic_zeros
    table = [[Fraction(9, 10), Fraction(1, 10)], [Fraction(99, 100), Fraction(1, 100)]]
    verdict = check(table, ratio=2, delta=Fraction(1, 10))
    assert verdict.probabilistic
    assert not verdict.probabilistic_zeros


def test_probabilistic_is_lost_in_post_processing() -> None:
    """Merging the first two outputs makes a likely event out of an unlikely bad one and a good one."""
    tenth = Fraction(1, 10)
    before: Table = [[tenth, 4 * tenth, 5 * tenth], [0, Fraction(2, 10), 8 * tenth]]
    after: Table = [[5 * tenth, 5 * tenth], [2 * tenth, 8 * tenth]]
    pair = [(0, 1)]
    assert check(before, ratio=2, delta=tenth, neighbors=pair).probabilistic
    assert not check(after, ratio=2, delta=tenth, neighbors=pair).probabilistic
    assert check(after, ratio=2, delta=tenth, neighbors=pair).approximate


@given(rows, rows, st.fractions(1, 20))
def test_three_forms_of_pure_privacy_agree(p: list[int], q: list[int], ratio: Fraction) -> None:
    first, second = row(p), row(q)
    by_events = pure_by_events(first, second, ratio=ratio)
    assert by_events == pure_by_points(first, second, ratio=ratio) == pure_by_loss(first, second, ratio=ratio)
    assert by_events == check([first, second], ratio=ratio).pure


@given(rows, rows, st.fractions(1, 20), st.fractions(0, Fraction(99, 100)))
def test_definitions_are_ordered(p: list[int], q: list[int], ratio: Fraction, delta: Fraction) -> None:
    verdict = check([row(p), row(q)], ratio=ratio, delta=delta)
    assert verdict.approximate or not verdict.pure
    assert verdict.approximate or not verdict.probabilistic
    assert verdict.probabilistic or not verdict.probabilistic_zeros


@given(rows, rows, st.floats(0.0, 3.0), st.floats(0.001, 0.9))
def test_verdict_agrees_with_the_loss(p: list[int], q: list[int], epsilon: float, delta: float) -> None:
    least = finite_loss(row(p), row(q)).delta_bounds(epsilon)
    verdict = check([row(p), row(q)], epsilon, delta)
    if verdict.approximate:
        assert least.lower <= delta * (1 + 1e-12)
    else:
        assert least.upper >= delta * (1 - 1e-12)


def test_irrational_ties_are_decided() -> None:
    """e to 40 digits, on both sides."""
    e = Fraction("2.718281828459045235360287471352662497757")
    for ratio, pure in ((e, True), (e + Fraction(1, 10**38), False)):
        small = 1 / (1 + ratio)
        assert check([[1 - small, small], [small, 1 - small]], 1).pure is pure


def test_verdict_reads_well() -> None:
    text = str(check([[1, 0], [0, 1]], 1))
    assert "pure: no; outputs {0}: probability 1 on input 0, 0 on input 1" in text
    assert str(check([[1, 0], [1, 0]], 1)).count("yes") == 4


@pytest.mark.parametrize(
    ("table", "options"),
    [
        ([], {"epsilon": 1}),
        (None, {"epsilon": 1}),
        ("ab", {"epsilon": 1}),
        ([0.5, 0.5], {"epsilon": 1}),
        ({0: [0.5, 0.5]}, {"epsilon": 1}),
        ([[1.0], [1.0]], {"epsilon": 1, "neighbors": [0, 1]}),
        ([[1.0], [1.0]], {"epsilon": 1, "neighbors": [(0, 1, 1)]}),
        ([[1.0], [1.0]], {"epsilon": 1, "neighbors": [(0.0, 1.0)]}),
        ([[0.5, 0.5], [1.0]], {"epsilon": 1}),
        ([[0.5, 0.4], [0.5, 0.5]], {"epsilon": 1}),
        ([[1.0], [1.0]], {}),
        ([[1.0], [1.0]], {"epsilon": 1, "ratio": 2}),
        ([[1.0], [1.0]], {"epsilon": -1}),
        ([[1.0], [1.0]], {"ratio": 0.5}),
        ([[1.0], [1.0]], {"epsilon": 1, "delta": 1}),
        ([[1.0], [1.0]], {"epsilon": math.nan}),
        ([[1.0], [1.0]], {"epsilon": 1, "neighbors": [(0, 2)]}),
    ],
)
def test_improper_tables_are_refused(table: Any, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter, match="Hint: "):
        check(table, **options)


@pytest.mark.parametrize("form", [pure_by_events, pure_by_points, pure_by_loss])
def test_laws_on_different_outputs_are_refused(form: Callable[..., bool]) -> None:
    with pytest.raises(InvalidParameter, match="list the same outputs"):
        form([HALF, HALF], [Fraction(1)], ratio=2)


def test_too_many_events_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="pure_by_points"):
        pure_by_events([Fraction(1, 17)] * 17, [Fraction(1, 17)] * 17, ratio=2)


def test_a_verdict_is_no_truth() -> None:
    """`assert check(...)` passed whatever was found: any object is true."""
    for table in ([[1, 0], [0, 1]], [[0.5, 0.5], [0.5, 0.5]]):
        verdict = check(table, epsilon=1)
        with pytest.raises(InvalidQuery, match=r"truth of a Verdict(?s:.*)assert dp\.check\(\.\.\.\)\.pure"):
            assert verdict
