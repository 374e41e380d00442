"""Joins with public tables on any key, and with protected ones on the unit. Other keys: `query.join_truncation`.

Claim
    Each row of the result belongs to the unit of its row in the first table, and the rows of a unit are a function of
    that unit's own rows in both tables and of public rows. Where each row is a unit, a row has at most one successor.
Requires
    For two protected tables: the same unit, neighbors and budget.
Relies on
    `Source.beside`, which refuses all others; the count of duplicates in the public table.
Proof
    A row of the first table meets public rows, which are the same for all neighbors: what comes of it is a function of
    it alone. It meets protected rows only where all hidden columns of the unit are equal, so these are rows of the same
    unit; whether it meets any (left, semi, anti) is a function of the same rows. Adding or removing one unit, in both
    tables at once, therefore changes its rows in the result and no others. A unit's rows may be multiplied, and limits
    are enforced after the join. Rows that are units are not bounded later, so there a public row may have no duplicate,
    and a protected table is joined as one of other units is.
Rounding
    None here.
Source
    McSherry, "Privacy integrated queries" (2009), section 3, on why unrestricted joins are not private.
Mutant
    strangers-meet: a protected table is joined without the unit; killed by test_strangers_do_not_meet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Self

import ibis.expr.types as ir

from discreet.errors import InvalidQuery, expected
from discreet.language.checked_expressions import Kind, Value
from discreet.language.column_names import check_name
from discreet.language.unsupported_columns import no_column
from discreet.planning.contribution_bounding import units
from discreet.privacy.declaration import Key
from discreet.privacy.definitions import Neighbors
from discreet.query.join_truncation import rows_changed, sides, truncated
from discreet.query.public_table import PublicTable
from discreet.query.query_steps import Chain
from discreet.query.set_operations import paired, written_size

HOW = ("inner", "left", "semi", "anti")
OTHER = "__discreet_other_"
"""Prefix of the second table's columns inside of a join."""


