"""Arithmetic: what is allowed never raises and stays inside its interval; what could raise is refused."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ibis
import numpy as np
import pytest
from ibis import _

from discreet.errors import InvalidQuery
from discreet.language.checked_expressions import Kind
from discreet.sensitivity.intervals import Interval

ALLOWED: dict[str, list[Any]] = {
    "Add": [_.small + _.tally, _.share + _.small, _.share + 1, _.wide + _.wide, _.tally + 0.5, 2**62 + _.small],
    "Subtract": [_.small - _.tally, 1 - _.share, _.wide - _.share, _.large - 2**62, _.share - _.share],
    "Multiply": [
        _.small * _.tally,
        _.share * -3,
        _.wide * _.share,
        _.wide * _.wide,
        _.tiny * _.tiny,
        _.large * _.small,
    ],
    "Divide": [_.share / 12, _.small / -4, 1 / (_.tally + 1), _.wide / 1e-150, _.share / (_.signed - 4), _.any / 3],
    "FloorDivide": [_.small // 2, _.share // 0.1, _.tally // -3, _.large // 7, _.signed // 1e-12, 10 // (_.tally + 1)],
    "Modulus": [_.small % 3, _.share % 0.1, _.any % 10, _.wide % 7.5, _.small % (_.tally + 1), _.real % 5e-324],
    "Power": [_.small**2, _.small**3, _.share**16, _.signed**7, _.tally**1, (_.wide / 1e100) ** 6],
    "Negate": [-_.small, -_.share, -_.real, -(_.tally - 3)],
    "Abs": [_.small.abs(), _.signed.abs(), _.real.abs(), (_.small - 9).abs()],
    "Floor": [_.share.floor(), _.signed.floor(), _.small.floor(), (_.wide.clip(-1e15, 1e15)).floor()],
    "Ceil": [_.share.ceil(), _.signed.ceil(), _.any.ceil(), (_.wide.clip(-(2**53), 2**53)).ceil()],
    "Round": [
        _.share.round(),
        _.signed.round(),
        _.any.round(),
        _.wide.clip(-(2**53), 2**53).round(),
        _.share.round(0),
        _.real.clip(0, 2**52 + 1).round(),
        *(_.share.round(places) for places in (1, 2, 13, -1, -2, -15)),
        *(_.signed.round(places) for places in (1, 3, -1)),
        *(_.any.round(3), _.tally.round(-1), _.small.round(-15), _.large.clip(0, 2**53 - 5).round(-1)),
    ],
    "Sqrt": [_.share.sqrt(), _.tally.sqrt(), _.real.abs().sqrt(), _.share.sqrt().sqrt()],
    "Log": [_.tiny.log(), _.tiny.log(2), (_.tally + 1).log(10), _.tiny.log(10)],
    "Ln": [_.tiny.ln(), (_.tally + 0.5).ln(), (_.wide.abs() + 1).ln()],
    "Log2": [_.tiny.log2(), (_.tally + 1).log2()],
    "Log10": [_.tiny.log10(), (_.tally + 1).log10()],
    "Exp": [_.share.exp(), (-_.wide).clip(upper=700).exp(), _.share.exp().sqrt(), (_.real.clip(-1e308, 1)).exp()],
    "Clip": [
        _.any.clip(0, 9),
        _.any.clip(-7, 7).clip(0.5, 1e300),
        _.real.clip(0, 1),
        _.any.clip(0.5, 2**61),
        _.any.clip(lower=3),
        _.share.clip(upper=-1),
        _.real.clip(2**60 + 1, 2**61 + 1),
        _.any.clip(2**53 + 1, 2**62 + 1).clip(0.5, 1e300),
    ],
    "Greatest": [ibis.greatest(_.small, _.share), ibis.greatest(_.any, 0), ibis.greatest(_.small, _.tally, 3)],
    "Least": [ibis.least(_.small, _.share), ibis.least(ibis.greatest(_.any, 0), 5), ibis.least(_.real, 1.0)],
}


@pytest.mark.long
@pytest.mark.parametrize("name", ALLOWED)
def test_allowed(hostile: Any, name: str) -> None:
    hostile.assert_kept(*ALLOWED[name])


def test_booleans_count_as_numbers(hostile: Any) -> None:
    (total,) = hostile.assert_kept(_.flag.cast("int64") + _.other.cast("int8"))
    assert total.claimed.interval == Interval(Fraction(0), Fraction(2), integer=True)


def test_integers_stay_integers(hostile: Any) -> None:
    for written in (_.small + 1, _.small * _.tally, -_.small, _.small % 3, _.small**2, _.share.floor(), _.small // 2):
        assert hostile.check(written).kind is Kind.INTEGER
    for written in (_.small / 1, _.small + 1.0, _.tally.sqrt(), _.small.clip(0.5, 2)):
        assert hostile.check(written).kind is Kind.REAL


def test_halves_round_up(hostile: Any) -> None:
    assert hostile.column((_.small.cast("float64") * 0.5).round()) == [
        None if x is None else math.floor(x * 0.5 + 0.5) for x in hostile.column(_.small)
    ]


def test_decimals_are_rounded_half_up(hostile: Any) -> None:
    for places, column in ((1, _.share), (2, _.signed), (-1, _.signed), (-2, _.share)):
        factor = 10.0 ** abs(places)
        wanted = [
            None
            if x is None
            else math.floor(x * factor + 0.5) / factor
            if places > 0
            else math.floor(x / factor + 0.5) * factor
            for x in hostile.column(column)
        ]
        assert hostile.column(column.round(places)) == wanted
    tens = [None if x is None else (x + 5) // 10 * 10 for x in hostile.column(_.small)]
    assert hostile.column(_.small.round(-1)) == tens
    assert hostile.column(_.small.round(2)) == hostile.column(_.small)


def test_floor_division_is_pythons(hostile: Any) -> None:
    assert hostile.column(_.small // -3) == [None if x is None else x // -3 for x in hostile.column(_.small)]


def test_clip_passes_over_null(hostile: Any) -> None:
    clipped, raw = hostile.column(_.any.clip(2, 5)), hostile.column(_.any)
    assert clipped == [None if x is None else min(max(x, 2), 5) for x in raw]


@pytest.mark.parametrize(("extreme", "python"), [(ibis.greatest, max), (ibis.least, min)])
def test_the_extremes_of_conditions_are_conditions(hostile: Any, extreme: Any, python: Any) -> None:
    found, pairs = hostile.column(extreme(_.flag, _.other)), zip(*map(hostile.column, (_.flag, _.other)), strict=True)
    expected = [python((x for x in pair if x is not None), default=None) for pair in pairs]
    assert [(type(x), x) for x in found] == [(type(x), x) for x in expected]


def test_least_of_greatest_bounds_like_a_clip(hostile: Any) -> None:
    bounded = hostile.check(ibis.least(ibis.greatest(_.any, 0), 5))
    assert bounded.interval == Interval(Fraction(0), Fraction(5), integer=True)
    assert not bounded.unbounded
    assert not bounded.nullable
    both = hostile.check(ibis.greatest(_.small, _.tally))
    assert (both.interval, both.nullable) == (Interval(Fraction(-5), Fraction(100), integer=True), True)


def test_numpy_and_decimal_constants(hostile: Any) -> None:
    for factor in (np.float64(0.5), np.float32(0.5), decimal.Decimal("0.5"), 0.5):
        assert hostile.check(_.share * factor).interval == Interval(Fraction(0), Fraction(1, 2))
    assert hostile.check(_.small * np.int8(3)).interval == Interval(Fraction(-15), Fraction(21), integer=True)


OVERFLOWS = [
    _.any + 1,
    _.any - 1,
    _.any * 2,
    -_.any,
    _.any.abs(),
    _.large * _.large,
    _.large**2,
    _.real + _.real,
    _.real * 2,
    _.wide * _.wide * _.wide,
    _.wide**3,
    1 / _.tiny,
    _.small + (2**63 - 1),
    _.small + ibis.literal(2**62) * 4,
    _.small * (ibis.literal(100) * 10**17),
    _.share * (ibis.literal(1e200) * 1e200),
]


@pytest.mark.parametrize("written", OVERFLOWS, ids=str)
def test_overflow_is_refused(hostile: Any, refused: Callable[..., str], written: Any) -> None:
    assert "cannot overflow" in refused(InvalidQuery, hostile.check, written)


REFUSED: dict[str, list[Any]] = {
    "a divisor that excludes zero": [
        1 / _.small,
        _.share / _.share,
        _.small // _.tally,
        1 / (_.tiny * _.tiny),
        _.small / 0,
    ],
    "a divisor above zero": [_.small % _.small, _.small % -3, _.share % _.share, _.share % 0.0],
    "a whole exponent from 1 to 16": [_.small**0, _.small**-1, _.small**17, _.share**0.5, 2**_.small, _.share**_.tally],
    "an argument >= 0": [_.small.sqrt(), _.signed.sqrt(), (_.share - 0.1).sqrt()],
    "an argument > 0": [_.share.log(), _.tally.ln(), _.signed.log2(), _.small.log10(), (_.share * 1e-320).ln()],
    "an argument <= 700": [_.real.exp(), (_.tally * 8).exp()],
    "a logarithm of base e, 2 or 10": [_.tiny.log(3), _.tiny.log(_.tally)],
    "numbers below 2**53": [
        _.wide.floor(),
        _.real.ceil(),
        _.wide.round(),
        _.real.clip(0, 100).round(14),
        _.any // 3,
        _.wide // 2,
        _.share // 1e-300,
    ],
    ".round() to a constant number": [_.share.round(16), _.share.round(-16), _.share.round(_.tally)],
    "low <= high": [_.small.clip(5, 3)],
    "finite numbers": [_.small.clip(0, _.tally), _.share.clip(math.nan, 1), _.share + math.inf, _.share * math.nan],
    "a number": [_.name.length() + _.day.year() * ibis.greatest(_.name, "a").length(), ibis.greatest(_.day, _.day)],
}


@pytest.mark.parametrize("what", REFUSED)
def test_refusals(hostile: Any, refused: Callable[..., str], what: str) -> None:
    for written in REFUSED[what]:
        assert f"Expected {what}" in refused(InvalidQuery, hostile.check, written)


def test_limits_beyond_64_bits_are_refused(hostile: Any, refused: Callable[..., str]) -> None:
    beyond = ibis.literal(2**63 + 5, type="uint64")
    assert "64 bits" in refused(InvalidQuery, hostile.check, _.any.clip(beyond, None))
    hostile.assert_kept(_.any.clip(0, beyond))
    assert "Ibis accepts" in refused(InvalidQuery, hostile.check, _.any.clip(0, 10**30))
