"""The service as an analyst sees it, recorded on one table and replayed on a neighbor: all bytes, and all moments."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from asgi_client import client_of
from discreet.curator.protect import protect
from discreet.curator.public_data import public_keys
from discreet.ledger.budget import Budget
from discreet.query.batch import batch
from discreet.service.service import Service
from discreet.testing.example_tables import PLANS, visits
from service_fixtures import Clock, ask, data_set, service_in, wait_until_ended


def together() -> dict[str, Any]:
    """A count beside means whose limit is to be found, as a document."""
    table = protect(
        visits(), unit="person", bounds={"age": (0, 110), "visits": (0, 50)}, keys={"plan": list(PLANS)},
        max_groups=2, max_rows=5, name="people", budget=Budget(epsilon=1),
    )  # fmt: skip
    means = table.group_by("plan", max_groups="auto").agg(v=lambda t: t.visits.mean())
    return batch(whole=table.agg(n=lambda t: t.count()), by_plan=means).document()


def applied() -> list[dict[str, Any]]:
    """A question of each verb with an answer of its own, and two that are refused, as documents."""
    table = protect(
        visits(), unit="person", bounds={"age": (0, 110), "visits": (0, 50)}, keys={"plan": list(PLANS)},
        max_groups=2, max_rows=5, name="people", budget=Budget(epsilon=1),
    )  # fmt: skip
    asked: list[Any] = [
        table.top("plan", k=2),
        table.choose([18, 40, 65], score=lambda c: table.age >= c, max_rows=1),
        table.count_distinct("age"),
        table.truncated_total("visits"),
        table.truncated_total(limit="race", most=8),
        table.kmeans(["age", "visits"], n_clusters=2, algorithm="lloyd", rounds=2),
        table.kmeans(["age"], n_clusters=2),
        table.hierarchy(["plan"], keys=PLACES).agg(n=lambda t: t.count()),
        table.kmeans(["age", "visits"], n_clusters=50),
    ]
    unknown = table.top("plan").document()
    unknown["top"]["k"] = 4
    documents = [*(one.document() for one in asked), unknown]
    return [{"question": {"document": one}, "price": {"epsilon": "0.02"}} for one in documents]


PLACES = public_keys(pa.table({"plan": list(PLANS)}), name="places")
ASKS = (
    *applied(),
    ask(),
    ask("SELECT plan, COUNT(*) AS n, AVG(visits) AS v FROM people GROUP BY plan", "0.2"),
    ask("SELECT COUNT(DISTINCT person) AS persons FROM people WHERE age > 50"),
    ask("SELECT MEDIAN(visits) AS v FROM people"),
    ask("SELECT nothing FROM people"),
    ask("SELECT SUM(visits / 0) AS v FROM people"),
    ask("SELECT SUM(visits) AS v FROM people", "5"),
    {"question": {"document": together()}, "price": {"epsilon": "0.2"}},
    ask(fresh=True),
    ask(),
)
NOISY = re.compile(r'("(?:n|v|persons|chosen|value|limit|cluster_size|age|visits)(?:_low|_high)?": )[^,{}\[\]]+')
"""What a mechanism gave: the one thing that may differ."""
BEST = re.compile(r'\{"plan": "[^"]*"\}')
"""A row of what was chosen, which has nothing else."""
STEPS = re.compile(r'"(?:algorithm|steps)": (?:"[^"]*"|\[[^\]]*\])')
"""What k-means did after it had found about how many rows there are, which was paid for."""
CHOSEN = re.compile(r"[0-9a-f]{32,64}|dst_[A-Za-z0-9_-]{43}")
"""Identities, which are drawn by chance."""


def plain(text: str) -> str:
    return BEST.sub("chosen", STEPS.sub("steps", NOISY.sub(r"\1noise", CHOSEN.sub("identity", text))))


def seen(service: Service, clock: Clock) -> list[Any]:
    """All that an analyst can record: codes, headers and bodies, at the moments of the clock."""
    client = client_of(service, "ada")
    record: list[Any] = []

    def look(method: str, path: str, **given: Any) -> Any:
        response = client.request(method, path, **given)
        headers = {name: value for name, value in response.headers.items() if name != "content-length"}
        record.append((clock.now, response.status_code, headers, plain(response.text)))
        return response

    for path in ("/me", "/datasets", "/datasets/people", "/datasets/people/budget"):
        look("GET", f"/api/v1{path}")
    for number, one in enumerate(ASKS):
        look("POST", "/api/v1/explain", json=one)
        accepted = look("POST", "/api/v1/releases", json=one, headers={"Idempotency-Key": f"key-{number}"})
        if accepted.status_code != 202:
            continue
        job = accepted.json()["id"]
        look("GET", f"/api/v1/releases/{job}/answer")
        wait_until_ended(service, job)
        wait = service.job(service.members.principal("ada"), job).ready_at - clock.now
        for step in (wait / 2, wait / 2 - 0.01, 0.02, 0.5):
            look("GET", f"/api/v1/releases/{job}")
            look("GET", f"/api/v1/releases/{job}/answer")
            look("GET", "/api/v1/datasets/people/budget")
            look("GET", "/api/v1/datasets/people/questions")
            clock.now += step
    return record


def many_rows_of_one_person() -> pa.Table:
    """A neighbor: one more person, with as many rows as all others."""
    rows = visits()
    number = rows.num_rows
    more = pa.table(
        {
            "person": pa.array([10**6] * number, pa.int64()),
            "plan": pa.array(["free"] * number, pa.string()),
            "age": pa.array([None] * number, pa.int64()),
            "visits": pa.array([float("nan")] * number, pa.float64()),
        }
    )
    return pa.concat_tables([rows, more])


@pytest.mark.long
@pytest.mark.parametrize("neighbor", ["the same", "one more", "one alone"])
def test_neighbors_are_shown_alike(tmp_path: Path, neighbor: str) -> None:
    tables = {"the same": visits(), "one more": many_rows_of_one_person(), "one alone": visits().slice(1, 4)}
    found = []
    for name, rows in (("left", visits()), ("right", tables[neighbor])):
        (folder := tmp_path / name).mkdir()
        clock = Clock()
        made = replace(data_set("people", folder, rows=rows), public_keys={"places": PLACES})
        service = service_in(folder, clock, made)
        found.append(seen(service, clock))
        service.close()
    assert len(found[0]) > 80
    assert [one[1] for one in found[0]].count(202) == len(ASKS) - 5  # those that are refused
    for left, right in zip(*found, strict=True):
        assert left == right
    text = "\n".join(one[3] for one in found[0])
    assert "noise" in text
    assert "parquet" not in text
    assert str(tmp_path) not in text
