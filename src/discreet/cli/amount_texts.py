"""Amounts of privacy as they are written; apart from the other values, so that the ledger's commands load no engine."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from fractions import Fraction

from discreet.errors import InvalidParameter, expected


def amount(option: str, text: str) -> Decimal | Fraction:
    """A number as it is written: ``0.1`` is a tenth, ``1/3`` a third."""
    try:
        return Fraction(text) if "/" in text else Decimal(text)
    except (InvalidOperation, ValueError, ZeroDivisionError):
        raise InvalidParameter(
            expected("a number", option, text, f"write it out, --{option} 0.5 or --{option} 1/3.")
        ) from None
