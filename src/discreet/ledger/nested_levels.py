"""What was spent at each level of a budget, and the one rule that lets a charge or a change in.

Claim
    (a) For each allowance A: all views of the answers that end with A as the allowance of the whole budget are views of
    an analyst of whom `privacy_filter` proves A; whatever levels inside let in or refused, whoever asked, and whatever
    was raised before. If all raises that may come end at one A, then it holds for all views together.
    (b) The same of each level inside, where the answers that are charged elsewhere are drawn from the same laws on both
    neighbors: it bounds what its own charges, and those of the levels in it, add to the loss.
    (c) A charge is counted, in full, at its level and at all levels around it; or at none.
Requires
    What a curator decides (to open, raise, freeze, close) follows from answers and from what is public, never from
    rows. As `privacy_filter` does, of the costs.
Relies on
    `privacy_filter`; `Balances` are kept as `ledger` says: a charge follows right after those that it was added to.
Proof
    (c) `charged` returns new sums for all of `lineage`, or raises. (a) Whether a charge is let in follows from what the
    Requirement lists, so refusals of inner levels are choices of the analyst, and the whole budget is an `Allowance`
    before a sequence of adaptive charges. Without a raise this is what `privacy_filter` proves. A raise from A' to A is
    let in only if no amount becomes less. If the spending so far is not settled (`privacy_filter`: the first charge met
    neither sum), then it is within one of the two sums of A', so of A; each earlier total was less, so A would have let
    in all of it. Let that analyst stop where A would be left: she sees A, and every view that ends with A is among
    hers. If it is settled, then all views are, as the first charge is chosen before any answer; the raise is let in
    only if A does not unsettle it, so every view keeps to plain sums of A: basic composition. Views that end with less
    than the last A keep to A in the same way. (b) Give the answers charged elsewhere as coins thrown beforehand; then
    the charges of the level and below are such a sequence, of which (a) says the rest, and a mixture over coins of one
    law on both neighbors keeps it.
    *What is not claimed.* That nothing was promised before a raise: whoever was told the lower allowance was told less
    than is lost later. Nor that inner levels hold against analysts who collude; only the whole budget does.
Rounding
    As in `privacy_filter`.
Source
    Rogers, Roth, Ullman and Vadhan (2016): filters, and why an odometer needs more than a filter. McSherry, "Privacy
    integrated queries" (2009), section 4.3: agents that stand before others.
Mutant
    each-charge-alone: a charge is compared with the allowance by itself; killed by
    test_ten_tenths_fit_and_nothing_more.
    inner-level-alone: the levels around are not asked; killed by test_every_level_bounds_what_is_below.
    charged-below-alone: the levels around are asked, and not charged; killed by test_a_charge_is_counted_at_all_levels.
    raise-unsettles: charges that were let in by plain sums go on by rho; killed by test_a_settled_level_stays_settled.
    raise-may-lower: an amount may become less; killed by test_a_raise_lowers_nothing.
    raises-forget-each-other: a raise by so much more may be added to an allowance of before; killed by
    test_of_two_raises_by_more_none_is_lost.
    frozen-parent-forgotten: only the level itself is asked whether it is open; killed by
    test_nothing_is_charged_below_a_level_that_is_not_open.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction
from typing import NamedTuple

from discreet.errors import BudgetExceeded, LedgerError, expected, nearest_name
from discreet.exact.amounts import decimal_text
from discreet.ledger.declared_sources import DeclaredSources
from discreet.ledger.level_changes import CLOSE, OPEN, RAISE, STANDING, LevelChange, RaisedMeanwhile
from discreet.ledger.level_names import WHOLE, is_below, lineage, parent_of, words
from discreet.ledger.privacy_filter import NOTHING, Allowance, Spending, added
from discreet.privacy.definitions import Guarantee

ZERO = Fraction(0)


class BudgetLevel(NamedTuple):
    """A level of a budget: what it may spend, what was spent at it and below, and whether it may go on."""

    allowance: Allowance
    spent: Spending = NOTHING
    standing: str = "open"
    """``open``, ``frozen`` or ``closed``."""


class Balances(NamedTuple):
    """How all levels of a ledger stand after so many charges and changes."""

    levels: Mapping[str, BudgetLevel]
    """By path, in the order in which they were opened; the whole budget first."""
    sources: DeclaredSources = DeclaredSources()
    number: int = 0
    """So many charges were made."""
    changes: int = 0
    """So many changes of levels."""

    @classmethod
    def of(cls, allowance: Allowance) -> Balances:
        """Those of a ledger before its first entry."""
        return cls(levels={WHOLE: BudgetLevel(allowance=allowance)})

    @property
    def whole(self) -> BudgetLevel:
        """The outermost level."""
        return self.levels[WHOLE]

    def at(self, path: str) -> BudgetLevel:
        """The level at a path; refuses one that was never opened."""
        found = self.levels.get(path)
        if found is None:
            known = [one for one in self.levels if one]
            cure = nearest_name(path, known) if known else "open it, Budget(parent=..., epsilon=..., name=...)."
            raise LedgerError(expected("a level of this budget", "level", path, cure))
        return found

    def standing(self, path: str) -> str:
        """``open``, or how the outermost level from the whole to this one stands that is not."""
        return next((one.standing for one in self._around(path).values() if one.standing != "open"), "open")

    def charged(self, path: str, cost: Spending) -> Balances:
        """The balances with a charge at a level; or BudgetExceeded, which names the innermost level that refuses it."""
        levels = dict(self.levels)
        for one in reversed(lineage(path)):
            level = self.at(one)
            if level.standing != "open":
                raise BudgetExceeded(_not_open(one, level.standing))
            total = added(level.spent, cost)
            if not level.allowance.allows(level.spent, total):
                raise BudgetExceeded(_refusal(cost, level, one if len(levels) > 1 else None))
            levels[one] = BudgetLevel(level.allowance, total, level.standing)
        return Balances(levels, self.sources, self.number + 1, self.changes)

    def changed(self, change: LevelChange) -> Balances:
        """The balances with a change of a level; the same ones, where a level is open already as it is opened."""
        opens = change.kind == OPEN
        before = self.levels.get(change.level) if opens else self.at(change.level)
        around = self._around(parent_of(change.level) if opens else change.level)
        if before is not None and opens:
            if change.allowance is None or not before.allowance.says_what(change.allowance):
                cure = f"its allowance is {before.allowance}: open it with that, and raise it, .raise_to(...)."
                raise LedgerError(expected("the allowance of this level", "allowance", str(change.allowance), cure))
            return self
        closed = next((one for one, level in around.items() if level.standing == "closed"), None)
        if closed is not None:
            raise LedgerError(_not_open(closed, "closed"))
        if before is None:
            # An opening has an allowance, as `LevelChange` sees to; `whole` is any other one, for type checkers.
            made = BudgetLevel(allowance=change.allowance or self.whole.allowance)
        else:
            made = _after(change, before)
        return self._replace(levels={**self.levels, change.level: made}, changes=self.changes + 1)

    def remaining(self, path: str) -> Guarantee:
        """The least that its own allowance and those around it leave of each sum; nothing, unless all are open."""
        around = self._around(path).values()
        left = [level.allowance.remaining(level.spent) for level in around]
        if any(level.standing != "open" for level in around):
            left = [Guarantee(epsilon=ZERO, rho=None if one.rho is None else ZERO) for one in left]
        by_epsilon = [one.epsilon for one, level in zip(left, around, strict=True) if level.allowance.epsilon]
        by_rho = [one.rho for one, level in zip(left, around, strict=True) if level.allowance.rho]
        goes_by_rho = all(level.allowance.rho for level in around) or not self.at(path).allowance.epsilon
        return Guarantee(
            epsilon=min(by_epsilon, default=ZERO),
            delta=min(one.delta for one in left),
            rho=min((rho or ZERO for rho in by_rho), default=None) if goes_by_rho else None,
        )

    def more(self, path: str, cost: Spending) -> int:
        """How many further charges of this cost fit at a level."""
        if self.standing(path) != "open":
            return 0
        return min(level.allowance.more(level.spent, cost) for level in self._around(path).values())

    def below(self, path: str) -> tuple[str, ...]:
        """The paths of a level and all those in it."""
        return tuple(one for one in self.levels if is_below(one, path))

    def _around(self, path: str) -> dict[str, BudgetLevel]:
        """The levels from the whole budget to this one."""
        return {one: self.at(one) for one in lineage(path)}


def _after(change: LevelChange, before: BudgetLevel) -> BudgetLevel:
    """The level that a change makes of one."""
    if change.kind == RAISE:
        return before._replace(allowance=_raised(change, before))
    if change.kind == CLOSE:
        return before._replace(standing="closed")
    if change.kind not in STANDING:
        cure = "open, raise, freeze, unfreeze or close it."
        raise LedgerError(expected("a change that a level can have", "change", change.kind, cure))
    had, has = STANDING[change.kind]
    if before.standing != had:
        cure = "look at .standing first: somebody else may have changed it."
        raise LedgerError(expected(f"a level that is {had}", change.level or "the whole", before.standing, cure))
    return before._replace(standing=has)


def _raised(change: LevelChange, before: BudgetLevel) -> Allowance:
    """The allowance after a raise; refuses one of which nothing could be proved."""
    old, new = before.allowance, change.allowance or before.allowance
    if change.raised_from not in (None, old):
        cure = "look at .allowance again: somebody else has raised it meanwhile."
        raise RaisedMeanwhile(expected("the allowance that was added to", "allowance", str(old), cure))
    if new.says_what(old) or not new.covers(old):
        cure = f"raise {words(change.level)} above {old}: what was promised so far is never made less by a raise."
        raise LedgerError(expected("an allowance above the present one", "allowance", str(new), cure))
    if old.is_settled(before.spent) and not new.is_settled(before.spent):
        cure = (
            "the first charge settled this level to plain sums of epsilon and delta, which it has to keep: give a "
            f"smaller own_delta=, at least {decimal_text(old.part, rounding=ROUND_CEILING)}."
        )
        raise LedgerError(expected("a raise that keeps the rule of earlier charges", "allowance", str(new), cure))
    return new


def _not_open(path: str, standing: str) -> str:
    cure = "repeat an earlier release (its stored answer is free), or ask the curator."
    return f"Expected {words(path)} to be open, got {standing}.\nHint: {cure}"


def _refusal(cost: Spending, level: BudgetLevel, path: str | None) -> str:
    """Why a charge does not fit; names the level, if the budget has several."""
    allowance, spent = level.allowance, level.spent

    def written(amounts: Guarantee, rounding: str) -> str:
        return allowance.amount_text(amounts, rounding, with_delta=bool(cost.delta))

    left = allowance.remaining(spent)
    remaining, asked = written(left, ROUND_FLOOR), written(allowance.spent(cost), ROUND_CEILING)
    whose = "" if path is None else f" of {words(path)}"
    so_far = (
        f"spent: {written(allowance.spent(spent), ROUND_CEILING)}; "
        f"allowance: {written(allowance.guarantee, ROUND_FLOOR)}"
    )
    cure = "repeat an earlier release (its stored answer is free), or ask the curator for more."
    lacking = allowance.lacks(cost)
    if lacking == "delta":
        cure = f"leave delta out, since this allowance has none, {cure}"
    elif left.epsilon or left.rho:
        cure = f"ask for less, {cure}"
    if allowance.rho and allowance.epsilon and (cost.delta or allowance.part):
        cure += _about_own_delta(allowance, spent, cost)
    if lacking == "rho":
        cure = "state epsilon=; noise that rho alone describes needs an allowance with a sum of rho, Budget(rho=...)."
    return f"Expected a charge within the remaining {remaining}{whose}, got {asked} ({so_far}).\nHint: {cure}"


def _about_own_delta(allowance: Allowance, spent: Spending, cost: Spending) -> str:
    """Another division of delta, where it would let the charge in; it is stated when a budget is made."""
    total = added(spent, cost)
    needed = max(total.delta, total.slack)
    others = [allowance.delta, *([needed] if 2 * needed < allowance.delta else [])] if cost.delta else [ZERO]
    if not any(Allowance.union(allowance.epsilon, allowance.delta, own).allows(spent, total) for own in others):
        return ""
    part = decimal_text(allowance.part, rounding=ROUND_FLOOR)
    divided = "=) sets another part." if cost.delta else "=0) keeps nothing, for more small charges without one."
    return f" Of delta, {part} is kept for charges that have a delta of their own; Budget(own_delta{divided}"
