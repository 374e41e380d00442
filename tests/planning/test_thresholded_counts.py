"""A lone count by unknown keys: when one look is taken, and the law of the whole release, enumerated."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from flint import ctx
from ibis import _
from numpy.typing import NDArray

import discreet as dp
from discreet.engines.first_looks import key_totals
from discreet.errors import InvalidParameter, InvalidQuery
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.threshold import Threshold
from discreet.noise.certified_comparison import real
from discreet.planning.open_question_plan import Findings, OpenQuestionPlan, plan_open_question
from discreet.planning.thresholded_counts import threshold_for, under_adding
from discreet.privacy.definitions import Guarantee
from discreet.privacy.events import ApproximateEvent
from neighbor_bench import Bench

ROWS = pa.table({"p": [1, 2], "page": ["a", "b"], "v": [1.5, 2.5]})
PUBLIC = dp.public(pa.table({"page": ["a", "a", "b"], "size": [1, 2, 3]}))


def question(ask: Callable[[Any], Any], data: pa.Table = ROWS, **more: Any) -> Any:
    stated: dict[str, Any] = {"unit": "p", "budget": dp.Budget(epsilon=1), "bounds": {"v": (0, 3)}}
    return ask(dp.protect(data, **(stated | more)))


def once(t: Any) -> Any:
    """One row for each person."""
    return t.per_unit(page=_.page.min(), v=_.v.max())


def priced(asked: Any, epsilon: object = 1, delta: object = 1e-6, **more: Any) -> OpenQuestionPlan:
    return plan_open_question(asked._query, asked._open, epsilon=epsilon, delta=delta, **more)


def by_page(t: Any, **more: Any) -> Any:
    return t.group_by("page", keys=dp.UNKNOWN, **more)


def people(t: Any) -> Any:
    return by_page(once(t)).agg(n=_.count())


Asked = tuple[Callable[[Any], Any], dict[str, Any]]

ONE: dict[str, Asked] = {
    "units with one row": (people, {}),
    "the same by their name": (lambda t: by_page(once(t)).agg(n=_.p.nunique()), {}),
    "the same, whatever the limit": (people, {"max_groups": 20, "max_rows": 7}),
    "rows that are units": (lambda t: by_page(t).agg(n=_.count()), {"unit": dp.ROW}),
    "a column made of others": (
        lambda t: by_page(once(t).mutate(page=_.page.upper()).filter(_.v > 1)).agg(n=_.count()),
        {},
    ),
}
TWO: dict[str, Asked] = {
    "units that may have several keys": (lambda t: by_page(t, max_groups=1).agg(n=_.p.nunique()), {}),
    "rows of such": (lambda t: by_page(t, max_groups=1, max_rows=1).agg(n=_.count()), {}),
    "units with two rows": (
        lambda t: by_page(once(t).join(PUBLIC, "page", max_matches=2)).agg(n=_.count()), {"max_groups": 1},
    ),
    "two columns": (lambda t: by_page(once(t)).agg(n=_.count(), m=_.v.clip(0, 3).mean()), {}),
    "a condition": (lambda t: by_page(once(t)).agg(n=_.count(where=_.v > 1)), {}),
    "values": (lambda t: by_page(once(t)).agg(n=_.v.count()), {}),
    "a limit to find": (lambda t: by_page(t, max_groups="auto").agg(n=_.p.nunique()), {}),
}  # fmt: skip


def test_only_plain_counts_of_units_with_one_row_take_one_look() -> None:
    for words, (ask, stated) in ONE.items():
        found = priced(question(ask, **stated))
        assert found.placeholder_plan.shown == Threshold(epsilon=1, delta=1e-6), words
        assert found.selecting == 0
        assert found.runner_up
        assert found.runner_up.selecting == Fraction(1, 2)
    for words, (ask, stated) in TWO.items():
        found = priced(question(ask, **stated))
        assert found.placeholder_plan.shown is None, words
        assert found.selecting > 0


def test_reports_and_stated_errors_take_two_looks() -> None:
    asked = question(people)
    assert priced(asked, within={"n": 3}).placeholder_plan.shown is None
    facts = asked.explain(within={"n": 10}, delta=1e-6)
    assert facts["first looks"][0]["mechanism"] == "optimal selection"
    looks = asked.explain(epsilon=1, delta=1e-6, report="weighted")["first looks"]
    assert [look["epsilon"] for look in looks] == ["0.05", "0.475"]


@pytest.mark.long
def test_one_look_is_no_worse_in_either_way() -> None:
    """No more units for an even chance, and no larger error; where delta is large, two looks may need fewer units."""
    for epsilon in (0.1, 1, 8, 100):
        for delta in (1e-9, 1e-6, 1e-4):
            found = priced(question(people), epsilon=epsilon, delta=delta)
            assert found.placeholder_plan.shown
            assert found.runner_up
            assert found.placeholder_plan.shown.threshold <= found.runner_up.selection(1).users()
            assert found.placeholder_plan.blocks[0].scale <= found.runner_up.placeholder_plan.blocks[0].scale
    assert priced(question(people), epsilon=0.01, delta=0.01).placeholder_plan.shown is None


def test_all_of_the_price_is_for_the_one_look() -> None:
    found = priced(question(people), epsilon=Fraction(7, 10))
    charge = Guarantee(epsilon=Fraction(7, 10), delta=Fraction(1, 10**6))
    assert found.charge == found.answering == found.placeholder_plan.charge == charge
    assert found.event == found.placeholder_plan.event == ApproximateEvent(epsilon=charge.epsilon, delta=charge.delta)
    assert found.placeholder_plan.shown == Threshold(epsilon=charge.epsilon, delta=charge.delta)
    [block] = found.placeholder_plan.blocks
    assert isinstance(block.noise, Laplace)
    assert (block.noise.scale, block.noise.epsilon, block.steps) == (Fraction(10, 7), Fraction(7, 10), 1)
    plan = found.completed_plan(Findings(keys=(("x",), ("y",)), counts=np.array([30, 40])))
    assert plan.query.cells == 2
    assert plan.shown == found.placeholder_plan.shown
    assert found.completed_plan(Findings(keys=())).query.cells == 0


def test_what_replacing_leaves_of_a_price() -> None:
    whole = Guarantee(epsilon=Fraction(1), delta=Fraction(1, 100))
    assert under_adding(1, whole) == whole
    kept = under_adding(2, whole)
    assert kept.epsilon == Fraction(1, 2)
    assert float(kept.delta) * (1 + math.exp(0.5)) == pytest.approx(0.01, rel=1e-12)
    assert kept.delta * (1 + Fraction(math.exp(0.5))) <= whole.delta


def test_a_price_whose_power_no_float_holds_is_refused() -> None:
    """Up to there (1 + e^a) b is at most the delta, in 200 bits."""
    with ctx.workprec(200):
        whole = Guarantee(epsilon=Fraction(1400), delta=Fraction(1, 2))
        kept = under_adding(2, whole)
        assert (1 + real(kept.epsilon).exp()) * real(kept.delta) <= real(whole.delta)
    for epsilon in (Fraction(1401), Fraction(2**20), Fraction(10**400)):
        with pytest.raises(InvalidParameter, match="an epsilon of at most 1400 "):
            under_adding(2, Guarantee(epsilon=epsilon, delta=Fraction(1, 2)))


# -- the law of the whole release ---------------------------------------------------------------------------------

FAR = 30
"""So many noisy counts from the threshold on are told apart, or as many as there are in five scales."""


def shown_law(rule: Threshold, count: int) -> NDArray[np.float64]:
    """The probabilities that a key with this count is not shown, and shown with each noisy count, for independent
    formulas of discrete Laplace noise; the last is for all that lies beyond.
    """
    q, far = math.exp(-1 / float(rule.scale)), max(FAR, math.ceil(5 * rule.scale))

    def tail(z: int) -> float:
        return q**z / (1 + q) if z >= 0 else 1 - q ** (1 - z) / (1 + q)

    ends: NDArray[np.float64] = np.array([1.0, *(tail(rule.threshold + i - count) for i in range(far)), 0.0])
    law: NDArray[np.float64] = ends[:-1] - ends[1:] if count else np.eye(far + 1)[0]
    return law


def joint(rule: Threshold, counts: list[int]) -> NDArray[np.float64]:
    """The law of what is shown of all keys together."""
    law = np.ones(1)
    for count in counts:
        law = np.multiply.outer(law, shown_law(rule, count)).reshape(-1)
    return law


def beyond(one: NDArray[np.float64], other: NDArray[np.float64], epsilon: float) -> float:
    """The smallest delta that will do from one law to the other (hockey-stick divergence)."""
    return float(np.maximum(one - math.exp(epsilon) * other, 0).sum())


SHARED = [(person, page) for person, page in enumerate("bbbbcc")]
TABLES: dict[str, tuple[list[tuple[int, str]], list[tuple[int, str]], bool]] = {
    "a key of one's own": ([*SHARED, (9, "a")], SHARED, False),
    "many rows": ([*SHARED, *[(9, "a")] * 5], SHARED, False),
    "many keys, of which one counts": ([*SHARED, *((9, page) for page in "abcde")], SHARED, False),
    "a shared key": ([*SHARED, (9, "b")], SHARED, False),
    "another in one's place": ([*SHARED, (9, "a")], [*SHARED, (9, "b")], True),
    "a lone key for another": ([*SHARED, (9, "a")], [*SHARED, (9, "d")], True),
}


def laws(
    tables: str, epsilon: float, delta: float, ask: Callable[[Any], Any] = lambda t: people(t.mutate(v=0))
) -> list[NDArray[np.float64]]:
    """What the release of a count of people shows of either table: exact totals of the engine, then the law."""
    first, second, replaced = TABLES[tables]
    bench = Bench()
    stated = {"neighbors": "replace-one", "units": 10} if replaced else {}
    data = [pa.table(dict(zip(("p", "page"), zip(*rows, strict=True), strict=True))) for rows in (first, second)]
    asked: Any = ask(bench.protect(data[0], unit="p", **stated))
    rule = threshold_for(asked._query, asked._open, Guarantee(epsilon=Fraction(epsilon), delta=Fraction(delta)))
    assert rule
    look = key_totals(asked._query, max_groups=rule.max_groups, steps=1, max_rows=rule.max_rows)
    totals = [bench.found(asked, look, one) for one in data]
    # Keys with the same total on both sides have the same law on both, and cost nothing: their factors sum to 1.
    keys = [key for key in totals[0].keys() | totals[1].keys() if totals[0].get(key) != totals[1].get(key)]
    own = {page for person, page in first if person == 9}
    assert len(keys) == min(len(own), rule.max_groups) + replaced
    return [joint(rule, [one.get(key, 0) for key in keys]) for one in totals]


@pytest.mark.long
@pytest.mark.parametrize("tables", TABLES)
@pytest.mark.parametrize(("epsilon", "delta"), [(1, 0.05), (2, 1e-3)])
def test_the_release_keeps_its_promise(tables: str, epsilon: float, delta: float) -> None:
    """By enumeration, in both directions; and with a third of the price it is not kept: a loss is really there."""
    one, other = laws(tables, epsilon, delta)
    assert beyond(one, other, epsilon) <= delta * (1 + 1e-9)
    assert beyond(other, one, epsilon) <= delta * (1 + 1e-9)
    assert max(beyond(one, other, epsilon / 3), beyond(other, one, epsilon / 3)) > delta / 50


# -- keys that are found by the counts because that was asked for ---------------------------------------------------


def by_count(t: Any, most: int = 1) -> Any:
    return t.group_by("page", keys=dp.UNKNOWN_BY_COUNT, max_groups=most).agg(n=_.p.nunique())


@pytest.mark.long
# Where a unit of one row is replaced, a limit of 2 says all; three keys on either side would be 31**6 outcomes.
@pytest.mark.parametrize(
    ("tables", "most"), [(name, most) for name in TABLES for most in (1, 2, 3) if most < 3 or not TABLES[name][2]]
)
def test_one_look_at_several_keys_of_a_unit_has_the_law_of_its_mechanism(tables: str, most: int) -> None:
    """By enumeration, in both directions; a third of the price is not enough where a unit has keys of its own."""
    one, other = laws(tables, 1, 0.05, lambda t: by_count(t, most))
    for first, second in ((one, other), (other, one)):
        assert beyond(first, second, 1) <= 0.05 * (1 + 1e-9)
    if tables == "many keys, of which one counts":
        assert max(beyond(one, other, 1 / 3), beyond(other, one, 1 / 3)) > 0.05 / 4


def rows_by_count(t: Any, most: int, rows: int) -> Any:
    return t.group_by("page", keys=dp.UNKNOWN_BY_COUNT, max_groups=most, max_rows=rows).agg(n=_.count())


@pytest.mark.long
@pytest.mark.parametrize("tables", [name for name in TABLES if not TABLES[name][2]])
@pytest.mark.parametrize(("most", "rows"), [(1, 1), (1, 4), (2, 1), (2, 3)])
def test_one_look_at_rows_has_the_law_of_its_mechanism(tables: str, most: int, rows: int) -> None:
    """By enumeration, in both directions. A unit with five rows in a key of its own needs about all of the price; with
    the noise and the threshold of units it would need more.
    """
    rule = priced(question(partial(rows_by_count, most=most, rows=rows)), delta=0.05).placeholder_plan.shown
    assert rule == Threshold(epsilon=1, delta=0.05, max_groups=most, max_rows=rows)
    one, other = laws(tables, 1, 0.05, lambda t: rows_by_count(t, most, rows))
    for first, second in ((one, other), (other, one)):
        assert beyond(first, second, 1) <= 0.05 * (1 + 1e-9)
    if tables == "many rows" and most == 1:
        assert max(beyond(one, other, 1), beyond(other, one, 1)) > 0.05 / 3
    if tables == "many rows" and rows == 4:
        units = Threshold(epsilon=1, delta=0.05)
        assert beyond(joint(units, [4]), joint(units, [0]), 1) > 2 * 0.05


def test_rows_take_one_look_where_it_was_asked_for_or_nobody_is_left_out() -> None:
    asked = question(partial(rows_by_count, most=2, rows=3))
    found = priced(asked)
    assert found.placeholder_plan.shown == Threshold(epsilon=1, delta=1e-6, max_groups=2, max_rows=3)
    assert found.placeholder_plan.blocks[0].scale == 6
    assert found.runner_up
    assert found.runner_up.placeholder_plan.blocks[0].scale >= 12
    told = asked.explain(epsilon=1, delta=1e-6)
    [look] = told["first looks"]
    assert (look["max_groups"], look["max_rows"]) == (2, 3)
    many = look["threshold"]
    assert look["even chance"] == f"{-(-many // 3)} units with 3 rows in each of up to 2 keys, {many} with one"
    with pytest.raises(InvalidQuery, match="Expected max_rows, got none"):
        question(lambda t: t.group_by("page", keys=dp.UNKNOWN_BY_COUNT, max_groups=2).agg(n=_.count())).explain(
            epsilon=1, delta=1e-6
        )

    # A person has two rows at most by what made the table, and so two keys: none is left out of any.
    def twice(t: Any, most: int) -> Any:
        return by_page(once(t).join(PUBLIC, "page", max_matches=2), max_groups=most).agg(n=_.p.nunique())

    for stated, many in ((2, 2), (5, 2), (1, None)):
        rule = priced(question(partial(twice, most=stated))).placeholder_plan.shown
        assert (rule and rule.max_groups) == many


@pytest.mark.long
def test_rows_of_units_are_counted_in_one_look() -> None:
    """Counts of rows with the noise of one look, and intervals that hold as often as they say: of 120, 114 are
    expected, and fewer than 100 have a probability of 1e-6. With intervals of units, too few would hold.
    """
    rows = [(p, page) for p in range(400) for page, most in (("a", 400), ("b", 300), ("c", 150)) if p < most]
    twice = [row for row in rows for _i in range(2)]
    data = pa.table({"p": [p for p, _page in twice], "page": [page for _p, page in twice]})
    table = dp.protect(data, unit="p", budget=dp.Budget(epsilon=10**4, delta=0.01), name="t")
    exact, inside, narrow = {"a": 800, "b": 600, "c": 300}, 0, 0
    half = Laplace(sensitivity=3, epsilon=1).error(confidence=0.95)
    for seed in range(40):
        answer = rows_by_count(table, 3, 2).release(epsilon=1 + seed * 1e-6, delta=1e-6)
        found = answer.to_pandas().set_index("page")
        assert dict(found["n"]).keys() == exact.keys()
        inside += sum(found["n_low"][page] <= exact[page] <= found["n_high"][page] for page in exact)
        narrow += sum(abs(found["n"][page] - exact[page]) <= half for page in exact)
    assert inside >= 100
    assert narrow < 105


def test_one_look_is_made_where_it_was_asked_for() -> None:
    for most in (1, 3, 20):
        found = priced(question(partial(by_count, most=most)))
        assert found.placeholder_plan.shown == Threshold(epsilon=1, delta=1e-6, max_groups=most)
        [block] = found.placeholder_plan.blocks
        assert isinstance(block.noise, Laplace)
        assert block.noise.scale == most
        assert found.selecting == 0
    # Where two would need fewer units, and a unit that has one row has one key whatever the limit.
    assert priced(question(by_count), epsilon=0.01, delta=0.01).placeholder_plan.shown
    rule = priced(question(lambda t: by_count(once(t), 7))).placeholder_plan.shown
    assert rule
    assert rule.max_groups == 1
    replaced = priced(question(by_count, neighbors="replace-one", units=10)).placeholder_plan.shown
    assert replaced == Threshold(epsilon=Fraction(1, 2), delta=under_adding(2, ASKED).delta)


ASKED = Guarantee(epsilon=Fraction(1), delta=Fraction(1, 10**6))


def test_what_one_look_cannot_count_is_refused() -> None:
    def grouped(t: Any, **more: Any) -> Any:
        return t.group_by("page", keys=dp.UNKNOWN_BY_COUNT, **({"max_groups": 1} | more))

    for ask in (
        lambda t: grouped(t, max_rows="auto").agg(n=_.count()),
        lambda t: grouped(t, max_rows=1).agg(n=_.v.count()),
        lambda t: grouped(t, max_rows=1).agg(n=_.p.nunique(), m=_.v.clip(0, 3).mean()),
        lambda t: grouped(t).agg(n=_.p.nunique(where=_.v > 1)),
        lambda t: grouped(t, max_groups="auto").agg(n=_.p.nunique()),
    ):
        with pytest.raises(InvalidQuery, match=r"one number of units or of rows(.|\n)*before it, \.filter"):
            question(ask).explain(epsilon=1, delta=1e-6)
    asked = question(by_count)
    with pytest.raises(InvalidQuery, match="one number of units"):
        asked.explain(epsilon=1, delta=1e-6, report="weighted")
    with pytest.raises(InvalidQuery, match="Expected a price"):
        asked.explain(within={"n": 10}, delta=1e-6)
    with pytest.raises(InvalidQuery, match="a delta above 0"):
        asked.explain(epsilon=1)


@pytest.mark.long
def test_units_in_several_keys_are_counted_in_one_look() -> None:
    """Nobody with few keys is left out, so that the noise is all that a count is off by; and intervals hold."""
    data = pa.table({"p": [*range(400), *range(400)], "page": ["a"] * 400 + ["b"] * 300 + ["c"] * 100})
    table = dp.protect(data, unit="p", budget=dp.Budget(epsilon=10**4, delta=0.01), name="t")
    exact, inside = {"a": 400, "b": 300, "c": 100}, 0
    for seed in range(40):
        answer = by_count(table, 2).release(epsilon=1 + seed * 1e-6, delta=1e-6)
        found = answer.to_pandas().set_index("page")
        assert dict(found["n"]).keys() == exact.keys()
        assert max(abs(found["n"][page] - exact[page]) for page in exact) < 60
        inside += sum(found["n_low"][page] <= exact[page] <= found["n_high"][page] for page in exact)
    assert inside >= 100  # of 120, of which 114 are expected; fewer has a probability of 1e-6


def test_how_keys_are_found_is_in_the_document() -> None:
    table = dp.protect(ROWS, unit="p", budget=dp.Budget(epsilon=1), bounds={"v": (0, 3)}, name="rows")
    asked = by_count(table)
    read = dp.question(asked.document(), {"rows": table})
    assert read.document() == asked.document()
    assert priced(read).placeholder_plan.shown
    assert asked.document() != table.group_by("page", keys=dp.UNKNOWN, max_groups=1).agg(n=_.p.nunique()).document()
