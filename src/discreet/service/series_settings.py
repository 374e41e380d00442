"""What the service file states of a series: [datasets.NAME.series.NAME]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from discreet.exact.written_amounts import written_amount
from discreet.planning.planner import stated_price
from discreet.series.declared_series import OPTIONS
from discreet.series.series_record import price_texts
from discreet.service.asks import LONGEST_SQL
from discreet.service.setting_forms import SettingForm, choice, number_form, text_form, whole_number_form


def _is_moment(value: Any) -> bool:
    return isinstance(value, str | date) or (isinstance(value, int) and not isinstance(value, bool))


STATEMENT = SettingForm(
    f"a SELECT statement of at most {LONGEST_SQL:,} characters",
    lambda value: isinstance(value, str) and 0 < len(value) <= LONGEST_SQL,
    'write statement = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward".',
)
MOMENT = SettingForm("a date, or a time in UTC", _is_moment, "write 2026-01-01.")
LENGTH = SettingForm(
    "a length",
    lambda value: isinstance(value, int | str) and not isinstance(value, bool),
    'write "1 day".',
)
WINDOWS = SettingForm(
    "a list of windows",
    lambda value: isinstance(value, list) and all(isinstance(one, int | str) for one in value),
    'write [1, 7, 28, "all"].',
)
REQUIRED = ("statement", "by", "start", "settled", "publish")
"""Nothing is assumed of when rows are there, and of when numbers leave."""
SERIES: Mapping[str, SettingForm] = {
    "statement": STATEMENT,
    "dialect": choice("duckdb", "postgres", "spark"),
    "by": text_form("day"),
    "start": MOMENT,
    "every": LENGTH,
    "until": MOMENT,
    "windows": WINDOWS,
    "max_steps": whole_number_form(1, 10**9),
    "apart": whole_number_form(1, 10**9),
    "arrives": text_form("loaded"),
    "late": choice("count", "drop"),
    "settled": text_form("3 hours"),
    "publish": text_form("03:15"),
    "epsilon": number_form("1"),
    "delta": number_form("1e-6"),
    "rho": number_form("0.1"),
}


@dataclass(frozen=True, kw_only=True)
class SeriesFacts:
    """What is stated of one series; its form is right, and its price is one."""

    name: str
    statement: str
    options: Mapping[str, Any]
    """What `PrivateTable.series` is given, ready for JSON."""
    publish: str
    """A time of day, or a wait."""
    prices: Mapping[str, Any]
    """Epsilon, delta and rho, as a release is given them."""
    dialect: str = "duckdb"

    @classmethod
    def of(cls, name: str, stated: Mapping[str, Any]) -> SeriesFacts:
        """What a table of the file says.

        Raises:
            InvalidParameter: its price is none.
        """
        amounts = {one: written_amount(one, stated[one]) for one in ("epsilon", "delta", "rho") if one in stated}
        prices = {"epsilon": None, "delta": 0, "rho": None, **amounts}
        stated_price(**prices)
        options = {one: _plain(stated[one]) for one in OPTIONS if one in stated}
        dialect = stated.get("dialect", "duckdb")
        return cls(
            name=name,
            statement=stated["statement"],
            options=options,
            publish=stated["publish"],
            prices=prices,
            dialect=dialect,
        )

    @property
    def price(self) -> dict[str, str]:
        """The price as text, as an opening keeps it."""
        return price_texts(self.prices)

    @property
    def declared(self) -> dict[str, Any]:
        """What a client makes the same question of."""
        return {"statement": self.statement, "dialect": self.dialect, "options": dict(self.options)}


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value
