"""Threads that work for sessions, of which no principal has more than a part.

Claim
    One principal's work takes at most `most` of the threads at a time, whoever has given up waiting for it.
Requires
    All of a principal's sessions have one share.
Relies on
    `asyncio.Semaphore`; the callbacks of `concurrent.futures.Future`.
Proof
    A place is taken before work is handed to the threads, and given back when that work has ended or was never begun:
    by the future's callback, so that a request to cancel, or a client that leaves, frees none of it early.
Rounding
    None.
Source
    Discreet's own.
Mutant
    threads-for-whoever-asks: a place is given back when the client goes; killed by
    test_who_cancels_does_not_get_more_threads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

GIVEN = TypeVar("GIVEN")


class ThreadShare:
    """The part of the threads that one principal's sessions have together."""

    def __init__(self, executor: Executor, most: int) -> None:
        self._executor = executor
        self._places = asyncio.Semaphore(most)

    async def run(self, work: Callable[..., GIVEN], *arguments: Any, **named: Any) -> GIVEN:
        """What some work gives, once one of the threads has done it."""
        await self._places.acquire()
        loop = asyncio.get_running_loop()
        try:
            future = self._executor.submit(work, *arguments, **named)
        except BaseException:
            self._places.release()
            raise
        future.add_done_callback(partial(self._ended, loop))
        return await asyncio.wrap_future(future)

    def _ended(self, loop: asyncio.AbstractEventLoop, _future: Future[Any]) -> None:
        with suppress(RuntimeError):  # the server has ended
            loop.call_soon_threadsafe(self._places.release)
