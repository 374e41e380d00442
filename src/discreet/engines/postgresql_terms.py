"""Operations written differently for PostgreSQL, so that no row makes it raise and all totals are the same.

Claim
    `portable` gives an expression with the same value on PostgreSQL as the given one has on DuckDB, apart from what
    docs/engines/exactness.md lists, and no row makes it raise.
Requires
    An expression that `language` has checked, over columns behind `engines.postgresql`'s barrier.
Relies on
    PostgreSQL's CASE, which evaluates no branch that is not taken; IEEE doubles.
Proof
    PostgreSQL raises where the product or quotient of doubles that are not zero is zero, and where an exponential is
    subnormal. With |a|, |b| below 1 (else the product is no smaller than the smallest double) and one of them below
    2^-537 (else it is no smaller either), the product times 2^1500 is computed without leaving the normal doubles, and
    tells whether the product rounds to zero; it is written as 0 there. Quotients a / b with |a| < 1 < |b| likewise,
    after scaling b where it is beyond 2^500. Where the arguments cannot be so small (`least_magnitude`) nothing is
    added. A backslash in a pattern is an escape, and raises at a pattern's end: it is doubled. Decimals beyond the
    doubles are told apart as decimals, before the cast; amounts of money, which Ibis takes for decimals, are made some.
    A row or a text of 2^30 bytes raises, and so does TRIM of a text of 2^27. Of a column's text of 2^20 bytes or more
    the first 2^18 characters are read (`with_short_texts`), which have no more bytes than that; where it names a unit
    it names none, since two of them may begin alike. What is made of texts has at most 4,000 bytes for each of 20,000
    operations. COPY writes a quotation mark twice: of the keys in a row, 100 columns at most, 2^28 bytes.
    Texts are ordered under the collation "C": those that no column holds would be under the database's.
Rounding
    A product within one part in 2^53 of half the smallest double is taken for zero.
Source
    PostgreSQL's float8_mul, float8_div and dexp (src/include/utils/float.h, src/backend/utils/adt/float.c), dotrim
    (src/backend/utils/adt/oracle_compat.c), MaxAllocSize (src/include/utils/memutils.h).
Mutant
    underflow-raises: products are left as they are; killed by test_products_that_vanish_are_zero.
    long-texts-raise: texts of any length are read; killed by test_of_long_texts_the_beginning_is_read.
    long-units-merge: units that begin alike are one; killed by test_of_long_texts_the_beginning_is_read.
    texts-in-the-databases-order: texts that were computed are ordered as the database orders its own; killed by
    test_computed_texts_are_ordered_by_their_bytes.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from typing import Any

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.types as ir
import sqlglot
import sqlglot.expressions as sge
from sqlglot.transforms import eliminate_semi_and_anti_joins

from discreet.engines.operation_rewriting import PATTERNS, Rule, constant, least_magnitude, rewritten
from discreet.errors import InvalidQuery
from discreet.language.checked_expressions import Kind, cast
from discreet.language.text import JOINED_BACKWARDS, reversed_again

FARTHEST = {"Y": 4700, "M": 56_400, "W": 245_000, "D": 1_716_000, "h": 41_000_000, "s": 148_000_000_000}
"""How far back from the year 1 PostgreSQL's calendar goes, in each unit, or somewhat less."""
LONGEST_TEXT = 2**30
"""No text of PostgreSQL's is as long, and no place in one overflows its integers."""
MOST_BYTES, MOST_CHARACTERS = 2**20, 2**18
"""Of a text that is read as it is, and of a longer one; a character has at most four bytes."""
SAFE = 2.0**-900
"""A product that is not below this, as far as intervals of magnitude tell, is not below the smallest double."""

TIMES = "__discreet_times"
OVER = "__discreet_over"
EXP = "__discreet_exp"
BYTES = "__discreet_bytes"
DECIMAL = "__discreet_decimal"
TEMPLATES = {
    TIMES: "SELECT CASE WHEN l IS NULL OR r IS NULL THEN NULL "
    "WHEN a >= 1 OR b >= 1 OR (a > {2^-537} AND b > {2^-537}) THEN l * r "
    "WHEN (LEAST(a, b) * {2^1000}) * (GREATEST(a, b) * {2^500}) > {2^425} THEN l * r "
    "ELSE {0} END "
    "FROM (SELECT l, r, ABS(l) AS a, ABS(r) AS b FROM (SELECT {l} AS l, {r} AS r OFFSET 0) AS p OFFSET 0) AS q",
    OVER: "SELECT CASE WHEN l IS NULL OR r IS NULL THEN NULL WHEN a >= 1 OR b <= 1 THEN l / r "
    "WHEN b <= {2^500} AND (a * {2^1000}) / b > {2^-75} THEN l / r "
    "WHEN b > {2^500} AND (a * {2^1000}) / (b * {2^-500}) > {2^425} THEN l / r "
    "ELSE {0} END "
    "FROM (SELECT l, r, ABS(l) AS a, ABS(r) AS b FROM (SELECT {l} AS l, {r} AS r OFFSET 0) AS p OFFSET 0) AS q",
    DECIMAL: "SELECT CASE WHEN l > 1e308 AND l - l = 0 OR l::text = 'Infinity' THEN CAST('Inf' AS DOUBLE PRECISION) "
    "WHEN l < -1e308 THEN CAST('-Inf' AS DOUBLE PRECISION) WHEN ABS(l) < 1e-300 THEN {0} "
    "WHEN l - l = 0 THEN CAST(l AS DOUBLE PRECISION) END FROM (SELECT CAST({l} AS NUMERIC) AS l OFFSET 0) AS p",
    EXP: "SELECT CASE WHEN l < {-708} THEN {0} ELSE EXP(l) END FROM (SELECT {l} AS l OFFSET 0) AS p",
    BYTES: '{l} COLLATE "C"',
}
"""Mostly scalar sub-queries, which name arguments once; OFFSET 0 keeps the planner from writing them out again."""


