"""One server for all tests that only ask it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pg_sockets import RawClient, running
from stub_service import StubService


@pytest.fixture(scope="session")
def service() -> StubService:
    return StubService()


@pytest.fixture(scope="session")
def port(service: StubService) -> Iterator[int]:
    with running(service) as found:
        yield found


@pytest.fixture
def client(port: int) -> Iterator[RawClient]:
    client = RawClient(port)
    yield client
    client.close()
