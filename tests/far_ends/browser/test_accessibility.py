"""axe finds nothing serious on any page, in light and dark, wide and on a phone."""

from __future__ import annotations

from typing import Any

import pytest

from keyboard import Keyboard, Served

PAGES = {
    "analyst": ("", "/ask", "/ask?by=form", "/questions", "/budget", "/nothing"),
    "curator": ("", "/ask", "/questions", "/budget", "/people", "/requests", "/spending", "/refusals"),
    "auditor": ("", "/questions", "/budget", "/log", "/refusals"),
}


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")])
def test_axe_finds_nothing_serious(chromium: Any, served: Served, width: int, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-not-found] # it is in .venv-serve

    # Colors that are still fading are none that anybody reads.
    screen = {"viewport": {"width": width, "height": 860}, "color_scheme": scheme, "reduced_motion": "reduce"}
    context = chromium.new_context(**screen)
    keys = Keyboard(context.new_page(), served.address)
    found: dict[str, list[str]] = {}

    def look(where: str) -> None:
        assert keys.fits(), where
        for one in Axe().run(keys.page).response["violations"]:
            if one["impact"] in {"serious", "critical"}:
                nodes = [node["html"][:120] for node in one["nodes"]]
                found[f"{where}: {one['id']}"] = nodes

    for place in ("/api", "/sign-in"):
        keys.open(place)
        look(place)
    for role, pages in PAGES.items():
        keys.sign_in(served.tokens[role])
        look(f"{role} /datasets")
        for place in pages:
            keys.open(f"/datasets/people{place}")
            look(f"{role} {place}")
        if role == "analyst":
            answered(keys)
            look("answer")
        keys.sign_out()
    context.close()
    assert found == {}


def answered(keys: Keyboard) -> None:
    """Looks at the price, and goes on to an answer."""
    keys.open("/datasets/people/ask?sql=SELECT+plan,+COUNT(*)+AS+n+FROM+people+GROUP+BY+plan")
    keys.page.wait_for_selector("#price [data-payable]")
    keys.page.wait_for_selector("svg .whisker")
    keys.go("Pay .*", "**/answers/*")
    keys.page.wait_for_selector("#answer-table")
