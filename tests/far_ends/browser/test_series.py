"""The pages of a published series in a browser: found by keyboard alone, drawn, read, and stepped through."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from discreet.server.http_application import application
from discreet.server.pages import series_pages
from discreet.server.pages.routes import pages
from keyboard import Keyboard, Served
from listening_application import listening
from served_series import by_hand, seconds, with_series
from served_series import served as series_of
from service_fixtures import Clock

LOOKS = [(1280, "light"), (390, "dark")]
STEPS = 19


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Nineteen days of admissions, of which a page shows twelve at once."""
    folder, clock = tmp_path_factory.mktemp("hospital"), Clock(seconds(1))
    with (
        pytest.MonkeyPatch.context() as patch,
        by_hand(folder, clock, with_series("people", folder)) as service,
    ):
        patch.setattr(series_pages, "MOST_STEPS", 12)
        clock.now = seconds(STEPS + 1, 2)
        series_of(service).attempt()
        clock.now = seconds(STEPS + 1, 5)
        with listening(application(service, pages=pages(service))) as address:
            yield Served(address, {"analyst": service.members.issue("ada")[0]})


@pytest.fixture(params=LOOKS, ids=["wide-light", "phone-dark"])
def keys(request: pytest.FixtureRequest, chromium: Any, hospital: Served) -> Iterator[Keyboard]:
    width, scheme = request.param
    screen = {"viewport": {"width": width, "height": 860}, "color_scheme": scheme, "reduced_motion": "reduce"}
    context = chromium.new_context(**screen, accept_downloads=True)
    found = Keyboard(context.new_page(), hospital.address)
    yield found
    context.close()
    assert found.faults == []


def nothing_serious(keys: Keyboard) -> None:
    from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-not-found] # it is in .venv-serve

    found = Axe().run(keys.page).response["violations"]
    assert [one["id"] for one in found if one["impact"] in {"serious", "critical"}] == []
    assert keys.fits()


def test_a_reader_finds_the_numbers_and_goes_back_in_time(keys: Keyboard, hospital: Served) -> None:
    page = keys.page
    keys.sign_in(hospital.tokens["analyst"])
    keys.go("people", "**/people")
    keys.go("Series", "**/people/series")
    assert "19 steps so far, the latest 2026-01-19." in page.text_content("main")
    nothing_serious(keys)
    keys.go("Look at the numbers", "**/series/daily")
    nothing_serious(keys)
    assert page.locator("#series-table tbody tr").count() == 12
    assert drawn(page) == 12
    first = page.text_content("#series-table tbody")
    keys.to("Window")
    page.keyboard.press("ArrowDown")
    keys.to("ward")
    page.keyboard.press("ArrowDown")
    keys.go("Show", "**/daily?window=7&group=1&until=19#rows")
    assert page.text_content("#series-table tbody") != first
    keys.go("Earlier steps", "**/daily?window=7&group=1&until=7#rows")
    assert page.locator("#series-table tbody tr").count() == 1  # seven days are over on the seventh alone
    assert page.locator(".picture svg .whisker").count() == 1
    nothing_serious(keys)
    with page.expect_download() as download:
        keys.press("CSV")
    assert download.value.suggested_filename == "series.csv"


def drawn(page: Any) -> int:
    """How many numbers the line has."""
    path: str = page.locator(".picture svg .spent-line").get_attribute("d")
    return 1 + path.count("L")
