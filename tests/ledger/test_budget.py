"""The budget as a curator and an analyst meet it."""

from __future__ import annotations

import copy
import json
import math
import os
import pickle
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from discreet.accounting.conversions import zcdp_delta
from discreet.errors import BudgetExceeded, InvalidParameter, LedgerError
from discreet.ledger.budget import Budget
from discreet.ledger.ledger import Charge
from discreet.ledger.memory_ledger import MemoryLedger
from discreet.ledger.nested_levels import Balances
from discreet.ledger.privacy_filter import Allowance
from discreet.privacy.definitions import Guarantee
from discreet.privacy.events import GaussianEvent

MakeCharge = Callable[..., Charge]
Run = Callable[..., str]

KEY = "ab" * 32


@pytest.fixture(params=["memory", "file"])
def budget(request: pytest.FixtureRequest, folder: Path) -> Budget:
    """Plain sums of epsilon and delta."""
    return Budget(
        epsilon=1.0, delta=1e-6, own_delta=1e-6, ledger=None if request.param == "memory" else folder / "spent.db"
    )


def test_amounts_are_exact(budget: Budget, charge: MakeCharge) -> None:
    assert budget.allowance == Guarantee(epsilon=Fraction(1), delta=Fraction(1, 10**6))
    assert budget.spent == Guarantee(epsilon=Fraction(0))
    for _ in range(3):
        budget.reserve(charge(0.1, 1e-7))
    assert budget.spent == Guarantee(epsilon=Fraction(3, 10), delta=Fraction(3, 10**7))
    assert budget.remaining == Guarantee(epsilon=Fraction(7, 10), delta=Fraction(7, 10**7))


def test_a_repeat_is_found_and_free(budget: Budget, charge: MakeCharge) -> None:
    assert budget.stored(KEY) is None
    reservation = budget.reserve(charge())
    assert budget.stored(KEY) is None
    reservation.commit(b"answer")
    assert budget.stored(KEY) == b"answer"
    assert budget.spent.epsilon == Fraction(1, 10)
    assert [(entry.number, entry.answered) for entry in budget.entries()] == [(reservation.number, True)]


def test_an_answer_is_stored_once_even_from_a_copy_of_the_reservation(budget: Budget, charge: MakeCharge) -> None:
    reservation = budget.reserve(charge())
    twin = copy.copy(reservation)
    reservation.commit(b"one")
    for again in (reservation, twin):
        with pytest.raises(LedgerError):
            again.commit(b"two")
    with pytest.raises(LedgerError):
        copy.deepcopy(reservation)


@pytest.mark.parametrize("answer", ["text", bytearray(b"x"), None])
def test_answers_are_bytes(budget: Budget, charge: MakeCharge, answer: object) -> None:
    reservation = budget.reserve(charge())
    with pytest.raises(InvalidParameter, match="answer"):
        reservation.commit(answer)  # type: ignore[arg-type]  # the case
    reservation.commit(b"bytes")


def test_a_failed_engine_leaves_the_charge_spent(budget: Budget, charge: MakeCharge) -> None:
    def fail() -> None:
        budget.reserve(charge(0.4))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert budget.spent.epsilon == Fraction(4, 10)
    with pytest.raises(BudgetExceeded):
        budget.reserve(charge(0.7))
    assert not budget.entries()[0].answered


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), True, "1", None, [1]])
def test_allowances_that_are_no_amount_are_refused(epsilon: object) -> None:
    with pytest.raises(InvalidParameter, match="epsilon"):
        Budget(epsilon=epsilon)  # type: ignore[arg-type]  # the case


@pytest.mark.parametrize("delta", [-1e-9, 1, 1.5, float("nan"), True, "1e-8"])
def test_deltas_that_are_no_probability_are_refused(delta: object) -> None:
    with pytest.raises(InvalidParameter, match="delta"):
        Budget(epsilon=1, delta=delta)  # type: ignore[arg-type]  # the case


@pytest.mark.parametrize("amounts", [(1.0,), (1, 1e-9), (Fraction(1, 3),)])
def test_amounts_without_names_are_refused(amounts: tuple[object, ...]) -> None:
    with pytest.raises(InvalidParameter, match="Expected amounts with names, got amount=") as refusal:
        Budget(*amounts)  # type: ignore[arg-type]  # the refusal is the test
    assert "dp.Budget(epsilon=" in str(refusal.value)


