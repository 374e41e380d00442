"""The service's own file: where it listens and keeps its state, its data sets with their policies, its principals."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

from discreet.curator.toml_lines import TomlDocument, read_toml
from discreet.errors import InvalidParameter, InvalidQuery, expected, nearest_name
from discreet.exact.amounts import positive
from discreet.exact.written_amounts import written_amount
from discreet.service.answer_timing import Pace
from discreet.service.data_sets import NAME, Policy, Seen
from discreet.service.members import NAME as GROUP_NAME
from discreet.service.members import principal_name
from discreet.service.roles import Role
from discreet.service.series_settings import REQUIRED, SERIES, SeriesFacts
from discreet.service.setting_forms import FLAG, TABLE, SettingForm, choice, number_form, text_form, whole_number_form

PORT = whole_number_form(1, 65535)
MOST_SECONDS = 86400

SERVICE: Mapping[str, SettingForm] = {
    "state": text_form("state.db"),
    "host": text_form("127.0.0.1"),
    "port": PORT,
    "pg_port": PORT,
    "certificate": text_form("cert.pem"),
    "key": text_form("key.pem"),
    "workers": whole_number_form(1, 64),
}
LIMITS: Mapping[str, SettingForm] = {
    "requests_a_second": whole_number_form(1, 100_000),
    "requests_at_once": whole_number_form(1, 10_000),
    "jobs_at_once": whole_number_form(1, 10_000),
    "cells": whole_number_form(1, 10_000_000),
}
OIDC: Mapping[str, SettingForm] = {
    "issuer": text_form("https://login.example.org"),
    "client_id": text_form("discreet"),
    "client_secret_file": text_form("client-secret.txt"),
    "redirect": text_form("https://discreet.example.org/oidc/callback"),
    "claim": text_form("email"),
}
DATASET: Mapping[str, SettingForm] = {
    "declaration": text_form("visits.toml"),
    "default_epsilon": number_form("0.1"),
    "largest_epsilon": number_form("0.5"),
    "cache": choice(*Seen),
    "questions": choice(*Seen),
    "spending": choice(*Seen),
    "previews": FLAG,
    "rows": whole_number_form(0, 10**15),
    "least_seconds": number_form("0.5"),
    "seconds_per_million_rows": number_form("2.0"),
    "groups": TABLE,
    "series": TABLE,
    "public_keys": TABLE,
}
AMOUNTS: Mapping[str, SettingForm] = {name: number_form("0.5") for name in ("epsilon", "delta", "rho")}
PRINCIPAL: Mapping[str, SettingForm] = {"operator": FLAG, "roles": TABLE, "groups": TABLE, "allowances": TABLE}
SECTIONS = ("service", "limits", "oidc", "connections", "datasets", "principals")


@dataclass(frozen=True, kw_only=True)
class DataSetFacts:
    """What the file states of one data set."""

    name: str
    declaration: Path
    policy: Policy
    pace: Pace
    groups: Mapping[str, Mapping[str, Fraction]]
    """The allowance of each group."""
    series: Mapping[str, SeriesFacts]
    public_keys: Mapping[str, Path]
    """Files of tuples that are public, by the names that documents have for them."""


@dataclass(frozen=True, kw_only=True)
class PrincipalFacts:
    """What the file states of one principal."""

    name: str
    operator: bool
    roles: Mapping[str, tuple[Role, ...]]
    groups: Mapping[str, str]
    allowances: Mapping[str, Mapping[str, Fraction]]
    """By data set."""


@dataclass(frozen=True, kw_only=True)
class ServiceFile:
    """A service file whose form is right; nothing that it names has been opened."""

    path: Path
    document: TomlDocument

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> ServiceFile:
        """The file at `path`; whatever is wrong in it is named, with its line and the nearest name."""
        place = Path(path)
        try:
            text = place.read_text(encoding="utf-8")
        except (OSError, UnicodeError):
            cure = "check the path; discreet serve --demo needs no file."
            raise InvalidParameter(expected("a file that can be read", "path", str(place), cure)) from None
        found = cls(path=place, document=read_toml(text, place.name))
        found._check()
        return found

    @property
    def folder(self) -> Path:
        """What its paths are relative to."""
        return self.path.resolve().parent

    def section(self, name: str) -> Mapping[str, Any]:
        """A table of the file; empty, where it is not there."""
        found: Mapping[str, Any] = self.document.values.get(name, {})
        return found

    def place(self, section: str, name: str) -> Path | None:
        """A path that the file names, relative to its folder."""
        stated = self.section(section).get(name)
        return None if stated is None else self.folder / stated

    @property
    def state(self) -> str:
        """Where the state is kept: a path, or an address of PostgreSQL, which may come from the environment."""
        stated = self._of_environment(("service", "state"), str(self.section("service").get("state", "state.db")))
        return stated if "://" in stated else str(self.folder / stated)

    def connections(self) -> dict[str, str]:
        """Addresses by name; "env:NAME" stands for a variable of the environment, where passwords belong."""
        found = {}
        for name, stated in self.section("connections").items():
            if not isinstance(stated, str):
                raise self._refusal(("connections", name), "an address", stated, 'write "env:WAREHOUSE".')
            found[name] = self._of_environment(("connections", name), stated)
        return found

    def _of_environment(self, path: tuple[str, ...], stated: str) -> str:
        variable = stated.removeprefix("env:")
        if variable == stated:
            return stated
        if variable not in os.environ:
            raise self._refusal(path, "a variable that is set", variable, f"set {variable} before the start.")
        return os.environ[variable]

    def datasets(self) -> Iterator[DataSetFacts]:
        """What is stated of each data set."""
        for name, stated in self.section("datasets").items():
            at = ("datasets", name)
            policy = Policy(
                default_epsilon=self._positive((*at, "default_epsilon"), stated.get("default_epsilon", Decimal("0.1"))),
                largest_epsilon=None
                if "largest_epsilon" not in stated
                else self._positive((*at, "largest_epsilon"), stated["largest_epsilon"]),
                cache=Seen(stated.get("cache", Seen.ALL)),
                questions=Seen(stated.get("questions", Seen.OWN)),
                spending=Seen(stated.get("spending", Seen.ALL)),
                previews=stated.get("previews", True),
            )
            plain = Pace()
            pace = Pace(
                rows=stated.get("rows", 0),
                least=self._seconds((*at, "least_seconds"), stated, plain.least),
                per_million_rows=self._seconds((*at, "seconds_per_million_rows"), stated, plain.per_million_rows),
            )
            groups = {
                group: self._amounts((*at, "groups", group), amounts)
                for group, amounts in stated.get("groups", {}).items()
            }
            yield DataSetFacts(
                name=name,
                declaration=self.folder / stated["declaration"],
                policy=policy,
                pace=pace,
                groups=groups,
                series={one: self._series((*at, "series", one)) for one in stated.get("series", {})},
                public_keys=self._key_files((*at, "public_keys")),
            )

    def principals(self) -> Iterator[PrincipalFacts]:
        """What is stated of each principal."""
        datasets = self.section("datasets")
        for name, stated in self.section("principals").items():
            at = ("principals", name)
            for part in ("roles", "groups", "allowances"):
                for dataset in stated.get(part, {}):
                    if dataset not in datasets:
                        raise self._refusal(
                            (*at, part), "a data set of this file", dataset, nearest_name(dataset, datasets)
                        )
            yield PrincipalFacts(
                name=principal_name(name),
                operator=stated.get("operator", False),
                roles={
                    dataset: tuple(self._role((*at, "roles"), role) for role in self._listed((*at, "roles"), roles))
                    for dataset, roles in stated.get("roles", {}).items()
                },
                groups={
                    dataset: self._group((*at, "groups"), group) for dataset, group in stated.get("groups", {}).items()
                },
                allowances={
                    dataset: self._amounts((*at, "allowances", dataset), amounts)
                    for dataset, amounts in stated.get("allowances", {}).items()
                },
            )

    def _series(self, path: tuple[str, ...]) -> SeriesFacts:
        name = path[-1]
        if not NAME.fullmatch(name):
            cure = "use small letters, digits and _, at most 60, a letter first: it is a part of an address."
            raise self._refusal(path, "a name for a series", name, cure)
        self._table(path)
        self._forms(path, SERIES)
        stated = self._at(path)
        if missing := next((one for one in REQUIRED if one not in stated), None):
            raise self._refusal(path, f"{missing} of a series", None, SERIES[missing].cure)
        try:
            return SeriesFacts.of(name, stated)
        except InvalidParameter:
            raise self._refusal(path, "a price", stated.get("epsilon"), "write epsilon = 1, delta = 1e-6.") from None

    def _key_files(self, path: tuple[str, ...]) -> dict[str, Path]:
        found = {}
        for name, stated in self._at(path).items():
            if not NAME.fullmatch(name) or name in self.section("datasets"):
                cure = "use small letters, digits and _, a letter first, and no name of a data set."
                raise self._refusal((*path, name), "a name for public keys", name, cure)
            if not text_form("places.parquet").holds(stated):
                raise self._refusal((*path, name), "a file of public keys", stated, f'write {name} = "{name}.parquet".')
            found[name] = self.folder / stated
        return found

    def naming_series(self, dataset: str, series: str) -> AbstractContextManager[None]:
        """What a series is refused for, with the line where it is declared."""
        return self.naming("datasets", dataset, "series", series)

    @contextmanager
    def naming(self, *path: str) -> Iterator[None]:
        """What a part of the file is refused for once it is opened, with its line."""
        try:
            yield
        except (InvalidParameter, InvalidQuery) as problem:
            first, _, cure = str(problem).partition("\nHint: ")
            line = self.document.line(*path)
            where = f"{first.removesuffix('.')} in {self.path.name}, line {line}."
            raise InvalidParameter(f"{where}\nHint: {cure}") from None

    def _check(self) -> None:
        values = self.document.values
        self._known((), values, SECTIONS)
        for name in values:
            self._table((name,))
        for name, forms in (("service", SERVICE), ("limits", LIMITS), ("oidc", OIDC)):
            self._forms((name,), forms)
        for name in self.section("datasets"):
            if not NAME.fullmatch(name):
                cure = "use small letters, digits and _, a letter first: it is the table's name in SQL."
                raise self._refusal(("datasets", name), "a name for a data set", name, cure)
            self._table(("datasets", name))
            self._forms(("datasets", name), DATASET)
            if "declaration" not in self.section("datasets")[name]:
                cure = 'name its file: declaration = "visits.toml".'
                raise self._refusal(("datasets", name), "a declaration", None, cure)
        for name in self.section("principals"):
            self._table(("principals", name))
            self._forms(("principals", name), PRINCIPAL)

    def _forms(self, path: tuple[str, ...], forms: Mapping[str, SettingForm]) -> None:
        values = self._at(path)
        self._known(path, values, tuple(forms))
        for name, value in values.items():
            if not forms[name].holds(value):
                raise self._refusal((*path, name), forms[name].what, value, forms[name].cure)

    def _at(self, path: tuple[str, ...]) -> Any:
        found: Any = self.document.values
        for part in path:
            found = found.get(part, {})
        return found

    def _table(self, path: tuple[str, ...]) -> None:
        if not isinstance(self._at(path), dict):
            raise self._refusal(path, "a table of keys", self._at(path), f"write [{'.'.join(path)}].")

    def _known(self, path: tuple[str, ...], values: Mapping[str, Any], names: tuple[str, ...]) -> None:
        for name in values:
            if name not in names:
                where = f"a key of [{'.'.join(path)}]" if path else "a table of a service file"
                raise self._refusal((*path, name), where, name, nearest_name(name, names))

    def _seconds(self, path: tuple[str, ...], stated: Mapping[str, Any], usual: float) -> float:
        if path[-1] not in stated:
            return usual
        found = float(self._positive(path, stated[path[-1]]))
        if not 1e-3 <= found <= MOST_SECONDS:
            raise self._refusal(path, f"seconds from 0.001 to {MOST_SECONDS}", stated[path[-1]], "write 0.5.")
        return found

    def _listed(self, path: tuple[str, ...], stated: object) -> list[Any]:
        if not isinstance(stated, list):
            raise self._refusal(path, "a list of roles", stated, 'write { visits = ["analyst"] }.')
        return stated

    def _group(self, path: tuple[str, ...], stated: object) -> str:
        if not isinstance(stated, str) or not GROUP_NAME.fullmatch(stated):
            raise self._refusal(path, "the name of a group", stated, 'write { visits = "staff" }.')
        return stated

    def refuse_group(self, who: str, what: str, group: str, cure: str) -> NoReturn:
        """Refuses the group that somebody is said to be in, with its line."""
        raise self._refusal(("principals", who, "groups"), what, group, cure)

    def _role(self, path: tuple[str, ...], role: object) -> Role:
        names = [one.value for one in Role if one is not Role.OPERATOR]
        if role not in names:
            raise self._refusal(path, "a role for a data set", role, nearest_name(role, names))
        return Role(str(role))

    def _positive(self, path: tuple[str, ...], value: Any) -> Fraction:
        try:
            return positive(path[-1], written_amount(path[-1], value))
        except InvalidParameter:
            raise self._refusal(path, "an amount above 0", value, "write 0.5.") from None

    def _amounts(self, path: tuple[str, ...], stated: Any) -> Mapping[str, Fraction]:
        if not isinstance(stated, dict) or not stated.keys() & {"epsilon", "rho"}:
            raise self._refusal(path, "an allowance", stated, "write { epsilon = 0.5 }.")
        self._known(path, stated, tuple(AMOUNTS))
        try:
            return {name: written_amount(name, value) for name, value in stated.items()}
        except InvalidParameter:
            raise self._refusal(path, "exact amounts", stated, "write { epsilon = 0.5 }.") from None

    def _refusal(self, path: tuple[str, ...], what: str, value: object, cure: str) -> InvalidParameter:
        first, hint, cure = expected(what, ".".join(path), value, cure).partition("\nHint: ")
        where = f"{first.removesuffix('.')} in {self.path.name}, line {self.document.line(*path)}."
        return InvalidParameter(f"{where}{hint}{cure}")
