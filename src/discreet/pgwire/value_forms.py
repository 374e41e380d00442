"""The text and binary forms of values, as PostgreSQL has them: clients ask for binary ones after a few executions."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Context, Decimal, InvalidOperation
from functools import partial, reduce
from itertools import pairwise
from typing import Any

from discreet.pgwire.type_codes import (
    BOOL,
    BYTEA,
    DATE,
    ELEMENTS,
    LONGEST_NUMBER,
    NUMERIC,
    REAL,
    TEXTS,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    WHOLE,
    BadValue,
)

EPOCH = date(2000, 1, 1)
START = datetime(2000, 1, 1)  # noqa: DTZ001 - a timestamp without a zone, as PostgreSQL counts it
MICROSECOND = timedelta(microseconds=1)
ALL_DIGITS = Context(prec=3 * LONGEST_NUMBER)
"""Of a number that is no longer before its point, nor behind it."""
TRUE, FALSE = ("t", "true", "1", "on", "yes"), ("f", "false", "0", "off", "no")


def encoder(oid: int, code: int) -> Callable[[Any], bytes]:
    """What writes a value of a type in text (0) or binary (1).

    >>> encoder(20, 0)(7), encoder(20, 1)(7).hex(), encoder(701, 0)(2.5)
    (b'7', '0000000000000007', b'2.5')
    """
    return partial(binary, oid=oid) if code else lambda value: text_form_of(value, oid).encode()


def text_form_of(value: Any, oid: int) -> str:
    """The text form of a value."""
    if oid in ELEMENTS:
        return "{" + ",".join(_element(one, ELEMENTS[oid]) for one in value) + "}"
    return TEXT_FORMS.get(oid, _text)(value)


def _element(value: Any, oid: int) -> str:
    if value is None:
        return "NULL"
    shown = text_form_of(value, oid)
    plain = shown and shown.upper() != "NULL" and not any(char in '{}",\\' or char.isspace() for char in shown)
    return shown if plain else '"' + shown.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _text(value: Any) -> str:
    """A text without NUL, which PostgreSQL has in none: clients in C read no further, and two keys would look alike."""
    return str(value).replace("\0", r"\x00")


def _real(given: Any) -> str:
    value = float(given)
    if value != value:  # noqa: PLR0124 - NaN alone differs from itself
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value).removesuffix(".0")


TEXT_FORMS: Mapping[int, Callable[[Any], str]] = {
    BOOL: lambda value: "t" if value else "f",
    BYTEA: lambda value: "\\x" + bytes(value).hex(),
    TIMESTAMP: lambda value: str(value.replace(tzinfo=None).isoformat(sep=" ")),
    TIMESTAMPTZ: lambda value: value.replace(tzinfo=None).isoformat(sep=" ") + "+00",
    **dict.fromkeys(REAL, _real),
}
"""Those that are not as Python writes a value."""


def binary(value: Any, oid: int) -> bytes:
    """The binary form of a value."""
    if oid in ELEMENTS:
        return _array(value, ELEMENTS[oid])
    form = (WHOLE | REAL).get(oid)
    if form is not None:
        return struct.pack(form, value)
    return BINARY_FORMS.get(oid, lambda one: _text(one).encode())(value)


def _moment(value: datetime) -> bytes:
    naive = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
    return struct.pack("!q", (naive - START) // MICROSECOND)


def _time(value: time) -> bytes:
    return struct.pack("!q", ((value.hour * 60 + value.minute) * 60 + value.second) * 10**6 + value.microsecond)


def _array(values: Sequence[Any], oid: int) -> bytes:
    if not values:
        return struct.pack("!iiI", 0, 0, oid)
    parts = [struct.pack("!iiIii", 1, int(None in values), oid, len(values), 1)]
    for value in values:
        held = None if value is None else binary(value, oid)
        parts.append(struct.pack("!i", -1) if held is None else struct.pack("!i", len(held)) + held)
    return b"".join(parts)


def _numeric(given: Any) -> bytes:
    """Groups of four decimal digits, as PostgreSQL keeps a number."""
    value = Decimal(given)
    if not value.is_finite():
        return struct.pack("!hhHH", 0, 0, 0xC000, 0)
    sign, digits, power = value.as_tuple()
    scale = max(-int(power), 0)
    whole = ("".join(map(str, digits)) + "0" * max(int(power), 0)).rjust(scale + 1, "0")
    before, after = whole[: len(whole) - scale], whole[len(whole) - scale :]
    before = before.rjust(-(-len(before) // 4) * 4, "0")
    after = after.ljust(-(-len(after) // 4) * 4, "0")
    groups = [int((before + after)[i : i + 4]) for i in range(0, len(before + after), 4)]
    weight = len(before) // 4 - 1
    while groups and groups[0] == 0:
        groups, weight = groups[1:], weight - 1
    while groups and groups[-1] == 0:
        groups = groups[:-1]
    return struct.pack(f"!hhHH{len(groups)}h", len(groups), weight if groups else 0, 0x4000 * sign, scale, *groups)


BINARY_FORMS: Mapping[int, Callable[[Any], bytes]] = {
    BOOL: lambda value: b"\x01" if value else b"\x00",
    BYTEA: bytes,
    DATE: lambda value: struct.pack("!i", (value - EPOCH).days),
    TIME: _time,
    TIMESTAMP: _moment,
    TIMESTAMPTZ: _moment,
    NUMERIC: _numeric,
}
"""Those that are neither numbers of a fixed size nor text."""


def parameter(data: bytes | None, oid: int, code: int) -> Any:
    """The value of a parameter, from its text (0) or binary (1) form.

    >>> parameter(b"18", 20, 0), parameter(b'{r,"a b"}', 1009, 0), parameter(None, 25, 0)
    (18, ['r', 'a b'], None)

    Raises:
        BadValue: it does not have the form of its type.
    """
    if data is None:
        return None
    try:
        return _from_binary(data, oid) if code else _from_text(data.decode(), oid)
    except (ValueError, struct.error, InvalidOperation, OverflowError) as problem:
        raise BadValue(f"Expected a parameter of type {oid}, got other bytes.") from problem


def _from_binary(data: bytes, oid: int) -> Any:
    if oid in ELEMENTS:
        return _list_from_binary(data, oid)
    form = (WHOLE | REAL).get(oid)
    if form is not None:
        return struct.unpack(form, data)[0]
    if oid == 0 or (oid in TEXTS and oid not in FROM_BINARY):
        return data.decode()
    if oid not in FROM_BINARY:
        raise BadValue(f"Expected a type that parameters can have, got {oid} in binary form.")
    return FROM_BINARY[oid](data)


def _from_numeric(data: bytes) -> Decimal:
    count, weight, sign, scale = struct.unpack_from("!hhHH", data)
    if sign not in (0, 0x4000) or count < 0 or scale > LONGEST_NUMBER or abs(weight) > LONGEST_NUMBER // 4:
        raise ValueError
    groups = struct.unpack_from(f"!{count}h", data, 8)
    parts = (Decimal(group).scaleb(4 * (weight - i)) for i, group in enumerate(groups))
    value = reduce(ALL_DIGITS.add, parts, Decimal(0))
    return ALL_DIGITS.minus(value) if sign else value


def _from_moment(data: bytes) -> datetime:
    (passed,) = struct.unpack("!q", data)
    return START + int(passed) * MICROSECOND


def _uuid(data: bytes) -> str:
    if len(data) != 16:
        raise ValueError
    return "-".join(data.hex()[start:end] for start, end in pairwise((0, 8, 12, 16, 20, 32)))


FROM_BINARY: Mapping[int, Callable[[bytes], Any]] = {
    UUID: _uuid,
    BOOL: lambda data: data != b"\x00",
    DATE: lambda data: EPOCH + timedelta(days=struct.unpack("!i", data)[0]),
    TIMESTAMP: _from_moment,
    TIMESTAMPTZ: _from_moment,
    NUMERIC: _from_numeric,
}


def _list_from_binary(data: bytes, oid: int) -> list[Any]:
    dimensions, _, element = struct.unpack_from("!iiI", data)
    if dimensions == 0:
        return []
    count, _ = struct.unpack_from("!ii", data, 12)
    if dimensions != 1 or element != ELEMENTS[oid] or not 0 <= count <= len(data):
        raise ValueError
    found, place = [], 20
    for _ in range(count):
        (size,) = struct.unpack_from("!i", data, place)
        place += 4
        found.append(None if size < 0 else _from_binary(data[place : place + size], element))
        place += max(size, 0)
    return found


_TOO_FINE = re.compile(r"[.,]\d{7}")
_DAY = re.compile(r"(\d{4}-\d\d-\d\d)(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?(?: ?(?:Z|[+-]\d\d(?::?\d\d){0,2}))?")
_ELEMENT = re.compile(r'\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>[^,"{}]+))\s*(?P<end>,|$)', re.DOTALL)


def _list_from_text(shown: str, oid: int) -> list[Any]:
    if not shown.startswith("{") or not shown.endswith("}"):
        raise ValueError
    inside, place, found = shown[1:-1], 0, []
    while place < len(inside):
        part = _ELEMENT.match(inside, place)
        if part is None or (part["end"] == "," and part.end() == len(inside)):
            raise ValueError
        quoted, plain = part["quoted"], (part["plain"] or "").strip()
        missing = quoted is None and plain.upper() == "NULL"
        value = plain if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
        found.append(None if missing else _from_text(value, ELEMENTS[oid]))
        place = part.end()
    return found


def _from_text(shown: str, oid: int) -> Any:
    if oid in ELEMENTS:
        return _list_from_text(shown, oid)
    if oid in WHOLE:
        return int(shown)
    if oid in REAL:
        return struct.unpack(REAL[oid], struct.pack(REAL[oid], float(shown)))[0]
    return FROM_TEXT.get(oid, str)(shown)


def _truth(shown: str) -> bool:
    word = shown.strip().lower()
    if word not in (*TRUE, *FALSE):
        raise ValueError
    return word in TRUE


def _decimal(shown: str) -> Decimal:
    if len(shown) > LONGEST_NUMBER:
        raise ValueError
    return Decimal(shown)


def _date(shown: str) -> date:
    """A day, without the time and the zone that PostgreSQL passes over: pgjdbc and node-postgres send them."""
    found = _DAY.fullmatch(shown.strip())
    return date.fromisoformat(found[1] if found else shown)


def _timestamp(shown: str) -> datetime:
    """A moment without its zone, which PostgreSQL passes over; one of more digits than it keeps would be cut."""
    if _TOO_FINE.search(shown):
        raise ValueError
    return datetime.fromisoformat(shown).replace(tzinfo=None)


def _timestamptz(shown: str) -> datetime:
    """A moment in UTC."""
    zone = datetime.fromisoformat(shown).tzinfo or UTC
    return _timestamp(shown).replace(tzinfo=zone).astimezone(UTC).replace(tzinfo=None)


FROM_TEXT: Mapping[int, Callable[[str], Any]] = {
    UUID: lambda shown: _uuid(bytes.fromhex(shown.strip("{}").replace("-", ""))),
    BOOL: _truth,
    DATE: _date,
    TIME: time.fromisoformat,
    TIMESTAMP: _timestamp,
    TIMESTAMPTZ: _timestamptz,
    NUMERIC: _decimal,
}
