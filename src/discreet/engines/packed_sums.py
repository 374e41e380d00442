"""A sum and two counts in one sum of 128 bits, so that a pair of a unit and a group takes less room in DuckDB.

Claim
    For a pair of at most `most` rows `unpacked` gives what `contribution_weights.measures` does, and TOO_MANY_ROWS is
    false. For any other pair TOO_MANY_ROWS is true: what is made of its fields is nobody's answer, since the engine
    then computes all without packing.
Requires
    Parts are integers in [0, high], high = steps / fine; all of a row are NULL together. Fewer rows than the row cap.
Relies on
    DuckDB's sum of integers, which has 128 bits and is exact; its shifts of such.
Proof
    Let b be the bits of `high`, r = floor((78 - b) / 2), at most 30, a = 78 - r, most = 2^r - 1. A row adds 2^78, and
    its first part, or 2^a where it has none. Of n rows, d of which have no part, and parts that sum to s, the sum is
    n 2^78 + d 2^a + s. With n <= most, s < 2^r 2^b <= 2^a and d < 2^r, so these are its digits, and what is read. With
    n > most the first digit is n or more, so that TOO_MANY_ROWS is true. With n < 2^48 (`column_lattice.ROW_CAP`) the
    sum is below 2^48 (2^78 + 2^a + 2^b) < 2^127, so that no row makes it raise. A unit's fields come from its own rows
    alone, and TOO_MANY_ROWS decides only which of two statements with the same totals gives them.
Rounding
    None.
Source
    Discreet's own. DuckDB keeps 8 bytes of a count and 24 of a sum: of a mean 24 of each pair, in place of 40.
Mutant
    many-are-read: pairs of too many rows are not told; killed by test_pairs_of_too_many_rows_are_added_up_again.
    digits-overlap: the digit of rows without a value is a bit too low; killed by test_the_fullest_pair_is_read.
"""

from __future__ import annotations

from functools import reduce
from operator import or_

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.types as ir

from discreet.engines.contribution_weights import measures
from discreet.engines.generated_columns import Columns
from discreet.engines.relational_operations import selected
from discreet.language.exact_arithmetic import int64_constant
from discreet.planning.batches import ROWS
from discreet.planning.forms import DISTINCT
from discreet.planning.plan import Plan, PricedBlock

ROWS_AT = 78
"""Where the digit of a pair's rows begins: numbers of rows below 2**48 leave a bit for the sign, and one to spare."""
MOST_BITS = 30
"""Of a digit: enough for every column whose values are few."""
FEWEST_ROWS = 2**16 - 1
"""Fewer rows than a digit of 16 bits has room for are not worth a second look, and leave the lower two 62 bits."""
TOO_MANY_ROWS = "__discreet_many"
"""Whether a pair, or one of a group, has more rows than can be read."""


def packs(plan: Plan) -> bool:
    """Whether the plan has sums to pack. TOO_MANY_ROWS must be known before the first group has its noise, so that all
    groups come at once.
    """
    at_once = plan.query.cells <= ROWS and not plan.query.by_row
    alone = all(block.block.form is not DISTINCT for block in plan.blocks)
    return at_once and alone and bool(packed_blocks(plan))


def packed_blocks(plan: Plan) -> dict[int, PricedBlock]:
    """The blocks with sums that are packed."""
    valued = {i: block for i, block in enumerate(plan.blocks) if block.block.parts and not block.block.signed}
    return {i: block for i, block in valued.items() if digits(block)[1] >= FEWEST_ROWS}


def digits(block: PricedBlock) -> tuple[int, int]:
    """Where the digit of rows without a value begins, and the most rows that can be read."""
    high = block.steps // block.lattice.fine
    bits = min((ROWS_AT - high.bit_length()) // 2, MOST_BITS)
    return ROWS_AT - bits, 2**bits - 1


def packed(plan: Plan, rows: ir.Table) -> list[ir.Value]:
    """The measures of `contribution_weights.measures`, the counts and the first sum of a block in one."""
    found = {one.get_name(): one for one in measures(plan, rows)}
    for i, block in packed_blocks(plan).items():
        own = Columns(i)
        for name in (own.rows, own.held, own.sum(0)):
            found.pop(name, None)
        part = rows[own.part(0)]
        row = _one_row() + (part.coalesce(int64_constant(2 ** digits(block)[0])) if block.block.nulls else part)
        if block.block.where is not None:
            row = ibis.ifelse(rows[own.counted], row, ibis.null("int64"))
        found[own.packed] = row.sum().coalesce(0).name(own.packed)
    return list(found.values())


def unpacked(plan: Plan, table: ir.Table) -> ir.Table:
    """The measures again, and TOO_MANY_ROWS."""
    blocks = packed_blocks(plan)
    sums = {Columns(i).packed for i in blocks}
    columns: dict[str, ir.Value] = {name: table[name] for name in table.columns if name not in sums}
    many = []
    for i, block in blocks.items():
        own = Columns(i)
        (at, most), packed = digits(block), table[own.packed]
        columns[own.rows] = _narrow(packed >> ROWS_AT)
        columns[own.sum(0)] = packed & int64_constant(2**at - 1)
        if block.block.nulls:
            columns[own.held] = columns[own.rows] - _narrow((packed >> at) & most)
        many.append(columns[own.rows] > most)
    return selected(table, columns | {TOO_MANY_ROWS: reduce(or_, many)})


def _one_row() -> ir.Value:
    """What each row adds to the digit of rows, in 128 bits. Ibis has no such type; DuckDB's sums are of it, and that of
    a list of constants is computed once.
    """
    return ibis.literal([1], "array<int64>").sums() << ROWS_AT


def _narrow(digit: ir.Value) -> ir.Value:
    """A 64-bit integer, which Ibis takes the digit for already."""
    return ops.Cast(digit.op(), dt.int64).to_expr()
