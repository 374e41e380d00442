"""SQLAlchemy with pandas, and what Superset asks of it: to connect, to browse, to chart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import pandas as pd
import pytest

from far_address import Address

sa: Any = import_module("sqlalchemy")


@pytest.fixture
def connected(served: Address) -> Iterator[Callable[..., Any]]:
    """Makes engines, and closes what they opened."""
    made: list[Any] = []

    def connect(driver: str, **arguments: Any) -> Any:
        made.append(sa.create_engine(served.url(f"postgresql+{driver}"), **arguments))
        return made[-1]

    yield connect
    for engine in made:
        engine.dispose()


@pytest.mark.parametrize("driver", ["psycopg", "psycopg2"])
def test_the_inspector(connected: Callable[..., Any], driver: str) -> None:
    found = sa.inspect(connected(driver))
    assert found.get_schema_names() == ["information_schema", "public"]
    assert found.get_table_names() == ["people"]
    assert found.get_view_names() == found.get_materialized_view_names() == []
    columns = {one["name"]: one for one in found.get_columns("people", schema="public")}
    assert str(columns["visits"]["type"]) == "BIGINT"
    assert columns["plan"]["comment"].endswith("keys free, 25%, 50%, 95%, deductible")
    assert found.get_table_comment("people")["text"].startswith("The RAND Health Insurance Experiment")
    assert found.get_pk_constraint("people")["constrained_columns"] == []
    for of in (found.get_indexes, found.get_foreign_keys, found.get_unique_constraints, found.get_check_constraints):
        assert of("people") == []
    assert found.get_enums() == found.get_sequence_names() == found.get_temp_table_names() == []
    metadata = sa.MetaData()
    metadata.reflect(connected(driver))
    assert list(metadata.tables) == ["people"]


def test_pandas(connected: Callable[..., Any]) -> None:
    engine = connected("psycopg")
    frame = pd.read_sql("SELECT plan, AVG(visits) AS visits, COUNT(*) AS n FROM people GROUP BY plan", engine)
    assert list(frame.columns) == ["plan", "visits", "n"]
    assert len(frame) == 5
    metadata = sa.MetaData()
    people = sa.Table("people", metadata, autoload_with=engine)
    asked = (
        sa.select(people.c.plan, sa.func.avg(people.c.visits).label("v"))
        .where(people.c.age > 30)
        .group_by(people.c.plan)
    )
    assert len(pd.read_sql(asked, engine)) == 5


def test_what_superset_asks(connected: Callable[..., Any]) -> None:
    """Its engine for PostgreSQL connects, lists, describes a virtual data set, and charts with a limit."""
    engine = connected("psycopg2", connect_args={"options": "-csearch_path=public"})
    with engine.connect() as connection:
        assert connection.execute(sa.text("SELECT 1")).scalar() == 1
        virtual = "SELECT * FROM (SELECT plan, COUNT(*) AS n FROM people GROUP BY plan) AS virtual_table LIMIT 0"
        described = connection.execute(sa.text(virtual))
        assert list(described.keys()) == ["plan", "n"]
        chart = (
            'SELECT plan AS plan, AVG(visits) AS "AVG(visits)" FROM public.people GROUP BY plan '
            'ORDER BY "AVG(visits)" DESC LIMIT 1000'
        )
        assert len(connection.execute(sa.text(chart)).fetchall()) == 5
        filters = connection.execute(sa.text("SET discreet.scans = declared")) and connection.execute(
            sa.text("SELECT DISTINCT plan AS plan FROM public.people LIMIT 1000")
        )
        assert len(filters.fetchall()) == 5