def test_a_refused_allowance_makes_no_file(folder: Path) -> None:
    with pytest.raises(InvalidParameter):
        Budget(epsilon=-1, ledger=folder / "spent.db")
    assert not list(folder.iterdir())


@pytest.mark.parametrize("amount", [1, 1.0, Decimal("1.0"), Fraction(1)])
def test_every_way_to_write_an_amount_means_the_same(amount: Decimal | Fraction) -> None:
    assert Budget(epsilon=amount).allowance == Guarantee(epsilon=Fraction(1))


def test_repr_shows_what_is_left(charge: MakeCharge) -> None:
    budget = Budget(epsilon=1)
    budget.reserve(charge(Fraction(1, 3)))
    assert repr(budget) == "Budget(allowance: epsilon=1; spent: epsilon=0.333334; remaining: epsilon=0.666666)"
    with_delta = repr(Budget(epsilon=1, delta=1e-8, own_delta=1e-8))
    assert with_delta.startswith("Budget(allowance: epsilon=1, delta=0.00000001; spent: epsilon=0, delta=0; ")
    union = repr(Budget(epsilon=1, delta=1e-8))
    assert union.startswith(
        "Budget(allowance: epsilon=1, delta=0.00000001, rho=0.016065; spent: epsilon=0, delta=0, rho=0; "
    )
    concentrated = repr(Budget(rho=0.5, delta=1e-8))
    assert concentrated.endswith("spent: rho=0, delta=0; remaining: rho=0.5, delta=0.00000001)")


def test_repr_never_raises(folder: Path) -> None:
    budget = Budget(epsilon=1, ledger=folder / "spent.db")
    (folder / "spent.db").rename(folder / "elsewhere.db")
    assert repr(budget) == "Budget(its ledger cannot be used here)"


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps, lambda it: copy.deepcopy([it])])
def test_copies_are_refused(budget: Budget, copied: Callable[[object], object]) -> None:
    with pytest.raises(LedgerError, match=r"a copy[\s\S]*Hint: .*ledger="):
        copied(budget)


@pytest.mark.parametrize("kind", ["memory", "file"] if hasattr(os, "fork") else [])
def test_use_after_a_fork_is_refused(run: Run, folder: Path, kind: str) -> None:
    program = """
budget = Budget(epsilon=1, ledger=None if sys.argv[1] == "memory" else sys.argv[2])
reservation = budget.reserve(charge())
uses = {
    "reserve": lambda: budget.reserve(charge()),
    "commit": lambda: reservation.commit(b"answer"),
    "spent": lambda: budget.spent,
    "remaining": lambda: budget.remaining,
    "stored": lambda: budget.stored("ab" * 32),
    "entries": budget.entries,
}
number = os.getpid()
if not os.fork():
    for name, use in [*uses.items(), *uses.items()]:
        try:
            use()
        except LedgerError as refusal:
            assert "Hint: make the Budget in the process that uses it" in str(refusal)
            print(name, "refused", flush=True)
        if name == "entries":
            os.getpid = lambda: number  # as in a namespace of processes of its own, where each first one is 1
    print(repr(budget), flush=True)
    sys.exit()
os.wait()
budget.reserve(charge())
reservation.commit(b"answer")
print(budget.spent)
"""
    lines = run(program, kind, folder / "spent.db").splitlines()
    assert lines == [
        *(f"{name} refused" for name in 2 * ("reserve", "commit", "spent", "remaining", "stored", "entries")),
        "Budget(its ledger cannot be used here)",
        "epsilon=0.2",
    ]


@pytest.mark.parametrize("ledger", ["", ":memory:", "a\0b", b"spent.db", 7, True])
def test_ledgers_that_are_no_path_are_refused(ledger: object) -> None:
    with pytest.raises(InvalidParameter, match="ledger"):
        Budget(epsilon=1, ledger=ledger)  # type: ignore[arg-type]  # the case


def test_two_budgets_on_one_file_share_one_allowance(folder: Path, charge: MakeCharge) -> None:
    first, second = (Budget(epsilon=1, ledger=folder / "spent.db") for _ in range(2))
    for _ in range(5):
        first.reserve(charge())
        second.reserve(charge()).commit(b"answer")
    assert first.spent == second.spent == first.allowance
    assert first.stored(KEY) == b"answer"
    with pytest.raises(BudgetExceeded):
        first.reserve(charge(5e-324))


