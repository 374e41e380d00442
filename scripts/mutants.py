"""Plants each fault of tests/mutants.toml in a copy of the source and demands that the test it names fails.

A test that also fails on the sound source, a fault that keeps the test from starting, and a run that never ends do not
count as caught. Run it with `make mutants`; name mutants to try only those, or give `--changed main` for those whose
file or test differs from that revision, and `--share 34` for that part of all others beside them: another one for each
`TURN`.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from typing import TypeVar
from xml.etree import ElementTree as ET

from depth import TURN, is_tried

ROOT = Path(__file__).parents[1]
LIST = Path("tests", "mutants.toml")
PAGE = Path("docs", "kill-matrix.md")
ATTACKS = ROOT / ".pytest_cache" / "v" / "discreet" / "attacks"
"""The seconds that tests/conftest.py has noted."""
PATIENCE = 120
"""Seconds that one test may take."""

WELL_KNOWN = {
    "scale times 0.8": ("scale-four-fifths",),
    "half the sensitivity": ("half-the-sensitivity", "factor-two-forgotten"),
    "a clamp dropped": ("integers-unclipped", "far-points-uncut"),
    "noise in floats": ("float-noise",),
    "continuous noise, rounded": ("rounded-continuous-noise", "continuous-price"),
    "at or above for above": ("ties-shown-for-free", "tie-is-shown", "tie-is-true", "tie-is-below"),
    "one draw for all groups": ("one-draw-for-all",),
    "a shared seed": ("cells-share-a-stream", "child-keeps-the-key"),
    "a sort removed": ("keys-as-found", "order-of-the-engine"),
    "NaN let through": ("nan-through",),
    "the budget read before the lock": ("total-read-before-the-lock",),
    "the charge after the answer": ("charge-after-the-answer",),
    "groups and rows exchanged": ("limits-exchanged",),
    "the last coordinate left out": ("one-coordinate-spared", "last-in-the-clear", "last-bit-in-the-clear"),
    "weights not floored": ("weights-not-floored",),
    "the barrier for floats removed": ("float-barrier-removed",),
    "keys taken from the rows": ("keys-of-the-rows",),
    "fan-out forgotten": ("fan-out-forgotten", "fan-out-of-row-units"),
    "the number of groups forgotten": ("groups-forgotten", "max-groups-forgotten"),
    "replace-one taken for add-remove": ("replaced-as-added", "replaced-for-one"),
    "the classical Gaussian used anywhere": ("classical-anywhere",),
    "a copy of the budget's table": ("tables-are-copied",),
}
"""Faults that libraries for differential privacy have had, or that everybody plants; and how they are planted here."""

ALONE = {
    "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "Agg",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "FUZZ": os.environ.get("FUZZ", "100"), "FUZZ_SECONDS": str(PATIENCE - 20),
}  # fmt: skip
"""What keeps libraries from starting threads as they are loaded, which a fork would lose; and how deep tests look."""

Thing = TypeVar("Thing")
Outcome = TypeVar("Outcome")
CAUGHT = "caught"
NO_START = ("ImportError", "ModuleNotFoundError", "SyntaxError", "IndentationError")


@dataclass(frozen=True, kw_only=True, slots=True)
class Mutant:
    """A fault to plant, and the test that must see it."""

    name: str
    file: str
    find: str
    replace: str
    test: str

    @contextmanager
    def planted(self, root: Path) -> Iterator[Path]:
        """The file below `root` with the fault in it, for a while; refuses a text that is not there exactly once."""
        path = root / self.file
        source = path.read_text(encoding="utf-8")
        if source.count(self.find) != 1:
            raise ValueError(f"{self.name}: found {source.count(self.find)} times in {self.file}: {self.find!r}")
        try:
            rewritten(path, source.replace(self.find, self.replace))
            yield path
        finally:
            rewritten(path, source)


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """How one mutant fared."""

    mutant: Mutant
    verdict: str
    seconds: float


def rewritten(path: Path, text: str) -> None:
    """Writes a file of Python, and takes away the bytecode of what it was."""
    path.write_text(text, encoding="utf-8")
    for old in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
        old.unlink()


def listed(root: Path = ROOT) -> list[Mutant]:
    """The mutants of tests/mutants.toml, in its order."""
    path = root / LIST
    if not path.exists():
        return []
    return [Mutant(**entry) for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("mutant", [])]


class ForkServer:
    """A process that runs tests in forks of itself, so that NumPy, DuckDB and Ibis are loaded once (fork_server.py)."""

    def __init__(self) -> None:
        command = [sys.executable, str(Path(__file__).with_name("fork_server.py"))]
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            command, env=os.environ | ALONE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._lock = threading.Lock()
        self._folder = tempfile.TemporaryDirectory(prefix="mutants-")
        self._copies: dict[Path, Path] = {}

    def copy(self, root: Path) -> Path:
        """A folder with a copy of the source of `root`, this fork server's own, to plant faults in."""
        if root not in self._copies:
            folder = Path(self._folder.name).resolve() / str(len(self._copies))
            shutil.copytree(root / "src", folder / "src")
            self._copies[root] = folder
        return self._copies[root]

    def run(self, test: str, root: Path, planted: Path | None = None) -> tuple[int, list[ET.Element]]:
        """pytest's exit code on the copy of the source, and what it says of the test cases that did not pass."""
        copy = self.copy(root)
        report, output = copy / "report.xml", copy / "output.txt"
        report.unlink(missing_ok=True)
        order = {
            "test": test, "root": str(root), "source": str(copy / "src"), "planted": str(planted or ""),
            "report": str(report), "output": str(output), "patience": PATIENCE,
        }  # fmt: skip
        with self._lock:
            stdin, stdout = self._process.stdin, self._process.stdout
            if stdin is None or stdout is None:
                raise RuntimeError("the fork server takes no input")
            stdin.write(json.dumps(order) + "\n")
            stdin.flush()
            code = json.loads(stdout.readline() or '{"code": "gone"}')["code"]
        if code == "endless":
            raise TimeoutError
        if not isinstance(code, int) or not report.exists():
            raise RuntimeError(f"{code}: {output.read_text()[-300:] if output.exists() else ''}")
        cases = ET.parse(report).getroot().iter("testcase")  # noqa: S314 - pytest wrote it just now
        return code, [part for case in cases for part in case if part.tag in {"failure", "error", "skipped"}]

    def close(self) -> None:
        """Ends the process."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process.wait()
        self._folder.cleanup()


def verdict(code: int, problems: Sequence[ET.Element]) -> str:
    """Caught, or why not: only a test that started and then failed has seen the fault."""
    if code == 0 and not problems:
        return "SURVIVED"
    failures = [problem for problem in problems if problem.tag == "failure"]
    if code == 1 and failures and not failures[0].get("message", "").startswith(NO_START):
        return CAUGHT
    return f"BROKEN (exit {code}): {problems[0].get('message', '')[:200] if problems else 'no test ran'}"


def trial(mutant: Mutant, fork_server: ForkServer, root: Path = ROOT) -> Trial:
    """Plants one mutant in a copy of the source and runs its test."""
    began = time.monotonic()
    with mutant.planted(fork_server.copy(root)) as planted:
        try:
            found = verdict(*fork_server.run(mutant.test, root, planted))
        except TimeoutError:
            found = f"ENDLESS (over {PATIENCE} s)"
        except RuntimeError as problem:
            found = f"BROKEN: {problem}"
    return Trial(mutant=mutant, verdict=found, seconds=time.monotonic() - began)


def sound(test: str, fork_server: ForkServer, root: Path = ROOT) -> str | None:
    """Why a test does not pass on the source as it is, run alone as it is with a fault; none if it does."""
    try:
        code, problems = fork_server.run(test, root)
    except (TimeoutError, RuntimeError) as problem:
        return f"{test}: {str(problem) or 'endless'}"
    return None if code == 0 and not problems else f"{test}: exit {code}: {[one.text or one.tag for one in problems]}"


def changed(mutants: Sequence[Mutant], revision: str, share: int = 0, root: Path = ROOT) -> list[Mutant]:
    """Those whose file or test differs from `revision`, and a percentage of the others; all if nobody knows it."""
    command = ["git", "diff", "--name-only", revision, "--"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)  # noqa: S603 - git's own arguments
    if done.returncode:
        print(f"No revision {revision} is known here, so that all mutants are tried: {done.stderr.strip()[:200]}")
        return list(mutants)
    names = set(done.stdout.split("\n"))
    return [
        mutant
        for mutant in mutants
        if names & {mutant.file, mutant.test.split("::")[0]} or is_tried(mutant.name, TURN, share)
    ]


def shared(
    job: Callable[[Thing, ForkServer], Outcome], things: Sequence[Thing], fork_servers: Sequence[ForkServer]
) -> Iterator[Outcome]:
    """What a job makes of each thing, in their order, one at a time in each fork server."""
    free: queue.SimpleQueue[ForkServer] = queue.SimpleQueue()
    for fork_server in fork_servers:
        free.put(fork_server)

    def one(thing: Thing) -> Outcome:
        fork_server = free.get()
        try:
            return job(thing, fork_server)
        finally:
            free.put(fork_server)

    with ThreadPoolExecutor(len(fork_servers)) as pool:
        yield from pool.map(one, things)


def matrix(mutants: Sequence[Mutant]) -> str:
    """The kill matrix as a page: each fault, where it is planted, and the test that catches it."""
    lines = [
        "# The faults that are planted, and the tests that catch them", "",
        "A proof that no longer fits its code is worth nothing. So each file that makes a claim names faults that",
        "could be planted in it; `make mutants` plants each of them in a copy of the source, runs the one test that is",
        "named for it, and fails unless that test fails. CI does so with every change.", "",
        f"There are {len(mutants)} faults, each caught. `python scripts/mutants.py --page` writes this page anew.", "",
        "## Well-known faults", "", "| fault | planted as |", "|---|---|",
        *(f"| {words} | {', '.join(names)} |" for words, names in WELL_KNOWN.items()), "",
        "## All faults", "", "| fault | file | test |", "|---|---|---|",
    ]  # fmt: skip
    for mutant in sorted(mutants, key=lambda one: (one.file, one.name)):
        file, (path, _, test) = mutant.file.removeprefix("src/discreet/"), mutant.test.partition("::")
        lines.append(f"| {mutant.name} | {file} | {path.removeprefix('tests/')}: {test} |")
    return "\n".join(lines) + "\n"


def processor_seconds() -> float:
    """What this program and all that it started have used of processors."""
    return sum(used.ru_utime + used.ru_stime for used in map(getrusage, (RUSAGE_SELF, RUSAGE_CHILDREN)))


def main() -> None:
    """Tries the mutants, prints the matrix, and exits with 1 unless all were caught."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", help="only these mutants")
    parser.add_argument("--changed", metavar="REVISION", help="only those whose file or test differs from it")
    parser.add_argument("--share", type=int, default=0, help="and this percentage of the others")
    parser.add_argument("--jobs", type=int, default=3, help="how many at a time; some only wait")
    parser.add_argument("--page", action="store_true", help="write docs/kill-matrix.md from the list, and try nothing")
    arguments = parser.parse_args()
    mutants = [mutant for mutant in listed() if not arguments.names or mutant.name in arguments.names]
    if arguments.page:
        (ROOT / PAGE).write_text(matrix(mutants), encoding="utf-8")
        return
    if arguments.changed:
        mutants = changed(mutants, arguments.changed, arguments.share)
    if not mutants:
        print("No mutant to try.")
        return
    fork_servers = [ForkServer() for _ in range(arguments.jobs)]
    began, caught = time.monotonic(), 0
    tests = sorted({mutant.test for mutant in mutants})
    if why := [one for one in shared(sound, tests, fork_servers) if one is not None]:
        sys.exit("Expected the named tests to pass on the source as it is, got\n" + "\n".join(why))
    print(f"{len(tests)} tests pass on the source as it is: {time.monotonic() - began:.0f} s", flush=True)
    width = max(len(mutant.name) for mutant in mutants)
    for found in shared(trial, mutants, fork_servers):
        caught += found.verdict == CAUGHT
        mutant = found.mutant
        print(f"{mutant.name:{width}}  {mutant.test}  {found.verdict}  {found.seconds:.1f} s", flush=True)
    for fork_server in fork_servers:
        fork_server.close()
    spent = f"{time.monotonic() - began:.0f} s ({processor_seconds():.0f} s of processors)"
    print(f"{caught} of {len(mutants)} caught in {spent}.")
    if len(mutants) == len(listed()) and ATTACKS.exists():
        attacks = float(ATTACKS.read_text(encoding="utf-8"))
        whole = (attacks + processor_seconds()) / 2
        print(f"With the attacks in the last run of the tests, {attacks:.0f} s: about {whole:.0f} s on two cores.")
    sys.exit(caught != len(mutants))


if __name__ == "__main__":
    main()
