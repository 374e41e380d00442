"""A service from its file: data sets from their declarations, principals with their roles and allowances."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from discreet.curator.declaration_file import read_declaration
from discreet.curator.public_data import public_keys
from discreet.service.analyst_budgets import ANALYST, DATA_SET, GROUP, Level, levels
from discreet.service.configuration import DataSetFacts, PrincipalFacts, ServiceFile
from discreet.service.curator_verbs import open_level
from discreet.service.data_sets import MOST_CELLS, DataSet
from discreet.service.published_series import PublishedSeries
from discreet.service.roles import Role
from discreet.service.service import Service, Settings
from discreet.service.state_store import state_at

BY = "service file"
"""Who changes what the file states, on record."""


def open_service(path: str | os.PathLike[str]) -> tuple[Service, ServiceFile]:
    """The service that a file states, and the file; no row is read."""
    file = ServiceFile.read(path)
    facts, principals = list(file.datasets()), list(file.principals())
    connections = file.connections()
    datasets = [_opened(file, one, connections) for one in facts]
    limits, service = file.section("limits"), file.section("service")
    plain = Settings()
    settings = Settings(
        jobs_at_once=limits.get("jobs_at_once", plain.jobs_at_once),
        workers=service.get("workers", plain.workers),
    )
    store = state_at(file.state)
    opened = Service(store, datasets, settings)
    for one in datasets:
        opened.note_policy(one.name, BY, json.loads(json.dumps(one.facts()["policy"])))
    for fact, one in zip(facts, datasets, strict=True):
        for group, amounts in fact.groups.items():
            open_level(Level(DATA_SET, one.name, one.budget), GROUP, group, amounts, by=BY)
    try:
        for principal in principals:
            groups = {one.name: _group(opened, file, principal, one) for one in datasets}
            _admit(opened, principal, groups)
            for one in datasets:
                if one.name in principal.allowances:
                    around = levels(one.name, one.budget, "", groups[one.name])[-1]
                    open_level(around, ANALYST, principal.name, principal.allowances[one.name], by=BY)
    except BaseException:
        opened.close()
        raise
    return opened, file


def _group(service: Service, file: ServiceFile, facts: PrincipalFacts, dataset: DataSet) -> str | None:
    """The group of an analyst, which is open and stays the same: in another one, or in none, no allowance of before
    would hold.
    """
    member = service.members.principal(facts.name)
    known = member.groups.get(dataset.name)
    group = facts.groups.get(dataset.name, known)
    if group is None:
        return None
    if Level(DATA_SET, dataset.name, dataset.budget).opened(GROUP, group) is None:
        cure = f"open it: groups = {{ {group} = {{ epsilon = 0.5 }} }} in [datasets.{dataset.name}]."
        file.refuse_group(facts.name, f"a group of {dataset.name} that is open", group, cure)
    if group != known and Role.ANALYST in member.roles.get(dataset.name, ()):
        cure = "what was charged to a group stays there: admit another name for another group."
        file.refuse_group(facts.name, "the group that they are in", group, cure)
    return group


def _opened(file: ServiceFile, facts: DataSetFacts, connections: dict[str, str]) -> DataSet:
    table: Any = read_declaration(facts.declaration).table(connections=connections)
    series = {}
    for name, stated in facts.series.items():
        with file.naming_series(facts.name, name):
            series[name] = PublishedSeries(table, stated, dataset=facts.name)
            series[name].moments(facts.pace)
    keys = {}
    for name, place in facts.public_keys.items():
        with file.naming("datasets", facts.name, "public_keys", name):
            keys[name] = public_keys(place, name=name)
    return DataSet(
        name=facts.name,
        table=table,
        budget=table.budget,
        policy=facts.policy,
        pace=facts.pace,
        series=series,
        public_keys=keys,
        most_cells=file.section("limits").get("cells", MOST_CELLS),
    )


def _admit(service: Service, facts: PrincipalFacts, groups: Mapping[str, str | None]) -> None:
    service.members.add(facts.name, operator=facts.operator)
    for dataset, role in _roles(facts):
        if role is Role.ANALYST:  # refused where another process has admitted them to another group since it was looked
            service.members.admit(facts.name, dataset, groups[dataset])
        else:
            service.members.give(facts.name, dataset, role)


def _roles(facts: PrincipalFacts) -> Iterator[tuple[str, Role]]:
    for dataset, roles in facts.roles.items():
        for role in roles:
            yield dataset, role
