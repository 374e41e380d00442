"""The release of a batch: one charge, one look at the cells, noise in what is measured of them, all tables after it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import ibis.expr.schema as sch
import numpy as np

from discreet.answers.batch_release import BatchRelease
from discreet.answers.stored_answers import unpacked
from discreet.curator.receipt_builder import batch_claims, batch_receipt
from discreet.curator.release_key import described_batch, digest, hashed
from discreet.curator.serialization import packed
from discreet.curator.transaction import Drawing, ReleaseContext, charge_to, released
from discreet.engines.engine import Engine
from discreet.planning.batch_planner import BatchPlan
from discreet.planning.product_keys import ProductKeys
from discreet.workloads.cell_tables import Cells
from discreet.workloads.sparse_cells import SparseCells


def batch_release(
    desk: ReleaseContext, plan: BatchPlan, schema: sch.Schema, *, fresh: bool, confidence: float
) -> BatchRelease:
    """Price, reserve, look, add noise, commit, release; a repeat is answered from the store for nothing."""
    key = batch_digest(desk.engine, plan, schema)
    charge = charge_to(plan.query.cells.declaration, key, described_batch(plan), plan.charge, plan.event)
    draw = partial(drawn_batch, desk.engine, plan, key)
    stored = released(desk, charge, draw, fresh=fresh, first=partial(batch_claims, plan))
    return BatchRelease(plan, *unpacked(stored), confidence)


def batch_digest(engine: Engine, plan: BatchPlan, schema: sch.Schema) -> str:
    """SHA-256 of all that determines the law of the answer to a batch."""
    return hashed([digest(plan.cells, engine.statement(plan.cells), schema), plan.facts])


def drawn_batch(engine: Engine, plan: BatchPlan, key: str, drawing: Drawing) -> bytes:
    """The answer as it is stored, under the name of its release."""
    noisy = plan.noisy(found_cells(engine, plan, engine.statement(plan.cells)), drawing.words)
    return packed(noisy, batch_receipt(plan, key, drawing))


def found_cells(engine: Engine, plan: BatchPlan, statement: str) -> Sequence[Cells]:
    """The totals of the cells, block by block; where the cells are not written out, of those that have rows.

    Rows of a cell that is not listed are left out either way: what the engine finds is not trusted to be one.
    """
    keys = plan.cells.query.keys
    if not isinstance(keys, ProductKeys):
        return engine.totals(plan.cells, statement)
    codes, blocks = engine.found_groups(plan.cells, statement)
    lists = [np.array(own) for own in keys.lists]
    places = [np.minimum(np.searchsorted(own, code), len(own) - 1) for own, code in zip(lists, codes, strict=True)]
    listed = np.logical_and.reduce([own[place] == code for own, place, code in zip(lists, places, codes, strict=True)])
    held = tuple(place[listed] for place in places)
    return [SparseCells(plan.query.sizes, held, totals[listed]) for totals in blocks]
