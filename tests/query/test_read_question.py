"""Questions out of documents: the same questions, or a refusal that says where; never anything else."""

from __future__ import annotations

import json
from typing import Any

import ibis
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from attacked_questions import AGGREGATES, AT_ONCE, PEOPLE, PLANS, STATED, VERBS, WAYS
from discreet.errors import DiscreetError, InvalidParameter, InvalidQuery
from discreet.query.batch_question import BatchQuestion
from discreet.query.question import Question
from discreet.query.ranges import AllRanges
from random_documents import ASKED, ended, tables

ASKS = {
    **AGGREGATES,
    **VERBS,
    "batch": WAYS["batch"],
    "ranges": WAYS["ranges"],
    **{name: WAYS[name] for name in ("prefixes", "ranges in groups")},
}
NO_DOCUMENT = {"partition": "whole table", "refreshed": "different names"}
COUNT = [["n", {"count_star": []}]]
ROWS = {"table": "people"}
AGELESS = {"is_null": [{"column": "age"}]}
AGES = {"age": list(range(900))}


def asked(question: Any, **stated: Any) -> dict[str, Any]:
    return {"version": 1, "question": {"from": ROWS, "aggregates": question, **stated}}


def ranges(**stated: Any) -> dict[str, Any]:
    return {"version": 1, "ranges": {"from": ROWS, "column": "age", "edges": [0, 20, 110], **stated}}


def table(**stated: Any) -> Any:
    return dp.protect(PEOPLE, budget=dp.Budget(epsilon=100, delta=1e-3), **{**STATED, "name": "people", **stated})


def planned(question: Any) -> list[Any]:
    """What the engine would be asked, and what would be drawn."""
    if isinstance(question, AllRanges):
        question = question.batch
    if isinstance(question, BatchQuestion):
        plan = question.plan(epsilon=1)
        return [question._source.statement(plan.cells), question.names, plan.cells.charge, plan.query.sizes]
    plan = question.plan(epsilon=1, delta=1e-6)
    columns = [(c.aggregate.name, c.aggregate.statistic.name, c.coefficients, c.offset) for c in plan.columns]
    return [question._source.statement(plan), repr(question), columns, [block.noise for block in plan.blocks]]


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(set(ASKS) - AT_ONCE - set(NO_DOCUMENT) - {"join"}))
def test_a_document_is_the_question(name: str) -> None:
    people = table()
    question = ASKS[name](people)
    document = json.loads(json.dumps(question.document()))
    again = dp.question(document, {"people": people})
    assert type(again) is type(question)
    assert again.document() == document
    assert planned(again) == planned(question)


def test_a_document_names_public_tables_and_keys() -> None:
    people, plans = table(), dp.public(PLANS, name="plans")
    joined = people.join(plans, "plan", max_matches=3).agg(a=(_.cost * _.share).sum())
    other = dp.public(PLANS)  # under whatever name the reader has it
    again = dp.question(joined.document(), {"people": people, "plans": other})
    assert again.document() == joined.document()
    assert planned(again) == planned(joined)
    text = "SELECT SUM(s.share) AS a FROM people p JOIN plans s ON p.plan = s.plan"
    renamed = dp.sql(text, people=people, plans=dp.public(PLANS.slice(3), name="plans"))
    read = dp.question(renamed.document(), {"people": people, "plans": dp.public(PLANS.slice(3))})
    assert planned(read) == planned(renamed)
    keys = dp.public_keys(pa.table({"plan": ["a", "b"]}), name="places")
    grouped = people.group_by("plan", keys=keys).agg(n=_.count())
    again = dp.question(grouped.document(), {"people": people, "places": keys})
    assert again.document() == grouped.document()
    assert planned(again) == planned(grouped)
    with pytest.raises(InvalidQuery, match="a name for what is public"):
        people.join(dp.public(PLANS.slice(3)), "plan").count().document()
    with pytest.raises(InvalidQuery, match="Expected public keys"):
        dp.question(grouped.document(), {"people": people, "places": plans})


@pytest.mark.long
@pytest.mark.parametrize("ask", ASKED)
def test_documents_of_all_kinds_are_read(ask: Any) -> None:
    given = tables()
    document = ask(given).document()
    assert dp.question(json.loads(json.dumps(document)), given).document() == document


def test_an_answer_is_the_stored_one_whichever_door_it_came_through() -> None:
    people = table()
    first = people.filter(_.age >= 18).group_by("plan").agg(n=_.count()).having(_.n > -1000)
    paid = first.release(epsilon=1)
    again: Any = dp.question(first.document(), {"people": people})
    assert again.release(epsilon=1).to_pyarrow().equals(paid.to_pyarrow())
    assert people.budget.spent.epsilon == 1


