"""From supports to shares."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidParameter
from discreet.mechanisms import frequencies
from discreet.mechanisms.frequencies import Categories, Channel, to_simplex


@pytest.mark.parametrize(("own", "n"), [(0, 3), (1, 3), (2, 4), (4, 4)])
def test_the_estimate_is_unbiased(own: int, n: int) -> None:
    """The mean and the variance over all 2**n outcomes of n reports, `own` of them from people of the category."""
    channel = Channel(0.7, 0.2)
    chances = [channel.p] * own + [channel.q] * (n - own)
    mean = square = 0.0
    for outcome in itertools.product((0, 1), repeat=n):
        chance = math.prod(c if hit else 1 - c for c, hit in zip(chances, outcome, strict=True))
        share = float(channel.estimate(np.array([sum(outcome)]), people=n)[0])
        mean, square = mean + chance * share, square + chance * share**2
    assert mean == pytest.approx(own / n, abs=1e-12)
    assert square - mean**2 == pytest.approx(float(channel.variance(own / n, people=n)), abs=1e-12)


@given(st.lists(st.tuples(st.floats(-2, 2), st.integers(0, 9)), min_size=1, max_size=6))
def test_the_simplex_point_is_the_nearest(pairs: list[tuple[float, int]]) -> None:
    shares, weights = np.array(pairs).T
    found = to_simplex(shares)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    other = (weights + 1e-3) / (weights + 1e-3).sum()
    for point in (other, (found + other) / 2, np.eye(shares.size)[0]):
        assert np.sum((found - shares) ** 2) <= np.sum((point - shares) ** 2) + 1e-9


def test_the_simplex_is_taken_along_the_last_axis() -> None:
    rows = np.array([[0.8, 0.4, -0.1], [0.2, 0.3, 0.5]])
    assert to_simplex(rows).tolist() == [to_simplex(row).tolist() for row in rows]
    assert to_simplex(rows[1]) == pytest.approx(rows[1])


def test_categories_are_coded_and_named() -> None:
    listed = Categories.of(["a", "b", "c"])
    assert listed.codes([["c", "a"]]).tolist() == [[2, 0]]
    assert listed.named(np.array([2, 0])).tolist() == ["c", "a"]
    assert Categories.of(range(5, 8)).codes([5, 7]).tolist() == [0, 2]
    mixed = Categories.of([True, 2.5])
    assert mixed.named(mixed.codes(np.array([2.5, True], dtype=object))).tolist() == [2.5, True]
    assert Categories.of(2).codes([True, False]).tolist() == [1, 0]
    assert Categories.of(np.array(["a", "b"])).labels == ("a", "b")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Categories.of(1), "two categories or more"),
        (lambda: Categories.of(True), "a list of categories"),  # noqa: FBT003 - the refused value
        (lambda: Categories.of("ab"), "a list of categories"),
        (lambda: Categories.of(["a", "a"]), "different categories"),
        (lambda: Categories.of(["a"]), "different categories"),
        (lambda: Categories.of(3).codes([0.5]), "values among the categories"),
        (lambda: Channel(0.7, 0.2).estimate([1], people=0), "1 or more"),
    ],
)
def test_refusals_name_the_cure(call: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message) as refusal:
        call()
    assert "Hint: " in str(refusal.value)


class Told:
    """Values of a library that quotes them as it fails."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise ValueError("secret")


@pytest.mark.parametrize("values", [Told(), ["a", None], np.array(["a", 1], dtype=object)])
def test_values_that_cannot_be_sorted_are_refused_as_others(values: Any) -> None:
    for categories in (Categories.of(["a", "b"]), Categories.of(3)):
        with pytest.raises(InvalidParameter, match="values among the categories, got values='others'") as refusal:
            categories.codes(values)
        assert refusal.value.__context__ is None


@pytest.mark.parametrize("value", ["secret", 77, -1])
def test_a_refused_value_is_not_shown(value: str | int) -> None:
    listed = Categories.of(["a", "b"]) if isinstance(value, str) else Categories.of(3)
    with pytest.raises(InvalidParameter) as refusal:
        listed.codes([value])
    assert str(value) not in str(refusal.value)


class _Moving(np.ndarray[Any, Any]):
    """An array that another thread changes once somebody has looked for its largest entry."""

    def max(self, *given: Any, **how: Any) -> Any:
        found = super().max(*given, **how)
        self[...] = 1_000_000
        return found


def test_values_that_change_meanwhile_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """They were checked, and read once more: an IndexError showed the entry that came in between."""
    moving = np.array([0, 3, 1]).view(_Moving)
    monkeypatch.setattr(frequencies, "array_of", lambda _name, values: values)
    assert Categories.of(4).codes(moving).tolist() == [0, 3, 1]
    for wrong in (np.array([2**64 - 1], dtype=np.uint64), np.array([4]), np.array([-1], dtype=np.int8)):
        with pytest.raises(InvalidParameter):
            Categories.of(4).codes(wrong)
