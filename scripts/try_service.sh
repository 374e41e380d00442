#!/bin/sh
# Tries the service from its far ends, all of which must be here: a browser, clients, a fuzzer, a provider of identities.
#
# What Debian has of Chromium, Java, R and PostgreSQL's clients and server is installed where it is missing and this user
# may; on other systems it has to be here before. The Python packages come from requirements-serve.lock into
# .venv-serve, which borrows the rest from .venv; dbt and Superset have environments of their own, and are left out where
# there is none of them for this Python. The tests start and stop each server themselves, on the loopback.
set -eu

cd "$(dirname "$0")/.."
. scripts/environments.sh

packages=
command -v chromium >/dev/null || command -v chromium-browser >/dev/null || packages="chromium fonts-dejavu-core"
command -v java >/dev/null || packages="$packages default-jre-headless"
command -v psql >/dev/null || packages="$packages postgresql-client"
[ -n "$(find /usr/lib/postgresql -name initdb 2>/dev/null)" ] || command -v initdb >/dev/null || packages="$packages postgresql"
[ -e /usr/share/java/postgresql.jar ] || packages="$packages libpostgresql-jdbc-java"
[ -n "$(find /usr/lib -name 'psqlodbcw.so' 2>/dev/null)" ] || packages="$packages odbc-postgresql unixodbc"
[ -e /usr/lib/R/site-library/RPostgreSQL ] || packages="$packages r-cran-rpostgresql"
[ -e /usr/lib/R/site-library/dbplyr ] || packages="$packages r-cran-dbplyr r-cran-dplyr"
# shellcheck disable=SC2086 # several names
install_packages "a browser, Java and PostgreSQL's clients" $packages
make_borrowing serve

for tool in dbt superset; do
    make_environment "$tool" alone || say "There is no $tool for this Python: its test is left out."
done
export DBT="$PWD/.venv-dbt/bin/dbt" SUPERSET="$PWD/.venv-superset/bin/python"

try_far_ends() { FAR_ENDS=1 .venv-serve/bin/python -m pytest -q -n 2 --max-worker-restart=0 --dist loadgroup "$@"; }

if [ $# -gt 0 ]; then try_far_ends "$@"; exit; fi
# The browser apart: while Playwright drives it, an event loop runs in the process, and clients want one of their own.
try_far_ends tests/far_ends --ignore tests/far_ends/browser
try_far_ends tests/far_ends/browser
