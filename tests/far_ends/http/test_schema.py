"""The interface for programs against its own description: Schemathesis as each role, with all objects there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.server.http_application import HttpLimits, application
from discreet.service.service import Service
from listening_application import listening
from served_series import by_hand, facts, seconds, with_series
from served_series import served as series_of
from service_fixtures import Clock, ask, data_set, finished

EXAMPLES = int(os.environ.get("SCHEMA_EXAMPLES", "5"))
"""Of each operation and role, beside those that the description calls for; 150 make more than 10,000 cases, with
``-o faulthandler_timeout=0``, as they take longer than a test may."""
SECONDS = int(os.environ.get("SCHEMA_SECONDS", "30"))

UNSTATED = "positive_data_acceptance"
"""The one check that is left out: no description says which text is SQL about a table."""


WARDS = dp.public_keys(pa.table({"ward": ["A", "B"]}), name="wards")
ROLES = {"analyst": "ada", "curator": "cleo", "auditor": "dora", "operator": "olga"}
CHANGES = ("/api/v1/datasets/{name}/{change}", "/api/v1/datasets/{name}/raise")
"""What ends all else of a data set: of a spare one."""
PUBLIC = ("/series", "/series/{series}/numbers", "/columns/{column}/keys", "/public_keys/{keys}")


@dataclass(frozen=True)
class Objects:
    """A service, who may ask it, and what is there."""

    url: str
    tokens: dict[str, str]
    real: dict[str, Any]
    reached: set[tuple[str, str, int]]
    """The methods and paths that were tried, and what came of it."""


def asks(service: Service) -> list[dict[str, Any]]:
    """An ask of each kind of question."""
    [people] = [one.table for name, one in service._datasets.items() if name == "people"]
    counted = people.group_by("ward").agg(n=_.count(), nights=_.nights.mean())
    applied = (
        people.top("ward"),
        people.choose([1, 5], score=lambda c: _.nights >= c),
        people.count_distinct("day", max_values=4),
        people.truncated_total("nights", limit="race", most=8),
        people.kmeans(["nights"], n_clusters=2, algorithm="lloyd", rounds=1),
        people.hierarchy(["ward"], keys=WARDS).agg(n=_.count()),
        dp.batch(a=people.count(), b=people.group_by("ward").agg(n=_.count())),
        people.histogram("nights", [0, 2, 4, 8], ranges=True),
        counted,
    )
    price = {"epsilon": "0.25"}
    documents = [json.loads(json.dumps(one.document())) for one in applied]
    return [ask(), *({"question": {"document": one}, "price": price} for one in documents)]


def with_objects(service: Service, clock: Clock) -> dict[str, Any]:
    """What is there once a series is published, questions are answered, and more was asked for."""
    clock.now = seconds(20, 2)
    series_of(service).attempt()
    clock.now = seconds(20, 5)
    ada, cleo = (service.members.principal(name) for name in ("ada", "cleo"))
    bodies, jobs = asks(service), []
    for one in bodies:
        jobs.append(service.submit(ada, one).id)
        finished(service, ada, jobs[-1], clock)
    service.admit(cleo, "people", "bob", allowance={"epsilon": "1"})
    more = service.request(ada, "people", {"epsilon": "0.5"}, "a report")
    paths = {
        "name": ["people"], "series": ["daily"], "column": ["ward"], "keys": ["wards"], "who": ["bob", "ada"],
        "group": ["staff"], "identity": jobs,
    }  # fmt: skip
    return {
        "paths": paths,
        "of": {
            **{place: {"name": ["spare"]} for place in CHANGES},
            "/api/v1/requests/{identity}/decision": {"identity": [more.id]},
        },
        "bodies": dict.fromkeys(("/api/v1/explain", "/api/v1/releases"), bodies),
    }


def watched(app: Any, reached: set[tuple[str, str, int]]) -> Any:
    """The application, of which is kept what it answered where."""

    async def called(scope: Any, receive: Any, send: Any) -> None:
        async def sent(message: Any) -> None:
            if message["type"] == "http.response.start" and "route" in scope:
                reached.add((scope["method"], scope["route"].path_format, message["status"]))
            await send(message)

        await app(scope, receive, sent)

    return called


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Objects]:
    """A hospital with its series, answered questions of each kind, and a request, on a free port."""
    folder, clock = tmp_path_factory.mktemp("hospital"), Clock(seconds(1))
    budget = dp.Budget(epsilon=1000, delta=0.1, ledger=folder / "people.db")
    people = with_series("people", folder, facts(epsilon="0.5"), budget=budget)
    sets = replace(people, public_keys={"wards": WARDS}), data_set("spare", folder)
    with ExitStack() as held:
        service = held.enter_context(by_hand(folder, clock, *sets))
        service.members.add("olga", operator=True)
        real = with_objects(service, clock)
        limits = HttpLimits(a_second=100_000, burst=100_000)
        reached: set[tuple[str, str, int]] = set()
        address = held.enter_context(listening(watched(application(service, limits), reached)))
        tokens = {role: service.members.issue(name)[0] for role, name in ROLES.items()}
        yield Objects(address, tokens, real, reached)


@pytest.mark.parametrize("role", ROLES)
def test_what_is_described_is_what_happens(served: Objects, role: str, tmp_path: Path) -> None:
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "run", f"{served.url}/openapi.json"),
        *("-H", f"Authorization: Bearer {served.tokens[role]}", "--phases", "coverage,fuzzing"),
        *("-n", str(EXAMPLES), "--max-time", str(SECONDS), "--continue-on-failure", "--no-shrink"),
        *("--exclude-checks", UNSTATED, "--no-color"),
    ]
    served.reached.clear()
    fixtures = str(Path(__file__).parents[2] / "fixtures")
    hooks = {"SCHEMATHESIS_HOOKS": "real_objects", "PYTHONPATH": fixtures, "REAL_OBJECTS": json.dumps(served.real)}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=SECONDS + 120, cwd=tmp_path, check=False,
        env={**os.environ, **hooks},
    )  # fmt: skip
    tried = re.search(r"(\d[\d,]*) generated", done.stdout)
    assert tried is not None, done.stdout + done.stderr
    sys.stdout.write(f"{role}: {tried[1]} cases\n")  # pytest -rA shows it
    assert done.returncode == 0, done.stdout
    assert " 500" not in done.stdout
    of = "/api/v1/datasets/{name}"
    wanted = {
        "analyst": [
            *(("GET", of + end) for end in ("", "/budget", "/questions", "/requests", *PUBLIC)),
            *(("GET", f"/api/v1/releases/{{identity}}{end}") for end in ("", "/answer")),
            ("POST", "/api/v1/explain"),
        ],
        "curator": [("GET", of + end) for end in ("/analysts", "/groups", "/questions", *PUBLIC)],
        "auditor": [("GET", of + end) for end in ("/ledger", "/ledger/head", "/changes", "/refusals", *PUBLIC)],
        "operator": [("GET", "/api/v1/tokens"), ("GET", "/metrics")],
    }
    missed = {(*one, 200) for one in wanted[role]} - served.reached
    assert len(missed) <= len(wanted[role]) // 4, missed  # a run that its time ends early may leave one out
