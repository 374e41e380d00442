"""A service from its file: the first tokens of its operators, and nothing where a file is already."""

from __future__ import annotations

import json
import logging
import socket
import ssl
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from asgi_client import AsgiClient
from certificates import own_certificate
from discreet.errors import InvalidParameter
from discreet.server import serving
from discreet.server.pages.browser_session import POLICY
from discreet.server.run_server import Listening
from discreet.service.opened_service import open_service

DATA = Path(__file__).parents[2] / "src" / "discreet" / "data" / "rand_hie.parquet"
DECLARED = f"""\
[table]
source = "{DATA}"
unit = "person"
[table.limits]
max_rows = 5
[budget]
epsilon = 1
ledger = "spent.db"
"""
SERVED = """\
[datasets.people]
declaration = "people.toml"
[principals.ada]
roles = { people = ["analyst"] }
[principals.root]
operator = true
"""

PROVIDER = """\
[oidc]
issuer = "https://login.example.org"
client_id = "discreet"
client_secret_file = "client-secret.txt"
redirect = "https://discreet.example.org/oidc/callback"
"""
served: list[Any] = []
"""What the last start would have run."""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A service file, served without a socket."""
    (tmp_path / "people.toml").write_text(DECLARED)
    path = tmp_path / "service.toml"
    path.write_text(SERVED)

    def run(app: Any, listening: Any, *, ready: Any, beside: Any) -> None:
        del listening, beside
        served.append(app)
        ready()

    served.clear()
    monkeypatch.setattr(serving, "run", run)
    own = logging.getLogger("discreet")
    before = (own.handlers[:], own.level, own.propagate)
    yield path
    own.handlers[:], own.propagate = before[0], before[2]
    own.setLevel(before[1])


def test_operators_get_their_first_tokens(file: Path) -> None:
    told: list[str] = []
    tokens = file.with_name("operators.json")
    serving.serve_file(file, tell=told.append, tokens=tokens)
    assert told == ["Serving on http://127.0.0.1:8000."]
    assert stat.S_IMODE(tokens.stat().st_mode) == 0o600
    made = json.loads(tokens.read_text())
    assert list(made) == ["root"]
    service, _ = open_service(file)
    try:
        assert service.authenticate(made["root"]).operator
        assert service.members.principal("ada").roles.keys() == {"people"}
    finally:
        service.close()
    with pytest.raises(InvalidParameter, match="not there yet"):
        serving.serve_file(file, tell=told.append, tokens=tokens)


def test_without_the_option_nothing_is_written(file: Path) -> None:
    serving.serve_file(file, tell=lambda _: None)
    assert {one.name for one in file.parent.iterdir()} >= {"service.toml", "state.db", "spent.db"}
    assert not list(file.parent.glob("*.json"))


def given_to_postgres(file: Path) -> list[Any]:
    """Where each face for PostgreSQL's clients would listen."""
    given: list[Any] = []

    def face(listening: Any) -> Any:
        given.append(listening)
        return print  # never started

    serving.serve_file(file, tell=lambda _: None, pg_face=face)
    return given


def test_postgresqls_clients_have_the_certificate_of_http(file: Path) -> None:
    """The other face listens where HTTP does, on its own port, and encrypts with what HTTP encrypts with."""
    own_certificate(file.with_name("server.pem"))
    stated = '[service]\nhost = "0.0.0.0"\npg_port = 5433\ncertificate = "server.pem"\nkey = "server.pem"\n'
    file.write_text(stated + SERVED)
    (listening,) = given_to_postgres(file)
    assert (listening.host, listening.port) == ("0.0.0.0", 5433)  # noqa: S104 - it listens nowhere
    assert isinstance(listening.tls(), ssl.SSLContext)
    file.with_name("server.pem").write_text("no certificate")
    with pytest.raises(InvalidParameter, match="a certificate with its key"):
        listening.tls()


def test_without_a_certificate_nothing_is_encrypted(file: Path) -> None:
    file.write_text("[service]\npg_port = 5433\n" + SERVED)
    (listening,) = given_to_postgres(file)
    assert (listening.host, listening.tls()) == ("127.0.0.1", None)


