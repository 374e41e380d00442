"""The one transaction that every charged release passes: price, reserve, look, add noise, commit, release.

Claim
    (a) What a release draws is drawn after its charge was recorded, and is on record before anybody has it.
    (b) Whatever fails in between, ours or not, leaves the charge, and one exception: `EngineError` with one text, the
    refusal of a ledger that cannot record, or an interrupt or exit as it came. Nothing that the look has made can be
    reached from it: not its frames, nor its causes. A handler of the program's log that fails ends no release.
    (c) A question that is asked in several threads while it is being answered is drawn once and charged once: the
    others get the stored answer, or, where the release failed after its charge, are told so; neither costs anything.
Requires
    `draw` looks at rows only while it runs, and leaves nothing behind but what it returns or `keep`s.
Relies on
    `ledger.ledger`: a charge that `reserve` returned lasts. `engines.engine.hide_failure_details`, which conceals a
    failure.
Proof
    (a) By reading `paid`, which every release passes: `reserve` comes first, or raises with nothing looked at; `draw`
    runs inside of `_drawn`, which returns once `commit` did. (b) All of `_drawn` runs inside of `hide_failure_details`,
    so the frames below it are emptied and left out. It does so twice, so that an interrupt while a failure is being
    concealed is concealed as well. What the frames above hold is public, or noisy and paid for. Lines of the log are
    written under `suppress(Exception)`, which lets nothing but an interrupt through.
    (c) Who holds the lock of a registered turn draws; the turn leaves the register before the lock is left. Whoever
    waited for that lock looks for the stored answer first, and draws only with a turn that is registered. A turn that
    ended without an answer ended after its charge (`charged`), or was refused before it; then the others try again.
    *No deadlock.* A thread holds one turn at most, and takes it before any other lock of ours; the questions that
    `together` asks inside of a release are those of a ledger of its own. The lock is re-entrant: a signal handler that
    asks what its own thread is answering draws for itself, and pays; in the middle of a look it is refused before it
    pays (`engines.connected_engine.ConnectionLock`). A `with` cannot be interrupted between taking a
    lock and holding it, so an interrupt leaves no lock behind; a turn that it leaves registered belongs to nobody, and
    the next to ask has it. The process is part of its name, so that a fork waits for nobody in its parent.
    *What is not claimed.* Several processes that ask the same at once each pay, of what their ledger lets in. A charge
    whose release failed is not used for the next one: whether it failed may depend on what was drawn, so that the two
    together would show more than was paid for.
Rounding
    None here.
Source
    McSherry, "Privacy integrated queries" (2009); Haeberlen, Pierce and Narayan, "Differential privacy under fire"
    (2011).
Mutant
    charge-after-the-answer: the engine runs before the charge is made; killed by
    test_the_charge_comes_before_the_engine.
    draw-outside-the-handler: what a release draws is not concealed when it fails; killed by
    test_nothing_is_left_of_a_release_that_fails.
    everybody-draws: nobody waits for who is drawing the same; killed by
    test_one_question_from_many_threads_is_drawn_once.
    waiters-pay-for-failures: who waited for a release that failed draws, and pays; killed by
    test_who_waited_for_a_failure_is_told_and_pays_nothing.
    handlers-end-releases: what a handler of the program's log raises is not caught; killed by
    test_a_broken_log_costs_no_answer.
    times-of-answers: a receipt tells when it was written; killed by test_the_time_is_that_of_the_charge.
    charged-without-room: nobody asks how many nested calls are left; killed by
    test_a_release_without_room_for_its_calls_costs_nothing.
    dead-connections-are-charged: the connection is not asked first; killed by test_a_dead_connection_costs_nothing.
    anything-of-shared-rows: questions whose noise is for rows of one unit each are charged to any table; killed by
    test_all_other_questions_are_refused_in_words.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from discreet.curator.log_output import logger
from discreet.engines.engine import FAILED, Engine, hide_failure_details
from discreet.errors import BudgetExceeded, EngineError, expected, printable
from discreet.ledger.budget import Budget, Reservation
from discreet.ledger.declared_sources import sources_of
from discreet.ledger.ledger import Charge
from discreet.ledger.parallel_composition import PartBudget
from discreet.noise.entropy import RandomWords
from discreet.noise.process_identity import this_process
from discreet.planning.contribution_limits import check_one_owner
from discreet.privacy.declaration import Declaration
from discreet.privacy.definitions import Guarantee
from discreet.privacy.events import Event

Given = TypeVar("Given")

NESTED_CALLS = 250
"""More than are made inside of a release, after its charge; of one that makes others, twice as many."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReleaseContext:
    """What a release takes from a protected source."""

    engine: Engine
    budget: Budget | PartBudget
    words: Callable[[], RandomWords]


class Turn:
    """One answering of a question; whoever asks the same meanwhile waits for its lock."""

    __slots__ = ("charged", "lock")

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.charged = False
        """Whether it was charged, and has no answer."""


_turns: dict[tuple[tuple[int, int], str, str], Turn] = {}
"""By process, ledger and question."""