class Joins(Chain):
    """The verb that joins."""

    def join(self, other: Any, on: Any = None, *, how: str = "inner", max_matches: object = None) -> Self:
        """This table joined to a public one on some columns, or to a protected one on the unit (and more columns).

        Args:
            other: ``dp.public(table)``, or a protected table with the same unit and the same budget.
            on: columns that both have. With a protected table the unit, which is always one of them, may be left out.
            how: ``"inner"``, ``"left"`` (NULL where nothing matches), ``"semi"`` (rows that match something) or
                ``"anti"`` (rows that match nothing).
            max_matches: how many public rows one row may match (1 by default); a public table with more duplicates is
                refused. With protected tables that are joined on the unit, rows are bounded after the join, by the
                limits of this table. On other columns, it is how many rows of each table are kept for each key, or two
                such numbers, for this table and the other; ``"unique"`` in place of a number keeps no row of a key that
                has several, for half the noise of 1. See docs/verbs.md for what such a table can be asked.

        NULL matches nothing. Columns of both tables that are not in `on` need different names.

        >>> import discreet as dp
        >>> import pyarrow as pa
        >>> from discreet.testing import people
        >>> plans = dp.public(pa.table({"plan": ["free", "25%", "50%"], "share": [0, 25, 50]}))
        >>> people().join(plans, "plan").agg(paid=lambda t: (t.visits * t.share).sum())
        <question about 'people': paid>
        """
        if not isinstance(how, str) or how not in HOW:
            raise InvalidQuery(expected(f"one of {', '.join(HOW)}", "how", how, "write how='left'."))
        if isinstance(other, PublicTable):
            names, matches = _listed(on), 1 if max_matches is None else max_matches
            made = self._join_public(other, names, how, matches)
            return made._recorded(self, "join", other=other, on=names, how=how, max_matches=matches)
        if isinstance(other, Chain):
            names, unit = () if on is None else _listed(on), self._source.declaration.unit
            if max_matches is not None and names and not (unit and set(unit) <= set(names)):
                made = self._join_across_units(other, names, how, max_matches)
                return made._recorded(self, "join", other=other, on=names, how=how, max_matches=max_matches)
            made, more = self._join_on_unit(other, names, how), [name for name in names if name not in unit]
            return made._recorded(self, "join", other=other, on=(*unit, *more), how=how)
        cure = "mark a public table, dp.public(table); protect any other under the same budget."
        raise InvalidQuery(expected("a protected or a public table", "other", other, cure))

    def _join_public(self, other: PublicTable, on: tuple[str, ...], how: str, max_matches: object) -> Self:
        if isinstance(max_matches, bool) or not isinstance(max_matches, int) or max_matches < 1:
            raise InvalidQuery(expected("a whole number of 1 or more", "max_matches", max_matches, "leave it out."))
        if not on:
            raise InvalidQuery(expected("columns to join on", "on", on, "write .join(dp.public(table), 'zip')."))
        self._matching(on, other.kinds, other.closed)
        most = other.most(on) if how in ("inner", "left") else 1
        if most > max_matches:
            cure = "leave duplicates out of it, or state how many rows one row may match: max_matches=..."
            raise InvalidQuery(expected(f"a public table with {max_matches} row(s) for each key", "most", most, cure))
        if most > 1 and not self._source.declaration.unit:
            cure = "each row is a unit and may count once: leave duplicates out of the public table."
            raise InvalidQuery(expected("a public table without duplicates", "most", most, cure))
        beside = self._source.beside(other)
        right = other.table(beside.places[0])
        values = {name: other.value(name, right[name]) for name in other.kinds if name not in on}
        rows = None if self._most_rows is None else self._most_rows * max(1, most)
        made = self._joined(right, [(name, name) for name in on], values, how, {})
        return replace(made, _source=beside.source, _most_rows=rows, _closed={**other.closed, **self._closed})

    def _join_on_unit(self, other: Chain, on: tuple[str, ...], how: str) -> Self:
        unit = self._unit_of_columns(
            "rows of different units would meet: name columns to join on, and say with max_matches=... how many rows "
            "of each table are kept for each key; or join before the tables are protected."
        )
        if on and not set(unit) <= set(on):
            cure = (
                f"add the unit, on={[*unit, *on]}: on other columns the rows of one {', '.join(unit)} would meet those "
                "of any other. That needs max_matches=..., how many rows of each table are kept for each key. A public "
                "table, dp.public(...), can be joined on any column."
            )
            raise InvalidQuery(expected("a join on the privacy unit", "on", list(on), cure))
        pair = paired(self, other, "join")
        more = tuple(name for name in on if name not in unit)
        self._matching(more, {name: value.kind for name, value in other._columns.items()}, other._closed)
        hidden = units(pair.left)
        values = {name: value for name, value in other._columns.items() if name not in (*more, *unit)}
        both = (self._most_rows, other._most_rows)
        rows = self._most_rows
        if how in ("inner", "left"):
            rows = None if both[0] is None or both[1] is None else both[0] * both[1]
        keys = {name: known for name, known in other._keys.items() if name in values}
        made = self._beside(other, pair.left)._joined(
            pair.right, [(name, name) for name in (*hidden, *more)], values, how, keys
        )
        closed = {**other._closed, **self._closed}
        return replace(made, _source=pair.beside.source, _most_rows=rows, _closed=closed)

    def _join_across_units(self, other: Chain, on: tuple[str, ...], how: str, matches: object) -> Self:
        """The inner join on columns by which rows of different units meet; see `query.join_truncation`."""
        declared = self._source.declaration
        if how != "inner" or declared.neighbors is not Neighbors.ADD_REMOVE:
            got = f"{how}, {declared.neighbors.value}"
            cure = "join on the unit, or before the tables are protected."
            what = "an inner join and add-remove neighbors"
            raise InvalidQuery(expected(what, "a join of different units", got, cure))
        mine, others = sides(self, other, matches)
        pair = paired(self, other, "join")
        self._matching(on, {name: value.kind for name, value in other._columns.items()}, other._closed)
        values = {name: value for name, value in other._columns.items() if name not in (*on, *declared.unit)}
        keys = {name: known for name, known in other._keys.items() if name in values}
        first = self._beside(other, truncated(pair.left, on, mine))
        made = first._joined(truncated(pair.right, on, others), [(name, name) for name in on], values, "inner", keys)
        shown = {name: value for name, value in made._columns.items() if name not in declared.unit}
        known = {name: rows for name, rows in made._keys.items() if name in shown}
        table = made._with(made._relation.select(*shown), shown, shown, conditions=1, keys=known)
        source = pair.beside.source.rowwise(rows_changed(mine, others))
        return replace(table, _source=source, _most_rows=None, _closed={**other._closed, **self._closed})

    def _beside(self, other: Chain, relation: ir.Table) -> Self:
        """This table, with the steps of another one as well, which it is joined to."""
        conditions = (*self._conditions, *other._conditions)
        return replace(self, _relation=relation, _steps=self._steps + other._steps, _conditions=conditions)

    def _matching(self, on: Iterable[str], kinds: Mapping[str, Kind], closed: Mapping[str, str]) -> None:
        """Refuses keys that one of the tables lacks, or that are not compared exactly."""
        for name in on:
            for known in (self._columns, kinds):
                if name not in known:
                    both = {**self._closed, **closed}
                    raise InvalidQuery(no_column(name, known, both, what="columns of both tables", label="on"))
            mine, other = self._columns[name].kind, kinds[name]
            if mine is not other or mine is Kind.REAL:
                cure = "cast one of them; real numbers are not compared exactly."
                what = f"{mine.value} and {other.value}"
                raise InvalidQuery(expected(f"keys {name!r} of one exact kind", "kinds", what, cure))

    def _joined(
        self,
        right: ir.Table,
        on: list[tuple[str, str]],
        values: Mapping[str, Value],
        how: str,
        keys: Mapping[str, tuple[Key, ...]],
    ) -> Self:
        left = self._relation
        # The same table may be joined twice, and Ibis would not tell the two apart if they were called alike.
        theirs = {name: f"{OTHER}{self._steps}_{name}" for name in right.columns}
        other = right.rename({new: name for name, new in theirs.items()})
        predicates = [left[mine] == other[theirs[name]] for mine, name in on]
        if how in ("semi", "anti"):
            relation = left.semi_join(other, predicates) if how == "semi" else left.anti_join(other, predicates)
            return self._with(relation, self._columns, self._columns, conditions=1, keys=self._keys)
        unit = self._source.declaration.unit
        for name in values:
            if name in self._columns or name in unit:
                cure = f"rename or drop it in one of them, as in .rename({name}_2={name!r})."
                raise InvalidQuery(expected("columns of different names beside the keys", "column", name, cure))
            check_name(name, [*self._columns, *values, *unit])
        joined = left.inner_join(other, predicates) if how == "inner" else left.left_join(other, predicates)
        own = [*self._columns, *units(left)]
        relation = joined.select(*(joined[n] for n in own), *(joined[theirs[n]].name(n) for n in values))
        made = {n: replace(v, nullable=v.nullable or how == "left", measure=written_size(v)) for n, v in values.items()}
        mine = {n: replace(v, measure=written_size(v)) for n, v in self._columns.items()}
        return self._with(relation, {**mine, **made}, self._columns, conditions=1, keys={**self._keys, **keys})


def _listed(on: Any) -> tuple[str, ...]:
    names = (on,) if isinstance(on, str) else tuple(on) if isinstance(on, list | tuple) else ()
    if on is not None and (not names or not all(isinstance(n, str) for n in names) or len(set(names)) < len(names)):
        raise InvalidQuery(expected("names of columns to join on", "on", on, "write .join(other, 'zip')."))
    return names