def portable(table: ir.Table) -> ir.Table:
    """The same table in operations that PostgreSQL has, and none of which can raise."""
    return rewritten(table, RULES)


def spelled_out(statement: sge.Expression) -> sge.Expression:
    """A statement with our own functions replaced by what they stand for."""
    statement = statement.copy()  # Ibis puts one node in several places
    for node in reversed(list(statement.find_all(sge.Anonymous))):  # from the innermost
        template = _template(node.name)
        if template is None:
            continue
        made = template.copy()
        for slot in list(made.find_all(sge.Placeholder)):
            slot.replace(node.expressions[0 if slot.name == "l" else 1])
        node.replace(sge.Subquery(this=made))
    return statement


def with_conditions_for_semi_joins(statement: sge.Expression) -> sge.Expression:
    """A statement, changed in place, whose semi and anti joins are conditions with EXISTS.

    sqlglot makes them so too, but passes over each join that follows another one of these in the same SELECT.
    """
    for select in statement.find_all(sge.Select):
        for _ in list(select.args.get("joins") or ()):
            eliminate_semi_and_anti_joins(select)
    return statement


@functools.cache
def _template(name: str) -> sge.Expression | None:
    if name not in TEMPLATES:
        return None
    text = TEMPLATES[name].replace("{l}", ":l").replace("{r}", ":r")
    for power in (-537, 1000, 500, 425, -75, -500):
        text = text.replace(f"{{2^{power}}}", f"CAST({2.0**power!r} AS DOUBLE PRECISION)")
    for number in ("0", "-708"):
        text = text.replace(f"{{{number}}}", f"CAST({number} AS DOUBLE PRECISION)")
    return sqlglot.parse_one(text, read="postgres")


@ibis.udf.scalar.builtin(name=TIMES, signature=((dt.float64, dt.float64), dt.float64))
def _times(l, r): ...  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, E741 (Ibis reads the signature above)


@ibis.udf.scalar.builtin(name=OVER, signature=((dt.float64, dt.float64), dt.float64))
def _over(l, r): ...  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, E741 (as above)


@ibis.udf.scalar.builtin(name=DECIMAL, signature=((dt.Decimal(None, None),), dt.float64))
def _decimal(l): ...  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, E741 (as above)


@ibis.udf.scalar.builtin(name=BYTES, signature=((dt.string,), dt.string))
def _bytes(l): ...  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, E741 (as above)


@ibis.udf.scalar.builtin(name=EXP, signature=((dt.float64,), dt.float64))
def _exp(l): ...  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, E741 (as above)


@ibis.udf.scalar.builtin(name="octet_length", signature=((dt.string,), dt.int64))
def _octets(text): ...  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 (as above)


def with_short_texts(table: ir.Table, unit: Collection[str]) -> ir.Table:
    """A table with the beginnings of its long texts; of those that name a unit, with NULL."""
    texts = {name: table[name] for name, kind in table.schema().items() if kind.is_string()}
    short = []
    for name, text in texts.items():
        rest = ibis.null(dt.string) if name in unit else text.substr(0, MOST_CHARACTERS)
        short.append(ibis.ifelse(_octets(text) < MOST_BYTES, text, rest).name(name))
    return table.mutate(short) if short else table


def _multiply(op: ops.Multiply) -> ops.Node:
    if not op.dtype.is_floating() or _never_tiny(op):
        return op
    node: ops.Node = _times(op.left.to_expr(), op.right.to_expr()).op()
    return node


def _divide(op: ops.Divide) -> ops.Node:
    if _never_tiny(op):
        return op
    node: ops.Node = _over(op.left.to_expr(), op.right.to_expr()).op()
    return node


def _never_tiny(op: ops.Multiply | ops.Divide) -> bool:
    """Whether a product or quotient of numbers other than zero is sure not to vanish."""
    known = constant(op.right) if isinstance(op, ops.Divide) else max(_size(op.left), _size(op.right))
    grows = known is not None and (0 < abs(known) <= 1 if isinstance(op, ops.Divide) else known >= 1)
    return grows or least_magnitude(op) > SAFE


def _size(op: ops.Node) -> float:
    return abs(constant(op) or 0.0)


