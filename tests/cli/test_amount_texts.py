"""Amounts are exact, or refused."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from discreet.cli.amount_texts import amount
from discreet.errors import InvalidParameter


def test_amounts_are_exact() -> None:
    assert amount("epsilon", "0.1") == Decimal("0.1")
    assert amount("epsilon", "1e-9") == Decimal("1e-9")
    assert amount("epsilon", "1/3") == Fraction(1, 3)
    for text in ("", "a", "1/0", "0,5", "1/2/3", "0x1", "1e99999999", "1e-99999999"):
        with pytest.raises(InvalidParameter, match="Expected a number of at most 30 digits, got epsilon"):
            amount("epsilon", text)
