"""One tree of errors, and one form for their texts."""

from __future__ import annotations

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
