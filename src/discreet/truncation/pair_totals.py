"""What two units have together, for totals of rows that belong to both: one row of the engine's for each pair.

Claim
    `unit_pairs` has each pair of units of some rows with the sum of its amounts, whole numbers from 0 to `most`, which
    are functions of the rows of that pair alone. So neighbors, of which one has all rows that name a unit and the other
    has none, have the same pairs with the same amounts, but for the pairs that name it. `totals_of_pairs` takes equal
    keys for one unit, in whichever column they are.
Requires
    Rows behind the barrier of `language.input_barrier`, whose units are in columns of one notation, as
    `dp.protect_shared` demands. Verbs before that make the rows of a pair from the rows of that pair.
Relies on
    Sums of 128 bits; equality of keys as Arrow has it.
Proof
    By reading. How an engine groups makes no difference to which units there are: rows that it keeps apart are merged
    here.
    No key makes the look fail: dates come as texts, and decimals do, or are refused by `dp.protect_shared`, as all
    timestamps are: in the first day of its range DuckDB has no text of them.
Rounding
    A sum beyond `most` counts as that, which no limit lets through.
Source
    discreet's own.
Mutant
    columns-as-name-spaces: keys of the two columns are different units; killed by
    test_who_is_in_both_columns_has_one_limit.
    dates-as-they-are: dates are fetched in their own type; killed by test_dates_are_fetched_as_texts.
"""

from __future__ import annotations

from collections.abc import Sequence

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.language.checked_expressions import Kind, Value
from discreet.language.exact_arithmetic import TOTAL, clipped, int64_constant
from discreet.query.table_view import TableView
from discreet.sensitivity.shared_totals import totals_under_limits

FIRST, SECOND, AMOUNT = "first", "second", "amount"


def unit_pairs(view: TableView, value: Value | None, most: int) -> ir.Table:
    """The pairs, with the sum of a column of whole numbers, or the number of rows, of all or for which it holds."""
    amount = int64_constant(1) if value is None else value.expr
    if value is not None and value.kind is Kind.BOOLEAN:
        amount = ibis.cases((value.expr, int64_constant(1)), else_=int64_constant(0))
    first, second = map(_sent, view.units)
    rows = view.relation.select(**{FIRST: first, SECOND: second, AMOUNT: amount})
    ends = int64_constant(0), int64_constant(most)
    added = clipped(rows[AMOUNT], *ends).sum().coalesce(0).cast(TOTAL)
    pairs = rows.aggregate([added.name(AMOUNT)], by=[FIRST, SECOND])
    return pairs.mutate(**{AMOUNT: clipped(pairs[AMOUNT], *(end.cast(TOTAL) for end in ends)).cast("int64")})


def _sent(key: ir.Value) -> ir.Value:
    """A key in a type in which every value of its own can be fetched: PostgreSQL has dates beyond Arrow's, and ends of
    time that are in no calendar. In one type, texts of dates are equal where these are.
    """
    kind = key.type()
    return key.cast("int64" if kind.is_signed_integer() else "string" if kind.is_date() else kind)


def totals_of_pairs(found: pa.Table, limits: Sequence[int]) -> list[int]:
    """The largest total under each limit."""
    keys = pa.chunked_array([*found[FIRST].chunks, *found[SECOND].chunks], found[FIRST].type)
    coded = [one.indices for one in keys.dictionary_encode().chunks]
    first, second = _narrow(coded[: found[FIRST].num_chunks]), _narrow(coded[found[FIRST].num_chunks :])
    return totals_under_limits(first, second, _narrow(found[AMOUNT].chunks), limits)


def _narrow(chunks: Sequence[pa.Array]) -> NDArray[np.int32]:
    """Whole numbers of 31 bits, which codes of units and amounts up to a limit are."""
    parts = (one.to_numpy(zero_copy_only=False).astype(np.int32) for one in chunks)
    return np.concatenate([np.empty(0, np.int32), *parts])
