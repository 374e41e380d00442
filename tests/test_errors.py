"""One tree of errors, and one form for their texts."""

from __future__ import annotations

from fractions import Fraction

import ibis
import numpy as np
import pyarrow as pa
import pytest

import discreet.language.expression_texts  # noqa: F401 (expressions have their texts once it is imported)
from discreet import errors
from discreet.errors import (
    BudgetExceeded,
    DiscreetError,
    EngineError,
    InvalidParameter,
    InvalidQuery,
    LeakWarning,
    LedgerError,
    MisfitCall,
    SourceWarning,
    UnknownName,
    expected,
    nearest_name,
    printable,
    shown,
)


def test_all_errors_are_one_family() -> None:
    found = {value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)}
    warnings = {value for value in found if issubclass(value, Warning)}
    assert warnings == {LeakWarning, SourceWarning}
    assert found - warnings == {
        DiscreetError,
        InvalidQuery,
        InvalidParameter,
        BudgetExceeded,
        LedgerError,
        EngineError,
        MisfitCall,
        UnknownName,
    }
    assert all(issubclass(error, DiscreetError) for error in found - warnings)


def test_errors_are_no_builtin_errors() -> None:
    """So that nobody catches a refusal of ours together with a fault of theirs."""
    assert DiscreetError.__mro__[1:] == (Exception, BaseException, object)


def test_a_refusal_says_what_was_expected_what_was_got_and_the_cure() -> None:
    text = expected("a number above 0", "epsilon", "1", "write epsilon as a number.")
    assert text == "Expected a number above 0, got epsilon='1'.\nHint: write epsilon as a number."


@pytest.mark.parametrize(
    ("name", "cure"),
    [("spendin", "did you mean 'spending'?"), ("zzz", "the known names are 'age', 'spending'.")],
)
def test_a_misspelt_name_gets_the_nearest_or_all(name: str, cure: str) -> None:
    assert nearest_name(name, iter(["age", "spending"])) == cure


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Fraction(500_000), "500000"),
        (Fraction(1, 3), "0.333333"),
        (Fraction(1, 10**300), "1e-300"),
        (Fraction(10**400), "1e+400"),
        (0.5, "0.5"),
        ("a", "'a'"),
    ],
)
def test_amounts_are_written_as_people_write_them(value: object, written: str) -> None:
    assert expected("less", "epsilon", value, "pay less.") == f"Expected less, got epsilon={written}.\nHint: pay less."


def test_what_may_hold_rows_is_named_by_its_type() -> None:
    """A frame shows its rows as text, and Ibis may fetch them."""
    rows = pa.table({"disease": ["hepatitis"]})
    stored = ibis.memtable(rows)
    held = (rows, rows.to_pandas(), rows["disease"], np.array(["hepatitis"]), stored, stored.disease)
    for value in (*held, *([one] for one in held), *({"a": one} for one in held), *((one,) for one in held)):
        text = expected("a number", "epsilon", value, "write 1.")
        assert "hepatitis" not in text
        assert "got epsilon=" in text
    assert shown(np.float64(0.5)) == "np.float64(0.5)"
    assert shown(ibis._.age) == "_.age"
    assert (shown([1, "a"]), shown((1,)), shown(()), shown({"a": [1]})) == ("[1, 'a']", "(1,)", "()", "{'a': [1]}")


def test_what_a_terminal_would_obey_is_written_out() -> None:
    hostile = "a\x1b[2J\r\x07\u202eb\nc"
    assert printable(hostile) == "a\\x1b[2J\\r\\x07\\u202eb\\nc"
    assert str(InvalidQuery(hostile)) == "a\\x1b[2J\\r\\x07\\u202eb\nc"
    assert printable("Grüße, 東京") == "Grüße, 東京"
