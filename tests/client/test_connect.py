"""A service over its real interface: the same verbs, the same releases, one charge each."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from ibis import _

import discreet as dp
from discreet.client import service_connection
from discreet.client.connect import RemoteService
from discreet.client.remote_table import check_plan
from discreet.client.service_bodies import ServiceRefused
from discreet.client.service_connection import ServiceUnreachable, checked_url
from discreet.errors import BudgetExceeded, DiscreetError, InvalidParameter, InvalidQuery
from served_demo import served_demo


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    """The demonstration on a free port of this machine, and its tokens."""
    with served_demo(tmp_path_factory.mktemp("service")) as found:
        yield found.url, found.tokens


@pytest.fixture
def service(served: tuple[str, dict[str, str]]) -> Iterator[RemoteService]:
    url, tokens = served
    with dp.connect(url, token=tokens["analyst"]) as connected:
        yield connected


@pytest.mark.long
def test_a_data_set_has_the_verbs_and_gives_the_same_release(service: RemoteService) -> None:
    assert service.datasets() == ["people"]
    people = service["people"]
    assert "plan" in people.columns
    question = people.filter(_.age >= 18).group_by("plan").agg(n=_.count(), visits=_.visits.mean())
    assert question.explain(epsilon=0.01)["charge"] == {"epsilon": "0.01", "delta": "0"}
    before = people.budget.spent
    answer = question.release(epsilon=0.01)
    assert type(answer) is dp.Release
    assert answer.to_pyarrow()["plan"].to_pylist() == ["free", "25%", "50%", "95%", "deductible"]
    assert answer.intervals(confidence=0.5).num_rows == 5
    assert answer.receipt["charge"] == {"epsilon": "0.01", "delta": "0"}
    paid = people.budget.spent
    assert paid != before
    assert question.release(epsilon=0.01).to_pyarrow().equals(answer.to_pyarrow())
    assert people.budget.spent == paid
    ordered = question.order_by("n", desc=True).limit(1).release(epsilon=0.01)
    assert len(ordered) == 1


@pytest.mark.long
def test_sql_is_the_same_question(service: RemoteService) -> None:
    text = "SELECT plan, COUNT(*) AS n FROM people WHERE age >= 30 GROUP BY plan"
    asked = service.sql(text)
    assert type(asked) is dp.Question
    written = service["people"].filter(_.age >= 30).group_by("plan").agg(n=_.count())
    assert dp.question_digest(asked.document()) == dp.question_digest(written.document())
    assert asked.release(epsilon=0.01).to_pyarrow().equals(written.release(epsilon=0.01).to_pyarrow())


def test_refusals_are_the_librarys_own(service: RemoteService, served: tuple[str, dict[str, str]]) -> None:
    people = service["people"]
    with pytest.raises(BudgetExceeded):
        people.count().release(epsilon=1000)
    with pytest.raises(InvalidParameter, match="did you mean 'people'"):
        service["peoples"]
    with pytest.raises(InvalidQuery, match="the whole table"):
        people.partition("plan", max_parts=1)
    url, tokens = served
    with dp.connect(url, token=tokens["analyst"][:-1]) as nobody, pytest.raises(ServiceRefused):
        nobody.datasets()
    with dp.connect(url, token=tokens["auditor"]) as auditor, pytest.raises(ServiceRefused):
        auditor["people"].count().release(epsilon=0.01)


def test_an_answer_to_another_plan_is_refused(service: RemoteService) -> None:
    question: Any = service["people"].count()
    answer = question.release(epsilon=0.01)
    check_plan(question.plan(epsilon=0.01), answer.receipt)
    with pytest.raises(DiscreetError, match="another charge"):
        check_plan(question.plan(epsilon=0.02), answer.receipt)


def test_a_lost_connection_is_one_charge(service: RemoteService, monkeypatch: pytest.MonkeyPatch) -> None:
    people: Any = service["people"]
    monkeypatch.setattr(service_connection, "FIRST_PAUSE", 0)
    sent: list[str] = []
    real = httpx.Client.request

    def lossy(self: httpx.Client, method: str, path: str, **request: Any) -> httpx.Response:
        found = real(self, method, path, **request)
        sent.append(path)
        if sent.count(path) < 3 and "budget" not in path:  # what was sent arrived, and its answer is lost
            raise httpx.ReadError("lost")
        return found

    before = people.budget.levels[0]["spent"]
    monkeypatch.setattr(httpx.Client, "request", lossy)
    people.filter(_.age > 50).count().release(epsilon=0.0625)
    after = people.budget.levels[0]["spent"]
    assert sent.count("/releases") == 3
    if before is not None and after is not None:
        assert float(after["epsilon"]) - float(before["epsilon"]) == pytest.approx(0.0625)
    monkeypatch.setattr(httpx.Client, "request", lambda *_, **__: (_ for _ in ()).throw(httpx.ConnectError("no")))
    with pytest.raises(ServiceUnreachable, match="paid for is stored"):
        service.datasets()


@pytest.mark.parametrize(
    "url", ["http://numbers.example", "ftp://localhost", "", None, "https://a:b@c", "http://10.0.0.1"]
)
def test_a_token_is_not_sent_in_the_open(url: Any) -> None:
    with pytest.raises(InvalidParameter):
        dp.connect(url, token="x")  # noqa: S106 (no secret)
    assert checked_url("http://[::1]:8000/") == "http://[::1]:8000"


def test_a_proxy_is_not_shown_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the environment would be sent what is asked of this machine, by a listener that stands for it."""
    monkeypatch.setattr(service_connection, "FIRST_PAUSE", 0)
    monkeypatch.setattr(service_connection, "TIMEOUT", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as proxy, socket.create_server(("127.0.0.1", 0)) as closed:
        proxy.settimeout(0)
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.getsockname()[1]}")
        port = closed.getsockname()[1]
        closed.close()
        with dp.connect(f"http://127.0.0.1:{port}", token="x") as here, pytest.raises(ServiceUnreachable):  # noqa: S106 (no secret)
            here.datasets()
        with pytest.raises(BlockingIOError):
            proxy.accept()


