"""Refusals have states that programs read, and failures one text."""

from __future__ import annotations

import re

import pytest

from discreet.errors import BudgetExceeded, EngineError, InvalidParameter, InvalidQuery, LedgerError
from discreet.pgwire import sqlstates
from discreet.pgwire.sqlstates import ENGINE, ONE_TEXT, STATES, Refused, fields, refusal_of
from discreet.service.service_errors import Forbidden, Late, NotSignedIn, OverLimit


@pytest.mark.parametrize(
    ("problem", "state"),
    [
        (BudgetExceeded("Expected less, got more.\nHint: ask for less."), "53DP1"),
        (InvalidQuery("Expected a, got b."), "42DP1"),
        (InvalidParameter("Expected a, got b."), "22023"),
        (Late("Expected a, got b."), "57DP1"),
        (Forbidden("Expected a, got b."), "42501"),
        (NotSignedIn("Expected a, got b."), "28P01"),
        (OverLimit("Expected a, got b."), "53300"),
    ],
)
def test_refusals(problem: Exception, state: str) -> None:
    found = refusal_of(problem)
    assert found.state == state
    assert found.message == str(problem).split("\n")[0]
    assert refusal_of(found) is found


@pytest.mark.parametrize(
    "problem", [ValueError("row 7"), EngineError("row 7"), LedgerError("row 7"), KeyError("row 7")]
)
def test_a_failure_has_one_text(problem: Exception) -> None:
    found = refusal_of(problem)
    assert (found.state, found.message) == (ENGINE, ONE_TEXT)
    assert "row 7" not in str(found)


def test_states_have_their_form() -> None:
    """Five digits and capital letters, as SQL has it."""
    named = [value for name, value in vars(sqlstates).items() if name.isupper() and isinstance(value, str)]
    states = {*STATES.values(), *(value for value in named if len(value) == 5)}
    assert all(re.fullmatch("[0-9A-Z]{5}", state) for state in states)


def test_no_field_commands_a_terminal_or_ends_early() -> None:
    found = fields("ERROR", "42DP1", "a\x1b[2J\0b\nc", "d\0", "e")
    assert found == {"S": "ERROR", "V": "ERROR", "C": "42DP1", "M": "a\\x1b[2J\\x00b\nc", "D": "e", "H": "d\\x00"}


def test_everything_unsupported_is_refused_alike() -> None:
    assert str(Refused.unsupported("one")) == str(Refused.unsupported("other"))
