"""The first looks under attack: what goes into their mechanisms moves no further between neighbors than claimed.

The keys of an answer are the output of a mechanism, so they may differ; what may not is how far its exact input moves.
"""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depth import SLOW, examples
from discreet.engines.first_looks import key_totals, unit_histogram
from discreet.errors import InvalidQuery
from discreet.planning.group_keys import UNKNOWN, UNKNOWN_BY_COUNT
from discreet.planning.open_question_plan import Findings, plan_open_question
from discreet.planning.unspecified import open_values
from discreet.privacy.definitions import ROW
from discreet.query.question import Question
from discreet.selection.gaussian_partition_selection import STEPS
from discreet.selection.partition_selection import KeySelection
from discreet.testing.neighbors import NeighborPair, Rows, l1_distances, pairs
from first_look_moves import moves
from neighbor_bench import Bench
from random_questions import conditions

EXAMPLES = examples(2)
COLUMNS = ("plan", "i", "b", "day", "at", "site")


def protected(bench: Bench, pair: NeighborPair) -> Any:
    facts: dict[str, Any] = {"unit": list(pair.unit) or ROW, "bounds": {"x": "auto", "v": "auto", "i": "auto"}}
    if pair.unit:
        facts |= {"max_rows": "auto", "max_groups": "auto"}
    if pair.replaced:
        facts |= {"neighbors": "replace-one", "units" if pair.unit else "rows": 100}
    return bench.protect(pair.first.to_arrow(), **facts)


def asked(data: st.DataObject, table: Any) -> Question:
    """A question about unknown keys and unknown bounds, of all rows or of some."""
    names = [name for name in COLUMNS if name in table.columns]
    chosen = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True), label="groups")
    if data.draw(st.booleans(), label="filtered"):
        with suppress(InvalidQuery):
            table = table.filter(data.draw(st.composite(conditions)(table)))
    where = table.b if data.draw(st.booleans(), label="where") else None
    value = data.draw(st.sampled_from(("x", "v", "i")), label="value")
    grouped = table.group_by(*chosen, keys=UNKNOWN)
    found = grouped.agg(s=lambda t: t[value].sum(where=where), m=lambda t: (t.x / 3).mean())
    assert isinstance(found, Question)
    assert found._is_open
    return found


@pytest.mark.long
@settings(max_examples=EXAMPLES, suppress_health_check=SLOW)
@given(pair=pairs(), data=st.data())
def test_one_unit_moves_each_histogram_by_one(bench: Bench, pair: NeighborPair, data: st.DataObject) -> None:
    question = asked(data, protected(bench, pair))
    priced = plan_open_question(question._query, question._open, epsilon=1, delta=1e-6)
    assert priced.histograms
    for histogram in priced.histograms:
        apart = moves(bench, question, unit_histogram(question._query, histogram), pair)
        assert sum(apart) <= histogram.noise.sensitivity == 1 + pair.replaced


@pytest.mark.long
@settings(max_examples=EXAMPLES, suppress_health_check=SLOW)
@given(pair=pairs(), data=st.data())
def test_one_unit_moves_few_key_totals_by_its_weight(bench: Bench, pair: NeighborPair, data: st.DataObject) -> None:
    question = asked(data, protected(bench, pair))
    most, steps = data.draw(st.integers(1, 3), label="most") if pair.unit else 1, data.draw(st.sampled_from((1, STEPS)))
    apart = moves(bench, question, key_totals(question._query, max_groups=most, steps=steps), pair)
    rule = KeySelection(epsilon=1, delta=1e-5, max_groups=most, method="weighted" if steps > 1 else "optimal")
    units = 1 + pair.replaced
    assert len(apart) <= units * most
    assert sum(apart) <= units * max(t * rule.weight(t) for t in range(1, most + 1))
    assert pair.replaced or all(move <= rule.weight(len(apart)) for move in apart)


