"""JSON bodies, read within limits: of bytes, depth and digits, without NaN and without a name that stands twice."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Any

from starlette.requests import ClientDisconnect, Request

from discreet.errors import printable
from discreet.server.http_errors import BodyRefused

MOST_BYTES = 1 << 20
UNKNOWN_BYTES = 1 << 16
"""That are held in memory for nobody known yet."""
MOST_DEPTH = 64
MOST_DIGITS = 60

TOO_LARGE = f"Expected a body of at most {MOST_BYTES} bytes, got a larger one.\nHint: send less; keys may be declared."
NO_JSON = "Expected a JSON object, got {what}.\nHint: send Content-Type: application/json and one object."


async def read_object(request: Request) -> dict[str, Any]:
    """The JSON object in the body of a request; anything else is refused before it is held in memory."""
    return parsed(await read_body(request))


async def read_body(request: Request, admit: Callable[[], Awaitable[object]] | None = None) -> bytes:
    """The bytes in the body of a request that says it is JSON; `admit` is asked once before much of it is held."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind != "application/json":
        raise BodyRefused(415, "invalid_body", NO_JSON.format(what="another content type"))
    parts, size = [], 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > MOST_BYTES:
                raise BodyRefused(413, "too_large", TOO_LARGE)
            if admit is not None and size > UNKNOWN_BYTES:
                await admit()
                admit = None
            parts.append(part)
    except ClientDisconnect:
        raise BodyRefused(400, "invalid_body", NO_JSON.format(what="half of a body")) from None
    return b"".join(parts)


def parsed(body: bytes) -> dict[str, Any]:
    """The object that these bytes are.

    >>> parsed(b'{"a": 0.10}')
    {'a': Decimal('0.10')}
    """
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise BodyRefused(400, "invalid_body", NO_JSON.format(what="bytes that are no UTF-8")) from None
    if _deep(text):
        raise BodyRefused(400, "invalid_body", NO_JSON.format(what=f"more than {MOST_DEPTH} levels"))
    try:
        found = json.loads(
            text, parse_float=_decimal, parse_int=_whole, parse_constant=_constant, object_pairs_hook=_object
        )
    except BodyRefused:
        raise
    except (ValueError, ArithmeticError, RecursionError):  # an exponent that no decimal has among them
        raise BodyRefused(400, "invalid_body", NO_JSON.format(what="text that is no JSON")) from None
    if not isinstance(found, dict):
        raise BodyRefused(400, "invalid_body", NO_JSON.format(what="another value"))
    return found


def _deep(text: str) -> bool:
    """Whether brackets outside of strings are nested more deeply than is read."""
    depth, inside, escaped = 0, False, False
    for character in text:
        if inside:
            inside = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            inside = True
        elif character in "[{":
            depth += 1
            if depth > MOST_DEPTH:
                return True
        elif character in "]}":
            depth -= 1
    return False


def _decimal(text: str) -> Decimal:
    _check(text)
    return Decimal(text)


def _whole(text: str) -> int:
    _check(text)
    return int(text)


def _check(text: str) -> None:
    if len(text) > MOST_DIGITS:
        raise BodyRefused(400, "invalid_body", NO_JSON.format(what=f"a number of more than {MOST_DIGITS} digits"))


def _constant(text: str) -> Any:
    raise BodyRefused(400, "invalid_body", NO_JSON.format(what=f"{text}, which JSON does not have"))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        times = Counter(name for name, _ in pairs)
        twice = next(name for name in times if times[name] > 1)
        raise BodyRefused(400, "invalid_body", NO_JSON.format(what=f"the name {printable(twice[:60])!r} twice"))
    return found
