"""Random documents, valid ones and mutated: what `dp.question` is given, and what it makes of them.

``python scripts/random_documents.py 1000000`` reads so many, prints how they ended, and fails at anything but a
question or a clean refusal. ``tests/fuzz/test_documents.py`` reads some in every run of the tests.
"""

from __future__ import annotations

import copy
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date, datetime
from typing import Any

import ibis
import pyarrow as pa
from ibis import _

import discreet as dp
from discreet.errors import InvalidParameter, InvalidQuery
from discreet.query.expression_documents import OPERATIONS
from discreet.query.table import PrivateTable

Document = dict[str, Any]
Ask = Callable[[Mapping[str, Any]], Any]

SLOW = 2.0
"""Seconds of work that no document may take."""
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 10**6, 2**63 - 1, -(2**63), 0.5, 1.0, -0.0, 1e300, 5e-324, "", "age", "person"),
    *(
        "plan",
        "n",
        "\ud800",
        "\0",
        "__discreet_unit_0",
        "é" * 40,
        "x" * 10_001,
        [],
        {},
        [[]],
        [None],
        {"column": "age"},
    ),
    *({"real": "inf"}, {"real": "1.0"}, {"null": True}, {"date": "2020-01-31"}, {"timestamp": "9999-12-31T23:59:59"}),
    *({"window": {"of": {"min_rank": []}}}, {"preceding": 2**31}, {"by": {"column": "n"}, "desc": True}, "range"),
    *({"list": [0.1, 0.9]}, {"interval": [3, "D"]}, {"count_star": []}, {"table": "people"}, "auto", "self", "verb"),
)


def tables() -> dict[str, Any]:
    """What documents are read against: two protected tables of one budget, a public one, and public keys."""
    rows = pa.table(
        {
            "person": [1, 1, 2], "plan": ["a", "b", "a"], "age": [20, 21, None], "cost": [1.0, 5.0, None],
            "sick": [True, None, False],
            "day": [date(2020, 1, 1)] * 3, "at": [datetime.fromisoformat("2020-01-01T00:00:00")] * 3,
        }
    )  # fmt: skip
    stated: dict[str, Any] = {
        "unit": "person",
        "bounds": {"age": (0, 110), "cost": (0, 50), "day": ("2000-01-01", "2029-12-31")},
        "keys": {"plan": ["a", "b", None]},
        "max_groups": 2,
        "max_rows": 3,
        "budget": dp.Budget(epsilon=10, delta=1e-6),
    }
    plans = pa.table({"plan": ["a", "b"], "share": [1, 2]})
    return {
        "people": dp.protect(rows, name="people", **stated),
        "others": dp.protect(rows.select(["person", "plan"]), name="others", **{**stated, "bounds": {}}),
        "plans": dp.public(plans, name="plans"),
        "places": dp.public_keys(plans.select(["plan"]), name="places"),
    }


def _text(t: Mapping[str, Any], text: str, **stated: Any) -> Any:
    return dp.sql(text, people=t["people"], others=t["others"], plans=t["plans"], **stated)


def _by(t: PrivateTable) -> Any:
    return t.group_by("plan").agg(n=_.count(), m=_.cost.mean(), s=_.age.sum())


