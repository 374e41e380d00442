"""A service with an operator, for tests that make none of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.service.service import Service
from service_fixtures import Clock, service_in


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    made = service_in(tmp_path, Clock())
    made.members.add("olga", operator=True)
    yield made
    made.close()
