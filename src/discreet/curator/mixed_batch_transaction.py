"""The release of a batch beside ranges and questions with something open: one charge, and then each part in turn."""

from __future__ import annotations

from functools import partial

import ibis.expr.schema as sch

from discreet.answers.batch_release import BatchRelease
from discreet.answers.stored_answers import completed_batch, packed_parts
from discreet.curator.batch_transaction import batch_digest, drawn_batch
from discreet.curator.open_question_transaction import drawn_open, open_digest
from discreet.curator.receipt_builder import batch_claims, claims, mixed_batch_claims, mixed_batch_receipt
from discreet.curator.release_key import described_mixed_batch, hashed
from discreet.curator.transaction import Drawing, ReleaseContext, charge_to, released
from discreet.planning.mixed_batch_plan import MixedBatchPlan


def mixed_batch_release(
    desk: ReleaseContext, plan: MixedBatchPlan, schema: sch.Schema, *, fresh: bool, confidence: float
) -> BatchRelease:
    """Price, reserve, look, add noise, commit, release; a repeat is answered from the store for nothing."""
    engine = desk.engine
    parts = {name or "": batch_digest(engine, part, schema) for name, part in plan.planned.items()}
    parts |= {name: open_digest(engine, part, schema) for name, part in plan.open.items()}
    key = hashed(["together", parts.pop("", None), *map(list, parts.items())])
    declared = plan.tables[0].query.declaration

    def draw(drawing: Drawing) -> bytes:
        parts = {name: drawn_open(engine, part, key, drawing) for name, part in plan.open.items()}
        parts |= {name: drawn_batch(engine, part, key, drawing) for name, part in plan.ranges.items()}
        listed = None if plan.listed is None else drawn_batch(engine, plan.listed, key, drawing)
        return packed_parts(mixed_batch_receipt(plan, key, drawing), listed, parts)

    charge = charge_to(declared, key, described_mixed_batch(plan), plan.charge, plan.event)
    stored = released(desk, charge, draw, fresh=fresh, first=partial(_claims, plan))
    return completed_batch(plan, stored, confidence)


def _claims(plan: MixedBatchPlan) -> None:
    """Makes all that receipts say, so that none of it fails after the charge."""
    mixed_batch_claims(plan)
    for planned in plan.planned.values():
        batch_claims(planned)
    for part in plan.open.values():
        claims(part.placeholder_plan)
