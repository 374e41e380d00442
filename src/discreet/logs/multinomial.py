"""The multinomial release of Hong, Vaidya, Lu and Wu, as a reading, with what it promises and what it does not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from discreet.exact.amounts import decimal_text
from discreet.logs.collect import COUNT, ITEM, USER
from discreet.logs.programs import choose
from discreet.logs.sampling import Pairs, drawn, shared, worst
from discreet.noise.entropy import Words
from discreet.privacy.definitions import Guarantee

ACKNOWLEDGED = "counts-are-not-private"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MultinomialLog:
    """A reading: what the curator needs to charge, look, draw and store."""

    what: str
    guarantee: Guarantee
    unit: str
    expression: ir.Table
    objective: str
    size: int | None
    support: float

    @property
    def facts(self) -> Mapping[str, Any]:
        """The receipt's own part."""
        price = self.guarantee
        spent = {"epsilon": decimal_text(price.epsilon), "delta": decimal_text(price.delta)}
        return {
            "guarantee": f"({spent['epsilon']}, {spent['delta']})-probabilistic differential privacy of the sampling "
            "step for fixed counts, for the removal of one user",
            "not_covered": [
                "the row counts of the items: they are the solution of a program over the exact log, and not blurred",
                "which items are left out, since one user alone has them",
                "the status of the program and the losses in this receipt",
                "hence the release as a whole: between neighbors whose row counts differ, delta is 1",
            ],
            "method": "multinomial",
            "unit": [self.unit],
            "charge": spent,
            "acknowledged": ACKNOWLEDGED,
            "objective": self.objective,
            "size": self.size,
            "support": self.support,
        }

    def blurred(self, found: pa.Table, words: Words) -> pa.Table:
        """Rows of real users, drawn item by item."""
        table = found.sort_by([(ITEM, "ascending"), (USER, "ascending")]).combine_chunks()
        log = Pairs(_codes(table[USER]), _codes(table[ITEM]), table[COUNT].to_numpy().astype(np.int64))
        kept = shared(log)
        chosen = choose(
            kept,
            self.objective,
            epsilon=self.guarantee.epsilon,
            delta=self.guarantee.delta,
            rows=self.size,
            support=self.support,
        )
        alone = np.bincount(log.items, minlength=log.size)[log.items] > 1
        table = table.filter(pa.array(alone)).set_column(
            table.column_names.index(COUNT), COUNT, pa.array(drawn(kept, chosen.rows, words))
        )
        largest = worst(kept, chosen.rows)
        told = {
            "program": chosen.status,
            "rows": str(int(chosen.rows.sum())),
            "largest_loss": f"{largest:.6g}",
            "needs_delta": f"{-math.expm1(-largest):.6g}",
            "users": str(kept.people),
        }
        return table.filter(pa.array(table[COUNT].to_numpy() > 0)).replace_schema_metadata(told)


def _codes(column: pa.ChunkedArray) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Numbers from 0, one for each value of a column."""
    encoded = column.combine_chunks().dictionary_encode()
    return np.asarray(encoded.indices.to_numpy(zero_copy_only=False), dtype=np.int64)
