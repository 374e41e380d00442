"""The same tables in SmartNoise SQL: each by itself, at an even share; groups without rows are not in its answers.

Its Gaussian noise is asked for at a share of epsilon and delta: of so many tables, its odometer finds no larger shares.
"""

from __future__ import annotations

import itertools
from importlib.metadata import version
from typing import Any

import pandas as pd
import snsql
from snsql import Mechanism, Privacy, Stat
from tables import DELTA, EPSILON, KEYS, filled

VERSION = version("smartnoise-sql")
COLUMNS = {name: {"type": "string" if isinstance(keys[0], str) else "int"} for name, keys in KEYS.items()}
BY_ROW = {"row_privacy": True, "censor_dims": False, "clamp_counts": False}
PRICES = ("epsilon", "delta")


def counts(path: str, sets: list[tuple[str, ...]], price: str) -> dict[tuple[str, ...], Any]:
    frame = pd.read_parquet(path)
    described = {"": {"main": {"table": {**BY_ROW, "rows": len(frame), **COLUMNS}}}}
    privacy = Privacy(epsilon=EPSILON / len(sets), delta=DELTA / len(sets) if price == "delta" else 0.0)
    if price == "delta":
        privacy.mechanisms.map[Stat.count] = Mechanism.gaussian
    reader = snsql.from_df(frame, privacy=privacy, metadata=described)
    found = {}
    for one in sets:
        asked, grouped = "".join(f"{name}, " for name in one), f" GROUP BY {', '.join(one)}" if one else ""
        rows = reader.execute(f"SELECT {asked}COUNT(*) AS n FROM main.table{grouped}")  # noqa: S608 - names of ours
        found[one] = filled(one, (tuple(row) for row in itertools.islice(rows, 1, None)))
    return found
