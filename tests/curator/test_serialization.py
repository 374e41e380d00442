"""How long stored answers can be, which is known before they are charged."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.curator import serialization
from discreet.curator.serialization import most_bytes, packed
from discreet.planning.plan import Plan
from discreet.query.table import PrivateTable
from neighbor_bench import plan_of

GROUPS = 40
ASKED: dict[str, dict[str, Any]] = {
    "count": {"n": _.count()},
    "sums": {"s": _.x.sum(), "t": _.y.sum()},
    "moments": {"m": _.x.mean(), "v": _.y.var()},
    "correlation": {"c": _.x.corr(_.y)},
    "deciles": {f"q{i}": _.x.quantile(i / 10) for i in range(1, 10)},
    "ends": {"low": _.x.min(), "high": _.y.max()},
}


@pytest.fixture
def table() -> PrivateTable:
    values = np.tile([-(2.0**30), 0.0, 2.0**30], GROUPS)
    rows = pa.table({"g": np.repeat(np.arange(GROUPS), 3), "x": values, "y": values.astype(np.int64)})
    ends = (-(2**30), 2**30)
    budget = dp.Budget(epsilon=1)
    return dp.protect(
        rows, unit=dp.ROW, bounds={"x": ends, "y": ends}, keys={"g": range(GROUPS)}, budget=budget, name="long"
    )


@pytest.mark.parametrize("epsilon", [1e-9, 1])
@pytest.mark.parametrize("name", ASKED)
def test_no_answer_is_longer_than_foreseen(table: PrivateTable, name: str, epsilon: float) -> None:
    """Noise of 2**10 times its scale has a probability below e**-700."""
    question = table.group_by("g").agg(**ASKED[name])
    plan = plan_of(question, epsilon=epsilon)
    stored: list[bytes] = []

    def kept(noisy: Any, account: Any, found: Any = None) -> bytes:
        stored.append(packed(noisy, {}, found))
        return packed(noisy, account, found)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("discreet.curator.protected_table.packed", kept)
        question.release(epsilon=epsilon)
    [answer] = stored
    length = len(json.dumps(json.loads(answer)["totals"], separators=(",", ":")))
    assert most_bytes(plan, GROUPS) // 4 < length <= most_bytes(plan, GROUPS)


ASKS: dict[str, Callable[[PrivateTable], Any]] = {
    "groups": lambda table: table.group_by("g").agg(**ASKED["deciles"]).release(epsilon=1),
    "rounds": lambda table: table.group_by("g").agg(n=_.count()).release(within={"n": 9}, up_to=1),
    "bounds to be found": lambda table: table.group_by("g").agg(s=_.x.sum()).release(epsilon=1, bounds="auto"),
    "a cube": lambda table: table.group_by("g", cube=True).agg(n=_.count()).release(epsilon=1),
    "a mixed batch": lambda table: dp.batch(
        n=table.group_by("g").agg(n=_.count()), q=table.agg(x=_.x.sum()), a=table.histogram("x", bins=2, ranges=True)
    ).release(epsilon=1),
    "levels": lambda table: (
        table.hierarchy(["g"], keys=dp.public_keys(pa.table({"g": range(GROUPS)}))).agg(n=_.count()).release(epsilon=1)
    ),
}


@pytest.mark.parametrize("name", ASKS)
def test_an_answer_that_no_ledger_keeps_is_refused(
    table: PrivateTable, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before its charge: SQLite and PostgreSQL refuse values of a gigabyte, and it would be lost."""
    monkeypatch.setattr(serialization, "MOST_BYTES", 800)
    with pytest.raises(dp.InvalidQuery, match=r"at most 800 bytes in the ledger, got up to [\d,]+\.\nHint: .*to="):
        ASKS[name](table)
    assert table.budget.spent.epsilon == 0
    monkeypatch.undo()
    ASKS[name](table)


def test_ten_million_groups_have_room(table: PrivateTable) -> None:
    """As many as an answer in memory may have."""
    for asked in (ASKED["count"], {"m": _.x.mean()}, {"v": _.x.var()}):
        plan: Plan = plan_of(table.group_by("g").agg(**asked), epsilon=1)
        assert most_bytes(plan, 10_000_000) <= serialization.MOST_BYTES
