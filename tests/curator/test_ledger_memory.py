"""What is special about a ledger in memory; the rest is in test_ledger.py."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from fractions import Fraction

import pytest

from discreet.accounting.allowance import Allowance
from discreet.curator.ledger import Charge
from discreet.curator.ledger_memory import MemoryLedger

MakeCharge = Callable[..., Charge]


def test_a_charge_waits_for_the_one_that_is_being_made(charge: MakeCharge) -> None:
    """Also in the same thread: a signal handler may not get in between a check and its record."""
    ledger = MemoryLedger(Allowance(epsilon=Fraction(1)))
    rival = threading.Thread(target=ledger.reserve, args=(charge(1),))
    with ledger.alone() as spent:
        rival.start()
        rival.join(0.05)
        assert rival.is_alive()
        assert spent.epsilon == 0
    rival.join()
    assert ledger.spent().epsilon == 1


def test_an_interrupted_charge_was_never_made(charge: MakeCharge, monkeypatch: pytest.MonkeyPatch) -> None:
    """Control-C while the line is written."""
    ledger = MemoryLedger(Allowance(epsilon=Fraction(1)))
    ledger.reserve(charge(Fraction(1, 4)))

    class Interrupted(list[object]):
        def append(self, line: object) -> None:
            super().append(line)
            raise KeyboardInterrupt

    monkeypatch.setattr(ledger, "_lines", Interrupted(ledger._lines))
    with pytest.raises(KeyboardInterrupt):
        ledger.reserve(charge(Fraction(1, 2)))
    monkeypatch.setattr(ledger, "_lines", list(ledger._lines))
    assert (ledger.spent().epsilon, len(ledger.entries())) == (Fraction(1, 4), 1)
    assert ledger.reserve(charge(Fraction(3, 4))) == 2
    assert [entry.guarantee.epsilon for entry in ledger.entries()] == [Fraction(1, 4), Fraction(3, 4)]


def test_a_ledger_is_not_copied() -> None:
    with pytest.raises(TypeError):
        copy.deepcopy(MemoryLedger(Allowance(epsilon=Fraction(1))))
