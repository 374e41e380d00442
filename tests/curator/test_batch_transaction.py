"""What an engine finds of a batch's cells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import discreet as dp
from discreet.curator.batch_transaction import found_cells
from discreet.workloads.sparse_cells import SparseCells

VALUES = list(range(1100))


class Careless:
    """An engine that finds the cells that it is told, listed or not."""

    def __init__(self, *codes: tuple[int, int]) -> None:
        self.codes = codes

    def found_groups(self, *_: object) -> tuple[list[NDArray[np.int64]], list[NDArray[Any]]]:
        columns = np.array(self.codes, dtype=np.int64).reshape(-1, 2)
        return [columns[:, 0], columns[:, 1]], [np.arange(1, len(columns) + 1)[:, np.newaxis]]


def counts(*codes: tuple[int, int]) -> list[int]:
    table = dp.protect(pa.table({"a": [1], "b": [2]}), unit=dp.ROW, budget=dp.Budget(epsilon=1))
    question = table.crosstabs("a", "b", ways=1, keys={"a": VALUES, "b": VALUES})
    [cells] = found_cells(Careless(*codes), question.plan(epsilon=1), "")  # type: ignore[arg-type] # what of it is used
    assert isinstance(cells, SparseCells)
    found: list[int] = cells.over((0,))[:, 0].tolist()
    return found


def test_cells_that_are_not_listed_are_left_out() -> None:
    found = counts((7, 1), (1100, 1), (7, -1), (1099, 1099))
    assert {place: number for place, number in enumerate(found) if number} == {7: 1, 1099: 4}
    assert not any(counts((5000, 5000)))


def test_no_cell_may_be_found() -> None:
    assert not any(counts())
