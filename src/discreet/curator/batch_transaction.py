"""The release of a batch: one charge, one look at the cells, noise in what is measured of them, all tables after it."""

from __future__ import annotations

from functools import partial

import ibis.expr.schema as sch

from discreet.answers.batch_release import BatchRelease
from discreet.curator.receipt_facts import batch_claims, batch_receipt
from discreet.curator.release_key import described, digest, hashed
from discreet.curator.serialization import packed, unpacked
from discreet.curator.transaction import Drawing, ReleaseContext, charge_to, released
from discreet.planning.batch_planner import BatchPlan


def batch_release(
    desk: ReleaseContext, plan: BatchPlan, schema: sch.Schema, *, fresh: bool, confidence: float
) -> BatchRelease:
    """Price, reserve, look, add noise, commit, release; a repeat is answered from the store for nothing."""
    statement = desk.engine.statement(plan.cells)
    key = hashed([digest(plan.cells, statement, schema), plan.facts])
    declared = plan.query.cells.declaration

    def draw(drawing: Drawing) -> bytes:
        exact = desk.engine.totals(plan.cells, statement)
        noisy = plan.noisy(exact, drawing.words)
        return packed(noisy, batch_receipt(plan, key, drawing.words))

    asked = f"{len(plan.query.tables)} tables of {described(plan.cells)}"
    charge = charge_to(declared, key, asked, plan.charge, plan.event)
    stored = released(desk, charge, draw, fresh=fresh, first=partial(batch_claims, plan))
    return BatchRelease(plan, *unpacked(stored), confidence)
