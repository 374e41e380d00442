"""A cache of compiled statements: a question that is asked again is not compiled again."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Generic, TypeVar

import ibis

from discreet.exact.amounts import exact_decimals
from discreet.language.checked_expressions import Value
from discreet.language.exact_arithmetic import narrowest
from discreet.planning.batches import ROWS
from discreet.planning.forms import Block
from discreet.planning.group_keys import Keys
from discreet.planning.plan import Plan

KEPT = 256
"""Statements that one table remembers."""

SEPARATOR = ";\n\n"
"""Between the statements of one plan, for people and for digests: a text in one of them may hold it as well."""

Written = TypeVar("Written")

_fusing = threading.RLock()
"""Held while options of Ibis are ours. A signal handler may ask in the thread that holds it."""
_remembering = threading.RLock()
"""Held for a look at what any table remembers, whose keys are compared in Python."""


class Statements(Generic[Written]):
    """The SQL of the plans that were asked lately."""

    def __init__(self, compiled: Callable[[Plan], Written]) -> None:
        self._compiled = compiled
        self._known: OrderedDict[Any, Written] = OrderedDict()

    def of(self, plan: Plan) -> Written:
        """A plan's statement, or several; compiled where no equal plan is remembered."""
        shape = shape_of(plan)
        with _remembering:
            found = self._known.pop(shape, None)
            if found is not None:
                self._known[shape] = found  # the last of them now
                return found
        text = self._compiled(plan)
        with _remembering:
            self._known[shape] = text
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
        return text


def shape_of(plan: Plan) -> tuple[Any, ...]:
    """All that the statement of a plan depends on."""
    query, keys = plan.query, plan.query.listed_keys
    return (
        query.relation.op(),
        tuple((name, expr.op()) for name, expr in query.groups.items()),
        None if keys is None else (keys.names, keys.kinds, *_size(keys)),
        query.declaration.unit,
        plan.limits,
        plan.weighs_groups,
        plan.joint is not None,  # then sums are rounded otherwise (`joint_plan.rounding_slack`)
        tuple((_block(block.block), block.lattice, block.steps, block.others, block.factors) for block in plan.blocks),
        tuple((_op(one.block.value), _op(one.block.where), one.lattice, one.steps) for one in plan.ranks),
    )


def _size(keys: Keys) -> tuple[str, bool]:
    """What of their number matters: how wide a place is, and whether all groups come at once (`packed_sums.packs`)."""
    return narrowest(keys.size), keys.size <= ROWS


def _block(block: Block) -> tuple[Any, ...]:
    return (
        block.form,
        tuple(map(_op, block.values)),
        block.degrees,
        block.powers,
        block.listed,
        _op(block.where),
        block.nulls,
    )


def _op(value: Value | None) -> Any:
    return None if value is None else (value.expr.op(), value.kind)


@contextmanager
def unfused() -> Iterator[None]:
    """Ibis writes each step as a sub-query of its own, instead of writing an earlier step out wherever it is used; and
    numbers as they are.
    """
    options = ibis.options.sql
    with _fusing, exact_decimals(), ExitStack() as stack:
        stack.callback(setattr, options, "fuse_selects", options.fuse_selects)
        options.fuse_selects = False
        yield


def _before_fork() -> None:
    """Waits until no other thread holds a lock, which nobody would release in the child."""
    _fusing.acquire()
    _remembering.acquire()


def _after_fork() -> None:
    _remembering.release()
    _fusing.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
