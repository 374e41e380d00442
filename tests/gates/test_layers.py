"""The walls of the tower: who may import whom, read off the drawing in ARCHITECTURE.md."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "discreet"
OWN = PACKAGE.name
DATA = "data"

NAMES_ABOVE = {Path("query/application_verbs.py"), Path("query/lower_bound_verbs.py")}
"""The list of verbs that rooms above implement."""

Tower = dict[str, int]


def drawn(page: str) -> Tower:
    """The floor of each room, from the first ```text block of the page."""
    drawing = page.split("```text\n", 1)[1].split("```", 1)[0]
    return {room: int(floor) for floor, *rooms in map(str.split, drawing.splitlines()) for room in rooms}


TOWER = drawn((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))


def rooms_of(package: Path) -> set[str]:
    """Folders with code and single modules below the root; __main__ is the door of cli."""
    folders = {path.parent.name for path in package.glob("*/__init__.py")}
    return (folders | {path.stem for path in package.glob("*.py")}) - {"__init__", "__main__", DATA}


def imports(node: ast.AST, *, inside: bool = False) -> Iterator[tuple[int, str, bool]]:
    """Line, dotted name and "inside a function" of every import, dynamic ones with a literal name included."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Import(names=names):
                yield from ((child.lineno, alias.name, inside) for alias in names)
            case ast.ImportFrom(level=0, module=str(module), names=names):
                yield from (
                    (child.lineno, OWN if module == OWN else f"{module}.{alias.name}", inside) for alias in names
                )
            case ast.ImportFrom():
                yield child.lineno, f"{OWN}.?", inside  # relative: its own fault below
            case ast.Call(func=ast.Name("import_module" | "__import__") | ast.Attribute(attr="import_module")):
                first = child.args[0] if child.args else None
                if isinstance(first, ast.Constant):
                    yield child.lineno, str(first.value), True
        within = inside or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from imports(child, inside=within)


def faults(package: Path, tower: Tower) -> Iterator[str]:
    """Each import that breaks a wall, as "file:line: why"."""
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package)
        if place == Path("__init__.py"):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if place in NAMES_ABOVE:  # what their results are called there, for a type checker alone
            tree.body = [node for node in tree.body if ast.unparse(node).split("\n")[0] != "if TYPE_CHECKING:"]
        room = "cli" if place == Path("__main__.py") else place.parts[0].removesuffix(".py")
        for line, name, inside in imports(tree):
            if why := fault(room, name, inside=inside, tower=tower):
                yield f"{place}:{line}: {why}"


def fault(room: str, name: str, *, inside: bool, tower: Tower) -> str | None:
    """What is wrong with `room` importing `name`, if anything: the first of these that is true."""
    top, _, rest = name.partition(".")
    if top != OWN:
        return f"{DATA} imports {name}" if room == DATA else None
    other = rest.partition(".")[0]
    floor, other_floor = tower.get(room, -1), tower.get(other, -1)
    reasons = {
        f"{DATA} imports {name}": room == DATA,
        f"{room} imports the package root": not other,
        "relative import": other == "?",
        f"{name} is imported inside a function": inside,
        f"{room} imports {other}, and the drawing lacks one of them": -1 in {floor, other_floor},
        f"{room} (floor {floor}) imports {other} (floor {other_floor})": other != room and other_floor >= floor,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def test_rooms_are_those_of_the_drawing() -> None:
    assert rooms_of(PACKAGE) == set(TOWER)


def test_walls_hold() -> None:
    assert list(faults(PACKAGE, TOWER)) == []


PLANTED = {
    "noise/a.py": ("from discreet.privacy.b import c", "noise (floor 2) imports privacy (floor 2)"),
    "exact/a.py": ("import discreet.noise.b", "exact (floor 1) imports noise (floor 2)"),
    "query/a.py": ("from discreet import errors", "query imports the package root"),
    "curator/a.py": ("import discreet as dp", "curator imports the package root"),
    "engines/a.py": ("def f():\n    from discreet.errors import b", "discreet.errors.b is imported inside a function"),
    "sql/a.py": ("from .b import c", "relative import"),
    "plots/a.py": ('import_module("discreet.errors")', "discreet.errors is imported inside a function"),
    "errors.py": ("if True:\n    from discreet.exact import a", "errors (floor 0) imports exact (floor 1)"),
    "query/a.py ": ("if TYPE_CHECKING:\n    from discreet.logs.a import b", "query (floor 9) imports logs (floor 12)"),
    "query/application_verbs.py": ("from discreet.logs.a import b", "query (floor 9) imports logs (floor 12)"),
    "data/__init__.py": ("import json", "data imports json"),
    "cli/a.py": ("from discreet.data import a", "cli imports data, and the drawing lacks one of them"),
}


@pytest.mark.parametrize("place", PLANTED)
def test_broken_wall_is_seen(tmp_path: Path, place: str) -> None:
    source, why = PLANTED[place]
    place = place.strip()
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).write_text(source)
    (found,) = faults(tmp_path, TOWER)
    assert found.endswith(f": {why}")


def test_open_doors_are_open(tmp_path: Path) -> None:
    (tmp_path / "noise").mkdir()
    (tmp_path / "noise" / "a.py").write_text(
        "import numpy\nfrom discreet.noise.b import c\nfrom discreet.errors import d\n"
    )
    assert list(faults(tmp_path, TOWER)) == []


def test_root_only_names_things() -> None:
    """The root holds names, `__getattr__` and `__dir__`; what it names is imported for type checkers alone."""
    allowed = ast.Expr | ast.Assign | ast.AnnAssign
    for node in ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8")).body:
        match node:
            case ast.Import(names=names):
                assert all(alias.name.split(".")[0] in sys.stdlib_module_names for alias in names)
            case ast.ImportFrom(level=0, module=str(module)):
                assert module.split(".")[0] in sys.stdlib_module_names
            case ast.FunctionDef(name=name):
                assert name in {"__getattr__", "__dir__"}
            case ast.If(test=ast.Name("TYPE_CHECKING"), orelse=[]):
                assert all(isinstance(part, ast.ImportFrom) for part in node.body)
            case _:
                assert isinstance(node, allowed), ast.unparse(node)


def test_importing_the_root_loads_no_room() -> None:
    program = f"import {OWN}, sys; print([name for name in sys.modules if name.startswith('{OWN}.')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_drawing_is_read() -> None:
    assert drawn("```text\n 2  a  b\n 0  c\n```") == {"a": 2, "b": 2, "c": 0}
