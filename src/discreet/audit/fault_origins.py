"""Names the line where a fault came about, which often stands above the one where it shows.

Claim
    A line is named only for what the runs have in common with it: a value that in every run is what the mechanism was
    given or told, a fact given to discreet that is not the same, a line after which one run goes on to the call and
    the other does not, or the first value that is made of both noise and rows.
Requires
    Traces of runs with the same chance; for the number of calls, of runs that nothing stopped.
Relies on
    `data_flow.Trace`: what each line made, and in which order lines ran.
Proof
    By comparison with all neighbors: what is equal only by accident on one is not on the others. Where the runs
    do not single out a line, none is named.
Rounding
    None: values are compared as they are.
Source
    Ours: runs of the same chance on neighbors, and what differs first.
Mutant
    only-where-it-differs: runs like the first are left out; killed by test_a_table_as_long_as_its_groups_is_not_named.
    names-of-runs-are-blamed: what changes by itself is taken for a fault; killed by
    test_what_discreet_is_given_is_named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any

from discreet.audit.code_locations import Place
from discreet.audit.data_flow import Argument, Step, Trace, TracedValue
from discreet.audit.pipelines import Run
from discreet.audit.recording import Call
from discreet.audit.report import Finding
from discreet.audit.visible_output import ERROR
from discreet.exact.written_amounts import stored_amount

CUT = 60


@dataclass(frozen=True)
class Traced:
    """A run and its trace."""

    run: Run
    trace: Trace


Pair = tuple[Traced, Traced]
Origin = tuple[Place, str] | None
"""A line, and words for what came about there."""


@dataclass(frozen=True)
class Runs:
    """How the runs of an audit are made again: on the table itself, for none, and on its neighbors, by their number."""

    neighbors: int
    replayed: Callable[[int | None, Trace], Run]
    """With the recorded chance."""
    free: Callable[[int | None, Trace], Run]
    """With other chance."""

    made: dict[tuple[int | None, int | None, bool], list[Traced]] = field(default_factory=dict)

    def all(self, until: int | None = None, facts: int | None = None, *, replayed: bool = True) -> list[Traced]:
        """All of them, the one on the table first; see `Trace` for where they may end."""
        key = until, facts, replayed
        if key not in self.made:
            traced = []
            for number in (None, *range(self.neighbors)):
                trace = Trace(until, facts)
                traced.append(Traced((self.replayed if replayed else self.free)(number, trace), trace))
            self.made[key] = [one for one in traced if ERROR not in one.run.shown.pieces]
        return self.made[key]


def placed(finding: Finding, number: int, runs: Runs) -> Finding:
    """A finding, with the line where it came about, if that can be told; `number` is that of its neighbor."""
    second = Trace()
    other = runs.replayed(number, second)
    first = Trace(len(other.recorder.calls) if other.shown.diverged is not None else None)
    pair = Traced(runs.replayed(None, first), first), Traced(other, second)
    if finding.kind != "error" and any(ERROR in one.run.shown.pieces for one in pair):
        return finding
    found = _given(pair, runs) or _stated(finding, pair, runs)
    if found is None and finding.kind == "control flow":
        found = _counted(pair, runs) or _parted(pair)
    if found is None and finding.kind == "surface":
        by_chance = Trace()
        runs.free(None, by_chance)
        found = _meeting(first, second, by_chance)
    if found is None or found[0] == finding.place:
        return finding
    place, words = found
    if not finding.place.line:
        return replace(finding, place=place, message=f"{words}. {finding.message}")
    line = f"line {finding.place.line}" if place.file == finding.place.file else str(finding.place)
    return replace(finding, place=place, seen=finding.place, message=f"{words}. It shows in {line}: {finding.message}")


def _given(pair: Pair, runs: Runs) -> Origin:
    """The first fact given to discreet that differs, and the variable that it comes from."""
    own, others = pair[0].trace.arguments, pair[1].trace.arguments
    changing: set[int] | None = None
    for i, (one, other) in enumerate(zip(own, others, strict=False)):
        if _where(one) != _where(other):
            return None
        if one.value == other.value:
            continue
        changing = _changing(own, runs) if changing is None else changing
        if i not in changing:
            return _source(i, one, other, runs)
    return None


def _changing(given: Sequence[Argument], runs: Runs) -> set[int]:
    """Those that are not the same twice for the same rows: the time, the folder of a run."""
    again = Trace()
    runs.replayed(None, again)
    return {i for i, (one, other) in enumerate(zip(given, again.arguments, strict=False)) if one != other}


def _source(number: int, one: Argument, other: Argument, runs: Runs) -> Origin:
    """The variable that an argument comes from; its own line where there is none."""
    lists = [(traced.trace, traced.trace.arguments[number:]) for traced in runs.all(facts=number)]
    wanted = [(trace, rest[0].value.text) for trace, rest in lists if rest and _where(rest[0]) == _where(one)]
    values = f"{_cut(one.value.text)} for one table and {_cut(other.value.text)} for its neighbor"
    found = _first(wanted, lambda value: value.text)
    if found is None:
        return one.place, f"what {one.function} is given as {one.name} is {values}"
    return found[0], f"`{found[1]}`, given to {one.function} in line {one.place.line}, is {values}"


def _where(argument: Argument) -> tuple[Place, str, str]:
    return argument.place, argument.function, argument.name


def _stated(finding: Finding, pair: Pair, runs: Runs) -> Origin:
    """The variable that a mechanism's parameter comes from."""
    if finding.kind != "parameter":
        return None
    calls = zip(pair[0].run.recorder.calls, pair[1].run.recorder.calls, strict=False)
    for i, (one, other) in enumerate(calls):
        names = [name for name in one.stated if one.stated[name] != other.stated.get(name)]
        if names and one.place == finding.place:
            told = [(traced.trace, traced.run.recorder.calls[i:]) for traced in runs.all(i)]
            wanted = [(trace, _amount(after[0].stated.get(names[0], ""))) for trace, after in told if after]
            found = _first(wanted, lambda value: value.text)
            values = f"{_cut(one.stated[names[0]])} for one table and {_cut(other.stated[names[0]])} for its neighbor"
            return (found[0], f"`{found[1]}` is {values}") if found else None
    return None