@pytest.mark.long
@settings(max_examples=EXAMPLES, suppress_health_check=SLOW)
@given(pair=pairs(), data=st.data())
def test_one_unit_moves_one_count_by_one(bench: Bench, pair: NeighborPair, data: st.DataObject) -> None:
    """What a lone count by unknown keys looks at, which its own mechanism then shows; or of rows, by what is stated."""
    facts: dict[str, Any] = {"neighbors": "replace-one", "units" if pair.unit else "rows": 100} if pair.replaced else {}
    table = bench.protect(pair.first.to_arrow(), unit=list(pair.unit) or ROW, **facts)
    names = [name for name in ("plan", "i", "day") if name in table.columns]
    chosen = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True), label="groups")
    most = rows = 1
    several = data.draw(st.sampled_from(("no", "rows", "units")), label="several keys") if pair.unit else "no"
    if several == "rows":
        most, rows = data.draw(st.integers(1, 3), label="most"), data.draw(st.integers(1, 3), label="rows")
        grouped = table.group_by(*chosen, keys=UNKNOWN_BY_COUNT, max_groups=most, max_rows=rows)
        asked = grouped.agg(n=lambda t: t.count())
    elif several == "units" and len(pair.unit) == 1:  # which can be counted
        most = data.draw(st.integers(1, 3), label="most")
        grouped = table.group_by(*chosen, keys=UNKNOWN_BY_COUNT, max_groups=most)
        asked = grouped.agg(n=lambda t: t[pair.unit[0]].nunique())
    else:
        table = table.per_unit(**{name: table[name].min() for name in chosen}) if pair.unit else table
        asked = table.group_by(*chosen, keys=UNKNOWN).agg(n=lambda t: t.count())
    assert asked._is_open
    rule = plan_open_question(asked._query, asked._open, epsilon=1, delta=1e-6).placeholder_plan.shown
    assert rule
    assert (rule.epsilon, rule.max_groups, rule.max_rows) == (Fraction(1, 1 + pair.replaced), most, rows)
    look = key_totals(asked._query, max_groups=rule.max_groups, steps=1, max_rows=rule.max_rows)
    apart = moves(bench, asked, look, pair)
    assert max(apart, default=0) <= rows
    assert len(apart) <= (1 + pair.replaced) * rule.max_groups


def test_a_false_claim_is_seen_at_the_edge(bench: Bench) -> None:
    """One person alone with six keys: two of them move, and all of them where nothing is limited."""
    columns = (("person", pa.int64()), ("plan", pa.string()))
    many = Rows(columns, tuple((1, plan) for plan in "abcdef"))
    table = bench.protect(many.to_arrow(), unit="person", max_rows=1)
    question: Any = table.group_by("plan", keys=UNKNOWN, max_groups=2).agg(n=lambda t: t.count())
    pair = NeighborPair(many, many.with_rows(()), ("person",), replaced=False)
    for limit, seen in ((2, 2), (10, 6)):
        assert len(moves(bench, question, key_totals(question._query, max_groups=limit, steps=1), pair)) == seen
    thrice = Rows(columns, tuple((1, plan) for plan in "abc" for _row in range(3)))
    pair = NeighborPair(thrice, thrice.with_rows(()), ("person",), replaced=False)
    for rows, seen in ((2, 2), (10, 3)):
        look = key_totals(question._query, max_groups=2, steps=1, max_rows=rows)
        assert moves(bench, question, look, pair) == [seen, seen]


@pytest.mark.long
@settings(max_examples=EXAMPLES, suppress_health_check=SLOW)
@given(pair=pairs(), data=st.data())
def test_the_last_look_keeps_its_claim_whatever_the_first_one_found(
    bench: Bench, pair: NeighborPair, data: st.DataObject
) -> None:
    """Replayed on a neighbor with the findings frozen: the totals of what was settled move no further than claimed."""
    question = asked(data, protected(bench, pair))
    priced = plan_open_question(question._query, question._open, epsilon=1, delta=1e-6)
    names = [] if not pair.unit else ["max_groups", "max_rows"]
    limits = {name: data.draw(st.sampled_from((1, 2, 4)), label=name) for name in names}
    end = st.sampled_from([Fraction(2) ** step for step in (-30, 0, 20, 60)] + [Fraction(0)])
    count = len(open_values(question._query))
    ends = tuple((-data.draw(end), data.draw(end) + Fraction(1, 2**30)) for _ in range(count))
    columns = priced.unspecified.keys
    assert columns is not None
    totals = key_totals(question._query, max_groups=99, steps=1)
    known = sorted(key if isinstance(key, tuple) else (key,) for key in bench.found(question, totals))
    keys = tuple(data.draw(st.lists(st.sampled_from(known), unique=True))) if known else ()
    plan = priced.completed_plan(Findings(limits, ends, keys))
    if not plan.query.cells:
        return
    apart = l1_distances(bench.totals(plan, pair.first.to_arrow()), bench.totals(plan, pair.second.to_arrow()))
    assert all(distance <= block.sensitivity for distance, block in zip(apart, plan.blocks, strict=True))
