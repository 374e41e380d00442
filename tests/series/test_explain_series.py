"""The account of a series: errors that are those of its release, and what is limited."""

from __future__ import annotations

import pytest

from series_fixtures import asked, protected


def test_errors_are_the_widest_that_a_release_has() -> None:
    question = asked(protected())
    found, answer = question.explain(rho=1), question.release(through="2026-01-20", rho=1)
    frame = answer.to_pandas()
    for window in (1, 7, "all"):
        widest = ((frame.n_high - frame.n_low) / 2)[frame.window == window].max()
        assert found.accuracy[f"n, window {window}"].amount == pytest.approx(widest)


def test_what_is_limited_and_what_it_costs() -> None:
    table = protected()
    found = asked(table).explain(epsilon=1, delta=1e-6)
    assert found["limits"] == {"max_groups": 2, "max_rows": 2, "max_steps": 4}
    assert found["charge"] == {"epsilon": "1", "delta": "0.000001"}
    assert found["series"]["steps"] == 20
    assert "times the noise of one step" in found["strategy"]
    assert "SELECT" in found["sql"]
    assert table.budget.spent.rho == 0