def _amount(text: str) -> str:
    """A number as `content` has it."""
    try:
        return str(stored_amount(text))
    except ValueError:
        return text


def _counted(pair: Pair, runs: Runs) -> Origin:
    """The first variable that has in every run as many entries as there are calls, or values in the call."""
    divergence, done = pair[1].run.shown.diverged, len(pair[1].run.recorder.calls)
    if divergence is None:
        return None
    recorded, met = divergence.recorded, divergence.met
    if recorded is not None and met is not None:
        lengths = _lengths(recorded), _lengths(met)
        axes = [i for i, sizes in enumerate(zip(*lengths, strict=False)) if sizes[0] != sizes[1]]
        if (recorded.name, recorded.place) != (met.name, met.place) or len(axes) != 1:
            return None
        wanted = [(one.trace, size) for one in runs.all(done) if (size := _size(one.run, done, axes[0])) is not None]
    else:
        extra = met or recorded
        wanted = [(one.trace, _calls(one.run, extra)) for one in runs.all(replayed=False)]
        if max(size for _, size in wanted) < 2:  # how often something that happens once at most says nothing
            return None
    found = _first(wanted, lambda value: value.count)
    if found is None:
        return None
    place, name = found
    one, other = (traced.trace.last.get(found) for traced in pair)
    if one is None or other is None or all(value.count == times for value, times in (one, other)):
        return _parted(pair, place)  # one entry each time: what matters is how often
    return place, f"`{name}` has {one[0].count} entries for one table and {other[0].count} for its neighbor"


