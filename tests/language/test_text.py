"""Text and dates: every string and every date survives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ibis
import pytest
from ibis import _

from discreet.errors import InvalidQuery
from discreet.language.allow_list import RULES
from discreet.language.text import LONGEST_PART

ALLOWED: dict[str, list[Any]] = {
    "Lowercase": [_.name.lower(), _.word.lower()],
    "Uppercase": [_.name.upper(), _.name.upper().lower()],
    "Strip": [_.name.strip()],
    "LStrip": [_.name.lstrip()],
    "RStrip": [_.name.rstrip()],
    "StartsWith": [_.name.startswith("a"), _.name.startswith(""), _.name.startswith("😀")],
    "EndsWith": [_.name.endswith("\\"), _.name.endswith("é")],
    "StringSQLLike": [
        _.name.like("a%"),
        _.name.like("%\\"),
        _.name.like("_"),
        _.name.like("%%%é%"),
        _.name.like(["a%", "b"]),
    ],
    "StringSQLILike": [_.name.ilike("A%"), _.name.ilike("%SS%")],
    "StringLength": [_.name.length(), (_.name + _.word).length()],
    "StringContains": [_.name.contains("%"), _.name.contains("'"), _.name.contains("")],
    "Substring": [
        _.name.substr(0, 3),
        _.name.substr(1),
        _.name.substr(2**30, 2**30),
        _.name.left(2),
        _.name[0],
        _.name.substr(0, 0),
    ],
    "StringConcat": [_.name + _.word, _.name + "x", "x" + _.name + "y", _.name + _.name + _.name],
    "StringFind": [_.name.find("a"), _.name.find("\u0301"), _.name.find("ab" * 1500)],
    "LPad": [_.name.lpad(5, "0"), _.name.lpad(0, "é"), _.name.lpad(LONGEST_PART, "\u0301")],
    "RPad": [_.name.rpad(5, " "), _.name.lpad(9, "x").rpad(12, "y")],
    "ArrayIndex": [_.name.split("b")[0], _.name.split("ab")[LONGEST_PART - 1], _.name.split("%")[1].split("_")[0]],
    "Reverse": [_.name.reverse(), _.name.reverse().reverse()],
    "DateTruncate": [_.day.truncate(unit) for unit in "YQMWD"],
    "TimestampTruncate": [_.at.truncate(unit) for unit in ("Y", "Q", "M", "W", "D", "h", "m", "s", "ms", "us")],
    "Date": [_.at.date(), _.zoned.date()],
    "ExtractYear": [_.day.year(), _.at.year(), _.zoned.year(), _.lately.year()],
    "ExtractQuarter": [_.day.quarter(), _.at.quarter()],
    "ExtractMonth": [_.day.month(), _.at.month()],
    "ExtractDay": [_.day.day(), _.at.day()],
    "ExtractDayOfYear": [_.day.day_of_year(), _.at.day_of_year()],
    "ExtractWeekOfYear": [_.day.week_of_year(), _.at.week_of_year()],
    "DayOfWeekIndex": [_.day.day_of_week.index(), _.at.day_of_week.index()],
    "ExtractHour": [_.at.hour(), _.zoned.hour()],
    "ExtractMinute": [_.at.minute()],
    "ExtractSecond": [_.at.second()],
}


@pytest.mark.long
@pytest.mark.parametrize("name", ALLOWED)
def test_allowed(hostile: Any, name: str) -> None:
    hostile.assert_kept(*ALLOWED[name])


def test_plain_characters_in_patterns(hostile: Any) -> None:
    names = hostile.column(_.name)
    assert hostile.column(_.name.contains("%")) == [None if x is None else "%" in x for x in names]
    assert hostile.column(_.name.startswith("a")) == [None if x is None else x.startswith("a") for x in names]
    assert hostile.column(_.name.like("a%")) == hostile.column(_.name.startswith("a"))
    assert hostile.column(_.name.substr(1, 2)) == [None if x is None else x[1:3] for x in names]
    assert hostile.column(_.name.length()) == [None if x is None else len(x) for x in names]


def test_places_pads_and_parts_are_counted_in_characters(hostile: Any) -> None:
    """Python's texts have the same characters as ours: an accent that is one of its own counts as one."""
    names = hostile.column(_.name)

    def of(made: Callable[[str], Any]) -> list[Any]:
        return [None if x is None else made(x) for x in names]

    for looked_for in ("a", "\u0301", "\\", "b_c"):
        assert hostile.column(_.name.find(looked_for)) == of(lambda x, it=looked_for: x.find(it))  # type: ignore[misc] # bound at once
    for length in (0, 2, 5):
        assert hostile.column(_.name.lpad(length, "é")) == of(lambda x, to=length: x.rjust(to, "é"))  # type: ignore[misc] # as above
        assert hostile.column(_.name.rpad(length, "é")) == of(lambda x, to=length: x.ljust(to, "é"))  # type: ignore[misc] # as above
    assert hostile.column(_.name.reverse()) == of(lambda x: x[::-1])
    for by, place in (("a", 0), ("a", 1), ("%", 1), ("ba", 500), ("-", 2)):
        wanted = of(lambda x, by=by, place=place: dict(enumerate(x.split(by))).get(place))  # type: ignore[misc] # as above
        assert hostile.column(_.name.split(by)[place]) == wanted


