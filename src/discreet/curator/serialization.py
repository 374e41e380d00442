"""Answers as bytes, which `answers.stored_answers` reads."""

from __future__ import annotations

import json
import math
from typing import Any

from numpy.typing import NDArray

from discreet.errors import InvalidQuery
from discreet.planning.column_lattice import ROW_CAP
from discreet.planning.plan import Plan
from discreet.selection.rank_exponential import PARTS, UNIT

MOST_BYTES = 10**9
"""Neither SQLite nor PostgreSQL keeps a longer value: such an answer would be lost after its charge."""
FAR = 1 << 10
"""So many times its scale no noise is off by."""


def packed(noisy: list[NDArray[Any]], account: dict[str, Any], found: dict[str, Any] | None = None) -> bytes:
    """An answer as bytes: noisy totals as decimal text, so that any size survives, the receipt, and what was found."""
    totals = [[list(map(str, row)) for row in block.tolist()] for block in noisy]
    also = {} if found is None else {"found": found}
    return json.dumps({"receipt": account, "totals": totals, **also}, separators=(",", ":")).encode()


def most_bytes(plan: Plan, cells: int) -> int:
    """How long the totals of an answer of so many groups are at most, by what is public."""
    each = [(one.block.components, ROW_CAP * one.steps + FAR * math.ceil(one.width)) for one in plan.blocks]
    for ranked in plan.ranks:
        width = 0 if ranked.cuts.noise is None else FAR * math.ceil(ranked.cuts.noise.scale)
        each.append((ranked.cuts.size, (ranked.lattice.high + 1) * PARTS))
        each.append((ranked.cuts.masses, ROW_CAP * ranked.steps * UNIT + width))
    return cells * sum(len("[],") + many * (len('"-",') + len(str(largest))) for many, largest in each)


def check_length(plan: Plan, cells: int | None = None) -> None:
    """Refuses an answer that a ledger may not be able to keep, before its charge."""
    length = most_bytes(plan, plan.query.cells if cells is None else cells)
    if length > MOST_BYTES:
        raise InvalidQuery(
            f"Expected an answer of at most {MOST_BYTES:,} bytes in the ledger, got up to {length:,}.\n"
            "Hint: ask for fewer columns, or for some of the groups at a time; counts, sums and means of more can be "
            "written to a file, .release(..., to='answer.parquet')."
        )
