"""Places are the curator's: every public callable, every parameter, a path, a frame and a connection in its place.

Each call is made in two worlds, in which the places hold other rows, or nothing. An analyst's parameter refuses them,
in the same words in both worlds, and never shows what is there.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import ibis
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ibis import _
from pyarrow import dataset

import discreet as dp
from discreet.query.unreleased_methods import REFUSED
from public_calls import CALLS, INNER, MADE, Missing, Own, called, public, question

CURATORS = {
    "protect.data": "what is protected",
    "protect_shared.data": "likewise",
    "protect.via": "the tables on the way to the unit of what is protected",
    "protect.keep_steps": "where exact totals of steps are kept, beside the rows",
    "open.path": "the file that states what is protected",
    "open.connections": "where what it states is found",
    **dict.fromkeys(("public.data", "public_keys.data"), "what is marked as public"),
    "release_log.table": "what is protected, where it is not yet",
    "sample_own_log.log": "a log of the curator's own, which is not protected",
    "PrivateTable.refreshed.data": "the rows of a new version",
    "Budget.ledger": "where the record is kept",
    "Budget.head.key": "the key that signs where the record ends",
    "Question.release.to": "where an answer is written",
    "HierarchyQuestion.release.to": "where answers are written",
    "OpenQuestion.release.to": "where an answer is written",
}
"""The parameters that take a path, a frame or a connection: those of whoever holds the data."""
HOLDERS = {f"{kind}.{verb}.path" for kinds, verbs in (
    (("Release", "LogRelease", "LogSample", "Clusters"), ("plot", "to_parquet", "to_csv", "to_excel")),
    (("RangesRelease", "GroupedRangesRelease", "BatchQuestion", "KMeans"), ("plot",)),
    (("BatchRelease", "GroupedRangesRelease", "Top", "Choice", "DistinctValues", "TruncatedTotal"),
     ("to_parquet", "to_csv", "to_excel")),
) for kind in kinds for verb in verbs}  # fmt: skip
"""Where whoever has an answer saves it: they write, and never read."""
ELSEWHERE = {"connect.url"}
"""Where an analyst finds a service: nothing of a curator's is in this process."""
EXACT = {
    "Clusters.plot.rows", "Clusters.predict.rows", "KMeans.fit.X", "KMeans.fit.y", "KMeans.plot.rows",
    "KMeans.predict.X", "KNorm.vertices", "KNorm.of_contributions.contributions", "check.table",
    "RandomizedResponse.estimate_tally.tally", "RandomizedResponse.variance.share", "Threshold.interval.noisy",
}  # fmt: skip
"""Arrays and frames of the caller's own numbers: no place of the curator's is behind them."""
UNREAD = {
    "Gaussian.calibration", "Gaussian.error.reals", "Guarantee.epsilon", "Guarantee.delta", "Guarantee.rho",
    "Laplace.error.reals", "Staircase.error.reals", "Staircase.law.reals", "Staircase.same_loss.reals",
    "RandomizedResponse.estimate_tally.simplex", "check.neighbors", "check_sensitivity.f",
    "check_sensitivity.domain", "check_sensitivity.sizes", "Budget.payment.key", "Budget.points.key",
    *(f"KMeans.{name}" for name in ("n_clusters", "epsilon", "bounds", "algorithm", "rounds", "neighbors")),
}  # fmt: skip
"""Theory that keeps what it is given, asks whether it is true, or counts through it, and opens nothing."""


VERBS = ("PrivateTable", "PrivateGroups", "GroupingSets", "BatchQuestion", "RangesQuestion", "GroupedRangesQuestion",
         "HierarchyQuestion", "HierarchyRelease", "Question", "OpenQuestion", "Release", "Top", "PublicTable", "batch",
         "PathGroups", "PublicKeys", "sql", "kmeans", "release_log", "sample_own_log", "protect", "public_keys", "open",
         "public")  # fmt: skip
"""Whose refusals are ours, in our words; theory may leave them to NumPy."""
REFUSING = {"Question.limit", "OpenQuestion.rounds", "Budget.verify"}
"""What refuses these objects whatever it is given: a record in memory has no end to compare with, for example."""
SECRET = ("7391846", "7391847", "hepatitis")