def test_tables_are_those_that_were_handed_in() -> None:
    people = table()
    document = people.count().document()
    part = people.filter(_.age > 30)
    over = dp.question(document, {"people": part})
    assert over.document() == document  # what the name stands for is the reader's affair
    assert planned(over) == planned(part.count())
    with pytest.raises(InvalidQuery, match="did you mean 'peoples'"):
        dp.question(document, {"peoples": people})
    with pytest.raises(InvalidQuery, match="none was handed in"):
        dp.question(document, {})
    for wrong in (None, [people], {"people": PEOPLE}, {1: people}):
        with pytest.raises(InvalidParameter, match=r"dict of tables|a table"):
            dp.question(document, wrong)  # type: ignore[arg-type]  # the refusal is the test


def test_one_table_of_a_document_is_one_table() -> None:
    people = table()
    joined = people.join(dp.public(PLANS.slice(3), name="plans"), "plan")
    both = dp.batch(a=joined.count(), b=joined.agg(s=_.share.sum()), max_groups=2, max_rows=2)
    again = dp.question(both.document(), {"people": people, "plans": dp.public(PLANS.slice(3))})
    assert again.document() == both.document()


@pytest.mark.long
@pytest.mark.parametrize(
    ("document", "said"),
    [
        (None, "an object with version"),
        (
            {"version": 1},
            "version 1, and one of question, batch, ranges, top, choose, .*, kmeans, hierarchy",
        ),
        ({"version": True, "question": {}}, "version 1"),
        ({"version": 2, "question": {}}, "version 1"),
        (asked([]), "a list"),
        (asked([["n", {"count_stars": []}]]), "did you mean 'count_star'"),
        (asked([["n", {"count_star": []}], ["n", {"count_star": []}]]), "each name once"),
        (asked([["self", {"count_star": []}]], by={"columns": ["nobody"]}), "nobody"),
        (asked(COUNT, by={"columns": ["plan"], "keys": {"plan": [1.5]}}), "a key that compares exactly"),
        (asked(COUNT, by={"columns": ["plan"], "keys": {"plan": ["a"]}, "unknown_keys": True}), "one of keys"),
        (asked(COUNT, by={"columns": ["plan"], "unknown_keys": 1}), "what the question would write"),
        (asked(COUNT, by={"columns": ["plan"], "max_groups": True}), "a whole number of 1 or more"),
        (asked(COUNT, after=[{"limit": [1, 0]}] * 51), "a list of 1 to 50"),
        (asked(COUNT, after=[{"having": [{"greater": [{"column": "m"}, 1]}]}]), "a column of the answer"),
        (
            asked(COUNT, after=[{"order_by": [{"by": {"column": "n"}, "desc": 1, "nulls_first": False}]}]),
            "true or false",
        ),
        (asked(COUNT, stacked=[]), "several groupings"),
        (asked([["n", {"units": []}]]), "as nunique"),
        ({"version": 1, "batch": {"questions": []}}, "a list of 1 to 200"),
        ({"version": 1, "ranges": {"from": ROWS, "column": "age", "edges": [0, []]}}, "a number|compares exactly"),
        (ranges(by={"columns": ["plan"], "sets": [["plan"], []]}), "one grouping"),
        (ranges(sums="ranges"), "True, False or 'prefixes'"),
        (ranges(by={"columns": ["plan"], "unknown_keys": True}), "groups that are listed"),
        (ranges(by={"columns": ["plan"]}, max_groups=1), "limits in one place"),
        ({"version": 1, "question": {"from": {"table": 3}, "aggregates": COUNT}}, "text"),
        ({"version": 1, "question": {"from": {**ROWS, "steps": []}, "aggregates": COUNT}}, "a list"),
        ({"version": 1, "question": {"from": {**ROWS, "steps": [{"drop": ["age"]}]}, "aggregates": COUNT}}, "a verb"),
    ],
)
def test_what_is_no_document_is_refused(document: Any, said: str) -> None:
    with pytest.raises(DiscreetError, match=said) as refusal:
        dp.question(document, {"people": table()})
    assert isinstance(refusal.value, InvalidQuery | InvalidParameter)


