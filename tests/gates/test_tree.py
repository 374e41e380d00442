"""House rules that a machine can hold: sizes, names, leftovers, one door to randomness, a light import."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
CODE = ("src", "tests", "scripts", "benchmarks")

LINES_OF_A_FILE = 400
LINES_OF_A_FUNCTION = 50
PARAMETERS = 6

ENTRY_POINTS = {
    "src/discreet/audit/replaying.py::replay": "what is audited, on which rows, against which promise",
    "src/discreet/clustering/table_kmeans.py::kmeans": "what is clustered, how, at what price, and limits on a unit",
    "src/discreet/curator/protect.py::protect": "one sentence states all that only the curator can know",
    "src/discreet/curator/protect_two_units.py::protect_shared": "as protect, of rows that belong to two units each",
    "src/discreet/hierarchies/hierarchy_question.py::explain": "as its release",
    "src/discreet/hierarchies/hierarchy_question.py::release": "a price or errors, and its division among levels",
    "src/discreet/query/application_verbs.py::kmeans": "as the function, so that a type checker knows each",
    "src/discreet/query/application_verbs.py::series": "as the function of that name",
    "src/discreet/series/series_question.py::series": "the steps, what is wanted at each, and the rules for rows",
    "src/discreet/query/application_verbs.py::top": "as the function of that name",
    "src/discreet/query/batch_question.py::explain": "as of a question",
    "src/discreet/query/batch_question.py::release": "as of a question",
    "src/discreet/query/batch_question.py::plan": "as its release",
    "src/discreet/query/question.py::explain": "what a release is given, before it is made",
    "src/discreet/query/question.py::release": "a price or an error, and what is told beside the answer",
    "src/discreet/cli/raise_command.py::raise_allowance": "which ledger, how much more, and who says so",
    "src/discreet/plots/dot_plot.py::ranks_figure": "what is drawn, what is said of it, and where",
    "src/discreet/plots/lines.py::lines_figure": "as ranks_figure",
    "src/discreet/plots/rank_plot.py::order_figure": "as ranks_figure",
    "src/discreet/logs/favorite_page.py::most_liked_figure": "what is compared, how often, and where it is drawn",
    "src/discreet/ledger/budget.py::__init__": "an allowance, where it is kept, and who opens it inside of which one",
    "src/discreet/logs/release_log.py::release_log": "the columns of a log, its price, and the choices of two methods",
    "src/discreet/logs/multinomial.py::sample_own_log": "a log's columns, and its output counts or their choice",
    "src/discreet/choices/choose_candidate.py::choose": "candidates, their score, its price and its limit",
    "src/discreet/logs/top_keys.py::top": "what is chosen among, how many, and at what price",
}
"""Public functions that may have more parameters, by "file::function", and why."""

HEAVY = {"duckdb", "ibis", "matplotlib", "pandas", "polars", "pyarrow", "rich", "scipy"}
"""What takes its time to load and so waits until it is needed."""

VAGUE = {"common", "helper", "helpers", "manager", "misc", "util", "utils"}

# Written in pieces, so that this file does not hold what it looks for.
LEFTOVERS = re.compile("|".join(["pragma: *no " + "cover", r"\bTO" + r"DO\b", r"\bFIX" + r"ME\b", r"\bXX" + r"X\b"]))
STUBS = re.compile("raise NotImplemented" + "Error")
UNEXPLAINED = re.compile(r"#\s*(?:type:\s*ignore(?:\[[^\]]*\])?|noqa(?::\s*[A-Z0-9, ]+)?)\s*$")
SKIPPED = re.compile(r"pytest\.(?:skip|xfail)\b|pytest\.mark\.(?:skip|xfail)\b" + r"(?!.*reason=)")

RANDOM_MODULES = {"random", "secrets", "numpy.random", "uuid"}
RANDOM_NAMES = {"default_rng", "urandom", "getrandbits", "SystemRandom", "token_bytes"}
DOOR = ("noise/entropy.py", "testing/", "audit/watched_generators.py")
"""Where chance may be named: the door itself, what has no promise to keep, and what watches the chance of others."""


def files(root: Path = ROOT) -> list[Path]:
    return sorted(path for folder in CODE for path in (root / folder).rglob("*.py"))


def functions(nodes: list[ast.AST]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def length_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines of a function without its docstring: nobody should save on examples."""
    first = function.body[0]
    documented = ast.get_docstring(function) is not None
    docstring = (first.end_lineno or first.lineno) - first.lineno + 1 if documented else 0
    return (function.end_lineno or function.lineno) - function.lineno + 1 - docstring


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """How many values a caller can pass; self and cls do not count."""
    taken = function.args
    named = [one.arg for one in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs)]
    return len(named) - (named[:1] in (["self"], ["cls"]))


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


FILES = {name_of(path): path for path in files()}
SOURCES = {name: path for name, path in FILES.items() if name.startswith("src/")}


