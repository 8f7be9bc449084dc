#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bench/acceptance/polite.sh [PAGES [KILLS]]: crawls a simweb with mixed delays, hosts that share addresses, robots
# rules, errors and slow hosts. The crawler is killed with SIGKILL now and then and started again at once. The servers
# judge: their report must be clean. 1000000 pages take about ten minutes.
set -eu
cd "$(dirname "$0")/../.."
pages=${1:-20000} kills=${2:-5}
hosts=$((pages / 30 + 10)) # more than needed, so that the crawl does not wait for hosts with long delays
out=bench/out/polite
rm -rf "$out"
mkdir -p "$out"
front=""
[ $hosts -gt 4000 ] && front=--all-interfaces
bin/seine simweb $front --shape lively --web-hosts $hosts --pages 100 --max-pages 600 --delay 100ms \
	--delayed 0.3 --crawl-delay 1s --per-address 4 --restricted 0.5 --errors 0.01 --slow-hosts 0.01 --slow-latency 2s \
	--seed-hosts 0 --json --hosts-file "$out/hosts" --seeds-file "$out/seeds" >"$out/report.json" 2>"$out/simweb.log" &
web=$!
trap 'kill $web 2>/dev/null || true' EXIT
n=0
while [ ! -s "$out/seeds" ]; do
	n=$((n + 1))
	[ $n -gt 300 ] && { cat "$out/simweb.log"; exit 1; }
	sleep 0.1
done
crawl() {
	exec bin/seine crawl --dir "$out/data" "$@" --hosts "$out/hosts" --allow-private --scope any --delay 100ms \
		--concurrency 256 --no-index --quiet --json
}
seeds="--seeds $out/seeds"
i=0
while [ $i -lt "$kills" ]; do
	i=$((i + 1))
	# shellcheck disable=SC2086 # one argument or two
	crawl $seeds --max-pages "$pages" >"$out/crawl.json" 2>>"$out/crawl.log" &
	crawler=$!
	sleep $((2 + i % 4))
	kill -9 $crawler 2>/dev/null || break # it had ended before
	wait $crawler 2>/dev/null || true
	seeds=""
done
echo "== killed $i times; continuing to $pages pages"
(crawl $seeds --max-pages "$pages") >"$out/crawl.json" 2>>"$out/crawl.log" || { tail -3 "$out/crawl.log"; exit 1; }
kill -INT $web
wait $web || true
python3 - "$out/report.json" "$i" <<'P'
import json, sys
r, kills = json.load(open(sys.argv[1])), int(sys.argv[2])
print("%(requests)d requests to %(hosts)d hosts on %(addresses)d addresses: %(too_soon)d too soon, "
      "at most %(peak)d at once to a host and %(address_peak)d to an address, %(violations)d against robots.txt, "
      "%(wrong_address)d to a wrong address, %(twice)d URLs twice" % r + " (%d kills)" % kills)
never = ["too_soon", "violations", "wrong_address", "unknown_host", "malformed"]
if any(r[n] for n in never) or r["peak"] > 1 or r["address_peak"] > 1 or r["twice"] > 256 * kills:
    print(json.dumps(r, indent=1))
    sys.exit("not polite")
P
