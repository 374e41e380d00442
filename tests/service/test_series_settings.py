"""Series in a service file: what is wrong is named with its line; what is right is published and survives a start."""

from __future__ import annotations

from inspect import signature
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from discreet.errors import DiscreetError
from discreet.query.table import PrivateTable
from discreet.series.declared_series import OPTIONS
from discreet.service.configuration import ServiceFile
from discreet.service.opened_service import open_service
from discreet.service.series_settings import SERIES
from series_fixtures import rows

DECLARATION = """
[table]
source = "visits.parquet"
unit = "person"
[table.limits]
max_groups = 2
max_rows = 2
[columns.ward]
keys = ["A", "B"]
[budget]
rho = 1
ledger = "spent.db"
"""
SERVICE = """
[service]
state = "state.db"
[datasets.visits]
declaration = "visits.toml"
[datasets.visits.series.daily]
statement = '''
SELECT ward, COUNT(*) AS n
FROM visits GROUP BY ward'''
by = "day"
start = 2026-01-01
until = "2026-01-20"
windows = [1, 7, "all"]
max_steps = 4
settled = "2 hours"
publish = "03:15"
rho = "1/2"
[principals.ada]
roles = { visits = ["analyst"] }
[principals.cleo]
roles = { visits = ["curator"] }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pq.write_table(rows(), tmp_path / "visits.parquet")
    (tmp_path / "visits.toml").write_text(DECLARATION)
    (tmp_path / "service.toml").write_text(SERVICE)
    return tmp_path


def test_a_series_is_declared_and_drawn_and_another_start_goes_on(folder: Path) -> None:
    for start in range(2):
        service, _ = open_service(folder / "service.toml")
        one = service._series.served["visits"]["daily"]
        one.attempt()
        assert one.series.on_record() == 20
        [line] = service.series(service.members.principal("ada"), "visits")
        assert line["terms"]["windows"] == [1, 7, "all"]
        assert line["declared"]["options"]["start"] == "2026-01-01"
        assert (line["published"], line["steps"], line["state"]) == (0, 20, "open"), start
        [level] = service.budget(service.members.principal("ada"), "visits")
        assert level["spent"]["rho"] == "0.5"
        service.close()
    (folder / "service.toml").write_text(SERVICE.replace("[1, 7,", "[1, 28,").replace("2026-01-20", "2026-02-28"))
    service, _ = open_service(folder / "service.toml")
    [line] = service.series(service.members.principal("cleo"), "visits")
    assert line["state"] == "held"
    assert "opened with" in line["problem"]
    assert service.health() == {"status": "ok"}
    service.close()


@pytest.mark.parametrize(
    ("find", "replace", "told"),
    [
        (".daily]", '."../daily"]', "a name for a series"),
        (".daily]", ".Daily]", "a name for a series"),
        (".daily]", '."daily\\u0000"]', "a name for a series"),
        ("[datasets.visits.series.daily]", "[datasets.visits.series]", "a table of keys"),
        ("max_steps = 4", "max_step = 4", "did you mean 'max_steps'"),
        ("max_steps = 4", "max_steps = 0", "a whole number from 1"),
        ("max_steps = 4", "", "max_steps, got none"),
        ('settled = "2 hours"', "", "settled of a series"),
        ('settled = "2 hours"', 'settled = "soon"', "a number of hours, days or weeks"),
        ('publish = "03:15"', "", "publish of a series"),
        ('publish = "03:15"', 'publish = "25:00"', "a time of day"),
        ('publish = "03:15"', 'publish = "0 minutes"', "longer than a look"),
        ("start = 2026-01-01", "start = true", "a date, or a time in UTC"),
        ("start = 2026-01-01", "start = 2026-01-01T00:00:00Z", "start"),
        ('windows = [1, 7, "all"]', 'windows = "all"', "a list of windows"),
        ('windows = [1, 7, "all"]', "windows = [0]", "windows"),
        ('by = "day"', 'by = "dya"', "did you mean 'day'"),
        ('by = "day"', 'by = "person"', "a whole number of 1 or more"),
        ('rho = "1/2"\n[', "[", "a price"),
        ('rho = "1/2"\n[', 'rho = "1/2"\nepsilon = 1\n[', "a price"),
        ('rho = "1/2"\n[', 'rho = "half"\n[', "a price"),
        ('rho = "1/2"\n[', 'rho = "1e99999999"\n[', "a price"),
        ('rho = "1/2"\n[', "rho = 1e-99999999\n[", "a price"),
        ('rho = "1/2"\n[', "rho = inf\n[", "a price"),
        ("FROM visits", "FROM other", "Expected"),
        ("FROM visits", "FROM read_parquet('visits.parquet')", "Expected"),
        ("'''\nSELECT ward, COUNT(*) AS n\nFROM visits GROUP BY ward'''", '""', "a SELECT statement"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(folder: Path, find: str, replace: str, told: str) -> None:
    assert find in SERVICE
    (folder / "service.toml").write_text(SERVICE.replace(find, replace))
    with pytest.raises(DiscreetError, match=told) as refusal:
        open_service(folder / "service.toml")
    assert "line " in str(refusal.value)
    assert not (folder / "state.db").exists()


def test_every_option_of_the_verb_is_a_key() -> None:
    taken = set(signature(PrivateTable.series).parameters)
    assert taken - {"self", "name"} == set(OPTIONS) <= set(SERIES)


def test_steps_of_a_unit_may_be_apart(folder: Path) -> None:
    (folder / "service.toml").write_text(SERVICE.replace("max_steps = 4", "max_steps = 2\napart = 7"))
    service, _ = open_service(folder / "service.toml")
    service._series.served["visits"]["daily"].attempt()
    [line] = service.series(service.members.principal("ada"), "visits")
    assert (line["terms"]["max_steps"], line["terms"]["apart"]) == (2, 7)
    assert line["account"]["limits"]["apart"] == 7
    service.close()


@pytest.mark.long
def test_a_series_may_have_no_end(folder: Path) -> None:
    """A look is given the time of ten years of steps, and not of a million."""
    (folder / "service.toml").write_text(SERVICE.replace('until = "2026-01-20"', 'until = "open"'))
    service, _ = open_service(folder / "service.toml")
    daily = service._series.served["visits"]["daily"]
    daily.attempt()
    [line] = service.series(service.members.principal("ada"), "visits")
    assert (line["steps"], line["terms"]["steps"]) == (2**20, 2**20)
    assert line["state"] == "open"
    service.close()


def test_whole_numbers_have_no_clock(folder: Path) -> None:
    stated = SERVICE.replace('by = "day"', 'by = "person"').replace("start = 2026-01-01", "start = 0")
    stated = stated.replace("max_steps = 4", "every = 1\nmax_steps = 1").replace("windows = [1, 7, ", "windows = [1, ")
    stated = stated.replace('until = "2026-01-20"', "until = 39")
    (folder / "service.toml").write_text(stated)
    with pytest.raises(DiscreetError, match="leave it out: steps of whole numbers have no clock"):
        open_service(folder / "service.toml")
    assert [one.series["daily"].name for one in ServiceFile.read(folder / "service.toml").datasets()] == ["daily"]
