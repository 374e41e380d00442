"""Names that a terminal or a page would obey are escaped in every text that people are shown."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet.errors import printable
from discreet.query.table import PrivateTable

HOSTILE = "\x1b]0;paid\x07\x1b[2J\u202e\u2066\r\nSpent: 0\x9b1m\u200b\x00"[:-1] + "\x7f"


def table() -> PrivateTable:
    rows = pa.table(
        {
            "person": list(range(40)),
            HOSTILE: [i % 5 for i in range(40)],
            "text": [HOSTILE, "b"] * 20,
        }
    )
    return dp.protect(
        rows,
        unit="person",
        bounds={HOSTILE: (0, 9)},
        budget=dp.Budget(epsilon=100, delta=0.1),
        max_rows=1,
        max_groups=1,
        name="t",
    )


def surfaces() -> Iterator[tuple[str, Callable[[PrivateTable], object]]]:
    """All that shows names: of columns, aggregates, keys and constants."""
    name = f"n{HOSTILE}"

    def grouped(t: PrivateTable) -> Any:
        return t.group_by("text", keys={"text": [HOSTILE, "b"]})

    def asked(t: PrivateTable) -> Any:
        return grouped(t).agg(**{name: lambda t: t[HOSTILE].sum()})

    def found(t: PrivateTable) -> Any:
        return t.group_by(HOSTILE, keys=dp.UNKNOWN).agg(**{name: lambda t: t.count()})

    yield "a table", lambda t: t
    yield "a chain", lambda t: t.filter(t.text == HOSTILE).mutate(**{name: t[HOSTILE] + 1})
    yield "groups", grouped
    yield "a question", asked
    yield "steps after the noise", lambda t: asked(t).mutate(**{f"{name}2": lambda a: a[name] * 2})
    yield "an explanation", lambda t: asked(t).explain(epsilon=1)
    yield "an explanation in rounds", lambda t: asked(t).explain(within={name: 3}, up_to=1)
    yield "an open explanation", lambda t: found(t).explain(epsilon=1, delta=0.01)
    yield "an answer", lambda t: asked(t).release(epsilon=1)
    yield "an answer after steps", lambda t: asked(t).release(epsilon=1).mutate(**{f"{name}2": lambda a: a[name] * 2})
    yield "found keys", lambda t: found(t).release(epsilon=50, delta=0.01)
    yield "clusters", lambda t: t.kmeans([HOSTILE], n_clusters=1, epsilon=1)
    yield "a log", lambda t: dp.release_log(t, user="person", item="text", epsilon=50, delta=0.01)
    yield "the most common", lambda t: t.top("text", keys=[HOSTILE, "b"], epsilon=1)
    yield "a choice", lambda t: t.choose([HOSTILE, "b"], score=lambda c: t.text == c, epsilon=1)
    yield "distinct values", lambda t: t.count_distinct(HOSTILE, epsilon=1)
    yield "a truncated total", lambda t: t.truncated_total(t[HOSTILE] > 1, epsilon=1)
    yield "a public table", lambda _: dp.public(pa.table({name: [1]}))
    yield "a missing column", lambda t: asked(t.select(f"{name}3"))
    yield "a missing answer", lambda t: asked(t).release(epsilon=1)[f"{name}3"]
    yield "an unknown option", lambda t: t.group_by(HOSTILE, keys={name: [1]})
    yield "a name twice", lambda t: t.mutate(**{name: t[HOSTILE]}).agg(**{HOSTILE: lambda t: t[name].sum()})


SURFACES = dict(surfaces())


def commands(text: str) -> set[str]:
    """What a terminal would obey; a line's end belongs to tables of several lines."""
    return {c for c in text if not c.isprintable()} - {"\n"}


@pytest.mark.long
@pytest.mark.parametrize("name", SURFACES)
def test_names_are_escaped_wherever_they_are_shown(name: str) -> None:
    people = table()
    try:
        shown = SURFACES[name](people)
    except dp.DiscreetError as refusal:
        texts = [str(refusal)]
    else:
        texts = [repr(shown)]
        if hasattr(shown, "_repr_html_"):
            texts.append(shown._repr_html_())
        if hasattr(shown, "receipt"):
            texts += [json.dumps(shown.receipt), shown.receipt["question"]]
    texts += [entry.what for entry in people.budget.entries()]
    for text in texts:
        assert commands(text) == set()
        assert "\nSpent" not in text


@pytest.mark.long
@settings(max_examples=200)
@given(st.text())
def test_what_is_printable_stays_and_nothing_else_is_left(text: str) -> None:
    assert printable(text).isprintable()
    assert text != printable(text) or text.isprintable()
    assert printable(printable(text)) == printable(text)
