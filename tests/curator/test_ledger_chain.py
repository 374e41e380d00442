"""The chain accepts what was appended and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import pytest

from discreet.curator.ledger_chain import Head, Line, chain_hash, follow, ratios
from discreet.errors import LedgerError
from discreet.privacy.definitions import Guarantee

KEY = "ab" * 32
TIME = "2030-01-01T00:00:00.000+00:00"
LINES = (
    Line(0, "created", TIME, 0, "", "format 1", "", "1/1", "1/100", "0/1", "0/1", ""),
    Line(1, "charge", TIME, 1, "people", "count", KEY, "1/10", "0/1", "1/10", "0/1", ""),
    Line(2, "charge", TIME, 2, "people", "count", KEY, "1/10", "1/300", "1/5", "1/300", ""),
    Line(3, "answer", TIME, 1, "", "", KEY, "0/1", "0/1", "1/5", "1/300", "00" * 32),
    Line(4, "charge", TIME, 3, "people", "sum", KEY, "4/5", "1/200", "1/1", "1/120", ""),
)


def chained(lines: Iterable[Line]) -> list[tuple[Line, str]]:
    """The lines with the hashes that belong to them."""
    chain, pairs = "", []
    for line in lines:
        chain = chain_hash(chain, line)
        pairs.append((line, chain))
    return pairs


def head_of(pairs: Iterable[tuple[Line, str]]) -> Head | None:
    head = None
    for line, chain in pairs:
        head = follow(head, line, chain)
    return head


def test_sound_lines_are_followed() -> None:
    head = head_of(chained(LINES))
    assert head
    assert (head.position, head.number) == (4, 3)
    assert head.spent == Guarantee(epsilon=Fraction(1), delta=Fraction(1, 120))
    assert head.allowance == Guarantee(epsilon=Fraction(1), delta=Fraction(1, 100))


OTHER_VALUES: dict[str, Any] = {"position": 9, "number": 9, "kind": "refund", "epsilon": "1/9", "delta": "1/999"}


@pytest.mark.parametrize("field", Line._fields)
@pytest.mark.parametrize("place", range(len(LINES)))
def test_a_changed_line_is_refused(place: int, field: str) -> None:
    """Whatever a line says, it cannot be changed while the hash stays."""
    pairs = chained(LINES)
    line, chain = pairs[place]
    pairs[place] = line._replace(**{field: OTHER_VALUES.get(field, "1/7")}), chain
    with pytest.raises(LedgerError, match="unbroken chain"):
        head_of(pairs)


@pytest.mark.parametrize("spent", ["1/5", "0/1", "3/10", "1/0", "one"])
def test_a_line_with_a_wrong_total_is_refused(spent: str) -> None:
    """Not even with a hash to go with it."""
    with pytest.raises(LedgerError, match="unbroken chain"):
        head_of(chained([LINES[0], LINES[1]._replace(spent_epsilon=spent)]))


@pytest.mark.parametrize(
    "lines",
    [
        [LINES[1]],
        [LINES[0]._replace(kind="charge")],
        [LINES[0], LINES[0]],
        [LINES[0], LINES[2]],
        [LINES[0], LINES[1], LINES[1]],
        [LINES[0], LINES[3]],
        [*LINES, LINES[3]._replace(position=5, spent_epsilon="1/1", spent_delta="1/120", number=4)],
        [*LINES, LINES[3]._replace(position=5, spent_epsilon="1/1", spent_delta="1/120", number=0)],
        [*LINES, LINES[3]._replace(position=5, spent_epsilon="1/1", spent_delta="1/120", epsilon="1/9")],
        [*LINES, LINES[3]._replace(position=5, spent_epsilon="9/10", spent_delta="1/120")],
        [*LINES, Line(5, "charge", TIME, 4, "s", "w", KEY, "1/1000", "0/1", "1001/1000", "1/120", "")],
        [*LINES, Line(5, "charge", TIME, 4, "s", "w", KEY, "-1/2", "0/1", "1/2", "1/120", "")],
        [*LINES, Line(5, "charge", TIME, 4, "s", "w", KEY, "0/1", "0/1", "1/1", "1/120", "")],
        [*LINES, Line(5, "refund", TIME, 3, "s", "w", KEY, "0/1", "0/1", "1/1", "1/120", "")],
    ],
    ids=[
        "no-first",
        "wrong-first",
        "two-firsts",
        "gap",
        "twice",
        "answer-to-nothing",
        "answer-to-later",
        "answer-to-first",
        "answer-that-costs",
        "answer-that-refunds",
        "over-the-allowance",
        "negative",
        "nothing",
        "unknown-kind",
    ],
)
def test_books_that_do_not_add_up_are_refused(lines: list[Line]) -> None:
    with pytest.raises(LedgerError, match="unbroken chain"):
        head_of(chained(lines))


def test_lines_of_damaged_types_are_refused() -> None:
    damaged: list[object] = [None, b"\0", 1.5]
    for value in damaged:
        line = LINES[1]._replace(epsilon=value)  # type: ignore[arg-type]  # as a damaged file gives it
        with pytest.raises(LedgerError, match="unbroken chain"):
            follow(head_of(chained(LINES[:1])), line, "x")


def test_hashes_tell_fields_apart() -> None:
    """Moving text from one field to the next is a change."""
    first = LINES[1]._replace(source="ab", what="c")
    assert chain_hash("", first) != chain_hash("", first._replace(source="a", what="bc"))
    assert chain_hash("", first) != chain_hash("1", first)


def test_the_hash_is_kept() -> None:
    """Computed apart, with coreutils: a change would make every ledger that exists unreadable."""
    assert chain_hash("", LINES[0]) == "449ee7f7191b14a7a79d5390bb70f2f243544b7dc702def08fe2fa7a89aa6c0c"


def test_amounts_are_written_as_ratios() -> None:
    guarantee = Guarantee(epsilon=Fraction(5, 2), delta=Fraction("1e-330"))
    assert ratios(guarantee) == ("5/2", f"1/{10**330}")
