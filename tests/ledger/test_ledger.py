"""What every ledger does, in memory or in a file."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.errors import BudgetExceeded, InvalidParameter, LedgerError
from discreet.ledger import database_ledger, memory_ledger
from discreet.ledger.declared_sources import DeclaredSource
from discreet.ledger.file_ledger import FileLedger
from discreet.ledger.ledger import Charge, Ledger, charge_of, event_of, positive_guarantee, stated_guarantee
from discreet.ledger.ledger_kinds import ledger_at
from discreet.ledger.privacy_filter import NOTHING, Allowance, Spending, added
from discreet.ledger.stored_lines import Database
from discreet.privacy.definitions import UNBOUNDED, Guarantee
from discreet.privacy.events import BoundedRangeEvent, ConcentratedEvent, GaussianEvent, PureEvent

MakeCharge = Callable[..., Charge]
Open = Callable[..., Ledger]
AtOnce = Callable[..., None]

KEY, OTHER_KEY = "ab" * 32, "cd" * 32
NUMBERS = itertools.count()


def test_new_ledger_has_spent_nothing(new_ledger: Open) -> None:
    ledger = new_ledger()
    assert (ledger.spent(), ledger.entries(), ledger.stored(KEY)) == (NOTHING, (), None)


def test_ten_tenths_fit_and_nothing_more(new_ledger: Open, charge: MakeCharge) -> None:
    ledger = new_ledger(Fraction(1))
    for number in range(1, 11):
        assert ledger.reserve(charge(0.1)) == number
    assert ledger.spent().guarantee == Guarantee(epsilon=Fraction(1))
    for little in (5e-324, Decimal("1e-900"), 0.1):
        with pytest.raises(BudgetExceeded):
            ledger.reserve(charge(little))
    assert ledger.spent().guarantee == Guarantee(epsilon=Fraction(1))
    assert len(ledger.entries()) == 10


def test_each_source_has_one_entry(new_ledger: Open, charge: MakeCharge) -> None:
    """Written with its first charge; a charge that is refused leaves nothing, nor does one that contradicts it."""
    ledger = new_ledger(Fraction(1))
    first, second = (DeclaredSource(name="p", version=v, unit=("person",), neighbors="add-remove") for v in ("1", "2"))
    other = replace(first, version="3", unit=("household",))
    for declared in ((first,), (first,), (first, second)):
        ledger.reserve(replace(charge(0.1), declared=declared))
    assert list(ledger.sources()) == [first, second]
    with pytest.raises(BudgetExceeded):
        ledger.reserve(replace(charge(2), declared=(replace(first, version="4"),)))
    with pytest.raises(InvalidParameter, match="the unit"):
        ledger.reserve(replace(charge(0.1), declared=(other,)))
    assert list(ledger.sources()) == [first, second]
    assert [entry.number for entry in ledger.entries()] == [1, 2, 3]


def test_sources_last(lasting: str, charge: MakeCharge) -> None:
    """Whoever opens the ledger after its process has ended finds what its charges were about, and is held to it."""
    declared = DeclaredSource(name="p", version="1", unit=("person",), neighbors="add-remove")
    ledger_at(lasting, Allowance(epsilon=Fraction(1))).reserve(replace(charge(0.1), declared=(declared,)))
    opened = ledger_at(lasting, Allowance(epsilon=Fraction(1)))
    assert list(opened.sources()) == [declared]
    with pytest.raises(InvalidParameter, match="the unit"):
        opened.reserve(replace(charge(0.1), declared=(replace(declared, version="2", unit=("household",)),)))


def test_a_clock_that_jumps_changes_nothing(
    new_ledger: Open, charge: MakeCharge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Order and sums go by number: a clock set back, forward or standing still leaves both alone."""
    ledger = new_ledger(Fraction(1))
    for number, clock in enumerate((2e9, 0.0, 4e9, 4e9, 1.0, 3e9, 0.5, 2e9, 1e9, 0.0), 1):
        monkeypatch.setattr(memory_ledger, "time", SimpleNamespace(time=lambda clock=clock: clock))
        monkeypatch.setattr(database_ledger, "now", lambda clock=clock: datetime.fromtimestamp(clock, UTC).isoformat())
        assert ledger.reserve(charge(0.1)) == number
    with pytest.raises(BudgetExceeded):
        ledger.reserve(charge(5e-324))
    assert [entry.number for entry in ledger.entries()] == list(range(1, 11))
    assert ledger.spent().guarantee == Guarantee(epsilon=Fraction(1))


