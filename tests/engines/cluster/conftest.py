"""A cluster of processes of its own, half a minute: it is tried where it is asked for, by `make cluster`."""

from __future__ import annotations

import os
from typing import Any

import pytest

WANTED = bool(os.environ.get("CLUSTER"))
collect_ignore = [] if WANTED else ["test_cluster.py"]


def pytest_configure(config: pytest.Config) -> None:
    # Spark's Python side leaves its sockets to the garbage collector.
    config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")
    config.addinivalue_line(
        "filterwarnings", "ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning"
    )


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if not WANTED:
        terminalreporter.write_line("Left out: a cluster of Spark, which make cluster tries.", yellow=True)
