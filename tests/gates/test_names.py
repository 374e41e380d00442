"""One name for one thing: no two files and no two classes of the library are called the same."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "discreet"

SHARED_FILES = dict.fromkeys(
    ("discrete_gaussian", "gaussian", "laplace", "staircase"),
    "the sampler of a law in `noise`, and the mechanism that draws from it in `mechanisms`",
)
"""Names that two files may have, and why."""


def classes(package: Path) -> Iterator[tuple[str, Path]]:
    """Every public class, and its file; one that begins with _ is its own file's business."""
    for path in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield node.name, path


def twice(found: Iterator[tuple[str, Path]]) -> dict[str, list[str]]:
    """The names that stand for more than one thing."""
    places = defaultdict(list)
    for name, path in found:
        places[name].append(str(path))
    return {name: those for name, those in places.items() if len(those) > 1}


def test_no_file_name_stands_for_two_files() -> None:
    named = ((path.stem, path) for path in PACKAGE.rglob("*.py") if path.stem != "__init__")
    assert twice(named).keys() == SHARED_FILES.keys()


def test_no_class_name_stands_for_two_classes() -> None:
    assert twice(classes(PACKAGE)) == {}


def test_a_second_class_is_seen(tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("class Line: ...\nclass _Own: ...\n")
    assert list(twice(classes(tmp_path))) == ["Line"]
