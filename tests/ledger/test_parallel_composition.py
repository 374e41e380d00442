"""Parts charge together what the dearest of them cost, whoever asks what of whom in which order."""

from __future__ import annotations

import copy
import itertools
import os
import pickle
import threading
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.ledger.ledger import Charge
from discreet.ledger.parallel_composition import PartBudget, Parts, dearest
from discreet.ledger.privacy_filter import NOTHING, Spending, added
from discreet.privacy.definitions import UNBOUNDED, Guarantee
from discreet.privacy.events import Event, GaussianEvent


def charge(epsilon: object, delta: object = 0, *, key: int = 0, mu2: object = None) -> Charge:
    event: Event | None = None if mu2 is None else GaussianEvent(mu2=Fraction(str(mu2)))
    stated = Guarantee(epsilon=Fraction(str(epsilon)), delta=Fraction(str(delta)))
    return Charge(source="people", what="n", key=f"{key:064x}", guarantee=stated, event=event)


def of(budget: dp.Budget, number: int, most: int) -> list[PartBudget]:
    parts = Parts(budget, number=number, most=most)
    return [PartBudget(parts, part) for part in range(number)]


def recorded(budget: dp.Budget) -> Spending:
    """The sums of all charges, amount by amount."""
    total = NOTHING
    for one in budget.entries():
        total = added(total, Spending(one.guarantee.epsilon, one.guarantee.delta, one.rho, one.slack))
    return total


def test_the_dearest_are_the_largest_of_each_amount() -> None:
    spent = [Spending(*map(Fraction, amounts)) for amounts in ((3, 0, 1, 0), (1, 2, 5, 2), (2, 1, 0, 1))]
    assert [*dearest(spent, 1)] == [3, 2, 5, 2]
    assert [*dearest(spent, 2)] == [5, 3, 6, 3]
    assert [*dearest(spent, 9)] == [6, 3, 6, 3]


def test_the_same_question_of_each_part_costs_as_much_as_of_the_most() -> None:
    for most in (1, 2, 3):
        budget = dp.Budget(epsilon=10)
        for turn in (1, 2):  # a second partition pays for itself
            for part in of(budget, 5, most):
                part.reserve(charge("0.5", key=turn)).commit(b"answer")
            assert budget.spent.epsilon == Fraction(most, 2) * turn
        assert len(budget.entries()) == 2 * most


KINDS = (("1", "0", None), ("0.1", "0", None), ("0.3", "1e-7", None), ("0.5", "1e-7", "0.01"), ("0.2", "1e-8", "0.3"))


def test_what_is_recorded_covers_the_dearest_parts() -> None:
    """Interleaved by chance, with charges of each kind, and some that are refused: after each, in each amount, no
    `most` parts together have cost more than was recorded for them; and parts are never dearer than one by one.
    """
    for seed in range(30):
        chance = np.random.default_rng(seed)
        number, most = int(chance.integers(1, 5)), int(chance.integers(1, 4))
        budget = dp.Budget(epsilon=6, delta=1e-6)
        parts, spent, whole = of(budget, number, most), [NOTHING] * number, NOTHING
        for _ in range(20):
            part, kind = int(chance.integers(number)), KINDS[chance.integers(len(KINDS))]
            one = charge(kind[0], kind[1], mu2=kind[2])
            try:
                parts[part].reserve(one)
            except dp.BudgetExceeded:
                continue
            spent[part] = added(spent[part], one.cost)
            whole = added(whole, one.cost)
            held = recorded(budget)
            for chosen in itertools.combinations(spent, min(most, number)):
                total = [sum(amounts) for amounts in zip(*chosen, strict=True)]
                assert all(cost <= has for cost, has in zip(total, held, strict=True)), (seed, total, held)
            assert all(has <= all_ for has, all_ in zip(held, whole, strict=True))


def test_every_amount_is_recorded() -> None:
    budget = dp.Budget(epsilon=10, delta=1e-6)
    first, second = of(budget, 2, 1)
    for _ in range(10):
        first.reserve(charge("0.1"))
    assert [recorded(budget).epsilon, recorded(budget).rho] == [Fraction(1), Fraction(1, 20)]
    second.reserve(charge("1"))  # the same epsilon, and ten times the rho
    assert recorded(budget).rho >= Fraction(1, 2)
    second.reserve(charge("0.01", "1e-7"))
    assert recorded(budget).delta == Fraction(1, 10**7)


def test_a_refused_release_counts_nowhere() -> None:
    budget = dp.Budget(epsilon=1)
    first, second = of(budget, 2, 1)
    first.reserve(charge("0.75"))
    with pytest.raises(dp.BudgetExceeded):
        second.reserve(charge("1.5"))
    second.reserve(charge("0.75"))
    assert budget.spent.epsilon == Fraction(3, 4)
    first.reserve(charge("0.25"))
    assert budget.remaining.epsilon == first.remaining.epsilon == 0


