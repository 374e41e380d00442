"""Budgets and charges as they are shown: amounts as decimals, never rounded in favor of spending."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction
from typing import Any

from discreet.exact.amounts import decimal_text
from discreet.ledger.budget_levels import LevelStatement
from discreet.ledger.ledger import Entry
from discreet.privacy.definitions import UNBOUNDED, Guarantee
from discreet.privacy.events import to_json
from discreet.service.analyst_budgets import Level


def amounts_shown(guarantee: Guarantee, rounding: str) -> dict[str, str]:
    """Amounts by name, those that are counted."""
    found: dict[str, str] = {}
    if guarantee.epsilon or guarantee.rho is None:
        found["epsilon"] = _shown(guarantee.epsilon, rounding)
    found["delta"] = _shown(guarantee.delta, rounding)
    if guarantee.rho is not None:
        found["rho"] = _shown(guarantee.rho, rounding)
    return found


def amounts_plain(guarantee: Guarantee) -> dict[str, Fraction]:
    """The amounts that an allowance was stated in: epsilon, or rho; and delta, where there is one."""
    found = {"epsilon": guarantee.epsilon} if guarantee.epsilon else {"rho": guarantee.rho or Fraction(0)}
    return found | ({"delta": guarantee.delta} if guarantee.delta else {})


def _shown(amount: Fraction, rounding: str) -> str:
    return "inf" if amount >= UNBOUNDED else decimal_text(amount, rounding=rounding)


def levels_shown(levels: Iterable[Level], *, only_last: bool = False) -> list[dict[str, Any]]:
    """Each allowance, what is spent of it and what is left; of those above the last, only the allowance."""
    listed = list(levels)
    return [level_shown(level, whole=not only_last or level is listed[-1]) for level in listed]


def level_shown(level: Level, *, whole: bool = True) -> dict[str, Any]:
    """One allowance."""
    budget = level.budget
    found: dict[str, Any] = {
        "level": level.kind,
        "name": level.name,
        "allowance": amounts_shown(budget.allowance, ROUND_FLOOR),
    }
    if whole:
        found["spent"] = amounts_shown(budget.spent, ROUND_CEILING)
        found["remaining"] = amounts_shown(budget.remaining, ROUND_FLOOR)
    found["state"] = budget.standing
    return found


def statement_shown(one: LevelStatement) -> dict[str, Any]:
    """One allowance of all, by its path."""
    return {
        "path": one.path,
        "allowance": amounts_shown(one.allowance, ROUND_FLOOR),
        "spent": amounts_shown(one.spent, ROUND_CEILING),
        "remaining": amounts_shown(one.remaining, ROUND_FLOOR),
        "state": one.standing,
    }


def entries_shown(entries: Iterable[Entry], hidden: Container[int]) -> list[dict[str, Any]]:
    """Charges of a ledger, ready for JSON; those that are hidden have no answer yet."""
    return [
        {
            "number": entry.number,
            "time": entry.time,
            "source": entry.source,
            "what": entry.what,
            "release": entry.key,
            "epsilon": _shown(entry.guarantee.epsilon, ROUND_CEILING),
            "delta": _shown(entry.guarantee.delta, ROUND_CEILING),
            "rho": _shown(entry.rho, ROUND_CEILING),
            "event": json.loads(to_json(entry.event)),
            "answered": entry.answered and entry.number not in hidden,
            "who": entry.asked_by,
            "level": entry.level,
        }
        for entry in entries
    ]
