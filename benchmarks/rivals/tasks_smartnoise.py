"""The five tasks in SmartNoise SQL, as far as it goes: it has no private median."""

from __future__ import annotations

import itertools
from importlib.metadata import version
from typing import Any

import pandas as pd
import snsql
from snsql import Privacy

VERSION = version("smartnoise-sql")
COLUMNS = {
    "plan": {"type": "string"},
    "visits": {"type": "int", "lower": 0, "upper": 50},
    "spending": {"type": "float", "lower": 0.0, "upper": 5_000.0},
    "level": {"type": "int"},
}
BY_ROW = {"row_privacy": True, "censor_dims": False, "clamp_counts": False}
BY_PERSON = {"max_ids": 5, "sample_max_ids": True, "clamp_columns": True, "censor_dims": False, "clamp_counts": False}


def asked(path: str, sql: str, epsilon: float, table: dict[str, Any]) -> dict[Any, float]:
    frame = pd.read_parquet(path)
    described = {"": {"main": {"table": {**table, "rows": len(frame), **COLUMNS}}}}
    reader = snsql.from_df(frame, privacy=Privacy(epsilon=epsilon, delta=1e-6), metadata=described)
    return {key: value for key, value, *_ in itertools.islice(reader.execute(sql), 1, None)}


def rows(path: str) -> dict[Any, float]:
    return asked(path, "SELECT plan, COUNT(*) AS n FROM main.table GROUP BY plan", 1.0, BY_ROW)


def visits(path: str) -> dict[Any, float]:
    return asked(path, "SELECT plan, AVG(visits) AS n FROM main.table GROUP BY plan", 0.5, BY_ROW)


def spending(path: str) -> dict[Any, float]:
    person = {**BY_PERSON, "person": {"type": "int", "private_id": True}}
    return asked(path, "SELECT plan, AVG(spending) AS n FROM main.table GROUP BY plan", 0.5, person)


def levels(path: str) -> dict[Any, float]:
    unlisted = {**BY_ROW, "censor_dims": True}
    return asked(path, "SELECT level, COUNT(*) AS n FROM main.table GROUP BY level", 1.0, unlisted)
