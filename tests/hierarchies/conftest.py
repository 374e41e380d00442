"""The small country in a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from discreet.query.table import PrivateTable
from hierarchy_fixtures import ROWS, protected


@pytest.fixture
def country(tmp_path: Path) -> Callable[..., PrivateTable]:
    """Protects it."""
    place = tmp_path / "country.parquet"
    pq.write_table(ROWS, place)
    return lambda **stated: protected(str(place), **stated)
