"""The field axioms, on the tables."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.local.finite_fields import Field, prime_powers


@pytest.mark.parametrize("order", [2, 3, 4, 5, 8, 9, 16, 25, 27, 49, 64])
def test_the_tables_are_a_field(order: int) -> None:
    tables, elements = Field.of_order(order), np.arange(order)
    for table, neutral, start in ((tables.total, 0, 0), (tables.product, 1, 1)):
        assert np.array_equal(table, table.T)
        assert np.array_equal(table[neutral], elements)
        assert np.array_equal(np.sort(table[start:, start:], axis=1), np.tile(elements[start:], (order - start, 1)))
        assert np.array_equal(table[table[:, :, None], elements], table[elements[:, None, None], table[None]])
    assert not tables.product[0].any()
    spread = tables.total[tables.product[:, :, None], tables.product[:, None, :]]
    assert np.array_equal(tables.product[elements[:, None, None], tables.total[None]], spread)


def test_prime_powers() -> None:
    assert prime_powers(32) == (2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27, 29, 31, 32)
