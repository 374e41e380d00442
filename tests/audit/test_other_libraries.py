"""Mechanisms of other libraries are watched where they are installed; elsewhere, stand-ins with the same interfaces."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest

from discreet import ROW
from discreet.audit import replay
from discreet.audit.other_libraries import OpenDPMetric, paid, rows
from discreet.audit.recording import RecordedCost

TABLE = pa.table({"person": [1, 2, 3], "cost": [5.0, 20.0, 30.0]})


class Laplace:
    """As diffprivlib.mechanisms.Laplace is called."""

    def __init__(self, *, epsilon: float, sensitivity: float, delta: float = 0.0) -> None:
        self.epsilon, self.sensitivity, self.delta = epsilon, sensitivity, delta

    def randomise(self, value: float) -> float:
        return value + id(value) % 7


class Measurement:
    """As opendp.mod.Measurement is called: of a number, or, with `bound`, of a data set whose values it clips."""

    def __init__(
        self, scale: float, bound: float | None = None, measure: str = "MaxDivergence", answer: Any = None
    ) -> None:
        self.scale, self.bound, self.answer = scale, bound, answer
        self.input_metric = "AbsoluteDistance(f64)" if bound is None else "SymmetricDistance()"
        self.output_measure = measure

    def map(self, d_in: float) -> float:
        loss = d_in * (self.bound or 1.0) / self.scale
        return loss**2 / 2 if "Zero" in self.output_measure else loss

    def __call__(self, value: Any) -> Any:
        if self.answer is not None:
            return self.answer(value)
        return (value if self.bound is None else sum(min(one, self.bound) for one in value)) + id(value) % 7

    invoke = __call__


class Queryable:
    """As opendp.mod.Queryable is called; it can be neither copied nor pickled."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def __call__(self, query: Measurement) -> Any:
        return query(self.data)

    def __deepcopy__(self, memo: Any) -> Any:
        raise ValueError("ctypes objects containing pointers cannot be pickled")


Number = Callable[[float], Callable[[float], float]]
"""A scale in, a mechanism for one number out."""


def _stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    parts: dict[str, list[type]] = {"diffprivlib.mechanisms": [Laplace], "opendp.mod": [Measurement, Queryable]}
    for name, kinds in parts.items():
        module = ModuleType(name)
        for kind in kinds:
            setattr(module, kind.__name__, kind)
        monkeypatch.setitem(sys.modules, name, module)


DIFFPRIVLIB = ["stand-in", *(["installed"] if find_spec("diffprivlib") else [])]
OPENDP = ["stand-in", *(["installed"] if find_spec("opendp") else [])]


