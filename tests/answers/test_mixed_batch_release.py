"""Ranges within a batch: one charge, one answer, and in it all that ranges give by themselves."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.answers.batch_release import BatchRelease
from discreet.answers.grouped_ranges_release import ranges_answer
from discreet.errors import BudgetExceeded, InvalidParameter, InvalidQuery
from discreet.query.mixed_batch_question import MixedBatchQuestion
from discreet.query.table import PrivateTable
from discreet.testing.scripted_words import splitmix

RANDOM = np.random.default_rng(8)
AGES = RANDOM.integers(0, 90, 900)
PLANS = RANDOM.choice(["a", "b"], 900)
EDGES = list(range(0, 91, 10))
EXACT: dict[str, Any] = {"epsilon": 2**20}


def protected() -> PrivateTable:
    rows = pa.table({"plan": PLANS.tolist(), "age": AGES})
    stated: dict[str, Any] = {"bounds": {"age": (0, 90)}, "keys": {"plan": ["a", "b"]}, "name": "people"}
    return dp.protect(rows, unit=dp.ROW, budget=dp.Budget(epsilon=2**30, delta=1e-2), **stated)


def asked(table: PrivateTable) -> MixedBatchQuestion:
    return dp.batch(
        by_age=table.histogram("age", EDGES, ranges=True),
        old=table.filter(_.age >= 45).count(),
        in_plans=table.group_by("plan").histogram("age", EDGES, ranges="prefixes"),
        whole=table.count(),
    )


def test_one_charge_pays_for_tables_and_ranges() -> None:
    table = protected()
    answer = asked(table).release(**EXACT)
    assert list(answer) == ["by_age", "old", "in_plans", "whole"]
    assert abs(answer["by_age"].between(20, 70).value - ((AGES >= 20) & (AGES < 70)).sum()) < 0.1
    assert np.allclose(answer["by_age"].cdf()["share"], [(edge > AGES).mean() for edge in EDGES], atol=1e-3)
    below = answer["in_plans"].between(0, 40)
    assert np.allclose(below["count"], [((plan == PLANS) & (AGES < 40)).sum() for plan in ("a", "b")], atol=0.1)
    assert answer["in_plans"].quantile(0.5)["plan"].to_pylist() == ["a", "b"]
    gap = answer["in_plans"]["a"].between(0, 40) - answer["in_plans"]["b"].between(0, 40)
    assert gap.low < gap.value < gap.high
    assert abs(answer["old"]["count"][0] - (AGES >= 45).sum()) < 0.1
    [entry] = table.budget.entries()
    assert entry.guarantee.epsilon == EXACT["epsilon"]
    again = asked(table).release(**EXACT)
    assert again["by_age"].between(20, 70).value == answer["by_age"].between(20, 70).value
    assert again.to_pyarrow().equals(answer.to_pyarrow())
    assert len(list(table.budget.entries())) == 1
    assert not asked(table).release(**EXACT, fresh=True).to_pyarrow().equals(answer.to_pyarrow())


def test_one_receipt_tells_of_all_parts() -> None:
    question = asked(protected())
    account, answer = question.explain(epsilon=2, delta=1e-6), question.release(epsilon=2, delta=1e-6)
    assert account["parts"] == {"listed tables": "0.5", "by_age": "0.25", "in_plans": "0.25"}
    assert list(account["strategy"]) == ["listed tables", "by_age", "in_plans"]
    for name in ("charge", "parts", "strategy", "bound", "columns", "totals", "ranges"):
        assert answer.receipt[name] == account[name]
    assert {name for name in account.accuracy if name.startswith("by_age")} == {"by_age: count", "by_age: worst range"}
    assert str(account.accuracy["in_plans: worst prefix"]) == account["ranges"]["in_plans"]["worst"]
    assert answer["by_age"].receipt["release"] == answer.receipt["release"]
    assert "by_age: ranges of count (count) by age_bin" in answer.receipt["question"]
    assert "by_age: worst range" in repr(account)
    others = {one["mechanism"].split(": ")[0]: list(one["plus_minus"]) for one in account["also priced"]}
    assert others == {
        "listed tables": ["old: count", "whole: count"],
        "by_age": ["by_age: worst range"],
        "in_plans": ["in_plans: worst prefix"],
    }
    json.dumps(dict(account))
    assert repr(question) == "<batch about 'people': 4 tables, ranges of by_age, in_plans>"


def test_ranges_of_a_part_of_the_price_are_those_alone_at_it() -> None:
    table = protected()
    found = asked(table).explain(rho=0.4)["ranges"]["by_age"]
    assert found == table.histogram("age", EDGES, ranges=True).explain(rho=0.1)["ranges"]
    heavier = asked(table).explain(rho=0.4, weights={"by_age": 36})
    assert heavier["parts"] == {"listed tables": "0.222222", "by_age": "0.666667", "in_plans": "0.111111"}
    effect = asked(table).trade_offs(rho=0.4)
    assert effect["plus_minus"][0].as_py() == pytest.approx(float(found["worst"]), rel=1e-3)
    assert len(asked(table).plot(epsilons=(1, 8)).axes[0].lines) == 4


def test_tables_of_all_parts_are_shown_as_one() -> None:
    answer = asked(protected()).release(**EXACT)
    together = answer.to_pyarrow()
    assert together.column_names == ["table", "age_bin", "plan", "count", "count_low", "count_high"]
    assert together.num_rows == 9 + 1 + 18 + 1
    assert [len(one) for one in answer.intervals(0.9, simultaneous=True).values()] == [9, 1, 18, 1]
    young = answer.sum("whole", "count") - answer.sum("old", "count")
    assert abs(young.value - (AGES < 45).sum()) < 0.1
    with pytest.raises(InvalidQuery, match="a table that was planned with others"):
        answer.sum("by_age", "count")
    assert set(answer.counts(integers=True)) == {"old", "whole"}
    assert "in_plans" in repr(answer)
    assert "<h4>by_age</h4>" in answer._repr_html_()
    with pytest.raises(InvalidParameter, match="a table of the batch"):
        answer["by_agee"]


def test_ranges_alone_are_a_batch_as_well() -> None:
    table = protected()
    question = dp.batch(
        first=table.histogram("age", EDGES, ranges=True), second=table.histogram("age", [0, 45, 90], ranges="prefixes")
    )
    answer = question.release(**EXACT)
    assert abs(answer["second"].between(0, 45).value - (AGES < 45).sum()) < 0.1
    assert question.explain(epsilon=1)["parts"] == {"first": "0.5", "second": "0.5"}
    for call in (lambda: answer.sum("first", "count"), answer.counts):
        with pytest.raises(InvalidQuery, match="planned"):
            call()
    read = dp.question(json.loads(json.dumps(question.document())), {"people": table})
    assert read.document() == question.document()


def test_documents_tell_them() -> None:
    table = protected()
    question = asked(table)
    document = question.document()
    assert document["batch"]["questions"][0] == [
        "by_age", {"ranges": {"from": {"table": "people"}, "column": "age", "edges": EDGES}},
    ]  # fmt: skip
    read: Any = dp.question(json.loads(json.dumps(document)), {"people": table})
    assert read.document() == document
    answer = question.release(epsilon=1)
    assert read.release(epsilon=1).to_pyarrow().equals(answer.to_pyarrow())
    assert len(list(table.budget.entries())) == 1
    document["batch"]["questions"][0][1]["ranges"]["bins"] = 3
    with pytest.raises(InvalidQuery, match="a known field"):
        dp.question(document, {"people": table})


def test_edges_are_those_that_were_given() -> None:
    table, edges = protected(), [0, 45, 90]
    question = table.histogram("age", edges, ranges=True)
    edges.append(100)
    assert question.document()["ranges"]["edges"] == [0, 45, 90]


def test_what_cannot_be_is_refused_before_a_charge() -> None:
    table, other = protected(), protected()
    ranges = table.histogram("age", EDGES, ranges=True)
    refused: tuple[tuple[Any, type[Exception], str], ...] = (
        (lambda: dp.batch(a=ranges, b=other.count()), InvalidQuery, "one protected table"),
        (lambda: dp.batch(a=of_persons(), max_groups=1), InvalidQuery, "no limits without tables of listed keys"),
        (lambda: dp.batch(a=ranges, m=table.agg(m=_.age.mean())).release(epsilon=1), InvalidQuery, "a delta or a rho"),
        (lambda: dp.batch(a=of_persons(), b=of_persons()).release(epsilon=1), InvalidQuery, "one protected table"),
        (
            lambda: dp.batch(a=ranges, n=table.group_by("plan").agg(age_bin=_.count())),
            InvalidQuery,
            "names that are no key in another table",
        ),
    )
    for ask, kind, text in refused:
        with pytest.raises(kind, match=text):
            ask()
    with pytest.raises(BudgetExceeded):
        dp.batch(a=of_persons()).release(epsilon=10)
    assert table.budget.spent.epsilon == other.budget.spent.epsilon == 0


def of_persons() -> dp.RangesQuestion:
    table = dp.protect(
        pa.table({"who": AGES, "age": AGES}),
        unit="who",
        max_rows=2,
        bounds={"age": (0, 90)},
        budget=dp.Budget(epsilon=9),
    )
    return table.histogram("age", EDGES, ranges=True, max_groups=2)


@pytest.mark.long
@pytest.mark.parametrize("stated", [{"epsilon": 0.4}, {"rho": 0.02}])
def test_intervals_within_a_batch_are_held(stated: dict[str, Any]) -> None:
    """800 ranges at 10 %: fewer than 5 or more than 16 in a hundred is one time in a million."""
    table = protected()
    plan = asked(table).plan(**stated).ranges["by_age"]
    source: Any = table._source
    exact, words, wrong = source._engine.totals(plan.cells), splitmix(5), 0
    for _repeat in range(400):
        answer: Any = ranges_answer(BatchRelease(plan, plan.noisy(exact, words), {}, 0.9), 0.9)
        for low, high in ((10, 60), (40, 50)):
            found = answer.between(low, high)
            wrong += not found.low <= ((low <= AGES) & (high > AGES)).sum() <= found.high
    assert 0.05 < wrong / 800 < 0.16


def test_groupings_of_several_sets_say_how_ranges_of_each_are_asked() -> None:
    sets: Any = protected().group_by("plan", cube=True)
    with pytest.raises(InvalidQuery, match=r"got method='histogram'\.\nHint: ask .* together, dp\.batch"):
        sets.histogram("age", EDGES, ranges=True)
    with pytest.raises(InvalidQuery, match=r"write \.agg\(n=_\.count\(\)\)"):
        sets.count()
