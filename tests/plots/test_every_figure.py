"""Every public picture is drawn in axes of the caller, and saved: a new one without `ax` or `path` fails here."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
from collections.abc import Callable, Iterator
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from ibis import _
from matplotlib.figure import Figure

import discreet as dp
from discreet import theory
from discreet.clustering.estimator import KMeans
from discreet.testing import people

ROOT = Path(__file__).parents[2]
REFERENCE = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
HIDDEN = ("cli/", "plots/", "clustering/cluster_pictures.py", "query/batch_plot.py")
"""What draws for others: it has no public name."""
VALUES = np.array([2.0, 1.0])
POINTS = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
LOG = pa.table({"who": [*range(200), *range(100)], "page": ["/home"] * 200 + ["/about"] * 100})
DAYS = pa.table({"day": [date(2026, 1, 1), date(2026, 1, 2)] * 5, "person": list(range(10))})


def series() -> Any:
    """An answer over two days."""
    table = dp.protect(DAYS, unit="person", max_rows=1, max_groups=1, budget=dp.Budget(rho=1), name="days")
    question = table.series("day", start=date(2026, 1, 1), max_steps=2, every="1 day").agg(n=_.count())
    return question.release(through=date(2026, 1, 2), rho=1)


MADE: dict[str, Callable[[], Any]] = {
    "BatchQuestion": lambda: people().group_by("plan", cube=True, max_groups=1, max_rows=5).agg(n=_.count()),
    "Clusters": lambda: people().kmeans(["age", "visits"], n_clusters=2, epsilon=2),
    "GroupedRangesRelease": lambda: (
        people().group_by("plan", max_groups=1, max_rows=5).histogram("age", [0, 20, 70], ranges=True)
    ).release(epsilon=1),
    "KMeans": lambda: KMeans(2, epsilon=4, bounds=(0, 1)).fit(POINTS),
    "LogRelease": lambda: dp.release_log(
        LOG, user="who", item="page", epsilon=8, delta=1e-6, max_items=2, budget=dp.Budget(epsilon=8, delta=1e-6)
    ),
    "Loss": lambda: theory.laplace_loss(0.5),
    "RangesRelease": lambda: people().histogram("age", [0, 20, 70], ranges=True, max_rows=5).release(epsilon=1),
    "Release": lambda: people().group_by("plan").agg(n=_.count(), age=_.age.mean()).release(epsilon=1),
    "SeriesRelease": series,
}
ARGUMENTS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "BatchQuestion.plot": ([], {"epsilons": (1, 2)}),
    "KMeans.plot": ([POINTS], {}),
    "composition_figure": ([theory.composition_table((1, 10), epsilon=1, delta=1e-6)], {"caption": "c"}),
    "dimension_figure": ([], {"dimensions": (1, 10)}),
    "gap_figure": ([], {"candidates": (2, 5)}),
    "keys_figure": ([], {"users": (1, 5)}),
    "lines_figure": ([[1, 2], {"a": [1, 2]}], {"x_label": "x", "y_label": "y"}),
    "most_liked_figure": (
        [theory.Likes(np.arange(90) // 3, np.arange(90) % 3, ("a", "b", "c"))],
        {"delta": 1e-6, "epsilons": (5, 10), "k": 1, "runs": 1},
    ),
    "noise_error_figure": ([], {"epsilons": (0.5, 1)}),
    "noise_figure": ([dp.Laplace(sensitivity=1, epsilon=1)], {}),
    "order_figure": ([VALUES, (VALUES - 1, VALUES + 1)], {"truth": VALUES}),
    "ranks_figure": ([["a", "b"], VALUES], {}),
    "report_error_figure": ([], {"categories": 10, "epsilons": (1, 2)}),
}


def drawing(node: ast.AST, within: str = "") -> Iterator[str]:
    """The names in a tree of public functions and methods that return a figure."""
    for one in ast.iter_child_nodes(node):
        if isinstance(one, ast.ClassDef):
            yield from drawing(one, f"{one.name}.")
        elif isinstance(one, ast.FunctionDef) and one.returns and not one.name.startswith("_"):
            yield from [within + one.name] * ("Figure" in ast.unparse(one.returns))


def found() -> dict[str, Callable[..., Figure]]:
    """The public pictures: those of theory, and whatever else returns a figure."""
    package = ROOT / "src" / "discreet"
    public = {name: getattr(theory, name) for name in theory.__all__ if name.endswith("_figure")}
    for path in sorted(package.rglob("*.py")):
        inside = path.relative_to(package)
        if inside.as_posix().startswith(HIDDEN):
            continue
        for name in drawing(ast.parse(path.read_text(encoding="utf-8"))):
            thing: Any = importlib.import_module(".".join(("discreet", *inside.with_suffix("").parts)))
            for part in name.split("."):
                thing = getattr(thing, part)
            public[name] = thing
    return public


FOUND = found()


@cache
def made(kind: str) -> Any:
    return MADE[kind]()


def drawn(name: str, **place: Any) -> Figure:
    """The picture of that name, drawn in a place."""
    kind, _dot, verb = name.rpartition(".")
    function = getattr(made(kind), verb) if kind else FOUND[name]
    given, named = ARGUMENTS.get(name, ([], {}))
    figure: Figure = function(*given, **named, **place)
    return figure


def test_none_is_missed() -> None:
    assert set(FOUND) == {f"{kind}.plot" for kind in MADE} | {one for one in ARGUMENTS if "." not in one}
    assert {name for name in FOUND if "." not in name} <= set(theory.__all__)
    planted = "class A:\n  def draw(self) -> Figure: ...\ndef b() -> tuple[Figure, int]: ...\ndef _c() -> Figure: ..."
    assert list(drawing(ast.parse(planted))) == ["A.draw", "b"]


@pytest.mark.parametrize("name", sorted(FOUND))
def test_it_is_typed_and_told(name: str) -> None:
    stated = inspect.signature(inspect.unwrap(FOUND[name])).parameters
    types = {"ax": "object", "path": "str | os.PathLike[str] | None"}
    assert {one: stated[one].annotation for one in types} == types
    assert all(stated[one].kind is stated[one].KEYWORD_ONLY and stated[one].default is None for one in types)
    text = inspect.getdoc(FOUND[name]) or ""
    assert all(re.search(rf"^ *{one}: |`{one}`", text, flags=re.MULTILINE) for one in types)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(FOUND))
def test_it_is_drawn_in_axes_of_the_caller_and_saved(name: str, tmp_path: Path) -> None:
    alone = drawn(name, path=tmp_path / "alone.png")
    number = len(alone.axes)
    own = Figure(figsize=(4.0 * number, 4.0))
    axes = list(own.subplots(1, number, squeeze=False)[0])
    shown = drawn(name, ax=axes[0] if number == 1 else axes, path=os.fspath(tmp_path / "own.png"))
    assert shown is own
    assert own.axes == axes
    assert all(axis.has_data() for axis in [*axes, *alone.axes])
    assert own.legends == []
    for picture in ("alone.png", "own.png"):
        assert (tmp_path / picture).read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(dp.InvalidParameter, match="axes of Matplotlib"):
        drawn(name, ax=3)
    with pytest.raises(dp.InvalidParameter, match="a path for a picture"):
        drawn(name, path=3)


def test_the_reference_states_both() -> None:
    """Of each picture of theory in its row, and of each method that draws wherever its arguments are listed."""
    rows = {name: next(line for line in REFERENCE.splitlines() if f"`theory.{name}(" in line) for name in FOUND
            if "." not in name}  # fmt: skip
    listed = re.findall(r"`\.?plot\([^`]*=None[^`]*\)`", REFERENCE)
    assert len(listed) == len(MADE)
    assert [text for text in [*rows.values(), *listed] if "ax=" not in text or "path=" not in text] == []
