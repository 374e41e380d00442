"""An account beforehand: complete, true, and without a look at any row."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.errors import InvalidParameter
from discreet.inference import moments
from discreet.planning.forms import TRIPLE
from discreet.planning.noise_laws import width_of
from discreet.planning.planner import price
from discreet.query.table import PrivateTable
from discreet.testing import people

Protect = Callable[..., PrivateTable]
Refused = Callable[..., str]

EVERYTHING: dict[str, Any] = {
    "n": _.count(),
    "persons": _.person.nunique(),
    "total": _.spent.sum(where=_.ok),
    "mean": _.age.mean(),
    "spread": _.spent.var(),
    "deviation": _.spent.std(how="pop"),
}


def test_it_says_everything_and_reads_nothing(unreadable: Protect) -> None:
    """Unit, neighbors, groups, limits, cost; error, mechanism, sensitivity, scale, share, rounding; the statement."""
    table = unreadable(version="2026-01")
    question = table.group_by("plan").agg(**EVERYTHING)
    said = question.explain(epsilon=0.5, confidence=0.9)
    assert said["source"] == "people@2026-01"
    assert said["unit"] == ["person"]
    assert said["neighbors"] == "add-remove"
    assert said["groups"] == "2 by plan"
    assert said["limits"] == {"max_groups": 2, "max_rows": 2}
    assert said["charge"] == {"epsilon": "0.5", "delta": "0"}
    assert said["confidence"] == 0.9
    assert said["intervals"] == "noise only, for the bounded and weighted population, per cell"
    assert said["row cap"] == "totals of fewer than 2**48 rows cannot overflow"
    assert re.fullmatch(r"less than the noise for fewer than \de\+1\d rows", said["rounding"])
    assert "SUM(" in said["sql"]
    assert [column["name"] for column in said["columns"]] == list(EVERYTHING)
    assert sum(Fraction(block["share"]) for block in said["totals"]) == pytest.approx(1, abs=2e-3)
    for shown, block in zip(said["totals"], price(question._query, epsilon=0.5).blocks, strict=True):
        assert shown["mechanism"] == "discrete Laplace"
        assert shown["sensitivity"] == block.sensitivity
        assert float(shown["scale"]) == pytest.approx(float(width_of(block.noise)), rel=1e-5)
        assert float(shown["epsilon"]) == pytest.approx(float(0.5 * block.share), rel=1e-5)
        assert (shown["components"], shown["steps"]) == (block.block.components, block.steps)
    of = {(block["statistic"], block["of"], block["range"], block["where"]) for block in said["totals"]}
    assert ("sum", "spent", "[0, 10]", "ok") in of
    assert ("count and sum together", "age", "[0, 110]", None) in of
    assert ("count, sum and squares together", "spent", "[0, 10]", None) in of
    assert ("count of units", None, None, None) in of
    assert table.budget.spent.epsilon == 0
    assert set(said) == set(json.loads(json.dumps(dict(said))))
    assert len(said) == len(list(said))


def test_it_reads_well(unreadable: Protect) -> None:
    text = repr(unreadable().group_by("plan").agg(**EVERYTHING).explain(epsilon=0.5))
    for part in ("people", "person", "add-remove", "2 by plan", "max_groups=2, max_rows=2", "epsilon=0.5, delta=0"):
        assert part in text
    for part in ("plus or minus", "unit moves", "noise scale", "share", "rounding a row", "/n", "2**48 rows"):
        assert part in text
    assert "noise only, for the bounded and weighted population, per cell; confidence 0.95; n: rows in a cell" in text
    assert max(map(len, text.splitlines())) <= 120


def test_amounts_are_in_the_units_of_the_reader() -> None:
    """Not in steps of a lattice: 250 visits where a person has 5 rows of 50 at most, and noise of that over epsilon."""
    table = people()
    said = table.agg(n=_.count(), s=_.visits.sum(), p=_.person.nunique(), q=_.visits.median()).explain(epsilon=4)
    found = {one["statistic"]: (one["moves"], one["in"]) for one in said["totals"]}
    assert found["count of units"] == ("1", "units")
    assert found["a quantile by rank"] == ("5", "rows")
    assert any(moved == ("5", "rows") for name, moved in found.items() if name != "a quantile by rank")
    alone = table.agg(s=_.visits.sum()).explain(epsilon=2)
    assert [(one["moves"], one["noise"], one["in"]) for one in alone["totals"]] == [("250", "125", "visits")]
    assert "250 visits" in repr(alone)
    whole = table.agg(s=_.age.sum(), far=(-_.age).sum()).explain(epsilon=1, delta=1e-6)  # a lattice finer than a year
    assert {(one["moves"], one["in"]) for one in whole["totals"]} == {("550", "age"), ("550", "-age")}
    assert "e+" not in repr(table.agg(s=_.age.sum()).explain(epsilon=0.5))
    assert "1 unit " in repr(table.nunique().explain(epsilon=1))


def test_the_choice_stands_beside_what_else_was_priced() -> None:
    lines = repr(people().agg(m=_.visits.mean()).explain(epsilon=1, delta=1e-6)).splitlines()
    told = [line.split() for line in lines if line.strip().startswith(("chosen", "or "))]
    assert [line[0] for line in told] == ["chosen", "or", "or"]
    assert all("±" in line and "m" in line for line in told)
    alone = repr(people().count().explain(epsilon=1))
    assert "chosen" not in alone


def test_conditions_and_unnamed_frames_read_as_people_write() -> None:
    frame = pa.table({"person": [1, 2], "age": [30, 60]})
    table = dp.protect(frame, unit="person", max_rows=1, bounds={"age": (0, 110)}, budget=dp.Budget(epsilon=1))
    said = repr(table.agg(n=_.count(where=_.age > 50)).explain(epsilon=1))
    assert "age > 50" in " ".join(said.split())
    assert "source  an unnamed frame\n" in said
    assert "process" not in said + repr(table) + repr(table.count())


def test_names_are_text_and_not_markup(unreadable: Protect) -> None:
    said = unreadable().agg(**{"[red]": _.count(), "[/x]": _.age.mean(), "<b>": _.age.sum()}).explain(epsilon=1)
    assert "[red]" in repr(said)
    assert "[/x]" in repr(said)
    html = said._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<b>" not in html


def test_rows_as_units_need_no_limits(by_row: Protect) -> None:
    said = by_row().agg(n=_.count(), s=_.age.sum()).explain(epsilon=1)
    assert said["unit"] == "each row"
    assert said["limits"] == "none needed"
    assert said["groups"] == "none"
    assert said["rounding"] == "none: integers as they are"
    assert {block["rounding"] for block in said["totals"]} == {"none"}


@pytest.mark.parametrize(
    ("asked", "limits"),
    [
        ({"p": _.person.nunique()}, "none needed"),
        ({"n": _.count()}, {"max_rows": 2}),
        ({"p": _.person.nunique(), "m": _.age.mean()}, {"max_rows": 2}),
    ],
    ids=str,
)
def test_only_limits_that_are_used_are_shown(protect_people: Protect, asked: dict[str, Any], limits: object) -> None:
    assert protect_people().agg(**asked).explain(epsilon=1)["limits"] == limits


def errors(table: PrivateTable, **stated: Any) -> dict[str, str]:
    asked = {name: written for name, written in EVERYTHING.items() if name != "persons"}
    said = table.group_by("plan").agg(**asked).explain(epsilon=0.5, **stated)
    return {column["name"]: column["plus_minus"] for column in said["columns"]}


def test_errors_are_functions_of_n_or_of_what_is_assumed(protect_people: Protect) -> None:
    """Where the error depends on the private number of rows, it is given as it falls with it."""
    table = protect_people()
    general, many = errors(table), errors(table, assume={"rows": 10**7})
    assert general["n"] == many["n"]
    assert general["total"] == many["total"]
    of_one = {name: float(general[name].partition("/")[0]) for name in ("mean", "spread", "deviation")}
    assert general["mean"].endswith("/n")
    assert general["spread"].endswith("/n")
    assert general["deviation"].endswith("/n")
    assert float(many["mean"]) == pytest.approx(of_one["mean"] / 1e7, rel=0.01)
    assert float(many["spread"]) == pytest.approx(of_one["spread"] / 1e7, rel=0.01)
    assert float(many["deviation"]) == pytest.approx(of_one["deviation"] / 1e7, rel=0.01)
    few = errors(table, assume={"rows": 1})
    assert float(few["mean"]) <= 110  # never more than the range
    assert float(errors(table, assume={"rows": 1000})["mean"]) > float(many["mean"])
    assert float(errors(table, confidence=0.5)["n"]) < float(general["n"])


@pytest.mark.parametrize("beside", [{}, {"v": _.age.var()}], ids=["pair", "triple"])
def test_the_mean_is_forecast_by_the_law_of_its_own_block(by_row: Protect, beside: dict[str, Any]) -> None:
    question = by_row().agg(m=_.age.mean(), **beside)
    block = price(question._query, epsilon=1).blocks[0]
    triple = block.block.form is TRIPLE
    wanted = moments.mean_half_width(500, scale=block.scale, confidence=0.95, step=1 / block.steps, of_triple=triple)
    said = question.explain(epsilon=1, assume={"rows": 500})["columns"][0]["plus_minus"]
    assert float(said) == pytest.approx(110 * float(wanted), rel=1e-3)


@pytest.mark.parametrize(
    "assume",
    [
        {},
        {"rows": 0},
        {"rows": -5},
        {"rows": 1.5},
        {"rows": True},
        {"rows": "9"},
        {"n": 5},
        {"rows": 5, "n": 6},
        5,
        "rows",
    ],
    ids=str,
)
def test_assumptions_that_mean_nothing_are_refused(unreadable: Protect, refused: Refused, assume: Any) -> None:
    said = refused(InvalidParameter, unreadable().count().explain, epsilon=1, assume=assume)
    assert "assume={'rows': n} with a whole n of 1 or more" in said


@pytest.mark.parametrize("epsilon", [None, 0, -1, float("nan"), True, "1", 2**21], ids=str)
def test_epsilons_that_mean_nothing_are_refused(unreadable: Protect, refused: Refused, epsilon: Any) -> None:
    refused(InvalidParameter, unreadable().count().explain, epsilon=epsilon)


def test_confidence_is_strictly_between(unreadable: Protect, refused: Refused) -> None:
    for confidence in (0, 1, -0.1, 1.5, True, "0.9", float("nan")):
        refused(InvalidParameter, unreadable().count().explain, epsilon=1, confidence=confidence)


def test_weights_show_in_the_shares(unreadable: Protect) -> None:
    question = unreadable().agg(p=_.person.nunique(), s=_.spent.sum())
    plain = question.explain(epsilon=1)
    weighted = question.explain(epsilon=1, weights={"p": 100})

    def share(said: Any) -> float:
        return float(next(b["share"] for b in said["totals"] if b["statistic"] == "count of units"))

    assert share(plain) < 0.5 < share(weighted)
