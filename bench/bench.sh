#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints BENCHMARKS.md: the crawl of the real sites five times, its profile, and the benchmarks of the
# packages.
set -eu
cd "$(dirname "$0")/.."
out=$(pwd)/bench/out/realsites
make build >/dev/null
bench/realsites.sh >bench/out/realsites.log 2>&1 || {
	cat bench/out/realsites.log >&2
	exit 1
}
nginx -c "$out/work/nginx.conf"
trap 'kill $(cat "$out/work/nginx.pid") 2>/dev/null || true' EXIT
cat <<EOF
# Benchmarks

Printed by \`make bench\` on $(date -u +%Y-%m-%d), $(go version | cut -d' ' -f3), $(nproc) cores of $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1), Linux $(uname -r).
The machine is shared and noisy: read single numbers with the spread beside them.

## Crawl of real sites

Debian's manuals of Python 3.11 and PostgreSQL 15 as two hosts, nginx on the same two cores, no delay between requests,
everything stored (WARC, crawldb, linkdb) and indexed. Five runs of
\`bin/seine crawl --seeds … --hosts … --allow-private --delay 0s --json\`, each into a new directory.

| run | pages | MB | pages/s | CPU ms/page | segments |
|---|---|---|---|---|---|
EOF
for i in 1 2 3 4 5; do
	rm -rf "$out/work/bench"
	extra=
	[ $i = 5 ] && extra="--cpuprofile $out/work/cpu.pprof"
	bin/seine crawl --dir "$out/work/bench" --seeds "$out/work/seeds" --hosts "$out/work/hosts" --allow-private --delay 0s --json --quiet $extra >"$out/work/run.json"
	python3 - "$out/work/run.json" $i <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
print(f"| {sys.argv[2]} | {r['fetched']} | {r['bytes'] / 1e6:.1f} | {r['pages_per_second']:.0f} | {1e3 * r['cpu_seconds'] / r['fetched']:.2f} | {r['segments']} |")
PY
done
cat <<EOF

On disk afterwards: $(du -sm "$out/work/bench/warc" | cut -f1) MB of WARC, $(du -sm "$out/work/bench/store" | cut -f1) MB of store (parse records with text and links, crawldb, linkdb, index).

The ten functions with the most CPU time in themselves (run 5):

\`\`\`
$(go tool pprof -top -nodecount=10 bin/seine "$out/work/cpu.pprof" 2>/dev/null)
\`\`\`

and with what they call:

\`\`\`
$(go tool pprof -top -cum -nodecount=300 bin/seine "$out/work/cpu.pprof" 2>/dev/null | grep -E 'readPage|parseHTML|AppendExchange|Client..Fetch|updateDB|InvertLinks|\(\*Builder\).Add|indexing..build|seal$|Refill|flat%' | head -14)
\`\`\`

## Packages

\`go test -run '^\$' -bench … -count 3\`; three runs each.

\`\`\`
EOF
for p in ./storage/urlkey ./storage/warc ./frontier ./engine/fetch ./engine/fetch/robots ./engine/parse ./index; do
	go test -run '^$' -bench . -benchtime 200ms -count 3 $p 2>/dev/null | grep -E '^(Benchmark|pkg)' || true
done
cat <<EOF
\`\`\`
EOF
