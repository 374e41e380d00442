"""A lower bound of the trace of the root of sums of products whose matrices are too large to be written out.

Claim
    With K_i = V_i^1/2 G_i V_i^1/2 and J_i = v_i^1/2 v_i^T/2 along each of some axes, `least_trace` is at most the trace
    of the root of M, the sum over some sets S of weight w_S times the product of K_i for i in S and of J_i for others.
    The more values are kept, the closer it is; with all of them it is equal.
Requires
    Sums of products G_i that are positive semi-definite, weights w_S >= 0.
Relies on
    Floating-point linear algebra: a figure to show, on which no proof of privacy rests.
Proof
    *Pinching.* Let D be the diagonal blocks of M for orthogonal subspaces, E the rest, a and b eigenvalues of D, E_ab
    in its eigenvectors. Then tr M^1/2 >= tr D^1/2 - sum of E_ab^2 / ((a^1/2 + b^1/2) (a b)^1/2) over all pairs. For let
    F_ab = E_ab / (a^1/2 + b^1/2) and A = D^1/2 + F, so that A^2 = M + F^2. In these eigenvectors A is D^1/2 / 2 plus
    the product, entry by entry, of M and 1 / (a^1/2 + b^1/2), both positive semi-definite (Schur; Cauchy's matrix); so
    A > 0. Roots are monotone (Loewner): A >= M^1/2, hence tr M^1/2 >= tr M A^-1. And A^-1 >= 2 C - C A C for every
    symmetric C, which is D^-1/2 - D^-1/2 F D^-1/2 for C = D^-1/2. In the trace of D + E times that only tr D^1/2 and
    the sum remain, as E and F have no blocks on the diagonal. To leave out eigenvectors of D makes no trace of a root
    larger.
    *Subspaces.* Along an axis take v_i^1/2 first, and the eigenvectors of K_i on the rest, some of which are kept. A
    product of basis vectors belongs to the set U of the axes along which it has none of the kept, and to these: K_i is
    diagonal along them, so each block is a number, the product of the eigenvalues, times one matrix M_U of kept vectors
    along the other axes. So one matrix for each U has all eigenvalues of D. M has nothing but what is along v_i^1/2 on
    all axes outside of some S.
    *Pairs.* Blocks of U and U' have an entry in E where they agree along the axes of both, through v_i^1/2 along the
    axes of one alone: M of the union, times the entries b of K_i there. With one such axis, terms are added for a few
    of its eigenvalues, each the least of some neighbors, as terms decrease in it. With more, (x + y) x y >=
    2 (x y)^3/2 separates them.
Rounding
    Floats.
Source
    Bhatia, "Matrix Analysis" (1997), for pinchings and monotone roots; the bound of the trace is our own.
Mutant
    pinched-for-free: what the blocks leave out is not taken off; killed by
    test_the_trace_of_a_root_is_never_below_its_bound.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from discreet.exact.cached_property import cached_property
from discreet.workloads.axis_splits import cell_weights
from discreet.workloads.cell_tables import Axes, Reals

Weights = tuple[tuple[Axes, float], ...]
"""Of each set of axes."""

MIXES = (0.1, 0.3, 1.0, 3.0)
TRIAL = 64
"""How much more work the bound is given than each choice of weights of the cells."""
PAIR = 2**16
"""What a pair of blocks takes, whatever its size."""

LEAST = 1e-13
"""Of the largest eigenvalue of a block; what is smaller is left out."""
TINY = 1e-300
STEPS = 24
"""Into which the eigenvalues of an axis are divided where terms of each are added."""


@dataclass(frozen=True, eq=False)
class PinchedAxis:
    """The squares of an axis in a basis that begins with the roots of the weights and makes the rest diagonal."""

    total: float
    """Of the weights."""
    first: float
    beside: Reals
    values: Reals

    @classmethod
    def of(cls, squares: Reals, weights: Reals) -> PinchedAxis:
        """The axis of these squares, its cells of these weights."""
        roots = np.sqrt(weights)
        total = float(roots @ roots)
        mirror = roots / math.sqrt(total)
        mirror[0] += 1.0
        mirror /= np.linalg.norm(mirror)
        whole = squares * np.outer(roots, roots)
        whole = whole - 2 * np.outer(mirror, mirror @ whole)
        whole = whole - 2 * np.outer(whole @ mirror, mirror)
        values, vectors = np.linalg.eigh(whole[1:, 1:])
        beside, values = whole[0, 1:] @ vectors, np.maximum(values, 0.0)
        order = np.argsort(-(beside**2) / np.sqrt(np.maximum(values, LEAST * values.max(initial=0.0) + TINY)))
        return cls(total, float(whole[0, 0]), beside[order], values[order])

    def kept(self, number: int) -> Reals:
        """The matrix of the first vector and of so many others, those that would lose the most."""
        own = np.diag(np.concatenate([[self.first], self.values[:number]]))
        own[0, 1:] = own[1:, 0] = self.beside[:number]
        return own

    def others(self, number: int) -> tuple[Reals, Reals]:
        """The roots of the eigenvalues beside those, the largest first, and their squared entries in the first row."""
        order = number + np.argsort(-self.values[number:])
        order = order[self.values[order] > LEAST * self.values.max(initial=0.0)]
        return np.sqrt(self.values[order]), self.beside[order] ** 2


@dataclass(frozen=True, eq=False)
class _Block:
    """The kept vectors of one U: its matrix, and where those begin that have a set T of axes apart from the first."""

    places: Mapping[Axes, slice]
    whole: Reals

    @cached_property
    def solved(self) -> tuple[Reals, Reals]:
        """Eigenvalues and eigenvectors."""
        values, vectors = np.linalg.eigh(self.whole)
        real = values > LEAST * values[-1]
        return values[real], vectors[:, real]

    def along(self, sets: Sequence[Axes]) -> Reals:
        """The rows of the eigenvectors of these sets."""
        rows = np.concatenate([np.r_[self.places[one]] for one in sets])
        found: Reals = self.solved[1][rows]
        return found


def subsets(axes: Axes) -> list[Axes]:
    """All subsets of a set, as of `itertools.combinations`."""
    return list(itertools.chain.from_iterable(itertools.combinations(axes, k) for k in range(len(axes) + 1)))


def closure(sets: Sequence[Axes]) -> list[Axes]:
    """All subsets of some sets, the smallest first."""
    return sorted({one for own in sets for one in subsets(own)}, key=lambda one: (len(one), one))


def least_of_pinched(
    sizes: Sequence[int], asked: Sequence[tuple[Axes, float]], squares: Mapping[int, Reals], work: float
) -> float | None:
    """The least total of queries of these squares along some axes, of the values along others, as of
    `product_bound.least_of_products`; None where it takes more work than that.

    Args:
        sizes: how many values each axis has.
        asked: the axes of each table, and its weight.
        squares: of what every table asks along an axis, for those that are not asked for their values alone.
        work: cubes of rows of matrices whose eigenvectors are taken; some seconds at 2**33.

    >>> round(least_of_pinched((2, 3), [((0,), 1.0), ((1,), 1.0)], {1: np.eye(3)}, 2.0**30), 6)
    7.698839
    """
    own = tuple(sorted(squares))
    blocks = _blocks(sizes, asked, own)
    most = _kept([sizes[i] for i in own], blocks, work)
    if most is None:
        return None
    few = _kept([sizes[i] for i in own], blocks, work / TRIAL) or [1] * len(blocks)
    alike = math.prod(size for i, size in enumerate(sizes) if i not in own)

    def bound(axes: Sequence[PinchedAxis], kept: Sequence[int]) -> float:
        traces = [least_trace(axes, dict(one), number) for one, number in zip(blocks, kept, strict=True)]
        whole = sum(dimension * trace for dimension, trace in zip(blocks.values(), traces, strict=True))
        return max(whole, 0.0) ** 2 / (alike * math.prod(axis.total for axis in axes))

    even = [PinchedAxis.of(squares[i], np.ones(sizes[i])) for i in own]
    offers = [[PinchedAxis.of(squares[i], cell_weights(squares[i], mix)) for i in own] for mix in MIXES]
    return bound(max([even, *offers], key=lambda axes: bound(axes, few)), most)


def _blocks(sizes: Sequence[int], asked: Sequence[tuple[Axes, float]], own: Axes) -> dict[Weights, int]:
    """The weights of the blocks that the axes asked for their values alone lead to, and how often each is there."""
    tables = [
        (
            {i for i in axes if i not in own},
            tuple(own.index(i) for i in axes if i in own),
            weight * math.prod(size for i, size in enumerate(sizes) if i not in own and i not in axes),
        )
        for axes, weight in asked
    ]
    found: dict[Weights, int] = {}
    for subset in closure([tuple(sorted(plain)) for plain, _, _ in tables]):
        weights: dict[Axes, float] = {}
        for plain, places, weight in tables:
            if plain.issuperset(subset):
                weights[places] = weights.get(places, 0.0) + weight
        key = tuple(sorted(weights.items()))
        found[key] = found.get(key, 0) + math.prod(sizes[i] - 1 for i in subset)
    return found


def _kept(lengths: Sequence[int], blocks: Iterable[Weights], work: float) -> list[int] | None:
    """How many values of each axis are kept in each block, so that all of them take so much work at most."""
    sets = [closure([axes for axes, _ in one]) for one in blocks]
    numbers = range(1, max(lengths, default=2))

    def rows(own: Sequence[Axes], kept: int) -> int:
        return sum(math.prod(min(kept, lengths[i] - 1) for i in one) for one in own)

    most = work ** (1 / 3)
    while most >= 1:
        kept = [numbers[max(0, bisect_right(numbers, most, key=partial(rows, own)) - 1)] for own in sets]
        if sum(rows(own, number) ** 3 + PAIR * len(own) ** 2 for own, number in zip(sets, kept, strict=True)) <= work:
            return kept
        most /= 1.2
    return None


def least_trace(axes: Sequence[PinchedAxis], weights: Mapping[Axes, float], kept: int) -> float:
    """The bound, for the weights of sets of axes and so many values kept along each.

    >>> axis = PinchedAxis.of(np.diag([1.0, 4.0]), np.ones(2))
    >>> round(least_trace([axis], {(0,): 1.0}, 1), 9)
    3.0
    """
    sets, matrices = closure(list(weights)), [axis.kept(kept) for axis in axes]
    blocks = {apart: _block(axes, matrices, weights, apart) for apart in sets}
    others = [axis.others(kept) for axis in axes]
    sums = [float(roots.sum()) for roots, _ in others]
    found = sum(
        math.prod(sums[i] for i in apart) * float(np.sqrt(block.solved[0]).sum()) for apart, block in blocks.items()
    )
    for one, other in itertools.combinations(sets, 2):
        both = tuple(sorted({*one, *other}))
        shared = math.prod(sums[i] for i in one if i in other)
        if both in blocks and shared > 0:
            found -= 2 * shared * _left_out(blocks, (one, other, both), others)
    return found


def _block(
    axes: Sequence[PinchedAxis], matrices: Sequence[Reals], weights: Mapping[Axes, float], apart: Axes
) -> _Block:
    """M_U for the axes apart."""
    own = {
        tuple(i for i in one if i not in apart): weight
        * math.prod(axis.total for i, axis in enumerate(axes) if i not in one)
        for one, weight in weights.items()
        if set(apart) <= set(one)
    }
    places, size = {}, 0
    for one in closure(list(own)):
        length = math.prod(len(matrices[i]) - 1 for i in one)
        places[one], size = slice(size, size + length), size + length
    whole = np.zeros((size, size))
    for asked, weight in own.items():
        for rows, columns in itertools.product(subsets(asked), repeat=2):
            part = np.full((1, 1), weight)
            for i in asked:
                half = matrices[i][1:] if i in rows else matrices[i][:1]
                part = np.kron(part, half[:, 1:] if i in columns else half[:, :1])
            whole[places[rows], places[columns]] += part
    return _Block(places, whole)


def _left_out(
    blocks: Mapping[Axes, _Block], three: tuple[Axes, Axes, Axes], others: Sequence[tuple[Reals, Reals]]
) -> float:
    """The sum over the pairs of eigenvectors of two blocks, for one value of the eigenvalues that they share."""
    one, other, both = three
    union = blocks[both]
    sets = list(union.places)
    entries = (blocks[one].along(sets).T @ union.whole @ blocks[other].along(sets)) ** 2
    left, right = np.sqrt(blocks[one].solved[0]), np.sqrt(blocks[other].solved[0])
    single = [i for i in both if i not in one or i not in other]
    if len(single) > 1:
        separate = math.prod(float((squares / roots**1.5).sum()) for roots, squares in (others[i] for i in single))
        return separate * float(left**-1.5 @ entries @ right**-1.5) / 2
    if single[0] in one:
        left, right, entries = right, left, entries.T
    entries = entries / np.multiply.outer(left, right)
    roots, squares = others[single[0]]
    return sum(
        float((squares[part] / roots[part]).sum())
        * float((entries / np.add.outer(left, roots[part][-1] * right)).sum())
        for part in _parts(len(roots))
    )


def _parts(number: int) -> list[NDArray[np.intp]]:
    """So many values, the largest first, in parts that grow with their place."""
    if number == 0:
        return []
    ends = np.unique(np.geomspace(1, number, min(STEPS, number)).round().astype(int))
    return np.split(np.arange(number), ends[:-1])
