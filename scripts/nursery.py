"""Runs pytest again and again, each time in a fork of one process that has loaded all but the package under test.

An order is a line of JSON on standard input: `tests`, `root`, `source`, `report`, `output`, `patience`. The reply is a
line with `code`: pytest's exit code, or a word: "endless", or "elsewhere", where the package is not that in `source`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

PRELOADED = (
    "numpy", "scipy.special", "scipy.stats", "scipy.optimize", "pyarrow", "pyarrow.parquet", "pyarrow.compute",
    "pandas", "duckdb", "ibis", "ibis.backends.duckdb", "sqlglot", "matplotlib", "matplotlib.figure", "rich.console",
    "typer", "flint", "cryptography.hazmat.primitives.ciphers",
)  # fmt: skip
"""What most tests need and none changes. Not Hypothesis: pytest wants to be the first to load its plugins."""

ELSEWHERE = 99


def born(order: Mapping[str, Any]) -> int:
    """In a fork: the exit code of pytest on the package in `source`."""
    with Path(order["output"]).open("w") as output:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
            os.dup2(output.fileno(), stream.fileno())
    os.chdir(order["root"])
    os.environ |= {"PYTHONPATH": order["source"], "CI": "true", "PYTHONDONTWRITEBYTECODE": "1"}
    sys.dont_write_bytecode = True
    sys.path[:] = [order["source"], *sys.path[1:]]
    try:
        package = import_module("discreet").__file__ or ""
    except Exception:  # noqa: BLE001 - a fault may break the package: pytest tells it better
        package = order["source"]
    if not Path(package).is_relative_to(order["source"]):
        return ELSEWHERE
    import pytest

    options = ["-q", "-x", "-p", "no:cacheprovider", "--hypothesis-profile=mutants", f"--junitxml={order['report']}"]
    return int(pytest.main([*options, *order["tests"]]))


def served(order: Mapping[str, Any]) -> int | str:
    """Forks, waits as long as the order's patience lasts, and kills what goes on."""
    child = os.fork()
    if child == 0:
        code = 3  # pytest's code for an error of its own
        try:
            os.setsid()
            code = born(order)
        finally:
            sys.stdout.flush()
            os._exit(code)
    ends = time.monotonic() + order["patience"]
    while time.monotonic() < ends:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return "elsewhere" if code == ELSEWHERE else code
        time.sleep(0.01)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "endless"


def main() -> None:
    """Serves orders until there are no more."""
    for name in PRELOADED:
        with suppress(ImportError):  # what is not installed is not needed
            import_module(name)
    for line in sys.stdin:
        sys.stdout.write(json.dumps({"code": served(json.loads(line))}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
