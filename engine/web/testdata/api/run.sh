#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Asks everything of the API that its description permits, and much that it does not, with schemathesis (PyPI; needs
# Python 3.10 or later): no answer may be a fault of the server (5xx), or one that the description does not have.
set -eu
cd "$(dirname "$0")/../../../.."
seine=$(pwd)/bin/seine
out=$(pwd)/bench/out/test-api
mkdir -p "$out"
cd "$out"
[ -x venv/bin/st ] || { python3 -m venv venv && venv/bin/pip install --quiet 'schemathesis==4.*'; }
rm -rf data web.hosts
"$seine" simweb --hosts-file web.hosts --seeds-file web.seeds --web-hosts 8 --pages 30 --seed 3 >simweb.log 2>&1 &
simweb=$!
trap 'kill $simweb $serve 2>/dev/null || true' EXIT
serve=
while [ ! -e web.hosts ]; do sleep 0.1; done
"$seine" crawl --dir data --seeds web.seeds --hosts web.hosts --allow-private --scope any --delay 0s >crawl.log 2>&1
"$seine" serve --dir data --addr 127.0.0.1:0 >serve.log 2>&1 &
serve=$!
until base=$(grep -o 'http://127[^/]*' serve.log); do sleep 0.1; done
# A stream of events has no end.
venv/bin/st run "$base/api/v1/openapi.json" --header "Authorization: Bearer $(cat data/token)" \
	--exclude-path-regex '/events$' --checks not_a_server_error,status_code_conformance,content_type_conformance,\
response_headers_conformance,response_schema_conformance,unsupported_method \
	--max-examples "${EXAMPLES:-30}" --seed 1 --request-timeout 60
