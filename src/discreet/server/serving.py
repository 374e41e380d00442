"""A service with its faces: made, told about, run, and closed."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from starlette.routing import BaseRoute

from discreet.errors import InvalidParameter, expected
from discreet.server.http_application import HttpLimits, application
from discreet.server.log_lines import log_to_standard_error
from discreet.server.openid_sign_in import LOGIN, OpenIdSettings, OpenIdSignIn
from discreet.server.pages.entrance_pages import refused_elsewhere
from discreet.server.pages.page_site import PageSite
from discreet.server.pages.routes import pages
from discreet.server.run_server import Listening, check_free, run
from discreet.service.configuration import ServiceFile
from discreet.service.demonstration import demo_service
from discreet.service.opened_service import open_service
from discreet.service.service import Service
from discreet.service.tokens import is_token

Face = Callable[[Service], Awaitable[Any]]
"""Starts another face of a service beside HTTP."""
LARGEST = 10_000
"""Bytes of a file of tokens of the demonstration."""


def write_tokens(path: Path, tokens: Mapping[str, str], *, over_earlier: bool = False) -> None:
    """Writes tokens where nothing is yet, for their owner alone; or over those of an earlier start of the same."""
    if over_earlier and _has_tokens_of(path, tokens):
        path.unlink()
    try:
        file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        cure = "name another file, or remove it: its tokens are of another start."
        raise InvalidParameter(expected("a file that is not there yet", "tokens", str(path), cure)) from None
    except OSError:
        cure = "name one in a folder that is there and may be written to."
        raise InvalidParameter(expected("a file that can be made", "tokens", str(path), cure)) from None
    with os.fdopen(file, "w", encoding="utf-8") as target:
        json.dump(dict(tokens), target, indent=2)
        target.write("\n")


def _has_tokens_of(path: Path, names: Iterable[str]) -> bool:
    """Whether a file is what `write_tokens` wrote for these names, and nothing else."""
    try:
        if path.is_symlink() or path.stat().st_size > LARGEST:
            return False
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and set(found) == set(names) and all(is_token(one) for one in found.values())


def serve_file(
    path: Path,
    *,
    tell: Callable[[str], Any],
    tokens: Path | None = None,
    pg_face: Callable[[Listening], Face] | None = None,
) -> None:
    """Serves what a service file states, until a signal; `tokens` gets a first token for each operator of it.

    `pg_face` makes the face for PostgreSQL's clients, on the same host and with the same certificate.
    """
    service, file = open_service(path)
    log_to_standard_error()
    with ExitStack() as held:
        held.callback(service.close)
        if tokens is not None:
            operators = [one.name for one in service.members.everybody() if one.operator]
            write_tokens(tokens, {name: service.members.issue(name)[0] for name in operators})
        stated = file.section("service")
        listening = Listening(
            host=stated.get("host", "127.0.0.1"),
            port=stated.get("port", 8000),
            certificate=file.place("service", "certificate"),
            key=file.place("service", "key"),
        )
        limits, plain = file.section("limits"), HttpLimits()
        second = float(limits.get("requests_a_second", plain.a_second))
        at_once = limits.get("requests_at_once", plain.at_once)
        chosen = HttpLimits(a_second=second, burst=2 * second, at_once=at_once)
        app = application(service, chosen, pages=_pages(service, file))
        faces = []
        if pg_face is not None and "pg_port" in stated:
            faces.append(pg_face(replace(listening, port=stated["pg_port"])))
        beside = tuple(partial(face, service) for face in faces)
        run(app, listening, ready=lambda: tell(f"Serving on {listening.url}."), beside=beside)


def _pages(service: Service, file: ServiceFile) -> list[BaseRoute]:
    """The pages, with the way to a provider where the file names one."""
    stated, secret = file.section("oidc"), file.place("oidc", "client_secret_file")
    if not stated:
        return pages(service)
    settings = OpenIdSettings(
        issuer=stated.get("issuer", ""),
        client_id=stated.get("client_id", ""),
        client_secret=None if secret is None else _secret(secret),
        redirect=stated.get("redirect", ""),
        claim=stated.get("claim", "email"),
    )
    elsewhere = {"label": "your organization", "href": LOGIN}
    refused = partial(refused_elsewhere, PageSite(service, sign_in_elsewhere=elsewhere))
    sign_in = OpenIdSignIn(service, settings, refused=refused)
    return [*sign_in.routes(), *pages(service, sign_in_elsewhere=elsewhere)]


def _secret(path: Path) -> str:
    """What proves to the provider that it is this service."""
    try:
        found = path.read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        found = ""
    if not found:
        cure = "write it there, for the account of the service alone; leave the key out for a client without one."
        raise InvalidParameter(expected("a file with the client's secret", "client_secret_file", str(path), cure))
    return found


def serve_demo(
    folder: Path, listening: Listening, tokens: Path, *, tell: Callable[[str], Any], faces: Iterable[Face] = ()
) -> None:
    """Serves the bundled table, with its files in `folder`, until a signal."""
    check_free(listening)  # the tokens of a demo that runs stay
    with ExitStack() as held:
        service, made = demo_service(folder, held)
        held.callback(service.close)
        write_tokens(tokens, made, over_earlier=True)  # those of a demo end with it
        app = application(service, pages=pages(service))

        def ready() -> None:
            tell(f"Serving on {listening.url}. Tokens of curator, analyst and auditor: {tokens}. Ctrl-C ends it.")

        run(app, listening, ready=ready, beside=tuple(partial(face, service) for face in faces))
