"""What an account of a release says of its first looks and its reports, before they are made."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.errors import InvalidParameter
from discreet.exact.amounts import decimal_text, root_below
from discreet.language.checked_expressions import shown
from discreet.mechanisms.threshold import Threshold
from discreet.noise.laplace import DiscreteLaplace
from discreet.planning.aggregates import COUNT, MEAN, SUM, UNITS
from discreet.planning.auto_bounds import TOGETHER, filled_threshold
from discreet.planning.narrower_bounds import stated_ends
from discreet.planning.open_question_plan import OpenQuestionPlan, Subject, UnitHistogram
from discreet.planning.plan import Query
from discreet.planning.thresholded_counts import threshold_for, under_adding
from discreet.planning.unspecified import UnknownKeys, Unspecified
from discreet.privacy.definitions import UNBOUNDED, Guarantee
from discreet.query.explain import error_of
from discreet.query.explanation import Explanation
from discreet.selection.partition_selection import LARGEST_EPSILON, METHODS, KeySelection

LEAST = "the power of two with about the least error in the worst case"
WORST = {
    Subject.GROUPS: f"{LEAST}: all that a unit has in groups beyond it, and noise in proportion to it",
    Subject.ROWS: f"{LEAST}: all rows of a unit beyond it, with values at their bounds, and noise in proportion to it",
    Subject.SIZE: f"{LEAST}: what the largest value of a unit is beyond it, and noise in proportion to it",
}
STATED = {"mechanism": "the stated bounds, without a look for narrower ones"}
CLIPPING = "no part of the error bars; report='clipped' says of how many units"


def first_look_facts(found: OpenQuestionPlan) -> dict[str, Any]:
    """What an account of a release says of what is open."""
    facts: dict[str, Any] = {"first looks": looks(found)}
    if found.unspecified.keys:
        facts["first looks"][-1]["also priced"] = _other_selections(found) if found.selecting else _two_looks(found)
        if found.selecting:
            facts["first looks"][-1]["would lower it"] = _fewer(found, found.unspecified.keys)
        facts["groups"] = f"those that are found, by {', '.join(found.unspecified.keys.names)}"
    if found.unspecified.limits:
        own = found.placeholder_plan.limits
        limits = {"max_groups": own.max_groups, "max_rows": own.max_rows}
        facts["limits"] = limits | dict.fromkeys(sorted(found.unspecified.limits), "auto")
    return facts


def looks(found: OpenQuestionPlan) -> list[dict[str, Any]]:
    """The first looks of a plan: what each finds, by which mechanism, at which price."""
    names = {
        Subject.GROUPS: "max_groups",
        Subject.ROWS: "max_rows",
        Subject.SIZE: "bounds of ",
        Subject.CLIPPED: "units clipped in ",
        Subject.WEIGHTED: "units weighted down",
    }
    told = []
    for histogram in (*found.histograms, *found.reports):
        what = names[histogram.subject] + ("" if histogram.value is None else histogram.value.text)
        stated = (
            None if histogram.value is None or histogram.subject is not Subject.SIZE else stated_ends(histogram.value)
        )
        told.append(
            {
                "what": what,
                **({} if stated is None else {"within": f"[{shown(stated[0])}, {shown(stated[1])}]"}),
                "mechanism": f"discrete Laplace on {histogram.bins} counts of units",
                "sensitivity": histogram.noise.sensitivity,
                "scale": histogram.noise.scale,
                **_chosen(histogram),
                "epsilon": histogram.noise.epsilon,
                "delta": Fraction(0),
            }
        )
    if found.unspecified.keys:
        told.append(_keys_told(found, found.unspecified.keys.names))
    return told


def _chosen(histogram: UnitHistogram) -> dict[str, str]:
    """How many units it takes to find something, and by which rule it is chosen."""
    if histogram.subject not in WORST:
        return {}
    one, many = (
        math.ceil(filled_threshold(histogram.noise.scale, histogram.bins, width)) for width in (1, TOGETHER[-1])
    )
    found = f"where {one:,} units are in one bin, or {many:,} in {TOGETHER[-1]} next to each other"
    return {"finds": found, "chosen": WORST[histogram.subject]}


def beside_stated(query: Query, opened: Explanation, plain: Explanation) -> Explanation:
    """The account of a release that finds narrower bounds than the stated ones, beside one that keeps to these."""
    others = [*opened.facts["also priced"], {**STATED, "charge": plain.charge, "plus_minus": plain.accuracy}]
    pays = {"pays with": f"bounds narrower than {width:.4g}"} if (width := _pays(query, opened, plain)) else {}
    return Explanation({**opened.facts, "also priced": others, **pays, "clipping": CLIPPING})


def _pays(query: Query, opened: Explanation, plain: Explanation) -> float | None:
    """The width of bounds at which noise is the same as with the stated ones and all of the price: for sums and means
    of one value with 0 within its bounds, which are off in proportion to the width. The account of open ones is for 1.
    """
    of = {None if a.value is None or a.statistic not in (SUM, MEAN) else a.value.expr.op() for a in query.aggregates}
    value = query.aggregates[0].value
    if len(of) > 1 or value is None or None in of or value.unbounded or value.interval is None:
        return None
    if not value.interval.low <= 0 <= value.interval.high:
        return None
    return min(plain.accuracy[name].amount / opened.accuracy[name].amount for name in plain.accuracy)


def _other_selections(found: OpenQuestionPlan) -> list[str]:
    """How many units with the most keys it would take for an even chance with each of the other selections."""
    most = found.groups()
    rule = found.selection(most)
    told = []
    for method in METHODS:
        try:
            other = KeySelection(epsilon=rule.epsilon, delta=rule.delta, max_groups=most, method=method)
        except InvalidParameter:  # its table would be too long
            continue
        if method != rule.method:
            told.append(f"{method} selection: {_units(other.users(), most)}")
    return told


def _fewer(found: OpenQuestionPlan, keys: UnknownKeys) -> list[str]:
    """What would show keys that fewer units have, and how many it would take: in the order of what it gives up."""
    most, query = found.groups(), found.query
    told = []
    asked = query.aggregates[0]
    alone = len(query.aggregates) == 1 and asked.value is None and asked.where is None
    if alone and not query.by_row and query.most_rows != 1 and found.charge.epsilon < UNBOUNDED:
        kept = under_adding(query.units_changed, Guarantee(epsilon=found.charge.epsilon, delta=found.charge.delta))
        if asked.statistic in (UNITS, COUNT) and not found.unspecified.limits:
            by_count = Unspecified(keys=replace(keys, by_count=True))
            rule = threshold_for(query, by_count, found.charge)
            if rule is None:
                raise TypeError(query)
            needed, error = _by_count_units(rule, 0.5), DiscreteLaplace.of_scale(rule.scale).quantile(0.95)
            left_out = f"without the keys of a unit beyond {most}"
            told.append(f"one look, keys=dp.UNKNOWN_BY_COUNT, {left_out}: {needed}, then ± {error}")
        users = Threshold(epsilon=kept.epsilon, delta=kept.delta).threshold
        told.append(f"one row a unit by .per_unit(...), and a count of these alone: {_units(users, 1)}")
    if most > 1:
        told.append(f"max_groups=1: {_units(found.selection(1).users(), 1)}")
    if len(keys.names) > 1:
        told.append("fewer columns to group by: each of their keys has more units")
    told += _heavier(found, most, keys.names[0])
    told.append(f"twice the epsilon: {_units(_stronger(found, most, Fraction(2)), most)}")
    return told


def _heavier(found: OpenQuestionPlan, most: int, name: str) -> list[str]:
    """What a weight of three times as much for the keys would do: fewer units, and more noise in the answer."""
    own, answer = found.selecting, found.answering
    ratio = own / answer.epsilon if answer.rho is None else own**2 / (2 * answer.rho)
    keys, rest = 3 * (1 + ratio) / (1 + 3 * ratio), float((1 + 3 * ratio) / (1 + ratio))
    keys, rest = (keys, rest) if answer.rho is None else (root_below(keys), math.sqrt(rest))
    users = _stronger(found, most, keys)
    if users >= found.selection(most).users():
        return []
    weights = f"{{{name!r}: {float(3 * ratio):.4g}}}"
    return [f"weights={weights}: {_units(users, most)}, and {rest:.2g} times the noise"]


def _stronger(found: OpenQuestionPlan, most: int, times: Fraction) -> int:
    """How many units an even chance takes at so many times the epsilon."""
    rule = found.selection(most)
    epsilon = min(times * rule.epsilon, Fraction(LARGEST_EPSILON))
    return KeySelection(epsilon=epsilon, delta=rule.delta, max_groups=most).users()


def _two_looks(found: OpenQuestionPlan) -> list[str]:
    """What it would take to find the keys first, and how far off their counts would be then."""
    other = found.runner_up
    if other is None:
        raise TypeError(found)
    most, column = other.groups(), other.placeholder_plan.columns[0]
    rule, error = other.selection(most), error_of(other.placeholder_plan, column, 0.95)
    epsilon = decimal_text(other.selecting)
    return [f"{rule.method} selection first, for epsilon {epsilon}: {_units(rule.users(), most)}, then ± {error}"]


def _units(users: int, keys: int) -> str:
    return f"{users} units with {keys} key{'s' if keys > 1 else ''} each"


def _by_count_units(rule: Threshold, chance: float) -> str:
    """How many units it takes for a count to reach its threshold with this chance; of rows, if each has all it may."""
    scale, rows, most = float(rule.scale), rule.max_rows, rule.max_groups
    beyond = max(0, math.ceil(-scale * math.log((1 - chance) * (1 + math.exp(-1 / scale)))) - 1)
    needed = rule.threshold + beyond
    if rows > 1:
        where = f" of up to {most} keys" if most > 1 else " key"
        return f"{-(-needed // rows)} units with {rows} rows in each{where}, {needed} with one"
    return f"{needed} units" + (f" with up to {most} keys each" if most > 1 else "")


def _by_count(rule: Threshold, names: tuple[str, ...]) -> dict[str, Any]:
    """The look that finds keys by what was counted: the count costs epsilon, and to show where delta."""
    return {
        "what": f"keys of {', '.join(names)}",
        "mechanism": f"noisy counts of {rule.threshold} or more",
        "threshold": rule.threshold,
        "max_groups": rule.max_groups,
        **({"max_rows": rule.max_rows} if rule.max_rows > 1 else {}),
        "even chance": _by_count_units(rule, 0.5),
        "95 % chance": _by_count_units(rule, 0.95),
        "epsilon": Fraction(0),
    }


def _keys_told(found: OpenQuestionPlan, names: tuple[str, ...]) -> dict[str, Any]:
    if found.placeholder_plan.shown:
        return {**_by_count(found.placeholder_plan.shown, names), "delta": found.charge.delta}
    is_open = "max_groups" in found.unspecified.limits
    most = found.groups()
    rule = found.selection(most)

    def needed(chance: float) -> str:
        one = f"{rule.users(chance, groups=1)} units with one key each"
        many = "more with more keys" if is_open else f"{rule.users(chance)} with {most}"
        return one if most == 1 and not is_open else f"{one}, {many}"

    return {
        "what": f"keys of {', '.join(names)}",
        "mechanism": "the better selection" if is_open else f"{rule.method} selection",
        "max_groups": "auto" if is_open else most,
        "even chance": needed(0.5),
        "95 % chance": needed(0.95),
        "epsilon": found.selecting,
        "delta": found.selecting_delta,
    }
