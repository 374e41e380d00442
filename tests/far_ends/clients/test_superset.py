"""Superset's own engine: it connects, browses, draws a chart, and is refused rows, in words that its users see."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from far_address import Address

SUPERSET = shutil.which(os.environ.get("SUPERSET", "superset"))

CONFIGURATION = """
SECRET_KEY = "of a test, which nobody else reaches"
SQLALCHEMY_DATABASE_URI = "sqlite:///{folder}/superset.db"
CACHE_CONFIG = DATA_CACHE_CONFIG = {{"CACHE_TYPE": "NullCache"}}
FILTER_STATE_CACHE_CONFIG = EXPLORE_FORM_DATA_CACHE_CONFIG = {{"CACHE_TYPE": "SimpleCache"}}
TALISMAN_ENABLED = False
"""
PROGRAM = """
import json, os
from superset.app import create_app

with create_app().app_context():
    from flask_appbuilder import Model
    from superset import db
    from superset.connectors.sqla.models import SqlaTable
    from superset.models.core import Database

    Model.metadata.create_all(db.engine)
    people = Database(database_name="people")
    people.set_sqlalchemy_uri(os.environ["PEOPLE"])
    db.session.add(people)
    db.session.commit()
    table = SqlaTable(table_name="people", schema="public", database=people)
    db.session.add(table)
    db.session.commit()
    table.fetch_metadata()
    visits = {"expressionType": "SIMPLE", "column": {"column_name": "visits"}, "aggregate": "AVG", "label": "visits"}
    chart = dict(
        columns=["plan"], metrics=[visits, "count"], filter=[{"col": "age", "op": ">", "val": 18}], row_limit=1000,
        is_timeseries=False, granularity=None, from_dttm=None, to_dttm=None, orderby=[("count", False)], extras={},
    )
    drawn, again, samples = (
        table.query(one) for one in (chart, chart, {**chart, "columns": ["plan", "age"], "metrics": [], "orderby": []})
    )
    print("FOUND", json.dumps({
        "spec": people.db_engine_spec.__name__,
        "tables": [name for name, *_ in people.get_all_table_names_in_schema(catalog=None, schema="public")],
        "columns": {column.column_name: column.type for column in table.columns},
        "chart": drawn.df.to_dict("list"),
        "again": again.df.to_dict("list"),
        "samples": str(samples.error_message),
    }))
"""


@pytest.mark.skipif(not SUPERSET, reason="needs Superset: SUPERSET=/path/to/python, of requirements-superset.lock")
def test_superset(served: Address, tmp_path: Path) -> None:
    configuration = tmp_path / "superset_config.py"
    configuration.write_text(CONFIGURATION.format(folder=tmp_path))
    people = f"postgresql+psycopg2://analyst:{served.token}@127.0.0.1:{served.port}/people"
    environment = {**os.environ, "SUPERSET_CONFIG_PATH": str(configuration), "PEOPLE": people}
    command = [str(SUPERSET), "-c", PROGRAM]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, check=False)
    assert "FOUND" in ended.stdout, ended.stdout[-2000:] + ended.stderr[-2000:]
    found = json.loads(ended.stdout.rpartition("FOUND ")[2])
    assert found["spec"] == "PostgresEngineSpec"
    assert found["tables"] == ["people"]
    assert len(found["columns"]) == 13
    assert found["columns"]["visits"] == "BIGINT"
    assert set(found["chart"]) == {"plan", "visits", "count"}
    assert len(found["chart"]["plan"]) == 5
    assert found["chart"] == found["again"]
    assert "Expected aggregates" in found["samples"]
