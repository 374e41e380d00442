"""Pipelines as users have them: a function, a script, cells of a notebook, a statement. Each can run on any rows."""

from __future__ import annotations

import ast
import json
import linecache
import os
import shutil
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import pyarrow as pa

from discreet.audit.code_locations import copied_to
from discreet.audit.other_libraries import others_watched
from discreet.audit.own_mechanisms import mechanisms_watched
from discreet.audit.recording import Call, CallRecorder
from discreet.audit.table_files import write_table
from discreet.audit.visible_output import VisibleOutput, forget_modules, watched
from discreet.audit.watched_generators import generators
from discreet.errors import InvalidParameter, expected

LARGEST_FOLDER = 200 * 2**20
HIDDEN = (".*", "__pycache__", "node_modules")


@dataclass(frozen=True)
class Run:
    """One run: its calls, and what it let others see."""

    recorder: CallRecorder
    shown: VisibleOutput


@dataclass(frozen=True, kw_only=True)
class Pipeline(ABC):
    """Something that can be run on rows."""

    name: str

    @abstractmethod
    def start(self, data: pa.Table, folder: Path) -> Any:
        """Runs on these rows in this folder; returns what the pipeline returns."""

    @property
    def names(self) -> dict[str, Any] | None:
        """The globals that it was made with, if it was made before the audit."""
        return None

    def prepare(self, data: pa.Table, folder: Path) -> None:
        """Puts what it needs into a new folder."""
        del data, folder

    def run(
        self,
        data: pa.Table,
        recorded: Sequence[Call] | None = None,
        observer: Callable[[CallRecorder], Any] | None = None,
    ) -> Run:
        """Runs in a folder of its own, with chance recorded, or answered as recorded."""
        recorder = CallRecorder(recorded)
        with tempfile.TemporaryDirectory(prefix="audit-") as name, ExitStack() as stack:
            folder = Path(name).resolve()
            self.prepare(data, folder)
            stack.enter_context(_inside(folder))
            stack.enter_context(copied_to(str(folder), str(Path(self.name).parent)))
            for watch in (mechanisms_watched(recorder), others_watched(recorder), generators(recorder, self.names)):
                stack.enter_context(watch)

            def run() -> Any:
                with ExitStack() as seen:
                    if observer is not None:
                        seen.enter_context(observer(recorder))
                    result = self.start(data, folder)
                recorder.finish()
                return result

            return Run(recorder, watched(run, folder))


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before, modules, path = Path.cwd(), set(sys.modules), list(sys.path)
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        sys.path[:] = path
        forget_modules(folder, modules)


@dataclass(frozen=True, kw_only=True)
class Function(Pipeline):
    """A Python function of one table; `like` is the table that it was given, whose kind it gets again."""

    function: Callable[[Any], Any]
    like: Any

    @property
    def names(self) -> dict[str, Any] | None:
        """The globals of its module."""
        found = getattr(self.function, "__globals__", None)
        return found if isinstance(found, dict) else None

    def start(self, data: pa.Table, folder: Path) -> Any:
        """Calls it."""
        return self.function(as_kind(data, self.like, folder))


def as_kind(data: pa.Table, like: Any, folder: Path) -> Any:
    """Rows as a table of the same kind as another one: Arrow, pandas, polars, or a file of the same name."""
    if isinstance(like, str | os.PathLike):
        place = folder / Path(like).name
        write_table(data, place)
        return type(like)(place) if isinstance(like, str) else place
    kind = type(like).__module__.split(".")[0]
    if kind == "pandas":
        return data.to_pandas()
    if kind == "polars":
        import polars

        return polars.from_arrow(data)
    return data


@dataclass(frozen=True, kw_only=True)
class Script(Pipeline):
    """A Python script that reads its table from a file beside it; it runs in a copy of its folder."""

    path: Path
    data: Path
    arguments: tuple[str, ...] = ()
    function: str = ""
    """A function of one path that is called after the script has run as a module; none: it runs as a program."""

    def prepare(self, data: pa.Table, folder: Path) -> None:
        """Copies the script's folder, with other rows in the data file."""
        home = self.path.parent
        size = sum(path.stat().st_size for path in home.rglob("*") if path.is_file())
        if size > LARGEST_FOLDER:
            cure = "put the script and its data into a folder of their own: it is copied for each run."
            raise InvalidParameter(expected("a folder of at most 200 MB", "size", f"{size:,} bytes", cure))
        shutil.copytree(home, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*HIDDEN), symlinks=True)
        write_table(data, self._target(folder))

    def _target(self, folder: Path) -> Path:
        return folder / self.data.relative_to(self.path.parent)

    def start(self, data: pa.Table, folder: Path) -> Any:
        """Runs it as `python script.py` would, in the copy."""
        del data
        target = self._target(folder)
        names = {"__name__": "__pipeline__" if self.function else "__main__", "__file__": str(folder / self.path.name)}
        arguments = [str(target) if Path(one).resolve() == self.data else one for one in self.arguments]
        module = ModuleType(names["__name__"])
        module.__dict__.update(names)
        sys.path.insert(0, str(folder))
        with ExitStack() as stack:
            stack.enter_context(patch.object(sys, "argv", [str(self.path), *arguments]))
            stack.enter_context(patch.dict(sys.modules, {names["__name__"]: module}))
            result = self.execute(module.__dict__)
            return result if not self.function else module.__dict__[self.function](target)

    def execute(self, names: dict[str, Any]) -> Any:
        """Runs the code under its own file name, so that places are those that its author knows."""
        exec(compile(self.path.read_text(encoding="utf-8"), self.name, "exec", dont_inherit=True), names)  # noqa: S102 (the user's own script, at their request)


@dataclass(frozen=True, kw_only=True)
class Notebook(Script):
    """The code cells of a notebook, or some of them by number, in one namespace."""

    cells: tuple[int, ...] = ()

    def execute(self, names: dict[str, Any]) -> Any:
        """Runs the cells in their order; the value of the last line of each is shown, as in a notebook."""
        results = []
        for number, source in enumerate(code_cells(self.path), 1):
            if self.cells and number not in self.cells:
                continue
            name = f"{self.name}[cell {number}]"
            linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
            results.append(_last_value(source, name, names))
        return results


def code_cells(path: Path) -> list[str]:
    """The code cells of a notebook, without lines for IPython alone."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    return ["\n".join("" if line.startswith(("%", "!")) else line for line in text.split("\n")) for text in sources]


def _last_value(source: str, name: str, names: dict[str, Any]) -> Any:
    tree = ast.parse(source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec", dont_inherit=True), names)  # noqa: S102 (the user's own cells, at their request)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), name, "eval", dont_inherit=True), names)  # noqa: S307 (as above)


@dataclass(frozen=True, kw_only=True)
class SqlPipeline(Pipeline):
    """A question that `ask` makes of a table, with everything that an analyst can ask it for."""

    ask: Callable[[pa.Table], Any]
    epsilon: Any = field(default=1)
    delta: Any = field(default=0)

    def start(self, data: pa.Table, folder: Path) -> Any:
        """Explains, releases, and shows the answer, its receipt and the budget."""
        del folder
        asked = self.ask(data)
        explained = repr(asked.explain(epsilon=self.epsilon))
        answer = asked.release(epsilon=self.epsilon, delta=self.delta)
        return {
            "question": repr(asked),
            "explained": explained,
            "answer": answer,
            "shown": repr(answer),
            "id": answer.receipt["release"],
        }
