"""The site shows what there is: every document, every public name, and a page for whatever is linked to."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import posixpath
import re
from pathlib import Path

import pytest

import discreet
import site_pages
import site_versions

ROOT = Path(__file__).parents[2]
SETTINGS = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


def listed(settings: str) -> list[str]:
    """The documents that the navigation names."""
    return re.findall(r"^ +- (?:[^\n]*: )?([\w/.-]+\.md)$", settings.partition("\nnav:")[2], re.MULTILINE)


def test_every_document_is_in_the_navigation_once() -> None:
    made = ("project/", "api/")
    named = [page for page in listed(SETTINGS) if not page.startswith(made)]
    documents = [str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")]
    assert sorted(named) == sorted(documents)
    assert listed("nav:\n  - no\n\nnav:\n  - A:\n      - index.md\n      - B, c: d/e.md\n") == ["index.md", "d/e.md"]


def test_nothing_is_fetched() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "site").rglob("*.*")]
    assert len(texts) > 3
    assert all("//" not in re.sub(r"^ *//.*$", "", text, flags=re.MULTILINE) for text in [SETTINGS, *texts])
    assert "font: false" in SETTINGS


def test_every_public_name_has_its_place() -> None:
    pages = site_pages.areas()
    names = {name: home for area in pages for name, home in area.names.items()}
    assert {name.removeprefix("dp.") for name in names if re.fullmatch(r"dp\.\w+", name)} == set(discreet.__all__)
    for room in ("audit", "series", "testing", "theory", "workloads"):
        prefix = f"dp.{room}" if room in site_pages.ROOMS else f"discreet.{room}"
        found = {name.rpartition(".")[2] for name in names if name.startswith(f"{prefix}.")}
        assert found == set(importlib.import_module(f"discreet.{room}").__all__)
    for home in names.values():
        module, _, name = home.rpartition(".")
        assert hasattr(importlib.import_module(module), name) or importlib.util.find_spec(home), home
    assert all(area.purpose.endswith(".") for area in pages)


def test_rooms_of_the_root_are_those_of_the_pages() -> None:
    assert site_pages.ROOMS == discreet._ROOMS


def test_examples_of_the_scripts() -> None:
    done = doctest.testmod(site_pages)
    assert done.attempted >= 5
    assert done.failed == 0


@pytest.mark.parametrize("name", ["SECURITY.md", "README.md", "docs/theorem.md", "docs/gallery/README.md"])
def test_links_lead_to_pages(name: str) -> None:
    """What a document links to, in docs or outside, has a page, and the link leads there."""
    borrowed = site_pages.borrowed()
    pages = {*borrowed, *(str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.*"))}
    turned = site_pages.relinked((ROOT / name).read_text(encoding="utf-8"), name)
    targets = [found["target"] for found in site_pages.LINKED.finditer(turned) if found["target"]]
    places = {target.partition("#")[0] for target in targets if ":" not in target} - {""}
    assert len(places) > 5
    here = posixpath.dirname(site_pages.page_of(name) or "")
    assert {posixpath.normpath(posixpath.join(here, place)) for place in places} - pages == set()


def test_code_has_a_page() -> None:
    page = site_pages.source_page("src/discreet/noise/laplace.py")
    assert page.count("```") >= 2
    assert 'linenums="1"' in page
    assert "source/src/discreet/noise/laplace.py.md" in site_pages.borrowed()


def test_versions_are_listed_with_the_latest_first(tmp_path: Path) -> None:
    for name in ("0.9.0", "0.10.0", "0.10.0rc1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.html").touch()
    (tmp_path / "empty").mkdir()
    site_versions.write(tmp_path, "0.10.0")
    assert site_versions.built(tmp_path) == ["0.10.0", "0.10.0rc1", "0.9.0"]
    assert '"0.9.0"]' in (tmp_path / "versions.js").read_text(encoding="utf-8")
    assert 'href="0.10.0/index.html"' in (tmp_path / "index.html").read_text(encoding="utf-8")
    assert site_versions.current() == discreet.__version__
