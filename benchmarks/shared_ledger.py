"""How many charges a second a ledger takes from several threads and processes, in a file and on a PostgreSQL server.

    python benchmarks/shared_ledger.py [folder]

The file is made below `folder`, by default where temporary files go, and so is the server, which syncs each commit.
"""

from __future__ import annotations

import os
import platform
import pwd
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

from discreet.ledger.budget import Budget
from discreet.ledger.ledger import Charge
from discreet.ledger.ledger_kinds import statement, verify
from discreet.privacy.definitions import Guarantee
from temporary_postgresql import binaries

LITTLE = Guarantee(epsilon=Fraction(1, 10**9))
SECONDS = 5.0
SHAPES = ((1, 1), (1, 128), (4, 32))
"""Processes, and threads in each."""


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """A server that syncs; gives the place of ledgers on it, without their name."""
    user = "postgres" if os.geteuid() == 0 else None
    own = Path(tempfile.mkdtemp(prefix="discreet-ledger-", dir=folder))
    programs = binaries()
    if programs is None:
        raise RuntimeError("PostgreSQL is not installed")
    if user is not None:
        os.chown(own, pwd.getpwnam(user).pw_uid, pwd.getpwnam(user).pw_gid)

    def run(program: str, *arguments: str) -> None:
        command = [str(programs / program), *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, user=user, cwd=own)  # noqa: S603 - ours

    run("initdb", "-D", str(own / "data"), "-U", "discreet", "-A", "trust", "-E", "UTF8", "--locale=C")
    options = f"-c listen_addresses='' -c unix_socket_directories='{own}'"
    run("pg_ctl", "-D", str(own / "data"), "-l", str(own / "log"), "-w", "-o", options, "start")
    try:
        yield f"postgresql://discreet@/postgres?host={own}#"
    finally:
        run("pg_ctl", "-D", str(own / "data"), "-m", "fast", "-w", "stop")
        shutil.rmtree(own, ignore_errors=True)


def spend(place: str, number: int, answer: bytes | None) -> int:
    """Charges a level of a ledger from so many threads for some seconds, from a line of the input on."""
    budget = Budget(epsilon=1, ledger=place).child("staff").child("alice")
    made = [0] * number
    print("ready", flush=True)
    sys.stdin.readline()
    until = time.monotonic() + SECONDS

    def analyst(name: int) -> None:
        while time.monotonic() < until:
            made[name] += 1
            key = f"{os.getpid():032x}{name:08x}{made[name]:024x}"
            paid = budget.reserve(Charge(source="people", what="count by plan", key=key, guarantee=LITTLE))
            if answer is not None:
                paid.commit(answer)

    started = [threading.Thread(target=analyst, args=(name,)) for name in range(number)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    return sum(made)


def measured(place: str, shape: tuple[int, int], answer: str) -> float:
    """How many charges a second were made; all of them are verified."""
    processes, threads = shape
    staff = Budget(parent=Budget(epsilon=1, ledger=place), epsilon=1, name="staff")
    Budget(parent=staff, epsilon=1, name="alice")
    program = [sys.executable, __file__, "--spend", place, str(threads), answer]
    started = [
        subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603 - this file
        for _ in range(processes)
    ]
    for process in started:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
    begin = time.monotonic()
    for process in started:
        print(file=process.stdin, flush=True)
    made = sum(int(process.communicate()[0]) for process in started)
    taken = time.monotonic() - begin
    told = statement(place, entries=False)
    assert told.number == made
    assert verify(place).spent.epsilon == made * LITTLE.epsilon
    return made / taken


def main() -> None:
    """Prints the table."""
    if sys.argv[1:2] == ["--spend"]:
        print(spend(sys.argv[2], int(sys.argv[3]), bytes(2000) if sys.argv[4] == "answers" else None))
        return
    today = date.today()  # noqa: DTZ011 - a label
    load = f"load {os.getloadavg()[0]:.0f}"
    print(f"{today}, {os.cpu_count()} cores of {platform.machine()}, Python {platform.python_version()}, {load}")
    folder = Path(sys.argv[1] if sys.argv[1:] else tempfile.gettempdir())
    with tempfile.TemporaryDirectory(dir=folder) as own, server(folder) as url:
        for kind, place in (("SQLite", f"{own}/{{}}.db"), ("PostgreSQL", f"{url}{{}}")):
            for shape in SHAPES:
                for answer, what in (("none", "charges"), ("answers", "charges with answers of 2 kB")):
                    rate = measured(place.format(f"s{shape[0]}_{shape[1]}_{answer}"), shape, answer)
                    print(f"{kind:10} {shape[0]} x {shape[1]:2} {what:30} {rate:>8,.0f} /s", flush=True)


if __name__ == "__main__":
    main()
