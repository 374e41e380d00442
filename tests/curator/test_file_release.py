"""Answers in files: charged first, on record before they have a name, the same again, and all or nothing."""

from __future__ import annotations

import json
import os
import threading
from datetime import UTC, datetime
from fractions import Fraction
from functools import partialmethod
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.audit import neighbors
from discreet.audit.compare_runs import Claim, findings
from discreet.audit.pipelines import Function, Run
from discreet.curator import file_release, transaction
from discreet.mechanisms.laplace import Laplace
from discreet.planning import batches, group_key_file
from discreet.testing.statistics import joint_p, laplace_survival
from watched_file_release import GROUPS, KEYS, ROWS, SMALL, asked, watched

FALSE_ALARM = 1e-9


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (file_release, group_key_file):
        monkeypatch.setattr(module, "ROWS", SMALL)
    monkeypatch.setattr(batches.of_size, "__defaults__", (SMALL,))


@pytest.fixture
def keys(tmp_path: Path) -> str:
    folder = tmp_path / "public"
    folder.mkdir()
    pq.write_table(KEYS, folder / "keys.parquet")
    return str(folder / "keys.parquet")


@pytest.fixture
def to(tmp_path: Path) -> Path:
    folder = tmp_path / "answers"
    folder.mkdir()
    return folder / "answer.parquet"


# -- what is in the file --------------------------------------------------------------------------------------


