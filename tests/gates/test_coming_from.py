"""The page for those who come from other libraries shows the code that was measured."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    spec = importlib.util.spec_from_file_location("five_tasks", BENCHMARKS / "five_tasks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in [name for name in sys.modules if name.split(".")[0] == "rivals"]:
        monkeypatch.delitem(sys.modules, name)
    return module


def test_page_shows_what_ran(script: ModuleType) -> None:
    shown = script.PAGE.read_text(encoding="utf-8")
    assert script.page(shown) == shown, "python benchmarks/five_tasks.py --code"
    assert "| rows |" in shown


def test_page_notices_other_code(script: ModuleType) -> None:
    shown = script.PAGE.read_text(encoding="utf-8")
    assert script.page(shown.replace("release(epsilon=1)", "release(epsilon=2)")) == shown
