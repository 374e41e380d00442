"""Pages of series: what is listed, the numbers of a window and a group, earlier steps, files, and who sees nothing."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette

from discreet.server.pages import series_pages
from discreet.server.pages.routes import pages
from discreet.service.service import Service
from page_fixtures import Browser
from served_series import by_hand, facts, seconds, served, with_series
from service_fixtures import Clock, data_set

PLACE = "/datasets/people/series"
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def clock() -> Clock:
    return Clock(seconds(1))


@pytest.fixture
def service(tmp_path: Path, clock: Clock) -> Iterator[Service]:
    sets = (
        with_series("people", tmp_path, facts(), facts(series="later", start="2026-01-12")),
        data_set("plain", tmp_path),
    )
    with by_hand(tmp_path, clock, *sets) as made:
        yield made


@pytest.fixture
def ada(service: Service) -> Iterator[Browser]:
    with Browser(Starlette(routes=pages(service))) as browser:
        browser.sign_in(service.members.issue("ada")[0])
        yield browser


def publish(service: Service, clock: Clock, day: int, browser: Browser) -> None:
    """All steps before a day are over, looked at, and shown; whoever was signed in signs in again, days later."""
    clock.now = seconds(day, 2)
    served(service).attempt()
    clock.now = seconds(day, 5)
    browser.sign_in(service.members.issue("ada")[0])


def column(page: str) -> list[str]:
    return re.findall(r'data-column="0" data-value="([^"]+)"', page)


def test_a_series_is_listed_with_its_terms_and_its_next_moment(service: Service, clock: Clock, ada: Browser) -> None:
    planned = ada.get(PLACE).text
    assert "Nothing is published yet." in planned
    assert "every 1 day from 2026-01-01, 20 steps" in planned
    assert "rho 1/2" in planned
    assert "Look at the numbers" not in planned
    publish(service, clock, 4, ada)
    shown = ada.get(PLACE).text
    assert "3 steps so far, the latest 2026-01-03." in shown
    assert "n, window 7 within ±" in shown
    assert f'href="{PLACE}/daily"' in shown
    assert f'href="{PLACE}/later"' not in shown


def test_the_numbers_of_a_window_and_a_group_are_those_that_programs_get(
    service: Service, clock: Clock, ada: Browser
) -> None:
    publish(service, clock, 10, ada)
    rows = service.series_numbers(service.authenticate(service.members.issue("ada")[0]), "people", "daily").table
    for window, group, ward, steps in (("1", "0", "A", 9), ("7", "1", "B", 3), ("all", "9", "A", 9)):
        page = ada.get(f"{PLACE}/daily?window={window}&group={group}").text
        wanted = [row["n"] for row in rows.to_pylist() if (row["window"], row["ward"]) == (window, ward)]
        assert [float(value) for value in column(page)] == wanted[::-1]
        assert len(wanted) == steps
        assert f'<option value="{window}" selected>' in page
        assert "Steps 1 to 9 of 9" in page
    assert 'data-time="2026-01-09"' in page


def test_earlier_and_later_steps(service: Service, clock: Clock, ada: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(service, clock, 10, ada)
    monkeypatch.setattr(series_pages, "MOST_STEPS", 4)
    monkeypatch.setattr("discreet.service.series_desk.MOST_ROWS", 18)  # three steps of two wards and three windows
    seen, place = [], f"{PLACE}/daily"
    while place:
        page = ada.get(place).text
        seen += re.findall(r'data-time="([^"]+)"', page)
        found = re.search(r'href="([^"]+)">Earlier', page)
        place = f"{PLACE}/daily{found[1].replace('&amp;', '&')}" if found else ""
    assert seen == [f"2026-01-0{day}" for day in range(9, 0, -1)]
    assert "Later steps" in page
    assert "Steps 7 to 9 of 9" in ada.get(f"{PLACE}/daily?until=99999999999999999999").text
    assert "Steps 1 to 2 of 9" in ada.get(f"{PLACE}/daily?until=2").text
    assert ada.get(f"{PLACE}/daily?until=0&window=x&group=-1").status_code == 200


def test_files_have_the_steps_in_all_windows(service: Service, clock: Clock, ada: Browser) -> None:
    publish(service, clock, 4, ada)
    found = ada.get(f"{PLACE}/daily/download/csv?until=2")
    rows = list(csv.DictReader(io.StringIO(found.text)))
    assert {(row["step"], row["window"]) for row in rows} == {
        (f"2026-01-0{day}", window) for day in (1, 2) for window in ("1", "all")
    }
    assert "attachment" in found.headers["content-disposition"]
    receipt = json.loads(ada.get(f"{PLACE}/daily/download/json").text)["receipt"]
    assert receipt["charge"] == {"rho": "0.5"}
    for kind in ("parquet", "arrow"):
        assert ada.get(f"{PLACE}/daily/download/{kind}").status_code == 200
    assert ada.get(f"{PLACE}/daily/download/stored").status_code == 404


def test_before_the_first_step_there_is_nothing_but_its_moment(service: Service, ada: Browser) -> None:
    page = ada.get(f"{PLACE}/daily").text
    assert "Nothing is published yet" in page
    assert "The first numbers may come" in page
    assert ada.get(f"{PLACE}/daily/download/csv").status_code == 409


@pytest.mark.parametrize("place", [f"{PLACE}/other", "/datasets/none/series", "/datasets/none/series/daily"])
def test_what_is_not_there_looks_like_what_is_not_yours(place: str, ada: Browser) -> None:
    found = ada.get(place)
    assert found.status_code == 404
    assert "nothing here for you" in found.text


def test_who_has_no_role_here_sees_no_series(service: Service, clock: Clock, ada: Browser) -> None:
    publish(service, clock, 4, ada)
    service.members.add("eve", operator=True)
    ada.sign_in(service.members.issue("eve")[0])
    for place in (PLACE, f"{PLACE}/daily", f"{PLACE}/daily/download/csv"):
        found = ada.get(place)
        assert found.status_code == 404
        assert "nothing here for you" in found.text


def test_only_data_sets_with_series_have_the_tab(service: Service, ada: Browser) -> None:
    assert f'href="{PLACE}"' in ada.get("/datasets/people").text
    assert "/series" not in ada.get("/datasets/plain").text


def test_names_are_texts_and_nothing_else() -> None:
    line: dict[str, Any] = {
        "name": HOSTILE, "state": "open", "published": 0, "latest": None, "next": None, "problem": None, "steps": None,
        "declared": {"statement": HOSTILE}, "account": None, "price": {"epsilon": "1"}, "publish": "1 hour",
        "terms": {"every": "1 day", "start": "2026-01-01", "windows": [1], "max_steps": None},
    }  # fmt: skip
    view = series_pages.line_view(line, "p/q")
    assert view["href"] == "/datasets/p%2Fq/series/%3Cscript%3Ealert%281%29%3C%2Fscript%3E"
    assert dict(view["facts"])["Steps"] == "every 1 day from 2026-01-01, no end"
