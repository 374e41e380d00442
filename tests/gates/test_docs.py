"""Every example runs, in the README, in docs and in docstrings; every relative link leads somewhere.

On a page, the blocks run in their order, in one namespace and one empty folder:

- ```python runs, and what it prints is not looked at, so noisy answers may be printed there;
- ```pycon runs as a doctest: what it prints must match, "..." standing for anything (so no noise there);
- ```console: each line "$ discreet ..." runs as a command, and must succeed.

Blocks in any other language, or in none, are for reading.
"""

from __future__ import annotations

import doctest
import importlib
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "discreet"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PATIENCE = 120
"""Seconds that one command on a page may take."""

WITH_CODE = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
WITH_LINKS = sorted(
    {*WITH_CODE, *ROOT.glob("*.md"), *(ROOT / "src").rglob("*.md"), *(ROOT / "benchmarks").rglob("*.md")}
)
MODULES = sorted(
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
    if path.name != "__main__.py"
)

FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[^\s`]*)[^\n]*\n(?P<body>.*?)^ *```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\((?P<inline>[^)\s]+)[^)]*\)|^\[[^\]]+\]:\s*(?P<named>\S+)", re.MULTILINE)


class Block(NamedTuple):
    """A fenced block of a page, and the line on which its body begins."""

    language: str
    body: str
    line: int


def blocks(page: str) -> Iterator[Block]:
    for fence in FENCE.finditer(page):
        line = page.count("\n", 0, fence.start("body")) + 1
        yield Block(fence["language"], textwrap.dedent(fence["body"]), line)


def run_python(block: Block, page: str, names: dict[str, Any]) -> None:
    """Runs a block; a traceback shows the page's own lines."""
    source = "\n" * (block.line - 1) + block.body
    exec(compile(source, page, "exec", dont_inherit=True), names)  # noqa: S102 - our own pages


def run_pycon(block: Block, page: str, names: dict[str, Any]) -> None:
    examples = doctest.DocTestParser().get_doctest(block.body, names, page, page, block.line - 1)
    check_examples(examples, names)


def check_examples(examples: doctest.DocTest, names: dict[str, Any]) -> None:
    """Runs a doctest and leaves what it defined in `names`."""
    told: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=FLAGS)
    failed = runner.run(examples, out=told.append, clear_globs=False).failed
    names.update(examples.globs)
    assert not failed, "".join(told)


def commands(block: Block) -> Iterator[list[str]]:
    """The discreet commands of a block, their continued lines joined."""
    for line in block.body.replace("\\\n", " ").splitlines():
        if line.startswith("$ discreet"):
            yield shlex.split(line.removeprefix("$ "))


def run_console(block: Block, page: str) -> None:
    for words in commands(block):
        program = Path(sys.executable).with_name(words[0])
        done = subprocess.run(
            [program, *words[1:]],
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, f"{page}:{block.line}: {shlex.join(words)}\n{done.stdout}{done.stderr}"


def run_page(page: str, name: str) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page):
        match block.language:
            case "python":
                run_python(block, name, names)
            case "pycon":
                run_pycon(block, name, names)
            case "console":
                run_console(block, name)


def anchors(page: str) -> set[str]:
    """The anchors that a forge gives to the headings."""
    headings = re.findall(r"^#+\s+(.+?)\s*#*$", FENCE.sub("", page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(path: Path) -> Iterator[str]:
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    for link in LINK.finditer(re.sub(r"`[^`\n]*`", "", text)):
        target = link["inline"] or link["named"]
        if re.match(r"[a-z]+:", target):
            continue
        place, _, anchor = target.partition("#")
        goal = path.parent / place if place else path
        if not goal.exists() or (anchor and anchor not in anchors(goal.read_text(encoding="utf-8"))):
            yield target


@pytest.fixture(autouse=True)
def _desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder, and pictures without a window."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")


def test_the_tests_that_stand_for_security_are_there() -> None:
    """Each file or folder of tests that SECURITY.md names."""
    named = re.findall(r"`([\w./]+/[\w./]+)`", (ROOT / "SECURITY.md").read_text(encoding="utf-8"))
    assert len(named) > 20
    assert [name for name in named if not (ROOT / "tests" / name).exists()] == []


@pytest.mark.long
@pytest.mark.parametrize("path", WITH_CODE, ids=lambda path: str(path.relative_to(ROOT)))
def test_page_runs(path: Path) -> None:
    run_page(path.read_text(encoding="utf-8"), str(path))


@pytest.mark.long
@pytest.mark.parametrize("name", MODULES)
def test_docstrings_run(name: str) -> None:
    module = importlib.import_module(name)
    for examples in doctest.DocTestFinder(exclude_empty=True).find(module, name):
        check_examples(examples, {})


@pytest.mark.parametrize("path", WITH_LINKS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_resolve(path: Path) -> None:
    assert list(broken_links(path)) == []


@pytest.mark.parametrize(
    "page",
    [
        "```python\n1 / 0\n```",
        "```pycon\n>>> 1 + 1\n3\n```",
        "```python\nx = 1\n```\n```pycon\n>>> y\n1\n```",
        "1. A step\n   ```python\n   assert False\n   ```",
        "```console\n$ discreet no-such-command\n```",
        "```python\nimport warnings\nwarnings.warn('old', DeprecationWarning)\n```",
    ],
)
def test_broken_example_is_seen(page: str) -> None:
    with pytest.raises((AssertionError, ArithmeticError, Warning)):
        run_page(page, "page.md")


def test_sound_page_runs() -> None:
    run_page(
        "```python\nx = 1\n```\ntext\n```pycon\n>>> [x, 2.345]\n[1, ...]\n```\n```text\n1 / 0\n```\n```\n1 / 0\n```",
        "page.md",
    )


def test_commands_are_read() -> None:
    (block,) = blocks('```console\n$ discreet query a.csv \\\n    "SELECT 1"\nplan  visits\n$ ls\n```')
    assert list(commands(block)) == [["discreet", "query", "a.csv", "SELECT 1"]]


def test_broken_link_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A `b` c!\n[1](page.md) [2](#a-b-c) [3](none.md) [4](page.md#d)\n[5]: gone.md\n`[6](no.md)` [7](https://x.y/z)\n"
    )
    assert list(broken_links(page)) == ["none.md", "page.md#d", "gone.md"]
