"""What `make docs` adds to MkDocs: the pages of scripts/site_pages.py, executed notebooks, and formulas as MathML.

Formulas are written as on a forge, between dollars or in a fence of `math`. They become MathML when the site is built,
which browsers draw by themselves: no script, no font and no network.
"""

from __future__ import annotations

import html
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import site_pages
import site_versions

FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\s*(?:\\\(|\\\[)\s*(?P<latex>.*?)\s*(?:\\\)|\\\])\s*</(?P=tag)>', re.DOTALL
)
STYLE = re.compile(r"<style scoped>.*?</style>\s*", re.DOTALL)
FRAME = re.compile(r'<table border="1" class="dataframe">')
PICTURE = re.compile(r"!\[\w+\]\(")

MADE = {
    "api/index.md": lambda: [{area.room.capitalize(): f"api/{area.room}.md"} for area in site_pages.areas()],
    "project/results/index.md": lambda: [
        {title: page} for page, title in site_pages.results(site_pages.borrowed()).items()
    ],
}
"""Lists in the navigation, and the pages under each."""

borrowed: dict[str, str] = {}
"""Where in the repository the text of a page is from, for those that are not from docs."""


def on_config(config: Any) -> Any:
    """Says on every page which version it is of, and lists in the navigation what is made here."""
    config.extra["release"] = site_versions.current()
    config.copyright = f"discreet {site_versions.current()} · Apache 2.0"
    for section in config.nav:
        for entries in section.values():
            for title, page in [pair for entry in entries if isinstance(entry, dict) for pair in entry.items()]:
                if isinstance(page, str) and page in MADE:
                    entries[entries.index({title: page})] = {title: [page, *MADE[page]()]}
    return config


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages that docs itself does not have."""
    from mkdocs.structure.files import File  # type: ignore[import-not-found] # it is in .venv-docs

    def add(page: str, content: str | bytes) -> None:
        if old := files.get_file_from_path(page):
            files.remove(old)
        files.append(File.generated(config, page, content=content))

    borrowed.update(site_pages.borrowed())
    for page, path in borrowed.items():
        is_source = page.startswith("source/")
        add(page, site_pages.source_page(path) if is_source else (site_pages.ROOT / path).read_text(encoding="utf-8"))
    add("project/results/index.md", site_pages.results_list(borrowed))
    for page, text in site_pages.reference_pages().items():
        add(page, text)
    for source in sorted((site_pages.ROOT / "docs/gallery").glob("*.ipynb")):
        text, pictures = notebook(source)
        add(f"gallery/{source.stem}.md", text)
        for name, picture in pictures.items():
            add(f"gallery/{name}", picture)
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Turns the links of a document to the pages of the site."""
    del config, files
    name = page.file.src_uri
    if name == "index.md":
        page.meta["hide"] = ["toc"]  # The first screen shows code, whose lines want the width.
    if name.startswith(("source/", "api/", "project/results/index")):
        return markdown
    return site_pages.relinked(site_pages.shown(markdown), borrowed.get(name, f"docs/{name}"))


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Draws the formulas; one that cannot be read ends the build."""
    del page, config, files
    return FORMULA.sub(_drawn, html)


def on_post_build(config: Any) -> None:
    """Leaves out what only a host at the root of its domain could use."""
    for name in ("404.html", "sitemap.xml", "sitemap.xml.gz"):
        (Path(config.site_dir) / name).unlink(missing_ok=True)


def _drawn(found: re.Match[str]) -> str:
    from latex2mathml.converter import convert  # type: ignore[import-not-found] # it is in .venv-docs

    tag = found["tag"]
    drawn = convert(html.unescape(found["latex"]), display="block" if tag == "div" else "inline")
    return f'<{tag} class="formula">{drawn}</{tag}>'


def notebook(path: Path) -> tuple[str, dict[str, bytes]]:
    """An executed notebook as Markdown, and its pictures by name; nothing is executed here."""
    import nbformat
    from nbconvert import MarkdownExporter  # type: ignore[import-not-found] # as above

    made: Any = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call] # it ships no types
    made.metadata["language_info"] = {"name": "python"}
    text, resources = MarkdownExporter().from_notebook_node(
        made, resources={"unique_key": path.stem, "output_files_dir": path.stem}
    )
    pictures = {name.replace("\\", "/"): picture for name, picture in resources["outputs"].items()}
    return PICTURE.sub("![What the cell above draws](", FRAME.sub("<table>", STYLE.sub("", text))), pictures
