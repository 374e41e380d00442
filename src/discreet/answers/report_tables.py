"""An answer as reports show it: a key across the columns, no count below 0, rounded ends that still hold the truth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import Any

import pyarrow as pa

from discreet.errors import InvalidParameter, InvalidQuery, expected, nearest_name
from discreet.exact.amounts import exact_decimals
from discreet.inference.interval_propagation import HIGH, LOW

MOST_ACROSS = 1000
MOST_DIGITS = 15


def pivoted(table: pa.Table, keys: Sequence[str], across: str, wanted: Sequence[str]) -> pa.Table:
    """One row for each tuple of the other keys, and one column for each value of `across`, in the order of the answer.

    Of several wanted columns, the name of each comes after the value. A tuple without a row is NULL.

    >>> answer = pa.table({"plan": ["a", "a", "b", "b"], "sex": ["f", "m", "f", "m"], "n": [1, 2, 3, 4]})
    >>> pivoted(answer, ["plan", "sex"], "sex", ["n"]).to_pylist()
    [{'plan': 'a', 'f': 1, 'm': 2}, {'plan': 'b', 'f': 3, 'm': 4}]
    """
    if not isinstance(across, str) or across not in keys:
        raise InvalidParameter(expected("a key of the answer", "columns", across, nearest_name(across, keys)))
    left = [name for name in keys if name != across]
    records = table.select([*keys, *wanted]).to_pylist()
    values = list(dict.fromkeys(record[across] for record in records))
    if len(values) > MOST_ACROSS:
        cure = "put another key across."
        raise InvalidQuery(expected(f"at most {MOST_ACROSS:,} values across", across, len(values), cure))
    rows = list(dict.fromkeys(tuple(record[name] for name in left) for record in records))
    held = {(tuple(record[name] for name in left), record[across]): record for record in records}
    columns = {name: pa.array([row[i] for row in rows], table[name].type) for i, name in enumerate(left)}
    for value in values:
        for name in wanted:
            shown = "NULL" if value is None else str(value)
            label = shown if len(wanted) == 1 else f"{shown} {name}"
            if label in columns:
                cure = "rename the key that has this name, or mutate its values."
                raise InvalidQuery(expected("values that no column is called by", across, shown, cure))
            cells = [held.get((row, value), {}).get(name) for row in rows]
            columns[label] = pa.array(cells, table[name].type)
    return pa.table(columns)


def rounded(
    table: pa.Table, columns: Iterable[str], *, digits: int | None, positive: Mapping[str, bool], nonnegative: bool
) -> pa.Table:
    """Values rounded to so many digits, low ends down and high ends up, so that an interval still holds the truth; and
    none below 0 where the truth cannot be.
    """
    if digits is not None and (isinstance(digits, bool) or not isinstance(digits, int) or abs(digits) > MOST_DIGITS):
        cure = "digits=0 gives whole numbers, digits=-2 hundreds, digits=None all digits."
        raise InvalidParameter(expected("a whole number of digits", "digits", digits, cure))
    for name in columns:
        for end, way in (("", ROUND_HALF_EVEN), (LOW, ROUND_FLOOR), (HIGH, ROUND_CEILING)):
            if f"{name}{end}" not in table.column_names:
                continue
            place = table.column_names.index(f"{name}{end}")
            field = table.schema.field(place)
            if not (pa.types.is_integer(field.type) or pa.types.is_floating(field.type)):
                continue
            lowest = 0 if nonnegative and positive.get(name) else None
            cells = [_rounded(one, digits, way, lowest) for one in table.column(place).to_pylist()]
            table = table.set_column(place, field.name, pa.array(cells, field.type))
    return table


def _rounded(value: Any, digits: int | None, way: str, lowest: int | None) -> Any:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return value
    if digits is not None and not (isinstance(value, int) and digits >= 0):
        with exact_decimals():
            value = type(value)(Decimal(value).quantize(Decimal(1).scaleb(-digits), way))
    return value if lowest is None else max(value, type(value)(lowest))
