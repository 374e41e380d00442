"""EXPLAIN shows the price and the error bars."""

from __future__ import annotations

import json

from discreet.pgwire.explain_output import plan_of
from discreet.testing import people


def test_the_account_in_lines() -> None:
    question = people().group_by("plan").agg(n=lambda t: t.count(), v=lambda t: t.visits.mean())
    explained = {"seconds": 0.5, **dict(question.explain(epsilon=1))}
    lines = [row[0] for row in plan_of(explained, "epsilon=1 of 1 remains").rows]
    assert lines[0] == "Release of 3 groups by plan"
    assert lines[1] == "  Price: epsilon=1; nothing is charged by EXPLAIN"
    assert any(line.startswith("  ->  n: count ± ") for line in lines)
    assert lines[-1] == "  Ready after: 0.5 s"
    assert not any("SELECT" in line for line in lines)


def test_as_json() -> None:
    found = plan_of(
        {"charge": {"epsilon": "1"}, "sql": "SELECT a FROM somewhere", "source": "/a/path"}, "", as_json=True
    )
    [plan] = json.loads(found.rows[0][0])
    assert plan["Plan"] == {"charge": {"epsilon": "1"}}
