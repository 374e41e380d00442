"""The interface for programs against its own description, tried by Schemathesis as each role."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from served_demo import ServedDemo, served_demo

EXAMPLES = int(os.environ.get("SCHEMA_EXAMPLES", "5"))
"""Of each operation and role, beside those that the description calls for; 150 make more than 10,000 cases, with
``-o faulthandler_timeout=0``, as they take longer than a test may."""
SECONDS = int(os.environ.get("SCHEMA_SECONDS", "40"))

UNSTATED = "positive_data_acceptance"
"""The one check that is left out: no description says which text is SQL about a table."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedDemo]:
    with served_demo(tmp_path_factory.mktemp("served")) as running:
        yield running


@pytest.mark.parametrize("role", ["analyst", "curator", "auditor"])
def test_what_is_described_is_what_happens(served: ServedDemo, role: str, tmp_path: Path) -> None:
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "run", f"{served.url}/openapi.json"),
        *("-H", f"Authorization: Bearer {served.tokens[role]}", "--phases", "coverage,fuzzing"),
        *("-n", str(EXAMPLES), "--max-time", str(SECONDS), "--continue-on-failure", "--no-shrink"),
        *("--exclude-checks", UNSTATED, "--no-color"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS + 120, cwd=tmp_path, check=False)
    tried = re.search(r"(\d[\d,]*) generated", done.stdout)
    assert tried is not None, done.stdout + done.stderr
    sys.stdout.write(f"{role}: {tried[1]} cases\n")  # pytest -rA shows it
    assert done.returncode == 0, done.stdout
    assert " 500" not in done.stdout
