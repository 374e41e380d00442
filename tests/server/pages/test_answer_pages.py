"""An answer is a picture, a table, files and a receipt, from its public moment on."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from starlette.applications import Starlette

from discreet.curator.public_data import public_keys
from discreet.server.pages.routes import pages
from discreet.service.answer_timing import State
from discreet.testing.example_tables import PLANS
from page_fixtures import Browser, answered
from service_fixtures import Clock, data_set, finished, service_in

SQL = "SELECT plan, COUNT(DISTINCT person) AS people, AVG(visits) AS visits FROM people GROUP BY plan"


@pytest.fixture(scope="module")
def place(every_browser: dict[str, Browser]) -> str:
    return answered(every_browser["analyst"], SQL, "0.3")


@pytest.mark.long
def test_the_table_has_what_the_picture_draws(analyst: Browser, place: str) -> None:
    text = analyst.get(place).text
    cells = re.findall(r'data-column="(\d)" data-value="([^"]+)" data-low="([^"]+)" data-high="([^"]+)"', text)
    assert len(cells) == 10
    assert all(float(low) <= float(value) <= float(high) for _, value, low, high in cells)
    assert "95 % interval" in text
    assert "0.3-differential privacy for add-remove neighbors" in text
    assert SQL in text


def test_another_confidence_costs_nothing_and_is_narrower(analyst: Browser, place: str) -> None:
    def widths(confidence: str) -> list[float]:
        text = analyst.get(f"{place}?confidence={confidence}").text
        found = re.findall(r'data-low="([^"]+)" data-high="([^"]+)"', text)
        return [float(high) - float(low) for low, high in found]

    before = analyst.get("/datasets/people/budget").text
    assert sum(widths("0.5")) < sum(widths("0.95")) < sum(widths("0.99"))
    assert widths("2") == widths("0.95")
    left = r"[\d.]+ of [\d.]+ left"
    assert re.findall(left, analyst.get("/datasets/people/budget").text) == re.findall(left, before)


def test_files_hold_the_answer(analyst: Browser, place: str) -> None:
    files = {kind: analyst.get(f"{place}/download/{kind}") for kind in ("csv", "parquet", "arrow", "json")}
    for kind, answer in files.items():
        assert answer.headers["content-disposition"].startswith("attachment; filename=")
        assert answer.headers["content-disposition"].endswith(f'.{kind}"')
    rows = list(csv.DictReader(io.StringIO(files["csv"].text)))
    parquet = pyarrow.parquet.read_table(io.BytesIO(files["parquet"].content))
    arrow = pa.ipc.open_stream(files["arrow"].content).read_all()
    assert parquet.equals(arrow)
    assert arrow["people"].to_pylist() == [int(row["people"]) for row in rows]
    receipt = analyst.get(f"{place}/receipt").json()
    assert json.loads(arrow.schema.metadata[b"discreet"]) == receipt == files["json"].json()["receipt"]
    assert receipt["charge"]["epsilon"] == "0.3"


def test_other_formats_are_not_there(analyst: Browser, place: str) -> None:
    for kind in ("stored", "pickle", "exe", ""):
        assert analyst.get(f"{place}/download/{kind}").status_code == 404


def test_before_its_moment_there_is_a_wait(analyst: Browser) -> None:
    fields = {"by": "sql", "sql": "SELECT SUM(visits) AS s FROM people", "epsilon": "0.2", "do": "pay", "key": "a1"}
    sent = analyst.post("/datasets/people/ask", data={"form_token": analyst.form_token(), **fields})
    assert "On its way" in sent.text
    assert re.search(r'<noscript><meta http-equiv="refresh" content="\d+"></noscript>', sent.text)
    assert re.search(r'data-seconds="[\d.]+"', sent.text)
    for path in ("/receipt", "/download/csv"):
        early = analyst.get(f"{sent.url.path}{path}")
        assert early.status_code in {200, 409}
        assert "people" not in early.text or early.status_code == 200
    while not analyst.get(f"{sent.url.path}/state").json()["finished"]:
        pass
    assert "answer-table" in analyst.get(str(sent.url.path)).text


AGE = {"greater_equal": [{"column": "age"}, 18]}
FROM = {"from": {"table": "people"}}
LEVELS = {**FROM, "levels": ["plan"], "keys": "places", "aggregates": [["n", {"count_star": []}]]}
APPLIED: dict[str, tuple[dict[str, Any], int, int]] = {
    "top": ({**FROM, "column": "plan", "k": 2}, 2, 0),
    "choose": ({**FROM, "candidates": [["<b>old</b>", AGE], ["young", {"not": [AGE]}]]}, 1, 0),
    "count_distinct": ({**FROM, "column": "age"}, 1, 0),
    "kmeans": ({**FROM, "columns": ["age", "visits"], "n_clusters": 2, "algorithm": "best"}, 2, 0),
    "hierarchy": (LEVELS, 4, 1),
}
"""Documents of each kind; how many rows their answers have, and how many pictures."""


@pytest.mark.long
@pytest.mark.parametrize("kind", APPLIED)
def test_answers_of_other_kinds_are_tables_with_a_receipt(tmp_path: Path, kind: str) -> None:
    body, rows, pictures = APPLIED[kind]
    clock = Clock()
    places = public_keys(pa.table({"plan": list(PLANS)}), name="places")
    service = service_in(tmp_path, clock, replace(data_set("people", tmp_path), public_keys={"places": places}))
    ada, (token, _) = service.members.principal("ada"), service.members.issue("ada")
    asked = {"question": {"document": {"version": 1, kind: body}}, "price": {"epsilon": "0.5"}}
    job = service.submit(ada, asked)
    assert finished(service, ada, job.id, clock) is State.READY
    with Browser(Starlette(routes=pages(service))) as browser:
        browser.sign_in(token)
        text = browser.get(f"/answers/{job.id}").text
        assert text.count("<tr>") == rows + 1
        assert text.count('class="card close picture') == pictures
        assert "0.5-differential privacy" in text
        assert "<b>" not in text
        assert job.id in browser.get("/datasets/people/questions").text
        csv_rows = browser.get(f"/answers/{job.id}/download/csv").text.splitlines()
        assert len(csv_rows) == rows + 1
        assert json.loads(browser.get(f"/answers/{job.id}/receipt").text)["charge"]["epsilon"] == "0.5"
    service.close()