def test_a_refusal_asks_for_less_where_something_is_left(charge: MakeCharge) -> None:
    for spent, hint in (
        (Fraction(1, 2), "Hint: ask for less, repeat"),
        (Fraction(1), "Hint: repeat an earlier release"),
    ):
        budget = Budget(epsilon=1)
        budget.reserve(charge(spent))
        with pytest.raises(BudgetExceeded, match=hint):
            budget.reserve(charge(Fraction(3, 4)))


def test_a_refusal_of_delta_says_that_there_never_was_one(charge: MakeCharge) -> None:
    """No smaller delta would be let in."""
    with pytest.raises(BudgetExceeded, match="Hint: leave delta out, since this allowance has none, repeat"):
        Budget(epsilon=1).reserve(charge(Fraction(1, 10), Fraction(1, 10**9)))
    with pytest.raises(BudgetExceeded, match="Hint: ask for less, repeat"):
        Budget(epsilon=1, delta=1e-10).reserve(charge(Fraction(1, 10), Fraction(1, 10**9)))


def test_a_refusal_names_the_part_of_delta_that_is_kept(charge: MakeCharge) -> None:
    """Where another part would let more in, and nowhere else."""
    small, with_delta = charge(Fraction(1, 50)), charge(Fraction(1, 50), Fraction(1, 2 * 10**6))
    kept = r"Of delta, 3\.33333e-7 is kept for charges that have a delta of their own; Budget\(own_delta"
    budget = Budget(epsilon=1, delta=1e-6)
    for _ in range(budget.remaining_queries(epsilon=0.02)):
        budget.reserve(small)
    with pytest.raises(BudgetExceeded, match=kept + r"=0\) keeps nothing, for more small charges"):
        budget.reserve(small)
    with pytest.raises(BudgetExceeded) as late:
        budget.reserve(with_delta)  # no division of delta lets that in beside what was spent
    assert "Of delta" not in str(late.value)
    for more in (Fraction(4, 10**7), Fraction(6, 10**7)):
        other = Budget(epsilon=1, delta=1e-6)
        other.reserve(small)
        with pytest.raises(BudgetExceeded, match=kept + r"=\) sets another part"):
            other.reserve(charge(Fraction(1, 50), more))
    for own, one in ((0, small), (1e-6, small), (1e-6, with_delta)):
        full = Budget(epsilon=1, delta=1e-6, own_delta=own)
        full.reserve(charge(Fraction(99, 100)))
        with pytest.raises(BudgetExceeded) as refusal:
            full.reserve(one)
        assert "Of delta" not in str(refusal.value)


MIXED = [("1/8", "0", None), ("1/50", "1e-8", None), ("1/20", "1e-8", "1/900"), ("1/30", "0", "1/2000")]
"""epsilon, delta, and mu^2 where the noise is Gaussian."""
MANY = [*MIXED, *[("1/40", "0", "1/1700")] * 60, ("1/50", "1e-8", None)]
"""So many that only the sum of rho still holds them."""


def drawn(epsilon: str, delta: str, mu2: str | None) -> Charge:
    event = None if mu2 is None else GaussianEvent(mu2=Fraction(mu2))
    guarantee = Guarantee(epsilon=Fraction(epsilon), delta=Fraction(delta))
    return Charge(source="people, version 1", what="count by plan", key=KEY, guarantee=guarantee, event=event)


def balance(budget: Budget) -> list[object]:
    """All that a budget says of itself."""
    gaussian = GaussianEvent(mu2=Fraction(1, 500))
    left = [budget.remaining_queries(epsilon=0.01), budget.remaining_queries(epsilon=0.01, delta=1e-8)]
    left += [budget.remaining_queries(gaussian), budget.remaining_queries(gaussian, epsilon=0.01, delta=1e-9)]
    return [str(budget), budget.spent, budget.remaining, budget.allowance, left]


