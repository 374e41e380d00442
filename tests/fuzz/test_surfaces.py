"""What can be seen beside an answer does not depend on rows: schemas, orders, messages, logs, refusals, errors."""

from __future__ import annotations

import json
import logging
import math
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.query.question import Question
from discreet.query.table import PrivateTable
from discreet.testing import not_private

Ask = Callable[[PrivateTable], Question]

NAN, INF = math.nan, math.inf


def protect(data: Any, **stated: Any) -> PrivateTable:
    facts: dict[str, Any] = {"unit": dp.ROW, "budget": dp.Budget(epsilon=10**7), "name": "attacked"} | stated
    return dp.protect(data, **facts)


def one(release: dp.Release, name: str) -> float:
    [value] = release[name].tolist()
    return float(value)


# -- D5, D6: everything that can be seen beside the answer ----------------------------------------------------


def surfaces(data: pa.Table, caplog: pytest.LogCaptureFixture, folder: Path) -> dict[str, Any]:
    """All that an analyst can see of one release with foreseeable noise, but for its values and its time."""
    pq.write_table(data, folder / "d.parquet")
    caplog.clear()
    with caplog.at_level(logging.DEBUG):
        stated = {"unit": "person", "bounds": {"v": (0, 5)}, "max_rows": 2, "max_groups": 2, "name": "d"}
        table = not_private(protect(folder / "d.parquet", **stated), seed=3)
        asked = (
            table.filter(table.v >= 0)
            .group_by("g", keys={"g": ["b", "a"]})
            .agg(n=lambda t: t.count(), m=lambda t: t.v.mean())
        )
        answer = asked.release(epsilon=1)
    receipt = {name: fact for name, fact in answer.receipt.items() if name != "time"}
    frame = answer.to_pyarrow()
    return {
        "table": repr(table),
        "columns": table.columns,
        "question": repr(asked),
        "explain": repr(asked.explain(epsilon=1)),
        "facts": re.sub(r"\bfile_\d+", "", json.dumps(dict(asked.explain(epsilon=1)))),
        "receipt": json.dumps(receipt),
        "schema": str(frame.schema),
        "keys": frame["g"].to_pylist(),
        "pandas": {name: str(kind) for name, kind in answer.to_pandas().dtypes.items()},
        "spent": str(table.budget.spent),
        "entries": [(entry.what, entry.key, str(entry.guarantee)) for entry in table.budget.entries()],
        "logs": [(record.name, record.getMessage()) for record in caplog.records],
        "shape": (len(answer), answer.columns, answer.groups),
    }  # fmt: skip


SCHEMA = pa.schema([("person", pa.int64()), ("g", pa.string()), ("v", pa.float64())])
OTHERS: dict[str, dict[str, list[Any]]] = {
    "one row more": {"person": [1, 2, 3], "g": ["a", "b", "a"], "v": [1.0, 2.0, 3.0]},
    "another key": {"person": [1, 2], "g": ["a", "a new category with a long name"], "v": [1.0, 2.0]},
    "NULL": {"person": [1, None], "g": [None, "b"], "v": [None, NAN]},
    "hostile": {"person": [-(2**63), 2**63 - 1], "g": ["\x00", "💥" * 1000], "v": [INF, -1e308]},
    "nobody": {"person": [], "g": [], "v": []},
    "many": {"person": [1] * 5000, "g": ["a"] * 5000, "v": [1.0] * 5000},
}


