"""The notebooks of the gallery are those of its pages: same cells, all executed, with pictures, without a fault.

That the code runs is tested with the pages (test_docs.py); that it shows in a notebook what the kept one shows, here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

import gallery

PAGES = {path.stem: path for path in gallery.pages()}


def faults(page: str, made: dict[str, Any]) -> Iterator[str]:
    """What is wrong with the notebook of a page."""
    shown = [(cell["cell_type"], "".join(cell["source"])) for cell in made["cells"]]
    if shown != list(gallery.cells(page)):
        yield "its cells are not those of the page"
    code = [cell for cell in made["cells"] if cell["cell_type"] == "code"]
    outputs = [output for cell in code for output in cell["outputs"]]
    if any(cell["execution_count"] is None for cell in code):
        yield "a cell was not executed"
    if any(output["output_type"] == "error" or output.get("name") == "stderr" for output in outputs):
        yield "a cell failed or complained"
    if any(shown_twice(cell["outputs"]) for cell in code):
        yield "a cell shows its value twice"
    if any(is_empty(output) for output in outputs) or not all(cell["outputs"] for cell in code[1:]):
        yield "a cell after the first shows nothing"
    pictures = ["".join(output["data"]["image/png"]) for output in outputs if "image/png" in output.get("data", {})]
    if not pictures:
        yield "it has no picture"
    if len(set(pictures)) < len(pictures):
        yield "a picture is in it twice"


def shown_twice(outputs: list[dict[str, Any]]) -> bool:
    """Whether a cell displays something beside its value, or displays one thing again."""
    kinds = [output["output_type"] for output in outputs if output["output_type"] not in ("stream", "error")]
    return len(kinds) > 1


def is_empty(output: dict[str, Any]) -> bool:
    """Whether an output has no text, and no data or empty ones."""
    parts = [output.get("text", ""), output.get("ename", ""), *output.get("data", {}).values()]
    return not any("".join(part).strip() for part in parts)


def forms(made: dict[str, Any]) -> list[list[tuple[str, str | None, list[str]]]]:
    """What kinds of things each cell shows."""
    return [
        [(one["output_type"], one.get("name"), sorted(one.get("data", ()))) for one in cell["outputs"]]
        for cell in made["cells"]
        if cell["cell_type"] == "code"
    ]


@pytest.mark.long
@pytest.mark.parametrize("name", PAGES)
def test_notebook_shows_what_the_kept_one_does(name: str) -> None:
    """Run from the top, in an empty folder."""
    page = PAGES[name].read_text(encoding="utf-8")
    made = gallery.executed(gallery.notebook(page))
    assert list(faults(page, made)) == []
    assert forms(made) == forms(json.loads(PAGES[name].with_suffix(".ipynb").read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", PAGES)
def test_notebook_is_that_of_its_page(name: str) -> None:
    made = PAGES[name].with_suffix(".ipynb")
    assert made.exists(), f"Expected {made.name}: run python scripts/gallery.py {name}"
    page = PAGES[name].read_text(encoding="utf-8")
    assert list(faults(page, json.loads(made.read_text(encoding="utf-8")))) == [], f"python scripts/gallery.py {name}"


def test_the_list_names_every_page() -> None:
    text = (gallery.GALLERY / "README.md").read_text(encoding="utf-8")
    assert [name for name in PAGES if f"({name}.ipynb)" not in text] == []


def test_no_notebook_without_a_page() -> None:
    assert {path.stem for path in gallery.GALLERY.glob("*.ipynb")} == set(PAGES)


PAGE = "# A\n\n```python\n1 + 1\n```\n\nB\n\n```console\n$ ls\n```"


def cell(source: str, *outputs: dict[str, Any]) -> dict[str, Any]:
    return {"cell_type": "code", "source": [source], "outputs": list(outputs), "execution_count": 1}


def words(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "source": [source]}


PICTURE = {"output_type": "execute_result", "data": {"image/png": "iVBORw0KGgo="}}
WARNED = {"output_type": "stream", "name": "stderr", "text": ["UserWarning"]}
LAST = words("B\n\n```console\n$ ls\n```")


def test_page_is_read() -> None:
    assert list(gallery.cells(PAGE)) == [("markdown", "# A"), ("code", "1 + 1"), ("markdown", LAST["source"][0])]
    assert list(faults(PAGE, {"cells": [words("# A"), cell("1 + 1", PICTURE), LAST]})) == []


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        ([words("# A"), cell("1 + 2", PICTURE), LAST], "not those of the page"),
        ([words("# A"), cell("1 + 1"), LAST], "no picture"),
        ([words("# A"), cell("1 + 1", PICTURE) | {"execution_count": None}, LAST], "not executed"),
        (
            [words("# A"), cell("1 + 1", PICTURE, {"output_type": "error", "ename": "KeyError"}), LAST],
            "failed or complained",
        ),
        ([words("# A"), cell("1 + 1", PICTURE, WARNED), LAST], "failed or complained"),
        (
            [words("# A"), cell("1 + 1", {"output_type": "display_data", "data": {"text/plain": "2"}}, PICTURE), LAST],
            "shows its value twice",
        ),
        ([words("# A"), cell("1 + 1", PICTURE, {"output_type": "stream", "text": [" \n"]}), LAST], "shows nothing"),
    ],
)
def test_faults_are_seen(cells: list[Any], why: str) -> None:
    (found,) = faults(PAGE, {"cells": cells})
    assert why in found


def test_a_picture_in_two_cells_is_seen() -> None:
    page = "```python\n1\n```\n```python\n2\n```"
    made = {"cells": [cell("1", PICTURE), cell("2", PICTURE)]}
    assert list(faults(page, made)) == ["a picture is in it twice"]
    assert list(faults(page, {"cells": [cell("1", PICTURE), cell("2")]})) == ["a cell after the first shows nothing"]


def test_what_a_cell_prints_in_pieces_is_one_text() -> None:
    """On a slow machine the pieces arrive one by one, and how many is chance."""
    page = '```python\nimport time\nprint("a", flush=True)\ntime.sleep(0.7)\nprint("b", flush=True)\n```'
    (made,) = gallery.executed(gallery.notebook(page)).cells
    assert [output["text"] for output in made.outputs] == ["a\nb\n"]
