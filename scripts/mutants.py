"""Plants each fault of tests/mutants.toml in a copy of the source and demands that the test it names fails.

A test that also fails on the sound source, a fault that keeps the test from starting, and a run that never ends do not
count as caught. Run it with `make mutants`; name mutants to try only those, or give `--changed main` for those whose
file or test differs from that revision.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

ROOT = Path(__file__).parents[1]
LIST = Path("tests", "mutants.toml")
PATIENCE = 120
"""Seconds that one test may take."""

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

    def plant(self, root: Path) -> None:
        """Puts the fault into the file below `root`; refuses a text that is not there exactly once."""
        path = root / self.file
        source = path.read_text(encoding="utf-8")
        if source.count(self.find) != 1:
            raise ValueError(f"{self.name}: found {source.count(self.find)} times in {self.file}: {self.find!r}")
        path.write_text(source.replace(self.find, self.replace), encoding="utf-8")


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """How one mutant fared."""

    mutant: Mutant
    verdict: str
    seconds: float


def listed(root: Path = ROOT) -> list[Mutant]:
    """The mutants of tests/mutants.toml, in its order."""
    path = root / LIST
    if not path.exists():
        return []
    return [Mutant(**entry) for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("mutant", [])]


def run(tests: Sequence[str], root: Path, source: Path) -> tuple[int, list[ET.Element]]:
    """pytest's exit code on the package in `source`, and what it says of the test cases that did not pass."""
    environment = os.environ | {"PYTHONPATH": str(source), "CI": "true", "PYTHONDONTWRITEBYTECODE": "1"}
    where = [sys.executable, "-c", "import discreet; print(discreet.__file__)"]
    loaded = subprocess.run(where, env=environment, cwd=root, capture_output=True, text=True, check=True)  # noqa: S603 - fixed words
    if not Path(loaded.stdout.strip()).is_relative_to(source):
        raise RuntimeError(f"Expected the package in {source}, got {loaded.stdout.strip()}.")
    report = source / "report.xml"
    options = ["-q", "-x", "-p", "no:cacheprovider", "--hypothesis-profile=mutants", f"--junitxml={report}"]
    done = subprocess.run(  # noqa: S603 - the words come from the repository's own list
        [sys.executable, "-m", "pytest", *options, *tests],
        env=environment,
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    if not report.exists():
        raise RuntimeError(done.stdout + done.stderr)
    cases = ET.parse(report).getroot().iter("testcase")  # noqa: S314 - pytest wrote it just now
    return done.returncode, [part for case in cases for part in case if part.tag in {"failure", "error", "skipped"}]


def verdict(code: int, problems: Sequence[ET.Element]) -> str:
    """Caught, or why not: only a test that started and then failed has seen the fault."""
    if code == 0 and not problems:
        return "SURVIVED"
    failures = [problem for problem in problems if problem.tag == "failure"]
    if code == 1 and failures and not failures[0].get("message", "").startswith(NO_START):
        return CAUGHT
    return f"BROKEN (exit {code}): {problems[0].get('message', '')[:200] if problems else 'no test ran'}"


def copied(root: Path, folder: str) -> Path:
    """A copy of the source in `folder`."""
    return Path(
        shutil.copytree(root / "src", Path(folder).resolve() / "src", ignore=shutil.ignore_patterns("__pycache__"))
    )


def trial(mutant: Mutant, root: Path = ROOT) -> Trial:
    """Plants one mutant in a copy of the source and runs its test."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        source = copied(root, folder)
        mutant.plant(source.parent)
        try:
            found = verdict(*run([mutant.test], root, source))
        except subprocess.TimeoutExpired:
            found = f"ENDLESS (over {PATIENCE} s)"
        except (RuntimeError, subprocess.CalledProcessError) as problem:
            found = f"BROKEN: {str(problem)[-300:]}"
    return Trial(mutant=mutant, verdict=found, seconds=time.monotonic() - began)


def sound(tests: Sequence[str], root: Path = ROOT) -> str | None:
    """Why the tests do not all pass on the source as it is, if so."""
    with tempfile.TemporaryDirectory() as folder:
        code, problems = run(tests, root, copied(root, folder))
    return None if code == 0 and not problems else f"exit {code}: {[part.text or part.tag for part in problems]}"


def changed(mutants: Sequence[Mutant], revision: str, root: Path = ROOT) -> list[Mutant]:
    """Those whose file or test differs from `revision`."""
    command = ["git", "diff", "--name-only", revision, "--"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)  # noqa: S603 - git's own arguments
    names = set(done.stdout.split("\n"))
    return [mutant for mutant in mutants if names & {mutant.file, mutant.test.split("::")[0]}]


def main() -> None:
    """Tries the mutants, prints the matrix, and exits with 1 unless all were caught."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", help="only these mutants")
    parser.add_argument("--changed", metavar="REVISION", help="only those whose file or test differs from it")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time")
    arguments = parser.parse_args()
    mutants = [mutant for mutant in listed() if not arguments.names or mutant.name in arguments.names]
    if arguments.changed:
        mutants = changed(mutants, arguments.changed)
    if not mutants:
        print("No mutant to try.")
        return
    if why := sound(sorted({mutant.test for mutant in mutants})):
        sys.exit(f"Expected the named tests to pass on the source as it is, got {why}")
    began, caught = time.monotonic(), 0
    width = max(len(mutant.name) for mutant in mutants)
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for found in pool.map(trial, mutants):
            caught += found.verdict == CAUGHT
            mutant = found.mutant
            print(f"{mutant.name:{width}}  {mutant.test}  {found.verdict}  {found.seconds:.1f} s", flush=True)
    print(f"{caught} of {len(mutants)} caught in {time.monotonic() - began:.0f} s.")
    sys.exit(caught != len(mutants))


if __name__ == "__main__":
    main()
