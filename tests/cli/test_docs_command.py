"""`discreet docs`: every page by its topic, the nearest for a mistyped one, and the pages that messages cite."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import Result

from discreet.cli.docs_command import markdown_text
from discreet.cli.document_pages import found, page, title, topics
from discreet.errors import InvalidParameter

Run = Callable[..., Result]
ROOT = Path(__file__).parents[2]
CITED = re.compile(r"discreet docs ([a-z/-]+[a-z])")


def texts(path: Path) -> Iterator[str]:
    """The texts of a module that may reach a user: all but docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare:
            yield node.value


def test_every_document_is_a_topic(run: Run) -> None:
    pages = {path.relative_to(ROOT / "docs").with_suffix("").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert set(topics()) == {name.removesuffix("/README") for name in pages}
    done = run("docs")
    assert done.exit_code == 0
    assert all(re.search(rf"^{re.escape(name)}  +\S", done.stdout, re.MULTILINE) for name in topics())


def test_a_page_is_shown(run: Run) -> None:
    done = run("docs", "sql")
    assert done.exit_code == 0
    assert done.stdout.startswith("# ")
    assert run("docs", "docs/sql.md").stdout == done.stdout
    assert title(topics()["sql"]) in done.stdout


def test_the_last_part_of_a_topic_is_enough(run: Run) -> None:
    assert run("docs", "local").stdout == run("docs", "theory/local").stdout
    assert run("docs", "gallery").exit_code == 0


def test_what_only_tests_need_is_left_out() -> None:
    assert "<!--" in topics()["index"].read_text(encoding="utf-8")
    assert "<!--" not in page("index")
    assert "import discreet as dp" in page("index")


@pytest.mark.parametrize(
    ("topic", "said"),
    [
        ("sqll", "did you mean sql?"),
        ("theory/lokal", "did you mean theory/local?"),
        ("pages", "write gallery/pages or service/pages"),
        ("zzzz", "discreet docs lists all topics"),
        ("", "discreet docs lists all topics"),
    ],
)
def test_a_topic_that_is_not_there(run: Run, topic: str, said: str) -> None:
    with pytest.raises(InvalidParameter) as refused:
        found(topic, topics())
    assert said in str(refused.value)
    assert run("docs", topic).exit_code == 2


def test_a_terminal_sees_no_marks() -> None:
    shown = markdown_text(
        "# A title\n\nA *word*, [a page](sql.md).\n\n```python\nx = 1\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    )
    assert "A title" in shown
    assert "sql.md" in shown
    assert not re.search(r"```|\*word\*|\]\(|\x1b", shown)


@pytest.mark.long
def test_messages_cite_pages_that_can_be_shown() -> None:
    cited = 0
    for path in sorted((ROOT / "src").rglob("*.py")):
        for text in texts(path):
            assert not re.search(r"docs/[\w/-]+\.md", text), f"{path}: {text}"
            for topic in CITED.findall(text):
                assert topic == "lists" or found(topic, topics()).exists(), f"{path}: {text}"
                cited += topic != "lists"
    assert cited >= 10


def test_a_wheel_has_the_pages(tmp_path: Path) -> None:
    """What is installed elsewhere has every document, and not the notebooks."""
    program = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    listing = subprocess.run(
        [sys.executable, "-m", "zipfile", "-l", str(wheel)], capture_output=True, text=True, check=True
    ).stdout
    for path in (ROOT / "docs").rglob("*.md"):
        assert f"discreet/data/docs/{path.relative_to(ROOT / 'docs').as_posix()} " in listing
    assert ".ipynb" not in listing
    assert "discreet/data/rand_hie.parquet" in listing
    assert tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["name"] == "discreet"
