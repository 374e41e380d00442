"""The base class of engines: a raw table reached by a connection, and the statements compiled for it once.

An engine says how it writes an expression (`_to_sql`), how it tells texts apart byte by byte (`_with_binary_texts`),
how it runs a statement over the scan (`_run_statement`), or over the scan and the keys of a plan (`_run_plan`), and
which tables it can name beside its own (`_check_other_table`).
"""

from __future__ import annotations

import copy
import threading
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from typing import Any, ClassVar, Self
from weakref import WeakKeyDictionary

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.schema as sch
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.engines.engine import (
    AddNoise,
    UnsupportedQuestion,
    add_noise_to_batch,
    blocks_of,
    hide_failure_details,
    shielded_each,
    widths_of,
)
from discreet.engines.exact_totals import GROUP, totals
from discreet.engines.foreign_key_units import PathStep, owned_rows
from discreet.engines.multi_table_engine import MultiTable, TableEngine, TablePart
from discreet.engines.optimizer_fences import OFFSET, ROWS, with_rows_first
from discreet.engines.rank_histogram import rank_histogram, read_rank_histogram
from discreet.engines.statement_cache import KEPT, Statements, unfused
from discreet.errors import InvalidQuery
from discreet.language.input_barrier import UNIT, barrier
from discreet.planning.batches import of_size
from discreet.planning.group_keys import POSITION
from discreet.planning.plan import Plan
from discreet.privacy.declaration import Bound, Declaration
from discreet.selection.rank_exponential import Histogram