class Places:
    """A path, frames and connections of one world."""

    def __init__(self, folder: Path, rows: pa.Table) -> None:
        self.path = folder / "visits.parquet"
        self.rows = rows
        pq.write_table(rows, self.path)
        self.connection = ibis.duckdb.connect()
        self.connection.con.register("handed", rows)
        self.connection.con.execute("CREATE TABLE visits AS FROM handed")
        self.held = self.path.open("rb")

    def each(self) -> dict[str, Any]:
        """The places by what they are."""
        frame = self.rows.to_pandas()
        self.held.seek(0)
        return {
            "text": str(self.path), "path": self.path, "file": self.held, "pandas": frame, "Arrow": self.rows,
            "polars": pl.from_arrow(self.rows), "dataset": dataset.dataset(self.path),
            "table": self.connection.table("visits"), "column": self.connection.table("visits").plan,
            "connection": self.connection.con,
        }  # fmt: skip


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Places, Places]]:
    """Two folders of one name each; the rows differ."""
    made = []
    for disease, person in (("hepatitis", 7391846), ("hepatitis B", 7391847)):
        rows = pa.table({"plan": [disease], "person": [person]})
        made.append(Places(tmp_path_factory.mktemp("world"), rows))
    yield made[0], made[1]
    for world in made:
        world.held.close()
        world.connection.disconnect()


@pytest.mark.long
@pytest.mark.parametrize("name", CALLS)
def test_the_calls_are_good_without_a_place(name: str, own: Own) -> None:
    """Otherwise a refusal would be of something else."""
    if name.rpartition(".")[2] not in REFUSED and name not in REFUSING:
        with suppress(Missing):
            called(name, "", None, own)


def outcome(name: str, parameter: str, place: Any, own: Own) -> tuple[str, str, bool]:
    """What is seen of a call: its kind, its text, and whether it refused in our words."""
    try:
        found = called(name, parameter, place, own)
    except dp.DiscreetError as refusal:
        return "refused", str(refusal), True
    except Exception as refusal:  # noqa: BLE001 (theory leaves some to NumPy and to Python)
        return "refused", str(refusal), False
    return "taken", type(found).__name__, False


def parameters(name: str, function: Callable[..., Any]) -> Iterator[str]:
    """Those that an analyst gives."""
    for parameter in inspect.signature(function).parameters:
        full = f"{name}.{parameter}"
        if parameter not in ("self", "cls", "words") and full not in {*CURATORS, *HOLDERS, *ELSEWHERE, *EXACT}:
            yield parameter


@pytest.mark.long
@pytest.mark.cases
@pytest.mark.parametrize("name", CALLS)
def test_what_an_analyst_gives_is_never_opened(name: str, worlds: tuple[Places, Places], own: Own) -> None:
    """Refused, or taken as the text that it is, in the same words in both worlds; whatever it holds is not shown."""
    first, second = (world.each() for world in worlds)
    for parameter in parameters(name, CALLS[name]):
        for what, place in first.items():
            first["file"].seek(0)
            second["file"].seek(0)
            label = f"{name}({parameter}=) with a {what}"
            one, other = outcome(name, parameter, place, own), outcome(name, parameter, second[what], own)
            pairs = zip((one, other), worlds, strict=True)
            texts = [seen.replace(str(world.path.parent), "") for (_, seen, _), world in pairs]
            assert one[0] == other[0], label
            assert texts[0] == texts[1], f"{label}: {texts}"
            assert not any(secret in text for text in texts for secret in SECRET), f"{label}: {texts}"
            if name.partition(".")[0] in VERBS and one[0] == "refused" and parameter != "options":
                assert one[2], f"{label}: {one}"
            if what not in ("text", "path", "pandas", "Arrow", "polars"):
                assert one[0] == "refused" or f"{name}.{parameter}" in UNREAD, f"{label}: {one}"


@pytest.mark.parametrize("what", ["text", "path", "file", "pandas", "Arrow", "polars", "dataset", "table", "column"])
def test_keys_are_no_place(what: str, worlds: tuple[Places, Places]) -> None:
    """What published the protected file: keys from a place that an analyst names. Also inside, and in SQL."""
    place = worlds[0].each()[what]
    table = dp.protect(worlds[0].path, unit=dp.ROW, budget=dp.Budget(epsilon=1))
    statement = "SELECT plan, COUNT(*) AS n FROM t GROUP BY plan"
    asks: list[Callable[[], Any]] = [
        lambda: table.group_by("plan", keys=place),
        lambda: table.group_by("plan", keys={"plan": place}),
        lambda: table.partition("plan", keys=place),
        lambda: table.top("plan", keys=place, epsilon=1),
        lambda: table.choose(place, score=lambda c: table.plan == c, epsilon=1),
        lambda: dp.sql(statement, t=table, keys=place),
        lambda: dp.sql(statement, t=place, keys={"plan": ["a"]}),
    ]
    for ask in asks:
        with pytest.raises((dp.InvalidParameter, dp.InvalidQuery), match="Hint: ") as refusal:
            ask()
        assert not any(secret in str(refusal.value) for secret in SECRET)
    assert table.budget.spent.epsilon == 0