@pytest.mark.parametrize(
    ("changed", "place"),
    [
        ({"version": 1.0}, "version"),
        ({"question": {"from": ROWS, "aggregates": [["n", {"sum": [{"alias": [{"column": "cost"}]}]}]]}}, "aggregates"),
        ({"question": {"from": ROWS, "aggregates": [["n", {"count_star": [None]}]]}}, "count_star"),
        ({"question": {"from": ROWS, "by": {"columns": ["plan"], "keys": {}}, "aggregates": COUNT}}, "question.by"),
        (asked([["s", {"sum": [{"multiply": [{"column": "cost"}, 2.0]}]}]]), "multiply"),
        (asked(COUNT, after=[{"limit": [1, 0]}, {"select": ["n"], "x": 1}]), "after"),
    ],
)  # fmt: skip
def test_what_is_read_says_what_was_given(changed: dict[str, Any], place: str) -> None:
    with pytest.raises(InvalidQuery, match=place):
        dp.question({**asked(COUNT), **changed}, {"people": table()})


def windowed(**stated: Any) -> dict[str, Any]:
    return {"window": {"of": {"sum": [{"column": "n"}]}, **stated}}


def after(calculated: Any) -> dict[str, Any]:
    return asked(COUNT, by={"columns": ["plan"]}, after=[{"mutate": [["x", calculated]]}])


KEY = {"by": {"column": "n"}, "desc": True, "nulls_first": False}


@pytest.mark.long
@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({"of": {"system": []}}, "an operation, a column or a constant"),
        ({"of": {"column": "n"}}, "arguments that this operation takes"),
        ({"of": 1}, "arguments that this operation takes"),
        ({"of": {"sum": [{"column": "age"}]}}, "a column of the answer"),
        ({"rows": []}, "a known field"),
        ({"by": []}, "a list"),
        ({"order": [{"column": "n"}]}, "an object with 'by'"),
        ({"order": [{**KEY, "desc": 1}]}, "true or false"),
        ({"order": [KEY], "frame": "groups"}, "rows or range"),
        ({"order": [KEY], "frame": "rows"}, "what the question would write"),
        ({"order": [KEY], "frame": "range", "start": {"preceding": -1}}, "a number of 0 to 9,007,199,254,740,992"),
        ({"order": [KEY], "frame": "range", "start": {"preceding": 2**54}}, "a number of 0 to"),
        ({"order": [KEY], "frame": "range", "start": {"preceding": {"real": "inf"}}}, "a number of 0 to"),
        ({"order": [KEY], "frame": "range", "start": {"preceding": {"interval": [-1, "D"]}}}, "a number of 0 to"),
        ({"order": [KEY], "frame": "range", "start": {"preceding": {"interval": [1, "ms"]}}}, "a number of 0 to"),
        ({"order": [KEY], "frame": "range", "start": {"preceding": "1"}}, "a number of 0 to"),
        ({"order": [KEY], "start": {"preceding": 2**31 + 1}}, "a whole number of 0 to 2,147,483,648 rows"),
        ({"order": [KEY], "start": {"preceding": 1.5}}, "a whole number of 0 to"),
        ({"order": [KEY], "start": {"preceding": -1}}, "a whole number of 0 to"),
        ({"order": [KEY], "start": {"preceding": True}}, "a whole number of 0 to"),
        ({"order": [KEY], "start": {"preceding": {"column": "n"}}}, "a whole number of 0 to"),
        ({"order": [KEY], "start": {"preceding": 1, "following": 1}}, "one field"),
        ({"of": {"ntile": [0]}, "order": [KEY]}, "a number of parts, 1 or more"),
    ],
)
def test_windows_of_strangers_are_refused(stated: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidQuery, match=said):
        dp.question(after(windowed(**stated)), {"people": table()})


def test_no_window_looks_at_rows_of_people() -> None:
    people = table()
    parts: list[dict[str, Any]] = [
        windowed(),
        {"min_rank": []},
        {"lag": [{"column": "cost"}]},
        {"sin": [{"column": "cost"}]},
    ]
    for part in parts:
        for document in (
            asked([["x", {"sum": [part]}]]),
            asked(COUNT, **{"from": {**ROWS, "steps": [{"mutate": [["x", part]]}]}}),
        ):
            with pytest.raises(InvalidQuery, match="an operation, a column or a constant"):
                dp.question(document, {"people": people})