ASKED: tuple[Ask, ...] = (
    lambda t: t["people"].count(),
    lambda t: t["people"].nunique(where=_.age > 3),
    lambda t: t["people"].drop("person").nunique(),
    lambda t: _by(t["people"]).having(_.n > 3, _.plan != "b").order_by(ibis.desc("m"), "n").limit(2, offset=1),
    lambda t: _by(t["people"]).mutate(share=_.n / _.n.sum(), x=_.m * 2.0 + _.s).select("plan", "share"),
    lambda t: _by(t["people"]).mutate(
        w=_.n.sum().over(rows=(-2, 1), group_by="plan", order_by=[_.m, ibis.desc("plan")]), r=_.n.rank(),
        a=ibis.ntile(4).over(order_by=_.n), b=_.n.lag(2, default=0).over(order_by=_.n), f=_.m.first(), o=_.m.nth(2),
        c=_.n.cumsum(), z=_.m.sin().isnan(),
    ).having(_.n.dense_rank() < 9).order_by(ibis.desc(_.s.percent_rank())),
    lambda t: t["people"].cut("age", [0, 18, 65.5, 110]).group_by("age_bin", "plan").agg(q=_.cost.quantile([0.1, 0.5])),
    lambda t: t["people"].histogram("cost", 5, ranges=True),
    lambda t: t["people"].group_by("plan", "sick").histogram("cost", 5, ranges="prefixes"),
    lambda t: t["people"].group_by("plan", keys=t["places"]).histogram("age", [0, 18, 65], ranges=True),
    lambda t: t["people"].group_by("plan", "sick", cube=True).agg(n=_.count(), v=_.cost.var()),
    lambda t: t["people"].group_by("plan", "sick", rollup=True).regress("cost", ["age"]),
    lambda t: t["people"].regress(_.cost, _.age + 1, where=_.sick),
    lambda t: t["people"].group_by("plan", keys=dp.UNKNOWN, max_groups=2).agg(n=_.count()),
    lambda t: t["people"].group_by("plan", keys=t["places"]).agg(n=_.count(), lo=_.age.min(), hi=_.day.max()),
    lambda t: t["people"].group_by("day", keys={"day": [date(2020, 1, 1), None]}, max_groups=1, max_rows="auto").agg(
        n=_.count()
    ),
    lambda t: t["people"].join(t["plans"], "plan").agg(s=(_.cost * _.share).sum(), d=_.plan.nunique()),
    lambda t: t["people"].join(t["others"].rename(way="plan"), how="left").group_by("way", keys={"way": ["a"]}).agg(
        n=_.count()
    ),
    lambda t: t["people"].select("person", "plan").union(t["others"]).distinct("plan").agg(n=_.count()),
    lambda t: t["people"].select("plan").union(t["others"].select("plan"), raise_limits=True).agg(n=_.count()),
    lambda t: t["people"].select("plan").difference(t["others"].select("plan")).agg(n=_.count()),
    lambda t: t["people"].join(t["others"], "plan", max_matches=(1, 2)).agg(n=_.count()),
    lambda t: t["people"].unnest(x=[_.age, _.cost, 3.5, ibis.null()], w=["plan", "plan", ibis.literal("c"), "plan"])
    .unnest(p=_.plan.upper().split("a"), max_items=3, raise_limits=True).group_by("p", keys={"p": ["A"]}).agg(
        x=_.x.sum()
    ),
    lambda t: t["people"].per_key("plan", "day", max_keys=3, n=_.person.nunique(), s=_.cost.sum(where=_.sick)).agg(
        n=_.count(where=_.n > 1), s=_.s.clip(0, 9).mean()
    ),
    lambda t: t["people"].take(3).agg(n=_.count()),
    lambda t: t["people"].skip(3).agg(n=_.count()),
    lambda t: t["people"].pivot_longer(["age", "cost"], names_to="what").group_by("what").agg(v=_.value.mean()),
    lambda t: t["people"].per_unit(n=_.count(), m=_.cost.max(where=_.sick), s=_.sick.any()).agg(
        a=_.m.mean(), b=_.n.clip(0, 9).sum()
    ),
    lambda t: t["people"].mutate(
        m=_.day.month(), w=_.at.truncate("D"), l=_.plan.upper().length(), c=_.plan.cast("string") + "x",
        b=_.age.bucket([0, 18.5, 65], include_over=True), f=_.cost.fill_null(0).round(),
        d=_.day + ibis.interval(days=3),
        i=_.plan.isin(["a", "b"]), t=_.plan.try_cast("int64"), r=_.plan.replace("a", "b").substr(0, 2),
        z=_.day.delta("2020-01-01", unit="day"), e=_.age.between(3, 40) & ~_.sick | _.plan.like("a%"),
    ).group_by("m", "i").agg(c=_.cost.corr(_.age), z=_.z.clip(0, 9).mean()),
    lambda t: t["people"].top("plan", k=2),
    lambda t: t["people"].filter(_.age > 3).top("day", keys=[date(2020, 1, 1), None], order=False),
    lambda t: t["people"].filter(_.age > 3).count_distinct("plan"),
    lambda t: t["people"].count_distinct("age", max_values=2),
    lambda t: t["people"].truncated_total(_.cost + 1, most=64),
    lambda t: t["people"].filter(_.sick).truncated_total(limit="race"),
    lambda t: t["people"].group_by("plan", "sick").agg(n=_.count()).mutate(
        near=_.n.sum().over(ibis.range_window(preceding=2.5, following=0, group_by=_.sick, order_by=_.n)),
        last=_.n.mean().over(ibis.window(rows=(-6, 0), order_by=ibis.desc(_.n))),
    ),
    lambda t: t["people"].choose(
        ["a", 2, 2.5, 3.0, None, date(2020, 1, 1)], score=lambda c: _.plan == str(c), max_rows=1
    ),
    lambda t: t["people"].choose([20, 21], score=lambda c: (_.cost - c).abs()),
    lambda t: t["people"].kmeans(["age", "cost"], n_clusters=3, max_groups=1, max_rows=2),
    lambda t: t["people"].kmeans(["age"], n_clusters=1, algorithm="lloyd", rounds=2),
    lambda t: t["people"].hierarchy(["plan"], keys=t["places"], cells={"sick": [True, False]}, max_groups=1).agg(
        n=_.count(), s=_.cost.sum(where=_.sick)
    ),
    lambda t: t["people"].mutate(s=_.sick.notnull()).hierarchy(["plan"], keys=t["places"], cells=["s"]).agg(
        n=_.count()
    ),
    lambda t: t["people"].filter(_.age > 3).series("day", start="2020-01-01", every="1 week", windows=(1, 4, "all"),
        max_steps=2, name="weekly", settled="26 hours").group_by("plan", max_groups=1, max_rows=2).agg(
        n=_.count(), s=_.cost.sum(where=_.sick)
    ),
    lambda t: t["people"].series("at", start="2020-01-01", every="6 hours", until="2020-01-01T18:00", max_steps=1).agg(
        n=_.count()
    ),
    lambda t: t["people"].series("age", start=0, every=10, until="open", windows=[1, "all"], apart=3, max_steps=2).agg(
        n=_.count()
    ),
    lambda t: dp.batch(a=t["people"].count(), b=_by(t["people"]), c=t["people"].filter(_.age > 30).agg(x=_.cost.sum())),
    lambda t: dp.batch(a=t["people"].count(), b=t["people"].histogram("cost", [0, 5.5, 50], ranges=True)),
    lambda t: dp.batch(a=t["people"].group_by("plan").histogram("age", [0, 18, 110], ranges="prefixes")),
    lambda t: dp.batch(
        a=t["people"].group_by("plan", keys=dp.UNKNOWN, max_groups=1).agg(n=_.count()),
        b=t["people"].group_by("sick", max_groups=2, max_rows="auto").agg(n=_.count()),
    ),
    lambda t: t["people"].crosstabs("plan", "sick", ways=1),
    lambda t: _text(t, "SELECT plan, AVG(cost) AS c, COUNT(*) AS n FROM people WHERE age > 17 GROUP BY 1 HAVING n > 2"),
    lambda t: _text(t, "SELECT plan, COUNT(*) AS n, GROUPING(plan) AS g FROM people GROUP BY ROLLUP (plan) ORDER BY n"),
    lambda t: _text(
        t,
        "SELECT plan, SUM(COUNT(*)) OVER (ORDER BY plan) AS s, RANK() OVER (PARTITION BY plan ORDER BY COUNT(*)) AS r "
        "FROM people GROUP BY plan",
    ),
    lambda t: _text(t, "SELECT SUM(p.cost * s.share) AS x FROM people p JOIN plans s USING (plan) WHERE p.age < 3.5"),
    lambda t: _text(t, "SELECT CASE WHEN age < 18 THEN 'y' ELSE 'o' END AS g, MEDIAN(age) AS m FROM people GROUP BY g"),
)  # fmt: skip
"""Questions of every kind that a document can be."""


