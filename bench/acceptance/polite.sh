#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bench/acceptance/polite.sh [PAGES [KILLS]]: crawls a simweb with mixed delays, hosts that share addresses, robots
# rules, errors, slow hosts, and hosts that close connections which they promised to keep. The crawler is killed with
# SIGKILL now and then and started again at once. The servers judge: their report must be clean. 1000000 pages take
# about ten minutes. A tenth of the pages is then crawled from another simweb through a proxy.
set -eu
cd "$(dirname "$0")/../.."
pages=${1:-20000} kills=${2:-5}
out=bench/out/polite
rm -rf "$out"

# polite NAME PAGES KILLS PER-ADDRESS [--proxy]: one web and its crawl.
polite() {
	dir=$out/$1 pages=$2 kills=$3
	hosts=$((pages / 30 + 10)) # more than needed, so that the crawl does not wait for hosts with long delays
	mkdir -p "$dir"
	front=""
	[ $hosts -gt 4000 ] && front=--all-interfaces
	bin/seine simweb $front --shape lively --web-hosts $hosts --pages 100 --max-pages 600 --delay 100ms \
		--delayed 0.3 --crawl-delay 1s --per-address "$4" --restricted 0.5 --errors 0.01 --slow-hosts 0.01 \
		--slow-latency 2s --stale-hosts 0.1 --seed-hosts 0 --json --hosts-file "$dir/hosts" --seeds-file "$dir/seeds" \
		>"$dir/report.json" 2>"$dir/simweb.log" &
	web=$!
	trap 'kill $web 2>/dev/null || true' EXIT
	n=0
	while [ ! -s "$dir/seeds" ]; do
		n=$((n + 1))
		[ $n -gt 300 ] && { cat "$dir/simweb.log"; exit 1; }
		sleep 0.1
	done
	through=""
	[ "${5:-}" = --proxy ] && through="--set proxy=http://127.0.0.1:$(sed -n '1s|.*:\([0-9]*\)/.*|\1|p' "$dir/seeds")"
	seeds="--seeds $dir/seeds"
	i=0
	while [ $i -lt "$kills" ]; do
		i=$((i + 1))
		crawl >"$dir/crawl.json" 2>>"$dir/crawl.log" &
		crawler=$!
		sleep $((2 + i % 4))
		kill -9 $crawler 2>/dev/null || break # it had ended before
		wait $crawler 2>/dev/null || true
		seeds=""
	done
	echo "== $1: killed $i times; continuing to $pages pages"
	(crawl) >"$dir/crawl.json" 2>>"$dir/crawl.log" || { tail -3 "$dir/crawl.log"; exit 1; }
	kill -INT $web
	wait $web || true
	judge "$dir/report.json" "$dir/crawl.json" "$i"
}

crawl() {
	# shellcheck disable=SC2086 # some are several arguments, or none
	exec bin/seine crawl --dir "$dir/data" $seeds $through --max-pages "$pages" --hosts "$dir/hosts" --allow-private \
		--scope any --delay 100ms --concurrency 256 --set no-index=true --quiet --json
}

judge() {
	python3 - "$@" <<'P'
import json, sys
r, crawl, kills = json.load(open(sys.argv[1])), json.load(open(sys.argv[2])), int(sys.argv[3])
print("%(requests)d requests to %(hosts)d hosts on %(addresses)d addresses: %(too_soon)d too soon, "
      "at most %(peak)d at once to a host and %(address_peak)d to an address, %(violations)d against robots.txt, "
      "%(wrong_address)d to a wrong address, %(twice)d URLs twice" % r
      + " (%d kills, %d requests sent again)" % (kills, crawl.get("replayed", 0)))
never = ["too_soon", "violations", "wrong_address", "unknown_host", "malformed"]
if any(r[n] for n in never) or r["peak"] > 1 or r["address_peak"] > 1 or r["twice"] > 256 * kills:
    print(json.dumps(r, indent=1))
    sys.exit("not polite")
if not crawl.get("replayed", 0):
    sys.exit("no connection was found closed: the web or the report is wrong")
P
}

polite direct "$pages" "$kills" 4
polite proxied $((pages / 10)) 1 1 --proxy
