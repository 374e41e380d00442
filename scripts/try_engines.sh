#!/bin/sh
# Runs the conformance suite on DuckDB, PostgreSQL and Spark, all of which must be here at the end.
#
# What Debian has of PostgreSQL and Java is installed where it is missing and this user may; on other systems it has to be
# here before. The Python packages come from requirements-engines.lock into .venv-engines, which borrows the rest from
# .venv. Each server is started by the tests, on a socket in a folder of its own, and stopped by them. With CLUSTER=1 a
# cluster of Spark is tried instead: a master, two workers and their executors, which takes two minutes.
set -eu

cd "$(dirname "$0")/.."
unset PYTHONHOME PYTHONPATH VIRTUAL_ENV
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_USER=0

stamp=.venv-engines/made-from

say() { printf '%s\n' "$@" >&2; }
fail() { say "$1" "Hint: $2"; exit 1; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null; then sudo -n "$@"; else return 1; fi
}

packages=
[ -n "$(find /usr/lib/postgresql -name initdb 2>/dev/null)" ] || command -v initdb >/dev/null || packages="postgresql"
command -v java >/dev/null || packages="$packages default-jre-headless"
if [ -n "$packages" ]; then
    command -v apt-get >/dev/null || fail "Expected PostgreSQL and Java 17 or later, got none of: $packages." \
        "install them with what this system has for it, and run this again."
    say "Installing $packages ..."
    # shellcheck disable=SC2086 # several names
    { as_root apt-get update -q && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends $packages; } \
        >/dev/null </dev/null || fail "The installation of$packages failed." "install them by hand, and run this again."
fi

wanted() { pwd -P; cksum requirements-engines.lock .venv/made-from scripts/try_engines.sh; }

if [ "$(cat $stamp 2>/dev/null)" != "$(wanted)" ]; then
    say "Making .venv-engines from requirements-engines.lock (about a minute) ..."
    rm -rf .venv-engines
    if uv --version >/dev/null 2>&1 </dev/null; then
        uv venv --quiet --python .venv/bin/python .venv-engines
        uv pip install --quiet --python .venv-engines/bin/python --require-hashes --no-deps \
            --requirement requirements-engines.lock
    else
        .venv/bin/python -m venv .venv-engines
    fi
    borrowed=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    own=$(.venv-engines/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    printf 'import site; site.addsitedir("%s")\n' "$borrowed" >"$own/borrowed.pth"
    # pip sees what is borrowed, and adds the rest.
    if [ -x .venv-engines/bin/pip ]; then
        .venv-engines/bin/python -m pip install --quiet --require-hashes --no-deps --requirement requirements-engines.lock
    fi
    wanted >$stamp
fi

if [ -n "${CLUSTER:-}" ]; then exec .venv-engines/bin/python -m pytest -q tests/engines/cluster "$@"; fi
ENGINES=duckdb,postgresql,spark exec .venv-engines/bin/python -m pytest -q -n 2 --max-worker-restart=0 --dist loadgroup \
    tests/engines/conformance "$@"
