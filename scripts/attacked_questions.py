"""The questions with which every public aggregate and verb is attacked; a test sees that none is missing.

Each is asked of a table that is then exchanged for its worst neighbors.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import discreet as dp
from discreet.answers.batch_release import BatchRelease
from discreet.query.batch_question import BatchQuestion
from discreet.query.question import Question
from discreet.query.ranges import GroupedRangesQuestion, RangesQuestion
from discreet.query.table import PrivateTable
from level_attacks import all_levels, all_steps

Ask = Callable[[PrivateTable], Any]

PEOPLE = pa.table(
    {
        "person": [1, 1, 2, 3, 3, 4, 5],
        "plan": ["a", "b", "a", "c", "b", None, "a"],
        "age": pa.array([20, 21, 35, 50, 51, None, 90], pa.int64()),
        "cost": [1.0, 5.0, 2.5, None, 900.0, 3.0, -4.0],
    }
)
STATED: Mapping[str, Any] = {
    "unit": "person", "bounds": {"age": (0, 110), "cost": (0, 50)}, "keys": {"plan": ["a", "b", "d", None]},
    "max_groups": 2, "max_rows": 2,
}  # fmt: skip


def answered(ask: Ask, rows: Any) -> Any:
    """A question as it shows itself, and its answer; or the answer, of what answers at once."""
    asked = ask(dp.protect(rows, budget=dp.Budget(epsilon=1, delta=1e-6), name="people", **STATED))
    if isinstance(asked, BatchQuestion | RangesQuestion | GroupedRangesQuestion):
        found = asked.release(epsilon=1)
        facts = {name: fact for name, fact in found.receipt.items() if name != "time"}
        return repr(asked), (found if isinstance(found, BatchRelease) else found.table).to_pyarrow(), facts
    return (repr(asked), asked.release(epsilon=1)) if isinstance(asked, Question) else asked


def by_plan(t: PrivateTable, **asked: Any) -> Question:
    """Aggregates in groups."""
    return t.group_by("plan").agg(**asked)


PLANS = pa.table({"plan": ["a", "a", "a", "b", "d"], "share": [1, 2, 3, 5, 7]})
"""Public, with duplicates: each row of plan a comes out three times."""


def _two(t: PrivateTable) -> PrivateTable:
    return t.select("person", "plan")


AGGREGATES: dict[str, Ask] = {
    "count": lambda t: by_plan(t, a=lambda s: s.count(), b=lambda s: s.age.count(where=s.cost > 2)),
    "units": lambda t: by_plan(t, a=lambda s: s.person.nunique()),
    "distinct": lambda t: t.group_by(old=t.age > 30, keys={"old": [True, False]}).agg(
        a=lambda s: s.plan.nunique(), b=lambda s: s.plan.nunique(where=s.cost > 2)
    ),
    "distinct at least": lambda t: t.agg(a=lambda s: s.age.nunique(), b=lambda s: s.age.nunique(where=s.cost > 2)),
    "sum": lambda t: by_plan(t, a=lambda s: s.cost.sum(), b=lambda s: (s.age * 2 - 7).sum()),
    "mean": lambda t: by_plan(t, a=lambda s: s.cost.mean()),
    "variance": lambda t: by_plan(t, a=lambda s: s.cost.var()),
    "std": lambda t: by_plan(t, a=lambda s: s.cost.std(how="pop")),
    "covariance": lambda t: by_plan(t, a=lambda s: s.cost.cov(s.age), n=lambda s: s.count()),
    "correlation": lambda t: by_plan(t, a=lambda s: s.cost.corr(s.age, where=s.cost > 2)),
    "slope": lambda t: t.group_by("plan").regress(
        "cost", ["age", (t.age > 30).name("old"), (t.cost * t.age).name("both")], where=t.age > 20
    ),
    "intercept": lambda t: t.regress(t.cost, t.age, where=t.cost > 2),
    "quantile": lambda t: by_plan(
        t, a=lambda s: s.cost.quantile([0.1, 0.5]), b=lambda s: s.age.median(where=s.cost > 2)
    ),
    "minimum": lambda t: by_plan(t, a=lambda s: s.cost.min()),
    "maximum": lambda t: by_plan(t, a=lambda s: s.age.max()),
}
"""By statistic: each of `STATISTICS` has one."""

VERBS: dict[str, Ask] = {
    "filter": lambda t: t.filter(t.cost > 2, t.plan != "b").count(),
    "mutate": lambda t: t.mutate(x=t.cost * t.age / 7).agg(a=lambda s: s.x.mean()),
    "select": lambda t: t.select("person", "cost").agg(a=lambda s: s.cost.sum()),
    "rename": lambda t: t.rename(price="cost").agg(a=lambda s: s.price.sum()),
    "drop": lambda t: t.drop("age").agg(a=lambda s: s.cost.sum()),
    "cast": lambda t: t.cast({"age": "float64"}).agg(a=lambda s: (s.age / 3).sum()),
    "fill_null": lambda t: t.fill_null({"cost": 7}).agg(a=lambda s: s.cost.mean()),
    "cut": lambda t: t.cut("cost", [0, 10, 50]).group_by("cost_bin").agg(a=lambda s: s.count()),
    "histogram": lambda t: t.histogram("cost", bins=5, max_groups=2, max_rows=2),
    "crosstabs": lambda t: t.mutate(old=t.age > 30).crosstabs("plan", "old", ways=2, max_groups=2, max_rows=2),
    "distinct": lambda t: t.select("person", "plan").distinct().agg(a=lambda s: s.count()),
    "group_by": lambda t: t.group_by(long=t.plan.length(), keys={"long": [0, 1, 2]}).agg(a=lambda s: s.count()),
    "agg": lambda t: t.agg(a=t.cost.sum(), b=t.age.mean(), c=lambda s: s.count(), d=t.person.nunique()),
    "count": lambda t: t.count(where=t.age > 30),
    "nunique": lambda t: t.nunique(where=t.cost < 10),
    "union": lambda t: t.filter(t.cost > 2).union(t.filter(t.age > 30)).agg(a=lambda s: s.cost.sum()),
    "intersect": lambda t: _two(t).intersect(_two(t.filter(t.cost > 2))).agg(a=lambda s: s.count()),
    "difference": lambda t: _two(t).difference(_two(t.filter(t.cost > 2))).agg(a=lambda s: s.count()),
    "join": lambda t: t.join(dp.public(PLANS), "plan", max_matches=3).agg(
        a=lambda s: (s.cost * s.share).sum(), b=lambda s: s.count()
    ),
    "partition": lambda t: t.partition("plan", max_parts=1)["a"].agg(a=lambda s: s.cost.sum(), b=lambda s: s.count()),
    "unnest": lambda t: (
        t.unnest(x=[t.cost, t.age, t.cost * 2]).group_by("plan").agg(a=lambda s: s.x.sum(), b=lambda s: s.count())
    ),
    "pivot_longer": lambda t: (
        t.pivot_longer(["age", "cost"], raise_limits=True).group_by("name").agg(a=lambda s: s.value.sum())
    ),
    "take": lambda t: t.take(4).group_by("plan").agg(a=lambda s: s.count(), b=lambda s: s.cost.sum()),
    "skip": lambda t: t.skip(4).group_by("plan").agg(a=lambda s: s.count(), b=lambda s: s.cost.sum()),
    "per_key": lambda t: (
        t.per_key("plan", "age", max_keys=2, n=lambda s: s.count(), c=lambda s: s.cost.max())
        .group_by("plan")
        .agg(a=lambda s: s.count(where=s.n > 1), b=lambda s: s.c.sum())
    ),
    "per_unit": lambda t: t.per_unit(
        rows=lambda s: s.count(), most=lambda s: s.cost.max(), total=lambda s: s.cost.sum()
    ).agg(a=lambda s: s.total.clip(-5, 60).mean(), b=lambda s: s.count(where=s.rows > 1), c=lambda s: s.most.sum()),
    "refreshed": lambda t: t.union(t.refreshed(PEOPLE, version=2)).agg(a=lambda s: s.cost.sum(), b=lambda s: s.count()),
    "regress": lambda t: t.regress("age", ["cost", (t.age > 30).name("old"), (t.cost > 2).name("dear")]),
    "top": lambda t: t.top("plan", k=2, epsilon=1),
    "choose": lambda t: t.choose([0, 1, 2], score=lambda c: t.plan.length() == c, epsilon=1),
    "count_distinct": lambda t: t.count_distinct("plan", epsilon=1),
    "truncated_total": lambda t: t.truncated_total(t.cost, epsilon=1),
    "hierarchy": all_levels,
    "series": all_steps,
    "kmeans": lambda t: t.kmeans(["age", "cost"], n_clusters=2, epsilon=1, algorithm="lloyd", rounds=2),
}
"""By name: each public method of a table that leads to a question has one; those that always refuse do not."""

AT_ONCE = frozenset({"top", "choose", "count_distinct", "truncated_total", "hierarchy", "series", "kmeans"})
"""Of these, what gives its answer at once."""


def _filed(asked: Question) -> Any:
    """An answer in a file: what is in it, and all that Parquet says of how it is laid out; without its time."""
    written = asked.release(epsilon=1, to="answer.parquet")
    with pq.ParquetFile(written.path) as file:
        layout, rows = file.metadata.to_dict(), file.read().replace_schema_metadata()
    written.path.unlink()  # the receipt in it has the time
    return (
        repr(asked),
        json.dumps(layout, default=str),
        rows,
        {name: fact for name, fact in written.receipt.items() if name != "time"},
    )


WAYS: dict[str, Ask] = {
    "to": lambda t: _filed(by_plan(t, a=lambda s: s.count(), b=lambda s: s.cost.mean(), c=lambda s: s.plan.nunique())),
    "batch": lambda t: dp.batch(
        by_plan=by_plan(t, a=lambda s: s.count(), b=lambda s: s.cost.sum()),
        old=t.filter(t.age > 30, t.cost < 20).agg(a=lambda s: s.cost.sum()),
        max_groups=2,
        max_rows=2,
    ),
    "ranges in a batch": lambda t: dp.batch(
        by_cost=t.histogram("cost", bins=5, max_groups=2, max_rows=2, ranges=True),
        old=t.filter(t.age > 30).count(),
        in_plans=t.group_by("plan").histogram("age", bins=4, ranges="prefixes"),
        max_groups=2,
        max_rows=2,
    ),
    "limits in a batch": lambda t: dp.batch(
        groups=t.group_by("plan", max_groups="auto").agg(a=lambda s: s.count()),
        rows=t.group_by("plan", max_rows="auto").agg(b=lambda s: s.cost.sum()),
    ),
    "ranges": lambda t: t.histogram("cost", bins=5, max_groups=2, max_rows=2, ranges=True),
    "prefixes": lambda t: t.histogram("cost", bins=5, max_groups=2, max_rows=2, ranges="prefixes"),
    "bounds": lambda t: by_plan(t, a=lambda s: s.cost.mean(), b=lambda s: s.age.sum()).release(
        epsilon=1, bounds="auto"
    ),
    "limits": lambda t: t.group_by("plan", max_groups="auto", max_rows="auto").agg(a=lambda s: s.cost.sum()),
    "race": lambda t: t.truncated_total(t.age, limit="race", epsilon=1),
    "set": lambda t: t.top("plan", k=2, order=False, epsilon=1),
    "ranges in groups": lambda t: t.group_by("plan").histogram("cost", bins=5, ranges=True),
}
"""By parameter: how an answer is given, other than from `release` itself."""

QUESTIONS: dict[str, Ask] = {
    **{f"aggregate {name}": ask for name, ask in AGGREGATES.items()},
    **{f"verb {name}": ask for name, ask in VERBS.items()},
    **WAYS,
}
"""Aggregates, verbs and ways under one name each."""

DELTAS = {"verb series": 1e-7}
"""By question: the delta that it claims beside an epsilon of 1; all others claim none."""
