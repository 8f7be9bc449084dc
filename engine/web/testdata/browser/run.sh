#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Drives the pages in a real Chromium (Debian's package chromium), with axe-core. Needs Node 20 or later with npm.
# Screenshots of what was seen are in bench/out/test-web/shots.
set -eu
cd "$(dirname "$0")/../../../.."
out=$(pwd)/bench/out/test-web
mkdir -p "$out"
cp engine/web/testdata/browser/*.mjs engine/web/testdata/browser/package*.json "$out/"
cd "$out"
if ! cmp -s package-lock.json installed.json; then
	npm ci --no-audit --no-fund --loglevel=error
	cp package-lock.json installed.json
fi
SEINE=../../../bin/seine exec node test.mjs
