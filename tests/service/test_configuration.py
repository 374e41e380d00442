from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from discreet.errors import DiscreetError, InvalidParameter
from discreet.service import opened_service
from discreet.service.configuration import ServiceFile
from discreet.service.opened_service import open_service
from discreet.service.roles import Role
from discreet.service.service_errors import Conflict
from discreet.testing.example_tables import visits
from service_fixtures import ask

DECLARATION = """
[table]
source = "visits.parquet"
unit = "person"
[table.limits]
max_groups = 2
max_rows = 5
[columns.plan]
keys = ["free", "25%", "50%"]
[budget]
epsilon = 1
ledger = "spent.db"
"""
SERVICE = """
[service]
state = "state.db"
port = 8123
[datasets.visits]
declaration = "visits.toml"
default_epsilon = 0.05
largest_epsilon = "1/2"
rows = 300
[principals.ada]
roles = { visits = ["analyst"] }
[principals.cleo]
roles = { visits = ["curator", "auditor"] }
[principals.olga]
operator = true
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pq.write_table(visits(), tmp_path / "visits.parquet")
    (tmp_path / "visits.toml").write_text(DECLARATION)
    (tmp_path / "service.toml").write_text(SERVICE)
    return tmp_path


def test_a_service_is_opened_from_its_file_and_again(folder: Path) -> None:
    for _ in range(2):
        service, file = open_service(folder / "service.toml")
        ada, cleo = (service.members.principal(name) for name in ("ada", "cleo"))
        assert (ada.roles, cleo.roles["visits"]) == ({"visits": {Role.ANALYST}}, {Role.CURATOR, Role.AUDITOR})
        assert service.members.principal("olga").operator
        assert file.section("service")["port"] == 8123
        priced = service.explain(ada, {"question": {"sql": "SELECT COUNT(*) AS n FROM visits"}})
        assert priced["charge"]["epsilon"] == "0.05"
        with pytest.raises(DiscreetError, match="a price within the policy"):
            service.submit(ada, ask("SELECT COUNT(*) AS n FROM visits", "0.6"))
        assert [one["what"] for one in service.changes(cleo, "visits")] == ["policy"]
        service.close()
    (folder / "service.toml").write_text(SERVICE.replace('"1/2"', '"1/4"'))
    service, _ = open_service(folder / "service.toml")
    assert [one["detail"]["largest_epsilon"] for one in service.changes(cleo, "visits")] == ["0.25", "0.5"]
    service.close()


@pytest.mark.parametrize(
    ("find", "replace", "told"),
    [
        ("[service]", "[servce]", "line 2"),
        ("port = 8123", "port = 0", "line 4"),
        ("port = 8123", 'prt = "x"', "did you mean 'port'"),
        ("[datasets.visits]", "[datasets.Visits]", "a name for a data set"),
        ('declaration = "visits.toml"', "", "a declaration"),
        ("default_epsilon = 0.05", "default_epsilon = -1", "an amount above 0"),
        ('roles = { visits = ["analyst"] }', 'roles = { visit = ["analyst"] }', "did you mean 'visits'"),
        ('["analyst"]', '["analist"]', "did you mean 'analyst'"),
        ('["analyst"]', '["operator"]', "a role for a data set"),
        ("operator = true", "operator = 1", "true or false"),
        ("[principals.ada]", '[principals."a/b"]', "a name for a principal"),
        ('{ visits = ["analyst"] }', '{ visits = "analyst" }', "a list of roles"),
        ("[principals.cleo]", 'groups = { visits = "staff" }\n[principals.cleo]', "a group of visits that is open"),
        ("[principals.cleo]", "groups = { visits = 1 }\n[principals.cleo]", "the name of a group"),
        ("rows = 300", 'least_seconds = "soon"', "an amount above 0"),
        ("rows = 300", "least_seconds = 0", "an amount above 0"),
        ("rows = 300", "least_seconds = nan", "least_seconds"),
        ("default_epsilon = 0.05", 'default_epsilon = "1e99999999"', "an amount above 0"),
        ("default_epsilon = 0.05", "default_epsilon = 1e-99999999", "an amount above 0"),
        ("[principals.cleo]", 'allowances.visits = { epsilon = "1e-99999999" }\n[principals.cleo]', "exact amounts"),
        ("rows = 300", "seconds_per_million_rows = 1e6", "seconds from 0.001"),
        ('"state.db"', '"\\u0000"', "a text in one line"),
    ],
)
def test_what_is_wrong_is_named(folder: Path, find: str, replace: str, told: str) -> None:
    (folder / "service.toml").write_text(SERVICE.replace(find, replace))
    with pytest.raises(DiscreetError, match=told):
        open_service(folder / "service.toml")


def test_nobody_leaves_a_group_by_a_new_start(folder: Path) -> None:
    path = folder / "service.toml"
    path.write_text(SERVICE.replace("rows = 300", "groups = { staff = { epsilon = 0.5 }, other = { epsilon = 0.5 } }"))
    service, _ = open_service(path)
    cleo = service.members.principal("cleo")
    service.admit(cleo, "visits", "eve", group="staff", allowance={"epsilon": "0.1"})
    service.close()
    stated = path.read_text()
    path.write_text(f'{stated}\n[principals.eve]\nroles = {{ visits = ["analyst"] }}\n')
    service, _ = open_service(path)
    found = service.budget(service.members.principal("eve"), "visits")
    assert [(one["level"], one["name"]) for one in found] == [
        ("data set", "visits"),
        ("group", "staff"),
        ("analyst", "eve"),
    ]
    service.close()
    for name, group in (("eve", "other"), ("ada", "staff")):
        added = f'{stated}\n[principals.eve]\nroles = {{ visits = ["analyst"] }}\n'
        head = f"[principals.{name}]"
        path.write_text(added.replace(head, f'{head}\ngroups = {{ visits = "{group}" }}'))
        with pytest.raises(DiscreetError, match="the group that they are in"):
            open_service(path)


def test_nobody_leaves_a_group_that_they_come_into_during_a_start(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A curator admits somebody by one process, while another one is being started by a file that names no group."""
    path = folder / "service.toml"
    path.write_text(SERVICE.replace("rows = 300", "groups = { staff = { epsilon = 0.5 } }"))
    service, _ = open_service(path)
    cleo, look = service.members.principal("cleo"), opened_service._group

    def look_and_admit(opened: Any, file: Any, facts: Any, dataset: Any) -> str | None:
        found = look(opened, file, facts, dataset)
        if facts.name == "eve":
            service.admit(cleo, "visits", "eve", group="staff", allowance={"epsilon": "0.1"})
        return found

    monkeypatch.setattr(opened_service, "_group", look_and_admit)
    path.write_text(f'{path.read_text()}\n[principals.eve]\nroles = {{ visits = ["analyst"] }}\n')
    with pytest.raises(Conflict):
        open_service(path)
    assert service.members.principal("eve").groups == {"visits": "staff"}
    monkeypatch.undo()
    again, _ = open_service(path)
    again.close()
    assert service.members.principal("eve").groups == {"visits": "staff"}
    service.close()


