"""What is exported, what is documented and what is typed are the same things."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import discreet

REFERENCE = Path(__file__).parents[2] / "docs" / "reference.md"
EXPORTED: tuple[str, ...] = tuple(getattr(discreet, "__all__", ()))
EXPLICIT_SELF = {"self", "cls"}


def entries(page: str) -> set[str]:
    """The names that have a heading, a list item or a table row of their own, as in "### `dp.protect(...)`"."""
    return set(re.findall(r"^(?:#+|[-*|])\s*`(?:class )?dp\.(\w+)", page, flags=re.MULTILINE))


def undocumented(name: str, thing: object) -> str | None:
    """What is missing in the docstring of an exported name."""
    if not callable(thing):
        return None  # A constant says in the reference what it is.
    text = inspect.getdoc(thing) or ""
    if not text:
        return f"{name} has no docstring"
    is_error = isinstance(thing, type) and issubclass(thing, BaseException)
    return None if is_error or ">>>" in text else f"{name} has no example"


def callables(name: str, thing: object) -> Iterator[tuple[str, Callable[..., object]]]:
    """The function, or the public methods and properties that the class itself defines."""
    if inspect.isfunction(thing):
        yield name, thing
    elif inspect.isclass(thing) and thing.__module__.startswith("discreet"):
        for attribute, value in vars(thing).items():
            if attribute.startswith("_") and attribute not in {"__init__", "__call__", "__enter__", "__exit__"}:
                continue
            function = value.fget if isinstance(value, property) else inspect.unwrap(getattr(value, "__func__", value))
            if inspect.isfunction(function) and function.__module__.startswith("discreet"):
                yield f"{name}.{attribute}", function


def untyped(name: str, thing: object) -> list[str]:
    """The parameters and results without a type."""
    missing = []
    for path, function in callables(name, thing):
        signature = inspect.signature(function)
        empty = [one.name for one in signature.parameters.values() if one.annotation is one.empty]
        missing += [f"{path}({parameter})" for parameter in empty if parameter not in EXPLICIT_SELF]
        if signature.return_annotation is signature.empty:
            missing.append(f"{path} -> ?")
    return missing


def test_exports_are_sorted_and_exist() -> None:
    assert list(EXPORTED) == sorted(EXPORTED)
    assert set(EXPORTED) <= set(dir(discreet))


def test_type_checkers_see_the_same_names() -> None:
    """The imports that only type checkers follow lead to the very objects that the root hands out."""
    tree = ast.parse(Path(str(discreet.__file__)).read_text(encoding="utf-8"))
    [unseen] = [node for node in tree.body if isinstance(node, ast.If)]
    sources = [node for node in unseen.body if isinstance(node, ast.ImportFrom)]
    own = {
        alias.name: str(node.module)
        for node in sources
        for alias in node.names
        if str(node.module).startswith("discreet.")
    }
    assert set(own) == {name for name in EXPORTED if not name.startswith("_")}
    for name, module in own.items():
        assert getattr(importlib.import_module(module), name) is getattr(discreet, name)


ROOMS = ("series", "theory", "workloads")


def named_in(page: str, room: str) -> set[str]:
    """The names of a room that have a table row of their own, alone or together with others."""
    return {name for line in page.splitlines() if line.startswith(f"| `{room}.") for name in
            re.findall(rf"`{room}\.(\w+)", line.split(" | ")[0])}  # fmt: skip


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_are_documented_and_typed(room: str) -> None:
    module = importlib.import_module(f"discreet.{room}")
    assert named_in(REFERENCE.read_text(encoding="utf-8"), room) == set(module.__all__)
    for name in module.__all__:
        thing = getattr(module, name)
        if inspect.ismodule(thing):
            assert thing.__doc__
        else:
            assert undocumented(name, thing) is None
            assert untyped(name, thing) == []
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = module.no_such_name


def test_documents_import_public_names_alone() -> None:
    """What the pages teach can be typed by a reader who is promised that it stays."""
    root = REFERENCE.parents[1]
    public = {"discreet", "discreet.errors", "discreet.testing", *(f"discreet.{room}" for room in (*ROOMS, "audit"))}
    pages = [root / "README.md", *(root / "docs").rglob("*.md")]
    assert [fault for page in pages for fault in private_imports(page.read_text(encoding="utf-8"), public)] == []


def private_imports(text: str, public: set[str]) -> list[str]:
    """The lines of a page that import a module of ours which is not public."""
    found = re.finditer(r"^\W*(?:from|import) (discreet[\w.]*).*$", text, flags=re.MULTILINE)
    return [one.group(0) for one in found if one.group(1) not in public]


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = discreet.no_such_name


def test_reference_lists_what_is_exported() -> None:
    documented = entries(REFERENCE.read_text(encoding="utf-8")) if REFERENCE.exists() else set()
    assert documented == {name for name in EXPORTED if not name.startswith("_")}


@pytest.mark.parametrize("name", EXPORTED)
def test_exported_is_documented(name: str) -> None:
    assert undocumented(name, getattr(discreet, name)) is None


@pytest.mark.parametrize("name", EXPORTED)
def test_exported_is_typed(name: str) -> None:
    assert untyped(name, getattr(discreet, name)) == []


def test_faults_are_seen() -> None:
    def bare(x, *, y: int):  # type: ignore[no-untyped-def]  # the fault to see  # noqa: ANN001, ANN202 - as there
        return x + y

    assert untyped("bare", bare) == ["bare(x)", "bare -> ?"]
    assert undocumented("bare", bare) == "bare has no docstring"
    bare.__doc__ = "Adds."
    assert undocumented("bare", bare) == "bare has no example"
    bare.__doc__ = "Adds.\n\n>>> 1 + 1\n2"
    assert undocumented("bare", bare) is None
    assert private_imports(
        ">>> from discreet.noise.laplace import x\nfrom discreet.theory import y", {"discreet.theory"}
    ) == [">>> from discreet.noise.laplace import x"]
    assert named_in("| `a.b`, `a.c(x)` | of `a.d` |", "a") == {"b", "c"}
    assert entries("## `dp.a(x)`\n- `dp.b`: c, unlike `dp.d`\n| `dp.e` | f |") == {"a", "b", "e"}


def test_rooms_are_read_without_an_import() -> None:
    program = "import discreet as dp; print(dp.audit.replay.__name__, dp.workloads.__name__)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "replay discreet.workloads\n"