def _size(run: Run, index: int, axis: int) -> int | None:
    """How long the input of a call was, the one at which a run was stopped included."""
    met = run.shown.diverged.met if run.shown.diverged is not None else None
    calls = [*run.recorder.calls, *([met] if met is not None else [])]
    lengths = _lengths(calls[index]) if index < len(calls) else ()
    return lengths[axis] if axis < len(lengths) else None


def _lengths(call: Call) -> tuple[int, ...]:
    """How long the input of a call is, or how many numbers it asks for."""
    asked = call.stated.get("size", "")
    return call.shape or ((int(asked),) if asked.isdigit() else ())


def _calls(run: Run, like: Call | None) -> int:
    return sum(like is not None and (call.name, call.place) == (like.name, like.place) for call in run.recorder.calls)


def _first(wanted: Sequence[tuple[Trace, Any]], of: Callable[[TracedValue], Any]) -> tuple[Place, str] | None:
    """The first line and variable that has in each trace what is wanted of it, if that is not always the same."""
    if len({value for _, value in wanted}) < 2:
        return None
    for place, name in wanted[0][0].last:
        held = [(trace.last.get((place, name)), value) for trace, value in wanted]
        if all(found is not None and of(found[0]) == value for found, value in held):
            return place, name
    return None


def _parted(pair: Pair, target: Place | None = None) -> Origin:
    """The line after which one run goes on to a call, or to a line, and the other does not."""
    divergence = pair[1].run.shown.diverged
    if divergence is None:
        return None
    longer, shorter = (one.trace for one in (reversed(pair) if divergence.met is not None else pair))
    path = longer.path
    if target is not None:
        longer, shorter = sorted((longer, shorter), key=lambda trace: -_ran(trace, target))
        path = longer.path[: [step for step, _ in longer.path].index((target, _ran(shorter, target) + 1)) + 1]
    step = _last_common(path, longer.parents, {step for step, _ in shorter.path})
    if step is None:
        return None
    place = step[0] if target is not None else _left(shorter, step, _turns(path))
    return place, "which lines run after this one depends on the rows"


def _last_common(path: Sequence[tuple[Step, int]], parents: Mapping[int, int], both: AbstractSet[Step]) -> Step | None:
    """The last step of a path that another run has too, in the frame of the next, which that run has not."""
    last = max((i for i, (step, _) in enumerate(path) if step in both), default=None)
    if last is None or last + 1 == len(path):
        return None
    frame = path[last + 1][1]
    while frame:
        for step, number in reversed(path[: last + 1]):
            if number == frame and step in both:
                return step
        frame = parents.get(frame, 0)
    return None


def _turns(path: Sequence[tuple[Step, int]]) -> set[tuple[Place, Place]]:
    """Which line follows which within a frame."""
    before: dict[int, Place] = {}
    result = set()
    for (place, _), frame in path:
        if frame in before:
            result.add((before[frame], place))
        before[frame] = place
    return result


def _left(trace: Trace, step: Step, known: AbstractSet[tuple[Place, Place]]) -> Place:
    """The first line from a step on after which a run turns as the other never did."""
    start = [one for one, _ in trace.path].index(step)
    frame, place = trace.path[start][1], step[0]
    for (following, _), number in trace.path[start + 1 :]:
        if number == frame:
            if (place, following) not in known:
                return place
            place = following
    return step[0]


def _ran(trace: Trace, place: Place) -> int:
    return max((times for (where, times), _ in trace.path if where == place), default=0)


def _meeting(first: Trace, second: Trace, other_chance: Trace) -> Origin:
    """The first line that made something of both noise and rows, as in ``noisy_total / len(rows)``."""
    for step, changed in first.made.items():
        on_neighbor, with_others = second.made.get(step), other_chance.made.get(step)
        if on_neighbor is None or with_others is None:
            continue
        for name, text in changed.items():
            if text not in (on_neighbor.get(name, text), with_others.get(name, text)):
                what = "what is returned here" if name == "return" else f"`{name}`"
                return step[0], f"{what} is made of noise and, past the noise, of the rows"
    return None


def _cut(text: str) -> str:
    return text if len(text) <= CUT else f"{text[:CUT]}..."
