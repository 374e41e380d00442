"""What every public object says when it is taken for something else: a truth, a length, a number, a text.

For each class there is a written decision; a class that becomes public has to be given one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from ibis import _

import discreet as dp
from discreet.errors import NoTruth, printable
from discreet.testing import people

Own = Callable[[str], Any]


class Decision(NamedTuple):
    """What an object of a class says: `refused` is ours, with a cure; `error` is Python's own TypeError."""

    truth: str
    length: str
    loop: str
    equal: str
    """To another one that was made in the same way."""
    number: str
    """Whether it equals 1."""


def decision(line: str) -> Decision:
    return Decision(*line.split())


ASKED = decision("refused refused refused other refused")
OTHER = decision("refused error error other refused")
FOUND = decision("refused error error same no")
VALUE = decision("true error error same no")
STATE = decision("true error error other no")
LOG = decision("refused some error other refused")
DECISIONS: dict[str, Decision] = {
    "AnswerFile": decision("refused some error same no"), "Release": decision("refused some refused other refused"),
    "Receipt": decision("true some facts same no"),
    "Explanation": decision("refused some facts other refused"), "LogRelease": LOG, "LogSample": LOG,
    "PrivateTable": ASKED, "SharedTable": ASKED, "PrivateGroups": ASKED, "GroupingSets": ASKED, "Question": ASKED,
    "OpenQuestion": ASKED, "BatchQuestion": ASKED, "RangesQuestion": ASKED, "RangesRelease": OTHER,
    "GroupedRangesQuestion": ASKED, "GroupedRangesRelease": decision("refused some facts other refused"),
    "BatchRelease": decision("refused some facts other refused"),
    "PathGroups": ASKED, "HierarchyQuestion": ASKED, "HierarchyRelease": decision("refused some facts other refused"),
    "PublicTable": OTHER, "PublicKeys": OTHER, "Budget": OTHER, "Clusters": OTHER, "Top": OTHER, "Loss": OTHER,
    "Choice": OTHER, "DistinctValues": OTHER, "TruncatedTotal": OTHER,
    "Guarantee": decision("refused error error same refused"), "Verdict": FOUND, "Search": FOUND, "Report": FOUND,
    "DiscreteGaussian": VALUE, "Exponential": VALUE, "Gaussian": VALUE, "KNorm": VALUE, "KeySelection": VALUE,
    "Laplace": VALUE, "NoisyMax": VALUE, "PermuteAndFlip": VALUE, "RandomizedResponse": VALUE, "Staircase": VALUE,
    "Threshold": VALUE, "SparseVector": STATE, "KMeans": STATE, "Consistent": STATE,
}  # fmt: skip
"""Findings, answers, questions and amounts are no truth. Mechanisms are values: there is nothing in them to be true."""


def said(ask: Callable[[], object], *, some: str = "some") -> str:
    """What comes of it, in a word."""
    try:
        found = ask()
    except dp.InvalidQuery as refusal:
        return "refused" if "\nHint: " in str(refusal) else "no cure"
    except TypeError:
        return "error"
    return {True: "true", False: "no"}[found] if isinstance(found, bool) else some


@pytest.mark.long
@pytest.mark.cases
@pytest.mark.parametrize("name", DECISIONS)
def test_every_object_says_what_was_decided(
    name: str, own: Own, makers: dict[str, Callable[[], Any]], tmp_path: Path
) -> None:
    thing, other = own(name), makers[name]()
    if name in ("PrivateTable", "SharedTable"):  # whose maker gives one table for all
        other = people()
    if name == "AnswerFile":
        thing = written(tmp_path / "a.parquet")
        other = dp.AnswerFile(thing.path, thing.rows, thing.receipt)
    equal = {"true": "same", "no": "other"}[said(lambda: thing == other)]
    found = said(lambda: bool(thing)), said(lambda: len(thing)), said(lambda: list(thing), some="facts"), equal
    assert Decision(*found, said(lambda: thing == 1)) == DECISIONS[name]
    assert said(lambda: thing == thing) == "true"  # noqa: PLR0124 (what it says of itself)
    assert said(lambda: thing != 0.5) == ("refused" if DECISIONS[name].number == "refused" else "true")
    assert said(lambda: thing == None) == "no"  # noqa: E711 (what it says of none)


