"""Record and replay: one run on a table, and the same run, with the same noise, on its neighbors.

Claim
    A finding of kind "control flow", "parameter", "surface" or "error" is something that can be seen from outside, was
    the same function of chance in both runs, and differs: it shows of the rows what no mechanism has blurred. A finding
    of kind "sensitivity" is a pair of neighbors for which a mechanism's stated sensitivity is too small.
Requires
    A pipeline that does the same for the same rows and the same chance; where it does not, that is what is reported.
Relies on
    `recording`: a replayed call gets the recorded output. `adjacency`: the distance that each mechanism's promise is
    about.
Proof
    The replayed run is a run that can occur on the neighbor: the noise of each mechanism reaches every output. Given
    the outputs, what a sound pipeline shows is a function of them, so it is the same in both runs.
Rounding
    Distances in exact fractions, compared with a slack of one in 10^9.
Source
    Cebere, Erb, Desfontaines, Bellet, Fitzsimons, "Re:cord-play" (2026).
Mutant
    outputs-not-frozen: the replay draws anew; killed by test_a_sound_pipeline_passes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import pyarrow as pa

from discreet.audit.compare_runs import Claim, findings, seeds, unrepeatable
from discreet.audit.data_flow import Trace
from discreet.audit.fault_origins import Runs, placed
from discreet.audit.neighbor_tables import Neighbor, neighbors
from discreet.audit.pipelines import Function, Pipeline, Run
from discreet.audit.recording import Call
from discreet.audit.report import Finding, Report, worst
from discreet.audit.table_files import read
from discreet.audit.visible_output import ERROR
from discreet.audit.worst_neighbor import search_worst_neighbor
from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import fraction, positive
from discreet.privacy.definitions import Row

BLIND = (
    "tables other than these, and other outputs of chance than the recorded ones",
    "time, memory, network, and files outside the pipeline's folder",
    "whether a mechanism draws the noise that it says (audit.sampled and audit.exact look at that)",
    "chance that is neither discreet's, NumPy's nor Python's",
)


def replay(
    pipeline: Callable[[Any], Any] | Pipeline,
    data: Any,
    *,
    unit: Any = None,
    epsilon: Any = None,
    delta: Any = 0,
    neighbors: str = "add-remove",
    tries: int = 0,
) -> Report:
    """Runs a pipeline on a table and on its worst neighbors, with the same noise, and reports what differs.

    Args:
        pipeline: a function of one table; or what `script`, `notebook` and `statement` make.
        data: the table: Arrow, pandas, polars, or a path. The function gets tables of the same kind.
        unit: the column, or columns, that name who is protected; `dp.ROW` where each row is a unit.
        epsilon: what all outputs together are meant to cost; left out, the total is not held against anything.
        delta: likewise.
        neighbors: "add-remove" or "replace-one".
        tries: how many neighbors more a search makes from the worst ones.

    Use made-up or public rows: the report tells which of them gave a fault away.

    Raises:
        InvalidParameter: there is no such column, or the pipeline fails on the table as it is.

    >>> import discreet as dp
    >>> table = pa.table({"person": [1, 2, 3], "spent": [5.0, 20.0, 900.0]})
    >>> def total(rows):
    ...     return dp.Laplace(sensitivity=100, epsilon=1).release(float(pa.compute.sum(rows["spent"]).as_py()))
    >>> report = replay(total, table, unit="person")
    >>> report.ok, report.findings[0].kind
    (False, 'sensitivity')
    """
    table = read(data)
    columns = _unit(unit)
    claim = _claim(epsilon, delta)
    made = pipeline if isinstance(pipeline, Pipeline) else Function(name=_name(pipeline), function=pipeline, like=data)
    chosen = _neighbors(table, columns, neighbors)
    recorded = _sound(made.run(table))
    again = made.run(table, recorded.recorder.calls)
    unstable = tuple(recorded.shown.different(again.shown))
    if (fault := unrepeatable(recorded, again)) is not None:
        return _report(made, [fault], recorded, chosen)
    audit = _Audit(made, table, recorded, unstable, claim)
    found = [*seeds(recorded), *(one for neighbor in chosen for one in audit.of(neighbor))]
    if tries:
        more = search_worst_neighbor(table, chosen, columns, audit.badness, tries)
        chosen = [*chosen, *more]
        found += [one for neighbor in more for one in audit.of(neighbor)]
    placed = worst([audit.placed(one) for one in worst(found)])
    return _report(made, list(placed), recorded, chosen, audit)


class _Audit:
    """One recorded run, with which each neighbor's run is compared."""

    def __init__(
        self, pipeline: Pipeline, table: pa.Table, recorded: Run, unstable: tuple[str, ...], claim: Claim | None
    ) -> None:
        self._pipeline, self._table, self._recorded = pipeline, table, recorded
        self.unstable, self._claim = unstable, claim
        self._by_words: dict[str, pa.Table] = {}
        self._runs: Runs | None = None
        self.moved: dict[int, float] = {}
        """By how much the input of each call has moved at most."""

    def _replayed(self, neighbor: Neighbor) -> Run:
        return self._pipeline.run(neighbor.data, self._recorded.recorder.calls)

    def of(self, neighbor: Neighbor) -> list[Finding]:
        """The findings of a neighbor."""
        self._by_words[neighbor.words] = neighbor.data
        run = self._replayed(neighbor)
        for i, (one, other) in enumerate(zip(self._recorded.recorder.calls, run.recorder.calls, strict=False)):
            apart = one.metric.distance(one.value, other.value)
            self.moved[i] = max(self.moved.get(i, 0.0), apart)
        return findings(self._recorded, run, self.unstable, self._claim, neighbor.words)

    def badness(self, neighbor: Neighbor) -> float:
        """The size of a neighbor's violation, or how close it is to one; the search maximizes it."""
        run = self._replayed(neighbor)
        shares = [0.0]
        for one, other in zip(self._recorded.recorder.calls, run.recorder.calls, strict=False):
            apart, cost = (
                one.metric.distance(one.value, other.value),
                one.metric.cost(one.value, other.value),
            )
            shares.append(apart / one.metric.declared if one.metric.declared else cost.epsilon + cost.mu)
        return max(shares) + (1.0 if run.shown.diverged else 0.0)

    def placed(self, finding: Finding) -> Finding:
        """A finding with the line that caused it, if it can be found."""
        if not finding.is_violation or finding.neighbor not in self._by_words:
            return finding
        number = list(self._by_words).index(finding.neighbor)
        return placed(finding, number, self._runs or self._made_again())

    def _made_again(self) -> Runs:
        tables = list(self._by_words.values())

        def run(number: int | None, calls: Sequence[Call] | None, trace: Trace) -> Run:
            return self._pipeline.run(self._table if number is None else tables[number], calls, trace.on)

        self._runs = Runs(
            neighbors=len(tables),
            replayed=lambda number, trace: run(number, self._recorded.recorder.calls, trace),
            free=lambda number, trace: run(number, None, trace),
        )
        return self._runs