def test_addresses_may_come_from_the_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "service.toml").write_text(f'{SERVICE}\n[connections]\nwarehouse = "env:WAREHOUSE"\n')
    file = ServiceFile.read(folder / "service.toml")
    with pytest.raises(DiscreetError, match="a variable that is set"):
        file.connections()
    monkeypatch.setenv("WAREHOUSE", "postgresql://clinic")
    assert file.connections() == {"warehouse": "postgresql://clinic"}


def test_the_state_may_be_on_a_server_that_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "service.toml"
    path.write_text('[service]\nstate = "env:STATE"\n', encoding="utf-8")
    with pytest.raises(InvalidParameter, match="a variable that is set"):
        _ = ServiceFile.read(path).state
    monkeypatch.setenv("STATE", "postgresql://db.example.org/discreet#state")
    assert ServiceFile.read(path).state == "postgresql://db.example.org/discreet#state"
    path.write_text('[service]\nstate = "kept.db"\n', encoding="utf-8")
    assert ServiceFile.read(path).state == str(tmp_path / "kept.db")


def test_public_keys_are_named_for_documents(folder: Path) -> None:
    pq.write_table(visits().group_by("plan").aggregate([]), folder / "plans.parquet")
    stated = SERVICE.replace("rows = 300", 'rows = 300\npublic_keys = { plans = "plans.parquet" }')
    (folder / "service.toml").write_text(stated)
    service, _ = open_service(folder / "service.toml")
    ada = service.members.principal("ada")
    assert service.dataset(ada, "visits")["public_keys"] == {"plans": {"columns": ["plan"], "tuples": 3}}
    levels = {
        "from": {"table": "visits"}, "levels": ["plan"], "keys": "plans", "aggregates": [["n", {"count_star": []}]],
    }  # fmt: skip
    found = service.explain(ada, {"question": {"document": {"version": 1, "hierarchy": levels}}})
    assert [one["name"] for one in found["columns"]] == ["n by total", "n by plan"]
    service.close()
    for wrong, match in (
        ('{ Plans = "plans.parquet" }', "a name for public keys"),
        ('{ visits = "plans.parquet" }', "a name for public keys"),
        ("{ plans = 3 }", "a file of public keys"),
        ('{ plans = "nothing.parquet" }', "service.toml, line "),
        ("[1]", "a table of keys"),
    ):
        (folder / "service.toml").write_text(SERVICE.replace("rows = 300", f"rows = 300\npublic_keys = {wrong}"))
        with pytest.raises(InvalidParameter, match=match):
            open_service(folder / "service.toml")


def test_every_part_of_a_service_file_in_the_documents_is_one(folder: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/service/operations.md").read_text(encoding="utf-8")
    parts = re.findall(r"^```toml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    sections: set[str] = set()
    for part in parts:
        (folder / "part.toml").write_text(f'{part}\n[datasets.people]\ndeclaration = "people.toml"\n')
        file = ServiceFile.read(folder / "part.toml")
        sections |= file.document.values.keys()
        assert len(list(file.datasets())) == 1
        assert {one.name for one in file.principals()} <= {"ada@example.org"}
    assert {"service", "oidc", "connections", "principals"} <= sections
