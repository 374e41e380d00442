"""What a browser sends with a form: a few short texts, within limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect, Request

from discreet.errors import InvalidParameter, expected

LARGEST = 200_000
"""Bytes of a form; the longest question that the service takes is far shorter."""
MOST = 200
FORM = "application/x-www-form-urlencoded"


class Fields(Mapping[str, str]):
    """The fields of a form by name; of several with one name, the last, or `all`.

    >>> sent = Fields([("a", "1"), ("a", "2")])
    >>> sent["a"], sent.all("a"), sent.text("b")
    ('2', ['1', '2'], '')
    """

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self._pairs = pairs
        self._last = dict(pairs)

    def __getitem__(self, name: str) -> str:
        return self._last[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._last)

    def __len__(self) -> int:
        return len(self._last)

    def all(self, name: str) -> list[str]:
        """Every value of this name."""
        return [value for found, value in self._pairs if found == name]

    def text(self, name: str) -> str:
        """The value without the space around it, or nothing."""
        return self._last.get(name, "").strip()


async def read_fields(request: Request) -> Fields:
    """The fields of a posted form.

    Raises:
        InvalidParameter: it is another kind of body, or larger than any form of these pages.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    cure = "send the form of the page."
    if kind != FORM:
        raise InvalidParameter(expected(f"a form ({FORM})", "content-type", kind[:60] or "none", cure))
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > LARGEST:
                raise InvalidParameter(expected(f"a form of at most {LARGEST:,} bytes", "body", "more", cure))
    except ClientDisconnect:
        raise InvalidParameter(expected("a whole form", "body", "a part of one", cure)) from None
    try:
        return Fields(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MOST, errors="strict"))
    except ValueError:
        raise InvalidParameter(expected(f"a form of at most {MOST} fields in UTF-8", "body", "another", cure)) from None
