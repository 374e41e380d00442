"""The table of an answer, as a notebook has it: sorted by a click or a key, and read in the light and in the dark."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.testing import people

PAGE = "<!doctype html><html lang=en><title>t</title><body style='background:{};color:{}'><main>{}</main></body>"
SCHEMES = {"light": ("#fff", "#111"), "dark": ("#111", "#ddd")}


def keys(page: Any) -> list[str]:
    found: list[str] = page.eval_on_selector_all("tbody tr td:first-child", "cells => cells.map(c => c.textContent)")
    return found


def test_a_click_sorts_by_value_and_a_key_too(chromium: Any) -> None:
    answer = people().group_by("plan").agg(n=lambda t: t.count()).release(epsilon=1)
    page = chromium.new_page()
    page.set_content(PAGE.format(*SCHEMES["light"], answer._repr_html_()))
    stated, values = keys(page), dict(zip(["free", "25%", "50%"], answer["n"], strict=True))
    assert stated == ["free", "25%", "50%"]
    page.get_by_role("button", name="n", exact=True).click()
    assert keys(page) == sorted(stated, key=lambda key: values[key])
    page.get_by_role("button", name="n", exact=True).focus()
    page.keyboard.press("Enter")
    assert keys(page) == sorted(stated, key=lambda key: -values[key])
    assert page.locator("th[aria-sort=descending]").count() == 1
    page.get_by_role("button", name="plan", exact=True).click()
    assert keys(page) == sorted(stated)
    page.close()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_axe_finds_nothing_serious_in_an_answer(chromium: Any, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-not-found] # it is in .venv-serve

    answer = people().group_by("plan").agg(n=lambda t: t.count(), age=lambda t: t.age.mean()).release(epsilon=1)
    page = chromium.new_page()
    page.set_content(PAGE.format(*SCHEMES[scheme], answer._repr_html_()))
    serious = [one for one in Axe().run(page).response["violations"] if one["impact"] in {"serious", "critical"}]
    page.close()
    assert serious == []