@pytest.mark.long
@pytest.mark.parametrize("charges", [MIXED, MANY], ids=["few", "many"])
@pytest.mark.parametrize(
    "stated",
    [
        {"epsilon": "1", "delta": "1e-6"},
        {"epsilon": "1", "delta": "1e-6", "own_delta": "1e-7"},
        {"epsilon": "2", "delta": "1e-6", "own_delta": "1e-6"},
        {"rho": "1/20", "delta": "1e-6"},
    ],
    ids=["union", "small own_delta", "plain sums", "rho"],
)
def test_a_reopened_ledger_says_what_the_first_said(
    stated: dict[str, str], charges: list[tuple[str, str, str | None]], folder: Path, run: Run
) -> None:
    """Another process spends, is refused once, and is killed between a charge and its answer."""
    program = """
import json
from discreet.privacy.events import GaussianEvent
stated, charges, path = json.loads(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3]
budget = Budget(**{name: Fraction(amount) for name, amount in stated.items()}, ledger=path)
for epsilon, delta, mu2 in charges:
    event = None if mu2 is None else GaussianEvent(mu2=Fraction(mu2))
    guarantee = Guarantee(epsilon=Fraction(epsilon), delta=Fraction(delta))
    try:
        paid = budget.reserve(Charge(source="s", what="w", key="ab" * 32, guarantee=guarantee, event=event))
    except BudgetExceeded:
        continue
    if paid.number % 2:
        paid.commit(b"answer")
try:
    budget.reserve(charge(epsilon=Fraction(50)))
except BudgetExceeded:
    print("refused", flush=True)
os.kill(os.getpid(), 9)
"""
    path = folder / "spent.db"
    assert run(program, json.dumps(stated), json.dumps(charges), path) == "refused\n"
    amounts: dict[str, Any] = {name: Fraction(amount) for name, amount in stated.items()}
    memory, number = Budget(**amounts), 0
    for one in charges:
        with suppress(BudgetExceeded):
            number = memory.reserve(drawn(*one)).number
    assert number > len(charges) // 2
    opened = Budget(**amounts, ledger=path)
    assert balance(opened) == balance(memory)
    assert [entry.answered for entry in opened.entries()] == [n % 2 == 1 for n in range(1, number + 1)]
    for budget in (memory, opened):
        budget.reserve(drawn("1/1000", "0", "1/10000"))
    assert balance(Budget(**amounts, ledger=path)) == balance(opened) == balance(memory)


def delta_of_an_analyst(budget_of: Callable[[], Budget], epsilon: float) -> float:
    """E[(1 - e^(epsilon - loss))+] of an analyst whose next epsilon depends on the answers, over all answers, exactly.

    Each question is a randomized response. After a true answer the next one is twice as precise, after a lie it is
    cheap; a refusal is followed by the cheapest question, and a second one is the end.
    """

    def after(answers: tuple[bool, ...]) -> tuple[float, Fraction | None]:
        """The loss so far, and the next epsilon if there is one: all of it from the answers."""
        budget, loss, size = budget_of(), 0.0, Fraction(1, 5)
        for answer in (*answers, None):
            for wanted in (size, Fraction(1, 5)):
                try:
                    budget.reserve(Charge(source="s", what="w", key=KEY, guarantee=Guarantee(epsilon=wanted)))
                except BudgetExceeded:
                    continue
                size = wanted
                break
            else:
                return loss, None
            if answer is not None:
                loss += float(size) if answer else -float(size)
                size = min(2 * size, Fraction(1, 2)) if answer else Fraction(1, 5)
        return loss, size

    def total(answers: tuple[bool, ...], probability: float) -> float:
        loss, size = after(answers)
        if size is None:
            return probability * max(0.0, 1 - math.exp(epsilon - loss))
        truth = math.exp(size) / (1 + math.exp(size))
        return total((*answers, True), probability * truth) + total((*answers, False), probability * (1 - truth))

    return total((), 1.0)


@pytest.mark.long
@pytest.mark.parametrize(
    ("budget_of", "delta"),
    [
        (lambda: Budget(epsilon=1), 0.0),
        (lambda: Budget(epsilon=1, delta=0.3), 0.3),
        (lambda: Budget(epsilon=1, delta=0.1, own_delta=0), 0.1),
        (lambda: Budget(rho=0.1), zcdp_delta(0.1, 1)),
    ],
)
def test_an_analyst_who_follows_the_answers(budget_of: Callable[[], Budget], delta: float) -> None:
    assert delta_of_an_analyst(budget_of, 1) <= delta


def test_a_forgetful_budget_is_caught() -> None:
    """Every second charge is not counted."""

    class Forgetful(MemoryLedger):
        def admitted(self, charge: Charge, before: Balances) -> Balances:
            after = super().admitted(charge, before)
            return after._replace(levels=before.levels) if len(self._states) % 2 == 0 else after

    def forgetful() -> Budget:
        budget = Budget(epsilon=1)
        budget._ledger = Forgetful(Allowance(epsilon=Fraction(1)))
        return budget

    assert delta_of_an_analyst(forgetful, 1) > 0.02
