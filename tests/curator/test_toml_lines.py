"""The line of each key, whatever the form in which TOML lets it be written; texts that are no TOML have theirs."""

from __future__ import annotations

import datetime
import tomllib
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.curator.toml_lines import DEEPEST, LARGEST, read_toml
from discreet.errors import InvalidParameter

WRITTEN = '''\
# a comment with [brackets] = and "quotes"
title.x = 1 # [a]
[a."b.c"]
k = """
x = 3
""""
j = [1, # one
 2, {z = 3},
 ]
e = {p = 1, q = {r = "}"}}
[[t]]
u = 1.5
d = 1979-05-27T07:32:00Z
g = '# no comment'
h = \'\'\'
[t.no]
\'\'\'
'q = "' = "a\\"b = c"
ok = true
'''
LINES = {
    (): 1,
    ("title",): 2,
    ("title", "x"): 2,
    ("a",): 3,
    ("a", "b.c"): 3,
    ("a", "b.c", "k"): 4,
    ("a", "b.c", "j"): 7,
    ("a", "b.c", "j", "z"): 8,
    ("a", "b.c", "e"): 10,
    ("a", "b.c", "e", "p"): 10,
    ("a", "b.c", "e", "q"): 10,
    ("a", "b.c", "e", "q", "r"): 10,
    ("t",): 11,
    ("t", "u"): 12,
    ("t", "d"): 13,
    ("t", "g"): 14,
    ("t", "h"): 15,
    ("t", 'q = "'): 18,
    ("t", "ok"): 19,
}


def test_every_key_has_its_line() -> None:
    assert read_toml(WRITTEN, "a.toml").lines == LINES


def test_numbers_are_exact_and_dates_are_dates() -> None:
    values = read_toml("a = 0.1\nb = 2024-01-31\nc = inf", "a.toml").values
    assert values == {"a": Decimal("0.1"), "b": datetime.date(2024, 1, 31), "c": Decimal("inf")}


def test_what_is_not_there_has_the_line_of_its_table() -> None:
    document = read_toml("\n[table]\nunit = 3", "a.toml")
    assert document.line("table", "source") == 2
    assert document.line("budget", "epsilon") == 1


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[table]\nunit = ", 2),
        ("a = 1\na = 2", 2),
        ("[a]\n[a]", 2),
        ("a = {b = 1,\n c = 2}", 1),
        ('a = "x', 1),
        ("a = 1e999999999999999999999", 1),
        ("\n\n= 3", 3),
        ("[table\n", 1),
    ],
)
def test_no_toml_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(InvalidParameter, match=rf"^Expected TOML, got .* in a\.toml, line {line}\.\nHint: "):
        read_toml(text, "a.toml")


@pytest.mark.parametrize(
    "text", [f"a = {'[' * 100_000}", f"a = {'9' * 10_000}", f"a = {'[' * 60}{']' * 60}", "#" * (LARGEST + 1)]
)
def test_what_is_too_deep_or_too_long_is_refused(text: str) -> None:
    assert DEEPEST < 60
    with pytest.raises(InvalidParameter, match=r"^Expected "):
        read_toml(text, "a.toml")


KEYS = st.one_of(st.from_regex(r"[A-Za-z0-9_-]{1,5}", fullmatch=True), st.text(max_size=4))
SCALARS = st.one_of(st.integers(-5, 5), st.booleans(), st.text(max_size=6), st.dates())
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=8,
)


def written(value: object) -> str:
    """A value as TOML, by hand."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        plain = "".join(c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in value)
        return f'"{plain}"'
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    assert isinstance(value, dict)
    return "{" + ", ".join(f"{written(name)} = {written(one)}" for name, one in value.items()) + "}"


@pytest.mark.long
@given(values=st.dictionaries(KEYS.filter(lambda key: all(not 0xD800 <= ord(c) < 0xE000 for c in key)), VALUES))
def test_lines_are_those_of_what_was_written(values: dict[str, object]) -> None:
    """A key a line: the lines are counted out, and what is read is what `tomllib` reads."""
    text = "".join(f"\n{written(name)} = {written(value)} # [x] = {{\n" for name, value in values.items())
    document = read_toml(text, "a.toml")
    assert document.values == tomllib.loads(text)
    assert [document.line(name) for name in values] == [2 + 2 * place for place in range(len(values))]
