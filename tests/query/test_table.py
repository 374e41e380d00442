"""The verbs: what they keep of a table, what they forget, and what an analyst may write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.errors import InvalidParameter, InvalidQuery
from discreet.language.checked_expressions import Kind
from discreet.planning.contribution_limits import checked_limit
from discreet.query.table import MOST_STEPS, PrivateGroups, PrivateTable, UnknownColumn

Protect = Callable[..., PrivateTable]
Exact = Callable[..., dict[str, list[Any]]]
Refused = Callable[..., str]


def test_every_way_to_name_a_column(by_row: Protect, exact: Exact) -> None:
    table = by_row()
    ways = [_.age > 20, table.age > 20, table["age"] > 20, lambda t: t.age > 20, lambda t: t["age"] > 20]
    assert {tuple(exact(table.filter(way).agg(n=_.count()))["n"]) for way in ways} == {(5.0,)}
    assert table.columns == ("person", "plan", "year", "age", "spent", "size", "ok", "day")
    assert "age" in dir(table)
    assert repr(table).startswith("<private table 'people', protecting each row: person: integer, plan: text,")


def test_values_outside_the_bounds_count_as_the_nearest(by_row: Protect, exact: Exact) -> None:
    assert exact(by_row().filter(_.age == 110).agg(n=_.count())) == {"n": [1]}
    assert exact(by_row().agg(s=_.spent.sum(), n=_.spent.count())) == {"s": [28.0], "n": [6]}


def test_filters_join(by_row: Protect, exact: Exact) -> None:
    table = by_row()
    both = exact(table.filter(_.age > 20, _.ok).agg(n=_.count()))
    assert both == exact(table.filter(_.age > 20).filter(_.ok).agg(n=_.count())) == {"n": [2]}
    assert exact(table.filter(~_.ok).agg(n=_.count())) == {"n": [2]}  # neither true nor NULL


def test_fields_of_earlier_steps_still_mean_their_column(by_row: Protect, exact: Exact) -> None:
    table = by_row()
    adults = table.filter(table.age >= 18)
    richer = adults.mutate(twice=table.spent * 2, age_next=adults.age + 1)
    assert exact(richer.filter(table.ok, richer.twice > 1).agg(n=_.count(), s=table.spent.sum())) == {
        "n": [2],
        "s": [5.5],
    }
    assert exact(richer.select("twice", "age").agg(s=table.age.sum())) == exact(adults.agg(s=_.age.sum()))


def test_fields_of_rewritten_columns_are_refused(by_row: Protect, refused: Refused, exact: Exact) -> None:
    """What was known of the old column does not hold of the new one."""
    table = by_row()
    older = table.age
    rewritten = table.mutate(age=_.age * 2)
    for ask in (rewritten.filter, rewritten.mutate):
        written = {"x": older + 1} if ask == rewritten.mutate else {}
        arguments = [] if written else [older > 3]
        assert "was not rewritten" in refused(InvalidQuery, ask, *arguments, **written)
    assert "was not rewritten" in refused(InvalidQuery, rewritten.agg, s=older.sum())
    assert exact(rewritten.agg(s=_.age.sum(), t=rewritten.age.sum()))["s"] == [2 * (30 + 30 + 31 + 17 + 18 + 50 + 110)]
    again = rewritten.filter(_.age > 0).mutate(age=_.age / 2)
    assert "was not rewritten" in refused(InvalidQuery, again.agg, s=rewritten.age.sum())
    assert "was not rewritten" in refused(InvalidQuery, again.group_by, older)


def test_a_rewritten_column_has_the_bounds_of_its_expression(by_row: Protect) -> None:
    table = by_row().mutate(age=_.age * 2, young=_.age < 20)
    doubled = table._columns["age"].interval
    assert doubled is not None
    assert doubled.high == 220
    assert table._columns["young"].kind is Kind.BOOLEAN


def test_columns_of_one_mutate_see_the_table_before_it(by_row: Protect, exact: Exact) -> None:
    swapped = by_row().mutate(age=_.size.clip(0, 9), size=_.age)
    assert exact(swapped.agg(a=_.age.sum(), b=_.size.sum())) == {"a": [36], "b": [286]}


def test_select_hides_columns_and_keeps_the_unit(protect_people: Protect, exact: Exact, refused: Refused) -> None:
    table = protect_people()
    chosen = table.select("plan", _.age, table.ok)
    assert chosen.columns == ("plan", "age", "ok")
    assert "Expected a known column" in refused(UnknownColumn, lambda: chosen.spent)
    assert "was not rewritten" in refused(InvalidQuery, chosen.filter, table.spent > 1)
    assert exact(chosen.agg(n=_.count())) == exact(table.agg(n=_.count()))
    assert exact(chosen.nunique()) == {"nunique": [4]}
    assert "nunique() of a unit" in refused(InvalidQuery, chosen.agg, n=_.plan.lower().nunique())
    for wrong in ((), ("age", "age")):
        assert "distinct columns" in refused(InvalidQuery, table.select, *wrong)
    assert "Expected a column, got age + 1" in refused(InvalidQuery, table.select, _.age + 1)


def test_the_unit_is_not_rewritten(protect_people: Protect, refused: Refused) -> None:
    table = protect_people()
    for name in ("person", "PERSON"):
        assert "privacy unit" in refused(InvalidQuery, table.mutate, **{name: _.age})
        assert "privacy unit" in refused(InvalidQuery, table.select("age").mutate, **{name: _.age})
        assert "privacy unit" in refused(InvalidQuery, table.group_by, keys={name: [1]}, **{name: _.age})


@pytest.mark.parametrize("name", ["", "\0", "a\0b", "\ud800", "__discreet_x", "__DISCREET_UNIT_0", "AGE", "Plan"])
def test_names_that_an_engine_could_mistake_are_refused(protect_people: Protect, refused: Refused, name: str) -> None:
    table = protect_people()
    refused(InvalidQuery, table.mutate, **{name: _.age})
    refused(InvalidQuery, table.group_by, **{name: _.age > 1})


def test_names_that_differ_by_case_alone_in_one_call(protect_people: Protect, refused: Refused) -> None:
    assert "more than case" in refused(InvalidQuery, protect_people().mutate, a=_.age, A=_.spent)
    assert "more than case" in refused(InvalidQuery, protect_people().mutate, straße=_.age, STRASSE=_.spent)


ODD_NAMES = [
    "value_0_0",
    "part_0_0",
    "total_0_0",
    "counted_0",
    "share_0_0",
    "sum_0_0",
    "held_0",
    "scan",
    "count",
    "filter",
    "mutate",
    "a b",
    'a"b',
    "é",
    "%s",
    "{}",
]


@pytest.mark.long
@pytest.mark.cases
@pytest.mark.parametrize("name", ODD_NAMES)
def test_names_that_are_ours_or_ibis_own_are_only_names(protect_people: Protect, exact: Exact, name: str) -> None:
    """As a value, as a key, and in a second step."""
    table = protect_people(max_groups=1).mutate(**{name: _.age.fill_null(0) % 3})
    twice = table.mutate(other=_[name] + 1).filter(_[name] >= 0)
    assert exact(twice.agg(s=_[name].sum(), t=_.other.sum(), v=_[name].var(), n=_.count())) == exact(
        protect_people(max_groups=1)
        .mutate(plain=_.age.fill_null(0) % 3)
        .mutate(other=_.plain + 1)
        .filter(_.plain >= 0)
        .agg(s=_.plain.sum(), t=_.other.sum(), v=_.plain.var(), n=_.count())
    )
    grouped = table.group_by(name, keys={name: [0, 1, 2]}).agg(n=_.count(), s=_.age.sum())
    assert list(exact(grouped).values()) == list(
        exact(
            protect_people(max_groups=1)
            .mutate(plain=_.age.fill_null(0) % 3)
            .group_by("plain", keys={"plain": [0, 1, 2]})
            .agg(n=_.count(), s=_.age.sum())
        ).values()
    )


@pytest.mark.parametrize(
    ("keys", "aggregates"),
    [
        ([], ["n", "n_low"]),
        ([], ["n_high", "n"]),
        ([], ["n_low", "n_low_low"]),
        (["plan"], ["plan"]),
        (["n_low"], ["n"]),
        (["n_high"], ["n"]),
    ],
)
def test_each_column_of_an_answer_has_names_of_its_own(
    by_row: Protect, refused: Refused, keys: list[str], aggregates: list[str]
) -> None:
    table = by_row().mutate(n_low=_.plan, n_high=_.plan, n=_.plan)
    asked = table.group_by(*keys, keys={name: ["a"] for name in keys}) if keys else table
    assert "a name of its own" in refused(InvalidQuery, asked.agg, **dict.fromkeys(aggregates, _.count()))


def test_aggregates_have_names(by_row: Protect, refused: Refused) -> None:
    for ask in (by_row().agg, by_row().group_by("plan").agg):
        assert "a name for each aggregate" in refused(InvalidQuery, ask, _.count())
    for name in ("", "\ud800", "__discreet_n"):
        refused(InvalidQuery, by_row().agg, **{name: _.count()})


def test_groups_by_columns_conditions_and_expressions(protect_people: Protect, exact: Exact) -> None:
    table = protect_people()
    by_plan = exact(table.group_by("plan").agg(rows=_.count(), persons=_.person.nunique()))
    assert by_plan == {"plan": ["a", "b"], "rows": [3, 2], "persons": [2, 2]}
    assert exact(table.group_by(_.plan).agg(rows=_.count())) == exact(table.group_by(table.plan).agg(rows=_.count()))
    computed = table.group_by(old=_.age >= 30).agg(n=_.count())
    assert exact(computed) == {"old": [False, True], "n": [2, 3]}
    both = table.group_by("plan", first=_.year == 1, max_groups=4).agg(n=_.count())
    assert exact(both) == {"plan": ["a", "a", "b", "b"], "first": [False, True] * 2, "n": [1, 2, 1, 1]}


def test_a_computed_group_hides_the_column_it_is_named_after(
    protect_people: Protect, exact: Exact, refused: Refused
) -> None:
    table = protect_people()
    assert "public keys of 'plan'" in refused(InvalidQuery, table.group_by, plan=_.plan.upper())
    asked = table.group_by(plan=_.plan.upper(), keys={"plan": ["A"]}).agg(n=_.count())
    assert exact(asked) == {"plan": ["A"], "n": [3]}


def test_distinct_columns_to_group_by(protect_people: Protect, refused: Refused) -> None:
    for wrong in ((), ("plan", "plan"), ("plan", _.plan)):
        assert "distinct columns to group by" in refused(InvalidQuery, protect_people().group_by, *wrong)
    named = protect_people()
    assert "Expected a column, got" in refused(InvalidQuery, named.group_by, _.plan.upper())
    assert "Expected a column, got" in refused(InvalidQuery, named.group_by, _.plan.name("other"))


def test_where_takes_rows_from_one_aggregate_only(by_row: Protect, exact: Exact) -> None:
    asked = by_row().agg(
        n=_.count(),
        some=_.count(where=_.ok),
        s=_.size.clip(0, 9).sum(where=_.age > 20),
        m=_.size.clip(0, 9).mean(where=_.plan == "a"),
        none=_.count(where=_.age > 1000),
        known=_.age.count(),
    )
    assert exact(asked) == {"n": [8], "some": [4], "s": [21], "m": [3.75], "none": [0], "known": [7]}


def test_counts_of_rows_and_units(protect_people: Protect, by_row: Protect, exact: Exact, refused: Refused) -> None:
    table = protect_people()
    assert exact(table.nunique()) == {"nunique": [4]}
    assert exact(table.nunique(where=_.age >= 30)) == exact(table.agg(nunique=_.person.nunique(where=_.age >= 30)))
    assert exact(table.count(where=_.age >= 30)) == {"count": [3]}
    assert exact(table.count()) == {"count": [6]}  # no unit, no row; three rows of person 1 count as two
    assert exact(by_row().count()) == {"count": [8]}
    assert "Expected a unit of columns, got dp.ROW" in refused(InvalidQuery, by_row().nunique)
    pairs = protect_people(unit=["person", "plan"])
    assert exact(pairs.nunique()) == {"nunique": [5]}
    assert "a unit that is one column" in refused(InvalidQuery, pairs.agg, n=_.person.abs().nunique())
    for condition in (True, _.age, ibis.literal(value=True)):
        assert "a condition on columns" in refused(InvalidQuery, table.count, where=condition)


def always(_t: Any) -> bool:
    return True


CONDITIONS: list[Any] = [
    True,
    False,
    ibis.literal(value=True),
    _.age,
    "age",
    always,
    1,
    _.plan,
    ibis.literal(1) > 0,
]


@pytest.mark.parametrize("condition", CONDITIONS, ids=lambda condition: getattr(condition, "__name__", str(condition)))
def test_only_conditions_on_columns_filter(by_row: Protect, refused: Refused, condition: Any) -> None:
    assert "a condition on columns" in refused(InvalidQuery, by_row().filter, condition)


def test_truth_values_of_the_unbound_are_ibis_own_error(by_row: Protect) -> None:
    """Python asks before the table is asked; nothing is read."""
    table = by_row()
    with pytest.raises(TypeError, match="truth value"):
        table.filter(_.ok and _.age > 1)
    with pytest.raises(TypeError, match="truth value"):
        table.filter(not _.ok)
    with pytest.raises(ValueError, match="truth value"):
        table.filter(1 < table.age < 5)


def test_a_filtered_table_has_no_public_size(by_row: Protect) -> None:
    table = by_row(neighbors="replace-one", rows=8)
    kept = table.mutate(y=_.age).select("y")
    assert [t.agg(s=_.y.sum())._query.public_size for t in (kept, kept.filter(_.y > 0))] == [8, None]
    grouped = table.group_by("plan").agg(n=_.count())
    assert grouped._query.public_size is None


def test_chains_are_limited(by_row: Protect, refused: Refused, exact: Exact) -> None:
    table = by_row()
    for _step in range(MOST_STEPS // 2):
        table = table.filter(_.age >= 0)
    many = table.filter(*[_.age >= 0] * (MOST_STEPS // 2))
    assert exact(many.agg(n=_.count())) == {"n": [7]}
    assert f"at most {MOST_STEPS} steps" in refused(InvalidQuery, many.mutate, x=_.age)
    assert f"at most {MOST_STEPS} steps" in refused(InvalidQuery, table.filter, *[_.age >= 0] * MOST_STEPS)


def test_depth_is_counted_over_all_steps(by_row: Protect, refused: Refused, exact: Exact) -> None:
    """Engines write a column of an earlier step out again."""
    table = by_row().mutate(y=_.spent)
    for _step in range(40):
        table = table.mutate(y=_.y * 0.5 + 1)
    assert exact(table.agg(n=_.count(where=_.y > 0)))["n"] == [6]
    for _step in range(9):
        table = table.mutate(y=_.y * 0.5 + 1)
    assert "nested operations" in refused(InvalidQuery, table.mutate, y=_.y * 0.5 + 1)
    doubled = by_row().mutate(y=_.spent)
    for _step in range(13):
        doubled = doubled.mutate(y=_.y + _.y)
    assert "got a larger one" in refused(InvalidQuery, doubled.mutate, y=_.y + _.y)


def test_limits_are_whole_numbers(protect_people: Protect, by_row: Protect, refused: Refused) -> None:
    table = protect_people()
    for value in (0, -1, 1.5, True, "2"):
        for limit in ("max_groups", "max_rows"):
            said = refused(InvalidParameter, table.group_by, "plan", **{limit: value})
            assert f"Expected a whole number of 1 or more, got {limit}=" in said
    assert checked_limit("n", 3) == checked_limit("n", np.int8(3)) == 3
    assert "Expected max_rows of at most" in refused(InvalidParameter, table.group_by, "plan", max_rows=10**400)
    question = table.group_by("plan", max_rows=2**40).agg(n=_.count())
    assert "limits and an epsilon that leave 20 bits" in refused(InvalidParameter, question.explain, epsilon=1)
    for limit in ("max_groups", "max_rows"):
        said = refused(InvalidParameter, by_row().group_by, "plan", **{limit: 2})
        assert f"Expected no {limit} where each row is a unit" in said


def test_limits_of_a_question_go_before_those_of_the_table(protect_people: Protect) -> None:
    table = protect_people()
    limits = table.group_by("plan", max_groups=1, max_rows=7).agg(n=_.count())._query.effective
    assert (limits.max_groups, limits.max_rows) == (1, 7)
    limits = table.group_by("plan").agg(n=_.count())._query.effective
    assert (limits.max_groups, limits.max_rows) == (2, 2)
    limits = table.agg(n=_.count())._query.effective
    assert (limits.max_groups, limits.max_rows) == (1, 2)


def test_unknown_columns_are_attribute_errors_too(protect_people: Protect) -> None:
    table = protect_people()
    assert not hasattr(table, "agee")
    assert not hasattr(table, "_secret")
    assert hasattr(table, "age")
    with pytest.raises(UnknownColumn, match="did you mean 'age'"):
        _ = table["agee"]
    with pytest.raises(InvalidQuery, match="the name of a column in brackets"):
        _ = table[["age"]]  # type: ignore[index]  # the refusal is the test


def test_the_budget_is_at_hand(protect_people: Protect) -> None:
    assert protect_people().budget.remaining.epsilon == 1000


def test_groups_tell_what_they_are(protect_people: Protect) -> None:
    groups = protect_people().group_by("plan")
    assert isinstance(groups, PrivateGroups)
    assert repr(groups).endswith("by plan: 2 public keys>")


def test_groups_say_what_comes_next(protect_people: Protect, refused: Any) -> None:
    groups: Any = protect_people().group_by("plan")
    for name in ("count", "size", "release"):
        assert "agg(n=_.count())" in refused(InvalidQuery, getattr, groups, name)
    assert not hasattr(groups, "count")


def test_columns_may_come_in_lists(protect_people: Protect) -> None:
    """As they do in Ibis and in pandas."""
    table = protect_people()
    assert table.group_by(["plan", "ok"]).keys.names == ("plan", "ok")
    assert table.select(["plan", "age"], "ok").columns == ("plan", "age", "ok")
    assert table.drop(["plan"]).columns == table.drop("plan").columns


def test_a_part_of_the_unit_names_nobody(refused: Callable[..., str]) -> None:
    """With the other part out of sight, its distinct values were once taken for the units, at no width at all."""
    rows = pa.table({"a": [i // 10 for i in range(100)], "b": [i % 10 for i in range(100)]})
    table = dp.protect(rows, unit=["a", "b"], max_rows=1, budget=dp.Budget(epsilon=1), name="t")
    for seen in (table, table.drop("b"), table.select("a")):
        assert "Expected nunique() of" in refused(InvalidQuery, seen.agg, n=(_.a + 0).nunique())
        [values] = seen.agg(n=_.a.nunique()).plan(epsilon=1).values  # a number of values, with noise of its own
        assert values.noise.counting(0).scale == 1
    in_sql = dp.sql("SELECT COUNT(DISTINCT a) AS n FROM (SELECT a FROM t) AS x", t=table)
    assert len(in_sql.plan(epsilon=1).values) == 1
