"""All levels of a path, part by part: in memory is what is above the parts, and one part at a time.

Claim
    `stream` gives the same answers as all levels at once would for the same noise, level by level; its memory grows
    with the number of nodes above the parts and with the largest part, not with the number of leaves.
Requires
    `exact` gives the totals of some neighboring leaves, always of the same rows.
Relies on
    `workloads.hierarchy_least_squares`: what hangs from a node needs no more of the rest than the node's estimate.
Proof
    Parts are what hangs from some neighboring nodes of one level, the *cut*. First each part is measured, from the cut
    down, and its best estimates from below are kept for the nodes of the cut, as are their exact sums. These give the
    sums of the levels above, which are measured then. Least squares on them, with the estimates from below as
    measurements of the cut, gives the estimates of the cut; and with these, part by part, those below it. Noisy totals
    wait on disk in between. Each total of each level gets noise once, of its own mechanism: a node is in one part.
Rounding
    None here.
Source
    As `workloads.hierarchy_least_squares`.
Mutant
    parts-by-themselves: what is known above a part does not reach it; killed by
    test_parts_give_what_all_at_once_gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import InvalidQuery, expected
from discreet.hierarchies.level_answers import Answers, Noisy, Part
from discreet.hierarchies.level_plan import LevelPlan
from discreet.hierarchies.place_keys import Places
from discreet.noise.entropy import RandomWords
from discreet.workloads.hierarchy import Hierarchy

VALUES = 2**21
"""Of a part, where that is possible."""
MOST_VALUES = 2**27
"""Of a part, and of the cut."""

Exact = Callable[[int, int], list[NDArray[Any]]]
"""The exact totals of some neighboring leaves: for each block an array with one row for each."""
Written = tuple[int, int, Answers, int]
"""A level, its first node that is here, the answers, and the level's place among them."""


def cut_of(places: Places) -> int:
    """The highest level of which every node has few enough values below it."""
    cells = places.number_of_cells
    below = [int(own.max()) * cells for own in places.tree.leaves]
    cut = next((level for level, most in enumerate(below) if most <= VALUES), len(below) - 1)
    for most, what in (
        (below[cut], "below one node"),
        (places.tree.sizes[cut] * cells, "on the level above the parts"),
    ):
        if most > MOST_VALUES:
            cure = "put a level between two of the path, or use fewer cells."
            raise InvalidQuery(expected(f"at most {MOST_VALUES:,} values {what}", "path", f"{most:,}", cure))
    return cut


def bounds_of(places: Places, cut: int) -> list[tuple[int, int]]:
    """Neighboring nodes of the cut that make a part, one part after the other."""
    ends = np.cumsum(places.tree.leaves[cut]) * places.number_of_cells
    found, first, done = [], 0, 0
    while first < len(ends):
        end = max(int(np.searchsorted(ends, done + VALUES, side="right")), first + 1)
        found.append((first, end))
        first, done = end, int(ends[end - 1])
    return found


