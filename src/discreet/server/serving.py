"""A service with its faces: made, told about, run, and closed."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from discreet.errors import InvalidParameter, expected
from discreet.server.http_application import application
from discreet.server.pages.routes import pages
from discreet.server.run_server import Listening, run
from discreet.service.demonstration import demo_service
from discreet.service.service import Service

Face = Callable[[Service], Awaitable[Any]]
"""Starts another face of a service beside HTTP."""


def write_tokens(path: Path, tokens: Mapping[str, str]) -> None:
    """Writes tokens where nothing is yet, for their owner alone."""
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


def serve_demo(
    folder: Path, listening: Listening, tokens: Path, *, tell: Callable[[str], Any], faces: Iterable[Face] = ()
) -> None:
    """Serves the bundled table, with its files in `folder`, until a signal."""
    with ExitStack() as held:
        service, made = demo_service(folder, held)
        held.callback(service.close)
        write_tokens(tokens, made)
        app = application(service, pages=pages(service))

        def ready() -> None:
            tell(f"Serving on {listening.url}. Tokens of curator, analyst and auditor: {tokens}. Ctrl-C ends it.")

        run(app, listening, ready=ready, beside=tuple(partial(face, service) for face in faces))
