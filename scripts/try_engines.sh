#!/bin/sh
# Runs the conformance suite on DuckDB, PostgreSQL and Spark, all of which must be here at the end.
#
# What Debian has of PostgreSQL and Java is installed where it is missing and this user may; on other systems it has to be
# here before. The Python packages come from requirements-engines.lock into .venv-engines, which borrows the rest from
# .venv. Each server is started by the tests, on a socket in a folder of its own, and stopped by them. With CLUSTER=1 a
# cluster of Spark is tried instead: a master, two workers and their executors, which takes two minutes.
set -eu

cd "$(dirname "$0")/.."
. scripts/environments.sh

packages=
[ -n "$(find /usr/lib/postgresql -name initdb 2>/dev/null)" ] || command -v initdb >/dev/null || packages="postgresql"
command -v java >/dev/null || packages="$packages default-jre-headless"
# shellcheck disable=SC2086 # several names
install_packages "PostgreSQL and Java 17 or later" $packages
make_borrowing engines

if [ -n "${CLUSTER:-}" ]; then exec .venv-engines/bin/python -m pytest -q tests/engines/cluster "$@"; fi
ENGINES=duckdb,postgresql,spark exec .venv-engines/bin/python -m pytest -q -n 2 --max-worker-restart=0 --dist loadgroup \
    tests/engines/conformance "$@"
