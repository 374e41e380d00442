"""House rules that a machine can hold: sizes, names, leftovers, one door to randomness, a light import."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

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


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
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


def oversized(path: Path) -> Iterator[str]:
    lines = path.read_text(encoding="utf-8").count("\n")
    if lines >= LINES_OF_A_FILE:
        yield f"{lines} lines"
    for function in functions(path):
        length = length_of(function)
        if length >= LINES_OF_A_FUNCTION:
            yield f"{function.name}: {length} lines"


def crowded(path: Path) -> set[str]:
    """Functions with more parameters than a reader keeps in mind."""
    return {function.name for function in functions(path) if parameters(function) > PARAMETERS}


def leftovers(source: str) -> Iterator[str]:
    for number, line in enumerate(source.splitlines(), 1):
        if any(pattern.search(line) for pattern in (LEFTOVERS, STUBS, UNEXPLAINED, SKIPPED)):
            yield f"line {number}: {line.strip()}"


def randomness(source: str) -> Iterator[str]:
    """Uses of a source of chance."""
    for node in ast.walk(ast.parse(source)):
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


def faults(check: Callable[[Path], Iterable[str]], paths: Iterable[Path]) -> dict[str, list[str]]:
    """What is wrong, by file, where anything is: thousands of tests of one file each would take longer."""
    found = {name_of(path): list(check(path)) for path in paths}
    return {name: wrong for name, wrong in found.items() if wrong}


def test_sizes() -> None:
    assert len(FILES) > 700
    assert faults(oversized, FILES.values()) == {}


def test_names_say_something() -> None:
    assert [name for name in FILES if set(re.split(r"[/_.]", name)) & VAGUE] == []


def test_no_leftovers() -> None:
    assert faults(lambda path: leftovers(path.read_text(encoding="utf-8")), FILES.values()) == {}


def test_few_parameters() -> None:
    found = {f"{name}::{function}" for name, path in SOURCES.items() for function in crowded(path)}
    assert found == set(ENTRY_POINTS)


def test_one_door_to_randomness() -> None:
    others = [path for name, path in SOURCES.items() if not name.removeprefix("src/discreet/").startswith(DOOR)]
    assert faults(lambda path: randomness(path.read_text(encoding="utf-8")), others) == {}


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


def test_faults_are_seen(tmp_path: Path) -> None:
    path = tmp_path / "long.py"
    path.write_text("def f(a, b, c, d, e, f, *, g):\n" + "    a\n" * 50 + "\n" * 400)
    assert list(oversized(path)) == ["451 lines", "f: 51 lines"]
    assert crowded(path) == {"f"}
    path.write_text('def f():\n    """Promise.\n' + "\n" * 60 + '    """\n')
    assert list(oversized(path)) == []
    path.write_text("class A:\n    def f(self, a, b, c, d, e, f): ...\n")
    assert crowded(path) == set()


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
    assert not list(
        leftovers("x = 1  # type: ignore[arg-type]  # the refusal is the test\ny = 2  # noqa: S101 - why not")
    )


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
    assert list(randomness(source))