def stream(plan: LevelPlan, exact: Exact, words: RandomWords, folder: Path) -> Iterator[Written]:
    """The answers of all levels, some nodes at a time: from the top down, and each level in the order of its nodes.

    Args:
        plan: which noise each level has.
        exact: asked once for each part.
        words: for the noise.
        folder: where noisy totals wait; nothing else is written there.
    """
    tree, cut = plan.places.tree, cut_of(plan.places)
    parts = bounds_of(plan.places, cut)
    sums: list[NDArray[Any]] = []
    best: list[NDArray[Any]] = []
    for number, (first, end) in enumerate(parts):
        part = Part.below(plan, cut, first, end)
        leaves = exact(tree.first_leaf(cut, first), tree.first_leaf(cut, end))
        totals = [part.tree.sums(own) for own in leaves]
        noisy = add_level_noise(plan, totals, cut, words)
        sums = _filled(sums, [own[0] for own in totals], tree.sizes[cut], first)
        best = _filled(best, [estimates[0] for estimates, _ in part.up(noisy)], tree.sizes[cut], first)
        keep(folder, number, noisy)
        del leaves, totals, noisy
    top = _above(plan, sums, best, cut, words) if cut else None
    del sums, best
    if top is not None:
        for level in range(cut + 1):
            for first in range(0, tree.sizes[level], step := max(VALUES // plan.places.number_of_cells, 1)):
                yield level, first, top.nodes(level, first, first + step), 0
    for number, (first, end) in enumerate(parts):
        part, given = Part.below(plan, cut, first, end), None if top is None else top.nodes(cut, first, end)
        answers = part.down(part.up(kept(folder, number, plan, cut)), given)
        node = first
        for level in range(cut, len(tree.sizes)):
            if top is None or level > cut:
                yield level, node, answers, level - cut
            node = int(tree.starts[level][node]) if level < len(tree.starts) else node


def _filled(held: list[NDArray[Any]], part: list[NDArray[Any]], nodes: int, first: int) -> list[NDArray[Any]]:
    """Arrays of all nodes of the cut, with those of a part, from the first of them on."""
    arrays = held or [np.zeros((nodes, own.shape[1]), dtype=own.dtype) for own in part]
    found = []
    for whole, own in zip(arrays, part, strict=True):
        wide = whole.astype(object) if own.dtype == object and whole.dtype != object else whole
        wide[first : first + len(own)] = own
        found.append(wide)
    return found


def _above(
    plan: LevelPlan, sums: list[NDArray[Any]], best: list[NDArray[Any]], cut: int, words: RandomWords
) -> Answers:
    """The answers of the levels down to the cut, from its exact sums and its best estimates from below."""
    inner = Hierarchy(plan.places.tree.children[:cut])
    noisy = add_level_noise(plan, [inner.sums(own)[:-1] for own in sums], 0, words)
    sums.clear()  # as large as what is made of it
    part = Part.above(plan, cut)
    return part.down(part.up([[*levels, own] for levels, own in zip(noisy, best, strict=True)], estimated=True))


def add_level_noise(plan: LevelPlan, totals: list[list[NDArray[Any]]], level: int, words: RandomWords) -> Noisy:
    """Exact totals of some levels, from one down, with the noise of each."""
    return [
        [
            None if noise is None else noise.add_noise(own, words)
            for noise, own in zip(noises[level : level + len(levels)], levels, strict=True)
        ]
        for noises, levels in zip(plan.noises, totals, strict=True)
    ]


def keep(folder: Path, number: int, noisy: Noisy) -> None:
    """Writes the noisy totals of a part."""
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    for i, levels in enumerate(noisy):
        for place, own in enumerate(levels):
            if own is not None:
                column = pa.array(_narrow(own.reshape(-1)))
                batch = pa.record_batch({str(own.shape[1]): column})
                with pa.ipc.new_stream(str(folder / f"{number}-{i}-{place}"), batch.schema, options=options) as writer:
                    writer.write_batch(batch)


def kept(folder: Path, number: int, plan: LevelPlan, level: int) -> Noisy:
    """Reads them, and removes them."""
    found: list[list[NDArray[Any] | None]] = []
    for i, noises in enumerate(plan.noises):
        found.append([])
        for place, noise in enumerate(noises[level:]):
            if noise is None:
                found[-1].append(None)
                continue
            file = folder / f"{number}-{i}-{place}"
            with pa.ipc.open_stream(file.read_bytes()) as reader:
                table = reader.read_all()
            [width] = table.column_names
            found[-1].append(table[width].to_numpy().reshape(-1, int(width)))
            file.unlink()
    return found


def _narrow(values: NDArray[Any]) -> NDArray[Any]:
    """The same numbers in the smallest type that holds them; reals where none does."""
    if values.dtype == object:
        return values.astype(np.float64)
    return values.astype(np.result_type(np.min_scalar_type(values.min()), np.min_scalar_type(values.max())))
