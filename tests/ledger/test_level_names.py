"""Names of levels: one of each, and none that would be taken for another."""

from __future__ import annotations

import pytest

from discreet.errors import InvalidParameter, LedgerError
from discreet.ledger.level_names import DEEPEST, check_apart, is_below, lineage, parent_of, path_below


@pytest.mark.parametrize(
    "name", ["alice", "Zoë", "alice@example.org", "a.b", "1", "group 7", "李", "x" * 100, "a\\b", "%_'"]
)
def test_names(name: str) -> None:
    assert path_below("staff", name) == f"staff/{name}"
    assert path_below("", name) == name


@pytest.mark.parametrize(
    "name",
    [
        "", " ", " alice", "x ", "a/b", "/", "..", ".", "a\0b", "a\nb", "\ud800", "a\u202eb", "a\u200bb", "a\u00a0b",
        "Zoe\u0308", "ﬁx", "\uff41lice", "x" * 101, None, 7, b"alice", True,
    ],
)  # fmt: skip
def test_what_is_no_name_is_refused(name: object) -> None:
    """Two ways to write one name, what a slash divides, what no screen shows."""
    with pytest.raises(InvalidParameter, match="Hint: "):
        path_below("staff", name)


@pytest.mark.parametrize(("one", "other"), [("alice", "Alice"), ("straße", "STRASSE"), ("ΣΑΣ", "σας"), ("i", "I")])
def test_names_that_fold_into_one_are_refused(one: str, other: str) -> None:
    with pytest.raises(LedgerError, match="unlike those beside it"):
        check_apart(other, ["", one])
    check_apart(f"staff/{other}", ["", one, "staff"])
    check_apart(one, ["", one])


def test_levels_inside_of_each_other_have_an_end() -> None:
    path = ""
    for _ in range(DEEPEST):
        path = path_below(path, "a")
    with pytest.raises(InvalidParameter, match="levels inside of each other"):
        path_below(path, "a")


def test_paths() -> None:
    assert lineage("") == ("",)
    assert lineage("a/b/c") == ("", "a", "a/b", "a/b/c")
    assert [parent_of(path) for path in ("", "a", "a/b")] == ["", "", "a"]
    assert is_below("a/b", "a")
    assert is_below("a", "a")
    assert is_below("a", "")
    assert not is_below("ab", "a")
    assert not is_below("a", "a/b")