@pytest.mark.long
def test_a_token_is_text() -> None:
    for token in ("", None, "a\nb", "é"):
        with pytest.raises(InvalidParameter, match="a token"):
            dp.connect("https://numbers.example", token=token)  # type: ignore[arg-type]  # the refusal is the test


WITHOUT_DUCKDB = """
import sys
sys.modules["duckdb"] = sys.modules["_duckdb"] = None
import discreet as dp
from ibis import _
people = dp.connect(sys.argv[1], token=sys.argv[2])["people"]
question = people.group_by("plan").agg(n=_.count(), m=_.visits.mean())
question.explain(epsilon=0.01)
print(question.release(epsilon=0.01).to_pyarrow().num_rows)
for asked in (
    people.top("plan"),
    people.choose([18, 65], score=lambda c: _.age >= c, max_rows=1),
    people.count_distinct("age"),
    people.truncated_total("visits"),
    people.kmeans(["age"], n_clusters=2, algorithm="lloyd", rounds=1),
):
    asked.explain(epsilon=0.01)
    print(type(asked.release(epsilon=0.01)).__name__)
try:
    question.having(_.n > 1).release(epsilon=0.01)
except dp.InvalidQuery as refusal:
    print(str(refusal).splitlines()[0])
"""


@pytest.mark.long
def test_no_duckdb_is_needed(served: tuple[str, dict[str, str]], tmp_path: Path) -> None:
    url, tokens = served
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WITHOUT_DUCKDB, url, tokens["analyst"]],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    kinds = ["Top", "Choice", "DistinctValues", "TruncatedTotal", "Clusters"]
    assert done.stdout.splitlines()[:6] == ["5", *kinds], done.stderr
    assert "Expected DuckDB" in done.stdout