def oversized(source: str, nodes: list[ast.AST]) -> Iterator[str]:
    lines = source.count("\n")
    if lines >= LINES_OF_A_FILE:
        yield f"{lines} lines"
    for function in functions(nodes):
        length = length_of(function)
        if length >= LINES_OF_A_FUNCTION:
            yield f"{function.name}: {length} lines"


def crowded(nodes: list[ast.AST]) -> set[str]:
    """Functions with more parameters than a reader keeps in mind."""
    return {function.name for function in functions(nodes) if parameters(function) > PARAMETERS}


def leftovers(source: str) -> Iterator[str]:
    for number, line in enumerate(source.splitlines(), 1):
        if any(pattern.search(line) for pattern in (LEFTOVERS, STUBS, UNEXPLAINED, SKIPPED)):
            yield f"line {number}: {line.strip()}"


def randomness(nodes: list[ast.AST]) -> Iterator[str]:
    """Uses of a source of chance."""
    for node in nodes:
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names if alias.name in RANDOM_MODULES)
            case ast.ImportFrom(module=str(module), names=names):
                found = {module, *(f"{module}.{alias.name}" for alias in names)} & RANDOM_MODULES
                yield from found or {alias.name for alias in names} & RANDOM_NAMES
            case ast.Attribute(attr="random", value=ast.Name("np" | "numpy")):
                yield "numpy.random"
            case ast.Attribute(attr=attribute) if attribute in RANDOM_NAMES:
                yield attribute


class Reading(NamedTuple):
    """What the rules ask of one file, and of one of the package."""

    oversized: list[str]
    crowded: set[str]
    randomness: list[str]


def reading(source: str, *, is_ours: bool = True) -> Reading:
    nodes = list(ast.walk(ast.parse(source)))
    long = [*oversized(source, nodes)]
    return Reading(long, crowded(nodes), [*randomness(nodes)]) if is_ours else Reading(long, set(), [])


@pytest.fixture(scope="module")
def readings() -> dict[str, Reading]:
    """Of all files, each parsed once: thousands of tests of one file each would take longer."""
    texts = {name: path.read_text(encoding="utf-8") for name, path in FILES.items()}
    return {name: reading(text, is_ours=name in SOURCES) for name, text in texts.items()}


def test_sizes(readings: dict[str, Reading]) -> None:
    assert len(FILES) > 700
    assert {name: one.oversized for name, one in readings.items() if one.oversized} == {}


def test_names_say_something() -> None:
    assert [name for name in FILES if set(re.split(r"[/_.]", name)) & VAGUE] == []


def test_no_leftovers() -> None:
    found = {name: [*leftovers(path.read_text(encoding="utf-8"))] for name, path in FILES.items()}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_few_parameters(readings: dict[str, Reading]) -> None:
    found = {f"{name}::{function}" for name in SOURCES for function in readings[name].crowded}
    assert found == set(ENTRY_POINTS)


def test_one_door_to_randomness(readings: dict[str, Reading]) -> None:
    others = [name for name in SOURCES if not name.removeprefix("src/discreet/").startswith(DOOR)]
    assert {name: found for name in others if (found := readings[name].randomness)} == {}


def test_import_is_light() -> None:
    program = "import discreet, sys; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert HEAVY & set(done.stdout.split()) == set()


def test_tests_mirror_the_source() -> None:
    """A test file stands where its module stands; gates, and the package as a whole, have places of their own."""
    places = {path.relative_to(ROOT / "src" / "discreet") for path in SOURCES.values()}
    rooms = {str(place.parts[0]).removesuffix(".py") for place in places}
    folders = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders <= rooms | {"far_ends", "fixtures", "fuzz", "gates"}


def test_faults_are_seen() -> None:
    long = reading("def f(a, b, c, d, e, f, *, g):\n" + "    a\n" * 50 + "\n" * 400)
    assert long.oversized == ["451 lines", "f: 51 lines"]
    assert long.crowded == {"f"}
    assert reading('def f():\n    """Promise.\n' + "\n" * 60 + '    """\n').oversized == []
    assert reading("class A:\n    def f(self, a, b, c, d, e, f): ...\n").crowded == set()


@pytest.mark.parametrize(
    "line",
    [
        "x = 1  # TO" + "DO later",
        "x = 1  # pragma: no " + "cover",
        "raise NotImplemented" + "Error",
        "x = 1  # type: " + "ignore",
        "x = 1  # type: " + "ignore[arg-type]",
        "x = 1  # no" + "qa: S101",
    ],
)
def test_leftover_is_seen(line: str) -> None:
    assert list(leftovers(line))


def test_reasons_are_accepted() -> None:
    said = "x = 1  # type: ignore[arg-type]  # the refusal is the test\ny = 2  # noqa: S101 - why not"
    assert list(leftovers(said)) == []


@pytest.mark.parametrize(
    "source",
    [
        "import random",
        "from secrets import token_hex",
        "import numpy.random",
        "from numpy import random",
        "from numpy.random import default_rng",
        "np.random.normal()",
        "os.urandom(8)",
        "from os import urandom",
    ],
)
def test_second_door_is_seen(source: str) -> None:
    assert reading(source).randomness