@pytest.mark.long
@pytest.mark.parametrize("name", OTHERS)
def test_surfaces_are_the_same_for_every_table(name: str, caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    first = pa.table({"person": [1, 2], "g": ["a", "b"], "v": [1.0, 2.0]}, schema=SCHEMA)
    assert surfaces(pa.table(OTHERS[name], schema=SCHEMA), caplog, tmp_path) == surfaces(first, caplog, tmp_path)


def test_equal_totals_and_words_make_equal_bytes(tmp_path: Path) -> None:
    """What is shown and written is a function of the noisy totals: other rows with the same totals change no byte."""
    shown = []
    for rows in ([(1, "a", 1.0), (2, "b", 2.0)], [(2, "b", 2.0), (7, "a", 1.0), (9, "other", 3.0), (None, "a", 5.0)]):
        columns = list(zip(*rows, strict=True))
        data = pa.table(dict(zip(SCHEMA.names, columns, strict=True)), schema=SCHEMA)
        table = not_private(protect(data, unit="person", bounds={"v": (0, 5)}, max_rows=1, max_groups=1), seed=9)
        asked = table.group_by("g", keys={"g": ["a", "b"]}).agg(m=lambda t: t.v.mean(), v=lambda t: t.v.var())
        answer = asked.release(epsilon=1)
        answer.to_pyarrow().to_pandas().to_csv(tmp_path / "answer.csv")
        shown.append(
            (
                repr(answer),
                answer._repr_html_(),
                (tmp_path / "answer.csv").read_bytes(),
                [block.tolist() for block in answer._totals],
            )
        )
    assert shown[0] == shown[1]


# -- F5, F8: errors and refusals ------------------------------------------------------------------------------

POISON: dict[str, tuple[Any, Any, Any]] = {
    "zero": (0, 0.0, "0"),
    "no number": (1, 1.0, "abc"),
    "too large a number": (1, 1e308, "1e400"),
    "no day": (1, 1.0, "2024-02-30"),
    "10 MB": (1, 1.0, "x" * 10_000_000),
    "NaN": (1, NAN, "nan"),
    "negative zero": (1, -0.0, "-0"),
    "NULL": (None, None, None),
    "infinity": (1, INF, "inf"),
    "minus infinity": (1, -INF, "-inf"),
    "smallest integer": (-(2**63), -1e308, "-9223372036854775808"),
    "largest integer": (2**63 - 1, 1e308, "9223372036854775807"),
    "subnormal": (1, 5e-324, "5e-324"),
    "NUL": (1, 1.0, "a\x00b"),
    "quotes": (1, 1.0, "'; DROP TABLE visits; --"),
    "a pattern": (1, 1.0, "%_\\" * 50),
    "right to left": (1, 1.0, "\u202e\u0000\ufeff"),
    "combining": (1, 1.0, "e" + "\u0301" * 1000),
    "emoji": (1, 1.0, "🏳️‍🌈" * 100),
    "empty": (1, 1.0, ""),
}
QUESTIONS: dict[str, Ask] = {
    "arithmetic": lambda t: t.agg(a=(t.i // 2 % 3).sum(), b=(t.v.abs() + 0.5).ln().mean(), c=(1 / (t.v - 9)).var()),
    "texts": lambda t: t.agg(
        a=t.s.length().clip(0, 9).sum(),
        b=t.s.count(where=t.s.upper().like("%A_")),
        c=t.s.count(where=(t.s + t.s).lower() == "abcabc"),
        d=t.s.count(where=t.s.strip().contains("a") | t.s.substr(1, 2).startswith("b") | t.s.ilike("_B%")),
    ),
    "casts": lambda t: t.agg(a=t.i.cast("string").length().sum(), b=t.v.cast("float64").mean(), c=t.v.round().sum()),
    "groups": lambda t: t.group_by(k=t.s.substr(0, 1), keys={"k": ["a", "", None]}).agg(n=lambda s: s.count()),
    "conditions": lambda t: t.filter((t.v > 0) | t.s.isnull(), t.i != 5).agg(
        n=lambda s: s.count(), m=lambda s: s.v.mean()
    ),
    "choices": lambda t: t.agg(
        a=ibis.cases((t.v > 0, t.v), (t.i > 3, 1.0)).mean(), b=ibis.coalesce(t.v.nullif(0), t.i).sum()
    ),
}


@pytest.mark.long
@pytest.mark.cases
@pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS)
def test_no_poisoned_row_is_felt(ask: Ask) -> None:
    """Each of twenty rows, with and without: every question is answered, and the answer is finite; a dash stands where
    its interval says nothing.
    """
    schema = pa.schema([("i", pa.int64()), ("v", pa.float64()), ("s", pa.string())])
    sound = [(1, 1.0, "abc"), (2, 2.0, None)]
    for poison in POISON.values():
        data = pa.table(dict(zip(schema.names, zip(*sound, poison, strict=True), strict=True)), schema=schema)
        table = protect(data, bounds={"i": (-10, 10), "v": (0, 5)})
        answer = ask(table).release(epsilon=1)
        told = answer.to_pyarrow().to_pydict()
        for name, values in told.items():
            if name.endswith(("_low", "_high")):
                assert None not in values
            assert all(math.isfinite(value) for value in values if isinstance(value, float))


def test_refusals_do_not_look_at_rows() -> None:
    """What is refused is refused for an empty table and a large one, in the same words, and costs nothing."""
    empty = pa.table({"v": pa.array([], pa.float64()), "s": pa.array([], pa.string())})
    large = pa.table({"v": [NAN, 1e308] * 500, "s": ["secret", None] * 500})
    asks: list[Callable[[PrivateTable], Any]] = [
        lambda t: t.agg(m=t.v.mean()),
        lambda t: t.agg(m=t.s.nunique()),
        lambda t: t.filter(t.v.ln() > 0),
        lambda t: t.filter(t.s.cast("int64") > 0),
        lambda t: t.group_by("s").agg(n=lambda u: u.count()),
        lambda t: t.agg(m=(t.v * t.v).sum()),
        lambda t: t.count().release(epsilon=10**9),
        lambda t: t.count().release(epsilon=0),
        lambda t: t.v.max(),
        lambda t: t.agg(m=t.v.max()),
        lambda t: t.agg(m=t.v.median()),
        lambda t: len(t.filter(t.v > 0)),
        lambda t: t.head(),  # type: ignore[operator]  # the case
    ]
    for ask in asks:
        told = []
        for data in (empty, large):
            table = protect(data)
            try:
                told.append(repr(type(ask(table))))
            except (dp.DiscreetError, AttributeError) as refusal:
                told.append(f"{type(refusal).__name__}: {refusal}")
            assert table.budget.spent.epsilon == 0
        assert told[0] == told[1]
        assert "secret" not in told[1]


# -- G1, G2: seeds and forks ----------------------------------------------------------------------------------


def test_no_seed_of_others_fixes_the_noise() -> None:
    found = set()
    for _ in range(4):
        random.seed(0)
        np.random.seed(0)  # noqa: NPY002 - the very seed that must not matter
        table = protect(pa.table({"v": [1.0]}), bounds={"v": (0, 1)})
        found.add(one(table.agg(s=table.v.sum()).release(epsilon=0.1), "s"))
    assert len(found) == 4


@pytest.mark.parametrize("answer", [b"", b"short", bytes(32), OSError("no entropy")], ids=repr)
def test_broken_entropy_is_an_error_and_never_an_answer(monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:
    """Of a release and of each mechanism; what was charged stays charged."""
    table = protect(pa.table({"v": [1.0]}))
    table.count().release(epsilon=1)

    def broken(size: int) -> bytes:
        if isinstance(answer, Exception):
            raise answer
        return bytes(answer)

    monkeypatch.setattr(os, "urandom", broken)
    asks: list[Callable[[], object]] = [
        lambda: table.count().release(epsilon=1, fresh=True),
        lambda: dp.Laplace(sensitivity=1, epsilon=1).release(0),
        lambda: dp.Gaussian(sensitivity=1, rho=1).release(0.5),
        lambda: dp.Exponential(sensitivity=1, epsilon=1).release([1, 2]),
        lambda: dp.RandomizedResponse(epsilon=1).release([0]),
    ]
    for ask in asks:
        # After a charge every failure says the same.
        said = "the charge stays spent" if ask is asks[0] else "random"
        with pytest.raises(dp.DiscreetError, match=said):
            ask()
    assert table.budget.spent.epsilon == 2


def test_processes_draw_noise_of_their_own() -> None:
    """Started with the same seeds and the same hash of strings, four processes answer with noise of four kinds."""
    program = (
        "import random, numpy as np; random.seed(0); np.random.seed(0); import discreet as dp; "
        "print(dp.Laplace(sensitivity=10**9, epsilon=1).release(0))"
    )
    environment = os.environ | {"PYTHONHASHSEED": "0"}
    started = [
        subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    assert len({process.communicate()[0] for process in started}) == 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
def test_children_cannot_repeat_a_release() -> None:
    """A forked child has the parent's budget object, and is refused it; so no noise is drawn twice for one charge."""
    table = protect(pa.table({"v": [1.0]}))
    table.count().release(epsilon=1)
    reader, writer = os.pipe()
    if os.fork() == 0:  # the child says what it met, and leaves without pytest noticing
        try:
            table.count().release(epsilon=1, fresh=True)
            os.write(writer, b"answered")
        except BaseException as refusal:  # noqa: BLE001 - whatever it was is told
            os.write(writer, type(refusal).__name__.encode())
        os._exit(0)
    os.wait()
    assert os.read(reader, 100) == b"LedgerError"
    assert table.budget.spent.epsilon == 1
