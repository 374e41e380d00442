"""Post-processing of an answer: steps that are checked against its public shape.

Claim
    Every step is computed from the columns of the answer alone.
Requires
    Expressions by Ibis' own classes: code of the caller's that runs in the curator's process is not held by anything.
Relies on
    Ibis, whose operations of values read rows through the relations below them alone; `answers.run_post_processing`,
    whose engine opens no file and reaches no network.
Proof
    Each expression is walked to its leaves: every relation in it, of a column or of a sub-query, is the answer's, and
    every operation is one of Ibis' own, none a function that the engine has under a name of the caller's. What is
    computed from the noisy answer alone is post-processing. Steps are checked when they are written, also on a question
    that is not released yet, so that a mistake costs nothing.
Rounding
    None here.
Source
    Post-processing: Dwork and Roth (2014), proposition 2.1.
Mutant
    sub-queries-of-anything: a relation without columns in the expression is not looked for; killed by
    test_calculations_after_the_noise_look_at_no_other_table.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.types as ir

from discreet.errors import InvalidQuery, expected, nearest_name
from discreet.exact.cached_property import cached_property
from discreet.exact.given_values import flag
from discreet.inference.interval_propagation import HIGH, LOW, has_interval
from discreet.language.allow_list import bind, limited, measured
from discreet.language.arithmetic import name_of
from discreet.language.checked_expressions import DTYPES, Kind
from discreet.language.column_names import check_apart, check_name
from discreet.planning.plan import Query

_numbers = itertools.count(1)


@dataclass(frozen=True, eq=False)
class Step:
    """One checked step, over the table that the steps before it leave."""

    verb: str
    shape: ir.Table
    written: Mapping[str, ir.Value]
    """What it computes: conditions, sort keys or new columns."""
    left: tuple[str, ...] = ()
    """The columns after it, with their ends."""
    carried: Mapping[str, ops.Node] = field(default_factory=dict)
    """The new columns that have an interval, as calculations over the answer."""
    count: int = 0
    offset: int = 0

    @property
    def text(self) -> str:
        """The step for people."""
        if self.verb == "limit":
            return f"limit {self.count}" + (f" from {self.offset}" if self.offset else "")
        named = self.verb == "mutate"
        parts = [f"{name}={_text(v.op())}" if named else _text(v.op()) for name, v in self.written.items()]
        return f"{self.verb} {', '.join(parts or [name for name in self.left if not name.endswith((LOW, HIGH))])}"


@dataclass(frozen=True, eq=False)
class Processing:
    """The steps after an answer, and the shape that they leave."""

    shape: ir.Table
    keys: tuple[str, ...]
    """Columns that are known exactly."""
    values: Mapping[str, ops.Node]
    """The other columns, as calculations over those of the answer."""
    ended: frozenset[str]
    """Those of them that have an interval."""
    steps: tuple[Step, ...] = ()

    @classmethod
    def of(cls, schema: Mapping[str, Any], keys: Iterable[str], values: Iterable[str]) -> Processing:
        """No step yet; `values` names the columns that have ends beside them."""
        shape = _shape(schema)
        own = {name: shape[name].op() for name in values}
        return cls(shape, tuple(keys), own, frozenset(own))

    @cached_property
    def _own(self) -> dict[ops.Node, ops.Node]:
        """The columns as calculations over those of the answer."""
        return {self.shape[name].op(): op for name, op in self.values.items()}

    def _bound(self, written: Any) -> ir.Value:
        bound = bind(self.shape, written)
        limited(measured(bound.op(), {}))
        # Ibis makes a sub-query of whatever else there is, which the engine would run: of a table, a file or a function
        # of the caller's naming.
        if any(isinstance(op, ops.Relation) and op != self.shape.op() for op in bound.op().find(ops.Node)):
            cure = "write _.column, which means the answer's column."
            raise InvalidQuery(expected("columns of the answer", "expression", name_of(bound.op()), cure))
        if foreign := [op for op in bound.op().find(ops.Node) if getattr(ops, type(op).__name__, None) is not type(op)]:
            cure = "take the answer with .to_pyarrow() or .to_pandas(), and calculate there."
            raise InvalidQuery(expected("operations that Ibis has", "operation", name_of(foreign[0]), cure))
        check_sizes(bound.op().replace(self._own))
        if drawn := bound.op().find(ops.Impure):
            cure = "take the answer with .to_pandas(), and add them there."
            raise InvalidQuery(
                expected("a calculation that is the same each time", "operation", name_of(drawn[0]), cure)
            )
        return bound

    def filtered(self, conditions: tuple[Any, ...]) -> Processing:
        """The rows of the answer for which every condition is true."""
        bound = [self._bound(written) for written in conditions]
        if not bound or not all(isinstance(value, ir.BooleanValue) for value in bound):
            got = [name_of(value.op()) for value in bound]
            raise InvalidQuery(expected("conditions on the answer", "conditions", got, "write .having(_.n > 100)."))
        return self._then("having", {f"c{i}": value for i, value in enumerate(bound)})

    def ordered(self, by: tuple[Any, ...], *, desc: bool) -> Processing:
        """The rows in another order; equal ones stay in the order that they were in."""
        if not by:
            raise InvalidQuery(expected("what to order by", "columns", [], "write .order_by('n', desc=True)."))
        bound = [self._bound(written) for written in by]
        for op in (value.op() for value in bound):
            if isinstance(op, ops.Reduction) or not op.find(ops.Field):
                cure = "order by a column, or by a calculation with one: what is one for all rows orders nothing."
                raise InvalidQuery(expected("columns to order by", "column", name_of(op), cure))
        turned = ibis.desc if desc else ibis.asc
        keys = [value if isinstance(value.op(), ops.SortKey) else turned(value) for value in bound]
        return self._then("order_by", {f"k{i}": value for i, value in enumerate(keys)})

    def limited(self, count: object, offset: object) -> Processing:
        """The first rows."""
        for name, number in (("n", count), ("offset", offset)):
            if isinstance(number, bool) or not isinstance(number, int) or number < 0:
                raise InvalidQuery(expected("a whole number of 0 or more", name, number, "write .limit(10)."))
        return self._then("limit", {}, count=count, offset=offset)

    def mutated(self, expressions: Mapping[str, Any]) -> Processing:
        """New columns, with intervals where the calculation carries them."""
        if not expressions:
            raise InvalidQuery(expected("new columns", "expressions", {}, "write .mutate(share=_.a / _.b)."))
        ends = {f"{name}{end}" for name in self.ended for end in (LOW, HIGH)}
        made = {name: self._bound(written) for name, written in expressions.items()}
        for name, value in made.items():
            check_type(name, value.type())
            check_name(name, [*self.keys, *self.values, *made])
            if name in (*self.keys, *ends) or {f"{name}{LOW}", f"{name}{HIGH}"} & {*self.values, *self.keys, *made}:
                cure = "the keys and the ends of intervals keep their names."
                raise InvalidQuery(expected("another name", "column", name, cure))
        over = {name: value.op().replace(self._own) for name, value in made.items()}
        for op in over.values():
            limited(measured(op, {}))
        carried = {name: over[name] for name, value in made.items() if has_interval(value.op(), self.ended)}
        ended = (self.ended - made.keys()) | carried.keys()
        types = {n: t for n, t in self.shape.schema().items() if n.removesuffix(LOW).removesuffix(HIGH) not in made}
        types |= {n: DTYPES[Kind.TIMESTAMP] if v.type().is_timestamp() else v.type() for n, v in made.items()}
        types |= {f"{name}{end}": "float64" for name in carried for end in (LOW, HIGH)}
        return self._then("mutate", made, types, values={**self.values, **over}, ended=ended, carried=carried)

    def selected(self, names: tuple[Any, ...]) -> Processing:
        """Some of the columns, in this order, with their ends."""
        known = (*self.keys, *self.values)
        names = tuple(str.__str__(name) if isinstance(name, str) else name for name in names)
        for name in names:
            if not isinstance(name, str) or name not in known:
                raise InvalidQuery(expected("a column of the answer", "column", name, nearest_name(name, known)))
        if not names or len(set(names)) < len(names):
            raise InvalidQuery(expected("distinct columns", "names", list(names), "name each column once."))
        values = {name: self.values[name] for name in names if name in self.values}
        keys = tuple(name for name in names if name in self.keys)
        ended = self.ended & values.keys()
        left = [f"{name}{end}" for name in names for end in ("", *((LOW, HIGH) if name in ended else ()))]
        types = {name: self.shape[name].type() for name in left}
        return self._then("select", {}, types, values=values, keys=keys, ended=ended)

    def _then(
        self, verb: str, written: Mapping[str, ir.Value], types: Mapping[str, Any] | None = None, **more: Any
    ) -> Processing:
        """One more step; `more` has what it says of itself, and what is known of the columns after it."""
        if len(self.steps) >= MOST_STEPS_AFTER:
            cure = "make several columns by one .mutate(), or take the answer with .to_pyarrow(), and calculate there."
            raise InvalidQuery(expected(f"at most {MOST_STEPS_AFTER} steps after the noise", "step", verb, cure))
        own = {name: more.pop(name) for name in ("carried", "count", "offset") if name in more}
        after = self.shape if types is None else _shape(types)
        for shape in (self.shape, after):  # the ends of intervals, and the columns of a server that tells case
            check_apart(shape.columns)
        step = Step(verb, self.shape, written, left=after.columns, **own)
        return replace(self, shape=after, steps=(*self.steps, step), **more)


MOST_STEPS_AFTER = 50
"""Steps after the noise: they are one statement, each inside the next one."""
LONGEST_PAD = 1000
"""Characters that a text is padded to; of a few million groups, that fits in memory."""
LENGTH = f"a length of at most {LONGEST_PAD:,}"
MOST_GROWN = 2 * LONGEST_PAD
GROWING = (ops.Repeat, ops.StringReplace, ops.RegexReplace, ops.StringConcat, ops.ArrayStringJoin)
"""By which a text can become longer than what it is made of."""


HELD = (dt.Numeric, dt.Boolean, dt.String, dt.Date, dt.Timestamp, dt.Null)
"""What the columns of an answer may be: every format has numbers, truth values, texts, dates and timestamps."""


def check_type(name: str, kind: dt.DataType) -> None:
    """Refuses a column that some format of an answer has no form for: it would fail there after the charge."""
    if isinstance(kind, HELD):
        return
    shown, cure = str(kind), "take a number, a truth value, a text, a date or a timestamp of it, as in .cast('string')."
    if kind.is_interval():
        shown = "a span of time"
        cure = "write a number, as in (_.last.epoch_seconds() - _.first.epoch_seconds()) / 86_400."
    raise InvalidQuery(expected("a value that files and frames hold", name, shown, cure))


ENDLESS = float("inf")
STATED: dict[type[ops.Node], tuple[str, str, float, float, str]] = {
    ops.NTile: ("buckets", "a number of parts, 1 or more", 1, ENDLESS, "write ibis.ntile(4)."),
    ops.LPad: ("length", LENGTH, -ENDLESS, LONGEST_PAD, "write .lpad(5, '0')."),
    ops.RPad: ("length", LENGTH, -ENDLESS, LONGEST_PAD, "write .rpad(5, '0')."),
    ops.Repeat: ("times", LENGTH, -ENDLESS, LONGEST_PAD, "write .repeat(3)."),
    ops.WindowBoundary: ("value", "an end of a window, 0 or more", 0, ENDLESS, "write preceding=3, or following=3."),
    ops.TimestampBucket: ("interval", "a span of time above 0", 1, ENDLESS, "write .bucket(hours=1)."),
}
"""Of operations the argument that has to be a constant, what it has to be, and the least and the largest one."""


def check_sizes(op: ops.Node) -> None:
    """Refuses numbers at which a step would fail for any answer, or for some, or take memory that no answer takes."""
    for part in op.find(tuple(STATED)):
        name, what, least, most, cure = STATED[type(part)]
        stated = getattr(part, name)
        held = stated.arg if isinstance(stated, ops.Cast) else stated  # a number beside an interval is made one
        number = held.value if isinstance(held, ops.Literal) else None
        if not isinstance(number, int | float) or not least <= number <= most:
            raise InvalidQuery(expected(what, name, name_of(stated), cure))
    growing = op.find(GROWING)
    found = op.map(_grown) if growing else {}
    if any(found[one] > MOST_GROWN for one in growing):
        cure = "replace by shorter texts, or repeat them less often."
        raise InvalidQuery(
            expected(f"texts that become {MOST_GROWN:,} times as long at most", "text", name_of(op), cure)
        )


def _grown(op: ops.Node, _: object, **parts: Any) -> float:
    """How many times as long as a text of the answer one is that is made of such; of constants, how long."""
    held = [one for part in parts.values() for one in (part if isinstance(part, tuple) else (part,))]
    inner = [one for one in held if isinstance(one, float)]
    if isinstance(op, ops.Literal):
        return float(len(op.value)) if isinstance(op.value, str) else 1.0
    if isinstance(op, ops.Repeat):
        return float(inner[0] * max(op.times.value, 1))
    if isinstance(op, ops.StringReplace | ops.RegexReplace):
        known = isinstance(op.replacement, ops.Literal)
        return float(inner[0] * max(parts["replacement"] if known else LONGEST_PAD, 1.0))
    if isinstance(op, ops.LPad | ops.RPad):
        return float(max(inner[0], op.length.value))
    return sum(inner) if isinstance(op, ops.StringConcat | ops.ArrayStringJoin) else max(inner, default=1.0)


def _shape(schema: Mapping[str, Any]) -> ir.Table:
    return ibis.table(dict(schema), name=f"answer_{next(_numbers)}")


def _text(op: ops.Node) -> str:
    if isinstance(op, ops.SortKey):
        return _text(op.arg) + (" desc" if op.descending else "")
    return name_of(op)


def expectation(query: Query, *, reconciled: bool = False) -> Processing:
    """The shape of the answer that a question will get, before it is released; where it is reconciled with others,
    counts are not whole.
    """
    keys = {} if query.keys is None else {n: DTYPES[k] for n, k in zip(query.keys.names, query.keys.kinds, strict=True)}
    kinds = {a.name: DTYPES[Kind.REAL if reconciled else a.released_kind] for a in query.aggregates}
    ends = {f"{name}{end}": kind for name, kind in kinds.items() for end in ("", LOW, HIGH)}
    return Processing.of({**keys, **ends}, keys, kinds)


class AfterNoise(ABC):
    """The verbs that an answer has, and that a question hands on to its answer. They cost nothing."""

    @abstractmethod
    def _steps(self) -> Processing:
        """The steps so far."""

    @abstractmethod
    def _handed(self, processing: Processing, verb: str, /, *arguments: Any, **named: Any) -> Self:
        """The same with one more step."""

    def having(self, *conditions: Any) -> Self:
        """The rows of the answer for which every condition on its noisy values is true; keeps the receipt.

        Intervals of rows that were picked for their values hold less often than stated, each for itself;
        ``.intervals(simultaneous=True)`` holds for all rows at once, picked or not.

        >>> from discreet.testing import people
        >>> people().group_by("plan").agg(n=lambda t: t.count()).having(lambda t: t.n > 100)
        <question about 'people': n by plan; having n > 100>
        """
        return self._handed(self._steps().filtered(conditions), "having", *conditions)

    filter = having

    def order_by(self, *columns: Any, desc: bool = False) -> Self:
        """The rows of the answer in the order of its noisy values, or of keys; ``ibis.desc("n")`` turns one around.

        >>> from discreet.testing import people
        >>> people().group_by("plan").agg(n=lambda t: t.count()).order_by("n", desc=True).limit(2)
        <question about 'people': n by plan; order_by n desc, limit 2>
        """
        flag("desc", desc)
        return self._handed(self._steps().ordered(columns, desc=desc), "order_by", *columns, desc=desc)

    def limit(self, n: int, *, offset: int = 0) -> Self:
        """The first n rows of the answer, after `offset` others.

        >>> from discreet.testing import people
        >>> len(people().group_by("plan").agg(n=lambda t: t.count()).limit(2).release(epsilon=1))
        2
        """
        return self._handed(self._steps().limited(n, offset), "limit", n, offset=offset)

    def mutate(self, /, **expressions: Any) -> Self:
        """New columns, calculated from the noisy ones by anything that Ibis knows.

        Sums, differences, products, quotients and the like carry intervals on (the exact ones, where the calculation is
        linear in counts and sums); a column by other operations has none.

        >>> from discreet.testing import people
        >>> question = people().agg(a=lambda t: t.visits.sum(), n=lambda t: t.age.count())
        >>> question.mutate(each=lambda t: t.a / t.n).release(epsilon=1).to_pyarrow().column_names[-3:]
        ['each', 'each_low', 'each_high']
        """
        return self._handed(self._steps().mutated(expressions), "mutate", **expressions)

    def select(self, *names: str) -> Self:
        """Some of the columns of the answer, in this order, with their intervals.

        >>> from discreet.testing import people
        >>> people().group_by("plan").agg(n=lambda t: t.count(), m=lambda t: t.age.mean()).select("plan", "m")
        <question about 'people': n, m by plan; select plan, m>
        """
        return self._handed(self._steps().selected(names), "select", *names)
