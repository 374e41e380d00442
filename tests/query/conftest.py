"""A table of hostile values, what the engine makes of an expression over it, and tables that must not be read."""

from __future__ import annotations

import datetime
import decimal
import math
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import ibis
import numpy as np
import pyarrow as pa
import pytest

from discreet.curator.budget import Budget
from discreet.curator.protect import protect
from discreet.curator.source import Protected
from discreet.engines.duckdb import DuckDB
from discreet.engines.inputs import connection
from discreet.errors import DiscreetError
from discreet.privacy.definitions import ROW
from discreet.query.estimate import estimates
from discreet.query.language.check import bind, checked
from discreet.query.language.values import DTYPES, Value
from discreet.query.price import price
from discreet.query.question import Question
from discreet.query.scan import Scan, barrier, scan
from discreet.query.source import Bound
from discreet.query.table import PrivateTable, UnknownColumn

REALS = [0.0, -0.0, 1.0, -1.0, 0.5, 0.1, 0.49999999999999994, 5e-324, -5e-324, 1e-308, 2.5, 7.0, 1e16, -1e16, 1e150]
REALS += [-1e150, 4503599627370497.0, 9007199254740993.0, 1.7976931348623157e308, -1.7976931348623157e308]
REALS += [math.inf, -math.inf, math.nan]
INTEGERS = [0, 1, -1, 2, 3, 7, -5, 9, 100, 2**31, 2**53 + 1, -(2**53) - 1, 2**62, 2**63 - 1, -(2**63)]
TEXTS = [
    "",
    "a",
    "A",
    " a ",
    "b",
    "é",
    "e\u0301",
    "ß",
    "İ",
    "ﬁ",
    "a%b_c",
    "a\\b",
    "\\",
    "%",
    "_",
    "'",
    '"',
    "😀a",
    "2020-01-01",
]
TEXTS += ["12", "nan", "\t", "ab" * 2000, "\u200bx", "NULL"]
DATES = [
    datetime.date(*d) for d in [(1, 1, 1), (1, 12, 31), (1582, 10, 10), (1970, 1, 1), (2020, 2, 29), (9999, 12, 31)]
]
TIMES = ["0001-01-01", "1969-12-31T23:59:59.999999", "2020-02-29T12:30:59", "9999-12-31"]
ROWS = 600

BOUNDS: dict[str, tuple[Bound, Bound]] = {
    "small": (Fraction(-5), Fraction(7)),
    "tally": (Fraction(0), Fraction(100)),
    "large": (Fraction(-(2**40)), Fraction(2**40)),
    "share": (Fraction(0), Fraction(1)),
    "signed": (Fraction(-2), Fraction(3)),
    "wide": (Fraction(1e150) * -1, Fraction(1e150)),
    "tiny": (Fraction(5e-324), Fraction(1)),
    "lately": (datetime.date(1990, 1, 1), datetime.date(2030, 12, 31)),
}


def sample(pool: Sequence[Any], seed: int, *, nulls: bool = True) -> list[Any]:
    """Values from a pool, each of them at least once, in an order of its own."""
    chance = np.random.default_rng(seed)
    values = [*pool, *([None] if nulls else [])]
    drawn = [*values, *(values[i] for i in chance.integers(len(values), size=ROWS - len(values)))]
    return [drawn[i] for i in chance.permutation(ROWS)]


def hostile_table() -> pa.Table:
    """Every kind of column, with every value that is odd in it."""
    whole = sample(INTEGERS, 1)
    columns = {
        "small": pa.array(whole, pa.int64()),
        "tally": pa.array(sample([-128, -1, 0, 1, 99, 100, 127], 2), pa.int8()),
        "large": pa.array(sample([0, 1, 2**40, 2**64 - 1, 2**63], 3), pa.uint64()),
        "any": pa.array(sample(INTEGERS, 4), pa.int64()),
        "share": pa.array(sample(REALS, 5), pa.float64()),
        "signed": pa.array(sample(REALS, 6), pa.float64()),
        "wide": pa.array(sample(REALS, 7), pa.float64()),
        "tiny": pa.array(sample(REALS, 8), pa.float64()),
        "real": pa.array(sample(REALS, 9), pa.float64()),
        "single": pa.array(sample([0.1, math.nan, math.inf, 3e38], 10), pa.float32()),
        "money": pa.array(sample([decimal.Decimal("0.01"), decimal.Decimal("-99999.99")], 11), pa.decimal128(7, 2)),
        "flag": pa.array(sample([True, False], 12), pa.bool_()),
        "other": pa.array(sample([True, False], 13), pa.bool_()),
        "name": pa.array(sample(TEXTS, 14), pa.string()),
        "word": pa.array(sample(["a", "b", ""], 15), pa.string()),
        "day": pa.array(sample(DATES, 16), pa.date32()),
        "lately": pa.array(sample(DATES, 17), pa.date32()),
        "at": pa.array(sample([datetime.datetime.fromisoformat(text) for text in TIMES], 18), pa.timestamp("us")),
        "zoned": pa.array(
            sample([datetime.datetime.fromisoformat(text) for text in TIMES], 19), pa.timestamp("us", tz="Asia/Tokyo")
        ),
    }
    return pa.table(columns)


class Computed(NamedTuple):
    """What was claimed of an expression, and what the engine made of it."""

    claimed: Value
    values: pa.ChunkedArray


