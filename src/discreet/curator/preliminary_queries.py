"""The first looks of a release that leaves something open: exact histograms and key totals in, findings out.

Claim
    `surveyed` passes what the engine counted to the mechanisms of the prospect, each of them once, and to nothing else;
    what it returns is a function of what they gave back and of public facts.
Requires
    A charge that was recorded before, for all of the prospect.
Relies on
    `engines.preliminary_totals` for sensitivities, `planning.two_stage` for the price, `planning.auto_bounds`:
    post-processing.
Proof
    By reading: an exact array is made in `_counts` and `_keys`, and goes to `add_noise` or `release` in the next line.
    Keys leave `_keys` only at the places that the mechanism returned, and counts as it returned them; both are sorted
    by the keys.
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
from typing import Any

import ibis.expr.types as ir
import numpy as np
from numpy.typing import NDArray

from discreet.curator.release_key import hashed
from discreet.engines.clipping_histograms import clipped_units, weighted_units
from discreet.engines.engine import Engine, integers
from discreet.engines.preliminary_totals import BIN, GROUP, NUMBER, key_totals, unit_histogram
from discreet.language.checked_expressions import Value
from discreet.mechanisms.threshold import Threshold
from discreet.noise.entropy import RandomWords
from discreet.planning.auto_bounds import SIZES, bounds, covering_limit, limit
from discreet.planning.baseline_noise import baseline_noise
from discreet.planning.clipping_reports import bounded_values, shares
from discreet.planning.narrower_bounds import stated_ends, within_stated
from discreet.planning.plan import Plan
from discreet.planning.two_stage import Findings, Subject, Survey, TwoStagePlan
from discreet.planning.unspecified import UnknownKeys
from discreet.privacy.declaration import Key
from discreet.query.explain_preliminary import looks
from discreet.query.explanation import as_text
from discreet.selection.partition_selection import KeySelection


def statements(engine: Engine, prospect: TwoStagePlan) -> list[str]:
    """The SQL of the first looks and of what is told beside the answer, for people and for the name of a release: keys
    as one unit in one of them has, and reports of the placeholder plan. What an engine cannot do is refused here.
    """
    found = [unit_histogram(prospect.query, survey) for survey in prospect.surveys]
    if prospect.open.keys:
        found.append(_key_totals(prospect, _rule(prospect, prospect.groups())))
    reports = _told(prospect, prospect.placeholder_plan)
    return [engine.compiled(look) for look in (*found, *(look for *_, look in reports))]


def surveyed(engine: Engine, prospect: TwoStagePlan, words: RandomWords) -> Findings:
    """What is found of all that is open, by looks of which every result is blurred."""
    surveys = prospect.surveys
    noisy = [survey.noise.add_noise(_counts(engine, prospect, survey), words) for survey in surveys]
    seen = {survey.subject: (counts, survey.noise.scale) for survey, counts in zip(surveys, noisy, strict=True)}
    keys = None
    if prospect.open.keys:
        wide = covering_limit(*seen[Subject.GROUPS]) if Subject.GROUPS in seen else None
        keys, counts = _keys(engine, prospect, prospect.open.keys, prospect.groups(wide), words)
        if counts is not None:
            return Findings(keys=keys, counts=counts)
    cells = prospect.query.cells if keys is None else len(keys)
    unit = cells * baseline_noise(prospect.placeholder_plan, prospect.answering.epsilon)
    stated = prospect.query.limits
    limits = {}
    groups, rows = min(stated.max_groups or 1, max(cells, 1)), stated.max_rows or 1
    if Subject.GROUPS in seen:
        groups = limits["max_groups"] = limit(*seen[Subject.GROUPS], unit)
    if Subject.ROWS in seen:
        rows = limits["max_rows"] = limit(*seen[Subject.ROWS], unit * groups)
    cost = unit * (prospect.query.declaration.rows_changed if prospect.query.by_row else groups * rows)
    sizes = [
        within_stated(bounds(counts, survey.noise.scale, cost, stated_ends(survey.value)), survey.value)
        for survey, counts in zip(surveys, noisy, strict=True)
        if survey.subject is Subject.SIZE and survey.value is not None
    ]
    return Findings(limits, tuple(sizes), keys)


def reported(engine: Engine, prospect: TwoStagePlan, plan: Plan, words: RandomWords) -> dict[str, Any]:
    """What is told beside an answer, of the plan that was settled."""
    told: dict[str, Any] = {}
    names = iter(_numbered([value.text for value in bounded_values(plan.query)]))
    for report, value, look in _told(prospect, plan):
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


def _told(prospect: TwoStagePlan, plan: Plan) -> Iterator[tuple[Survey, Value | None, ir.Table]]:
    """The looks beside the answer of a plan, and the value that each is of."""
    values = iter(bounded_values(plan.query))
    for report in prospect.reports:
        value = next(values) if report.subject is Subject.CLIPPED else None
        yield report, value, weighted_units(plan) if value is None else clipped_units(plan, value, report.where)


def _counts(engine: Engine, prospect: TwoStagePlan, survey: Survey) -> NDArray[Any]:
    """The exact histogram, empty bins included."""
    found = engine.run_statement(prospect.query.declaration, engine.compiled(unit_histogram(prospect.query, survey)))
    exact = np.zeros(survey.bins, dtype=np.int64)
    if not len(found):
        return exact
    places = found[BIN].to_numpy(zero_copy_only=False) + (SIZES if survey.subject is Subject.SIZE else 0)
    exact[places.astype(np.int64)] = integers(found[NUMBER])
    return exact


def _rule(prospect: TwoStagePlan, max_groups: int) -> Threshold | KeySelection:
    """What shows keys: by the counts that were asked for, or by totals for this alone."""
    return prospect.placeholder_plan.shown or prospect.selection(max_groups)


def _key_totals(prospect: TwoStagePlan, rule: Threshold | KeySelection) -> ir.Table:
    if isinstance(rule, Threshold):
        return key_totals(prospect.query, max_groups=rule.max_groups, steps=1, max_rows=rule.max_rows)
    return key_totals(prospect.query, max_groups=rule.max_groups, steps=rule.steps)


def _keys(
    engine: Engine, prospect: TwoStagePlan, columns: UnknownKeys, max_groups: int, words: RandomWords
) -> tuple[tuple[tuple[Key, ...], ...], NDArray[np.int64] | None]:
    """The keys that are shown, in their own order, and their noisy counts where these found them."""
    rule = _rule(prospect, max_groups)
    statement = engine.compiled(_key_totals(prospect, rule))
    found = engine.run_statement(prospect.query.declaration, statement)
    if not len(found):
        return (), np.zeros(0, dtype=np.int64) if prospect.placeholder_plan.shown else None
    names = [f"{GROUP}{i}" for i in range(len(columns.names))]
    found = found.sort_by([(name, "ascending") for name in names])  # so that foreseeable noise is the same each time
    totals = integers(found[NUMBER])
    if isinstance(rule, Threshold):
        shown, counts = rule.release(totals, words=words)
    else:
        shown, counts = rule.release(totals, words=words), None
    rows = list(zip(*(found[name].take(shown).to_pylist() for name in names), strict=True))
    if counts is not None:
        counts = counts[sorted(range(len(rows)), key=rows.__getitem__)]
    return columns.found(rows).rows, counts


def prospect_digest(prospect: TwoStagePlan, outlook: str) -> str:
    """SHA-256 of all that determines the law of a release that leaves something open."""
    facts = {
        "outlook": outlook,
        "surveys": [[s.subject.value, str(s.noise.sensitivity), str(s.noise.epsilon)] for s in prospect.surveys],
        "keys": None if prospect.open.keys is None else prospect.open.keys.names,
        "limits": sorted(prospect.open.limits),
        "reports": [[s.subject.value, str(s.noise.sensitivity), str(s.noise.epsilon)] for s in prospect.reports],
        "epsilon": [str(prospect.selecting), str(prospect.answering), str(prospect.selecting_delta)],
    }
    if prospect.open.narrower:
        facts["narrower"] = "within the stated bounds"
    if prospect.placeholder_plan.shown:
        facts["shown"] = repr(prospect.placeholder_plan.shown)
    return hashed(facts)


def preliminary_facts(prospect: TwoStagePlan, found: Findings) -> dict[str, Any]:
    """What a receipt adds: the first looks, and what they found."""
    values = _numbered([survey.value.text for survey in prospect.surveys if survey.value is not None])
    bounds = {name: [str(end) for end in pair] for name, pair in zip(values, found.ends, strict=True)}
    return {
        "first looks": as_text(looks(prospect)),
        "found": {**found.limits, **({"bounds": bounds} if bounds else {})},
    }
