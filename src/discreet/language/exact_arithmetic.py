"""Integer and double expressions whose result does not depend on the engine.

Ibis casts what `floor` and `ceil` give to 64-bit integers on every engine.
"""

from __future__ import annotations

from functools import lru_cache

import ibis
import ibis.expr.types as ir

from discreet.language.checked_expressions import Kind, cast

TOTAL = "decimal(38, 0)"
"""The type of totals: 128 bits on every engine."""

KEPT = 1024
"""So many constants are made once: a statement has the same few of them in a hundred places."""


@lru_cache(KEPT, typed=True)
def integer(value: int) -> ir.Value:
    """A 64-bit constant."""
    return cast(ibis.literal(value), Kind.INTEGER)


@lru_cache(KEPT, typed=True)
def int64_constant(value: int) -> ir.Value:
    """A constant for comparison or arithmetic with a 64-bit integer, which every engine then widens it to: no cast."""
    constant: ir.Value = ibis.literal(value, type="int64")
    return constant


def narrowest(most: int) -> str:
    """The type of integers that takes least room and holds all of 0 to `most`.

    >>> narrowest(1000), narrowest(2**15), narrowest(2**31)
    ('int16', 'int32', 'int64')
    """
    return next(f"int{bits}" for bits in (16, 32, 64) if most < 2 ** (bits - 1))


def double(value: float) -> ir.Value:
    """A double constant."""
    return _double(repr(float(value)))  # by what is written: -0.0 equals 0.0


@lru_cache(KEPT)
def _double(written: str) -> ir.Value:
    return cast(ibis.literal(float(written)), Kind.REAL)


def times(value: ir.NumericValue, factor: int) -> ir.NumericValue:
    """A double, multiplied where that makes a difference."""
    product: ir.NumericValue = value if factor == 1 else value * double(factor)
    return product


def clipped(value: ir.Value, low: ir.Value, high: ir.Value) -> ir.Value:
    """A number moved into [low, high]; NULL stays NULL."""
    return ibis.cases((value < low, low), (value > high, high), else_=value)


def at_most(value: ir.Value, high: ir.Value) -> ir.Value:
    """The smaller of two integers, and NULL where `value` is (LEAST would pass over it and give `high`)."""
    return ibis.cases((value > high, high), else_=value)


def rounded_half_up(value: ir.Value) -> ir.Value:
    """floor(x + 1/2) as an integer: the one rounding that is the same on all engines."""
    rounded: ir.Value = (value + double(0.5)).floor()
    return rounded


def clamped_between(value: ir.Value, low: ir.Value, high: ir.Value) -> ir.Value:
    """A number that is never NULL moved into [low, high]; names each argument once, so that nested uses stay short."""
    return ibis.least(ibis.greatest(value, low), high)


def toward_zero(value: ir.Value, most: int) -> ir.Value:
    """A double that is never NULL, clipped to the integers [-most, most], and rounded toward zero; clipped first, so
    that the cast is total.
    """
    inside = clamped_between(value, double(-most), double(most))
    return ibis.ifelse(inside >= double(0), inside.floor(), inside.ceil())


def floored(value: ir.Value, high: ir.Value | int) -> ir.Value:
    """A double >= 0 that is never NULL, clipped to [0, high] and rounded down."""
    end = double(high) if isinstance(high, int) else cast(high, Kind.REAL)
    rounded: ir.Value = clamped_between(value, double(0), end).floor()
    return rounded
