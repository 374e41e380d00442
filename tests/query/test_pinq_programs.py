"""The programs that were published with PINQ, written anew: what they compute, and what one record moves.

From McSherry, "Privacy integrated queries" (2009), and from the harness, the social networks and the visualization that
its download describes. A record is protected there, and so it is here. docs/coming-from.md has a table of operators.
"""

from __future__ import annotations

from typing import Any

import ibis
import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.query.table import PrivateTable

SEARCHES = pa.table(
    {
        "ip": ["10.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.4"],
        "query": ["cricket", "cricket", "football", "cricket", "chess", "football", "football", "cricket"],
        "seconds": [1.0, 3.0, 5.0, 2.0, 40.0, 6.0, 4.0, 7.0],
    }
)
PLACES = pa.table(
    {"ip": ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"], "lat": [51, 51, 28, 28], "lon": [0, 0, 77, 77]}
)
PROGRAM = """using System;

namespace Harness
{
    static int Main(string[] args)
    {
        var count = 0;
        return count;
    }
}"""
EDGES = pa.table({"from": ["a", "a", "b", "c", "d", "d"], "to": ["b", "c", "c", "a", "c", "a"]})
QUERIES = ["cricket", "football", "tennis"]


def records(data: pa.Table, name: str = "records", budget: dp.Budget | None = None) -> PrivateTable:
    bounds = {"seconds": (0, 10)} if "seconds" in data.column_names else {}
    return dp.protect(
        data, unit=dp.ROW, bounds=bounds, name=name, budget=dp.Budget(epsilon=10) if budget is None else budget
    )


def stability(question: Any) -> Any:
    """How many rows of what is asked one record moves: the sensitivity of a count."""
    return question.explain(epsilon=1)["totals"][0]["sensitivity"]


def test_how_many_searched_for_it(exact: Any) -> None:
    """The first program of the paper: records of one query, grouped by address, counted."""
    users = records(SEARCHES).filter(_.query == "cricket").per_key("ip", searches=_.count())
    assert exact(users.count()) == {"count": [3]}
    assert stability(users.count()) == 2  # as there: GroupBy has stability 2


def test_with_the_address_as_unit_it_costs_half(exact: Any) -> None:
    """What PINQ groups for is the unit here, and each user counts once."""
    searches = dp.protect(SEARCHES, unit="ip", budget=dp.Budget(epsilon=1))
    users = searches.filter(_.query == "cricket").nunique()
    assert exact(users) == {"nunique": [3]}
    assert stability(users) == 1


def test_how_often_each_query_was_asked(exact: Any) -> None:
    """The parts of one table share their charge; groups say the same in one release."""
    searches = records(SEARCHES)
    parts = searches.partition("query", keys=QUERIES)
    assert [exact(parts[query].count())["count"] for query in QUERIES] == [[4], [3], [0]]
    for query in QUERIES:
        parts[query].count().release(epsilon=1)
    assert searches.budget.spent.epsilon == 1
    grouped = searches.group_by("query", keys={"query": QUERIES}).agg(n=_.count())
    assert exact(grouped)["n"] == [4, 3, 0]
    assert stability(grouped) == 1


def test_how_many_searched_for_both(exact: Any) -> None:
    """Addresses that searched for one thing, and for the other: two distinct sets that are intersected."""
    searches = records(SEARCHES)
    cricket, football = (searches.filter(_.query == query).distinct("ip") for query in QUERIES[:2])
    both = cricket.intersect(football)
    assert exact(both.count()) == {"count": [2]}
    assert stability(both.count()) == 2
    assert exact(cricket.union(football).distinct().count()) == {"count": [4]}
    assert exact(cricket.difference(football).count()) == {"count": [1]}
    assert stability(cricket.union(football).count()) == stability(cricket.difference(football).count()) == 2


def test_a_map_of_searches(exact: Any) -> None:
    """The visualization of the paper: records joined to public coordinates, and counted by place and query."""
    shown = records(SEARCHES).join(dp.public(PLACES), "ip")
    by_place = shown.group_by("query", "lat", "lon", keys={"query": QUERIES[:2], "lat": [51, 28], "lon": [0, 77]})
    assert exact(by_place.agg(n=_.count()))["n"] == [3, 0, 0, 1, 1, 0, 0, 2]
    assert stability(by_place.agg(n=_.count())) == 1


def test_a_private_table_is_joined(exact: Any) -> None:
    """So many records of each side for a key; or the groups of both sides, a pair for each key that both have."""
    budget = dp.Budget(epsilon=10)
    first, second = records(SEARCHES, "today", budget), records(SEARCHES.slice(3), "yesterday", budget)
    pairs = first.select("ip", "query").join(second.select("ip", "seconds"), "ip", max_matches=1)
    assert exact(pairs.count()) == {"count": [3]}
    assert stability(pairs.count()) == 4  # a record takes the place of another on either side
    sides = first.mutate(old=False).union(second.mutate(old=True))
    groups = sides.per_key("ip", new=_.count(where=~_.old), old=_.count(where=_.old))
    asked = groups.agg(n=_.count(where=(_.new > 0) & (_.old > 0)), more=_.count(where=_.new > _.old))
    assert exact(asked) == {"n": [3], "more": [1]}
    assert stability(asked) == 4


def test_the_lines_of_a_program(exact: Any) -> None:
    """The harness: lines, those with a semicolon, and parts by the number of words."""
    text = records(pa.table({"line": PROGRAM.split("\n")}))
    assert exact(text.count()) == {"count": [len(PROGRAM.split("\n"))]}
    assert exact(text.filter(_.line.contains(";")).count()) == {"count": [PROGRAM.count(";")]}
    counted = text.mutate(words=_.line.length() - _.line.replace(" ", "").length() + 1)
    parts = counted.partition("words", keys=range(1, 16))
    lines = [len(line.split(" ")) for line in PROGRAM.split("\n")]
    assert [exact(part.count())["count"][0] for part in parts.values()] == [lines.count(n) for n in range(1, 16)]
    for part in parts.values():
        part.count().release(epsilon=0.1)
    assert text.budget.spent.epsilon == pytest.approx(0.1)


def test_the_words_of_a_program(exact: Any) -> None:
    """A line becomes at most k words, and each of them is paid for."""
    text = records(pa.table({"line": PROGRAM.split("\n")}))
    words = text.unnest(word=_.line.strip().split(" "), max_items=4)
    counts = exact(words.group_by("word", keys={"word": ["{", "count", "static", "never"]}).agg(n=_.count()))
    assert counts["n"] == [2, 1, 1, 0]
    assert stability(words.count()) == 4


def test_degrees_of_a_network(exact: Any) -> None:
    """Edges are records; a node's degree is a record of a group, and their distribution counts such records."""
    edges = records(EDGES)
    degrees = edges.per_key("to", degree=_.count())
    distribution = degrees.group_by("degree", keys={"degree": [1, 2, 3]}).agg(nodes=_.count())
    assert exact(distribution)["nodes"] == [1, 1, 1]
    assert stability(distribution) == 2
    ends = edges.unnest(node=["from", "to"])
    assert exact(ends.per_key("node", degree=_.count()).agg(n=_.count(), s=_.degree.clip(0, 9).sum())) == {
        "n": [4],
        "s": [12],
    }
    assert stability(ends.per_key("node", degree=_.count()).count()) == 4
    paths = edges.rename(middle="to").join(edges.rename(middle="from", end="to"), "middle", max_matches=3)
    assert exact(paths.filter(_.end != _["from"]).count()) == {"count": [6]}


def test_aggregates(exact: Any) -> None:
    """NoisyCount, NoisySum, NoisyAverage, NoisyMedian: at one charge, within stated bounds."""
    asked = records(SEARCHES).agg(n=_.count(), total=_.seconds.sum(), mean=_.seconds.mean(), middle=_.seconds.median())
    answer = asked.release(epsilon=8).to_pyarrow()
    assert exact(records(SEARCHES).agg(n=_.count(), total=_.seconds.sum(), mean=_.seconds.mean())) == {
        "n": [8],
        "total": [38.0],
        "mean": [4.75],
    }
    assert 0 <= answer["middle"][0].as_py() <= 10


def test_agents() -> None:
    """An agent refuses what does not fit its budget, and a record of all charges is what the logger wrote."""
    budget = dp.Budget(epsilon=1)
    searches = records(SEARCHES, budget=budget)
    searches.count().release(epsilon=0.75)
    with pytest.raises(dp.BudgetExceeded):
        searches.filter(_.seconds > 2).count().release(epsilon=0.5)
    assert [float(entry.guarantee.epsilon) for entry in budget.entries()] == [0.75]


def test_take_and_skip(exact: Any) -> None:
    searches = records(SEARCHES)
    assert exact(searches.take(5).count()) == {"count": [5]}
    assert exact(searches.skip(5).count()) == {"count": [3]}
    assert (stability(searches.take(5).count()), stability(searches.skip(5).count())) == (2, 1)


def test_select_many_of_values(exact: Any) -> None:
    spread = records(SEARCHES).unnest(what=[_.ip, _.query], kind=[ibis.literal("ip"), ibis.literal("query")])
    assert exact(spread.group_by("kind").agg(n=_.count()))["n"] == [8, 8]
    assert stability(spread.count()) == 2
