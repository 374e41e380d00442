"""How many more: of a question, a mechanism, an event or an epsilon."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from discreet.errors import BudgetExceeded, InvalidParameter
from discreet.ledger.budget import Budget
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.privacy.events import ApproximateEvent
from discreet.testing import people, visits


def test_every_way_to_say_what() -> None:
    budget = Budget(epsilon=1, delta=1e-6)
    tenth = Fraction(1, 10)
    assert budget.remaining_queries(epsilon=0.1) == 10
    assert budget.remaining_queries(Laplace(sensitivity=1, epsilon=0.1)) == 10
    assert budget.remaining_queries(Laplace(sensitivity=1, epsilon=0.1).event) == 10
    assert budget.remaining_queries(epsilon=0.1, delta=1e-7) == 3
    assert budget.remaining_queries(ApproximateEvent(epsilon=tenth, delta=Fraction(1, 10**7))) == 3
    gaussian = Gaussian(sensitivity=1, epsilon=0.1, delta=1e-7)
    assert budget.remaining_queries(gaussian) == 75
    assert budget.remaining_queries(Gaussian(sensitivity=1, scale=1)) == 0
    assert Budget(epsilon=1, delta=1e-6, own_delta=1e-6).remaining_queries(gaussian) == 0
    assert Budget(epsilon=1, delta=1e-6, own_delta=1e-6).remaining_queries(gaussian, epsilon=0.1, delta=1e-7) == 10


def test_a_question_counts_as_its_release_does() -> None:
    """Two aggregates at half of epsilon each cost half of the rho that a single one costs."""
    table = people()
    both = table.agg(units=lambda t: t.person.nunique(), sum=lambda t: t.visits.sum())
    alone, rho = table.count(), Budget(rho=0.5)
    assert table.budget.remaining_queries(both, epsilon=0.1) == 100
    assert rho.remaining_queries(alone, epsilon=0.1) == 100
    assert 100 < rho.remaining_queries(both, epsilon=0.1) <= 200
    before = table.budget.remaining_queries(alone, epsilon=3)
    alone.release(epsilon=3)
    assert (before, table.budget.remaining_queries(alone, epsilon=3)) == (3, 2)


@pytest.mark.parametrize("what", [None, 7, "count", Laplace, {"epsilon": 1}, people(), visits().to_pandas()])
def test_what_is_no_release_is_refused(what: object) -> None:
    with pytest.raises(InvalidParameter, match="Hint: "):
        Budget(epsilon=1).remaining_queries(what)  # type: ignore[arg-type]  # the case


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 0), (-1, 0), (float("nan"), 0), (0.1, 1), (0.1, -1)])
def test_amounts_that_are_none_are_refused(epsilon: float, delta: float) -> None:
    with pytest.raises(InvalidParameter, match="Hint: "):
        Budget(epsilon=1).remaining_queries(epsilon=epsilon, delta=delta)


def test_a_rho_counts_alone_and_of_a_question() -> None:
    table, budget = people(), Budget(rho=0.5)
    assert budget.remaining_queries(rho=0.005) == budget.remaining_queries(table.count(), rho=0.005) == 100
    assert Budget(epsilon=1).remaining_queries(rho=0.005) == 0
    mechanism = Laplace(sensitivity=1, epsilon=1)
    cases: tuple[dict[str, Any], ...] = ({"epsilon": 1}, {"delta": 1e-6}, {"what": mechanism}, {"what": 7})
    for stated in cases:
        with pytest.raises(InvalidParameter, match="Hint: "):
            budget.remaining_queries(rho=0.1, **stated)
    with pytest.raises(InvalidParameter, match="above 0"):
        budget.remaining_queries(rho=0)


@pytest.mark.parametrize("allowance", [{"epsilon": 1}, {"epsilon": 3, "delta": 1e-6}, {"rho": 0.5}], ids=str)
@pytest.mark.parametrize("queries", [1, 3, 40, 1000])
def test_the_epsilon_for_so_many_is_the_largest(allowance: dict[str, Any], queries: int) -> None:
    budget = Budget(**allowance)
    found = budget.epsilon_for(queries)
    assert budget.remaining_queries(epsilon=found) >= queries
    assert budget.remaining_queries(epsilon=found * Fraction(10_011, 10_000)) < queries


def test_the_epsilon_for_a_question_and_for_none() -> None:
    table = people()
    found = table.budget.epsilon_for(40, table.count())
    assert table.budget.remaining_queries(table.count(), epsilon=found) >= 40
    spent = Budget(epsilon=Fraction(1, 10**12))
    with pytest.raises(BudgetExceeded, match="room for so many"):
        spent.epsilon_for(40)
    for wrong in (0, 1.5, "many"):
        with pytest.raises(InvalidParameter, match="queries"):
            Budget(epsilon=1).epsilon_for(wrong)  # type: ignore[arg-type]  # the refusal is the test
