"""Places are the curator's: every public callable, every parameter, a path, a frame and a connection in its place.

Each call is made in two worlds, in which the places hold other rows, or nothing. An analyst's parameter refuses them,
in the same words in both worlds, and never shows what is there.
"""

from __future__ import annotations

import functools
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
import several_tables
from discreet.choices.choose_candidate import Choice
from discreet.distinct_values.count_distinct import DistinctValues
from discreet.hierarchies.hierarchy_question import HierarchyQuestion, PathGroups
from discreet.hierarchies.measured_levels import HierarchyRelease
from discreet.logs.top_keys import Top
from discreet.query.grouping_sets import GroupingSets
from discreet.query.public_keys import PublicKeys
from discreet.query.public_table import PublicTable
from discreet.query.table import PrivateGroups
from discreet.query.unreleased import REFUSED
from discreet.testing import people, visits

ONLY_MADE = (PrivateGroups, GroupingSets, PathGroups, HierarchyQuestion, HierarchyRelease, PublicTable, PublicKeys)
MADE = {**{kind.__name__: kind for kind in (*ONLY_MADE, Top, Choice, DistinctValues)}, "OpenQuestion": dp.Question}
"""Public classes that only other calls make, and a question with unknown keys."""
BY_HAND = (
    "Budget", "KMeans", "DiscreteGaussian", "Exponential", "Gaussian", "Guarantee", "KNorm", "KeySelection", "Laplace",
    "NoisyMax", "PermuteAndFlip", "RandomizedResponse", "SparseVector", "Staircase", "Threshold",
)  # fmt: skip
"""Those whose constructor is public; the others come out of calls."""

