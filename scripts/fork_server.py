"""Runs pytest again and again, each time in a fork of one process that has loaded all but the package under test.

An order is a line of JSON on standard input: `test`, `root`, `source`, `planted`, `report`, `output`, `patience`. The
reply is a line with `code`: pytest's exit code, or a word, where the run says nothing about the fault: "endless";
"elsewhere", where the package is not that in `source`; "unread", where the file in which a fault was planted was not
loaded, or not with that fault; "threads", where something runs beside this process: a fork would lose it, or hang.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

PRELOADED = (
    "numpy", "scipy.special", "scipy.stats", "scipy.optimize", "pyarrow", "pyarrow.parquet", "pyarrow.compute",
    "pandas", "duckdb", "ibis", "ibis.backends.duckdb", "sqlglot", "matplotlib", "matplotlib.figure", "rich.console",
    "typer", "flint", "cryptography.hazmat.primitives.ciphers", "hypothesis.strategies", "hypothesis.extra.numpy",
    "hypothesis.stateful", "pytest", "_pytest.config", "_pytest.junitxml", "_hypothesis_pytestplugin",
)  # fmt: skip
"""What most tests need and none changes. Hypothesis too: pytest would rewrite all its asserts in each run."""

OPTIONS = (
    "-q", "-x", "-p", "no:cacheprovider", "--disable-plugin-autoload", "-p", "_hypothesis_pytestplugin",
    "--hypothesis-profile=ci", "--assert=plain", "--tb=native",
)  # fmt: skip

ELSEWHERE, UNREAD = 98, 99
WORDS = {ELSEWHERE: "elsewhere", UNREAD: "unread"}


def born(order: Mapping[str, Any]) -> int:
    """In a fork: the exit code of pytest on the package in `source`."""
    with Path(order["output"]).open("w") as output:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
            os.dup2(output.fileno(), stream.fileno())
    os.chdir(order["root"])
    os.environ |= {"PYTHONPATH": order["source"], "CI": "true"}
    sys.path[:] = [order["source"], *sys.path[1:]]
    try:
        package = import_module("discreet").__file__ or ""
    except Exception:  # noqa: BLE001 - a fault may break the package: pytest tells it better
        package = order["source"]
    if not Path(package).is_relative_to(order["source"]):
        return ELSEWHERE
    import pytest

    # Of its own: where several runs share one, pytest trips now and then over folders that another one takes away.
    temporary = Path(order["report"]).with_name("temporary")
    code = int(pytest.main([*OPTIONS, f"--basetemp={temporary}", f"--junitxml={order['report']}", order["test"]]))
    return UNREAD if order["planted"] and not is_read(Path(order["planted"])) else code


def is_read(file: Path) -> bool:
    """Whether a module was made of this file and of the text that it has now, not of older bytecode."""
    for module in list(sys.modules.values()):
        spec = getattr(module, "__spec__", None)
        if spec is not None and spec.origin == str(file) and hasattr(spec.loader, "get_code"):
            code = compile(file.read_bytes(), str(file), "exec", dont_inherit=True)
            return bool(spec.loader.get_code(spec.name) == code)
    return False


def threads() -> int:
    """How many threads this process has, those of libraries in C too."""
    tasks = Path("/proc/self/task")
    return len(list(tasks.iterdir())) if tasks.is_dir() else threading.active_count()


def served(order: Mapping[str, Any]) -> int | str:
    """Forks, waits as long as the order's patience lasts, and kills what goes on."""
    if threads() > 1:
        return "threads"
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
            return WORDS.get(code, code)
        time.sleep(0.005)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "endless"


def main() -> None:
    """Serves orders until there are no more."""
    for name in PRELOADED:
        with suppress(ImportError):  # what is not installed is not needed
            import_module(name)
    gc.collect()
    gc.freeze()  # so that no fork looks through all of this again, and copies it thereby
    for line in sys.stdin:
        sys.stdout.write(json.dumps({"code": served(json.loads(line))}) + "\n")
        sys.stdout.flush()
    os._exit(0)  # what DuckDB says of objects that it lost is of no use here


if __name__ == "__main__":
    main()
