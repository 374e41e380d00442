"""Every public mechanism, aggregate and verb is attacked: two scripts list how, and nothing is left out."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

import discreet as dp
from attacked_questions import AGGREGATES, DELTAS, PEOPLE, QUESTIONS, STATED, VERBS, answered
from attacks import COVERED_BY, PATTERNS, Attack, attacks
from discreet.audit import exact, neighbors, sampled
from discreet.audit.compare_runs import Claim, findings
from discreet.audit.own_mechanisms import mechanisms
from discreet.audit.pipelines import Function, Run
from discreet.engines.exact_totals import totals
from discreet.engines.generated_columns import Columns
from discreet.inference.estimators import ESTIMATORS
from discreet.planning.aggregates import STATISTICS, Statistic
from discreet.planning.group_keys import POSITION
from discreet.planning.planner import price
from discreet.query.question import Question
from discreet.query.table import PrivateTable
from discreet.testing import people

ATTACKS = attacks()
TESTS = Path(__file__).parents[1]
MEETS_CHANCE = {"release", "report", "add_noise", "fit"}
NO_MECHANISM = {"Question", "Release", "BatchQuestion", "RangesQuestion", "GroupedRangesQuestion"}
"""They ask a table, which is attacked by aggregates and verbs, or have their noise already."""

AROUND = {
    "several tables": (
        "curator/test_multi_table.py",
        "fuzz/test_neighbors.py",
        "fuzz/test_batches.py",
        "query/test_set_operations.py",
    ),
    "places from the analyst": ("fuzz/test_places.py", "query/test_public_keys.py", "exact/test_given_values.py"),
    "encodings": ("engines/test_postgresql_copies.py", "engines/conformance/test_postgresql_settings.py"),
    "settings of the session": (
        "engines/test_duckdb_settings.py",
        "engines/test_postgresql_settings.py",
        "engines/test_spark_settings.py",
        "engines/conformance/test_settings.py",
    ),
    "the source moves": ("engines/test_file_patterns.py", "fuzz/test_inputs.py"),
    "identities at their extremes": (
        "fuzz/test_logs.py",
        "engines/test_multi_table_engine.py",
        "clustering/test_frames.py",
    ),
    "between reserve and commit": ("curator/test_faults.py", "curator/test_transaction.py"),
    "the ledger's file": (
        "ledger/test_sqlite_store.py",
        "ledger/test_signal_deferral.py",
        "ledger/test_verify_tail.py",
        "ledger/test_under_fire.py",
    ),
    "meaning of SQL": (
        "statements/test_operator_precedence.py",
        "statements/test_notation.py",
        "engines/conformance/test_sql.py",
    ),
    "small groups": ("inference/test_small_groups.py",),
    "order of calls": ("fuzz/test_mixtures.py", "accounting/test_contour_integral.py"),
    "displays": ("fuzz/test_displays.py", "fuzz/test_terminals.py", "cli/test_standard_output.py"),
}
"""What surrounds the proof and has broken its promise once, and the tests that attack it."""

RUNS = 1000


# -- nothing is forgotten -------------------------------------------------------------------------------------


def test_every_mechanism_is_attacked() -> None:
    """What releases, reports or fits, public or within: add an Attack to scripts/attacks.py."""
    public = {
        name for name in dp.__all__
        if inspect.isclass(getattr(dp, name)) and MEETS_CHANCE & set(dir(getattr(dp, name)))
    } - NO_MECHANISM  # fmt: skip
    within = {kind.__name__ for kind, _ in mechanisms()}
    attacked = {attack.mechanism for attack in ATTACKS} | set(COVERED_BY)
    assert public | within <= attacked


def test_every_statistic_is_attacked() -> None:
    """Add a question to AGGREGATES in scripts/attacked_questions.py."""
    assert {statistic.name for statistic in STATISTICS} == set(AGGREGATES)


@pytest.mark.long
@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda one: one.name)
def test_every_statistic_is_whole(statistic: Statistic) -> None:
    """Priced, written as integers, estimated and explained: what its entry in STATISTICS lacks, its name here tells."""
    table: Any = dp.protect(PEOPLE, budget=dp.Budget(epsilon=1), name="people", **STATED)
    question = AGGREGATES[statistic.name](table)
    plan = price(question._query, epsilon=1)
    own = [column for column in plan.columns if column.aggregate.statistic is statistic]
    assert own
    for column in own:
        assert statistic.ranked is (column.ranks is not None)
        assert statistic.apart is (column.ranks is not None or column.values is not None)
        assert statistic.apart or column.linear or statistic in ESTIMATORS
    names = [Columns(i).total(j) for i, block in enumerate(plan.blocks) for j in range(block.block.components)]
    assert [name for name in totals(plan).columns if name != POSITION] == names
    shown = {fact["name"]: fact for fact in question.explain(epsilon=1, assume={"rows": 100})["columns"]}
    assert all(shown[column.aggregate.name]["statistic"] == statistic.name for column in own)
    assert all(shown[column.aggregate.name]["plus_minus"] for column in own)


def leads_on(name: str) -> bool:
    """Whether a method of a table leads to a question, rather than to a refusal whatever it is given."""
    method = getattr(PrivateTable, name)
    return inspect.isfunction(method) and "NoReturn" not in str(inspect.signature(method).return_annotation)


def test_every_verb_is_attacked() -> None:
    """Add a question to VERBS in scripts/attacked_questions.py."""
    verbs = {name for name in dir(PrivateTable) if not name.startswith("_") and leads_on(name)}
    verbs -= {"of", "with_budget"}  # these rows, charged elsewhere
    assert verbs == set(VERBS)


@pytest.mark.parametrize("around", AROUND)
def test_what_surrounds_the_proof_is_attacked(around: str) -> None:
    for name in AROUND[around]:
        assert "def test_" in (TESTS / name).read_text(encoding="utf-8")


def test_a_forgotten_one_is_seen() -> None:
    assert leads_on("filter")
    assert not leads_on("to_pandas")
    assert isinstance(VERBS["count"](people().rename(cost="visits")), Question)


# -- mechanisms -----------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.cases
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: f"{attack.mechanism}: {attack.words}")
def test_claims_are_kept(attack: Attack) -> None:
    """At epsilon = 1, with a false alarm once in a million runs of this test."""
    if attack.cost < 10:  # `make audit` has the time for the slow ones
        report = sampled(attack.make(1.0), attack.first, attack.second, epsilon=1, delta=attack.delta, runs=RUNS)
        assert report.ok, str(report)


@pytest.mark.long
@pytest.mark.cases
@pytest.mark.parametrize(
    "attack", [attack for attack in ATTACKS if attack.tight], ids=lambda attack: f"{attack.mechanism}: {attack.words}"
)
def test_three_times_the_epsilon_is_seen(attack: Attack) -> None:
    """The attack has teeth: on the same inputs, a mechanism with a third of the noise is caught."""
    report = sampled(
        attack.make(3.0), attack.first, attack.second, epsilon=1, delta=attack.delta, runs=2000 * attack.cost
    )
    assert not report.ok, str(report.rows)


@pytest.mark.cases
@pytest.mark.parametrize("words", PATTERNS)
@pytest.mark.parametrize("kind", [dp.Exponential, dp.PermuteAndFlip, dp.NoisyMax])
def test_choices_cost_no_more_than_they_say(kind: Any, words: str) -> None:
    """By enumeration of what is chosen, for every pattern; scores that move one way may cost half."""
    first, second = PATTERNS[words]
    rule = kind(sensitivity=1, epsilon=1)
    assert exact(rule.probabilities(first), rule.probabilities(second), epsilon=1).ok
    if all(a <= b for a, b in zip(first, second, strict=True)):
        rule = kind(sensitivity=1, epsilon=1, monotonic=True)
        assert exact(rule.probabilities(first), rule.probabilities(second), epsilon=1).ok
    assert not exact(rule.probabilities([9, 0]), rule.probabilities([0, 9]), epsilon=1).ok


# -- aggregates and verbs -------------------------------------------------------------------------------------

CHOSEN = ("most rows", "cost is NaN", "plan is a text that nobody else has", "of 200 rows", "in every plan")
WORST = [one for one in neighbors(PEOPLE, ["person"]) if one.words.endswith(CHOSEN)]


@pytest.mark.long
@pytest.mark.cases
@pytest.mark.parametrize("name", QUESTIONS)
def test_nothing_but_noise_tells_neighbors_apart(name: str) -> None:
    """Replayed: totals within the sensitivity, all noise within the claim; question, answer and receipt the same."""
    ask, claim = QUESTIONS[name], Claim(epsilon=1, delta=DELTAS.get(name, 0))
    runs: list[Run] = []
    made = Function(name="a question", function=lambda rows: answered(ask, rows), like=PEOPLE)
    for rows in (PEOPLE, *(neighbor.data for neighbor in WORST)):
        runs.append(made.run(rows, runs[0].recorder.calls if runs else None))
    assert runs[0].recorder.calls, runs[0].shown.pieces
    for neighbor, run in zip(WORST, runs[1:], strict=True):
        assert findings(runs[0], run, ("the warnings",), claim, neighbor.words) == []


def test_the_worst_neighbors_are_there() -> None:
    assert len(WORST) == len(CHOSEN)
