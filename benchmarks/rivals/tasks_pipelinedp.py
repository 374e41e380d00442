"""The five tasks in PipelineDP, on its local backend."""

from __future__ import annotations

from importlib.metadata import version
from operator import itemgetter
from typing import Any

import pipeline_dp
import pyarrow.parquet as pq
from pipeline_dp import AggregateParams, Metrics

VERSION = version("pipeline-dp")
PLANS = ["free", "25%", "50%", "95%", "deductible"]
BY_ROW = {"max_partitions_contributed": 1, "max_contributions_per_partition": 1}
BY_PERSON = {"max_partitions_contributed": 1, "max_contributions_per_partition": 5}


def asked(rows: Any, params: AggregateParams, partitions: list[str] | None) -> dict[Any, Any]:
    has_person = not params.contribution_bounds_already_enforced
    extractors = pipeline_dp.DataExtractors(
        partition_extractor=itemgetter(0),
        value_extractor=itemgetter(1),
        privacy_id_extractor=itemgetter(2) if has_person else None,
    )
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1, total_delta=1e-6)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    answer = engine.aggregate(list(rows), params, extractors, public_partitions=partitions)
    accountant.compute_budgets()
    return dict(answer)


def columns(path: str, *names: str) -> Any:
    table = pq.read_table(path, columns=list(dict.fromkeys(names)))
    return zip(*(table[name].to_pylist() for name in names), strict=True)


def rows(path: str) -> dict[Any, float]:
    params = AggregateParams(metrics=[Metrics.COUNT], contribution_bounds_already_enforced=True, **BY_ROW)
    return {plan: found.count for plan, found in asked(columns(path, "plan", "visits"), params, PLANS).items()}


def visits(path: str) -> dict[Any, float]:
    bounds = {"min_value": 0, "max_value": 50}
    params = AggregateParams(metrics=[Metrics.MEAN], contribution_bounds_already_enforced=True, **BY_ROW, **bounds)
    return {plan: found.mean for plan, found in asked(columns(path, "plan", "visits"), params, PLANS).items()}


def spending(path: str) -> dict[Any, float]:
    params = AggregateParams(metrics=[Metrics.MEAN], **BY_PERSON, min_value=0, max_value=5_000)
    return {
        plan: found.mean for plan, found in asked(columns(path, "plan", "spending", "person"), params, PLANS).items()
    }


def median(path: str) -> dict[Any, float]:
    bounds = {"min_value": 0, "max_value": 5_000}
    half = [Metrics.PERCENTILE(50)]
    params = AggregateParams(metrics=half, contribution_bounds_already_enforced=True, **BY_ROW, **bounds)
    every = (("all", value) for (value,) in columns(path, "spending"))
    return {"all": asked(every, params, ["all"])["all"].percentile_50}


def levels(path: str) -> dict[Any, float]:
    params = AggregateParams(metrics=[Metrics.COUNT], contribution_bounds_already_enforced=True, **BY_ROW)
    return {level: found.count for level, found in asked(columns(path, "level", "level"), params, None).items()}