@pytest.fixture(params=DIFFPRIVLIB)
def stated(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Makes a Laplace mechanism as diffprivlib has it."""
    if request.param == "stand-in":
        _stand_ins(monkeypatch)
        return Laplace
    found: Callable[..., Any] = import_module("diffprivlib.mechanisms").Laplace
    return found


class Opendp:
    """Makes measurements as OpenDP does: the stand-ins."""

    def number(self, scale: float) -> Any:
        return Measurement(scale)

    def concentrated(self, scale: float) -> Any:
        return Measurement(scale, measure="ZeroConcentratedDivergence")

    def total(self, bound: float, scale: float) -> Any:
        return Measurement(scale, bound)

    def queries(self, epsilon: float) -> Any:
        return Measurement(1 / epsilon, 1.0, answer=Queryable)


class Installed(Opendp):
    """The same with the library itself."""

    def __init__(self) -> None:
        library = import_module("opendp.prelude")
        library.enable_features("contrib", "idealized-numerics")
        self.lib = library
        self.space = library.vector_domain(library.atom_domain(T=float, nan=False)), library.symmetric_distance()

    def _of_number(self, make: Any, scale: float) -> Any:
        return make(self.lib.atom_domain(T=float, nan=False), self.lib.absolute_distance(T=float), scale=scale)

    def number(self, scale: float) -> Any:
        return self._of_number(self.lib.m.make_laplace, scale)

    def concentrated(self, scale: float) -> Any:
        return self._of_number(self.lib.m.make_gaussian, scale)

    def total(self, bound: float, scale: float) -> Any:
        lib = self.lib
        summed = self.space >> lib.t.then_clamp((0.0, bound)) >> lib.t.then_sum()
        return summed >> lib.m.then_laplace(scale=scale)

    def queries(self, epsilon: float) -> Any:
        lib = self.lib
        return lib.c.make_adaptive_composition(*self.space, lib.max_divergence(), d_in=1, d_mids=[epsilon])


@pytest.fixture(params=OPENDP)
def opendp(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Opendp:
    if request.param == "installed":
        return Installed()
    _stand_ins(monkeypatch)
    return Opendp()


def costs(table: Any, most: float = math.inf) -> list[float]:
    found = [cost or 0.0 for cost in table["cost"].to_pylist() if cost == cost]  # noqa: PLR0124 (NaN)
    return [min(max(cost, 0.0), most) for cost in found]


def total(table: Any, most: float) -> float:
    return float(sum(costs(table, most)))


def test_a_stated_sensitivity_is_held_against_the_input(stated: Callable[..., Any]) -> None:
    def job(table: Any, most: float = 50) -> Any:
        return stated(epsilon=1, sensitivity=50).randomise(total(table, most))

    assert replay(job, TABLE, unit=ROW, epsilon=1).ok
    [found] = replay(lambda table: job(table, 100), TABLE, unit=ROW).findings
    assert found.kind == "sensitivity"
    assert found.place.text.startswith("return stated(")


def test_deltas_add_up(stated: Callable[..., Any]) -> None:
    def job(table: Any) -> Any:
        one = stated(epsilon=0.5, delta=1e-3, sensitivity=50)
        return [one.randomise(total(table, 50)), one.randomise(total(table, 50))]

    assert replay(job, TABLE, unit=ROW, epsilon=1, delta=2e-3).ok
    [found] = replay(job, TABLE, unit=ROW, epsilon=1, delta=1e-3).findings
    assert (found.kind, "epsilon=1 and delta=0.002" in found.message) == ("claim", True)


def test_a_map_is_held_against_the_claim(opendp: Opendp) -> None:
    one = opendp.number(50.0)

    def job(table: Any) -> Any:
        return one(total(table, 50))

    assert replay(job, TABLE, unit=ROW, epsilon=1).ok
    for called in (job, lambda table: one.invoke(total(table, 50))):
        [found] = replay(called, TABLE, unit=ROW, epsilon=0.5).findings
        assert found.kind == "claim"


def test_rho_is_no_epsilon(opendp: Opendp) -> None:
    """Noise of sigma = distance has mu = 1 and rho = 1/2: at epsilon = 1 its delta is 0.127."""
    one = opendp.concentrated(50.0)

    def job(table: Any) -> Any:
        return one(total(table, 50))

    assert replay(job, TABLE, unit=ROW, epsilon=1, delta=0.13).ok
    assert not replay(job, TABLE, unit=ROW, epsilon=1, delta=0.12).ok


def test_a_measurement_of_rows_may_have_any_number_of_them(opendp: Opendp) -> None:
    one = opendp.total(50.0, 50.0)

    def job(table: Any) -> Any:
        return one(costs(table))

    assert replay(job, TABLE, unit=ROW, epsilon=1.001).ok
    [found] = replay(job, TABLE, unit=ROW, epsilon=0.9).findings
    assert found.kind == "claim"
    assert not replay(lambda table: one(costs(table) * 2), TABLE, unit=ROW, epsilon=1.001).ok


def test_answers_of_a_queryable_are_frozen(opendp: Opendp) -> None:
    every, one = opendp.queries(1.001), opendp.total(50.0, 50.0)

    def job(table: Any) -> Any:
        return every(costs(table))(one)

    assert replay(job, TABLE, unit=ROW, epsilon=1.01).ok
    [found] = replay(job, TABLE, unit=ROW, epsilon=0.9).findings
    assert found.kind == "claim"
    [shown] = replay(lambda table: [job(table), len(costs(table))], TABLE, unit=ROW, epsilon=1.01).findings
    assert shown.kind == "surface"


def test_prices_in_every_currency() -> None:
    class Curve:
        def epsilon(self, delta: float) -> float:
            return -math.log(delta)

    assert paid(0.5, "MaxDivergence") == RecordedCost(epsilon=0.5)
    assert paid((0.125, 1e-6), "Approximate(ZeroConcentratedDivergence)") == RecordedCost(mu=0.5, delta=1e-6)
    assert paid(Curve(), "SmoothedMaxDivergence") == RecordedCost(epsilon=-math.log(1e-9), delta=1e-9)


def test_distances_of_data_sets() -> None:
    class Exchanged(Measurement):
        input_metric = "ChangeOneDistance()"

        def __init__(self) -> None:
            self.scale = 1.0

    one = OpenDPMetric(Measurement(1.0, 1.0))
    assert one.distance([1.0, math.nan], [math.nan, 1.0, 1.0]) == 1
    assert one.distance([1.0, 2.0], [1.0, 3.0]) == 2
    assert OpenDPMetric(Exchanged()).distance([1.0, 2.0], [1.0, 3.0]) == 1
    assert math.isinf(OpenDPMetric(Exchanged()).cost([1.0], [1.0, 3.0]).epsilon)
    assert rows(TABLE.to_pandas()) == [(1.0, 5.0), (2.0, 20.0), (3.0, 30.0)]


def test_a_library_that_cannot_be_loaded_is_left_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    folder = tmp_path / "diffprivlib"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise ImportError('made for another scikit-learn')\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "diffprivlib"]:
        monkeypatch.delitem(sys.modules, name)
    assert replay(lambda table: table.num_rows > -1, TABLE, unit=ROW).ok
