"""What the site has beside docs: pages of the project, of the source, of the notebooks and of the public names.

The documents are written for a forge: they link to files of the whole repository, and every link works there. On the
site each of these files has a page too, and this module says which, and turns each link to lead there.
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from discreet.cli.document_pages import without_comments

ROOT = Path(__file__).parents[1]
DOCS = "docs/"
FENCE = "```"
RESULTS = "benchmarks/results/"
ROOMS = ("audit", "series", "theory", "workloads")
"""Rooms that are read as `dp.audit`, as the package root offers them."""

LINKED = re.compile(
    r"(?P<fence>^(?P<indent> *)(?P<marks>```+)[^\n]*\n.*?^ *(?P=marks)`*$)"
    r"|(?P<code>(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))"
    r"|(?P<text>\[(?:[^\]`]|`[^`]*`)*\]\()(?P<target>[^)\s]+)(?=[^)]*\))"
    r"|(?P<name>^\[[^\]]+\]:\s*)(?P<named>\S+)",
    re.MULTILINE | re.DOTALL,
)


class Area(NamedTuple):
    """A room with public names: what it is for, and its names as users write them, with where each lives."""

    room: str
    purpose: str
    names: dict[str, str]


def page_of(path: str) -> str | None:
    """The page of the site that shows a file of the repository; None for pictures and data, which lie in docs.

    >>> page_of("docs/sql.md"), page_of("README.md"), page_of("benchmarks/results/2026-11-20.md")
    ('sql.md', 'project/readme.md', 'project/results/2026-11-20.md')
    >>> page_of("src/discreet/noise/laplace.py"), page_of("docs/gallery/logs.ipynb"), page_of("docs/service/ask.png")
    ('source/src/discreet/noise/laplace.py.md', 'gallery/logs.md', None)
    """
    if path.startswith(DOCS):
        inside = path.removeprefix(DOCS)
        return re.sub(r"\.ipynb$", ".md", inside) if inside.endswith((".md", ".ipynb")) else None
    if path.startswith(RESULTS) and path.endswith(".md"):
        return f"project/results/{path.removeprefix(RESULTS)}"
    if "/" not in path and path.endswith(".md"):
        return f"project/{path.lower()}"
    return f"source/{path}.md"


def relinked(text: str, path: str) -> str:
    r"""The text of the file at `path`, its links leading from its page to the pages of the site.

    >>> relinked("[a](../src/discreet/b.py) [c](sql.md#d) `[e](../f)` [g](https://h.example)", "docs/theorem.md")
    '[a](source/src/discreet/b.py.md) [c](sql.md#d) `[e](../f)` [g](https://h.example)'
    """
    here = posixpath.dirname(page_of(path) or path)

    def turned(found: re.Match[str]) -> str:
        opening = found["text"] or found["name"]
        target = found["target"] or found["named"]
        if opening is None or target.startswith("#") or re.match(r"[a-z]+:", target):
            return found[0]
        place, mark, anchor = target.partition("#")
        goal = posixpath.normpath(posixpath.join(posixpath.dirname(path), place))
        page = page_of(goal) or goal.removeprefix(DOCS)
        return f"{opening}{posixpath.relpath(page, here or '.')}{mark}{anchor}"

    return LINKED.sub(turned, text)


def shown(text: str) -> str:
    r"""The text as readers see it: without comments, and with Markdown read inside of what can be folded.

    >>> shown("a\n<!-- for the tests:\n```python\nx = 1\n```\n-->\nb\n```html\n<!-- kept -->\n```\n")
    'a\nb\n```html\n<!-- kept -->\n```\n'
    """
    return re.sub(r"^<details>$", '<details markdown="1">', without_comments(text), flags=re.MULTILINE)


def fenced(text: str) -> str:
    r"""The text with a fence around each example, from its first prompt to the next empty line.

    >>> fenced("Adds.\n\n    >>> 1 + 1\n    2\n\nB").splitlines()
    ['Adds.', '', '    ```pycon', '    >>> 1 + 1', '    2', '    ```', '', 'B']
    """
    lines: list[str] = []
    margin: str | None = None
    for line in [*text.split("\n"), ""]:
        if margin is None and line.lstrip().startswith(">>>"):
            margin = line[: len(line) - len(line.lstrip())]
            lines.append(f"{margin}{FENCE}pycon")
        elif margin is not None and not line.strip():
            lines.append(f"{margin}{FENCE}")
            margin = None
        lines.append(line)
    return "\n".join(lines[:-1])


def links_out(text: str, path: str) -> Iterator[str]:
    """The files of the repository, outside of docs, to which the text of the file at `path` links."""
    for found in LINKED.finditer(text):
        target = found["target"] or found["named"]
        if target and not re.match(r"[a-z]+:|#", target):
            goal = posixpath.normpath(posixpath.join(posixpath.dirname(path), target.partition("#")[0]))
            if not goal.startswith(DOCS):
                yield goal


def borrowed(root: Path = ROOT) -> dict[str, str]:
    """Files outside of docs that the site shows, by page: those of the project, and whatever they and docs link to."""
    waiting = [*root.glob("docs/**/*.md"), *root.glob("*.md"), *root.glob(f"{RESULTS}*.md")]
    seen = {str(path.relative_to(root)) for path in waiting}
    found: dict[str, str] = {}
    while waiting:
        path = waiting.pop()
        name = str(path.relative_to(root))
        if not name.startswith(DOCS):
            found[page_of(name) or name] = name
        if path.suffix != ".md":
            continue
        for goal in links_out(path.read_text(encoding="utf-8"), name):
            if goal not in seen and (root / goal).is_file():
                seen.add(goal)
                waiting.append(root / goal)
    return dict(sorted(found.items()))


def source_page(path: str, root: Path = ROOT) -> str:
    """A file of code as a page, with its lines numbered; it is kept out of the search."""
    language = {".py": "python", ".toml": "toml", ".json": "json"}.get(Path(path).suffix, "text")
    code = (root / path).read_text(encoding="utf-8").rstrip()
    fence = "`" * max(3, 1 + max(map(len, re.findall(r"`+", code)), default=0))
    marks = f'{fence}{language} linenums="1"'
    return f"---\nsearch:\n  exclude: true\nhide: [toc]\n---\n\n# {path}\n\n{marks}\n{code}\n{fence}\n"


def areas(root: Path = ROOT) -> list[Area]:
    """The public names by the room in which they live, both in the order of their names; nothing is imported."""
    names: dict[str, dict[str, str]] = {}
    for name, home in _homes(root / "src/discreet/__init__.py").items():
        names.setdefault(home.split(".")[1], {})[f"dp.{name}"] = f"{home}.{name}"
    for init in sorted((root / "src/discreet").glob("*/__init__.py")):
        room = init.parent.name
        prefix = f"dp.{room}" if room in ROOMS else f"discreet.{room}"
        for name, home in _homes(init).items():
            names.setdefault(room, {})[f"{prefix}.{name}"] = f"{home}.{name}"
    return [Area(room, purpose(room, root), names[room]) for room in sorted(names)]


def _homes(init: Path) -> dict[str, str]:
    """Where each public name of a package lives, as its `__init__` says."""
    for node in ast.parse(init.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_NAMES":
            return {name: module for module, names in ast.literal_eval(node.value).items() for name in names}
    return {}


def purpose(room: str, root: Path = ROOT) -> str:
    """The sentence with which a room begins."""
    path = root / "src" / "discreet" / room
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n\n")[0].replace("\n", " ")


def results(pages: dict[str, str], root: Path = ROOT) -> dict[str, str]:
    """The titles of the pages of measurements, the latest first."""
    found = sorted((one for one in pages if one.startswith("project/results/")), reverse=True)
    texts = {page: (root / pages[page]).read_text(encoding="utf-8") for page in found}
    return {page: text.partition("\n")[0].removeprefix("# ") for page, text in texts.items()}


def results_list(pages: dict[str, str], root: Path = ROOT) -> str:
    """The page that leads to those of the measurements."""
    lines = ["# Measurements", "", "Each page names the machine, the date and the command.", ""]
    lines += [f"- [{title}]({posixpath.basename(page)})" for page, title in results(pages, root).items()]
    return "\n".join([*lines, ""])


def reference_pages(root: Path = ROOT) -> dict[str, str]:
    """The pages of the public names: one for each area, and the list that leads to them."""
    found = areas(root)
    pages = {f"api/{area.room}.md": _area_page(area) for area in found}
    rows = [
        f"| [{area.room}]({area.room}.md) | {area.purpose} | "
        + ", ".join(f"[`{name}`]({area.room}.md#{home})" for name, home in area.names.items())
        + " |"
        for area in found
    ]
    words = "Every public name, from its docstring. [The reference](../reference.md) has them in the order of use."
    head = ["# Names", "", words, "", "| room | what it is for | names |", "|---|---|---|"]
    return {"api/index.md": "\n".join([*head, *rows, ""]), **pages}


def _area_page(area: Area) -> str:
    """The page of an area: each of its names, from its docstring."""
    parts = [f"# {area.room.capitalize()}", area.purpose]
    for name, home in area.names.items():
        label = name.rpartition(".")[2]
        parts.append(f'::: {home}\n    options:\n      heading: "{name}"\n      toc_label: "{label}"')
    return "\n\n".join(parts) + "\n"
