"""Answers after steps: the same rows, values and receipt, in another shape."""

from __future__ import annotations

from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ibis import _

import discreet as dp
from discreet.errors import InvalidParameter, InvalidQuery
from discreet.testing import people


@pytest.fixture(scope="module")
def answer() -> dp.Release:
    table = people()
    found: dp.Release = table.group_by("plan").agg(n=_.count(), s=_.visits.sum(), m=_.age.mean()).release(epsilon=5)
    return found


def test_rows_are_picked_and_ordered(answer: dp.Release) -> None:
    n = answer["n"]
    found = answer.having(_.n > n.min()).order_by("n", desc=True)
    assert found["n"].tolist() == sorted(n.tolist(), reverse=True)[:-1]
    assert len(found) == 2
    assert found.groups == ("plan",)
    assert answer.order_by("plan").to_pyarrow()["plan"].to_pylist() == ["25%", "50%", "free"]
    assert answer.limit(1, offset=1)["n"].tolist() == [n[1]]
    assert len(answer.head(2)) == 2
    assert len(answer.limit(0)) == 0
    assert len(answer) == 3
    one = answer.filter(_.plan == "free").to_pyarrow()
    assert one.to_pylist() == answer.to_pyarrow().slice(0, 1).to_pylist()


def test_columns_are_calculated(answer: dp.Release) -> None:
    found = answer.mutate(per=_.s / _.n, share=_.n / _.n.sum(), size=ibis.ifelse(_.n > 0, "some", "none"), more=_.n + 1)
    assert np.allclose(found["per"], answer["s"] / answer["n"])
    assert np.allclose(found["share"].astype(float), answer["n"] / answer["n"].sum())
    assert found["size"].tolist() == ["some"] * 3
    names = found.to_pyarrow().column_names
    assert names[-7:] == ["per", "share", "size", "more", "per_low", "per_high", "more_low"] or {
        "per_low",
        "more_high",
    } <= set(names)
    assert not {"share_low", "size_low"} & set(names)
    assert np.all(
        np.abs((found.to_pyarrow()["more_low"].to_numpy() - 1) - answer.to_pyarrow()["n_low"].to_numpy()) <= 1
    )


def test_intervals_at_another_confidence(answer: dp.Release) -> None:
    found = answer.mutate(per=_.s / (_.n + 1)).order_by("per").limit(2)
    wide, narrow = found.intervals(0.99), found.intervals(0.5)
    for name in ("n", "per"):
        assert np.all(wide[f"{name}_low"].to_numpy() <= narrow[f"{name}_low"].to_numpy())
    plain = answer.intervals(0.5).to_pylist()
    kept = {row["plan"]: row for row in plain}
    assert [kept[row["plan"]]["n_low"] for row in narrow.to_pylist()] == narrow["n_low"].to_pylist()
    together = found.intervals(0.9, simultaneous=True)
    assert np.all(together["n_low"].to_numpy() <= found.intervals(1 - 0.1 / 9)["n_low"].to_numpy())


def test_no_value_lies_outside_of_its_interval() -> None:
    """Counts are shown as whole numbers, and what is calculated of them; ends are those of the noisy ones."""
    groups = 400
    data = pa.table({"g": list(range(groups)) * 3, "x": [0.25, 1.0, 2.5] * groups})
    table = dp.protect(data, unit=dp.ROW, bounds={"x": (0, 3)}, keys={"g": range(groups)}, budget=dp.Budget(epsilon=90))
    answer = table.group_by("g").agg(s=_.x.sum(), n=_.count()).release(epsilon=50)
    found = answer.mutate(both=_.s + 10 * _.n, each=_.s / _.n)
    for confidence in (None, 0.95, 0.5, 0.01):
        shown = found.to_pyarrow() if confidence is None else found.intervals(confidence)
        for name in ("both", "each"):
            low, value, high = (shown[f"{name}{end}"].to_numpy(zero_copy_only=False) for end in ("_low", "", "_high"))
            assert np.all((low <= value) & (value <= high) | np.isnan(value)), (confidence, name)