@pytest.mark.long
@pytest.mark.parametrize("name", DECISIONS)
def test_no_object_is_a_number_or_has_an_order(name: str, own: Own) -> None:
    thing = own(name)
    if name == "AnswerFile":
        return
    for ask in (
        lambda: float(thing), lambda: int(thing), lambda: round(thing), lambda: abs(thing), lambda: thing < 1,
        lambda: thing <= own(name), lambda: thing > 0, lambda: 1 + thing, lambda: -thing, lambda: "n" in thing,
    ):  # fmt: skip
        assert said(ask) in ("error", "refused") or (
            name in ("Explanation", "Receipt", "BatchRelease", "GroupedRangesRelease", "HierarchyRelease")
            and said(ask) == "no"
        )


def test_every_public_class_has_a_decision(makers: dict[str, Callable[[], Any]]) -> None:
    classes = {name for name in dp.__all__ if inspect.isclass(getattr(dp, name))}
    errors = {name for name in classes if issubclass(getattr(dp, name), BaseException)}
    assert classes - errors <= set(DECISIONS)
    assert set(makers) == set(DECISIONS)


def test_what_is_no_truth_says_what_to_ask() -> None:
    left = list(NoTruth.__subclasses__())
    while left:
        kind = left.pop()
        left += kind.__subclasses__()
        assert kind._ask
    with pytest.raises(dp.InvalidQuery, match=r"truth of a Verdict(?s:.*)assert dp.check\(...\).pure"):
        assert dp.check([[1, 0], [0, 1]], epsilon=5)
    with pytest.raises(dp.InvalidQuery, match=r"remaining\.epsilon"):
        assert dp.Budget(epsilon=1)
    assert dp.Budget(epsilon=1).remaining == dp.Budget(epsilon=1).remaining
    assert len({dp.Budget(epsilon=1).remaining, dp.Budget(epsilon=1).remaining}) == 1


HOSTILE = "a\x1b[2J\x07\u202e\x9b31m"
"""It clears a terminal, rings, and turns the direction of what follows."""


def written(path: Path) -> dp.AnswerFile:
    found: dp.AnswerFile = people().group_by("plan").agg(n=_.count()).release(epsilon=1, to=path)
    return found


def test_no_text_is_obeyed_by_a_terminal(tmp_path: Path) -> None:
    """Names of columns, tables and aggregates, keys and items of somebody's own: in texts, HTML and errors."""
    rows = pa.table({"who": list(range(40)), HOSTILE: [HOSTILE] * 40, "x": [1.0] * 40})
    stated: dict[str, Any] = {"unit": "who", "max_rows": 1, "max_groups": 1, "bounds": {"x": (0, 2)}}
    table = dp.protect(rows, budget=dp.Budget(epsilon=99, delta=0.01), **stated)
    marked = dp.public_keys(pa.table({HOSTILE: [HOSTILE]}))
    groups = table.group_by(HOSTILE, keys=marked)
    question = groups.agg(**{f"{HOSTILE} n": _.count()})
    answer = question.release(epsilon=9)
    unknown = table.group_by(HOSTILE, keys=dp.UNKNOWN).agg(n=_.who.nunique()).release(epsilon=9, delta=1e-4)
    assert unknown.to_pyarrow()[HOSTILE].to_pylist() == [HOSTILE]
    log = dp.release_log(table, user="who", item=HOSTILE, epsilon=9, delta=1e-4)
    sample = dp.sample_own_log(rows, user="who", item=HOSTILE, output_counts={HOSTILE: 3})
    centers = table.rename({HOSTILE + "x": "x"}).kmeans([HOSTILE + "x"], n_clusters=1, epsilon=5)
    shown = [
        table, table.rename({"z" + HOSTILE: "x"}), groups, question, answer, unknown, log, sample, marked, centers,
        dp.public(pa.table({HOSTILE: [1]})), question.explain(epsilon=1), table.top(HOSTILE, keys=[HOSTILE], epsilon=1),
        answer.order_by(HOSTILE), question.having(_[f"{HOSTILE} n"] > 0),
    ]  # fmt: skip
    texts = [text for thing in shown for text in (repr(thing), str(thing))]
    texts += [thing._repr_html_() for thing in shown if hasattr(thing, "_repr_html_")]
    statement = 'SELECT "?" FROM t'.replace("?", HOSTILE)
    for ask in (lambda: table[HOSTILE + "?"], lambda: table.group_by(HOSTILE), lambda: answer[HOSTILE],
                lambda: table.select(HOSTILE, HOSTILE), lambda: dp.sql(statement, t=table)):  # fmt: skip
        with pytest.raises(dp.DiscreetError) as refusal:
            ask()
        texts.append(str(refusal.value))
    assert len(texts) > 35
    for line in "\n".join(texts).split("\n"):
        assert line == printable(line), line