def test_little_charges_add_up_exactly(new_ledger: Open, charge: MakeCharge) -> None:
    ledger = new_ledger(Fraction(1))
    ledger.reserve(charge(5e-324))
    with pytest.raises(BudgetExceeded):
        ledger.reserve(charge(1.0))
    ledger.reserve(charge(1 - Fraction("5e-324")))
    assert ledger.spent().epsilon == 1


def test_epsilon_and_delta_must_both_fit(new_ledger: Open, charge: MakeCharge) -> None:
    ledger = new_ledger(Fraction(1), Fraction(1, 10**6))
    with pytest.raises(BudgetExceeded):
        ledger.reserve(charge(0.5, 1e-5))
    with pytest.raises(BudgetExceeded):
        ledger.reserve(charge(1.5, 1e-7))
    ledger.reserve(charge(0.5, 1e-6))
    with pytest.raises(BudgetExceeded):
        ledger.reserve(charge(0.1, 1e-300))
    ledger.reserve(charge(0.5))
    assert ledger.spent().guarantee == Guarantee(epsilon=Fraction(1), delta=Fraction(1, 10**6))


def test_delta_needs_an_allowance(new_ledger: Open, charge: MakeCharge) -> None:
    ledger = new_ledger(Fraction(1))
    with pytest.raises(BudgetExceeded, match=r"delta=0, got epsilon=0\.1, delta=0\.00000001"):
        ledger.reserve(charge(0.1, 1e-8))


def test_the_course_example(new_ledger: Open, charge: MakeCharge) -> None:
    """A budget of 1.0, then 0.01, 0.10 and 1.00: the third is refused, costs nothing, and says what is left."""
    ledger = new_ledger(Fraction(1))
    ledger.reserve(charge(0.01))
    ledger.reserve(charge(0.10))
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.reserve(charge(1.00))
    told = "within the remaining epsilon=0.89, got epsilon=1 (spent: epsilon=0.11; allowance: epsilon=1).\nHint: "
    assert told in str(refusal.value)
    ledger.reserve(charge(0.89))


def test_refusal_rounds_what_remains_down(new_ledger: Open, charge: MakeCharge) -> None:
    ledger = new_ledger(Fraction(2, 3))
    with pytest.raises(BudgetExceeded, match=r"remaining epsilon=0\.666666, got epsilon=0\.666667 "):
        ledger.reserve(charge(Fraction(2, 3) + Fraction(1, 10**12)))
    ledger.reserve(charge(0.666666))


@pytest.mark.parametrize("epsilon", [0, -1, -5e-324, float("nan"), float("inf"), True, "1", None, 1j, Decimal("sNaN")])
def test_charges_that_are_no_amount_are_refused(charge: MakeCharge, epsilon: object) -> None:
    with pytest.raises(InvalidParameter, match="epsilon"):
        charge(epsilon)


@pytest.mark.parametrize("delta", [-1e-9, 1, 2.0, float("nan"), True, "0"])
def test_deltas_outside_of_their_range_are_refused(charge: MakeCharge, delta: object) -> None:
    with pytest.raises(InvalidParameter, match="delta"):
        charge(0.1, delta)


def test_amounts_of_a_charge_become_exact(charge: MakeCharge) -> None:
    made = charge(np.float32(0.1), 1e-8).guarantee
    assert made == Guarantee(epsilon=Fraction(1, 10), delta=Fraction(1, 10**8))


@pytest.mark.parametrize("text", ["", "  ", "a\0b", "\ud800", 7, None])
def test_texts_that_cannot_be_kept_are_refused(text: object) -> None:
    with pytest.raises(InvalidParameter):
        Charge(source=text, what="w", key=KEY, guarantee=Guarantee(epsilon=Fraction(1)))  # type: ignore[arg-type]  # the case
    with pytest.raises(InvalidParameter):
        Charge(source="s", what=text, key=KEY, guarantee=Guarantee(epsilon=Fraction(1)))  # type: ignore[arg-type]  # the case