def test_a_frozen_budget_draws_nothing_of_any_part() -> None:
    """Neither of a part that others paid for, nor of a part of it; with the levels around it open again, it is free."""
    for stop in ("freeze", "close"):
        whole = dp.Budget(epsilon=1)
        level = dp.Budget(parent=whole, epsilon=1, name="alice")
        first, second = of(level, 2, 1)
        first.reserve(charge("0.5"))
        [inside] = of(second, 1, 1)  # type: ignore[arg-type]  # parts of a part
        getattr(whole, stop)(by="carol", why="a report of an attack")
        for part in (second, inside):
            with pytest.raises(dp.BudgetExceeded, match=r"to be open|that is open"):
                part.reserve(charge("0.5", key=1))
        if stop == "freeze":
            whole.unfreeze(by="carol", why="it was none")
            second.reserve(charge("0.5", key=1))
        assert whole.spent.epsilon == Fraction(1, 2)


def test_answers_of_parts_that_others_paid_for_are_kept() -> None:
    budget = dp.Budget(epsilon=1)
    first, second = of(budget, 2, 1)
    first.reserve(charge("0.5", key=1)).commit(b"one")
    second.reserve(charge("0.5", key=2)).commit(b"two")
    assert (first.stored(f"{1:064x}"), second.stored(f"{2:064x}")) == (b"one", b"two")
    assert budget.stored(f"{2:064x}") is None
    assert len(second.entries()) == 1


def test_the_last_answer_is_given_whoever_paid_for_it() -> None:
    budget = dp.Budget(epsilon=4)
    first, second = of(budget, 2, 1)
    first.reserve(charge("0.5", key=1)).commit(b"one")
    second.reserve(charge("1", key=2)).commit(b"other")
    first.reserve(charge("0.5", key=1)).commit(b"two")  # the dearer part has paid for this
    assert first.stored(f"{1:064x}") == b"two"
    unfinished = first.reserve(charge("2", key=1))
    assert first.stored(f"{1:064x}") == b"two"
    unfinished.commit(b"three")
    assert first.stored(f"{1:064x}") == b"three"


def test_what_a_part_cannot_do_is_said_in_words() -> None:
    part = of(dp.Budget(epsilon=1), 2, 1)[0]
    for name in ("epsilon_for", "levels", "freeze", "head"):
        with pytest.raises(dp.InvalidQuery, match=rf"Hint: write table\.budget\.{name}, of the whole table"):
            getattr(part, name)
    with pytest.raises(dp.InvalidQuery, match="did you mean 'remaining'"):
        part.remainin  # type: ignore[attr-defined]  # noqa: B018 (the refusal is the test)
    assert not hasattr(part, "epsilon_for")


def test_threads_pay_for_what_they_get() -> None:
    budget = dp.Budget(epsilon=20)
    parts, got = of(budget, 4, 2), [0] * 8

    def ask(number: int) -> None:
        for _ in range(50):
            try:
                parts[number % 4].reserve(charge("0.25"))
            except dp.BudgetExceeded:
                return
            got[number] += 1

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    answered = sorted((got[i] + got[i + 4] for i in range(4)), reverse=True)
    assert sum(answered[:2]) * Fraction(1, 4) <= budget.spent.epsilon <= 20
    assert min(answered) > 0


def test_a_new_process_pays_anew(tmp_path: Path) -> None:
    """What each part has spent ends with the process: the ledger keeps what was charged, and nothing is given back."""
    for turn in (1, 2):
        budget = dp.Budget(epsilon=10, ledger=tmp_path / "spent.db")
        for part in of(budget, 3, 1):
            part.reserve(charge("0.5", key=turn))
        assert budget.spent.epsilon == Fraction(turn, 2)


def test_free_answers_are_refused_in_another_process_too(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = of(dp.Budget(epsilon=1), 2, 1)
    first.reserve(charge("0.5"))
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(dp.LedgerError, match="the process that made this budget"):
        second.reserve(charge("0.5"))


def test_budgets_of_parts_are_not_copied_and_protect_nothing_else() -> None:
    part = of(dp.Budget(epsilon=1), 2, 1)[0]
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(dp.LedgerError):
            copied(part)
    assert repr(part).startswith("<budget of part 1, charged with the others to Budget(allowance: epsilon=1;")
    with pytest.raises(dp.InvalidParameter, match="a budget"):
        dp.protect(pa.table({"x": [1]}), unit=dp.ROW, budget=part)  # type: ignore[arg-type]  # the refusal is the test
    assert part.remaining_queries(epsilon=0.5) == 2
    assert part.allowance.epsilon == 1


def test_parts_charge_rho_together() -> None:
    """What the dearest part cost, and no more, where no epsilon describes it."""
    budget = dp.Budget(rho=1)
    first, second = of(budget, 2, 1)
    for key, (part, rho) in enumerate([(first, "0.1"), (second, "0.1"), (second, "0.2"), (first, "0.1")]):
        stated = Guarantee(epsilon=UNBOUNDED, rho=Fraction(rho))
        part.reserve(Charge(source="people", what="n", key=f"{key:064x}", guarantee=stated)).commit(b"answer")
    assert budget.spent.rho == Fraction(3, 10)
