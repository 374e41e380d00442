"""The ways to ask for the most liked page: sensitivities as claimed, choices in order, errors as they are stated."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import InvalidParameter
from discreet.logs.example_log import example_visits
from discreet.logs.favorite_page import (
    Choice,
    Errors,
    Likes,
    _errors,
    methods,
    most_liked_errors,
    most_liked_figure,
    most_liked_table,
)

LIKED = ["a"] * 40 + ["b"] * 30 + ["c"] * 3
TABLE = pa.table({"who": list(range(40)) + list(range(30)) + [0, 1, 2], "page": LIKED})


def likes(**stated: object) -> Likes:
    return Likes.of(TABLE, person="who", page="page", **stated)  # type: ignore[arg-type]  # a catalogue, if anything


def test_likes_are_counted_once_and_by_the_catalogue() -> None:
    assert likes().names == ("a", "b", "c")
    assert likes().counts.tolist() == [40, 30, 3]
    odd = pa.table({"who": [1, 1, None, 2, 3], "page": ["a", "a", "a", None, "z"]})
    found = Likes.of(odd, person="who", page="page", catalogue=["b", "a", "a"])
    assert (found.names, found.counts.tolist()) == (("b", "a"), [0, 1])


def test_cutting_keeps_so_many_of_each_person() -> None:
    whole = Likes.of(example_visits(users=300, pages=100), person="user", page="page")
    for limit in (1, 3, 100):
        cut = whole.cut(limit)
        held = np.bincount(cut.people, minlength=300)
        assert held.tolist() == np.minimum(np.bincount(whole.people, minlength=300), limit).tolist()
        kept = set(zip(cut.people.tolist(), cut.pages.tolist(), strict=True))
        assert kept <= set(zip(whole.people.tolist(), whole.pages.tolist(), strict=True))


def test_which_likes_are_kept_is_left_to_chance() -> None:
    """A person with two likes, 400 times: each is kept between 130 and 270 times, but for less than 1e-11."""
    two = Likes(np.zeros(2, dtype=np.int64), np.arange(2), ("a", "b"))
    kept = sum(int(two.cut(1).pages[0]) for _ in range(400))
    assert 130 < kept < 270


def test_one_person_moves_counts_by_no_more_than_the_noise_is_for() -> None:
    """With and without a person who likes every page, scores move by 1, all upward; cut counts in ten places."""
    base = Likes.of(example_visits(users=100, pages=50), person="user", page="page")
    more = Likes(
        np.concatenate([base.people, np.full(len(base.names), 999)]),
        np.concatenate([base.pages, np.arange(len(base.names))]),
        base.names,
    )
    moved = more.counts - base.counts
    assert moved.tolist() == [1] * len(base.names)
    alone = Likes(np.full(50, 7), np.arange(50), tuple(range(50)))
    assert alone.cut(10).counts.sum() == 10


@pytest.mark.parametrize("name", list(methods(epsilon=20, delta=1e-3)))
def test_at_a_high_price_every_way_finds_the_top(name: str) -> None:
    """At epsilon 20 a miss has probability below 1e-6 for each way but the one whose noise hides every like."""
    many = pa.table({"who": range(4000), "page": ["a"] * 2000 + ["b"] * 1200 + ["c"] * 700 + ["d"] * 100})
    table = Likes.of(many, person="who", page="page")
    chosen, counts = methods(epsilon=20, delta=1e-3)[name](table, 3)
    assert chosen.tolist() == [0, 1, 2]
    if counts is not None:
        assert counts == pytest.approx([2000, 1200, 700], abs=60)


def test_pages_that_few_like_stay_hidden_where_none_was_listed() -> None:
    chosen, counts = methods(epsilon=1, delta=1e-6)["unknown pages, 10 likes"](likes(), 3)
    assert counts is not None
    assert 2 not in chosen.tolist()
    assert chosen.size == counts.size


def test_errors_are_what_they_say() -> None:
    true = np.array([100, 80, 60, 40])
    ranked = np.sort(true)[::-1]
    top: Choice = (np.array([0, 3]), np.array([103.0, 35.0]))
    assert _errors(true, ranked, np.array([1]), top, 2) == pytest.approx((0.2, 0.5, 1 - 140 / 180, 4.0))
    nothing: Choice = (np.zeros(0, dtype=np.int64), None)
    assert _errors(true, ranked, nothing[0], nothing, 2) == (1.0, 0.0, 1.0, None)


def test_noisy_max_beats_counts_of_every_like() -> None:
    table = Likes.of(example_visits(users=1000, pages=300), person="user", page="page")
    found = {one.way: one for one in most_liked_errors(table, epsilon=0.5, delta=1e-6, k=3, runs=5)}
    assert found["noisy max"].mode_missed < 0.5 < found["counts of every like"].mode_missed
    assert found["counts of every like"].count_error is not None
    assert found["noisy max"].count_error is None


def test_the_table_and_the_figure_hold_the_errors() -> None:
    one = Errors(way="w", mode_missed=0.5, top_found=0.25, top_missed=0.125, count_error=None)
    assert most_liked_table([one]).to_pylist() == [
        {"way": "w", "mode missed %": 50.0, "top found %": 25.0, "top missed %": 12.5, "count off by": None}
    ]
    figure = most_liked_figure(likes(), delta=1e-3, epsilons=(1.0, 30.0), k=2, runs=1)
    assert [line.get_label() for line in figure.axes[0].get_lines()] == list(methods(epsilon=1, delta=1e-3))


def test_refusals() -> None:
    with pytest.raises(InvalidParameter, match="a page or more"):
        likes(catalogue=[])
    with pytest.raises(InvalidParameter, match="a delta between 0 and 1"):
        methods(epsilon=1, delta=0)
    with pytest.raises(InvalidParameter, match="5 pages, one of them liked"):
        most_liked_errors(likes(), epsilon=1, delta=1e-6, k=5)
    with pytest.raises(InvalidParameter, match="one of them liked"):
        most_liked_errors(likes(catalogue=["x", "y"]), epsilon=1, delta=1e-6, k=1)
