"""Answers in real notebooks: each shown once, as a table that is sorted by a click and has no color of its own."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

import gallery
from discreet.answers.notebook_table import ShownCell, html_table, sort_number

PAGE = """
```python
import discreet as dp
from discreet.testing import people
people = people()
question = people.group_by("plan").agg(n=lambda t: t.count(), age=lambda t: t.age.mean())
answer = question.release(epsilon=1)
```
```python
str(answer)
```
```python
answer
```
```python
print(answer)
```
```python
question.explain(epsilon=1)
```
```python
str(question.explain(epsilon=1))
```
```python
answer.receipt
```
```python
people.group_by("plan", cube=True).agg(n=lambda t: t.count()).release(epsilon=1)
```
```python
answer.plot()
```
```python
figure = answer.plot("n")
import matplotlib.pyplot as plt
plt.show()
```
```python
answer.plot("n", path="n.png")
plt.show()
```
```python
import matplotlib.pyplot as plt
answer.plot("n")
```
```python
answer.plot("n")
plt.show()
```
```python
figure, ax = plt.subplots()
answer.plot("n", ax=ax)
plt.show()
```
"""
CODE = [source for kind, source in gallery.cells(PAGE) if kind == "code"]


@pytest.fixture(scope="module")
def cells() -> dict[str, list[Any]]:
    """What each cell shows, by its source."""
    made = gallery.executed(gallery.notebook(PAGE))
    return {cell.source: cell.outputs for cell in made.cells if cell.cell_type == "code"}


def only(outputs: list[Any]) -> Any:
    [output] = outputs
    return output


@pytest.mark.long
def test_every_cell_shows_its_value_once(cells: dict[str, list[Any]]) -> None:
    assert [len(cells[source]) for source in CODE] == [0] + [1] * (len(CODE) - 1)
    assert [list(gallery.complaints(gallery.notebook(PAGE)))] == [[]]


@pytest.mark.long
def test_text_is_text(cells: dict[str, list[Any]]) -> None:
    for source in ("str(answer)", "str(question.explain(epsilon=1))"):
        assert "│" in only(cells[source]).data["text/plain"]
    assert "95% intervals" in only(cells["print(answer)"]).text


@pytest.mark.long
def test_answers_are_tables(cells: dict[str, list[Any]]) -> None:
    for source in ("answer", "answer.receipt", CODE[7]):
        shown = only(cells[source])
        assert shown.output_type == "execute_result"
        assert "<table" in shown.data["text/html"]
    assert "<pre" in only(cells["question.explain(epsilon=1)"]).data["text/html"]


def test_pictures_are_shown_once_with_and_without_pyplot(cells: dict[str, list[Any]]) -> None:
    for source in CODE[8:]:
        assert "image/png" in only(cells[source]).data


CELLS = [
    [ShownCell("north"), ShownCell("12", 12.0, "[10, 14]", (10.0, 14.0))],
    [ShownCell("<b>"), ShownCell("—", math.nan, "[0, 20]", (0.0, 20.0))],
]


def test_a_header_is_a_button_that_sorts() -> None:
    shown = html_table(["ward", "n"], CELLS, "epsilon 1")
    assert shown.count("<button") == shown.count("onclick=") == shown.count('aria-sort="none"') == 2
    assert [*re.findall(r'data-value="([^"]*)"', shown)] == ["12.0", ""]
    assert "<script" not in shown
    assert "&lt;b&gt;" in shown


def test_intervals_are_drawn_to_one_scale() -> None:
    shown = html_table(["ward", "n"], CELLS, "epsilon 1")
    assert re.findall(r'x1="([\d.]+)" x2="([\d.]+)"', shown) == [("36.0", "49.2"), ("3.0", "69.0")]
    assert re.findall(r'cx="([\d.]+)"', shown) == ["42.6"]
    level = [[ShownCell("3", 3.0, "[3, 3]", (3.0, 3.0))]]
    assert "<svg" not in html_table(["n"], level, "")
    assert "<svg" not in html_table(["n"], [[ShownCell("3", 3.0, "[-inf, inf]", (-math.inf, math.inf))]], "")


def test_no_color_but_that_of_the_page() -> None:
    """So it is read in dark, too: gray lines half transparent, everything else as the text around it."""
    shown = html_table(["ward", "n"], CELLS, "epsilon 1")
    colors = set(re.findall(r'(?:color|background|stroke|fill)[:=]"?([^;"]+)', shown))
    assert colors == {"inherit", "transparent", "currentColor"}
    assert "#" not in shown.replace("&#x27;", "")


@pytest.mark.parametrize(("value", "number"), [(True, 1.0), ("a", None), (2.5, 2.5)])
def test_what_is_sorted_by_number(value: object, number: float | None) -> None:
    assert sort_number(value) == number
