"""What a document says: the question and nothing of its spelling, without rows, places or prices."""

from __future__ import annotations

import json
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ibis import _

import discreet as dp
from attacked_questions import PEOPLE, STATED
from discreet.errors import InvalidQuery
from discreet.query.question_documents import source_name
from discreet.testing import people


def table(**stated: Any) -> Any:
    return dp.protect(PEOPLE, budget=dp.Budget(epsilon=100), **{**STATED, "name": "people", **stated})


SPELLINGS: dict[str, list[Any]] = {
    "columns": [
        lambda t: t.filter(_.age >= 18).agg(m=_.cost.mean()),
        lambda t: t.filter(lambda s: s.age >= 18).agg(m=lambda s: s["cost"].mean()),
        lambda t: t.filter(t.age >= 18).agg(m=t.cost.mean()),
        lambda t: t.filter((t.age >= 18).name("old")).agg(m=_["cost"].mean().name("x")),
        lambda t: dp.sql("SELECT AVG(cost) AS m FROM people WHERE age >= 18", people=t),
        lambda t: dp.sql("select avg(p.cost) m from people as p where (p.age >= 18)", people=t),
    ],
    "groups": [
        lambda t: t.group_by("plan", old=_.age > 30).agg(n=_.count(), c=_.cost.count(where=_.age > 3)),
        lambda t: t.mutate(old=t.age > 30).group_by([_.plan, "old"]).agg(
            n=lambda s: s.count(), c=_.cost.count(where=_.age > 3)
        ),
    ],
    "counts": [
        lambda t: t.count(where=_.cost > 2),
        lambda t: t.agg(count=_.count(where=_.cost > 2)),
        lambda t: dp.sql('SELECT COUNT(*) FILTER (WHERE cost > 2) AS "count" FROM people', people=t),
    ],
    "units": [lambda t: t.nunique(), lambda t: t.agg(nunique=_.person.nunique())],
    "bins": [
        lambda t: t.histogram("age", [0, 18, 110], max_groups=1),
        lambda t: t.cut("age", [0, 18, 110]).group_by("age_bin", max_groups=1).agg(count=_.count()),
    ],
    "left out": [lambda t: t.drop("age").count(), lambda t: t.select("person", "plan", "cost").count()],
    "cubes": [
        lambda t: t.group_by("plan", cube=True).agg(count=_.count()),
        lambda t: t.group_by("plan", sets=[[], ["plan"]]).agg(count=_.count()),
        lambda t: t.crosstabs("plan", ways=1),
    ],
    "order": [
        lambda t: t.group_by("plan").agg(n=_.count()).order_by("n", desc=True),
        lambda t: t.group_by("plan").agg(n=_.count()).order_by(ibis.desc("n")),
        lambda t: t.group_by("plan").agg(n=_.count()).order_by(lambda s: s.n.desc()),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", SPELLINGS)
def test_a_digest_does_not_depend_on_spelling(name: str) -> None:
    t = table()
    assert len({dp.question_digest(ask(t).document()) for ask in SPELLINGS[name]}) == 1


def test_other_questions_have_other_digests() -> None:
    t = table()
    asked = [ways[0](t) for ways in SPELLINGS.values()]
    asked += [t.count(), t.count(where=_.cost > 2.5), t.count(where=_.cost >= 2), t.filter(_.cost > 2).count()]
    asked += [t.group_by("plan", max_rows=1).agg(n=_.count()), t.group_by("plan", max_rows=2).agg(n=_.count())]
    assert len({dp.question_digest(one.document()) for one in asked}) == len(asked)


def test_whole_numbers_and_reals_stay_apart() -> None:
    t = table()
    whole, real = t.agg(s=(_.age * 2).sum()).document(), t.agg(s=(_.age * 2.0).sum()).document()
    assert whole["question"]["aggregates"] == [["s", {"sum": [{"multiply": [{"column": "age"}, 2]}]}]]
    assert real["question"]["aggregates"] == [["s", {"sum": [{"multiply": [{"column": "age"}, {"real": "2.0"}]}]}]]
    assert dp.question(real, {"people": t}).document() == real


def test_the_order_of_fields_makes_no_difference() -> None:
    document = table().group_by("plan", max_groups=1).agg(n=_.count()).document()
    turned = json.loads(json.dumps(document), object_pairs_hook=lambda pairs: dict(reversed(pairs)))
    assert list(turned) != list(document)
    assert dp.question_digest(turned) == dp.question_digest(document)
    assert dp.question(turned, {"people": table()}).document() == document
    with pytest.raises(InvalidQuery, match="finite"):
        dp.question_digest({"version": float("inf")})


def test_documents_hold_no_rows_and_no_places(tmp_path: Any) -> None:
    pq.write_table(PEOPLE, tmp_path / "visits.2024.parquet")
    t = dp.protect(str(tmp_path / "visits.2024.parquet"), budget=dp.Budget(epsilon=1), **STATED)
    document = json.dumps(t.count().document())
    assert json.loads(document)["question"]["from"] == {"table": "visits"}
    assert str(tmp_path) not in document
    assert source_name("C:\\data\\visits.csv.gz") == source_name("visits.csv") == "visits"
    assert source_name("v1.2") == "v1.2"
    unnamed = dp.protect(PEOPLE, budget=dp.Budget(epsilon=1), **STATED)
    assert unnamed.count().document()["question"]["from"] == {"table": "table"}
    other = dp.protect(PEOPLE, budget=unnamed.budget, **STATED)
    with pytest.raises(InvalidQuery, match="tables of different names"):
        unnamed.union(other).count().document()


def test_a_table_keeps_its_name_through_all_verbs() -> None:
    assert people().count().document()["question"]["from"] == {"table": "people"}
    distinct = table().select("plan").distinct("plan").count()
    assert distinct.document()["question"]["from"] == {
        "table": "people", "steps": [{"select": ["plan"]}, {"distinct": ["plan"]}]
    }  # fmt: skip


def test_a_name_like_a_parameter_is_a_name() -> None:
    t = table()
    question = t.mutate(self=_.cost + 1).agg(verb=_.self.sum(), processing=_.count()).mutate(verb=_.verb + 1)
    assert dp.question(question.document(), {"people": t}).document() == question.document()


def test_constants_that_json_lacks_are_kept() -> None:
    t = dp.protect(
        pa.schema({"day": pa.date32(), "at": pa.timestamp("us"), "x": pa.float64()}).empty_table(),
        unit=dp.ROW, bounds={"x": (0, 5)}, budget=dp.Budget(epsilon=1), name="days",
    )  # fmt: skip
    asked = t.filter(
        _.day >= ibis.date("2020-01-31"), _.at < ibis.timestamp("2020-01-31 01:02:03.000004"),
        _.x.clip(0, 1e300) > 5e-324, _.day + ibis.interval(months=-3) != "2020-01-01",
    ).group_by(late=_.x > 2.5).agg(s=(_.x * 0.1).sum())  # fmt: skip
    document = json.loads(json.dumps(asked.document()))
    assert dp.question(document, {"days": t}).document() == document == asked.document()


def test_operations_without_a_place_in_a_document_are_named() -> None:
    question = table().group_by("plan").agg(n=_.count())
    spans = [
        ibis.range_window(preceding=2**54, following=0, order_by=_.n),
        ibis.window(preceding=2**40, order_by=_.n),
        ibis.range_window(preceding=ibis.interval(milliseconds=1), following=0, order_by=_.plan),
    ]
    odd = [(_.n.sum().over(span), "a window that a document has") for span in spans]
    for calculated, name in ((_.plan + "x", r"got plan \+ 'x'\."), (_.n.hash(), r"got n\.hash\(\)\."), *odd):
        with pytest.raises(InvalidQuery, match=name):
            question.mutate(x=calculated).document()
