"""What was spent over time, and the log: sums that are those of the ledger, and nothing that is not told yet."""

from __future__ import annotations

import json
import re
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path

import pytest
from starlette.applications import Starlette

from discreet.errors import InvalidQuery
from discreet.ledger.ledger_kinds import head as ledger_head
from discreet.server.pages.dataset_tabs import LevelView
from discreet.server.pages.oversight_pages import LINES, spending
from discreet.server.pages.routes import pages
from discreet.service.answer_timing import State
from discreet.service.job_records import Job
from page_fixtures import HOSTILE, Browser, answered, browsers
from service_fixtures import Clock, ask, service_in

WHOLE = LevelView(name="p", label="p", kind="data set", unit="epsilon", allowance="10", spent="2", remaining="8")


def asked(
    at: float, epsilon: str, state: State, *, paid: bool | None = None, failure: str | None = None
) -> dict[str, object]:
    job = Job(
        id="1",
        dataset="p",
        what="a count",
        cost={"epsilon": epsilon},
        state=state,
        accepted_at=at,
        ready_at=at + 1,
        paid=paid,
        failure=failure,
    )
    return {"who": "ada", "ask": '{"question": {"document": {}}}', "job": job}


def test_sums_end_at_what_the_ledger_says() -> None:
    listed = [
        asked(5, "0.5", State.ACCEPTED),
        asked(4, "0.3", State.FAILED, failure="engine_error"),
        asked(3, "0.7", State.FAILED, failure="budget_exceeded"),
        asked(2, "0.4", State.READY, paid=False),
        asked(1, "0.2", State.READY, paid=True),
    ]
    found = spending(listed, WHOLE, "eve")
    assert [(one["charge"], Fraction(one["total_shown"])) for one in found] == [
        ("ε 0.3", 2),
        ("ε 0.2", Fraction("1.7")),
    ]
    assert found[0]["text"] == "a count"
    assert found[0]["href"] == ""


def test_the_log_tells_who_asked_what(every_browser: dict[str, Browser]) -> None:
    answered(every_browser["analyst"], "SELECT AVG(age) AS age FROM people", "0.15")
    log = every_browser["auditor"].get("/datasets/people/log").text
    assert "ε 0.15" in log
    assert "age (mean of age)" in log
    spent = every_browser["curator"].get("/datasets/people/spending").text
    sums = [float(one) for one in re.findall(r'data-spent="([\d.]+)"', spent)]
    assert sums == sorted(sums, reverse=True)
    left = re.search(r"([\d.]+) of 10 left", every_browser["curator"].get("/datasets/people/budget").text)
    assert left
    assert abs(10 - float(left[1]) - sums[0]) < 1e-9


def test_pages_of_the_log_do_not_end_outside(every_browser: dict[str, Browser]) -> None:
    for after in ("0", "1", "999999999", "-1", "x", "1" * 40):
        assert every_browser["auditor"].get(f"/datasets/people/log?after={after}").status_code == 200


def test_the_ledger_is_verified_with_and_without_a_head(tmp_path: Path) -> None:
    with browsers(tmp_path) as found:
        auditor = found["auditor"]
        head = ledger_head(tmp_path / "ledger.db").to_json()
        answered(found["analyst"])
        assert "Verified: every line" in auditor.submit("/datasets/people/log")
        assert "continues the published head" in auditor.submit("/datasets/people/log", head=head)
        assert "Expected the head of a ledger" in auditor.submit("/datasets/people/log", head="{}")
        other = json.dumps(json.loads(head) | {"position": 999})
        forged = json.dumps(json.loads(head) | {"chain": "0" * 64})
        for text in (auditor.submit("/datasets/people/log", head=one) for one in (other, forged)):
            assert "Expected a whole ledger that continues this head" in text
            assert "999" not in text.partition("Expected a whole ledger")[2].partition("</p>")[0]
        for role in ("analyst", "curator"):
            assert "There is nothing here for you." in found[role].submit("/datasets/people/log", head=head)


def test_refusals_are_shown_as_text(tmp_path: Path) -> None:
    """Whatever somebody wrote, its auditor's and curator's browsers neither obey nor hide it."""
    place = "/datasets/people/refusals"
    service = service_in(tmp_path, Clock())
    with ExitStack() as held:
        held.callback(service.close)
        app = Starlette(routes=pages(service))
        found = {name: held.enter_context(Browser(app)) for name in ("ada", "cleo", "dora")}
        for name, browser in found.items():
            browser.sign_in(service.members.issue(name)[0])
        for name in ("cleo", "dora"):
            assert "Nothing was refused." in found[name].get(place).text
        ada = service.members.principal("ada")
        name = HOSTILE.replace('"', '""')
        for sql in (f'SELECT "{name}" FROM people', 'SELECT "\x1b[2J\x01\u202e" FROM people', *["SELECT 1"] * LINES):  # noqa: S608 (it is refused)
            with pytest.raises(InvalidQuery):
                service.submit(ada, ask(sql))
        latest = found["dora"].get(place).text
        assert latest.count("<td") == 4 * LINES
        before = re.search(r"refusals\?before=(\d+)#rows", latest)
        assert before
        page = found["cleo"].get(f"{place}?before={before[1]}").text
        assert page.count("<td") == 4 * 2
        assert "<script>alert(1)" not in page
        assert "&lt;script&gt;alert(1)" in page
        assert r"\x1b[2J\x01\u202e" in page
        assert "\x1b" not in page
        for given in ("0", "x", "-1", "1" * 40):
            assert found["dora"].get(f"{place}?before={given}").status_code == 200
        assert found["ada"].get(place).status_code == 404
