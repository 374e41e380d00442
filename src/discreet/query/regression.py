"""The aggregates of a least-squares line, from what was written for it."""

from __future__ import annotations

from typing import Any

import ibis.expr.types as ir
from ibis.common.deferred import Deferred

from discreet.errors import InvalidQuery, expected
from discreet.language.arithmetic import name_of
from discreet.planning.aggregates import Intercept, Slope
from discreet.query.query_steps import Chain

MOST_PREDICTORS = 16
"""Of them a line is computed from 170 totals."""


def line_of(table: Chain, outcome: Any, predictor: Any, where: Any) -> dict[str, Any]:
    """The aggregates of a line."""
    several = isinstance(predictor, list | tuple)
    stated = list(predictor) if several else [predictor]
    if isinstance(predictor, set | dict) or not 1 <= len(stated) <= MOST_PREDICTORS:
        raise InvalidQuery(
            f"Expected one predictor, or a list of up to {MOST_PREDICTORS}, got something else.\n"
            "Hint: write .regress('visits', 'age'), or .regress('visits', ['age', 'income'])."
        )
    if any(not isinstance(one, str | ir.Value | Deferred) and not callable(one) for one in (outcome, *stated)):
        cure = "write .regress('visits', 'age'), or .regress(_.visits, _.age + 1)."
        raise InvalidQuery(expected("columns or expressions", "outcome, predictor", (outcome, *stated), cure))
    y, *xs = (table._bound(table[one] if isinstance(one, str) else one) for one in (outcome, *stated))
    if any(not isinstance(one, ir.Column) for one in (y, *xs)):
        cure = "write .regress('visits', 'age'): a line over a constant has no slope."
        raise InvalidQuery(expected("columns", "outcome, predictor", [name_of(one.op()) for one in (y, *xs)], cure))
    names = [f"slope_{x.get_name()}" for x in xs] if several else ["slope"]
    if len({*names, "intercept"}) <= len(names):
        raise InvalidQuery("Expected each predictor once, got one again.\nHint: leave it out, or give it another name.")
    condition = None if where is None else table._bound(where)
    if condition is not None and not condition.type().is_boolean():
        raise InvalidQuery(expected("a condition", "where", where, "write where=_.age >= 18."))
    parts = {"right": y, "left": xs[0], "beside": tuple(xs[1:]), "where": condition}
    slopes = {name: Slope(**parts, place=place).to_expr() for place, name in enumerate(names)}
    return {**slopes, "intercept": Intercept(**parts).to_expr()}
