#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sends a crawl to real servers: OpenSearch 2.19.1 and Solr 9.8.1, started from Maven's jars on Java 17. It compares
# counts, a query, deletions, old versions and refusals with what the index of seine has. It needs java, javac, mvn,
# curl and python3; without Java it says so and does nothing. Ports: OPENSEARCH_PORT, SOLR_PORT.
set -euo pipefail
cd "$(dirname "$0")/../.."
for tool in java javac mvn; do
	command -v $tool >/dev/null || { echo "no $tool: the writers are not tried against real servers"; exit 0; }
done
here=$PWD/bench/acceptance/engines out=$PWD/bench/out/engines
os_port=${OPENSEARCH_PORT:-19200} solr_port=${SOLR_PORT:-18983}
os=http://127.0.0.1:$os_port solr=http://127.0.0.1:$solr_port/solr/pages
mkdir -p "$out"
rm -rf "$out"/{data,run,hosts,seeds,pages.jsonl}
mkdir -p "$out/run/opensearch/config"
cp -r "$here/solr" "$out/run/solr"

# class_path NAME prints the class path of NAME.pom.xml and its main class, and fetches the jars the first time.
class_path() {
	mkdir -p "$out/$1"
	if ! cmp -s "$here/$1.pom.xml" "$out/$1/pom.xml" || [ ! -s "$out/$1/path" ]; then
		cp "$here/$1.pom.xml" "$out/$1/pom.xml"
		mvn -q -B -f "$out/$1/pom.xml" dependency:build-classpath -Dmdep.outputFile="$out/$1/path" >&2
	fi
	javac -cp "$(cat "$out/$1/path")" -d "$out/$1" "$here/$2.java"
	echo "$out/$1:$(cat "$out/$1/path")"
}
fail() { echo "FAIL: $*"; exit 1; }
# wait_for WHAT COMMAND… waits until a command succeeds.
wait_for() {
	for _ in $(seq 300); do
		if "${@:2}" >/dev/null 2>&1; then return; fi
		sleep 0.2
	done
	tail -20 "$out"/run/*.log
	fail "no $1 after a minute"
}
os_path=$(class_path opensearch OpenSearch) solr_path=$(class_path solr Solr)

# The servers end with their standard input, that is, with this script.
mkfifo "$out/run/alive"
java -Xmx400m -cp "$os_path" OpenSearch "$out/run/opensearch" "$os_port" <"$out/run/alive" >"$out/run/opensearch.log" 2>&1 &
java -Xmx400m -Dsolr.log.dir="$out/run" -cp "$solr_path" Solr "$out/run/solr" "$solr_port" \
	<"$out/run/alive" >"$out/run/solr.log" 2>&1 &
exec 9>"$out/run/alive"
bin/seine simweb --hosts-file "$out/hosts" --seeds-file "$out/seeds" 9>&- >"$out/run/web" 2>&1 &
web=$!
trap 'kill $web 2>/dev/null || true' EXIT
wait_for simweb test -s "$out/hosts"
wait_for OpenSearch curl -fs "$os"
wait_for Solr curl -fs "$solr/select?q=*:*"

number() { python3 -c "import json,sys; v=json.load(sys.stdin)
for k in sys.argv[1].split('.'): v=v[k]
print(v)" "$1"; }
in_index() { bin/seine export --dir "$out/data" --format jsonl | wc -l; }
in_opensearch() { curl -fs "$os/pages/_count" | number count; }
in_solr() { curl -fs "$solr/select?q=*:*&rows=0" | number response.numFound; }
compare() {
	local want
	want=$(in_index)
	echo "$1: $want documents in the index, $(in_opensearch) in OpenSearch, $(in_solr) in Solr"
	[ "$want" = "$(in_opensearch)" ] && [ "$want" = "$(in_solr)" ] && [ "$want" -gt 0 ] || fail "they differ"
}
to="opensearch+gzip=$os/pages,solr=$solr,jsonl=$out/pages.jsonl"

echo "== crawling 30 hosts on loopback into three engines"
bin/seine crawl --dir "$out/data" --seeds "$out/seeds" --hosts "$out/hosts" --allow-private --scope any --delay 0s --max-time 10s \
	--index-to "$to" 2>"$out/run/crawl.log" || { cat "$out/run/crawl.log"; exit 1; }
compare "after the crawl"

echo "== the same query everywhere"
words='{"query":{"match":{"content":{"query":"harbour storm","operator":"and"}}}}'
a=$(curl -fs -H 'Content-Type: application/json' "$os/pages/_count" -d "$words" | number count)
b=$(curl -fs "$solr/select?q=content:(%2Bharbour%20%2Bstorm)&rows=0" | number response.numFound)
echo "harbour storm: $a in OpenSearch, $b in Solr"
[ "$a" = "$b" ] && [ "$a" -gt 0 ] || fail "they differ"

echo "== nothing changed, nothing is sent"
bin/seine index --dir "$out/data" --index-to "$to" && fail "it sent something" || [ $? = 3 ] || fail "exit status"

echo "== deleting 100 pages"
bin/seine export --dir "$out/data" --format jsonl | python3 -c 'import json,sys
for line in list(sys.stdin)[:100]: print(json.loads(line)["id"])' >"$out/run/gone"
xargs bin/seine delete --dir "$out/data" --index-to "$to" <"$out/run/gone"
compare "after the deletion"

echo "== older versions are refused"
id=$(bin/seine export --dir "$out/data" --format jsonl | python3 -c 'import json,sys
print([json.loads(line)["id"] for line in sys.stdin][0])')
status=$(printf '{"delete":{"_id":"%s","version":1,"version_type":"external_gte"}}\n' "$id" |
	curl -s -H 'Content-Type: application/x-ndjson' "$os/pages/_bulk?refresh=true" --data-binary @- |
	python3 -c 'import json,sys; print(json.load(sys.stdin)["items"][0]["delete"]["status"])')
[ "$status" = 409 ] || fail "OpenSearch: $status"
printf '{"delete":{"query":"(id:\\"%s\\" AND version:[* TO 1])"}}' "$id" |
	curl -fs -H 'Content-Type: application/json' "$solr/update?commit=true" --data-binary @- >/dev/null
compare "after them"

echo "== an engine that lost everything"
curl -fs -X DELETE "$os/pages" >/dev/null
bin/seine index --dir "$out/data" --index-to "$to" --resend
compare "after --resend"

echo "== a mapping that fits no document"
curl -fs -X PUT -H 'Content-Type: application/json' "$os/narrow" \
	-d '{"mappings":{"properties":{"title":{"type":"integer"}}}}' >/dev/null
bin/seine index --dir "$out/data" --index-to "opensearch=$os/narrow" 2>"$out/run/narrow" && fail "it was accepted"
tail -1 "$out/run/narrow" | cut -c1-300
grep -q 'mapper_parsing_exception' "$out/run/narrow" || fail "no reason is given"
echo "ok"