def valid(given: Mapping[str, Any]) -> list[Document]:
    """A document of each kind of question, each of which is read."""
    found = [json.loads(json.dumps(ask(given).document())) for ask in ASKED]
    for document in found:
        dp.question(document, given)
    return found


def mutated(chance: random.Random, corpus: list[Document], often: list[float] | None = None) -> Any:
    """A document with one to four faults, or parts of others in it; `often` says how often each of them is taken."""
    document = copy.deepcopy(chance.choices(corpus, often)[0])
    for _i in range(chance.choice((0, 1, 1, 1, 2, 4))):
        holder, name = _place(chance, document)
        if holder is not None:
            with suppress(RecursionError):  # of the copies: so deep already that one more level makes no difference
                _fault(chance, holder, name, corpus)
    return document


def _place(chance: random.Random, document: Any) -> tuple[Any, Any]:
    """A part of a document: what holds it, and where; deep ones as often as others."""
    holder: Any = None
    name: Any = None
    part = document
    while isinstance(part, dict | list) and part and (holder is None or chance.random() < 0.85):
        holder = part
        name = chance.choice(list(part)) if isinstance(part, dict) else chance.randrange(len(part))
        part = part[name]
    return holder, name


def _fault(chance: random.Random, holder: Any, name: Any, corpus: list[Document]) -> None:
    """Changes one part."""
    part, way = holder[name], chance.randrange(8)
    if way == 0:
        holder[name] = copy.deepcopy(chance.choice(ODD))
    elif way == 1:
        other, place = _place(chance, chance.choice(corpus))
        holder[name] = copy.deepcopy(other[place])
    elif way == 2:
        del holder[name]
    elif way == 3:
        holder[name] = _inside(chance, part)
    elif way == 4:
        holder[name] = [copy.deepcopy(part) for _i in range(chance.choice((0, 1, 2, 30)))]
    elif way == 5:
        holder[name] = _changed(chance, part)
    elif isinstance(holder, dict):
        holder[chance.choice([*OPERATIONS, *corpus[0], "from", "by", "keys", "columns"])] = holder.pop(name)
    elif way == 6:
        holder.insert(chance.randrange(len(holder) + 1), copy.deepcopy(part))
    else:
        chance.shuffle(holder)


