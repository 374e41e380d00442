"""What more weight on one table of a batch does to it, and to the others: from public facts alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from discreet.errors import InvalidParameter, expected
from discreet.planning.batch_planner import BatchPlan
from discreet.planning.mixed_batch_plan import MixedBatchPlan
from discreet.planning.table_names import Name, label, table_named
from discreet.query.explain_batch import table_errors

FACTOR = 4
"""Times which a table's weight is made larger."""

Priced = Callable[[Mapping[Any, object]], BatchPlan | MixedBatchPlan]


def trade_offs(
    names: Sequence[Name], priced: Priced, weights: Mapping[Any, object] | None, *, confidence: float, rows: int | None
) -> pa.Table:
    """One row for each table: its error, that at four times its weight, and the part by which another table's largest
    error grows then at most.
    """
    if weights is not None and not isinstance(weights, Mapping):
        raise InvalidParameter(expected("a dict of weights", "weights", weights, "write weights={'table': 2}."))
    stated: dict[Name, object] = dict.fromkeys(names, 1)
    for name, weight in (weights or {}).items():
        stated[table_named(name, names) or name] = weight  # an unknown one is refused when it is priced
    even = table_errors(priced(stated), confidence, rows)
    found: dict[str, list[Any]] = {"table": [], "plus_minus": [], "plus_minus_if_heavier": [], "others_grow_by": []}
    for name in names:
        heavier = table_errors(priced({**stated, name: FACTOR * float(stated[name])}), confidence, rows)  # type: ignore[arg-type] # checked when it was priced
        others = [heavier[other] / even[other] for other in names if other != name and even[other] > 0]
        found["table"].append(label(name))
        found["plus_minus"].append(even[name])
        found["plus_minus_if_heavier"].append(heavier[name])
        found["others_grow_by"].append(max(others, default=math.nan) - 1)
    return pa.table(found)
