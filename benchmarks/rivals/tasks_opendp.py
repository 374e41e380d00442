"""The five tasks in OpenDP, with its Polars interface."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import opendp.prelude as dp
import polars as pl

dp.enable_features("contrib")
VERSION = version("opendp")
PLANS = ["free", "25%", "50%", "95%", "deductible"]
ROWS = 2_000_000  # what the curator says of the table's size
BY_PLAN = [dp.polars.Margin(by=(), max_length=ROWS), dp.polars.Margin(by=["plan"], max_length=ROWS, max_groups=5)]


def rows_of(path: str, *, identifier: str | None = None, delta: float = 0.0) -> Any:
    context = dp.Context.compositor(
        data=pl.scan_parquet(path),
        privacy_unit=dp.unit_of(contributions=1, identifier=identifier),
        privacy_loss=dp.loss_of(epsilon=1.0, delta=delta),
        split_evenly_over=1,
        margins=BY_PLAN,
    )
    return context.query()


def rows(path: str) -> dict[Any, float]:
    query = rows_of(path).group_by("plan").agg(rows=dp.len()).with_keys(pl.LazyFrame({"plan": PLANS}))
    answer = query.release().collect()
    return dict(zip(answer["plan"], answer["rows"], strict=True))


def visits(path: str) -> dict[Any, float]:
    query = (
        rows_of(path)
        .group_by("plan")
        .agg(rows=dp.len(), total=pl.col("visits").fill_null(0).dp.sum((0, 50)))
        .with_keys(pl.LazyFrame({"plan": PLANS}))
    )
    answer = query.release().collect()
    return dict(zip(answer["plan"], answer["total"] / answer["rows"], strict=True))


def spending(path: str) -> dict[Any, float]:
    query = (
        rows_of(path, identifier="person")
        .truncate_per_group(5)  # of a person, in all plans; truncate_num_groups(1) of 0.16 keeps no row or fails
        .group_by("plan")
        .agg(rows=dp.len(), total=pl.col("spending").fill_null(0.0).fill_nan(0.0).dp.sum((0.0, 5_000.0)))
        .with_keys(pl.LazyFrame({"plan": PLANS}))
    )
    answer = query.release().collect()
    return dict(zip(answer["plan"], answer["total"] / answer["rows"], strict=True))


def median(path: str) -> dict[Any, float]:
    candidates = [float(dollars) for dollars in range(5_001)]
    median = pl.col("spending").fill_null(0.0).fill_nan(0.0).dp.median(candidates)
    return {"all": rows_of(path).select(median).release().collect().item()}


def levels(path: str) -> dict[Any, float]:
    answer = rows_of(path, delta=1e-6).group_by("level").agg(rows=dp.len()).release().collect()
    return dict(zip(answer["level"], answer["rows"], strict=True))
