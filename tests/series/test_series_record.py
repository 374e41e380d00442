"""What a ledger keeps of a series comes back as it was, at a length that says nothing."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pytest

from discreet.errors import InvalidQuery, LedgerError
from discreet.series.participation import Participation
from discreet.series.series_record import LARGEST, Opening, Point, check_version, key_of, points_of
from discreet.series.step_windows import StepWindows
from discreet.series.stream_strategy import StreamStrategy

BEST = StreamStrategy.best(StepWindows.of(12, (1, 4, "all")), Participation(3))


def point(first: int, version: str = "1", value: int = 7, steps: int = 2) -> Point:
    return Point(
        first,
        version,
        private=True,
        noisy=[np.full((steps, 3), value, dtype=object), np.full((steps, 1), -value, object)],
    )


def test_an_opening_comes_back_bit_by_bit() -> None:
    opening = Opening.of(Opening({"every": "1 day"}, {"private": True}, BEST).to_bytes())
    assert (opening.asked, opening.receipt) == ({"every": "1 day"}, {"private": True})
    found: Any = opening.strategy
    assert np.array_equal(found.matrix, BEST.matrix)
    assert (found.moved, found.participation, found.family) == (BEST.moved, BEST.participation, BEST.family)
    assert list(found.windows.first) == [1, 4, "all"]
    for kind in ("deviations", "roundings"):
        assert all(
            np.array_equal(getattr(found, kind)[name], getattr(BEST, kind)[name]) for name in found.windows.first
        )


def test_a_series_of_the_first_format_goes_on_with_its_own_noise() -> None:
    """It was priced by partners alone, and had no steps that are apart."""
    with np.load(io.BytesIO(Opening({"every": "1 day"}, {}, BEST).to_bytes())) as arrays:
        found = {name: arrays[name] for name in arrays.files}
    facts = {**json.loads(found["facts"].tobytes()), "format": 1}
    found["facts"] = np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)
    target = io.BytesIO()
    np.savez(target, **found)
    opening = Opening.of(target.getvalue())
    assert opening.strategy.moved == Participation(3).squared(BEST.gram, ranked=False) > BEST.moved
    with pytest.raises(InvalidQuery, match="the apart that the series was opened with"):
        opening.check({"every": "1 day", "apart": 7})


def test_a_series_stays_what_it_was_opened_as() -> None:
    opening = Opening({"every": "1 day", "windows": [1, 7]}, {}, BEST)
    opening.check({"every": "1 day", "windows": [1, 7], "more": 1})
    with pytest.raises(InvalidQuery, match="the every that the series was opened with"):
        opening.check({"every": "1 week", "windows": [1, 7]})
    with pytest.raises(InvalidQuery, match=r"opened with \[1, 7\]"):
        opening.check({"every": "1 day", "windows": [1]})


def test_points_come_back_and_say_nothing_by_their_length() -> None:
    for value in (0, -1, 2**200, LARGEST):
        found = Point.of(point(3, value=value).to_bytes())
        assert (found.first, found.end, found.version, found.private) == (3, 5, "1", True)
        assert [block.tolist() for block in found.noisy] == [[[value] * 3] * 2, [[-value]] * 2]
        assert len(point(3, value=value).to_bytes()) == len(point(3).to_bytes())
    assert Point.of(point(0, value=LARGEST + 5).to_bytes()).noisy[0][0, 0] == LARGEST


def test_versions_never_go_back() -> None:
    points = [point(0, "1"), point(2, "2"), point(4, "2")]
    for version in ("2", "3"):
        check_version(points, version)
    check_version([], "1")
    with pytest.raises(InvalidQuery, match="version '2' of the table, or a later one"):
        check_version(points, "1")


def test_damage_is_refused() -> None:
    assert [one.end for one in points_of([point(0).to_bytes(), point(2).to_bytes()])] == [2, 4]
    for stored in ([point(1).to_bytes()], [point(0).to_bytes(), point(3).to_bytes()]):
        with pytest.raises(LedgerError):
            points_of(stored)
    for wrong in (b"{}", b""):
        with pytest.raises(LedgerError, match="a series under its name"):
            Opening.of(wrong)


def test_names_are_told_apart() -> None:
    names: list[Any] = [("a", "b"), ("b", "a"), ("ab", ""), ("a", "c")]
    assert len({key_of(*one) for one in names}) == 4
