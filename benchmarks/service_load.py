"""A service under load and under fire: 64 analysts, 4 processes, some of which are killed, and so is their database.

    python benchmarks/service_load.py [folder] [--seconds 30] [--storage postgresql sqlite] [--parts safety rates]

Each request has a price of its own, by which its charge is known in the
ledger, and is sent again with the same key, to any process, until an answer arrives; some clients give up while they
are being served. In the end no level may be overspent, no answer may be without its charge, no request may have two
charges or two answers. *Rates* are of processes that nobody kills, and of one client that counts while others ask.

Files, the ledger and PostgreSQL's data, which is synced, are made below `folder`, by default where temporary files go.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from fractions import Fraction
from pathlib import Path

sys.path.extend([str(Path(__file__).parents[1] / "scripts"), str(Path(__file__).parents[1] / "tests" / "fixtures")])

from discreet.curator.declaration_file import read_declaration
from discreet.ledger.budget import Budget
from discreet.ledger.ledger import Charge
from discreet.privacy.definitions import Guarantee
from discreet.service.asks import Ask
from killable_postgresql import killable_postgresql
from service_cluster import SQL, ServiceCluster, service_cluster, under_fire, verdict

PROCESSES, CLIENTS = 4, 64
RATE_SECONDS = 5.0
REPEATS = 300


def places(storage: str, url: Callable[[str], str]) -> dict[str, str]:
    """Where ledger and state go."""
    if storage == "sqlite":
        return {"ledger": "spent.db", "state": "state.db"}
    return {"ledger": url("people"), "state": url("state")}


def safety(storage: str, folder: Path, seconds: float) -> bool:
    """One run under fire; true, where nothing was found."""
    with killable_postgresql(str(folder)) as server, fresh(folder) as own:

        def kill_database() -> None:
            server.kill()
            server.start()

        where = places(storage, server.url)
        began = time.monotonic()
        with service_cluster(own, processes=PROCESSES, analysts=CLIENTS, **where) as cluster:
            fire = kill_database if storage == "postgresql" else None
            clients, killed = under_fire(cluster, seconds, every=5, kill_database=fire)
            cluster.close()
            found = verdict(cluster, clients)
        print(f"\n{storage}: {seconds:.0f} s under fire, {time.monotonic() - began:.0f} s in all")
        print(f"  killed: {dict(killed)}")
        print(f"  requests: {sum(found.states.values())}, {dict(found.states)}")
        print(f"  attempts: {found.attempts}, of which {found.in_doubt} had no answer")
        print(f"  charges: {found.charges}, of which {found.without_answer} without an answer")
        print(f"  left of the scarce allowance: {float(found.scarce_left):.6f}, less than one request costs")
        print(f"  faults: {len(found.faults)}", *found.faults[:20], sep="\n    ", flush=True)
        return not found.faults


@contextmanager
def fresh(folder: Path) -> Iterator[Path]:
    """A folder of its own."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        yield Path(name)


