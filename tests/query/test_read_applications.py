"""Choices, clusters and hierarchies as documents: the same questions and answers, or one refusal that costs nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from typing import Any

import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.errors import InvalidParameter, InvalidQuery, UnknownName
from discreet.query.question_documents import question_digest
from discreet.query.unpriced_question import UnpricedQuestion
from random_documents import tables

Ask = Callable[[dict[str, Any]], Any]

KEYS = {"day": [date(2020, 1, 1), None]}
OPTIONS: dict[str, Ask] = {
    "top": lambda t: t["people"].top("plan"),
    "top of two": lambda t: t["people"].top("plan", k=2),
    "top as a set": lambda t: t["people"].top("plan", k=2, order=False),
    "top of some": lambda t: t["people"].top("plan", k=2, keys=["a", "b"]),
    "top of others": lambda t: t["people"].top("plan", k=2, keys=["b", "a"]),
    "top of dates": lambda t: t["people"].filter(_.age > 3).top("day", keys=KEYS["day"]),
    "values": lambda t: t["people"].count_distinct("plan"),
    "values of others": lambda t: t["people"].filter(_.age > 3).count_distinct("age"),
    "values under a limit": lambda t: t["people"].count_distinct("plan", max_values=2),
    "choose": lambda t: t["people"].choose([20, 21], score=lambda c: _.age == c),
    "choose by numbers": lambda t: t["people"].choose([20, 21], score=lambda c: (_.cost - c).abs()),
    "choose among reals": lambda t: t["people"].choose([20.0, 21.5], score=lambda c: _.age == int(c)),
    "choose with one row": lambda t: t["people"].choose([20, 21], score=lambda c: _.age == c, max_rows=1),
    "truncated rows": lambda t: t["people"].truncated_total(),
    "truncated": lambda t: t["people"].truncated_total("cost"),
    "truncated by a race": lambda t: t["people"].truncated_total("cost", limit="race"),
    "truncated at": lambda t: t["people"].truncated_total("cost", limit=3),
    "truncated up to": lambda t: t["people"].truncated_total("cost", most=30),
    "truncated conditions": lambda t: t["people"].filter(_.age > 3).truncated_total(_.age > 21),
    "clusters": lambda t: t["people"].kmeans(["age", "cost"], n_clusters=2),
    "clusters of others": lambda t: t["people"].kmeans(["cost", "age"], n_clusters=2),
    "more clusters": lambda t: t["people"].kmeans(["age", "cost"], n_clusters=3),
    "rounds": lambda t: t["people"].kmeans(["age", "cost"], n_clusters=2, algorithm="lloyd"),
    "two rounds": lambda t: t["people"].kmeans(["age", "cost"], n_clusters=2, algorithm="lloyd", rounds=2),
    "limited clusters": lambda t: t["people"].kmeans(["age", "cost"], n_clusters=2, max_groups=1),
    "clusters of a row": lambda t: t["people"].kmeans(["age", "cost"], n_clusters=2, max_rows=1),
    "levels": lambda t: t["people"].hierarchy(["plan"], keys=t["places"]).agg(n=_.count()),
    "levels of sums": lambda t: t["people"].hierarchy(["plan"], keys=t["places"]).agg(n=_.cost.sum(where=_.age > 3)),
    "levels of cells": lambda t: t["people"].hierarchy(["plan"], keys=t["places"], cells=KEYS).agg(n=_.count()),
    "limited levels": lambda t: t["people"].hierarchy(["plan"], keys=t["places"], max_groups=1).agg(n=_.count()),
    "levels of a row": lambda t: t["people"].hierarchy(["plan"], keys=t["places"], max_rows=1).agg(n=_.count()),
}


def shown(answer: Any) -> Any:
    """What an answer says."""
    if isinstance(answer, dp.PrivateTable):
        raise TypeError
    for name in ("value", "values", "to_pyarrow"):
        found = getattr(answer, name, None)
        if found is not None and name != "values":
            return found() if callable(found) else found
        if isinstance(found, tuple):
            return found
    return {name: answer[name] for name in answer}


@pytest.mark.long
@pytest.mark.parametrize("name", OPTIONS)
def test_a_document_has_the_same_answer(name: str) -> None:
    given = tables()
    question = OPTIONS[name](given)
    document = json.loads(json.dumps(question.document()))
    again: Any = dp.question(document, given)
    assert type(again) is type(question)
    assert repr(again) == repr(question)
    assert again.document() == document
    assert given["people"].budget.spent.epsilon == 0
    paid = question.release(epsilon=2)
    stored = again.release(epsilon=2)  # the same on record, or it would be charged
    assert given["people"].budget.spent.epsilon == 2
    assert shown(stored) == shown(paid)
    assert stored.receipt["charge"] == paid.receipt["charge"]


def test_each_option_makes_another_question() -> None:
    given = tables()
    digests = {question_digest(ask(given).document()) for ask in OPTIONS.values()}
    assert len(digests) == len(OPTIONS)


def test_keys_that_differ_from_the_declared_ones_are_kept() -> None:
    given = tables()
    asked = given["people"].hierarchy(["plan"], keys=given["places"], cells={"sick": [True]}).agg(n=_.count())
    assert asked.document()["hierarchy"]["cells"] == [["sick", [True]]]
    unnamed = dp.public_keys(pa.table({"plan": ["a"]}))
    with pytest.raises(InvalidQuery, match="a name for what is public"):
        given["people"].hierarchy(["plan"], keys=unnamed).agg(n=_.count()).document()


def test_a_price_comes_with_the_release() -> None:
    people = tables()["people"]
    question = people.top("plan", k=2)
    assert isinstance(question, UnpricedQuestion)
    with pytest.raises(InvalidParameter, match="Expected epsilon or rho, got none"):
        question.release()
    with pytest.raises(UnknownName, match=r"end with \.release\(epsilon=1\)"):
        _named(question, "values")
    with pytest.raises(InvalidParameter, match="no delta"):
        people.kmeans(["age"], n_clusters=2).release(epsilon=1, delta=1e-6)
    with pytest.raises(InvalidQuery, match="a release before"):
        len(question)
    assert people.budget.spent.epsilon == 0
    assert question.release(epsilon=1, delta=1e-7).receipt["charge"] == {"epsilon": "1", "delta": "0.0000001"}


def test_candidates_that_json_lacks_have_no_document() -> None:
    question = tables()["people"].choose([(1, 2), (3, 4)], score=lambda c: _.age.between(*c))
    assert question.release(epsilon=1).value in {(1, 2), (3, 4)}
    with pytest.raises(InvalidQuery, match="a candidate that a document has"):
        question.document()


def _named(question: Any, name: str) -> Any:
    return getattr(question, name)


FROM = {"from": {"table": "people"}}
TOP: dict[str, Any] = {**FROM, "column": "plan", "k": 1}
AGE = {"column": "age"}
TWO = [[1, {"equals": [AGE, 1]}], [2, {"equals": [AGE, 2]}]]
CLUSTERS: dict[str, Any] = {**FROM, "columns": ["age"], "n_clusters": 2, "algorithm": "best"}
LEVELS: dict[str, Any] = {**FROM, "levels": ["plan"], "keys": "places", "aggregates": [["n", {"count_star": []}]]}


@pytest.mark.long
@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"top": {**TOP, "k": 0}}, "a whole number of 1 or more"),
        ({"top": {**TOP, "k": True}}, "a whole number of 1 or more"),
        ({"top": {**TOP, "k": 2**63 - 1}}, "a whole k from 1 to 3"),
        ({"top": {**TOP, "epsilon": 1}}, "a known field"),
        ({"top": {**TOP, "order": True}}, "what the question would write"),
        ({"top": {**TOP, "order": 0}}, "order"),
        ({"top": {**TOP, "column": {"column": "plan"}}}, "text"),
        ({"top": {**TOP, "column": "plan; DROP TABLE people"}}, "column"),
        ({"top": {**TOP, "column": "__discreet_unit_0", "keys": [1]}}, "column"),
        ({"top": {**TOP, "column": "age"}}, "public values of 'age'"),
        ({"top": {**TOP, "keys": []}}, "a list of 1 to 4,096"),
        ({"top": {**TOP, "keys": [1.5]}}, "a key that compares exactly"),
        ({"top": {**TOP, "keys": [[1]]}}, "a key that compares exactly"),
        ({"top": {**TOP, "column": "age", "keys": list(range(5000))}}, "a list of 1 to 4,096"),
        ({"top": {**TOP, "from": {"table": "places"}}}, "a protected table"),
        ({"top": TOP, "choose": {}}, "version 1, and one of question"),
        ({"count_distinct": {**FROM, "column": "age", "max_values": 0}}, "a whole number of 1 or more"),
        ({"count_distinct": {**FROM, "column": "age", "max_values": "auto"}}, "a whole number of 1 or more"),
        ({"count_distinct": {**FROM, "column": "age", "max_values": 2**31}}, "a limit of at most"),
        ({"count_distinct": {**FROM, "column": "cost"}}, "compared exactly"),
        ({"count_distinct": {**FROM, "column": "plan", "epsilon": 1}}, "a known field"),
        ({"choose": {**FROM, "candidates": TWO[:1]}}, "a list of 2 to 100"),
        ({"choose": {**FROM, "candidates": TWO * 51}}, "a list of 2 to 100"),
        ({"choose": {**FROM, "candidates": [1, 2]}}, "a list of 2 to 2"),
        ({"choose": {**FROM, "candidates": [*TWO, [3, AGE, 3]]}}, "a list of 2 to 2"),
        ({"choose": {**FROM, "candidates": [*TWO, [[3], AGE]]}}, "compares exactly"),
        ({"choose": {**FROM, "candidates": [*TWO, [{"real": "nan"}, AGE]]}}, "a real number as text"),
        ({"choose": {**FROM, "candidates": [*TWO, [3, {"sum": [AGE]}]]}}, "an expression of a row"),
        ({"choose": {**FROM, "candidates": [*TWO, [3, {"window": {"of": {"sum": [AGE]}}}]]}}, "an operation, a column"),
        ({"choose": {**FROM, "candidates": [*TWO, [3, {"uppercase": [{"column": "plan"}]}]]}}, "a condition, or a"),
        ({"choose": {**FROM, "candidates": TWO, "max_rows": "auto"}}, "limits and bounds that are stated"),
        ({"choose": {**FROM, "candidates": TWO, "max_rows": 0}}, "a whole number of 1 or more"),
        ({"truncated_total": None}, "an object"),
        ({"truncated_total": {"from": None}}, "an object"),
        ({"truncated_total": {**FROM, "limit": "auto"}}, "a whole number of 1 or more"),
        ({"truncated_total": {**FROM, "limit": "os.system"}}, "a whole number of 1 or more"),
        ({"truncated_total": {**FROM, "limit": 0}}, "a whole number of 1 or more"),
        ({"truncated_total": {**FROM, "limit": 2**50}}, "at most 549,755,813,888"),
        ({"truncated_total": {**FROM, "most": 2.5}}, "a whole number of 1 or more"),
        ({"truncated_total": {**FROM, "limit": 3, "most": 5}}, "no most beside a stated limit"),
        ({"truncated_total": {**FROM, "value": {"sum": [AGE]}}}, "operations on one row"),
        ({"truncated_total": {**FROM, "value": {"column": "plan"}}}, "amounts of 0 or more"),
        ({"truncated_total": {**FROM, "epsilon": 1}}, "a known field"),
        ({"kmeans": {**CLUSTERS, "n_clusters": 2**62}}, "a whole number from 1 to"),
        ({"kmeans": {**CLUSTERS, "algorithm": "os.system"}}, "'best' or 'lloyd'"),
        ({"kmeans": {**CLUSTERS, "algorithm": ["best"]}}, "text"),
        ({"kmeans": {**CLUSTERS, "rounds": 5}}, "what the question would write"),
        ({"kmeans": {**CLUSTERS, "rounds": 10**9}}, "a whole number from 1 to"),
        ({"kmeans": {**CLUSTERS, "columns": ["age", "age"]}}, "names of columns"),
        ({"kmeans": {**CLUSTERS, "columns": ["plan"]}}, "columns of numbers"),
        ({"kmeans": {**CLUSTERS, "columns": []}}, "a list"),
        ({"kmeans": {**CLUSTERS, "max_groups": "auto"}}, "a whole number of 1 or more"),
        ({"hierarchy": {**LEVELS, "keys": "people"}}, "public keys"),
        ({"hierarchy": {**LEVELS, "keys": ["a"]}}, "text"),
        ({"hierarchy": {**LEVELS, "levels": ["age"]}}, "Expected"),
        ({"hierarchy": {**LEVELS, "levels": ["plan", "plan"]}}, "a list of columns, each once"),
        ({"hierarchy": {**LEVELS, "cells": []}}, "a list"),
        ({"hierarchy": {**LEVELS, "cells": [["plan", None]]}}, "columns of different names"),
        ({"hierarchy": {**LEVELS, "cells": [["age", list(range(5000))]]}}, "a list of 1 to 4,096"),
        (
            {"hierarchy": {**LEVELS, "cells": [["age", list(range(110))], ["b", list(range(4096))], ["c", [1, 2, 3]]]}},
            "groups in all",
        ),
        ({"hierarchy": {**LEVELS, "aggregates": [["n", {"system": [AGE]}]]}}, "an operation, a column"),
        ({"hierarchy": {**LEVELS, "max_rows": "auto"}}, "limits and bounds that are stated"),
    ],
)  # fmt: skip
def test_documents_of_strangers_are_refused(document: dict[str, Any], said: str) -> None:
    given = tables()
    with pytest.raises((InvalidQuery, InvalidParameter), match=said):
        dp.question({"version": 1, **document}, given)
    assert given["people"].budget.spent.epsilon == 0


@pytest.mark.long
@pytest.mark.parametrize("kind", ["top", "choose", "kmeans", "hierarchy"])
@pytest.mark.parametrize("body", [None, True, 0, "x", [], {}, [[]], {"from": None}, {"from": {"table": "people"}}])
def test_what_is_no_body_is_refused(kind: str, body: Any) -> None:
    with pytest.raises(InvalidQuery):
        dp.question({"version": 1, kind: body}, tables())
