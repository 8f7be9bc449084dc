#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The main job on a machine without a network: serve a small web of 30 hosts on loopback, crawl it, search it.
set -eu
cd "$(dirname "$0")/../.."
out=bench/out/demo
rm -rf "$out"
mkdir -p "$out"
bin/seine simweb --hosts-file "$out/hosts" --seeds-file "$out/seeds" >"$out/politeness" 2>"$out/simweb.log" &
web=$!
trap 'kill $web 2>/dev/null || true' EXIT
n=0
while [ ! -s "$out/hosts" ]; do
	n=$((n + 1))
	if [ $n -gt 100 ]; then
		cat "$out/simweb.log"
		exit 1
	fi
	sleep 0.1
done
echo "== crawling 30 hosts on loopback"
bin/seine crawl --dir "$out/data" --seeds "$out/seeds" --hosts "$out/hosts" --allow-private --scope any --delay 0s
echo "== searching for: harbour storm"
bin/seine search --dir "$out/data" --limit 3 harbour storm
echo "== what the servers saw"
kill -INT $web
wait $web || true
cat "$out/politeness"
cat <<EOF

Try next:
  bin/seine search --dir $out/data '"repair net" -boat'
  bin/seine readdb --dir $out/data --stats
  bin/seine readdb --dir $out/data --top 5
  bin/seine crawl --contact https://your.site/crawler https://example.org/

Look at it: while this runs, it is at http://127.0.0.1:8080/
  bin/seine serve --dir $out/data
EOF
