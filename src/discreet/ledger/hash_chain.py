"""The lines of a ledger file, and the chain of hashes that makes damage to them show.

Claim
    `follow` accepts a sequence of lines and hashes only if each charge's number, amount and totals, at all of its
    levels, continue those before it, each change of a level is one that was let in, and no source contradicts an
    earlier one; and accepts two different sequences with the same last hash only if SHA-256 collides.
Requires
    The lines in their order, from the first (``position`` 0).
Relies on
    SHA-256; JSON writes a list of texts and integers in one way only. `nested_levels`.
Proof
    The hash of a line covers the hash before it and all of its fields; those that the first format did not have are
    left out where all of them are empty, and lists of different lengths are different texts. So by induction the last
    hash covers all lines, their number and order: two sequences that differ, taken at their last difference, are a
    collision. The rest is compared outright.
Rounding
    None beyond that of `added`.
Source
    Hash chains as in Haber and Stornetta, How to Time-Stamp a Digital Document (1991). The chain shows accidents and
    careless edits. It cannot show that lines are missing at the end, or that somebody who can write the file wrote
    all of it anew.
Mutant
    hash-is-not-compared: a changed line is taken as it stands; killed by test_a_changed_line_is_refused.
    total-is-believed: a line's total may be anything; killed by test_a_line_with_a_wrong_total_is_refused.
    totals-of-levels-are-believed: those of the levels around are; killed by
    test_totals_of_levels_that_do_not_add_up_are_refused.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from discreet.errors import BudgetExceeded, InvalidParameter, LedgerError, expected
from discreet.exact.written_amounts import stored_amount
from discreet.ledger.declared_sources import DeclaredSource, DeclaredSources
from discreet.ledger.level_changes import OPEN, RAISE, LevelChange
from discreet.ledger.level_names import lineage
from discreet.ledger.nested_levels import Balances
from discreet.ledger.privacy_filter import NOTHING, Allowance, Spending

DAMAGED = (
    "keep the file as it is, and answer nothing more from its data: all that it recorded stays spent, and neither an "
    "older copy nor a new ledger knows of it. discreet docs ledger says how to go on."
)
"""The cure for a ledger that cannot be trusted; none that would let anybody spend twice what was spent."""


class LedgerLine(NamedTuple):
    """One row of the file, as stored: the columns of its table in their order, without the hash and the answer."""

    position: int
    kind: str
    """``created`` (the first line: the allowance), ``source``, ``charge``, ``answer``, ``point`` (a further answer of
    the same charge), or ``level`` (a change).
    """
    time: str
    number: int
    """Of a charge, of a source, and of a change: 1, 2, 3, ...; of an answer: that of its charge; of a point: that of
    its charge and its place, as `point_number` has them.
    """
    source: str
    what: str
    """Of a source: its version. Of a change: which one."""
    key: str
    event: str
    """Of a charge: what was drawn, in the words of `privacy.events`. Of a source: what was declared. Of a change:
    why.
    """
    epsilon: str
    delta: str
    rho: str
    slack: str
    """Of a charge: the delta beside its rho; of an allowance: the part of delta for charges with a delta."""
    spent_epsilon: str
    spent_delta: str
    spent_rho: str
    spent_slack: str
    answer_sha256: str
    level: str = ""
    """The path of the level; empty for the whole budget, and for what is of none."""
    asked_by: str = ""
    """Of a charge: who asked. Of a change: who made it."""
    totals: str = ""
    """Of a charge to a level: what was spent, with it, at each level from the outermost inside of the whole budget."""


POINTS = 2**20
"""More than the points that one charge can have."""

MORE = 3
"""So many fields, the last ones, came with the second format."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """Where a verified chain ends."""

    position: int
    chain: str
    balances: Balances
    """How all levels stand, and which sources were declared."""

    @property
    def number(self) -> int:
        """Number of the last charge, 0 before the first."""
        return self.balances.number

    @property
    def allowance(self) -> Allowance:
        """That of the whole budget, with all raises."""
        return self.balances.whole.allowance

    @property
    def spent(self) -> Spending:
        """All charges together."""
        return self.balances.whole.spent

    @property
    def sources(self) -> DeclaredSources:
        """What was declared of all tables that charges are about."""
        return self.balances.sources


def chain_hash(previous: str, line: LedgerLine) -> str:
    """The hash of `line` after a line whose hash is `previous`."""
    told = line if any(line[-MORE:]) else line[:-MORE]
    return hashlib.sha256(json.dumps([previous, *told], ensure_ascii=True).encode()).hexdigest()


def follow(head: Head | None, line: LedgerLine, chain: str) -> Head:
    """The head after `line`, or LedgerError where it does not continue the chain."""
    try:
        is_sound = chain == chain_hash(head.chain if head else "", line)
        after = _opened(line, chain) if head is None else _continued(head, line, chain)
    except (ArithmeticError, BudgetExceeded, InvalidParameter, LedgerError, TypeError, ValueError) as error:
        raise LedgerError(broken(line.position)) from error
    if after is None or not is_sound:
        raise LedgerError(broken(line.position))
    return after


def _opened(line: LedgerLine, chain: str) -> Head | None:
    """The head after the first line."""
    is_first = (line.position, line.kind, line.number) == (0, "created", 0)
    return Head(position=0, chain=chain, balances=Balances.of(_allowance(line))) if is_first else None


def _allowance(line: LedgerLine) -> Allowance:
    """The allowance that a line states."""
    epsilon, delta, rho, own = (stored_amount(text) for text in (line.epsilon, line.delta, line.rho, line.slack))
    return Allowance(epsilon=epsilon, delta=delta, rho=rho, own=own)


def _continued(head: Head, line: LedgerLine, chain: str) -> Head | None:
    """The head after a source, a charge, a change or an answer, or None where the books do not add up."""
    before, cost = head.balances, Spending(*map(stored_amount, (line.epsilon, line.delta, line.rho, line.slack)))
    after, is_free = before, cost == NOTHING
    if line.kind == "charge":
        after = before.charged(line.level, cost)
        is_free = min(cost.epsilon, cost.rho) > 0 and min(cost.delta, cost.slack) >= 0
        is_next = line.number == after.number and line.totals == totals_text(after, line.level)
    elif line.kind == "source":
        sources = before.sources.with_(DeclaredSource.from_json(line.source, line.what, line.event))
        after = before._replace(sources=sources)
        is_next = line.number == len(sources) == len(before.sources) + 1
    elif line.kind == "level":
        change = change_of(line)
        after, is_free = before.changed(change), change.allowance is not None or is_free
        is_next = line.number == after.changes == before.changes + 1
    elif line.kind == "point":
        charge, place = divmod(line.number, POINTS)
        is_next = place > 0 and 1 <= charge <= before.number
    else:
        is_next = line.kind == "answer" and 1 <= line.number <= before.number
    spent = Spending(*map(stored_amount, (line.spent_epsilon, line.spent_delta, line.spent_rho, line.spent_slack)))
    if line.position != head.position + 1 or not is_next or not is_free or spent != after.whole.spent:
        return None
    return Head(position=line.position, chain=chain, balances=after)


def point_number(charge: int, place: int) -> int:
    """What tells the point at a place, from 1 on, behind the answer of a charge from all others.

    >>> divmod(point_number(7, 3), POINTS)
    (7, 3)
    """
    if not 1 <= place < POINTS:
        raise LedgerError(expected(f"a place from 1 to below {POINTS:,}", "place", place, "open another series."))
    return charge * POINTS + place


def change_of(line: LedgerLine) -> LevelChange:
    """The change that a line is about, without the number of the charge before it."""
    allowance = _allowance(line) if line.what in (OPEN, RAISE) else None
    return LevelChange(
        kind=line.what,
        level=line.level,
        allowance=allowance,
        by=line.asked_by,
        why=line.event,
        number=line.number,
        time=line.time,
    )


def totals_text(balances: Balances, level: str) -> str:
    """What was spent at each level around one, from the outermost inside of the whole budget to itself."""
    inside = [ratios(*balances.levels[path].spent) for path in lineage(level)[1:]]
    return json.dumps(inside, separators=(",", ":")) if inside else ""


def totals_of(line: LedgerLine) -> dict[str, Spending]:
    """What `totals_text` wrote, by path; raises ValueError for anything else."""
    paths, totals = lineage(line.level)[1:], json.loads(line.totals) if line.totals else []
    return {path: Spending(*map(stored_amount, total)) for path, total in zip(paths, totals, strict=True)}


def broken(position: object) -> str:
    """The text for a line that does not continue the chain."""
    return expected("an unbroken chain of entries", "line", position, DAMAGED)


def ratios(*amounts: Fraction) -> tuple[str, ...]:
    """Each amount as ``n/d``: exact, and readable by people and programs for ever."""
    return tuple(f"{amount.numerator}/{amount.denominator}" for amount in amounts)


def stated(allowance: Allowance) -> tuple[str, ...]:
    """The amounts of an allowance as its first line has them."""
    return ratios(allowance.epsilon, allowance.delta, allowance.rho, allowance.part)