@pytest.mark.parametrize("key", ["", "ab", "AB" * 32, "ab" * 32 + "\n", b"ab" * 32, None])
def test_keys_that_are_no_hash_are_refused(charge: MakeCharge, key: object) -> None:
    with pytest.raises(InvalidParameter, match="key"):
        charge(key=key)


def test_entries_tell_what_when_and_how_much(new_ledger: Open, charge: MakeCharge) -> None:
    ledger = new_ledger(Fraction(1), Fraction(1, 100))
    before = datetime.now(UTC).replace(microsecond=0)
    ledger.reserve(charge(0.25, 0.001))
    ledger.commit(ledger.reserve(charge(Fraction(1, 3), key=OTHER_KEY)), b"answer")
    first, second = ledger.entries()
    assert (first.number, first.source, first.what, first.key) == (1, "people, version 1", "count by plan", KEY)
    assert first.guarantee == Guarantee(epsilon=Fraction(1, 4), delta=Fraction(1, 1000))
    assert (first.answered, second.answered, second.number, second.key) == (False, True, 2, OTHER_KEY)
    assert second.guarantee == Guarantee(epsilon=Fraction(1, 3))
    assert before <= datetime.fromisoformat(first.time) <= datetime.fromisoformat(second.time) <= datetime.now(UTC)
    assert first.time.endswith("+00:00")


@pytest.mark.parametrize("answer", [b"", b"\0\xff" * 1000, bytes(range(256)) * 4096], ids=["empty", "binary", "1 MB"])
def test_answers_come_back_byte_for_byte(new_ledger: Open, charge: MakeCharge, answer: bytes) -> None:
    ledger = new_ledger()
    ledger.commit(ledger.reserve(charge()), answer)
    assert ledger.stored(KEY) == answer
    assert ledger.stored(OTHER_KEY) is None


def test_the_answer_charged_last_is_the_stored_one(new_ledger: Open, charge: MakeCharge) -> None:
    """In whichever order looks end: from that, nobody is to be told how long they took."""
    ledger = new_ledger()
    first, second, third = (ledger.reserve(charge()) for _ in range(3))
    ledger.commit(second, b"second")
    assert ledger.stored(KEY) == b"second"
    ledger.commit(first, b"first")
    assert (ledger.stored(KEY), ledger.paid_by(KEY)) == (b"second", second)
    assert [ledger.answer_to(number, KEY) for number in (0, first, second, third)] == [None, b"first", b"second", None]
    assert ledger.answer_to(first, OTHER_KEY) is None
    assert [entry.answered for entry in ledger.entries()] == [True, True, False]
    assert third == 3


def test_a_charge_pays_for_one_answer(new_ledger: Open, charge: MakeCharge) -> None:
    ledger = new_ledger()
    number = ledger.reserve(charge())
    ledger.commit(number, b"one")
    with pytest.raises(LedgerError, match="pays for one answer"):
        ledger.commit(number, b"two")
    assert ledger.stored(KEY) == b"one"


@pytest.mark.parametrize("number", [0, -1, 2])
def test_answers_that_nothing_paid_for_are_refused(new_ledger: Open, charge: MakeCharge, number: int) -> None:
    ledger = new_ledger()
    ledger.reserve(charge())
    with pytest.raises(LedgerError, match="number of a charge"):
        ledger.commit(number, b"free")
    assert ledger.stored(KEY) is None


def test_a_charge_in_between_is_counted(charge: MakeCharge, path: Path) -> None:
    """However late the lock is taken, what others spent until then is seen; in memory, where there is no lock, see
    test_ledger_memory.py.
    """

    rivals = [FileLedger(path, Allowance(epsilon=Fraction(1)))]

    class Delayed(FileLedger):
        """Lets a rival spend all, once, just before the lock is had."""

        @contextmanager
        def _transaction(self, *, alone: bool) -> Iterator[Database]:
            if alone and rivals:
                rivals.pop().reserve(charge(1))
            with super()._transaction(alone=alone) as database:
                yield database

    ledger = Delayed(path, Allowance(epsilon=Fraction(1)))
    with pytest.raises(BudgetExceeded):
        ledger.reserve(charge(1))
    assert len(ledger.entries()) == 1


