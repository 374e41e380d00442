"""What the keys of a service file take: forms of values, each with what it is called and what cures another one."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple


class SettingForm(NamedTuple):
    """What a key takes."""

    what: str
    holds: Callable[[Any], bool]
    cure: str


def text_form(example: str) -> SettingForm:
    """A text, such as the example."""

    def holds(value: Any) -> bool:
        return isinstance(value, str) and bool(value) and value.isprintable()

    return SettingForm("a text in one line", holds, f'write it in quotes: "{example}".')


def whole_number_form(low: int, high: int) -> SettingForm:
    """A whole number within these."""

    def holds(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high

    return SettingForm(f"a whole number from {low} to {high}", holds, f"write {low} or more.")


def choice(*names: str) -> SettingForm:
    """One of these words."""
    return SettingForm(" or ".join(names), lambda value: value in names, f'write "{names[0]}".')


def number_form(example: str) -> SettingForm:
    """An exact amount, such as the example."""

    def holds(value: Any) -> bool:
        return isinstance(value, int | Decimal | str) and not isinstance(value, bool)

    return SettingForm("an exact amount", holds, f'write {example}, or "1/3".')


FLAG = SettingForm("true or false", lambda value: isinstance(value, bool), "write true.")
TABLE = SettingForm("a table of keys", lambda value: isinstance(value, dict), "write { name = ... }.")
