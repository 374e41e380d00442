"""Features of the rows under a key, whoever they belong to: one row for each key, and how many of them a unit changes.

Claim
    If a unit counts under at most K keys, adding or removing it changes at most 2 K rows of `per_key(...)`: those that
    go and those that come. Each row's values lie in the intervals that it states, and no row makes it raise.
Requires
    Checked expressions with their intervals; add-remove neighbors.
Relies on
    `query.unit_features`, whose aggregates depend neither on the order of rows nor on how many there are;
    `planning.contribution_bounding.keep`; the equality of exact keys. Whoever asks about the result pays for that many
    rows, each of which may count once: `Declaration.rows_changed`.
Proof
    Where units are columns, each keeps its rows under at most K keys, chosen by a hash of its own rows alone; where
    rows are units, one has `rows_changed` rows, each under one key: K of them. A row of the result is a function of the
    kept rows under its key. Under a key that the unit has no row under, these are the same with it and without it, and
    so is the row. Under each of the K others the old row goes, if there was one, and a new one comes, if a row is left:
    2 K rows at most. As after a join of different units, each of them adds at most `steps` in L1 norm to a block of
    linear totals, whichever way it goes, and what asks more of a unit than that is refused.
Rounding
    As `query.unit_features`.
Source
    GroupBy of McSherry, "Privacy integrated queries" (2009), section 3, which has stability 2.
Mutant
    old-record-forgotten: a record that changes counts once; killed by
    test_a_unit_changes_two_records_for_each_of_its_keys.
    keys-of-a-unit-unlimited: a unit counts under all of its keys; killed by
    test_a_unit_changes_two_records_for_each_of_its_keys.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import ibis.expr.types as ir

from discreet.errors import InvalidParameter, InvalidQuery, expected
from discreet.language.checked_expressions import Kind
from discreet.planning.contribution_bounding import keep, units
from discreet.planning.contribution_limits import check_moved, checked_limit
from discreet.privacy.definitions import Neighbors
from discreet.query.query_steps import flattened
from discreet.query.unit_features import UnitFeatures, feature

OTHER = "__discreet_key_"
"""Prefix of the columns of the keys that a unit keeps."""


class KeyFeatures(UnitFeatures):
    """The verb that makes one row of all rows under a key."""

    def per_key(self, /, *keys: Any, max_keys: int | None = None, **aggregates: Any) -> Self:
        """One row for each key of some columns: the key, and aggregates of all rows under it, whoever they belong to.

        The aggregates are those of `per_unit`, and are computed before anything private is made of them: how often a
        query was asked, how many persons asked it. A unit changes the rows of all keys that it has rows under, so
        `max_keys` says how many of these count (by default the declared `max_groups`); which, a hash decides. Where
        each row is a unit, it has one. For every key the old row goes and a new one comes: the noise is that of
        2 max_keys rows. As after a join on other keys, counts, sums, means and variances by public keys can be asked of
        the result. Needs add-remove neighbors.

        >>> from discreet.testing import people
        >>> ages = people().per_key("age", max_keys=5, persons=lambda t: t.person.nunique())
        >>> ages.agg(shared=lambda t: t.count(where=t.persons > 1))
        <question about 'people': shared>
        """
        check_moved(self._source.declaration, "table")
        chosen = [self._name(written) for written in flattened(keys)]
        self._check_keys(chosen, aggregates)
        most = self._most_keys(max_keys)
        features = {}
        bound: dict[str, Any] = {}
        for name, written in aggregates.items():
            self._check_new(name, [*chosen, *aggregates])
            bound[name] = self._bound(written)
            features[name] = feature(bound[name], self._tables())
        columns = {f"f{i}": one.of.expr for i, one in enumerate(features.values())}
        rows = self._kept_keys(chosen, most).select(*chosen, **columns)
        made = {name: one.made(rows[f"f{i}"]) for i, (name, one) in enumerate(features.items())}
        relation = rows.aggregate([value.name(name) for name, value in made.items()], by=chosen)
        known = {
            **{name: self._columns[name] for name in chosen},
            **{name: one.value for name, one in features.items()},
        }
        table = self._with(relation.select(*known), known, chosen, conditions=1)
        table = replace(table, _source=self._source.rowwise(2 * most), _most_rows=None)
        return table._recorded(self, "per_key", keys=chosen, max_keys=max_keys, aggregates=bound)

    def _check_keys(self, keys: list[str], aggregates: dict[str, Any]) -> None:
        """Refuses keys that are none, or not compared exactly, and units, which have a verb of their own."""
        declared = self._source.declaration
        if declared.neighbors is not Neighbors.ADD_REMOVE:
            cure = "use .per_unit, or group before the table is protected."
            raise InvalidQuery(expected("add-remove neighbors", "neighbors", declared.neighbors.value, cure))
        if not keys or len(set(keys)) < len(keys):
            cure = "write .per_key('zip', n=_.count()); for one row of each unit, .per_unit(n=_.count())."
            raise InvalidQuery(expected("distinct columns as keys", "keys", keys, cure))
        if set(keys) & set(declared.unit):
            cure = "write .per_unit(n=_.count()), whose rows belong to one unit each."
            raise InvalidQuery(expected("keys other than the privacy unit", "keys", keys, cure))
        if reals := [name for name in keys if self._columns[name].kind is Kind.REAL]:
            cure = "cast or round it; real numbers are not compared exactly."
            raise InvalidQuery(expected("keys of an exact kind", "keys", reals, cure))
        if not aggregates:
            raise InvalidQuery(expected("features", "aggregates", {}, "write .per_key('zip', n=_.count())."))
        if taken := [name for name in aggregates if name in keys]:
            raise InvalidQuery(expected("names that no key has", "aggregates", taken, "give the feature another name."))

    def _most_keys(self, stated: object) -> int:
        """Under how many keys a unit counts."""
        declared = self._source.declaration
        if not declared.unit:
            if stated is not None:
                cure = "leave it out: a row has one key."
                raise InvalidParameter(expected("no max_keys where each row is a unit", "max_keys", stated, cure))
            return declared.rows_changed
        if stated is None and (declared.max_groups is None or "max_groups" in declared.auto_limits):
            raise InvalidQuery(
                "Expected max_keys, got none.\n"
                f"Hint: say under how many keys one {', '.join(declared.unit)} counts, max_keys=5. It is enforced, not "
                "assumed, and the noise is that of twice as many rows."
            )
        most = declared.max_groups if stated is None else checked_limit("max_keys", stated)
        known = [one for one in (most, self._most_rows) if one is not None]
        return min(known)

    def _kept_keys(self, keys: list[str], most: int) -> ir.Table:
        """The rows that a unit has under at most so many keys."""
        relation, hidden = self._relation, units(self._relation)
        if not hidden or (self._most_rows or most + 1) <= most:
            return relation
        pairs = relation.select(*hidden, *keys).distinct()
        kept = keep(pairs, unit=hidden, key=keys, limit=most).select(*hidden, *keys)
        kept = kept.rename({f"{OTHER}{name}": name for name in kept.columns})
        same = [relation[name] == kept[f"{OTHER}{name}"] for name in hidden]
        same += [relation[name].identical_to(kept[f"{OTHER}{name}"]) for name in keys]
        return relation.semi_join(kept, same)
