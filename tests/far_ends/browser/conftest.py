"""A service that runs, and a browser without a screen; both end with the tests."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from keyboard import Served
from served_demo import served_demo

collect_ignore_glob = [] if find_spec("playwright") else ["test_*.py"]
"""What needs a browser is tried by scripts/try_service.sh, where there is one."""

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The demonstration on a free port."""
    with served_demo(tmp_path_factory.mktemp("served")) as demo:
        yield Served(demo.url, demo.tokens)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The browser itself."""
    from playwright.sync_api import sync_playwright  # type: ignore[import-not-found] # it is in .venv-serve

    if not Path(CHROMIUM).exists():
        pytest.fail(f"Expected {CHROMIUM}, got none.\nHint: apt install chromium.")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield browser
        browser.close()
