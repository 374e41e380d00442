"""Amounts of privacy as they are written; apart from the other values, so that the ledger's commands load no engine."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from discreet.exact.written_amounts import written_amount


def amount(option: str, text: str) -> Decimal | Fraction:
    """A number as it is written: ``0.1`` is a tenth, ``1/3`` a third."""
    found = written_amount(option, text.strip(), f"write it out, --{option} 0.5 or --{option} 1/3.")
    return found if "/" in text else Decimal(text)