def test_the_receipt_stays(answer: dp.Release, tmp_path: Any) -> None:
    found = answer.having(_.n > -1000).select("plan", "m")
    facts = found.receipt
    assert facts.pop("processing") == ["having n > -1000", "select plan, m"]
    assert facts == answer.receipt
    found.to_parquet(tmp_path / "a.parquet")
    assert b"processing" in pq.read_metadata(tmp_path / "a.parquet").metadata[b"discreet"]
    assert found.to_pyarrow().column_names == ["plan", "m", "m_low", "m_high"]
    assert "NOT PRIVATE" in repr(found)


def test_pictures_and_missing_intervals(answer: dp.Release) -> None:
    found = answer.mutate(label=_.plan.upper(), rest=_.n % 7)
    assert "FREE" in repr(found)
    assert len(found.plot().axes) >= 3
    with pytest.raises(InvalidParameter, match="a column that has an interval"):
        found.plot("label")
    with pytest.raises(InvalidParameter, match="a column of the answer"):
        found["nothing"]


def test_a_question_hands_its_steps_on(answer: dp.Release) -> None:
    table = people()
    asked = table.group_by("plan").agg(n=_.count(), s=_.visits.sum(), m=_.age.mean())
    first = asked.order_by("n").limit(2).mutate(twice=_.n * 2).release(epsilon=5)
    assert first["n"].tolist() == sorted(answer["n"].tolist())[:2]
    assert first["twice"].tolist() == [2 * n for n in first["n"].tolist()]
    spent = table.budget.spent
    again = asked.having(_.n > 10**6).release(epsilon=5)  # the same answer, for nothing
    assert (len(again), table.budget.spent) == (0, spent)
    assert again.to_pyarrow().schema.names == ["plan", *(f"{n}{e}" for n in "nsm" for e in ("", "_low", "_high"))]


def test_a_calculation_that_the_engine_lacks_is_refused(answer: dp.Release) -> None:
    with pytest.raises(InvalidQuery, match="is stored, and costs nothing"):
        answer.mutate(x=(_.n - _.n.mean()).rank())


def test_a_window_by_value_reaches_beyond_whole_numbers() -> None:
    """Keys near the end of 64 bits made the step fail, after the charge."""
    keys = {"k": [-3, 0, 4]}
    rows = pa.table({"k": [-3] * 30 + [0] * 40 + [4] * 50})
    table = dp.protect(rows, unit=dp.ROW, keys=keys, budget=dp.Budget(epsilon=10**6))
    asked = table.group_by("k").agg(n=_.count())
    for order in (_.k, ibis.desc(_.k)):
        far = ibis.range_window(preceding=2**63 - 1, following=0, order_by=order)
        near = ibis.range_window(preceding=3.5, following=0, order_by=order)
        steps = asked.mutate(far=_.n.sum().over(far), near=_.n.sum().over(near))
        found = steps.release(epsilon=10**5).to_pyarrow()
        ascending = order is not _.k and found["far"].to_pylist() == [120, 90, 50]
        assert found["far"].to_pylist() == ([120, 90, 50] if ascending else [30, 70, 120])
        assert found["near"].to_pylist() == ([70, 40, 50] if ascending else [30, 70, 50])
        steps = asked.mutate(near=_.n.sum().over(near))
        assert dp.question(steps.document(), {"table": table}).document() == steps.document()
        assert steps.document()["question"]["after"][0]["mutate"][0][1]["window"]["start"] == {"preceding": 3.5}


def test_whole_tables_and_wide_totals() -> None:
    found = people().agg(n=_.count(), s=_.age.sum()).release(epsilon=1).mutate(m=_.s / _.n)
    assert found.groups == ()
    assert isinstance(found.to_pyarrow(), pa.Table)
    assert found.mutate(k=_.n.sum()).to_pyarrow()["k"].type in (pa.float64(), pa.int64())
