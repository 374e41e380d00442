"""Questions whose keys, limits or bounds are to be found, beside listed ones: one charge, one answer."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.errors import BudgetExceeded, InvalidParameter, InvalidQuery
from discreet.query.mixed_batch_question import MixedBatchQuestion
from discreet.query.table import PrivateTable


def protected(**declared: Any) -> PrivateTable:
    random, n = np.random.default_rng(8), 3000
    rows = pa.table({
        "plan": random.choice(["a", "b", "rare"], n, p=[0.6, 0.3999, 0.0001]).tolist(),
        "age": random.integers(0, 90, n), "x": random.normal(3, 2, n),
    })  # fmt: skip
    stated: dict[str, Any] = {"unit": dp.ROW, "bounds": {"age": (0, 90), "x": "auto"}, "name": "people", **declared}
    return dp.protect(rows, budget=dp.Budget(epsilon=100, delta=1e-2), **stated)


def asked(table: PrivateTable) -> dp.BatchQuestion:
    by_plan: Any = table.group_by("plan", keys=dp.UNKNOWN).agg(n=_.count(), years=_.age.sum())
    found: dp.BatchQuestion = dp.batch(
        by_plan=by_plan, old=table.filter(_.age >= 45).count(), whole=table.count(), x=table.agg(x=_.x.mean())
    )
    return found


def test_everything_is_released_for_one_charge() -> None:
    table = protected()
    answer = asked(table).release(epsilon=8, delta=1e-6)
    assert list(answer) == ["by_plan", "old", "whole", "x"]
    assert answer["by_plan"].to_pyarrow()["plan"].to_pylist() == ["a", "b"]
    assert 500 < answer["by_plan"].to_pyarrow()["n"][1].as_py() < 2000
    assert 2900 < answer["whole"]["count"][0] < 3100
    [entry] = table.budget.entries()
    assert entry.guarantee.epsilon == 8
    assert table.budget.spent.epsilon <= 8
    assert answer.receipt["charge"] == {"epsilon": "8", "delta": "0.00000025"}  # Laplace noise leaves the rest alone
    assert [look["what"] for look in answer.receipt["first looks"]] == ["keys of plan (by_plan)", "bounds of x (x)"]
    assert answer["by_plan"].receipt["release"] == answer.receipt["release"]
    again = asked(table).release(epsilon=8, delta=1e-6)
    assert again.to_pyarrow().equals(answer.to_pyarrow())
    assert len(list(table.budget.entries())) == 1
    drawn = asked(table).release(epsilon=8, delta=1e-6, fresh=True)
    assert not drawn.to_pyarrow().equals(answer.to_pyarrow())


def test_sums_are_of_tables_that_were_planned_together() -> None:
    answer = asked(protected()).release(epsilon=8, delta=1e-6)
    young = answer.sum("whole", "count") - answer.sum("old", "count")
    assert young.low < young.value < young.high
    with pytest.raises(InvalidQuery, match="a table that was planned with others"):
        answer.sum("by_plan", "n")
    counts = answer.counts(integers=True)
    assert set(counts) == {"old", "whole"}
    whole = answer.to_pyarrow()
    assert whole["table"].to_pylist()[:3] == ["by_plan", "by_plan", "old"]
    assert "by_plan" in repr(answer)


def test_the_account_names_parts_and_first_looks() -> None:
    question = asked(protected())
    account = question.explain(epsilon=8, delta=1e-6)
    assert account["parts"] == {"listed tables": "0.5", "by_plan": "0.25", "x": "0.25"}
    assert [column["name"] for column in account["columns"]] == [
        "by_plan: n", "by_plan: years", "old: count", "whole: count", "x: x",
    ]  # fmt: skip
    assert sum(account.shares[name] for name in account.shares) <= 2  # counts of one block are counted for each
    assert "first looks" in account
    shown = repr(account)
    assert "listed tables=0.5" in shown
    assert "keys of plan (by_plan)" in shown
    json.dumps(dict(account))
    more = question.explain(epsilon=8, delta=1e-6, weights={"by_plan": 64})
    assert more.accuracy["by_plan: n"].amount < account.accuracy["by_plan: n"].amount
    effect = question.trade_offs(epsilon=8, delta=1e-6, assume={"rows": 1000})
    assert effect["table"].to_pylist() == ["by_plan", "old", "whole", "x"]
    figure = question.plot(epsilons=(1, 8), delta=1e-6, assume={"rows": 1000})
    assert len(figure.axes[0].lines) == 4


def test_names_may_have_colons() -> None:
    table = protected()
    questions: dict[str, Any] = {
        "listed": table.agg(**{"n: all": _.count()}),
        "by: plan": table.group_by("plan", keys=dp.UNKNOWN).agg(**{": ": _.count()}),
        "by": table.count(),
    }
    found = dp.batch(questions).explain(epsilon=1, delta=1e-6)
    assert [one["name"] for one in found["columns"]] == ["listed: n: all", "by: plan: : ", "by: count"]
    alike: dict[str, Any] = {"a": table.agg(**{"b: c": _.count()}), "a: b": table.agg(c=_.age.sum())}
    first, second = dp.batch(alike).explain(epsilon=1)["columns"]
    assert first["name"] == second["name"]
    assert float(first["plus_minus"]) < float(second["plus_minus"]) / 10  # a count, and a sum of ages


def test_a_stated_part_finds_limits_and_bounds_of_each_question() -> None:
    question = asked(protected())
    usual, half = (question.explain(epsilon=8, delta=1e-6, first_look=part)["first looks"] for part in (None, 0.5))
    assert [one["epsilon"] for one in usual] == ["1", "0.2"]  # of keys, and of bounds: a tenth of a quarter
    assert [one["epsilon"] for one in half] == ["1", "1"]
    answer = question.release(epsilon=8, delta=1e-6, first_look=0.5)
    assert answer.receipt["first looks"][1]["epsilon"] == "1"
    assert answer.receipt["release"] != question.release(epsilon=8, delta=1e-6).receipt["release"]


def test_a_part_for_nothing_is_refused_before_anything_is_spent() -> None:
    table = protected()
    by_plan: Any = table.group_by("plan", keys=dp.UNKNOWN).agg(n=_.count())
    keys = dp.batch(by_plan=by_plan, whole=table.count())
    listed = dp.batch(whole=table.count(), old=table.filter(_.age >= 45).count())
    for question, price in ((keys, {"epsilon": 1}), (listed, {"epsilon": 1}), (listed, {"within": {"whole": 5}})):
        for call in (question.explain, question.release):
            with pytest.raises(InvalidQuery, match="first_look without any"):
                call(delta=1e-6, first_look=0.5, **price)
    with pytest.raises(InvalidParameter, match=r"at most 0\.9"):
        asked(table).explain(epsilon=1, delta=1e-6, first_look=1)
    assert table.budget.spent.epsilon == 0


def test_one_name_may_be_whole_in_one_table_and_not_in_another() -> None:
    table = protected()
    by_plan: Any = table.group_by("plan", keys=dp.UNKNOWN).agg(n=_.count())
    answer = dp.batch(by_plan=by_plan, whole=table.agg(n=_.count())).release(epsilon=8, delta=1e-6)
    assert (answer["by_plan"]["n"].dtype.kind, answer["whole"]["n"].dtype.kind) == ("i", "f")
    together = answer.to_pyarrow()
    assert together["n"].to_pylist() == [*answer["by_plan"]["n"].tolist(), *answer["whole"]["n"].tolist()]


def test_documents_tell_such_batches() -> None:
    table = protected()
    document = asked(table).document()
    read = dp.question(json.loads(json.dumps(document)), {"people": table})
    assert read.document() == document
    answer = asked(table).release(epsilon=8, delta=1e-6)
    again: Any = read.release(epsilon=8, delta=1e-6)
    assert again.to_pyarrow().equals(answer.to_pyarrow())
    assert len(list(table.budget.entries())) == 1


def all_open(table: PrivateTable, **limits: Any) -> MixedBatchQuestion:
    by_plan: Any = table.group_by("plan", keys=dp.UNKNOWN, **limits)
    found: Any = dp.batch(
        by_plan=by_plan.agg(n=_.count(), years=_.age.sum()), x=table.agg(x=_.x.mean()), again=by_plan.agg(n=_.count())
    )
    assert isinstance(found, MixedBatchQuestion)
    return found


def test_something_may_have_to_be_found_in_all_of_them() -> None:
    table = protected()
    question = all_open(table)
    text = "<batch about 'people': 3 tables, keys, limits or bounds to be found in by_plan, x, again>"
    assert (repr(question), question.planned) == (text, ())
    account = question.explain(epsilon=9, delta=1e-6)
    assert account["parts"] == {"by_plan": "0.333333", "x": "0.333333", "again": "0.333333"}
    assert "strategy" not in account
    assert "first looks" in account
    answer = question.release(epsilon=9, delta=1e-6)
    assert (list(answer), answer["again"].to_pyarrow()["plan"].to_pylist()) == (["by_plan", "x", "again"], ["a", "b"])
    assert answer["by_plan"].to_pyarrow()["n"].to_pylist() == pytest.approx([1800, 1200], abs=100)
    assert answer["x"]["x"][0] == pytest.approx(3, abs=0.5)
    [entry] = table.budget.entries()
    assert entry.guarantee.epsilon == 9
    assert answer.receipt["charge"] == {"epsilon": "9", "delta": "6.66667e-7"}
    assert answer.receipt["parts"] == account["parts"]
    assert {answer[name].receipt["release"] for name in answer} == {answer.receipt["release"]}
    assert answer.to_pyarrow()["table"].to_pylist() == ["by_plan", "by_plan", "x", "again", "again"]
    for call in (lambda: answer.sum("by_plan", "n"), answer.counts):
        with pytest.raises(InvalidQuery, match="planned"):
            call()
    read: Any = dp.question(json.loads(json.dumps(question.document())), {"people": table})
    assert read.release(epsilon=9, delta=1e-6).to_pyarrow().equals(answer.to_pyarrow())
    assert len(list(table.budget.entries())) == 1
    heavier = question.explain(epsilon=9, delta=1e-6, weights={"x": 64})
    assert heavier["parts"] == {"by_plan": "0.166667", "x": "0.666667", "again": "0.166667"}
    assert question.trade_offs(epsilon=9, delta=1e-6, assume={"rows": 99})["table"].to_pylist() == list(answer)


@pytest.mark.long
@pytest.mark.parametrize("rows", [[], [("a", 3, 2.0)], [(None, None, None)] * 50 + [("a", 3, float("nan"))] * 300])
@pytest.mark.parametrize("unit", [dp.ROW, "person"])
def test_few_rows_or_none_or_no_values_make_no_difference(rows: list[Any], unit: Any) -> None:
    kinds = pa.schema([("person", pa.int64()), ("plan", pa.string()), ("age", pa.int64()), ("x", pa.float64())])
    held = pa.Table.from_pylist(
        [dict(zip(kinds.names, (i, *row), strict=True)) for i, row in enumerate(rows)], schema=kinds
    )
    stated: dict[str, Any] = {} if unit is dp.ROW else {"max_groups": 1, "max_rows": "auto"}
    table = dp.protect(
        held, unit=unit, bounds={"age": (0, 90), "x": "auto"}, budget=dp.Budget(epsilon=99, delta=1e-3), **stated
    )
    answer = all_open(table).release(epsilon=60, delta=1e-6)
    found = answer["by_plan"].to_pyarrow()["plan"].to_pylist()
    assert found == ([] if len(rows) < 2 else ["a"])  # rows without a key are of none
    assert len(answer["x"]) == 1


def test_what_is_found_in_all_tables_has_a_price() -> None:
    """Nothing is read or spent before it is stated, and stated well."""
    table = protected()
    question = all_open(table)
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"within": {"x": 1}}, "a price where something is to be found"), ({"epsilon": 1}, "delta above 0"),
        ({"epsilon": 1, "delta": 1e-6, "weights": {"z": 1}}, "weights of tables of the batch"),
        ({"epsilon": 1, "delta": 1e-6, "weights": {"x": 1e-13}}, "differ by at most"),
        ({"epsilon": 1e-12, "delta": 1e-6}, "bits to each row"), ({}, "an epsilon"),
    )  # fmt: skip
    for stated, text in wrong:
        with pytest.raises((InvalidParameter, InvalidQuery), match=text):
            question.release(**stated)
    persons = dp.protect(
        pa.table({"who": [1, 2], "plan": ["a", "b"]}), unit="who", max_rows=2, budget=dp.Budget(epsilon=1)
    )
    by_plan: Any = persons.group_by("plan", keys=dp.UNKNOWN, max_groups=1).agg(n=_.count())
    with pytest.raises(InvalidQuery, match="no limits without tables of listed keys"):
        dp.batch(by_plan=by_plan, max_groups=1)
    assert table.budget.spent.epsilon == persons.budget.spent.epsilon == 0


def test_what_costs_too_much_or_is_of_another_table_is_refused() -> None:
    table = protected()
    with pytest.raises(BudgetExceeded):
        asked(table).release(epsilon=200, delta=1e-6)
    by_plan: Any = table.group_by("plan", keys=dp.UNKNOWN).agg(n=_.count())
    listed: Any = table.group_by("plan", keys={"plan": ["a"]}).agg(age=_.count())
    with pytest.raises(InvalidQuery, match="names that are no key in another table"):
        dp.batch(listed=listed, found=table.group_by("age", keys=dp.UNKNOWN).agg(n=_.count()))
    other = protected()
    with pytest.raises(InvalidQuery, match="one protected table"):
        dp.batch(n=other.count(), by_plan=by_plan)
    assert table.budget.spent.epsilon == 0


def test_tables_without_a_found_key_are_empty() -> None:
    rows = pa.table({"plan": ["a", "b", "c"], "age": [1, 2, 3]})
    table = dp.protect(rows, unit=dp.ROW, bounds={"age": (0, 90)}, budget=dp.Budget(epsilon=9, delta=1e-3))
    by_plan: Any = table.group_by("plan", keys=dp.UNKNOWN).agg(n=_.count(), s=_.age.sum())
    answer = dp.batch(by_plan=by_plan, whole=table.count()).release(epsilon=1, delta=1e-9)
    assert len(answer["by_plan"]) == 0
    assert answer.to_pyarrow()["table"].to_pylist() == ["whole"]
