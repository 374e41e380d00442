"""The bundle is what its manifest says, was made from the sources that are here, and comes with its licenses."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

from discreet.server.pages.assets import TYPES, asset_path, bundle
from page_fixtures import Browser

ROOT = Path(__file__).parents[3]
WEB = ROOT / "web"
STATIC = ROOT / "src" / "discreet" / "server" / "pages" / "static"
MANIFEST = json.loads((STATIC / "manifest.json").read_text(encoding="utf-8"))
LOCK = json.loads((WEB / "package-lock.json").read_text(encoding="utf-8"))
REMADE = "run scripts/build_pages.sh and commit what it makes"


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_bundle_is_what_the_manifest_says() -> None:
    held = {path.name: digest(path) for path in STATIC.iterdir() if path.name != "manifest.json"}
    assert held == MANIFEST["files"], REMADE


def test_the_bundle_was_made_from_these_sources() -> None:
    names = ["build.mjs", "package.json", "package-lock.json", *(f"src/{one.name}" for one in (WEB / "src").iterdir())]
    assert {name: digest(WEB / name) for name in sorted(names)} == MANIFEST["sources"], REMADE


def test_what_is_bundled_is_locked_by_digest_and_licensed() -> None:
    licenses = (STATIC / "LICENSES.txt").read_text(encoding="utf-8")
    stated = re.findall(
        r"^(@?[\w./-]+) (\d[\w.-]*) \((MIT|ISC|OFL-1\.1|BSD-3-Clause|Apache-2\.0)\)$", licenses, re.MULTILINE
    )
    assert {"@codemirror/lang-sql", "d3-scale", "@fontsource-variable/inter"} <= {name for name, _, _ in stated}
    for name, version, license_name in stated:
        locked = LOCK["packages"][f"node_modules/{name}"]
        assert (locked["version"], locked["license"]) == (version, license_name)
        assert locked["integrity"].startswith("sha512-")


def test_the_lock_names_no_place_to_fetch_from() -> None:
    assert all("resolved" not in one for one in LOCK["packages"].values())


def test_nothing_in_the_bundle_reaches_elsewhere() -> None:
    for name, asset in bundle().items():
        if name.endswith((".js", ".css", ".svg")):
            hosts = set(re.findall(rb"https?://[\w.-]+", asset.content))
            assert hosts <= {b"http://www.w3.org"}, (name, hosts)
            assert not re.search(rb"\beval\(|new Function\(|XMLHttpRequest|WebSocket", asset.content), name


def test_pages_find_their_assets(every_browser: dict[str, Browser]) -> None:
    visitor = every_browser["visitor"]
    for name, asset in bundle().items():
        answer = visitor.get(asset_path(name))
        assert answer.status_code == 200
        assert answer.content == asset.content
        assert answer.headers["content-type"] == TYPES[name.rpartition(".")[2]]
        assert "immutable" in answer.headers["cache-control"]


@pytest.mark.parametrize("name", ["manifest.json", "..%2froutes.py", "../routes.py", "%2e%2e", "x.js", "pages.css%00"])
def test_other_names_are_not_files(every_browser: dict[str, Browser], name: str) -> None:
    assert every_browser["visitor"].get(f"/static/{name}").status_code == 404
