"""Every file that claims a theorem carries a proof card, and every card's fault is listed for planting."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import mutants

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "discreet"

HEADINGS = ["Claim", "Requires", "Relies on", "Proof", "Rounding", "Source", "Mutant"]
THEOREMS_ONLY = ("noise", "sensitivity", "mechanisms", "workloads")
FAULT = re.compile(r"(?P<name>[a-z0-9][a-z0-9-]*): (?P<what>.+?); killed by (?P<test>test_\w+)\.(?:\s|$)")

Card = dict[str, str]


def docstring(path: Path) -> str:
    """Of a file that may have a card; empty without parsing where it has none."""
    text = path.read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(text)) or "") if "\nClaim\n" in text else ""


def card(text: str) -> Card:
    """The sections of a docstring, by heading, in the order in which they stand."""
    pieces = re.split(rf"^({'|'.join(HEADINGS)})$", text, flags=re.MULTILINE)
    return {heading: body.strip() for heading, body in zip(pieces[1::2], pieces[2::2], strict=True)}


def faults_named(text: str) -> list[tuple[str, str]]:
    """Name and test of each fault under Mutant."""
    return [(fault["name"], fault["test"]) for fault in FAULT.finditer(" ".join(card(text)["Mutant"].split()))]


def with_cards(package: Path) -> Iterator[Path]:
    """The modules that must carry one."""
    for room in THEOREMS_ONLY:
        yield from (path for path in sorted((package / room).rglob("*.py")) if path.name != "__init__.py")
    for path in sorted(package.rglob("*.py")):
        if path.relative_to(package).parts[0] not in THEOREMS_ONLY and "Claim" in card(docstring(path)):
            yield path


@functools.cache
def names_of_tests(path: Path) -> set[str]:
    """Names of the test functions of a file."""
    if not path.exists():
        return set()
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


MODULES = {str(path.relative_to(PACKAGE)): path for path in with_cards(PACKAGE)}
MUTANTS = {f"{mutant.file}:{mutant.name}": mutant for mutant in mutants.listed()}


@pytest.mark.parametrize("module", MODULES)
def test_card_is_whole(module: str) -> None:
    found = card(docstring(MODULES[module]))
    assert list(found) == HEADINGS
    assert all(found.values())


@pytest.mark.parametrize("module", MODULES)
def test_fault_of_the_card_is_listed(module: str) -> None:
    named = faults_named(docstring(MODULES[module]))
    assert named, "Expected at least one line 'name: what is wrong; killed by test_name.'"
    for name, test in named:
        mutant = MUTANTS.get(f"src/discreet/{module}:{name}")
        assert mutant, f"Expected {name} in tests/mutants.toml"
        assert mutant.test.partition("[")[0].split("::")[-1] == test


@pytest.mark.parametrize("key", MUTANTS)
def test_listed_fault_can_be_planted(key: str) -> None:
    mutant = MUTANTS[key]
    source = (ROOT / mutant.file).read_text(encoding="utf-8")
    assert source.count(mutant.find) == 1
    assert mutant.find != mutant.replace
    ast.parse(source.replace(mutant.find, mutant.replace))
    file, _, test = mutant.test.partition("[")[0].partition("::")
    assert test.split("::")[-1] in names_of_tests(ROOT / file)


def test_no_two_faults_share_a_name() -> None:
    assert len(MUTANTS) == len(mutants.listed())


CARD = """Promise.

Claim
    It holds.
Mutant
    off-by-one: the last is
        left out; killed by test_last.
    never: nothing is done; killed by test_something.
"""


def test_card_is_read() -> None:
    assert card(CARD)["Claim"] == "It holds."
    assert faults_named(CARD) == [("off-by-one", "test_last"), ("never", "test_something")]
    assert card("No card. Claim is only a word here.") == {}


def test_modules_are_found_by_rule(tmp_path: Path) -> None:
    for place, text in {
        "noise/__init__.py": "",
        "noise/a.py": "",
        "query/b.py": '"""C.\n\nClaim\n    D.\n"""',
        "query/c.py": '"""No Claim."""',
        "sql/d.py": '"""C.\n\nClaim\n    D.\n"""',
    }.items():
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_text(text)
    assert [str(path.relative_to(tmp_path)) for path in with_cards(tmp_path)] == [
        "noise/a.py",
        "query/b.py",
        "sql/d.py",
    ]
