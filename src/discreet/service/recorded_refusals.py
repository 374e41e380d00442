"""Refusals, on record for the auditors and curators of a data set: who was refused what, when, in which words.

Claim
    What is recorded of a refusal is no more than what was told to whoever was refused, and who and when; the record of
    a data set has texts about no other data set; and its size is bounded, whoever is refused how often.
Requires
    The refusal follows from what is public, like every message. Names of data sets are plain words (`data_sets.NAME`).
Relies on
    `StateStore.write`: whoever writes has the state alone, so a number that is the next one stays so until it is taken.
Proof
    *Texts.* The text is that of the error that is raised, escaped and cut. A statement that is refused may name, and
    its refusal may propose, any of the data sets that whoever asks has a role for. Where their words name another one
    than that of the record, or none while there are several, the record has the kind of the refusal and no text.
    *Size.* Each new one removes those of the same principal and data set beyond the newest `MOST`. So there are at most
    that many for each member of a data set, and who is refused without end pushes out nobody else's. Numbers count all
    that there were, so the largest, which is never removed, tells how many were.
    *Clocks.* That a refusal is written takes time. It is written where whoever asks has a role for the data set, so it
    exists for them; what is not theirs and what is not there take the same way, without a record.
Rounding
    None.
Source
    None.
Mutant
    refusals-without-end: nothing is removed; killed by
    test_refusals_without_end_push_out_nobody_elses.
    refusals-tell-of-other-data-sets: the text is kept whatever it names; killed by
    test_a_text_that_names_another_data_set_is_on_record_without_its_words.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from discreet.errors import BudgetExceeded, DiscreetError, InvalidParameter, InvalidQuery, printable
from discreet.service.roles import Action, Principal
from discreet.service.service_errors import KINDS, Conflict, Forbidden, OverLimit, kind_of
from discreet.service.state_store import Execute, StateStore

Parameters = ParamSpec("Parameters")
Found = TypeVar("Found")

MOST = 1000
"""Of one principal and data set; the newest are kept."""
LONGEST = 1000
"""Characters of a text."""
FIELDS = ("number", "made", "principal", "what", "kind", "message", "hint")
REFUSALS = (Forbidden, Conflict, OverLimit, BudgetExceeded, InvalidQuery, InvalidParameter)
"""What is a refusal; a failure is none."""


class RefusalBook:
    """The refusals of a store."""

    def __init__(self, store: StateStore, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock

    @contextmanager
    def kept(self, principal: Principal, action: Action, datasets: Iterable[str], ask: object) -> Iterator[None]:
        """Records what is refused within of an ask that may be about any of these data sets, and raises it again."""
        try:
            yield
        except REFUSALS as problem:
            among = list(datasets)
            words = f"{ask!r} {problem}".casefold()
            named = [name for name in among if name in words] or among
            self.note(principal.name, named, action, problem, told=len(named) == 1)
            raise

    def note(
        self, who: str, datasets: Iterable[str], action: Action, problem: DiscreetError, *, told: bool = True
    ) -> None:
        """Records a refusal for some data sets, with its text or, where it may name others, without.

        Raises:
            LedgerError: the store failed: then the refusal is not told, either.
        """
        kind = KINDS[kind_of(problem)]
        message, _, hint = str(problem).partition("\nHint: ") if told else ("", "", "")
        line = (self._clock(), who, action.value, kind, _short(message), _short(hint))
        listed = list(datasets)

        def work(execute: Execute) -> None:
            for dataset in listed:
                _add(execute, dataset, who, line)

        if listed:
            self._store.write(work)

    def of(self, dataset: str, before: int | None, most: int) -> tuple[list[dict[str, Any]], int]:
        """The latest refusals of a data set, of those with lower numbers than `before`; and how many were removed."""
        names = ", ".join(FIELDS)
        sql = f"SELECT {names} FROM refusal WHERE dataset = ? AND number < ? ORDER BY number DESC LIMIT {int(most)}"  # noqa: S608 (own names)
        rows = self._store.read(sql, dataset, 2**53 if before is None else before)
        ((last, kept),) = self._store.read("SELECT MAX(number), COUNT(*) FROM refusal WHERE dataset = ?", dataset)
        return [dict(zip(FIELDS, row, strict=True)) for row in rows], (last or 0) - kept


def _add(execute: Execute, dataset: str, who: str, line: tuple[Any, ...]) -> None:
    ((last,),) = execute("SELECT MAX(number) FROM refusal WHERE dataset = ?", dataset)
    execute("INSERT INTO refusal VALUES (?, ?, ?, ?, ?, ?, ?, ?)", dataset, (last or 0) + 1, *line)
    beyond = "SELECT number FROM refusal WHERE dataset = ? AND principal = ? ORDER BY number DESC LIMIT 1 OFFSET ?"
    for (number,) in execute(beyond, dataset, who, MOST):
        execute("DELETE FROM refusal WHERE dataset = ? AND principal = ? AND number <= ?", dataset, who, number)


def _short(text: str) -> str:
    """A line that a page and a database take, as it was told."""
    line = printable(text)
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


class _Verbs(Protocol):
    _refusals: RefusalBook


Owner = TypeVar("Owner", bound=_Verbs)


def on_record(
    action: Action,
) -> Callable[
    [Callable[Concatenate[Owner, Principal, str, Parameters], Found]],
    Callable[Concatenate[Owner, Principal, str, Parameters], Found],
]:
    """Of a verb that a principal does to a data set: what it refuses is recorded.

    What a right is missing for is recorded where rights are looked up.
    """

    def decorated(
        verb: Callable[Concatenate[Owner, Principal, str, Parameters], Found],
    ) -> Callable[Concatenate[Owner, Principal, str, Parameters], Found]:
        @wraps(verb)
        def recording(
            self: Owner, principal: Principal, dataset: str, /, *given: Parameters.args, **named: Parameters.kwargs
        ) -> Found:
            try:
                return verb(self, principal, dataset, *given, **named)
            except Forbidden:
                raise
            except REFUSALS as problem:
                self._refusals.note(principal.name, [dataset], action, problem)
                raise

        return recording

    return decorated
