#!/bin/sh
# Builds the site into build/site/VERSION, without a network; `test` then opens every page in a browser without a screen.
#
# The Python packages come from requirements-docs.lock into .venv-docs, which borrows the rest from .venv. Versions that
# were built before stay beside the new one, and every page's header offers them. For `test`, what Debian has of Chromium
# is installed where it is missing and this user may; on other systems it has to be here before.
set -eu

cd "$(dirname "$0")/.."
. scripts/environments.sh
export NO_MKDOCS_2_WARNING=1

make_borrowing docs
version=$(.venv-docs/bin/python scripts/site_versions.py)
.venv-docs/bin/python -m mkdocs --quiet build --strict --site-dir "build/site/$version"
.venv-docs/bin/python scripts/site_versions.py build/site >/dev/null
say "Built build/site/index.html: discreet $version."

if [ "${1:-}" = test ]; then
    shift
    command -v chromium >/dev/null || install_packages "chromium" chromium fonts-dejavu-core
    FAR_ENDS=1 .venv-docs/bin/python -m pytest -q "${@:-tests/far_ends/site}"
fi
