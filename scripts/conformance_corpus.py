"""The rows and the operations on which every engine has to agree, and which of them it has to agree on exactly."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from itertools import cycle, islice
from typing import Any, NamedTuple

import ibis
import pyarrow as pa

ROWS = 900
NAN, INF = math.nan, math.inf
UTC = datetime.UTC


def _moment(*parts: int) -> datetime.datetime:
    return datetime.datetime(*parts)  # type: ignore[arg-type]  # noqa: DTZ001 (naive means UTC here)


COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "person": (pa.int64(), [1, 2, 3, None, 4, 5, 6, -(2**63), 2**63 - 1, 7, 8, 1, 1]),
    "plan": (
        pa.string(),
        [
            "a",
            "A",
            "é",
            "e\u0301",
            None,
            "",
            " a ",
            "\ta\n ",
            "b",
            "ß",
            "a%b",
            "a\\b",
            "a_b",
            "🏳️‍🌈",
            "f\vf\f",
            "12",
            "12\n",
            "3\r",
        ],
    ),
    "x": (
        pa.float64(),
        [None, NAN, INF, -INF, 0.0, -0.0, 5e-324, -5e-324, 1e-200, -1e-300, 1e308, -1e308, 1.0, 2.5, 0.1, -7.25, 3.999],
    ),
    "u": (
        pa.float64(),
        [NAN, 5.0, 1.7976931348623157e308, None, -INF, 2.0**53, 0.1, -0.0, 2.2250738585072014e-308, INF],
    ),
    "f": (pa.float32(), [NAN, 0.1, 3.4028235e38, -3.4028235e38, 1e-45, None, INF, -INF, -0.0, 2.0**24]),
    "i": (pa.int64(), [None, -(2**63), 2**63 - 1, 0, 1, -1, 7, -7, 100, 1000, 3]),
    "w": (pa.int64(), [2**53 + 1, -(2**53) - 1, None, 2**63 - 1, -(2**63), 0, 5]),
    "n": (pa.int32(), [2**31 - 1, -(2**31), None, 0, 3, -3, 12]),
    "c": (pa.int16(), [2**15 - 1, -(2**15), None, 1]),
    "d": (pa.decimal128(12, 2), [Decimal("9999999999.99"), Decimal("-0.01"), None, Decimal("0.10"), Decimal("2.50")]),
    "e": (pa.decimal128(38, 0), [Decimal("9" * 38), Decimal("-" + "9" * 38), None, Decimal(3), Decimal(0)]),
    "b": (pa.bool_(), [True, False, None, True, True]),
    "o": (pa.bool_(), [False, None, True]),
    "day": (
        pa.date32(),
        [
            datetime.date(*day)
            for day in ((1, 1, 1), (9999, 12, 31), (1970, 1, 1), (2000, 2, 29), (2021, 1, 3), (2020, 12, 31))
        ]
        + [None],
    ),
    "at": (
        pa.timestamp("us"),
        [
            *(_moment(1, 1, 1), _moment(9999, 12, 31, 23, 59, 59), _moment(2026, 3, 29, 1, 59, 59, 999_999)),
            *(None, _moment(1969, 12, 31, 23, 59, 59, 1), _moment(2024, 2, 29, 12)),
        ],
    ),
    "zoned": (
        pa.timestamp("us", "UTC"),
        [_moment(2026, 1, 1, 20).replace(tzinfo=UTC), None, _moment(1900, 1, 1).replace(tzinfo=UTC)],
    ),
}
"""Column by column a type and values; their numbers are different, so that rows combine them in many ways."""

BOUNDS: dict[str, tuple[Any, Any]] = {
    "x": (-8, 8),
    "i": (-1000, 1000),
    "n": (-50, 50),
    "d": (0, 100),
    "f": (-1, 1),
    "c": (0, 10),
    "e": (-1000, 1000),
}
KEYS = {"plan": ["a", "A", "é", "e\u0301", None, "", "a\\b", "nobody", "ß", "🏳️‍🌈", "12", "12\n", "3\r"]}


def rows() -> pa.Table:
    """The hostile table."""
    arrays = {name: pa.array(list(islice(cycle(values), ROWS)), kind) for name, (kind, values) in COLUMNS.items()}
    return pa.table(arrays)


class Operation(NamedTuple):
    """One operation of the language, as an analyst writes it over the hostile table."""

    write: str
    expr: Callable[[Any], Any]
    exact: bool = True
    """Whether all engines give the same value, to the last bit."""
    refused: tuple[str, ...] = ()
    """The engines that have no such operation."""


def _ops(*operations: tuple[Any, ...]) -> list[Operation]:
    return [Operation(*operation) for operation in operations]


OPERATIONS: dict[str, list[Operation]] = {
    "Add": _ops(("i + n", lambda t: t.i + t.n), ("x + 0.1", lambda t: t.x + 0.1)),
    "Subtract": _ops(("i - n", lambda t: t.i - t.n), ("x - f", lambda t: t.x - t.f)),
    "Multiply": _ops(
        ("i * n", lambda t: t.i * t.n),
        ("x * x * f", lambda t: t.x * t.x * t.f),
        ("x * 1e-300 * 1e300", lambda t: t.x * 1e-300 * 1e300),
    ),
    "Divide": _ops(
        ("x / (f + 3)", lambda t: t.x / (t.f + 3)),
        ("i / 7", lambda t: t.i / 7),
        ("x / 1e300 * 1e300", lambda t: t.x / 1e300 * 1e300),
    ),
    "FloorDivide": _ops(("i // 7", lambda t: t.i // 7), ("x // 0.3", lambda t: t.x // 0.3)),
    "Modulus": _ops(
        ("i % 7", lambda t: t.i % 7),
        ("x % 0.7", lambda t: t.x % 0.7, True, ("postgresql",)),
    ),
    "Power": _ops(("x ** 5", lambda t: t.x**5), ("n ** 3", lambda t: t.n**3)),
    "Negate": _ops(("-i", lambda t: -t.i), ("-x", lambda t: -t.x)),
    "Abs": _ops(("i.abs()", lambda t: t.i.abs()), ("x.abs()", lambda t: t.x.abs())),
    "Floor": _ops(("x.floor()", lambda t: t.x.floor())),
    "Ceil": _ops(("x.ceil()", lambda t: t.x.ceil())),
    "Round": _ops(
        ("x.round()", lambda t: t.x.round()),
        ("x.round(2)", lambda t: t.x.round(2)),
        ("(u.clip(-300, 300) / 8).round(-1)", lambda t: (t.u.clip(-300, 300) / 8).round(-1)),
        ("i.round(-2)", lambda t: t.i.round(-2)),
    ),
    "Sign": _ops(("i.sign()", lambda t: t.i.sign()), ("x.sign()", lambda t: t.x.sign())),
    "Sqrt": _ops(("x.abs().sqrt()", lambda t: t.x.abs().sqrt())),
    "Ln": _ops(("(x + 9).ln()", lambda t: (t.x + 9).ln(), False)),
    "Log2": _ops(("(x + 9).log2()", lambda t: (t.x + 9).log2(), False)),
    "Log10": _ops(("(x + 9).log10()", lambda t: (t.x + 9).log10(), False)),
    "Log": _ops(("(x + 9).log(2)", lambda t: (t.x + 9).log(2), False)),
    "Exp": _ops(
        ("x.exp()", lambda t: t.x.exp(), False), ("(x * 90).exp()", lambda t: (t.x * 90).clip(-2000, 9).exp(), False)
    ),
    "Clip": _ops(("u.clip(-2, 3)", lambda t: t.u.clip(-2, 3)), ("w.clip(-5, 2**40)", lambda t: t.w.clip(-5, 2**40))),
    "Greatest": _ops(
        ("greatest(x, f)", lambda t: ibis.greatest(t.x, t.f)),
        ("greatest(i, n, 3)", lambda t: ibis.greatest(t.i, t.n, 3)),
    ),
    "Least": _ops(("least(x, f)", lambda t: ibis.least(t.x, t.f)), ("least(i, n)", lambda t: ibis.least(t.i, t.n))),
    "Equals": _ops(
        ("u == 5", lambda t: t.u == 5),
        ("plan == 'a'", lambda t: t.plan == "a"),
        ("x == -0.0", lambda t: t.x == -0.0),
        ("w == n", lambda t: t.w == t.n),
    ),
    "NotEquals": _ops(("plan != 'é'", lambda t: t.plan != "é"), ("b != o", lambda t: t.b != t.o)),
    "Less": _ops(
        ("u < f", lambda t: t.u < t.f),
        ("plan < 'b'", lambda t: t.plan < "b"),
        ("w < 2**53 + 1", lambda t: t.w < 2**53 + 1),
    ),
    "LessEqual": _ops(("u <= 0", lambda t: t.u <= 0), ("day <= '2000-02-29'", lambda t: t.day <= "2000-02-29")),
    "Greater": _ops(("u > 5", lambda t: t.u > 5), ("plan > 'B'", lambda t: t.plan > "B")),
    "GreaterEqual": _ops(
        ("at >= '1970-01-01'", lambda t: t.at >= "1970-01-01"),
        ("zoned >= '2026-01-01T20:00'", lambda t: t.zoned >= "2026-01-01T20:00"),
    ),
    "Between": _ops(("u.between(-1, 5)", lambda t: t.u.between(-1, 5))),
    "InValues": _ops(
        ("plan.isin(['a', 'ß'])", lambda t: t.plan.isin(["a", "ß"])), ("i.isin([1, 7])", lambda t: t.i.isin([1, 7]))
    ),
    "IdenticalTo": _ops(
        ("plan.identical_to('a')", lambda t: t.plan.identical_to("a")),
        ("b.identical_to(o)", lambda t: t.b.identical_to(t.o)),
        ("x.identical_to(f)", lambda t: t.x.identical_to(t.f)),
    ),
    "IsNull": _ops(
        ("u.isnull()", lambda t: t.u.isnull()), ("(x / 2 - x / 2).isnull()", lambda t: (t.x / 2 - t.x / 2).isnull())
    ),
    "NotNull": _ops(("e.notnull()", lambda t: t.e.notnull())),
    "And": _ops(("b & o", lambda t: t.b & t.o), ("~(b & o)", lambda t: ~(t.b & t.o))),
    "Or": _ops(("b | o", lambda t: t.b | t.o), ("(b | o).isnull()", lambda t: (t.b | t.o).isnull())),
    "Xor": _ops(("b ^ o", lambda t: t.b ^ t.o)),
    "Not": _ops(("~b", lambda t: ~t.b)),
    "IfElse": _ops(("ifelse(b, i, n)", lambda t: ibis.ifelse(t.b, t.i, t.n))),
    "SearchedCase": _ops(("cases((x > 1, 'p'), (b, plan))", lambda t: ibis.cases((t.x > 1, "p"), (t.b, t.plan)))),
    "SimpleCase": _ops(
        ("plan.cases(('a', 1), ('A', 2), else_=3)", lambda t: t.plan.cases(("a", 1), ("A", 2), else_=3))
    ),
    "Coalesce": _ops(
        ("x.fill_null(0.5)", lambda t: t.x.fill_null(0.5)), ("coalesce(i, n)", lambda t: ibis.coalesce(t.i, t.n))
    ),
    "NullIf": _ops(("x.nullif(0.0)", lambda t: t.x.nullif(0.0)), ("plan.nullif('')", lambda t: t.plan.nullif(""))),
    "Cast": _ops(
        ("b.cast('int64')", lambda t: t.b.cast("int64")),
        ("b.cast('float64')", lambda t: t.b.cast("float64")),
        ("i.cast('string')", lambda t: t.w.cast("string")),
        ("w.cast('float64')", lambda t: t.w.cast("float64").clip(-1e6, 2.0**60)),
        ("day.cast('timestamp')", lambda t: t.day.cast("timestamp")),
        ("at.cast('date')", lambda t: t.at.cast("date")),
        ("d (a decimal, read as a real number)", lambda t: t.d, False),
        ("e (a decimal, read as a real number)", lambda t: t.e, False),
    ),
    "Lowercase": _ops(
        ("plan.lower(), letters a to z", lambda t: t.plan.like("%b").ifelse(t.plan, "X").lower()),
        ("plan.lower(), other letters", lambda t: t.plan.lower(), False),
    ),
    "Uppercase": _ops(
        ("plan.upper(), letters a to z", lambda t: t.plan.like("%b").ifelse(t.plan, "x").upper()),
        ("plan.upper(), other letters", lambda t: t.plan.upper(), False),
    ),
    "Strip": _ops(("plan.strip()", lambda t: t.plan.strip())),
    "LStrip": _ops(("plan.lstrip()", lambda t: t.plan.lstrip())),
    "RStrip": _ops(("plan.rstrip()", lambda t: t.plan.rstrip())),
    "StringLength": _ops(("plan.length()", lambda t: t.plan.length().clip(0, 100))),
    "Substring": _ops(
        ("plan.substr(1, 2)", lambda t: t.plan.substr(1, 2)),
        ("plan.substr(2)", lambda t: t.plan.substr(2)),
        ("plan.substr(2**30, 2**30)", lambda t: t.plan.substr(2**30, 2**30)),
    ),
    "StrRight": _ops(("plan.right(2)", lambda t: t.plan.right(2)), ("plan.right(0)", lambda t: t.plan.right(0))),
    "StringFind": _ops(
        ("plan.find('b')", lambda t: t.plan.find("b")),
        ("plan.find('\u0301')", lambda t: t.plan.find("\u0301")),
        ("plan.find('\\\\')", lambda t: t.plan.find("\\")),
    ),
    "LPad": _ops(
        ("plan.lpad(3, 'b')", lambda t: t.plan.lpad(3, "b")),
        ("plan.lpad(1000, '🌈')", lambda t: t.plan.lpad(1000, "🌈")),
    ),
    "RPad": _ops(("plan.rpad(3, '\u0301')", lambda t: t.plan.rpad(3, "\u0301"))),
    "ArrayIndex": _ops(
        ("plan.split('a')[0]", lambda t: t.plan.split("a")[0]),
        ("plan.split('a')[1]", lambda t: t.plan.split("a")[1]),
        ("plan.split('.')[0]", lambda t: t.plan.split(".")[0]),
        ("(plan + 'aaa').split('aa')[1]", lambda t: (t.plan + "aaa").split("aa")[1]),
        ("(plan + '\\\\E|').split('\\\\E')[1]", lambda t: (t.plan + "\\E|").split("\\E")[1]),
        ("plan.split('\u200d')[999]", lambda t: t.plan.split("\u200d")[999]),
    ),
    "Reverse": _ops(
        ("plan.reverse()", lambda t: t.plan.reverse()),
        ("plan.reverse().substr(0, 1)", lambda t: t.plan.reverse().substr(0, 1)),
    ),
    "StringReplace": _ops(
        ("plan.replace('a', 'zz')", lambda t: t.plan.replace("a", "zz")),
        ("plan.replace('\\\\', '%')", lambda t: t.plan.replace("\\", "%")),
    ),
    "StringConcat": _ops(("plan + '!' + plan", lambda t: t.plan + "!" + t.plan)),
    "StartsWith": _ops(("plan.startswith('a')", lambda t: t.plan.startswith("a"))),
    "EndsWith": _ops(("plan.endswith('b')", lambda t: t.plan.endswith("b"))),
    "StringContains": _ops(("plan.contains('%')", lambda t: t.plan.contains("%"))),
    "StringSQLLike": _ops(
        ("plan.like('a_b')", lambda t: t.plan.like("a_b")),
        ("plan.like('a\\\\b')", lambda t: t.plan.like("a\\b")),
        ("plan.like('a\\\\')", lambda t: t.plan.like("a\\")),
    ),
    "StringSQLILike": _ops(
        ("plan.ilike('A%B')", lambda t: t.plan.ilike("A%B")), ("plan.ilike('É')", lambda t: t.plan.ilike("É"), False)
    ),
    "DateAdd": _ops(
        *(
            (f"day + {number} {unit}", lambda t, unit=unit, number=number: t.day + ibis.interval(number, unit=unit))
            for unit, number in (("Y", 4000), ("Q", 5), ("M", 1), ("W", -3), ("D", 3_652_058))
        ),
        ("day + 9999 years", lambda t: t.day + ibis.interval(9999, unit="Y")),
    ),
    "DateSub": _ops(
        ("day - 13 months", lambda t: t.day - ibis.interval(13, unit="M")),
        ("day - 9999 years", lambda t: t.day - ibis.interval(9999, unit="Y"), True, ("postgresql",)),
    ),
    "TimestampAdd": _ops(
        *(
            (f"at + {number} {unit}", lambda t, unit=unit, number=number: t.at + ibis.interval(number, unit=unit))
            for unit, number in (("Y", 1), ("Q", 1), ("M", 12), ("h", -25), ("m", 1440 * 3_652_058), ("s", 3_600_001))
        ),
    ),
    "TimestampSub": _ops(
        ("at - 87000000 hours", lambda t: t.at - ibis.interval(87_000_000, unit="h"), True, ("postgresql",)),
        ("at - 1 month", lambda t: t.at - ibis.interval(1, unit="M")),
    ),
    "DateDelta": _ops(("day.delta('2000-01-01')", lambda t: t.day.delta(datetime.date(2000, 1, 1), unit="day"))),
    "TimestampDelta": _ops(("at.delta(zoned)", lambda t: t.at.delta(t.zoned, unit="day"))),
    "ExtractEpochSeconds": _ops(("at.epoch_seconds()", lambda t: t.at.epoch_seconds() // 10**6)),
    "Bucket": _ops(("n.bucket([0, 3, 50])", lambda t: t.n.bucket([0, 3, 50]))),
    "TryCast": _ops(
        ("i.try_cast('int8')", lambda t: t.i.try_cast("int8")),
        ("plan.try_cast('int64')", lambda t: t.plan.try_cast("int64").clip(0, 9), True, ("postgresql",)),
        ("plan.try_cast('date')", lambda t: t.plan.try_cast("date"), True, ("postgresql",)),
    ),
    "ExtractYear": _ops(("day.year()", lambda t: t.day.year()), ("at.year()", lambda t: t.at.year())),
    "ExtractQuarter": _ops(("day.quarter()", lambda t: t.day.quarter())),
    "ExtractMonth": _ops(("at.month()", lambda t: t.at.month())),
    "ExtractDay": _ops(("zoned.day()", lambda t: t.zoned.day())),
    "ExtractDayOfYear": _ops(("day.day_of_year()", lambda t: t.day.day_of_year())),
    "ExtractWeekOfYear": _ops(("day.week_of_year()", lambda t: t.day.week_of_year())),
    "DayOfWeekIndex": _ops(
        ("day.day_of_week.index()", lambda t: t.day.day_of_week.index()),
        ("at.day_of_week.index()", lambda t: t.at.day_of_week.index()),
    ),
    "ExtractHour": _ops(("zoned.hour()", lambda t: t.zoned.hour())),
    "ExtractMinute": _ops(("at.minute()", lambda t: t.at.minute())),
    "ExtractSecond": _ops(("at.second()", lambda t: t.at.second())),
    "Date": _ops(("at.date()", lambda t: t.at.date())),
    "DateTruncate": _ops(*((f"day.truncate('{unit}')", lambda t, unit=unit: t.day.truncate(unit)) for unit in "YQMW")),
    "TimestampTruncate": _ops(
        *(
            (f"at.truncate('{unit}')", lambda t, unit=unit: t.at.truncate(unit))
            for unit in ("Y", "M", "W", "D", "h", "m", "s")
        )
    ),
}
"""By the name of its class in Ibis: each operation of the closed language."""