def _report(
    pipeline: Pipeline,
    found: list[Finding],
    recorded: Run,
    chosen: list[Neighbor],
    audit: _Audit | None = None,
) -> Report:
    unstable = audit.unstable if audit else ()
    moved = audit.moved if audit else {}
    calls = recorded.recorder.calls
    rows = [
        {
            "line": str(call.place), "call": call.name, "shape": str(call.shape),
            "moved at most": moved.get(i, 0.0), "stated sensitivity": call.metric.declared or "none",
        }
        for i, call in enumerate(calls)
    ]  # fmt: skip
    tried = {
        "neighbors": len(chosen), "calls of chance compared": len(calls),
        "surfaces compared": ", ".join(name for name in recorded.shown.pieces if name not in unstable) or "none",
    }  # fmt: skip
    blind = (f"{', '.join(unstable)}: not the same twice on the same rows", *BLIND) if unstable else BLIND
    if not calls:
        blind = ("any mechanism: the run called none that is known here", *blind)
    used = [moved.get(i, 0.0) / call.metric.declared for i, call in enumerate(calls) if call.metric.declared]
    strain = max([*used, *(max(one.size, 1.0) for one in found if one.is_violation)], default=0.0)
    return Report(
        title=f"Replay of {pipeline.name}",
        findings=tuple(found),
        tried=tried,
        blind=blind,
        rows=tuple(rows),
        strain=strain,
    )


def _neighbors(table: pa.Table, unit: tuple[str, ...], kind: str) -> list[Neighbor]:
    return neighbors(table, unit, kind=kind)


def _unit(unit: Any) -> tuple[str, ...]:
    if unit is None:
        cure = 'name the column that tells who is protected, as unit="person", or unit=dp.ROW for each row.'
        raise InvalidParameter(expected("a unit", "unit", unit, cure))
    if isinstance(unit, Row):
        return ()
    return (unit,) if isinstance(unit, str) else tuple(unit)


def _claim(epsilon: Any, delta: Any) -> Claim | None:
    if epsilon is None:
        return None
    part = fraction("delta", delta)
    if not Fraction(0) <= part < 1:
        raise InvalidParameter(expected("a delta from 0 to below 1", "delta", delta, "write a small number."))
    return Claim(epsilon=float(positive("epsilon", epsilon)), delta=float(part))


def _name(pipeline: Any) -> str:
    return str(getattr(pipeline, "__name__", type(pipeline).__name__))


def _sound(run: Run) -> Run:
    if ERROR in run.shown.pieces:
        text, place = run.shown.pieces[ERROR][0]
        cure = f"it failed at {place}; make it run on these rows first."
        raise InvalidParameter(expected("a pipeline that runs on its table", "error", text, cure))
    return run