def test_a_provider_that_the_file_names_has_its_button_and_its_ways(file: Path) -> None:
    file.write_text(PROVIDER + SERVED)
    file.with_name("client-secret.txt").write_text("s3cret\n")
    serving.serve_file(file, tell=lambda _: None)
    [app] = served
    assert {"/oidc/login", "/oidc/callback"} <= {getattr(one, "path", "") for one in app.router.routes}
    shown = AsgiClient(app).get("/sign-in").text
    assert '<a class="button wide" href="/oidc/login">Sign in with your organization</a>' in shown
    refused = AsgiClient(app).get("/oidc/callback?code=c&state=s")
    assert (refused.status_code, refused.headers["content-type"]) == (401, "text/html; charset=utf-8")
    assert "account does not sign anybody in here" in refused.text
    assert refused.headers["content-security-policy"] == POLICY
    for without in ("issuer", "client_id", "redirect"):
        lines = [line for line in PROVIDER.splitlines(keepends=True) if not line.startswith(without)]
        file.write_text("".join(lines) + SERVED)
        with pytest.raises(InvalidParameter, match=without):
            serving.serve_file(file, tell=lambda _: None)


@pytest.mark.parametrize("held", [None, b"", b" \n", b"\xff\xfe"])
def test_a_secret_that_cannot_be_read_is_refused_in_words(file: Path, held: bytes | None) -> None:
    file.write_text(PROVIDER + SERVED)
    if held is not None:
        file.with_name("client-secret.txt").write_bytes(held)
    with pytest.raises(InvalidParameter, match="a file with the client's secret"):
        serving.serve_file(file, tell=lambda _: None)


TOKENS = {"curator": "dst_" + "A" * 43, "analyst": "dst_" + "B" * 43}


def test_a_second_demo_writes_its_tokens_over_those_of_the_first(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    serving.write_tokens(path, TOKENS, over_earlier=True)
    later = {name: token[:-1] + "C" for name, token in TOKENS.items()}
    serving.write_tokens(path, later, over_earlier=True)
    assert json.loads(path.read_text()) == later
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(InvalidParameter, match="not there yet"):
        serving.write_tokens(path, TOKENS)


@pytest.mark.parametrize(
    "held",
    [
        "",
        "[]",
        "null",
        "{",
        json.dumps({**TOKENS, "operator": "x"}),
        json.dumps({"curator": TOKENS["curator"]}),
        json.dumps({**TOKENS, "analyst": "my notes"}),
        json.dumps({**TOKENS, "analyst": 1}),
        json.dumps(TOKENS) + " " * 10_000,
        "\ud800",
    ],
)
def test_what_no_demo_wrote_is_not_replaced(tmp_path: Path, held: str) -> None:
    path = tmp_path / "tokens.json"
    path.write_bytes(held.encode("utf-8", "surrogatepass"))
    before = path.read_bytes()
    with pytest.raises(InvalidParameter, match="not there yet"):
        serving.write_tokens(path, TOKENS, over_earlier=True)
    assert path.read_bytes() == before


def test_a_link_is_not_followed_to_be_replaced(tmp_path: Path) -> None:
    (tmp_path / "kept.json").write_text(json.dumps(TOKENS))
    (tmp_path / "tokens.json").symlink_to("kept.json")
    with pytest.raises(InvalidParameter, match="not there yet"):
        serving.write_tokens(tmp_path / "tokens.json", TOKENS, over_earlier=True)
    (tmp_path / "folder").mkdir()
    with pytest.raises(InvalidParameter, match="not there yet"):
        serving.write_tokens(tmp_path / "folder", TOKENS, over_earlier=True)


def test_a_demo_on_a_port_that_is_taken_leaves_the_tokens_of_the_other(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    serving.write_tokens(path, TOKENS)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listening = Listening(port=taken.getsockname()[1])
        with pytest.raises(InvalidParameter, match="a free address"):
            serving.serve_demo(tmp_path, listening, path, tell=lambda _: None)
    assert json.loads(path.read_text()) == TOKENS
    assert not (tmp_path / "state.db").exists()
