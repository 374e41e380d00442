"""Expressions are shown as they are written, in one line, however they are nested."""

from __future__ import annotations

import ibis
import pytest

from discreet.language.expression_texts import LONGEST, expression_text

T = ibis.table({"age": "int64", "plan": "string", "x": "float64"}, name="people")


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (T.age > 50, "age > 50"),
        (T.age.cast("float64") >= 1.5, "Cast(age, float64) >= 1.5"),
        (~(T.age == 3) | T.plan.isnull(), "~(age == 3) | plan.isnull()"),
        ((T.age > 1) & (T.age < 9) & T.plan.notnull(), "((age > 1) & (age < 9)) & plan.notnull()"),
        (T.x / 12 - (T.age + 1) * 2, "(x / 12) - ((age + 1) * 2)"),
        (-T.x, "-x"),
        (T.age.between(18, 65), "age.between(18, 65)"),
        (T.plan.isin(["a", "b"]), "plan.isin(['a', 'b'])"),
        (T.age > ibis.literal(50).cast("int64"), "age > 50"),
        (T.plan != "it's", 'plan != "it\'s"'),
        ((T.age > 3).mean(), "Mean(age > 3)"),
        (T.x.sum(where=T.age > 3), "Sum(x, where=age > 3)"),
        (T.plan.upper(), "Uppercase(plan)"),
        (T.age > ibis.date("2020-01-31").year(), "age > ExtractYear(datetime.date(2020, 1, 31))"),
    ],
)
def test_expressions_are_shown_as_they_are_written(expression: ibis.Value, text: str) -> None:
    assert expression_text(expression.op()) == text


def test_a_doubled_expression_has_a_short_text() -> None:
    doubled = T.x
    for _ in range(60):
        doubled = doubled + doubled
    assert "..." in expression_text(doubled.op())
    assert len(expression_text(doubled.op())) <= LONGEST
    assert len(expression_text(T.plan.isin([str(i) for i in range(1000)]).op())) <= LONGEST
