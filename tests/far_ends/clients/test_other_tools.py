"""R with dplyr, and dbt: programs, which run by themselves."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from far_address import Address

HAS_R = shutil.which("Rscript") is not None and any(
    (Path(place) / "RPostgreSQL").exists() for place in ("/usr/lib/R/site-library", "/usr/local/lib/R/site-library")
)
DBT = shutil.which(os.environ.get("DBT", "dbt"))

R_SCRIPT = """
suppressMessages({library(DBI); library(RPostgreSQL); library(dplyr)})
con <- dbConnect(PostgreSQL(), host="localhost", port=as.integer(Sys.getenv("PGPORT")), dbname="people",
                 user="analyst", password=Sys.getenv("PGPASSWORD"))
stopifnot(dbListTables(con) == "people", length(dbListFields(con, "people")) == 13)
stopifnot(nrow(dbGetQuery(con, "SELECT plan, AVG(visits) AS v FROM people GROUP BY plan")) == 5)
found <- tbl(con, "people") %>% filter(age > 18) %>% group_by(plan) %>%
  summarise(v = mean(visits, na.rm=TRUE), n = n()) %>% collect()
stopifnot(nrow(found) == 5)
refused <- tryCatch(dbGetQuery(con, "SELECT * FROM people"), error = function(e) conditionMessage(e))
stopifnot(is.null(refused) || grepl("Expected aggregates", refused))
dbDisconnect(con)
cat("done")
"""
PROFILE = """
d:
  target: dev
  outputs:
    dev: {type: postgres, host: localhost, port: %d, user: analyst, password: "%s",
          dbname: people, schema: public, threads: 1}
"""


@pytest.mark.skipif(not HAS_R, reason="needs R and RPostgreSQL: apt install r-cran-rpostgresql r-cran-dbplyr")
def test_r(served: Address) -> None:
    environment = {**os.environ, "PGPASSWORD": served.token, "PGPORT": str(served.port)}
    command = ["Rscript", "-e", R_SCRIPT]
    found = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, check=False)
    assert found.stdout.endswith("done"), found.stdout + found.stderr


@pytest.mark.skipif(not DBT, reason="needs dbt: DBT=/path/to/dbt, of requirements-dbt.lock")
def test_dbt(served: Address, tmp_path: Path) -> None:
    """It connects and previews a question; models would be written, so they are refused."""
    (tmp_path / "dbt_project.yml").write_text('name: t\nversion: "1.0"\nprofile: d\n')
    (tmp_path / "profiles.yml").write_text(PROFILE % (served.port, served.token))
    question = "select plan, count(*) as n from people group by plan"
    environment = {**os.environ, "DBT_SEND_ANONYMOUS_USAGE_STATS": "0"}
    for words in (["debug"], ["show", "--inline", question]):
        command = [str(DBT), "--no-version-check", *words, "--profiles-dir", str(tmp_path)]
        place = {"cwd": tmp_path, "env": environment}
        found = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **place)  # type: ignore[call-overload] # two options by name
        assert found.returncode == 0, found.stdout + found.stderr
    assert "deductible" in found.stdout