@pytest.mark.parametrize(
    "calculated",
    [
        {"window": {"of": {"sum": [windowed(order=[KEY])]}}},
        windowed(order=[{**KEY, "by": {"column": "plan"}}], frame="range", start={"preceding": 1}),
        windowed(order=[KEY, {**KEY, "by": {"column": "plan"}}], frame="range", start={"preceding": 1}),
    ],
    ids=["a window in a window", "so far before a text", "so far before two keys"],
)
def test_a_window_that_no_engine_has_costs_nothing(calculated: dict[str, Any]) -> None:
    people = table()
    question: Any = dp.question(after(calculated), {"people": people})
    with pytest.raises(InvalidQuery, match="a calculation that the answer's values allow"):
        question.release(epsilon=1)
    assert people.budget.spent.epsilon == 0


def deep(levels: int, part: Any) -> Any:
    for _i in range(levels):
        part = {"negate": [part]}
    return part


def united(levels: int) -> Any:
    rows: Any = ROWS
    for _i in range(levels):
        rows = {"table": "people", "steps": [{"union": rows}]}
    return rows


def flags(number: int) -> dict[str, Any]:
    return {
        "table": "people",
        "steps": [{"mutate": [[f"b{i}", {"is_null": [{"column": "age"}]}] for i in range(number)]}],
    }


LIMITS: dict[str, Any] = {
    "nested operations": asked([["s", {"sum": [deep(101, {"column": "age"})]}]]),
    "levels": asked([["s", {"sum": [deep(200, {"column": "age"})]}]]),
    "values": asked(COUNT, by={"columns": ["age"], "keys": {"age": list(range(100_001))}}),
    "operations, columns and other objects": asked([["s", {"sum": [{"greatest": [[{"column": "age"}] * 4001]}]}]]),
    "a list of 0 to 100": asked([["s", {"sum": [{"greatest": [[{"column": "age"}] * 101]}]}]]),
    "at most 10,000 values in lists": asked(
        [[f"n{i}", {"count_star": [{"in_values": [{"column": "age"}, list(range(1000))]}]}] for i in range(11)]
    ),
    "a list of 0 to 1,000": asked([["n", {"count_star": [{"in_values": [{"column": "age"}, list(range(1001))]}]}]]),
    "tables in each other": {"version": 1, "question": {"from": united(21), "aggregates": COUNT}},
    "groups in all": {
        "version": 1,
        "question": {"from": flags(21), "by": {"columns": [f"b{i}" for i in range(21)]}, "aggregates": COUNT},
    },
    "columns after all steps": {
        "version": 1,
        "question": {
            "from": {"table": "people", "steps": [*flags(100)["steps"], *[{"filter": [AGELESS]}] * 60]},
            "aggregates": COUNT,
        },
    },
    "new columns in all": asked([[f"n{i}", {"count_star": []}] for i in range(1001)]),
    "keys in a batch": {
        "version": 1,
        "batch": {
            "questions": [
                [f"q{i}", {"from": ROWS, "by": {"columns": ["age"], "keys": AGES}, "aggregates": COUNT}]
                for i in range(5)
            ]
        },
    },
    "earlier steps in them": asked(
        COUNT, after=[{"mutate": [["x", {"power": [{"column": "x" if i else "n"}] * 2}]]} for i in range(50)]
    ),
    "100 windows after the noise": after({"greatest": [[windowed()] * 60 + [{"negate": [windowed()]}] * 41]}),
    "a length of at most 1,000": after({"lpad": [{"column": "plan"}, 10**8, "x"]}),
    "length, or|a length of": after({"rpad": [{"column": "plan"}, {"column": "n"}, "x"]}),
    "after the noise": asked(COUNT, after=[{"mutate": [["x", {"string_concat": [["a", "b"]]}]]}]),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("limit", LIMITS)
def test_documents_have_limits(limit: str) -> None:
    with pytest.raises(InvalidQuery, match=limit):
        dp.question(LIMITS[limit], {"people": table()})


def test_what_is_no_json_is_refused() -> None:
    people = table()
    looped: list[Any] = []
    looped.append(looped)
    for wrong in (
        people.count(),
        PEOPLE,
        {1: 2},
        {"version": {1, 2}},
        float("nan"),
        ibis.literal(1),
        looped,
        b"{}",
        2**80,
    ):
        with pytest.raises(InvalidQuery):
            dp.question(wrong, {"people": people})  # type: ignore[arg-type]  # the refusal is the test
    assert ended(asked(COUNT), {"people": people}) == Question.__name__


@pytest.mark.parametrize("name", sorted(NO_DOCUMENT))
def test_what_has_no_document_says_so(name: str) -> None:
    with pytest.raises(InvalidQuery, match=NO_DOCUMENT[name]):
        ASKS[name](table()).document()