class ConnectionLock:
    """The lock of one connection, whose names, settings and transactions are shared by all tables that it reaches.

    A thread that has it and asks again, as a signal handler does, is refused: it would wait for itself.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # re-entrant, so that the second question gets as far as its refusal
        self._asked = threading.Lock()  # left by the interpreter itself: no interrupt comes between
        self.was_answered = False
        """Whether the last question on the connection was answered: one that failed may have ended it."""

    @contextmanager
    def held(self) -> Iterator[None]:
        """Holds it; raises where this thread does already."""
        with self._lock:
            if self._asked.locked():
                raise RuntimeError("a question inside of another one of the same connection")
            with self._asked:
                yield


_locks: WeakKeyDictionary[Any, ConnectionLock] = WeakKeyDictionary()


class Connected(ABC):
    """A raw table of a connection, which computes exact totals of it."""

    title: ClassVar[str]
    quote: ClassVar[str] = '"'
    """What stands around names."""
    fence: ClassVar[str] = OFFSET
    """What keeps conditions of ours out of a query of the curator's."""
    binary_collation: ClassVar[str]
    """The collation that tells texts apart byte by byte, as Python tells keys apart."""

    def __init__(self, backend: Any, raw: ir.Table, connection: Any) -> None:
        self._backend, self._raw = backend, raw
        self._lock = _locks.setdefault(connection, ConnectionLock())
        self._statements = Statements(lambda plan: self.compiled(totals(plan)))
        self._ranked = Statements(lambda plan: tuple(self.compiled(rank_histogram(plan, one)) for one in plan.ranks))
        self._unreadable: Mapping[str, str] = {}
        self._found_first: ir.Table | None = None
        """A view, or steps, that may leave rows out: then the raw table stands for its rows, which are found first."""
        self._tables = MultiTable()
        self._path: tuple[PathStep, ...] = ()
        self._carried: Mapping[str, dt.DataType] = {}
        """The columns of a unit that is named in another table, at the end of the path."""
        self._seen: tuple[Declaration, dict[frozenset[str] | None, str]] | None = None

    @property
    def schema(self) -> sch.Schema:
        """The raw column names and types, also of columns that are not read."""
        closed = {name: dt.Unknown(raw_type=kind) for name, kind in self._unreadable.items()}
        return sch.Schema({**self._raw.schema(), **closed, **self._carried})

    @property
    def parts(self) -> tuple[TablePart, ...]:
        """The tables of its statements, its own first; none where there is no other."""
        return self._tables.parts

    def shares_connection(self, other: TableEngine) -> bool:
        """Whether another table is reached by the same connection, so that one statement can name both."""
        return isinstance(other, Connected) and self._lock is other._lock  # noqa: SLF001 (engines of one kind)

    def with_tables(self, parts: tuple[TablePart, ...]) -> Self:
        """The table as the first of some; refuses those that the engine cannot name together."""
        made = copy.copy(self)
        made._tables = MultiTable(parts)  # noqa: SLF001 (our own)
        for part in parts[1:]:
            made._check_other_table(part)  # noqa: SLF001 (as above)
        return made

    def since(self, column: str, first: object) -> Self:
        """The table without the rows of which a raw column is below a value, so that files without others stay shut."""
        made = copy.copy(self)
        # A whole number may be beyond what the column holds.
        low = ibis.literal(first, type=None if isinstance(first, int) else self._raw[column].type())
        compared = self._without_statistics(self._raw[column])
        made._raw, made._seen = self._raw.filter(compared >= low), None  # noqa: SLF001 (our own)
        return made

    def _without_statistics(self, column: ir.Value) -> ir.Value:
        """A raw column, for conditions by which the engine may leave parts of a table out."""
        return column

    def barrier(self, declared: Declaration, wanted: frozenset[str] | None = None) -> str:
        """The SQL of the scanned table, as the plan's statement sees it; of all columns, or of those `wanted`."""
        declared = self.parts[0].declaration if self.parts else declared  # that of a plan may state less
        seen = self._seen
        if seen is None or seen[0] is not declared or len(seen[1]) > KEPT:  # one table has one declaration
            self._seen = seen = declared, {}
        if wanted not in seen[1]:
            if self._path:
                seen[1][wanted] = owned_rows(self, self._path, declared.unit, declared.bounds, wanted)
            else:
                _, seen[1][wanted] = self.keyed_rows(declared.unit, declared.bounds, wanted)
        return seen[1][wanted]

    def keyed_rows(
        self, by: Sequence[str], bounds: Mapping[str, tuple[Bound, Bound]], wanted: frozenset[str] | None
    ) -> tuple[tuple[str, ...], str]:
        """Its columns behind the barrier, and the SQL of its rows: those, and the hidden ones of `by`."""
        seen = barrier(self._readable(by), tuple(by), bounds, wanted)
        return tuple(name for name in seen.columns if not name.startswith(UNIT)), self._with_binary_texts(seen)

    def along(self, path: Sequence[PathStep], unit: Sequence[str]) -> Self:
        """The table with the unit that is named at the end of a path, in tables of the same connection."""
        made = copy.copy(self)
        made._path, made._seen = tuple(path), None  # noqa: SLF001 (our own)
        last: Any = path[-1].table
        made._carried = {name: last.schema[name] for name in unit}  # noqa: SLF001 (as above)
        return made

    @property
    def _engines_on_path(self) -> tuple[Any, ...]:
        """The other tables that its rows are found by."""
        return tuple(step.table for step in self._path)

    def check_alive(self) -> None:
        """Refuses a connection that answers nothing, before anything is charged; no row is looked at."""
        if not self.parts:
            hide_failure_details(self._ping, charged=False)
            for engine in self._engines_on_path:
                engine.check_alive()
        for part in self.parts:
            if part.engine is not None:
                part.engine.check_alive()

    def statement(self, plan: Plan) -> str:
        """The SQL that computes a plan's totals from the scan and the keys; refuses what the engine cannot do."""
        return self._statements.of(plan) if plan.blocks else ""

    def one_version(self) -> AbstractContextManager[None] | None:
        """None: what other sessions write between two looks is not seen here."""
        return None

    def rank_statements(self, plan: Plan) -> tuple[str, ...]:
        """The SQL of the histograms that a plan's blocks of ranks need."""
        return self._ranked.of(plan) if plan.ranks else ()

    def totals(self, plan: Plan, statement: str | None = None) -> list[NDArray[Any]]:
        """For each block its exact totals, integers of shape (groups, components); int64 where that holds them."""
        written = self.statement(plan) if statement is None else statement
        return blocks_of(plan, hide_failure_details(lambda: self._run_plan(plan, written))) if plan.blocks else []

    def found_groups(self, plan: Plan, statement: str) -> tuple[list[NDArray[np.int64]], list[NDArray[Any]]]:
        """The keys of the groups that have rows, whole numbers, a column each; and for each block their totals."""

        def look() -> tuple[list[NDArray[np.int64]], list[NDArray[Any]]]:
            found = self._run_plan(plan, statement)
            keys = [found[f"{GROUP}{name}"].cast(pa.int64()).to_numpy() for name in plan.query.groups]
            return keys, blocks_of(plan, found)

        return hide_failure_details(look)

    def noisy_totals(self, plan: Plan, statement: str, add_noise: AddNoise) -> list[NDArray[Any]] | None:
        """None: the totals have to come here for their noise."""
        del plan, statement, add_noise
        return None

    def streamed(self, plan: Plan, statement: str, add_noise: AddNoise) -> Generator[list[NDArray[Any]]]:
        """For each block its totals after `add_noise`, in the order of the keys, `ROWS` groups at a time."""
        first = 0
        with closing(self._run_with_noise(plan, statement, add_noise)) as parts:
            for part in of_size(shielded_each(parts)):
                hide_failure_details(partial(_check_places, part, first))
                first += part.num_rows
                yield blocks_of(plan, part)
        hide_failure_details(partial(_check_number, first, plan))

    def _run_with_noise(self, plan: Plan, statement: str, add_noise: AddNoise) -> Generator[pa.Table]:
        """The rows of an answer after `add_noise`, in tables of any size; here, of totals that are all in memory."""
        for part in of_size([self._run_plan(plan, statement)]):
            yield add_noise_to_table(plan, add_noise, part)

    def histograms(self, plan: Plan) -> list[Histogram]:
        """For each block of ranks how much mass each cell of its lattice holds in each group."""
        return [
            read_rank_histogram(hide_failure_details(partial(self._run_plan, plan, written)))
            for written in self.rank_statements(plan)
        ]

    def compiled(self, expression: ir.Table) -> str:
        """The SQL of an expression over the scan; refuses what the engine cannot do."""
        try:
            with unfused():
                return self._to_sql(expression)
        except InvalidQuery:
            raise
        except Exception as problem:  # noqa: BLE001 (Ibis and sqlglot have many classes for what they cannot write)
            found = problem
        raise UnsupportedQuestion(
            f"Expected a question that {self.title} can express, got one that it cannot ({_first_line(found)}).\n"
            "Hint: ask it differently, or have the curator compute or cast the column before it is protected."
        )

    def run_statement(self, declared: Declaration, statement: str) -> pa.Table:
        """The rows of a statement over the scan. They are exact: only a mechanism may see them."""
        return hide_failure_details(lambda: self._run_statement(declared, statement))

    def _statements_of(self, plan: Plan) -> tuple[str, ...]:
        """All statements of a plan."""
        return tuple(one for one in (self.statement(plan), *self.rank_statements(plan)) if one)

    def _with_binary_texts(self, seen: ir.Table) -> str:
        """The SQL of a table whose texts are told apart byte by byte.

        A column of the caller's own database may have a collation that takes 'north' for 'North'. Both listed as keys,
        each of its rows would count in two groups.
        """
        names = {self.identifier(name): dtype.is_string() for name, dtype in seen.schema().items()}
        columns = [f"{self._binary_text(name)} AS {name}" if is_text else name for name, is_text in names.items()]
        found = f"SELECT {', '.join(columns)} FROM ({self.compiled(seen)}) AS {self.identifier('raw')}"  # noqa: S608 (quoted names)
        if self._found_first is None:
            return found
        named = {field.name for field in seen.op().find(ops.Field) if isinstance(field.rel, ops.UnboundTable)}
        rows = self.compiled(self._found_first.select([name for name in self._found_first.columns if name in named]))
        return with_rows_first(rows, found, name=self.identifier(ROWS), fence=self.fence)

    def _find_rows_first(self) -> None:
        """Has the rows of a view, or of steps, found before any condition of ours is tried on them.

        What a view computes of a row that it leaves out may fail: then one such row would make a release fail.
        """
        self._found_first, self._raw = self._raw, ibis.table(self._raw.schema(), name=ROWS)

    def _readable(self, unit: Sequence[str]) -> ir.Table:
        """Its table, without what is no text that the engine can handle; some columns name its unit."""
        del unit
        return self._raw

    def _binary_text(self, written: str) -> str:
        """A text column told apart byte by byte."""
        return f"{written}{self.binary_collation}"

    @classmethod
    def identifier(cls, name: str) -> str:
        """A name as the engine's SQL quotes it."""
        return cls.quote + name.replace(cls.quote, 2 * cls.quote) + cls.quote

    def _check_other_table(self, part: TablePart) -> None:
        """Refuses a table that cannot stand beside this one."""
        self._tables.check_one_connection(self, part)

    @abstractmethod
    def _ping(self) -> None:
        """Has the connection answer, without a row; raises where it cannot."""

    @abstractmethod
    def script(self, plan: Plan) -> str:
        """All that the engine runs for a plan, for people to read."""

    @abstractmethod
    def _to_sql(self, expression: ir.Table) -> str:
        """The SQL of an expression, each of its steps a sub-query."""

    @abstractmethod
    def _run_plan(self, plan: Plan, statement: str) -> pa.Table:
        """What a statement over the scan and a plan's keys finds."""

    @abstractmethod
    def _run_statement(self, declared: Declaration, statement: str) -> pa.Table:
        """What a statement over the scan finds."""


def _first_line(problem: Exception) -> str:
    """What was wrong, of an expression and its types: there are no rows behind it."""
    return next(iter(str(problem).splitlines()), "") or type(problem).__name__


def add_noise_to_table(plan: Plan, add_noise: AddNoise, exact: pa.Table) -> pa.Table:
    """Some rows of an answer after `add_noise`."""
    [batch] = exact.combine_chunks().to_batches()
    return pa.Table.from_batches([add_noise_to_batch(add_noise, widths_of(plan), batch)])


def _check_places(part: pa.Table, first: int) -> None:
    """Sees that each group comes once, at its place: a group that came twice would count its people twice."""
    if not np.array_equal(part[POSITION].to_numpy(), np.arange(first, first + part.num_rows)):
        raise ValueError(first)


def _check_number(found: int, plan: Plan) -> None:
    if found != plan.query.cells:
        raise ValueError(found)
