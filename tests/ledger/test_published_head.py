"""By a head that was published, an older copy and another ledger are found, in a file and on a server."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import InvalidParameter, LedgerError
from discreet.ledger.budget import Budget
from discreet.ledger.ledger import Charge
from discreet.ledger.ledger_kinds import head, verify
from discreet.ledger.published_head import PublishedHead, make_key

MakeCharge = Callable[..., Charge]


def test_a_ledger_continues_its_heads(lasting: str, charge: MakeCharge) -> None:
    budget = Budget(epsilon=1, ledger=lasting)
    heads = [budget.head()]
    for _ in range(3):
        budget.reserve(charge(0.1)).commit(b"answer")
        heads.append(budget.head())
    assert [(one.position, one.charges) for one in heads] == [(0, 0), (2, 1), (4, 2), (6, 3)]
    for one in heads:
        budget.verify(head=one)
        budget.verify(head=one.to_json())
        assert verify(lasting, one).number == 3
    budget.verify()
    again = head(lasting)
    assert replace(again, time=heads[-1].time) == heads[-1]


def test_an_old_copy_put_back_is_found(folder: Path, charge: MakeCharge) -> None:
    """Nobody has it open, and the copy is whole: only the head knows."""
    path, old = folder / "spent.db", folder / "old.db"
    budget = Budget(epsilon=1, ledger=path)
    budget.reserve(charge(0.1))
    budget._ledger._store.close()  # type: ignore[attr-defined]  # of a file
    shutil.copy(path, old)
    budget.reserve(charge(0.1))
    seen = budget.head()
    budget._ledger._store.close()  # type: ignore[attr-defined]  # as above
    old.replace(path)
    assert verify(path).number == 1
    with pytest.raises(LedgerError, match="all lines that were published, got lines='2 of 3'"):
        verify(path, seen)
    other = Budget(epsilon=1, ledger=path)
    other.reserve(charge(0.2))  # as long as it was, with another end
    with pytest.raises(LedgerError, match="the lines that were published"):
        other.verify(head=seen)


def test_another_ledger_is_found(lasting: str, folder: Path, charge: MakeCharge) -> None:
    one, other = Budget(epsilon=1, ledger=lasting), Budget(epsilon=2, ledger=folder / "other.db")
    for budget in (one, other):
        budget.reserve(charge(0.1))
    with pytest.raises(LedgerError, match="the ledger of this head"):
        one.verify(head=other.head())
    with pytest.raises(LedgerError, match="the lines that were published"):
        one.verify(head=replace(one.head(), chain="00" * 32))


def test_a_changed_head_is_refused(folder: Path) -> None:
    public = make_key(folder / "curator.key")
    assert (folder / "curator.key").stat().st_mode & 0o777 == 0o600
    budget = Budget(epsilon=1, ledger=folder / "spent.db")
    signed = budget.head(key=folder / "curator.key")
    assert signed.public_key == public
    signed.check_signature()
    budget.verify(head=signed, public_key=public.upper())
    changes: list[dict[str, Any]] = [
        {"position": 7}, {"chain": "00" * 32}, {"charges": 7}, {"time": "x"}, {"ledger": "x"}, {"signature": ""},
        {"signature": "zz"}, {"signature": "00" * 64}, {"public_key": "00" * 32}, {"public_key": ""},
    ]  # fmt: skip
    for changed in changes:
        with pytest.raises(LedgerError, match="a signature that fits"):
            replace(signed, **changed).check_signature()
    other = make_key(folder / "other.key")
    for one in (signed, budget.head()):
        with pytest.raises(LedgerError, match="signed by this key"):
            budget.verify(head=one, public_key=other)
    with pytest.raises(InvalidParameter, match="a head beside its key"):
        budget.verify(public_key=public)


def test_keys(folder: Path) -> None:
    """A key that others can read signs nothing, one that is there is not replaced."""
    key = folder / "curator.key"
    make_key(key)
    before = key.read_bytes()
    with pytest.raises(LedgerError, match="where nothing is"):
        make_key(key)
    assert key.read_bytes() == before
    for odd in ("a\0b", "a\ud800"):
        with pytest.raises(InvalidParameter, match="Expected a path"):
            make_key(odd)
    head_ = Budget(epsilon=1, ledger=folder / "spent.db").head()
    key.chmod(0o640)
    with pytest.raises(LedgerError, match="only its owner can read"):
        head_.signed(key)
    (folder / "text").write_text("no key")
    (folder / "text").chmod(0o600)
    for path in (folder / "none", folder / "text", folder):
        with pytest.raises(LedgerError, match="Hint: "):
            head_.signed(path)
    with pytest.raises(LedgerError, match="a ledger that lasts"):
        Budget(epsilon=1).head()
    with pytest.raises(LedgerError, match="a ledger that lasts"):
        Budget(epsilon=1).verify()
    assert [one.name for one in folder.glob("curator*")] == ["curator.key"]


SOUND = PublishedHead(ledger="ab", position=1, chain="cd", charges=1, time="t")


@pytest.mark.parametrize(
    "text",
    [
        "", "x", "7", "[]", "null", "{}", "[" * 100_000, SOUND.to_json() + "x",
        *(json.dumps({**json.loads(SOUND.to_json()), **change}) for change in (
            {"position": "1"}, {"position": True}, {"position": 1.0}, {"chain": 7}, {"more": 1}, {"signature": None},
        )),
    ],
)  # fmt: skip
def test_texts_that_are_no_head_are_refused(text: str) -> None:
    with pytest.raises(InvalidParameter, match="Hint: give what"):
        PublishedHead.from_json(text)
