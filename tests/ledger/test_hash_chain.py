"""The chain accepts what was appended and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import pytest

from discreet.errors import LedgerError
from discreet.ledger.hash_chain import POINTS, Head, LedgerLine, chain_hash, follow, ratios
from discreet.ledger.privacy_filter import Allowance, Spending

KEY = "ab" * 32
TIME = "2030-01-01T00:00:00.000+00:00"
NO = ("0/1",) * 4
ALL = ("1/1", "1/120", "67/200", "1/120")
"""What was spent at the end of LINES."""


def line(position: int, kind: str, number: int, texts: tuple[str, ...], amounts: tuple[str, ...]) -> LedgerLine:
    """A line from its numbers, its texts (source, what, key, event) and its amounts."""
    digest = "00" * 32 if kind == "answer" else ""
    return LedgerLine._make((position, kind, TIME, number, *texts, *amounts, digest, "", "", ""))


LINES = (
    line(0, "created", 0, ("", "format 1", "", ""), ("1/1", "1/100", "0/1", "1/100", *NO)),
    line(1, "charge", 1, ("p", "count", KEY, "{}"), ("1/10", "0/1", "1/200", "0/1", "1/10", "0/1", "1/200", "0/1")),
    line(2, "charge", 2, ("p", "n", KEY, "{}"), ("1/10", "1/300", "1/100", "1/300", "1/5", "1/300", "3/200", "1/300")),
    line(3, "answer", 1, ("", "", KEY, ""), (*NO, "1/5", "1/300", "3/200", "1/300")),
    line(4, "charge", 3, ("p", "sum", KEY, "{}"), ("4/5", "1/200", "8/25", "1/200", *ALL)),
)


def chained(lines: Iterable[LedgerLine]) -> list[tuple[LedgerLine, str]]:
    """The lines with the hashes that belong to them."""
    chain, pairs = "", []
    for line in lines:
        chain = chain_hash(chain, line)
        pairs.append((line, chain))
    return pairs


def head_of(pairs: Iterable[tuple[LedgerLine, str]]) -> Head | None:
    head = None
    for line, chain in pairs:
        head = follow(head, line, chain)
    return head


def test_sound_lines_are_followed() -> None:
    head = head_of(chained(LINES))
    assert head
    assert (head.position, head.number) == (4, 3)
    assert head.spent == Spending(Fraction(1), Fraction(1, 120), Fraction(67, 200), Fraction(1, 120))
    assert head.allowance == Allowance(epsilon=Fraction(1), delta=Fraction(1, 100), own=Fraction(1, 100))


OTHER_VALUES: dict[str, Any] = {
    "position": 9,
    "number": 9,
    "kind": "refund",
    "epsilon": "1/9",
    "delta": "1/999",
    "event": "{1}",
}


@pytest.mark.parametrize("field", LedgerLine._fields)
@pytest.mark.parametrize("place", range(len(LINES)))
def test_a_changed_line_is_refused(place: int, field: str) -> None:
    """Whatever a line says, it cannot be changed while the hash stays."""
    pairs = chained(LINES)
    sound, chain = pairs[place]
    pairs[place] = sound._replace(**{field: OTHER_VALUES.get(field, "1/7")}), chain
    with pytest.raises(LedgerError, match="unbroken chain"):
        head_of(pairs)


@pytest.mark.parametrize("spent", ["1/5", "0/1", "3/10", "1/0", "one"])
def test_a_line_with_a_wrong_total_is_refused(spent: str) -> None:
    """Not even with a hash to go with it."""
    with pytest.raises(LedgerError, match="unbroken chain"):
        head_of(chained([LINES[0], LINES[1]._replace(spent_epsilon=spent)]))


AFTER = line(5, "answer", 3, ("", "", KEY, ""), (*NO, *ALL))


def another(amounts: tuple[str, ...], spent_epsilon: str, spent_rho: str) -> LedgerLine:
    return line(5, "charge", 4, ("s", "w", KEY, "{}"), (*amounts, spent_epsilon, ALL[1], spent_rho, ALL[3]))


@pytest.mark.parametrize(
    "lines",
    [
        [LINES[1]],
        [LINES[0]._replace(kind="charge")],
        [LINES[0], LINES[0]],
        [LINES[0], LINES[2]],
        [LINES[0], LINES[1], LINES[1]],
        [LINES[0], LINES[3]],
        [*LINES, AFTER._replace(number=4)],
        [*LINES, AFTER._replace(number=0)],
        [*LINES, AFTER._replace(epsilon="1/9")],
        [*LINES, AFTER._replace(spent_epsilon="9/10")],
        [*LINES, AFTER._replace(spent_rho="1/200")],
        [*LINES, another(("1/1000", "0/1", "1/2000000", "0/1"), "1001/1000", "670001/2000000")],
        [*LINES, another(("-1/2", "0/1", "1/8", "0/1"), "1/2", "23/50")],
        [*LINES, another(("0/1", "0/1", "1/8", "0/1"), "1/1", "23/50")],
        [*LINES[:2], another(("1/10", "0/1", "0/1", "0/1"), "1/5", "1/200")._replace(position=2, number=2)],
        [*LINES, AFTER._replace(kind="refund")],
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
        "answer-that-refunds-rho",
        "over-the-allowance",
        "negative",
        "nothing",
        "no-rho",
        "unknown-kind",
    ],
)
def test_books_that_do_not_add_up_are_refused(lines: list[LedgerLine]) -> None:
    with pytest.raises(LedgerError, match="unbroken chain"):
        head_of(chained(lines))


def declared(position: int, number: int, version: str, unit: str = "person", **changed: Any) -> LedgerLine:
    facts = f'{{"neighbors":"add-remove","size":null,"unit":["{unit}"]}}'
    return line(position, "source", number, ("visits", version, "", facts), (*NO, *ALL))._replace(**changed)


def test_sources_are_followed() -> None:
    head = head_of(chained([*LINES, declared(5, 1, "1"), declared(6, 2, "2")]))
    assert head
    assert [(one.name, one.version, one.unit) for one in head.sources] == [
        ("visits", "1", ("person",)),
        ("visits", "2", ("person",)),
    ]
    assert (head.number, head.spent.epsilon) == (3, Fraction(1))


@pytest.mark.parametrize(
    "lines",
    [
        [declared(5, 2, "1")],
        [declared(5, 1, "1", epsilon="-1/2")],
        [declared(5, 1, "1", spent_epsilon="1/2")],
        [declared(5, 1, "1", event="{}")],
        [declared(5, 1, "1", event="one")],
        [declared(5, 1, "1"), declared(6, 2, "1")],
        [declared(5, 1, "1"), declared(6, 2, "2", unit="household")],
    ],
    ids=["number", "refund", "total", "no-facts", "no-json", "twice", "another-unit"],
)
def test_sources_that_cannot_be_are_refused(lines: list[LedgerLine]) -> None:
    with pytest.raises(LedgerError, match="unbroken chain"):
        head_of(chained([*LINES, *lines]))


def at(line: LedgerLine, level: str, by: str = "", totals: str = "") -> LedgerLine:
    return line._replace(level=level, asked_by=by, totals=totals)


LEVEL_LINES = (
    LINES[0],
    at(line(1, "level", 1, ("", "open", "", "why"), ("1/2", "0/1", "0/1", "0/1", *NO)), "staff", "carol"),
    at(line(2, "level", 2, ("", "open", "", ""), ("1/4", "0/1", "0/1", "0/1", *NO)), "staff/alice", "carol"),
    at(
        line(3, "charge", 1, ("p", "n", KEY, "{}"), ("1/10", "0/1", "1/200", "0/1", "1/10", "0/1", "1/200", "0/1")),
        "staff/alice",
        "alice",
        '[["1/10","0/1","1/200","0/1"],["1/10","0/1","1/200","0/1"]]',
    ),
    at(line(4, "level", 3, ("", "close", "", "why"), (*NO, "1/10", "0/1", "1/200", "0/1")), "staff", "carol"),
)


def test_levels_are_followed() -> None:
    head = head_of(chained(LEVEL_LINES))
    assert head
    levels = head.balances.levels
    assert {path: (str(one.spent.epsilon), one.standing) for path, one in levels.items()} == {
        "": ("1/10", "open"),
        "staff": ("1/10", "closed"),
        "staff/alice": ("1/10", "open"),
    }


@pytest.mark.parametrize("place", range(1, len(LEVEL_LINES)))
@pytest.mark.parametrize("field", ["level", "asked_by", "totals"])
def test_a_changed_level_is_refused(place: int, field: str) -> None:
    pairs = chained(LEVEL_LINES)
    sound, chain = pairs[place]
    changed: dict[str, Any] = {field: "x"}
    pairs[place] = sound._replace(**changed), chain
    with pytest.raises(LedgerError, match="unbroken chain"):
        head_of(pairs)


@pytest.mark.parametrize(
    "totals",
    [
        "", "[]", "x", "7", '[["1/10","0/1","1/200","0/1"]]',
        '[["1/10","0/1","1/200","0/1"],["0/1","0/1","0/1","0/1"]]',
        '[["0/1","0/1","0/1","0/1"],["1/10","0/1","1/200","0/1"]]',
    ],
)  # fmt: skip
def test_totals_of_levels_that_do_not_add_up_are_refused(totals: str) -> None:
    """Not even with a hash to go with it."""
    lines = [*LEVEL_LINES[:3], LEVEL_LINES[3]._replace(totals=totals)]
    with pytest.raises(LedgerError, match="unbroken chain"):
        head_of(chained(lines))


def charge_at(level: str, epsilon: str = "1/10") -> LedgerLine:
    return LEVEL_LINES[3]._replace(level=level, epsilon=epsilon)


@pytest.mark.parametrize(
    "lines",
    [
        [LEVEL_LINES[0], LEVEL_LINES[2]._replace(position=1, number=1)],
        [*LEVEL_LINES[:2], LEVEL_LINES[2]._replace(number=3)],
        [*LEVEL_LINES[:2], LEVEL_LINES[1]._replace(position=2, number=2)],
        [*LEVEL_LINES[:3], LEVEL_LINES[1]._replace(position=3, number=3, what="raise")],
        [*LEVEL_LINES[:3], LEVEL_LINES[1]._replace(position=3, number=3, what="forget")],
        [*LEVEL_LINES[:3], LEVEL_LINES[4]._replace(position=3)],
        [*LEVEL_LINES[:4], LEVEL_LINES[4]._replace(asked_by="")],
        [*LEVEL_LINES[:4], LEVEL_LINES[4]._replace(epsilon="1/9")],
        [*LEVEL_LINES, LEVEL_LINES[3]._replace(position=5, number=2)],
        [*LEVEL_LINES[:3], charge_at("staff/bob")],
    ],
    ids=[
        "no-parent", "gap", "opened-twice", "raised-to-the-same", "unknown", "refund", "by-nobody", "close-that-costs",
        "charged-when-closed", "never-opened",
    ],
)  # fmt: skip
def test_changes_that_were_not_let_in_are_refused(lines: list[LedgerLine]) -> None:
    with pytest.raises(LedgerError, match="unbroken chain"):
        head_of(chained(lines))


def test_lines_of_damaged_types_are_refused() -> None:
    damaged: list[object] = [None, b"\0", 1.5]
    for value in damaged:
        odd = LINES[1]._replace(epsilon=value)  # type: ignore[arg-type]  # as a damaged file gives it
        with pytest.raises(LedgerError, match="unbroken chain"):
            follow(head_of(chained(LINES[:1])), odd, "x")


def test_hashes_tell_fields_apart() -> None:
    """Moving text from one field to the next is a change."""
    first = LINES[1]._replace(source="ab", what="c")
    assert chain_hash("", first) != chain_hash("", first._replace(source="a", what="bc"))
    assert chain_hash("", first) != chain_hash("1", first)


def test_the_hash_is_kept() -> None:
    """Computed apart, with coreutils: a change would make every ledger that exists unreadable."""
    assert chain_hash("", LINES[0]) == "2a2e2b12f6371d33f34e204f7daf506e085789831bddf05d6c111478e8fb0928"


def test_amounts_are_written_as_ratios() -> None:
    assert ratios(Fraction(5, 2), Fraction("1e-330")) == ("5/2", f"1/{10**330}")


@pytest.mark.parametrize(
    ("number", "sound"), [(POINTS + 1, True), (3 * POINTS + 9, True), (3 * POINTS, False), (4 * POINTS + 1, False)]
)
def test_points_are_of_a_charge_that_was_made(number: int, *, sound: bool) -> None:
    """A point has the number of a charge before it, and a place from 1 on; it costs nothing."""
    point = line(5, "point", number, ("", "", KEY, ""), (*NO, *ALL))
    priced = line(5, "point", number, ("", "", KEY, ""), ("1/10", *NO[1:], *ALL))
    if sound:
        assert head_of(chained([*LINES, point]))
    for wrong in (priced, *(() if sound else (point,))):
        with pytest.raises(LedgerError):
            head_of(chained([*LINES, wrong]))
