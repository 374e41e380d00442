"""The engines that are here: those that are not are named at the end of the run, and are missed where all must be.

``ENGINES=duckdb,postgresql,spark`` says which ones must be here; a missing one is then a failure and not an omission.
What each engine has to pass runs on `template_engine` too, by which another one begins.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from typing import Any

import ibis
import pytest

import template_engine
from temporary_postgresql import binaries, temporary_postgresql
from temporary_spark import BRIEF, OLDEST_JAVA, java, temporary_spark

WANTED = [name for name in os.environ.get("ENGINES", "").split(",") if name]


def missing_postgresql() -> str | None:
    if find_spec("psycopg") is None:
        return "psycopg is not installed (pip install 'discreet[postgres]')"
    return None if binaries() else "the server's programs are not installed (apt-get install postgresql)"


def missing_spark() -> str | None:
    if find_spec("pyspark") is None:
        return "pyspark is not installed (pip install 'discreet[spark]')"
    found = java()
    if found is None or found < OLDEST_JAVA:
        return f"there is no Java {OLDEST_JAVA} or later (apt-get install default-jre-headless)"
    return None


MISSING = {"duckdb": None, "template": None, "postgresql": missing_postgresql(), "spark": missing_spark()}
PRESENT = [name for name, reason in MISSING.items() if reason is None or name in WANTED]
OTHERS = [name for name in PRESENT if name != "duckdb"]

_open: dict[str, Any] = {}
_stack = ExitStack()


def backend_of(name: str) -> Any:
    """A connection to an engine, started when it is first asked for."""
    if name not in _open:
        if MISSING[name] is not None:
            pytest.fail(f"{name} must be here: {MISSING[name]}")
        if name == "duckdb":
            _open[name] = ibis.duckdb.connect()
        elif name == "template":
            _open[name] = template_engine.connected()
        elif name == "spark":
            _open[name] = ibis.pyspark.connect(_stack.enter_context(temporary_spark(BRIEF)))
        else:
            _open[name] = ibis.postgres.connect(**_stack.enter_context(temporary_postgresql()))
    return _open[name]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "engine(name): a test of one engine's own ways")
    # Spark's Python side leaves its sockets to the garbage collector.
    config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")
    config.addinivalue_line(
        "filterwarnings", "ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`engine` is every engine that is here, `other` all but DuckDB, or those that its marks `engine(name)` name."""
    alone = {mark.args[0] for mark in metafunc.definition.iter_markers("engine")}
    for fixture, names in (
        ("engine", PRESENT),
        ("other", [name for name in OTHERS if not alone or name in alone]),
    ):
        if fixture in metafunc.fixturenames:
            # An empty list would be a skip, and nothing is skipped: what is left out is said below.
            # With several workers, each engine is started by one of them.
            marked = [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in names or ["none"]]
            metafunc.parametrize(fixture, marked)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = [
        item for item in items if not {"[none", "-none"} & {item.name[i : i + 5] for i in range(len(item.name))}
    ]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for name, reason in MISSING.items():
        if reason is not None:
            terminalreporter.write_line(f"Engine left out: {name}, since {reason}.", yellow=True)


@pytest.fixture(scope="session", autouse=True)
def _stopped() -> Iterator[None]:
    yield
    for name, backend in _open.items():
        if name != "spark":  # which is stopped with its session
            backend.disconnect()
    _open.clear()
    _stack.close()


@pytest.fixture(name="backend_of", scope="session")
def _backend_of() -> Any:
    return backend_of
