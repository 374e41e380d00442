"""What a browser fetches beside the pages: the files of the bundle, read once, served by their exact names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from discreet.server.pages.browser_session import with_headers

TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
    "woff2": "font/woff2",
}


@dataclass(frozen=True, kw_only=True)
class Asset:
    """One file of the bundle."""

    content: bytes
    media_type: str
    digest: str


@cache
def bundle() -> Mapping[str, Asset]:
    """The files that the manifest lists, by name."""
    folder = files("discreet.server.pages") / "static"
    digests: dict[str, str] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["files"]
    return {
        name: Asset(content=(folder / name).read_bytes(), media_type=TYPES[name.rpartition(".")[2]], digest=digest)
        for name, digest in digests.items()
    }


def asset_path(name: str) -> str:
    """Where a page finds a file: an address that changes whenever the file does.

    >>> asset_path("pages.css").startswith("/static/pages.css?v=")
    True
    """
    return f"/static/{name}?v={bundle()[name].digest[:12]}"


def serve_asset(request: Request) -> Response:
    """The file of this name, or nothing: a name is looked up, never opened."""
    found = bundle().get(request.path_params["name"])
    if found is None:
        return with_headers(PlainTextResponse("Not found", status_code=404))
    return with_headers(Response(found.content, media_type=found.media_type), kept=True)
