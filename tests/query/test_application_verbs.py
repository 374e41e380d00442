"""The verbs of rooms above are found by name, and only when they are called."""

from __future__ import annotations

import subprocess
import sys

import pytest

from discreet.query.application_verbs import APPLICATIONS, application
from discreet.query.table import PrivateTable


@pytest.mark.parametrize("name", APPLICATIONS)
def test_each_is_there(name: str) -> None:
    assert callable(application(name))
    assert callable(getattr(PrivateTable, name))


@pytest.mark.long
def test_none_is_loaded_before() -> None:
    program = "import discreet as dp, sys; dp.PrivateTable; print('discreet.clustering.table_kmeans' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
