"""Builds the notebooks of the gallery from its pages: python scripts/gallery.py [NAME ...].

A page, docs/gallery/NAME.md, is the source: words, and ```python blocks, which run as part of the tests like those of
any other page. Here each becomes docs/gallery/NAME.ipynb, executed, with its tables and pictures. Run it after a page
has changed; a test says which notebooks are behind.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

GALLERY = Path(__file__).parents[1] / "docs" / "gallery"
FENCE = "```"
PATIENCE = 120
"""Seconds that one cell may take."""


def pages(folder: Path = GALLERY) -> list[Path]:
    """The pages that have a notebook: all but the list of them."""
    return sorted(path for path in folder.glob("*.md") if path.name != "README.md")


def cells(page: str) -> Iterator[tuple[str, str]]:
    r"""The parts of a page in their order: ("code", source) for each python block, ("markdown", text) for the rest.

    >>> list(cells("# A\n```python\n1 + 1\n```\nB"))
    [('markdown', '# A'), ('code', '1 + 1'), ('markdown', 'B')]
    """
    kind, held = "markdown", list[str]()
    for line in [*page.splitlines(), None]:
        opens = kind == "markdown" and line == f"{FENCE}python"
        closes = kind == "code" and line == FENCE
        if line is None or opens or closes:
            if text := "\n".join(held).strip("\n"):
                yield kind, text
            kind, held = ("code" if opens else "markdown"), []
        else:
            held.append(line)


def notebook(page: str) -> Any:
    """The notebook of a page, not yet executed."""
    import nbformat

    new: dict[str, Any] = {"code": nbformat.v4.new_code_cell, "markdown": nbformat.v4.new_markdown_cell}
    made = [new[kind](text, id=f"cell-{i}") for i, (kind, text) in enumerate(cells(page))]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return nbformat.v4.new_notebook(  # type: ignore[no-untyped-call]  # it ships no types
        cells=made, metadata={"kernelspec": kernel, "language_info": {"name": "python"}}
    )


def executed(made: Any) -> Any:
    """The notebook with what its cells show, run from the top in an empty folder; a cell that raises ends it."""
    from nbclient import NotebookClient

    with TemporaryDirectory() as folder:
        client = NotebookClient(
            made,
            timeout=PATIENCE,
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
            record_timing=False,
            coalesce_streams=True,  # a slow machine sends what one cell prints in several pieces
        )
        # Pictures are shown below cells, whatever the shell says.
        client.execute(env={name: value for name, value in os.environ.items() if name != "MPLBACKEND"})
    made.metadata.pop("language_info", None)  # it names the Python that happened to run it
    return made


def complaints(made: Any) -> Iterator[str]:
    """What should not be shown to readers: what a cell wrote to standard error."""
    for cell in made.cells:
        for output in cell.get("outputs", ()):
            if output.get("name") == "stderr":
                yield output["text"]


def main() -> int:
    """Builds the named notebooks, or all of them."""
    import nbformat

    parser = argparse.ArgumentParser(description="Execute the pages of the gallery as notebooks.")
    parser.add_argument("names", nargs="*", help="pages to build; all of them where none is named")
    names = parser.parse_args().names
    for path in pages():
        if names and path.stem not in names:
            continue
        made = executed(notebook(path.read_text(encoding="utf-8")))
        for text in complaints(made):
            print(f"{path.name}: {text}", file=sys.stderr)
            return 1
        target = path.with_suffix(".ipynb")
        nbformat.write(made, target)  # type: ignore[no-untyped-call]  # it ships no types
        print(target.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
