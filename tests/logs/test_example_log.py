"""The made-up log is the same every time, and skewed as logs are."""

from __future__ import annotations

import hashlib

import numpy as np

from discreet.logs.example_log import example_visits


def test_it_is_the_same_every_time() -> None:
    table = example_visits(users=200, pages=50)
    text = repr(table.to_pydict()).encode()
    assert table.equals(example_visits(users=200, pages=50))
    assert hashlib.sha256(text).hexdigest()[:16] == FIXED
    assert not table.equals(example_visits(users=200, pages=50, seed=2))


FIXED = "9cee4f96c777bb1a"


def test_each_pair_is_there_once_and_pages_are_skewed() -> None:
    table = example_visits(users=2000, pages=300)
    pairs = list(zip(table["user"].to_pylist(), table["page"].to_pylist(), strict=True))
    assert len(set(pairs)) == len(pairs)
    assert len(set(table["user"].to_pylist())) == 2000
    assert min(table["visits"].to_pylist()) == 1
    users = np.sort(table.group_by("page").aggregate([("user", "count")])["user_count"].to_numpy())[::-1]
    assert users[0] > 10 * np.median(users)
    assert (users == 1).sum() > 5
