"""The receipt: what was promised, how it was kept, and with which versions."""

from __future__ import annotations

import platform
from dataclasses import replace
from decimal import ROUND_CEILING
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from discreet.curator.release_key import described, described_batch, described_mixed_batch
from discreet.curator.serialization import check_length
from discreet.curator.table_input_release import Reading
from discreet.curator.transaction import Drawing
from discreet.errors import printable
from discreet.exact.amounts import decimal_text
from discreet.ledger.ledger import charge_of
from discreet.noise.entropy import is_private
from discreet.planning.batch_planner import BatchPlan
from discreet.planning.mixed_batch_plan import MixedBatchPlan
from discreet.planning.plan import Plan
from discreet.privacy.declaration import Declaration
from discreet.query.explain import plan_facts, protected_unit
from discreet.query.explain_batch import explain_batch
from discreet.query.explain_mixed_batch import explain_mixed_batch
from discreet.query.explanation import Explanation


@lru_cache(maxsize=1)  # one: a plan may hold millions of keys
def claims(plan: Plan) -> dict[str, Any]:
    """What a receipt says of a plan, from public facts alone; asked before the charge, so that none of it fails later.

    Plans are told apart as objects: that of a release is asked about twice.
    """
    return _claimed(Explanation(plan_facts(plan, 0.95, None)))


def foreseen(plan: Plan) -> None:
    """What could fail of an answer after its charge, tried before it: what its receipt says, and its length."""
    check_length(plan)
    claims(plan)


@lru_cache(maxsize=1)
def batch_claims(plan: BatchPlan) -> dict[str, Any]:
    """What a receipt says of a batch, from public facts alone; refuses one that no ledger keeps."""
    check_length(plan.cells, sum(part.rows for part in plan.strategy.parts))
    return _claimed(explain_batch(replace(plan, runners_up=()), "", confidence=0.95, assume=None))


@lru_cache(maxsize=1)
def mixed_batch_claims(plan: MixedBatchPlan) -> dict[str, Any]:
    """What a receipt says of a batch beside questions in which something is open, from public facts alone."""
    return _claimed(explain_mixed_batch(plan, "", confidence=0.95, assume=None))


def _claimed(account: Explanation) -> dict[str, Any]:
    """An account without what was not chosen, and without the statement."""
    return {name: fact for name, fact in account.items() if name not in ("sql", "also priced")}


def receipt(plan: Plan, key: str, drawing: Drawing) -> dict[str, Any]:
    """All that was claimed of a release, ready for JSON."""
    return _receipt(plan, claims(plan), header(key, drawing, described(plan)))


def batch_receipt(plan: BatchPlan, key: str, drawing: Drawing) -> dict[str, Any]:
    """All that was claimed of a batch, ready for JSON."""
    return _receipt(plan, batch_claims(plan), header(key, drawing, described_batch(plan)))


def mixed_batch_receipt(plan: MixedBatchPlan, key: str, drawing: Drawing) -> dict[str, Any]:
    """All that was claimed of such a batch, ready for JSON."""
    return _receipt(plan, mixed_batch_claims(plan), header(key, drawing, described_mixed_batch(plan)))


def _receipt(
    plan: Plan | BatchPlan | MixedBatchPlan, facts: dict[str, Any], beginning: dict[str, Any]
) -> dict[str, Any]:
    """What was claimed, behind what every receipt begins with."""
    return {
        **beginning,
        "guarantee": f"{plan.charge.promise} for {facts['neighbors']} neighbors",
        **facts,
        "concentrated": _concentrated(plan),
        "versions": _versions(),
    }


def _concentrated(plan: Plan | BatchPlan | MixedBatchPlan) -> dict[str, str]:
    """The same charge as the ledger adds it up under the sum of rho."""
    cost = charge_of(plan.charge, plan.event)
    parts = {"rho": cost.rho, "delta": cost.slack}
    return {name: decimal_text(part, rounding=ROUND_CEILING) for name, part in parts.items()}


def reading_receipt(reading: Reading, declared: Declaration, key: str, drawing: Drawing) -> dict[str, Any]:
    """All that was claimed of a reading of a table, ready for JSON."""
    return {**header(key, drawing, reading.what), **protected_unit(declared), **reading.facts, "versions": _versions()}


def header(key: str, drawing: Drawing, question: str) -> dict[str, Any]:
    """What every receipt begins with: the name, the time and the question of a release, and whether it is private.

    The time is that of the charge: when the noise was added would tell how long the rows took.
    """
    return {
        "release": key,
        "time": drawing.time,
        "private": is_private(drawing.words),
        "question": printable(question),
    }


def _versions() -> dict[str, str]:
    packages = ("discreet", "ibis-framework", "duckdb", "numpy")
    return {"python": platform.python_version(), **{name: _version(name) for name in packages}}


@cache
def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # run from a tree that was never installed
        return "unknown"