def test_joined_texts_cannot_outgrow_memory(hostile: Any) -> None:
    """Doubled time and again, one long name would hold gigabytes."""
    grown = _.name
    for _step in range(4):
        grown = grown + grown
    assert max(len(x) for x in hostile.column(_.name + _.name) if x is not None) == 2 * LONGEST_PART
    assert max(x for x in hostile.column(grown.length()) if x is not None) == 2 * LONGEST_PART


def test_timestamps_are_read_in_utc(hostile: Any) -> None:
    zoned = {x for x in hostile.column(_.zoned) if x is not None}
    assert all(x.tzinfo is None for x in zoned)
    assert {x.hour for x in zoned} >= {12}  # in Tokyo it was 21 hours


REFUSED: dict[str, list[Any]] = {
    "constant text to look for": [
        _.name.contains(_.word),
        _.name.startswith(_.word),
        _.name.like(_.word),
        _.name.endswith(_.name),
    ],
    "constant places from 0 to": [
        _.name.substr(_.tally, 3),
        _.name.substr(0, _.tally),
        _.name.substr(ibis.null("int64"), 3),
        _.name.substr(-1, 3),
        _.name.substr(0, 2**40),
        _.name.substr(2**31 - 1),
        _.name.right(-1),
        _.name.right(_.tally),
        _.name.right(2**31),
        _.name.lpad(-1, "a"),
        _.name.lpad(_.tally, "a"),
        _.name.split("a")[-1],
        _.name.split("a")[_.tally],
    ],
    "a constant text to look for of 1 to": [_.name.find(""), _.name.find(_.word)],
    "the whole text": [_.name.find("a", 1)],
    "one constant character": [_.name.lpad(3, ""), _.name.lpad(3, "ab"), _.name.rpad(3, _.word)],
    "a length of at most": [_.name.lpad(LONGEST_PART + 1, "a")],
    "a pattern of at most": [_.name.like("%a" * 501), _.name.ilike("a" * 1001), _.name.like(["a", "%a" * 501])],
    "a constant text to split by": [_.name.split("")[0], _.name.split(_.word)[0], _.name.split("a" * 1001)[0]],
    "one of the first": [_.name.split("a")[LONGEST_PART]],
    "a part of a split text": [ibis.array([_.name, _.word])[0]],
    "operations on one row at a time": [
        _.name.split("a"),
        _.name.split("a").length(),
        _.name.re_search("a+"),
        _.name * 3,
        _.name[1:3],
        _.day.strftime("%Y"),
        _.name.as_date("%Y"),
        _.day - _.lately,
        _.day.day_of_week.full_name(),
        _.at.time(),
    ],
}


@pytest.mark.parametrize("what", REFUSED)
def test_refusals(hostile: Any, refused: Callable[..., str], what: str) -> None:
    for written in REFUSED[what]:
        assert f"Expected {what}" in refused(InvalidQuery, hostile.check, written)


FAR = (-(2**63), -(2**31), -1, 2**30 + 1, 2**31 - 1, 2**31, 2**32, 2**63 - 1)
COUNTING = [
    (operation, name)
    for operation in RULES
    for name, kind in operation.__annotations__.items()
    if "dt.Integer" in str(kind) and "dt.String" in str(operation.__annotations__.get("arg"))
]
"""Operations on text that count characters, and the arguments that they count by."""


def test_operations_that_count_characters_are_found() -> None:
    assert {(operation.__name__, name) for operation, name in COUNTING} == {
        ("Substring", "start"),
        ("Substring", "length"),
        ("StrRight", "nchars"),
        *((name, "length") for name in ("LPad", "RPad")),
        *(("StringFind", name) for name in ("start", "end")),
    }


@pytest.mark.parametrize("number", FAR)
@pytest.mark.parametrize(("operation", "name"), COUNTING, ids=lambda one: getattr(one, "__name__", one))
def test_far_places_are_refused(
    hostile: Any, refused: Callable[..., str], operation: Any, name: str, number: int
) -> None:
    """By one rule: engines count characters in 32 bits, and fail on more, after the charge."""
    others: dict[str, Any] = {other: 1 for one, other in COUNTING if one is operation}
    others |= {name: "a" for name in ("substr", "pad") if name in operation.__argnames__}
    written = _.name.pipe(lambda text: operation(text, **{**others, name: number}).to_expr())
    assert "Expected constant places from 0 to 2**30" in refused(InvalidQuery, hostile.check, written)
