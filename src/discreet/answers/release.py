"""The answer: noisy values with their error bars and the receipt that says what was promised."""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import ibis
import ibis.expr.operations as ops
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.answers.display import html, table_text
from discreet.answers.receipt import Receipt
from discreet.answers.report_tables import pivoted, rounded
from discreet.answers.run_post_processing import CELL, Processed, ends_at
from discreet.answers.table_exports import TableExports
from discreet.errors import InvalidParameter, InvalidQuery, NoTruth, expected, nearest_name
from discreet.exact.cached_property import cached_property
from discreet.exact.given_values import flag
from discreet.guesses.answer_words import ANSWER
from discreet.guesses.calculations import NoArithmetic
from discreet.guesses.misfit_calls import with_usage_hint
from discreet.guesses.near_names import NearNames
from discreet.inference.estimate import Estimate, estimates
from discreet.inference.interval_propagation import HIGH, LOW, CalculatedInterval
from discreet.inference.post_processing import AfterNoise, Processing
from discreet.planning.plan import Plan
from discreet.planning.planner import level
from discreet.plots.error_bars import Panel, as_floats, bars_figure, intervals_figure

if TYPE_CHECKING:
    import os

    from matplotlib.figure import Figure


KINDS = ("auto", "points", "bars")
BIN = re.compile(r"\[.+, .+[\])]|(<=|<|>=) .+")
"""How `.cut` and `.histogram` name a bin."""


def answer_table(keys: Mapping[str, Any], found: Mapping[str, Estimate]) -> pa.Table:
    """Keys, values and ends, as an answer shows them: no value where its interval is all that was possible before."""
    columns: dict[str, Any] = dict(keys)
    for name, estimate in found.items():
        values = pa.array(estimate.values, mask=estimate.untold)
        columns |= {name: values, f"{name}{LOW}": estimate.low, f"{name}{HIGH}": estimate.high}
    return pa.table(columns)


def truths(truth: object) -> Mapping[Any, Any]:
    """Exact values to draw beside answers, by name."""
    if truth is not None and not isinstance(truth, Mapping):
        cure = "give them by name: truth={'visits': values}, and only where the data are public."
        raise InvalidParameter(expected("a dict of exact values", "truth", truth, cure))
    return truth or {}


