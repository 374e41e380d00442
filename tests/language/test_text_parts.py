"""The parts of a text: those of Python, whatever the text."""

from __future__ import annotations

from typing import Any

import ibis
import pytest
from ibis import _

from discreet.errors import InvalidQuery
from discreet.language.text_parts import has_part, part_of, split_of
from query_fixtures import TEXTS, Hostile

DELIMITERS = (",", "a", "aa", "ab", "é", " ", "\\", "%", "_", ".", "|", "'", "bab")
MORE = ["", ",", ",,", "x,y", "aaa", "aaaa", "aabaab", "babab", "ab", "a.b|c", "...", "e\u0301", *TEXTS]


def split(hostile: Hostile, written: Any) -> Any:
    op: Any = written.resolve(hostile.visible).op()
    return split_of(op, {hostile.visible.op(): hostile.scanned.columns})


@pytest.mark.parametrize("delimiter", DELIMITERS)
def test_texts_are_split_as_python_splits_them(hostile: Hostile, delimiter: str) -> None:
    text, found = split(hostile, _.name.split(delimiter))
    assert (found, text.nullable) == (delimiter, True)
    rows = ibis.memtable({"t": [*MORE, None], "n": range(len(MORE) + 1)}, schema={"t": "string", "n": "int64"})
    for place in range(6):
        number = ibis.literal(place).cast("int64")
        made = rows.select(rows.n, there=has_part(rows.t, delimiter, number), part=part_of(rows.t, delimiter, number))
        for row in hostile.backend.to_pyarrow(made.order_by("n")).to_pylist():
            parts = None if row["n"] == len(MORE) else MORE[row["n"]].split(delimiter)
            assert (row["there"] or False) is (parts is not None and place < len(parts))
            if parts is not None:
                assert row["part"] == (parts[place] if place < len(parts) else "")


def test_what_is_no_text_is_refused(hostile: Hostile) -> None:
    for written, said in (
        (_.name.split(""), "not empty"),
        (_.name.split(_.word), "a constant delimiter"),
        (_.name.split("x" * 1001), "a constant delimiter"),
        (_.name.split("\ud800"), "."),
        (_.small.cast("string").nullif("1").split(","), None),
    ):
        if said is None:
            assert split(hostile, written)[1] == ","
            continue
        with pytest.raises(InvalidQuery, match=said):
            split(hostile, written)
