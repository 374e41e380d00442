"""The interface that a release expects of an engine, and the one message for every failure."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, suppress
from typing import Any, Protocol, TypeVar

import ibis.expr.schema as sch
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.engines.generated_columns import Columns
from discreet.errors import EngineError, InvalidQuery, LedgerError
from discreet.planning.group_keys import POSITION
from discreet.planning.plan import Plan
from discreet.privacy.declaration import Declaration
from discreet.selection.rank_exponential import Histogram

logger = logging.getLogger("discreet.curator")
# Silent unless the curator asks: Python would print causes to the analyst's screen.
logger.addHandler(logging.NullHandler())

FAILURE = "Expected the engine to answer, got a failure; its cause is in the curator's log (logger 'discreet.curator')."
KEPT = "There is one where the curator's program has logging.basicConfig(filename='curator.log')."
FAILED = f"{FAILURE}\nHint: the charge stays spent. Ask the curator to look at the log before you try again. {KEPT}"
UNCHARGED = f"{FAILURE}\nHint: nothing was charged. Ask the curator to look at the log, and try again. {KEPT}"

SPENT = " The charge stays spent."
"""What a refusal of the ledger says after a charge, which it knows nothing of."""

MOST_DIGITS = 10**38 - 1
"""The largest integer of an answer's decimals."""

INTERRUPTED = "Query interrupted"
"""What DuckDB says where Ctrl-C was pressed; an error of a row has its kind before its words."""

Answer = TypeVar("Answer")

AddNoise = Callable[[NDArray[np.int64], list[NDArray[Any]]], list[NDArray[Any]]]
"""From the places of some groups and the totals of each block to noisy totals; made elsewhere, and sent to the rows."""


class UnsupportedQuestion(InvalidQuery):
    """A question that the language takes, and that an engine has no words for."""


class Engine(Protocol):
    """A raw table somewhere, of which exact integer totals can be had."""

    @property
    def schema(self) -> sch.Schema:
        """The raw column names and types."""

    def check_alive(self) -> None:
        """Refuses a connection that answers nothing, before anything is charged; no row is looked at."""

    def barrier(self, declared: Declaration, wanted: frozenset[str] | None = None) -> str:
        """The SQL of the scan behind its barrier, of all columns or some; refuses what the engine cannot do."""

    def statement(self, plan: Plan) -> str:
        """The SQL that computes a plan's totals from the scan and the keys; refuses what the engine cannot do."""

    def script(self, plan: Plan) -> str:
        """All that the engine runs for a plan, for people to read."""

    def totals(self, plan: Plan, statement: str | None = None) -> list[NDArray[Any]]:
        """For each block its exact totals, integers of shape (groups, components); int64 where that holds them."""

    def found_groups(self, plan: Plan, statement: str) -> tuple[list[NDArray[np.int64]], list[NDArray[Any]]]:
        """The keys of the groups that have rows, whole numbers, a column each; and for each block their totals. For
        keys that are not written out.
        """

    def noisy_totals(self, plan: Plan, statement: str, add_noise: AddNoise) -> list[NDArray[Any]] | None:
        """The same after `add_noise`, where the engine can do it beside the rows; None where it cannot."""

    def streamed(self, plan: Plan, statement: str, add_noise: AddNoise) -> Generator[list[NDArray[Any]]]:
        """The same in the order of the keys, `batches.ROWS` groups at a time, with no more of them in memory than that
        where the engine can do so; the totals are found once. To be closed.
        """

    def one_version(self) -> AbstractContextManager[None] | None:
        """For several looks at the same rows: refuses them if rows changed meanwhile; None where it could not tell."""

    def rank_statements(self, plan: Plan) -> tuple[str, ...]:
        """The SQL of the histograms that a plan's blocks of ranks need."""

    def histograms(self, plan: Plan) -> list[Histogram]:
        """For each block of ranks how much mass each cell of its lattice holds in each group."""

    def compiled(self, expression: ir.Table) -> str:
        """The SQL of an expression over the scan; refuses what the engine cannot do."""

    def run_statement(self, declared: Declaration, statement: str) -> pa.Table:
        """The rows of a statement over the scan. They are exact: only a mechanism may see them."""


