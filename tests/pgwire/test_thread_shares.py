"""One principal's work leaves threads for others, whether or not anybody still waits for it."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from discreet.pgwire.session_limits import SessionLimits
from discreet.pgwire.thread_shares import ThreadShare
from pg_sockets import RawClient, cancel_request, letters, query, running
from stub_service import StubPrincipal, StubService

OTHER = "token-of-other"


def test_a_share_is_not_exceeded() -> None:
    async def tried() -> int:
        with ThreadPoolExecutor(8) as executor:
            share, now, most = ThreadShare(executor, 3), [0], [0]
            lock = threading.Lock()

            def work() -> None:
                with lock:
                    now[0] += 1
                    most[0] = max(most[0], now[0])
                time.sleep(0.02)
                with lock:
                    now[0] -= 1

            await asyncio.gather(*(share.run(work) for _ in range(20)))
            return most[0]

    assert asyncio.run(tried()) == 3


def test_who_cancels_does_not_get_more_threads() -> None:
    async def tried() -> int:
        with ThreadPoolExecutor(8) as executor:
            share, begun, end = ThreadShare(executor, 2), [0], threading.Event()

            def work() -> None:
                begun[0] += 1
                end.wait(10)

            for _ in range(6):
                task = asyncio.ensure_future(share.run(work))
                await asyncio.sleep(0.02)
                task.cancel()
            await asyncio.sleep(0.05)
            found = begun[0]
            end.set()
            assert await share.run(lambda: "free again") == "free again"
            return found

    assert asyncio.run(tried()) == 2


def test_what_fails_gives_its_place_back() -> None:
    async def tried() -> None:
        executor = ThreadPoolExecutor(1)
        share = ThreadShare(executor, 1)
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                await share.run(lambda: 1 / 0)
        executor.shutdown()
        for _ in range(3):
            with pytest.raises(RuntimeError):
                await asyncio.wait_for(share.run(lambda: None), 5)

    asyncio.run(tried())


@dataclass
class SlowService(StubService):
    """One analyst's looks at a data set take long."""

    end: Any = None

    def authenticate(self, token: object) -> StubPrincipal:
        return StubPrincipal("other") if token == OTHER else super().authenticate(token)

    def explain(self, principal: Any, ask: Any) -> dict[str, Any]:
        if principal.name == "analyst":
            self.end.wait(20)
        return super().explain(principal, ask)


def test_one_analyst_leaves_threads_for_others() -> None:
    service = SlowService(end=threading.Event())
    limits = SessionLimits(threads=3, threads_of_one=2)
    with running(service, limits=limits) as port:
        clients = [RawClient(port) for _ in range(6)]
        for client in clients:
            client.send(query("EXPLAIN SELECT COUNT(*) FROM people"))
        with RawClient(port, token=OTHER, user="other") as other:
            key = next(body for letter, body in clients[0].greeting if letter == "K")
            with RawClient(port, token=None) as canceling:
                canceling.send(cancel_request(key[:4], key[4:]))
            began = time.monotonic()
            assert letters(other.ask(query("EXPLAIN SELECT COUNT(*) FROM people"))).endswith("CZ")
            assert letters(other.ask(query("SELECT 1"))) == "TDCZ"
            assert time.monotonic() - began < 10
        service.end.set()
        for client in clients:
            client.close()