@pytest.mark.parametrize(
    "named",
    ["'{}'", "read_parquet('{}')", "read_csv('{}')", "parquet_scan('{}')", "t, '{}'", "t JOIN '{}' USING (plan)",
     "(SELECT * FROM '{}')", "t WHERE plan IN (SELECT plan FROM '{}')", "t WHERE plan = getenv('HOME')"],
)  # fmt: skip
def test_sql_names_no_file(named: str, worlds: tuple[Places, Places]) -> None:
    table = dp.protect(worlds[0].path, unit=dp.ROW, budget=dp.Budget(epsilon=1))
    with pytest.raises(dp.InvalidQuery, match="Hint: ") as refusal:
        dp.sql("SELECT COUNT(*) AS n FROM " + named.format(worlds[0].path), t=table)  # noqa: S608 (what is refused)
    assert not any(secret in str(refusal.value) for secret in SECRET)


def test_expressions_look_at_no_other_table(worlds: tuple[Places, Places], monkeypatch: pytest.MonkeyPatch) -> None:
    """Ibis makes a sub-query of a column of another table; in its interactive mode, a table shows its rows as text."""
    monkeypatch.setattr(ibis.options, "interactive", True)
    table = dp.protect(worlds[0].path, unit=dp.ROW, budget=dp.Budget(epsilon=1))
    other = worlds[1].connection.table("visits")
    frame = ibis.memtable(worlds[1].rows)
    asks: list[Callable[[], Any]] = [
        lambda: table.filter(_.plan.isin(other.plan)),
        lambda: table.filter(_.plan.isin(frame.plan)),
        lambda: table.filter(_.plan == other.plan),
        lambda: table.filter(_.person == other.person.max().as_scalar()),
        lambda: table.mutate(x=other.person),
        lambda: table.agg(n=other.count()),
        lambda: table.agg(n=_.count(where=other.person > 0)),
        lambda: table.join(other, "plan"),
        lambda: table.union(other),
        lambda: table.group_by(other.plan),
        lambda: table.group_by("plan", keys={"plan": other.plan}),
    ]
    for ask in asks:
        with pytest.raises(dp.DiscreetError, match="Hint: ") as refusal:
            ask()
        assert not any(secret in str(refusal.value) for secret in SECRET), refusal.value


def test_an_answer_file_shows_answers_alone(worlds: tuple[Places, Places], tmp_path: Path) -> None:
    place = worlds[0].path
    with pytest.raises(dp.InvalidParameter, match="the file of this answer"):
        dp.AnswerFile(place, 1, {}).head()
    written = question().release(epsilon=1, to=tmp_path / "plans.parquet")
    assert written.head(1).num_rows == 1
    written.path.write_bytes(place.read_bytes())
    with pytest.raises(dp.InvalidParameter, match="the file of this answer"):
        written.head()


def test_the_written_lists_name_parameters_that_are_there() -> None:
    """And every parameter whose type can be a path is on one of them."""
    found = {f"{name}.{one}" for name, call in public().items() for one in inspect.signature(call).parameters}
    assert {*CURATORS, *HOLDERS, *ELSEWHERE, *EXACT, *UNREAD} <= found
    for name, call in public().items():
        for one in inspect.signature(call).parameters.values():
            if "PathLike" in str(one.annotation) or one.name in ("path", "ledger", "to", "data", "url", "connection"):
                assert f"{name}.{one.name}" in {*CURATORS, *HOLDERS, *ELSEWHERE}, f"{name}.{one.name}"


def test_every_class_and_call_is_tried(makers: dict[str, Any]) -> None:
    """Whatever becomes public is tried as well, or is said to be inner."""
    kinds = [name for name in dp.__all__ if inspect.isclass(getattr(dp, name))]
    classes = {name for name in kinds if not issubclass(getattr(dp, name), BaseException)}
    assert classes | set(MADE) <= set(makers)
    assert set(public()) >= INNER
