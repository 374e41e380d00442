"""An answer is a picture, a table, files and a receipt, from its public moment on."""

from __future__ import annotations

import csv
import io
import json
import re

import pyarrow as pa
import pyarrow.parquet
import pytest

from page_fixtures import Browser, answered

SQL = "SELECT plan, COUNT(DISTINCT person) AS people, AVG(visits) AS visits FROM people GROUP BY plan"


@pytest.fixture(scope="module")
def place(every_browser: dict[str, Browser]) -> str:
    return answered(every_browser["analyst"], SQL, "0.3")


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
