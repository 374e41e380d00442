"""Rows that add up to the totals they were made for."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from discreet.logs.synthetic import rows, user_names


@pytest.mark.parametrize(("users", "people"), [([5, 3, 1], 5), ([5, 3, 1], 100), ([7], 2), ([], 3), ([4, 4, 4, 4], 4)])
def test_rows_add_up(users: list[int], people: int) -> None:
    held = np.array(users, dtype=np.int64)
    counts = held * 3 - 1
    who, what, often = rows(held, counts, people)
    assert often is not None
    assert Counter(what.tolist()) == {i: n for i, n in enumerate(users) if n}
    assert len(set(zip(who.tolist(), what.tolist(), strict=True))) == who.size  # a pair occurs once
    assert [int(often[what == i].sum()) for i in range(held.size)] == counts.tolist()
    assert often.size == 0 or int(often.min()) >= 1
    assert who.size == 0 or int(who.max()) < max(people, *users)


def test_users_have_nearly_equally_many_items() -> None:
    who, _, _ = rows(np.array([50, 30, 20, 10, 7]), None, 60)
    held = np.bincount(who)
    assert held.max() - held.min() <= 1


def test_without_counts_there_are_none() -> None:
    assert rows(np.array([2]), None, 2)[2] is None


def test_names_are_of_the_kind_of_the_users() -> None:
    assert user_names(np.array([0, 1]), pa.int64()).to_pylist() == [1, 2]
    assert user_names(np.array([0, 1]), pa.string()).to_pylist() == ["user 1", "user 2"]
