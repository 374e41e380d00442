"""What the engine finds of a log: one user's pairs depend on that user's rows, are few, and nothing raises."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet.logs.user_item_pairs import bounded, pairs, totals
from discreet.query.table_view import view_of
from discreet.testing.neighbors import IDENTITIES, Rows, array, hostile

Row = tuple[Any, Any, Any]


def found(rows: list[Row], *, max_items: int, max_count: int, kind: pa.DataType | None = None) -> dict[Any, Any]:
    """The totals of each item: users, sum of count - 1, users that it is the first item of."""
    columns = list(zip(*rows, strict=True)) if rows else [(), (), ()]
    table = pa.table(
        {
            "who": pa.array(columns[0], pa.int64()),
            "what": pa.array(columns[1], pa.string()),
            "often": pa.array(columns[2], kind or pa.int64()),
        }
    )
    people = dp.protect(table, unit="who", budget=dp.Budget(epsilon=1), name="log")
    parts = view_of(people)
    expression = totals(
        bounded(
            pairs(
                parts.relation,
                user=parts.units[0],
                item=parts.columns["what"],
                count=parts.columns["often"],
                max_count=max_count,
            ),
            max_items,
        )
    )
    source: Any = parts.source
    answer = source._engine.run_statement(source.declaration, source._engine.compiled(expression))
    return {row["item"]: (row["users"], row["extra"], row["first"]) for row in answer.to_pylist()}


def test_rows_of_one_pair_are_added_and_clipped() -> None:
    rows = [(1, "a", 2), (1, "a", 3), (2, "a", 1), (2, "b", 99)]
    answer = found(rows, max_items=5, max_count=4)
    assert {item: total[:2] for item, total in answer.items()} == {"a": (2, 3), "b": (1, 3)}
    assert sum(total[2] for total in answer.values()) == 2


def test_a_user_counts_in_few_items() -> None:
    rows = [(1, item, 1) for item in "abcdefghij"] + [(2, "a", 1)]
    for limit in (1, 3, 10, 20):
        answer = found(rows, max_items=limit, max_count=1)
        assert sum(total[0] for total in answer.values()) == min(limit, 10) + 1
        assert sum(total[2] for total in answer.values()) == 2


def test_which_items_are_kept_differs_between_users() -> None:
    rows = [(user, item, 1) for user in range(300) for item in "abcdef"]
    answer = found(rows, max_items=2, max_count=1)
    assert len(answer) == 6
    # 600 places over 6 items; a hash that spreads them keeps each within 6 standard deviations of 100.
    assert all(50 < total[0] < 150 for total in answer.values())


def test_rows_that_say_nothing_are_left_out() -> None:
    odd: list[Row] = [(1, None, 5), (None, "a", 5), (1, "a", None), (1, "a", 0), (1, "a", -7), (2, "b", 1)]
    assert found(odd, max_items=9, max_count=9) == {"b": (1, 0, 1)}
    assert found([], max_items=9, max_count=9) == {}


def test_a_negative_count_takes_nothing_from_others() -> None:
    assert found([(1, "a", 5), (1, "a", -100)], max_items=1, max_count=9)["a"] == (1, 4, 1)


def test_real_counts_are_rounded_down() -> None:
    rows = [(1, "a", 2.9), (2, "a", math.nan), (3, "a", math.inf), (4, "a", -math.inf), (5, "a", 0.99), (6, "a", 1e300)]
    assert found(rows, max_items=1, max_count=4, kind=pa.float64())["a"] == (3, 1 + 3 + 3, 3)


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64()])
def test_the_largest_counts_do_not_overflow(kind: pa.DataType) -> None:
    rows = [(1, "a", 2**63 - 1)] * 5
    assert found(rows, max_items=1, max_count=10**6, kind=kind)["a"] == (1, 10**6 - 1, 1)


@pytest.mark.cases
@pytest.mark.parametrize("kind", dict.fromkeys(IDENTITIES), ids=str)
def test_users_at_the_ends_of_their_types(kind: pa.DataType) -> None:
    """Far moments, too, of which DuckDB has no text, and whose cast would make its whole database unusable."""
    who = [value for value in hostile(kind) for _ in range(2)]
    table = pa.table({"who": array(who, kind), "what": ["a", "b"] * (len(who) // 2)})
    people = dp.protect(table, unit="who", budget=dp.Budget(epsilon=1), name="log")
    users = len(Rows((("who", kind),), tuple((value,) for value in who)).units(["who"]))
    parts = view_of(people)
    every = pairs(parts.relation, user=parts.units[0], item=parts.columns["what"], count=None, max_count=1)
    for limit in (1, 2):
        source: Any = parts.source
        answer = source._engine.run_statement(
            source.declaration, source._engine.compiled(totals(bounded(every, limit)))
        )
        assert sum(row["users"] for row in answer.to_pylist()) == limit * users
        assert sum(row["first"] for row in answer.to_pylist()) == users


ROWS = st.lists(
    st.tuples(st.sampled_from([1, 2, 3, None]), st.sampled_from(["a", "b", "c", "d", "", None]), st.integers(-3, 9)),
    max_size=12,
)


@pytest.mark.long
@settings(max_examples=10)
@given(ROWS, st.integers(1, 3), st.integers(1, 4))
def test_one_user_moves_totals_by_no_more_than_allowed(rows: list[Row], max_items: int, max_count: int) -> None:
    """The neighbor fuzz: a user comes with hostile rows; totals move by that user's bounded pairs, upward, alone."""
    more = [(9, item, count) for _, item, count in rows] or [(9, "a", 3)]
    before, after = (found(r, max_items=max_items, max_count=max_count) for r in (rows, rows + more))
    moved = {
        item: tuple(a - b for a, b in zip(after[item], before.get(item, (0, 0, 0)), strict=True)) for item in after
    }
    assert set(before) <= set(after)
    touched = [step for step in moved.values() if any(step)]
    assert len(touched) <= max_items
    assert all(users == 1 and 0 <= extra <= max_count - 1 for users, extra, _ in touched)
    assert sum(first for _, _, first in touched) == (1 if touched else 0)


def test_the_reference_agrees_where_nothing_is_bounded() -> None:
    rows = [(u, "abc"[(u * j) % 3], 1 + (u + j) % 4) for u in range(20) for j in range(5)]
    sums: dict[tuple[int, str], int] = defaultdict(int)
    for user, item, count in rows:
        sums[user, item] += count
    users = Counter(item for _, item in sums)
    answer = found(rows, max_items=9, max_count=100)
    assert {item: total[:2] for item, total in answer.items()} == {
        item: (users[item], sum(count - 1 for (_, i), count in sums.items() if i == item)) for item in users
    }
