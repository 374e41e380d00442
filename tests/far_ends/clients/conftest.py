"""The demonstration behind PostgreSQL's protocol, for clients that others wrote; from .venv-serve alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec

import pytest

from discreet.service.answer_timing import Pace
from discreet.service.demonstration import demo_service
from far_address import Address
from pg_sockets import running

collect_ignore_glob = [] if find_spec("asyncpg") and find_spec("jaydebeapi") else ["test_*.py"]
"""What needs clients is tried by scripts/try_service.sh, where they are."""


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    with ExitStack() as held:
        service, tokens = demo_service(tmp_path_factory.mktemp("clients"), held)
        held.callback(service.close)
        object.__setattr__(service._datasets["people"], "pace", Pace(least=0.1))
        yield Address(service, held.enter_context(running(service)), tokens["analyst"])
