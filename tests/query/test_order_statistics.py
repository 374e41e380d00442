"""What can be asked about order, in Ibis's words; and what is refused, before a row is read."""

from __future__ import annotations

import datetime
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import DiscreetError, InvalidParameter, InvalidQuery
from discreet.language.checked_expressions import Kind
from discreet.planning.aggregates import Statistic


def asked(table: Any, **written: Any) -> list[Any]:
    return list(table.agg(**written)._query.aggregates)


def test_every_form_is_understood(unreadable: Any) -> None:
    table = unreadable()
    found = asked(
        table,
        a=lambda t: t.age.median(),
        b=lambda t: t.age.quantile(0.9, where=t.spent > 1),
        c=lambda t: t.age.min(),
        d=lambda t: t.spent.max(),
        e=lambda t: t.age.quantile([0.1, 0.25]),
        f=lambda t: (t.age > 3).max(),
    )
    assert [(a.name, a.statistic, a.share) for a in found] == [
        ("a", Statistic.QUANTILE, Fraction(1, 2)),
        ("b", Statistic.QUANTILE, Fraction(9, 10)),
        ("c", Statistic.MIN, None),
        ("d", Statistic.MAX, None),
        ("e_0.1", Statistic.QUANTILE, Fraction(1, 10)),
        ("e_0.25", Statistic.QUANTILE, Fraction(1, 4)),
        ("f", Statistic.MAX, None),
    ]
    assert found[1].where is not None


def test_shares_are_rounded_to_a_millionth(unreadable: Any) -> None:
    [found] = asked(unreadable(), a=lambda t: t.age.quantile(1 / 3))
    assert found.share == Fraction(333333, 10**6)


WRONG = {
    "the minimum as a quantile": lambda t: t.age.quantile(0.0),
    "the maximum as a quantile": lambda t: t.age.quantile(1.0),
    "almost the maximum": lambda t: t.age.quantile(1 - 1e-9),
    "nothing": lambda t: t.age.quantile([]),
    "twice the same": lambda t: t.age.quantile([0.5, 0.5]),
    "text": lambda t: t.plan.max(),
    "a column without bounds": lambda t: (t.age + t.person).median(),
}


@pytest.mark.parametrize("written", WRONG.values(), ids=WRONG)
def test_what_has_no_answer_is_refused(unreadable: Any, written: Any) -> None:
    with pytest.raises(DiscreetError, match=r"(?s)^Expected.*\nHint: "):
        asked(unreadable(), a=written)


def test_the_ends_are_pointed_out(unreadable: Any, refused: Any) -> None:
    assert ".min() and .max()" in refused(InvalidParameter, asked, unreadable(), a=lambda t: t.age.quantile(1.0))


def test_names_of_several_quantiles_are_taken(unreadable: Any, refused: Any) -> None:
    table = unreadable()
    both = {"a": lambda t: t.age.quantile([0.5]), "a_0.5": lambda t: t.age.median()}
    assert "a name of its own" in refused(InvalidQuery, asked, table, **both)


def dates() -> Any:
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(i) for i in range(300)]
    rows = pa.table(
        {
            "day": days,
            "other": days,
            "at": [np.datetime64("2020-01-01", "us") + np.timedelta64(i % 24, "h") for i in range(300)],
        }
    )
    bounds = {"day": ("2019-01-01", "2021-12-31"), "at": ("2020-01-01", "2020-01-02")}
    return dp.protect(rows, unit=dp.ROW, bounds=bounds, budget=dp.Budget(epsilon=10**6), name="dates")


def test_dates_and_times_have_quantiles() -> None:
    table = dates()
    answer = table.agg(d=lambda t: t.day.median(), t=lambda t: t.at.quantile(0.75), hi=lambda t: t.day.max()).release(
        epsilon=3000
    )
    frame = answer.to_pyarrow().to_pylist()[0]
    assert abs(frame["d"] - datetime.date(2020, 5, 30)).days <= 2
    assert abs(frame["t"].hour * 60 + frame["t"].minute - 1050) <= 90
    assert frame["d_low"] <= frame["d"] <= frame["d_high"]
    assert abs(frame["hi"] - datetime.date(2020, 10, 26)).days <= 2
    assert {a.moment for a in asked(table, a=lambda t: t.day.median(), b=lambda t: t.at.min())} == {
        Kind.DATE,
        Kind.TIMESTAMP,
    }
    assert repr(answer)
    assert answer.plot()


def test_dates_without_bounds_are_refused(refused: Any) -> None:
    table = dates()
    assert "public bounds" in refused(InvalidQuery, asked, table, a=lambda t: t.other.median())
    renamed = table.mutate(day=lambda t: t.other)
    assert "public bounds" in refused(InvalidQuery, asked, renamed, a=lambda t: t.day.median())


def test_an_error_is_not_known_beforehand(unreadable: Any, refused: Any) -> None:
    question = unreadable().agg(m=lambda t: t.age.median())
    assert "quantile" in refused(InvalidQuery, question.release, within={"m": 3})


def test_what_is_found_first_goes_alone(unreadable: Any, refused: Any) -> None:
    table = unreadable(max_rows="auto")
    assert "stated keys and limits" in refused(InvalidQuery, table.agg, m=lambda t: t.age.median())