class Line:
    """A connection that stays open: what is sent is prepared, and answers are read as bytes."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self._socket.makefile("rb")

    def sent(self, request: bytes) -> tuple[int, bytes]:
        """The status and the body of the answer."""
        self._socket.sendall(request)
        status, length = int(self._file.readline().split()[1]), 0
        while (line := self._file.readline()) not in (b"\r\n", b""):
            if line[:15].lower() == b"content-length:":
                length = int(line[15:])
        return status, self._file.read(length)

    def close(self) -> None:
        """Ends it."""
        self._file.close()
        self._socket.close()


def request(method: str, path: str, token: str, body: object = None, key: str = "") -> bytes:
    """A request as bytes."""
    text = b"" if body is None else json.dumps(body).encode()
    lines = [f"{method} /api/v1{path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {token}"]
    lines += ["Content-Type: application/json", f"Content-Length: {len(text)}"]
    lines += [f"Idempotency-Key: {key}"] if key else []
    return "\r\n".join([*lines, "", ""]).encode() + text


def ask(epsilon: str = "0.1", **more: object) -> dict[str, object]:
    """An ask."""
    return {"question": {"sql": SQL}, "price": {"epsilon": epsilon}, **more}


def rate(cluster: ServiceCluster, made: Callable[[str, int], bytes], wanted: int, threads: int) -> tuple[float, int]:
    """How many requests a second are answered, and how many were, with so many connections over all processes."""
    gun, counts = threading.Barrier(threads + 1), [0] * threads
    stopped = threading.Event()

    def client(number: int) -> None:
        name = cluster.names[number % len(cluster.names)]
        line = Line(cluster.ports[number % len(cluster.ports)])
        gun.wait()
        while not stopped.is_set():
            status, told = line.sent(made(cluster.tokens[name], number * 10**6 + counts[number]))
            assert status == wanted, told
            counts[number] += 1
        line.close()

    started = [threading.Thread(target=client, args=(number,)) for number in range(threads)]
    for thread in started:
        thread.start()
    gun.wait()
    began = time.monotonic()
    time.sleep(RATE_SECONDS)
    stopped.set()
    for thread in started:
        thread.join()
    return sum(counts) / (time.monotonic() - began), sum(counts)


def median(what: Callable[[int], object]) -> float:
    """The median time of one, in milliseconds."""
    taken = []
    for number in range(REPEATS):
        began = time.perf_counter()
        what(number)
        taken.append(1000 * (time.perf_counter() - began))
    return statistics.median(taken)


def overhead(cluster: ServiceCluster, folder: Path) -> None:
    """What HTTP adds to the library, one request after another, each with a price of its own."""
    declared = (cluster.folder / "people.toml").read_text(encoding="utf-8")
    alone = declared.replace(cluster.ledger, str(folder / "alone.db"))
    (cluster.folder / "alone.toml").write_text(alone, encoding="utf-8")
    from ibis import _ as deferred

    people = read_declaration(cluster.folder / "alone.toml").table()
    question = people.group_by("plan").agg(n=deferred.count())
    token, line = cluster.tokens[cluster.names[1]], Line(cluster.ports[0])

    def price(number: int) -> Fraction:
        return Fraction(Ask.read(ask(f"0.1{number:06d}")).price["epsilon"])

    def repeated(number: int) -> None:
        status, told = line.sent(request("POST", "/releases", token, ask("0.05"), f"cached-{number}"))
        assert status == 202, told

    in_library = median(lambda number: question.explain(epsilon=price(number)))
    over_http = median(lambda number: line.sent(request("POST", "/explain", token, ask(f"0.1{number:06d}"))))
    same = median(lambda _: line.sent(request("POST", "/explain", token, ask())))
    me = median(lambda _: line.sent(request("GET", "/me", token)))
    print(f"  explain, of another price each time: {in_library:.2f} ms in the library, {over_http:.2f} ms over HTTP")
    print(f"  explain, the same again: {same:.2f} ms; GET /me: {me:.2f} ms")
    released = median(lambda number: question.release(epsilon=price(number)))
    line.close()  # it may have been idle for too long
    line = Line(cluster.ports[0])
    submitted = median(
        lambda number: line.sent(request("POST", "/releases", token, ask(f"0.1{number:06d}"), f"paid-{number}"))
    )
    print(f"  a release: {released:.2f} ms in the library; {submitted:.2f} ms to be accepted and charged over HTTP")
    repeated(-1)
    print(f"  a release whose answer is on record: {median(repeated):.2f} ms to be accepted over HTTP")
    _, told = line.sent(request("POST", "/releases", token, ask("0.05"), "cached-0"))
    path = f"/releases/{json.loads(told)['id']}"
    assert line.sent(request("GET", f"{path}?wait=60", token))[0] == 200
    read = median(lambda _: line.sent(request("GET", f"{path}/answer?format=json", token)))
    print(f"  to read an answer: {read:.2f} ms", flush=True)
    line.close()


def charges(place: str) -> float:
    """Charges a second of a level in a level, from as many threads as there are clients, in one process."""
    staff = Budget(parent=Budget(epsilon=1, ledger=place), epsilon=1, name="staff")
    alice = Budget(parent=staff, epsilon=1, name="alice")
    counts, end = [0] * CLIENTS, time.monotonic() + RATE_SECONDS
    little = Guarantee(epsilon=Fraction(1, 10**9))

    def analyst(number: int) -> None:
        while time.monotonic() < end:
            key = f"{number:032x}{counts[number]:032x}"
            alice.reserve(Charge(source="people", what="count by plan", key=key, guarantee=little))
            counts[number] += 1

    threads = [threading.Thread(target=analyst, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / RATE_SECONDS


def rates(storage: str, folder: Path) -> None:
    """What a service that nobody kills does."""
    with killable_postgresql(str(folder)) as server, fresh(folder) as own:
        where = places(storage, server.url)
        print(f"\n{storage}: rates")
        for processes in (1, 2):
            (own / f"{processes}").mkdir()
            more = {name: place.replace("#", f"#p{processes}_") for name, place in where.items()}
            with service_cluster(own / f"{processes}", processes=processes, analysts=16, **more) as cluster:
                same = driven(cluster, "same")
                other = driven(cluster, "other")
                print(f"  {processes} processes: explains, the same again: {same}; of another price each time: {other}")
                print(f"  {processes} processes: releases accepted and charged: {driven(cluster, 'paid')}", flush=True)
                if processes == 1:
                    overhead(cluster, own)
        place = str(own / "charges.db") if storage == "sqlite" else server.url("charges")
        print(f"  charges /s, {CLIENTS} threads of one process, the ledger alone: {charges(place):,.0f}", flush=True)


KINDS: dict[str, tuple[Callable[[str, int], bytes], int, int]] = {
    "same": (lambda token, _: request("POST", "/explain", token, ask()), 200, 16),
    "other": (lambda token, number: request("POST", "/explain", token, ask(f"0.1{number:09d}")), 200, 16),
    "paid": (
        lambda token, number: request("POST", "/releases", token, ask("0.0001", fresh=True), f"load-{number}"),
        202,
        32,
    ),
}


def driven(cluster: ServiceCluster, kind: str) -> str:
    """The rate of one kind of request, from a process of its own, and what it costs the service."""
    before = cluster.processor_seconds()
    told = json.dumps({"ports": cluster.ports, "tokens": cluster.tokens, "kind": kind})
    done = subprocess.run(  # noqa: S603 - this file
        [sys.executable, __file__, "--drive"], input=told, capture_output=True, text=True, check=True
    )
    rate_, number = (float(one) for one in done.stdout.split())
    used = cluster.processor_seconds() - before
    return f"{rate_:,.0f} /s ({1000 * used / number:.2f} ms of a processor each)"


def drive() -> None:
    """What `driven` starts: reads where to ask, and prints the rate."""
    told = json.loads(sys.stdin.read())
    cluster = ServiceCluster.__new__(ServiceCluster)
    cluster.ports, cluster.tokens, cluster.names = told["ports"], told["tokens"], list(told["tokens"])
    made, wanted, threads = KINDS[told["kind"]]
    print(*rate(cluster, made, wanted, threads))


def main() -> None:
    """Prints all figures; fails where a fault was found."""
    if sys.argv[1:2] == ["--drive"]:
        drive()
        return
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("folder", nargs="?", default=tempfile.gettempdir())
    reader.add_argument("--seconds", type=float, default=30)
    reader.add_argument("--storage", nargs="+", choices=("postgresql", "sqlite"), default=["postgresql", "sqlite"])
    reader.add_argument("--parts", nargs="+", choices=("safety", "rates"), default=["safety", "rates"])
    given = reader.parse_args()
    today = date.today()  # noqa: DTZ011 - a label
    free = shutil.disk_usage(given.folder).free // 10**9
    print(f"{today}, {os.cpu_count()} cores of {platform.machine()}, Python {platform.python_version()}")
    print(f"load {os.getloadavg()}, {free} GB free; {CLIENTS} clients, {PROCESSES} processes", flush=True)
    is_safe = True
    for storage in given.storage:
        if "safety" in given.parts:
            is_safe &= safety(storage, Path(given.folder), given.seconds)
        if "rates" in given.parts:
            rates(storage, Path(given.folder))
    sys.exit(not is_safe)


if __name__ == "__main__":
    main()
