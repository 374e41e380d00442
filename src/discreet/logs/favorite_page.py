"""Which page do most people like, where a person may like any number of pages? Five ways to ask, at the same epsilon.

By counts, one person moves as many counts as they like pages, so the noise has to grow with that number, or likes have
to be cut. By noisy max and by one-shot top-k it need not grow: each of a person's likes moves a single score by 1, all
in the same direction. The local model needs no trusted curator, at a cost in accuracy. Where the pages are not known
beforehand, those that few like must stay hidden.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.errors import InvalidParameter, expected
from discreet.exact.amounts import fraction, positive
from discreet.local.choose_report import choose_report
from discreet.logs.item_threshold import ItemThreshold
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.noisy_max import NoisyMax
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.noise.entropy import fresh_words
from discreet.noise.uniform import permutation
from discreet.plots.shares import shares_figure
from discreet.selection.top_k import TopK

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Integers = NDArray[np.int64]
Reals = NDArray[np.float64]
LIKES = 10
"""The number of likes that a person keeps, where likes are cut."""

EPSILONS = (0.03, 0.1, 0.3, 1.0, 3.0)


@dataclass(frozen=True, slots=True, eq=False)
class Likes:
    """Who likes what: each pair of person and page once, as numbers from 0; and the public list of pages.

    >>> Likes(np.array([0, 0, 1]), np.array([0, 1, 0]), ("a", "b")).counts
    array([2, 1])
    """

    people: Integers
    pages: Integers
    names: tuple[Any, ...]

    @classmethod
    def of(cls, table: pa.Table, *, person: str, page: str, catalogue: Sequence[Any] | None = None) -> Likes:
        """The likes of a table; without a `catalogue`, its own pages are used.

        Likes without a person or a page, and pages that are not in the catalogue, are left out.

        >>> table = pa.table({"who": [7, 7, 9, 7], "page": ["a", "b", "a", "a"]})
        >>> Likes.of(table, person="who", page="page", catalogue=["a", "b", "c"]).counts
        array([2, 1, 0])
        """
        pairs = table.select([person, page]).drop_null().group_by([person, page]).aggregate([])
        who = pairs[person].combine_chunks().dictionary_encode().indices.to_numpy(zero_copy_only=False)
        names = pairs[page].unique().sort().to_pylist() if catalogue is None else list(dict.fromkeys(catalogue))
        if not names:
            raise InvalidParameter(expected("a page or more", "catalogue", 0, "list the pages that can be liked."))
        place = pa.array(names, pairs[page].type)
        codes = pc.index_in(pairs[page].combine_chunks(), value_set=place).fill_null(-1).to_numpy()
        known = codes >= 0
        return cls(who[known].astype(np.int64), codes[known].astype(np.int64), tuple(names))

    @property
    def counts(self) -> Integers:
        """How many people like each page."""
        return np.bincount(self.pages, minlength=len(self.names))

    def cut(self, limit: int) -> Likes:
        """At most `limit` likes of each person, chosen at random among that person's."""
        order = permutation(self.people.size, fresh_words())
        order = order[np.argsort(self.people[order], kind="stable")]
        sizes = np.bincount(self.people[order]) if order.size else np.zeros(0, dtype=np.int64)
        place = np.arange(order.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        kept = order[place < limit]
        return Likes(self.people[kept], self.pages[kept], self.names)


Choice = tuple[Integers, Reals | None]
"""The chosen pages, best first, and their counts, if the way returns counts."""

ChoiceMethod = Callable[[Likes, int], Choice]
"""Chooses the stated number of pages."""


def methods(*, epsilon: object, delta: object, likes: int = LIKES) -> Mapping[str, ChoiceMethod]:
    """The ways to ask, each with this epsilon in total.

    Args:
        epsilon: the price.
        delta: of those that need one: normal noise, one-shot, and pages that are not known.
        likes: how many likes of a person are kept, where they have to be cut.
    """
    price, part = positive("epsilon", epsilon), fraction("delta", delta)
    if not 0 < part < 1:
        raise InvalidParameter(expected("a delta between 0 and 1", "delta", delta, "write delta=1e-8."))
    screen = ItemThreshold.of(epsilon=price, delta=part, max_items=likes)
    normal = Gaussian(sensitivity=Fraction(math.isqrt(likes << 80) + 1, 1 << 40), epsilon=price, delta=part)
    return {
        "counts of every like": lambda table, k: _largest(
            Laplace(sensitivity=len(table.names), epsilon=price).release(table.counts), k
        ),
        f"counts of {likes} likes": lambda table, k: _largest(
            Laplace(sensitivity=likes, epsilon=price).release(table.cut(likes).counts), k
        ),
        f"counts of {likes} likes, normal noise": lambda table, k: _largest(normal.release(table.cut(likes).counts), k),
        "noisy max": lambda table, k: (_by_noisy_max(table, k, price), None),
        "one-shot top-k": lambda table, k: (
            TopK(k=k, sensitivity=1, epsilon=price, delta=part, monotonic=True).release(table.counts),
            None,
        ),
        f"unknown pages, {likes} likes": lambda table, k: _shown(table.cut(likes), k, screen),
        "local reports": lambda table, k: _locally(table, k, price),
    }


def _largest(noisy: NDArray[Any], k: int) -> Choice:
    order = np.argsort(-noisy.astype(np.float64), kind="stable")[:k]
    return order, noisy[order].astype(np.float64)


def _by_noisy_max(table: Likes, k: int, epsilon: Fraction) -> Integers:
    """One page by noisy max; several by choosing again and again, at epsilon/k each."""
    if k == 1:
        chosen = NoisyMax(sensitivity=1, epsilon=epsilon, monotonic=True).release(table.counts)
        return np.array([chosen])
    several = TopK(k=k, sensitivity=1, epsilon=epsilon, monotonic=True, method="peeling")
    return several.release(table.counts)


def _shown(table: Likes, k: int, screen: ItemThreshold) -> Choice:
    """The pages that reach the threshold, of those that somebody likes; fewer than k, if fewer do."""
    present = np.flatnonzero(table.counts)
    noisy = screen.add_noise(screen.steps * table.counts[present], fresh_words())
    shown = noisy >= screen.threshold
    order, counts = _largest(noisy[shown], k)
    return present[shown][order], np.asarray(counts) / screen.steps if counts is not None else None


def _locally(table: Likes, k: int, epsilon: Fraction) -> Choice:
    """Each person reports one of their likes, drawn by themselves, by the best local report for so many pages."""
    if not table.people.size or len(table.names) < 2:
        return np.arange(min(k, len(table.names))), None
    one = table.cut(1)
    oracle = choose_report(epsilon=epsilon, categories=len(table.names)).oracle
    add_noise = oracle.release if isinstance(oracle, RandomizedResponse) else oracle.report
    return _largest(oracle.estimate(add_noise(one.pages)), k)[0], None


@dataclass(frozen=True, kw_only=True, slots=True)
class Errors:
    """The errors of one way, averaged over the runs."""

    way: str
    mode_missed: float
    """How many fewer people like the page that was named than like the most liked one, as a share of the latter's."""
    top_found: float
    """The share of k places that were filled with a page as liked as the k-th."""
    top_missed: float
    """How many fewer likes the k named pages have than the k most liked ones, as a share of the latter's."""
    count_error: float | None
    """The error of the counts of the named pages, in people; None if there are no counts."""


def most_liked_errors(likes: Likes, *, epsilon: object, delta: object, k: int = 10, runs: int = 20) -> list[Errors]:
    """The true errors of all ways at one epsilon, for public data.

    Each run asks for the most liked page and for the k most liked ones, each at the full price.

    >>> table = pa.table({"who": range(900), "page": ["a"] * 500 + ["b"] * 300 + ["c"] * 100})
    >>> found = most_liked_errors(Likes.of(table, person="who", page="page"), epsilon=5, delta=1e-6, k=2, runs=2)
    >>> [round(errors.mode_missed, 2) for errors in found if errors.way in ("noisy max", "one-shot top-k")]
    [0.0, 0.0]
    """
    true = likes.counts
    ranked = np.sort(true)[::-1]
    if not ranked[0] or k > ranked.size:
        cure = "the comparison needs the truth: take public data, and no more pages than there are."
        raise InvalidParameter(expected(f"{k} pages, one of them liked", "pages", int(ranked.size), cure))
    result = []
    for name, way in methods(epsilon=epsilon, delta=delta).items():
        each = [_errors(true, ranked, way(likes, 1)[0], way(likes, k), k) for _ in range(runs)]
        mode, top, missed, off = zip(*each, strict=True)
        known = [one for one in off if one is not None]
        result.append(
            Errors(
                way=name,
                mode_missed=float(np.mean(mode)),
                top_found=float(np.mean(top)),
                top_missed=float(np.mean(missed)),
                count_error=float(np.mean(known)) if known else None,
            )
        )
    return result


def _errors(
    true: Integers, ranked: Integers, first: Integers, top: Choice, k: int
) -> tuple[float, float, float, float | None]:
    """The four figures of one run."""
    chosen, counts = top
    mode = 1.0 - (float(true[first[0]]) if first.size else 0.0) / float(ranked[0])
    filled = float((true[chosen] >= max(int(ranked[k - 1]), 1)).sum()) / k
    missed = 1.0 - float(true[chosen].sum()) / float(ranked[:k].sum())
    off = None if counts is None or not counts.size else float(np.abs(counts - true[chosen]).mean())
    return mode, filled, missed, off


def most_liked_table(found: Sequence[Errors]) -> pa.Table:
    """The errors as a table, shares in percent.

    >>> most_liked_table([]).column_names
    ['way', 'mode missed %', 'top found %', 'top missed %', 'count off by']
    """

    def percent(values: list[float]) -> list[float]:
        return [round(100 * value, 1) for value in values]

    return pa.table(
        {
            "way": pa.array([one.way for one in found], pa.string()),
            "mode missed %": pa.array(percent([one.mode_missed for one in found]), pa.float64()),
            "top found %": pa.array(percent([one.top_found for one in found]), pa.float64()),
            "top missed %": pa.array(percent([one.top_missed for one in found]), pa.float64()),
            "count off by": pa.array(
                [None if one.count_error is None else round(one.count_error, 1) for one in found], pa.float64()
            ),
        }
    )


def most_liked_figure(
    likes: Likes,
    *,
    delta: object,
    epsilons: Sequence[float] = EPSILONS,
    k: int = 10,
    runs: int = 5,
    ax: object = None,
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """What share of the likes of the k most liked pages each way misses, over epsilon; for data that are public. `ax`
    draws in axes of yours, `path` saves the figure.

    >>> likes = Likes(np.arange(900) // 3, np.arange(900) % 3, ("a", "b", "c"))
    >>> most_liked_figure(likes, delta=1e-6, epsilons=(5, 10), k=1, runs=1).axes[0].get_xlabel()
    'epsilon'
    """
    curves: dict[str, list[float]] = {}
    for epsilon in epsilons:
        for one in most_liked_errors(likes, epsilon=epsilon, delta=delta, k=k, runs=runs):
            curves.setdefault(one.way, []).append(one.top_missed)
    people = int(np.unique(likes.people).size)
    caption = f"{people:,} people, {len(likes.names):,} pages; delta {delta}, mean of {runs} runs"
    labels = ("epsilon", f"likes of the top {k} that are missed")
    return shares_figure(epsilons, curves, labels=labels, caption=caption, ax=ax, path=path)
