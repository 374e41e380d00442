#!/bin/sh
# Bundles web/src and the packages of web/package-lock.json into src/discreet/server/pages/static.
#
# Needs Node 20 or later with npm, and a package registry the first time. The bundle is committed, so that nobody who
# installs or runs the service needs either; the same sources give the same bytes, and tests/server/pages/test_assets.py
# compares them with the manifest.
set -eu

cd "$(dirname "$0")/../web"
command -v npm >/dev/null || { echo "Expected Node 20 or later with npm, got none." >&2
    echo "Hint: install it (https://nodejs.org), and run this again." >&2; exit 1; }
if ! [ node_modules/.package-lock.json -nt package-lock.json ]; then
    npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
    touch node_modules/.package-lock.json
fi
exec node build.mjs "$(cd .. && pwd)/src/discreet/server/pages/static"