class Hostile:
    """The hostile table in DuckDB, and the language over it."""

    def __init__(self) -> None:
        self.backend = connection()
        self.raw = self.backend.create_table("hostile", hostile_table(), temp=True)
        self.scanned: Scan = scan(self.raw.schema(), (), BOUNDS)
        kinds = {name: DTYPES[value.kind] for name, value in self.scanned.columns.items()}
        self.visible = ibis.table(kinds, name="visible")

    def check(self, written: Any) -> Value:
        """The checked form of what an analyst wrote."""
        return checked(bind(self.visible, written), {self.visible.op(): self.scanned.columns})

    def compute(self, values: Sequence[Value]) -> list[Computed]:
        """What DuckDB computes for checked values, over all rows at once."""
        chosen = self.scanned.table.select(**{f"v{i}": value.expr for i, value in enumerate(values)})
        seen = barrier(self.raw, (), BOUNDS)
        op = chosen.op().replace({self.scanned.table.op(): seen.op()})
        table = self.backend.con.sql(str(self.backend.compile(op.to_expr()))).to_arrow_table()
        return [Computed(value, table[f"v{i}"]) for i, value in enumerate(values)]

    def assert_kept(self, *written: Any) -> list[Computed]:
        """The claims of the language about some expressions hold on every row."""
        computed = self.compute([self.check(one) for one in written])
        for one in computed:
            assert_claims_hold(one)
        return computed

    def column(self, written: Any) -> list[Any]:
        """The values of one expression."""
        values: list[Any] = self.assert_kept(written)[0].values.to_pylist()
        return values


def assert_claims_hold(computed: Computed) -> None:
    claimed, values = computed
    assert str(ibis.dtype(values.type)).removesuffix("(6)") == str(DTYPES[claimed.kind]).removesuffix("(6)"), claimed
    if not claimed.nullable:
        assert values.null_count == 0, claimed.text
    if claimed.interval is None:
        assert not claimed.kind.numeric
        return
    assert claimed.kind.numeric
    found = [Fraction(value) for value in values.to_pylist() if value is not None]  # raises for what is not finite
    outside = [float(value) for value in found if not claimed.interval.low <= value <= claimed.interval.high]
    assert not outside, (claimed.text, claimed.interval, outside[:3])


@pytest.fixture(scope="session")
def hostile() -> Hostile:
    return Hostile()


PEOPLE = pa.table(
    {
        "person": pa.array([1, 1, 1, 2, 2, 3, None, 4], pa.int64()),
        "plan": pa.array(["a", "b", "a", "a", "c", None, "a", "b"], pa.string()),
        "year": pa.array([1, 1, 2, 1, 2, 2, 1, 3], pa.int64()),
        "age": pa.array([30, 30, 31, 17, 18, None, 50, 200], pa.int64()),
        "spent": pa.array([1.5, 2.5, None, 100.0, math.nan, -3.0, 4.0, math.inf], pa.float64()),
        "size": pa.array([1, 2, 3, 4, 5, 6, 7, 8], pa.int64()),
        "ok": pa.array([True, False, None, True, True, False, True, None], pa.bool_()),
        "day": pa.array([datetime.date(2020, 1, i) for i in range(1, 9)], pa.date32()),
    }
)

Protect = Callable[..., PrivateTable]


class Unreadable(DuckDB):
    """An engine that fails the test when rows are asked for."""

    def totals(self, plan: Any, statement: str | None = None) -> Any:
        del plan, statement
        pytest.fail("rows were read")


@pytest.fixture
def protect_people() -> Protect:
    """Protects the small table; whatever is stated replaces the usual."""

    def made(**stated: Any) -> PrivateTable:
        usual = {
            "unit": "person",
            "bounds": {"age": (0, 110), "spent": (0, 10)},
            "keys": {"plan": ["a", "b"]},
            "max_groups": 2,
            "max_rows": 2,
            "name": "people",
        }
        known = {**usual, "budget": Budget(epsilon=1000), **stated}
        return protect(PEOPLE, **{name: value for name, value in known.items() if value is not None})

    return made


@pytest.fixture
def unreadable(protect_people: Protect) -> Protect:
    """Protects the small table so that reading a row fails the test."""

    def made(**stated: Any) -> PrivateTable:
        table = protect_people(**stated)
        source = table._source
        assert isinstance(source, Protected)
        source._engine.__class__ = Unreadable
        return table

    return made


@pytest.fixture
def by_row(protect_people: Protect) -> Protect:
    """Protects the small table where each row is a unit."""

    def made(**stated: Any) -> PrivateTable:
        return protect_people(**{"unit": ROW, "max_groups": None, "max_rows": None, **stated})

    return made


Refused = Callable[..., str]


@pytest.fixture
def refused() -> Refused:
    """The message with which a call is refused: expected, got, and a cure."""

    def message(error: type[DiscreetError], call: Callable[..., object], *arguments: Any, **named: Any) -> str:
        with pytest.raises(error) as caught:
            call(*arguments, **named)
        text = str(caught.value)
        assert caught.type in (error, UnknownColumn)
        assert re.fullmatch(r"Expected .+, got .+\.\nHint: .+\.?", text, re.DOTALL), text
        return text

    return message


Exact = Callable[..., dict[str, list[Any]]]


@pytest.fixture
def exact() -> Exact:
    """Keys and values of a question as if no noise were added."""

    def found(question: Question) -> dict[str, list[Any]]:
        plan = price(question._query, epsilon=1)
        source = question._source
        assert isinstance(source, Protected)
        values = estimates(plan, source._engine.totals(plan), 0.95)
        keys = {} if plan.query.keys is None else plan.query.keys.to_arrow().to_pydict()
        return {**keys, **{name: [round(float(v), 6) for v in one.values] for name, one in values.items()}}

    return found
