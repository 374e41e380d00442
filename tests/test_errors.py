"""One tree of errors, and one form for their texts."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet import errors
from discreet.errors import (
    BudgetExceeded,
    DiscreetError,
    EngineError,
    InvalidParameter,
    InvalidQuery,
    LedgerError,
    SourceWarning,
    expected,
    nearest,
)


def test_all_errors_are_one_family() -> None:
    found = {value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)}
    warnings = {value for value in found if issubclass(value, Warning)}
    assert warnings == {SourceWarning}
    assert found - warnings == {
        DiscreetError,
        InvalidQuery,
        InvalidParameter,
        BudgetExceeded,
        LedgerError,
        EngineError,
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
    assert nearest(name, iter(["age", "spending"])) == cure


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
