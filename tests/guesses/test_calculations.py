"""A whole answer is no number; a column of it is."""

from __future__ import annotations

import operator

import numpy as np
import pytest

from discreet.errors import InvalidQuery
from discreet.testing import people

OPERATORS = (operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow)


@pytest.mark.parametrize("calculate", OPERATORS)
def test_answers_and_questions_are_no_numbers(calculate: object) -> None:
    question = people().count()
    for thing in (question, question.release(epsilon=1)):
        with pytest.raises(InvalidQuery, match="a column to calculate with"):
            calculate(thing, 2)  # type: ignore[operator]  # one of those above
    assert np.add(question.release(epsilon=1)["count"], 1).shape == (1,)


@pytest.mark.parametrize("compare", [operator.lt, operator.le, operator.gt, operator.ge])
def test_answers_are_not_compared(compare: object) -> None:
    with pytest.raises(InvalidQuery, match="a number to compare"):
        compare(people().count().release(epsilon=1), 3)  # type: ignore[operator]  # one of those above