def _exponential(op: ops.Exp) -> ops.Node:
    node: ops.Node = _exp(op.arg.to_expr()).op()
    return node


def _binary_logarithm(op: ops.Log2) -> ops.Node:
    """PostgreSQL has one of decimals alone, which keeps 15 digits of a double."""
    two = cast(ibis.literal(2.0), Kind.REAL)
    return ops.Divide(ops.Ln(op.arg), ops.Ln(two.op()))


def _conversion(op: ops.Cast) -> ops.Node:
    """PostgreSQL has no cast from truth values to wide integers."""
    if op.arg.dtype.is_boolean() and op.to.is_numeric() and not op.to.is_int32():
        return ops.Cast(ops.Cast(op.arg, dt.int32), op.to)
    return op


def _attempt(op: ops.TryCast) -> ops.Node:
    """Casts that give NULL where they fail. Those between timestamps cannot fail; decimals are told apart before."""
    if op.arg.dtype.is_string():
        raise InvalidQuery(
            "Expected casts that cannot fail on PostgreSQL, got .try_cast() of text.\n"
            "Hint: PostgreSQL has none that gives NULL. Make the column in a view of the curator's."
        )
    if not (op.arg.dtype.is_decimal() and op.to.is_float64()):
        return ops.Cast(op.arg, op.to)
    node: ops.Node = _decimal(op.arg.to_expr()).op()
    return node


def _shifted(op: Any) -> ops.Node:
    """A moment and a constant interval, in steps that PostgreSQL has, as far back as its calendar goes."""
    unit, number = op.right.dtype.unit.short, op.right.value
    unit, number = {"Q": ("M", 3 * number), "m": ("s", 60 * number)}.get(unit, (unit, number))
    back = number if isinstance(op, ops.DateSub | ops.TimestampSub) else -number
    if back > FARTHEST[unit]:
        raise InvalidQuery(
            "Expected moments that PostgreSQL's calendar holds, got an interval of more than 4,700 years back.\n"
            "Hint: subtract less."
        )
    node: ops.Node = type(op)(op.left, ibis.interval(number, unit=unit).op())
    return node


def _substring(op: ops.Substring) -> ops.Node:
    places = [None if end is None else min(int(end.value), LONGEST_TEXT) for end in (op.start, op.length)]
    return ops.Substring(op.arg, *places)


def _modulus(op: ops.Modulus) -> ops.Node:
    if op.dtype.is_integer():
        return op
    raise InvalidQuery(
        "Expected operations that PostgreSQL has, got % of real numbers.\n"
        "Hint: use whole numbers, or write x - (x / y).floor() * y."
    )


def _hash(op: ops.Hash) -> ops.Node:
    """PostgreSQL has a hash for each of its types and Ibis knows few of them: of texts, then, and of NULL too."""
    text = op.arg if op.arg.dtype.is_string() else ops.Cast(op.arg, dt.string)
    node: ops.Node = ops.Hash(text).to_expr().coalesce(0).op()
    return node


def _in_order_of_bytes(op: ops.Node) -> ops.Node:
    """Texts that no column holds, such as a number's, would be ordered as the database orders its own."""
    first, *others = op.args
    if not first.dtype.is_string():
        return op
    return type(op)(_bytes(first.to_expr()).op(), *others)


def _same(op: ops.IdenticalTo) -> ops.Node:
    """IS NOT DISTINCT FROM in two equalities, by which PostgreSQL can hash."""
    left, right = op.left.to_expr(), op.right.to_expr()
    blank = BLANKS[next(test for test in BLANKS if getattr(left.type(), test)())]
    equal = left.coalesce(blank) == right.coalesce(blank)
    return (equal & (left.isnull() == right.isnull())).op()


BLANKS: Mapping[str, ir.Value] = {
    "is_string": ibis.literal(""),
    "is_integer": ibis.literal(0, type=dt.int64),
    "is_boolean": ibis.literal(value=False),
    "is_date": ibis.date("2000-01-01"),
    "is_timestamp": ibis.literal("2000-01-01").cast(dt.Timestamp(scale=6)),
    "is_floating": ibis.literal(0.0, type=dt.float64),
}
"""What stands for NULL beside a test for NULL, by the type of the column."""

RULES: dict[type[ops.Node], Rule] = {
    ops.Multiply: _multiply,
    ops.Divide: _divide,
    ops.Exp: _exponential,
    ops.Log2: _binary_logarithm,
    ops.Cast: _conversion,
    ops.TryCast: _attempt,
    **PATTERNS,
    ops.Substring: _substring,
    ops.Modulus: _modulus,
    JOINED_BACKWARDS: reversed_again,
    **dict.fromkeys((ops.DateAdd, ops.DateSub, ops.TimestampAdd, ops.TimestampSub), _shifted),
    **dict.fromkeys((ops.Less, ops.LessEqual, ops.Greater, ops.GreaterEqual, ops.Between), _in_order_of_bytes),
    **dict.fromkeys((ops.Min, ops.Max), _in_order_of_bytes),
    ops.Hash: _hash,
    ops.IdenticalTo: _same,
}
