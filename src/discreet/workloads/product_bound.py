"""The least error of queries that are products along attributes, over domains that are too large to be written out.

Claim
    For units that add 1 to one cell: `least_of_products` is a lower bound of the weighted sum of the variances of all
    queries, for any Gaussian mechanism at rho = 1/2 that measures linear sums of cells.
Requires
    Sums of products that are positive semi-definite.
Relies on
    Floating-point linear algebra: a figure to show, on which no proof of privacy rests.
Proof
    With G the sum of products of all queries and weights v >= 0 of the cells, tr((V^1/2 G V^1/2)^1/2)^2 / sum v is a
    lower bound (`workloads.ordered_queries`); v = 1 gives Li and Miklau's. Let v be a product along the attributes,
    constant along those that are asked for their values alone. There the values have two eigenspaces that all tables
    share, the constant and the rest; so G falls into one block for each set B of such attributes. In a block, V^1/2 G
    V^1/2 is a sum of products M_S M_S^T, along the other attributes of a root of V^1/2 G_S V^1/2, or of the column of
    roots of v where S leaves the attribute out. Its eigenvalues beside 0 are those of the matrix of all M_S^T M_T,
    which is as large as the tables, not as the domain. Where even that is too large, `workloads.pinched_bound` has a
    bound of each trace.
Rounding
    Floats.
Source
    Li and Miklau, "Optimal error of query sets under the differentially-private matrix mechanism" (2013).
Mutant
    blocks-once: a block is counted once, whatever the dimension of what it stands for; killed by
    test_the_bound_of_products_is_that_of_all_rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from discreet.workloads.axis_splits import cell_weights
from discreet.workloads.cell_tables import Axes, CellTable, Reals
from discreet.workloads.pinched_bound import closure, least_of_pinched

WORK = 2**35
"""Of the cube of the rows of the matrix whose eigenvalues are taken, times blocks, times weights: some seconds."""
MIXES = (0.0, 0.3, 3.0)
PINCHED = 2.0**32
"""The work of a bound from fewer rows: some seconds."""
MOST_PAIRS = 2**20
"""Of blocks and tables."""

Squares = tuple[Reals | None, ...]
Asked = tuple[Axes, Squares, float]
"""The axes of some tables, what is asked along each, and the weight of it."""
Product = tuple[float, tuple[Reals | None, ...]]
"""A weight, and along each mapped axis a root; None where tables leave it out."""


def least_of_products(
    sizes: Sequence[int], tables: Sequence[CellTable], squares: Sequence[Squares], *, work: float = PINCHED
) -> float | None:
    """The best of some such bounds; None where there are too many rows or blocks.

    Args:
        sizes: how many values each axis has.
        tables: what is asked.
        squares: for each table and axis the sums of products of its queries; None for its values.
        work: of `pinched_bound.least_of_pinched`, where there are too many rows to take all eigenvalues.

    >>> two = [CellTable((0,), (None,)), CellTable((1,), (None,))]
    >>> round(least_of_products((2, 3), two, [(None,), (None,)]), 6)
    7.698839
    """
    asked = _merged([(table.axes, own, table.weight) for table, own in zip(tables, squares, strict=True)])
    whole: dict[int, Reals] = {}
    for axes, own, weight in asked:
        for axis, one in zip(axes, own, strict=True):
            if one is not None:
                whole[axis] = whole.get(axis, 0.0) + weight * one / max(float(np.trace(one)), 1e-300)
    rows = {
        tuple((axis, _named(one)) for axis, one in zip(axes, own, strict=True) if axis in whole): math.prod(
            sizes[axis] for axis in axes if axis in whole
        )
        for axes, own, _ in asked
    }
    blocks = closure([tuple(axis for axis in axes if axis not in whole) for axes, _, _ in asked])
    if sum(rows.values()) ** 3 * len(blocks) * (1 + len(MIXES)) > WORK:
        return _pinched(sizes, asked, work) if len(blocks) * len(asked) <= MOST_PAIRS else None
    even = {axis: np.ones(sizes[axis]) for axis in whole}
    offers = [even, *({axis: cell_weights(own, mix) for axis, own in whole.items()} for mix in MIXES if whole)]
    return max(
        _bound(sizes, asked, blocks, {axis: np.sqrt(one) for axis, one in sorted(weights.items())})
        for weights in offers
    )


def _merged(asked: list[Asked]) -> list[Asked]:
    """The same, with what differs along one axis alone added up there."""
    for place in range(max((len(axes) for axes, _, _ in asked), default=0)):
        held: dict[object, Asked] = {}
        for axes, own, weight in asked:
            others = tuple(map(_named, own[:place])), tuple(map(_named, own[place + 1 :]))
            key = (axes, *others) if place < len(axes) else (axes, tuple(map(_named, own)))
            if key not in held:
                held[key] = (axes, own, weight)
                continue
            _, known, before = held[key]
            if place >= len(axes) or _named(known[place]) == _named(own[place]):
                held[key] = (axes, known, before + weight)
                continue
            one, other = (_dense(each[place], known, own, place) for each in (known, own))
            held[key] = (axes, (*own[:place], before * one + weight * other, *own[place + 1 :]), 1.0)
        asked = list(held.values())
    return asked


def _dense(own: Reals | None, known: Squares, other: Squares, place: int) -> Reals:
    """The squares of values as they are, where there are none."""
    size = next(len(one) for one in (known[place], other[place]) if one is not None)
    return np.eye(size) if own is None else own


def _named(own: Reals | None) -> bytes | None:
    return None if own is None else own.tobytes()


def _pinched(sizes: Sequence[int], asked: Sequence[Asked], work: float) -> float | None:
    """A bound from fewer rows, where all tables ask the same along an axis."""
    squares: dict[int, Reals] = {}
    for axes, own, _ in asked:
        for axis, one in zip(axes, own, strict=True):
            if one is not None and _named(squares.setdefault(axis, one)) != _named(one):
                return None
    if any(axis in squares and one is None for axes, own, _ in asked for axis, one in zip(axes, own, strict=True)):
        return None
    return least_of_pinched(sizes, [(axes, weight) for axes, _, weight in asked], squares, work)


def _bound(sizes: Sequence[int], asked: Sequence[Asked], blocks: Sequence[Axes], roots: Mapping[int, Reals]) -> float:
    """The bound for weights of these roots along the mapped axes."""
    halves: dict[tuple[int, bytes | None], Reals] = {}
    found = 0.0
    for subset in blocks:
        held: dict[tuple[object, ...], Product] = {}
        for axes, own, weight in asked:
            if not set(subset) <= set(axes):
                continue
            others = [axis for axis in range(len(sizes)) if axis not in roots and axis not in axes]
            squares = dict(zip(axes, own, strict=True))
            key = tuple((axis, _named(squares[axis])) for axis in axes if axis in roots)
            if key not in held:
                made = [_half(halves, i, squares[i], one) if i in axes else None for i, one in roots.items()]
                held[key] = (0.0, tuple(made))
            held[key] = (held[key][0] + weight * math.prod(sizes[axis] for axis in others), held[key][1])
        values = np.linalg.eigvalsh(_products(list(held.values()), list(roots.values())))
        dimension = math.prod(sizes[axis] - 1 for axis in subset)
        found += dimension * float(np.sqrt(np.maximum(values, 0.0)).sum())
    cells = math.prod(float(roots[i] @ roots[i]) if i in roots else float(size) for i, size in enumerate(sizes))
    return found**2 / cells


def _half(halves: dict[tuple[int, bytes | None], Reals], axis: int, squares: Reals | None, roots: Reals) -> Reals:
    """A symmetric root of the weighted squares."""
    key = (axis, _named(squares))
    if key not in halves:
        whole = (np.eye(len(roots)) if squares is None else squares) * np.outer(roots, roots)
        values, vectors = np.linalg.eigh(whole)
        halves[key] = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return halves[key]


def _products(held: Sequence[Product], roots: Sequence[Reals]) -> Reals:
    """All products of the columns of all tables with each other."""
    rows = []
    for weight, own in held:
        row = []
        for other_weight, other in held:
            part: Reals = np.full((1, 1), math.sqrt(weight * other_weight))
            for one, another, root in zip(own, other, roots, strict=True):
                left = root[:, None] if one is None else one
                right = root[:, None] if another is None else another
                part = np.asarray(np.kron(part, left.T @ right))
            row.append(part)
        rows.append(np.concatenate(row, axis=1))
    return np.concatenate(rows, axis=0)
