"""A service in this process, asked by its client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from asked_service import Served


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    made = Served(tmp_path)
    yield made
    made.service.close()
