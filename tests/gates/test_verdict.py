"""What judges services under fire finds each fault that it is there for."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import service_cluster
from discreet.ledger.budget import Budget
from discreet.ledger.ledger import Charge
from discreet.privacy.definitions import Guarantee
from service_cluster import LEVEL, SCARCE, WHOLE, Asked, verdict

PRICES = ("0.001000000001", "0.001001000001", "0.001002000001")


class Course:
    """Requests that were told what they should have been, and the charges for them."""

    def __init__(self, folder: Path) -> None:
        self.ledger = str(folder / "spent.db")
        self.whole = Budget(epsilon=Fraction(WHOLE), ledger=self.ledger)
        self.scarce = Budget(parent=self.whole, epsilon=Fraction(SCARCE), name=LEVEL)
        self.asked = [
            Asked(who=f"analyst{number:02d}", epsilon=price, seen={str(number)}, state="ready", answers={b"bits"})
            for number, price in enumerate(PRICES)
        ]
        for one in self.asked:
            self.charge(self.scarce, one.epsilon)
        self.refused = Asked(who="analyst03", epsilon="0.001003000001", state="refused")
        self.asked.append(self.refused)

    def charge(self, budget: Budget, epsilon: str) -> None:
        """An entry at this price."""
        key = hashlib.sha256(epsilon.encode()).hexdigest()
        budget.reserve(
            Charge(source="people", what="n by plan", key=key, guarantee=Guarantee(epsilon=Fraction(epsilon)))
        )

    def faults(self, unexpected: tuple[object, ...] = ()) -> tuple[str, ...]:
        """What is found."""
        cluster: Any = SimpleNamespace(ledger=self.ledger)
        clients: Any = SimpleNamespace(asked=self.asked, unexpected=list(unexpected))
        return verdict(cluster, clients).faults


@pytest.fixture
def course(tmp_path: Path) -> Course:
    return Course(tmp_path)


def test_nothing_is_found_where_nothing_is_wrong(course: Course) -> None:
    assert course.faults() == ()


def change(course: Course, **what: Any) -> None:
    course.asked[0] = replace(course.asked[0], **what)


def test_an_overspend_is_found(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_cluster, "SCARCE", "0.002")
    assert course.faults() == ("more is spent than was allowed",)
    monkeypatch.setattr(service_cluster, "SCARCE", SCARCE)
    monkeypatch.setattr(service_cluster, "WHOLE", "0.002")
    assert course.faults() == ("more is spent than was allowed",)


def test_an_answer_without_a_charge_is_found(course: Course) -> None:
    course.asked.append(Asked(who="x", epsilon="0.0017", seen={"x"}, state="ready", answers={b"bits"}))
    assert [one.partition(":")[0] for one in course.faults()] == ["answered without a charge"]


def test_two_charges_for_a_request_are_found(course: Course) -> None:
    course.charge(course.whole, PRICES[0])
    assert [one.partition(":")[0] for one in course.faults()] == ["charged twice", "answered without a charge"]


def test_a_charge_that_nobody_asked_for_is_found(course: Course) -> None:
    course.charge(course.whole, "0.5")
    assert course.faults() == ("a charge that nobody asked for",)


def test_other_bits_elsewhere_are_found(course: Course) -> None:
    change(course, answers={b"bits", b"other bits"})
    assert [one.partition(":")[0] for one in course.faults()] == ["other bits"]


def test_two_releases_for_a_key_are_found(course: Course) -> None:
    change(course, seen={"0", "another"})
    assert [one.partition(":")[0] for one in course.faults()] == ["several releases"]


def test_what_has_no_end_and_what_was_not_expected_are_found(course: Course) -> None:
    change(course, state="unknown", answers=set())
    found = course.faults(unexpected=((500, b"a failure"),))
    assert [one.partition(":")[0] for one in found] == ["unexpected", "no end"]


def test_a_charge_for_what_was_refused_is_counted(course: Course) -> None:
    course.charge(course.scarce, course.refused.epsilon)
    cluster: Any = SimpleNamespace(ledger=course.ledger)
    clients: Any = SimpleNamespace(asked=course.asked, unexpected=[])
    found = verdict(cluster, clients)
    assert (found.faults, found.without_answer) == ((), 1)
