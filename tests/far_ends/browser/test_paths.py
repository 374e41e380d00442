"""Every role's whole path through the pages, by keyboard alone, at two widths, in light and dark."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet
import pytest

from keyboard import Keyboard, Served

LOOKS = [(1280, "light"), (390, "dark")]


@pytest.fixture(params=LOOKS, ids=["wide-light", "phone-dark"])
def keys(request: pytest.FixtureRequest, chromium: Any, served: Served) -> Iterator[Keyboard]:
    width, scheme = request.param
    context = chromium.new_context(viewport={"width": width, "height": 860}, color_scheme=scheme, accept_downloads=True)
    found = Keyboard(context.new_page(), served.address)
    yield found
    context.close()
    assert found.faults == []


def test_an_analyst_asks_and_gets_an_answer(keys: Keyboard, served: Served) -> None:
    page = keys.page
    keys.sign_in(served.tokens["analyst"])
    keys.go("people", "**/people")
    assert keys.fits()
    keys.go("Ask", "**/ask")
    keys.to("Question in SQL")
    page.keyboard.type("SELECT plan, COUNT(DISTINCT person) AS people, AVG(vis")
    page.wait_for_selector(".cm-tooltip-autocomplete li[aria-selected]:has-text('visits')")
    page.wait_for_timeout(300)  # for a moment after it has come up, Enter is still a new line
    page.keyboard.press("Enter")
    page.keyboard.press("End")
    page.keyboard.type(" AS visits FROM people GROUP BY plan")
    page.keyboard.press("Escape")
    page.wait_for_selector("#price [data-payable]")
    before = amounts(page)
    keys.to("Epsilon .*")
    for _ in range(5):
        page.keyboard.press("PageUp")
    page.wait_for_selector("#price:not(.stale) [data-payable]")
    after = amounts(page)
    assert all(late < early for late, early in zip(after, before, strict=True)), (before, after)
    assert page.locator("svg .whisker").count() == 2
    keys.fill("Epsilon, as a number", "0.25")
    page.wait_for_selector(".error-card[data-epsilon='0.25']")
    assert "At epsilon 0.25: people plus or minus" in page.text_content("#said")
    assert keys.fits()
    keys.go("Pay ε 0.25 and ask", "**/answers/*")
    page.wait_for_selector("#answer-table")
    assert page.locator("#answer-table tbody tr").count() == 5
    bounded = intervals_with_ends(page)
    assert bounded >= 5  # all counts; the mean of a small group may have no ends
    assert page.locator(".picture svg .whisker").count() == bounded
    assert keys.fits()
    downloads(keys)


def intervals_with_ends(page: Any) -> int:
    ends = ("data-value", "data-low", "data-high")
    cells = page.locator("#answer-table td[data-value]").all()
    return sum(all(math.isfinite(float(cell.get_attribute(end))) for end in ends) for cell in cells)


def amounts(page: Any) -> list[float]:
    return [float(one.get_attribute("data-amount")) for one in page.locator(".error-card").all()]


def downloads(keys: Keyboard) -> None:
    """Each file has the answer, and those that can have the receipt have it."""
    found = {}
    for name in ("CSV", "Parquet", "Arrow", "JSON"):
        with keys.page.expect_download() as download:
            keys.press(name)
        found[name] = Path(download.value.path()).read_bytes()
    rows = list(csv.DictReader(io.StringIO(found["CSV"].decode())))
    assert [row["plan"] for row in rows] == ["free", "25%", "50%", "95%", "deductible"]
    for table in (
        pyarrow.parquet.read_table(io.BytesIO(found["Parquet"])),
        pa.ipc.open_stream(found["Arrow"]).read_all(),
    ):
        assert json.loads(table.schema.metadata[b"discreet"])["charge"]["epsilon"] == "0.25"
        assert table["people"].to_pylist() == [int(row["people"]) for row in rows]
    assert json.loads(found["JSON"])["receipt"]["charge"]["epsilon"] == "0.25"


def test_an_analyst_asks_by_the_form(keys: Keyboard, served: Served) -> None:
    page = keys.page
    keys.sign_in(served.tokens["analyst"])
    keys.open("/datasets/people/ask")
    keys.go("Form", "**/ask?by=form")
    page.wait_for_selector("#price [data-payable]")
    keys.to("Statistic 1")
    page.keyboard.type("mean")
    keys.to("Column of statistic 1")
    page.keyboard.type("visits")
    keys.press("Add a statistic")
    page.keyboard.type("number of rows")
    keys.to("health")
    page.keyboard.press("Space")
    keys.to("Column of condition 1")
    page.keyboard.type("age")
    keys.to("Comparison 1")
    page.keyboard.type("is at least")
    keys.fill("Value of condition 1", "18")
    page.wait_for_selector(".error-card:nth-child(2)")
    page.wait_for_selector("#price pre:has-text('age >= 18')", state="attached")
    assert "GROUP BY health" in page.text_content("#price pre")
    page.keyboard.press("Tab")  # the field is left, and the price is asked for once more
    page.wait_for_selector("#price:not(.stale)")
    keys.go("Pay .*", "**/answers/*")
    page.wait_for_selector("#answer-table")
    assert page.locator("#answer-table tbody tr").count() == 4
    assert keys.fits()


def test_a_wrong_question_is_told_with_its_cure(keys: Keyboard, served: Served) -> None:
    page = keys.page
    keys.sign_in(served.tokens["analyst"])
    keys.open("/datasets/people/ask")
    keys.to("Question in SQL")
    page.keyboard.type("SELECT AVG(vist) FROM people")
    page.keyboard.press("Escape")
    page.wait_for_selector("#price .notice:has-text('visits')")
    assert page.is_disabled("#pay")
    assert "Expected a known column" in page.text_content("#said")


def test_it_works_without_a_script(chromium: Any, served: Served) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(f"{served.address}/sign-in")
    page.fill("#token", served.tokens["analyst"])
    page.keyboard.press("Enter")
    page.wait_for_url("**/datasets")
    page.goto(f"{served.address}/datasets/people/ask")
    page.fill("#sql", "SELECT plan, COUNT(*) AS n FROM people GROUP BY plan")
    page.fill("#epsilon", "0.2")
    page.click("text=See the price")
    page.wait_for_selector(".error-card")
    page.click("#pay")
    page.wait_for_url("**/answers/*")
    page.wait_for_selector("#answer-table")
    assert page.locator("#answer-table tbody tr").count() == 5
    context.close()


def test_a_request_goes_to_the_curator_and_back(keys: Keyboard, served: Served) -> None:
    page = keys.page
    keys.sign_in(served.tokens["analyst"])
    keys.go("people", "**/people")
    keys.go("Budget", "**/budget")
    assert keys.fits()
    keys.fill("Additional epsilon", "0.5")
    keys.fill("What for", "The report is due in March.")
    keys.go("Send the request", "**/budget?sent=1")
    assert page.evaluate("document.activeElement.textContent").strip().startswith("Your request has been sent.")
    keys.sign_out()
    keys.sign_in(served.tokens["curator"])
    keys.go("people", "**/people")
    keys.go("Requests", "**/requests")
    keys.fill("Your words", "Agreed by the board.")
    keys.go("Approve", "**/requests?done=approved")
    assert keys.fits()
    keys.sign_out()
    keys.sign_in(served.tokens["analyst"])
    keys.open("/datasets/people/budget")
    assert page.locator("td:has-text('Agreed by the board.')").count() > 0


def test_a_curator_admits_raises_and_freezes(keys: Keyboard, served: Served) -> None:
    page = keys.page
    who = f"ada{page.viewport_size['width']}"
    keys.sign_in(served.tokens["curator"])
    keys.go("people", "**/people")
    keys.go("Analysts", "**/people/people")
    keys.fill("Name", who)
    keys.fill("Own allowance in epsilon .*", "1.5")
    keys.go("Admit", "**/people?done=admit")
    keys.to("Level")
    page.keyboard.type(f"Analyst {who}")
    keys.fill("Raise to epsilon", "2")
    keys.fill("Why", "A second paper.")
    keys.go("Raise", "**/people?done=raise")
    keys.to("Level")
    page.keyboard.type(f"Analyst {who}")
    keys.fill("Why", "On leave.")
    keys.go("Freeze", "**/people?done=freeze")
    line = page.locator(f"tr:has(th:has-text('{who}'))").first.inner_text()
    assert "frozen" in line
    assert "2" in line
    assert keys.fits()
    keys.go("Spending", "**/spending")
    page.wait_for_selector("#spending svg, h2:has-text('Nothing spent yet')")
    assert keys.fits()


def test_an_auditor_reads_and_verifies_the_log(keys: Keyboard, served: Served) -> None:
    page = keys.page
    keys.sign_in(served.tokens["auditor"])
    keys.go("people", "**/people")
    keys.go("Log", "**/log")
    assert page.locator("h2:has-text('Changes of policy')").count() == 1
    assert page.locator("td:has-text('admitted')").count() > 0
    keys.go("Verify the ledger", "**/log?verified=chain")
    assert page.evaluate("document.activeElement.textContent").strip().startswith("Verified:")
    assert keys.fits()


def test_the_picture_of_spending_has_the_times_of_the_table(chromium: Any, served: Served) -> None:
    """In UTC, from 00 to 23 hours, wherever the browser is."""
    asked = {"question": {"sql": "SELECT COUNT(*) AS n FROM people"}, "price": {"epsilon": "0.01"}, "fresh": True}
    head = {"Authorization": f"Bearer {served.tokens['analyst']}"}
    assert httpx.post(f"{served.address}/api/v1/releases", json=asked, headers=head, timeout=60).status_code == 202
    context = chromium.new_context(timezone_id="America/St_Johns")
    keys = Keyboard(context.new_page(), served.address)
    keys.sign_in(served.tokens["curator"])
    keys.open("/datasets/people/spending")
    keys.page.wait_for_selector("#spending .axis text")
    drawn = keys.page.locator("#spending .axis").first.locator("text").all_text_contents()
    rows = keys.page.locator("tr[data-time]")
    ends = [datetime.fromisoformat(str(rows.nth(at).get_attribute("data-time"))) for at in (0, -1)]
    begin, end = min(ends) - timedelta(minutes=2), max(ends) + timedelta(minutes=2)
    context.close()
    assert drawn
    for text in (one for one in drawn if ":" in one):  # midnight has the name of its day
        hour, minute, *_ = (int(part) for part in text.split(":"))
        moments = [begin.replace(hour=hour, minute=minute, second=0) + timedelta(days=days) for days in (0, 1)]
        assert any(begin <= one <= end for one in moments), (text, begin, end)
