"""Choices, bounds from below, clusters and hierarchies: what a service asks of them, and how it sends their answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from discreet.choices.choose_candidate import Choice
from discreet.clustering.explain_clusters import looks
from discreet.clustering.table_kmeans import Clusters
from discreet.distinct_values.count_distinct import CONFIDENCE, DistinctValues
from discreet.errors import InvalidParameter, InvalidQuery, expected, nearest_name
from discreet.hierarchies.hierarchy_question import HierarchyQuestion
from discreet.hierarchies.measured_levels import HierarchyRelease
from discreet.inference.interval_propagation import HIGH, LOW
from discreet.logs.top_keys import Top
from discreet.planning.first_look_budget import NOTHING_TO_FIND
from discreet.query.unpriced_question import UnpricedQuestion
from discreet.series.series_question import SeriesQuestion
from discreet.truncation.truncated_total_release import TruncatedTotal

MOST_CENTERS, MOST_ROUNDS, MOST_ROWS, MOST_KEYS = 24, 20, 100_000, 1000
"""Of numbers in all centers, of rounds, of rows of all levels, and of keys that are sent along: it takes a second to
price, or to send."""
MOST_LEVEL_TOTALS = 50
"""Of aggregates times levels: each takes a share of a second to divide the price for."""
LEVEL = "level"


@dataclass(frozen=True, kw_only=True, slots=True)
class AppliedSize:
    """From what the first public moment of an answer follows."""

    looks: int = 1
    """How often rows are looked at, at most, one look after the other."""
    totals: int
    """In each look."""
    cells: int


def check_applied(question: Any) -> None:
    """Refuses what takes long to price, or has a long answer; from what was asked alone."""
    if isinstance(question, SeriesQuestion):
        cure = "its curator declares series in the service file; .series of the service has those that there are."
        raise InvalidQuery(expected("a question with one answer", "document", "a series", cure))
    cure = "ask for less at a time; who has the table can answer such a document in their own process."
    if isinstance(question, HierarchyQuestion):
        if (rows := _rows(question)) > MOST_ROWS:
            what = f"at most {MOST_ROWS:,} rows of all levels from a service"
            raise InvalidQuery(expected(what, "rows", f"{rows:,}", cure))
        totals = len(question._query.aggregates) * len(question._places.levels)  # noqa: SLF001 (have no public name)
        if totals > MOST_LEVEL_TOTALS:
            what = f"at most {MOST_LEVEL_TOTALS} aggregates times levels from a service"
            raise InvalidQuery(expected(what, "aggregates", f"{totals:,}", cure))
        return
    if not isinstance(question, UnpricedQuestion) or _verb(question) not in {"kmeans", "top"}:
        return
    asked = _parts(question)
    if _verb(question) == "top":
        if (keys := len(asked.get("keys", ()))) > MOST_KEYS:
            raise InvalidQuery(expected(f"at most {MOST_KEYS:,} keys from a service", "keys", f"{keys:,}", cure))
        return
    numbers = asked["n_clusters"] * len(asked["columns"])
    if numbers > MOST_CENTERS:
        what = f"at most {MOST_CENTERS} numbers in all centers from a service"
        raise InvalidQuery(expected(what, "n_clusters", f"{numbers:,} numbers", cure))
    if asked.get("rounds", 1) > MOST_ROUNDS:
        raise InvalidQuery(expected(f"at most {MOST_ROUNDS} rounds from a service", "rounds", asked["rounds"], cure))


def applied_size(question: Any) -> AppliedSize | None:
    """How large what is asked is, from stated facts; none, where its account says it."""
    if isinstance(question, HierarchyQuestion):
        return AppliedSize(totals=len(question._query.aggregates), cells=_rows(question))  # noqa: SLF001 (has no public name)
    if isinstance(question, UnpricedQuestion) and _verb(question) == "kmeans":
        asked = _parts(question)
        most = looks(asked["algorithm"], asked.get("rounds", 1))
        return AppliedSize(looks=most, totals=1 + len(asked["columns"]), cells=asked["n_clusters"])
    if isinstance(question, UnpricedQuestion) and _verb(question) == "truncated_total":
        return AppliedSize(totals=2, cells=1)  # of each unit, and of all; more limits take no more looks
    return None


def applied_arguments(question: Any, given: Mapping[str, Any]) -> dict[str, Any] | None:
    """What `explain` and `release` of such a question are given; none, where it is another one."""
    if "first_look" in given and isinstance(question, UnpricedQuestion | HierarchyQuestion):
        raise InvalidQuery(NOTHING_TO_FIND)
    if isinstance(question, UnpricedQuestion):
        for name in ("within", "weights"):
            if name in given:
                cure = 'write "price": {"epsilon": "0.1"}; explain says how good that is.'
                raise InvalidParameter(expected("an amount as the price", name, "some", cure))
        return dict(given)
    if not isinstance(question, HierarchyQuestion):
        return None
    found = dict(given)
    if "weights" in found:
        levels = question._places.levels  # noqa: SLF001 (its levels have no public name)
        found["weights"] = [_weight(level, found["weights"]) for level in levels]
        for name in given["weights"]:
            if name not in levels:
                raise InvalidParameter(expected("a level of the path", "weights", name, nearest_name(name, levels)))
    if "confidence" in found:
        found["confidence"] = float(found["confidence"])
    return found


def _weight(level: str, weights: Mapping[str, Any]) -> Any:
    if level not in weights:
        cure = f'weight all of them: "weights": {{"{level}": "1"}}.'
        raise InvalidParameter(expected("a weight for each level", "weights", f"none for {level}", cure))
    return weights[level]


def applied_shape(question: Any) -> pa.Schema | None:
    """The names and types of the answer as one table; none, where it is another question."""
    if isinstance(question, UnpricedQuestion):
        return question._shape()  # noqa: SLF001 (its shape has no public name)
    if not isinstance(question, HierarchyQuestion):
        return None
    places, aggregates = question._places, question._query.aggregates  # noqa: SLF001 (as above)
    kept = [*places.path.schema, *places.cells.schema]
    named = [f"{one.name}{end}" for one in aggregates for end in ("", LOW, HIGH)]
    names = {field.name for field in kept} | set(named)
    return pa.schema(
        [pa.field(_free(LEVEL, names), pa.string()), *kept, *(pa.field(name, pa.float64()) for name in named)]
    )


@dataclass(frozen=True, kw_only=True)
class AppliedAnswer:
    """An answer as one table, with what formats and pages ask of a release."""

    receipt: Any
    groups: Sequence[str]
    columns: Sequence[str]
    intervals_at: Callable[[float], pa.Table]
    has_no_intervals: bool = False

    def to_pyarrow(self) -> pa.Table:
        """All of it, with intervals of 95 %, where there are some."""
        return self.intervals_at(CONFIDENCE)

    def intervals(self, confidence: float) -> pa.Table:
        """The same at another confidence, for nothing."""
        return self.intervals_at(confidence)


def applied_answer(answer: Any) -> AppliedAnswer | None:
    """Such an answer as one table; none, where it is another one."""
    if isinstance(answer, HierarchyRelease):
        return _levels(answer)
    if isinstance(answer, DistinctValues | TruncatedTotal):
        return AppliedAnswer(
            receipt=answer.receipt, groups=("limit",), columns=("value",), intervals_at=answer.to_pyarrow
        )
    if isinstance(answer, Top | Choice | Clusters):
        table = answer.to_pyarrow()
        names = tuple(table.column_names)
        is_choice = not isinstance(answer, Clusters)
        return AppliedAnswer(
            receipt=answer.receipt,
            groups=names if is_choice else (),
            columns=() if is_choice else names,
            intervals_at=lambda _: table,
            has_no_intervals=True,
        )
    return None


def _levels(answer: HierarchyRelease) -> AppliedAnswer:
    """The tables of all levels, one below the other."""
    last = answer[list(answer)[-1]]
    values = {f"{name}{end}" for name in answer.columns for end in ("", LOW, HIGH)}
    level = _free(LEVEL, set(last.column_names))
    keys = [name for name in last.column_names if name not in values]

    def one(confidence: float) -> pa.Table:
        tables = answer.intervals(confidence)
        parts = [own.add_column(0, level, pa.array([name] * own.num_rows, pa.string())) for name, own in tables.items()]
        return pa.concat_tables(parts, promote_options="default").select([level, *last.column_names])

    return AppliedAnswer(receipt=answer.receipt, groups=(level, *keys), columns=answer.columns, intervals_at=one)


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _rows(question: HierarchyQuestion) -> int:
    """How many rows all levels have."""
    places = question._places  # noqa: SLF001 (as above)
    return sum(places.tree.sizes) * places.number_of_cells


def _verb(question: UnpricedQuestion[Any]) -> str:
    return question._asked.verb  # noqa: SLF001 (what was recorded has no public name)


def _parts(question: UnpricedQuestion[Any]) -> Mapping[str, Any]:
    """The arguments of the verb, as a document has them."""
    return question._asked.stated()  # noqa: SLF001 (as above)
