"""Declared sources: tables of one name are versions of one table, about the same units, with one entry in the ledger.

Claim
    All charges that a ledger holds for the tables of one name are about one unit and one relation of neighbors, and for
    one version about one public size. So their sum is the loss for neighbors that differ, in every version of every
    source, by the rows of at most one unit, the same one: nothing is given back when a source grows.
Requires
    `DeclaredSources.with_` is asked under the lock under which the charge is written, and what it returns is kept with
    it.
Relies on
    `ledger`: charges add up and stay. Adaptive sequential composition.
Proof
    Let D_1, ..., D_k be the versions: any tables, whatever rows they share. Neighbors D, D' have, for one unit, D_i
    equal to D'_i or its neighbor for every i. A release of version i is private at its charge for neighbors of D_i, so
    it is for these, and the charges of all versions add up. A unit whose rows are in one version only has at most that
    loss, too. Were the unit of version 2 another column, or found by other columns, "the rows of one unit" would mean
    nothing over both; `with_` refuses that. Name, version, unit, the way to it, neighbors and size are what the curator
    stated: no row is asked.
Rounding
    None.
Source
    McSherry, "Privacy integrated queries" (2009), section 2.4: sequential composition over tables that overlap.
Mutant
    versions-of-other-units: the unit of a new version is not compared; killed by test_all_versions_have_one_unit.
    other-ways-to-a-unit: nor is the path to it; killed by test_all_versions_have_one_path.
    each-of-for-all-of: whether columns name a unit each is not compared; killed by
    test_each_of_some_columns_is_no_unit_of_all_of_them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from discreet.errors import InvalidParameter, expected

if TYPE_CHECKING:
    # Ledgers are read by commands that are quick, and a declaration comes with Ibis.
    from discreet.privacy.declaration import Declaration


@dataclass(frozen=True, kw_only=True, slots=True)
class DeclaredSource:
    """What a ledger knows of a version of a table: what was stated of it, and nothing of its rows."""

    name: str
    version: str
    unit: tuple[str, ...]
    """None where each row is a unit."""
    neighbors: str
    size: int | None = None
    via: tuple[tuple[tuple[str, str], ...], ...] = ()
    """Where the unit is named in another table, the columns that lead to it."""
    each_of: bool = False
    """Whether each column of the unit names one, rather than all together."""

    @classmethod
    def of(cls, declared: Declaration) -> DeclaredSource:
        """The source that a declaration is about."""
        return cls(
            name=declared.name,
            version=declared.version,
            unit=declared.unit,
            neighbors=declared.neighbors.value,
            size=declared.size,
            via=declared.via,
            each_of=declared.each_of,
        )

    def to_json(self) -> str:
        """The unit, the way to it, the neighbors and the size, as a ledger's file has them beside name and version."""
        facts: dict[str, object] = {"unit": list(self.unit), "neighbors": self.neighbors, "size": self.size}
        facts |= {"via": self.via} if self.via else {}
        facts |= {"each_of": True} if self.each_of else {}
        return json.dumps(facts, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, name: str, version: str, text: str) -> DeclaredSource:
        """What `to_json` wrote; raises ValueError for anything else.

        >>> one = DeclaredSource(name="visits", version="2", unit=("person",), neighbors="add-remove")
        >>> DeclaredSource.from_json("visits", "2", one.to_json()) == one
        True
        """
        facts = json.loads(text)
        if not isinstance(facts, dict) or set(facts) - {"via", "each_of"} != {"unit", "neighbors", "size"}:
            raise ValueError(text)
        return cls(
            name=name,
            version=version,
            unit=tuple(facts["unit"]),
            neighbors=facts["neighbors"],
            size=facts["size"],
            via=tuple(tuple((one, other) for one, other in step) for step in facts.get("via", ())),
            each_of=facts.get("each_of", False),
        )


def sources_of(declared: Declaration) -> tuple[DeclaredSource, ...]:
    """The sources that a release of a declared table is about: several where several stand in one plan."""
    return tuple(map(DeclaredSource.of, declared.parts or (declared,)))


@dataclass(frozen=True, slots=True)
class DeclaredSources:
    """All sources that a ledger has charges for, by name and version, in the order of their first charge."""

    known: Mapping[str, Mapping[str, DeclaredSource]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[DeclaredSource]:
        return (source for versions in self.known.values() for source in versions.values())

    def __contains__(self, source: DeclaredSource) -> bool:
        return source.version in self.known.get(source.name, {})

    def __len__(self) -> int:
        return sum(map(len, self.known.values()))

    def check(self, source: DeclaredSource) -> None:
        """Refuses what contradicts an earlier version, or an earlier statement about the same one."""
        versions = self.known.get(source.name, {})
        for other in versions.values():
            for fact in ("unit", "via", "neighbors", "size"):
                mine, theirs = _stated(source, fact), _stated(other, fact)
                if mine != theirs and (fact != "size" or other.version == source.version):
                    raise InvalidParameter(_refusal(source, fact, mine, theirs))

    def new(self, declared: Iterable[DeclaredSource]) -> list[DeclaredSource]:
        """Those that are not among these. Refuses what `check` does."""
        known, new = self, list[DeclaredSource]()
        for source in declared:
            after = known.with_(source)
            new += [source] if after is not known else []
            known = after
        return new

    def with_all(self, declared: Iterable[DeclaredSource]) -> DeclaredSources:
        """These and those that are not among them. Refuses what `check` does."""
        known = self
        for source in declared:
            known = known.with_(source)
        return known

    def with_(self, source: DeclaredSource) -> DeclaredSources:
        """These and one more; these where it is among them. Refuses what `check` does."""
        self.check(source)
        if source in self:
            return self
        versions = {**self.known.get(source.name, {}), source.version: source}
        return replace(self, known={**self.known, source.name: versions})


def _stated(source: DeclaredSource, fact: str) -> object:
    return f"each of {', '.join(source.unit)}" if fact == "unit" and source.each_of else getattr(source, fact)


def _refusal(source: DeclaredSource, fact: str, mine: object, theirs: object) -> str:
    versions, none = "this" if fact == "size" else "every", "none" if fact == "via" else "each row"
    what = f"the {fact} that was declared for {versions} version of {source.name!r}, {theirs or none}"
    cure = (
        "declare a new version of it, version=..., where its public size has changed."
        if fact == "size"
        else "give it another name, name=...: what is about other units is another source."
    )
    return expected(what, fact, mine or none, cure)
