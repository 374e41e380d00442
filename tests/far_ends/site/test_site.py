"""Each page, opened from a disk on a phone: complete, drawn, narrow enough, and leading to what is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import opened_pages
import site_versions
from opened_pages import PHONE, opened


@pytest.fixture
def phone(chromium: Any) -> Iterator[Any]:
    """A phone without a network."""
    context = chromium.new_context(viewport=PHONE, offline=True)
    context.set_default_timeout(20_000)
    yield context
    context.close()


def test_every_page_is_sound(phone: Any, site: Path) -> None:
    paths = sorted(site.rglob("*.html"))
    assert len(paths) > 100
    assert list(opened_pages.faults(opened(phone, paths))) == []


def test_formulas_and_pictures_are_there(site: Path) -> None:
    """What the test above looks at would also be sound if there were none."""
    texts = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    assert sum("<math " in text for text in texts.values()) > 0
    assert len(list((site / "gallery").rglob("*.png"))) > 5
    assert all("<img" in texts[path] for path in (site / "gallery").glob("*.html") if path.stem != "index")


@pytest.mark.parametrize(
    ("words", "title"),
    [("staircase", "Staircase"), ("randomized response", "andomi[sz]ed"), ("BudgetExceeded", "BudgetExceeded")],
)
def test_search_finds(phone: Any, site: Path, words: str, title: str) -> None:
    page = phone.new_page()
    page.goto((site / "index.html").as_uri())
    page.click("label[for=__search].md-header__button")
    page.locator("input.md-search__input").press_sequentially(words)  # It listens to keys.
    first = page.locator(".md-search-result__item a").first
    first.wait_for()
    found = page.locator(".md-search-result__list").inner_text()
    assert re.search(title, found), found[:400]
    first.click()
    page.wait_for_url("**/*.html**")
    assert page.url.startswith(site.as_uri())


def test_versions_are_offered(phone: Any, site: Path, tmp_path: Path) -> None:
    (tmp_path / site.name).symlink_to(site)
    (tmp_path / "0.0.1").mkdir()
    (tmp_path / "0.0.1" / "index.html").write_text("<!doctype html><title>An old one</title>", encoding="utf-8")
    site_versions.write(tmp_path, site.name)
    page = phone.new_page()
    page.goto((tmp_path / site.name / "theory" / "local.html").as_uri())
    choice = page.locator("select.versions")
    assert choice.locator("option").all_inner_texts() == [site.name, "0.0.1"]
    assert choice.input_value() == site.name
    choice.select_option("0.0.1")
    page.wait_for_url("**/0.0.1/index.html")
    assert page.title() == "An old one"
    page.goto((tmp_path / "index.html").as_uri())
    page.wait_for_url(f"**/{site.name}/index.html")


def test_every_way_leads_from_the_first_page(site: Path) -> None:
    text = (site / "index.html").read_text(encoding="utf-8")
    article = text.partition("<article")[2].partition("</article>")[0]
    for reader in ("statistician", "engineer", "researcher", "data scientist"):
        assert reader in article
    theory = [path.name for path in (site / "theory").glob("*.html")]
    assert [name for name in theory if f'href="theory/{name}"' not in article] == []


SOUND = '<h1 id="a">A</h1><a href="#a">a</a> <a href="other.html#b">b</a> <code>$$x$$</code> <math><mi>x</mi></math>'


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (SOUND, None),
        ('<a href="gone.html">a</a>', "it leads to gone.html, which is not there"),
        ('<a href="#gone">a</a>', "it leads to page.html#gone, which is not there"),
        ('<a href="other.html#gone">a</a>', "it leads to other.html#gone, which is not there"),
        ('<img src="gone.png" alt="a">', "a picture is missing: gone.png"),
        ('<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">', "a picture without words"),
        ("<p>$$\\frac{1}{2}$$</p>", "it is shown as it was written"),
        ("<p>\\(x\\)</p>", "it is shown as it was written"),
        ('<span class="arithmatex">x</span>', "a formula is not drawn: x"),
        ("<p>[a](b.md)</p>", "it is shown as it was written"),
        ("<script>console.error('a')</script>", "the console says: a"),
        ("<script>gone()</script>", "a script fails"),
        ('<script src="https://gone.example/a.js"></script>', "it asks for https://gone.example/a.js"),
        ('<div style="width: 500px">a</div>', "it is 500 wide on a screen of 390"),
    ],
)
def test_a_planted_fault_is_seen(phone: Any, tmp_path: Path, body: str, fault: str | None) -> None:
    head = '<!doctype html><meta name="viewport" content="width=device-width"><body style="margin: 0">'
    pages = {tmp_path / "page.html": body, tmp_path / "other.html": '<p id="b">b</p>'}
    for path, text in pages.items():
        path.write_text(head + text, encoding="utf-8")
    found = list(opened_pages.faults(opened(phone, pages)))
    assert any(fault in one for one in found) if fault else found == []
