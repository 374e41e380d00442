"""Every ledger under fire: threads and processes that ask, repeat, give up and are killed; what was shown is charged.

What else may happen to a ledger is in test_ledger.py (any ledger: order, sums, a clock that jumps), test_file_ledger.py
(a full disk, an old copy put back, forks) and test_budget.py (copies, pickles).
"""

from __future__ import annotations

import os
import random
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest

from discreet.errors import BudgetExceeded
from discreet.ledger.budget import Budget
from discreet.ledger.file_ledger import statement
from discreet.ledger.ledger import Charge

MakeCharge = Callable[..., Charge]
AtOnce = Callable[..., None]
Start = Callable[..., subprocess.Popen[str]]

ROOM = 25
"""So many charges of 0.1 fit."""
KEYS = 30
"""Different questions; the same ones are asked by all, again and again."""

Shown = tuple[int, str]
"""A question by its number, and an answer to it that somebody saw."""


def key_of(number: int) -> str:
    return f"{number:064x}"


def check(shown: Iterable[Shown], charged: Counter[str], spent: Fraction) -> None:
    """No question has more answers than charges, and the charges are within the allowance."""
    answers = Counter(key_of(number) for number, _ in set(shown))
    assert all(answers[key] <= charged[key] for key in answers), (answers, charged)
    assert spent == Fraction(charged.total(), 10) <= Fraction(ROOM, 10)


@pytest.fixture
def budget(open_budget: Callable[..., Budget]) -> Budget:
    return open_budget(epsilon=Fraction(ROOM, 10))


@pytest.mark.parametrize("order", ["charge", "answer"])
def test_32_threads_repeat_and_give_up(budget: Budget, charge: MakeCharge, at_once: AtOnce, order: str) -> None:
    """Some fail after their charge, and ask again later; the same with answers before charges is seen to be wrong."""
    shown: list[Shown] = []

    def analyst(name: int) -> None:
        chance = random.Random(name)  # noqa: S311 (no noise: who asks what)
        for turn in range(12):
            number = chance.randrange(KEYS)
            fails = chance.random() < 0.2
            try:
                if order == "answer":
                    shown.append((number, f"{name}-{turn}"))
                found = budget.stored(key_of(number))
                if found is None:
                    found = f"{name}-{turn}".encode()
                    reserved = budget.reserve(charge(key=key_of(number)))
                    if fails:
                        continue
                    reserved.commit(found)
                shown.append((number, found.decode()))
            except BudgetExceeded:
                continue

    at_once([partial(analyst, name) for name in range(32)], turn=1e-5)
    charged = Counter(entry.key for entry in budget.entries())
    assert charged.total() == ROOM
    if order == "charge":
        check(shown, charged, budget.spent.epsilon)
    else:
        with pytest.raises(AssertionError):
            check(shown, charged, budget.spent.epsilon)


ANALYSTS = f"""
import random, signal, time

def analyst(path, name):
    chance, budget = random.Random(name), Budget(epsilon=Fraction({ROOM}, 10), ledger=path)
    while True:
        number = chance.randrange({KEYS})
        key = f"{{number:064x}}"
        found = budget.stored(key)
        if found is None:
            try:
                reserved = budget.reserve(charge(key=key))
            except BudgetExceeded:
                continue
            found = f"{{name}}-{{chance.random()}}".encode()
            reserved.commit(found)
        os.write(1, f"{{number}} {{found.decode()}}\\n".encode())  # whole, or not at all

for path in sys.stdin:
    started = []
    for name in range(8):
        child = os.fork()
        if not child:
            analyst(path.strip(), f"{{os.getpid()}}")
        started.append(child)
    time.sleep(0.03)
    random.shuffle(started)
    for child in started:
        time.sleep(random.random() * 0.02)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    os.write(1, b"over\\n")
"""
FOUND = "        if found is None:\n"
HASTY = ANALYSTS.replace(FOUND, FOUND + "            os.write(1, f'{number} {chance.random()}\\n'.encode())\n")
"""Shows an answer, and then pays for it."""


def killed(start: Start, folder: Path, program: str, rounds: int) -> Iterator[tuple[list[Shown], Path]]:
    """What 8 processes showed that were killed at random moments, and their ledger; round by round."""
    process = start(program)
    assert process.stdin
    assert process.stdout
    for number in range(rounds):
        path = folder / f"spent-{number}.db"
        print(path, file=process.stdin, flush=True)
        told = [line.split() for line in iter(process.stdout.readline, "over\n")]
        yield [(int(number), answer) for number, answer in told], path


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
def test_8_processes_killed_at_random_moments(folder: Path, start: Start) -> None:
    charges = 0
    for shown, path in killed(start, folder, ANALYSTS, 12):
        told = statement(path)
        check(shown, Counter(entry.key for entry in told.entries), told.spent.epsilon)
        charges += len(told.entries)
        left = Budget(epsilon=Fraction(ROOM, 10), ledger=path)
        assert left.spent.epsilon == told.spent.epsilon  # whoever comes next goes on from there
    assert charges > 24


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
def test_answers_before_charges_would_be_seen(folder: Path, start: Start) -> None:
    seen = 0
    for shown, path in killed(start, folder, HASTY, 4):
        told = statement(path)
        try:
            check(shown, Counter(entry.key for entry in told.entries), told.spent.epsilon)
        except AssertionError:
            seen += 1
    assert seen == 4
