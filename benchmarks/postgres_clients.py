"""A stored answer over PostgreSQL's protocol: how long a dashboard waits for it, beside `SELECT 1`.

``python benchmarks/postgres_clients.py [ROUNDS]`` serves the demonstration in a process of its own and asks it with
psycopg (in ``.venv``, with the extra ``serve``). Times are of whole round trips, in milliseconds.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

sys.path.append(str(Path(__file__).parents[1] / "tests" / "fixtures"))

from served_demo import free_port

ROUNDS = 500
QUESTION = "SELECT plan, AVG(visits) AS v, COUNT(*) AS n FROM people WHERE age >= %s GROUP BY plan"
PLAIN = QUESTION.replace("%s", "18")


@contextmanager
def served() -> Iterator[str]:
    """The demonstration, as an address that holds the analyst's token; prints how long it took to start."""
    with tempfile.TemporaryDirectory() as folder:
        tokens, port, own = Path(folder) / "tokens.json", free_port(), free_port()
        stated = ["--port", str(own), "--pg-port", str(port), "--tokens", str(tokens)]
        command = [str(Path(sys.executable).with_name("discreet")), "serve", "--demo", *stated]
        began = time.perf_counter()
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:  # noqa: S603 - our own program
            try:
                if server.stderr is None or "Serving on" not in (line := server.stderr.readline()):
                    sys.exit(f"Expected a service, got {line}")
                print(f"started in {time.perf_counter() - began:.1f} s")
                yield f"postgresql://analyst:{json.loads(tokens.read_text())['analyst']}@localhost:{port}/people"
            finally:
                server.terminate()


def measured(name: str, ask: Callable[[], Any], rounds: int) -> None:
    """Prints the quantiles of the times that an answer takes."""
    for _ in range(10):
        ask()
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        ask()
        times.append(1000 * (time.perf_counter() - began))
    low, middle, high = np.quantile(times, (0.05, 0.5, 0.95))
    print(f"| {name} | {middle:.2f} | {low:.2f} | {high:.2f} |", flush=True)


def parametrized(connection: psycopg.Connection[Any], form: dict[str, bool]) -> list[Any]:
    """The answer to the question with a parameter."""
    return connection.execute(QUESTION, (18,), **form).fetchall()


def main() -> None:
    """Measures each way to ask."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    print(
        f"Python {platform.python_version()}, psycopg {psycopg.__version__}, {platform.machine()}, {rounds} rounds each"
    )
    with served() as address, psycopg.connect(address, autocommit=True) as connection:
        connection.execute(PLAIN).fetchall()
        connection.execute(QUESTION, (18,)).fetchall()
        print("\n| way | median | 5 % | 95 % |\n|---|--:|--:|--:|")
        measured("SELECT 1", lambda: connection.execute("SELECT 1").fetchall(), rounds)
        measured("the same text", lambda: connection.execute(PLAIN).fetchall(), rounds)
        forms: dict[str, dict[str, bool]] = {
            "a parameter": {"prepare": False},
            "prepared": {"prepare": True},
            "prepared, binary": {"prepare": True, "binary": True},
        }
        for name, form in forms.items():
            measured(name, partial(parametrized, connection, form), rounds)


if __name__ == "__main__":
    main()
