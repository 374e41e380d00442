"""Answers in a terminal and in a notebook: every digit, nothing read as markup, nothing too long."""

from __future__ import annotations

import pyarrow as pa
import pytest

from discreet.answers.display import MOST_ROWS, cells, html, number_text, table_text

TABLE = pa.table(
    {
        "plan": ["[/b]", "<i>&", None],
        "n": [1234567, 0, -5],
        "n_low": [1234500, -3, -8],
        "n_high": [1234600, 3, -2],
        "m": [0.5, 1e-9, -1e20],
        "m_low": [0.25, 0.0, -2e20],
        "m_high": [1234.5678, 12.3456, 1e15],
    }
)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1234567, "1,234,567"),
        (0, "0"),
        (-5, "-5"),
        (0.0, "0.00"),
        (0.5, "0.500"),
        (12.3456, "12.3"),
        (123.456, "123"),
        (1234.5678, "1,235"),
        (0.00012345, "0.0001"),
        (1e-9, "1.000e-09"),
        (-1e20, "-1.000e+20"),
    ],
)
def test_numbers_have_as_many_digits_as_help(value: float, shown: str) -> None:
    assert number_text(value) == shown


def test_each_column_stands_with_its_ends() -> None:
    headers, rows = cells(TABLE, ["n", "m"])
    assert headers == ["plan", "n", "m"]
    assert rows[0] == ["[/b]", "1,234,567  [1,234,500, 1,234,600]", "0.500  [0.250, 1,235]"]
    assert rows[2][0] == "NULL"


def test_years_that_python_does_not_have_are_shown() -> None:
    far = pa.array([3 * 10**17, 0, None], pa.timestamp("us"))
    shown = cells(pa.table({"last": far}), ["last"])[1]
    assert [row[0][:10] for row in shown] == ["11476-08-1", "1970-01-01", "NULL"]


def test_a_terminal_shows_keys_as_they_are() -> None:
    shown = table_text(TABLE, ["n", "m"], "95% [b]intervals[/b]")
    assert all(part in shown for part in ("[/b]", "<i>&", "NULL", "1,234,567", "95% [b]intervals[/b]"))
    assert "\x1b" not in shown


@pytest.mark.parametrize("width", ["20", "40", "200"])
def test_a_narrow_terminal_cuts_no_digit(width: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", width)
    shown = table_text(TABLE.select(["n", "n_low", "n_high"]).slice(0, 1), ["n"], "caption")
    assert "…" not in shown
    assert "1,234,567" in shown.replace("\n", "").replace("│", "").replace(" ", "")


def test_a_notebook_shows_no_markup_of_keys() -> None:
    shown = html(TABLE, ["n", "m"], "a < b")
    assert "&lt;i&gt;&amp;" in shown
    assert "<i>" not in shown
    assert "<caption>a &lt; b</caption>" in shown
    assert shown.count("<tr>") == 4


def test_long_answers_say_what_is_left_out() -> None:
    long = pa.table({"k": range(1000), "n": range(1000), "n_low": range(1000), "n_high": range(1000)})
    for shown in (table_text(long, ["n"], "c"), html(long, ["n"], "c")):
        assert f"first {MOST_ROWS} of 1,000 groups" in shown
    assert html(long, ["n"], "c").count("<tr>") == MOST_ROWS + 1
