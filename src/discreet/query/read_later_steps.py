"""Steps after the noise, read from a document: the verbs of a question, with limits on what is written out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import ibis.expr.types as ir

from discreet.errors import InvalidQuery, expected, nearest_name
from discreet.language.allow_list import limited
from discreet.language.checked_expressions import Measure
from discreet.query.document_parts import DocumentPart
from discreet.query.expression_documents import measured_part, read_expression
from discreet.query.question import Question
from discreet.query.window_documents import MOST_WINDOWS, number_of_windows, read_sort

AFTER = ("having", "order_by", "limit", "mutate", "select")
MOST_WRITTEN_OUT = 2000
"""Operations of a step after the noise, where calculated columns are written out in it."""


def measure_step(step: DocumentPart, sizes: dict[str, Measure]) -> None:
    """Refuses calculations after the noise that would be too large if the columns in them were written out."""
    for verb, held in step.fields().items():
        written_out = measured_part(held.value, sizes)
        limited(written_out)
        if written_out.size > MOST_WRITTEN_OUT:
            held.refuse(f"calculations of at most {MOST_WRITTEN_OUT:,} operations, with those of earlier steps in them")
        if verb == "mutate":
            sizes |= {name: measured_part(one.value, sizes) for name, one in held.pairs()}


def check_windows(steps: list[DocumentPart]) -> None:
    """Refuses more windows than are calculated in a moment."""
    if (found := number_of_windows([step.value for step in steps])) > MOST_WINDOWS:
        cure = "give a window a name by a mutate, and use that; or ask for less at a time."
        raise InvalidQuery(expected(f"at most {MOST_WINDOWS} windows after the noise", "windows", found, cure))


def handed_on(asked: Question, step: DocumentPart) -> Question:
    """A question with one more step after the noise."""
    verb, held = step.one_of(AFTER, "a step after the noise")
    if verb == "limit":
        number, offset = held.listed(least=2, most=2)
        return asked.limit(number.number(), offset=offset.number())
    if verb == "select":
        return asked.select(*held.texts(least=1))

    def value(part: DocumentPart) -> Callable[[ir.Table], ir.Value]:
        return partial(_over, part)

    if verb == "having":
        return asked.having(*(value(one) for one in held.listed(least=1)))
    if verb == "mutate":
        return asked.mutate(**{name: value(one) for name, one in held.pairs()})
    keys = held.listed(least=1)
    return asked.order_by(*(partial(_sorted, one) for one in keys))


def _over(part: DocumentPart, shape: ir.Table) -> ir.Value:
    """A calculation over the columns of an answer."""
    return read_expression(part, lambda name: _column(part, shape, name), shape.op(), after=True)


def _sorted(part: DocumentPart, shape: ir.Table) -> ir.Value:
    found: ir.Value = read_sort(part, lambda one: _over(one, shape).op()).to_expr()
    return found


def _column(part: DocumentPart, shape: ir.Table, name: str) -> Any:
    if name not in shape.columns:
        DocumentPart(name, part.place).refuse("a column of the answer", nearest_name(name[:60], shape.columns))
    return shape[name]
