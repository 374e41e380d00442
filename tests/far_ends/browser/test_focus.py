"""Where the focus is after each action: on what came of it, and never nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from keyboard import FOCUS_IS_SEEN, NAME_OF_FOCUS, Keyboard, Served


@pytest.fixture
def keys(chromium: Any, served: Served) -> Iterator[Keyboard]:
    context = chromium.new_context(viewport={"width": 1280, "height": 860}, reduced_motion="reduce")
    found = Keyboard(context.new_page(), served.address)
    yield found
    context.close()
    assert found.faults == []


def focused(keys: Keyboard) -> str:
    """The name of what has the focus, which is seen."""
    for _ in range(100):
        if keys.page.evaluate("document.activeElement !== document.body"):
            break
        keys.page.wait_for_timeout(50)
    assert keys.page.evaluate(FOCUS_IS_SEEN)
    found: str = keys.page.evaluate(NAME_OF_FOCUS)
    return found


def test_who_signs_in_and_out_goes_on_at_the_heading(keys: Keyboard, served: Served) -> None:
    page = keys.page
    keys.open("/sign-in")
    keys.fill("Token", "wrong")
    page.keyboard.press("Enter")
    page.wait_for_selector("[role=alert]")
    assert focused(keys).startswith("This token does not sign anybody in.")
    keys.fill("Token", served.tokens["analyst"])
    page.keyboard.press("Enter")
    page.wait_for_url("**/datasets")
    assert focused(keys) == "Data sets"
    page.keyboard.press("Tab")
    assert focused(keys) == "people"
    keys.sign_out()
    assert focused(keys) == "Sign in"


def test_what_is_not_there_is_told_where_the_focus_is(keys: Keyboard, served: Served) -> None:
    keys.sign_in(served.tokens["analyst"])
    keys.open("/datasets/people/nothing")
    assert focused(keys) == keys.page.text_content("h1")
    keys.page.keyboard.press("Tab")
    assert focused(keys) == "To the data sets"


def test_a_link_and_a_skip_begin_where_readers_expect_it(keys: Keyboard, served: Served) -> None:
    page = keys.page
    keys.sign_in(served.tokens["analyst"])
    keys.go("people", "**/people")
    keys.go("Questions", "**/questions")
    assert page.evaluate("document.activeElement === document.body")  # a new page is read from its beginning
    page.keyboard.press("Tab")
    assert focused(keys) == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    page.keyboard.press("Tab")
    assert focused(keys) == "Ask a question"


def test_colors_are_changed_where_one_is(keys: Keyboard, served: Served) -> None:
    keys.sign_in(served.tokens["analyst"])
    keys.open("/datasets/people/budget?sent=0")
    for label in ("Dark", "Light", "System"):
        keys.press(label)
        keys.page.wait_for_selector(f"#colors:has-text('{label}')")
        assert focused(keys) == label
        assert keys.page.get_attribute("#colors", "aria-pressed") == "true"


def test_the_price_changes_and_the_focus_stays(keys: Keyboard, served: Served) -> None:
    page = keys.page
    keys.sign_in(served.tokens["analyst"])
    keys.open("/datasets/people/ask?by=form")
    page.wait_for_selector("#price [data-payable]")
    keys.to("Epsilon, as a number")
    page.keyboard.press("Control+a")
    page.keyboard.type("0.2")
    page.keyboard.press("Enter")  # asks for the price, and for nothing else
    page.wait_for_selector("#price:not(.stale) .error-card[data-epsilon='0.2']")
    assert page.url.endswith("?by=form")
    assert focused(keys) == "Epsilon, as a number"
    keys.fill("Rows in a group, about .*", "100")
    page.keyboard.press("Tab")
    assert focused(keys) == "The same in SQL"
    page.keyboard.press("Enter")
    page.wait_for_selector("#price:not(.stale)")
    page.evaluate("document.querySelector('#price summary').className = 'before'")
    page.evaluate("document.querySelector('#rows').value = '200'")
    page.evaluate("document.querySelector('#rows').dispatchEvent(new Event('input', { bubbles: true }))")
    page.wait_for_selector("#price:not(.stale) summary:not(.before)")
    assert focused(keys) == "The same in SQL"
    assert page.evaluate("document.querySelector('#price details').open")
    page.wait_for_selector("#price:not(.stale)")
    page.keyboard.press("Tab")
    assert focused(keys) == "Pay ε 0.2 and ask"


def test_what_cannot_be_paid_yet_says_so_and_keeps_the_focus(keys: Keyboard, served: Served) -> None:
    page = keys.page
    keys.sign_in(served.tokens["analyst"])
    keys.open("/datasets/people/ask")
    keys.press("Pay .*")
    page.wait_for_selector("#said:has-text('There is no price to pay yet.')", state="attached")
    assert focused(keys).startswith("Pay ")
    assert page.url.endswith("/ask")


def test_the_answer_comes_to_whoever_waits(keys: Keyboard, served: Served) -> None:
    page = keys.page
    keys.sign_in(served.tokens["analyst"])
    keys.open("/datasets/people/ask?sql=SELECT+plan,+COUNT(*)+AS+n+FROM+people+WHERE+age+%3E+40+GROUP+BY+plan")
    page.wait_for_selector("#price:not(.stale) [data-payable]")
    keys.fill("Epsilon, as a number", "0.11")
    page.wait_for_selector("#price:not(.stale) .error-card[data-epsilon='0.11']")
    keys.go("Pay ε 0.11 and ask", "**/answers/*")
    assert focused(keys) in {"On its way", "Answer"}
    page.wait_for_selector("#answer-table")
    assert focused(keys) == "Answer"
    keys.to("Confidence")
    page.keyboard.press("ArrowDown")
    keys.go("Show", "**/answers/*?confidence=*#rows")
    assert focused(keys) == "Table"


def test_a_refused_payment_is_told_where_the_focus_is(keys: Keyboard, served: Served) -> None:
    page = keys.page
    keys.sign_in(served.tokens["analyst"])
    keys.open("/datasets/people/ask?sql=SELECT+COUNT(*)+AS+n+FROM+people")
    page.wait_for_selector("#price:not(.stale) [data-payable]")
    page.evaluate("document.querySelector('#price [name=plan]').value = '0'.repeat(64)")
    keys.go("Pay .*", "**/ask")
    page.wait_for_selector("#price .notice")
    assert focused(keys).startswith("Expected")