@pytest.mark.long
@pytest.mark.parametrize("repetition", range(50))
def test_exactly_ten_of_32_threads_win(new_ledger: Open, charge: MakeCharge, at_once: AtOnce, repetition: int) -> None:
    ledger, one = new_ledger(Fraction(2)), charge(0.1)
    for _ in range(10):
        ledger.reserve(one)
    outcomes = []

    def analyst() -> None:
        try:
            ledger.commit(ledger.reserve(one), b"answer")
        except BudgetExceeded as refusal:
            outcomes.append(refusal)

    at_once([analyst] * 32, turn=1e-6)
    assert len(outcomes) == 22
    assert ledger.spent().epsilon == 2
    assert [entry.answered for entry in ledger.entries()] == [False] * 10 + [True] * 10


def fits(total: Guarantee) -> bool:
    return total.epsilon <= 2 and total.delta <= Fraction(1, 100)


amounts = st.fractions(min_value=Fraction(1, 10**9), max_value=2, max_denominator=10**9)


@pytest.mark.long
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(amounts, st.sampled_from([Fraction(0), Fraction(1, 300)]), st.booleans()), max_size=12))
def test_answers_never_pass_the_allowance(
    new_ledger: Open, charge: MakeCharge, requests: list[tuple[Fraction, Fraction, bool]]
) -> None:
    """The claim of the proof card, for any sequence of requests, against a plain sum."""
    ledger = new_ledger(Fraction(2), Fraction(1, 100), name=f"spent-{next(NUMBERS)}.db")
    total = ledger.spent().guarantee
    for epsilon, delta, answers in requests:
        one = charge(epsilon, delta)
        try:
            number = ledger.reserve(one)
        except BudgetExceeded:
            assert not fits(total + one.guarantee)
        else:
            total += one.guarantee
            if answers:
                ledger.commit(number, b"answer")
        assert ledger.spent().guarantee == total
        assert fits(total)


def test_totals_stay_short_and_never_too_low() -> None:
    """Two thousand charges with unrelated denominators: the exact sum would have some 20,000 digits."""
    total, sum_of_few = NOTHING, Fraction(0)
    for denominator in range(10**9 + 1, 10**9 + 4001, 2):
        total = added(total, Spending.of(Fraction(1, denominator), Fraction(1, denominator)))
        if denominator < 10**9 + 1000:
            sum_of_few += Fraction(1, denominator)
            assert sum_of_few <= total.epsilon <= sum_of_few + Fraction(1, 10**990)
    assert len(str(total.epsilon.denominator)) <= 1001
    assert total.epsilon == total.delta == total.slack
    assert len(str(total.rho.denominator)) <= 1001


def test_allowances_follow_the_same_rules() -> None:
    assert positive_guarantee(1, 0) == Guarantee(epsilon=Fraction(1))
    for epsilon, delta in [(0, 0), (1, 1), (float("inf"), 0), (1, -1)]:
        with pytest.raises(InvalidParameter):
            positive_guarantee(epsilon, delta)


def test_a_charge_costs_the_rho_that_it_states_or_that_its_event_does() -> None:
    half, one = Fraction(1, 2), Fraction(1)
    assert charge_of(Guarantee(epsilon=one, rho=Fraction(7)), PureEvent(epsilon=one)).rho == 7
    assert charge_of(Guarantee(epsilon=one, rho=Fraction(1, 9)), PureEvent(epsilon=one)).rho == half
    by_rho = Guarantee(epsilon=UNBOUNDED, rho=half)
    assert event_of(by_rho) == ConcentratedEvent(rho=half)
    assert charge_of(by_rho, event_of(by_rho)) == Spending(UNBOUNDED, rho=half)