CURATORS = {
    "protect.data": "what is protected",
    "protect.via": "the tables on the way to the unit of what is protected",
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
    (("RangesRelease", "BatchQuestion", "KMeans"), ("plot",)),
    (("BatchRelease",), ("to_parquet", "to_csv", "to_excel")),
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


def public() -> dict[str, Callable[..., Any]]:
    """Every public callable by name: functions, constructors and methods."""
    found: dict[str, Callable[..., Any]] = {}
    for name in dp.__all__:
        thing = getattr(dp, name)
        if inspect.isfunction(thing):
            found[name] = thing
        elif inspect.isclass(thing) and not issubclass(thing, BaseException):
            found |= dict(methods(name, thing))
    for name, kind in MADE.items():
        found |= dict(methods(name, kind))
    return found


def methods(name: str, kind: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    if name in BY_HAND:
        yield name, kind
    for attribute in dir(kind):
        held = inspect.getattr_static(kind, attribute)
        function = getattr(held, "__func__", held)
        ours = inspect.isfunction(function) and function.__module__.startswith("discreet")
        if ours and not attribute.startswith("_"):
            yield f"{name}.{attribute}", function


def question(**stated: Any) -> dp.Question:
    found: dp.Question = people().group_by("plan", **stated).agg(n=_.count(), m=_.visits.mean())
    return found


Own = Callable[[str], Any]
LOG = pa.table({"who": list(range(60)), "page": ["/home"] * 60})
LOGGED: dict[str, Any] = {"user": "who", "item": "page", "epsilon": 3, "delta": 1e-6}
COLUMNS = ["age", "visits"]
PLANS = pa.table({"plan": ["free", "25%"], "share": [0, 25]})

ASKED = ("Question", "OpenQuestion", "Release")
AFTER: dict[str, dict[str, Any]] = {
    "filter": {"conditions": (_.n > 1,)}, "having": {"conditions": (_.n > 1,)}, "select": {"names": ("n",)},
    "mutate": {"expressions": {"half": _.n / 2}}, "order_by": {"columns": ("n",)},
}  # fmt: skip
"""What the verbs after the noise need."""
PRICED = {"sensitivity": 1, "epsilon": 1}


@functools.cache
def needed() -> dict[str, dict[str, Any]]:
    """What else each call needs; made when it is used, since a test process is forked."""
    return several_tables.needed() | {
    "Budget": {"epsilon": 1}, "Budget.remaining_queries": {"epsilon": 1},
    "DiscreteGaussian": {"sensitivity": 1, "rho": 1}, "Gaussian": {"sensitivity": 1, "rho": 1},
    "Exponential": PRICED, "Laplace": PRICED, "NoisyMax": PRICED, "PermuteAndFlip": PRICED, "Staircase": PRICED,
    "SparseVector": {**PRICED, "threshold": 5}, "Threshold": {"epsilon": 1, "delta": 1e-3},
    "KeySelection": {"epsilon": 1, "delta": 1e-3}, "RandomizedResponse": {"epsilon": 1}, "Guarantee": {"epsilon": 1},
    "KMeans": {"epsilon": 8, "bounds": (0, 1)}, "KNorm": {"vertices": [[1, 0], [0, 1], [-1, 0], [0, -1]], "epsilon": 1},
    "KNorm.box": {"reaches": [1, 1], "epsilon": 1}, "KNorm.cross_polytope": {"reaches": [1, 1], "epsilon": 1},
    "KNorm.of_contributions": {"contributions": [[1, 0], [0, 1]], "epsilon": 1}, "KNorm.release": {"values": [1, 2]},
    "Consistent.deviation": {"weights": [1, 1]}, "DiscreteGaussian.delta": {"epsilon": 1},
    "Gaussian.epsilon_for": {"within": 5, "delta": 1e-6}, "Laplace.epsilon_for": {"within": 5},
    "Laplace.sample_size": {"within": 0.1, "epsilon": 1}, "Laplace.split": {"sensitivities": [1, 2], "epsilon": 1},
    "RandomizedResponse.epsilon_for": {"within": 0.1, "people": 1000}, "RandomizedResponse.bound": {"people": 1000},
    "RandomizedResponse.sample_size": {"within": 0.1, "epsilon": 1}, "RandomizedResponse.variance": {"people": 1000},
    "RandomizedResponse.estimate_tally": {"tally": [1, 2], "people": 3}, "SparseVector.bound": {"answers": 5},
    "KeySelection.probability": {"users": 5}, "KeySelection.weight": {"groups": 1}, "Threshold.keep": {"count": 5},
    "PrivateTable.cast": {"types": {"age": "float64"}}, "PrivateTable.cut": {"column": "age", "edges": [0, 20, 110]},
    "PrivateTable.fill_null": {"values": {"age": 0}}, "PrivateTable.histogram": {"column": "age"},
    "PrivateTable.filter": {"conditions": (_.age > 3,)}, "PrivateTable.agg": {"aggregates": {"n": _.count()}},
    "PrivateTable.mutate": {"expressions": {"old": _.age > 3}}, "PrivateTable.group_by": {"names": ("plan",)},
    "PrivateTable.distinct": {"names": ("plan",)}, "PrivateTable.per_unit": {"aggregates": {"n": _.count()}},
    "PrivateTable.join": {"other": dp.public(PLANS), "on": "plan"}, "PrivateTable.rename": {"names": {"years": "age"}},
    "PrivateTable.kmeans": {"columns": COLUMNS, "n_clusters": 2, "epsilon": 5}, "Release.pivot": {"columns": "plan"},
    "PrivateTable.partition": {"column": "plan", "max_parts": 1}, "PrivateTable.top": {"column": "plan", "epsilon": 4},
    "PrivateTable.regress": {"outcome": "visits", "predictor": "age"}, "PrivateTable.drop": {"names": ("visits",)},
    "PrivateTable.refreshed": {"data": visits(), "version": 2}, "PrivateGroups.agg": {"aggregates": {"n": _.count()}},
    "PrivateTable.choose": {"candidates": [1, 2], "score": lambda c: _.age == c, "epsilon": 0.5},
    "PrivateTable.series": {"by": "age", "start": 0, "every": 10, "until": 69, "max_steps": 1},
    "PrivateTable.select": {"names": ("plan",)}, "PrivateTable.count_distinct": {"column": "plan", "epsilon": 0.5},
    **{f"{kind}.regress": {"outcome": "visits", "predictor": "age"} for kind in ("PrivateGroups", "GroupingSets")},
    "Question.explain": {"epsilon": 1}, "Question.release": {"epsilon": 1}, "Question.limit": {"n": 1},
    "Question.rounds": {"within": {"n": 20}, "up_to": 5}, "OpenQuestion.explain": {"epsilon": 1, "delta": 1e-3},
    "OpenQuestion.release": {"epsilon": 1, "delta": 1e-3}, "OpenQuestion.limit": {"n": 1}, "Release.limit": {"n": 1},
    "OpenQuestion.rounds": {"within": {"n": 5}, "up_to": 1}, "Receipt.of": {"facts": {"private": True}},
    "check": {"table": [[0.5, 0.5], [0.5, 0.5]], "epsilon": 1}, "check_sensitivity": {"f": len, "claimed": 1},
    "consistent": {"measured": [[4, 5], [10]], "parents": [[0, 0]], "variances": [[1, 1], [1]]},
    "kmeans": {"table": people(), "columns": COLUMNS, "n_clusters": 2, "epsilon": 5}, "public_keys": {"data": PLANS},
    "protect": {"data": PLANS, "unit": dp.ROW, "budget": dp.Budget(epsilon=1)}, "public": {"data": PLANS},
    "sample_own_log": {"log": LOG, "user": "who", "item": "page", "output_counts": {"/home": 3}},
    "sql": {"text": "SELECT COUNT(*) FROM t", "tables": {"t": people()}}, "release_log": {"table": LOG, **LOGGED},
}  # fmt: skip


VERBS = ("PrivateTable", "PrivateGroups", "GroupingSets", "BatchQuestion", "RangesQuestion", "batch", "PathGroups",
         "HierarchyQuestion", "HierarchyRelease", "Question", "OpenQuestion", "Release", "Top", "PublicTable", "public",
         "PublicKeys", "sql", "kmeans", "release_log", "sample_own_log", "protect", "public_keys", "open")  # fmt: skip
"""Whose refusals are ours, in our words; theory may leave them to NumPy."""
INNER = {
    "PrivateTable.of", "BatchQuestion.plan", "RangesQuestion.plan", "BatchRelease.weighted", "BatchRelease.stacked",
    "Question.plan", "OpenQuestion.plan", "PublicTable.most", "PublicTable.renamed", "PublicTable.table",
    "PublicTable.value", "PublicKeys.of", "Budget.check", "Budget.check_process", "Budget.reserve", "Budget.stored",
    "Gaussian.add_noise", "Laplace.add_noise", "Staircase.add_noise", "AnswerFile.head",
}  # fmt: skip
"""What our own rooms call, on objects of ours; `AnswerFile.head` has a test of its own below."""
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


CALLS = {name: call for name, call in public().items() if name not in INNER}


class Missing(TypeError):
    """The parameter that is tried is one that the call needs."""


def called(name: str, parameter: str, place: Any, own: Own) -> Any:
    """The call with a place for one of its parameters."""
    kind, _dot, method = name.partition(".")
    function = getattr(own(kind), method) if method else getattr(dp, name)
    given = (AFTER.get(method, {}) if kind in ASKED else {}) | needed().get(name, {}) | {parameter: place}
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for one in inspect.signature(function).parameters.values():
        if one.name not in given:
            continue
        value = given[one.name]
        if one.kind is one.VAR_POSITIONAL:
            positional += [place] if one.name == parameter else value
        elif one.kind is one.VAR_KEYWORD:
            named |= {"given": place} if one.name == parameter else value
        elif one.kind is one.POSITIONAL_ONLY:
            positional.append(value)
        else:
            named[one.name] = value
    try:
        inspect.signature(function).bind(*positional, **named)
    except TypeError as wrong:
        if "missing" in str(wrong):
            raise Missing(str(wrong)) from None
    return function(*positional, **named)


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
