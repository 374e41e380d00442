#!/bin/sh
# Makes .venv from requirements.lock, or does nothing where it is already the right one.
#
#   scripts/set_up.sh               the first fitting Python of the list below
#   PYTHON=python3.12 scripts/set_up.sh
#
# With uv on the PATH uv does the work (and fetches a Python if there is none); otherwise python -m venv and pip do.
# Either way the versions and hashes are those of requirements.lock. A .venv that is half made, moved, or made from
# another pyproject.toml or lock is made anew.
set -eu

cd "$(dirname "$0")/.."
unset PYTHONHOME PYTHONPATH VIRTUAL_ENV
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_USER=0

stamp=.venv/made-from
candidates="python3.13 python3.12 python3.11 python3 python"

say() { printf '%s\n' "$@" >&2; }
fail() { say "$1" "Hint: $2"; exit 1; }
ask() { "$1" -c "import os, sys; $2" 2>/dev/null </dev/null; }

# A shim can be on the PATH with no Python behind it, so a candidate is run, not just looked up.
fits() { ask "$1" 'sys.exit(sys.version_info < (3, 11))'; }
makes_venvs() { ask "$1" 'import ensurepip, venv'; }
release() { ask "$1" 'print("%d.%d" % sys.version_info[:2])'; }
build() { ask "$1" 'print(sys.version)'; }
# Outside of any virtual environment: an active .venv must not be asked to rebuild itself.
itself() { ask "$1" 'print(getattr(sys, "_base_executable", sys.executable))'; }
has_uv() { uv --version >/dev/null 2>&1 </dev/null; }

wanted() { pwd -P; cksum pyproject.toml requirements.lock scripts/set_up.sh; }

is_made() {
    fits .venv/bin/python && [ -x .venv/bin/discreet ] && [ -x .venv/bin/pytest ] &&
        [ "$(cat $stamp 2>/dev/null)" = "$(wanted)" ] &&
        { [ -z "${PYTHON:-}" ] || [ "$(build "$PYTHON")" = "$(build .venv/bin/python)" ]; }
}

# Prints the Python to use, or nothing where uv is to fetch one.
choose() {
    if [ -n "${PYTHON:-}" ]; then
        fits "$PYTHON" || fail "Expected Python 3.11 or later, got PYTHON=$PYTHON." \
            "name one that runs, for example PYTHON=python3.13, or leave PYTHON out."
        candidates=$PYTHON
    fi
    bare=
    for candidate in $candidates; do
        fits "$candidate" || continue
        if has_uv || makes_venvs "$candidate"; then itself "$candidate"; return; fi
        bare=${bare:-$candidate}
    done
    if has_uv; then return; fi
    [ -z "$bare" ] || fail "Expected a Python that can make virtual environments, got $bare without ensurepip." \
        "apt install python$(release "$bare")-venv (Debian, Ubuntu), or install uv: https://docs.astral.sh/uv/"
    fail "Expected Python 3.11 or later, got $(python3 --version 2>/dev/null || echo none)." \
        "apt install python3 python3-venv (Debian 12, Ubuntu 24.04 or later), brew install python (macOS), or install uv: https://docs.astral.sh/uv/"
}

install_with_uv() {
    uv venv --quiet --python "${1:->=3.11}" .venv &&
        uv pip install --quiet --python .venv/bin/python --require-hashes --no-deps --requirement requirements.lock &&
        uv pip install --quiet --python .venv/bin/python --no-deps --no-build-isolation --editable .
}

install_with_pip() {
    "$1" -m venv .venv &&
        .venv/bin/python -m pip install --quiet --require-hashes --no-deps --requirement requirements.lock &&
        .venv/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable .
}

if is_made; then exit 0; fi

python=$(choose)
installer=$(if has_uv; then echo uv; else echo pip; fi)
say "Making .venv from requirements.lock with $installer${python:+ and $python} (about a minute) ..."
rm -rf .venv
"install_with_$installer" "$python" </dev/null || fail "The set-up stopped half-way." \
    "the reason is above; when it is mended, run the same command again. Nothing outside of .venv was changed."
wanted >$stamp
