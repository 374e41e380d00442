"""What a service sends, read as what was expected of it: whatever is no such thing is one refusal, in words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from discreet.answers.stored_answers import received
from discreet.errors import DiscreetError, expected

CURE = (
    "look at the address, and at the version of discreet there; what was paid for is stored there, and is given again "
    "for nothing."
)
ANSWER = "the answer to what was asked"
NUMBER = re.compile(r"[A-Za-z0-9_-]{1,200}")
"""What a release goes by in a path."""


class ServiceRefused(DiscreetError):
    """The service does not let this in: the token, the name, the number of requests, or the moment is wrong. Or what
    answers is no service of this version.
    """


def malformed(what: str) -> ServiceRefused:
    """The refusal of a body that is not what was expected."""
    return ServiceRefused(expected(f"a service of discreet that sends {what}", "body", "another one", CURE))


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Reads a body that should hold this: whatever fails meanwhile, fails for what was sent.

    >>> with reading("the time"):
    ...     {}["time"]
    Traceback (most recent call last):
        ...
    discreet.client.service_bodies.ServiceRefused: Expected a service of discreet that sends the time, got ...
    """
    try:
        yield
    except (ServiceRefused, MemoryError):
        raise
    except Exception:  # noqa: BLE001 (readers of JSON, Base64, NumPy and Ibis have errors of their own)
        raise malformed(what) from None


def mapping(what: str, body: object, **kinds: type | tuple[type, ...]) -> Mapping[str, Any]:
    """An object that has these fields, each of its types; a truth value is no number.

    >>> mapping("a job", {"id": "7"}, id=str)
    {'id': '7'}
    """
    if not isinstance(body, dict) or not all(isinstance(name, str) for name in body):
        raise malformed(what)
    for name, kind in kinds.items():
        value, of = body.get(name), kind if isinstance(kind, tuple) else (kind,)
        if not isinstance(value, of) or (isinstance(value, bool) and bool not in of):
            raise malformed(f"{what} with its {name}")
    return body


def list_of_objects(what: str, body: object, **kinds: type | tuple[type, ...]) -> Sequence[Mapping[str, Any]]:
    """A list of such objects."""
    if not isinstance(body, list):
        raise malformed(f"a list of {what}")
    return [mapping(what, one, **kinds) for one in body]


def answer_to(ask: Mapping[str, Any], sent: Mapping[str, Any]) -> bytes:
    """The stored answer that was sent for an ask; refuses one that says itself that it is of another question.

    >>> answer_to({"question": {"sql": "SELECT 1"}}, {"answer": "{}", "ask": {"question": {"sql": "SELECT 2"}}})
    Traceback (most recent call last):
        ...
    discreet.client.service_bodies.ServiceRefused: Expected a service of discreet that sends the answer to ...
    """
    with reading(ANSWER):
        if "ask" in sent and sent["ask"]["question"] != json.loads(json.dumps(ask["question"])):
            raise malformed(ANSWER)
        return received(sent["answer"])