def hide_failure_details(look: Callable[[], Answer], *, charged: bool = True) -> Answer:
    """What `look` finds; every failure says the same, but for whether there was a charge before, and its cause goes to
    the curator's log alone. It is logged where it is no longer handled: a handler of the log that fails on it (a full
    disk) would show it as what its own failure came from.

    What is raised has no frame of `look`, no cause and no context: error hooks print the locals of frames, and those of
    `look` hold exact totals. Interrupts and exits stay what they are.
    """
    try:
        return look()
    except BaseException as problem:  # noqa: BLE001 (an interrupt carries frames as well)
        left = problem
    left = _without_frames(left, charged=charged)
    try:
        raise left  # here, where no exception is being handled that it would carry along
    finally:
        del left


def _without_frames(problem: BaseException, *, charged: bool) -> BaseException:
    """What is raised in place of a problem whose frames nobody may see."""
    _clear_frames(problem)
    if not isinstance(problem, Exception):
        problem.__cause__ = problem.__context__ = None
        return problem.with_traceback(None)
    if isinstance(problem, LedgerError):  # of the record of what was spent, which holds nothing of rows
        return LedgerError(str(problem).removesuffix(SPENT) + (SPENT if charged else ""))
    if type(problem) is RuntimeError and str(problem) == INTERRUPTED:
        return KeyboardInterrupt()
    if not isinstance(problem, EngineError):  # of which the cause is in the log
        # For a public table as well, which costs nothing.
        with suppress(Exception):  # of a handler of the log
            logger.error("the engine failed", exc_info=problem)
    return EngineError(FAILED if charged else UNCHARGED)


def _clear_frames(problem: BaseException) -> None:
    """Empties the frames of a problem, and of all that it came from."""
    left, seen = [problem], set[int]()
    while left:
        one = left.pop()
        if id(one) not in seen:
            seen.add(id(one))
            traceback.clear_frames(one.__traceback__)
            left += [other for other in (one.__cause__, one.__context__) if other is not None]
            left += one.exceptions if isinstance(one, BaseExceptionGroup) else ()


def shielded_each(looks: Iterator[Answer]) -> Iterator[Answer]:
    """The same of everything that is found one after the other."""
    while (found := hide_failure_details(lambda: next(looks, None))) is not None:
        yield found


def blocks_of(plan: Plan, answer: pa.Table) -> list[NDArray[Any]]:
    """An answer's totals, 128-bit decimals, as one array of integers for each block."""
    return _stacked(widths_of(plan), answer)


def widths_of(plan: Plan) -> list[int]:
    """How many components each block has."""
    return [block.block.components for block in plan.blocks]


def _stacked(widths: list[int], answer: pa.Table) -> list[NDArray[Any]]:
    return [
        np.stack([integers(answer[Columns(i).total(j)]) for j in range(width)], axis=1)
        for i, width in enumerate(widths)
    ]


def add_noise_to_batch(add_noise: AddNoise, widths: list[int], batch: pa.RecordBatch) -> pa.RecordBatch:
    """An answer's columns after `add_noise`; `widths` says how many components each block has."""
    exact = _stacked(widths, pa.Table.from_batches([batch]))
    places = batch[POSITION].cast(pa.int64())
    found = add_noise(places.to_numpy(zero_copy_only=False), exact)
    columns = {Columns(i).total(j): decimals(found[i][:, j]) for i, width in enumerate(widths) for j in range(width)}
    columns[POSITION] = places
    return pa.RecordBatch.from_pydict({name: columns[name] for name in batch.schema.names})


def integers(column: pa.ChunkedArray) -> NDArray[Any]:
    """A column of 128-bit decimals as integers, 0 for NULL: int64 where all fit, Python integers otherwise."""
    filled = column.combine_chunks().fill_null(0)
    words = np.frombuffer(filled.buffers()[1], dtype=np.int64)[2 * filled.offset : 2 * (filled.offset + len(filled))]
    low, high = words[0::2], words[1::2]
    if np.array_equal(high, low >> 63):
        return low.copy()
    wide: NDArray[Any] = high.astype(object) * 2**64 + low.astype(np.uint64).astype(object)
    return wide


def decimals(values: NDArray[Any]) -> pa.Array:
    """Integers as a column of 128-bit decimals; what has more digits becomes the largest that there is.

    >>> decimals(np.array([1, -2])).to_pylist()
    [Decimal('1'), Decimal('-2')]
    """
    if values.dtype == object:
        held = np.minimum(np.maximum(values, -MOST_DIGITS), MOST_DIGITS)
        low, high = (held & (2**64 - 1)).astype(np.uint64).view(np.int64), (held >> 64).astype(np.int64)
    else:
        low, high = values, values >> 63
    words = np.stack([low, high], axis=1)
    return pa.Array.from_buffers(pa.decimal128(38, 0), len(values), [None, pa.py_buffer(words.tobytes())])
