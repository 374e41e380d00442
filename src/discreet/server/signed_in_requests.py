"""What each endpoint takes from a request: the service, and who is signed in, within limits of rate and number."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.concurrency import run_in_threadpool

from discreet.server.json_bodies import read_body
from discreet.service.roles import Principal
from discreet.service.service import Service
from discreet.service.service_errors import TOO_FAST, OverLimit, not_signed_in

_bearer = HTTPBearer(auto_error=False, description="A token that the operator issued.")


class Allotments:
    """How many requests each principal may send, a second and at once."""

    def __init__(
        self, *, a_second: float, burst: float, at_once: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = a_second
        self._burst = burst
        self._at_once = at_once
        self._clock = clock
        self._lock = threading.Lock()
        self._left: dict[str, tuple[float, float]] = {}
        self._open: dict[str, int] = {}

    def take(self, name: str) -> None:
        """Counts one request; refuses it where there were too many."""
        now = self._clock()
        with self._lock:
            left, then = self._left.get(name, (self._burst, now))
            left = min(self._burst, left + (now - then) * self._rate)
            if left < 1:
                self._left[name] = left, now
                raise OverLimit(TOO_FAST)
            self._left[name] = left - 1, now

    @contextmanager
    def one_more(self, name: str) -> Iterator[None]:
        """Counts one that is open meanwhile."""
        with self._lock:
            if self._open.get(name, 0) >= self._at_once:
                raise OverLimit(TOO_FAST)
            self._open[name] = self._open.get(name, 0) + 1
        try:
            yield
        finally:
            with self._lock:
                self._open[name] -= 1
                if not self._open[name]:
                    del self._open[name]


async def service_of(request: Request) -> Service:
    """The service that an application serves; a coroutine, so that nobody waits for a thread to name it."""
    found: Service = request.app.state.service
    return found


Credentials = Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)]


async def principal_of(request: Request, credentials: Credentials) -> AsyncIterator[Principal]:
    """Who sends the token; within limits."""
    principal = await run_in_threadpool(_known, request, credentials)
    with _allotments(request).one_more(principal.name):
        yield principal


async def answered(request: Request, credentials: Credentials, answer: Callable[[Principal, bytes], bytes]) -> bytes:
    """What a body is answered for whoever sends the token, within limits: all in one thread, for what takes no longer
    than to change threads.
    """
    if credentials is None:
        raise not_signed_in()
    service: Service = request.app.state.service
    sent = await read_body(request, lambda: run_in_threadpool(service.authenticate, credentials.credentials))

    def work() -> bytes:
        principal = _known(request, credentials)
        with _allotments(request).one_more(principal.name):
            return answer(principal, sent)

    return await run_in_threadpool(work)


def _known(request: Request, credentials: HTTPAuthorizationCredentials | None) -> Principal:
    """Who sends the token, after one request was counted."""
    if credentials is None:
        raise not_signed_in()
    service: Service = request.app.state.service
    principal = service.authenticate(credentials.credentials)
    request.state.principal = principal.name
    _allotments(request).take(principal.name)
    return principal


def _allotments(request: Request) -> Allotments:
    found: Allotments = request.app.state.allotments
    return found


Served = Annotated[Service, Depends(service_of)]
SignedIn = Annotated[Principal, Depends(principal_of)]
