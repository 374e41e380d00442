"""The lines of a ledger file, and the chain of hashes that makes damage to them show.

Claim
    `follow` accepts a sequence of lines and hashes only if each charge's number, amount and total continue those
    before it, and no source contradicts an earlier one, and accepts two different sequences with the same last hash
    only if SHA-256 collides.
Requires
    The lines in their order, from the first (``position`` 0).
Relies on
    SHA-256; JSON writes a list of texts and integers in one way only.
Proof
    The hash of a line covers the hash before it, so by induction the last hash covers all lines, their number and
    order: two sequences that differ, taken at their last difference, are a collision. The rest is compared outright.
Rounding
    None beyond that of `added`.
Source
    Hash chains as in Haber and Stornetta, How to Time-Stamp a Digital Document (1991). The chain shows accidents and
    careless edits. It cannot show that lines are missing at the end, or that somebody who can write the file wrote
    all of it anew.
Mutant
    hash-is-not-compared: a changed line is taken as it stands; killed by test_a_changed_line_is_refused.
    total-is-believed: a line's total may be anything; killed by test_a_line_with_a_wrong_total_is_refused.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import NamedTuple

from discreet.errors import InvalidParameter, LedgerError, expected
from discreet.ledger.allowance import NOTHING, Allowance, Spending, added
from discreet.ledger.declared_sources import DeclaredSource, DeclaredSources

DAMAGED = (
    "keep the file as it is, and answer nothing more from its data: all that it recorded stays spent, and neither an "
    "older copy nor a new ledger knows of it. docs/ledger.md says how to go on."
)
"""The cure for a ledger that cannot be trusted; none that would let anybody spend twice what was spent."""


class LedgerLine(NamedTuple):
    """One row of the file, as stored: the columns of its table in their order, without the hash and the answer."""

    position: int
    kind: str
    """``created`` (the first line: the allowance), ``source``, ``charge`` or ``answer``."""
    time: str
    number: int
    """Of a charge, and of a source: 1, 2, 3, ...; of an answer: that of its charge."""
    source: str
    what: str
    """Of a source: its version."""
    key: str
    event: str
    """Of a charge: what was drawn, in the words of `privacy.events`. Of a source: what was declared."""
    epsilon: str
    delta: str
    rho: str
    slack: str
    """Of a charge: the delta beside its rho; of the allowance: the part of delta for charges with a delta."""
    spent_epsilon: str
    spent_delta: str
    spent_rho: str
    spent_slack: str
    answer_sha256: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """Where a verified chain ends."""

    position: int
    chain: str
    number: int
    """Number of the last charge, 0 before the first."""
    allowance: Allowance
    spent: Spending
    sources: DeclaredSources = field(default_factory=DeclaredSources)


def chain_hash(previous: str, line: LedgerLine) -> str:
    """The hash of `line` after a line whose hash is `previous`."""
    return hashlib.sha256(json.dumps([previous, *line], ensure_ascii=True).encode()).hexdigest()


def follow(head: Head | None, line: LedgerLine, chain: str) -> Head:
    """The head after `line`, or LedgerError where it does not continue the chain."""
    try:
        is_sound = chain == chain_hash(head.chain if head else "", line)
        after = _opened(line, chain) if head is None else _continued(head, line, chain)
    except (ArithmeticError, InvalidParameter, TypeError, ValueError) as error:
        raise LedgerError(broken(line.position)) from error
    if after is None or not is_sound:
        raise LedgerError(broken(line.position))
    return after


def _opened(line: LedgerLine, chain: str) -> Head | None:
    """The head after the first line."""
    is_first = (line.position, line.kind, line.number) == (0, "created", 0)
    epsilon, delta, rho, own = (Fraction(text) for text in (line.epsilon, line.delta, line.rho, line.slack))
    allowance = Allowance(epsilon=epsilon, delta=delta, rho=rho, own=own)
    return Head(position=0, chain=chain, number=0, allowance=allowance, spent=NOTHING) if is_first else None


def _continued(head: Head, line: LedgerLine, chain: str) -> Head | None:
    """The head after a source, a charge or an answer, or None where the books do not add up."""
    texts = (line.spent_epsilon, line.spent_delta, line.spent_rho, line.spent_slack)
    spent = Spending(*map(Fraction, texts))
    cost = Spending(*map(Fraction, (line.epsilon, line.delta, line.rho, line.slack)))
    sources, number = head.sources, head.number
    if line.kind == "charge":
        number += 1
        adds_up = min(cost.epsilon, cost.rho) > 0 and min(cost.delta, cost.slack) >= 0
        adds_up = adds_up and spent == added(head.spent, cost)
        is_next = line.number == number and head.allowance.allows(head.spent, spent)
    else:
        adds_up = cost == NOTHING and spent == head.spent
        is_next = line.kind == "answer" and 1 <= line.number <= number
    if line.kind == "source":
        sources = sources.with_(DeclaredSource.from_json(line.source, line.what, line.event))
        is_next = line.number == len(sources) == len(head.sources) + 1
    if line.position != head.position + 1 or not is_next or not adds_up:
        return None
    return replace(head, position=line.position, chain=chain, number=number, spent=spent, sources=sources)


def broken(position: object) -> str:
    """The text for a line that does not continue the chain."""
    return expected("an unbroken chain of entries", "line", position, DAMAGED)


def ratios(*amounts: Fraction) -> tuple[str, ...]:
    """Each amount as ``n/d``: exact, and readable by people and programs for ever."""
    return tuple(f"{amount.numerator}/{amount.denominator}" for amount in amounts)


def stated(allowance: Allowance) -> tuple[str, ...]:
    """The amounts of an allowance as its first line has them."""
    return ratios(allowance.epsilon, allowance.delta, allowance.rho, allowance.part)