class Release(AfterNoise, TableExports, NearNames, NoArithmetic, NoTruth):
    """A noisy answer plus the receipt of what paid for it. Whatever is computed from it keeps its promise.

    Columns: the group keys, and ``x``, ``x_low``, ``x_high`` for each aggregate x. The ends hold the exact answer for
    the bounded and weighted population with the stated confidence, for each cell on its own: they speak of the noise
    alone, not of sampling, clipping or weighting.

    >>> import pyarrow as pa
    >>> import discreet as dp
    >>> visits = pa.table({"person": [1, 1, 2], "visits": [3, 5, 4]})
    >>> table = dp.protect(visits, unit="person", budget=dp.Budget(epsilon=1), name="visits")
    >>> answer = table.agg(persons=lambda t: t.person.nunique()).release(epsilon=1)
    >>> answer.to_pyarrow().column_names
    ['persons', 'persons_low', 'persons_high']
    """

    _ask: ClassVar[str] = "ask for a column, answer['n'], or for its length, len(answer)."
    _instead: ClassVar[Mapping[str, str]] = ANSWER
    _calculation = "write answer['n'] + 1 for its values, or answer.mutate(rate=_.a / _.n) with its interval."

    def __init__(self, plan: Plan, totals: list[NDArray[Any]], facts: Mapping[str, Any], confidence: float) -> None:
        self._plan = plan
        self._totals = totals
        self._receipt = Receipt(facts)
        self._confidence = confidence
        self._estimates = estimates(plan, totals, confidence)
        self._shown: pa.Table = self._table(self._estimates)
        self._cells: NDArray[np.int64] | None = None
        """Which groups are left, in which order, after steps."""

    def _steps(self) -> Processing:
        return self._processing

    @cached_property
    def _processing(self) -> Processing:
        """The steps so far: none, until one is asked for."""
        kinds = {field.name: ibis.dtype(field.type) for field in self._shown.schema}
        return Processing.of(kinds, self._keys(), self._estimates)

    def _handed(self, processing: Processing, verb: str, /, *arguments: Any, **named: Any) -> Release:
        del verb, arguments, named
        done = len(self._processing.steps)
        table = Processed(self._shown, self._plan, self._totals, self._confidence, self._cells).after(processing, done)
        answer = copy(self)
        answer._show(processing, table)  # noqa: SLF001 (its own copy)
        return answer

    def _show(self, processing: Processing, table: pa.Table) -> None:
        self._processing, self._shown, self._cells = processing, table.drop([CELL]), table[CELL].to_numpy()

    def head(self, n: int = 5) -> Release:
        """The first rows of the answer."""
        return self.limit(n)

    @property
    def receipt(self) -> Receipt:
        """What was promised and how it was kept: plan, unit, neighbors, sensitivities, mechanism, scale, charge,
        versions. A copy, ready for JSON.
        """
        steps = [step.text for step in self._processing.steps]
        return Receipt.of(self._receipt, **({"processing": steps} if steps else {}))

    @property
    def report(self) -> dict[str, Any]:
        """What ``release(report=...)`` asked for: shares of the units that bounds and limits made a difference to."""
        found: dict[str, Any] = self.receipt.get("report", {})
        return found

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of the keys."""
        return self._processing.keys

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the aggregates."""
        return tuple(self._processing.values)

    def __len__(self) -> int:
        return self._plan.query.cells if self._cells is None else len(self._cells)

    def __iter__(self) -> NoReturn:
        cure = "its columns are in answer.columns; answer.to_pandas() has its rows."
        raise InvalidQuery(f"Expected a column or a frame, got a loop over an answer.\nHint: {cure}")

    def __getitem__(self, name: str) -> NDArray[Any]:
        """The values of one aggregate, one for each group in the stated order; NaN where the answer tells of none."""
        if not isinstance(name, str) or name not in self.columns:
            held = isinstance(name, str) and name in self._shown.column_names
            cure = f"write answer.to_pandas()[{name!r}]." if held else nearest_name(name, self.columns)
            raise InvalidParameter(expected("a column of the answer", "column", name, cure))
        if self._cells is None and self._estimates[name].untold is None:
            return self._estimates[name].values
        values: NDArray[Any] = self._shown[name].to_numpy()
        return values

    def _line_for(self, name: str) -> str:
        if "_shown" in vars(self) and name in self._shown.column_names:
            return f"write answer[{name!r}]." if name in self.columns else f"write answer.to_pandas()[{name!r}]."
        return super()._line_for(name)

    def _keys(self) -> dict[str, pa.Array]:
        keys = self._plan.query.keys
        if keys is None:
            return {}
        return {name: column.combine_chunks() for name, column in zip(keys.names, keys.to_arrow().columns, strict=True)}

    def _table(self, found: dict[str, Estimate]) -> pa.Table:
        return answer_table(self._keys(), found)

    @with_usage_hint(".intervals(confidence=0.9)")
    def intervals(self, confidence: float = 0.95, *, simultaneous: bool = False) -> pa.Table:
        """Values and ends at another confidence, for nothing: per cell, or with `simultaneous` for all cells and
        columns at once.

        Simultaneous intervals share the probability of a miss equally among cells and columns (Bonferroni).
        """
        wanted = level(confidence)
        if flag(
            "simultaneous", simultaneous
        ):  # over all groups of the answer, since the rows that are left were picked for their values
            wanted = 1 - (1 - wanted) / max(1, self._plan.query.cells * max(len(self._estimates), len(self.columns)))
        found = estimates(self._plan, self._totals, wanted)
        if self._cells is None:
            return self._table(found)
        table = self._shown
        for name in self._processing.ended:
            op = self._processing.values[name]
            if isinstance(op, ops.Field):
                ends = np.asarray(found[op.name].low)[self._cells], np.asarray(found[op.name].high)[self._cells]
            else:
                carried = CalculatedInterval(op, self._plan, self._totals)
                ends = ends_at(carried, table[name], self._cells, wanted)
            for end, values in zip((LOW, HIGH), ends, strict=True):
                place = table.column_names.index(f"{name}{end}")
                table = table.set_column(place, f"{name}{end}", pa.array(values))
        return table

    def to_pyarrow(self) -> pa.Table:
        """Keys, values and ends as an Arrow table."""
        return self._shown

    @with_usage_hint(".pivot('plan', 'n')")
    def pivot(self, columns: str, *values: str, ends: bool = False) -> pa.Table:
        """One row for each tuple of the other keys, and one column for each value of the key `columns`.

        `values` names the aggregates, the first where none is named; with `ends`, their intervals go along.

        >>> from discreet.testing import people
        >>> table = people().cut("age", [0, 18, 65, 110])
        >>> answer = table.group_by("age_bin", "plan").agg(n=lambda t: t.count()).release(epsilon=1)
        >>> answer.pivot("plan").column_names
        ['age_bin', 'free', '25%', '50%']
        """
        wanted = list(values or self.columns[:1])
        for name in wanted:
            if name not in self.columns:
                raise InvalidParameter(
                    expected("a column of the answer", "values", name, nearest_name(name, self.columns))
                )
        with_ends = flag("ends", ends)
        every = [f"{name}{end}" for name in wanted for end in ("", *((LOW, HIGH) if with_ends else ()))]
        shown = self.to_pyarrow()
        return pivoted(shown, self.groups, columns, [name for name in every if name in shown.column_names])

    @with_usage_hint(".rounded(0)")
    def rounded(self, digits: int | None = 0, *, nonnegative: bool = True) -> pa.Table:
        """The table for a report: values to so many digits, low ends rounded down and high ends up; and, `nonnegative`,
        none below 0 where the exact one cannot be: counts, and sums of what is never negative.

        The ends still hold the exact answer as often as before. Sums of many cells are better taken from the answer
        itself: values that were moved up to 0 are too large on average.

        >>> from discreet.testing import people
        >>> answer = people().filter(lambda t: t.age > 109).count().release(epsilon=1)
        >>> shown = answer.rounded(-1)
        >>> shown["count_low"].to_pylist(), shown["count"][0].as_py() % 10
        ([0], 0)
        """
        positive = {name: self._never_negative(op) for name, op in self._processing.values.items()}
        lowest = flag("nonnegative", nonnegative)
        return rounded(self.to_pyarrow(), self.columns, digits=digits, positive=positive, nonnegative=lowest)

    def _never_negative(self, op: ops.Node) -> bool:
        """Whether a column is a count, or a sum of what cannot be below 0, as bounds say."""
        for column in self._plan.columns:
            asked = column.aggregate
            if isinstance(op, ops.Field) and asked.name == op.name:
                interval = None if asked.value is None else asked.value.interval
                return asked.statistic.counts or (interval is not None and interval.low >= 0 and column.linear)
        return False

    @with_usage_hint(".plot('n', path='answer.png')")
    def plot(
        self,
        *columns: str,
        kind: str = "auto",
        ax: object = None,
        path: str | os.PathLike[str] | None = None,
        truth: Mapping[str, NDArray[Any]] | None = None,
    ) -> Figure:
        """A figure of values and error bars, one panel for each named aggregate (all of them by default).

        `kind` is "points", or "bars", which is what a histogram gets by itself. `ax` draws in axes of yours, as many as
        columns; `path` saves the figure. `truth` has exact values to draw beside the answers, where the data are
        public.
        """
        true = truths(truth)
        shown = self.to_pyarrow().to_pydict()
        rows = zip(*(shown[name] for name in self.groups), strict=True) if self.groups else [("all",)] * len(self)
        names = [" · ".join("NULL" if key is None else str(key) for key in row) for row in rows]
        panels = []
        ended = [name for name in self.columns if name in self._processing.ended]
        for name in columns or ended:
            if not isinstance(name, str) or name not in self.columns:
                known = nearest_name(name, self.columns)
                raise InvalidParameter(expected("a column of the answer", "column", name, known))
            if name not in ended:
                known = nearest_name(name, ended)
                raise InvalidParameter(expected("a column that has an interval", "column", name, known))
            values, low, high = (as_floats(shown[f"{name}{end}"]) for end in ("", LOW, HIGH))
            panels.append(Panel(name, values, low, high, None if name not in true else np.asarray(true[name])))
        figure = bars_figure if self._kind(kind) == "bars" else intervals_figure
        return figure(names, panels, caption=self._caption(), by=" · ".join(self.groups), ax=ax, path=path)

    def _kind(self, stated: str) -> str:
        """Points or bars; bars by itself where the only keys are bins, which are public."""
        if not isinstance(stated, str) or stated not in KINDS:
            raise InvalidParameter(expected(f"one of {', '.join(KINDS)}", "kind", stated, nearest_name(stated, KINDS)))
        if stated != "auto" or len(self.groups) != 1:
            return stated
        keys = self._keys()[self.groups[0]].to_pylist() if self.groups[0] in self._keys() else []
        bins = [key for key in keys if isinstance(key, str) and BIN.fullmatch(key)]
        return "bars" if len(bins) > 1 and len(bins) >= len(keys) - 1 else "points"

    def _caption(self) -> str:
        cost = f"{self._receipt.cost}{self._receipt.warning}"
        return f"{100 * self._confidence:.6g}% intervals (noise only) · {cost}"

    def __repr__(self) -> str:
        return table_text(self.to_pyarrow(), self.columns, self._caption())

    def _repr_html_(self) -> str:
        return html(self.to_pyarrow(), self.columns, self._caption())
