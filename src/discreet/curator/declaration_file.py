"""A protected table from a file that states it: reviewed and kept under version control, checked without a row."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import ibis.expr.datatypes as dt

from discreet.curator.declaration_form import DeclarationText
from discreet.curator.protect import protected
from discreet.curator.protect_two_units import stated_pair
from discreet.curator.protection_warnings import warn_of_reused_name
from discreet.curator.stated_facts import (
    check_columns,
    kind_in,
    stated_bounds,
    stated_folder,
    stated_keys,
    stated_name,
    stated_neighbors,
    stated_unit,
    stated_version,
)
from discreet.curator.table_sources import TableOf, delimiter, stated_source, table
from discreet.curator.toml_lines import LARGEST, read_toml
from discreet.curator.unit_paths import StatedStep, columns_of, with_owner
from discreet.engines import engine_selection
from discreet.engines.engine import Engine
from discreet.engines.file_patterns import UNREADABLE, header, matching_files
from discreet.errors import DiscreetError, InvalidParameter, expected, nearest_name
from discreet.exact.amounts import fraction
from discreet.exact.written_amounts import MOST_DIGITS, is_amount, written_amount
from discreet.ledger.budget import Budget
from discreet.ledger.declared_sources import DeclaredSource
from discreet.planning.contribution_limits import stated_limits
from discreet.planning.plan import StatedLimits
from discreet.planning.unspecified import auto_columns
from discreet.privacy.declaration import Declaration, Key
from discreet.privacy.definitions import ROW, Row
from discreet.query.shared_table import SharedTable
from discreet.query.table import PrivateTable

EACH_ROW = "row"
"""How a declaration says that each row is a unit."""
NO_TYPES = "write it as a Parquet file, which says of which types its columns are, or name a table of a connection."
T = TypeVar("T")


def open(  # noqa: A001 (read as dp.open, beside which nobody means a file object)
    path: str | os.PathLike[str],
    *,
    connections: Mapping[str, Any] | None = None,
    budget: Budget | None = None,
) -> PrivateTable | SharedTable:
    """The protected table that a declaration file states, with its budget; no row is read.

    Args:
        path: a TOML file with [table], [table.limits], [columns.NAME] and [budget]; see docs/declaration-file.md.
        connections: what stands before the colon of a source such as "warehouse:clinic.visits": connections of Ibis, or
            their addresses. Paths in the file are relative to its folder.
        budget: a budget that several tables share. The file then has no [budget], or one with the same ledger.

    Raises:
        InvalidParameter: something is missing, unknown or not usable; the message names the line.

    >>> import pathlib, tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> pq.write_table(pa.table({"person": [1, 1, 2], "visits": [3, 5, 4]}), folder / "visits.parquet")
    >>> _ = (folder / "visits.toml").write_text('''
    ... [table]
    ... source = "visits.parquet"
    ... unit = "person"
    ... [columns.visits]
    ... bounds = [0, 50]
    ... [budget]
    ... epsilon = 1
    ... ''')
    >>> open(folder / "visits.toml")
    <private table 'visits', protecting person: person: integer, visits: integer>
    """
    return read_declaration(path).table(connections=connections, budget=budget)


def read_declaration(path: str | os.PathLike[str]) -> DeclarationFile:
    """A declaration whose form is right; nothing that it names has been opened or made."""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        cure = "write dp.open('visits.toml'); dp.protect takes frames and tables."
        raise InvalidParameter(expected("the path of a declaration", "path", path, cure))
    name = os.fspath(path)
    try:
        if not Path(name).is_file():  # one that waits for a writer, say
            raise FileNotFoundError
        with Path(name).open("rb") as file:
            text = file.read(LARGEST * 4 + 1).decode("utf-8-sig")
    except (OSError, ValueError):
        cure = "check the path, and that the file is text in UTF-8; discreet declare writes a first draft of one."
        raise InvalidParameter(expected("a declaration that can be read", "path", name, cure)) from None
    text = text.replace("\r\n", "\n")
    return DeclarationFile(path=Path(name), text=DeclarationText.checked(name, read_toml(text, name)))


@dataclass(frozen=True, kw_only=True)
class DeclarationFile:
    """A declaration whose form is right; its table and its budget are opened when they are asked for."""

    path: Path
    text: DeclarationText

    @property
    def folder(self) -> Path:
        """What its paths are relative to."""
        return self.path.resolve().parent

    @property
    def name(self) -> str:
        """What the ledger calls the table: by default, as the file is called."""
        stated = self.text.get("table", "name")
        return self._of(stated_name, self.path.stem if stated is None else stated, at=("table", "name"))

    @property
    def ledger(self) -> str | None:
        """Where the record is kept: a path, an address, or nowhere."""
        stated: str | None = self.text.get("budget", "ledger")
        return stated if stated is None or "://" in stated else str(self.folder / stated)

    @property
    def via_places(self) -> tuple[str, ...]:
        """Where the tables on the way to the unit lie, as paths; of those of connections they are those of no file."""
        return tuple(str(self.folder / one["source"]) for one in self._get("via", []))

    @property
    def keep_steps(self) -> str | None:
        """The folder for exact totals of steps, if they are to be kept."""
        stated: str | None = self.text.get("table", "keep_steps")
        return stated and str(self.folder / stated)

    @property
    def allowance(self) -> dict[str, Any]:
        """What may be spent, as `dp.Budget` takes it."""
        stated = self.text.get("budget") or {}
        return {name: self._amount(name, value) for name, value in stated.items() if name != "ledger"}

    @property
    def stated(self) -> dict[str, Any]:
        """Unit, limits, bounds, keys and neighbors, as `dp.protect` takes them of another table of the same form."""
        limits = self.text.get("table", "limits") or {}
        return {
            "unit": self._one_unit(),
            "neighbors": self._get("neighbors", "add-remove"),
            "bounds": self._bounds(),
            "keys": self._keys(),
            **limits,
        }

    def budget(self) -> Budget:
        """The budget; its ledger is made where nothing is yet."""
        stated = self.allowance
        if not stated.keys() & {"epsilon", "rho"}:
            cure = 'say what may ever be spent, and where that is recorded: epsilon = 1, ledger = "spent.db".'
            raise self.text.refusal(("budget",), "[budget] with epsilon or rho", list(stated), cure)
        for name, amount in stated.items():
            self._of(lambda one: fraction(*one), (name, amount), at=("budget", name))
        return self._of(lambda one: Budget(**one, ledger=self.ledger), stated, at=("budget",))

    def table(
        self, *, connections: Mapping[str, Any] | None = None, budget: Budget | None = None
    ) -> PrivateTable | SharedTable:
        """The protected table; under its own budget where none is given."""
        declared = self.declared(connections)
        if budget is None:
            budget = self.budget()
        elif not isinstance(budget, Budget):
            cure = "pass a dp.Budget, or leave it out: the file has one."
            raise InvalidParameter(expected("a budget", "budget", budget, cure))
        elif self.text.get("budget") and self.budget().identity != budget.identity:
            cure = "leave [budget] out of the file, or name the ledger of the budget that is passed."
            raise self.text.refusal(("budget",), "the budget that is passed, or none", "another", cure)
        return self._protected(declared, budget)

    def under(self, budget: Budget, *, connections: Mapping[str, Any] | None = None) -> PrivateTable | SharedTable:
        """The protected table under a budget that is not compared with the file's own."""
        return self._protected(self.declared(connections), budget)

    def _protected(self, declared: tuple[Any, Declaration, Engine], budget: Budget) -> PrivateTable | SharedTable:
        (data, *path), declaration, engine = declared
        steps = self._of(stated_folder, self.keep_steps, at=("table", "keep_steps"))
        table: PrivateTable | SharedTable
        table = self._of(lambda own: protected(engine, declaration, own, steps), budget, at=("table",))
        warn_of_reused_name(DeclaredSource.of(declaration), data, budget, path)
        return table

    def declared(self, connections: Mapping[str, Any] | None = None) -> tuple[Any, Declaration, Engine]:
        """The source and the tables on the way to its unit, what is declared of it, and its engine: checked against
        names and types alone.
        """
        text = self.text
        unit, each_of = self._unit(), self.each_of
        related, size = self._size(by_row=unit is ROW)
        limits = self._limits(unit)
        data, engine = self._opened(connections)
        self._of(check_columns, engine.schema, at=("table", "source"))
        steps = self._steps(connections)
        if steps:
            engine = self._of(lambda path: with_owner(engine, path, unit), steps, at=("table", "via"))
        schema = engine.schema
        if unit is ROW and EACH_ROW in schema:
            cure = f'for the column of this name write unit = ["{EACH_ROW}"]; for each row, rename the column.'
            raise text.refusal(("table", "unit"), "a unit with one meaning", EACH_ROW, cure)
        for column in text.columns:
            self._of(lambda name: kind_in(name, schema, "a known column", "column"), column, at=("columns", column))
        at, read = ("each_of", stated_pair) if each_of else ("unit", stated_unit)
        whose = () if unit is ROW else self._of(lambda stated: read(stated, schema), unit, at=("table", at))
        bounds = self._bounds()
        checked = {
            name: self._of(lambda one: stated_bounds(one, schema, unit), {name: pair}, at=("columns", name, "bounds"))
            for name, pair in bounds.items()
        }
        keys = {
            name: self._of(lambda one: stated_keys(one, schema), {name: listed}, at=("columns", name, "keys"))
            for name, listed in self._keys().items()
        }
        declaration = Declaration(
            name=self.name,
            version=self._of(stated_version, self._get("version", ""), at=("table", "version")),
            unit=whose,
            each_of=each_of,
            via=columns_of(steps),
            neighbors=related,
            size=size,
            bounds={name: pair for one in checked.values() for name, pair in one.items()},
            keys={name: listed for one in keys.values() for name, listed in one.items()},
            max_groups=limits.max_groups,
            max_rows=limits.max_rows,
            auto_limits=limits.auto,
            auto_bounds=auto_columns(bounds),
            description=self._get("description", ""),
            descriptions=self._each("description"),
        )
        return (data, *(step.data for step in steps)), declaration, engine

    def source(self, connections: Mapping[str, Any] | None = None) -> str | TableOf:
        """Where the table lies."""
        cure = 'name the file or table: source = "visits.parquet", or source = "warehouse:clinic.visits".'
        stated = self.text.needed("table", "source", cure=cure)
        return self._of(lambda one: stated_source(one, self.folder, connections or {}), stated, at=("table", "source"))

    def _steps(self, connections: Mapping[str, Any] | None) -> tuple[StatedStep, ...]:
        """The tables on the way to the unit; none where it is a column of the source."""
        stated = [(one["source"], one["on"]) for one in self._get("via", [])]

        def placed(source: str) -> Any:
            place = stated_source(source, self.folder, connections or {})
            if not isinstance(place, TableOf) and delimiter(place) is not None:
                raise InvalidParameter(expected("a Parquet file or a table of a connection", "via", source, NO_TYPES))
            return table(place, connections or {}) if isinstance(place, TableOf) else place

        return tuple(StatedStep(self._of(placed, source, at=("table", "via")), on) for source, on in stated)

    def _opened(self, connections: Mapping[str, Any] | None) -> tuple[Any, Any]:
        """The source and its engine, which has read names and types."""
        if connections is not None and not isinstance(connections, Mapping):
            cure = "write connections={'warehouse': ibis.postgres.connect(...)}."
            raise InvalidParameter(expected("a dict of connections by name", "connections", connections, cure))
        place = self.source(connections)
        at = ("table", "source")
        types = self._each("type")
        if isinstance(place, TableOf):
            data = self._of(lambda one: table(one, connections or {}), place, at=at)
        else:
            data = place
        kind = None if isinstance(place, TableOf) else delimiter(place)
        if kind is None and types:
            cure = "leave it out: the source says of which type its columns are, and a CSV file alone does not."
            name, written_type = next(iter(types.items()))
            raise self.text.refusal(("columns", name, "type"), "no type of a column", written_type, cure)
        schema = None if kind is None else self._schema(str(place), kind, types)
        return data, self._of(lambda one: engine_selection.opened(one, schema), data, at=at)

    def _schema(self, path: str, separator: str, types: Mapping[str, str]) -> Mapping[str, str]:
        """The types of the columns of a CSV file, each of which has to be stated."""
        try:
            names = [name for name, _ in header(self._of(matching_files, path, at=("table", "source"))[0], separator)]
        except UNREADABLE:
            cure = "check that it is a file, and that you may read it."
            raise self.text.refusal(
                ("table", "source"), "a readable CSV file", self.text.get("table", "source"), cure
            ) from None
        for column in self.text.columns:
            at = ("columns", column)
            if column not in names:
                raise self.text.refusal(at, "a column of the file", column, nearest_name(column, names))
            if column not in types:
                cure = f'state it: [columns.{column}] type = "int64". Types guessed from rows would reveal people.'
                raise self.text.refusal((*at, "type"), "the type of a column of a CSV file", None, cure)
            self._of(_type, types[column], at=(*at, "type"))
        self._check_typed(names, types)
        if not types:
            cure = 'state the columns and their types: [columns.person] type = "int64".'
            raise self.text.refusal(("columns",), "the columns of a CSV file", None, cure)
        return types

    def _check_typed(self, names: Sequence[str], types: Mapping[str, str]) -> None:
        """Refuses a unit and keys on the way to it that are columns of a CSV file of which no type is stated."""
        via, unit = self._get("via", []), self._unit()
        wanted = list(via[0]["on"]) if via else [] if unit is ROW else [unit] if isinstance(unit, str) else unit
        if missing := next((name for name in wanted if name in names and name not in types), None):
            at = ("table", "via" if via else "unit")
            cure = f'state it: [columns.{missing}] type = "int64". Types guessed from rows would reveal people.'
            raise self.text.refusal(at, f"the type of {missing!r}, a column of a CSV file", None, cure)

    @property
    def each_of(self) -> bool:
        """Whether a row belongs to two people each."""
        return self.text.get("table", "each_of") is not None

    def _unit(self) -> str | list[str] | Row:
        if self.each_of:
            pair: list[str] = self.text.get("table", "each_of")
            return pair
        cure = 'say who is protected: unit = "person" names a column, unit = "row" says that each row is a person.'
        stated: str | list[str] = self.text.needed("table", "unit", cure=cure)
        return ROW if stated == EACH_ROW else stated

    def _one_unit(self) -> str | list[str] | Row:
        if self.each_of:
            cure = "name one that has unit: a replay leaves out the rows that one unit has, and no others."
            raise self.text.refusal(("table", "each_of"), "a unit", self.text.get("table", "each_of"), cure)
        return self._unit()

    def _limits(self, unit: str | list[str] | Row) -> StatedLimits:
        known = Declaration(name="", unit=() if unit is ROW else ("unit",))
        stated = self.text.get("table", "limits") or {}
        for name, value in stated.items():
            self._of(lambda one: stated_limits(known, **one), {name: value}, at=("table", "limits", name))
        return stated_limits(known, **stated)

    def _size(self, *, by_row: bool) -> tuple[Any, int | None]:
        at = next((one for one in ("units", "rows") if self._get(one, None) is not None), "neighbors")
        return self._of(
            lambda related: stated_neighbors(
                related, rows=self._get("rows", None), units=self._get("units", None), by_row=by_row
            ),
            self._get("neighbors", "add-remove"),
            at=("table", at),
        )

    def _get(self, name: str, default: Any) -> Any:
        stated = self.text.get("table", name)
        return default if stated is None else stated

    def _each(self, fact: str) -> dict[str, Any]:
        """A fact of all columns of which it is stated."""
        return {name: stated[fact] for name, stated in self.text.columns.items() if fact in stated}

    def _bounds(self) -> dict[str, tuple[object, object] | str]:
        return {name: tuple(pair) if isinstance(pair, list) else pair for name, pair in self._each("bounds").items()}

    def _keys(self) -> dict[str, list[Key]]:
        keys: dict[str, list[Key]] = self._each("keys")
        for name, null in self._each("null").items():
            if name not in keys:
                cure = "list the other groups as well: keys = [...], or leave null out."
                raise self.text.refusal(("columns", name, "null"), "keys beside null", null, cure)
            keys[name] = [*keys[name], None] if null else keys[name]
        return keys

    def _amount(self, name: str, value: Any) -> Any:
        """An amount as it is written, where 1/3 is a third."""
        if not isinstance(value, str):
            return value
        if not is_amount(value):
            cure = f'write {name} = 0.5, or {name} = "1/3".'
            raise self.text.refusal(("budget", name), f"an amount of at most {MOST_DIGITS} digits", value, cure)
        return written_amount(name, value)

    def _of(self, make: Callable[[Any], T], value: Any, *, at: tuple[str, ...]) -> T:
        """What is made of a value; a refusal of it gets its line."""
        try:
            return make(value)
        except DiscreetError as problem:
            told = self.text.located(at, problem)
        raise told from None


def _type(written_type: str) -> dt.DataType:
    try:
        return dt.dtype(written_type)
    except Exception:  # noqa: BLE001 (Ibis's parser has errors of several libraries)
        cure = "use int64, float64, string, boolean, date or timestamp."
        raise InvalidParameter(expected("a known type", "type", written_type, cure)) from None
