"""Where a ledger is, and that nobody reads its password in a message."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.errors import DiscreetError, InvalidParameter, LedgerError
from discreet.ledger.budget import Budget
from discreet.ledger.ledger_location import SCHEMA, address_of, is_server, place_text, schema_of


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        ("spent.db", "spent.db"),
        (Path("a/spent.db"), "a/spent.db"),
        ("postgresql://db/study", "postgresql://db/study"),
        ("postgres://carol@db:5433/study#visits", "postgresql://db:5433/study#visits"),
        ("postgresql://carol:s3cr3t@db/study?sslmode=require", "postgresql://db/study"),
        ("postgresql://carol:s3@cr3t@db/study", "postgresql://db/study"),
        ("postgresql:///study?host=/run/pg&password=s3cr3t", "postgresql:///study"),
        ("postgresql://carol:s3cr#3t@db/study", "postgresql://..."),
        ("postgresql://carol:12#s3cr3t@db/study", "postgresql://..."),
        ("postgresql://carol:s3/cr3t@db/study", "postgresql://..."),
        ("postgresql://carol:12/s3cr3t@db/study", "postgresql://..."),
        ("postgresql://carol:12?s3cr3t@db/study", "postgresql://..."),
    ],
)
def test_places_are_shown_without_passwords(place: str | Path, shown: str) -> None:
    assert place_text(place) == shown


def test_what_a_url_names() -> None:
    assert schema_of("postgresql://db/study") == SCHEMA
    assert schema_of("postgresql://db/study#visits_2") == "visits_2"
    assert address_of("postgresql://db/study?sslmode=require#visits") == "postgresql://db/study?sslmode=require"
    for named in ("Visits", "a-b", "a b", 'a"b', "pg_x", "public", "information_schema", "1a", "x" * 64, "ä"):
        with pytest.raises(InvalidParameter, match="the name of a schema"):
            schema_of(f"postgresql://db/study#{named}")
    assert [is_server(place) for place in ("spent.db", Path("x"), None, "postgres://h", "file:x.db")] == [
        False, False, False, True, False,
    ]  # fmt: skip
    with pytest.raises(InvalidParameter, match=r"got ledger='mysql://\.\.\.'"):
        is_server("mysql://carol:s3cr3t@db/study")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://carol:s3cr3t@127.0.0.1:1/study", "postgresql://carol:s3cr3t@/study?host=/nowhere",
        "postgresql://carol:s3cr3t@127.0.0.1:port/study", "postgresql://carol:s3/cr3t@127.0.0.1:1/study",
        "postgresql://carol:s3#cr3t@127.0.0.1:1/study", "postgresql://carol@127.0.0.1:1/study?password=s3cr3t",
        "postgresql://carol:s3cr3t@127.0.0.1:1/study?nonsense=s3cr3t", "mysql://carol:s3cr3t@db/study",
        "postgresql://carol:s3cr3t@[::1/study",
    ],
)  # fmt: skip
def test_no_message_has_the_password(url: str) -> None:
    """Nor any part of it, however the URL is misread."""
    with pytest.raises(DiscreetError) as refusal:
        Budget(epsilon=1, ledger=url)
    chain: BaseException | None = refusal.value
    while chain is not None:
        assert "cr3t" not in str(chain)
        assert "s3" not in str(chain)
        chain = chain.__cause__ or (None if chain.__suppress_context__ else chain.__context__)
    with pytest.raises((InvalidParameter, LedgerError)) as refusal:
        Budget(parent=Budget(epsilon=1), epsilon=1, name="a", ledger=url)
    assert "s3" not in str(refusal.value)
