"""The release of a question that leaves something open: its first looks, and the plan that they complete.

Claim
    `findings_of` passes what the engine counted to the mechanisms of the plan, each of them once, and to nothing
    else; what it returns is a function of what they gave back and of public facts.
Requires
    A charge that was recorded before, for all of the plan.
Relies on
    `engines.first_looks` for sensitivities, `planning.open_question_plan` for the price, `planning.auto_bounds`:
    post-processing.
Proof
    By reading: an exact array is made in `_counts` and `TableKeys`, and goes to `add_noise` or `release` in the next
    line. Keys leave `TableKeys` only at the places that the mechanism returned, and counts as it returned them; both
    are sorted by the keys.
Rounding
    None.
Source
    McSherry, "Privacy integrated queries" (2009).
Mutant
    exact-histogram: bounds are chosen from counts without noise; killed by test_bounds_come_from_noisy_counts.
    keys-as-found: keys come out as the engine has them; killed by test_keys_come_out_in_their_own_order.
    nothing-found-clips: where no narrower bounds are found, values are clipped to (0, 1); killed by
    test_where_nothing_is_found_the_stated_bounds_hold.
    reports-of-one-text: of two values whose texts are the same, the last report alone is told; killed by
    test_values_whose_texts_are_the_same_have_a_report_each.
    exact-counts: what is shown under keys that were found by it has no noise; killed by
    test_intervals_of_found_counts_go_through_steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import ibis.expr.schema as sch
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.answers.stored_answers import plain
from discreet.curator.add_noise import noisy_totals_of
from discreet.curator.receipt_builder import receipt
from discreet.curator.release_key import digest, hashed
from discreet.curator.serialization import packed
from discreet.curator.transaction import Drawing
from discreet.engines.clipping_histograms import clipped_units, weighted_units
from discreet.engines.engine import Engine, integers
from discreet.engines.first_looks import BIN, GROUP, NUMBER, key_totals, unit_histogram
from discreet.language.checked_expressions import Value
from discreet.mechanisms.threshold import Threshold
from discreet.noise.entropy import RandomWords
from discreet.planning.auto_bounds import SIZES, bounds, covering_limit, limit
from discreet.planning.baseline_noise import baseline_noise
from discreet.planning.clipping_reports import bounded_values, shares
from discreet.planning.narrower_bounds import stated_ends, within_stated
from discreet.planning.open_question_plan import Findings, OpenQuestionPlan, Subject, UnitHistogram
from discreet.planning.plan import Plan
from discreet.planning.unspecified import UnknownKeys
from discreet.privacy.declaration import Key
from discreet.privacy.events import Event
from discreet.query.explain_first_looks import looks as explained_looks
from discreet.query.explanation import as_text
from discreet.selection.partition_selection import KeySelection


def open_digest(engine: Engine, open_plan: OpenQuestionPlan, schema: sch.Schema) -> str:
    """SHA-256 of all that determines the law of the answer."""
    outlook = open_plan.placeholder_plan
    texts = [*statements(engine, open_plan), engine.statement(outlook)]
    facts = {
        "outlook": digest(outlook, "\n".join(texts), schema),
        "surveys": [[s.subject.value, str(s.noise.sensitivity), str(s.noise.epsilon)] for s in open_plan.histograms],
        "keys": None if open_plan.unspecified.keys is None else open_plan.unspecified.keys.names,
        "limits": sorted(open_plan.unspecified.limits),
        "reports": [[s.subject.value, str(s.noise.sensitivity), str(s.noise.epsilon)] for s in open_plan.reports],
        "epsilon": [str(open_plan.selecting), str(open_plan.answering), str(open_plan.selecting_delta)],
    }
    if open_plan.unspecified.narrower:
        facts["narrower"] = "within the stated bounds"
    if outlook.shown:
        facts["shown"] = repr(outlook.shown)
    return hashed(facts)


def drawn_open(engine: Engine, open_plan: OpenQuestionPlan, key: str, drawing: Drawing) -> bytes:
    """The answer as it is stored, under the name of its release."""
    words = drawing.words
    found = findings_of(engine, open_plan, words)
    plan = open_plan.completed_plan(found)
    report = _reported(engine, open_plan, plan, words)
    noisy = [np.zeros((0, block.block.components), dtype=object) for block in plan.blocks]
    if found.counts is not None:
        noisy = [found.counts[:, np.newaxis]]
    elif plan.query.cells:
        noisy = noisy_totals_of(engine, plan, engine.statement(plan), words)
    account = {**receipt(plan, key, drawing), **_found_facts(open_plan, found), **report}
    return packed(noisy, account, plain(found))


def statements(engine: Engine, open_plan: OpenQuestionPlan) -> list[str]:
    """The SQL of the first looks and of what is told beside the answer, for people and for the name of a release: keys
    as one unit in one of them has, and reports of the placeholder plan. What an engine cannot do is refused here.
    """
    found = [unit_histogram(open_plan.query, histogram) for histogram in open_plan.histograms]
    if open_plan.unspecified.keys:
        found.append(_key_totals(open_plan, _rule(open_plan, open_plan.groups())))
    reports = _report_histograms(open_plan, open_plan.placeholder_plan)
    return [engine.compiled(look) for look in (*found, *(look for *_, look in reports))]


def findings_of(engine: Engine, open_plan: OpenQuestionPlan, words: RandomWords) -> Findings:
    """What is found of all that is open, by looks of which every result is blurred."""
    looks = [(one, one.noise.add_noise(_counts(engine, open_plan, one), words)) for one in open_plan.histograms]
    seen = {histogram.subject: (counts, histogram.noise.scale) for histogram, counts in looks}
    keys = None
    if open_plan.unspecified.keys:
        wide = covering_limit(*seen[Subject.GROUPS]) if Subject.GROUPS in seen else None
        keys, counts = _keys(engine, open_plan, open_plan.unspecified.keys, open_plan.groups(wide), words)
        if counts is not None:
            return Findings(keys=keys, counts=counts)
    cells = open_plan.query.cells if keys is None else len(keys)
    unit = cells * baseline_noise(open_plan.placeholder_plan, open_plan.answering.epsilon)
    stated = open_plan.query.limits
    limits = {}
    groups, rows = min(stated.max_groups or 1, max(cells, 1)), stated.max_rows or 1
    if Subject.GROUPS in seen:
        groups = limits["max_groups"] = limit(*seen[Subject.GROUPS], unit)
    if Subject.ROWS in seen:
        rows = limits["max_rows"] = limit(*seen[Subject.ROWS], unit * groups)
    cost = unit * (open_plan.query.declaration.rows_changed if open_plan.query.by_row else groups * rows)
    sizes = [
        within_stated(bounds(counts, histogram.noise.scale, cost, stated_ends(histogram.value)), histogram.value)
        for histogram, counts in looks
        if histogram.subject is Subject.SIZE and histogram.value is not None
    ]
    return Findings(limits, tuple(sizes), keys)


def _reported(engine: Engine, open_plan: OpenQuestionPlan, plan: Plan, words: RandomWords) -> dict[str, Any]:
    """What is told beside an answer, of the plan that was settled."""
    told: dict[str, Any] = {}
    names = iter(_numbered([value.text for value in bounded_values(plan.query)]))
    for report, value, look in _report_histograms(open_plan, plan):
        found = engine.run_statement(plan.query.declaration, engine.compiled(look))
        exact = np.zeros(report.bins, dtype=np.int64)
        if len(found):
            exact[found[BIN].to_numpy(zero_copy_only=False).astype(np.int64)] = integers(found[NUMBER])
        noisy = report.noise.add_noise(exact, words)
        if value is None:
            told["weighted"] = shares(noisy, report.noise.scale, ("groups", "rows"))
        else:
            told.setdefault("clipped", {})[next(names)] = shares(noisy, report.noise.scale, ("low", "high"))
    return {"report": told} if told else {}


def _numbered(texts: list[str]) -> list[str]:
    """Each text, with a number where it has been there before: long expressions are cut, and may begin in one way."""
    before = [texts[:place].count(text) for place, text in enumerate(texts)]
    return [f"{text} ({number + 1})" if number else text for text, number in zip(texts, before, strict=True)]


def _report_histograms(
    open_plan: OpenQuestionPlan, plan: Plan
) -> Iterator[tuple[UnitHistogram, Value | None, ir.Table]]:
    """The looks beside the answer of a plan, and the value that each is of."""
    values = iter(bounded_values(plan.query))
    for report in open_plan.reports:
        value = next(values) if report.subject is Subject.CLIPPED else None
        yield report, value, weighted_units(plan) if value is None else clipped_units(plan, value, report.where)


def _counts(engine: Engine, open_plan: OpenQuestionPlan, histogram: UnitHistogram) -> NDArray[Any]:
    """The exact histogram, empty bins included."""
    found = engine.run_statement(
        open_plan.query.declaration, engine.compiled(unit_histogram(open_plan.query, histogram))
    )
    exact = np.zeros(histogram.bins, dtype=np.int64)
    if not len(found):
        return exact
    places = found[BIN].to_numpy(zero_copy_only=False) + (SIZES if histogram.subject is Subject.SIZE else 0)
    exact[places.astype(np.int64)] = integers(found[NUMBER])
    return exact


def _rule(open_plan: OpenQuestionPlan, max_groups: int) -> Threshold | KeySelection:
    """What shows keys: by the counts that were asked for, or by totals for this alone."""
    return open_plan.placeholder_plan.shown or open_plan.selection(max_groups)


def _key_totals(open_plan: OpenQuestionPlan, rule: Threshold | KeySelection) -> ir.Table:
    if isinstance(rule, Threshold):
        return key_totals(open_plan.query, max_groups=rule.max_groups, steps=1, max_rows=rule.max_rows)
    return key_totals(open_plan.query, max_groups=rule.max_groups, steps=rule.steps)


def _keys(
    engine: Engine, open_plan: OpenQuestionPlan, columns: UnknownKeys, max_groups: int, words: RandomWords
) -> tuple[tuple[tuple[Key, ...], ...], NDArray[np.int64] | None]:
    """The keys that are shown, in their own order, and their noisy counts where these found them."""
    rule = _rule(open_plan, max_groups)
    statement = engine.compiled(_key_totals(open_plan, rule))
    found = engine.run_statement(open_plan.query.declaration, statement)
    shown, counts = TableKeys(rule, open_plan.query.units_changed).release(found, words=words)
    rows = list(zip(*(column.to_pylist() for column in shown.columns), strict=True))
    if counts is not None:
        counts = counts[sorted(range(len(rows)), key=rows.__getitem__)]
    return columns.found(rows).rows, counts


@dataclass(frozen=True)
class TableKeys:
    """A rule that shows keys, for tables of them: which keys a table has is as private as how often it has them."""

    rule: Threshold | KeySelection
    units: int
    """How many come or go between neighbors, one after another; the rule is for one of them."""

    @property
    def event(self) -> Event:
        """That of the rule."""
        return self.rule.event

    @property
    def epsilon(self) -> Fraction:
        """What all units cost."""
        return self.rule.epsilon * self.units

    @property
    def max_groups(self) -> int:
        """In how many keys all units are counted."""
        return self.rule.max_groups * self.units

    def release(self, found: pa.Table, *, words: RandomWords) -> tuple[pa.Table, NDArray[np.int64] | None]:
        """The keys that are shown, and their noisy counts where it is these that show them."""
        names = [f"{GROUP}{i}" for i in range(found.num_columns - 1)]
        found = found.sort_by([(name, "ascending") for name in names])  # foreseeable noise is the same each time
        totals = integers(found[NUMBER])
        if isinstance(self.rule, Threshold):
            shown, counts = self.rule.release(totals, words=words)
        else:
            shown, counts = self.rule.release(totals, words=words), None
        return found.select(names).take(shown), counts


def _found_facts(open_plan: OpenQuestionPlan, found: Findings) -> dict[str, Any]:
    """What a receipt adds: the first looks, and what they found."""
    values = _numbered([histogram.value.text for histogram in open_plan.histograms if histogram.value is not None])
    bounds = {name: [str(end) for end in pair] for name, pair in zip(values, found.ends, strict=True)}
    return {
        "first looks": as_text(explained_looks(open_plan)),
        "found": {**found.limits, **({"bounds": bounds} if bounds else {})},
    }
