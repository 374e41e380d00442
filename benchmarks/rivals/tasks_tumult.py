"""The five tasks in Tumult Analytics, on Spark in one process."""

from __future__ import annotations

import os
import sys
import tempfile
from importlib.metadata import version
from typing import Any

from pyspark.sql import SparkSession
from tmlt.analytics import (
    AddOneRow,
    AddRowsWithID,
    ApproxDPBudget,
    KeySet,
    MaxGroupsPerID,
    MaxRowsPerGroupPerID,
    PureDPBudget,
    QueryBuilder,
    Session,
)

VERSION = version("tmlt.analytics")
PLANS = KeySet.from_dict({"plan": ["free", "25%", "50%", "95%", "deductible"]})

os.environ["PYSPARK_PYTHON"] = sys.executable
SPARK = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "4")
    .config("spark.driver.memory", "4g")
    .config("spark.sql.warehouse.dir", tempfile.mkdtemp())
    .getOrCreate()
)
SPARK.sparkContext.setLogLevel("ERROR")


def rows(path: str) -> dict[Any, float]:
    table = SPARK.read.parquet(path).select("plan")
    session = Session.from_dataframe(PureDPBudget(1), "people", table, protected_change=AddOneRow())
    answer = session.evaluate(QueryBuilder("people").groupby(PLANS).count(), PureDPBudget(1)).toPandas()
    return answer.set_index("plan")["count"].to_dict()


def visits(path: str) -> dict[Any, float]:
    table = SPARK.read.parquet(path).select("plan", "visits")
    session = Session.from_dataframe(PureDPBudget(1), "people", table, protected_change=AddOneRow())
    query = QueryBuilder("people").groupby(PLANS).average("visits", 0, 50)
    return session.evaluate(query, PureDPBudget(1)).toPandas().set_index("plan")["visits_average"].to_dict()


def spending(path: str) -> dict[Any, float]:
    table = SPARK.read.parquet(path).select("person", "plan", "spending")
    session = Session.from_dataframe(PureDPBudget(1), "people", table, protected_change=AddRowsWithID("person"))
    bounded = QueryBuilder("people").enforce(MaxGroupsPerID("plan", 1)).enforce(MaxRowsPerGroupPerID("plan", 5))
    query = bounded.groupby(PLANS).average("spending", 0, 5_000)
    return session.evaluate(query, PureDPBudget(1)).toPandas().set_index("plan")["spending_average"].to_dict()


def median(path: str) -> dict[Any, float]:
    table = SPARK.read.parquet(path).select("spending")
    session = Session.from_dataframe(PureDPBudget(1), "people", table, protected_change=AddOneRow())
    answer = session.evaluate(QueryBuilder("people").median("spending", 0, 5_000), PureDPBudget(1)).toPandas()
    return {"all": answer["spending_median"].item()}


def levels(path: str) -> dict[Any, float]:
    table = SPARK.read.parquet(path).select("level")
    session = Session.from_dataframe(ApproxDPBudget(1, 1e-6), "people", table, protected_change=AddOneRow())
    session.create_view(QueryBuilder("people"), "seen", cache=False)
    found = session.evaluate(QueryBuilder("people").get_groups(["level"]), ApproxDPBudget(0.5, 1e-6))
    query = QueryBuilder("people").groupby(KeySet.from_dataframe(found)).count()
    return session.evaluate(query, ApproxDPBudget(0.5, 0)).toPandas().set_index("level")["count"].to_dict()
