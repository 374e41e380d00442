"""What an expression can give by what the question says: all that an engine gives, and nothing that it cannot say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ibis
import pytest
from ibis import _

import discreet as dp
from discreet.language.allow_list import bind
from discreet.language.possible_values import MOST_KEYS, possible_results
from discreet.query.table import PrivateTable

KNOWN: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "if": (ibis.ifelse(_.flag, "yes", "no"), ("yes", "no")),
    "if of numbers": (ibis.ifelse(_.flag, 7, -1), (7, -1)),
    "case": (ibis.cases((_.small < 0, "less"), (_.small == 0, "none"), else_="more"), ("less", "none", "more")),
    "case without else": (ibis.cases((_.small < 0, "less"), (_.small > 0, "more")), ("less", "more")),
    "simple case": (_.word.cases(("a", 1), ("b", 2), else_=3), (1, 2, 3)),
    "the same twice": (ibis.cases((_.small < 0, "odd"), (_.small > 5, "odd"), else_="usual"), ("odd", "usual")),
    "case in a case": (ibis.ifelse(_.flag, ibis.ifelse(_.other, "a", "b"), "c"), ("a", "b", "c")),
    "nulls filled": (ibis.cases((_.small < 0, "less"), (_.small > 0, "more")).fill_null("?"), ("less", "more", "?")),
    "bucket": (_.small.bucket([-5, 0, 7]), (0, 1)),
    "sign": (_.small.sign(), (-1, 0, 1)),
    "rest": (_.tally % 4, (0, 1, 2, 3)),
    "signed rest": (_.small % 4, tuple(range(-3, 4))),
    "month": (_.day.month(), tuple(range(1, 13))),
    "quarter": (_.at.quarter(), (1, 2, 3, 4)),
    "weekday": (_.day.day_of_week.index(), tuple(range(7))),
    "day of the year": (_.day.day_of_year(), tuple(range(1, 367))),
    "week": (_.day.week_of_year(), tuple(range(1, 54))),
    "hour": (_.at.hour(), tuple(range(24))),
}
UNKNOWN: dict[str, Any] = {
    "a column": _.word,
    "a column among constants": ibis.ifelse(_.flag, _.word, "b"),
    "real constants": ibis.ifelse(_.flag, 0.5, 1.5),
    "a year": _.day.year(),
    "the rest of a large number": _["any"] % (MOST_KEYS + 1),
    "bounds of a column": _.small,
    "changed text": _.word.upper(),
    "nothing": _.word.nullif("a"),
}


@pytest.mark.parametrize("name", KNOWN)
def test_every_value_is_foreseen(name: str, hostile: Any) -> None:
    written, expected = KNOWN[name]
    found = possible_results(bind(hostile.visible, written).op(), hostile.check(written))
    assert found == expected
    assert {value for value in hostile.column(written) if value is not None} <= set(found)
    assert len({type(value) for value in found}) == 1


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_the_question_does_not_say_is_not_guessed(name: str, hostile: Any) -> None:
    written = UNKNOWN[name]
    assert possible_results(bind(hostile.visible, written).op(), hostile.check(written)) == ()


def test_they_are_the_keys_of_groups(by_row: Callable[..., PrivateTable], exact: Any) -> None:
    table = by_row().mutate(band=ibis.ifelse(_.age < 31, "young", "old"))
    assert exact(table.group_by("band").agg(n=_.count())) == {"band": ["young", "old"], "n": [4, 4]}
    assert exact(table.filter(_.ok).rename(b="band").group_by("b").agg(n=_.count())) == {
        "b": ["young", "old"],
        "n": [3, 1],
    }
    stated = table.group_by("band", keys={"band": ["old", "dead"]})
    assert exact(stated.agg(n=_.count())) == {"band": ["old", "dead"], "n": [4, 0]}
    months = exact(by_row().group_by(month=_.day.month()).agg(n=_.count()))
    assert months == {"month": [*range(1, 13)], "n": [8, *[0] * 11]}
    text = "SELECT CASE WHEN age < 31 THEN 'young' ELSE 'old' END AS band, COUNT(*) AS n FROM t GROUP BY 1"
    assert exact(dp.sql(text, t=by_row())) == {"band": ["young", "old"], "n": [4, 4]}


def test_a_rewritten_column_forgets_them(by_row: Callable[..., PrivateTable], refused: Any) -> None:
    table = by_row().mutate(band=ibis.ifelse(_.age < 31, "young", "old"))
    again = table.mutate(band=_.band + "er")
    assert "the public keys of 'band'" in refused(dp.InvalidQuery, again.group_by, "band")
    assert again.mutate(band=ibis.ifelse(_.ok, "a", "b")).group_by("band").keys.rows == (("a",), ("b",))
