"""The notebooks of the gallery are those of its pages: same cells, all executed, with pictures, without a fault.

That the code runs is tested with the pages (test_docs.py).
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
    if not any("image/png" in output.get("data", {}) for output in outputs):
        yield "it has no picture"


def shown_twice(outputs: list[dict[str, Any]]) -> bool:
    """Whether a cell displays something beside its value, or displays one thing again."""
    kinds = [output["output_type"] for output in outputs if output["output_type"] not in ("stream", "error")]
    return len(kinds) > 1


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


PICTURE = {"output_type": "execute_result", "data": {"image/png": ""}}
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
        ([words("# A"), cell("1 + 1", PICTURE, {"output_type": "error"}), LAST], "failed or complained"),
        (
            [words("# A"), cell("1 + 1", PICTURE, {"output_type": "stream", "name": "stderr"}), LAST],
            "failed or complained",
        ),
        ([words("# A"), cell("1 + 1", {"output_type": "display_data"}, PICTURE), LAST], "shows its value twice"),
    ],
)
def test_faults_are_seen(cells: list[Any], why: str) -> None:
    (found,) = faults(PAGE, {"cells": cells})
    assert why in found