@pytest.mark.long
def test_the_file_is_the_usual_answer(keys: str, to: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without noise: every column, to the bit, batch by batch as at once, from a file of keys or a list of them."""
    monkeypatch.setattr(Laplace, "add_noise", lambda _, totals, __: totals)
    usual = asked(watched()[0], KEYS).release(epsilon=1)
    for number, own in enumerate((keys, KEYS)):
        written = asked(watched()[0], own).release(epsilon=1, to=to.with_name(f"{number}.parquet"))
        found = pq.read_table(written.path)
        assert found.replace_schema_metadata().equals(usual.to_pyarrow())
        told = json.loads(found.schema.metadata[b"discreet"])
        assert told == written.receipt
        assert told["private"] is True
        same = [name for name in usual.receipt if name not in ("release", "time")]
        assert {name: told[name] for name in same} == {name: usual.receipt[name] for name in same}
    assert np.count_nonzero(usual["n"]) > 3000


@pytest.mark.parametrize("law", ["Laplace", "Gaussian", "staircase"])
def test_the_noise_has_the_price_of_the_plan(to: Path, law: str) -> None:
    """No rows: what is in the file is noise. Of two batches, none has that of the other; its size is the scale's."""
    stated: dict[str, dict[str, Any]] = {
        "Laplace": {"epsilon": 0.1},
        "Gaussian": {"epsilon": 0.5, "delta": 1e-6},
        "staircase": {"epsilon": 6},
    }
    table, _ = watched(ROWS.slice(0, 0), max_groups=20, budget=dp.Budget(epsilon=1, delta=1e-5))
    if law == "staircase":  # for rows that are units, of which one moves one total
        table = dp.protect(ROWS.slice(0, 0), unit=dp.ROW, bounds={"x": (0, 10)}, budget=dp.Budget(epsilon=9), name="w")
    question = table.group_by("block", keys=dp.public_keys(KEYS)).agg(s=lambda t: t.x.sum())
    plan = question.plan(**stated[law])
    [block] = plan.blocks
    assert type(block.noise).__name__.lower() == law.lower()
    drawn = (
        pq.read_table(question.release(**stated[law], to=to).path)["s"].to_numpy() / plan.columns[0].coefficients[0][0]
    )
    first, second = drawn[:SMALL], drawn[SMALL:]
    assert np.mean(first[: len(second)] == second) < 0.5
    assert 0.8 < np.std(drawn) / (block.scale * (1 if law == "Gaussian" else 2**0.5)) < 1.25  # 12,000 draws
    assert len(np.unique(drawn)) > 100


@pytest.mark.long
def test_batches_share_no_noise(to: Path) -> None:
    """200,000 places of a count: pairs of the same place in neighboring batches are independent."""
    keys = {"block": list(range(24 * SMALL))}
    table = dp.protect(ROWS.slice(0, 0), unit=dp.ROW, budget=dp.Budget(epsilon=1), name="w")
    written = table.group_by("block", keys=keys).agg(n=lambda t: t.count()).release(epsilon=0.1, to=to)
    pairs = pq.read_table(written.path)["n"].to_numpy().reshape(12, 2, SMALL)
    law = laplace_survival(10)
    assert joint_p(pairs[:, 0].ravel(), pairs[:, 1].ravel(), law) > FALSE_ALARM
    assert joint_p(pairs[:, 0].ravel(), pairs[:, 0].ravel(), law) < FALSE_ALARM  # shared noise would be seen


@pytest.mark.long
def test_the_layout_is_public(keys: str, to: Path) -> None:
    """Rows, order, types and row groups, whatever the rows are."""
    layouts = []
    for number, rows in enumerate((ROWS, ROWS.slice(0, 0), ROWS.filter(pa.compute.equal(ROWS["block"], 7)))):
        path = to.with_name(f"{number}.parquet")
        asked(watched(rows)[0], keys).release(epsilon=1, to=path)
        with pq.ParquetFile(path) as file:
            groups = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
            layouts.append((groups, file.schema_arrow.remove_metadata(), file.read(["block"]).to_pydict()))
    assert layouts[0][0] == [SMALL, GROUPS - SMALL]
    assert layouts[0] == layouts[1] == layouts[2]
    assert layouts[0][2]["block"] == KEYS["block"].to_pylist()


@pytest.mark.long
def test_neighbors_have_the_same_file(keys: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replayed: totals within the sensitivity; given the same noisy totals, the same bytes, receipt and all."""

    class Then(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Then:
            return cls(2026, 1, 1, tzinfo=tz or UTC)

    monkeypatch.setattr(transaction, "datetime", Then)
    rows = pa.table({**{name: ROWS[name][:40] for name in ("person", "x")}, "block": [k % 5 for k in range(40)]})
    pq.write_table(KEYS[-6:], keys)

    def pipeline_of(own: pa.Table) -> Any:
        return repr(asked(watched(own)[0], keys).release(epsilon=1, to="a.parquet").head())

    pipeline = Function(name="a file", like=rows, function=pipeline_of)
    worst = neighbors(rows, ["person"])[:4]
    runs: list[Run] = []
    for one in (rows, *(neighbor.data for neighbor in worst)):
        runs.append(pipeline.run(one, runs[0].recorder.calls if runs else None))
    assert [name for name in runs[0].shown.pieces if name.startswith("the file")] == ["the file a.parquet"]
    assert [call.name for call in runs[0].recorder.calls].count("Laplace.add_noise") == 2
    for neighbor, run in zip(worst, runs[1:], strict=True):
        found = findings(runs[0], run, ("the warnings",), Claim(epsilon=1, delta=0), neighbor.words)
        assert found == []


# -- order, failures, repeats ---------------------------------------------------------------------------------


def test_the_charge_comes_before_the_engine_and_the_file(keys: str, to: Path) -> None:
    table, engine = watched()
    written = asked(table, keys).release(epsilon=0.25, to=to)
    assert engine.spent == [Fraction(1, 4)]
    assert written == dp.AnswerFile(to, GROUPS, written.receipt)
    [entry] = table.budget.entries()
    assert entry.answered
    assert [path.name for path in to.parent.iterdir()] == ["answer.parquet"]


REFUSED: dict[str, tuple[dict[str, Any], type[Exception]]] = {
    "too dear": ({"epsilon": 2**21}, dp.InvalidParameter),
    "over the allowance": ({"epsilon": 1, "budget": dp.Budget(epsilon=0.5)}, dp.BudgetExceeded),
    "no folder": ({"epsilon": 1, "to": "nowhere/a.parquet"}, dp.InvalidParameter),
    "a folder": ({"epsilon": 1, "to": "taken.parquet"}, dp.InvalidParameter),
    "another ending": ({"epsilon": 1, "to": "a.csv"}, dp.InvalidParameter),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_costs_nothing_and_reads_nothing(
    name: str, keys: str, to: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more, error = REFUSED[name]
    monkeypatch.chdir(to.parent)
    (to.parent / "taken.parquet").mkdir()
    options = {"to": to, **more}
    table, engine = watched(**{"budget": options.pop("budget")} if "budget" in options else {})
    with pytest.raises(error):
        asked(table, keys).release(**options)
    assert (engine.spent, table.budget.spent.epsilon) == ([], Fraction(0))
    assert [path.name for path in to.parent.iterdir()] == ["taken.parquet"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("failure", "whole"), [(dp.EngineError("failed"), 0), (KeyboardInterrupt(), 1), (MemoryError(), 1)], ids=repr
)
def test_a_failure_leaves_no_file(keys: str, to: Path, failure: BaseException, whole: int) -> None:
    table, engine = watched(whole=whole, failure=failure)
    with pytest.raises(KeyboardInterrupt if isinstance(failure, KeyboardInterrupt) else dp.EngineError):
        asked(table, keys).release(epsilon=0.25, to=to)
    assert table.budget.spent.epsilon == Fraction(1, 4)
    assert list(to.parent.iterdir()) == []
    engine.whole = None
    asked(table, keys).release(epsilon=0.25, to=to)  # nothing is on record, so it is looked at, and paid, again
    assert engine.spent == [Fraction(1, 4), Fraction(1, 2)]


def test_a_failed_engine_says_what_it_always_says(keys: str, to: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it breaks in the middle of its rows, too; the next question finds the connection as it was."""
    table, _ = watched()

    def broken(*_: object) -> None:
        raise ValueError("person 7")

    with monkeypatch.context() as patched:
        patched.setattr("discreet.engines.connected_engine.add_noise_to_batch", broken)
        with pytest.raises(dp.EngineError, match="the charge stays spent") as failed:
            asked(table, keys).release(epsilon=1, to=to)
    assert "person" not in str(failed.value)
    assert list(to.parent.iterdir()) == []
    assert asked(table, keys).release(epsilon=2, to=to).rows == GROUPS


def test_a_group_that_came_twice_is_never_released(keys: str, to: Path) -> None:
    """Were keys repeated where the engine has them, whatever was checked, places would show it."""
    table, _ = watched()
    question = asked(table, keys)
    listed: Any = question._query.keys
    pq.write_table(pa.concat_tables([listed.numbered().to_table()] * 2), listed.copy.path)
    with pytest.raises(dp.EngineError):
        question.release(epsilon=1, to=to)
    assert list(to.parent.iterdir()) == []


def test_a_full_disk_leaves_no_file(keys: str, to: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, _ = watched()
    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(dp.EngineError, match="the charge stays spent"):
            asked(table, keys).release(epsilon=1, to=to)
    assert list(to.parent.iterdir()) == []
    assert table.budget.spent.epsilon == 1
    assert table.count().release(epsilon=1)["count"].shape == (1,)  # the connection is free


def test_a_repeat_is_the_same_file_for_nothing(keys: str, to: Path) -> None:
    table, engine = watched()
    first = asked(table, keys).release(epsilon=1, to=to)
    before = to.read_bytes()
    again = asked(table, keys).release(epsilon=1, to=str(to))
    other = asked(table, keys).release(epsilon=1, to=to.with_name("other.parquet"))
    assert before == to.read_bytes() == other.path.read_bytes()
    assert first == again
    assert other.receipt == first.receipt
    to.unlink()
    moved = asked(table, keys).release(epsilon=1, to=other.path)
    assert moved == other
    assert len(engine.spent) == 1


@pytest.mark.long
def test_fresh_noise_is_paid_for_and_goes_to_a_file_of_its_own(keys: str, to: Path) -> None:
    table, engine = watched()
    asked(table, keys).release(epsilon=1, to=to)
    with pytest.raises(dp.InvalidParameter, match="a name that is not taken"):
        asked(table, keys).release(epsilon=1, to=to, fresh=True)
    assert len(engine.spent) == 1
    other = asked(table, keys).release(epsilon=1, to=to.with_name("other.parquet"), fresh=True)
    assert engine.spent == [1, 2]
    first, second = (pq.read_table(path)["s"].to_numpy() for path in (to, other.path))
    assert np.mean(first == second) < 0.1


@pytest.mark.long
@pytest.mark.parametrize("how", ["changed", "gone"])
def test_a_file_that_was_changed_is_not_given(keys: str, to: Path, how: str) -> None:
    table, engine = watched()
    asked(table, keys).release(epsilon=1, to=to)
    if how == "gone":
        to.unlink()
    else:
        to.write_bytes(to.read_bytes()[:-1] + b"?")
    with pytest.raises(dp.InvalidQuery, match=r"the file of this answer[\s\S]*fresh=True draws anew, and pays"):
        asked(table, keys).release(epsilon=1, to=to)
    assert len(engine.spent) == 1


def test_ends_at_another_confidence_are_not_made_up(keys: str, to: Path) -> None:
    table, _ = watched()
    asked(table, keys).release(epsilon=1, to=to, confidence=0.9)
    with pytest.raises(dp.InvalidQuery, match=r"the confidence of the file, 0.9"):
        asked(table, keys).release(epsilon=1, to=to)
    assert table.budget.spent.epsilon == 1


@pytest.mark.long
def test_an_answer_in_memory_goes_to_a_file_for_nothing_and_not_the_other_way(keys: str, to: Path) -> None:
    table, engine = watched()
    usual = asked(table, keys).release(epsilon=1)
    written = asked(table, keys).release(epsilon=1, to=to, confidence=0.9)
    assert pq.read_table(to).replace_schema_metadata().equals(usual.intervals(0.9))
    assert written.receipt == usual.receipt
    assert (engine.spent, table.budget.spent.epsilon) == ([], Fraction(1))
    asked(table, keys).release(epsilon=2, to=to.with_name("other.parquet"))
    with pytest.raises(dp.InvalidQuery, match=r"other.parquet[\s\S]*read it there"):
        asked(table, keys).release(epsilon=2)
    assert table.budget.spent.epsilon == 3


def test_a_release_that_was_cut_off_before_its_name_is_finished(
    keys: str, to: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On record, in a ledger that another process opens, and not under its name yet."""
    table, engine = watched(budget=dp.Budget(epsilon=9, ledger=tmp_path / "spent.db"))
    with monkeypatch.context() as patched:
        patched.setattr(file_release, "give_name", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            asked(table, keys).release(epsilon=1, to=to)
    [left] = to.parent.iterdir()
    whole = left.read_bytes()
    for epsilon in (1, 2):  # of other ledgers, which know nothing of it
        asked(watched()[0], keys).release(epsilon=epsilon, to=to).path.unlink()
    later, other = watched(budget=dp.Budget(epsilon=9, ledger=tmp_path / "spent.db"))
    assert asked(later, keys).release(epsilon=1, to=to).path.read_bytes() == whole
    assert list(to.parent.iterdir()) == [to]
    assert (len(engine.spent), other.spent, later.budget.spent.epsilon) == (1, [], Fraction(1))


@pytest.mark.parametrize("calls", [("hardlink_to", "replace"), ("unlink",)])
def test_a_disk_that_fails_after_the_record_says_that_a_repeat_is_free(
    keys: str, to: Path, monkeypatch: pytest.MonkeyPatch, calls: tuple[str, ...]
) -> None:
    table, engine = watched()

    def fails_once(path: Path, call: str, real: Any, *more: Any, **how: Any) -> Any:
        if table.budget.entries() and table.budget.entries()[0].answered:
            monkeypatch.setattr(Path, call, real)
            raise OSError(28, "No space left on device")
        return real(path, *more, **how)

    for call in calls:
        monkeypatch.setattr(Path, call, partialmethod(fails_once, call, getattr(Path, call)))
    with pytest.raises(dp.InvalidParameter, match=r"No space left[\s\S]*is free"):
        asked(table, keys).release(epsilon=1, to=to)
    assert asked(table, keys).release(epsilon=1, to=to).rows == GROUPS
    assert [path.name for path in to.parent.iterdir()] == [to.name]
    assert engine.spent == [Fraction(1)] == [table.budget.spent.epsilon]


def test_a_power_cut_leaves_what_is_on_record(keys: str, to: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name that the record gives to the draft is on the disk before the record."""
    table, _ = watched()
    order: list[str] = []
    flushed, committed = os.fsync, table.budget._commit

    def fsync(file: int) -> None:
        name = Path(f"/proc/self/fd/{file}").readlink()
        order.append("folder" if [one.suffix for one in name.glob(".answer*")] == [".whole"] else "file")
        flushed(file)

    def commit(number: int, answer: bytes) -> None:
        order.append("record")
        committed(number, answer)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(dp.Budget, "_commit", lambda _, *what: commit(*what))
    asked(table, keys).release(epsilon=1, to=to)
    assert order == ["file", "folder", "record"]


@pytest.mark.parametrize("begun", ["", "BEGIN"])
def test_a_connection_that_reads_no_file_gets_the_keys(keys: str, to: Path, begun: str) -> None:
    """In a transaction of the curator's as well, which no failure of ours may end."""
    backend = ibis.duckdb.connect()
    backend.con.execute("CREATE TABLE rows AS SELECT 7 AS block")
    backend.con.execute(f"SET enable_external_access = false; {begun}")
    table = dp.protect(backend.table("rows"), unit=dp.ROW, budget=dp.Budget(epsilon=1), name="closed")
    written = table.group_by("block", keys=dp.public_keys(keys)).agg(n=lambda t: t.count()).release(epsilon=1, to=to)
    assert written.rows == GROUPS
    left = "SELECT count(*) FROM duckdb_views() WHERE view_name LIKE '%discreet%'"
    assert backend.con.execute(left).fetchone() == (0,)


@pytest.mark.long
def test_threads_wait_for_one_another(keys: str, to: Path) -> None:
    """Files and answers of one connection at once: each is whole, and each is paid."""
    table, _ = watched()
    found: list[Any] = []

    def ask(number: int) -> None:
        question = asked(table, keys)
        more: dict[str, Any] = {"to": to.with_name(f"{number}.parquet")} if number % 2 else {}
        found.append(question.release(epsilon=number + 1, **more))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(one) for one in found] == [GROUPS] * 4
    assert table.budget.spent.epsilon == 10
