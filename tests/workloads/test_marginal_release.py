"""Releases of marginals: the law of each residual table, tables that agree, intervals that hold, and wild records."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.accounting.event_costs import zcdp_of_event
from discreet.errors import InvalidParameter
from discreet.mechanisms.gaussian import Gaussian
from discreet.testing.scripted_words import splitmix
from discreet.workloads import marginal_release as module
from discreet.workloads.marginal_release import NoisyMarginals, release
from discreet.workloads.marginals import Marginals
from discreet.workloads.residual_tables import squared_sensitivity

SIZES = {"sex": 2, "plan": 3, "age": 4}
TABLES = Marginals(SIZES, ways=[0, 1, 2])
BEST = TABLES.total()
RECORDS = np.array([[i % 2, i % 3, (i * i) % 4] for i in range(50)])


def exact(records: NDArray[Any], one: tuple[str, ...]) -> NDArray[np.int64]:
    """A marginal by counting."""
    places = [list(SIZES).index(name) for name in one]
    table = np.zeros(tuple(SIZES[name] for name in one), dtype=np.int64)
    for row in records.tolist():
        table[tuple(row[place] for place in places)] += 1
    return table


def watched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Gaussian, NDArray[Any]]]:
    """What each mechanism is given."""
    seen: list[tuple[Gaussian, NDArray[Any]]] = []
    plain = Gaussian.add_noise

    def add_noise(self: Gaussian, totals: NDArray[Any], words: Any) -> NDArray[Any]:
        seen.append((self, totals.copy()))
        return plain(self, totals, words)

    monkeypatch.setattr(Gaussian, "add_noise", add_noise)
    return seen


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("contributions", [1, 3])
def test_noise_grows_with_the_records_of_a_unit(
    monkeypatch: pytest.MonkeyPatch, neighbors: str, contributions: int
) -> None:
    """What the mechanisms are given on all neighbors is no further apart than they state, together at rho at most."""
    seen = watched(monkeypatch)

    def inputs(records: NDArray[Any]) -> list[tuple[Gaussian, NDArray[Any]]]:
        seen.clear()
        release(records, BEST, rho=2, contributions=contributions, neighbors=neighbors, words=splitmix(1))
        return list(seen)

    base, worst = inputs(RECORDS), Fraction(0)
    for cell in itertools.product(range(2), range(3), range(4)):
        unit = np.array([cell] * contributions)
        if neighbors == "add-remove":
            other = np.concatenate([RECORDS, unit])
        else:
            other = np.concatenate([RECORDS[contributions:], unit])
        spent = Fraction(0)
        for (mechanism, one), (_, two) in zip(base, inputs(other), strict=True):
            square = int(np.sum((np.asarray(one, dtype=object) - np.asarray(two, dtype=object)) ** 2))
            assert square <= mechanism.sensitivity**2
            spent += Fraction(square) / (2 * mechanism.scale**2)
        worst = max(worst, spent)
    assert worst <= 2
    if neighbors == "add-remove":
        assert worst > Fraction(199, 100)


def test_the_event_costs_rho_and_no_more() -> None:
    for rho in (1, Fraction(1, 3), 1e-6):
        cost, delta = zcdp_of_event(release(RECORDS, BEST, rho=rho, words=splitmix(2)).event)
        stated = Fraction(str(rho))
        assert delta == 0
        assert (1 - Fraction(1, 2**30)) * stated < cost <= stated


def test_tables_agree_with_each_other() -> None:
    answer = release(RECORDS, BEST, rho=1, words=splitmix(3))
    assert len(answer) == 7
    for one in TABLES.sets:
        for axis, name in enumerate(one):
            rest = tuple(other for other in one if other != name)
            assert np.allclose(answer[one].values.sum(axis=axis), answer[rest].values)
    assert answer["age", "sex"] is answer[("sex", "age")]
    assert answer["age"] is answer[("age",)]
    assert set(answer) == set(TABLES.sets)
    with pytest.raises(InvalidParameter, match="was released"):
        answer["sex", "plan", "age"]


def test_without_noise_worth_speaking_of_it_is_the_exact_marginal() -> None:
    answer = release(RECORDS, BEST, rho=10**9, words=splitmix(4))
    for one in TABLES.sets:
        assert np.allclose(answer[one].values, exact(RECORDS, one), atol=0.01)


def errors(made: Callable[[int], NoisyMarginals], times: int) -> dict[tuple[str, ...], NDArray[np.float64]]:
    """What each cell was off by, time after time."""
    found: dict[tuple[str, ...], list[NDArray[np.float64]]] = {one: [] for one in TABLES.sets}
    for seed in range(times):
        answer = made(seed)
        for one in TABLES.sets:
            found[one].append((answer[one].values - exact(RECORDS, one)).reshape(-1))
    return {one: np.array(rows) for one, rows in found.items()}


@pytest.mark.long
def test_errors_are_those_that_were_stated() -> None:
    """Means, variances and coverage over 800 releases; a table that is twice as far off is caught."""
    made = [release(RECORDS, BEST, rho=0.5, words=splitmix(seed)) for seed in range(800)]
    stated = BEST.variances(rho=0.5)
    for one, off in errors(made.__getitem__, 800).items():
        deviation = made[0][one].deviation
        assert deviation**2 == pytest.approx(stated[one], rel=0.02)  # and what rounding adds
        assert np.all(np.abs(off.mean(axis=0)) < 5 * deviation / np.sqrt(800))
        assert (off**2).mean() == pytest.approx(deviation**2, rel=0.2)
        held = np.mean(np.abs(off) <= made[0][one].half_width(0.9))
        assert 0.88 < held < 0.98  # more than 0.9: rounding is bounded, not averaged
        assert np.mean(np.abs(2 * off) <= made[0][one].half_width(0.9)) < 0.87  # the planted fault


def test_codes_outside_count_as_the_nearest() -> None:
    wild = np.array([[-5, 9, 2**40], [7, -(2**62), 3]])
    tame = np.array([[0, 2, 3], [1, 0, 3]])
    one, other = (release(rows, BEST, rho=1, words=splitmix(5)) for rows in (wild, tame))
    assert all(np.array_equal(one[names].values, other[names].values) for names in TABLES.sets)


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint32", "int64", "uint64"])
def test_all_whole_numbers_are_taken(kind: str) -> None:
    found = release(RECORDS.astype(kind), BEST, rho=1, words=splitmix(6))
    assert np.array_equal(found["age"].values, release(RECORDS, BEST, rho=1, words=splitmix(6))["age"].values)
    most = np.full((3, 3), np.iinfo(kind).max, dtype=kind)
    assert release(most, BEST, rho=10**6, words=splitmix(7))["age"].values[-1] == pytest.approx(3, abs=0.1)


def test_codes_may_be_narrower_than_an_attribute_is_wide() -> None:
    tables = Marginals({"day": 1000}, ways=1)
    answer = release(np.full((5, 1), 127, dtype=np.int8), tables.total(), rho=10**6, words=splitmix(9))
    assert int(answer["day"].values.argmax()) == 127


def test_no_records_are_a_table_too() -> None:
    answer = release(np.zeros((0, 3), dtype=np.int64), BEST, rho=10**6, words=splitmix(8))
    assert np.allclose(answer["sex", "age"].values, 0, atol=0.1)


REFUSED: dict[str, Any] = {
    "one dimension": np.zeros(3, dtype=int), "other columns": np.zeros((2, 2), dtype=int),
    "floats": np.zeros((2, 3)), "truths": np.zeros((2, 3), dtype=bool), "texts": np.array([["a", "b", "c"]]),
    "objects": np.array([[1, 2, None]]), "a list of texts": ["a"], "ragged": [[1, 2, 3], [1]], "nothing": None,
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_do_not_show_what_is_given(case: str) -> None:
    with pytest.raises(InvalidParameter, match="\nHint: ") as refusal:
        release(REFUSED[case], BEST, rho=1)
    assert "None" not in str(refusal.value)


def test_refusals_of_amounts_and_of_tables_that_are_too_large() -> None:
    for stated in ({"rho": 0}, {"rho": 1, "contributions": 0}, {"rho": 1, "neighbors": "none"}):
        with pytest.raises(InvalidParameter, match="\nHint: "):
            release(RECORDS, BEST, **stated)
    wide = Marginals({f"a{i}": 1000 for i in range(3)}, ways=3)
    with pytest.raises(InvalidParameter, match="in 64 bits"):
        release(np.zeros((2, 3), dtype=int), wide.total(), rho=1)
    assert module.MOST_CELLS < 1000**3
    assert squared_sensitivity([1000]) == 999_000