def _inside(chance: random.Random, part: Any) -> Any:
    """A part inside of many others."""
    for _i in range(chance.choice((1, 2, 5, 60, 200))):
        around = ({"negate": [part]}, {"not": [part]}, {"abs": [part]})
        part = chance.choice(around) if chance.random() < 0.8 else [part]
    return part


def _changed(chance: random.Random, part: Any) -> Any:
    """Another number, or another text."""
    if isinstance(part, int | float):
        return part * chance.choice((-1, 0, 1.5, 10, 10**6)) + chance.choice((0, 1))
    if isinstance(part, str):
        return chance.choice((part.upper(), part + " ", part[:-1], chance.choice(["age", "cost", "plan", "n"])))
    return part


def ended(document: Any, given: Mapping[str, Any]) -> str:
    """How the reading of a document ends; whatever is no question and no clean refusal is raised."""
    try:
        asked = dp.question(document, given)
    except (InvalidQuery, InvalidParameter) as refusal:
        return type(refusal).__name__
    return type(asked).__name__


def _seconds(document: Document, given: Mapping[str, Any]) -> float:
    start = time.process_time()
    ended(document, given)
    return time.process_time() - start


def main(number: int, seed: int) -> None:
    """Reads so many documents."""
    given, chance = tables(), random.Random(seed)  # noqa: S311 (documents to try)
    corpus, found, slowest = valid(given), Counter[str](), 0.0
    often = [1 / _seconds(document, given) for document in corpus]  # as much time for each
    begun = time.monotonic()
    for i in range(number):
        document = mutated(chance, corpus, often)
        start = time.process_time()
        try:
            found[ended(document, given)] += 1
        except BaseException:
            print(json.dumps(document), file=sys.stderr)
            raise
        took = time.process_time() - start
        slowest = max(slowest, took)
        if took > SLOW:
            print(f"slow: {took:.1f} s: {json.dumps(document)[:2000]}", file=sys.stderr)
        if i % 100_000 == 99_999:
            print(f"{i + 1:,} documents, {time.monotonic() - begun:.0f} s: {dict(found)}", flush=True)
    print(f"{number:,} documents in {time.monotonic() - begun:.0f} s, the slowest {slowest:.2f} s: {dict(found)}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000, int(sys.argv[2]) if len(sys.argv) > 2 else 0)
