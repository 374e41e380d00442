"""The same tables in Tumult Analytics, on Spark in one process: each by itself, at an even share."""

from __future__ import annotations

from typing import Any

from tables import EPSILON, KEYS, RHO, filled
from tasks_tumult import SPARK
from tasks_tumult import VERSION as VERSION  # noqa: PLC0414 (tables.py tells it)
from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, RhoZCDPBudget, Session


def counts(path: str, sets: list[tuple[str, ...]], price: str) -> dict[tuple[str, ...], Any]:
    whole, budget = (EPSILON, PureDPBudget) if price == "epsilon" else (RHO[price], RhoZCDPBudget)
    names = sorted({name for one in sets for name in one})
    table = SPARK.read.parquet(path).select(*names)
    session = Session.from_dataframe(budget(whole), "people", table, protected_change=AddOneRow())
    found = {}
    for one in sets:
        query = QueryBuilder("people")
        if one:
            query = query.groupby(KeySet.from_dict({name: KEYS[name] for name in one}))
        rows = session.evaluate(query.count(), budget(whole / len(sets))).toPandas()[[*one, "count"]]
        found[one] = filled(one, rows.itertuples(index=False))
    return found
