"""Numbers that stand for a hundred million digits, as every parameter of every public call: refused at once."""

from __future__ import annotations

import functools
import time
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import discreet as dp
from public_calls import CALLS, Missing, Own, called, parameters_of

LONGEST = 2.0
"""Seconds of a processor for one call; each of the numbers would take a minute or more."""
RAISED = (dp.DiscreetError, ArithmeticError, AttributeError, LookupError, RuntimeWarning, TypeError, ValueError)
"""What is refused in our words, and what theory leaves to NumPy and to Python."""
UNCHECKED = {"Guarantee.epsilon", "Guarantee.delta", "Guarantee.rho", "KMeans.epsilon"}
"""Of a value that says what somebody else has checked, and of an estimator, which asks when it is fitted."""
WRITES = {"path", "to", "ledger", "url", "key"}
"""Where a text would be the name of a file."""


@functools.cache
def numbers() -> dict[str, Any]:
    """By name, since no report could show them."""
    return {
        "far": Decimal("1e99999999"), "near": Decimal("1e-99999999"), "long": Decimal("0." + "1" * 10**6),
        "text": "1e99999999", "many digits": "1" * 10**5, "whole": 16 ** (10**6), "part": Fraction(1, 16 ** (10**6)),
        "pair": (0, Decimal("1e99999999")), "dict": {"n": Decimal("1e99999999")}, "bounds": {"age": (0, 16 ** (10**6))},
    }  # fmt: skip


@pytest.mark.long
@pytest.mark.cases
@pytest.mark.parametrize("name", CALLS)
def test_no_number_keeps_a_call_waiting(name: str, own: Own, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for parameter in parameters_of(CALLS[name]):
        if parameter in WRITES:
            continue
        for what, number in numbers().items():
            label, began = f"{name}({parameter}=) with {what}", time.process_time()
            with suppress(*RAISED):
                called(name, parameter, number, own)
            assert time.process_time() - began < LONGEST, label


@pytest.mark.long
@pytest.mark.parametrize("parameter", ["epsilon", "delta", "rho", "within", "confidence", "sensitivity"])
def test_amounts_are_refused_in_words(parameter: str, own: Own) -> None:
    for name in CALLS:
        if parameter in parameters_of(CALLS[name]) and f"{name}.{parameter}" not in UNCHECKED:
            for what, number in numbers().items():
                assert refuses(name, parameter, number, own), f"{name}({parameter}=) with {what}"


def refuses(name: str, parameter: str, number: Any, own: Own) -> bool:
    try:
        called(name, parameter, number, own)
    except dp.DiscreetError as refusal:
        return "\nHint: " in str(refusal)
    except Missing:
        return True
    return False
