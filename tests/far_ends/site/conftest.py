"""The site that `make docs-test` has built, and a browser without a screen to read it with."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any

import pytest

import site_versions

collect_ignore_glob = [] if find_spec("mkdocs") else ["test_*.py"]
"""What needs the site is tried by scripts/build_site.sh, which builds it."""

ARGUMENTS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The browser itself."""
    from playwright.sync_api import sync_playwright  # type: ignore[import-not-found] # it is in .venv-docs

    program = which("chromium")
    if program is None:
        pytest.fail("Expected chromium, got none.\nHint: apt install chromium.")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder of the version that was just built."""
    folder = Path(__file__).parents[3] / "build" / "site" / site_versions.current()
    assert (folder / "index.html").exists(), "Expected the site.\nHint: run make docs-test, which builds it first."
    return folder