def test_a_charge_at_a_rho_has_all_the_epsilon_of_its_event() -> None:
    events: dict[Any, Any] = {BoundedRangeEvent(epsilon=Fraction(2)): 2, PureEvent(epsilon=Fraction(1, 2)): 1, None: 1}
    for event, epsilon in {**events, GaussianEvent(mu2=Fraction(1)): UNBOUNDED}.items():
        stated = stated_guarantee(None, rho=Fraction(1, 2))
        made = Charge(source="visits", what="a choice", key=KEY, guarantee=stated, event=event)
        assert (made.guarantee.epsilon, made.cost.epsilon, made.cost.rho) == (epsilon, epsilon, Fraction(1, 2))


@pytest.mark.parametrize("stated", [{}, {"epsilon": 1, "rho": 1}, {"rho": 0}, {"rho": 1, "delta": 1}, {"epsilon": "1"}])
def test_a_call_states_epsilon_or_rho(stated: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter, match="Hint: "):
        stated_guarantee(stated.get("epsilon"), stated.get("delta", 0), stated.get("rho"))


def test_a_rho_has_the_largest_epsilon_that_costs_no_more() -> None:
    rho = Fraction(1, 7)
    found = stated_guarantee(None, 1e-6, rho)
    assert (found.rho, found.delta) == (rho, Fraction(1, 10**6))
    assert rho * (1 - Fraction(1, 2**58)) <= found.epsilon**2 / 2 <= rho


def test_a_series_is_charged_once_and_goes_on(new_ledger: Open, charge: MakeCharge) -> None:
    """Its answer comes with its charge; points follow in their order, each for good, for no further charge."""
    ledger = new_ledger(Fraction(1))
    assert ledger.opened(charge(), b"opened") == b"opened"
    assert ledger.opened(charge(), b"again") == ledger.stored(KEY) == b"opened"
    assert ledger.points(KEY) == ledger.points(OTHER_KEY) == ()
    for place in (0, 2):
        with pytest.raises(LedgerError):
            ledger.published(KEY, place, b"too soon")
    with pytest.raises(LedgerError, match="open the series first"):
        ledger.published(OTHER_KEY, 1, b"of nothing")
    assert [ledger.published(KEY, place, bytes([place])) for place in (1, 2)] == [b"\1", b"\2"]
    assert [ledger.published(KEY, place, b"drawn again") for place in (2, 1)] == [b"\2", b"\1"]
    assert ledger.opened(charge(key=OTHER_KEY), b"another") == b"another"
    ledger.published(OTHER_KEY, 1, b"beside")
    assert ledger.published(KEY, 3, b"\3") == b"\3"
    assert (ledger.points(KEY), ledger.points(OTHER_KEY)) == ((b"\1", b"\2", b"\3"), (b"beside",))
    assert ledger.stored(KEY) == b"opened"
    assert [(one.number, one.answered) for one in ledger.entries()] == [(1, True), (2, True)]
    assert [ledger.paid_by(key) for key in (KEY, OTHER_KEY, "0" * 64)] == [1, 2, None]
    assert ledger.spent().guarantee == Guarantee(epsilon=Fraction(1, 5))
    ledger.commit(ledger.reserve(charge()), b"asked anew")
    assert (ledger.paid_by(KEY), ledger.stored(KEY)) == (3, b"asked anew")


def test_a_series_that_does_not_fit_leaves_nothing(new_ledger: Open, charge: MakeCharge) -> None:
    ledger = new_ledger(Fraction(1, 20))
    with pytest.raises(BudgetExceeded):
        ledger.opened(charge(), b"opened")
    assert (ledger.stored(KEY), ledger.entries(), ledger.spent()) == (None, (), NOTHING)


def test_points_last(lasting: str, charge: MakeCharge) -> None:
    """Another handle of the same ledger finds them, verifies them, and draws none of them again."""
    first, second = (ledger_at(lasting, Allowance(epsilon=Fraction(1))) for _ in range(2))
    first.opened(charge(), b"opened")
    assert first.published(KEY, 1, b"first") == b"first"
    assert second.opened(charge(), b"again") == b"opened"
    assert second.published(KEY, 1, b"second") == b"first"
    assert second.published(KEY, 2, b"next") == b"next"
    assert first.points(KEY) == (b"first", b"next")
    first.verify()
    second.verify(first.head())
    assert len(first.entries()) == 1
