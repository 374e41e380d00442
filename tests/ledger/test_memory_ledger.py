"""What is special about a ledger in memory; the rest is in test_ledger.py."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from discreet.errors import BudgetExceeded
from discreet.ledger import memory_ledger
from discreet.ledger.ledger import Charge
from discreet.ledger.memory_ledger import MemoryLedger
from discreet.ledger.privacy_filter import Allowance

MakeCharge = Callable[..., Charge]
Spend = Callable[[Callable[[], object]], object]


def in_a_thread(work: Callable[[], object]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_a_charge_in_between_is_seen(charge: MakeCharge, monkeypatch: pytest.MonkeyPatch) -> None:
    """However late: the clock is read last, and a rival spends all while it is, in this thread as a signal handler
    would, or in another one.
    """
    for spend in (lambda reserve: reserve(), in_a_thread):
        ledger = MemoryLedger(Allowance(epsilon=Fraction(1)))
        rivals = [charge(1)]

        def clock(ledger: MemoryLedger = ledger, rivals: list[Charge] = rivals, spend: Spend = spend) -> float:
            if rivals:
                spend(partial(ledger.reserve, rivals.pop()))
            return 0.0

        monkeypatch.setattr(memory_ledger, "time", SimpleNamespace(time=clock))
        with pytest.raises(BudgetExceeded):
            ledger.reserve(charge(1))
        assert (ledger.spent().epsilon, len(ledger.entries())) == (Fraction(1), 1)


def test_a_charge_that_was_overtaken_comes_next(charge: MakeCharge, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = MemoryLedger(Allowance(epsilon=Fraction(1)))
    rivals = [charge(Fraction(1, 4)), charge(Fraction(1, 4))]

    def clock() -> float:
        if rivals:
            ledger.reserve(rivals.pop())
        return 0.0

    monkeypatch.setattr(memory_ledger, "time", SimpleNamespace(time=clock))
    assert ledger.reserve(charge(Fraction(1, 8))) == 3
    assert ledger.spent().epsilon == Fraction(5, 8)
    assert [entry.guarantee.epsilon for entry in ledger.entries()] == [Fraction(1, 4), Fraction(1, 4), Fraction(1, 8)]


@pytest.mark.parametrize("is_written", [False, True])
def test_an_interrupted_charge_lets_the_next_one_in(charge: MakeCharge, *, is_written: bool) -> None:
    """It stops right before or right after it is written, and nobody waits for what it left undone."""

    class Interrupted(dict[int, Any]):
        is_on = False

        def setdefault(self, key: int, default: Any = None) -> Any:
            if self.is_on and not is_written:
                raise KeyboardInterrupt
            found = super().setdefault(key, default)
            if self.is_on:
                raise KeyboardInterrupt
            return found

    ledger = MemoryLedger(Allowance(epsilon=Fraction(1)))
    ledger._states = states = Interrupted(ledger._states)
    ledger.reserve(charge(Fraction(1, 8)))
    states.is_on = True
    with pytest.raises(KeyboardInterrupt):
        ledger.reserve(charge(Fraction(1, 8)))
    states.is_on = False
    next_one = threading.Thread(target=partial(ledger.reserve, charge(Fraction(1, 8))), daemon=True)
    next_one.start()
    next_one.join(10)
    assert not next_one.is_alive()
    assert (
        ledger.spent().epsilon == Fraction(2 + is_written, 8) == sum(one.guarantee.epsilon for one in ledger.entries())
    )


def test_only_the_last_balances_are_kept(charge: MakeCharge) -> None:
    """Those of all states would be most of what a long ledger holds, and of what the collector looks through."""
    ledger = MemoryLedger(Allowance(epsilon=Fraction(1)))
    for _ in range(8):
        ledger.reserve(charge(Fraction(1, 8)))
    assert [state.balances is not None for state in ledger._states.values()] == [False] * 8 + [True]


def test_a_ledger_is_not_copied() -> None:
    with pytest.raises(TypeError):
        copy.deepcopy(MemoryLedger(Allowance(epsilon=Fraction(1))))
