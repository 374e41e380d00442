"""What the release of a question draws in which something is open: its first looks, and the last one."""

from __future__ import annotations

import ibis.expr.schema as sch
import numpy as np

from discreet.answers.stored_answers import plain
from discreet.curator.add_noise import noisy_totals_of
from discreet.curator.preliminary_queries import preliminary_facts, prospect_digest, reported, statements, surveyed
from discreet.curator.receipt_facts import receipt
from discreet.curator.release_key import digest
from discreet.curator.serialization import packed
from discreet.curator.transaction import Drawing
from discreet.engines.engine import Engine
from discreet.planning.two_stage import TwoStagePlan


def open_digest(engine: Engine, prospect: TwoStagePlan, schema: sch.Schema) -> str:
    """SHA-256 of all that determines the law of the answer."""
    outlook = prospect.placeholder_plan
    texts = [*statements(engine, prospect), engine.statement(outlook)]
    return prospect_digest(prospect, digest(outlook, "\n".join(texts), schema))


def drawn_open(engine: Engine, prospect: TwoStagePlan, key: str, drawing: Drawing) -> bytes:
    """The answer as it is stored, under the name of its release."""
    words = drawing.words
    found = surveyed(engine, prospect, words)
    plan = prospect.completed_plan(found)
    report = reported(engine, prospect, plan, words)
    noisy = [np.zeros((0, block.block.components), dtype=object) for block in plan.blocks]
    if found.counts is not None:
        noisy = [found.counts[:, np.newaxis]]
    elif plan.query.cells:
        noisy = noisy_totals_of(engine, plan, engine.statement(plan), words)
    account = {**receipt(plan, key, drawing), **preliminary_facts(prospect, found), **report}
    return packed(noisy, account, plain(found))
