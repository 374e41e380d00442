"""What may be copied, pickled and carried to other processes draws noise of its own there; what must not is refused."""

from __future__ import annotations

import copy
import os
import pickle
import random
import struct
from collections.abc import Callable
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.query.table import PrivateTable
from discreet.testing import people

WIDE = 10.0**12
MECHANISMS: dict[str, tuple[Any, Any]] = {
    "Laplace": (dp.Laplace(sensitivity=WIDE, epsilon=1), [0] * 4),
    "Gaussian": (dp.Gaussian(sensitivity=WIDE, rho=1), [0.0] * 4),
    "DiscreteGaussian": (dp.DiscreteGaussian(sensitivity=10**6, rho=0.01), [0] * 8),
    "Staircase": (dp.Staircase(sensitivity=WIDE, epsilon=0.01), 0),
    "KNorm": (dp.KNorm.box([10**9] * 4, epsilon=0.01), [0] * 4),
    "Exponential": (dp.Exponential(sensitivity=1, epsilon=1), [0] * 2**10),
    "PermuteAndFlip": (dp.PermuteAndFlip(sensitivity=1, epsilon=1), [0] * 2**10),
    "NoisyMax": (dp.NoisyMax(sensitivity=1, epsilon=1), [0] * 2**10),
    "Threshold": (dp.Threshold(epsilon=0.001, delta=0.4), [10**5] * 60),
    "KeySelection": (dp.KeySelection(epsilon=0.1, delta=0.4), [1] * 400),
    "RandomizedResponse": (dp.RandomizedResponse(epsilon=0.1), [0] * 128),
}
"""Mechanisms that remember nothing, and an input on which two releases agree less than once in ten thousand runs."""

COPIES: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),  # noqa: S301 (our own bytes, just made)
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


def told(mechanism: Any, value: Any) -> bytes:
    """What a release shows, with all seeds set that anybody could think of."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - the very seed that must not matter
    released = [mechanism.release(value) for _ in range(3)]
    parts = [part for one in released for part in (one if isinstance(one, tuple) else (one,))]
    return repr([np.asarray(part).tolist() for part in parts]).encode()


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("name", MECHANISMS)
def test_copies_draw_noise_of_their_own(name: str, how: str) -> None:
    mechanism, value = MECHANISMS[name]
    same = COPIES[how](mechanism)
    assert same == mechanism
    assert len({told(one, value) for one in (mechanism, same, mechanism, same)}) > 2


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_children_draw_noise_of_their_own() -> None:
    """One draw before, three children, one draw after; each mechanism, all made before the fork."""
    for mechanism, value in MECHANISMS.values():
        drawn = [told(mechanism, value)]
        for _ in range(3):
            reader, writer = os.pipe()
            if os.fork() == 0:
                try:
                    with os.fdopen(writer, "wb") as pipe:
                        pipe.write(told(mechanism, value))
                finally:
                    os._exit(0)
            os.close(writer)
            with os.fdopen(reader, "rb") as pipe:
                drawn.append(pipe.read())
            os.wait()
        drawn.append(told(mechanism, value))
        assert b"" not in drawn
        assert len(set(drawn)) > 3


def test_a_run_that_remembers_is_not_copied() -> None:
    days = dp.series.StreamStrategy.best(dp.series.StepWindows.of(3, (1,)))
    for run in (dp.SparseVector(sensitivity=1, epsilon=1, threshold=0), dp.series.NoisyStream(days, rho=1)):
        for how in COPIES.values():
            with pytest.raises(dp.InvalidParameter, match="stays where it is"):
                how(run)


@pytest.fixture
def table() -> PrivateTable:
    data = pa.table({"v": [98_765_432.0, 1.0]})
    return dp.protect(data, unit=dp.ROW, bounds={"v": (0, 10**8)}, budget=dp.Budget(epsilon=5), name="people")


COUNT = ibis._.count()
ASKED: dict[str, Callable[[PrivateTable], Any]] = {
    "Release": lambda table: table.group_by("plan").agg(n=COUNT, m=table.age.median()),
    "BatchRelease": lambda table: dp.batch(a=table.group_by("plan").agg(n=COUNT), b=table.agg(n=COUNT)),
    "RangesRelease": lambda table: table.histogram("age", ranges=True),
    "GroupedRangesRelease": lambda table: table.group_by("plan").histogram("age", ranges=True),
    "cube": lambda table: table.group_by("plan", cube=True).agg(n=COUNT),
}


@pytest.mark.parametrize("how", ["pickle", "deepcopy"])
@pytest.mark.parametrize("name", ASKED)
def test_answers_of_every_kind_are_carried(name: str, how: str) -> None:
    answer = ASKED[name](people()).release(epsilon=1)
    same = COPIES[how](answer)
    assert type(same) is type(answer)
    assert repr(same) == repr(answer)


@pytest.mark.parametrize("how", ["pickle", "deepcopy"])
def test_pictures_are_carried(how: str) -> None:
    """To a process that draws them, say."""
    picture: Any = people().group_by("plan").agg(n=COUNT).release(epsilon=1).plot()
    same = COPIES[how](picture)
    assert type(same) is type(picture)
    assert same._repr_png_() == picture._repr_png_()


@pytest.mark.parametrize("how", ["pickle", "deepcopy"])
def test_tables_and_questions_stay_where_their_budget_is(table: PrivateTable, how: str) -> None:
    for one in (table, table.count(), table._source, table.budget):
        with pytest.raises((dp.InvalidParameter, dp.LedgerError), match=r"copy[\s\S]*Hint: .*ledger="):
            COPIES[how](one)


def test_answers_are_carried_without_what_they_blur(table: PrivateTable) -> None:
    """The same answer and receipt elsewhere; the exact total is in none of the bytes, in no spelling of a number."""
    answer = table.agg(s=table.v.sum()).release(epsilon=1)
    written = pickle.dumps(answer)
    same = pickle.loads(written)  # noqa: S301 (as above)
    assert same.receipt == answer.receipt
    assert same.to_pyarrow().equals(answer.to_pyarrow())
    for spelled in (b"98765433", b"98765432", struct.pack("<d", 98_765_433.0), struct.pack("<q", 98_765_433)):
        assert spelled not in written
        assert spelled[::-1] not in written
