#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the benchmarks and writes BENCHMARKS.md and bench/measure/plots. "quick" takes a quarter of an hour. "full"
# also crawls 100,000 and 1,000,000 pages and 62 hosts of Debian documents and takes an hour or two; its results are
# kept, and a quick run on the same day shows them beside its own.
set -eu
cd "$(dirname "$0")/../.."
mode=${1:-quick}
out=bench/out/bench
mkdir -p "$out"
sites=bench/out/realsites
if [ ! -d "$sites/root" ]; then
	mkdir -p "$sites/deb"
	download() { apt-get download -q python3.11-doc postgresql-doc-15; }
	(cd "$sites/deb" && { download 2>/dev/null || { apt-get update -qq && download; }; })
	for d in "$sites"/deb/*.deb; do dpkg-deb -x "$d" "$sites/root.new"; done
	mv "$sites/root.new" "$sites/root"
fi
SEINE_PAGES=$(pwd)/$sites/root/usr/share/doc/python3.11/html
export SEINE_PAGES
SEINE_SENTENCES=$(pwd)/bench/out/sentences
export SEINE_SENTENCES
bench/training/language/sentences.sh "$SEINE_SENTENCES"
# These build large indexes, or do not vary from run to run.
once='Bounded|Relevance|Questions|KnownItem|Snippets|Beside|Deleted|Values|Deadline|Builders|Suggest|DedupURLs|NearDuplicates'
echo "== layers beside their floors" >&2
: >"$out/layers.txt"
for _ in 1 2 3 4; do # in turns, so that a floor and its layer run in the same minutes of a shared machine
	go test -run '^$' -bench . -skip "$once" -benchtime 100ms ./bench/measure >>"$out/layers.txt" || {
		tail -20 "$out/layers.txt" >&2
		exit 1
	}
done
go test -run '^$' -bench 'Deadline|Deleted|Suggest' -benchtime 500ms ./bench/measure >>"$out/layers.txt"
go test -run '^$' -bench Values -benchtime 10x ./bench/measure -values.documents 100000 >>"$out/layers.txt"
go test -run '^$' -bench Beside -benchtime 1x -timeout 1h ./bench/measure \
	-beside.docs 200000 -beside.pages 12000 >>"$out/layers.txt"
SEINE_MANUALS=$(pwd)/bench/out/manuals
export SEINE_MANUALS
bench/relevance/manuals.sh "$SEINE_MANUALS"
# Relevance does not vary from run to run. Cranfield and CACM are judged if SEINE_CONFORMANCE_DATA is set.
go test -run '^$' -bench 'Relevance|Questions|KnownItem|Snippets|DedupURLs|NearDuplicates' -benchtime 1x ./bench/measure >>"$out/layers.txt"
go test -run '^$' -bench 'Inbox|Ready|Timers' -benchtime 100ms -count 5 ./frontier >>"$out/layers.txt"
go test -run '^$' -bench Simweb -benchtime 500ms -count 5 ./bench/simweb >>"$out/layers.txt"
if [ -d bench/peers ] && [ "${PEERS:-yes}" = yes ]; then
	echo "== peers" >&2
	# Peers in Go are always available, the others if make bench-peers has installed them.
	(cd bench/peers && go run . all -quick) >"$out/peers.txt" 2>"$out/peers.log" || {
		tail -20 "$out/peers.log" >&2
		exit 1
	}
fi
echo "== crawls" >&2
bin/seine bench --pages 10000 --runs 4 --profile --out "$out/crawl.txt" >/dev/null
# The cost of the crawl log is shown once, above: with 10,000 hosts it would take three minutes more.
usual=seine,seine-no-index,floor-fasthttp,floor-libraries
bin/seine bench --pages 0 --hosts 10000 --host-pages 20 --runs 1 --variants $usual --out "$out/hosts.txt" >/dev/null
bin/seine bench --pages 10000 --runs 1 --gzip --variants $usual --out "$out/gzip.txt" >/dev/null
bin/seine bench long --pages 100000 --hosts 1000 --short 20000 --svg bench/measure/plots/long.svg \
	--out "$out/long.txt" >/dev/null
bin/seine bench polite --out "$out/polite.txt" >/dev/null
bin/seine bench scale --urls 300000,3000000 --segments 2 --out "$out/scale.txt" >/dev/null
bin/seine bench peaks --most 1.25 --out "$out/peaks.txt" >/dev/null
bin/seine bench schedules --svg bench/measure/plots/schedules.svg --out "$out/schedules.txt" >/dev/null
doc=$sites/root/usr/share/doc
bin/seine bench --pages 0 --runs 4 --variants $usual --docs python.example="$doc/python3.11/html" \
	--docs postgres.example="$doc/postgresql-doc-15/html" --docs-root "$sites/root" --docs-name manuals \
	--out "$out/manuals.txt" >/dev/null
if [ "$mode" = full ]; then
	rm -f "$out"/full-*.txt
	go test -run '^$' -bench Bounded -timeout 1h ./bench/measure -bounded.hosts 10000000 -bounded.time 10m \
		>"$out/full-bounded.txt"
	go test -run '^$' -bench Vocabulary -benchtime 1x -timeout 1h ./bench/measure -vocabulary.words 1000000 \
		>"$out/full-vocabulary.txt"
	bin/seine bench --pages 100000 --runs 5 --variants seine,floor-fasthttp --out "$out/full-1e5.txt" >/dev/null
	bin/seine bench --pages 1000000 --runs 1 --variants seine,floor-fasthttp --out "$out/full-1e6.txt" >/dev/null
	bin/seine bench long --svg bench/measure/plots/long.svg --out "$out/full-long.txt" >/dev/null
	bin/seine bench scale --urls 1000000,10000000 --out "$out/full-scale.txt" >/dev/null
	[ -d bench/out/realweb-S/root ] || bench/acceptance/realweb.sh >&2
	root=bench/out/realweb-S/root
	bin/seine bench --pages 0 --runs 5 --docs $root/usr/share/doc --docs-root $root --docs-name recipe-S \
		--out "$out/full-docs.txt" >/dev/null
fi
today=$(find "$out" -name 'full-*.txt' -newermt "$(date +%Y-%m-%d)" | sort)
files="$out/layers.txt $out/crawl.txt $out/hosts.txt $out/gzip.txt $out/long.txt $out/polite.txt
$out/scale.txt $out/peaks.txt $out/schedules.txt $out/manuals.txt $today"
[ -f "$out/peers.txt" ] && files="$files $out/peers.txt"
# shellcheck disable=SC2086
bin/seine bench report --command "make bench$([ -z "$today" ] || echo -full)" $files
echo "BENCHMARKS.md is written" >&2
