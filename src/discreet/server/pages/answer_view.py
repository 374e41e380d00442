"""An answer as a page shows it: groups, values and intervals as text, and the receipt in short."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.inference.interval_propagation import HIGH, LOW

CONFIDENCES = (0.5, 0.8, 0.9, 0.95, 0.99)
MOST_ROWS = 500
"""Groups that a page shows; downloads have all."""

FORMATS = (("csv", "CSV"), ("parquet", "Parquet"), ("arrow", "Arrow"), ("json", "JSON"))


@dataclass(frozen=True, kw_only=True)
class AnswerCell:
    """One value with its interval; the numbers as they are, for the picture, and as they are shown."""

    value: str
    low: str
    high: str
    shown: str
    interval: str


@dataclass(frozen=True, kw_only=True)
class AnswerRow:
    """One group."""

    keys: Sequence[str]
    cells: Sequence[AnswerCell]


@dataclass(frozen=True, kw_only=True)
class AnswerView:
    """A released answer at one confidence."""

    question: str
    keys: Sequence[str]
    columns: Sequence[Mapping[str, Any]]
    """Their names, and whether there is an interval of one to draw."""
    rows: Sequence[AnswerRow]
    all_rows: int
    confidence: float
    receipt: Sequence[tuple[str, str]]

    @property
    def confidence_shown(self) -> str:
        """As a percentage."""
        return f"{self.confidence * 100:g} %"

    @classmethod
    def read(cls, release: Any, confidence: float) -> AnswerView:
        """A release, whose intervals are computed anew for this confidence, for nothing."""
        table = release.intervals(confidence=confidence)
        has_intervals = not getattr(release, "has_no_intervals", False)  # as centers of clusters have none
        names = [name for name in release.columns if has_intervals and name in table.column_names]
        keys = [name for name in table.column_names if not any(_belongs(name, column) for column in names)]
        held = {name: table[name].slice(0, MOST_ROWS).to_pylist() for name in table.column_names}
        rows = [
            AnswerRow(
                keys=[
                    value_text(held[key][place], 0) if has_float(held[key]) else key_text(held[key][place])
                    for key in keys
                ],
                cells=[
                    answer_cell(*(held.get(f"{name}{end}", held[name])[place] for end in ("", LOW, HIGH)))
                    for name in names
                ],
            )
            for place in range(min(table.num_rows, MOST_ROWS))
        ]
        receipt = release.receipt
        return cls(
            question=str(receipt.get("question", "")),
            keys=keys,
            columns=[
                {"name": name, "is_drawn": any(is_drawn(row.cells[i]) for row in rows)} for i, name in enumerate(names)
            ],
            rows=rows,
            all_rows=table.num_rows,
            confidence=confidence,
            receipt=_short(receipt),
        )


def is_drawn(cell: AnswerCell) -> bool:
    """Whether a value has both ends of an interval."""
    return "nan" not in {cell.value, cell.low, cell.high}


def has_float(values: Sequence[object]) -> bool:
    """Whether a column is of numbers with a point, which are shown to four digits."""
    return any(isinstance(value, float) for value in values)


def _belongs(name: str, column: str) -> bool:
    return name in {column, f"{column}{LOW}", f"{column}{HIGH}"}


def key_text(key: object) -> str:
    """A key as a person reads it.

    >>> key_text(None), key_text(True), key_text("free")
    ('missing', 'true', 'free')
    """
    if key is None:
        return "missing"
    return str(key).lower() if isinstance(key, bool) else str(key)


def answer_cell(value: Any, low: Any, high: Any) -> AnswerCell:
    """A value with its interval, where it has one."""
    ends = "" if low is None or high is None else f"{value_text(low, value)} to {value_text(high, value)}"
    return AnswerCell(
        value=_plain(value), low=_plain(low), high=_plain(high), shown=value_text(value, value), interval=ends
    )


def _plain(value: Any) -> str:
    """A number for the picture; whatever is none is not drawn."""
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return repr(float(value)) if known and math.isfinite(value) else "nan"


def value_text(value: Any, beside: Any) -> str:
    """A value to four digits, whole where it is a whole number; texts and dates as they are.

    >>> value_text(1948, 1948), value_text(4.23712, 4.2), value_text(None, 1.0)
    ('1,948', '4.237', '—')
    """
    if value is None:
        return "—"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return key_text(value)
    if not math.isfinite(value):
        return "—" if math.isnan(value) else ("no limit" if value > 0 else "below any limit")
    if isinstance(value, int) or (isinstance(beside, int) and float(value).is_integer()):
        return f"{int(value):,}"
    if value and not 1e-4 <= abs(value) < 1e9:
        return f"{value:.3e}"
    digits = max(0, 3 - math.floor(math.log10(abs(value)))) if value else 0
    return f"{value:,.{min(digits, 6)}f}"


def _short(receipt: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What most people look for in a receipt."""
    unit = receipt.get("unit")
    limits = receipt.get("limits")
    limits = limits if isinstance(limits, Mapping) else {}  # those that a number of values tried are no promise
    stated = [f"{name.removeprefix('max_')} {limit}" for name, limit in limits.items() if limit is not None]
    found = (
        ("Promise", receipt.get("guarantee")),
        ("Charge", charge_text(receipt.get("charge") or {})),
        ("Protects", ", ".join(unit) if isinstance(unit, list | tuple) else unit),
        ("Found by", "; ".join(receipt.get("via") or ())),
        ("At most", ", ".join(stated)),
        ("Number", str(receipt.get("release", ""))[:16]),
    )
    return [(name, str(value)) for name, value in found if value]


def charge_text(amounts: Mapping[str, Any]) -> str:
    """A charge as it is shown.

    >>> charge_text({"epsilon": "0.5", "delta": "0"}), charge_text({"rho": "0.01"}), charge_text({"epsilon": "0"})
    ('ε 0.5', 'rho 0.01', 'free')
    """
    signs = {"epsilon": "ε", "delta": "δ"}
    counted = {name: amount for name, amount in amounts.items() if str(amount) not in {"0", "None"}}
    return ", ".join(f"{signs.get(name, name)} {amount}" for name, amount in counted.items()) or "free"
