"""One service for all tests of pages that do not need another."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from page_fixtures import Browser, browsers


@pytest.fixture(scope="session")
def every_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Browser]]:
    with browsers(tmp_path_factory.mktemp("pages")) as found:
        yield found


@pytest.fixture
def analyst(every_browser: dict[str, Browser]) -> Browser:
    return every_browser["analyst"]