class Drawing:
    """What a release may use while it draws: random words, the time of its charge, and further charges of its own."""

    __slots__ = ("_budget", "_open", "time", "words")

    def __init__(self, desk: ReleaseContext, reservation: Reservation) -> None:
        self.words = desk.words()
        self.time = datetime.now(UTC).isoformat(timespec="seconds")
        self._budget = desk.budget
        self._open = [reservation]

    def also(self, charge: Charge) -> bool:
        """Records a further charge of the same release; false, and nothing is recorded, where it does not fit."""
        try:
            self._open.append(self._budget.reserve(charge))
        except BudgetExceeded:
            return False
        return True

    def keep(self, answer: bytes) -> None:
        """Stores what the oldest charge without an answer paid for."""
        self._open.pop(0).commit(answer)


def charge_to(
    declared: Declaration,
    key: str,
    what: str,
    guarantee: Guarantee,
    event: Event | None = None,
    *,
    in_parts: bool = False,
) -> Charge:
    """What a release of a declared table costs, under its name in the ledger; refuses rows of several units each."""
    check_one_owner(declared, "table")
    return charge_to_each(declared, key, what, guarantee, event, in_parts=in_parts)


def charge_to_each(
    declared: Declaration,
    key: str,
    what: str,
    guarantee: Guarantee,
    event: Event | None = None,
    *,
    in_parts: bool = False,
) -> Charge:
    """The same where the noise is for all units of a row."""
    return Charge(
        source=declared.label,
        declared=sources_of(declared),
        what=printable(what),
        key=key,
        guarantee=guarantee,
        event=event,
        in_parts=in_parts,
    )


Draw = Callable[[Drawing], bytes]
"""Looks at the rows, and returns the noisy answer as it is stored."""


def once(
    budget: Budget | PartBudget,
    key: str,
    *,
    stored: Callable[[], Given | None],
    draw: Callable[[Turn], Given],
    fresh: bool,
) -> Given:
    """The stored answer to a question, or else a new one, which is drawn for all who ask for it at the same time.

    Raises:
        EngineError: this release, or the one that it waited for, failed after its charge.
    """
    if fresh:
        return draw(Turn())
    budget.check_process()
    name = (this_process(), budget.identity, key)
    while True:
        turn = _turns.setdefault(name, Turn())
        with turn.lock:
            try:
                found = stored()
                if found is not None:
                    return found
                if _turns.get(name) is turn:
                    return draw(turn)
            finally:
                if _turns.get(name) is turn:
                    del _turns[name]
            if turn.charged:
                raise EngineError(FAILED)


def released(
    desk: ReleaseContext,
    charge: Charge,
    draw: Draw,
    *,
    fresh: bool,
    stored: Callable[[], bytes | None] | None = None,
    first: Callable[[], object] | None = None,
) -> bytes:
    """The answer as it is stored: the one on record under the key of its charge, or that `stored` finds; or a new one,
    drawn and paid for now, after `first`, whose failure costs nothing.
    """

    def pay(turn: Turn) -> bytes:
        if first is not None:
            first()
        return paid(desk, charge, draw, turn)

    on_record = stored or partial(desk.budget.stored, charge.key)

    def kept() -> bytes | None:
        found = on_record()
        if found is not None:
            with suppress(Exception):
                logger.info("answered from the record, at no charge: %s of %s", charge.what, printable(charge.source))
        return found

    return once(desk.budget, charge.key, stored=kept, draw=pay, fresh=fresh)


def paid(desk: ReleaseContext, charge: Charge, draw: Draw, turn: Turn) -> bytes:
    """What `draw` returns, once it is on record under its charge.

    Raises:
        EngineError: nothing was charged, where the connection is closed; otherwise the charge stays.
        BudgetExceeded: nothing was charged.
    """
    desk.engine.check_alive()
    check_stack()
    reservation = desk.budget.reserve(charge)
    turn.charged = True
    with suppress(Exception):
        logger.info("charged %s: %s of %s", charge.guarantee, charge.what, printable(charge.source))
    found = hide_failure_details(lambda: hide_failure_details(lambda: _drawn(desk, reservation, draw)))
    turn.charged = False
    with suppress(Exception):
        logger.info("answered: %s of %s", charge.what, printable(charge.source))
    return found


def check_stack(calls: int = NESTED_CALLS) -> None:
    """Refuses where fewer nested calls are left than a release makes, of those that Python allows."""
    try:
        _nested(calls)
    except RecursionError:
        cure = "ask from fewer nested calls, or raise the limit, sys.setrecursionlimit. Nothing was charged."
        limit = sys.getrecursionlimit()
        raise EngineError(expected(f"room for {calls} nested calls", "recursion limit", limit, cure)) from None


def _nested(calls: int) -> None:
    if calls:
        _nested(calls - 1)


def _drawn(desk: ReleaseContext, reservation: Reservation, draw: Draw) -> bytes:
    drawing = Drawing(desk, reservation)
    found = draw(drawing)
    drawing.keep(found)
    return found
