"""Charges are read in pages, and all pages together are all charges."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.ledger import entry_pages
from discreet.ledger.file_ledger import FileLedger, statement
from discreet.ledger.ledger import Charge, Ledger
from discreet.ledger.privacy_filter import Allowance

MakeCharge = Callable[..., Charge]
Open = Callable[..., Ledger]


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_pages_are_all(new_ledger: Open, charge: MakeCharge, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    ledger = new_ledger(Fraction(1))
    for number in range(7):
        ledger.commit(ledger.reserve(charge(key=f"{number:064x}")), b"answer")
    every = ledger.entries()
    monkeypatch.setattr(entry_pages, "PAGE", size)
    assert [entry.number for entry in every] == list(range(1, 8))
    assert ledger.entries() == every
    for after in range(9):
        assert ledger.entries(after) == every[after:]
        for most in (0, 1, 2, 7, 8):
            assert ledger.entries(after, most) == every[after : after + most]


def test_a_reader_of_pages_lets_charges_in(path: Path, charge: MakeCharge, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two pages no lock is held."""
    monkeypatch.setattr(entry_pages, "PAGE", 1)
    reader, writer = (FileLedger(path, Allowance(epsilon=Fraction(1))) for _ in range(2))
    for _ in range(3):
        writer.reserve(charge())
    catch_up = reader._catch_up

    def charged() -> None:
        catch_up()
        if writer.spent().epsilon < Fraction(1, 2):
            writer.reserve(charge())

    monkeypatch.setattr(reader, "_catch_up", charged)
    assert [entry.number for entry in reader.entries()] == [1, 2, 3, 4, 5]


def test_a_statement_of_what_is_new(used: Path) -> None:
    every = statement(used)
    assert every.number == len(every.entries) == 4
    assert statement(used, after=3).entries == every.entries[3:]
    assert statement(used, after=9).entries == ()
    assert statement(used, entries=False).entries == ()
    assert statement(used, entries=False).number == 4
