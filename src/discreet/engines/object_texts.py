"""Python objects, as a column of pandas has them, as texts: each for itself, and none can make it fail."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa


def text_of(item: object) -> str | None:
    """One Python object as text; NaN, NaT, foreign objects and integers too long to print are NULL.

    What a class of somebody's makes of its own value is not asked: it could raise what no handler stops.
    """
    kind = next((one for one in type(item).__mro__ if one in WRITTEN), None)
    if kind is None:
        return None
    known = type(item).__module__.partition(".")[0] in KNOWN
    try:
        if bool(item != item if known else UNEQUAL[kind](item, item)):  # noqa: PLR0124 (NaN and NaT)
            return None
        written = str(item) if known else WRITTEN[kind](item)
        return written.encode("utf-8", "backslashreplace").decode("utf-8")
    except Exception:  # noqa: BLE001 (an object may be of anyone's class)
        return None


UUID = type(pa.scalar(bytes(16), pa.uuid()).as_py())
"""Python's own, whose module can make random ones."""
WRITTEN: dict[type, Callable[[Any], str]] = {
    str: str.__str__,
    bool: bool.__repr__,
    int: int.__repr__,
    float: float.__repr__,
    decimal.Decimal: decimal.Decimal.__str__,
    datetime.datetime: lambda moment: datetime.datetime.isoformat(moment, " "),
    datetime.date: datetime.date.isoformat,
    datetime.time: datetime.time.isoformat,
    **dict.fromkeys((UUID, np.bool_, np.integer, np.float16, np.float32, np.longdouble, np.datetime64), str),
}
"""How a value of each class is written, whatever a class that is made of it says."""
UNEQUAL: dict[type, Callable[[Any, Any], Any]] = {
    kind: vars(kind)["__ne__"] for kind, written in WRITTEN.items() if written not in (str, bool.__repr__)
}
"""How two of them are compared; of what says it in its own words alone, other classes' values are NULL."""
KNOWN = ("builtins", "datetime", "decimal", "numpy", "pandas", "uuid")
"""Of whose classes that are made of these, what they say of themselves is right."""
