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

# Makes .venv-NAME from requirements-NAME.lock; its packages want other versions of what the rest has.
make_tool() {
    made=".venv-$1/made-from" of="$(pwd -P) $(cksum "requirements-$1.lock" .venv/made-from)"
    [ "$(cat "$made" 2>/dev/null)" != "$of" ] || return 0
    say "Making .venv-$1 from requirements-$1.lock (about a minute) ..."
    rm -rf ".venv-$1"
    if uv --version >/dev/null 2>&1 </dev/null; then
        uv venv --quiet --python .venv/bin/python ".venv-$1" &&
            uv pip install --quiet --python ".venv-$1/bin/python" --require-hashes --no-deps \
                --requirement "requirements-$1.lock"
    else
        .venv/bin/python -m venv ".venv-$1" &&
            ".venv-$1/bin/python" -m pip install --quiet --require-hashes --no-deps --requirement "requirements-$1.lock"
    fi && printf '%s\n' "$of" >"$made" || { rm -rf ".venv-$1"; say "There is no $1 for this Python: its test is left out."; }
}
make_tool dbt
make_tool superset
export DBT="$PWD/.venv-dbt/bin/dbt" SUPERSET="$PWD/.venv-superset/bin/python"

try_far_ends() { FAR_ENDS=1 .venv-serve/bin/python -m pytest -q -n 2 --max-worker-restart=0 --dist loadgroup "$@"; }

if [ $# -gt 0 ]; then try_far_ends "$@"; exit; fi
# The browser apart: while Playwright drives it, an event loop runs in the process, and clients want one of their own.
try_far_ends tests/far_ends --ignore tests/far_ends/browser
try_far_ends tests/far_ends/browser
