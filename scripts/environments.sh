# What the scripts beside it share that need more than .venv has: packages of Debian, and environments that borrow from it.
# Read it with a dot, from the root of the checkout, after `set -eu`.
# shellcheck shell=sh
unset PYTHONHOME PYTHONPATH VIRTUAL_ENV
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_USER=0

say() { printf '%s\n' "$@" >&2; }
fail() { say "$1" "Hint: $2"; exit 1; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null; then sudo -n "$@"; else return 1; fi
}

# Installs packages of Debian, named after what is wanted of them in words; nothing where there are none.
install_packages() {
    wanted_for=$1
    shift
    [ $# -gt 0 ] || return 0
    command -v apt-get >/dev/null || fail "Expected $wanted_for, got none of: $*." \
        "install them with what this system has for it, and run this again."
    say "Installing $* ..."
    { as_root apt-get update -q && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qy \
        --no-install-recommends "$@"; } >/dev/null </dev/null ||
        fail "The installation of $* failed." "install them by hand, and run this again."
}

# Makes .venv-NAME from requirements-NAME.lock; it borrows the rest from .venv.
make_borrowing() { make_environment "$1" borrowing || fail "Expected an environment from requirements-$1.lock, got none." \
    "look at what was said above, and run this again."; }

# Makes .venv-NAME from requirements-NAME.lock, "borrowing" the rest from .venv or "alone", where its packages want other
# versions of what the rest has. What was begun is removed where it fails.
make_environment() {
    made=".venv-$1/made-from"
    of="$(pwd -P) $2 $(cksum "requirements-$1.lock" .venv/made-from scripts/environments.sh)"
    [ "$(cat "$made" 2>/dev/null)" != "$of" ] || return 0
    say "Making .venv-$1 from requirements-$1.lock (about a minute) ..."
    rm -rf ".venv-$1"
    fill_environment "$1" "$2" && printf '%s\n' "$of" >"$made" || { rm -rf ".venv-$1"; return 1; }
}

fill_environment() {
    if uv --version >/dev/null 2>&1 </dev/null; then
        uv venv --quiet --python .venv/bin/python ".venv-$1" &&
            uv pip install --quiet --python ".venv-$1/bin/python" --require-hashes --no-deps \
                --requirement "requirements-$1.lock" || return 1
    else
        .venv/bin/python -m venv ".venv-$1" || return 1
    fi
    if [ "$2" = borrowing ]; then
        borrowed=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))') &&
            own=$(".venv-$1/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))') &&
            printf 'import site; site.addsitedir("%s")\n' "$borrowed" >"$own/borrowed.pth" || return 1
    fi
    # pip sees what is borrowed, and adds the rest.
    [ ! -x ".venv-$1/bin/pip" ] ||
        ".venv-$1/bin/python" -m pip install --quiet --require-hashes --no-deps --requirement "requirements-$1.lock"
}
