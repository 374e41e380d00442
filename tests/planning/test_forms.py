"""Each form of totals is priced, computed and explained, and its coefficients add up to the sum of the values."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.engines.exact_totals import totals
from discreet.engines.generated_columns import Columns
from discreet.planning import forms
from discreet.planning.forms import FORMS, Block, Form
from discreet.planning.planner import price

TABLE = pa.table({name: [1.0, 4.0, 9.0, 2.0] for name in ("u", "v", "w", "x")} | {"who": [1, 1, 2, 3]})


def people(**stated: Any) -> dp.PrivateTable:
    bounds = dict.fromkeys(("u", "v", "w", "x"), (0, 10))
    asked: dict[str, Any] = {"unit": "who", "max_rows": 2, **stated}
    return dp.protect(TABLE, bounds=bounds, budget=dp.Budget(epsilon=1), **asked)


def line() -> dp.Question:
    return people().regress("u", ["v", "w", "x"])


QUESTIONS = {
    forms.COUNT: lambda: people().count(),
    forms.UNITS: lambda: people().nunique(),
    forms.DISTINCT: lambda: people().mutate(old=_.v > 3).agg(a=_.old.nunique()),
    forms.SUM: lambda: people().agg(a=_.u.sum()),
    forms.SUM_OF_ALL: lambda: people(unit=dp.ROW, max_rows=None, neighbors="replace-one", rows=4).agg(
        a=_.u.fill_null(0).sum()
    ),
    forms.PAIR: lambda: people().agg(a=_.u.mean()),
    forms.TRIPLE: lambda: people().agg(a=_.u.var()),
    forms.PRODUCT: lambda: people().agg(a=_.u.cov(_.v)),
    forms.SIGNED_PRODUCTS: line,
}
"""A question for each form: whoever adds a form adds one."""


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_every_form_is_whole(form: Form) -> None:
    question = QUESTIONS[form]()
    plan = price(question._query, epsilon=1)
    assert {block.block.form for block in plan.blocks} == {form}
    names = [Columns(i).total(j) for i, block in enumerate(plan.blocks) for j in range(block.block.components)]
    assert list(totals(plan).columns) == names
    explained = question.explain(epsilon=1)["totals"]
    assert {fact["statistic"] for fact in explained} == {form.label}
    assert all(fact["rounding"] for fact in explained)


@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("u", [Fraction(0), Fraction(1, 3), Fraction(1)])
def test_components_add_up_to_the_value(u: Fraction, nulls: bool) -> None:  # noqa: FBT001 - a parameter of the test
    low, high = Fraction(-3), Fraction(9)
    components = {forms.PAIR: (u, 1 - u), forms.TRIPLE: (u**2, (1 - u) ** 2, 2 * u * (1 - u))}
    for form, (*parts, rest) in components.items():
        own = (*parts, *((Fraction(5),) if nulls else ()), rest)
        coefficients = Block(form=form, nulls=nulls).without_nulls(form.total(low, high))
        assert sum(c * float(part) for c, part in zip(coefficients, own, strict=True)) == pytest.approx(
            float(low + u * (high - low))
        )
