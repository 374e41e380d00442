"""Mechanisms of other libraries are watched where they are installed: here, stand-ins with their interfaces."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest

from discreet import ROW
from discreet.audit import replay

TABLE = pa.table({"person": [1, 2, 3], "cost": [5.0, 20.0, 30.0]})


class Laplace:
    """As diffprivlib.mechanisms.Laplace is called."""

    def __init__(self, *, epsilon: float, sensitivity: float) -> None:
        self.epsilon, self.sensitivity = epsilon, sensitivity

    def randomise(self, value: float) -> float:
        return value + id(value) % 7


class Measurement:
    """As opendp.mod.Measurement is called."""

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def map(self, d_in: float) -> float:
        return d_in / self.scale

    def __call__(self, value: float) -> float:
        return value + id(value) % 7


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, kind in (("diffprivlib.mechanisms", Laplace), ("opendp.mod", Measurement)):
        module = ModuleType(name)
        setattr(module, kind.__name__, kind)
        monkeypatch.setitem(sys.modules, name, module)


def total(rows: Any, most: float) -> float:
    return float(sum(min(max(cost or 0.0, 0.0), most) if cost == cost else 0.0 for cost in rows["cost"].to_pylist()))  # noqa: PLR0124 (NaN)


def test_a_stated_sensitivity_is_held_against_the_input() -> None:
    def job(rows: Any, most: float = 50) -> float:
        return Laplace(epsilon=1, sensitivity=50).randomise(total(rows, most))

    assert replay(job, TABLE, unit=ROW, epsilon=1).ok
    [found] = replay(lambda rows: job(rows, 100), TABLE, unit=ROW).findings
    assert found.kind == "sensitivity"


def test_a_map_is_held_against_the_claim() -> None:
    def job(rows: Any) -> float:
        return Measurement(50.0)(total(rows, 50))

    assert replay(job, TABLE, unit=ROW, epsilon=1).ok
    [found] = replay(job, TABLE, unit=ROW, epsilon=0.5).findings
    assert found.kind == "claim"
